package plan

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"vigorlab/distributions"
	"vigorlab/distributions/fit"
	"vigorlab/distributions/table"
	"vigorlab/sim"
	"vigorlab/sim/schedule"
	"vigorlab/sim/strategy"
)

func planOf(t *testing.T, spec string) schedule.Vigor {
	t.Helper()
	s, err := strategy.Parse(spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s.(*strategy.Vigor).Plan()
}

func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

// quick returns options of a small search.
func quick() Options {
	o := DefaultOptions()
	o.MaxGroup, o.MaxRounds, o.Replicates, o.Worlds, o.Workers = 32, 4, 20, 40, 2
	return o
}

// TestGoldenGains holds the default schedule to theory.md's values at fixed
// groups of 8: section 4.6 for progress, the table of 3.2 for signal and
// effective rollouts, 4.3 for the signal under prompt-mean.
func TestGoldenGains(t *testing.T) {
	tp15 := must(distributions.NewParetoVariance(1.5, 0.01, 1, 0.5))
	beta := must(distributions.NewBeta(0.1, 0.3))
	for name, c := range map[string]struct {
		law                                   distributions.Law
		progress, signal, effective, promptly float64
	}{
		"tp15":         {tp15, 2.2540, .0684935 / .0345610, (1 - .8345863) / (1 - .9490790), .528},
		"Beta(.1,.3)":  {beta, 2.3862, .4687318 / .2220982, (1 - .4435454) / (1 - .7294805), .633},
		"uniform":      {distributions.NewUniform(), 1.2467, .7540096 / .6657131, (1 - .1785714) / (1 - .2222222), .559},
		"Beta(.5,.5)":  {must(distributions.NewBeta(0.5, 0.5)), 1.5406, .6865838 / .5087681, (1 - .2377930) / (1 - .3927613), 0},
		"Beta(.3,.7) ": {must(distributions.NewBeta(0.3, 0.7)), 0, .6467072 / .4295245, (1 - .2725784) / (1 - .4844497), 0},
	} {
		o := DefaultOptions()
		row := must(newField(c.law, nil, searchNodes, false).row(candidate{plan: schedule.Default(), budget: 8}, o))
		for what, x := range map[string][3]float64{
			"progress":            {row.Gain, c.progress, 5e-5},
			"signal":              {row.Gains.Rollout.Signal, c.signal, 5e-6},
			"effective":           {row.Gains.Rollout.Effective, c.effective, 5e-6},
			"signal, prompt-mean": {row.Gains.Prompt.Signal, c.promptly, 5e-4},
		} {
			if x[1] != 0 && !(math.Abs(x[0]-x[1]) <= x[2]) {
				t.Errorf("%s: %s %.6f, want %.6f", name, what, x[0], x[1])
			}
		}
	}
}

// TestSearchAgainstExhaustion tries every whole m0, gamma in thirds and halves,
// and alpha in 48ths that keep the budget's limits, one by one: no such schedule
// gains 1 % more than the planner's best.
func TestSearchAgainstExhaustion(t *testing.T) {
	o := quick()
	for name, law := range map[string]distributions.Law{
		"beta":    must(distributions.NewBeta(0.3, 0.7)),
		"uniform": distributions.NewUniform(),
		"tp15":    must(distributions.NewParetoVariance(1.5, 0.01, 1, 0.5)),
	} {
		for _, objective := range []string{Progress, Effective} {
			o.Objective = objective
			found := must(newSearch(context.Background(), law, nil, o))
			f := newField(law, nil, searchNodes, false)
			tried, most := 0, 0.0
			var spec string
			for rounds := 2; rounds <= o.MaxRounds; rounds++ {
				for m0 := 1; m0 < o.Group; m0++ {
					for gamma := 2; gamma <= 6*16; gamma++ {
						if gamma%2 != 0 && gamma%3 != 0 {
							continue
						}
						v := schedule.Default()
						v.M0, v.Rounds, v.Gamma = m0, rounds, fraction(gamma, 6)
						if _, err := v.Rollouts(); err != nil {
							continue
						}
						for alpha := 1; alpha < 48; alpha++ {
							v.Alpha = fraction(alpha, 48)
							if !o.affordable(v) || !o.inBudget(spends(v, o.Batch)) {
								continue
							}
							tried++
							row := must(f.row(candidate{plan: v, budget: o.Group}, o))
							if row.Gain > most {
								most, spec = row.Gain, row.Strategy
							}
						}
					}
				}
			}
			best := found.schedules[0]
			t.Logf("%s, %s: %d tried, best %.4f %s; of %d searched %.4f %s", name, objective, tried, most, spec, len(found.schedules), best.Gain, best.Strategy)
			if tried < 10 || !(best.Gain >= 0.99*most) {
				t.Errorf("%s, %s: %s gains %.4f, the search only %.4f", name, objective, spec, most, best.Gain)
			}
		}
	}
}

func spends(v schedule.Vigor, batch int) float64 {
	return float64(must(strategy.NewVigor(v)).Budget(batch)) / float64(batch)
}

// TestSchedulesKeepTheirLimits: every schedule that is tried keeps budget,
// largest group and rounds, in the limit and on the batch, and more than one
// prompt; the paper's two are among them.
func TestSchedulesKeepTheirLimits(t *testing.T) {
	for _, c := range []struct{ batch, group, largest, rounds int }{{256, 8, 64, 6}, {64, 16, 128, 4}, {1024, 3, 20, 16}, {16, 8, 32, 3}, {10, 2, 64, 6}} {
		o := DefaultOptions()
		o.Batch, o.Group, o.MaxGroup, o.MaxRounds = c.batch, c.group, c.largest, c.rounds
		for _, v := range schedules(o) {
			_, alone := v.OnePrompt(o.Batch)
			if !o.affordable(v) || alone || !o.inBudget(spends(v, o.Batch)) {
				t.Errorf("%+v: %v", c, v)
			}
		}
	}
	all := schedules(DefaultOptions())
	for _, spec := range []string{"vigor", "vigor:m0=4,rounds=2,alpha=1/4,gamma=4"} {
		found := false
		for _, v := range all {
			found = found || v == planOf(t, spec)
		}
		if !found {
			t.Errorf("%s is not tried", spec)
		}
	}
}

// TestFixedGroupsOnOtherPrompts: what they gain is a ratio of E[sigma], and
// the spec spends the budget and parses.
func TestFixedGroupsOnOtherPrompts(t *testing.T) {
	c := candidate{group: 32, budget: 8}
	row := must(newField(distributions.NewUniform(), nil, searchNodes, false).row(c, DefaultOptions()))
	// E[sigma_G] of uniform p: s is uniform on 0..G.
	mean := func(g int) float64 {
		sum := 0.0
		for s := range g + 1 {
			sum += 2 * math.Sqrt(float64(s)*float64(g-s)) / float64(g) / float64(g+1)
		}
		return sum
	}
	if want := mean(32) / mean(8); !(math.Abs(row.Gains.Rollout.Signal-want) < 1e-10) {
		t.Errorf("signal %v, want %v", row.Gains.Rollout.Signal, want)
	}
	s := must(strategy.Parse(row.Strategy, nil))
	if got := s.(strategy.Budgeter).Budget(256); got != 8*256 || s.Spec() != row.Strategy || row.Prompts != 0.25 {
		t.Errorf("%s: %d rollouts, %v prompts", s.Spec(), got, row.Prompts)
	}
}

// TestWorkersAgree: the same seed gives the same plan for any number of
// workers, and another seed another one.
func TestWorkersAgree(t *testing.T) {
	subject := Subject{Table: pilotTable(200, 8)}
	o := quick()
	o.MaxGroup, o.MaxRounds, o.Replicates = 16, 3, 7
	var results []*Result
	for _, workers := range []int{1, 3} {
		o.Workers = workers
		results = append(results, must(Run(context.Background(), subject, o)))
	}
	text := func(r *Result) string { // NaN does not equal itself
		return fmt.Sprintf("%+v", []any{r.Table, r.Front, r.Gain, r.Over, r.Sizes, r.Simulated, r.Verdict, r.Recommended, r.Warnings})
	}
	if one, three := text(results[0]), text(results[1]); one != three {
		t.Errorf("one worker: %s\nthree: %s", one, three)
	}
	o.Seed = 2
	if other := must(Run(context.Background(), subject, o)); other.Gain == results[0].Gain {
		t.Errorf("another seed, the same interval: %v", other.Gain)
	}
}

// pilotTable returns a table in which s of n succeed about as often as under a law
// that is all but uniform.
func pilotTable(prompts, n int) *table.Table {
	t := &table.Table{Name: "pilot"}
	for i := range prompts {
		t.Rows = append(t.Rows, table.Row{PromptID: string(rune('a'+i%26)) + strings.Repeat("x", i/26), N: n, S: i * i % (n + 1)})
	}
	return t
}

// TestVerdicts: no schedule helps where nothing varies, where the update
// averages over prompts (theory.md, section 4.3), or where the pilot is a
// handful of prompts; it does where half of the prompts are dead.
func TestVerdicts(t *testing.T) {
	dead := must(distributions.NewAtoms([]distributions.Node{{P: 0, W: 0.5}, {P: 1, W: 0.5}}))
	few := &table.Table{Name: "few", Rows: []table.Row{{PromptID: "a", N: 8, S: 4}, {PromptID: "b", N: 8}, {PromptID: "c", N: 8, S: 1}, {PromptID: "d", N: 8, S: 8}}}
	solved := &table.Table{Name: "solved"}
	for i := range 100 {
		solved.Rows = append(solved.Rows, table.Row{PromptID: fmt.Sprint(i), N: 8, S: 8 * (i % 2)})
	}
	prompt, fewer, variance, unsure := quick(), quick(), quick(), quick()
	unsure.Worlds = 0
	prompt.Aggregate = sim.AggregatePrompt
	variance.Aggregate, variance.Objective = sim.AggregatePrompt, GradientVariance
	for name, c := range map[string]struct {
		subject Subject
		o       Options
		bother  bool
		word    string
	}{
		"dead and solved":  {Subject{Law: dead}, quick(), false, "no prompt has any reward variance"},
		"prompt-mean":      {Subject{Law: distributions.NewUniform()}, prompt, false, "do not bother: no schedule"},
		"variance":         {Subject{Law: distributions.NewUniform()}, variance, false, "do not bother"},
		"four prompts":     {Subject{Table: few}, fewer, false, "too small"},
		"two alike":        {Subject{Table: &table.Table{Name: "two", Rows: []table.Row{{PromptID: "a", N: 8, S: 4}, {PromptID: "b", N: 8, S: 4}}}}, quick(), false, "too small"},
		"dead pilot":       {Subject{Table: solved}, quick(), false, "no prompt of the pilot has both outcomes"},
		"no worlds":        {Subject{Table: pilotTable(200, 8)}, unsure, true, "how sure that is takes bootstrap samples"},
		"Beta(.1,.3)":      {Subject{Law: must(distributions.NewBeta(0.1, 0.3))}, quick(), true, "worth it"},
		"a pilot of a 200": {Subject{Table: pilotTable(200, 8)}, quick(), true, "worth it"},
	} {
		r, err := Run(context.Background(), c.subject, c.o)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if r.DoNotBother == c.bother || !strings.Contains(r.Verdict[0], c.word) {
			t.Errorf("%s: %v %v %+v", name, r.DoNotBother, r.Verdict, r.Gain)
		}
		if r.DoNotBother && r.Recommended != "fixed:g=8" {
			t.Errorf("%s: recommends %s", name, r.Recommended)
		}
		if _, err := strategy.Parse(r.Recommended, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if ends := !math.IsNaN(r.Gain.Low) && !math.IsNaN(r.Gain.High); ends != (name != "dead and solved" && name != "dead pilot" && name != "four prompts" && name != "no worlds") {
			t.Errorf("%s: gain %+v", name, r.Gain)
		}
		if none := math.IsNaN(r.Gain.Estimate); none != (name == "dead and solved" || name == "dead pilot") {
			t.Errorf("%s: gain %+v", name, r.Gain)
		}
	}
}

// TestPilotPools: the last rows of a prompt are one pilot prompt, and more than
// can be fitted is refused by name.
func TestPilotPools(t *testing.T) {
	rows := &table.Table{Name: "pilot.csv", Rows: []table.Row{
		{PromptID: "a", Visit: 1, N: 4000, S: 3}, {PromptID: "a", Visit: 2, N: 90, S: 2}, {PromptID: "a", Visit: 3, N: 10, S: 1}, {PromptID: "b", N: 8, S: 4},
	}}
	counts, pooled, err := Pilot(rows, 2)
	if want := []fit.Cell{{N: 8, S: 4, Prompts: 1}, {N: 100, S: 3, Prompts: 1}}; err != nil || !pooled || !slices.Equal(counts.Cells(), want) {
		t.Errorf("%v, pooled %t, %v, want %v", counts, pooled, err, want)
	}
	if _, _, err = Pilot(rows, 3); err == nil || err.Error() != `pilot.csv: prompt "a": n = 4100 in its last 3 rows, want at most 4096` {
		t.Errorf("4100 rollouts: %v", err)
	}
	if _, pooled, err := Pilot(rows, 1); err != nil || pooled {
		t.Errorf("single rows: pooled %t, %v", pooled, err)
	}
}

// TestOtherLaw: the plan is evaluated on the law of the other kind, and that is
// said where it lies outside the interval: few rollouts a prompt do not tell
// one law from another.
func TestOtherLaw(t *testing.T) {
	o := quick()
	r := must(Run(t.Context(), Subject{Table: pilotTable(400, 4)}, o))
	law := must(fit.Smooth(r.Pilot, fit.SmoothNPMLE))
	want := must(newField(law, nil, searchNodes, false).row(r.Best.candidate, o)).Gain
	if r.Other.Smooth != fit.SmoothNPMLE || r.Other.Gain != want {
		t.Errorf("%+v, want %v by %s", r.Other, want, fit.SmoothNPMLE)
	}
	outside := want < r.Gain.Low || want > r.Gain.High
	if said := strings.Contains(strings.Join(r.Verdict, "\n"), "by the npmle law"); said != outside {
		t.Errorf("%v outside %+v is %t, said is %t", want, r.Gain, outside, said)
	}
	o.Smooth = fit.SmoothNPMLE
	if r := must(Run(t.Context(), Subject{Table: pilotTable(400, 4)}, o)); r.Other.Smooth != fit.SmoothBeta {
		t.Errorf("the other law of npmle is %s", r.Other.Smooth)
	}
	if r := must(Run(t.Context(), Subject{Law: distributions.NewUniform()}, o)); r.Other.Smooth != "" || !math.IsNaN(r.Other.Gain) {
		t.Errorf("a known law has another one: %+v", r.Other)
	}
}

// TestFrontIsPareto: along a front cost and gain both rise, it starts with no
// change, and no schedule of the search lies above it.
func TestFrontIsPareto(t *testing.T) {
	o := quick()
	o.MaxGroup, o.Finalists = 64, 2
	o.Clock = Clock{RoundLatency: 10, RolloutSeconds: 60, Concurrency: 256}
	law := must(distributions.NewBeta(0.3, 0.7))
	lengths := must(distributions.NewLengthLaw(1000, 100, 0, 4000))
	r := must(Run(context.Background(), Subject{Law: law, Lengths: lengths}, o))
	all := must(newSearch(context.Background(), law, lengths, o)).schedules
	for name, c := range map[string]struct {
		front []Row
		cost  func(Row) float64
	}{
		"rounds": {r.Front.Rounds, func(r Row) float64 { return float64(r.Rounds) }},
		"clock":  {r.Front.Clock, func(r Row) float64 { return r.Seconds }},
	} {
		if c.front[0].Strategy != "fixed:g=8" || c.front[0].Gain != 1 || len(c.front) < 2 {
			t.Errorf("%s: %d points, the first %+v", name, len(c.front), c.front[0])
		}
		for i := 1; i < len(c.front); i++ {
			if !(c.cost(c.front[i]) > c.cost(c.front[i-1]) && c.front[i].Gain > c.front[i-1].Gain) {
				t.Errorf("%s: point %d does not rise", name, i)
			}
		}
		for _, row := range all {
			reached := 0.0
			for _, p := range c.front {
				if c.cost(p) <= c.cost(row)*(1+1e-6) {
					reached = p.Gain
				}
			}
			if row.Gain > reached*(1+1e-6) {
				t.Errorf("%s: %s at %v gains %v, the front %v", name, row.Strategy, c.cost(row), row.Gain, reached)
			}
		}
	}
}

// TestRefusals: all faults of options at once, by name.
func TestRefusals(t *testing.T) {
	o := Options{Batch: 0, Group: 1, MaxGroup: 0, MaxRounds: 17, Tolerance: math.NaN(), Objective: "speed", Aggregate: "sum", Smooth: "no", Worlds: 3, Clock: Clock{math.NaN(), -1, -2}}
	err := o.Validate()
	for _, word := range []string{"batch", "group", "max-group", "max-rounds", "tolerance", "objective", "aggregate", "smooth", "worlds", "finalists", "workers", "visits", "round-latency", "rollout-seconds", "concurrency"} {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%v does not name %s", err, word)
		}
	}
	if _, err := Run(context.Background(), Subject{}, quick()); err == nil {
		t.Error("no subject: no error")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Run(ctx, Subject{Law: distributions.NewUniform()}, quick()); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// history reads the recorded run of ../shared/data, a row a visit.
func history(t *testing.T) *table.Table {
	t.Helper()
	shared := os.Getenv("VIGORLAB_SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "..", "shared")
	}
	file, err := os.Open(filepath.Join(shared, "data", "oneshot_rlvr", "history_digits.csv"))
	if errors.Is(err, fs.ErrNotExist) {
		const missing = "no recorded tables: put ../shared/data beside the checkout, or set VIGORLAB_SHARED"
		if os.Getenv("VIGORLAB_NO_SKIP") != "" {
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows := must(csv.NewReader(file).ReadAll())
	h := &table.Table{Name: "history"}
	for _, row := range rows[1:] {
		for visit, digit := range row[3] {
			h.Rows = append(h.Rows, table.Row{PromptID: row[0], Visit: visit, N: 8, S: int(digit - '0')})
		}
	}
	return h
}
