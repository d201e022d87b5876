package verify

import (
	"context"
	"fmt"
	"math"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/stat"

	"vigorlab/distributions/spec"
	"vigorlab/sim"
	"vigorlab/sim/strategy"
	"vigorlab/sim/stream"
	"vigorlab/sim/train"
)

// sampledStarts are the p0 from which policies are trained on sampled groups:
// between neighbours an exponent is measured.
var sampledStarts = []float64{0.001, 0.004, 0.016, 0.064}

const (
	sampledGroup  = 8
	sampledTarget = 0.5
	sampledRate   = 0.4 // the larger learning rate: a mixed group moves the logit by 0.13 to 0.2
)

// sampledExponents trains one logit on sampled groups to p = 1/2 and compares
// how rollouts to target grow as p0 falls with the exact flow at the same group
// size.
func sampledExponents(ctx context.Context, e *env) (*Section, error) {
	flows, err := logitFlows(sampledGroup)
	if err != nil {
		return nil, err
	}
	flow := flows[len(flows)-1]
	curve := Curve{
		Figure: FigureSlopes, Family: fmt.Sprintf("%s, to %v", flow.name, sampledTarget), Kind: MonteCarlo,
		Setting: Setting{Population: "point:p=X", Strategy: fmt.Sprintf("fixed:g=%d", sampledGroup), Batch: 1, Replicates: e.sampledRuns()},
	}
	s := &Section{}
	var times [2][]sim.Estimate // by learning rate, the larger one first, and start
	for i, p0 := range sampledStarts {
		for k, lr := range []float64{sampledRate, sampledRate / 2} {
			t, err := e.rolloutsToTarget(ctx, p0, lr)
			if err != nil {
				return nil, err
			}
			times[k] = append(times[k], t)
		}
		e.progress(i+1, len(sampledStarts))
		if i == 0 {
			continue
		}
		row, err := sampledRow(flow, i, times)
		if err != nil {
			return nil, err
		}
		s.Rows = append(s.Rows, row)
		middle := math.Sqrt(sampledStarts[i-1] * p0)
		curve.Points = append(curve.Points, Point{X: middle, Y: *row.Estimate, Low: row.Interval[0], High: row.Interval[1]})
	}
	s.Curves = []Curve{curve}
	return s, nil
}

// sampledRow compares the exponent between starts i-1 and i, extrapolated to
// steps without size, with the exact flow's.
func sampledRow(f logitFlow, i int, times [2][]sim.Estimate) (Row, error) {
	low, high := sampledStarts[i-1], sampledStarts[i]
	var measured [2]sim.Estimate
	for k := range measured {
		measured[k] = chord(low, high, times[k][i-1], times[k][i])
	}
	var exact [2]sim.Estimate
	for k, p0 := range []float64{low, high} {
		tau, err := f.time(p0, sampledTarget, pace)
		if err != nil {
			return Row{}, err
		}
		exact[k].Mean = tau
	}
	reference := chord(low, high, exact[0], exact[1]).Mean
	return extrapolated(Row{
		ID:     fmt.Sprintf("from-%v-to-%v", low, high),
		Claim:  fmt.Sprintf("rollouts to target of sampled training grow as along the exact flow: %s, p0 from %v to %v", f.name, low, high),
		Method: fmt.Sprintf("one logit to p = %v, learning rates %v and %v extrapolated to 0; exact flow", sampledTarget, sampledRate, sampledRate/2),
		Note: fmt.Sprintf("exponent %.3f ± %.3f and %.3f ± %.3f at the two rates; %.0f and %.0f rollouts at the larger one",
			measured[0].Mean, measured[0].SE, measured[1].Mean, measured[1].SE, times[0][i-1].Mean, times[0][i].Mean),
	}, measured[0], measured[1], reference), nil
}

// chord returns the exponent between two starts, its error by the delta method.
func chord(low, high float64, fromLow, fromHigh sim.Estimate) sim.Estimate {
	span := math.Log(high * (1 - high) / (low * (1 - low)))
	return sim.Estimate{
		Mean: math.Log(fromLow.Mean/fromHigh.Mean) / span,
		SE:   math.Hypot(fromLow.SE/fromLow.Mean, fromHigh.SE/fromHigh.Mean) / span,
	}
}

// sampledRuns returns the training runs from each start at each rate.
func (e *env) sampledRuns() int {
	if e.cfg.Quick {
		return 400
	}
	return 6000
}

// rolloutsToTarget returns the mean rollouts to target of training runs.
func (e *env) rolloutsToTarget(ctx context.Context, p0, lr float64) (sim.Estimate, error) {
	rollouts := make([]float64, e.sampledRuns())
	key := stream.New(e.cfg.Seed).Named(e.study)
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(e.cfg.Workers)
	for i := range rollouts {
		work.Go(func() (err error) {
			rollouts[i], err = trainOneLogit(ctx, key.With(uint64(i)).Bits(0), p0, lr)
			return err
		})
	}
	if err := work.Wait(); err != nil {
		return sim.Estimate{}, err
	}
	mean, sd := stat.MeanStdDev(rollouts, nil)
	return sim.Estimate{Mean: mean, SE: sd / math.Sqrt(float64(len(rollouts)))}, nil
}

// trainOneLogit returns the rollouts of one run to target.
func trainOneLogit(ctx context.Context, seed uint64, p0, lr float64) (float64, error) {
	cfg := train.DefaultConfig()
	cfg.Seed, cfg.Batch, cfg.Target = seed, 1, sampledTarget
	cfg.Population = "point:p=" + spec.FormatFloat(p0)
	cfg.Optimizer = "sgd:lr=" + spec.FormatFloat(lr)
	p, err := oneLogit(p0)
	if err != nil {
		return math.NaN(), err
	}
	s, err := strategy.NewFixed(sampledGroup)
	if err != nil {
		return math.NaN(), err
	}
	r, err := train.Run(ctx, cfg, p, s)
	if err != nil {
		return math.NaN(), err
	}
	if !r.Reached {
		return math.NaN(), fmt.Errorf("p0 = %v: %d rollouts do not reach %v, want a run that does", p0, cfg.MaxRollouts, sampledTarget)
	}
	return float64(r.Last.Ledger.Generated), nil
}
