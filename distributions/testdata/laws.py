"""Golden values of the laws of prompt difficulty.

    python3 laws.py > laws.json        # about two minutes

mpmath, 70 digits; 30 for the bisection of cuts. Shares no formula with the
package beyond the densities: Beta probabilities come from mpmath's betainc
where it converges, everything else from mpmath's quad over p.
"""

import json
import platform
import sys

import mpmath as mp

mp.mp.dps = 70
HALF = mp.mpf(1) / 2


def root(c):
    with mp.workdps(400):
        return (1 - mp.sqrt(1 - c)) / 2


def pieces(low, high):
    """[low, high] split so that quad meets no long power tail."""
    points = [low]
    while points[-1] * 4 < high:
        points.append(points[-1] * 4)
    return points + [high]


class Beta:
    def __init__(self, a, b):
        self.a, self.b = mp.mpf(a), mp.mpf(b)

    def raw(self, s, f, x, y):
        """E[p^s (1-p)^f; x < p < 1-y]."""
        a, b = self.a + s, self.b + f
        factor = mp.beta(a, b) / mp.beta(self.a, self.b)
        if a + b < 1000 and min(x, y) > 1e-9:
            return factor * mp.betainc(a, b, x, 1 - y, regularized=True)
        if a + b < 1000:
            ends = mp.betainc(a, b, 0, x, regularized=True) + mp.betainc(b, a, 0, y, regularized=True)
            return factor * (1 - ends)
        mean = a / (a + b)  # betainc does not converge: quad over the peak, which the cuts reach
        sd = mp.sqrt(mean * (1 - mean) / (a + b))
        knots = [mean + k * sd for k in (-40, -20, -10, -5, -2, 0, 2, 5, 10, 20, 40)]
        low, high = max(x, knots[0], 0), min(1 - y, knots[-1], 1)
        if low >= high:
            return mp.mpf(0)
        knots = [low] + [k for k in knots if low < k < high] + [high]
        log_beta = mp.log(mp.beta(self.a, self.b))
        return mp.quad(lambda p: mp.exp((a - 1) * mp.log(p) + (b - 1) * mp.log(1 - p) - log_beta), knots)


class Density:
    """A law by its density over p, on [low, high], and its knots."""

    def __init__(self, density, low, high):
        self.density, self.low, self.high = density, low, high

    def raw(self, s, f, x, y):
        x, y = max(x, self.low), min(1 - y, self.high)
        if x >= y:
            return mp.mpf(0)
        total = mp.mpf(0)
        if x < HALF:
            total += mp.quad(lambda p: self.density(p) * p**s * (1 - p) ** f, pieces(x, min(y, HALF)))
        if y > HALF:
            lo, hi = 1 - y, 1 - max(x, HALF)
            if lo == 0:
                points = [mp.mpf(0), hi / 4, hi]
            else:
                points = pieces(lo, hi)
            total += mp.quad(lambda q: self.density(1 - q) * (1 - q) ** s * q**f, points)
        return total


def pareto_success(k, low, high):
    k, low, high = mp.mpf(k), mp.mpf(low), mp.mpf(high)
    z = 1 - (low / high) ** k
    return Density(lambda p: k * low**k / z * p ** (-k - 1), low, high)


class ParetoVariance:
    def __init__(self, k, low, high, hard):
        k, low, high, hard = map(mp.mpf, (k, low, high, hard))
        z = 1 - (low / high) ** k

        def branch(mass):
            return lambda m: mass * k * low**k / z * (4 * m * (1 - m)) ** (-k - 1) * 4 * (1 - 2 * m)

        self.lower = Density(branch(hard), root(low), root(high))
        self.upper = Density(branch(1 - hard), root(low), root(high))

    def raw(self, s, f, x, y):
        return self.lower.raw(s, f, x, max(y, HALF)) + self.upper.raw(f, s, y, max(x, HALF))


def above(law, c):
    return law.raw(0, 0, root(c), root(c))


def upper(law, c):
    return 4 * law.raw(1, 1, root(c), root(c))


def cdf(law, c):
    x = root(c)
    return law.raw(0, 0, mp.mpf(0), 1 - x) + law.raw(0, 0, 1 - x, mp.mpf(0))


def top(law, q):
    """(cut, TopU) at the share q, bisecting on sqrt(1-c) or log(c)."""
    mp.mp.dps = 30
    try:
        return bisect(law, q)
    finally:
        mp.mp.dps = 70


def bisect(law, q):
    low, high = mp.mpf(0), mp.mpf(1)
    if above(law, mp.mpf(10) ** -320) <= q:  # the cut is below every float64
        return mp.mpf(0), upper(law, mp.mpf(0))
    if above(law, HALF) > q:  # the cut is near 1: bisect t = sqrt(1-c)
        for _ in range(75):
            t = (low + high) / 2
            low, high = (t, high) if above(law, 1 - t * t) < q else (low, t)
        c = 1 - high**2
    else:
        low, high = mp.mpf(-320), mp.mpf(0)
        for _ in range(75):
            e = (low + high) / 2
            low, high = (e, high) if above(law, mp.mpf(10) ** e) > q else (low, e)
        c = mp.mpf(10) ** high
    return c, upper(law, c) + c * (q - above(law, c))


def number(x):
    return float(mp.nstr(x, 20))


LAWS = [
    ("beta", [0.02, 0.05], Beta),
    ("beta", [0.1, 0.3], Beta),
    ("beta", [0.5, 0.5], Beta),
    ("beta", [1, 1], Beta),
    ("beta", [2, 6], Beta),
    ("beta", [30, 2], Beta),
    ("beta", [0.001, 0.002], Beta),
    ("beta", [300, 5], Beta),
    ("beta", [10000, 9000], Beta),
    ("pareto-variance", [1.5, 0.01, 1, 0.5], ParetoVariance),
    ("pareto-variance", [1, 0.01, 1, 0.3], ParetoVariance),
    ("pareto-variance", [0.5, 0.001, 0.9, 1], ParetoVariance),
    ("pareto-variance", [1.0000001, 0.01, 1, 0.5], ParetoVariance),
    ("pareto-variance", [20, 0.1, 1, 0], ParetoVariance),
    ("pareto-success", [1.2, 0.01, 1], pareto_success),
    ("pareto-success", [1, 0.05, 0.4], pareto_success),
    ("pareto-success", [2, 0.01, 0.7], pareto_success),
    ("pareto-success", [0.3, 0.6, 0.95], pareto_success),
    ("pareto-success", [12, 0.2, 1], pareto_success),
]
CUTS = [1e-6, 0.001, 0.02, 0.3, 0.75, 0.99, 0.999999]
SHARES = [1e-9, 1e-4, 0.0625, 0.125, 0.25, 0.5, 0.9]
MOMENTS = [(1, 0), (8, 0), (8, 4), (30, 3), (60, 0), (60, 60), (60, 13), (60, 30)]


def golden(name, parameters, make):
    law = make(*parameters)
    tops = [top(law, mp.mpf(q)) for q in SHARES]
    return {
        "law": name,
        "parameters": parameters,
        "mean_p": number(law.raw(1, 0, mp.mpf(0), mp.mpf(0))),
        "mean_u": number(4 * law.raw(1, 1, mp.mpf(0), mp.mpf(0))),
        "cuts": [
            {"c": c, "cdf": number(cdf(law, mp.mpf(c))), "upper": number(upper(law, mp.mpf(c)))} for c in CUTS
        ],
        "tops": [{"q": q, "cut": number(c), "top": number(t)} for q, (c, t) in zip(SHARES, tops)],
        "moments": [
            {"n": n, "s": s, "mean": number(law.raw(s, n - s, mp.mpf(0), mp.mpf(0)))} for n, s in MOMENTS
        ],
    }


golden_laws = []
for law in LAWS:
    print(law[0], law[1], file=sys.stderr)
    golden_laws.append(golden(*law))
print(json.dumps({
    "maker": f"laws.py, mpmath {mp.__version__}, Python {platform.python_version()}",
    "laws": golden_laws,
}, indent=1))
