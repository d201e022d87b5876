package advantage

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"pgregory.net/rapid"
)

var estimators = []Estimator{
	GRPO{}, GRPO{DDOF: 1}, GRPO{Delta: 0.1}, GRPO{DDOF: 1, Delta: 1e-4}, DrGRPO{}, RLOO{},
}

func advantages(t interface{ Fatal(...any) }, e Estimator, rewards []float64) []float64 {
	a := make([]float64, len(rewards))
	if err := e.Advantages(a, rewards); err != nil {
		t.Fatal(err)
	}
	return a
}

// binary returns a group of n rewards, the first s of them high.
func binary(n, s int, low, high float64) []float64 {
	r := make([]float64, n)
	for i := range r {
		r[i] = low
		if i < s {
			r[i] = high
		}
	}
	return r
}

// The golden file is made by testdata/advantages.py with mpmath.
func TestGolden(t *testing.T) {
	text, err := os.ReadFile("testdata/advantages.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Cases []struct {
			Estimator struct {
				Name  string
				DDOF  int
				Delta float64
			}
			Rewards, Advantages []float64
		}
	}
	if err := json.Unmarshal(text, &golden); err != nil {
		t.Fatal(err)
	}
	if len(golden.Cases) == 0 {
		t.Fatal("no cases")
	}
	for _, c := range golden.Cases {
		byName := map[string]Estimator{
			"grpo": GRPO{c.Estimator.DDOF, c.Estimator.Delta}, "drgrpo": DrGRPO{}, "rloo": RLOO{},
		}
		e := byName[c.Estimator.Name]
		got := advantages(t, e, c.Rewards)
		// Rounding scales with the largest advantage of the group.
		tol := 1e-14 * floats.Norm(c.Advantages, math.Inf(1))
		for i, want := range c.Advantages {
			if !(math.Abs(got[i]-want) <= tol) {
				t.Errorf("%s of %v: A[%d] = %v, want %v", e.Spec(), c.Rewards, i, got[i], want)
			}
		}
	}
}

// The values are those of strategies/allocation.md, section 1, for rewards in {0, 1}.
func TestPublishedExamples(t *testing.T) {
	for _, c := range []struct {
		e           Estimator
		n, s        int
		plus, minus float64
	}{
		{GRPO{DDOF: 1}, 8, 2, 1.620185, -.540062},
		{GRPO{DDOF: 1}, 8, 1, 2.474874, -.353553},
		{DrGRPO{}, 8, 2, .75, -.25},
		{RLOO{}, 8, 2, .857143, -.285714},
	} {
		a := advantages(t, c.e, binary(c.n, c.s, 0, 1))
		if !(math.Abs(a[0]-c.plus) < 5e-7 && math.Abs(a[c.n-1]-c.minus) < 5e-7) {
			t.Errorf("%s, n=%d, k=%d: %v and %v, want %v and %v", c.e.Spec(), c.n, c.s, a[0], a[c.n-1], c.plus, c.minus)
		}
	}
}

// The closed forms of strategies/allocation.md, section 1, for rewards in {0, 1}.
func TestBinaryIdentities(t *testing.T) {
	for n := 2; n <= 64; n++ {
		for s := 1; s < n; s++ {
			g, k := float64(n), float64(s)
			spread := k * (g - k)
			for _, c := range []struct {
				e       Estimator
				abs, sq float64
			}{
				{GRPO{}, 2 * math.Sqrt(spread), g},
				{GRPO{DDOF: 1}, 2 * math.Sqrt(spread*(g-1)/g), g - 1},
				{DrGRPO{}, 2 * spread / g, spread / g},
				{RLOO{}, 2 * spread / (g - 1), g * spread / (g - 1) / (g - 1)},
			} {
				a := advantages(t, c.e, binary(n, s, 0, 1))
				if got := floats.Norm(a, 1); !(math.Abs(got-c.abs) <= 1e-13*c.abs) {
					t.Errorf("%s, n=%d, s=%d: sum|A| = %v, want %v", c.e.Spec(), n, s, got, c.abs)
				}
				if got := floats.Dot(a, a); !(math.Abs(got-c.sq) <= 1e-13*c.sq) {
					t.Errorf("%s, n=%d, s=%d: sum A^2 = %v, want %v", c.e.Spec(), n, s, got, c.sq)
				}
			}
		}
	}
}

// Groups without a comparison have no advantage, to the bit.
func TestNoComparison(t *testing.T) {
	for _, e := range append(estimators, GRPO{DDOF: 1, Delta: 1e-6}) {
		for _, rewards := range [][]float64{{1}, {-1}, {.1}, {1, 1}, {-1, -1, -1}, {.1, .1, .1}, binary(64, 64, 0, .7)} {
			for i, a := range advantages(t, e, rewards) {
				if a != 0 {
					t.Errorf("%s of %v: A[%d] = %v, want 0", e.Spec(), rewards, i, a)
				}
			}
		}
	}
}

func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := rapid.SampledFrom(estimators).Draw(t, "estimator")
		millionth := rapid.Map(rapid.IntRange(-1e6, 1e6), func(k int) float64 { return float64(k) / 1e6 })
		r := rapid.SliceOfN(millionth, 1, 64).Draw(t, "rewards")
		a := advantages(t, e, r)
		if sum, size := floats.Sum(a), floats.Norm(a, 1); !(math.Abs(sum) <= 1e-13*size) {
			t.Errorf("sum A = %v beside sum|A| = %v", sum, size)
		}
		// A permuted group has permuted advantages; dst may be rewards.
		order := rapid.Permutation(indices(len(r))).Draw(t, "order")
		inPlace := make([]float64, len(r))
		for i, j := range order {
			inPlace[i] = r[j]
		}
		if err := e.Advantages(inPlace, inPlace); err != nil {
			t.Fatal(err)
		}
		spread := floats.Max(r) - floats.Min(r)
		for i, j := range order {
			// Differences to another first reward round differently.
			if tol := 1e-12 * floats.Norm(a, 2); spread > 1e-3 && !(math.Abs(inPlace[i]-a[j]) <= tol) {
				t.Errorf("permuted A = %v, want %v", inPlace[i], a[j])
			}
		}
	})
}

func indices(n int) []int {
	x := make([]int, n)
	for i := range x {
		x[i] = i
	}
	return x
}

// Signed rewards double Dr. GRPO and RLOO, leave GRPO alone, and halve what a
// delta counts.
func TestCoding(t *testing.T) {
	for _, c := range []struct {
		signed, binary Estimator
		factor         float64
	}{
		{GRPO{}, GRPO{}, 1},
		{GRPO{DDOF: 1}, GRPO{DDOF: 1}, 1},
		{GRPO{DDOF: 1, Delta: .2}, GRPO{DDOF: 1, Delta: .1}, 1},
		{DrGRPO{}, DrGRPO{}, 2},
		{RLOO{}, RLOO{}, 2},
	} {
		for s := 1; s < 8; s++ {
			signed := advantages(t, c.signed, binary(8, s, -1, 1))
			zeroOne := advantages(t, c.binary, binary(8, s, 0, 1))
			for i := range signed {
				if want := c.factor * zeroOne[i]; !(math.Abs(signed[i]-want) <= 1e-15*8) {
					t.Errorf("%s, s=%d: A[%d] = %v signed, want %v", c.signed.Spec(), s, i, signed[i], want)
				}
			}
		}
	}
}

func TestErrors(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	two := []float64{0, 1}
	for _, c := range []struct {
		e            Estimator
		dst, rewards []float64
		want         string
	}{
		{GRPO{DDOF: 2}, two, two, "ddof = 2, want 0 or 1"},
		{GRPO{DDOF: -1}, two, two, "ddof = -1, want 0 or 1"},
		{GRPO{Delta: nan}, two, two, "delta = NaN"},
		{GRPO{Delta: inf}, two, two, "delta = +Inf"},
		{GRPO{Delta: -1e-6}, two, two, "delta = -1e-06, want a finite number >= 0"},
		{RLOO{}, nil, nil, "empty"},
		{DrGRPO{}, make([]float64, 3), two, "room for 3 advantages, want 2"},
		{DrGRPO{}, make([]float64, 2), []float64{0, nan}, "reward 1 = NaN"},
		{RLOO{}, make([]float64, 2), []float64{nan, 0}, "reward 0 = NaN"},
		{GRPO{}, make([]float64, 1), []float64{inf}, "reward 0 = +Inf"},
		{GRPO{}, make([]float64, 2), []float64{1e308, -1e308}, "finite sum"},
	} {
		err := c.e.Advantages(c.dst, c.rewards)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s of %v: error %v, want one about %q", c.e.Spec(), c.rewards, err, c.want)
		}
	}
}

func TestSpec(t *testing.T) {
	for want, e := range map[string]Estimator{
		"grpo:ddof=0,delta=0":     GRPO{},
		"grpo:ddof=1,delta=1e-06": GRPO{DDOF: 1, Delta: 1e-6},
		"drgrpo":                  DrGRPO{},
		"rloo":                    RLOO{},
	} {
		if got := e.Spec(); got != want {
			t.Errorf("spec %q, want %q", got, want)
		}
	}
}
