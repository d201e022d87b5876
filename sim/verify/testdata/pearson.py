"""python3 pearson.py > pearson.json

Upper tails of the Pearson type III law with mean 0 and standard deviation 1, a
shifted gamma law: P(X >= z) at skewness g > 0 is Q(4/g^2, 4/g^2 + 2z/g), Q the
regularized upper incomplete gamma function. The normal tail beside it: the law
of the test is the larger of both. mpmath to 30 digits.
"""
import json

from mpmath import mp, gammainc, ncdf, mpf

mp.dps = 30
rows = []
for g in ["0.01", "0.3", "0.9", "1.5"]:
    for z in ["-3", "-1", "0", "0.5", "2", "5"]:
        skew, x = mpf(g), mpf(z)
        y = max(mpf(0), 4 / skew**2 + 2 * x / skew)
        pearson = gammainc(4 / skew**2, y, regularized=True)
        rows.append({"skew": float(g), "z": float(z), "upper": float(max(pearson, ncdf(-x)))})
print(json.dumps({"tool": "mpmath " + __import__("mpmath").__version__, "rows": rows}, indent=1))
