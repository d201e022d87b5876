"""Writes training.json: when training in its mean field reaches targets.

Uncoupled logits z with dz/dt = E[G gain | p]/E[G], or E[gain | p] over groups,
by another route than package theory: the chance of every (successes, still
active) of every prompt is carried from round to round as it is, selection by
sample variance and by true variance are sorted lists, and time runs in equal
steps of Heun's method, extrapolated twice. Gains come from vectors of rewards.

Run: python3 training.py > training.json
"""
import json
import platform
from math import comb, exp, log, sqrt


def gain(name, n, s):
    """Sum over a group of advantage times score, over n, binary rewards."""
    rewards = [1.0] * s + [0.0] * (n - s)
    mean = sum(rewards) / n
    sd = sqrt(sum((r - mean) ** 2 for r in rewards) / n)
    if sd == 0:
        return 0.0
    p = 0.375  # any: advantages sum to 0
    a = [(r - mean) / (sd if name == "grpo" else 1) for r in rewards]
    return sum(x * (r - p) for x, r in zip(a, rewards)) / n


def binomial(n, p):
    return [comb(n, s) * p**s * (1 - p) ** (n - s) for s in range(n + 1)]


def fixed(plan, ps, ws):
    """For every prompt, the list of (share, group, mean gain)."""
    n = plan["group"]
    return [[(1.0, n, sum(b * gain(plan["gain"], n, s) for s, b in enumerate(binomial(n, p))))] for p in ps]


def vigor(plan, ps, ws):
    law = [{0: 1.0} for _ in ps]  # of successes, of the prompts still active
    out = [[] for _ in ps]
    n, m = 0, plan["m0"]
    for t in range(plan["rounds"]):
        last = t == plan["rounds"] - 1
        grown = []
        for p, d in zip(ps, law):
            new = {}
            for s, x in d.items():
                for k, b in enumerate(binomial(m, p)):
                    new[s + k] = new.get(s + k, 0) + x * b
            grown.append(new)
        law, n, m = grown, n + m, m * int(plan["gamma"])
        active = sum(w * sum(d.values()) for w, d in zip(ws, law))
        rank = {}  # mass by level, largest level first
        for i, (w, d) in enumerate(zip(ws, law)):
            for s, x in d.items():
                r = round(ps[i] * (1 - ps[i]), 13) if plan["select"] == "truth" else s * (n - s)
                rank[r] = rank.get(r, 0) + w * x
        left = 0 if last else float(plan["alpha"]) * active
        keep = {}
        for r in sorted(rank, reverse=True):
            keep[r] = min(1, left / rank[r]) if rank[r] > 0 else 0
            left = max(0, left - rank[r])
        for i, d in enumerate(law):
            share = mean = 0.0
            stay = {}
            for s, x in d.items():
                r = round(ps[i] * (1 - ps[i]), 13) if plan["select"] == "truth" else s * (n - s)
                share += x * (1 - keep[r])
                mean += x * (1 - keep[r]) * gain(plan["gain"], n, s)
                stay[s] = x * keep[r]
            if not plan["reuse"]:
                mean = share * sum(b * gain(plan["gain"], n, s) for s, b in enumerate(binomial(n, ps[i])))
            if share > 0 and (last or plan["update"] == "all"):
                out[i].append((share, n, mean / share))
            law[i] = stay
    return out


def drift(plan, zs, ws):
    ps = [1 / (1 + exp(-z)) for z in zs]
    groups = (fixed if "group" in plan else vigor)(plan, ps, ws)
    weigh = (lambda n: 1) if plan["prompt_mean"] else (lambda n: n)
    total = sum(w * sum(share * weigh(n) for share, n, _ in g) for w, g in zip(ws, groups))
    return [sum(share * weigh(n) * mean for share, n, mean in g) / total for g in groups]


def arrivals(plan, ps, ws, targets, dt):
    zs = [log(p / (1 - p)) for p in ps]
    mean = lambda zs: sum(w / (1 + exp(-z)) for w, z in zip(ws, zs))
    found, now = [], 0.0
    k1 = drift(plan, zs, ws)
    while len(found) < len(targets):
        heun = [z + dt * k for z, k in zip(zs, k1)]
        k2 = drift(plan, heun, ws)
        after = [z + dt / 2 * (a + b) for z, a, b in zip(zs, k1, k2)]
        slope2 = drift(plan, after, ws)
        m0, m1 = mean(zs), mean(after)
        climb = lambda zs, k: dt * sum(w * r / (2 + exp(z) + exp(-z)) for w, z, r in zip(ws, zs, k))
        c0, c1 = climb(zs, k1), climb(after, slope2)
        while len(found) < len(targets) and m1 >= targets[len(found)]:
            low, high = 0.0, 1.0  # cubic through both ends and slopes
            for _ in range(60):
                x = (low + high) / 2
                y = m0 * (1 + 2 * x) * (1 - x) ** 2 + c0 * x * (1 - x) ** 2 + m1 * x * x * (3 - 2 * x) + c1 * x * x * (x - 1)
                low, high = (x, high) if y < targets[len(found)] else (low, x)
            found.append(now + dt * x)
        zs, k1, now = after, slope2, now + dt
    return found


def golden(plan, ps, ws, targets, dt):
    a, b, c = (arrivals(plan, ps, ws, targets, dt / k) for k in (1, 2, 4))
    r1 = [(4 * y - x) / 3 for x, y in zip(a, b)]
    r2 = [(4 * y - x) / 3 for x, y in zip(b, c)]
    times = [(8 * y - x) / 7 for x, y in zip(r1, r2)]
    return {"plan": plan, "p": ps, "w": ws, "targets": targets, "times": [round(t, 8) for t in times]}


default = {"m0": 2, "rounds": 3, "alpha": "0.5", "gamma": "2", "cut": "ceil", "select": "sample", "update": "all", "reuse": True, "gain": "grpo", "prompt_mean": False}
few, fw = [0.02, 0.2, 0.45, 0.9], [0.4, 0.3, 0.2, 0.1]
cases = [
    golden({"group": 4, "gain": "grpo", "prompt_mean": False}, few, fw, [0.3, 0.6, 0.9], 0.1),
    golden({"group": 5, "gain": "drgrpo", "prompt_mean": True}, few, fw, [0.4], 0.1),
    golden(default, few, fw, [0.3, 0.6, 0.9], 0.1),
    golden({**default, "prompt_mean": True}, few, fw, [0.3, 0.6], 0.1),
    golden({**default, "gain": "drgrpo", "rounds": 2, "m0": 4, "alpha": "0.25", "gamma": "4"}, few, fw, [0.5], 0.1),
    golden({**default, "update": "survivors", "reuse": False}, few, fw, [0.4], 0.1),
    golden({**default, "update": "survivors", "prompt_mean": True}, few, fw, [0.4], 0.1),
    golden({**default, "select": "truth"}, few, fw, [0.27], 0.1),
]
print(json.dumps({"tool": "Python " + platform.python_version(), "script": "training.py", "cases": cases}, indent=1))
