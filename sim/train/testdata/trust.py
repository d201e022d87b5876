"""Writes trust.json: what the trust regions of M2PO leave out.

"gaussian": of tokens whose ln r is normal with mean 0, the exact share left out
at tau = 0.04, by mpmath (50 digits): `paper` and `areal` mask above c, where
E[x^2 | |x| <= c] = tau; `released` caps at c, where E[min(x^2, c^2)] = tau, and
clips ratios outside [min(exp(-c), 0.7), max(exp(c), 1.5)], half of the tokens
having ratios below 1; `unfloored` is the same without 0.7 and 1.5.

"cases": random tokens, each rule carried out one rollout at a time from its
definition, in exact fractions: ln r are multiples of 1/16.

Run: python3 trust.py > trust.json
"""
import json
import random
from fractions import Fraction

import mpmath
from mpmath import erf, exp, findroot, log, mp, mpf, pi, sqrt

mp.dps = 50
TAU = mpf("0.04")


def outside(x, sd):
    return 1 - erf(x / sd / sqrt(2))


def second(c, sd):
    """E[x^2; |x| <= c]"""
    z = c / sd
    return sd**2 * (erf(z / sqrt(2)) - 2 * z * exp(-z * z / 2) / sqrt(2 * pi))


def solve(f):
    return findroot(f, (mpf("0.05"), mpf(20)), solver="anderson", tol=1e-30)


def gaussian(sd):
    paper = solve(lambda c: second(c, sd) - TAU * (1 - outside(c, sd)))
    cap = solve(lambda c: second(c, sd) + c * c * outside(c, sd) - TAU)
    low, high = max(cap, -log(mpf("0.7"))), max(cap, log(mpf("1.5")))
    return {
        "sd": float(sd),
        "paper": float(outside(paper, sd)),
        "released": float((outside(low, sd) + outside(high, sd)) / 2),
        "unfloored": float(outside(cap, sd)),
    }


def mask(squares, done):
    """The number of each square left, one rollout at a time from the largest."""
    left = sorted(squares)
    while left and not done(left):
        left.pop()
    return left


def shares(tokens, squares, left):
    """The share of each token that is left, equal squares in proportion."""
    out = []
    for t, s in zip(tokens, squares):
        if s is None or t["count"] == 0:
            out.append(None if s is not None else 1.0)
            continue
        total = sum(u["count"] for u, v in zip(tokens, squares) if v == s)
        out.append(float(Fraction(left.count(s), total)))
    return out


def expand(tokens, squares):
    return [s for t, s in zip(tokens, squares) if s is not None for _ in range(t["count"])]


def case(rng, tau):
    tokens = [
        {
            "advantage": rng.choice([-1.5, -0.5, 0.0, 0.25, 2.0]),
            "log_ratio": rng.randint(-16, 16) / 16,
            "stale": rng.randint(-16, 16) / 16,
            "count": rng.choice([0, 1, 1, 2, 3, 7]),
        }
        for _ in range(rng.randint(0, 12))
    ]
    t = Fraction(tau)
    mean = lambda l: sum(l) / len(l)
    harmful = [
        Fraction(k["log_ratio"]) ** 2 if k["advantage"] * k["log_ratio"] > 0 else None
        for k in tokens
    ]
    everything = [Fraction(k["stale"]) ** 2 for k in tokens]
    flat = expand(tokens, harmful)
    cap = None
    if flat and mean(flat) > t:
        fits = [c for c in set(flat) if mean([min(s, c) for s in flat]) < t]
        cap = float(max(fits, default=0))
    return {
        "tau": float(tau),
        "tokens": tokens,
        "paper": shares(tokens, harmful, mask(flat, lambda l: mean(l) <= t)),
        "areal": shares(
            tokens, everything, mask(expand(tokens, everything), lambda l: len(l) == 1 or mean(l) < t)
        ),
        "cap": cap,
    }


rng = random.Random(20261101)
taus = ["1/32", "1/8", "0", "1/4", "3"]
cases = [case(rng, Fraction(taus[i % 5])) for i in range(100)]
print('{"maker": "mpmath %s and Python fractions, testdata/trust.py", "gaussian": [' % mpmath.__version__)
print(",\n".join(json.dumps(gaussian(mpf(s))) for s in ["0.25", "0.3", "0.5", "1"]))
print('], "cases": [')
print(",\n".join(json.dumps(c) for c in cases))
print("]}")
