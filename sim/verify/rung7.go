package verify

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"vigorlab/distributions"
	"vigorlab/distributions/spec"
	"vigorlab/distributions/table"
	"vigorlab/sim"
	"vigorlab/sim/rollout"
	"vigorlab/sim/source"
)

// rung7 replays the recorded outcomes of real models, a study a table.
func rung7(cfg *Config) []study {
	if len(cfg.Tables) == 0 {
		const why = "needs a table of recorded outcomes: give --table FILE"
		return []study{{id: "7.replay", run: func(context.Context, *env) (*Section, error) {
			return untestable("", "the algorithm gains on recorded outcomes of real models", why), nil
		}}}
	}
	var s []study
	for i, t := range cfg.Tables {
		s = append(s, study{
			id:          fmt.Sprintf("7.table-%d-%s", i+1, strings.TrimSuffix(filepath.Base(t.Name), ".csv")),
			comparisons: len(tableFigures),
			run:         func(ctx context.Context, e *env) (*Section, error) { return replay(ctx, e, t) },
		})
	}
	return s
}

// tableFigures are compared with the mean field of the table's law.
var tableFigures = slices.DeleteFunc(slices.Clone(fieldFigures), func(f fieldFigure) bool {
	return !slices.Contains([]string{"eta", "signal", "ineffective"}, f.name)
})

func replay(ctx context.Context, e *env, t *table.Table) (*Section, error) {
	l, err := spec.TableLaw(t)
	if err != nil {
		return nil, err
	}
	if l.MeanU() == 0 {
		return untestable("gain", "VIGOR gains on "+t.Name, "every recorded prompt is dead or solved: there is no reward variance to find"), nil
	}
	p, err := predict("table:path="+t.Name, l, vigor(nil))
	if err != nil {
		return nil, err
	}
	rows, curve, err := e.replayTable(ctx, t, p)
	if err != nil {
		return nil, err
	}
	checks, err := e.tableMeanField(ctx, t, l, p)
	if err != nil {
		return nil, err
	}
	return &Section{Rows: append(rows, checks...), Curves: []Curve{curve}, Predictions: []Prediction{p.Prediction}}, nil
}

// replayTable asks whether VIGOR gains on the table's prompts, and whether
// perfect selection would have foretold how much.
func (e *env) replayTable(ctx context.Context, t *table.Table, p *predicted) ([]Row, Curve, error) {
	cfg := e.config(filepath.Base(t.Name), 1000, 5000)
	boot := sim.DefaultBootstrap()
	newSource := func() (rollout.TruthSource, error) { return source.NewTable(t, source.DrawReplacement, 0) }
	r, err := sim.Run(ctx, cfg, newSource, strategies(vigor(nil)))
	if err != nil {
		return nil, Curve{}, err
	}
	if err := sim.Bootstrap(ctx, cfg, boot, newSource, strategies(vigor(nil)), r); err != nil {
		return nil, Curve{}, err
	}
	one := cfg
	one.Replicates = 1 // the whole table is the batch: u is the same in every one, and so is perfect selection
	best, err := sim.Run(ctx, one, newSource, strategies(vigor(perfect)))
	if err != nil {
		return nil, Curve{}, err
	}
	eta := r.Strategies[0].Eta
	gain := Row{
		ID: "gain", Kind: Claim,
		Claim: "VIGOR finds more reward variance per rollout than fixed groups on " + t.Name,
		Method: fmt.Sprintf("replay with replacement, %d prompts, %g %% intervals over %d samples of prompts, each of %d tables by itself",
			len(t.Rows), 100*boot.Level, boot.Resamples, len(e.cfg.Tables)),
		Estimate: number(eta.Mean), SE: number(eta.SE), Reference: number(1),
		Test: fmt.Sprintf("%g %% percentile bootstrap over prompts; the claim is that eta is above 1. It is outside Holm's family: each of %d tables has its own %.3g %% a side",
			100*boot.Level, len(e.cfg.Tables), 50*(1-boot.Level)),
		Note: p.String(),
	}
	point := Point{Y: eta.Mean, Low: eta.Mean, High: eta.Mean}
	if i := eta.Prompts; i != nil {
		gain.Interval = &[2]float64{i.Low, i.High}
		if i.Missing > 0 {
			gain.Note = joinNotes(fmt.Sprintf("%d of %d samples of prompts have no eta and no part in the interval", i.Missing, boot.Resamples), gain.Note)
		}
		point.Low, point.High = i.Low, i.High
	}
	few := sim.FewPrompts(len(t.Rows), t.Varied())
	const noInterval = "too few prompts for an interval over samples of prompts"
	switch {
	case gain.Interval == nil:
		gain.Verdict, gain.Reason = Untestable, noInterval
	case few != "":
		gain.Verdict, gain.Reason = Untestable, few
	case point.Low > 1+exactTolerance:
		gain.Verdict = Holds
	case point.High < 1-exactTolerance:
		gain.Verdict = Fails
	default:
		gain.Verdict, gain.Reason = Untestable, "the interval holds 1: these prompts cannot tell"
	}
	if gain.Verdict == Untestable {
		gain.Note = joinNotes(gain.Reason, gain.Note)
	} else {
		gain.Reason = "p, detects: the verdict is read off the interval"
	}
	foretold := claimed(Row{
		ID: "perfect", Claim: "perfect selection foretells the gain on " + t.Name,
		Method: "the same replay beside perfect selection on the same batch, the whole table",
	}, eta.Mean, best.Strategies[0].Eta.Mean)
	foretold.Test = fmt.Sprintf("the replay's mean, without regard to its error: holds within d up to d = %g, relative", closeBy)
	foretold.SE, foretold.Interval = number(eta.SE), gain.Interval
	foretold.Reason = "p, detects: the verdict looks at the mean alone"
	if foretold.Interval == nil {
		foretold.Reason += "; interval: " + noInterval
	}
	curve := Curve{
		Figure: FigureReplay, Family: filepath.Base(t.Name), Kind: MonteCarlo,
		Points:  []Point{point},
		Setting: Setting{Population: p.Population, Strategy: r.Strategies[0].Strategy, Batch: r.Batch, Replicates: r.Replicates},
	}
	return []Row{gain, foretold}, curve, nil
}

// tableMeanField checks the engine against the mean field of the table's law,
// as rung 4 does for synthetic populations.
func (e *env) tableMeanField(ctx context.Context, t *table.Table, l distributions.Law, p *predicted) ([]Row, error) {
	var results [2]*sim.Result
	for k, batch := range []int{fieldBatch, 2 * fieldBatch} {
		r, err := e.simulateLaw(ctx, "law of "+filepath.Base(t.Name), l, batch, 1000, 10_000, strategies(vigor(nil))...)
		if err != nil {
			return nil, err
		}
		results[k] = r
	}
	rows, err := extrapolate("the law of "+t.Name, results[0], results[1], p, tableFigures)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		rows[i].ID = tableFigures[i].name
	}
	return rows, nil
}
