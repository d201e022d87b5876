"""A small merged table of a sweep, and what views of it are, by mpmath.

    python3 merged.py > merged.json

The table has axes shape, alpha and seed, a command that prints two strategies and the
figure loss at rounds 1 and 2. Point 8 failed, point 3 has no value of eta for vigor.
"""

import itertools
import json

import mpmath as mp

mp.mp.dps = 40


def quantile_t(p, nu):
    """Student's t quantile by its distribution function, an incomplete beta."""
    def cdf(x):
        return 1 - mp.betainc(mp.mpf(nu) / 2, mp.mpf(1) / 2, 0, nu / (nu + x * x), regularized=True) / 2
    return mp.findroot(lambda x: cdf(x) - p, (1, 20), solver="illinois", tol=1e-25)


Z = mp.sqrt(2) * mp.erfinv(mp.mpf("0.95"))

shapes, alphas, seeds = ["1.5", "2", "10"], ["0.25", "0.5"], ["1", "2", "7"]
head = "point,shape,alpha,axis_seed,population,strategy,figure,at,value,se,low,high,replicates,seed,coding,reason,error"
lines, rows = [head], []
for point, (shape, alpha, seed) in enumerate(itertools.product(shapes, alphas, seeds), 1):
    lead = f"{point},{shape},{alpha},{seed}"
    if point == 8:
        lines.append(lead + "," * 12 + ',"out of memory, killed"')
        continue
    population = f"pareto-variance:shape={shape}"
    for k, strategy in enumerate(["fixed:g=8", f"vigor:m0=2,alpha={alpha}"]):
        value, se = f"{1 + k * (point * 37 % 11) / 10}", f"{0.01 * (point % 4 + 1)}"
        if point == 3 and k == 1:
            value = se = ""
        figures = [("eta", "", value, se)]
        figures += [("loss", f"round={t}", f"{point * t % 7}", "0.5") for t in (1, 2)]
        for figure, at, value, se in figures:
            lines.append(f'{lead},{population},"{strategy}",{figure},{at},{value},{se},,,40,{seed},signed,,')
            rows.append(dict(shape=shape, alpha=alpha, seed=seed, strategy=strategy.split(",")[0].split(":")[0],
                             figure=figure, round=at.removeprefix("round="), value=value, se=se))


def one(text):
    return mp.mpf(text) if text else None


def cell(mean=(), **keys):
    """Value, low, high, runs and reason of the runs that have the keys."""
    lost = not mean and any(
        p == 8 and all({"shape": s, "alpha": a, "seed": d}.get(k, v) == v for k, v in keys.items())
        for p, (s, a, d) in enumerate(itertools.product(shapes, alphas, seeds), 1))
    found = [r for r in rows if all(r[k] == v for k, v in keys.items())]
    if not found:
        return dict(why="failed" if lost else "not in the sweep")
    by_seed = {}
    for r in found:
        by_seed.setdefault(r["seed"], []).append(r)
    if any(r["value"] == "" for r in found):
        return dict(why="no value")
    values = [sum(one(r["value"]) for r in g) / len(g) for _, g in sorted(by_seed.items())]
    n = len(values)
    middle = sum(values) / n
    if n > 1:
        sd = mp.sqrt(sum((v - middle) ** 2 for v in values) / (n - 1))
        half = quantile_t(mp.mpf("0.975"), n - 1) * sd / mp.sqrt(n)
    else:
        half = Z * sum(one(r["se"]) for r in found) / len(found)
    return dict(value=float(middle), low=float(middle - half), high=float(middle + half), runs=n)


views = []


def view(figure, x, series, panels=(), mean=(), at=()):
    cells = []
    axes = dict(shape=shapes, alpha=alphas, seed=seeds, strategy=["fixed", "vigor"], round=["1", "2"])
    names = [x] + ([series] if series else []) + list(panels)
    for values in itertools.product(*(axes[n] for n in names)):
        keys = dict(zip(names, values)) | dict(at) | {"figure": figure}
        cells.append(dict(at=list(values), **cell(mean, **keys)))
    views.append(dict(figure=figure, x=x, series=series, panels=list(panels), mean=list(mean), hold=[list(h) for h in at], cells=cells))


view("eta", "shape", "strategy", ["alpha"])
view("eta", "shape", "alpha", at=[("strategy", "vigor")])
view("eta", "shape", "alpha", at=[("strategy", "vigor"), ("seed", "2")])
view("eta", "shape", "seed", at=[("strategy", "vigor"), ("alpha", "0.5")])
view("loss", "round", "shape", at=[("strategy", "fixed"), ("alpha", "0.25")])
view("loss", "round", "shape", mean=["strategy"], at=[("alpha", "0.25"), ("seed", "7")])

print(json.dumps(dict(maker=f"merged.py, mpmath {mp.__version__}", table="\n".join(lines) + "\n", views=views), indent=1))
