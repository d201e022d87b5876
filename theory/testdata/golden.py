#!/usr/bin/env python3
"""Golden values of package theory, by arbitrary precision and by other routes.

Run `python3 golden.py` in this directory: it rewrites golden.json (minutes).
Needs mpmath; the version used is recorded in the output. Nothing here follows
the Go code: geometric sums are added term by term, order statistics by their
recurrence, finite batches by E[sum of the top k] = integral of
E[min(k, #{u_i > x})] dx, the mean field by counting surviving reward sequences
and closed moments E[p^s (1-p)^m], and advantages from reward vectors. Inputs
are float64 values, taken exactly.
"""

import functools
import json
import platform
from fractions import Fraction

import mpmath
from mpmath import mp, mpf

mp.dps = 40


def out(x):
    """Rounds an mpmath number to float64; None for what does not exist."""
    if x is None:
        return None
    return float(x)


def representable(x):
    return x < mpf(2) ** 1024


# --- section 3: closed forms -------------------------------------------------


def power_sum(x, n):
    total, term = mpf(0), mpf(1)
    for _ in range(n):
        total += term
        term *= x
    return total


SCHEDULES = [
    (0.5, 2.0), (0.25, 4.0), (1 / 3, 3.0), (0.1, 10.0), (0.5, 2.0 * (1 + 1e-12)),
    (0.5, 2.0 - 1e-9), (0.5, 1.5), (0.5, 3.0), (0.9, 1.1), (0.9, 1 / 0.9),
    (0.99, 1.01), (1e-3, 1e3), (1e-9, 1e9), (0.5, 0.5),
]


def eta_pareto():
    rows = []

    def add(kappa, alpha, gamma, rounds):
        b = mpf(gamma) * mpf(alpha) ** (1 - 1 / mpf(kappa))
        eta = power_sum(b, rounds) / power_sum(mpf(alpha) * mpf(gamma), rounds)
        rows.append(dict(kappa=kappa, alpha=alpha, gamma=gamma, rounds=rounds,
                         eta=out(eta) if representable(eta) else None))

    for alpha, gamma in SCHEDULES:
        for kappa in (1 + 1e-12, 1.02, 1.1, 1.5, 2.0, 3.0, 50.0, 1e6):
            for rounds in (1, 2, 4, 7, 50, 1000):
                add(kappa, alpha, gamma, rounds)
        for kappa in (1 + 1e-12, 1.5, 50.0):
            add(kappa, alpha, gamma, 10_000)
    for kappa in (1.1, 1.5, 3.0):  # b near 1
        for alpha in (0.5, 0.1, 0.9):
            gamma = float(mpf(alpha) ** (1 / mpf(kappa) - 1))
            for nudge in (1, 1 + 1e-13, 1 - 1e-9):
                for rounds in (4, 10_000):
                    add(kappa, alpha, gamma * nudge, rounds)
    return rows


def truncated_tail(kappa, umin, umax, q):
    """E[u; top share q] of a truncated Pareto law, as theory.md states it."""
    z = 1 - (umin / umax) ** kappa
    if q < mpf(10) ** -45 * (umin / umax) ** kappa:
        return q * umax  # everything above the cut is umax to 45 digits
    cut = umin * (1 - (1 - q) * z) ** (-1 / kappa)
    if kappa == 1:
        return umin * mp.log(umax / cut) / z
    return kappa * umin**kappa * (cut ** (1 - kappa) - umax ** (1 - kappa)) / ((kappa - 1) * z)


def eta_truncated():
    rows = []

    def add(kappa, umin, umax, alpha, gamma, rounds):
        k, lo, hi, a, g = map(mpf, (kappa, umin, umax, alpha, gamma))
        top = bottom = mpf(0)
        mean = truncated_tail(k, lo, hi, mpf(1))
        q = weight = mpf(1)
        for _ in range(rounds):
            top += weight * truncated_tail(k, lo, hi, q)
            bottom += weight * q * mean
            q *= a
            weight *= g
        rows.append(dict(kappa=kappa, umin=umin, umax=umax, alpha=alpha, gamma=gamma,
                         rounds=rounds, eta=out(top / bottom)))

    with mp.workdps(150):  # the difference of two powers cancels
        for kappa in (0.1, 0.5, 1 - 1e-9, 1.0, 1 + 1e-9, 1.5, 2.0, 5.0, 50.0):
            for umin, umax in ((0.01, 1.0), (1e-6, 1.0), (0.5, 0.75), (0.999, 1.0)):
                for alpha, gamma in ((0.5, 2.0), (0.25, 4.0), (0.3, 3.0), (0.9, 1.2)):
                    for rounds in (1, 4, 100):
                        add(kappa, umin, umax, alpha, gamma, rounds)
        for kappa in (0.5, 1.0, 1.5, 50.0):
            add(kappa, 0.01, 1.0, 0.5, 2.0, 10_000)
        add(1.5, 0.01, 1.0, 0.999, 1.001, 10_000)
    with mp.workdps(950):
        add(200.0, 1e-4, 1.0, 0.5, 2.0, 10_000)
    return rows


# --- section 3.1: schedules in whole numbers ----------------------------------


class Schedule:
    def __init__(self, m0, rounds, alpha, gamma, cut="ceil", select="sample", update="all", reuse=True):
        self.text = dict(m0=m0, rounds=rounds, alpha=alpha, gamma=gamma, cut=cut,
                         select=select, update=update, reuse=reuse)
        self.m = [m0 * Fraction(gamma) ** t for t in range(rounds)]
        assert all(m.denominator == 1 for m in self.m)
        self.m = [int(m) for m in self.m]
        self.alpha, self.cut, self.select, self.update, self.reuse = Fraction(alpha), cut, select, update, reuse

    def active(self, batch):
        n = [batch]
        while len(n) < len(self.m):
            x = self.alpha * n[-1]
            whole = {"ceil": -((-x.numerator) // x.denominator),
                     "floor": x.numerator // x.denominator,
                     "nearest": (x + Fraction(1, 2)).__floor__()}[self.cut]
            n.append(max(1, whole))
        return n

    def group(self):
        return sum(self.m)


FINITE = [
    Schedule(2, 4, "0.5", "2"),
    Schedule(2, 4, "0.5", "2", cut="floor"),
    Schedule(2, 4, "0.5", "2", cut="nearest"),
    Schedule(4, 2, "0.25", "4"),
    Schedule(1, 6, "0.3", "3", cut="nearest"),
    Schedule(2, 4, "0.5", "2", update="survivors"),
    Schedule(3, 8, "2/3", "1", reuse=False),
    Schedule(2, 3, "0.07", "2", update="survivors", reuse=False),
]


def frac(x):
    return mpf(x.numerator) / x.denominator


def caps():
    rows = []
    for s in FINITE:
        for batch in (1, 2, 3, 31, 64, 100, 1000, 10**6):
            n = s.active(batch)
            selection = sum(m * k for m, k in zip(s.m, n))
            trained = selection if s.update == "all" else s.group() * n[-1]
            rows.append(dict(schedule=s.text, batch=batch,
                             cap=out(frac(Fraction(s.group() * batch, trained)))))
        mean = sum(m * s.alpha**t for t, m in enumerate(s.m))
        if s.update == "survivors":
            mean = s.group() * s.alpha ** (len(s.m) - 1)
        rows.append(dict(schedule=s.text, batch=0, cap=out(frac(Fraction(s.group()) / mean))))
    return rows


def pareto_order(kappa, batch, wanted):
    """Sums of the largest k expected order statistics over u_min, k in wanted."""
    s = 1 / mpf(kappa)
    scale = mp.gamma(mpf(batch) + 1) / mp.gamma(mpf(batch) + 1 - s)
    x, total, sums = mp.gamma(1 - s), mpf(0), {}
    for j in range(1, batch + 1):
        total += x
        if j in wanted:
            sums[j] = (total * scale, x * scale)
        x *= (j - s) / j
    return sums


def pareto_batches():
    tops, orders, etas = [], [], []
    for kappa in (1 + 1e-9, 1.02, 1.5, 3.0, 50.0):
        for batch in (1, 2, 31, 64, 1000, 10**6):
            actives = [s.active(batch) for s in FINITE]
            wanted = {1, 2, 7, 30, 31, 32, 33, 500, 10**5, batch} | {n for a in actives for n in a}
            sums = pareto_order(kappa, batch, wanted)
            mean = sums[batch][0] / batch
            for k in sorted(sums):
                tops.append(dict(kappa=kappa, n=k, batch=batch, mean=out(sums[k][0] / k / mean)))
                orders.append(dict(kappa=kappa, r=batch - k + 1, n=batch, mean=out(sums[k][1])))
            for s, n in zip(FINITE, actives):
                if s.update == "survivors":
                    eta = sums[n[-1]][0] / n[-1] / mean
                else:
                    eta = sum(m * sums[k][0] for m, k in zip(s.m, n)) / sum(m * k for m, k in zip(s.m, n)) / mean
                etas.append(dict(population=dict(name="pareto", shape=kappa), schedule=s.text, batch=batch, eta=out(eta)))
    return tops, orders, etas


# --- laws of p ----------------------------------------------------------------


def lower_root(u):
    return (1 - mp.sqrt(1 - u)) / 2


class Law:
    """moment(s, m, c) is E[p^s (1-p)^m; u > c], u = 4p(1-p)."""

    atoms = {}  # p -> mass

    def mean_u(self):
        return 4 * self.moment(1, 1, mpf(-1))

    def above(self, c):
        return self.moment(0, 0, c)


class BetaLaw(Law):
    def __init__(self, a, b):
        self.spec = dict(name="beta", a=a, b=b)
        self.a, self.b = mpf(a), mpf(b)
        self.cache = {}

    def moment(self, s, m, c):
        key = (s, m, c)
        if key not in self.cache:
            whole = mp.beta(self.a + s, self.b + m) / mp.beta(self.a, self.b)
            if c >= 1:
                whole = mpf(0)
            elif c > 0:
                x = lower_root(c)
                whole *= mp.betainc(self.a + s, self.b + m, x, 1 - x, regularized=True)
            self.cache[key] = whole
        return self.cache[key]


class TruncatedPareto(Law):
    """u is Pareto on [umin, umax], p on either branch with probability 1/2."""

    def __init__(self, kappa, umin, umax, hard=0.5):
        self.spec = dict(name="pareto-variance", shape=kappa, min=umin, max=umax, hard=hard)
        self.k, self.lo, self.hi, self.hard = map(mpf, (kappa, umin, umax, hard))
        self.z = 1 - (self.lo / self.hi) ** self.k
        self.rules = {}

    def density(self, p):
        u = 4 * p * (1 - p)
        return self.k / (self.lo * self.z) * (u / self.lo) ** (-self.k - 1) * 4 * (1 - 2 * p)

    def rule(self, c):
        """Gauss-Legendre panels on the lower branch, in ln p, above the cut."""
        if c not in self.rules:
            low, high = mp.log(lower_root(max(c, self.lo))), mp.log(lower_root(self.hi))
            panels, nodes = 12, GAUSS
            rule = []
            for i in range(panels):
                a, b = low + (high - low) * i / panels, low + (high - low) * (i + 1) / panels
                for x, w in nodes:
                    p = mp.exp((a + b + (b - a) * x) / 2)
                    rule.append((p, w * (b - a) / 2 * p * self.density(p)))
            self.rules[c] = rule
        return self.rules[c]

    def moment(self, s, m, c):
        if c >= self.hi:
            return mpf(0)
        h = self.hard
        return mp.fsum(w * (h * p**s * (1 - p) ** m + (1 - h) * p**m * (1 - p) ** s) for p, w in self.rule(c))

    def above(self, c):
        if c < self.lo:
            return mpf(1)
        return ((c / self.lo) ** -self.k - (self.hi / self.lo) ** -self.k) / self.z if c < self.hi else mpf(0)


def gauss_legendre(n):
    """Nodes and weights on [-1, 1], by Newton's method on Legendre's recurrence."""
    rule = []
    for i in range(n):
        x = mp.cos(mp.pi * (i + mpf(3) / 4) / (n + mpf(1) / 2))
        for _ in range(8):
            a, b = mpf(1), x
            for k in range(2, n + 1):
                a, b = b, ((2 * k - 1) * x * b - (k - 1) * a) / k
            slope = n * (x * b - a) / (x * x - 1)
            x -= b / slope
        rule.append((x, 2 / ((1 - x * x) * slope**2)))
    return rule


GAUSS = gauss_legendre(40)


class AtomLaw(Law):
    def __init__(self, atoms):
        """atoms: list of (numerator, denominator, weight numerator, weight denominator)."""
        self.spec = dict(name="atoms", atoms=[dict(p=float(Fraction(a, b)), w=float(Fraction(c, d))) for a, b, c, d in atoms])
        self.exact = [(Fraction(a, b), Fraction(c, d)) for a, b, c, d in atoms]
        assert sum(w for _, w in self.exact) == 1
        self.atoms = {frac(p): frac(w) for p, w in self.exact}
        self.levels = sorted({4 * p * (1 - p) for p, _ in self.exact})

    def moment(self, s, m, c):
        return mp.fsum(frac(w) * frac(p) ** s * frac(1 - p) ** m for p, w in self.exact if frac(4 * p * (1 - p)) > c)


class Spiked(Law):
    def __init__(self, dead, solved, a, b):
        self.spec = dict(name="spiked-beta", dead=dead, solved=solved, a=a, b=b)
        self.body, self.dead, self.solved = BetaLaw(a, b), mpf(dead), mpf(solved)

    def moment(self, s, m, c):
        x = (1 - self.dead - self.solved) * self.body.moment(s, m, c)
        if c < 0:
            x += self.dead * (s == 0) + self.solved * (m == 0)
        return x


LAWS = [
    TruncatedPareto(1.5, 0.01, 1.0),
    BetaLaw(0.1, 0.3),
    BetaLaw(1.0, 1.0),
    BetaLaw(0.5, 0.5),
    BetaLaw(0.3, 0.7),
    BetaLaw(0.02, 0.05),
    BetaLaw(2.0, 6.0),
    TruncatedPareto(2.0, 0.05, 0.9, 0.8),
    Spiked(0.3, 0.1, 2.0, 6.0),
    AtomLaw([(1, 10, 1, 4), (1, 4, 1, 4), (3, 4, 1, 8), (9, 10, 1, 8), (1, 1, 1, 4)]),
    AtomLaw([(3, 10, 1, 1)]),
]


# --- section 3.1: perfect selection ---------------------------------------------


@functools.cache
def quantile_cut(law, q):
    """c with P(u > c) <= q <= P(u >= c), to working precision."""
    low, high = mpf(0), mpf(1)
    if isinstance(law, AtomLaw):
        for level in reversed(law.levels):
            if law.above(frac(level)) <= q and (level == law.levels[0] or law.moment(0, 0, frac(level) - mpf(10) ** -30) >= q):
                return frac(level)
    if isinstance(law, TruncatedPareto):
        return law.lo * (1 - (1 - q) * law.z) ** (-1 / law.k)
    if isinstance(law, Spiked) and q >= law.above(mpf(0)):
        return mpf(0)  # the cut falls among the dead and the solved
    for _ in range(130):
        middle = (low + high) / 2
        if law.above(middle) > q:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def top_moment(law, s, m, q):
    """E[p^s (1-p)^m] over the top share q by u; the tied level in proportion."""
    if q == 1:
        return law.moment(s, m, mpf(-1))
    c = quantile_cut(law, q)
    above = law.above(c)
    x = law.moment(s, m, c)
    if isinstance(law, (AtomLaw, Spiked)):
        below = c - mpf(10) ** -30
        level = law.moment(0, 0, below) - law.moment(0, 0, c)
        if level > 0:
            x += (q - above) / level * (law.moment(s, m, below) - law.moment(s, m, c))
    return x


def perfect():
    rows = []
    for law in LAWS:
        for alpha, gamma, rounds in ((0.5, 2.0, 1), (0.5, 2.0, 4), (0.25, 4.0, 2), (0.3, 3.0, 7), (0.7, 1.0, 12)):
            a, g, mean = mpf(alpha), mpf(gamma), law.mean_u()
            tops = [4 * top_moment(law, 1, 1, a**i) for i in range(rounds)]
            eta = sum(g**i * t for i, t in enumerate(tops)) / (power_sum(a * g, rounds) * mean)
            survivors = tops[-1] / a ** (rounds - 1) / mean
            rows.append(dict(population=law.spec, alpha=alpha, gamma=gamma, rounds=rounds, eta=out(eta), survivors=out(survivors),
                             cap=out(1 / mean)))
    return rows


def expected_min(share, batch, wanted):
    """E[min(k, N)], N ~ Binomial(batch, share), for the k in wanted."""
    if share == 0:
        return {k: mpf(0) for k in wanted}
    if share == 1:
        return {k: mpf(k) for k in wanted}
    pmf = (1 - share) ** batch
    odds = share / (1 - share)
    cdf, total, values = mpf(0), mpf(0), {}
    for j in range(max(wanted)):  # E[min(k, N)] = sum_{j<k} P(N > j)
        cdf += pmf
        total += 1 - cdf
        pmf *= odds * (batch - j) / (j + 1)
        if j + 1 in wanted:
            values[j + 1] = total
    return values


def finite_batches():
    rows = []
    for law in LAWS:
        for batch in (1, 2, 31, 300):
            schedules = [FINITE[1], FINITE[4], FINITE[5]] if batch == 31 else FINITE[1:2]
            actives = [s.active(batch) for s in schedules]
            wanted = {n for a in actives for n in a}
            sums = {k: mpf(0) for k in wanted}
            if isinstance(law, AtomLaw):
                last = mpf(0)
                for level in law.levels:
                    share = law.above(frac(level) - mpf(10) ** -30)
                    for k, v in expected_min(share, batch, wanted).items():
                        sums[k] += (frac(level) - last) * v
                    last = frac(level)
            else:
                for x, w in range_of_u(law):
                    for k, v in expected_min(x[1], batch, wanted).items():
                        sums[k] += w * v
                for k in wanted:
                    sums[k] += k * getattr(law, "lo", 0)  # every u is at least lo
            mean = law.mean_u()
            for s, n in zip(schedules, actives):
                if s.update == "survivors":
                    eta = sums[n[-1]] / n[-1] / mean
                else:
                    eta = sum(m * sums[k] for m, k in zip(s.m, n)) / sum(m * k for m, k in zip(s.m, n)) / mean
                rows.append(dict(population=law.spec, schedule=s.text, batch=batch, eta=out(eta)))
    return rows


_ranges = {}


def range_of_u(law):
    """A rule for integrals over u: ((u, P(U > u)), weight), graded at the ends."""
    if id(law) in _ranges:
        return _ranges[id(law)]
    points = []

    def panel(a, b, place):
        for x, w in GAUSS:
            u, slope = place((a + b + (b - a) * x) / 2)
            points.append(((u, law.above(u)), w * (b - a) / 2 * slope))

    if isinstance(law, TruncatedPareto):
        span = mp.log(law.hi / law.lo)
        for i in range(24):
            panel(span * i / 24, span * (i + 1) / 24, lambda y: (law.lo * mp.exp(y), law.lo * mp.exp(y)))
    else:
        half = mpf(1) / 2
        edges = [mpf(0)] + [half * mpf(4) ** -i for i in range(18, 0, -1)]
        edges += [half * (i + 8) / 32 for i in range(1, 25)]
        for a, b in zip(edges, edges[1:]):
            panel(a, b, lambda y: (half * (2 * y) ** 6, 6 * (2 * y) ** 5))
            panel(a, b, lambda y: (1 - half * (2 * y) ** 2, 2 * (2 * y)))
    _ranges[id(law)] = points
    return points


# --- section 3.2: the mean field -------------------------------------------------


def sigma(g, s):
    return 2 * mp.sqrt(mpf(s) * (g - s)) / g


def binomials(n):
    return [mp.binomial(n, s) for s in range(n + 1)]


FIELDS = [
    Schedule(2, 4, "0.5", "2"),
    Schedule(4, 2, "0.25", "4"),
    Schedule(3, 3, "0.3", "1"),
    Schedule(2, 4, "0.5", "2", select="random", update="survivors"),
    Schedule(2, 4, "0.5", "2", select="truth"),
    Schedule(2, 4, "0.5", "2", update="survivors"),
    Schedule(2, 4, "0.5", "2", reuse=False),
    Schedule(1, 3, "0.6", "3", select="truth", update="survivors", reuse=False),
    Schedule(4, 3, "0.25", "1/2", update="survivors", reuse=False),
    Schedule(5, 1, "0.5", "2"),
    Schedule(10, 3, "0.001", "3"),
    Schedule(2, 8, "0.5", "2"),
]


def mean_field(law, s, frontier):
    """Figures of theory.md, section 3.2."""
    return figures(law, s, allocate(law, s, frontier), law.above(mpf(frontier) - mpf(10) ** -30))


def allocate(law, s, frontier):
    """Those who leave after every round, by counting sequences.

    ways[k] is the (fractional) number of reward sequences with k successes
    that survive; their mass is ways[k] * E[p^k (1-p)^(n-k)].
    """
    below = mpf(frontier) - mpf(10) ** -30  # u > below is u >= frontier
    alpha = mpf(float(s.alpha))
    rounds = len(s.m)

    def moments(t, stay, extra, cut):
        """E[p^(k+extra) (1-p)^(n-k+extra); u > cut] of those who leave by node cuts."""

        def active(t, a, b):
            if s.select == "truth":
                assert cut is None
                return top_moment(law, a, b, alpha**t)
            scale = alpha**t if s.select == "random" else mpf(1)
            return scale * law.moment(a, b, mpf(-1) if cut is None else cut)

        if stay:
            return lambda a, b: active(t, a + extra, b + extra)
        if s.select == "sample" or t == rounds - 1:
            return lambda a, b: active(t, a + extra, b + extra)
        return lambda a, b: active(t, a + extra, b + extra) - active(t + 1, a + extra, b + extra)

    def frontier_truth(t, a, b):
        # of the top share alpha^t and the frontier, one holds the other
        if alpha**t <= law.above(below):
            return top_moment(law, a, b, alpha**t)
        return law.moment(a, b, below)

    leavers = []
    ways, n = [mpf(1)], 0
    for t, m in enumerate(s.m):
        n += m
        last = t == rounds - 1
        grown = [mpf(0)] * (n + 1)
        step = binomials(m)
        for k, w in enumerate(ways):
            for j, c in enumerate(step):
                grown[k + j] += w * c
        ways = grown
        leave, leave_u = moments(t, False, 0, None), moments(t, False, 1, None)
        mass = [leave(k, n - k) for k in range(n + 1)]
        mass_u = [4 * leave_u(k, n - k) for k in range(n + 1)]
        if s.select == "truth":
            front = [frontier_truth(t, k, n - k) for k in range(n + 1)]
            gone = front if last else [f - frontier_truth(t + 1, k, n - k) for k, f in enumerate(front)]
        else:
            act = moments(t, True, 0, below)
            front = [act(k, n - k) for k in range(n + 1)]
            scale = 1 - alpha if s.select == "random" and not last else mpf(1)
            gone = [scale * f for f in front]
        keep = [mpf(0)] * (n + 1)
        if s.select == "sample" and not last:
            left = alpha * sum(w * x for w, x in zip(ways, mass))
            for value in sorted({k * (n - k) for k in range(n + 1)}, reverse=True):
                tied = [k for k in range(n + 1) if k * (n - k) == value]
                level = sum(ways[k] * mass[k] for k in tied)
                part = min(mpf(1), left / level) if level > 0 else mpf(1)
                for k in tied:
                    keep[k] = part
                left = max(mpf(0), left - level)
        drop = [w * (1 - k) for w, k in zip(ways, keep)]
        leavers.append(dict(
            size=n, drop=drop,
            share=sum(d * x for d, x in zip(drop, mass)),
            u=sum(d * x for d, x in zip(drop, mass_u)),
            sigma=sum(d * x * sigma(n, k) for k, (d, x) in enumerate(zip(drop, mass))),
            sigma_u=sum(d * x * sigma(n, k) for k, (d, x) in enumerate(zip(drop, mass_u))),
            zero=drop[0] * mass[0] + (drop[n] * mass[n]),
            frontier=sum(d * x for d, x in zip(drop, gone)),
            active_frontier=sum(w * x for w, x in zip(ways, front)),
        ))
        if not s.reuse:
            fresh(leavers[-1], drop, leave, n)
        ways = [w * k for w, k in zip(ways, keep)] if s.select == "sample" else ways
    return leavers


def fresh(l, drop, leave, n):
    """The leavers' groups drawn anew: products of two independent binomials."""
    c = binomials(n)
    l["sigma"] = l["sigma_u"] = l["zero"] = mpf(0)
    cache = {}

    def moment(a, b):
        if (a, b) not in cache:
            cache[a, b] = leave(a, b)
        return cache[a, b]

    for k, d in enumerate(drop):
        if d == 0:
            continue
        for j in range(n + 1):
            x = d * c[j] * moment(k + j, 2 * n - k - j)
            l["sigma"] += x * sigma(n, j)
            if j in (0, n):
                l["zero"] += x
            l["sigma_u"] += d * c[j] * 4 * moment(k + j + 1, 2 * n - k - j + 1) * sigma(n, j)


def figures(law, s, leavers, frontier_share):
    trained = leavers if s.update == "all" else leavers[-1:]
    group = sum(l["size"] * l["share"] for l in leavers)
    weight = sum(l["size"] * l["share"] for l in trained)
    generated = group + (0 if s.reuse else weight)
    groups = sum(l["share"] for l in trained)

    def mean(key):
        return sum(l["size"] * l[key] for l in trained) / weight

    def quotient(x, y):
        if y == 0:
            return None
        return x / y if abs(x) > mpf(10) ** -25 else mpf(0)  # the frontier meets a cut

    screening, missed = [], mpf(0)
    for t, l in enumerate(leavers[:-1]):
        missed += l["frontier"]
        screening.append(dict(round=t + 1,
                              false_omission=out(quotient(l["frontier"], l["share"])),
                              false_negative=out(quotient(l["frontier"], l["active_frontier"])),
                              cumulative=out(quotient(missed, frontier_share))))
    mu = law.mean_u()
    return dict(
        rollouts=out(generated), trained=out(weight), mean_group=out(group),
        eta=out(mean("u") / mu), eta_generated=out(mean("u") * weight / generated / mu),
        signal=out(mean("sigma")), signal_prompt_mean=out(sum(l["sigma"] for l in trained) / groups),
        ineffective=out(mean("zero")), zero_variance_groups=out(sum(l["zero"] for l in trained) / groups),
        progress=out(mean("sigma_u")),
        sizes=[dict(size=l["size"], share=out(l["share"])) for l in leavers],
        screening=screening)


def fixed_field(law, mean):
    size = int(mean)
    fraction = mpf(mean) - size
    total = dict.fromkeys(("signal", "signal_prompt_mean", "ineffective", "zero_variance_groups", "progress"), mpf(0))
    for g, share in ((size, 1 - fraction), (size + 1, fraction)):
        c = binomials(g)
        sig = sum(c[k] * sigma(g, k) * law.moment(k, g - k, mpf(-1)) for k in range(g + 1))
        sig_u = sum(c[k] * sigma(g, k) * 4 * law.moment(k + 1, g - k + 1, mpf(-1)) for k in range(g + 1))
        zero = law.moment(0, g, mpf(-1)) + law.moment(g, 0, mpf(-1))
        total["signal"] += share * g * sig / mpf(mean)
        total["signal_prompt_mean"] += share * sig
        total["ineffective"] += share * g * zero / mpf(mean)
        total["zero_variance_groups"] += share * zero
        total["progress"] += share * g * sig_u / mpf(mean)
    return {k: out(v) for k, v in total.items()}


def mean_fields():
    rows, fixed = [], []
    for law in LAWS:
        for s in FIELDS:
            if s.group() > 200 and not isinstance(law, (BetaLaw, AtomLaw)):
                continue
            for frontier in (0.75, 0.36) if s.reuse and s.group() < 50 else (0.75,):
                rows.append(dict(population=law.spec, schedule=s.text, frontier=frontier, **mean_field(law, s, frontier)))
        for mean in (1.0, 2.0, 5.3, 8.0, 64.0):
            fixed.append(dict(population=law.spec, mean=mean, **fixed_field(law, mean)))
    return rows, fixed


# --- section 4.6: the implicit objective and starvation ---------------------------
#
# A polynomial in p is a dict (k, m) -> coefficient of p^k (1-p)^m.


def objective(leavers):
    """E[G sigma | p] of an allocation whose update uses every group."""
    return {(k, l["size"] - k): l["size"] * d * sigma(l["size"], k)
            for l in leavers for k, d in enumerate(l["drop"]) if 0 < k < l["size"]}


def product(x, y):
    terms = {}
    for (k, m), a in x.items():
        for (j, n), b in y.items():
            terms[k + j, m + n] = terms.get((k + j, m + n), mpf(0)) + a * b
    return terms


def mean(law, x, less=0):
    """E[x / (p(1-p))^less]."""
    return sum(a * law.moment(k - less, m - less, mpf(-1)) for (k, m), a in x.items())


def value(x, p):
    return sum(a * p**k * (1 - p) ** m for (k, m), a in x.items())


def objectives():
    rows = []
    for law in LAWS:
        for s in FIELDS[:3]:
            leavers = allocate(law, s, 0.75)
            mine = objective(leavers)
            fixed = objective([dict(size=8, drop=binomials(8))])
            inner = [mean(law, product(x, y), 1) for x, y in ((mine, fixed), (mine, mine), (fixed, fixed))]
            first = {(k, leavers[0]["size"] - k): d for k, d in enumerate(leavers[0]["drop"])}
            power, starved = {(0, 0): mpf(1)}, []
            for epoch in range(1, 6):
                power = product(power, first)
                if epoch in (1, 2, 5):
                    starved.append(out(mean(law, power)))
            atoms = []
            for p, _ in getattr(law, "exact", []):
                p = frac(p)
                root = mp.sqrt(p * (1 - p))
                atoms.append(dict(p=float(p), weight=out(value(mine, p) / root if root > 0 else mpf(0)),
                                  shares=[out(value({(k, l["size"] - k): d for k, d in enumerate(l["drop"])}, p))
                                          for l in leavers]))
            rows.append(dict(population=law.spec, schedule=s.text, cosine=out(inner[0] / mp.sqrt(inner[1] * inner[2])),
                             starved=starved, atoms=atoms))
    return rows


# --- sections 2, 4.1 and 4.6 --------------------------------------------------


def gradients():
    rows = []
    for length, j in ((1.0, 1.0), (7.0, 0.5), (1000.0, 30.0)):
        for std in (0.0, 1e-9, 0.3, 1.0):
            L, J, S = map(mpf, (length, j, std))
            rows.append(dict(tokens=length, jacobian=j, std=std, razin=out(6 * L * J * mp.root(S, 3) ** 2),
                             linear=out(2 * L * J * S), sharp=out(J * mp.sqrt(L / 2) * S)))
    return rows


def mean_sigmas():
    rows = []
    for g in (1, 2, 3, 8, 30, 100, 1000, 10_000):
        for p in (0.0, 1e-12, 1e-3, 0.01, 0.3, 0.5, 0.9, 1 - 1e-9, 1.0):
            x = mpf(p)
            total = mpf(0)
            if 0 < p < 1:
                pmf, odds = (1 - x) ** g, x / (1 - x)
                for s in range(g + 1):
                    total += pmf * sigma(g, s)
                    pmf *= odds * (g - s) / (s + 1)
            rows.append(dict(g=g, p=p, mean=out(total)))
    return rows


def advantages():
    rows = []
    for coding, low in (("signed", -1), ("binary", 0)):
        for g in (2, 3, 8, 64):
            for s in sorted({0, 1, g // 3, g // 2, g - 1, g}):
                r = [mpf(1)] * s + [mpf(low)] * (g - s)
                mean = sum(r) / g
                square = sum((x - mean) ** 2 for x in r)
                for delta in (0.0, 1e-6, 0.1):
                    for ddof in (0, 1):
                        sd = mp.sqrt(square / (g - ddof))
                        a = [(x - mean) / (sd + mpf(delta)) if sd + delta > 0 else mpf(0) for x in r]
                        rows.append(dict(estimator=f"grpo:ddof={ddof}", g=g, s=s, delta=delta, coding=coding,
                                         sum=out(sum(map(abs, a)))))
                rows.append(dict(estimator="drgrpo", g=g, s=s, delta=0.0, coding=coding,
                                 sum=out(sum(abs(x - mean) for x in r))))
                rows.append(dict(estimator="rloo", g=g, s=s, delta=0.0, coding=coding,
                                 sum=out(sum(abs(x - (sum(r) - x) / (g - 1)) for x in r))))
    return rows


def graded():
    rows = []
    for r in ([0.1, 0.2, 0.9], [1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 1.0], [1e300, -1e300, 3e299],
              [1e-300, 2e-300], [1 + 1e-9, 1.0, 1 - 1e-9, 1.0], [-0.5, 0.25, 0.75, 0.3, 0.3]):
        x = [mpf(v) for v in r]
        mean = sum(x) / len(x)
        sd = mp.sqrt(sum((v - mean) ** 2 for v in x) / len(x))
        mad = sum(abs(v - mean) for v in x) / len(x)
        rows.append(dict(rewards=r, factor=out(mad / sd if sd > 0 else mpf(0))))
    return rows


def times():
    rows = []
    for g in (1e-9, 0.3, 1.0, 2.0):
        for length, j in ((1.0, 1.0), (7.0, 0.5)):
            for var in (1e-8, 0.3, 1.0):
                for lam in (0.0, 1e-3, 20.0):
                    G, L, J, V = map(mpf, (g, length, j, var))
                    rise = 1 - mp.exp(-G / 9)
                    if lam > 0:
                        rise = min(rise, 1 - mp.exp(-7 / (3 * mpf(lam))))
                    lj = L**2 * J**2
                    rows.append(dict(
                        gain=g, tokens=length, jacobian=j, variance=var, **{"lambda": lam},
                        razin=out(rise / (8 * lj) / mp.root(V, 3)),
                        general=out((1 - mp.exp(-G / 2)) / (2 * lj) / mp.sqrt(V)),
                        binary=out((1 - mp.exp(-G)) / (4 * lj) / V),
                        normalised=out((1 - mp.exp(-G / 2)) / (2 * lj) / mp.sqrt(V)),
                        tabular=out(2 * 12 * (1 - mp.exp(-G / 2)) / mp.sqrt(V))))
    return rows


def main():
    tops, orders, etas = pareto_batches()
    rows, fixed = mean_fields()
    golden = dict(
        tool=f"mpmath {mpmath.__version__}, Python {platform.python_version()}",
        script="golden.py",
        eta_pareto=eta_pareto(), eta_truncated=eta_truncated(), caps=caps(),
        pareto_top=tops, pareto_order=orders, eta_finite=etas + finite_batches(),
        eta_perfect=perfect(), mean_field=rows, fixed_field=fixed, objectives=objectives(),
        gradients=gradients(),
        mean_sigma=mean_sigmas(), advantages=advantages(), graded=graded(), times=times())
    with open("golden.json", "w") as f:
        f.write("{\n")
        items = list(golden.items())
        for i, (key, value) in enumerate(items):
            end = ",\n" if i < len(items) - 1 else "\n"
            if isinstance(value, list):
                body = ",\n".join(json.dumps(row) for row in value)
                f.write(f'"{key}": [\n{body}\n]{end}')
            else:
                f.write(f'"{key}": {json.dumps(value)}{end}')
        f.write("}\n")


if __name__ == "__main__":
    main()
