package theory

import (
	"math"
	"testing"

	"vigorlab/distributions"
	"vigorlab/sim/schedule"
)

// TestRoundByRound follows the default schedule on uniform p by hand: stopping
// after round 1 is the fixed group of 2, whose sigma is 1 with probability
// E[2p(1-p)] = 1/3; the last stop is the whole schedule; and the groups that
// left before a stop are those of the whole schedule.
func TestRoundByRound(t *testing.T) {
	law := distributions.NewUniform()
	v := schedule.Default()
	stops, err := RoundByRound(law, v, 0.75, DefaultNodes)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := VigorMeanField(law, v, 0.75, DefaultNodes)
	if err != nil {
		t.Fatal(err)
	}
	near := func(what string, got, want float64) {
		t.Helper()
		if !(math.Abs(got-want) <= 1e-12) {
			t.Errorf("%s = %v, want %v", what, got, want)
		}
	}
	if len(stops) != 4 {
		t.Fatalf("%d stops, want 4", len(stops))
	}
	first, last := stops[0], stops[3]
	near("eta after round 1", first.Eta, 1)
	near("signal after round 1", first.Signal, 1.0/3)
	near("ineffective after round 1", first.Ineffective, 2.0/3)
	near("progress after round 1", first.Relative, 1)
	near("eta after round 4", last.Eta, whole.Eta)
	near("signal after round 4", last.Signal, whole.Signal)
	for i, rollouts := range []float64{2, 4, 6, 8} {
		near("rollouts", stops[i].Rollouts, rollouts)
		if stops[i].Round != i+1 {
			t.Errorf("stop %d is of round %d", i, stops[i].Round)
		}
		for k, s := range stops[i].Screening {
			near("false negatives of a cut", s.FalseNegative, whole.Screening[k].FalseNegative)
		}
	}
	if _, err := RoundByRound(law, v, math.NaN(), DefaultNodes); err == nil {
		t.Error("frontier = NaN is accepted")
	}
}
