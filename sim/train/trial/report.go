package trial

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"vigorlab/sim"
	"vigorlab/sim/stream"
	"vigorlab/sim/train"
)

// report fills the reports of r.
func (t *trial) report(r *Result, records []Record) {
	hasTokens, hasCost := false, false
	for i := range records {
		end := &records[i].End
		hasTokens = hasTokens || end.Tokens > 0
		hasCost = hasCost || end.Cost != float64(end.Rollouts)
	}
	runs := t.runs(r, records)
	reference := runs[0][r.Common]
	for i := range r.Arms {
		a := &r.Arms[i]
		var within []Record // of the arm that Measure.Within compares with
		if base := r.within(i); base >= 0 {
			within = runs[base][r.Arms[base].Best]
		}
		for _, rate := range r.reported(i) {
			own := runs[i][rate]
			report := &Report{
				Rate: r.Rates[rate], Diverged: divergences(own), Success: t.successes(own), Diagnostics: diagnostics(own),
				Curve: curve(own), Probes: t.probes(own),
			}
			for level := range t.levels {
				bases := bases{reference: reference, within: within, before: t.before(r, runs, i, rate)}
				report.Levels = append(report.Levels, t.levelResult(level, own, &bases, hasTokens, hasCost))
			}
			if rate == r.Common {
				a.Common = report
			}
			if rate == a.Best {
				a.Own = report
			}
		}
	}
}

// runs returns the records that report, by arm and the place of the rate.
func (t *trial) runs(r *Result, records []Record) []map[int][]Record {
	runs := make([]map[int][]Record, len(r.Arms))
	for i := range r.Arms {
		runs[i] = map[int][]Record{}
		for _, rate := range r.reported(i) {
			runs[i][rate] = records[:t.cfg.Seeds]
			records = records[t.cfg.Seeds:]
		}
	}
	return runs
}

// within returns the arm of the reference's strategy under the system, estimator
// and aggregation of an arm; -1 for none, or where that is the arm or has no system.
func (r *Result) within(arm int) int {
	a := r.Arms[arm]
	a.Strategy = r.Arms[0].Strategy
	if a.System == "" || a.Strategy == r.Arms[arm].Strategy {
		return -1
	}
	return slices.IndexFunc(r.Arms, func(b ArmResult) bool {
		return a.Strategy == b.Strategy && a.Estimator == b.Estimator && a.Aggregate == b.Aggregate && a.System == b.System && a.Optimizer == b.Optimizer
	})
}

// compare returns what one set of runs spent until a level over what another did.
func (t *trial) compare(reference, arm []Record, level int, unit func(*Spent) float64) Ratio {
	key := stream.New(t.cfg.Train.Seed).Named("bootstrap")
	return Compare(durations(reference, level, unit), durations(arm, level, unit), t.cfg.Resamples, t.cfg.Level, key)
}

// before returns the runs that an arm at a rate is compared with on a ladder; nil
// for none.
func (t *trial) before(r *Result, runs []map[int][]Record, arm, rate int) []Record {
	a := r.Arms[arm]
	for j := arm - 1; j >= 0 && t.cfg.Ladder; j-- {
		b := r.Arms[j]
		if a.Estimator != b.Estimator || a.Aggregate != b.Aggregate || a.System != b.System || a.Optimizer != b.Optimizer {
			continue
		}
		if rate == a.Best {
			return runs[j][b.Best]
		}
		return runs[j][r.Common]
	}
	return nil
}

// bases are the runs that those of an arm are compared with; within and before are
// nil where there are none.
type bases struct{ reference, within, before []Record }

// levelResult works out what it took the runs of an arm to reach a level.
func (t *trial) levelResult(level int, own []Record, base *bases, hasTokens, hasCost bool) LevelResult {
	measure := func(unit func(*Spent) float64) *Measure {
		over := func(records []Record) *Ratio {
			if records == nil {
				return nil
			}
			ratio := t.compare(records, own, level, unit)
			return &ratio
		}
		return &Measure{
			Median: t.median(own, level, unit), Ratio: *over(base.reference),
			Within: over(base.within), Before: over(base.before),
		}
	}
	l := LevelResult{
		Level: t.levels[level], Reached: reached(durations(own, level, steps)), Seeds: len(own),
		Steps: t.median(own, level, steps), Rollouts: *measure(rollouts),
	}
	if hasTokens {
		l.Tokens = measure(tokens)
	}
	if hasCost {
		l.Cost = measure(cost)
	}
	return l
}

// successes returns the mean success of the target's prompts at the end.
func (t *trial) successes(records []Record) sim.Estimate {
	v := make([]float64, len(records))
	for i := range records {
		v[i] = t.success(&records[i])
	}
	return meanOf(v)
}

// meanOf returns a mean over seeds with its standard error.
func meanOf(v []float64) sim.Estimate {
	mean, sd := stat.MeanStdDev(v, nil)
	return sim.Estimate{Mean: mean, SE: sd / math.Sqrt(float64(len(v)))}
}

// diagnostics sums up the figures of a system over whole runs, then over seeds.
func diagnostics(records []Record) []Diagnostic {
	var all []Diagnostic
	values := map[string][]float64{}
	for i := range records {
		var run train.CurvePoint
		for k := range records[i].Curve {
			run.Add(&records[i].Curve[k])
		}
		for _, d := range run.Diagnostics {
			v, known := values[d.Name]
			if !known {
				all = append(all, Diagnostic{Name: d.Name})
			}
			if d.Steps > 0 {
				v = append(v, d.Mean())
			}
			values[d.Name] = v
		}
	}
	for i := range all {
		d := &all[i]
		v := values[d.Name]
		if d.Seeds = len(v); d.Seeds == 0 {
			d.Estimate = sim.Estimate{Reason: "finite at no step"}
			continue
		}
		d.Estimate = meanOf(v)
	}
	return all
}
