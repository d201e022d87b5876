"""Writes calibration.json: how two predictors foretold three ratios measured on
four seeds, in plain arithmetic: Student's interval of the mean error by seed, the
root mean square error of the cases less the variance of their means, its
delete-one jackknife, and Spearman's correlation as 1 - 6 sum d^2/(n(n^2-1)).

Run: python3 calibration.py > calibration.json
"""
import json

import mpmath
from mpmath import betainc, findroot, log, mp, mpf, sqrt

mp.dps = 30
n = 4
# The 97.5 % quantile of Student's law with n-1 degrees of freedom.
tail = lambda t: betainc(mpf(n - 1) / 2, mpf(1) / 2, 0, (n - 1) / (n - 1 + t * t), regularized=True) / 2
t = findroot(lambda t: tail(t) - mpf("0.025"), 3)

logs = [[0.40, 0.44, 0.38, 0.42], [0.11, 0.05, 0.12, 0.08], [0.70, 0.78, 0.69, 0.71]]
logs = [[mpf(str(x)) for x in case] for case in logs]
mean = lambda v: sum(v) / len(v)
variance = lambda v: sum((x - mean(v)) ** 2 for x in v) / (len(v) - 1)


def rms(cases, predicted):
    s = mean([(mean(c) - log(p)) ** 2 - variance(c) / len(c) for c, p in zip(cases, predicted)])
    return sqrt(max(mpf(0), s))


def calibration(predicted):
    predicted = [mpf(str(p)) for p in predicted]
    seeds = [mean([logs[c][k] - log(predicted[c]) for c in range(3)]) for k in range(n)]
    se = sqrt(variance(seeds) / n)
    left = [rms([c[:k] + c[k + 1 :] for c in logs], predicted) for k in range(n)]
    jack = sqrt(mpf(n - 1) / n * sum((x - mean(left)) ** 2 for x in left))
    value = rms(logs, predicted)
    rank = lambda v: [sorted(v).index(x) for x in v]
    d2 = sum((a - b) ** 2 for a, b in zip(rank([mean(c) for c in logs]), rank(predicted)))
    f = lambda x: float(mp.nstr(x, 15))
    return {
        "predicted": [float(p) for p in predicted],
        "mean": [f(mean(seeds)), f(se), f(mean(seeds) - t * se), f(mean(seeds) + t * se)],
        "rms": [f(value), f(jack), f(max(mpf(0), value - t * jack)), f(value + t * jack)],
        "rank": f(1 - mpf(6) * d2 / (3 * 8)),
    }


print(json.dumps({
    "tool": "mpmath " + mpmath.__version__, "script": "calibration.py",
    "logs": [[float(x) for x in c] for c in logs],
    "cases": [calibration([1.5, 1.3, 1.9]), calibration([1.4, 1.3, 1.2])],
}, indent=1))
