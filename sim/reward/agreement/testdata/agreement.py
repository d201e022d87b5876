"""Golden values of how two raters agree.

    python3 agreement.py > agreement.json

Plain Python with fractions, and mpmath for roots: every figure is computed from
lists of single rewards, group by group, and the jackknife by leaving out each
prompt's rewards and starting anew. Shares no formula with the package but the
definitions: unbiased variance, Cohen's kappa, Wilson's interval.
"""

import itertools
import json
import platform
import random
from fractions import Fraction as F

import mpmath as mp

mp.mp.dps = 40
Z = mp.mpf("1.959963984540054")


def num(x):
    return None if x is None else float(mp.mpf(x.numerator) / x.denominator) if isinstance(x, F) else float(x)


def cov(x, y):
    n = len(x)
    mx, my = F(sum(x), n), F(sum(y), n)
    return sum((a - mx) * (b - my) for a, b in zip(x, y)) / (n - 1)


def ratio(a, b):
    return None if b == 0 else F(a) / F(b)


def rollouts(data):
    return [r for groups in data for g in groups for r in g]


def share(part, whole):
    return lambda data: ratio(sum(part(a, b) for a, b in rollouts(data)), sum(whole(a, b) for a, b in rollouts(data)))


def kappa(data):
    all_ = rollouts(data)
    n = len(all_)
    agree = F(sum(a == b for a, b in all_), n)
    p1, p2 = F(sum(a for a, _ in all_), n), F(sum(b for _, b in all_), n)
    chance = p1 * p2 + (1 - p1) * (1 - p2)
    return ratio(agree - chance, 1 - chance)


def big(data):
    return [g for groups in data for g in groups if len(g) >= 2]


def mean_cov(i, j):
    # signed rewards: 2r-1, whose covariance is 4 times that of r
    return lambda data: sum(cov([2 * r[i] - 1 for r in g], [2 * r[j] - 1 for r in g]) for g in big(data)) / len(big(data))


def correlation(data):
    c, u1, u2 = mean_cov(0, 1)(data), mean_cov(0, 0)(data), mean_cov(1, 1)(data)
    if u1 == 0 or u2 == 0:
        return None
    return mp.mpf(c.numerator) / c.denominator / mp.sqrt(mp.mpf((u1 * u2).numerator) / (u1 * u2).denominator)


def predicted(i):
    def f(data):
        """The mean over groups of 4 E[p'(1-p')], p' the law of a reward of i turned
        at the rates of the other, with p and p^2 estimated without bias."""
        all_ = [(r[i], r[1 - i]) for r in rollouts(data)]
        q01 = ratio(sum(b for a, b in all_ if a == 0), sum(1 for a, _ in all_ if a == 0)) or F(0)
        q10 = ratio(sum(1 - b for a, b in all_ if a == 1), sum(1 for a, _ in all_ if a == 1)) or F(0)
        total = F(0)
        for g in big(data):
            x = [r[i] for r in g]
            n = len(x)
            p = F(sum(x), n)
            pp = F(sum(a * b for a, b in itertools.permutations(x, 2)), n * (n - 1))
            # p' = q01 (1-p) + (1-q10) p ; E[p'] and E[p'^2] by expansion in p and p^2
            c0, c1 = q01, 1 - q10 - q01
            total += 4 * (c0 + c1 * p - (c0 * c0 + 2 * c0 * c1 * p + c1 * c1 * pp))
        return total / len(big(data))

    return f


def wilson(x, n):
    x = mp.mpf(x.numerator) / x.denominator
    # the roots of (x - t)^2 = z^2 t (1-t) / n
    a, b, c = 1 + Z * Z / n, -(2 * x + Z * Z / n), x * x
    d = mp.sqrt(b * b - 4 * a * c)
    return (-b - d) / (2 * a), (-b + d) / (2 * a)


def figure(f, data, whole=None, least=None, most=None):
    x = f(data)
    if x is None:
        return None
    m = len(data)
    without = [f(data[:k] + data[k + 1:]) for k in range(m)] if m > 1 else [None]
    se = None
    if None not in without:
        mean = sum(without) / m
        v = sum((w - mean) ** 2 for w in without) * (m - 1) / m
        v = mp.mpf(v.numerator) / v.denominator if isinstance(v, F) else v
        se = mp.sqrt(v) if v > mp.mpf("1e-60") else mp.mpf(0)  # roots are rounded
    if whole is None:
        low = high = None
        if se:
            value = mp.mpf(x.numerator) / x.denominator if isinstance(x, F) else x
            low, high = value - Z * se, value + Z * se
            low = low if least is None else max(low, least)
            high = high if most is None else min(high, most)
    else:
        n = mp.mpf(sum(whole(a, b) for a, b in rollouts(data)))
        if se and 0 < x < 1:
            p = mp.mpf(x.numerator) / x.denominator
            n = min(n, p * (1 - p) / se**2)
        else:
            n = min(n, sum(1 for groups in data if any(whole(a, b) for a, b in rollouts([groups]))))
        low, high = wilson(x, n)
    return {"value": num(x), "se": None if se is None else float(se), "low": None if low is None else float(low), "high": None if high is None else float(high)}


def every(a, b):
    return 1


def mixes(data, i):
    """Groups constant by rater i and mixed by the other, and how many independent
    errors would mix: summed over every pattern of errors."""
    all_ = [(r[i], r[1 - i]) for r in rollouts(data)]
    q = {v: ratio(sum(a != b for a, b in all_ if a == v), sum(1 for a, _ in all_ if a == v)) for v in (0, 1)}
    constant = seen = 0
    want = F(0)
    for g in big(data):
        x, y = [r[i] for r in g], [r[1 - i] for r in g]
        if len(set(x)) > 1:
            continue
        constant += 1
        seen += len(set(y)) > 1
        for turned in itertools.product((0, 1), repeat=len(x)):
            if len(set(turned)) > 1:
                p = F(1)
                for t in turned:
                    p *= q[x[0]] if t else 1 - q[x[0]]
                want += p
    return constant, seen, num(want)


def case(name, data):
    each = sorted((sum(a != b for a, b in rollouts([p])) for p in data), reverse=True)
    total, held, half = sum(each), 0, 0
    while 2 * held < total:
        held += each[half]
        half += 1
    first, second = mixes(data, 0), mixes(data, 1)
    return {
        "name": name,
        "rewards": data,
        "agreement": figure(share(lambda a, b: a == b, every), data, every),
        "kappa": figure(kappa, data, None, -1, 1),
        "first_success": figure(share(lambda a, b: a, every), data, every),
        "second_success": figure(share(lambda a, b: b, every), data, every),
        "second_of_first_failed": figure(share(lambda a, b: (1 - a) * b, lambda a, b: 1 - a), data, lambda a, b: 1 - a),
        "first_of_second_failed": figure(share(lambda a, b: a * (1 - b), lambda a, b: 1 - b), data, lambda a, b: 1 - b),
        "second_fails_succeeded": figure(share(lambda a, b: a * (1 - b), lambda a, b: a), data, lambda a, b: a),
        "first_fails_succeeded": figure(share(lambda a, b: (1 - a) * b, lambda a, b: b), data, lambda a, b: b),
        "first_variance": figure(mean_cov(0, 0), data, None, 0),
        "second_variance": figure(mean_cov(1, 1), data, None, 0),
        "added": figure(lambda d: mean_cov(1, 1)(d) - mean_cov(0, 0)(d), data),
        "covariance": figure(mean_cov(0, 1), data),
        "correlation": figure(correlation, data, None, -1, 1),
        "second_predicted": figure(predicted(0), data, None, 0),
        "first_predicted": figure(predicted(1), data, None, 0),
        "constant": [first[0], second[0]],
        "mixes": [first[1], second[1]],
        "mixes_want": [first[2], second[2]],
        "disagreeing": sum(1 for e in each if e),
        "half": half,
    }


def drawn(seed, prompts, q01, q10):
    r = random.Random(seed)
    data = []
    for _ in range(prompts):
        p = r.choice([0, 0.1, 0.5, 0.9, 1])
        groups = []
        for _ in range(r.randint(1, 3)):
            g = []
            for _ in range(r.randint(1, 6)):
                a = int(r.random() < p)
                g.append([a, int(r.random() < (1 - q10 if a else q01))])
            groups.append(g)
        data.append(groups)
    return data


def flipped():
    """E[u'] by E[p'] and E[p'^2] over atoms of p."""
    rows = []
    for q01, q10 in ((0, 0), (0.05, 0.05), (0.25, 0), (0, 0.25), (0.125, 0.5), (0.5, 0.5), (1, 1)):
        atoms = [(F(1, 4), F(0)), (F(1, 4), F(1, 8)), (F(3, 8), F(3, 4)), (F(1, 8), F(1))]
        a, b = F(q01), F(q10)
        ps = [(w, p * (1 - b) + (1 - p) * a) for w, p in atoms]
        rows.append({
            "q01": q01, "q10": q10,
            "p": num(sum(w * p for w, p in atoms)), "u": num(sum(w * 4 * p * (1 - p) for w, p in atoms)),
            "want": num(sum(w * 4 * p * (1 - p) for w, p in ps)),
        })
    return rows


made_by = f"agreement.py, python {platform.python_version()}, mpmath {mp.__version__}"
cases = [
    case("mixed", drawn(1, 12, 0.2, 0.1)),
    case("a strict second", drawn(2, 9, 0, 0.4)),
    case("agreement alone", drawn(3, 6, 0, 0)),
    case("opposites", drawn(4, 6, 1, 1)),
    case("one prompt", [[[[1, 1], [0, 1], [0, 0], [1, 0], [1, 1]]]]),
    case("no successes by the first", [[[[0, 1], [0, 0]]], [[[0, 0], [0, 0], [0, 1]]], [[[0, 0], [0, 0]]]]),
]
print('{"made_by": ' + json.dumps(made_by) + ',\n"cases": [\n' + ",\n".join(map(json.dumps, cases)) + "\n],\n" + '"flipped": ' + json.dumps(flipped()) + "}")
