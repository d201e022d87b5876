"""Writes survival.json: Kaplan-Meier estimates, medians and the intervals of
Brookmeyer and Crowley on the scale log(-log S), worked out from the definitions
in exact fractions and 30 digits of mpmath. An interval is the set of event times
t with |g(S(t)) - g(1/2)| <= z sqrt(greenwood)/|log S|, g(s) = log(-log s), from
its first time to the event time after its last one; nothing is said of S = 0.

The first two cases are the remission times of Freireich et al. (1963), in weeks,
with their published medians of 23 (6-MP) and 8 (placebo).

Run: python3 survival.py > survival.json
"""
import json
from fractions import Fraction

from mpmath import erfinv, log, mp, mpf, sqrt

mp.dps = 30
Z = sqrt(mpf(2)) * erfinv(mpf("0.95"))

CASES = {
    "6-MP": "6 6 6 6+ 7 9+ 10 10+ 11+ 13 16 17+ 19+ 20+ 22 23 25+ 32+ 32+ 34+ 35+",
    "placebo": "1 1 2 2 3 4 4 5 5 8 8 8 8 11 11 12 12 15 17 22 23",
    "even": "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16",
    "late events": "3+ 3+ 3+ 3+ 3+ 3+ 4 5 6 7 8 9 10 11 12 13",
    "mostly censored": "2 3 9+ 9+ 9+ 9+ 9+ 9+",
    "censored at an event": "2 2+ 3 3+ 4 4 5 6 7 8 8+ 9",
}


def parse(text):
    return [(int(w.rstrip("+")), not w.endswith("+")) for w in text.split()]


def survival(d):
    """S at t is the product over event times e <= t of 1 - events/at risk."""
    out = []
    for t in sorted({t for t, event in d if event}):
        s, greenwood = Fraction(1), Fraction(0)
        for e in sorted({e for e, event in d if event and e <= t}):
            n = sum(u >= e for u, _ in d)
            k = sum(u == e and event for u, event in d)
            s *= Fraction(n - k, n)
            greenwood = None if n == k else greenwood + Fraction(k, n * (n - k))
        out.append((t, s, greenwood))
    return out


def number(x):
    return mpf(x.numerator) / x.denominator


def inside(s, greenwood):
    g = log(-log(number(s)))
    return abs(g - log(log(mpf(2)))) <= Z * sqrt(number(greenwood)) / -log(number(s))


def main():
    result = {}
    for name, text in CASES.items():
        d = parse(text)
        steps = survival(d)
        median = next((t for t, s, _ in steps if s <= Fraction(1, 2)), None)
        within = [i for i, (_, s, g) in enumerate(steps) if s and inside(s, g)]
        low = steps[within[0]][0]
        after = within[-1] + 1
        high = steps[after][0] if after < len(steps) and steps[after][1] else None
        if high is None and all(event for _, event in d):
            high = max(t for t, _ in d)
        result[name] = {
            "times": [t for t, _ in d], "events": [e for _, e in d],
            "steps": [{"time": t, "survival": float(number(s)), "greenwood": None if g is None else float(number(g))} for t, s, g in steps],
            "median": median, "low": low, "high": high,
        }
    print(json.dumps({"tool": "Python fractions and mpmath", "cases": result}, indent=1))


main()
