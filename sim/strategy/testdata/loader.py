"""Reference values of dapo_test.go and pilotcommit_test.go.

    python3 loader.py > loader.csv

Everything is summed or integrated from definitions with mpmath 1.3.0 at 40 digits; nothing is shared with the Go code.
"""

import mpmath as mp

mp.mp.dps = 40


def pmf(n, k, p):
    return mp.binomial(n, k) * p**k * (1 - p) ** (n - k)


def below(n, k, p):
    """P(Bin(n, p) < k)."""
    return mp.mpf(1) if n < k else mp.betainc(n - k + 1, k, 0, 1 - p, regularized=True)


def dapo_batches(batch, gen, s):
    if batch == 1:  # geometric
        return 1 / (1 - (1 - s) ** gen)
    total, k = mp.mpf(0), 0
    while (term := below(k * gen, batch, s)) > mp.mpf(10) ** -25:
        total, k = total + term, k + 1
    return total


def zero_variance(n, a, b):
    return (mp.beta(a + n, b) + mp.beta(a, b + n)) / mp.beta(a, b)


def pilot_pass(p, n):
    """P(n/8 <= Bin(n, p) <= 3n/4)."""
    return mp.fsum(pmf(n, k, p) for k in range(n + 1) if 8 * k >= n and 4 * k <= 3 * n)


def row(quantity, x, y, z, value):
    print(",".join([quantity, x, y, z, mp.nstr(value, 17)]))


print("quantity,x,y,z,value")
for batch, gen, s in [
    (128, 384, "7/9"), (128, 384, "0.2"), (128, 128, "7/9"), (1, 1, "0.25"),
    (2, 3, "0.1"), (8, 24, "0.05"), (1, 3, "1e-5"), (1, 3, "1e-6"), (7, 3, "1"),
]:
    exact = mp.mpf(7) / 9 if s == "7/9" else mp.mpf(s)
    row("batches", str(batch), str(gen), s, dapo_batches(batch, gen, exact))
for n in [4, 8, 16, 32, 64]:
    row("effective", str(n), "", "0.1", 1 - mp.mpf("0.1") ** n - mp.mpf("0.9") ** n)
for a, b in [("1", "1"), ("0.5", "0.5"), ("2", "2"), ("0.3", "0.7")]:
    row("zero variance", "8", a, b, zero_variance(8, mp.mpf(a), mp.mpf(b)))
for n, ps in [(16, ["0.05", "0.1", "0.25", "0.5", "0.75", "0.9"]), (8, ["0.5", "0.75"])]:
    for p in ps:
        row("pilot pass", str(n), "", p, pilot_pass(mp.mpf(p), n))
