package train

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

	"vigorlab/sim"
)

// estimatorSpecs has every estimator.
var estimatorSpecs = []string{
	"grpo", "grpo:ddof=1", "grpo:delta=0.1", "grpo:ddof=1,delta=0.0001", "drgrpo", "rloo", "reinforce:baseline=0.3",
	"verl", "verl:advantage=grpo-vectorised", "verl:advantage=drgrpo", "verl:advantage=rloo", "verl:advantage=rloo-vectorised",
	"trl", "trl:advantage=drgrpo", "trl:advantage=rloo",
	"openrlhf", "openrlhf:advantage=drgrpo", "openrlhf:advantage=rloo",
}

// A workbench is a policy that has moved twice: from the initial one to the one
// that its groups were drawn from, and on.
type workbench struct {
	policy  Policy
	updater *Updater
	groups  []Group
	old     [][]float64
	initial [][]float64
}

func (w *workbench) oldLogProbs(x int) []float64 { return w.old[x] }

func newWorkbench(t testing.TB, text string, o Objective, r *rand.Rand) *workbench {
	t.Helper()
	p := policy(t, text, population, 4)
	opt, err := NewOptimizer("sgd:lr=1")
	if err != nil {
		t.Fatal(err)
	}
	u, err := NewUpdater(p, o, opt)
	if err != nil {
		t.Fatal(err)
	}
	w := &workbench{policy: p, updater: u}
	logProbs := func() (l [][]float64) {
		for x := range p.Prompts() {
			l = append(l, p.LogProbs(nil, x))
		}
		return l
	}
	w.initial = logProbs()
	scatter(p, r, 0.7)
	w.old = logProbs()
	scatter(p, r, 0.4)
	for x := range p.Prompts() {
		g := Group{X: x, Counts: make([]int, len(p.Outcomes(x))), Weight: 1, Baseline: math.NaN()}
		for range 2 + r.IntN(8) {
			g.Counts[r.IntN(len(g.Counts))]++
		}
		w.groups = append(w.groups, g)
	}
	w.groups[1].Weight, w.groups[2].Baseline, w.groups[3].Weight = 2.5, 0.6, 0
	return w
}

// objectives are the ways to put an estimator to use.
func objectives(t testing.TB, spec string) []Objective {
	plain := DefaultObjective()
	plain.Estimator = estimator(t, spec)
	clipped := plain
	clipped.ClipLow, clipped.ClipHigh, clipped.TokenMean, clipped.Aggregate = 0.2, 0.28, true, sim.AggregatePrompt
	penalised := clipped
	penalised.KL, penalised.TokenMean, penalised.Aggregate = 0.3, false, sim.AggregateRollout
	return []Objective{plain, clipped, penalised}
}

// eachWorkbench calls f for every policy, estimator and objective.
func eachWorkbench(t *testing.T, f func(name string, w *workbench)) {
	r := newRand(3)
	for _, text := range policySpecs {
		for _, e := range estimatorSpecs {
			for i, o := range objectives(t, e) {
				f(fmt.Sprintf("%s, %s, objective %d", text, e, i), newWorkbench(t, text, o, r))
			}
		}
	}
}

// TestGradient compares the gradient of the objective with central differences
// (see TestScores for the tolerance; ratios and advantages reach 10 here).
func TestGradient(t *testing.T) {
	const h = 1e-5
	eachWorkbench(t, func(name string, w *workbench) {
		value := func() float64 {
			v, err := w.updater.gradient(make([]float64, len(w.policy.Parameters())), w.groups, w.oldLogProbs)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		theta := w.policy.Parameters()
		grad := make([]float64, len(theta))
		if _, err := w.updater.gradient(grad, w.groups, w.oldLogProbs); err != nil {
			t.Fatal(name, err)
		}
		for i := range theta {
			at := theta[i]
			theta[i] = at + h
			up := value()
			theta[i] = at - h
			down := value()
			theta[i] = at
			if want := (up - down) / (2 * h); !(math.Abs(grad[i]-want) < 1e-8) {
				t.Errorf("%s: gradient %v by parameter %d, want %v", name, grad[i], i, want)
			}
		}
	})
}

// TestObjectiveByRollout works the objective out from its definition, rollout by
// rollout, and the divergence outcome by outcome.
func TestObjectiveByRollout(t *testing.T) {
	clipped := 0
	eachWorkbench(t, func(name string, w *workbench) {
		o, sum, total := w.updater.objective, 0.0, 0.0
		for _, g := range w.groups {
			logp, outcomes := w.policy.LogProbs(nil, g.X), w.policy.Outcomes(g.X)
			var rewards []float64
			var rollouts []int
			for k, c := range g.Counts {
				for range c {
					rollouts = append(rollouts, k)
					reward := 0.0
					if outcomes[k].Correct {
						reward = 1
					}
					rewards = append(rewards, reward)
				}
			}
			a := make([]float64, len(rewards))
			if err := o.Estimator.Advantages(a, rewards); err != nil {
				t.Fatal(name, err)
			}
			starts := make([]int, len(outcomes))
			for k := 1; k < len(starts); k++ {
				starts[k] = starts[k-1] + outcomes[k-1].Tokens
			}
			mean := 0.0
			for i, k := range rollouts {
				if !math.IsNaN(g.Baseline) {
					a[i] = rewards[i] - g.Baseline
				}
				term := 0.0
				for tok := starts[k]; tok < starts[k]+outcomes[k].Tokens; tok++ {
					rho := math.Exp(logp[tok]) / math.Exp(w.old[g.X][tok])
					held := rho
					if rho < 1-o.ClipLow {
						held = 1 - o.ClipLow
					}
					if rho > 1+o.ClipHigh {
						held = 1 + o.ClipHigh
					}
					term += math.Min(rho*a[i], held*a[i])
					if held*a[i] < rho*a[i] {
						clipped++
					}
				}
				if o.TokenMean {
					term /= float64(outcomes[k].Tokens)
				}
				mean += term / float64(len(rollouts))
			}
			now, start := Probabilities(nil, outcomes, logp), Probabilities(nil, outcomes, w.initial[g.X])
			for k := range now {
				mean -= o.KL * now[k] * math.Log(now[k]/start[k])
			}
			weight := g.Weight
			if o.Aggregate == sim.AggregateRollout {
				weight *= float64(len(rollouts))
			}
			sum += weight * mean
			total += weight
		}
		got, err := w.updater.gradient(make([]float64, len(w.policy.Parameters())), w.groups, w.oldLogProbs)
		if want := sum / total; err != nil || !(math.Abs(got-want) < 1e-12) {
			t.Errorf("%s: objective %v, %v, want %v", name, got, err, want)
		}
	})
	if clipped < 1000 {
		t.Errorf("%d tokens are held at the edge of the clipping range, want many", clipped)
	}
}

// meanGradient returns the mean gradient of prompt 0 of a workbench over every
// group of three rollouts, each with its exact probability.
func meanGradient(t testing.TB, text string, o Objective) []float64 {
	t.Helper()
	w := newWorkbench(t, text, o, newRand(4))
	logp := w.policy.LogProbs(nil, 0)
	prob := Probabilities(nil, w.policy.Outcomes(0), logp)
	mean := make([]float64, len(w.policy.Parameters()))
	for i := range prob {
		for j := range prob {
			for k := range prob {
				g := Group{X: 0, Counts: make([]int, len(prob)), Weight: 1, Baseline: math.NaN()}
				g.Counts[i]++
				g.Counts[j]++
				g.Counts[k]++
				grad := make([]float64, len(mean))
				if _, err := w.updater.gradient(grad, []Group{g}, func(int) []float64 { return logp }); err != nil {
					t.Fatal(err)
				}
				floats.AddScaled(mean, prob[i]*prob[j]*prob[k], grad)
			}
		}
	}
	return mean
}

// TestExpectedGradient: RLOO, REINFORCE and 3/2 of Dr. GRPO average to the
// gradient of the success probability, for every policy.
func TestExpectedGradient(t *testing.T) {
	for _, text := range policySpecs {
		for spec, factor := range map[string]float64{"rloo": 1, "reinforce:baseline=0.7": 1, "drgrpo": 1.5} {
			o := DefaultObjective()
			o.Estimator = estimator(t, spec)
			got := meanGradient(t, text, o)
			floats.Scale(factor, got)
			p := newWorkbench(t, text, o, newRand(4)).policy
			var weights []float64
			prob := Probabilities(nil, p.Outcomes(0), p.LogProbs(nil, 0))
			for k, o := range p.Outcomes(0) {
				for range o.Tokens {
					if o.Correct {
						weights = append(weights, prob[k])
					} else {
						weights = append(weights, 0)
					}
				}
			}
			want := make([]float64, len(got))
			p.AddScores(want, 0, weights)
			if !(floats.Distance(got, want, math.Inf(1)) < 1e-13) {
				t.Errorf("%s of %s: mean gradient %v, want %v", spec, text, got, want)
			}
		}
	}
}

// TestAggregation by hand: groups of 2 and 6 with one success each, gradients
// sqrt(s(n-s))/n of a logit under GRPO: 1/2 and sqrt(5)/6, each by its own logit.
func TestAggregation(t *testing.T) {
	for aggregate, want := range map[string][]float64{
		sim.AggregateRollout: {2. / 8 * .5, 6. / 8 * math.Sqrt(5) / 6},
		sim.AggregatePrompt:  {.5 * .5, .5 * math.Sqrt(5) / 6},
	} {
		o := DefaultObjective()
		o.Aggregate = aggregate
		w := newWorkbench(t, "logit", o, newRand(5))
		groups := []Group{
			{X: 0, Counts: []int{1, 1}, Weight: 1, Baseline: math.NaN()},
			{X: 1, Counts: []int{1, 5}, Weight: 1, Baseline: math.NaN()},
		}
		grad := make([]float64, 4)
		now := func(x int) []float64 { return w.policy.LogProbs(nil, x) }
		if _, err := w.updater.gradient(grad, groups, now); err != nil {
			t.Fatal(err)
		}
		if !floats.EqualApprox(grad, append(want, 0, 0), 1e-15) {
			t.Errorf("%s: gradient %v, want %v", aggregate, grad, want)
		}
	}
}

// TestEpochs: a second epoch has ratios other than 1, a clipping range of 0 holds
// them, and no group moves nothing.
func TestEpochs(t *testing.T) {
	move := func(epochs int, clip float64) float64 {
		o := DefaultObjective()
		o.Epochs, o.ClipLow, o.ClipHigh = epochs, clip, clip
		w := newWorkbench(t, "logit", o, newRand(6))
		start := w.policy.Parameters()[0]
		old := w.policy.LogProbs(nil, 0)
		group := []Group{{X: 0, Counts: []int{1, 3}, Weight: 1, Baseline: math.NaN()}}
		for _, groups := range [][]Group{nil, group} {
			if err := w.updater.Update(groups, func(int) []float64 { return old }); err != nil {
				t.Fatal(err)
			}
		}
		return w.policy.Parameters()[0] - start
	}
	one := move(1, math.Inf(1))
	if want := math.Sqrt(3) / 4; !(math.Abs(one-want) < 1e-15) {
		t.Errorf("one epoch moves the logit by %v, want %v", one, want)
	}
	// After a step both ratios have left the range of width 0: a correct rollout's
	// is above it, a wrong one's below, and the minimum holds both.
	if got := move(3, 0); got != one {
		t.Errorf("three epochs in a range of 0 move it by %v, want %v", got, one)
	}
	if two := move(2, math.Inf(1)); !(two > 1.1*one) {
		t.Errorf("two epochs move it by %v beside %v", two, one)
	}
}

// TestInfiniteGradient: a ratio that overflows stops the update before anything
// moves, and the error names step and parameter.
func TestInfiniteGradient(t *testing.T) {
	w := newWorkbench(t, "logit", DefaultObjective(), newRand(13))
	w.groups[0].Counts, w.groups[0].X = []int{1, 3}, 0
	start := slices.Clone(w.policy.Parameters())
	for step := 1; step <= 2; step++ {
		err := w.updater.Update(w.groups, func(int) []float64 { return []float64{-800, -800} })
		var d *DivergenceError
		if !errors.As(err, &d) || d.Step != step || d.Quantity != "gradient of parameter 0" || !slices.Equal(w.policy.Parameters(), start) {
			t.Errorf("step %d: error %v, from %v to %v", step, err, start, w.policy.Parameters())
		}
	}
}

// TestOptimizers by hand. Momentum under a constant gradient g has velocity
// g (1-beta^t)/(1-beta); Adam moves by lr whatever g is, up to eps; after
// gradients 1 and -1 its mean is (.09-.1)/(1-.81) and its square 1.
func TestOptimizers(t *testing.T) {
	for _, c := range []struct {
		spec  string
		grads []float64
		want  float64
	}{
		{"sgd:lr=0.5", []float64{2, -3}, -.5},
		{"momentum:lr=0.5,beta=0.9", []float64{2, 2, 2}, .5 * 2 * (1 + 1.9 + 2.71)},
		{"momentum:lr=1,beta=0", []float64{2, 2}, 4},
		{"adam:lr=0.1,eps=1e-300", []float64{7, 7, 7}, .3},
		{"adam:lr=0.1,eps=7", []float64{7}, .05},
		{"adam:lr=1,eps=1e-300", []float64{1, -1}, 1 - .01/.19},
	} {
		o, err := NewOptimizer(c.spec)
		if err != nil {
			t.Fatal(err)
		}
		theta := []float64{0, 5}
		for _, g := range c.grads {
			o.Step(theta, []float64{g, 0})
		}
		if !(math.Abs(theta[0]-c.want) < 1e-12) || theta[1] != 5 {
			t.Errorf("%s after %v: %v, want %v", c.spec, c.grads, theta, c.want)
		}
		if again, err := NewOptimizer(o.Spec()); err != nil || again.Spec() != o.Spec() {
			t.Errorf("%s prints %s: %v", c.spec, o.Spec(), err)
		}
	}
	for text, want := range map[string]string{
		"sdg:lr=1":           "did you mean sgd?",
		"sgd:lr=0":           "lr = 0, want a number > 0",
		"sgd:lr=1,beta=0":    "unknown parameter beta",
		"adam:lr=1,beta2=1":  "beta2 = 1, want [0, 1)",
		"momentum:beta=-0.1": "lr is missing",
	} {
		if _, err := NewOptimizer(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}

func TestObjectiveRefuses(t *testing.T) {
	for want, change := range map[string]func(*Objective){
		"estimator = none":                func(o *Objective) { o.Estimator = nil },
		"aggregate = token, want":         func(o *Objective) { o.Aggregate = "token" },
		"clip low = NaN, want":            func(o *Objective) { o.ClipLow = math.NaN() },
		"clip high = -1, want":            func(o *Objective) { o.ClipHigh = -1 },
		"epochs = 0, want at least 1":     func(o *Objective) { o.Epochs = 0 },
		"kl = +Inf, want a finite number": func(o *Objective) { o.KL = math.Inf(1) },
	} {
		o := DefaultObjective()
		change(&o)
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
