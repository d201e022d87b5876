"""Writes slopes.json: local exponents -d log tau / d log u0 of the time tau from
p0 to 1/2 of one logit with dz/dt = rate(p), u0 = 4 p0 (1 - p0). Since
d log u0 = (1 - 2 p0) dz, the exponent is 1/(rate(p0) (1 - 2 p0) tau), and tau is
the integral of dz/rate from logit(p0) to 0, by Simpson's rule.

Run: python3 slopes.py > slopes.json
"""
import json
from math import comb, exp, log, sqrt


def group(n):  # the mean of GRPO's sqrt(s(n-s))/n over s ~ Binomial(n, p)
    def rate(p):
        return sum(comb(n, s) * p**s * (1 - p) ** (n - s) * sqrt(s * (n - s)) / n for s in range(n + 1))
    return rate


RATES = {"plain": lambda p: p * (1 - p), "normalised": lambda p: sqrt(p * (1 - p)), "group of 8": group(8)}


def exponent(rate, p0, panels=4000):
    z0 = log(p0 / (1 - p0))
    h = -z0 / panels
    slowness = lambda i: 1 / rate(1 / (1 + exp(-(z0 + i * h))))
    tau = h / 3 * sum(slowness(i) * (1 if i in (0, panels) else 4 if i % 2 else 2) for i in range(panels + 1))
    return 1 / (rate(p0) * (1 - 2 * p0) * tau)


rows = [
    {"rate": name, "p0": p0, "exponent": round(exponent(rate, p0), 6)}
    for name, rate in RATES.items() for p0 in (1e-4, 1e-3, 5e-3)
]
print('{"maker": "Python floats, testdata/slopes.py", "rows": [')
print(",\n".join(json.dumps(r) for r in rows))
print("]}")
