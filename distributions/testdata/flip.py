"""Golden values of laws under label noise.

    python3 flip.py > flip.json        # about a minute

mpmath, 30 digits: integrals over p of the density of p, where 4 p'(1-p') with
p' = q + (1-2q) p is above a threshold, which is found on p' and carried back to p.
No formula in u is used.
"""

import json
import platform

import mpmath as mp

mp.mp.dps = 30


def beta(a, b):
    return lambda p: p ** (a - 1) * (1 - p) ** (b - 1) / mp.beta(a, b), 0, 1


def pareto_success(k, low, high):
    z = 1 - (mp.mpf(low) / high) ** k
    return lambda p: k * mp.mpf(low) ** k / z * p ** (-k - 1), low, high


def expect(law, f, lo, hi):
    density, low, high = law
    lo, hi = max(lo, mp.mpf(low)), min(hi, mp.mpf(high))
    if lo >= hi:
        return mp.mpf(0)
    knots = sorted({lo, hi} | {x for x in map(mp.mpf, ("1e-20", "1e-10", "1e-5", ".01", ".1", ".3", ".5", ".7", ".9", ".99", ".99999")) if lo < x < hi})
    return mp.quad(lambda p: density(p) * f(p), knots)


def row(name, parameters, law, q):
    q = mp.mpf(q)
    turned = lambda p: q + (1 - 2 * q) * p
    u = lambda p: 4 * turned(p) * (1 - turned(p))
    cuts = []
    for c in (".3", ".5", ".75", ".9", ".99"):
        c = mp.mpf(c)
        root = (1 - mp.sqrt(1 - c)) / 2  # u' > c where p' is in (root, 1-root)
        ends = sorted((x - q) / (1 - 2 * q) for x in (root, 1 - root))
        lo, hi = max(ends[0], mp.mpf(0)), min(ends[1], mp.mpf(1))
        cuts.append({"c": float(c), "above": float(expect(law, lambda p: 1, lo, hi)), "upper": float(expect(law, u, lo, hi))})
    return {
        "law": name, "parameters": parameters, "q": float(q),
        "mean_p": float(expect(law, turned, mp.mpf(0), mp.mpf(1))), "mean_u": float(expect(law, u, mp.mpf(0), mp.mpf(1))), "cuts": cuts,
    }


rows = []
for q in ("0.05", "0.2", "0.9", "1"):
    for a, b in ((2, 6), (0.5, 2), (30, 2)):
        rows.append(row("beta", [a, b], beta(mp.mpf(a), mp.mpf(b)), q))
    rows.append(row("pareto-success", [1.2, 0.01, 1], pareto_success(mp.mpf("1.2"), mp.mpf("0.01"), 1), q))
print('{"made_by": ' + json.dumps(f"flip.py, python {platform.python_version()}, mpmath {mp.__version__}") + ',\n"laws": [\n' + ",\n".join(map(json.dumps, rows)) + "\n]}")
