package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"vigorlab/distributions/spec"
	"vigorlab/distributions/table"
	"vigorlab/sim/rollout"
	"vigorlab/sim/source"
	"vigorlab/sim/strategy"
	"vigorlab/sim/stream"
)

func noFile(string) (io.ReadCloser, error) { return nil, os.ErrNotExist }

// parse makes strategies of a spec.
func parse(text string) NewStrategy {
	return func() (strategy.Strategy, error) { return strategy.Parse(text, noFile) }
}

func parseAll(texts ...string) []NewStrategy {
	var s []NewStrategy
	for _, t := range texts {
		s = append(s, parse(t))
	}
	return s
}

func population(t testing.TB, text string) spec.Population {
	t.Helper()
	p, err := spec.ParsePopulation(text, noFile)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func synthetic(t testing.TB, text string, batch int) NewSource {
	t.Helper()
	p := population(t, text)
	return func() (rollout.TruthSource, error) { return source.NewSynthetic(p.Law, p.Lengths, batch) }
}

func config(population string, replicates int) Config {
	c := DefaultConfig()
	c.Population, c.Replicates, c.Workers = population, replicates, 2
	return c
}

func run(t testing.TB, cfg Config, src NewSource, s ...string) *Result {
	t.Helper()
	r, err := Run(context.Background(), cfg, src, parseAll(s...))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const tp15 = "pareto-variance:shape=1.5,min=0.01,max=1"

// TestWorkersAgree wants the same bytes from any number of workers, with
// lengths and many blocks, and others from another seed.
func TestWorkersAgree(t *testing.T) {
	const pop = "beta:a=0.5,b=0.5,tokens=100,tokens-cap=300"
	strategies := []string{"vigor", "fixed:g=8", "vigor:update=survivors,reuse=false", "vigor:select=truth"}
	var want *Result
	for _, workers := range []int{1, 2, 3, 16} {
		cfg := config(pop, 700)
		cfg.Workers = workers
		got := run(t, cfg, synthetic(t, pop, 33), strategies...)
		if want == nil {
			want = got
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%d workers give another result than 1", workers)
		}
	}
	other := config(pop, 700)
	other.Seed = 2
	if got := run(t, other, synthetic(t, pop, 33), strategies...); reflect.DeepEqual(got.Strategies, want.Strategies) {
		t.Error("another seed gives the same result")
	}
}

// TestStrategiesMeetTheSamePrompts wants a strategy's figures to be untouched
// by the strategies beside it.
func TestStrategiesMeetTheSamePrompts(t *testing.T) {
	alone := run(t, config(tp15, 100), synthetic(t, tp15, 64), "vigor")
	beside := run(t, config(tp15, 100), synthetic(t, tp15, 64), "fixed:g=8", "vigor:rounds=2", "vigor")
	if !reflect.DeepEqual(alone.Strategies[0], beside.Strategies[2]) {
		t.Error("vigor alone and beside others differ")
	}
}

// TestGolden compares the engine with the mean field's reference values
// (theory.md, section 3.2, computed there by another program) at B = 4,096,
// where a finite batch is off by less than 0.001. With z = 6 a false alarm
// among the 24 comparisons has probability below 5e-8; what is missed with at
// most 1 % is a shift of 8.4 standard errors and 0.002.
func TestGolden(t *testing.T) {
	const bias, z = 0.001, 6
	for _, c := range []struct {
		population                         string
		eta, ineffective, fixedIneffective float64
		signal, fixedSignal, progress      float64
	}{
		{tp15, 1.1750961, .8345863, .9490790, .0684935, .0345610, 2.2540},
		{"beta:a=0.1,b=0.3", 2.0364970, .4435454, .7294805, .4687318, .2220982, 2.3862},
		{"uniform", 1.1922408, .1785714, .2222222, .7540096, .6657131, 1.2467},
		{"beta:a=0.5,b=0.5", 1.3919784, .2377930, .3927613, .6865838, .5087681, 1.5406},
	} {
		r := run(t, config(c.population, 300), synthetic(t, c.population, 4096), "vigor")
		o := r.Strategies[0]
		for _, f := range []struct {
			name string
			got  Estimate
			want float64
		}{
			{"eta", o.Eta, c.eta},
			{"ineffective", o.Ineffective, c.ineffective},
			{"signal", o.Signal, c.signal},
			{"progress", o.Progress, c.progress},
			{"fixed ineffective", o.FixedIneffective, c.fixedIneffective},
			{"fixed signal", o.FixedSignal, c.fixedSignal},
		} {
			if tol := z*f.got.SE + bias; !(math.Abs(f.got.Mean-f.want) < tol) {
				t.Errorf("%s: %s = %.5f, want %.5f ± %.5f", c.population, f.name, f.got.Mean, f.want, tol)
			}
		}
		if o.RolloutsPerPrompt.Mean != 8 || o.RolloutsPerPrompt.SE != 0 {
			t.Errorf("%s: %+v rollouts a prompt, want 8 exactly", c.population, o.RolloutsPerPrompt)
		}
	}
}

// TestScreening holds the screening errors against theory.md, section 3.2.
// The errors are as in TestGolden.
func TestScreening(t *testing.T) {
	r := run(t, config(tp15, 300), synthetic(t, tp15, 4096), "vigor")
	s := r.Strategies[0].Screening
	if len(s) != 3 {
		t.Fatalf("%d cuts, want 3", len(s))
	}
	for _, f := range []struct {
		name string
		got  Estimate
		want float64
	}{
		{"false negative, round 1", s[0].FalseNegative, .28888},
		{"false negative, round 2", s[1].FalseNegative, .03972},
		{"cumulative, round 1", s[0].FalseNegativeCumulative, .28888},
		{"cumulative, round 2", s[1].FalseNegativeCumulative, .31713},
		{"cumulative, round 3", s[2].FalseNegativeCumulative, .31806},
	} {
		if tol := 6*f.got.SE + 0.001; !(math.Abs(f.got.Mean-f.want) < tol) {
			t.Errorf("%s = %.5f, want %.5f ± %.5f", f.name, f.got.Mean, f.want, tol)
		}
	}
	if got := s[0].FalseOmission; !(math.Abs(got.Mean-.00031207) < 6*got.SE) {
		t.Errorf("false omission %.6f ± %.6f, want .00031207", got.Mean, got.SE)
	}
}

// TestIdentities holds for every replicate, so without any tolerance but
// rounding.
func TestIdentities(t *testing.T) {
	r := run(t, config("uniform", 50), synthetic(t, "uniform", 31),
		"vigor:ties=index", "vigor:update=survivors", "vigor:ties=index,reuse=false", "fixed:g=5")
	close := func(name string, got, want float64) {
		t.Helper()
		if !(math.Abs(got-want) <= 1e-12*math.Abs(want)) {
			t.Errorf("%s = %v, want %v", name, got, want)
		}
	}
	all, survivors, fresh, fixed := r.Strategies[0], r.Strategies[1], r.Strategies[2], r.Strategies[3]
	// 31, 16, 8, 4 prompts with 2, 4, 8, 16 rollouts each.
	close("generated", all.RolloutsPerPrompt.Mean, (31*2+16*4+8*8+4*16)/31.0)
	close("trained", all.TrainedPerPrompt.Mean, all.RolloutsPerPrompt.Mean)
	close("survivors trained", survivors.TrainedPerPrompt.Mean, 4*30/31.0)
	close("survivors generated", survivors.RolloutsPerPrompt.Mean, all.RolloutsPerPrompt.Mean)
	close("eta generated of survivors", survivors.EtaGenerated.Mean,
		survivors.Eta.Mean*survivors.TrainedPerPrompt.Mean/survivors.RolloutsPerPrompt.Mean)
	close("fresh generated", fresh.RolloutsPerPrompt.Mean, 2*all.RolloutsPerPrompt.Mean)
	close("fresh eta", fresh.Eta.Mean, all.Eta.Mean) // the same allocation
	close("fresh eta generated", fresh.EtaGenerated.Mean, all.Eta.Mean/2)
	close("fresh rounds", fresh.Rounds.Mean, 5)
	close("fixed eta", fixed.Eta.Mean, 1)
	close("fixed progress", fixed.Progress.Mean, 1)
	if fixed.Eta.SE != 0 || fixed.Progress.SE != 0 {
		t.Errorf("fixed groups: eta ± %v, progress ± %v, want no error", fixed.Eta.SE, fixed.Progress.SE)
	}
	shares := 0.0
	for _, s := range all.GroupSizes {
		shares += s.Share.Mean
	}
	close("shares of sizes", shares, 1)
	prompts, rollouts := 0.0, 0.0
	for _, b := range all.Allocation {
		prompts += b.Share
		if b.Rollouts.Reason == "" {
			rollouts += b.Share * b.Rollouts.Mean
		}
	}
	close("shares of bins", prompts, 1)
	close("rollouts over bins", rollouts, all.RolloutsPerPrompt.Mean)
}

// TestReuseBias shows what fresh groups mend: prompts that are all alike stay
// because their first rewards happened to differ, so that the survivors'
// reused groups overstate sigma and fresh ones do not: their signal is
// E[sigma_30] at p = 0.1, a binomial sum. The gap is more than 10
// standard errors; 6 are passed by chance with probability 2e-9.
func TestReuseBias(t *testing.T) {
	want := 0.0
	for s := range 31 {
		lg, _ := math.Lgamma(31)
		a, _ := math.Lgamma(float64(s) + 1)
		b, _ := math.Lgamma(float64(31 - s))
		want += math.Exp(lg-a-b+float64(s)*math.Log(0.1)+float64(30-s)*math.Log(0.9)) * sigma(30, s)
	}
	r := run(t, config("point:p=0.1", 400), synthetic(t, "point:p=0.1", 256), "vigor:update=survivors", "vigor:update=survivors,reuse=false")
	reused, fresh := r.Strategies[0].Signal, r.Strategies[1].Signal
	if !(math.Abs(fresh.Mean-want) < 6*fresh.SE) {
		t.Errorf("signal of fresh groups %v ± %v, want %v", fresh.Mean, fresh.SE, want)
	}
	if !(reused.Mean-want > 6*reused.SE) {
		t.Errorf("signal of reused groups %v ± %v, want more than %v", reused.Mean, reused.SE, want)
	}
}

// TestSelectionIsBetween: perfect selection beats the sample, the sample beats
// chance, and chance is worth exactly 1. The gaps are tens of standard errors.
func TestSelectionIsBetween(t *testing.T) {
	r := run(t, config("uniform", 1000), synthetic(t, "uniform", 64), "vigor:select=truth", "vigor", "vigor:select=random")
	truth, sample, random := r.Strategies[0].Eta, r.Strategies[1].Eta, r.Strategies[2].Eta
	if !(truth.Mean-sample.Mean > 6*(truth.SE+sample.SE)) || !(sample.Mean-random.Mean > 6*(sample.SE+random.SE)) {
		t.Errorf("eta truth %v, sample %v, random %v: want them in this order", truth, sample, random)
	}
	// 6 standard errors: a false alarm has probability 2e-9.
	if !(math.Abs(random.Mean-1) < 6*random.SE) {
		t.Errorf("eta of random selection %v ± %v, want 1", random.Mean, random.SE)
	}
}

// TestStandardErrors compares the error of 400 replicates with the spread of
// 240 independent repetitions. Were the error right, the ratio of the two
// would leave 1 ± 0.3 with probability 8e-8 a figure, 5e-7 in all (chi-square,
// 239 degrees). An error that forgets the covariances is 1.7 to 2.2 times too
// large for eta, progress and eta_token (tried), which this misses with
// probability below 1e-6.
func TestStandardErrors(t *testing.T) {
	const repeats = 240
	figures := []string{"eta", "signal", "progress", "ineffective", "eta_batch_mean", "eta_token"}
	const pop = "beta:a=0.3,b=0.7,tokens=100,tokens-slope=2"
	values := map[string]*moments{}
	claimed := map[string]float64{}
	for i := range repeats {
		cfg := config(pop, 400)
		cfg.Seed = uint64(1000 + i)
		r := run(t, cfg, synthetic(t, pop, 16), "vigor")
		for _, f := range r.Strategies[0].Named() {
			if values[f.Name] == nil {
				values[f.Name] = newMoments(1)
			}
			values[f.Name].add([]float64{f.Estimate.Mean})
			claimed[f.Name] += f.Estimate.SE / repeats
		}
	}
	for _, name := range figures {
		m := values[name]
		spread := math.Sqrt(m.cov(0, 0) * m.n)
		if ratio := claimed[name] / spread; !(ratio > 0.7 && ratio < 1.3) {
			t.Errorf("%s: mean error %v, spread over seeds %v", name, claimed[name], spread)
		}
	}
}

// TestAllocationBins puts p = 0.04, 0.09, 0.5, 0.99 and 1 into bins a twentieth
// wide, the last two into the last one, and gives the best two 6 rollouts.
func TestAllocationBins(t *testing.T) {
	tab := &table.Table{Name: "t"}
	for _, s := range []int{4, 9, 50, 99, 100} {
		tab.Rows = append(tab.Rows, table.Row{PromptID: fmt.Sprint(s), N: 100, S: s})
	}
	src := func() (rollout.TruthSource, error) { return source.NewTable(tab, source.DrawReplacement, 0) }
	o := run(t, config("t", 4), src, "vigor:rounds=2,select=truth,cut=floor,ties=index").Strategies[0]
	want := map[int][2]float64{0: {0.2, 2}, 1: {0.2, 6}, 10: {0.2, 6}, 19: {0.4, 2}}
	for i, b := range o.Allocation {
		if w := want[i]; b.Share != w[0] || b.Rollouts.Mean != w[1] || (b.Rollouts.Reason == "") != (w[0] > 0) {
			t.Errorf("bin [%v, %v): share %v, %+v rollouts, want %v", b.Low, b.High, b.Share, b.Rollouts, w)
		}
	}
}

// TestTokenFigures works them by hand: a prompt with p = 1/2 and 10 tokens a
// rollout gets 6 rollouts, one with p = 0 and 30 tokens 2. They cost 120 tokens,
// 60 a prompt, for the weight 6*1; one rollout of each costs 40 for 1. So eta a
// token is (6/120)/(1/40) = 2. The fixed groups of 4 cost 160, so the signal a
// token gains 160/120 beside the signal a rollout. Fresh groups cost as much
// again.
func TestTokenFigures(t *testing.T) {
	tab := &table.Table{Name: "t", HasTokens: true, Rows: []table.Row{
		{PromptID: "a", N: 8, S: 4, Tokens: 10}, {PromptID: "b", N: 8, S: 0, Tokens: 30},
	}}
	src := func() (rollout.TruthSource, error) { return source.NewTable(tab, source.DrawReplacement, 0) }
	r := run(t, config("t", 50), src, "vigor:rounds=2,select=truth", "vigor:rounds=2,select=truth,reuse=false")
	for i, cost := range []float64{1, 2} {
		o := r.Strategies[i]
		for _, f := range []struct {
			name      string
			got, want float64
		}{
			{"tokens a prompt", o.TokensPerPrompt.Mean, 60 * cost},
			{"eta a token", o.EtaToken.Mean, 2 / cost},
			{"signal a token", o.SignalToken.Mean, o.SignalRelative.Mean * 160 / (120 * cost)},
		} {
			if !(math.Abs(f.got-f.want) < 1e-12*f.want) {
				t.Errorf("%s: %s = %v, want %v", o.Strategy, f.name, f.got, f.want)
			}
		}
	}
}

// TestOutcomesAreWhatTheStrategySaw: fresh groups are drawn and charged after
// the strategy has chosen, so what it saw is the same without them.
func TestOutcomesAreWhatTheStrategySaw(t *testing.T) {
	const pop = "uniform:tokens=100"
	outcomes := func(spec string) *rollout.Batch {
		b, err := Outcomes(context.Background(), config(pop, 1), synthetic(t, pop, 16), parse(spec))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	reused, fresh := outcomes("vigor:ties=index"), outcomes("vigor:ties=index,reuse=false")
	if !reflect.DeepEqual(fresh, reused) {
		t.Errorf("with fresh groups %+v, without %+v", *fresh, *reused)
	}
}

func TestDeadPopulation(t *testing.T) {
	for _, p := range []string{"point:p=0", "point:p=1"} {
		o := run(t, config(p, 10), synthetic(t, p, 8), "vigor").Strategies[0]
		for _, e := range []Estimate{o.Eta, o.EtaGenerated, o.EtaBatchMean, o.Progress, o.SignalRelative} {
			if e.Reason == "" {
				t.Errorf("%s: a figure %+v, want a reason why it does not exist", p, e)
			}
		}
		if o.Ineffective.Mean != 1 || o.Signal.Mean != 0 || o.ZeroVarianceGroups.Mean != 1 {
			t.Errorf("%s: ineffective %v, signal %v, want 1 and 0", p, o.Ineffective.Mean, o.Signal.Mean)
		}
	}
}

func TestOneReplicateHasNoError(t *testing.T) {
	o := run(t, config("uniform", 1), synthetic(t, "uniform", 8), "vigor").Strategies[0]
	if !math.IsNaN(o.Signal.SE) || math.IsNaN(o.Signal.Mean) {
		t.Errorf("signal %+v, want a mean and no error", o.Signal)
	}
}

func TestAggregatePrompt(t *testing.T) {
	cfg := config("uniform", 200)
	byRollout := run(t, cfg, synthetic(t, "uniform", 64), "vigor").Strategies[0]
	cfg.Aggregate = AggregatePrompt
	byPrompt := run(t, cfg, synthetic(t, "uniform", 64), "vigor").Strategies[0]
	if byPrompt.Signal != byRollout.SignalPromptMean {
		t.Errorf("signal by prompt %v, want the prompt mean %v", byPrompt.Signal, byRollout.SignalPromptMean)
	}
	if !(math.Abs(byPrompt.Eta.Mean-1) < 1e-12) {
		t.Errorf("eta by prompt %v, want 1: every prompt weighs the same", byPrompt.Eta.Mean)
	}
	if byPrompt.EtaGenerated.Reason == "" {
		t.Error("eta per generated rollout exists under prompt-mean")
	}
}

// failing answers a few draws and then fails.
type failing struct {
	rollout.TruthSource
	left int
	err  error
}

func (f *failing) Draw(ctx context.Context, ask []rollout.Request, first, s, tokens []int) error {
	if f.left--; f.left < 0 {
		return f.err
	}
	return f.TruthSource.Draw(ctx, ask, first, s, tokens)
}

func TestSourceErrorStopsTheRun(t *testing.T) {
	broken := errors.New("broken")
	inner := synthetic(t, "uniform", 8)
	src := func() (rollout.TruthSource, error) {
		s, err := inner()
		return &failing{s, 20, broken}, err
	}
	_, err := Run(context.Background(), config("uniform", 1000), src, parseAll("vigor"))
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "vigor:m0=2") {
		t.Errorf("error %v, want it to name the strategy and wrap the cause", err)
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cfg := config("uniform", 1_000_000_000)
	cfg.Progress = func(done, _ int) {
		if done > 100 {
			cancel()
		}
	}
	finished := make(chan error, 1)
	go func() {
		_, err := Run(ctx, cfg, synthetic(t, "uniform", 64), parseAll("vigor"))
		finished <- err
	}()
	select {
	case err := <-finished:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want context.Canceled", err)
		}
	case <-time.After(5 * time.Minute):
		t.Fatal("a cancelled run does not stop")
	}
}

// TestInOrderEndsAtOnce: no job is begun after the end, also where it is given out already
// and takes no note of ctx.
func TestInOrderEndsAtOnce(t *testing.T) {
	for range 100 {
		ctx, cancel := context.WithCancel(context.Background())
		begun := 0
		work := func(_ context.Context, i int) (int, error) {
			begun++
			if i == 9 {
				time.Sleep(time.Millisecond) // the next is given out meanwhile, or the fault is missed
				cancel()
			}
			return i, nil
		}
		err := InOrder(ctx, 1, 100, func() (func(context.Context, int) (int, error), error) { return work, nil }, func(int, int) error { return nil })
		if !errors.Is(err, context.Canceled) || begun != 10 {
			t.Fatalf("%v after %d jobs, want that it is cancelled after 10", err, begun)
		}
	}
}

func TestBlocks(t *testing.T) {
	for _, replicates := range []int{1, 2, 255, 256, 511, 513, 1000, 100_001} {
		b := blocksOf(replicates)
		next := 0
		for i := range b.count() {
			first, n := b.at(i)
			if first != next || n < 1 {
				t.Fatalf("%d replicates: block %d is [%d, %d), want it to start at %d", replicates, i, first, first+n, next)
			}
			next += n
		}
		if next != replicates {
			t.Errorf("%d replicates: blocks hold %d", replicates, next)
		}
	}
}

// TestMemoryIsFlat runs ten times as many replicates: what is allocated in
// all, garbage included, grows by the tallies that may wait for their turn at
// most, some hundred kilobytes that depend on how goroutines meet. 8 bytes a
// replicate would be 1.4 MB more.
func TestMemoryIsFlat(t *testing.T) {
	allocated := func(replicates int) uint64 {
		var before, after runtime.MemStats
		cfg := config(tp15, replicates)
		src := synthetic(t, tp15, 64)
		runtime.ReadMemStats(&before)
		run(t, cfg, src, "vigor", "fixed:g=8")
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	small, large := allocated(20_000), allocated(200_000)
	if large > small+1_000_000 {
		t.Errorf("%d bytes for 20,000 replicates, %d for 200,000", small, large)
	}
}

func TestConfigRefuses(t *testing.T) {
	cfg := Config{Aggregate: "both", Frontier: math.NaN()}
	_, err := Run(context.Background(), cfg, synthetic(t, "uniform", 8), nil)
	for _, want := range []string{"replicates = 0", "workers = 0", "aggregate = both", "frontier = NaN"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
	if _, err := source.NewSynthetic(population(t, "uniform").Law, nil, 0); err == nil {
		t.Error("a batch of 0 is accepted")
	}
}

// TestSteadyStateAllocatesNothing runs replicates after warming up.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	if testing.CoverMode() != "" || raceEnabled {
		t.Log("allocations are counted without instrumentation")
		return
	}
	cfg := config(tp15, 1)
	w, err := newWorker(&cfg, synthetic(t, tp15, 256), parseAll("vigor", "fixed:g=8"))
	if err != nil {
		t.Fatal(err)
	}
	tally := w.newTally()
	i := uint64(0)
	step := func() {
		i++
		if err := w.replicate(context.Background(), stream.New(i)); err != nil {
			t.Fatal(err)
		}
		tally.add(w)
	}
	for range 50 {
		step()
	}
	if n := testing.AllocsPerRun(200, step); n != 0 {
		t.Errorf("%v allocations a replicate, want 0", n)
	}
}

// TestPerfect compares RunPerfect with the engine's own perfect selection: the
// same law, drawn and summed by other code. They are independent, so the
// difference has the joint error; 6 of them have probability 2e-9, and a
// difference of 8.4 is missed with 1 %.
func TestPerfect(t *testing.T) {
	const pop = "pareto-variance:shape=1.5,min=0.01,max=1"
	whole := run(t, config(pop, 2000), synthetic(t, pop, 64), "vigor:select=truth").Strategies[0]
	engine := whole.Eta
	s, err := strategy.Parse("vigor:select=truth", noFile)
	if err != nil {
		t.Fatal(err)
	}
	r, err := RunPerfect(context.Background(), config("other", 2000), population(t, pop).Variance, 64, []strategy.Strategy{s})
	if err != nil {
		t.Fatal(err)
	}
	got := r.Strategies[0].Eta
	if d := got.Mean - engine.Mean; !(math.Abs(d) < 6*math.Hypot(got.SE, engine.SE)) {
		t.Errorf("perfect selection %v ± %v, engine %v ± %v", got.Mean, got.SE, engine.Mean, engine.SE)
	}
	o := r.Strategies[0] // rounds and sizes come from the schedule alone
	if o.Rounds != whole.Rounds || !slices.Equal(o.GroupSizes, whole.GroupSizes) {
		t.Errorf("rounds %v, sizes %v, want those of the engine: %v, %v", o.Rounds, o.GroupSizes, whole.Rounds, whole.GroupSizes)
	}
}

func TestPerfectOnUnboundedLaws(t *testing.T) {
	law := population(t, "pareto-variance:shape=1.5,min=0.01").Variance
	perfect := func(spec string) (*Result, error) {
		s, err := strategy.Parse(spec, noFile)
		if err != nil {
			t.Fatal(err)
		}
		return RunPerfect(context.Background(), config("p", 100), law, 32, []strategy.Strategy{s})
	}
	for _, spec := range []string{"vigor", "fixed:g=4,prompts=2"} {
		if _, err := perfect(spec); !errors.Is(err, rollout.ErrNoRewards) {
			t.Errorf("%s: error %v, want %v", spec, err, rollout.ErrNoRewards)
		}
	}
	r, err := perfect("vigor:select=truth")
	if err != nil {
		t.Fatal(err)
	}
	o := r.Strategies[0]
	if o.Eta.Untrusted == "" || o.EtaBatchMean.Untrusted != "" || o.Signal.Reason == "" {
		t.Errorf("eta %+v, batch mean %+v, signal %+v: want eta untrusted and no signal", o.Eta, o.EtaBatchMean, o.Signal)
	}
	if r, err = perfect("fixed:g=8"); err != nil || r.Strategies[0].Eta.Mean != 1 || r.Strategies[0].Eta.Untrusted != "" {
		t.Errorf("fixed groups: %+v, %v, want eta = 1", r, err)
	}
	cfg := config("p", 100)
	cfg.Aggregate = AggregatePrompt
	truth, err := strategy.Parse("vigor:select=truth", noFile)
	if err != nil {
		t.Fatal(err)
	}
	if r, err = RunPerfect(context.Background(), cfg, law, 32, []strategy.Strategy{truth}); err != nil {
		t.Fatal(err)
	}
	if o := r.Strategies[0]; !(math.Abs(o.Eta.Mean-1) < 1e-12) || o.EtaGenerated.Reason == "" || o.RolloutsPerPrompt.Mean != 8 {
		t.Errorf("by prompt: eta %+v, per generated rollout %+v, want 1 and a reason", o.Eta, o.EtaGenerated)
	}
	law = population(t, "pareto-variance:shape=1,min=0.01").Variance
	if r, err = perfect("vigor:select=truth"); err != nil || r.Strategies[0].Eta.Reason == "" || r.Strategies[0].EtaBatchMean.Reason != "" {
		t.Errorf("E[u] is infinite: %+v, %v, want no eta but a mean over batches", r, err)
	}
	dead, err := RunPerfect(context.Background(), config("p", 10), population(t, "point:p=0").Law, 4, []strategy.Strategy{truth})
	if err != nil || dead.Strategies[0].Eta.Reason == "" || dead.Strategies[0].EtaBatchMean.Reason == "" {
		t.Errorf("dead prompts: %+v, %v, want no eta", dead, err)
	}
	if _, err := source.NewSynthetic(nil, nil, 8); !errors.Is(err, rollout.ErrNoRewards) {
		t.Errorf("rewards of an unbounded law: error %v, want %v", err, rollout.ErrNoRewards)
	}
}

// TestNothingSeen: a prompt that succeeds once in 1e9 rollouts shows nothing in
// 1,000 batches, which bounds the share of batches that would by the rule of
// three; where no reward can differ there is nothing to see, and no error.
func TestNothingSeen(t *testing.T) {
	for _, c := range []struct {
		s    int
		want float64
	}{{1, 1e-3}, {0, 0}} {
		tab := &table.Table{Name: "t", Rows: []table.Row{{PromptID: "a", N: 1_000_000_000, S: c.s}}}
		src := func() (rollout.TruthSource, error) { return source.NewTable(tab, source.DrawReplacement, 0) }
		o := run(t, config("t", 1000), src, "fixed:g=8").Strategies[0]
		if o.Signal != (Estimate{Mean: 0, SE: c.want}) || o.Ineffective != (Estimate{Mean: 1, SE: c.want}) {
			t.Errorf("%d of 1e9: signal %v, ineffective %v, want 0 and 1 ± %v", c.s, o.Signal, o.Ineffective, c.want)
		}
		if o.RolloutsPerPrompt.SE != 0 {
			t.Errorf("rollouts per prompt %v: want no error", o.RolloutsPerPrompt)
		}
	}
}
