package trial

import (
	"vigorlab/sim"
	"vigorlab/sim/train"
)

// A LedgerResult is what a run of a report spent until it ended, reached or not:
// means over the seeds.
type LedgerResult struct {
	Generated, Extra, Trained, Tokens, Rounds sim.Estimate // as in rollout.Ledger
	Steps                                     sim.Estimate
	Cost                                      sim.Estimate // in rollouts of the full policy
}

// Ledger sums up the reports of an arm at a rate, places in Config.Arms and
// Config.Rates, among the records of a trial.
func Ledger(records []Record, arm, rate int) LedgerResult {
	var runs []*Record
	for i := range records {
		if r := &records[i]; r.Phase == PhaseReport && r.Arm == arm && r.Rate == rate && len(r.Curve) > 0 {
			runs = append(runs, r)
		}
	}
	over := func(of func(*Record) float64) sim.Estimate {
		if len(runs) == 0 {
			return sim.Estimate{Reason: "no runs"}
		}
		v := make([]float64, len(runs))
		for i, r := range runs {
			v[i] = of(r)
		}
		return meanOf(v)
	}
	atEnd := func(of func(*train.CurvePoint) int) sim.Estimate {
		return over(func(r *Record) float64 { return float64(of(&r.Curve[len(r.Curve)-1])) })
	}
	return LedgerResult{
		Generated: atEnd(func(p *train.CurvePoint) int { return p.Ledger.Generated }),
		Extra:     atEnd(func(p *train.CurvePoint) int { return p.Ledger.Extra }),
		Trained:   atEnd(func(p *train.CurvePoint) int { return p.Ledger.Trained }),
		Tokens:    atEnd(func(p *train.CurvePoint) int { return p.Ledger.GeneratedTokens }),
		Rounds:    atEnd(func(p *train.CurvePoint) int { return p.Ledger.Rounds }),
		Steps:     over(func(r *Record) float64 { return float64(r.End.Step) }),
		Cost:      over(func(r *Record) float64 { return r.End.Cost }),
	}
}
