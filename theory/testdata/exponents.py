"""Golden values of theory/exponent.go by mpmath: times by quadrature of dz/rate,
exponents by numerical differentiation of ln tau against ln u along p. No closed
form is used. Inputs are float64 values, taken exactly.

Run: python3 exponents.py > exponents.json
"""
import json

import mpmath
from mpmath import mp, mpf

mp.dps = 40
RATES = {"plain": lambda v: v, "normalised": mp.sqrt}


def logit(p):
    return mp.log(p / (1 - p))


def tau(rate, start, end):
    a, b = logit(start), logit(end)
    cuts = [a + (b - a) * k / 32 for k in range(33)]
    return mp.quad(lambda z: 1 / rate(1 / ((1 + mp.exp(-z)) * (1 + mp.exp(z)))), cuts)


def slope(time, p):
    """-d ln time(p) / d ln u."""
    h = p * mpf(10) ** -12
    log_u = lambda q: mp.log(4 * q * (1 - q))
    return -(mp.log(time(p + h)) - mp.log(time(p - h))) / (log_u(p + h) - log_u(p - h))


rows = []
for flow, rate in RATES.items():
    for start in (1e-6, 1e-4, 1e-3, 0.02, 0.15, 0.2, 0.4):
        for end in (0.5, 0.9, 0.99):
            p, q = mpf(start), mpf(end)
            gain = mpf(end - start)  # in float64, as the caller adds it
            rows.append(dict(
                flow=flow, start=start, end=end,
                time=float(tau(rate, p, q)),
                level=float(slope(lambda s: tau(rate, s, q), p)),
                gain=float(slope(lambda s: tau(rate, s, s + gain), p))))
print(f'{{"tool": "mpmath {mpmath.__version__}", "script": "exponents.py", "rows": [')
print(",\n".join(json.dumps(r) for r in rows))
print("]}")
