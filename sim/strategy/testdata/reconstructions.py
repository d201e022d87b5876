"""Reference values of the strategies rebuilt from notes: ar3po, arcus, cero-v2, hora, pair and xrpo.

    python3 reconstructions.py > reconstructions.csv

Written from the rules in words, with mpmath 1.3.0 at 40 digits; nothing is shared with the Go code. Outcomes are
tapes: rollout k of a prompt succeeds where the k-th character of its tape is 1, over all steps. No choice hangs
on a tie: the script fails where the last one taken and the next one are nearer than 1e-9.
"""

import itertools
from fractions import Fraction as F

import mpmath as mp

mp.mp.dps = 40


def row(quantity, case, values):
    print(f"{quantity},{case},{' '.join(v if isinstance(v, str) else mp.nstr(mp.mpf(v), 17) for v in values)}")


def whole(values):
    return [str(v) for v in values]


def largest(gains, count):
    """The keys of that many largest gains, of which the last must be larger than the next. Gains that fall from one
    rollout of a prompt to the next are handed out greedily that way."""
    ranked = sorted(gains.items(), key=lambda kv: kv[1], reverse=True)
    assert not count or ranked[count - 1][1] - ranked[count][1] > 1e-9, ranked[count - 1 : count + 1]
    return [key for key, _ in ranked[:count]]


# ar3po: the law of the cost, by enumeration of every sequence of rewards.


def ar3po_cost(p, k, stages):
    """Mean rollouts, and the probability that none succeeds."""
    cost, never = mp.mpf(0), mp.mpf(0)
    for rewards in itertools.product((0, 1), repeat=k * stages):
        probability = mp.mpf(1)
        for r in rewards:
            probability *= p if r else 1 - p
        stage = 1
        while stage < stages and not any(rewards[: k * stage]):
            stage += 1
        cost += probability * k * stage
        never += probability * (not any(rewards))
    return [cost, never]


for k, stages in ((4, 2), (2, 3), (3, 1)):
    for p in ("0.05", "0.1", "0.25", "0.5", "0.9"):
        row("ar3po cost", f"{p} {k} {stages}", ar3po_cost(mp.mpf(p), k, stages))


# hora: groups of a batch, by fractions of Beta functions.


def hora(g, base, tapes, most=10_000):
    n = [base] * len(tapes)
    s = [t[:base].count("1") for t in tapes]

    def miss(i, more):
        """E (1-p)^more under Beta(1+s, 1+f): a ratio of rising factorials."""
        f, probability = base - s[i], F(1)
        for j in range(more):
            probability *= F(1 + f + j, 2 + base + j)
        return probability

    total = (g - base) * len(tapes)
    gains = {
        (i, j): miss(i, j) - miss(i, j + 1) for i in range(len(tapes)) for j in range(min(total, most - base))
    }
    for i, _ in largest(gains, total):
        n[i] += 1
    return n


def show(parts):
    return ";".join(parts)


for g, base, most, tapes in (
    (8, 4, 10_000, ["0000", "0100", "0110", "1110", "1111"]),
    (5, 2, 10_000, ["00", "01", "11"]),
    (20, 3, 28, ["000", "010", "110", "111"]),
):
    row("hora", f"hora:g={g},base={base},max={most}|{show(tapes)}", whole(hora(g, base, tapes, most)))


# xrpo: groups of a batch; Student's quantile by bisection of its distribution function.


def student_cdf(x, df):
    tail = mp.betainc(mp.mpf(df) / 2, mp.mpf(1) / 2, 0, df / (df + x * x), regularized=True) / 2
    return 1 - tail


def student_quantile(q, df):
    low, high = mp.mpf(0), mp.mpf(10) ** 6
    for _ in range(150):
        middle = (low + high) / 2
        if student_cdf(middle, df) < q:
            low = middle
        else:
            high = middle
    return low


widths = {}


def half_width(n, alpha):
    if (n, alpha) not in widths:
        widths[n, alpha] = student_quantile(1 - alpha / 2, n - 1) / mp.sqrt(n)
    return widths[n, alpha]


def xrpo(g, base, phases, alpha, weight, bonus, tapes):
    alpha, weight = mp.mpf(alpha), mp.mpf(weight)
    n = [base] * len(tapes)
    rest = (g - base) * len(tapes)
    for phase in range(phases):
        rewards = [[mp.mpf(c) for c in t[: n[i]]] for i, t in enumerate(tapes)]
        mean = [mp.fsum(r) / len(r) for r in rewards]
        sd = [mp.sqrt(mp.fsum((x - m) ** 2 for x in r) / (len(r) - 1)) for r, m in zip(rewards, mean)]
        total = sum(n)

        def priority(i, size):
            extra = mp.log(1 + total) / size
            if bonus == "root":
                extra = mp.sqrt(extra)
            return sd[i] * (half_width(size, alpha) - half_width(size + 1, alpha)) + weight * extra

        part = rest // phases + (1 if phase < rest % phases else 0)
        gains = {(i, j): priority(i, n[i] + j) for i in range(len(tapes)) for j in range(part + 1)}
        for i, _ in largest(gains, part):
            n[i] += 1
    return n


long_tapes = [
    "0000000000000000000000000000000000000000",
    "0001000000000010000000000100000000000000",
    "0110010010100110100101100101101001010010",
    "1110111111011111110111111111011111111111",
]
for g, base, phases, alpha, weight, bonus, count in (
    (8, 4, 2, "0.05", "0.1", "root", 3),
    (8, 4, 3, "0.05", "0.3", "linear", 3),
    (12, 5, 2, "0.2", "0.05", "root", 3),
    (10, 4, 4, "0.01", "1", "root", 3),
):
    tapes = long_tapes[:count]
    spec = f"xrpo:g={g},base={base},phases={phases},alpha={alpha},lambda={weight},bonus={bonus}"
    row("xrpo", f"{spec}|{show(tapes)}", whole(xrpo(g, base, phases, alpha, weight, bonus, tapes)))


def xrpo_priority(alpha, weight, bonus, n, s, total):
    alpha, weight = mp.mpf(alpha), mp.mpf(weight)
    rewards = [mp.mpf(1)] * s + [mp.mpf(0)] * (n - s)
    mean = mp.fsum(rewards) / n
    sd = mp.sqrt(mp.fsum((x - mean) ** 2 for x in rewards) / (n - 1))
    extra = mp.log(1 + total) / n
    return sd * (half_width(n, alpha) - half_width(n + 1, alpha)) + weight * (mp.sqrt(extra) if bonus == "root" else extra)


for alpha, weight, bonus, n, s, total in (
    ("0.05", "0.1", "root", 4, 1, 20),
    ("0.2", "2", "linear", 7, 3, 50),
    ("0.01", "0.3", "root", 2, 1, 6),
    ("0.5", "0", "root", 60, 11, 900),
):
    spec = f"xrpo:g=100,base=2,phases=1,alpha={alpha},lambda={weight},bonus={bonus}"
    row("xrpo priority", f"{spec}|{n} {s} {total}", [xrpo_priority(alpha, weight, bonus, n, s, total)])


# cero-v2: prices and slopes after every step of a run, and who is asked.


def cero2(g, pace, rounds, c, a0, b0, rho, eta, price, step, tapes, steps):
    c, a0, b0, rho, eta, price, step = (mp.mpf(x) for x in (c, a0, b0, rho, eta, price, step))
    m = len(tapes)
    a, b, y, used, left = [a0] * m, [b0] * m, [c] * m, [0] * m, rounds * pace
    out = []
    for _ in range(steps):
        q = [a[i] * b[i] / ((a[i] + b[i]) * (a[i] + b[i] + 1)) for i in range(m)]
        margin = {i: q[i] * y[i] - price for i in range(m)}
        virtual = [i for i in range(m) if margin[i] > 0]
        run = sorted(largest({i: margin[i] for i in virtual}, left) if len(virtual) > left else virtual)
        left -= len(run)
        for i in range(m):
            x = 1 if i in virtual else 0
            y[i] -= eta / mp.sqrt(rounds) * q[i] * (x - mp.log(c / y[i]) / c)
            y[i] = min(max(y[i], c * mp.exp(-c)), c)
            a[i], b[i] = a0 + rho * (a[i] - a0), b0 + rho * (b[i] - b0)
        for i in run:
            s = tapes[i][used[i] : used[i] + g].count("1")
            used[i] += g
            a[i], b[i] = a[i] + s, b[i] + g - s
        price = max(mp.mpf(0), price - step / mp.sqrt(rounds) * (pace - len(virtual)) / pace)
        out.append((run, [price] + y + [a[i] / (a[i] + b[i]) for i in range(m)]))
    return out


run_tapes = ["0" * 60, "0010" * 15, "0110" * 15, "110111111101" * 5, "1111111011111111" * 4]
for pace, rounds, c, a0, b0, rho, eta, price, step in (
    (2, 6, "3", "1", "1", "1", "1", "0.4", "0.5"),
    (1, 9, "1.5", "0.5", "2", "0.8", "3", "0.1", "0.2"),
    (5, 9, "1", "1", "1", "1", "20", "0", "0.1"),
):
    spec = f"cero-v2:g=4,groups=1,rounds={rounds},c={c},a={a0},b={b0},rho={rho},eta={eta},price={price},step={step}"
    for step_number, (run, values) in enumerate(cero2(4, pace, rounds, c, a0, b0, rho, eta, price, step, run_tapes, 9)):
        case = f"{spec}|{pace}|{step_number}|{show(run_tapes)}"
        row("cero-v2 asked", case, whole(run))
        row("cero-v2 state", case, values)


# pair: inclusion probabilities by the root of a cubic and bisection of the multiplier, and the mean of the estimator
# by enumeration.


def inclusion(p, cost, n, g, least):
    def share(i, multiplier):
        """The positive root x = 1/pi of x^3 + (n-2)/4 x^2 = multiplier c/v, cut."""
        t = multiplier * cost[i] / (p[i] * (1 - p[i]))
        roots = mp.polyroots([1, mp.mpf(n - 2) / 4, 0, -t], maxsteps=200, extraprec=200)
        x = max(mp.re(r) for r in roots if abs(mp.im(r)) < mp.mpf(10) ** -15)
        return min(max(1 / x, least), mp.mpf(1))

    total = g * mp.fsum(cost)
    low, high = mp.mpf(-20), mp.mpf(40)  # ln of the multiplier; spending falls
    for _ in range(90):
        middle = (low + high) / 2
        if n * mp.fsum(share(i, mp.exp(middle)) * cost[i] for i in range(len(p))) > total:
            low = middle
        else:
            high = middle
    return [share(i, mp.exp(high)) for i in range(len(p))]


for n, g, least, p, cost in (
    (8, 4, "0.1", "0.05 0.2 0.5 0.9 0.99", "1 1 1 1 1"),
    (16, 8, "0.25", "0.01 0.3 0.5 0.7", "100 300 50 80"),
    (2, 1, "0.05", "0.5 0.1 0.02", "1 2 3"),
    (6, 5, "0.5", "0.001 0.4 0.6 0.5", "1 1 1 1"),
):
    values = inclusion([mp.mpf(x) for x in p.split()], [mp.mpf(x) for x in cost.split()], n, g, mp.mpf(least))
    row("pair inclusion", f"{n}|{g}|{least}|{p}|{cost}", values)


def pair_mean(p, n, pi):
    """The mean over rewards and inclusions of sum over finished rollouts of weight times RLOO's estimate, from the
    2^n 2^n outcomes of n rollouts; the one-logit score of a rollout is r - p."""
    total = {"joint": F(0), "marginal": F(0), "none": F(0)}
    for rewards in itertools.product((0, 1), repeat=n):
        for finished in itertools.product((0, 1), repeat=n):
            probability = F(1)
            for r, f in zip(rewards, finished):
                probability *= (p if r else 1 - p) * (pi if f else 1 - pi)
            kept = [i for i in range(n) if finished[i]]
            pairs = list(itertools.combinations(kept, 2))
            half = [F(1, 2) * (rewards[i] - rewards[j]) * ((rewards[i] - p) - (rewards[j] - p)) for i, j in pairs]
            complete = F(n * (n - 1), 2)
            total["joint"] += probability * n * sum(half) / (pi * pi) / complete
            total["marginal"] += probability * n * sum(half) / pi / complete
            if pairs:
                total["none"] += probability * len(kept) * sum(half) / len(pairs)
    return total


for p, n, pi in ((F(1, 4), 3, F(1, 2)), (F(1, 2), 4, F(3, 10)), (F(9, 10), 4, F(3, 4))):
    for weights, value in pair_mean(p, n, pi).items():
        row("pair mean", f"{p} {n} {pi} {weights}", [mp.mpf(value.numerator) / value.denominator])


# arcus: yield and kernel by quadrature under the belief; a whole run on tapes.


def under(mean, variance, f, points):
    sd = mp.sqrt(variance)
    marks = sorted({mean + sd * k for k in range(-14, 15, 2)} | set(points))
    density = lambda x: mp.exp(-((x - mean) ** 2) / (2 * variance)) / mp.sqrt(2 * mp.pi * variance)
    return mp.quad(lambda x: density(x) * f(x), marks)


def arc_yield_quad(mean, variance, g):
    end = mp.pi / 2
    both = lambda x: mp.exp(-g * x * x) + mp.exp(-g * (end - x) ** 2)
    return max(mp.mpf(0), 1 - under(mean, variance, both, [0, end]))


def arc_kernel_quad(mean, variance, target):
    width = min(mp.sin(target), mp.cos(target)) / mp.sqrt(2)
    return under(mean, variance, lambda x: mp.exp(-((x - target) ** 2) / (2 * width * width)), [target])


for mean, variance, g, target in (
    ("0.7", "0.02", 8, "0.78"),
    ("0.1", "0.01", 8, "0.3"),
    ("1.4", "0.2", 4, "0.25"),
    ("0.3", "0.001", 16, "1.2"),
):
    case = f"{mean} {variance} {g} {target}"
    row("arcus yield", case, [arc_yield_quad(mp.mpf(mean), mp.mpf(variance), g)])
    row("arcus kernel", case, [arc_kernel_quad(mp.mpf(mean), mp.mpf(variance), mp.mpf(target))])


def arcus(g, batch, rho, eps, temperature, delta, targets, beta, warmup, tapes, visited):
    """visited: the prompts of every step, all of the set or, in a set of one, that one or none."""
    end, n = mp.pi / 2, len(tapes)
    m = int(mp.ceil((1 + mp.mpf(rho)) * batch))
    eps, temperature, delta, beta = (mp.mpf(x) for x in (eps, temperature, delta, beta))
    mu, var, last, used = [mp.pi / 4] * n, [mp.pi**2 / 48] * n, [None] * n, [0] * n
    v, q, target = mp.mpf(0), mp.mpf("1e-5"), mp.pi / 4

    def arc_yield(i):
        a = 1 + 2 * g * var[i]
        return max(mp.mpf(0), 1 - (mp.exp(-g * mu[i] ** 2 / a) + mp.exp(-g * (end - mu[i]) ** 2 / a)) / mp.sqrt(a))

    def kernel(i, at):
        w = (min(mp.sin(at), mp.cos(at)) / mp.sqrt(2)) ** 2
        return mp.sqrt(w / (w + var[i])) * mp.exp(-((mu[i] - at) ** 2) / (2 * (w + var[i])))

    out = []
    for step in range(visited):
        for i in range(n):
            if last[i] is not None:
                mu[i] = min(max(mu[i] + v * mp.sin(2 * mu[i]), mp.mpf(0)), end)
                var[i] += q
        innovation = pull = excess = gaps = mp.mpf(0)
        again = 0
        mixed = []
        for i in range(n):
            s = tapes[i][used[i] : used[i] + g].count("1")
            used[i] += g
            if 0 < s < g:
                z, r = mp.asin(mp.sqrt((s + mp.mpf(3) / 8) / (g + mp.mpf(3) / 4))), mp.mpf(1) / (4 * g + 2)
                mixed.append(i)
            else:
                z, r = (mp.mpf(0) if s == 0 else end), mp.mpf(1) / (2 * g)
            d = z - mu[i]
            if last[i] is not None:
                gap = step - last[i]
                again += 1
                innovation += d
                pull += gap * max(mp.sin(2 * mu[i]), mp.mpf("0.05"))
                excess += d * d - var[i] - r
                gaps += gap
            k = var[i] / (var[i] + r)
            mu[i], var[i], last[i] = mu[i] + k * d, (1 - k) * var[i], step
        scores = {i: kernel(i, target) * arc_yield(i) for i in mixed}
        trained = largest(scores, batch) if len(scores) > batch else list(scores)
        if again:
            v += beta * innovation / pull
            q = max(mp.mpf("1e-5"), (1 - beta) * q + beta * max(mp.mpf(0), q + (excess / again) / (gaps / again)))
        if step + 1 >= warmup:
            low = mp.asin(mp.sqrt(mp.mpf(1) / (2 * g)))
            grid = [low + (end - 2 * low) * k / (targets - 1) for k in range(targets)]
            yields = []
            for at in grid:
                odds = [(kernel(i, at) * arc_yield(i)) ** (1 / temperature) for i in range(n)]
                if m >= n:
                    pi = [mp.mpf(1)] * n
                else:  # bisect the scale
                    lo, hi = mp.mpf(0), 1 / min(odds)
                    for _ in range(150):
                        mid = (lo + hi) / 2
                        if mp.fsum(min(mp.mpf(1), mid * o) for o in odds) < m:
                            lo = mid
                        else:
                            hi = mid
                    pi = [min(mp.mpf(1), lo * o) for o in odds]
                yields.append(mp.fsum(p * arc_yield(i) for i, p in enumerate(pi)) / m)
            top = max(yields)
            wanted = next(at for at, y in zip(grid, yields) if y >= top - eps)
            target += min(max(wanted - target, -delta), delta)
        out.append((trained, [v, q, target] + mu + var))
    return out


arc_tapes = ["0" * 64, "00010000" * 8, "01100100" * 8, "11110110" * 8, "11111111" * 8, "10100111" * 8]
moving_tapes = ["0000111100001111" * 2, "0100110100010111" * 2, "1111011000000001" * 2, "0110101010101100" * 2]
for g, batch, rho, eps, temperature, delta, targets, beta, warmup, arc_tapes in (
    (4, 3, "1", "0.03", "0.3", "0.05", 41, "0.1", 2, arc_tapes),
    (8, 2, "2", "0", "0.5", "0.3", 5, "0.5", 1, arc_tapes),
    (4, 4, "0", "1", "1", "0.01", 3, "0.4", 3, moving_tapes),
):
    spec = (
        f"arcus:g={g},rho={rho},eps={eps},temperature={temperature},delta={delta},targets={targets},"
        f"beta={beta},warmup={warmup}"
    )
    steps = arcus(g, batch, rho, eps, temperature, delta, targets, beta, warmup, arc_tapes, 8)
    for step_number, (trained, values) in enumerate(steps):
        case = f"{spec}|{batch}|{step_number}|{show(arc_tapes)}"
        row("arcus trained", case, whole(sorted(trained)))
        row("arcus state", case, values)

# The wanted target of a pool, and the inclusion of 6 among which 2 to 5 are drawn.


def wanted(means, variances, g, m, temperature, eps, targets):
    end = mp.pi / 2
    low = mp.asin(mp.sqrt(mp.mpf(1) / (2 * g)))
    grid = [low + (end - 2 * low) * k / (targets - 1) for k in range(targets)]
    chances = [arc_yield_quad(mu, var, g) for mu, var in zip(means, variances)]
    yields = []
    for at in grid:
        odds = [
            (arc_kernel_quad(mu, var, at) * y) ** (1 / temperature) for mu, var, y in zip(means, variances, chances)
        ]
        c = scale(odds, m)
        yields.append(mp.fsum(min(mp.mpf(1), c * o) * y for o, y in zip(odds, chances)) / m)
    top = max(yields)
    assert min(abs(y - top + eps) for y in yields) > 1e-6 or eps == 0
    return next(at for at, y in zip(grid, yields) if y >= top - eps)


def scale(odds, m):
    lo, hi = mp.mpf(0), 1 / min(odds)
    for _ in range(150):
        mid = (lo + hi) / 2
        if mp.fsum(min(mp.mpf(1), mid * o) for o in odds) < m:
            lo = mid
        else:
            hi = mid
    return lo


for odds, m in (("1 0.5 0.25 0.125 0.1 0.01", 2), ("1 0.5 0.25 0.125 0.1 0.01", 4), ("1 1 1 1 1 0.5", 5)):
    row("arcus scale", f"{odds}|{m}", [scale([mp.mpf(x) for x in odds.split()], m)])

for means, variances, g, m, temperature, eps in (
    ("0.1 0.3 0.5 0.8 1.2 1.5", "0.02 0.01 0.03 0.02 0.01 0.02", 8, 2, "0.3", "0.03"),
    ("0.1 0.3 0.5 0.8 1.2 1.5", "0.02 0.01 0.03 0.02 0.01 0.02", 8, 2, "0.3", "0.2"),
    ("0.1 0.3 0.5 0.8 1.2 1.5", "0.02 0.01 0.03 0.02 0.01 0.02", 4, 3, "0.5", "0.1"),
    ("0.05 0.15 0.25 0.3", "0.001 0.005 0.005 0.01", 16, 1, "0.3", "0.02"),
):
    mu, var = [mp.mpf(x) for x in means.split()], [mp.mpf(x) for x in variances.split()]
    at = wanted(mu, var, g, m, mp.mpf(temperature), mp.mpf(eps), 11)
    row("arcus wanted", f"arcus:g={g},temperature={temperature},eps={eps},targets=11|{m}|{means}|{variances}", [at])
