"""Writes advantages.json: advantages from their definitions, in 40 digits.

Run: python3 advantages.py > advantages.json
Rewards are taken as the exact binary values that Go will read.
"""
import json
import sys

import mpmath
from mpmath import mpf, sqrt

mpmath.mp.dps = 40


def grpo(ddof, delta):
    def advantages(r):
        if len(r) == 1:
            return [mpf(0)]
        m = sum(r) / len(r)
        sd = sqrt(sum((x - m) ** 2 for x in r) / (len(r) - ddof))
        d = sd + mpf(delta)
        return [(x - m) / d if d else mpf(0) for x in r]
    return advantages


def drgrpo(r):
    m = sum(r) / len(r)
    return [x - m for x in r]


def rloo(r):
    if len(r) == 1:
        return [mpf(0)]
    return [x - (sum(r) - x) / (len(r) - 1) for x in r]


ESTIMATORS = [
    ({"name": "grpo", "ddof": ddof, "delta": delta}, grpo(ddof, delta))
    for ddof, delta in [(0, 0.0), (1, 0.0), (1, 1e-6), (1, 1e-4), (0, 0.1), (1, 2.0)]
] + [({"name": "drgrpo"}, drgrpo), ({"name": "rloo"}, rloo)]

GROUPS = [
    [1, 1, 0, 0, 0, 0, 0, 0],
    [1, 1, -1, -1, -1, -1, -1, -1],
    [1, 0, 0, 0, 0, 0, 0, 0],
    [1, -1],
    [0.1, 0.1, 0.1],
    [0, 0, 0, 0],
    [7.5],
    [0.1, 0.9, 0.1, 0.35, 1.0],
    [0.5, 0.5 + 1e-9, 0.5 - 3e-9, 0.5],
    [1e200, -1e200, 5e199],
    [1e-200, 3e-200, 0],
    [(i * i % 7) / 7 for i in range(64)],
]

cases = []
for group in GROUPS:
    for estimator, advantages in ESTIMATORS:
        values = advantages([mpf(x) for x in group])
        cases.append({"estimator": estimator, "rewards": group, "advantages": [float(x) for x in values]})

json.dump({
    "made_by": f"advantages.py, mpmath {mpmath.__version__}, {mpmath.mp.dps} digits, Python {sys.version.split()[0]}",
    "cases": cases,
}, sys.stdout, indent=1)
print()
