"""Writes estimators.json: the advantages that verl, TRL and OpenRLHF compute,
from the formulas of strategies/allocation.md, section 1, in 40 digits of
Python's decimal. A null stands for a group that the library does not take.

Run: python3 estimators.py > estimators.json
"""
import json
from decimal import Decimal, getcontext

getcontext().prec = 40


def centred(r):
    mean = sum(r) / len(r)
    return [x - mean for x in r]


def variance(r):  # torch.var: ddof 1
    return sum(x * x for x in centred(r)) / (len(r) - 1)


def scaled(r, eps, floor=0):
    sd = max(variance(r), Decimal(floor)).sqrt()
    return [x / (sd + Decimal(eps)) for x in centred(r)]


def others(r):  # r minus the mean of the others
    return [x - (sum(r) - x) / (len(r) - 1) for x in r]


VERL_ONE = lambda r: [r[0] / (1 + Decimal("1e-6"))]
ESTIMATORS = {
    "verl:advantage=grpo": (lambda r: scaled(r, "1e-6"), VERL_ONE),
    "verl:advantage=grpo-vectorised": (lambda r: scaled(r, "1e-6", "1e-6"), VERL_ONE),
    "verl:advantage=drgrpo": (centred, lambda r: r),
    "verl:advantage=rloo": (others, lambda r: r),
    "verl:advantage=rloo-vectorised": (others, lambda r: [Decimal(0)]),
    "trl:advantage=grpo": (lambda r: scaled(r, "1e-4"), lambda r: [Decimal(0)]),
    "trl:advantage=drgrpo": (centred, lambda r: [Decimal(0)]),
    "trl:advantage=rloo": (others, lambda r: None),
    "openrlhf:advantage=grpo": (lambda r: scaled(r, "1e-9"), lambda r: None),
    "openrlhf:advantage=drgrpo": (centred, lambda r: None),
    "openrlhf:advantage=rloo": (others, lambda r: None),
}
GROUPS = [[1], [0], [1, 0], [0, 0], [1, 1, 0], [1] * 2 + [0] * 6, [1] + [0] * 7, [1] * 8]
# Rewards closer together than the floor of the vectorised standard deviation.
GROUPS.append(["0.5", "0.5009765625"])

cases = []
for name, (many, one) in ESTIMATORS.items():
    for rewards in GROUPS:
        r = [Decimal(x) for x in rewards]
        a = one(r) if len(r) == 1 else many(r)
        cases.append({
            "estimator": name,
            "rewards": [float(x) for x in r],
            "advantages": a and [float(x) for x in a],
        })
print('{"maker": "Python decimal, testdata/estimators.py", "cases": [')
print(",\n".join(json.dumps(c) for c in cases))
print("]}")
