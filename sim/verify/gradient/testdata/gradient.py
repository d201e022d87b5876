"""Writes gradient.json: gradients of a small softmax policy by numerical
differentiation of the objectives themselves, in 40 digits.

Run: python3 gradient.py > gradient.json
Three tokens, at most two a response, token 0 ends one. A cell is a token at a
prefix: 0-2 at the root, 3-5 after token 1, 6-8 after token 2.
"""
import itertools
import json
import sys

import mpmath
from mpmath import mpf, exp, log, sqrt, norm

mpmath.mp.dps = 40

FEATURES = [[mpf((7 * cell + 3 * k + 1) % 11 - 5) / 4 for k in range(2)] for cell in range(9)]
OFFSETS = [mpf((5 * cell + 2) % 7 - 3) / 8 for cell in range(9)]
BEFORE = [mpf("0.25"), mpf("-0.5")]
AFTER = [mpf("0.75"), mpf("-0.625")]
RESPONSES = ["0"] + [a + b for a, b in itertools.product("12", "012")]
CORRECT = {"0", "12", "21"}
GRADED = {o: mpf(i * i % 5) / 4 - mpf("0.5") for i, o in enumerate(RESPONSES)}
GROUP = ["0", "10", "12", "12", "22", "11", "20", "21", "22"]
CLIP = mpf("0.25")


def cells(o):
    at = [int(o[0])]
    if len(o) == 2:
        at.append(3 * int(o[0]) + int(o[1]))
    return at


def log_prob(theta, cell):
    low = cell - cell % 3
    z = [OFFSETS[c] + sum(f * t for f, t in zip(FEATURES[c], theta)) for c in range(low, low + 3)]
    return z[cell - low] - log(sum(exp(x) for x in z))


def minimum(ratio, a, clip):
    if clip is None:
        return ratio * a
    return min(ratio * a, min(max(ratio, 1 - clip), 1 + clip) * a)


def term(theta, o, a, token, clip):
    logs = [log_prob(theta, c) - log_prob(BEFORE, c) for c in cells(o)]
    if token:
        return sum(minimum(exp(x), a, clip) for x in logs) / len(logs)
    return minimum(exp(sum(logs)), a, clip)


def gradient(f):
    return [mpmath.diff(lambda x: f([x, AFTER[1]]), AFTER[0]), mpmath.diff(lambda x: f([AFTER[0], x]), AFTER[1])]


def grpo(ddof, delta):
    def advantages(r):
        m = sum(r) / len(r)
        sd = sqrt(sum((x - m) ** 2 for x in r) / (len(r) - ddof))
        return [(x - m) / (sd + delta) for x in r]
    return advantages


def rloo(r):
    return [x - (sum(r) - x) / (len(r) - 1) for x in r]


ESTIMATORS = [
    ("grpo:ddof=0,delta=0", grpo(0, 0)),
    ("grpo:ddof=1,delta=0.5", grpo(1, mpf("0.5"))),
    ("drgrpo", lambda r: [x - sum(r) / len(r) for x in r]),
    ("rloo", rloo),
]
CODINGS = {
    "signed": lambda o: mpf(1 if o in CORRECT else -1),
    "binary": lambda o: mpf(1 if o in CORRECT else 0),
    "graded": lambda o: GRADED[o],
}

surrogates = []
for token in (False, True):
    for clip in (None, CLIP):
        largest = max(
            norm(gradient(lambda t: term(t, o, a, token, clip))) for o in RESPONSES for a in (1, -1)
        )
        losses = []
        for coding, reward in CODINGS.items():
            for name, advantages in ESTIMATORS:
                a = advantages([reward(o) for o in GROUP])
                g = gradient(lambda t: sum(term(t, o, x, token, clip) for o, x in zip(GROUP, a)) / len(GROUP))
                losses.append({
                    "coding": coding, "estimator": name, "gradient": [float(x) for x in g],
                    "sum_abs": float(sum(abs(x) for x in a)),
                })
        surrogates.append({
            "token": token, "clip": None if clip is None else float(clip),
            "largest": float(largest), "losses": losses,
        })


def prob(theta, o):
    return exp(sum(log_prob(theta, c) for c in cells(o)))


def value(theta):
    return sum(prob(theta, o) * GRADED[o] for o in RESPONSES)


std = sqrt(sum(prob(AFTER, o) * (GRADED[o] - value(AFTER)) ** 2 for o in RESPONSES))
j = max(mpmath.svd(mpmath.matrix(FEATURES[p:p + 3]), compute_uv=False)[0] for p in (0, 3, 6))

json.dump({
    "made_by": f"gradient.py, mpmath {mpmath.__version__}, {mpmath.mp.dps} digits, Python {sys.version.split()[0]}",
    "tokens": 3, "length": 2,
    "features": [float(x) for cell in FEATURES for x in cell],
    "offsets": [float(x) for x in OFFSETS],
    "before": [float(x) for x in BEFORE], "after": [float(x) for x in AFTER],
    "responses": RESPONSES, "correct": [o in CORRECT for o in RESPONSES], "graded": [float(GRADED[o]) for o in RESPONSES],
    "group": GROUP,
    "probabilities": [float(prob(AFTER, o)) for o in RESPONSES],
    "surrogates": surrogates,
    "expected": {"gradient": [float(x) for x in gradient(value)], "std": float(std), "jacobian": float(j)},
}, sys.stdout, indent=1)
print()
