package verify

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/combin"

	"vigorlab/distributions/spec"
	"vigorlab/sim"
	"vigorlab/sim/advantage"
	"vigorlab/sim/stream"
	"vigorlab/sim/train"
)

// Stale training: prompts of five answers, one of the wrong ones near.
const (
	stalePolicy     = "softmax:answers=5,near=1,gap=1,floor=0.001"
	stalePopulation = "beta:a=1,b=4"
	staleRate       = 2
	staleSteps      = 80
)

// stale trains on answers of a lag under a rule, for a number of steps.
func (e *env) stale(ctx context.Context, policy, rule string, lag int, rate float64) ([]systemRun, error) {
	return e.runs(ctx, systemCase{
		policy, stalePopulation, fmt.Sprintf("m2po:lag=%d,rule=%s", lag, rule),
		func(cfg *train.Config) {
			cfg.Batch, cfg.Target, cfg.MaxSteps, cfg.MaxRollouts = systemPrompts/2, 1, staleSteps, math.MaxInt
			cfg.Objective.Aggregate = sim.AggregateRollout
			cfg.Optimizer = "sgd:lr=" + spec.FormatFloat(rate)
		},
	})
}

func m2poClaims(ctx context.Context, e *env, s *Section) error {
	const longest = 64
	method := fmt.Sprintf("%d seeds of %d steps, %d prompts of %s, five answers, groups of 8", e.systemSeeds(), staleSteps, systemPrompts, stalePopulation)
	theorem, at := 0.0, map[string][]systemRun{}
	for _, rule := range []string{"none", "paper", "clip"} {
		curve := Curve{Figure: FigureLag, Family: rule, Kind: MonteCarlo, Setting: Setting{stalePopulation, "m2po", systemPrompts / 2, e.systemSeeds()}}
		for _, lag := range []int{0, 16, 32, longest} {
			runs, err := e.stale(ctx, stalePolicy, rule, lag, staleRate)
			if err != nil {
				return err
			}
			success := make([]float64, len(runs))
			for i := range runs {
				theorem, success[i] = max(theorem, runs[i].theorem), runs[i].Last.Success
			}
			mean, sd := stat.MeanStdDev(success, nil)
			over := student(mean, sd/math.Sqrt(float64(len(runs))), len(runs))
			curve.Points = append(curve.Points, Point{X: float64(lag), Y: mean, Low: over.low, High: over.high})
			at[rule] = runs // of the longest lag at last
		}
		s.Curves = append(s.Curves, curve)
	}
	s.Rows = append(s.Rows,
		bounded(Row{
			ID: "m2po-theorem-5.1", Kind: Claim, Method: method + ", every step under three rules at lags up to 64; R is the step's largest ratio or its inverse",
			Claim: m2poLabel + ": chi^2 is at most R^2 times the mean of (ln ratio)^2, along stale training (Theorem 5.1)", Test: "exact: at most 1",
			Note: "the largest chi^2/(R^2 M2) seen",
		}, theorem, 1, theorem <= 1+exactTolerance),
		above(Row{
			ID: "m2po-masked", Claim: m2poLabel + ": at equal lag the paper's rule holds back a smaller share of tokens than clipping at .2",
			Method: method + fmt.Sprintf("; clipped share less masked share, lag %d", longest),
		}, differences(at["clip"], at["paper"], func(r *systemRun) float64 { return r.held })),
		above(Row{
			ID: "m2po-quality", Claim: m2poLabel + ": at equal lag the paper's rule ends at a higher success than clipping at .2",
			Method: method + fmt.Sprintf("; difference of mean success, lag %d", longest),
		}, differences(at["paper"], at["clip"], func(r *systemRun) float64 { return r.Last.Success })),
		above(Row{
			ID: "m2po-limits", Claim: m2poLabel + ": at equal lag the paper's rule ends at a higher success than no limit on ratios",
			Method: method + fmt.Sprintf("; difference of mean success, lag %d", longest),
		}, differences(at["paper"], at["none"], func(r *systemRun) float64 { return r.Last.Success })))
	row, err := e.collapse(ctx, method)
	s.Rows = append(s.Rows, row)
	return err
}

// collapse looks for prosperity before collapse: without a trust region, a fall of
// the success of at least a tenth from its highest.
func (e *env) collapse(ctx context.Context, method string) (Row, error) {
	const lag, fallen = 128, 0.1
	row := Row{
		ID: "m2po-collapse", Kind: Claim, Reference: number(fallen), Test: studentTest,
		Claim:  m2poLabel + ": without a trust region stale training prospers and then collapses, by .1 of success or more",
		Method: method + fmt.Sprintf("; lag %d, learning rates 2, 16 and 128, also answers of four tokens and prompts that share features; the mean fall from the highest success to the end where it is largest", lag),
	}
	most := overSeeds{value: math.Inf(-1)}
	for _, policy := range []string{stalePolicy, "sequence:tokens=4,floor=0.001", "linear:overlap=0.5,floor=0.001"} {
		for _, rate := range []float64{2, 16, 128} {
			runs, err := e.stale(ctx, policy, "none", lag, rate)
			if err != nil {
				return row, err
			}
			falls := differences(runs, make([]systemRun, len(runs)), func(r *systemRun) float64 { return r.fall })
			mean, sd := stat.MeanStdDev(falls, nil)
			if over := student(mean, sd/math.Sqrt(float64(len(falls))), len(falls)); over.value > most.value {
				most = over
				row.Note = fmt.Sprintf("%s at the learning rate %v; where a prompt has two answers no update lowers its success, at any lag or rate", policy, rate)
			}
		}
	}
	row.Estimate, row.SE, row.Interval = number(most.value), number(most.se), &[2]float64{most.low, most.high}
	if row = readOff(row, fallen); row.Verdict != Holds {
		row.Verdict, row.Reason = Untestable, "no collapse was seen in what was tried, which does not show that there is none in larger models"
	}
	return row, nil
}

// headCases are starts near 0, in the middle and near 1, and targets.
var headCases = []struct {
	population string
	target     float64
}{{"point:p=0.01", .5}, {"point:p=0.5", .9}, {"point:p=0.9", .97}}

// The systems that are compared: r2po's updates with a head and without.
const (
	withHead    = "r2po:schedule=20,a-steps=5,a-prompts=32,kl=0"
	withoutHead = "r2po:a-steps=0,init=zero,kl=0"
)

func r2poClaims(ctx context.Context, e *env, s *Section) error {
	identity, err := e.stageB()
	if err != nil {
		return err
	}
	s.Rows = append(s.Rows, identity)
	for _, c := range headCases {
		var runs [2][]systemRun
		for i, system := range []string{withoutHead, withHead} {
			if runs[i], err = e.runs(ctx, systemCase{"softmax:answers=5,near=1,gap=2", c.population, system, func(cfg *train.Config) {
				cfg.Target, cfg.MaxRollouts, cfg.Optimizer = c.target, 400_000, "sgd:lr=4"
			}}); err != nil {
				return err
			}
			for k := range runs[i] {
				if !runs[i][k].Reached {
					return fmt.Errorf("%s from %s: %v is not reached in %d rollouts", system, c.population, c.target, runs[i][k].Last.Ledger.Generated)
				}
			}
		}
		method := fmt.Sprintf("%d seeds, %d prompts at %s to a mean success of %v, five answers, groups of 8, one learning rate; five steps of stage A on every prompt before every 20th step%s", e.systemSeeds(), systemPrompts, c.population, c.target, prediction)
		row := func(id, claim string) Row {
			return Row{ID: "r2po-" + id + "-" + c.population, Claim: fmt.Sprintf("%s: %s, from %s to %v", r2poLabel, claim, c.population, c.target), Method: method}
		}
		s.Rows = append(s.Rows,
			above(row("zero-variance", "stage A lowers the probability that a group's rewards all agree"), differences(runs[0], runs[1], func(r *systemRun) float64 { return r.equal })),
			saves(row("charged", "with a head it needs fewer rollouts than without, stage A charged"), differences(runs[0], runs[1], func(r *systemRun) float64 {
				return math.Log(float64(r.Last.Ledger.Generated))
			})),
			saves(row("not-charged", "with a head stage B alone needs fewer rollouts than without"), differences(runs[0], runs[1], func(r *systemRun) float64 {
				return math.Log(float64(r.Last.Ledger.Generated - r.Last.Ledger.Extra))
			})))
	}
	return nil
}

// stageB compares stage B's mean gradient, by scores, with mu (r - p_mu).
func (e *env) stageB() (Row, error) {
	const prompts = 20
	p, err := e.startOf("softmax:answers=5,correct=2,floor=0.001", popUniform, prompts)
	if err != nil {
		return Row{}, err
	}
	behaviour := make([][]float64, prompts)
	theta := append([]float64(nil), p.Parameters()...)
	scatter(p, 1, stream.Rand(stream.New(e.cfg.Seed).Named(e.study).Named("head")))
	for x := range behaviour {
		behaviour[x] = train.Probabilities(nil, p.Outcomes(x), p.LogProbs(nil, x))
	}
	copy(p.Parameters(), theta)
	off := 0.0
	for x, mu := range behaviour {
		success, want := 0.0, append([]float64(nil), mu...)
		for k, o := range p.Outcomes(x) {
			if o.Correct {
				success += mu[k]
			}
		}
		for k, o := range p.Outcomes(x) {
			reward := -success
			if o.Correct {
				reward++
			}
			want[k] *= reward
		}
		grad := make([]float64, len(theta))
		p.AddScores(grad, x, want)
		off = max(off, floats.Distance(grad[x*len(want):(x+1)*len(want)], want, 2)/floats.Norm(want, 2))
	}
	return bounded(Row{
		ID: "r2po-stage-b", Kind: Claim, Claim: r2poLabel + ": stage B's mean gradient by logits is mu (r - p_mu), that of the policy that answers, whatever the one that learns",
		Method: fmt.Sprintf("exact, %d prompts of five answers, heads of normal noise: E_mu[(r - p_mu) grad log pi]; an identity of notes on it", prompts),
		Test:   fmt.Sprintf("exact: 0 within %g, relative", exactTolerance), Note: "the largest distance",
	}, off, 0, off <= exactTolerance), nil
}

// The groups that are padded.
const (
	padSize = 8
	padding = 4
)

func saturatedClaims(ctx context.Context, e *env, s *Section) error {
	for _, p := range []float64{0.9, 0.99} {
		row, err := e.padded(p)
		if err != nil {
			return err
		}
		s.Rows = append(s.Rows, row)
	}
	return e.injected(ctx, s)
}

// padded compares what padding adds to the mean update of one logit with its
// closed form.
func (e *env) padded(p float64) (Row, error) {
	without, err := meanMove("", p)
	if err != nil {
		return Row{}, err
	}
	with, err := meanMove(fmt.Sprintf("saturated:level=advantage,pad=%d", padding), p)
	if err != nil {
		return Row{}, err
	}
	added := (with - without) / (p * (1 - p))
	return claimed(Row{
		ID: fmt.Sprintf("saturated-padding-%v", p), Claim: fmt.Sprintf("%s: padding all-correct groups with k zero rewards adds p^(n-1) sqrt(k/n) grad p to the mean update, p = %v", saturatedLabel, p),
		Method: fmt.Sprintf("%s of the groups of %d of one logit, k = %d, GRPO without epsilon; in units of grad p", exactMethod, padSize, padding),
	}, added, math.Pow(p, padSize-1)*math.Sqrt(padding/float64(padSize))), nil
}

// meanMove returns the mean move of one logit at p by groups of padSize under a
// system, at the learning rate 1.
func meanMove(system string, p float64) (float64, error) {
	mean := 0.0
	for m := range padSize + 1 {
		policy, err := oneLogit(p)
		if err != nil {
			return 0, err
		}
		o, err := train.NewOptimizer("sgd:lr=1")
		if err != nil {
			return 0, err
		}
		u, err := train.NewUpdater(policy, train.DefaultObjective(), o)
		if err != nil {
			return 0, err
		}
		s, err := train.NewSystem(system)
		if err != nil {
			return 0, err
		}
		if err := s.Begin(policy, u, stream.New(1)); err != nil {
			return 0, err
		}
		before, logp := policy.Parameters()[0], policy.LogProbs(nil, 0)
		g := train.Group{Counts: []int{m, padSize - m}, Weight: 1, Baseline: math.NaN()}
		if err := s.Learn(&train.Step{Number: 1, Groups: []train.Group{g}, Old: func(int) []float64 { return logp }}); err != nil {
			return 0, err
		}
		chance := float64(combin.Binomial(padSize, m)) * math.Pow(p, float64(m)) * math.Pow(1-p, float64(padSize-m))
		mean += chance * (policy.Parameters()[0] - before)
	}
	return mean, nil
}

// injected compares wrong answers from the policy, which are near ones mostly,
// with wrong answers drawn evenly, and with none.
func (e *env) injected(ctx context.Context, s *Section) error {
	const population, rollouts = "point:p=0.9", 12_800
	run := func(system string) ([]systemRun, error) {
		return e.runs(ctx, systemCase{"softmax:answers=32,near=1,gap=6", population, system, func(cfg *train.Config) {
			cfg.Target, cfg.MaxRollouts, cfg.Optimizer = 1, rollouts, "sgd:lr=4"
			cfg.Objective.Estimator = advantage.GRPO{DDOF: 1, Delta: 1e-6}
		}})
	}
	none, err := run("")
	if err != nil {
		return err
	}
	near, err := run("saturated:level=rollout,proposal=policy")
	if err != nil {
		return err
	}
	far, err := run("saturated:level=rollout,proposal=uniform")
	if err != nil {
		return err
	}
	padded, err := run("saturated:level=advantage,pad=8")
	if err != nil {
		return err
	}
	method := fmt.Sprintf("%d seeds, %d prompts at %s, 32 answers, one wrong one with most of the rest, one learning rate; difference of the log odds of the mean success when %d rollouts are spent, those asked for as mistakes included%s", e.systemSeeds(), systemPrompts, population, rollouts, prediction)
	compared := func(id, claim string, a, b []systemRun) Row {
		return above(Row{ID: "saturated-" + id, Claim: saturatedLabel + ": " + claim, Method: method}, differences(a, b, func(r *systemRun) float64 {
			return math.Log(r.Last.Success / (1 - r.Last.Success))
		}))
	}
	uniform := compared("uniform", "wrong answers drawn evenly, put into all-correct groups, do not raise the success", far, none)
	uniform.Verdict = opposite(uniform.Verdict)
	uniform.Test = "95 % interval of the mean over paired seeds, Student's law: above 0 fails, below it holds, else these runs cannot tell"
	s.Rows = append(s.Rows,
		compared("policy", "wrong answers drawn from the policy, put into all-correct groups, raise the success at the same cost", near, none), uniform,
		compared("residual", "wrong answers that carry the policy's residual mass raise it more than ones drawn evenly", near, far),
		compared("push", "wrong answers drawn evenly raise it more than padding with zero rewards, which costs nothing", far, padded))
	return nil
}

// opposite turns a verdict round.
func opposite(v Verdict) Verdict {
	switch v {
	case Holds:
		return Fails
	case Fails:
		return Holds
	}
	return v
}
