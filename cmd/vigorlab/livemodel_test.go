package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"vigorlab/distributions"
	"vigorlab/distributions/fit"
	"vigorlab/distributions/spec"
	"vigorlab/sim"
	"vigorlab/sim/rollout"
	"vigorlab/sim/source/live"
	"vigorlab/sim/source/live/tinymodel"
	"vigorlab/sim/strategy"
	"vigorlab/sim/stream"
	"vigorlab/theory"
)

// realFalseAlarm is the rate at which a test on the real model finds something
// in a run of the right law.
const realFalseAlarm = 1e-6

// TestRealModel runs strategies on the project's own model, whose exact success
// probabilities are known, behind one real server.
func TestRealModel(t *testing.T) {
	base := tinymodel.Start(t, tinymodel.Options{})
	t.Run("vigor", func(t *testing.T) { testServedVigor(t, base) })
	t.Run("killed", func(t *testing.T) { testServedKilled(t, base) })
	t.Run("table", func(t *testing.T) { testServedTable(t, base) })
	t.Run("make live", testMakeLive)
}

// exactRates returns the exact success probabilities of the model's prompts, which
// nobody changes.
var exactRates = sync.OnceValue(func() []float64 {
	var rates []float64
	for _, p := range tinymodel.Problems() {
		rates = append(rates, p.Rate)
	}
	return rates
})

// exactLaw is the law of a prompt of the model, each as likely.
func exactLaw(t *testing.T) *distributions.Atoms {
	t.Helper()
	var nodes []distributions.Node
	for _, p := range exactRates() {
		nodes = append(nodes, distributions.Node{P: p, W: 1 / float64(len(exactRates()))})
	}
	law, err := distributions.NewAtoms(nodes)
	if err != nil {
		t.Fatal(err)
	}
	return law
}

// The figures of a run that are compared: of the update, and the mean rollouts of
// the prompts in every class of exact rates.
var (
	servedFigures = []string{"ineffective share", "zero-variance groups", "signal", "rollouts at p < 0.1", "at 0.1 <= p < 0.5", "at 0.5 <= p < 0.9", "at p >= 0.9"}
	servedClasses = []float64{0.1, 0.5, 0.9}
)

// class returns the figure that a prompt's rollouts are in.
func class(p float64) int {
	at := len(servedFigures) - len(servedClasses) - 1
	for _, end := range servedClasses {
		if p >= end {
			at++
		}
	}
	return at
}

// figuresOf returns the figures of one batch, from the counts of its update.
func figuresOf(rates []float64, n, s []int) []float64 {
	out, prompts := make([]float64, len(servedFigures)), make([]float64, len(servedFigures))
	total := 0.0
	for x, p := range rates {
		g, k := float64(n[x]), float64(s[x])
		total += g
		if s[x] == 0 || s[x] == n[x] {
			out[0] += g
			out[1] += 1 / float64(len(rates))
		}
		out[2] += 2 * math.Sqrt(k*(g-k))
		out[class(p)] += g
		prompts[class(p)]++
	}
	out[0] /= total
	out[2] /= total
	for i := range out {
		if prompts[i] > 0 {
			out[i] /= prompts[i]
		}
	}
	return out
}

// meanFieldFigures returns the same figures of the mean field.
func meanFieldFigures(t *testing.T, v *strategy.Vigor) []float64 {
	t.Helper()
	field, err := theory.VigorMeanField(exactLaw(t), v.Plan(), 0.75, theory.DefaultNodes)
	if err != nil {
		t.Fatal(err)
	}
	out, weights := make([]float64, len(servedFigures)), make([]float64, len(servedFigures))
	out[0], out[1], out[2] = field.Ineffective, field.ZeroVarianceGroups, field.Signal
	for _, node := range field.Allocation {
		out[class(node.P)] += node.W * node.Rollouts
		weights[class(node.P)] += node.W
	}
	for i, w := range weights {
		if w > 0 {
			out[i] /= w
		}
	}
	return out
}

// A coins is a source of one batch of prompts of known rates, a coin a rollout. It
// answers for prompt x with the rollouts of prompt x + wrong.
type coins struct {
	rates []float64
	wrong int
	key   stream.Key
}

func (c *coins) Reset(key stream.Key) (int, error) {
	c.key = key
	return len(c.rates), nil
}

func (c *coins) Draw(_ context.Context, ask []rollout.Request, first, s, _ []int) error {
	for i, q := range ask {
		s[i] = 0
		key, p := c.key.With(uint64(q.X)), c.rates[(q.X+c.wrong)%len(c.rates)]
		for k := range q.N {
			if key.Uniform(uint64(first[i]+k)) < p {
				s[i]++
			}
		}
	}
	return nil
}

// spread returns mean and standard deviation of the figures over simulated batches.
func spread(t *testing.T, s strategy.Strategy, src rollout.Source, batches int) (mean, sd []float64) {
	t.Helper()
	mean, sd = make([]float64, len(servedFigures)), make([]float64, len(servedFigures))
	for k := range batches {
		o, err := sim.Observe(t.Context(), src, s, false, 0, stream.New(20260101).With(uint64(k)))
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range figuresOf(exactRates(), o.TrainedN, o.TrainedS) {
			d := x - mean[i]
			mean[i] += d / float64(k+1)
			sd[i] += d * (x - mean[i])
		}
	}
	for i := range sd {
		sd[i] = math.Sqrt(sd[i] / float64(batches-1))
	}
	return mean, sd
}

// servedBias bounds how far the finite batch of the model's 128 prompts is from the
// mean field, figure by figure, in standard deviations of one batch. The test checks
// it on simulated batches.
const servedBias = 0.15

// testServedVigor compares VIGOR on the served model, through the client and the
// live source, with the mean field of the exact rates: means over eight batches of
// all 128 prompts, seeds fixed.
//
// A figure of a batch is a mean over 128 prompts that cuts tie together, whose
// standard deviation comes from 5,000 simulated batches; means of eight are taken for
// normal. A run of the right law fails in one of the figures with probability 1e-6
// at most, the finite batch allowed for by servedBias. One whose counts go to the
// neighbour of the prompt that they belong to passes with probability 1e-3 at most,
// which the test works out.
func testServedVigor(t *testing.T, base string) {
	const runs, batches = 8, 5000
	s, err := strategy.Parse("vigor", spec.Opener(nil))
	if err != nil {
		t.Fatal(err)
	}
	v := s.(*strategy.Vigor)
	want := meanFieldFigures(t, v)
	simulated, sd := spread(t, s, &coins{rates: exactRates()}, batches)
	wrong, wrongSD := spread(t, s, &coins{rates: exactRates(), wrong: 1}, batches/5)

	before := tinymodel.Drawn(t, base)
	got := make([]float64, len(want))
	for k := range runs {
		o := servedBatch(t, base, s, uint64(k+1))
		for i, x := range figuresOf(exactRates(), o.TrainedN, o.TrainedS) {
			got[i] += x / runs
		}
	}
	budget := runs * v.Budget(len(exactRates()))
	if drawn := tinymodel.Drawn(t, base) - before; drawn != budget {
		t.Errorf("the server has drawn %d completions, want %d", drawn, budget)
	}
	z := distuv.UnitNormal.Quantile(1 - realFalseAlarm/2/float64(len(want)))
	missed := distuv.UnitNormal.Quantile(1 - 1e-3)
	seen := false
	for i, name := range servedFigures {
		tol := z*sd[i]/math.Sqrt(runs) + servedBias*sd[i]
		t.Logf("%-22s served %.4f, mean field %.4f ± %.4f, simulated %.4f ± %.4f", name, got[i], want[i], tol, simulated[i], sd[i]/math.Sqrt(batches))
		if !(math.Abs(got[i]-want[i]) < tol) {
			t.Errorf("%s: %.4f, want %.4f ± %.4f", name, got[i], want[i], tol)
		}
		if !(math.Abs(simulated[i]-want[i]) < servedBias*sd[i]-z*sd[i]/math.Sqrt(batches)) {
			t.Errorf("%s: a batch is at %.4f, the mean field at %.4f, want at most %.1f standard deviations of %.4f between them", name, simulated[i], want[i], servedBias, sd[i])
		}
		seen = seen || math.Abs(wrong[i]-want[i]) > tol+missed*wrongSD[i]/math.Sqrt(runs)
	}
	if !seen {
		t.Errorf("counts of the wrong prompt, with the figures %.3f, are missed with a probability above 1e-3", wrong)
	}
}

// servedBatch lets a strategy spend one batch on the served model.
func servedBatch(t *testing.T, base string, s strategy.Strategy, seed uint64) *sim.Observation {
	t.Helper()
	c := live.DefaultConfig()
	c.BaseURLs, c.Model = []string{base}, tinymodel.ModelName
	c.Sampling.MaxTokens, c.Sampling.Seed = tinymodel.MaxTokens, &seed
	client, err := live.NewClient(c)
	if err != nil {
		t.Fatal(err)
	}
	answers := &live.Served{Completer: client}
	problems := tinymodel.Problems()
	for _, p := range problems {
		answers.Prompts = append(answers.Prompts, p.Prompt)
	}
	answers.Grade = func(_ context.Context, x, _ int, c live.Completion) (live.Judgement, error) {
		return live.Judgement{Success: c.Text == problems[x].Answer}, nil
	}
	src, err := live.NewSource(live.SourceConfig{Answerer: answers, Concurrency: c.Concurrency, Most: client.Most, Served: true})
	if err != nil {
		t.Fatal(err)
	}
	o, err := sim.Observe(t.Context(), src, s, true, 0, stream.New(seed))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// newRealRun returns a run of the command on the model's prompts.
func newRealRun(t testing.TB, base, strategy string, args ...string) *liveRun {
	t.Helper()
	r := newLiveRun(t, base, args...)
	prompts, err := filepath.Abs("../../sim/source/live/tinymodel/testdata/prompts.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	r.strategy = strategy
	r.world = []string{
		"--model", tinymodel.ModelName, "--api", apiCompletions, "--prompts", prompts, "--verifier", "exact", "--max-tokens", fmt.Sprint(tinymodel.MaxTokens),
	}
	return r
}

// testServedKilled kills a run on the real server in the midst of rounds 1 and 2
// and goes on: by the server's own count the last sitting asks for exactly what is
// missing, and what the server drew is charged.
func testServedKilled(t *testing.T, base string) {
	const budget = 128 * 16
	r := newRealRun(t, base, "vigor:m0=4")
	first := tinymodel.Drawn(t, base)
	for _, kept := range []int{100, 600} { // of rounds of 512
		r.killAfter(kept)
	}
	kept, before := r.kept(), tinymodel.Drawn(t, base)
	if kept < 600 || kept >= budget || kept%512 == 0 {
		t.Errorf("%d rollouts are kept, want a part of a round", kept)
	}
	stderr := r.done()
	after, l := tinymodel.Drawn(t, base), r.results()
	if want := fmt.Sprintf("going on after the %d rollouts", kept); !strings.Contains(stderr, want) {
		t.Errorf("standard error is %q, want %q", stderr, want)
	}
	if n := r.checkReal(); n != budget || after-before != budget-kept {
		t.Errorf("%d rollouts, of which the server drew %d in the last sitting, want %d and %d", n, after-before, budget, budget-kept)
	}
	const inFlight = liveConcurrency * (4 + 8) // rollouts a request of either round
	drawn := after - first
	t.Logf("%d kept of %d; drawn in all %d, charged %d, of them extra %d", kept, budget, drawn, l.Ledger.Generated, l.Ledger.Extra)
	if l.Ledger.Generated != budget+l.Ledger.Extra || l.Ledger.Extra > inFlight || drawn > l.Ledger.Generated || drawn < budget {
		t.Errorf("ledger %+v, the server drew %d, want both within the %d in flight of %d", l.Ledger, drawn, inFlight, budget)
	}
}

// killAfter starts the command and kills it once so many rollouts are kept.
func (r *liveRun) killAfter(kept int) {
	r.t.Helper()
	cmd := r.command()
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	defer cmd.Wait() // it is killed
	defer cmd.Process.Kill()
	for deadline := time.Now().Add(2 * time.Minute); r.kept() < kept; time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			r.t.Fatalf("%d rollouts are kept after two minutes, want %d: %s", r.kept(), kept, cmd.Stderr)
		}
	}
}

// checkReal checks that every rollout of the run is there once and judged as its text
// without white space around it is, or as wrong where the limit on tokens cut it off,
// and returns how many.
func (r *liveRun) checkReal() int {
	r.t.Helper()
	answers := map[string]string{}
	for _, p := range tinymodel.Problems() {
		answers[p.ID] = p.Answer
	}
	file, err := os.Open(filepath.Join(r.dir, "run", "rollouts.jsonl"))
	if err != nil {
		r.t.Fatal(err)
	}
	defer file.Close()
	seen := map[string]bool{}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var l struct {
			PromptID   string `json:"prompt_id"`
			Index      int
			Completion string
			Success    bool
			Tokens     int
			Truncated  bool
		}
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			r.t.Fatal(err)
		}
		key := fmt.Sprint(l.PromptID, " ", l.Index)
		right := strings.TrimSpace(l.Completion) == answers[l.PromptID] && !l.Truncated
		if seen[key] || l.Success != right || l.Tokens < 1 {
			r.t.Errorf("there twice, or judged wrongly: %s", lines.Bytes())
		}
		seen[key] = true
	}
	if err := lines.Err(); err != nil {
		r.t.Fatal(err)
	}
	return len(seen)
}

// testServedTable takes a run of fixed groups through import, fit and plan. Figures
// of the fit by maximum likelihood over all laws (npmle), which no family restricts,
// are compared with what 400 such fits to simulated counts of the exact rates give:
// a run of the right law fails with probability 1e-6 at most, over all figures,
// taken for normal as means over 128 prompts. A law whose every rate p is p^2 is
// missed in E[p] with probability below 1e-6, which the test works out.
func testServedTable(t *testing.T, base string) {
	const g = 16
	r := newRealRun(t, base, fmt.Sprintf("fixed:g=%d", g))
	r.done()
	r.vigorlab("import", "run/rollouts.jsonl", "--out", "pilot.csv")
	if read(t, filepath.Join(r.dir, "pilot.csv")) == "" || readOutcomes(t, filepath.Join(r.dir, "pilot.csv"))["11+0"][0] != g {
		t.Errorf("import reads %s", read(t, filepath.Join(r.dir, "pilot.csv")))
	}
	var fitted struct {
		Families []struct {
			Family string
			MeanP  struct{ Estimate float64 } `json:"mean_p"`
			MeanU  struct{ Estimate float64 } `json:"mean_u"`
			Zero   []struct {
				G         int
				Predicted float64
			} `json:"zero_variance"`
		}
	}
	r.document(&fitted, "fit", "pilot.csv", "--family", "npmle", "--replicates", "2")
	if len(fitted.Families) != 1 {
		t.Fatalf("%d families are fitted, want npmle", len(fitted.Families))
	}
	f := fitted.Families[0]
	got := []float64{f.MeanP.Estimate, f.MeanU.Estimate, math.NaN()}
	for _, z := range f.Zero {
		if z.G == 8 {
			got[2] = z.Predicted
		}
	}
	mean, sd := fittedSpread(t, exactRates(), g, 400)
	var squares []float64
	for _, p := range exactRates() {
		squares = append(squares, p*p)
	}
	other, otherSD := fittedSpread(t, squares, g, 50)
	exact := lawFigures(exactLaw(t).Nodes(1))
	z := distuv.UnitNormal.Quantile(1 - realFalseAlarm/2/float64(len(got)))
	for i, name := range []string{"E[p]", "E[u]", "zero-variance groups of 8"} {
		t.Logf("%s: fitted %.4f, exact %.4f, fits to simulated counts %.4f ± %.4f", name, got[i], exact[i], mean[i], sd[i])
		if !(math.Abs(got[i]-mean[i]) < z*sd[i]) {
			t.Errorf("%s: fitted %.4f, want %.4f ± %.4f", name, got[i], mean[i], z*sd[i])
		}
		if !(math.Abs(mean[i]-exact[i]) < sd[i]) {
			t.Errorf("%s: fits to simulated counts are at %.4f, the exact law at %.4f, want less than a standard deviation of %.4f between them", name, mean[i], exact[i], sd[i])
		}
	}
	if missed := distuv.UnitNormal.Quantile(1 - 1e-6); !(math.Abs(other[0]-mean[0]) > z*sd[0]+missed*otherSD[0]) {
		t.Error("squared rates are missed with a probability above 1e-6")
	}
	var planned struct {
		Best struct {
			Strategy string
			Gain     struct{ Low, High float64 }
		}
	}
	r.document(&planned, "plan", "pilot.csv", "--batch", "128", "--group", "8")
	if b := planned.Best; !strings.HasPrefix(b.Strategy, "vigor") || !(b.Gain.Low > 1 && b.Gain.High > b.Gain.Low) {
		t.Errorf("the plan is %+v, want VIGOR with a gain above 1: half of the prompts are dead or solved", b)
	}
}

// testMakeLive runs the README's command.
func testMakeLive(t *testing.T) {
	r := &liveRun{t: t, dir: t.TempDir()}
	cmd := exec.Command("make", "--no-print-directory", "live", "LIVE="+filepath.Join(r.dir, "run"))
	cmd.Dir = "../.."
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if n, l := r.checkReal(), r.results(); n != 128*16 || l.Ledger.Generated != n || l.Ledger.Extra != 128*8 || l.Eta.Mean == nil || !strings.Contains(string(out), "\nround ") {
		t.Errorf("%d rollouts, results %+v: %s", n, l, out)
	}
	_, address, _ := strings.Cut(string(out), "--base-url ")
	if base, _, _ := strings.Cut(address, " "); !strings.HasPrefix(base, "http://127.0.0.1:") {
		t.Errorf("no server on loopback: %s", out)
	} else if response, err := http.Get(base + "/models"); err == nil {
		response.Body.Close()
		t.Errorf("the server is still there at %s", base)
	}
}

// vigorlab runs a command in the folder of the run and returns its output.
func (r *liveRun) vigorlab(args ...string) []byte {
	r.t.Helper()
	cmd := exec.Command("vigorlab", append(args, "--quiet")...)
	cmd.Dir = r.dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		r.t.Fatalf("%q: %v: %s", args, err, stderr.String())
	}
	return out
}

// document runs a command and reads its JSON document.
func (r *liveRun) document(into any, args ...string) {
	r.t.Helper()
	if err := json.Unmarshal(r.vigorlab(append(args, "--format", "json")...), into); err != nil {
		r.t.Fatalf("%q: %v", args, err)
	}
}

// fittedSpread returns mean and standard deviation of the figures of laws that are
// fitted to simulated counts of g rollouts a prompt.
func fittedSpread(t *testing.T, rates []float64, g, fits int) (mean, sd []float64) {
	t.Helper()
	mean, sd = make([]float64, 3), make([]float64, 3)
	src := &coins{rates: rates}
	for k := range fits {
		if _, err := src.Reset(stream.New(20260101).With(uint64(k))); err != nil {
			t.Fatal(err)
		}
		s := make([]int, 1)
		cells := make([]fit.Cell, len(rates))
		for x := range rates {
			if err := src.Draw(t.Context(), []rollout.Request{{X: x, N: g}}, []int{0}, s, nil); err != nil {
				t.Fatal(err)
			}
			cells[x] = fit.Cell{N: g, S: s[0], Prompts: 1}
		}
		counts, err := fit.NewCounts(cells)
		if err != nil {
			t.Fatal(err)
		}
		mixing, err := fit.Nonparametric(counts)
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range lawFigures(mixing.Atoms) {
			d := x - mean[i]
			mean[i] += d / float64(k+1)
			sd[i] += d * (x - mean[i])
		}
	}
	for i := range sd {
		sd[i] = math.Sqrt(sd[i] / float64(fits-1))
	}
	return mean, sd
}

// lawFigures returns E[p], E[u] and the share of zero-variance groups of 8 of a law
// of atoms.
func lawFigures(nodes []distributions.Node) []float64 {
	out := make([]float64, 3)
	for _, n := range nodes {
		out[0] += n.W * n.P
		out[1] += n.W * 4 * n.P * (1 - n.P)
		out[2] += n.W * (math.Pow(n.P, 8) + math.Pow(1-n.P, 8))
	}
	return out
}
