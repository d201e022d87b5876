package theory

import (
	"vigorlab/distributions"
	"vigorlab/sim/schedule"
)

// A Stop is what VIGOR would have if it stopped after a round.
type Stop struct {
	Round              int // from 1
	RolloutsPerPrompt  Number
	Eta                Number
	Signal             Number
	SignalPromptMean   Number
	Ineffective        Number
	ZeroVarianceGroups Number
	Progress           Number // over that of the fixed group of the same mean size
}

// RoundByRound returns the figures of VIGOR after every round, 1 to T
// (theory.md, section 3.2). Cuts are nested and decided by what was seen before
// them, so the first t rounds of a schedule are the schedule with rounds = t.
// Errors are those of VigorMeanField.
func RoundByRound(law distributions.Law, v schedule.Vigor, frontier float64, nodes int) ([]Stop, error) {
	var stops []Stop
	last := v.Rounds
	for v.Rounds = 1; v.Rounds <= last; v.Rounds++ {
		field, err := VigorMeanField(law, v, frontier, nodes)
		if err != nil {
			return nil, err
		}
		fixed, err := FixedMeanField(law, v.MeanGroup(), frontier, nodes)
		if err != nil {
			return nil, err
		}
		stops = append(stops, Stop{
			Round:              v.Rounds,
			RolloutsPerPrompt:  number(field.Rollouts, nil, ""),
			Eta:                number(field.Eta, nil, noVariance),
			Signal:             number(field.Signal, nil, noVariance),
			SignalPromptMean:   number(field.SignalPromptMean, nil, noVariance),
			Ineffective:        number(field.Ineffective, nil, noVariance),
			ZeroVarianceGroups: number(field.ZeroVarianceGroups, nil, noVariance),
			Progress:           number(ratio(field.Progress, fixed.Progress), nil, noProgress),
		})
	}
	return stops, nil
}
