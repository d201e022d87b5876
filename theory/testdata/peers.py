"""Golden values of theory/arc.go, pairs.go and stale.go by mpmath and by
enumeration: moments of s from exact binomial sums, bounds over a normal belief by
quadrature, the design variance of pairs over all 2^n sets of finished rollouts,
shares of normal tokens by root finding. Nothing follows the Go code.

Run: python3 peers.py > peers.json
"""
import itertools
import json
import random

from mpmath import mp, mpf
import mpmath

mp.dps = 30


def binomial(g, p):
    return [mp.binomial(g, s) * p**s * (1 - p) ** (g - s) for s in range(g + 1)]


arc, bound, target, pairs, stale = [], [], [], [], []
for g in (2, 4, 8, 16, 64):
    for p in (0.02, 0.1, 0.3, 0.5, 0.9):
        law, q = binomial(g, mpf(p)), mpf(p)
        omega = sum(w * mp.sqrt(mpf(s) * (g - s)) for s, w in enumerate(law)) / (g * mp.sqrt(q * (1 - q)))
        z = [mp.asin(mp.sqrt((s + mpf(3) / 8) / (g + mpf(3) / 4))) for s in range(g + 1)]
        mean = sum(w * x for w, x in zip(law, z))
        variance = sum(w * (x - mean) ** 2 for w, x in zip(law, z))
        arc.append(dict(g=g, p=p, weight=float(omega), mean=float(mean), variance=float(variance)))
    for mean, variance in ((0.3, 0.0), (0.9, 0.01), (1.5, 0.2)):
        def at(x):
            return mp.e ** (-g * x**2) + mp.e ** (-g * (mp.pi / 2 - x) ** 2)
        m, v = mpf(mean), mpf(variance)
        if v == 0:
            value = at(m)
        else:
            sd = mp.sqrt(v)
            value = mp.quad(lambda x: at(x) * mp.npdf(x, m, sd), [m - 12 * sd + k * sd for k in range(25)])
        bound.append(dict(g=g, mean=mean, variance=variance, bound=float(value)))
for k in (1, 2, 4, 8, 32):
    def h(x):
        return mp.diff(lambda y: 1 - mp.cos(y) ** (2 * k), x)
    mode = mp.findroot(lambda x: mp.diff(lambda y: mp.log(h(y)), x), mp.asin(1 / mp.sqrt(2 * k)) + mpf("1e-3"))
    target.append(dict(k=k, psi=0.4, density=float(h(mpf(0.4))), mode=float(mode)))
random.seed(20260101)
for n, d in ((2, 1), (3, 2), (5, 3)):
    c = [dict(reward=float(random.random() < 0.5), score=[random.gauss(0, 1) for _ in range(d)], inclusion=random.uniform(0.2, 1)) for _ in range(n)]
    c[0]["reward"], c[1]["reward"] = 1.0, 0.0
    r = [mpf(x["reward"]) for x in c]
    s = [[mpf(y) for y in x["score"]] for x in c]
    pi = [mpf(x["inclusion"]) for x in c]
    # leave one out, as a sum over rollouts
    complete = [sum((r[i] - (sum(r) - r[i]) / (n - 1)) * s[i][a] for i in range(n)) / n for a in range(d)]
    first, second = [mpf(0)] * d, mpf(0)
    for finished in itertools.product((0, 1), repeat=n):
        chance = mp.fprod(pi[i] if f else 1 - pi[i] for i, f in enumerate(finished))
        estimate = [sum((r[i] - r[j]) * (s[i][a] - s[j][a]) / (2 * pi[i] * pi[j])
                        for i in range(n) for j in range(i) if finished[i] and finished[j]) / mp.binomial(n, 2) for a in range(d)]
        first = [f + chance * e for f, e in zip(first, estimate)]
        second += chance * sum(e * e for e in estimate)
    assert all(abs(a - b) < mpf(10) ** -25 for a, b in zip(first, complete))
    pairs.append(dict(candidates=c, complete=[float(x) for x in complete], variance=float(second - sum(x * x for x in complete))))
for sd in (0.15, 0.25, 0.3, 0.5, 1.0):
    for tau in (0.04, 0.2):
        def capped(c):
            return 2 * (mp.quad(lambda x: x * x * mp.npdf(x, 0, sd), [0, c / 2, c]) + c * c * (1 - mp.ncdf(c / sd)))
        def kept(c):
            return 2 * mp.quad(lambda x: x * x * mp.npdf(x, 0, sd), [0, c / 2, c]) / (2 * mp.ncdf(c / sd) - 1)
        row = dict(sd=sd, tau=tau, masked=0.0, held=0.0, capped=0.0)
        if mpf(sd) ** 2 > tau:
            beyond = lambda c: 2 * (1 - mp.ncdf(c / sd))
            root = lambda f: mp.findroot(lambda c: f(c) - tau, (mpf(sd) / 50, 8 * mpf(sd)), solver="anderson", tol=mpf(10) ** -20)
            row["masked"] = float(beyond(root(kept)))
            c = root(capped)
            row["capped"] = float(beyond(c))
            row["held"] = float((beyond(max(c, -mp.log(mpf(0.7)))) + beyond(max(c, mp.log(mpf(1.5))))) / 2)
        stale.append(row)
print(f'{{"tool": "mpmath {mpmath.__version__}", "script": "peers.py",')
for name, rows in (("arc", arc), ("bound", bound), ("target", target), ("pairs", pairs)):
    print(f' "{name}": [\n' + ",\n".join("  " + json.dumps(x) for x in rows) + "\n ],")
print(' "stale": [\n' + ",\n".join("  " + json.dumps(x) for x in stale) + "\n ]\n}")
