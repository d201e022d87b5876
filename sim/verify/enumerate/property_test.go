package enumerate

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"vigorlab/sim/schedule"
)

// batches draws two to four success probabilities, corners included.
func batches() *rapid.Generator[[]float64] {
	p := rapid.OneOf(rapid.SampledFrom([]float64{0, 0.5, 1, 0.3, 0.7}), rapid.Float64Range(0, 1))
	return rapid.SliceOfN(p, 2, 4)
}

// schedules draws schedules of at most 14 rollouts on a batch of 4.
func schedules() *rapid.Generator[schedule.Vigor] {
	return rapid.Custom(func(t *rapid.T) schedule.Vigor {
		v := small()
		v.M0 = rapid.IntRange(1, 2).Draw(t, "m0")
		v.Alpha = schedule.MustRatio(rapid.SampledFrom([]string{"1/2", "1/3", "0.25"}).Draw(t, "alpha"))
		if v.M0 == 1 {
			v.Gamma = schedule.MustRatio(rapid.SampledFrom([]string{"1", "2"}).Draw(t, "gamma"))
		}
		v.Cut = rapid.SampledFrom([]string{schedule.CutCeil, schedule.CutFloor, schedule.CutNearest}).Draw(t, "cut")
		v.Rounds = rapid.IntRange(1, 3).Draw(t, "rounds")
		v.Update = rapid.SampledFrom([]string{schedule.UpdateAll, schedule.UpdateSurvivors}).Draw(t, "update")
		v.Select = rapid.SampledFrom([]string{schedule.SelectSample, schedule.SelectTruth}).Draw(t, "select")
		return v
	})
}

func drawn(t *rapid.T, p []float64, v schedule.Vigor) *Result {
	pop, err := Prompts(p...)
	if err != nil {
		t.Fatal(err)
	}
	r, err := VigorEnumerate(pop, v, Options{Frontier: 0.75})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func same(t *rapid.T, what string, got, want *Result) {
	a, b := figures(got), figures(want)
	for name, x := range a {
		y := b[name]
		if math.IsNaN(x) && math.IsNaN(y) {
			continue
		}
		if !(math.Abs(x-y) <= exact*max(1, math.Abs(y))) {
			t.Fatalf("%s: %s = %.17g, want %.17g", what, name, x, y)
		}
	}
}

// TestInvariants: probabilities sum to 1; the order of the batch changes no
// figure where ties are random; no eta passes that of giving the largest group
// to all of u.
func TestInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, v := batches().Draw(t, "p"), schedules().Draw(t, "v")
		r := drawn(t, p, v)
		if !(math.Abs(r.Probability-1) <= exact) {
			t.Fatalf("total probability = %.17g, want 1", r.Probability)
		}
		same(t, "permuted", drawn(t, rapid.Permutation(p).Draw(t, "permuted"), v), r)
		largest := float64(r.GroupSizes[len(r.GroupSizes)-1].Size)
		if limit := largest * float64(len(p)) / r.Trained; r.Eta > limit*(1+exact) {
			t.Fatalf("eta = %v, want at most %v", r.Eta, limit)
		}
	})
}

// TestReflection: exchanging success and failure changes no figure. It takes
// probabilities whose complement is exact, so that ties of the truth and the
// frontier stay where they are.
func TestReflection(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SliceOfN(rapid.Map(rapid.IntRange(0, 64), func(k int) float64 { return float64(k) / 64 }), 2, 4).Draw(t, "p")
		v := schedules().Draw(t, "v")
		v.Ties = rapid.SampledFrom([]string{schedule.TiesRandom, schedule.TiesIndex}).Draw(t, "ties")
		mirrored := make([]float64, len(p))
		for x := range p {
			mirrored[x] = 1 - p[x]
		}
		same(t, "reflected", drawn(t, mirrored, v), drawn(t, p, v))
	})
}

// TestControls: selection by nothing has eta exactly 1, selection by the truth
// is at least as good as by samples, and fixed groups are VIGOR of one round.
func TestControls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, v := batches().Draw(t, "p"), schedules().Draw(t, "v")
		v.Select = schedule.SelectRandom
		random := drawn(t, p, v)
		if random.MeanU > 0 && !(math.Abs(random.Eta-1) <= exact) {
			t.Fatalf("select=random: eta = %.17g, want 1", random.Eta)
		}
		v.Select = schedule.SelectSample
		sample := drawn(t, p, v)
		v.Select = schedule.SelectTruth
		truth := drawn(t, p, v)
		if truth.MeanU > 0 && !(truth.Eta >= sample.Eta-exact && truth.Eta >= 1-exact) {
			t.Fatalf("select=truth: eta = %.17g, below select=sample: %.17g or 1", truth.Eta, sample.Eta)
		}
		v.Rounds = 1
		pop, err := Prompts(p...)
		if err != nil {
			t.Fatal(err)
		}
		fixed, err := FixedEnumerate(pop, v.M0, Options{Frontier: 0.75})
		if err != nil {
			t.Fatal(err)
		}
		same(t, "one round", drawn(t, p, v), fixed)
	})
}

// TestFreshGroups: redrawing leaves the allocation as it is and doubles what is
// generated where every group is used.
func TestFreshGroups(t *testing.T) {
	v := small()
	pop := prompts(t, 0.2, 0.6, 1)
	reused := enumerated(t, pop, v, 0.75)
	v.Reuse = false
	fresh := enumerated(t, pop, v, 0.75)
	nearVectors(t, fresh.SizeVectors, reused.SizeVectors)
	near(t, "eta", fresh.Eta, reused.Eta)
	near(t, "generated", fresh.Generated, 2*reused.Generated)
	near(t, "eta generated", fresh.EtaGenerated, reused.Eta/2)
	near(t, "false negative", fresh.Screening[0].FalseNegative, reused.Screening[0].FalseNegative)
}

// TestPointLaw: a law of one atom is a batch of equal prompts; splitting the
// atom changes nothing.
func TestPointLaw(t *testing.T) {
	whole, err := Draws(3, Atom{0.3, 1})
	if err != nil {
		t.Fatal(err)
	}
	split, err := Draws(3, Atom{0.3, 0.25}, Atom{0.9, 0}, Atom{0.3, 0.75})
	if err != nil {
		t.Fatal(err)
	}
	want := figures(enumerated(t, prompts(t, 0.3, 0.3, 0.3), small(), 0.75))
	for _, pop := range []Population{whole, split} {
		for name, x := range figures(enumerated(t, pop, small(), 0.75)) {
			near(t, name, x, want[name])
		}
	}
}

// TestWholeNumbers compares the counts, worked out here by search, with those
// of sim/schedule: the one place where the two meet.
func TestWholeNumbers(t *testing.T) {
	for batch := 1; batch <= MaxBatch; batch++ {
		for _, alpha := range []string{"0.5", "1/3", "0.25", "0.07", "0.7", "3/8", "0.625", "0.999", "1e-9"} {
			for _, cut := range []string{schedule.CutCeil, schedule.CutFloor, schedule.CutNearest} {
				for _, gamma := range []string{"1", "2", "1/2", "3/2", "4"} {
					v := small()
					v.M0, v.Rounds, v.Cut = 8, 4, cut
					v.Alpha, v.Gamma = schedule.MustRatio(alpha), schedule.MustRatio(gamma)
					compareCounts(t, v, batch)
				}
			}
		}
	}
}

func compareCounts(t *testing.T, v schedule.Vigor, batch int) {
	t.Helper()
	if got, want := kept(v, batch), v.Active(batch); !slices.Equal(got, want) {
		t.Errorf("%+v on %d: active %v, want %v", v, batch, got, want)
	}
	want, err := v.Rollouts()
	if err != nil {
		t.Fatal(err)
	}
	got, err := asked(v)
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%+v: rollouts %v, want %v", v, got, want)
	}
}

// TestWhole rounds by hand: 0.07*100 is 7 and not a little more.
func TestWhole(t *testing.T) {
	for _, c := range []struct {
		x                    *big.Rat
		ceil, floor, nearest int
	}{
		{big.NewRat(7, 1), 7, 7, 7},
		{big.NewRat(5, 2), 3, 2, 3},
		{big.NewRat(3, 2), 2, 1, 2},
		{big.NewRat(7, 3), 3, 2, 2},
		{big.NewRat(1, 9), 1, 0, 0},
		{big.NewRat(0, 1), 0, 0, 0},
	} {
		for cut, want := range map[string]int{schedule.CutCeil: c.ceil, schedule.CutFloor: c.floor, schedule.CutNearest: c.nearest} {
			if got := whole(c.x, cut); got != want {
				t.Errorf("%s of %v = %d, want %d", cut, c.x, got, want)
			}
		}
	}
}

// TestSum adds terms that plain addition loses.
func TestSum(t *testing.T) {
	var s sum
	s.add(1)
	for range 1 << 20 {
		s.add(0x1p-54)
	}
	s.add(0x1p60)
	s.add(-0x1p60)
	if got, want := s.value(), 1+0x1p-34; got != want {
		t.Errorf("sum = %.17g, want %.17g", got, want)
	}
}
