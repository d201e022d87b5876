"""Writes r2po.json: the mean gradient that groups of n give one logit of success
probability p, E[s A_plus]/n over s ~ Binomial(n, p), with mpmath.

rarity: R2PO's stage A. A rollout scores 1/(members with its reward), and A is the
score minus the mean over (sd + 1e-6), ddof 1.
reward: its stage B. A is the reward, 0 or 1, minus the mean over (sd + 1e-4),
ddof 1. Groups of equal values count 0.

Run: python3 r2po.py > r2po.json
"""
import json

import mpmath as mp

mp.mp.dps = 40


def standardised(values, eps):
    n = len(values)
    mean = mp.fsum(values) / n
    sd = mp.sqrt(mp.fsum((v - mean) ** 2 for v in values) / (n - 1))
    return [0] * n if sd == 0 else [(v - mean) / (sd + mp.mpf(eps)) for v in values]


def rarity(s, n):
    return standardised([mp.mpf(1) / s] * s + [mp.mpf(1) / (n - s)] * (n - s), "1e-6")


def reward(s, n):
    return standardised([mp.mpf(1)] * s + [mp.mpf(0)] * (n - s), "1e-4")


def rate(advantages, n, p):
    return mp.chop(mp.fsum(mp.binomial(n, s) * p**s * (1 - p) ** (n - s) * s * advantages(s, n)[0] / n for s in range(1, n)), 1e-30)


print(json.dumps({
    "maker": "r2po.py, mpmath",
    "rates": [
        {"n": n, "p": p, "rarity": float(mp.nstr(rate(rarity, n, mp.mpf(p)), 17)), "reward": float(mp.nstr(rate(reward, n, mp.mpf(p)), 17))}
        for n in (2, 5, 8) for p in (0.001, 0.125, 0.375, 0.5, 0.75, 0.96875)
    ],
}, indent=1))
