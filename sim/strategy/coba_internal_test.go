package strategy

import (
	"encoding/csv"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func newCoba(t testing.TB, text string) *CoBA {
	t.Helper()
	s, err := Parse(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s.(*CoBA)
}

// setRates makes c believe in the rates, in whole percent; -1 is unknown.
func (c *CoBA) setRates(rates []float64) (ids []int) {
	c.Begin(len(rates))
	for id, p := range rates {
		ids = append(ids, id)
		if p >= 0 {
			c.visits[id] = []cobaVisit{{100, int(math.Round(100 * p))}}
		}
	}
	return ids
}

// TestCobaAllocation reads its cases from testdata/coba.csv, made by coba.py
// there after the rule; -1 is a prompt without visits. By hand:
//
//	1, 2: left 40 among equal weights: 10, int(30/4) = 7, int(23/4) = 5,
//	  int(18/4) = 4; then 14 evenly: 4 4 3 3.
//	4: left 58: 29, 14, then 15: one fits the first, 7 the second; 7 are lost.
//	5, 6: left 84, 0.8 of it, 67, for the middle; 17 for the hard:
//	  int(17/1.96) = 8, int(9 * .96/1.96) = 4, and of 5 one 3, one 2.
//	8: left 70, 56 of it 14 each for the middle; 14 for the hard one.
//	10: the unknown counts as .5: greedy alternates, 0.8 of 28 is 22;
//	  int(6*.5) = 3, int(3*.5) = 1, then one each.
func TestCobaAllocation(t *testing.T) {
	f, err := os.Open("testdata/coba.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() // only read
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	numbers := func(text string) (list []float64) {
		for _, field := range strings.Fields(text) {
			x, err := strconv.ParseFloat(field, 64)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, x)
		}
		return list
	}
	for _, row := range rows[1:] {
		s := newCoba(t, row[0])
		ids := s.setRates(numbers(row[2]))
		s.alpha = numbers(row[1])[0]
		s.allocate(ids)
		var got []float64
		for _, n := range s.asked {
			got = append(got, float64(n))
		}
		if !slices.Equal(got, numbers(row[3])) {
			t.Errorf("%s on %s: %v, want %s", row[0], row[2], got, row[3])
		}
	}
	if len(rows) != 13 {
		t.Errorf("%d rows, want 13", len(rows))
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
