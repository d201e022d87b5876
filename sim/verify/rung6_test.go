package verify

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"

	"vigorlab/sim"
	"vigorlab/sim/advantage"
	"vigorlab/sim/stream"
	"vigorlab/sim/train"
	"vigorlab/sim/train/trial"
	"vigorlab/theory"
)

func near(a, b, tol float64) bool { return math.Abs(a-b) <= tol*max(1, math.Abs(b)) }

// TestCalibrateGolden: two predictors beside testdata/calibration.py.
func TestCalibrateGolden(t *testing.T) {
	text, err := os.ReadFile("testdata/calibration.json")
	if err != nil {
		t.Fatal(err)
	}
	var g struct {
		Logs  [][]float64
		Cases []struct {
			Predicted []float64
			Mean, RMS [4]float64
			Rank      float64
		}
	}
	if err := json.Unmarshal(text, &g); err != nil {
		t.Fatal(err)
	}
	for _, want := range g.Cases {
		var cases []foretold
		for i, logs := range g.Logs {
			interval := [...]*[2]float64{{1.45, 1.55}, {1.1, 1.2}, nil}[i] // the second lies below 1.3
			cases = append(cases, foretold{logs: logs, interval: interval, predicted: want.Predicted[i]})
		}
		got := calibrate(cases)
		for what, pair := range map[string][2][4]float64{
			"mean": {{got.mean.value, got.mean.se, got.mean.low, got.mean.high}, want.Mean},
			"rms":  {{got.rms.value, got.rms.se, got.rms.low, got.rms.high}, want.RMS},
		} {
			for i := range pair[0] {
				if !near(pair[0][i], pair[1][i], 1e-9) {
					t.Errorf("%v: %s %v, want %v", want.Predicted, what, pair[0], pair[1])
				}
			}
		}
		if !near(got.rank, want.Rank, 1e-12) {
			t.Errorf("%v: rank correlation %v, want %v", want.Predicted, got.rank, want.Rank)
		}
		covered := 0
		if p := want.Predicted[0]; p >= 1.45 && p <= 1.55 {
			covered = 1
		}
		if got.cover != covered || got.cases != 3 {
			t.Errorf("%v: %d of %d covered, want %d of 3", want.Predicted, got.cover, got.cases, covered)
		}
	}
	if got := midranks([]float64{2, 2 + 1e-14, 1, 3}); !reflect.DeepEqual(got, []float64{2.5, 2.5, 1, 4}) {
		t.Errorf("ranks %v", got)
	}
	alike := calibrate([]foretold{{logs: []float64{0, .1, .2}, predicted: 1}, {logs: []float64{.3, .1, .2}, predicted: 1}})
	if !math.IsNaN(alike.rank) || !strings.Contains(alike.String(), "no rank correlation") {
		t.Errorf("rank correlation %v of predictions that are all alike: %s", alike.rank, alike)
	}
}

// TestWrongPredictorIsCaught: a predictor that is right, one that is too low by 8
// percent, one by 30, one whose errors cancel, and seeds that cannot tell.
func TestWrongPredictorIsCaught(t *testing.T) {
	noise := func(size float64) []foretold {
		cases := make([]foretold, 6)
		for i := range cases {
			truth := 1 + 0.3*float64(i)
			r := stream.Rand(stream.New(7).With(uint64(i)))
			for range 8 {
				cases[i].logs = append(cases[i].logs, math.Log(truth)+size*r.NormFloat64())
			}
			cases[i].predicted = truth
		}
		return cases
	}
	for _, c := range []struct {
		name  string
		noise float64
		off   func(i int) float64
		want  Verdict
	}{
		{"right", .02, func(int) float64 { return 1 }, Holds},
		{"8 percent low", .02, func(int) float64 { return 1 / 1.08 }, HoldsWithin},
		{"30 percent low", .02, func(int) float64 { return 1 / 1.3 }, Fails},
		{"errors that cancel", .02, func(i int) float64 { return math.Exp(.3 * float64(2*(i%2)-1)) }, Fails},
		{"seeds that cannot tell", .5, func(int) float64 { return 1 }, Untestable},
		{"20 percent low, but for all that seeds tell", .5, func(int) float64 { return 1 / 1.2 }, Untestable},
	} {
		cases := noise(c.noise)
		for i := range cases {
			cases[i].predicted *= c.off(i)
		}
		row := judged(Row{}, calibrate(cases))
		if row.Verdict != c.want || row.Kind != Claim || row.Test != predictorTest || (row.Reason == "") {
			t.Errorf("%s: %s, want %s: %v %v; %s", c.name, row.Verdict, c.want, *row.Estimate, *row.Interval, row.Note)
		}
	}
}

// TestTrainingMeanFieldIsTheFlow: of fixed groups, whose rate is that of a prompt
// alone, the path is sim/train's exact flow.
func TestTrainingMeanFieldIsTheFlow(t *testing.T) {
	const dt, target = 0.02, 0.7
	l, err := rewarding(popBeta55)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		spec string
		e    advantage.Estimator
	}{{"grpo", advantage.GRPO{}}, {"drgrpo", advantage.DrGRPO{}}, {"rloo", advantage.RLOO{}}} {
		p, err := train.NewPolicy("logit:floor=0.01", l, 20, stream.New(1))
		if err != nil {
			t.Fatal(err)
		}
		path, err := training(logitNodes(p), "fixed:g=5", c.spec, sim.AggregateRollout)
		if err != nil {
			t.Fatal(err)
		}
		want, err := path.Arrivals(target)
		if err != nil {
			t.Fatal(err)
		}
		rate, err := train.GroupRate(c.e, 5)
		if err != nil {
			t.Fatal(err)
		}
		flow := train.NewFlow(p, rate)
		before, after, steps := 0.0, 0.0, 0
		for ; after < target; steps++ {
			before = after
			flow.Advance(dt * 20) // the flow of a mean over 20 prompts
			after = 0
			for _, n := range logitNodes(p) {
				after += n.W * n.P
			}
		}
		time := dt * (float64(steps) - (after-target)/(after-before))
		if !near(time/want[0].Time, 1, 2*want[0].Error+1e-4) {
			t.Errorf("%s: the flow takes %v, the path %v with error %v", c.spec, time, want[0].Time, want[0].Error)
		}
	}
}

// TestPathRow works the extrapolation by hand, and a path that is wrong by 5 %
// beside runs that agree to a thousandth.
func TestPathRow(t *testing.T) {
	logs := [2][]float64{{.05, .03, .04, .04}, {.02, .03, .02, .01}}
	row := pathRow(pathCases[0], logs, theory.Arrival{Error: .001})
	// Means .04 and .02, deviations sqrt(.0002/3) both, so errors .00408.
	if !near(*row.Estimate, 1, 1e-12) || !near(row.Bias, .021, 1e-9) || !near(*row.SE, math.Hypot(2, 1)*math.Sqrt(.0002/3)/2, 1e-9) || *row.P != 1 {
		t.Errorf("%v ± %v with bias %v, p = %v", *row.Estimate, *row.SE, row.Bias, *row.P)
	}
	wrong := [2][]float64{{.051, .052, .053, .052}, {.051, .052, .051, .052}}
	if row := pathRow(pathCases[0], wrong, theory.Arrival{}); !(*row.P < 1e-6) {
		t.Errorf("a path that is 5 %% too fast: p = %v", *row.P)
	}
}

// TestLogRatios: the reference's report at its best rate over the arm's at its
// own, seed by seed.
func TestLogRatios(t *testing.T) {
	record := func(arm, rate, seed, rollouts int) trial.Record {
		r := trial.Record{Job: trial.Job{Phase: trial.PhaseReport, Arm: arm, Rate: rate, Seed: seed}, Levels: []*trial.Spent{nil, nil}}
		if rollouts > 0 {
			r.Levels[1] = &trial.Spent{Rollouts: rollouts}
		}
		return r
	}
	r := &trial.Result{Seeds: 2, Common: 1, Arms: []trial.ArmResult{{Best: 1}, {Best: 0}}}
	records := []trial.Record{
		record(0, 1, 0, 100), record(0, 1, 1, 300),
		record(1, 0, 0, 50), record(1, 0, 1, 100), record(1, 1, 0, 7), record(1, 1, 1, 7),
	}
	if got := logRatios(r, 1, records); len(got) != 2 || !near(got[0], math.Log(2), 1e-12) || !near(got[1], math.Log(3), 1e-12) {
		t.Errorf("%v, want the logarithms of 2 and 3", got)
	}
	records[3] = record(1, 0, 1, 0)
	if got := logRatios(r, 1, records); got != nil {
		t.Errorf("%v of an arm that never reached the target", got)
	}
}

// TestSliceRows: a predictor that foretells nothing, a strategy that wins, one
// case that is left out, and the largest ratio beside the published one.
func TestSliceRows(t *testing.T) {
	s := slices6[0]
	ratio := func(strategy string, measured float64, predicted ...float64) Ratio {
		r := Ratio{Population: "uniform", Policy: tabular, Estimator: "grpo", Target: .9, Strategy: strategy, Seeds: 4, Predicted: make([]*float64, 5)}
		r.Measured, r.Low, r.High = number(measured), number(measured-.01), number(measured+.01)
		for _, e := range []float64{-.004, .004, -.002, .002} {
			r.Logs = append(r.Logs, math.Log(measured)+e)
		}
		for i, p := range predicted {
			r.Predicted[i] = number(p)
		}
		return r
	}
	never := ratio(vigorPlan, 3, 1, 1, 1, 1, 1)
	never.Measured, never.Logs, never.Reason = nil, nil, "never reached"
	ratios := []Ratio{
		ratio(vigorPlan, 1.5, 1.1, 1.2, 1.3, 2, 1.5), ratio(vigorTwo, 1.2, 1, 1.1, 1.2, 1.3, 1.2), never,
		ratio("fixed:g=2", 1.8, 0, 0, 0, 2, 1.8), ratio("fixed:g=16", .6, 0, 0, 0, .5, .6),
	}
	rows := map[string]Row{}
	for _, row := range s.rows(ratios) {
		rows[row.ID] = row
	}
	for id, want := range map[string]Verdict{
		"eta^(1/3)": Fails, "path": Holds, "progress": Fails, "path-of-fixed-groups": Holds,
		vigorPlan: Untestable, vigorTwo: Holds, "fixed:g=16": Fails, "published": Fails,
	} {
		if rows[id].Verdict != want {
			t.Errorf("%s: %s, want %s: %+v", id, rows[id].Verdict, want, rows[id])
		}
	}
	for id, want := range map[string]string{
		"eta^(1/3)": "eta^(1/3) predicts within 0.05, root mean square error of the logarithm, how many times fewer rollouts VIGOR needs to a target, averaged over rollouts, all at one small rate",
		"path":      "path (the mean field of training, step after step) predicts within 0.05, root mean square error of the logarithm, how many times fewer rollouts VIGOR needs to a target, averaged over rollouts, all at one small rate",
	} {
		if got := rows[id].Claim; got != want || *rows[id].Reference != 0.05 {
			t.Errorf("claim %q beside %v, want %q beside 0.05", got, *rows[id].Reference, want)
		}
	}
	if got := *rows["published"].Estimate; got != 1.5 {
		t.Errorf("the largest ratio is %v, want 1.5", got)
	}
	if note := rows["path"].Note; !strings.Contains(note, "1 of 3") || !strings.Contains(note, "2 of 2 95 % intervals") {
		t.Errorf("note %q does not say what is left out and covered", note)
	}
	coupled := ratio(vigorPlan, 2, 1, 1, 1, 1, 1.5)
	coupled.Policy = linked
	for _, row := range s.rows(append(ratios, coupled)) {
		rows[row.ID] = row
	}
	if own, shared := rows["path-of-uncoupled-prompts"].Verdict, rows["path-of-linked-prompts"].Verdict; own != Holds || shared != Fails {
		t.Errorf("uncoupled prompts: %s, linked ones: %s, want that the path holds of the first alone", own, shared)
	}
	for want, interval := range map[Verdict]*[2]float64{Holds: {1.01, 1.2}, Fails: {.8, .99}, Untestable: {.9, 1.2}} {
		if row := readOff(Row{Estimate: number(.95), Interval: interval}, 1); row.Verdict != want || row.Reason == "" {
			t.Errorf("an interval of %v: %s, want %s", *interval, row.Verdict, want)
		}
	}
	for _, row := range s.rows([]Ratio{never}) {
		if row.Verdict != Untestable || row.Reason == "" {
			t.Errorf("%s of a case that never ended: %+v", row.ID, row)
		}
	}
}

// TestSliceWorkersAgree: the same records and figures for any number of workers,
// and through JSON.
func TestSliceWorkersAgree(t *testing.T) {
	s := slice{sim.AggregateRollout, bestRate}
	w := world{population: popUniform, levels: []float64{.6, .75}, policy: tabular, estimator: "grpo"}
	var last []Ratio
	for _, workers := range []int{1, 3} {
		e := &env{cfg: &Config{Seed: 1, Workers: workers, Quick: true}, study: "6.rollout-best"}
		foretold, err := s.foretell(context.Background(), e, []world{w})
		if err != nil {
			t.Fatal(err)
		}
		r, records, arms, err := s.train(context.Background(), e, w)
		if err != nil {
			t.Fatal(err)
		}
		var ratios []Ratio
		for a := 1; a < len(arms); a++ {
			ratios = append(ratios, s.ratio(w, arms[a], r, a, records, foretold[forecastKey{w.population, w.estimator, arms[a]}]))
		}
		text, err := json.Marshal(ratios)
		if err != nil {
			t.Fatal(err)
		}
		var read []Ratio
		if err := json.Unmarshal(text, &read); err != nil || !reflect.DeepEqual(read, ratios) {
			t.Errorf("%v: ratios change on their way through JSON", err)
		}
		if last != nil && !reflect.DeepEqual(last, ratios) {
			t.Error("ratios differ by workers")
		}
		last = ratios
	}
}

// TestForecasts: eta to its exponents, progress as theory.md, 4.6 has it, nothing
// for a strategy without a theory, and a reference of 1.
func TestForecasts(t *testing.T) {
	e := &env{cfg: &Config{Workers: 2}}
	w := world{population: popUniform, levels: []float64{.6, .9}, policy: tabular, estimator: "grpo"}
	all, err := slices6[0].foretell(context.Background(), e, []world{w})
	if err != nil {
		t.Fatal(err)
	}
	got := all[forecastKey{popUniform, "grpo", vigorPlan}].ratios()
	for i, want := range []float64{math.Cbrt(1.1922408), math.Sqrt(1.1922408), 1.1922408, 1.2467} {
		if got[i] == nil || !near(*got[i], want, 1e-4) {
			t.Errorf("%s: %v, want %v", PredictorNames[i], got[i], want)
		}
	}
	// A pin: TestTrainingGolden holds the path itself to values from elsewhere.
	if !near(*got[pathAt], 1.207, 2e-3) {
		t.Errorf("path: %v, want 1.207", *got[pathAt])
	}
	for _, x := range all[forecastKey{popUniform, "grpo", reference}].ratios()[progressAt:] {
		if !near(*x, 1, 1e-12) {
			t.Errorf("the reference has ratio %v", *x)
		}
	}
	var none *forecast
	for _, x := range none.ratios() {
		if x != nil {
			t.Errorf("a strategy without a theory has ratio %v", *x)
		}
	}
}
