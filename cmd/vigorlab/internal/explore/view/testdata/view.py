#!/usr/bin/env python3
"""Mean rollouts of VIGOR's default schedule on the uniform law, in an infinite batch, by
another route than package theory: every path of successes at the ends of rounds, in
fractions. Needs Python alone: python3 view.py > view.json"""
import json
from fractions import Fraction as F
from math import comb

ASKED = [2, 4, 8, 16]  # rollouts of a prompt by round
KEPT = F(1, 2)  # of the active prompts by a cut


def binomial(s, n, p):
    return comb(n, s) * p**s * (1 - p) ** (n - s)


def part(s, n, low, high):
    """The integral of binomial(s, n, p) over p from low to high."""
    def below(x):  # P(Beta(s+1, n-s+1) <= x) / (n+1)
        return sum(binomial(k, n + 1, x) for k in range(s + 1, n + 2)) / (n + 1)
    return below(high) - below(low)


def keep(mass, n, share):
    """The chance to stay by successes: the largest min(s, n-s) first, ties alike."""
    stays, left = {}, share
    for level in range(n // 2, -1, -1):
        tied = [s for s in range(n + 1) if min(s, n - s) == level]
        there = sum(mass[s] for s in tied)
        chance = F(1) if there <= left else left / there
        left -= chance * there
        stays.update({s: chance for s in tied})
    return stays


# count[s] is the number of reward sequences with s successes, weighted by their chance
# to be active: every one has probability p^s (1-p)^(n-s).
rounds = []  # n, counts of sequences active in the round
count, n, share = {0: F(1)}, 0, F(1)
for t, m in enumerate(ASKED):
    longer = {}
    for s, c in count.items():
        for k in range(m + 1):
            longer[s + k] = longer.get(s + k, F(0)) + c * comb(m, k)
    count, n = longer, n + m
    rounds.append((m, n, dict(count)))
    if t < len(ASKED) - 1:
        mass = {s: c / comb(n, s) * part(s, n, F(0), F(1)) for s, c in count.items()}
        assert sum(mass.values()) == share
        share *= KEPT
        stays = keep(mass, n, share)
        count = {s: c * stays[s] for s, c in count.items()}


def over(weight):
    """Mean rollouts where weight(s, n) is what P(s of n) has been integrated against."""
    return sum(m * c / comb(n, s) * weight(s, n) for m, n, count in rounds for s, c in count.items())


def polynomial(s, n):
    """E[u binomial(s, n, p)], u = 4p(1-p)."""
    return 4 * part(s + 1, n + 2, F(0), F(1)) * comb(n, s) / comb(n + 2, s + 1)


mean = over(lambda s, n: part(s, n, F(0), F(1)))
assert mean == 8
print(json.dumps({
    "rollouts": float(over(lambda s, n: part(s, n, F(1, 4), F(3, 4))) / mean),
    "eta": float(over(polynomial) / mean / F(2, 3)),
    "curve": [{"p": float(p), "rollouts": float(over(lambda s, n: binomial(s, n, p)))}
              for p in (F(1, 100), F(1, 10), F(1, 4), F(1, 2), F(7, 10), F(95, 100))],
}, indent=1))
