package trial

import (
	"math"
	"testing"

	"vigorlab/sim/rollout"
	"vigorlab/sim/train"
)

// TestLedger by hand: only the reports of the arm at the rate count, and of their
// curves the end.
func TestLedger(t *testing.T) {
	run := func(phase string, arm, rate, generated int) Record {
		return Record{
			Job: Job{Phase: phase, Arm: arm, Rate: rate}, End: Spent{Step: generated / 10, Cost: 2 * float64(generated)},
			Curve: []train.CurvePoint{{}, {Ledger: rollout.Ledger{Generated: generated, Extra: 3, Trained: generated - 5, GeneratedTokens: 7 * generated, Rounds: 4}}},
		}
	}
	l := Ledger([]Record{
		run(PhaseChoose, 1, 2, 1000), run(PhaseReport, 0, 2, 1000), run(PhaseReport, 1, 1, 1000),
		run(PhaseReport, 1, 2, 100), run(PhaseReport, 1, 2, 140),
	}, 1, 2)
	for _, c := range []struct {
		name           string
		mean, se       float64
		wantMean, want float64 // the error of a and b is |a-b|/2
	}{
		{"generated", l.Generated.Mean, l.Generated.SE, 120, 20},
		{"extra", l.Extra.Mean, l.Extra.SE, 3, 0},
		{"trained", l.Trained.Mean, l.Trained.SE, 115, 20},
		{"tokens", l.Tokens.Mean, l.Tokens.SE, 840, 140},
		{"rounds", l.Rounds.Mean, l.Rounds.SE, 4, 0},
		{"steps", l.Steps.Mean, l.Steps.SE, 12, 2},
		{"cost", l.Cost.Mean, l.Cost.SE, 240, 40},
	} {
		if !(math.Abs(c.mean-c.wantMean) < 1e-9 && math.Abs(c.se-c.want) < 1e-9) {
			t.Errorf("%s: %v ± %v, want %v ± %v", c.name, c.mean, c.se, c.wantMean, c.want)
		}
	}
	if l := Ledger(nil, 0, 0); l.Steps.Reason == "" {
		t.Error("no runs have a mean")
	}
}
