package sim

import (
	"context"
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"vigorlab/distributions/table"
	"vigorlab/sim/rollout"
	"vigorlab/sim/schedule"
	"vigorlab/sim/source"
	"vigorlab/sim/strategy"
	"vigorlab/sim/stream"
)

// anyTable draws up to 40 recorded prompts with any success rates.
func anyTable(t *rapid.T) *table.Table {
	tab := &table.Table{Name: "any"}
	for i := range rapid.IntRange(1, 40).Draw(t, "prompts") {
		n := rapid.IntRange(1, 12).Draw(t, "n")
		tab.Rows = append(tab.Rows, table.Row{PromptID: fmt.Sprint(i), N: n, S: rapid.IntRange(0, n).Draw(t, "s")})
	}
	return tab
}

// anyPlan draws a schedule with every option.
func anyPlan(t *rapid.T) schedule.Vigor {
	v := schedule.Default()
	v.M0 = rapid.IntRange(1, 4).Draw(t, "m0")
	v.Rounds = rapid.IntRange(1, 5).Draw(t, "rounds")
	den := rapid.IntRange(2, 9).Draw(t, "denominator")
	v.Alpha = schedule.MustRatio(fmt.Sprintf("%d/%d", rapid.IntRange(1, den-1).Draw(t, "numerator"), den))
	v.Gamma = schedule.MustRatio(fmt.Sprint(rapid.IntRange(1, 3).Draw(t, "gamma")))
	v.Ties = rapid.SampledFrom([]string{schedule.TiesRandom, schedule.TiesIndex}).Draw(t, "ties")
	v.Cut = rapid.SampledFrom([]string{schedule.CutCeil, schedule.CutFloor, schedule.CutNearest}).Draw(t, "cut")
	v.Select = rapid.SampledFrom([]string{schedule.SelectSample, schedule.SelectTruth, schedule.SelectRandom}).Draw(t, "select")
	v.Update = rapid.SampledFrom([]string{schedule.UpdateAll, schedule.UpdateSurvivors}).Draw(t, "update")
	v.Reuse = rapid.Bool().Draw(t, "reuse")
	return v
}

// TestEveryBatch holds single batches of any prompts under any schedule to
// what must be true of each: the budget, the cap on eta (theory.md, section
// 3.1), and totals that do not depend on who counts.
func TestEveryBatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tab, plan := anyTable(t), anyPlan(t)
		batch := len(tab.Rows)
		cfg := DefaultConfig()
		cfg.Workers, cfg.Replicates, cfg.Seed = 1, 1, rapid.Uint64().Draw(t, "seed")
		r, err := Run(context.Background(), cfg,
			func() (rollout.TruthSource, error) { return source.NewTable(tab, source.DrawReplacement, 0) },
			[]NewStrategy{func() (strategy.Strategy, error) { return strategy.NewVigor(plan) }})
		if err != nil {
			t.Fatal(err)
		}
		o := r.Strategies[0]

		m, err := plan.Rollouts()
		if err != nil {
			t.Fatal(err)
		}
		selection, largest := 0, 0
		active := plan.Active(batch)
		for i := range m {
			selection += m[i] * active[i]
			largest += m[i]
		}
		trained := selection
		if plan.Update == schedule.UpdateSurvivors {
			trained = largest * active[len(active)-1]
		}
		generated := selection
		if !plan.Reuse {
			generated += trained
		}
		equal := func(what string, got, want float64) {
			if !(math.Abs(got-want) <= 1e-9*max(1, math.Abs(want))) {
				t.Fatalf("%s = %v, want %v", what, got, want)
			}
		}
		equal("generated", o.RolloutsPerPrompt.Mean*float64(batch), float64(generated))
		equal("trained", o.TrainedPerPrompt.Mean*float64(batch), float64(trained))
		if o.Eta.Reason == "" {
			bound := float64(largest*batch) / float64(trained)
			if o.EtaBatchMean.Mean > bound*(1+1e-12) {
				t.Fatalf("eta = %v of one batch passes its cap %v", o.EtaBatchMean.Mean, bound)
			}
			equal("eta generated", o.EtaGenerated.Mean, o.Eta.Mean*float64(trained)/float64(generated))
		}
		for _, share := range []Estimate{o.Ineffective, o.ZeroVarianceGroups, o.Signal, o.SignalPromptMean} {
			if !(share.Mean >= 0 && share.Mean <= 1) {
				t.Fatalf("a share of %v, want [0, 1]", share.Mean)
			}
		}
		shares, sizes := 0.0, 0.0
		for _, s := range o.GroupSizes {
			shares += s.Share.Mean
			sizes += s.Share.Mean * float64(s.Size)
		}
		equal("shares of sizes", shares, 1)
		groups := float64(batch)
		if plan.Update == schedule.UpdateSurvivors {
			groups = float64(active[len(active)-1])
		}
		equal("mean size", sizes*groups, float64(trained))
	})
}

// TestOrderOfPromptsDoesNotMatter permutes a table. With select=truth and no
// ties the allocation follows the prompts; with sample selection the figures
// keep their law: the two runs differ by their joint error, passed sixfold
// with probability 2e-9; a difference of 8.4 is missed with 1 %.
func TestOrderOfPromptsDoesNotMatter(t *testing.T) {
	forward, backward := &table.Table{Name: "t"}, &table.Table{Name: "t"}
	for i := range 24 {
		forward.Rows = append(forward.Rows, table.Row{PromptID: fmt.Sprint(i), N: 100, S: 2 * i})
		backward.Rows = append(backward.Rows, table.Row{PromptID: fmt.Sprint(23 - i), N: 100, S: 2 * (23 - i)})
	}
	etas := func(tab *table.Table, spec string) Estimate {
		src := func() (rollout.TruthSource, error) { return source.NewTable(tab, source.DrawReplacement, 0) }
		return run(t, config("t", 3000), src, spec).Strategies[0].Eta
	}
	if a, b := etas(forward, "vigor:select=truth"), etas(backward, "vigor:select=truth"); !(math.Abs(a.Mean-b.Mean) < 1e-12) {
		t.Errorf("perfect selection: eta %v forward, %v backward", a.Mean, b.Mean)
	}
	a, b := etas(forward, "vigor"), etas(backward, "vigor")
	if !(math.Abs(a.Mean-b.Mean) < 6*math.Hypot(a.SE, b.SE)) {
		t.Errorf("eta %v ± %v forward, %v ± %v backward", a.Mean, a.SE, b.Mean, b.SE)
	}
	// ties=index is the exception that shows the test can fail: with the order
	// of difficulty, who starves is decided by place.
	c, d := etas(forward, "vigor:ties=index"), etas(backward, "vigor:ties=index")
	if math.Abs(c.Mean-d.Mean) < 6*math.Hypot(c.SE, d.SE) {
		t.Errorf("ties by index: eta %v forward, %v backward: want a difference", c.Mean, d.Mean)
	}
}

// TestBootstrap: with replicates enough, the interval over samples of prompts
// is much wider than the error over replicates, holds the estimate, and does
// not depend on the workers.
func TestBootstrap(t *testing.T) {
	tab := &table.Table{Name: "t"}
	for i := range 60 {
		tab.Rows = append(tab.Rows, table.Row{PromptID: fmt.Sprint(i), N: 8, S: (i * i) % 9})
	}
	src := func() (rollout.TruthSource, error) { return source.NewTable(tab, source.DrawReplacement, 0) }
	var want *Result
	for _, workers := range []int{1, 3} {
		cfg := config("t", 500)
		cfg.Workers = workers
		r := run(t, cfg, src, "vigor")
		if err := Bootstrap(context.Background(), cfg, DefaultBootstrap(), src, parseAll("vigor"), r); err != nil {
			t.Fatal(err)
		}
		eta := r.Strategies[0].Eta
		if p := eta.Prompts; p == nil || !(p.Low < eta.Mean && eta.Mean < p.High) || !(p.High-p.Low > 4*eta.SE) {
			t.Errorf("eta %+v with interval %+v", eta, eta.Prompts)
		}
		if want == nil {
			want = r
		} else if fmt.Sprint(want.Strategies[0].Eta.Prompts) != fmt.Sprint(eta.Prompts) {
			t.Error("the interval depends on the workers")
		}
	}
	// Who starves by place depends on the table's order, which samples keep.
	ordered := &table.Table{Name: "t"}
	for i := range 60 {
		ordered.Rows = append(ordered.Rows, table.Row{PromptID: fmt.Sprint(i), N: 60, S: i / 2})
	}
	src = func() (rollout.TruthSource, error) { return source.NewTable(ordered, source.DrawReplacement, 0) }
	r := run(t, config("t", 500), src, "vigor:ties=index")
	if err := Bootstrap(context.Background(), config("t", 500), DefaultBootstrap(), src, parseAll("vigor:ties=index"), r); err != nil {
		t.Fatal(err)
	}
	if eta := r.Strategies[0].Eta; !(eta.Prompts.Low < eta.Mean && eta.Mean < eta.Prompts.High) {
		t.Errorf("ties by index: eta %v outside its own interval %+v", eta.Mean, *eta.Prompts)
	}
	checkSmallBatches(t)
	synth := synthetic(t, "uniform", 8)
	if err := Bootstrap(context.Background(), config("t", 10), DefaultBootstrap(), synth, parseAll("vigor"), want); err == nil {
		t.Error("synthetic prompts are drawn again")
	}
	if err := Bootstrap(context.Background(), config("t", 10), BootstrapConfig{}, src, parseAll("vigor"), want); err == nil {
		t.Error("no resamples are accepted")
	}
	if err := Bootstrap(context.Background(), Config{}, DefaultBootstrap(), src, parseAll("vigor"), want); err == nil {
		t.Error("no workers are accepted")
	}
}

// checkSmallBatches: a fixed group has the same signal whatever the batch, so its
// interval over prompts may not grow where batches are small. The widths of
// intervals over 400 samples have errors of some 7 % each and noise of ten passes
// adds 1/10 of the replicates' share, so that 1.5 is passed with probability
// below 1e-4; with 20 batches of 4 for 400 prompts the ratio was 2.8.
func checkSmallBatches(t *testing.T) {
	t.Helper()
	tab := &table.Table{Name: "t"}
	for i := range 400 {
		tab.Rows = append(tab.Rows, table.Row{PromptID: fmt.Sprint(i), N: 8, S: (i * i) % 9})
	}
	width := func(batch int) float64 {
		src := func() (rollout.TruthSource, error) { return source.NewTable(tab, source.DrawReplacement, batch) }
		cfg := config("t", 2000)
		r := run(t, cfg, src, "fixed:g=8")
		if err := Bootstrap(context.Background(), cfg, BootstrapConfig{400, 20, 0.95}, src, parseAll("fixed:g=8"), r); err != nil {
			t.Fatal(err)
		}
		p := r.Strategies[0].Signal.Prompts
		return p.High - p.Low
	}
	small, all := width(4), width(0)
	if !(small < 1.5*all) {
		t.Errorf("an interval %v wide from batches of 4, %v from all prompts", small, all)
	}
}

// TestBootstrapCovers draws tables from a law and asks how often the 95 %
// interval holds the law's own eta, known from a large run. The count of 60
// tables is binomial: below 46 with probability 2e-7 if the coverage is 0.95;
// intervals half as wide cover 67 % and pass with probability 0.08, those a
// third as wide cover 49 % and pass with probability 1e-5.
func TestBootstrapCovers(t *testing.T) {
	const tables, least = 60, 46
	law := population(t, "beta:a=0.5,b=0.5")
	truth := run(t, config("large", 300), synthetic(t, "beta:a=0.5,b=0.5", 4096), "vigor").Strategies[0].Eta.Mean
	covered := 0
	for i := range tables {
		src, err := source.NewSynthetic(law.Law, nil, 128)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := src.Reset(stream.New(uint64(i))); err != nil {
			t.Fatal(err)
		}
		tab := &table.Table{Name: "t"}
		for x, p := range src.Truth() {
			const n = 1_000_000 // so many rollouts that s/n is p
			tab.Rows = append(tab.Rows, table.Row{PromptID: fmt.Sprint(x), N: n, S: int(math.Round(p * n))})
		}
		newSource := func() (rollout.TruthSource, error) { return source.NewTable(tab, source.DrawReplacement, 0) }
		cfg := config("t", 50)
		cfg.Seed = uint64(i)
		r := run(t, cfg, newSource, "vigor")
		if err := Bootstrap(context.Background(), cfg, BootstrapConfig{100, 20, 0.95}, newSource, parseAll("vigor"), r); err != nil {
			t.Fatal(err)
		}
		if p := r.Strategies[0].Eta.Prompts; p.Low <= truth && truth <= p.High {
			covered++
		}
	}
	if covered < least {
		t.Errorf("the interval holds eta = %v for %d of %d tables, want at least %d", truth, covered, tables, least)
	}
}
