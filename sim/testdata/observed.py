"""Figures of one observed batch, with their standard errors.

    python3 observed.py > observed.json

Five prompts, VIGOR with two rounds: 2 rollouts of each, 4 more of the three whose
rewards differ (1, 2 and 4), then 5 of each held out. Every estimate is written out
from its definition: subsets of rollouts are enumerated, and the error of a product
of means is that of the mean of its linear parts, prompt by prompt.
"""

import itertools
import json
import math

ROLLOUTS = ["0000100", "01110101101", "10001001011", "1111011", "10111110101"]
TOKENS = [
    [5, 6, 7, 5, 6, 4, 9],
    [3, 4, 4, 6, 2, 8, 3, 3, 5, 7, 4],
    [9, 8, 9, 7, 6, 9, 8, 5, 6, 7, 3],
    [2, 2, 3, 2, 2, 3, 1],
    [4, 4, 4, 5, 4, 3, 6, 4, 2, 5, 6],
]
HELD = 5


def u(part):
    n, s = len(part), sum(part)
    return 4 * s * (n - s) / (n * (n - 1))


def sigma(part):
    mean = sum(part) / len(part)
    return 2 * math.sqrt(mean * (1 - mean))  # rewards in {-1, +1}


def fixed(rewards, g):
    """Rollouts, sums and products of a group of g, over all subsets."""
    sums = dict(w=g, wsigma=0, wsigmau=0, sigma=0, ineffective=0, zero=0)
    subsets = list(itertools.combinations(range(len(rewards)), g))
    for chosen in subsets:
        part = [rewards[i] for i in chosen]
        rest = [r for i, r in enumerate(rewards) if i not in chosen]
        alike = len(set(part)) == 1
        for key, value in dict(wsigma=g * sigma(part), wsigmau=g * sigma(part) * u(rest), sigma=sigma(part), ineffective=g * alike, zero=alike).items():
            sums[key] += value / len(subsets)
    return sums


def prompt(text, tokens, small, share):
    rewards = [int(c) for c in text]
    rounds = [rewards[:2], rewards[2:-HELD]]
    held, update = rewards[-HELD:], rewards[:-HELD]
    first = rounds[0] + held
    n = len(update)
    row = dict(
        n=n, tokens=sum(tokens[:-HELD]), wu=sum(len(r) * u(r + held) for r in rounds if r), u=u(first),
        wsigma=n * sigma(update), wsigmau=n * sigma(update) * u(held), sigma=sigma(update), one=1,
        ineffective=n * (len(set(update)) == 1), zero=int(len(set(update)) == 1),
        length=sum(tokens[:2] + tokens[-HELD:]) / len(first),
    )
    a, b = fixed(first, small), fixed(first, small + 1)
    row.update({"fixed_" + key: (1 - share) * a[key] + share * b[key] for key in a})
    return row


def figure(rows, **powers):
    """A product of powers of means, and its standard error."""
    batch = len(rows)
    means = {key: sum(r[key] for r in rows) / batch for key in powers}
    value = math.prod(means[key] ** power for key, power in powers.items())
    linear = [value * sum(p * (r[key] - means[key]) / means[key] for key, p in powers.items()) for r in rows]
    return {"mean": value, "se": math.sqrt(sum(x * x for x in linear) / (batch * (batch - 1)))}


total = sum(len(text) - HELD for text in ROLLOUTS)
small, more = divmod(total, len(ROLLOUTS))
rows = [prompt(text, tokens, small, more / len(ROLLOUTS)) for text, tokens in zip(ROLLOUTS, TOKENS)]
figures = {
    "eta": figure(rows, wu=1, n=-1, u=-1),
    "signal": figure(rows, wsigma=1, n=-1),
    "signal_prompt_mean": figure(rows, sigma=1, one=-1),
    "ineffective": figure(rows, ineffective=1, n=-1),
    "zero_variance_groups": figure(rows, zero=1, one=-1),
    "signal_relative": figure(rows, wsigma=1, n=-1, fixed_wsigma=-1, fixed_w=1),
    "progress": figure(rows, wsigmau=1, n=-1, fixed_wsigmau=-1, fixed_w=1),
    "fixed_signal": figure(rows, fixed_wsigma=1, fixed_w=-1),
    "fixed_signal_prompt_mean": figure(rows, fixed_sigma=1),
    "fixed_ineffective": figure(rows, fixed_ineffective=1, fixed_w=-1),
    "fixed_zero_variance_groups": figure(rows, fixed_zero=1),
    "tokens_per_prompt": figure(rows, tokens=1),
    "eta_token": figure(rows, wu=1, tokens=-1, u=-1, length=1),
    "signal_token": figure(rows, wsigma=1, tokens=-1, fixed_wsigma=-1, length=1, fixed_w=1),
    "variance": figure(rows, u=1),
}
print(json.dumps({"made_by": "observed.py, plain Python", "rollouts": ROLLOUTS, "tokens": TOKENS, "held_out": HELD, "figures": figures}, indent=1))
