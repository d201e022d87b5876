"""Golden values of the length law.

    python3 lengths.py > lengths.json

mpmath, 30 digits, by quad over the density of log L.
"""

import json
import platform

import mpmath as mp

mp.mp.dps = 30


def golden(tokens, sd, slope, cap, p):
    tokens, sd, slope, p = map(mp.mpf, (tokens, sd, slope, p))
    mean = tokens * mp.exp(slope * (mp.mpf(1) / 2 - p))
    variance = mp.log(1 + (sd / tokens) ** 2)
    centre, width = mp.log(mean) - variance / 2, mp.sqrt(variance)

    def density(x):
        return mp.npdf(x, centre, width)

    limit = mp.log(cap)
    far = [centre - 30 * width, centre - 5 * width, centre, centre + 5 * width, centre + 30 * width]
    below = [x for x in far if x < limit] + [limit]
    above = [limit] + [x for x in far if x > limit]
    short = mp.quad(lambda x: mp.exp(x) * density(x), below) if len(below) > 1 else mp.mpf(0)
    cut = mp.quad(density, above) if len(above) > 1 else mp.mpf(0)
    return {"mean": float(short + cap * cut), "truncated": float(cut)}


CASES = [
    (tokens, sd, slope, cap, p)
    for tokens, sd, slope, cap in [(500, 250, 0, 1000), (500, 250, 2, 600), (900, 30, 0, 1000), (3000, 9000, -1, 4096), (20, 5, 3, 10)]
    for p in (0, 0.25, 0.5, 1)
]
print(json.dumps({
    "maker": f"lengths.py, mpmath {mp.__version__}, Python {platform.python_version()}",
    "cases": [dict(tokens=t, sd=s, slope=k, cap=c, p=p, **golden(t, s, k, c, p)) for t, s, k, c, p in CASES],
}, indent=1))
