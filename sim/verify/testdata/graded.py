"""Golden values of the counterexample in rung5graded.go, by mpmath. Under the
std-normalised flow of one parameter theta, d theta/dt = V'/STD, so that the time
to a gain is the integral of STD/V' over theta, from 0 to where V has risen by it.

Run: python3 graded.py > graded.json
"""
import json

import mpmath
from mpmath import mp, mpf

mp.dps = 30
DELTA, SECOND, THIRD = mpf("1e-4"), mpf("1e-2"), mpf("1e-10")
SLOPE = [-1 / mp.sqrt(2), mpf(0), 1 / mp.sqrt(2)]


def case(name, rewards, gain):
    def state(theta):
        w = [b * mp.exp(s * theta) for b, s in zip((1, SECOND, THIRD), SLOPE)]
        p = [x / sum(w) for x in w]
        v = sum(a * r for a, r in zip(p, rewards))
        var = sum(a * (r - v) ** 2 for a, r in zip(p, rewards))
        slope = sum(a * (r - v) * s for a, r, s in zip(p, rewards, SLOPE))
        return v, var, slope

    def slowness(theta):
        _, var, slope = state(theta)
        return mp.sqrt(var) / slope

    v0, var0, _ = state(mpf(0))
    end = mp.findroot(lambda t: state(t)[0] - v0 - gain, (10, 30), solver="anderson")
    time = mp.quad(slowness, [end * k / 24 for k in range(25)])
    bound = (1 - mp.exp(-gain / 2)) / 2 / mp.sqrt(var0)
    return dict(name=name, time=float(time), bound=float(bound))


half = mpf("0.5")
rows = [case("graded", (0, DELTA, 1), half), case("binary", (0, 0, 1), half)]
print(f'{{"tool": "mpmath {mpmath.__version__}", "script": "graded.py", "rows": [')
print(",\n".join(json.dumps(r) for r in rows))
print("]}")
