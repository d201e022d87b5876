package theory

import (
	"vigorlab/distributions"
	"vigorlab/sim/schedule"
)

// A Stop is what VIGOR would have if it stopped after a round.
type Stop struct {
	Round int // from 1
	*MeanField
	Relative float64 // Progress over that of the fixed group of the same mean size; NaN where that makes none
}

// RoundByRound returns the mean field of VIGOR after every round, 1 to T
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
		fixed, err := FixedMeanField(law, field.MeanGroup, frontier, nodes)
		if err != nil {
			return nil, err
		}
		stops = append(stops, Stop{v.Rounds, field, ratio(field.Progress, fixed.Progress)})
	}
	return stops, nil
}
