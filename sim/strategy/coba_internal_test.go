package strategy

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func newCoba(t testing.TB, text string) *Coba {
	t.Helper()
	s, err := Parse(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s.(*Coba)
}

// setRates makes c believe in the rates, in whole percent; -1 is unknown.
func (c *Coba) setRates(rates []float64) (ids []int) {
	c.Begin(len(rates))
	for id, p := range rates {
		ids = append(ids, id)
		if p >= 0 {
			c.visits[id] = []cobaVisit{{100, int(math.Round(100 * p))}}
		}
	}
	return ids
}

// TestCobaAllocation: values by hand where the comment shows them, the others
// from a separate Python program written after the released allocator.
func TestCobaAllocation(t *testing.T) {
	for _, c := range []struct {
		spec  string
		alpha float64
		rates []float64
		want  []int
	}{
		// left 40 among equal weights: 10, int(30/4) = 7, int(23/4) = 5, int(18/4)
		// = 4; then 14 evenly: 4 4 3 3.
		{"coba:n=12,up=64", 3, []float64{0, 0, 0, 0}, []int{16, 13, 10, 9}},
		{"coba:n=12,up=64", 3, []float64{1, 1, 1, 1}, []int{16, 13, 10, 9}},
		{"coba:n=12,up=64,rest=uniform", 3, []float64{0, 0, 0}, []int{12, 12, 12}},
		// left 58: 29, 14, then 15: one fits the first, 7 the second; 7 are lost.
		{"coba:n=31", 3, []float64{0, 0}, []int{32, 23}},
		// left 84, 0.8 of it, 67, for the middle; 17 for the hard: int(17/1.96) = 8,
		// int(9 * .96/1.96) = 4, and of 5 one 3, one 2.
		{"coba", CobaAlpha(.577, 7), []float64{0, .04, .3, .5, .7, 1}, []int{13, 8, 15, 29, 29, 2}},
		{"coba", CobaAlpha(.2, 7), []float64{0, .04, .3, .5, .7, 1}, []int{13, 8, 32, 32, 9, 2}},
		{"coba", CobaAlpha(.42, 7), []float64{.3, .5, .7, .9, .5}, []int{32, 21, 4, 3, 20}},
		// left 70, 56 of it 14 each for the middle; 14 for the hard one.
		{"coba:up=18", CobaAlpha(.42, 7), []float64{0, .5, .5, .5, .5}, []int{16, 16, 16, 16, 16}},
		{"coba", 3, []float64{-1, -1}, []int{16, 16}},
		// The unknown counts as .5: greedy alternates, 0.8 of 28 is 22; int(6*.5) = 3,
		// int(3*.5) = 1, then one each.
		{"coba", 3.5, []float64{-1, .5}, []int{17, 15}},
	} {
		s := newCoba(t, c.spec)
		ids := s.setRates(c.rates)
		s.alpha = c.alpha
		s.allocate(ids)
		if !slices.Equal(s.asked, c.want) {
			t.Errorf("%s on %v: %v, want %v", c.spec, c.rates, s.asked, c.want)
		}
	}
}

// TestCobaBudget: no batch spends more than n a prompt, nobody is below low or
// above up, and where up cannot bind the budget is spent to the last rollout.
func TestCobaBudget(t *testing.T) {
	r := rand.New(rand.NewPCG(20260101, 4))
	for _, text := range []string{"coba", "coba:n=31", "coba:n=8,low=3,up=9", "coba:up=10000", "coba:up=10000,rest=uniform"} {
		s := newCoba(t, text)
		for range 2000 {
			rates := make([]float64, 1+r.IntN(20))
			for i := range rates {
				rates[i] = []float64{-1, 0, 0.02, r.Float64(), r.Float64(), 1}[r.IntN(6)]
			}
			ids := s.setRates(rates)
			s.alpha = CobaAlpha(r.Float64(), s.sum)
			s.allocate(ids)
			spent := 0
			for _, n := range s.asked {
				spent += n
				if n < s.low || n > s.up {
					t.Fatalf("%s on %v: a group of %d", text, rates, n)
				}
			}
			if budget := s.n * len(ids); spent > budget || spent < budget && s.up == 10_000 {
				t.Fatalf("%s on %v: spent %d of %d", text, rates, spent, budget)
			}
		}
	}
}

// TestCobaFormulas: the sigmoid leaves 1/2 alone and pulls smaller failure
// rates down; the value against its definition at p = .3, and its gain.
func TestCobaFormulas(t *testing.T) {
	for _, c := range []struct{ failure, want float64 }{
		{1, 6},
		{0.8, 5},
		{0.5, 3.5},
		{0.42, 1 + 5/(1+math.Exp(0.8))},
		{0, 1 + 5/(1+math.Exp(5))},
	} {
		if got := CobaAlpha(c.failure, 7); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("failure rate %v: alpha %v, want %v", c.failure, got, c.want)
		}
	}
	// Beta(3, 4): density 60 p^2 (1-p)^3 = 60 * .09 * .343 = 1.8522 at .3.
	want := (1 - math.Exp(-5*.21/3)) * 1.8522
	if got := CobaValue(.3, 5, 3, 3, 4); math.Abs(got-want) > 1e-12 {
		t.Errorf("value %v, want %v", got, want)
	}
	// tau: rates .2 and .8 vary by .09, so 3 + 9 * .09/.1667 = 7.8590.
	s := newCoba(t, "coba")
	s.alpha = 3
	s.allocate(s.setRates([]float64{.2, .8}))
	if got, want := s.scale[0], .16/(3+9*.09/.1667); math.Abs(got-want) > 1e-12 {
		t.Errorf("p(1-p)/tau = %v, want %v", got, want)
	}
}

// TestCobaOptimal: the middle's share is spent as well as any composition does.
func TestCobaOptimal(t *testing.T) {
	r := rand.New(rand.NewPCG(20260101, 5))
	for range 30 {
		s := newCoba(t, "coba:n=5,low=1,up=8")
		rates := []float64{.05 + .9*r.Float64(), .05 + .9*r.Float64(), .05 + .9*r.Float64()}
		ids := s.setRates(rates)
		s.alpha = CobaAlpha(r.Float64(), 7)
		s.allocate(ids)
		variance := 0.0
		for i, id := range ids {
			rates[i], _ = s.Belief(id)
			variance += rates[i] * rates[i] / 3
		}
		mean := (rates[0] + rates[1] + rates[2]) / 3
		tau := 3 + 9*min(1, (variance-mean*mean)/.1667)
		total := func(n []int) float64 {
			sum := 0.0
			for i, n := range n {
				if n > 8 {
					return 0
				}
				sum += CobaValue(rates[i], n, tau, s.alpha, 7-s.alpha)
			}
			return sum
		}
		best, n := 0.0, make([]int, 3)
		compositions(n, 1, 9, func() { best = max(best, total(n)) }) // int(.8 * 12)
		if got := total(s.alloc); math.Abs(got-best) > 1e-12 {
			t.Errorf("rates %v: %v has %v, best %v", rates, s.alloc, got, best)
		}
	}
}

// BenchmarkSelectCoba allocates for 1,024 prompts with rates.
func BenchmarkSelectCoba(b *testing.B) {
	const batch = 1024
	rates := make([]float64, batch)
	for i := range rates {
		rates[i] = float64(i%21) / 20
	}
	s := newCoba(b, "coba")
	ids := s.setRates(rates)
	s.alpha = 3
	b.ReportAllocs()
	for b.Loop() {
		s.allocate(ids)
	}
}
