"""Writes nested.json: what skipping layers does to weights, from closed forms,
with mpmath.

equal: the share rho of L equal layers is skipped by a policy of K answers, one
of them correct with probability p. Then pi = softmax(z), mu = softmax((1-rho) z),
and 1 + chi^2 = sum pi^2/mu = Z(1+rho) Z(1-rho)/Z(1)^2 with Z(c) = sum exp(c z).
crossing is the least rho at which 1/((1+chi^2) (1-rho)) = 1, null without one.

groups: the factor of grad J in the mean gradient of groups of a size under weights
pi/mu, two answers, by rewards compared with the raw group mean, with the weighted
one, and the former over the sample's standard deviation (ddof 0), by enumeration
of all groups in exact fractions (roots in mpmath).

Run: python3 nested.py > nested.json
"""
import json
from fractions import Fraction as F
from itertools import product

import mpmath as mp

mp.mp.dps = 40


def inflation(k, p, rho):
    z = [mp.log(p)] + [mp.log((1 - p) / (k - 1))] * (k - 1)
    total = lambda c: mp.fsum(mp.exp(c * x) for x in z)
    return total(1 + rho) * total(1 - rho) / total(1) ** 2


def crossing(k, p):
    gain = lambda rho: 1 / (inflation(k, p, rho) * (1 - rho)) - 1
    step = mp.mpf(1) / 1000
    for i in range(1, 999):
        if gain(i * step) > 0 >= gain((i + 1) * step):
            return mp.findroot(gain, (i * step, (i + 1) * step), solver="anderson")
    return None


def number(x):
    return None if x is None else float(mp.nstr(x, 17))


def factors(p, m, size):
    w, score = {1: p / m, 0: (1 - p) / (1 - m)}, {1: 1 - p, 0: -p}
    sums = {"raw": F(0), "weighted": F(0), "normalised": mp.mpf(0)}
    for group in product([0, 1], repeat=size):
        chance, ws = F(1), [w[y] for y in group]
        for y in group:
            chance *= m if y else 1 - m
        means = {"raw": F(sum(group), size), "weighted": sum(a * y for a, y in zip(ws, group)) / sum(ws)}
        for name, mean in means.items():
            sums[name] += chance * sum(a * (y - mean) * score[y] for a, y in zip(ws, group)) / size
        mean = means["raw"]
        if 0 < mean < 1:
            raw = chance * sum(a * (y - mean) * score[y] for a, y in zip(ws, group)) / size
            sd2 = mean * (1 - mean)
            sums["normalised"] += mp.mpf(raw.numerator) / raw.denominator / mp.sqrt(mp.mpf(sd2.numerator) / sd2.denominator)
    slope = p * (1 - p)
    out = {name: number(mp.mpf(s.numerator) / s.denominator * slope.denominator / slope.numerator) for name, s in sums.items() if name != "normalised"}
    out["normalised"] = number(sums["normalised"] * slope.denominator / slope.numerator)
    return out


print(json.dumps({
    "maker": "nested.py, mpmath",
    "equal": [
        {"answers": k, "p": p, "layers": layers, "skipped": s,
         "chi_square": number(inflation(k, mp.mpf(p), mp.mpf(s) / layers) - 1)}
        for k, p in [(2, 0.25), (4, 0.5), (100, 0.5), (1000, 0.875)] for layers, s in [(4, 1), (8, 3), (10, 8)]
    ],
    "crossing": [{"answers": k, "p": p, "rho": number(crossing(k, mp.mpf(p)))} for k, p in [(2, 0.25), (2, 0.5), (10, 0.5), (100, 0.5), (1000, 0.5), (1000, 0.875)]],
    "groups": [{"p": [p.numerator, p.denominator], "mu": [m.numerator, m.denominator], "size": size, **factors(p, m, size)}
               for p, m, size in [(F(5, 12), F(3, 5), 3), (F(1, 10), F(3, 10), 3), (F(1, 2), F(1, 10), 5), (F(1, 2), F(1, 2), 5), (F(1, 3), F(1, 4), 8)]],
}, indent=1))
