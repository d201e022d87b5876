package trial

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"vigorlab/distributions/spec"
	"vigorlab/sim/advantage"
	"vigorlab/sim/strategy"
	"vigorlab/sim/stream"
	"vigorlab/sim/train"
)

const population = "beta:a=2,b=3"

func arm(text string) Arm {
	return Arm{
		Strategy:  func() (strategy.Strategy, error) { return strategy.Parse(text, nil) },
		Objective: train.DefaultObjective(), Optimizer: "sgd",
	}
}

// policies makes policies of a spec.
func policies(t testing.TB, text, population string, prompts int) func(stream.Key) (train.Policy, error) {
	t.Helper()
	p, err := spec.ParsePopulation(population, nil)
	if err != nil {
		t.Fatal(err)
	}
	return func(key stream.Key) (train.Policy, error) { return train.NewPolicy(text, p.Law, prompts, key) }
}

// small is a trial of a few hundred short runs.
func small(t testing.TB, arms ...string) Config {
	cfg := DefaultConfig()
	cfg.Train.Batch, cfg.Train.Target, cfg.Train.MaxRollouts, cfg.Train.Population = 8, 0.8, 20_000, population
	cfg.NewPolicy = policies(t, "logit", population, 32)
	cfg.Rates, cfg.ChooseSeeds, cfg.Seeds, cfg.Levels, cfg.Resamples = []float64{2, 4, 8}, 3, 5, []float64{0.7, 0.5}, 200
	for _, a := range arms {
		cfg.Arms = append(cfg.Arms, arm(a))
	}
	return cfg
}

func run(t testing.TB, cfg Config) *Result {
	t.Helper()
	r, err := Run(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// recorded runs a trial and returns its records after a round trip through JSON.
func recorded(t testing.TB, cfg Config) (*Result, []Record) {
	t.Helper()
	var records []Record
	cfg.Save = func(r *Record) error {
		text, err := json.Marshal(r)
		if err != nil {
			return err
		}
		var back Record
		if err := json.Unmarshal(text, &back); err != nil {
			return err
		}
		if !reflect.DeepEqual(*r, back) {
			t.Errorf("%+v comes back as %+v", *r, back)
		}
		records = append(records, back)
		return nil
	}
	return run(t, cfg), records
}

// TestResumeWorkers: from any prefix of its journal, on any number of workers, a
// trial goes on to the same records and to the same result.
func TestResumeWorkers(t *testing.T) {
	cfg := small(t, "fixed:g=8", "vigor")
	cfg.NewPolicy = policies(t, "linear:overlap=0.3,heldout=8", population, 32)
	want, records := recorded(t, cfg)
	if own, other := want.Arms[0].Own.Levels[2].Rollouts.Ratio, want.Arms[1].Own.Levels[2].Rollouts.Ratio; *own.Estimate != 1 || *other.Estimate == 1 {
		t.Errorf("the reference over itself: %v, over another arm: %v", *own.Estimate, *other.Estimate)
	}
	for k := 0; k <= len(records); k++ {
		cfg.Done, cfg.Workers = records[:k], 1+k%3
		got, rest := recorded(t, cfg)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("after %d of %d records, %d workers: another result", k, len(records), cfg.Workers)
		}
		if !reflect.DeepEqual(slices.Concat(cfg.Done, rest), records) {
			t.Errorf("after %d of %d records, %d workers: other records", k, len(records), cfg.Workers)
		}
	}
	for name, done := range map[string][]Record{
		"reordered":     {records[1], records[0]},
		"one too many":  append(slices.Clone(records), records[0]),
		"another trial": {{Job: records[0].Job}},
	} {
		cfg.Done = done
		if _, err := Run(context.Background(), cfg); err == nil || !strings.Contains(err.Error(), "trial") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestOrder: records come by phase, arm, rate and seed. The reference reports at
// the common rate alone, the others at their own too.
func TestOrder(t *testing.T) {
	cfg := slowed(t)
	cfg.Rates, cfg.ChooseSeeds, cfg.Seeds = cfg.Rates[1:], 2, 2
	r, records := recorded(t, cfg)
	if r.Arms[1].Best == r.Common {
		t.Fatal("both arms have one best rate")
	}
	var want []Job
	for arm := range 2 {
		for rate := range 2 {
			for seed := range 2 {
				want = append(want, Job{PhaseChoose, arm, rate, seed})
			}
		}
	}
	for arm := range 2 {
		rates := []int{r.Common}
		if own := r.Arms[arm].Best; own != r.Common {
			rates = append(rates, own)
		}
		for _, rate := range rates {
			want = append(want, Job{PhaseReport, arm, rate, 0}, Job{PhaseReport, arm, rate, 1})
		}
	}
	for i, w := range want {
		if i >= len(records) || records[i].Job != w {
			t.Fatalf("record %d of %d is not of %+v", i, len(records), w)
		}
	}
	if len(records) != len(want) {
		t.Errorf("%d records, want %d", len(records), len(want))
	}
}

// slowed returns a trial of two arms, the second with steps 10^5 times as small. A
// rate of 10^5 takes the reference's logits so far that p = 1, and no larger one
// takes them further: it is the reference's best, and the second arm's is 10^10,
// where it does the same.
func slowed(t testing.TB) Config {
	cfg := small(t, "fixed:g=8", "fixed:g=8")
	cfg.Arms[0].Objective.Estimator = scaled{1}
	cfg.Arms[1].Objective.Estimator = scaled{1e-5}
	cfg.Rates, cfg.Seeds = []float64{1, 1e5, 1e10}, 6 // the fewest that have intervals
	return cfg
}

// TestOwnRate: every arm reports at the reference's best rate and at its own, each
// beside the reference at its best.
func TestOwnRate(t *testing.T) {
	r := run(t, slowed(t))
	a, b := r.Arms[0], r.Arms[1]
	if r.Common != 1 || a.Best != 1 || a.Edge != "" || a.Own != a.Common || a.Own.Rate != 1e5 {
		t.Errorf("common rate %d, the reference %+v", r.Common, a)
	}
	if b.Best != 2 || b.Edge != "highest" || b.Common.Rate != 1e5 || b.Own.Rate != 1e10 {
		t.Errorf("the slowed arm: %+v", b)
	}
	for _, report := range []*Report{a.Own, b.Own} {
		if one := report.Levels[2].Rollouts.Ratio; one.Estimate == nil || *one.Estimate != 1 || *one.Low != 1 || *one.High != 1 || one.Statistic != StatisticMean {
			t.Errorf("the reference over the same: %+v", one)
		}
	}
	slow := b.Common.Levels[2].Rollouts.Ratio
	if slow.Estimate != nil || slow.Low != nil || !(slow.High != nil && *slow.High < 0.1) || !strings.Contains(slow.Reason, "by the arm in 6; the median is at most 0.") {
		t.Errorf("the slowed arm at the common rate: %+v", slow)
	}
}

// scaled is Dr. GRPO with advantages times a number.
type scaled struct{ by float64 }

func (scaled) Spec() string { return "scaled" }

func (s scaled) Advantages(dst, rewards []float64) error {
	if err := (advantage.DrGRPO{}).Advantages(dst, rewards); err != nil {
		return err
	}
	for i := range dst {
		dst[i] *= s.by
	}
	return nil
}

// TestSeedsApart: the seeds that report are not those that chose, while all arms
// and rates of a phase start alike, seed by seed.
func TestSeedsApart(t *testing.T) {
	cfg := small(t, "fixed:g=8", "vigor")
	cfg.Workers = 1
	var keys []stream.Key
	newPolicy := cfg.NewPolicy
	cfg.NewPolicy = func(key stream.Key) (train.Policy, error) {
		keys = append(keys, key)
		return newPolicy(key)
	}
	_, records := recorded(t, cfg)
	if len(keys) != len(records) {
		t.Fatalf("%d policies, %d records", len(keys), len(records))
	}
	type seed struct {
		phase string
		seed  int
	}
	byKey, bySeed := map[stream.Key]seed{}, map[seed]stream.Key{}
	for i, r := range records {
		s := seed{r.Phase, r.Seed}
		if other, ok := byKey[keys[i]]; ok && other != s {
			t.Errorf("%+v and %+v start from one seed", s, other)
		}
		if other, ok := bySeed[s]; ok && other != keys[i] {
			t.Errorf("%+v starts from two seeds", s)
		}
		byKey[keys[i]], bySeed[s] = s, keys[i]
	}
	if len(byKey) != cfg.ChooseSeeds+cfg.Seeds {
		t.Errorf("%d starts, want %d", len(byKey), cfg.ChooseSeeds+cfg.Seeds)
	}
}

// TestRecordsAreRuns: a record says what train.Run does: levels at the first step
// on them, probes at the first step of every quarter, and the end.
func TestRecordsAreRuns(t *testing.T) {
	for _, c := range []struct {
		policy  string
		heldOut bool
	}{{"sequence:tokens=3,branching=2,correct=2", false}, {"linear:heldout=8,overlap=0.5", true}} {
		cfg := small(t, "fixed:g=8")
		cfg.Rates, cfg.Seeds, cfg.Train.HeldOut = []float64{4}, 2, c.heldOut
		cfg.NewPolicy = policies(t, c.policy, population, 32)
		r, records := recorded(t, cfg)
		for i := range records {
			checkRecord(t, &cfg, &records[i])
		}
		for i, l := range r.Arms[0].Own.Levels {
			if l.Level != r.Levels[i] || l.Reached != 2 || (l.Tokens == nil) != c.heldOut || l.Cost != nil || r.Arms[0].Grid != nil || r.ChooseSeeds != 0 {
				t.Errorf("%+v", l)
			}
		}
	}
}

// checkRecord runs the first arm again at the rate 4.
func checkRecord(t *testing.T, cfg *Config, record *Record) {
	t.Helper()
	c := cfg.Train
	c.Seed, c.Objective, c.Optimizer = (&trial{cfg: cfg}).seed(record.Job), cfg.Arms[0].Objective, "sgd:lr=4"
	first, quarter := make([]*Spent, 3), make([]*train.Probe, 0, quarters)
	start := math.NaN()
	var prober *train.Prober
	c.Step = func(p train.Point) {
		success := p.Success
		if c.HeldOut {
			success = p.HeldOut
		}
		if p.Step == 0 {
			start = success
		}
		for i, level := range []float64{0.5, 0.7, 0.8} {
			if first[i] == nil && success >= level {
				first[i] = &Spent{p.Step, p.Ledger.Generated, p.Ledger.GeneratedTokens, p.Cost}
			}
		}
		for k := len(quarter); k < quarters && success >= start+float64(k)/4*(0.8-start); k++ {
			probe, err := prober.Probe(context.Background(), k, p)
			if err != nil {
				t.Fatal(err)
			}
			quarter = append(quarter, probe)
		}
	}
	p, err := cfg.NewPolicy(c.StartKey())
	if err != nil {
		t.Fatal(err)
	}
	s, err := cfg.Arms[0].Strategy()
	if err != nil {
		t.Fatal(err)
	}
	if prober, err = train.NewProber(c, p, cfg.Arms[0].Strategy); err != nil {
		t.Fatal(err)
	}
	end, err := train.Run(context.Background(), c, p, s)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(record.Levels, first) || !end.Reached || record.End != *first[2] || record.Success != end.Last.Success {
		t.Errorf("%+v, want levels %+v", record, first)
	}
	if last := record.Curve[len(record.Curve)-1]; last.Step != end.Last.Step || last.Ledger != end.Last.Ledger {
		t.Errorf("the curve ends at %+v, the run at %+v", last, end.Last)
	}
	if !reflect.DeepEqual(record.Probes, quarter) {
		t.Errorf("probes %+v, want %+v", record.Probes, quarter)
	}
}

// TestDivergence: with one rate a run that diverges ends the trial. In a grid it is
// data: its rate is chosen only where no other is left, and its runs never reach
// the target.
func TestDivergence(t *testing.T) {
	cfg := small(t, "fixed:g=8")
	cfg.Arms[0].Optimizer, cfg.Arms[0].Objective.Epochs = "momentum:beta=0.99", 500
	cfg.Train.Target, cfg.Train.MaxRollouts, cfg.Levels = 1, 2000, nil
	const wild = 1e308
	cfg.Rates = []float64{wild}
	var d *train.DivergenceError
	if _, err := Run(context.Background(), cfg); !errors.As(err, &d) || !strings.Contains(err.Error(), "arm 1, seed 1: step ") {
		t.Errorf("error %v, want a divergence", err)
	}
	cfg.Rates = []float64{1e-3, wild}
	r, _ := recorded(t, cfg)
	if a := r.Arms[0]; a.Best != 0 || len(a.Grid[0].Diverged) != 0 || len(a.Grid[1].Diverged) != cfg.ChooseSeeds || a.Grid[1].Diverged[0].Step < 1 {
		t.Errorf("%+v", a)
	}
	cfg.Rates = []float64{wild / 2, wild}
	r, _ = recorded(t, cfg)
	l := r.Arms[0].Own.Levels[0]
	if a := r.Arms[0]; len(a.Own.Diverged) != cfg.Seeds || l.Reached != 0 || l.Rollouts.Median.Estimate != nil || !strings.HasPrefix(l.Rollouts.Median.Reason, "never reached 1 in 5 of 5 runs") {
		t.Errorf("%+v, %+v", a, l)
	}
}

// TestOneSeed: a single seed has estimates, no intervals, and says so.
func TestOneSeed(t *testing.T) {
	cfg := small(t, "fixed:g=8", "vigor")
	cfg.Seeds, cfg.ChooseSeeds = 1, 1
	r := run(t, cfg)
	for _, a := range r.Arms {
		for _, l := range a.Own.Levels {
			for _, f := range []Figure{l.Rollouts.Median, l.Rollouts.Ratio.Figure} {
				if f.Estimate == nil || f.Low != nil || f.High != nil || f.Reason == "" {
					t.Errorf("%+v", f)
				}
			}
		}
		for _, p := range a.Own.Probes {
			if p.SNR.Reason == "" || p.Bias.Reason == "" {
				t.Errorf("%+v", p)
			}
		}
	}
}

// TestNeverReached: where rollouts run out, the answer is that the target was
// never reached, and levels below it still have theirs.
func TestNeverReached(t *testing.T) {
	cfg := small(t, "fixed:g=8", "vigor")
	cfg.Train.MaxRollouts, cfg.Train.Target, cfg.Levels = 600, 0.999, []float64{0.45}
	r := run(t, cfg)
	for _, a := range r.Arms {
		low, target := a.Own.Levels[0], a.Own.Levels[1]
		if low.Reached == 0 || low.Rollouts.Median.Estimate == nil {
			t.Errorf("%+v", low)
		}
		if target.Reached != 0 || target.Rollouts.Ratio.Estimate != nil || !strings.HasPrefix(target.Rollouts.Ratio.Reason, "never reached") {
			t.Errorf("%+v", target)
		}
	}
}

// TestOutOfSteps: two runs that ran out of steps, with few rollouts spent, do not
// leave the median to the one that went on.
func TestOutOfSteps(t *testing.T) {
	cfg := small(t, "fixed:g=8")
	cfg.Train.MaxRollouts = 100
	tr := &trial{cfg: &cfg, levels: []float64{0.8}}
	reached := Record{Levels: []*Spent{{Rollouts: 50}}, End: Spent{Rollouts: 50}}
	for _, spent := range []int{0, 8, 64} {
		stalled := Record{Levels: []*Spent{nil}, End: Spent{Rollouts: spent}}
		f := tr.median([]Record{stalled, reached, stalled}, 0, rollouts)
		if f.Estimate != nil || f.Reason != "never reached 0.8 in 2 of 3 runs" {
			t.Errorf("%d spent: median %v, %q", spent, orInf(f.Estimate), f.Reason)
		}
	}
}

// TestBetter: one row a rule of the choice, in their order.
func TestBetter(t *testing.T) {
	median := func(x float64) Figure { return Figure{Estimate: &x} }
	for i, c := range []struct {
		a, b RateResult
		want bool
	}{
		{RateResult{Median: median(2)}, RateResult{Median: median(1), Diverged: make([]Diverged, 1)}, true},
		{RateResult{Median: median(1), Diverged: make([]Diverged, 1)}, RateResult{}, false},
		{RateResult{Median: median(1)}, RateResult{Median: median(2), Reached: 8, Success: 1}, true},
		{RateResult{Median: median(2)}, RateResult{}, true},
		{RateResult{Reached: 3}, RateResult{Reached: 2, Success: 1}, true},
		{RateResult{Success: 0.6}, RateResult{Success: 0.5}, true},
		{RateResult{Success: 0.5}, RateResult{Success: 0.5}, false}, // the smaller rate
	} {
		if got := better(&c.a, &c.b); got != c.want {
			t.Errorf("row %d: %v", i, got)
		}
	}
}

// A twin has the law of its strategy under another name, and so other streams.
type twin struct{ strategy.Strategy }

func (twin) Spec() string { return "twin" }

// TestTwins: an arm and its twin, which breaks ties by other lots, are told apart
// in no more trials than twice the level. The interval of 8 pairs leaves out 1 in
// 6 % of them (see TestCompareCoverage); 23 of 120 are passed with probability 1e-6,
// and a rate of 40 % is missed with probability 1e-6.
func TestTwins(t *testing.T) {
	cfg := small(t, "vigor", "vigor")
	cfg.Arms[1].Strategy = func() (strategy.Strategy, error) {
		s, err := strategy.Parse("vigor", nil)
		return twin{s}, err
	}
	cfg.Rates, cfg.Seeds, cfg.Probes, cfg.Resamples = []float64{8}, 8, false, 500
	told, equal := 0, 0
	for seed := range uint64(120) {
		cfg.Train.Seed = seed
		r := run(t, cfg).Arms[1].Own.Levels[2].Rollouts.Ratio
		if r.Estimate == nil {
			t.Fatal(r.Reason)
		}
		if !(*r.Low <= 1 && *r.High >= 1) {
			told++
		}
		if *r.Estimate == 1 {
			equal++
		}
	}
	if told > 23 || equal > 60 {
		t.Errorf("%d of 120 trials tell twins apart, %d find them the same to the bit", told, equal)
	}
	t.Logf("%d of 120 told apart, %d the same", told, equal)
}

// TestStops: an error of Save and the end of a context stop a trial.
func TestStops(t *testing.T) {
	cfg := small(t, "fixed:g=8")
	full := errors.New("the disk is full")
	saved := 0
	cfg.Save = func(*Record) error {
		if saved++; saved == 3 {
			return full
		}
		return nil
	}
	if _, err := Run(context.Background(), cfg); !errors.Is(err, full) || saved != 3 {
		t.Errorf("error %v after %d records", err, saved)
	}
	cfg.Save = nil
	ctx, stop := context.WithCancel(context.Background())
	cfg.Progress = func(phase string, done, total int) {
		if phase != PhaseChoose || total != 9 {
			t.Errorf("%s: %d of %d", phase, done, total)
		}
		if done == 2 {
			stop()
		}
	}
	if _, err := Run(ctx, cfg); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v after cancelling", err)
	}
}

func TestRefuses(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"arms = 0, want at least 1":                  func(c *Config) { c.Arms = nil },
		"rates = 0, want at least 1":                 func(c *Config) { c.Rates = nil },
		"seeds = 0, want at least 1":                 func(c *Config) { c.Seeds = 0 },
		"seeds to choose the rate = 0":               func(c *Config) { c.ChooseSeeds = 0 },
		"resamples = 1, want at least 2":             func(c *Config) { c.Resamples = 1 },
		"workers = 0, want at least 1":               func(c *Config) { c.Workers = 0 },
		"level = NaN, want (0, 1)":                   func(c *Config) { c.Level = math.NaN() },
		"learning rate = 2, want finite numbers":     func(c *Config) { c.Rates = []float64{2, 2} },
		"learning rate = NaN, want finite numbers":   func(c *Config) { c.Rates = []float64{math.NaN()} },
		"learning rate = +Inf, want finite numbers":  func(c *Config) { c.Rates = []float64{math.Inf(1)} },
		"target level = 0.8, want (0, 0.8)":          func(c *Config) { c.Levels = []float64{0.8} },
		"target level = NaN":                         func(c *Config) { c.Levels = []float64{math.NaN()} },
		"policy = none":                              func(c *Config) { c.NewPolicy = nil },
		"batch = 0, want at least 1":                 func(c *Config) { c.Train.Batch = 0 },
		"arm 1: epochs = 0":                          func(c *Config) { c.Arms[0].Objective.Epochs = 0 },
		"arm 1: strategy = none":                     func(c *Config) { c.Arms[0].Strategy = nil },
		"sgdd":                                       func(c *Config) { c.Arms[0].Optimizer = "sgdd" },
		"arm 1: unknown name":                        func(c *Config) { c.Arms[0].System = "nonsense" },
		"batch = 33, want a whole number in [1, 32]": func(c *Config) { c.Train.Batch = 33 },
	} {
		cfg := small(t, "fixed:g=8")
		change(&cfg)
		if _, err := Run(context.Background(), cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	cfg := DefaultConfig()
	cfg.Arms, cfg.NewPolicy = []Arm{arm("fixed")}, policies(t, "logit", population, 64)
	if err := cfg.Validate(); err != nil {
		t.Error(err)
	}
}

// BenchmarkTrial is a trial of 2 arms at 5 rates on 8 seeds to choose and 16 to
// report, on 256 prompts.
func BenchmarkTrial(b *testing.B) {
	cfg := DefaultConfig()
	cfg.Train.Population = population
	cfg.NewPolicy = policies(b, "logit", population, 256)
	cfg.Arms = []Arm{arm("fixed:g=8"), arm("vigor")}
	cfg.Rates = []float64{4, 8, 16, 32, 64}
	cfg.Levels = []float64{0.5, 0.7}
	for b.Loop() {
		run(b, cfg)
	}
}
