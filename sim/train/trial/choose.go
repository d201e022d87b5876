package trial

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// choose fills the grids of r, every arm's best rate and the common one.
func (t *trial) choose(r *Result, records []Record) {
	if !t.chooses() {
		return
	}
	for i := range r.Arms {
		a := &r.Arms[i]
		var last, before []Record // of the two largest rates
		for _, rate := range r.Rates {
			a.Grid = append(a.Grid, t.rateResult(rate, records[:t.cfg.ChooseSeeds]))
			last, before = records[:t.cfg.ChooseSeeds], last
			records = records[t.cfg.ChooseSeeds:]
		}
		for k := range a.Grid {
			if better(&a.Grid[k], &a.Grid[a.Best]) {
				a.Best = k
			}
		}
		switch a.Best {
		case 0:
			a.Edge = "lowest"
		case len(a.Grid) - 1:
			a.Edge = "highest"
			gain := t.compare(before, last, len(t.levels)-1, rollouts)
			a.Gain = &gain
		}
	}
	r.Common = r.Arms[0].Best
}

// rateResult sums up the runs of an arm at one rate.
func (t *trial) rateResult(rate float64, records []Record) RateResult {
	target := len(t.levels) - 1
	r := RateResult{Rate: rate, Diverged: divergences(records)}
	r.Median, r.Reached = t.median(records, target, rollouts), reached(durations(records, target, rollouts))
	for i := range records {
		r.Success += t.success(&records[i]) / float64(len(records))
	}
	return r
}

// success returns the success that the target is of, at the end of a run.
func (t *trial) success(r *Record) float64 {
	if t.cfg.Train.HeldOut && r.HeldOut != nil {
		return *r.HeldOut
	}
	return r.Success
}

// better reports whether rate a is better than b, which is smaller or a itself.
func better(a, b *RateResult) bool {
	return cmp.Or(
		-cmp.Compare(min(len(a.Diverged), 1), min(len(b.Diverged), 1)),
		-cmp.Compare(orInf(a.Median.Estimate), orInf(b.Median.Estimate)),
		cmp.Compare(a.Reached, b.Reached),
		cmp.Compare(a.Success, b.Success),
	) > 0
}

func orInf(x *float64) float64 {
	if x == nil {
		return math.Inf(1)
	}
	return *x
}

// What a run spends, in the units of a figure.
func rollouts(s *Spent) float64 { return float64(s.Rollouts) }
func tokens(s *Spent) float64   { return float64(s.Tokens) }
func cost(s *Spent) float64     { return s.Cost }
func steps(s *Spent) float64    { return float64(s.Step) }

// durations returns what each run spent until it was on a level. A run that ended
// before is censored there; one that diverged never comes to the level, whatever
// it may spend.
func durations(records []Record, level int, unit func(*Spent) float64) []Duration {
	d := make([]Duration, len(records))
	for i := range records {
		r := &records[i]
		switch at := r.Levels[level]; {
		case at != nil:
			d[i] = Duration{Time: unit(at), Event: true}
		case r.Diverged != nil:
			d[i] = Duration{Time: math.Inf(1)}
		default:
			d[i] = Duration{Time: unit(&r.End)}
		}
	}
	return d
}

func reached(d []Duration) int {
	n := 0
	for _, d := range d {
		if d.Event {
			n++
		}
	}
	return n
}

// median returns the median of what the runs spent until they were on a level. A
// run that ran out of steps before it ran out of rollouts counts as one that never
// comes there: that it spent so little tells of it, and to let others stand for it
// would be to time those alone that went on.
func (t *trial) median(records []Record, level int, unit func(*Spent) float64) Figure {
	d := durations(records, level, unit)
	for i := range d {
		if !d[i].Event && records[i].End.Rollouts < t.cfg.Train.MaxRollouts {
			d[i].Time = math.Inf(1)
		}
	}
	f := Median(d, t.cfg.Level)
	if f.Estimate == nil {
		f.Reason = fmt.Sprintf("never reached %v in %d of %d runs", t.levels[level], len(d)-reached(d), len(d))
	}
	return f
}

func divergences(records []Record) []Diverged {
	var d []Diverged
	for i := range records {
		if records[i].Diverged != nil {
			d = append(d, *records[i].Diverged)
		}
	}
	return slices.Clip(d)
}
