package verify

import (
	"context"
	"fmt"
	"math"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"vigorlab/sim"
	"vigorlab/sim/advantage"
	"vigorlab/sim/strategy"
	"vigorlab/sim/stream"
	"vigorlab/sim/train"
)

// The figures of systems.
const (
	FigureSkipping = "skipping"    // X share of layers skipped, Y effective rollouts at the price of one
	FigureLag      = "lag-quality" // X lag in model updates, Y mean success at the end
)

// How the claims of a system are labelled. What R2PO and Saturated Data are
// predicted to do is the prediction of notes on them, not their authors'.
const (
	nestedLabel    = "Nested-ReFT (reconstruction)"
	m2poLabel      = "M2PO (paper)"
	r2poLabel      = "R2PO (code)"
	saturatedLabel = "Saturated Data (code)"

	prediction = "; a prediction of notes, in no source"
)

const exactMethod = "exact, by enumeration"

// systems tries the claims of four training systems (strategies/systems.md,
// sections 1, 2, 7 and 10).
func systems(ctx context.Context, e *env) (*Section, error) {
	s := &Section{}
	for i, part := range []func(context.Context, *env, *Section) error{nestedClaims, m2poClaims, r2poClaims, saturatedClaims} {
		if err := part(ctx, e, s); err != nil {
			return nil, err
		}
		e.progress(i+1, 4)
	}
	return s, nil
}

// startOf returns a policy at the start of the study, by a name of its own.
func (e *env) startOf(policy, population string, prompts int) (train.Policy, error) {
	l, err := rewarding(population)
	if err != nil {
		return nil, err
	}
	return train.NewPolicy(policy, l, prompts, stream.New(e.cfg.Seed).Named(e.study).Named(policy))
}

// layered returns a policy of layers.
func (e *env) layered(keys, population string, prompts int) (train.Layered, error) {
	p, err := e.startOf("layered:floor=0.001,"+keys, population, prompts)
	if err != nil {
		return nil, err
	}
	return p.(train.Layered), nil // "layered" has layers
}

// successGradient returns the exact gradient of prompt x's success probability;
// answers have one token.
func successGradient(p train.Policy, x int) []float64 {
	outcomes := p.Outcomes(x)
	w := train.Probabilities(nil, outcomes, p.LogProbs(nil, x))
	for k, o := range outcomes {
		if !o.Correct {
			w[k] = 0
		}
	}
	grad := make([]float64, len(p.Parameters()))
	p.AddScores(grad, x, w)
	return grad
}

func nestedClaims(_ context.Context, e *env, s *Section) error {
	bias, err := e.nestedBias()
	if err != nil {
		return err
	}
	s.Rows = append(s.Rows, bias...)
	for _, c := range skipCases {
		rows, curve, err := e.skipping(c)
		if err != nil {
			return err
		}
		s.Rows, s.Curves = append(s.Rows, rows...), append(s.Curves, curve)
	}
	return nil
}

// nestedSize is the group of the claims on bias.
const nestedSize = 4

// nestedBias holds mean gradients of nested-reft beside that of the success.
func (e *env) nestedBias() ([]Row, error) {
	p, err := e.layered("layers=5,answers=4,correct=2,spread=1", popUniform, 4)
	if err != nil {
		return nil, err
	}
	o := train.DefaultObjective()
	o.Estimator = advantage.DrGRPO{}
	method := fmt.Sprintf("%s of all groups of %d, four prompts of four answers, every set of inner layers of five skipped; Dr. GRPO", exactMethod, nestedSize)
	var rows []Row
	for _, c := range []struct {
		id, claim, system string
		baseline, factor  float64
	}{
		{"fixed-baseline", "with weights pi/mu and a fixed baseline the mean gradient is that of the success, for every set of skipped layers", "nested-reft", 0.3, 1},
		{"raw-mean", "the raw mean of the group as the baseline takes it times (G-1)/G", "nested-reft", math.NaN(), 1 - 1./nestedSize},
		{"weighted-mean", "so does the weighted mean of the group", "nested-reft:baseline=weighted", math.NaN(), 1 - 1./nestedSize},
		{"no-weights", "without weights, and with a fixed baseline, it is that of the success too", "nested-reft:weight=none", 0.3, 1},
	} {
		off, low, high, err := apart(p, c.system, o, c.baseline, c.factor)
		if err != nil {
			return nil, err
		}
		rows = append(rows, bounded(Row{
			ID: "nested-" + c.id, Kind: Claim, Claim: nestedLabel + ": " + c.claim, Method: method,
			Test: fmt.Sprintf("exact: 0 within %g, in lengths of the success gradient", exactTolerance),
			Note: fmt.Sprintf("the largest distance from what is claimed; along the success gradient the factor is in [%.3f, %.3f], claimed %g", low, high, c.factor),
		}, off, 0, off <= exactTolerance))
	}
	return rows, nil
}

// apart returns how far the mean gradients of all prompts and skipped sets are from
// factor times the success gradient, at most and in its lengths, and the least and
// largest factor along it.
func apart(p train.Layered, system string, o train.Objective, baseline, factor float64) (off, low, high float64, err error) {
	low, high = math.Inf(1), math.Inf(-1)
	for x := range p.Prompts() {
		grad := successGradient(p, x)
		length := floats.Norm(grad, 2)
		for _, skipped := range [][]int{nil, {1}, {2}, {3}, {1, 2}, {1, 3}, {2, 3}, {1, 2, 3}} {
			got, err := train.NestedGradient(p, system, o, x, nestedSize, skipped, baseline)
			if err != nil {
				return 0, 0, 0, err
			}
			along := floats.Dot(got, grad) / (length * length)
			low, high = min(low, along), max(high, along)
			floats.AddScaled(got, -factor, grad)
			off = max(off, floats.Norm(got, 2)/length)
		}
	}
	return off, low, high, nil
}

// A skipCase is a policy some of whose layers are skipped: how far its layers
// differ decides most of what that costs.
type skipCase struct {
	answers int
	spread  float64
}

var skipCases = []skipCase{{2, 0.3}, {16, 0.3}, {128, 0.3}, {16, 1}}

func (c skipCase) String() string {
	return fmt.Sprintf("%d answers, layers' spread %v", c.answers, c.spread)
}

// popSkipped is where policies with skipped layers stand: prompts at 1/2 cost less
// of it, since skipping draws towards even odds.
const popSkipped = "point:p=0.9"

// skipping holds what skipped layers cost beside what they save.
func (e *env) skipping(c skipCase) ([]Row, Curve, error) {
	const layers, share, pass = 12, 4, 0.1
	p, err := e.layered(fmt.Sprintf("layers=%d,answers=%d,spread=%v", layers, c.answers, c.spread), popSkipped, 4)
	if err != nil {
		return nil, Curve{}, err
	}
	curve := Curve{Figure: FigureSkipping, Family: c.String(), Kind: MonteCarlo, Setting: Setting{Population: popSkipped, Strategy: "nested-reft (reconstruction)"}}
	tightest, withPass := 0.0, 0.0
	var at train.SkipReport
	for skipped := 0; skipped <= layers-2; skipped++ {
		r, err := train.Skipping(p, skipped, 0)
		if err != nil {
			return nil, Curve{}, err
		}
		curve.Points = append(curve.Points, Point{X: float64(skipped) / layers, Y: r.Efficiency})
		if skipped > 0 {
			tightest = max(tightest, r.Moment/r.MaxWeight)
		}
		if skipped == share {
			at = r
			withPass = r.Efficiency / r.Speed / (1/r.Speed + pass)
		}
	}
	const most = float64(layers-2) / layers
	crossing, crosses, err := train.SkipCrossing(p)
	if err != nil {
		return nil, Curve{}, err
	}
	upTo := most
	if crosses {
		upTo = float64(crossing.Skipped) / layers
	}
	method := fmt.Sprintf("%s, 4 prompts at %s, %d layers, every set of inner ones", exactMethod, popSkipped, layers)
	id := fmt.Sprintf("-%d-answers-spread-%v", c.answers, c.spread)
	efficiency := bounded(Row{
		ID: "nested-efficiency" + id, Kind: Claim, Method: method, Test: "exact: the share of skipped layers at which it first falls below 1, or all that can be skipped",
		Claim: fmt.Sprintf("%s: (1+chi^2)^-1 L/(L-s), effective rollouts at the price of one, is above 1 however many inner layers are skipped: %s", nestedLabel, c),
		Note: fmt.Sprintf("at a third of the layers it is %.3f; with a pass of a tenth of a rollout for the weights %.3f; by the second moment of the gradient itself, in place of 1+chi^2, %.3f",
			at.Efficiency, withPass, at.GradientEfficiency),
	}, upTo, most, !crosses)
	moment := bounded(Row{
		ID: "nested-second-moment" + id, Kind: Claim, Method: method, Test: "exact: at most 1",
		Claim: fmt.Sprintf("%s: the second moment of a weighted gradient is at most the largest weight times the full policy's: %s", nestedLabel, c),
		Note:  "the largest ratio of the two over all numbers of skipped layers",
	}, tightest, 1, tightest <= 1+exactTolerance)
	return []Row{efficiency, moment}, curve, nil
}

// A systemCase is training under a system, on a number of seeds.
type systemCase struct {
	policy, population, system string
	edit                       func(*train.Config)
}

// A systemRun is what a run under a system came to.
type systemRun struct {
	train.Result
	held    float64 // mean over steps, of systems that report it
	theorem float64 // largest chi2/(R^2 m2)
	fall    float64 // from the highest success to that at the end
	equal   float64 // zero_variance at step 1
}

// systemSeeds returns the seeds of every case.
func (e *env) systemSeeds() int {
	if e.cfg.Quick {
		return 16
	}
	return 48
}

const systemPrompts = 32

// runs trains a case on every seed: all cases of a population start alike.
func (e *env) runs(ctx context.Context, c systemCase) ([]systemRun, error) {
	l, err := rewarding(c.population)
	if err != nil {
		return nil, err
	}
	runs := make([]systemRun, e.systemSeeds())
	key := stream.New(e.cfg.Seed).Named(e.study)
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(e.cfg.Workers)
	for i := range runs {
		work.Go(func() error {
			r := &runs[i]
			cfg := train.DefaultConfig()
			cfg.Seed, cfg.Population, cfg.System, cfg.Batch = key.With(uint64(i)).Bits(0), c.population, c.system, systemPrompts
			cfg.Objective.Aggregate = sim.AggregatePrompt
			c.edit(&cfg)
			cfg.Step = r.step
			p, err := train.NewPolicy(c.policy, l, systemPrompts, cfg.StartKey())
			if err != nil {
				return err
			}
			s, err := strategy.NewFixed(8)
			if err != nil {
				return err
			}
			if r.Result, err = train.Run(ctx, cfg, p, s); err != nil {
				return fmt.Errorf("%s: %w", c.system, err)
			}
			r.held /= float64(r.Last.Step)
			r.fall -= r.Last.Success
			return nil
		})
	}
	return runs, work.Wait()
}

// step hears of every step. Until the end fall is the highest success so far, and
// held a sum.
func (r *systemRun) step(p train.Point) {
	r.fall = max(r.fall, p.Success)
	figures := map[string]float64{}
	for _, d := range p.Diagnostics {
		figures[d.Name] = d.Value
	}
	r.held += figures["held"]
	if m2 := figures["m2"]; m2 > 0 {
		r.theorem = max(r.theorem, figures["chi2"]/(math.Exp(2*figures["max_log"])*m2))
	}
	if p.Step == 1 {
		r.equal = figures["zero_variance"]
	}
}

// differences returns a - b, run by run.
func differences(a, b []systemRun, of func(*systemRun) float64) []float64 {
	d := make([]float64, len(a))
	for i := range a {
		d[i] = of(&a[i]) - of(&b[i])
	}
	return d
}

const studentTest = "95 % interval of the mean over paired seeds, Student's law, pointwise: above the reference holds, below it fails, else these runs cannot tell"

// above fills a claim that the mean of some differences is above 0.
func above(row Row, d []float64) Row {
	mean, sd := stat.MeanStdDev(d, nil)
	i := student(mean, sd/math.Sqrt(float64(len(d))), len(d))
	row.Kind, row.Test = Claim, studentTest
	row.Estimate, row.SE, row.Reference, row.Interval = number(mean), number(i.se), number(0), &[2]float64{i.low, i.high}
	return readOff(row, 0)
}

// saves fills a claim that exp of the mean of some differences of logarithms is
// above 1.
func saves(row Row, d []float64) Row {
	row = above(row, d)
	ratio := math.Exp(*row.Estimate)
	row.Estimate, row.SE, row.Reference = number(ratio), number(ratio**row.SE), number(1)
	row.Interval = &[2]float64{math.Exp(row.Interval[0]), math.Exp(row.Interval[1])}
	return readOff(row, 1)
}
