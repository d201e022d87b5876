package trial

import (
	"math"

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
	reference := records[:t.cfg.Seeds]
	for i := range r.Arms {
		a := &r.Arms[i]
		for _, rate := range r.reported(i) {
			own := records[:t.cfg.Seeds]
			records = records[t.cfg.Seeds:]
			report := &Report{
				Rate: r.Rates[rate], Diverged: divergences(own), Success: t.successes(own), Diagnostics: diagnostics(own),
				Curve: curve(own), Probes: t.probes(own),
			}
			for level := range t.levels {
				report.Levels = append(report.Levels, t.levelResult(level, own, reference, hasTokens, hasCost))
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

// levelResult works out what it took the runs of an arm to reach a level.
func (t *trial) levelResult(level int, own, reference []Record, hasTokens, hasCost bool) LevelResult {
	key := stream.New(t.cfg.Train.Seed).Named("bootstrap")
	measure := func(unit func(*Spent) float64) *Measure {
		return &Measure{
			Median: t.median(own, level, unit),
			Ratio:  Compare(durations(reference, level, unit), durations(own, level, unit), t.cfg.Resamples, t.cfg.Level, key),
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
