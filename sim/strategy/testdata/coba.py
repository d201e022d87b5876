"""Reference values of coba_internal_test.go: the groups that CoBA gives a batch.

    python3 coba.py > coba.csv

Written from the rule (arXiv 2602.03048 and its released allocator): one rollout at a time to the largest increase of the
value, taken as a difference of values with mpmath at 40 digits, and shares of
what is left as fractions. Nothing is shared with the Go code, which hands out
by a closed form of the increase and in floating point.
"""

from fractions import Fraction as F

import mpmath as mp

mp.mp.dps = 40


def value(p, n, tau, alpha, total):
    """(1 - exp(-n p (1-p)/tau)) times the Beta(alpha, total - alpha) density."""
    beta = total - alpha
    density = p ** (alpha - 1) * (1 - p) ** (beta - 1) / mp.beta(alpha, beta)
    return (1 - mp.exp(-n * p * (1 - p) / tau)) * density


def alpha_of(failure, total=7):
    """The taste for difficulty, from the mean failure rate."""
    if failure <= F(1, 2):
        failure = 1 / (1 + mp.exp(-10 * (mp.mpf(failure.numerator) / failure.denominator - mp.mpf(1) / 2)))
    else:
        failure = mp.mpf(failure.numerator) / failure.denominator
    return 1 + (total - 2) * failure


def groups(rates, alpha, n=16, low=2, up=32, weighted=True, total=7):
    """rates: fractions, None for a prompt without visits."""
    if all(p is None for p in rates):
        return [n] * len(rates)
    rates = [F(1, 2) if p is None else p for p in rates]
    size = [low] * len(rates)
    hard = [i for i, p in enumerate(rates) if p < F(5, 100)]
    easy = [i for i, p in enumerate(rates) if p > F(99, 100)]
    middle = [i for i in range(len(rates)) if i not in hard and i not in easy]
    left = (n - low) * len(rates)

    # The middle's share, greedily.
    part = F(len(middle), len(rates))
    share = F(4, 5) if part > F(1, 2) else F(3, 5) + F(1, 5) * 2 * part
    p = {i: min(max(rates[i], F(1, 100)), F(99, 100)) for i in middle}
    if middle:
        mean = sum(p.values()) / len(p)
        variance = sum((x - mean) ** 2 for x in p.values()) / len(p)
        tau = 3 + 9 * min(F(1), variance / F(1667, 10000))
        p = {i: mp.mpf(x.numerator) / x.denominator for i, x in p.items()}
        tau = mp.mpf(tau.numerator) / tau.denominator
        budget = int(left * share)
        while budget > 0:
            gains = [
                (value(p[i], size[i] + 1, tau, alpha, total) - value(p[i], size[i], tau, alpha, total), -i)
                for i in middle
                if size[i] < up
            ]
            if not gains:
                break
            size[-max(gains)[1]] += 1  # of equal ones the first
            budget -= 1
            left -= 1

    # What is left: the hard, the middle, the easy.
    for group in [hard, middle, easy]:
        if weighted:
            weight = {i: 1 - min(max(rates[i], F(1, 10**6)), 1 - F(1, 10**6)) for i in group}
            whole = sum(weight[i] for i in group if size[i] < up)
            for i in group:
                if size[i] < up:
                    more = min(int(left * weight[i] / whole), up - size[i])
                    size[i] += more
                    left -= more
        room = [i for i in group if size[i] < up]
        if room:
            each, extra = divmod(left, len(room))
            for k, i in enumerate(room):
                more = min(each + (k < extra), up - size[i])
                size[i] += more
                left -= more
    return size


def case(spec, alpha, rates, **options):
    rates = [None if r is None else F(r) for r in rates]
    cells = [f'"{spec}"', mp.nstr(alpha, 17), " ".join("-1" if r is None else str(float(r)) for r in rates)]
    print(",".join(cells + [" ".join(map(str, groups(rates, alpha, **options)))]))


print("spec,alpha,rates,groups")
case("coba:n=12,up=64", mp.mpf(3), [0, 0, 0, 0], n=12, up=64)
case("coba:n=12,up=64", mp.mpf(3), [1, 1, 1, 1], n=12, up=64)
case("coba:n=12,up=64,rest=uniform", mp.mpf(3), [0, 0, 0], n=12, up=64, weighted=False)
case("coba:n=31", mp.mpf(3), [0, 0], n=31)
mixed = ["0", "0.04", "0.3", "0.5", "0.7", "1"]
case("coba", alpha_of(F("0.577")), mixed)
case("coba", alpha_of(F("0.2")), mixed)
case("coba", alpha_of(F("0.42")), ["0.3", "0.5", "0.7", "0.9", "0.5"])
case("coba:up=18", alpha_of(F("0.42")), ["0", "0.5", "0.5", "0.5", "0.5"], up=18)
case("coba", mp.mpf(3), [None, None])
case("coba", mp.mpf("3.5"), [None, "0.5"])
case("coba", mp.mpf("2.5"), ["0.06", "0.2", "0.35", "0.55", "0.8", "0.95", "0.02", None])
case("coba:n=8,up=24", mp.mpf("4.5"), ["0.01", "0.1", "0.25", "0.4", "0.6", "1", "1"], n=8, up=24)
