"""Writes saturated.json: what the interventions on all-correct groups do, in 40
digits of mpmath, from the definition of GRPO's advantages.

"padding": advantage of each of n correct rollouts beside k zeros, sample standard
deviation plus epsilon, and the closed form sqrt(k(n+k-1)/(n(n+k))).
"injection": advantages of n rollouts of which j are wrong.
"update": by enumeration of the successes m of n, at success probability p with
population standard deviation, the mean update over grad p, without and with k
zeros beside all-correct groups, E[sum of A S]/n, where a correct rollout's score
has mean grad p/p and a wrong one's -grad p/(1-p).

Run: python3 saturated.py > saturated.json
"""
import json

import mpmath
from mpmath import binomial, mp, mpf, sqrt

mp.dps = 40


def advantages(rewards, ddof, eps):
    n = len(rewards)
    mean = sum(rewards) / mpf(n)
    sd = sqrt(sum((r - mean) ** 2 for r in rewards) / (n - ddof))
    return [(r - mean) / (sd + eps) if sd + eps else mpf(0) for r in rewards]


def padding(n, k):
    a = advantages([1] * n + [0] * k, 1, mpf("1e-6"))
    return {"n": n, "k": k, "advantage": float(a[0]), "closed": float(sqrt(mpf(k) * (n + k - 1) / (n * (n + k))))}


def injection(n, j):
    a = advantages([1] * (n - j) + [0] * j, 1, mpf("1e-6"))
    return {"n": n, "j": j, "correct": float(a[0]), "wrong": float(a[-1])}


def update(n, k, p):
    p = mpf(p)
    base = added = mpf(0)
    for m in range(n + 1):
        prob = binomial(n, m) * p**m * (1 - p) ** (n - m)
        a = advantages([1] * m + [0] * (n - m), 0, 0)
        base += prob * (sum(a[:m]) / p - sum(a[m:]) / (1 - p)) / n
    a = advantages([1] * n + [0] * k, 0, 0)
    added = p**n * sum(a[:n]) / p / n
    return {"n": n, "k": k, "p": float(p), "base": float(base), "added": float(added)}


print('{"maker": "mpmath %s, testdata/saturated.py", "padding": [' % mpmath.__version__)
print(",\n".join(json.dumps(padding(n, k)) for n, k in [(8, 1), (8, 4), (8, 7), (8, 8), (1, 3), (30, 2)]))
print('], "injection": [')
print(",\n".join(json.dumps(injection(n, j)) for n, j in [(8, 1), (8, 2), (2, 1), (30, 2)]))
print('], "update": [')
print(",\n".join(json.dumps(update(n, k, p)) for n, k, p in [(8, 4, "0.9"), (8, 4, "0.99"), (3, 1, "0.5")]))
print("]}")
