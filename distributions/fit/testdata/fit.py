"""Golden values of fits to small invented tables.

    python3 fit.py > fit.json        # about half a minute

mpmath, 25 digits. Likelihoods are Beta functions, and for the Pareto families
mpmath's quad over p, or Gauss panels in floating point for a maximum; maxima are zeros of the score by findroot, its derivatives
by mpmath's diff; ends of profile intervals are zeros of the score of the other
parameters together with the drop of the likelihood. The nonparametric estimate
comes from its dual (Koenker and Mizera 2014, theorem 2): maximise
sum k_c log v_c under sum_c v_c P(c | p) <= 1 for all p, by Newton's method on a
logarithmic barrier over a grid of p. Shares of zero-variance groups are counted
group by group.
"""

import itertools
import json
import math
import platform

import mpmath as mp

mp.mp.dps = 25
DROP = mp.mpf("3.841458820694124") / 2

TABLES = {  # n: prompts by successes
    "small": {4: [30, 14, 9, 7, 20]},
    "unequal": {2: [5, 3, 4], 6: [10, 4, 3, 2, 2, 1, 6]},
    "spiked": {8: [60, 6, 8, 9, 10, 9, 7, 5, 30]},
    "pareto": {8: [542, 327, 121, 43, 20, 22, 53, 140, 232]},
}


def cells(table):
    return [(n, s, k) for n, row in sorted(TABLES[table].items()) for s, k in enumerate(row)]


def binomial(n, s, p):
    return mp.binomial(n, s) * p**s * (1 - p) ** (n - s)


def beta_probability(n, s, a, b):
    return mp.binomial(n, s) * mp.beta(a + s, b + n - s) / mp.beta(a, b)


def spiked_probability(n, s, dead, solved, a, b):
    p = (1 - dead - solved) * beta_probability(n, s, a, b)
    return p + (dead if s == 0 else 0) + (solved if s == n else 0)


def pareto_probability(n, s, shape, low, high, hard):
    root = lambda u: (1 - mp.sqrt(1 - u)) / 2
    start, end = root(low), root(high)
    points = [start]
    while points[-1] * 3 < end:
        points.append(points[-1] * 3)
    points.append(end)
    density = lambda p: (4 * p * (1 - p)) ** (-shape - 1) * 4 * (1 - 2 * p)
    both = lambda p: hard * binomial(n, s, p) + (1 - hard) * binomial(n, s, 1 - p)
    return mp.quad(lambda p: density(p) * both(p), points) / mp.quad(density, points)


def log_likelihood(table, probability, theta):
    return mp.fsum(k * mp.log(probability(n, s, *theta)) for n, s, k in cells(table) if k)


def score(table, probability, theta, skip=()):
    out = []
    for j in range(len(theta)):
        if j in skip:
            continue
        move = lambda x, j=j: log_likelihood(table, probability, [*theta[:j], x, *theta[j + 1 :]])
        out.append(mp.diff(move, theta[j]))
    return out


def maximum(table, probability, start):
    return list(mp.findroot(lambda *t: score(table, probability, list(t)), start, tol=1e-12))


def profile_end(table, probability, top, j, start):
    target = log_likelihood(table, probability, top) - DROP
    system = lambda *t: [log_likelihood(table, probability, list(t)) - target, *score(table, probability, list(t), (j,))]
    return mp.findroot(system, start, tol=1e-10)[j]


def dual(table):
    """The nonparametric maximum, by its dual in floating point."""
    data = [(n, s, k) for n, s, k in cells(table) if k]
    total = sum(k for _, _, k in data)
    grid = [mp.sin(mp.pi / 2 * i / 800) ** 2 for i in range(801)]
    rows = [[float(binomial(n, s, p)) for n, s, _ in data] for p in grid]
    v = [0.5 / max(sum(r) for r in rows)] * len(data)
    share = [k / total for _, _, k in data]
    weight = 1e-2
    for _ in range(14):
        for _ in range(60):
            slack = [1 - sum(x * y for x, y in zip(r, v)) for r in rows]
            g = [share[c] / v[c] - weight * sum(r[c] / e for r, e in zip(rows, slack)) for c in range(len(v))]
            h = mp.matrix(len(v))
            for c in range(len(v)):
                for d in range(len(v)):
                    h[c, d] = weight * sum(r[c] * r[d] / e**2 for r, e in zip(rows, slack))
                h[c, c] += share[c] / v[c] ** 2
            move = [float(x) for x in mp.lu_solve(h, mp.matrix(g))]
            height = lambda w: sum(a * mp.log(x) for a, x in zip(share, w)) + weight * sum(
                mp.log(1 - sum(x * y for x, y in zip(r, w))) for r in rows)
            size = 1.0
            while True:
                w = [x + size * m for x, m in zip(v, move)]
                if min(w) > 0 and max(sum(x * y for x, y in zip(r, w)) for r in rows) < 1 and height(w) >= height(v):
                    break
                size /= 2
                if size < 1e-12:
                    w = v
                    break
            v = w
            if max(abs(m) * size / x for m, x in zip(move, v)) < 1e-10:
                break
        weight /= 5
    f = [a / x for a, x in zip(share, v)]  # the cells' probabilities at the maximum
    return data, f, total


def distance(table, a, b):
    sum_ = mp.mpf(0)
    for n, row in TABLES[table].items():
        seen = law = mp.mpf(0)
        for s in range(n):
            f = beta_probability(n, s, a, b)
            seen, law = seen + mp.mpf(row[s]) / sum(row), law + f
            sum_ += sum(row) * (seen - law) ** 2 * f / (law * (1 - law))
    return sum_


def zero_variance(table, g):
    groups = prompts = mp.mpf(0)
    for n, s, k in cells(table):
        if n >= g:
            rewards = [1] * s + [0] * (n - s)
            chosen = list(itertools.combinations(rewards, g))
            groups += k * mp.mpf(sum(len(set(c)) == 1 for c in chosen)) / len(chosen)
            prompts += k
    return groups / prompts


def number(x):
    return float(mp.nstr(x, 17))


def fitted(table, family, probability, start, ends=()):
    top = maximum(table, probability, start)
    out = {"table": table, "family": family, "theta": [number(x) for x in top],
           "loglik": number(log_likelihood(table, probability, top)), "ends": []}
    for j, low, high in ends:
        out["ends"].append({"parameter": j, "low": number(profile_end(table, probability, top, j, low)),
                            "high": number(profile_end(table, probability, top, j, high))})
    return out


def at(table, family, probability, theta):
    theta = [mp.mpf(x) for x in theta]
    return {"table": table, "family": family, "theta": [number(x) for x in theta],
            "loglik": number(log_likelihood(table, probability, theta))}


def gauss(points=24):
    """Gauss-Legendre on [0, 1], in floating point."""
    out = []
    for x in mp.polyroots(mp.taylor(lambda x: mp.legendre(points, x), 0, points)[::-1], maxsteps=200, extraprec=200):
        slope = points * (x * mp.legendre(points, x) - mp.legendre(points - 1, x)) / (x * x - 1)
        out.append((float((x + 1) / 2), float(1 / ((1 - x * x) * slope**2))))
    return out


RULE = gauss()


def whole_pareto(table, shape, low, hard):
    """The log-likelihood with max = 1 in floating point, p on equal panels."""
    start = low / (2 * (1 + math.sqrt(1 - low)))
    panels = 12
    width = (0.5 - start) / panels
    norm, sums = 0.0, [0.0] * len(cells(table))
    for k in range(panels):
        for x, w in RULE:
            p = start + (k + x) * width
            d = w * (4 * p * (1 - p)) ** (-shape - 1) * (1 - 2 * p)
            norm += d
            for i, (n, s, _) in enumerate(cells(table)):
                sums[i] += d * math.comb(n, s) * (hard * p**s * (1 - p) ** (n - s) + (1 - hard) * (1 - p) ** s * p ** (n - s))
    return math.fsum(k * math.log(x / norm) for (_, _, k), x in zip(cells(table), sums))


def whole_pareto_maximum(table, theta):
    """Newton's method, derivatives by central differences."""
    step = 1e-3

    def at(*moves):
        return whole_pareto(table, *(x + step * sum(m[j] for m in moves) for j, x in enumerate(theta)))

    unit = [[float(i == j) for j in range(3)] for i in range(3)]
    minus = [[-x for x in u] for u in unit]
    for _ in range(30):
        slope = [(8 * (at(u) - at(m)) - at(u, u) + at(m, m)) / (12 * step) for u, m in zip(unit, minus)]
        bend = mp.matrix(3)
        for i in range(3):
            for j in range(3):
                bend[i, j] = (at(unit[i], unit[j]) - at(unit[i], minus[j]) - at(minus[i], unit[j]) + at(minus[i], minus[j])) / (4 * step**2)
        move = mp.lu_solve(bend, mp.matrix(slope))
        theta = [x - float(m) for x, m in zip(theta, move)]
        if max(abs(m) for m in move) < 1e-9:
            break
    return {"table": table, "family": "pareto-variance", "theta": theta, "loglik": whole_pareto(table, *theta), "ends": []}


def mean_sqrt_u(a, b):
    return mp.quad(lambda p: 2 * mp.sqrt(p * (1 - p)) * p ** (a - 1) * (1 - p) ** (b - 1), [0, 0.5, 1]) / mp.beta(a, b)


def nonparametric(table):
    data, f, total = dual(table)
    return {"table": table, "loglik": number(mp.fsum(k * mp.log(x) for (_, _, k), x in zip(data, f))),
            "cells": [[n, s, float(x)] for (n, s, _), x in zip(data, f)]}


out = {
    "maker": f"fit.py, Python {platform.python_version()}, mpmath {mp.__version__}, {mp.mp.dps} digits",
    "tables": {name: {str(n): row for n, row in t.items()} for name, t in TABLES.items()},
    "maxima": [
        fitted("small", "beta", beta_probability, [0.3134, 0.4267],
               [(0, [0.186, 0.33], [0.526, 0.55]), (1, [0.25, 0.25], [0.4, 0.73])]),
        fitted("unequal", "beta", beta_probability, [0.3013, 0.4227], [(0, [0.145, 0.3], [0.61, 0.6])]),
        fitted("spiked", "spiked-beta", spiked_probability, [0.3958, 0.1922, 2.326, 2.483]),
        whole_pareto_maximum("pareto", [1.2, 0.15, 0.7]),
    ],
    "likelihoods": [
        at("small", "beta", beta_probability, ["0.0001", "1000"]),
        at("unequal", "spiked-beta", spiked_probability, ["0.3", "0.2", "0.5", "2"]),
        at("unequal", "truncated-pareto", pareto_probability, ["0.7", "0.05", "0.9", "0.3"]),
        at("small", "truncated-pareto", pareto_probability, ["19", "0.5", "0.6", "0.8"]),
        at("small", "truncated-pareto-free", pareto_probability, ["-0.6", "0.000001", "1", "0.7"]),
        at("small", "truncated-pareto-free", pareto_probability, ["-12", "0.2", "0.95", "0.5"]),
    ],
    "nonparametric": [nonparametric("small"), nonparametric("spiked"), nonparametric("unequal")],
    "distance": [{"table": t, "a": a, "b": b, "value": number(distance(t, mp.mpf(a), mp.mpf(b)))}
                 for t, a, b in (("small", 1, 2), ("unequal", 0.5, 0.5))],
    "zero_variance": [{"table": t, "g": g, "value": number(zero_variance(t, g))}
                      for t, g in (("small", 2), ("small", 4), ("unequal", 2), ("unequal", 4), ("spiked", 2), ("spiked", 8))],
    "mean_sqrt_u": [{"a": float(a), "b": float(b), "value": number(mean_sqrt_u(mp.mpf(a), mp.mpf(b)))}
                    for a, b in (("0.5", "0.75"), ("3", "0.25"), ("20", "40"))],
}
print(json.dumps(out, indent=1))
