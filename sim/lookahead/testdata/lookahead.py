"""Reference values of lookahead: plans, whole batches and mean fields.

    python3 lookahead.py > lookahead.json

Written from the rule, with mpmath at 30 digits. Nothing is shared with the Go
code, which runs on moments not divided by their probability, adds rollouts one
by one and searches the price by twenty halvings: here every outcome of m further
rollouts is weighed by its predictive probability given what a prompt has shown,
and the price comes from 45 halvings.
"""

import json
from functools import lru_cache

import mpmath as mp

mp.mp.dps = 30
TIE = mp.mpf("1e-12")  # relative gain below which a rollout is not asked


class Law:
    """dead + solved + (1 - dead - solved) Beta(a, b), or atoms, by moments."""

    def __init__(self, a=None, b=None, dead=0, solved=0, atoms=()):
        self.beta = None if a is None else (mp.mpf(a), mp.mpf(b))
        self.spikes = [(mp.mpf(0), mp.mpf(dead)), (mp.mpf(1), mp.mpf(solved))] + [(mp.mpf(p), mp.mpf(w)) for p, w in atoms]
        self.body = 1 - sum(w for _, w in self.spikes)
        self.known = {}

    def moment(self, s, f):
        """E[p^s (1-p)^f]."""
        if (s, f) not in self.known:
            x = sum(w * p**s * (1 - p) ** f for p, w in self.spikes)
            if self.beta:
                a, b = self.beta
                x += self.body * mp.beta(a + s, b + f) / mp.beta(a, b)
            self.known[s, f] = x
        return self.known[s, f]


class Mixture:
    def __init__(self, laws, weights):
        self.parts = [(l, w) for l, w in zip(laws, weights) if w]
        self.known = {}

    def moment(self, s, f):
        if (s, f) not in self.known:
            self.known[s, f] = sum(w * l.moment(s, f) for l, w in self.parts)
        return self.known[s, f]


class Plan:
    def __init__(self, law, rounds, most, price):
        self.law, self.most, self.price = law, most, price
        self.rounds = rounds
        self.best = lru_cache(None)(self._best)
        self.predictive = lru_cache(None)(self._predictive)

    def _predictive(self, n, s, m):
        """P(k of m | s of n)."""
        here = self.law.moment(s, n - s)
        return [mp.binomial(m, k) * self.law.moment(s + k, n - s + m - k) / here for k in range(m + 1)]

    def _best(self, n, s, rounds):
        """(worth, rollouts to ask now, rollouts expected in all)."""
        if rounds == 0:
            u = 4 * self.law.moment(s + 1, n - s + 1) / self.law.moment(s, n - s)
            return u * 2 * mp.sqrt(s * (n - s)), 0, mp.mpf(0)
        worth, _, spend = self.best(n, s, rounds - 1)  # ask nothing
        ask = 0
        for m in range(1, self.most - n + 1):
            q = self.predictive(n, s, m)
            later = [self.best(n + m, s + k, rounds - 1) for k in range(m + 1)]
            net = sum(x * l[0] for x, l in zip(q, later)) - self.price * m
            if net > worth * (1 + TIE):
                worth, ask = net, m
                spend = m + sum(x * l[2] for x, l in zip(q, later))
        return worth, ask, spend

    def at(self, n, s):
        return self.best(n, s, self.rounds)


def plans(law, rounds, most, mass, budget):
    """The plans of two prices, tied at the price that spends the budget."""
    low, high = mp.log(mp.mpf(2) ** -40), mp.log(4 * mp.sqrt(most))
    for _ in range(45):
        middle = (low + high) / 2
        p = Plan(law, rounds, most, mp.exp(middle))
        if sum(m * p.at(*state)[2] for state, m in mass.items()) > budget:
            low = middle
        else:
            high = middle
    return Plan(law, rounds, most, mp.exp(low)), Plan(law, rounds, most, mp.exp(high))


GRID = [Law(mp.mpf(2) ** i, mp.mpf(2) ** j) for i in range(-6, 7) for j in range(-6, 7)]


def likelihoods(mass):
    return [sum(m * mp.log(l.moment(s, n - s)) for (n, s), m in mass.items()) for l in GRID]


def weights(mass):
    logs = likelihoods(mass)
    top = max(logs)
    w = [mp.exp(x - top) for x in logs]
    w = [x if x >= mp.mpf("1e-6") else mp.mpf(0) for x in w]
    return [x / sum(w) for x in w]


def likeliest(mass):
    """The law that an infinite batch learns; the mean of those that are tied."""
    logs = likelihoods(mass)
    w = [int(x > max(logs) - mp.mpf("1e-20")) for x in logs]
    return Mixture(GRID, [mp.mpf(x) / sum(w) for x in w])


def counted(states):
    mass = {}
    for x in states:
        mass[x] = mass.get(x, 0) + 1
    return mass


def batch(g, first, rounds, most, rewards):
    """The outcomes of all prompts after every round, sorted. It fails where the
    result hangs on the lot that decides between prompts."""
    n = [first] * len(rewards)
    trace = []
    for t in range(1, rounds + 1):
        states = [(n[x], rewards[x][: n[x]].count("1")) for x in range(len(n))]
        trace.append(sorted(states))
        left = g * len(n) - sum(n)
        if t == rounds or left == 0:
            break
        mass = counted(states)
        low, high = plans(Mixture(GRID, weights(mass)), rounds - t, most, mass, left)
        asks = [high.at(*x)[1] for x in states]
        spare = left - sum(high.at(*x)[2] for x in states)
        tied = [x for x in mass if low.at(*x)[2] > high.at(*x)[2]]
        assert len(tied) == 1, tied
        members = [x for x in range(len(n)) if states[x] == tied[0]]
        assert len({rewards[x] for x in members}) == 1, "the lot decides"
        for x in members:
            more = low.at(*tied[0])[2] - high.at(*tied[0])[2]
            if more <= spare:
                asks[x] = low.at(*tied[0])[1]
                spare -= more
        if t == rounds - 1:
            for x in members:
                more = min(left - sum(asks), low.at(*tied[0])[1] - asks[x])
                asks[x] += max(more, 0)
            assert sum(asks) == left
        n = [a + b for a, b in zip(n, asks)]
    return trace


def field(law, g, first, rounds, most):
    """An infinite batch: the mass of every outcome."""

    def ask(mass, plan_shares):
        new = {}
        for (n, s), x in mass.items():
            for asked, share in plan_shares:
                if share == 0:
                    continue
                m = asked(n, s)
                for k in range(m + 1):
                    q = mp.binomial(m, k) * law.moment(s + k, n - s + m - k) / law.moment(s, n - s)
                    if q:
                        new[n + m, s + k] = new.get((n + m, s + k), 0) + x * share * q
        return new

    mass = ask({(0, 0): mp.mpf(1)}, [(lambda n, s: first, 1)])
    for t in range(1, rounds):
        left = g - sum(x * n for (n, _), x in mass.items())
        low, high = plans(likeliest(mass), rounds - t, most, mass, left)
        a, b = (sum(x * p.at(*state)[2] for state, x in mass.items()) for p in (low, high))
        share = (left - b) / (a - b)
        mass = ask(mass, [(lambda n, s: high.at(n, s)[1], 1 - share), (lambda n, s: low.at(n, s)[1], share)])

    mean = sum(x * n for (n, _), x in mass.items())
    gs = {(n, s): 2 * mp.sqrt(s * (n - s)) for n, s in mass}
    u = {(n, s): 4 * law.moment(s + 1, n - s + 1) / law.moment(s, n - s) for n, s in mass}
    alike = {x: m for x, m in mass.items() if x[1] in (0, x[0])}
    sizes = {}
    for (n, _), x in mass.items():
        sizes[n] = sizes.get(n, 0) + x
    return {
        "rollouts": float(mean),
        "eta": float(sum(x * k[0] * u[k] for k, x in mass.items()) / mean / (4 * law.moment(1, 1))),
        "signal": float(sum(x * gs[k] for k, x in mass.items()) / mean),
        "signal_prompt_mean": float(sum(x * gs[k] / k[0] for k, x in mass.items())),
        "progress": float(sum(x * gs[k] * u[k] for k, x in mass.items()) / mean),
        "ineffective": float(sum(x * k[0] for k, x in alike.items()) / mean),
        "zero_variance": float(sum(alike.values())),
        "sizes": [[n, float(x)] for n, x in sorted(sizes.items())],
    }


def plan_case(a, b, rounds, most, price):
    p = Plan(Law(a, b), rounds, most, mp.mpf(price))
    rows = [[n, s, *p.at(n, s)] for n in range(1, most + 1) for s in range(n + 1)]
    return {
        "a": float(a), "b": float(b), "rounds": rounds, "max": most, "price": float(price),
        "rows": [[n, s, float(w), ask, float(spend)] for n, s, w, ask, spend in rows],
    }


def batch_case(g, first, rounds, most, *classes):
    rewards = [r.ljust(most, r[-1]) for count, r in classes for _ in range(count)]
    return {
        "spec": f"lookahead:g={g},first={first},rounds={rounds},max={most}",
        "rewards": rewards,
        "outcomes": [[list(x) for x in t] for t in batch(g, first, rounds, most, rewards)],
    }


def field_case(population, law, g, first, rounds, most):
    return {"population": population, "group": g, "first": first, "rounds": rounds, "max": most, **field(law, g, first, rounds, most)}


print(json.dumps({
    "tool": f"mpmath {mp.__version__}, lookahead.py",
    "plans": [
        plan_case("0.25", "0.5", 3, 8, "0.15"),
        plan_case("1", "1", 2, 9, "0.6"),
        plan_case("0.1", "0.3", 1, 6, "0.02"),
        plan_case("16", "2", 3, 6, "0.4"),
    ],
    "batches": [
        batch_case(4, 2, 3, 9, (5, "0"), (3, "1"), (2, "01010110"), (1, "10001")),
        batch_case(4, 2, 4, 10, (6, "0"), (2, "1"), (3, "0110100")),
        batch_case(3, 1, 3, 8, (4, "0"), (3, "1001101")),
        batch_case(6, 3, 2, 14, (3, "0"), (4, "1"), (2, "1010110010"), (3, "0010001")),
    ],
    "fields": [
        field_case("beta:a=0.1,b=0.3", Law("0.1", "0.3"), 4, 1, 3, 10),
        field_case("uniform", Law(1, 1), 4, 2, 3, 9),
        field_case("spiked-beta:dead=0.2,solved=0.1,a=0.6,b=0.9", Law("0.6", "0.9", "0.2", "0.1"), 5, 2, 4, 10),
        field_case("point:p=0.3", Law(atoms=[("0.3", 1)]), 3, 1, 2, 7),
    ],
}, indent=1))
