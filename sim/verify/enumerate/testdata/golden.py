"""Golden values of VIGOR on tiny batches, by another route than the package:
states of binomial COUNTS are carried forward and merged, cuts go by sorting,
all probabilities are exact fractions, square roots have 40 digits.

    python3 golden.py > golden.json
"""
import json
import math
import platform
from collections import defaultdict
from fractions import Fraction as F
from itertools import combinations, product

import mpmath
from mpmath import mpf

mpmath.mp.dps = 40
DEFAULT = dict(m0=2, rounds=2, alpha="1/2", gamma="1", ties="random", cut="ceil",
               select="sample", update="all", reuse=True, frontier="0.75")
CASES = [
    dict(name="two prompts, default options", p=["0.3", "0.9"]),
    dict(name="default rounds, two prompts", p=["0.2", "0.6"], rounds=3, gamma="2"),
    dict(name="three prompts, three rounds", p=["0.25", "0.5", "0.95"], rounds=3),
    dict(name="four prompts, three rounds", p=["0.1", "0.35", "0.6", "0.85"], rounds=3),
    dict(name="four prompts, growing groups", p=["0.1", "0.35", "0.6", "0.85"], gamma="3"),
    dict(name="corners", p=["0", "0.5", "1", "0.3"], rounds=3),
    dict(name="ties by index", p=["0", "0.5", "0.2", "0.9"], rounds=3, ties="index"),
    dict(name="floor", p=["0.15", "0.5", "0.7"], rounds=3, cut="floor", gamma="2"),
    dict(name="nearest, half up", p=["0.15", "0.5", "0.7"], cut="nearest", gamma="2"),
    dict(name="alpha 0.7, nearest", p=["0.15", "0.5", "0.7", "0.4"], rounds=3, alpha="0.7", cut="nearest"),
    dict(name="truth with a tie", p=["0.3", "0.7", "0.1"], select="truth", rounds=3),
    dict(name="truth, ties by index", p=["0.3", "0.7", "0.1"], select="truth", ties="index", frontier="0.84"),
    dict(name="random", p=["0.3", "0.6", "0.1", "0.5"], select="random", rounds=3),
    dict(name="survivors", p=["0.3", "0.6", "0.95"], update="survivors", rounds=3),
    dict(name="fresh groups", p=["0.3", "0.6", "0.95"], reuse=False, m0=2, alpha="1/3"),
    dict(name="fresh groups of survivors", p=["0.3", "0.6", "0.95"], reuse=False, update="survivors"),
    dict(name="the other schedule, short", p=["0.3", "0.6", "0.95"], m0=4, alpha="1/4", gamma="2"),
    dict(name="law of three atoms", law=[["0", "0.25"], ["0.3", "0.45"], ["0.8", "0.3"]], batch=3, rounds=3),
    dict(name="law, survivors, fresh, index", law=[["1", "0.2"], ["0.5", "0.3"], ["0.1", "0.5"]], batch=2,
         update="survivors", reuse=False, ties="index", gamma="2"),
]


def whole(x, cut):
    return {"ceil": math.ceil(x), "floor": math.floor(x), "nearest": math.floor(x + F(1, 2))}[cut]


def binomial(n, p):
    return [(s, math.comb(n, s) * p**s * (1 - p) ** (n - s)) for s in range(n + 1)
            if p**s * (1 - p) ** (n - s) > 0]


def drawn(counts, who, n, p):
    """Adds n rollouts to each prompt of who; counts is a tuple of successes."""
    for outcome in product(*(binomial(n[x], p[x]) for x in who)):
        new, prob = list(counts), F(1)
        for x, (s, q) in zip(who, outcome):
            new[x] += s
            prob *= q
        yield tuple(new), prob


def cut(c, active, n, counts, p, keep):
    key = {"sample": lambda x: counts[x] * (n - counts[x]), "truth": lambda x: p[x] * (1 - p[x]),
           "random": lambda x: 0}[c["select"]]
    order = sorted(active, key=lambda x: (-key(x), x))
    level = key(order[keep - 1])
    sure = [x for x in order if key(x) > level]
    tied = [x for x in order if key(x) == level]
    if c["ties"] == "index" and c["select"] != "random":
        yield tuple(sorted(sure + tied[: keep - len(sure)])), F(1)
        return
    choices = list(combinations(tied, keep - len(sure)))
    for choice in choices:
        yield tuple(sorted(sure + list(choice))), F(1, len(choices))


def final_states(c, p):
    """The law of (sizes, last rounds, successes of the groups to be used)."""
    B = len(p)
    states = {((0,) * B, (0,) * B, (0,) * B, tuple(range(B))): F(1)}
    for t in range(1, c["rounds"] + 1):
        m = F(c["m0"]) * F(c["gamma"]) ** (t - 1)
        assert m.denominator == 1
        m, after = int(m), defaultdict(F)
        for (n, last, s, active), prob in states.items():
            grown = tuple(n[x] + m if x in active else n[x] for x in range(B))
            rounds = tuple(t if x in active else last[x] for x in range(B))
            for counts, q in drawn(s, active, [m] * B, p):
                if t == c["rounds"]:
                    after[grown, rounds, counts, active] += prob * q
                    continue
                keep = max(1, whole(F(c["alpha"]) * len(active), c["cut"]))
                for kept, tie in cut(c, active, grown[active[0]], counts, p, keep):
                    after[grown, rounds, counts, kept] += prob * q * tie
        states = after
    end = defaultdict(F)
    for (n, last, s, active), prob in states.items():
        if c["reuse"]:
            end[n, last, s] += prob
            continue
        who = [x for x in range(B) if c["update"] == "all" or last[x] == c["rounds"]]
        cleared = tuple(0 if x in who else s[x] for x in range(B))
        for counts, q in drawn(cleared, who, n, p):
            end[n, last, counts] += prob * q
    return end


def number(x):
    return None if x is None else mpmath.nstr(mpf(x.numerator) / x.denominator if isinstance(x, F) else x, 25)


def figures(c):
    if "p" in c:
        batches = [([F(p) for p in c["p"]], F(1))]
        mean_u = sum(4 * F(p) * (1 - F(p)) for p in c["p"]) / len(c["p"])
    else:
        law = [(F(p), F(w)) for p, w in c["law"]]
        mean_u = sum(w * 4 * p * (1 - p) for p, w in law)
        batches = [([a[0] for a in draw], math.prod(a[1] for a in draw)) for draw in product(law, repeat=c["batch"])]
    T, front = c["rounds"], F(c["frontier"])
    e = defaultdict(F)
    irr = defaultdict(mpf)
    dropped, missed, sizes = defaultdict(F), defaultdict(F), defaultdict(F)
    for p, weight in batches:
        u = [4 * q * (1 - q) for q in p]
        for (n, last, s), prob in final_states(c, p).items():
            prob *= weight
            sizes[n] += prob
            used = [x for x in range(len(p)) if c["update"] == "all" or last[x] == T]
            e["probability"] += prob
            e["generated"] += prob * (sum(n) + (0 if c["reuse"] else sum(n[x] for x in used)))
            rollouts, gu = sum(n[x] for x in used), sum(n[x] * u[x] for x in used)
            e["trained"] += prob * rollouts
            e["weight"] += prob * gu
            e["groups"] += prob * len(used)
            if sum(u) > 0:
                e["ratio"] += prob * gu / rollouts / (sum(u) / len(u))
                e["rated"] += prob
            for x in used:
                sigma = 2 * mpmath.sqrt(s[x] * (n[x] - s[x])) / n[x]
                q, v = mpf(prob.numerator) / prob.denominator, mpf(u[x].numerator) / u[x].denominator
                irr["signal"] += q * n[x] * sigma
                irr["sigma"] += q * sigma
                irr["progress"] += q * n[x] * sigma * v
                if s[x] in (0, n[x]):
                    e["dead"] += prob * n[x]
                    e["dead_groups"] += prob
            for x in range(len(p)):
                dropped[last[x]] += prob
                if u[x] >= front:
                    missed[last[x]] += prob
    real = {k: mpf(v.numerator) / v.denominator for k, v in e.items()}
    per = lambda a, b: None if b == 0 else F(a) / F(b)
    out = {
        "Probability": e["probability"], "MeanU": mean_u, "Generated": e["generated"], "Trained": e["trained"],
        "Weight": e["weight"], "Eta": per(e["weight"], e["trained"] * mean_u),
        "EtaGenerated": per(e["weight"], e["generated"] * mean_u), "EtaBatchMean": per(e["ratio"], e["rated"]),
        "Signal": irr["signal"] / real["trained"], "SignalPromptMean": irr["sigma"] / real["groups"],
        "Ineffective": per(e["dead"], e["trained"]), "ZeroVarianceGroups": per(e["dead_groups"], e["groups"]),
        "Progress": irr["progress"] / real["trained"],
    }
    for t in range(1, T):
        out[f"FalseOmission{t}"] = per(missed[t], dropped[t])
        out[f"FalseNegative{t}"] = per(missed[t], sum(missed[r] for r in range(t, T + 1)))
        out[f"FalseNegativeCumulative{t}"] = per(sum(missed[r] for r in range(1, t + 1)), sum(missed.values()))
    return ({k: number(v) for k, v in out.items()},
            [{"sizes": list(k), "probability": number(v)} for k, v in sorted(sizes.items()) if v > 0])


if __name__ == "__main__":
    cases = []
    for case in CASES:
        c = {**DEFAULT, **case}
        c["figures"], c["size_vectors"] = figures(c)
        cases.append(c)
    print(json.dumps({"maker": f"golden.py, Python {platform.python_version()}, mpmath {mpmath.__version__}",
                      "cases": cases}, indent=1))
