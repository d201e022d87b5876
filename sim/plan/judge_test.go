package plan

import (
	"math"
	"slices"
	"testing"

	"vigorlab/distributions"
	"vigorlab/distributions/fit"
	"vigorlab/sim/schedule"
	"vigorlab/sim/stream"
)

// TestIntervalByHand: worlds that promise from -1 to 3 in logarithms, 1 too
// much on average, lower the estimate by that and turn the interval round. A
// finite batch moves it, and its noise alone is a normal interval.
func TestIntervalByHand(t *testing.T) {
	var misses []miss
	for k := range 401 {
		misses = append(misses, miss{gain: -1 + float64(k)/100})
	}
	none := Finite{math.NaN(), math.NaN()}
	gain := func(m miss) float64 { return m.gain }
	for name, c := range map[string]struct {
		got       Interval
		low, e, h float64 // in logarithms
	}{
		"worlds": {interval(math.E, none, misses, gain, nil), 1 - 2.9, 0, 1 + 0.9},
		"batch":  {interval(math.E, Finite{math.Exp(2), 0}, misses, gain, nil), 2 - 2.9, 1, 2 + 0.9},
		"normal": {interval(math.E, Finite{1, 0.1}, nil, gain, nil), -0.196, 0, 0.196},
	} {
		for _, x := range [][2]float64{{c.got.Low, c.low}, {c.got.Estimate, c.e}, {c.got.High, c.h}} {
			if !(math.Abs(math.Log(x[0])-x[1]) < 1e-4) {
				t.Errorf("%s: %+v, want exp of %v, %v, %v", name, c.got, c.low, c.e, c.h)
			}
		}
	}
	if i := interval(2, none, nil, gain, nil); i.Estimate != 2 || !math.IsNaN(i.Low) || !math.IsNaN(i.High) {
		t.Errorf("nothing known of the error: %+v", i)
	}
	noisy := interval(math.E, Finite{math.E, math.E}, misses, gain, stream.Rand(1))
	if plain := interval(math.E, none, misses, gain, nil); !(noisy.High/noisy.Low > 1.2*plain.High/plain.Low) {
		t.Errorf("noise of the batches does not widen %+v: %+v", plain, noisy)
	}
}

// TestMissByHand: of two schedules and no change, the law of a world chooses
// its own best, whose promise is compared with what it really has, and with the
// default schedule on both sides.
func TestMissByHand(t *testing.T) {
	o := quick()
	real, world := must(distributions.NewBeta(0.3, 0.7)), must(distributions.NewParetoVariance(1.5, 0.01, 1, 0.5))
	other := planOf(t, "vigor:m0=3,rounds=3,alpha=2/9,gamma=4")
	var rows []Row
	f := newField(real, nil, searchNodes, false)
	candidates := []candidate{{group: 8, budget: 8}, {plan: schedule.Default(), budget: 8}, {plan: other, budget: 8}}
	for _, c := range candidates {
		rows = append(rows, must(f.row(c, o)))
	}
	c := choiceOf(rows, o)
	if c.standard != 1 {
		t.Fatalf("the default schedule is %d of %v, want 1", c.standard, c.candidates)
	}
	promised := make([]float64, 3)
	w := newField(world, nil, searchNodes, false)
	best := 0
	for i, x := range candidates {
		promised[i] = must(w.row(x, o)).Gain
		if promised[i] > promised[best] {
			best = i
		}
	}
	if best != 2 {
		t.Fatalf("the world chooses %d of %v: nothing to tell", best, promised)
	}
	got := must(c.miss(world, o))
	wantGain := math.Log(promised[best] / rows[best].Gain)
	wantOver := math.Log(promised[best]/promised[1]) - math.Log(rows[best].Gain/rows[1].Gain)
	if !(math.Abs(got.gain-wantGain) < 1e-12) || !(math.Abs(got.over-wantOver) < 1e-12) {
		t.Errorf("%+v, want %v and %v", got, wantGain, wantOver)
	}
	dead := must(distributions.NewPoint(0))
	if m := must(c.miss(dead, o)); !math.IsNaN(m.gain) {
		t.Errorf("a world without variance: %+v", m)
	}
}

// TestPilotSizes: four times the prompts, about half the interval; and pilots of
// one seed are the same.
func TestPilotSizes(t *testing.T) {
	r := &Result{Law: must(distributions.NewBeta(0.3, 0.7))}
	o := quick()
	o.MaxGroup, o.MaxRounds, o.Finalists = 16, 2, 2
	r.Table = finalRows(must(newSearch(t.Context(), r.Law, nil, o)), o)
	r.Best = best(r.Table)
	sizes := must(r.pilotSizes(t.Context(), choiceOf(r.Table, o), o))
	first, last := sizes[0], sizes[len(sizes)-1]
	width := func(s PilotSize) float64 { return math.Log(s.Gain.High / s.Gain.Low) }
	// 30 times the prompts: sqrt(30) = 5.5, and intervals of 40 worlds are off by half.
	if x := width(first) / width(last); !(x > 2.5 && x < 12) {
		t.Errorf("%+v is %.2f times as wide as %+v, want about 5.5", first, x, last)
	}
	r.Pilot = must(fit.NewCounts([]fit.Cell{{N: 8, S: 3, Prompts: 2}}))
	var prompts []int
	for _, s := range must(r.pilotSizes(t.Context(), choiceOf(r.Table, o), o)) {
		prompts = append(prompts, s.Prompts)
	}
	if want := []int{1, 2, 4, 8}; !slices.Equal(prompts, want) {
		t.Errorf("around a pilot of 2 prompts: %v, want %v", prompts, want)
	}
}

// TestResampleDrawsPrompts: of 10,000 prompts 100 are mixed, so that a sample has
// 100 with a standard deviation of 10. The bounds are six of them, a false alarm
// below 1e-7; samples that take every count for as likely have 5,000.
func TestResampleDrawsPrompts(t *testing.T) {
	pilot := must(fit.NewCounts([]fit.Cell{{N: 8, Prompts: 9900}, {N: 8, S: 4, Prompts: 100}}))
	drawn := must(resample(pilot)(stream.New(1).Named("resample")))
	if cells := drawn.Cells(); drawn.Prompts() != 10_000 || len(cells) != 2 || math.Abs(float64(cells[1].Prompts)-100) > 60 {
		t.Errorf("drew %v, want about 100 mixed prompts of 10,000", cells)
	}
}
