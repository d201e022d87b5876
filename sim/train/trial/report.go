package trial

import "vigorlab/sim/stream"

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
			report := &Report{Rate: r.Rates[rate], Diverged: divergences(own), Curve: curve(own), Probes: t.probes(own)}
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
