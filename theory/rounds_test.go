package theory

import (
	"math"
	"testing"

	"vigorlab/distributions"
	"vigorlab/sim/schedule"
)

// TestRoundByRound follows the default schedule on uniform p by hand: stopping
// after round 1 is the fixed group of 2, whose sigma is 1 with probability
// E[2p(1-p)] = 1/3, and the last stop is the whole schedule.
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
	near("eta after round 1", first.Eta.Value, 1)
	near("signal after round 1", first.Signal.Value, 1.0/3)
	near("ineffective after round 1", first.Ineffective.Value, 2.0/3)
	near("progress after round 1", first.Progress.Value, 1)
	near("eta after round 4", last.Eta.Value, whole.Eta)
	near("signal after round 4", last.Signal.Value, whole.Signal)
	for i, rollouts := range []float64{2, 4, 6, 8} {
		near("rollouts", stops[i].RolloutsPerPrompt.Value, rollouts)
		if stops[i].Round != i+1 {
			t.Errorf("stop %d is of round %d", i, stops[i].Round)
		}
	}
	if _, err := RoundByRound(law, v, math.NaN(), DefaultNodes); err == nil {
		t.Error("frontier = NaN is accepted")
	}
}

// TestSingleRollout: with m0 = 1 no reward of round 1 has another beside it, so
// that neither the stop nor the fixed group of 1 makes any progress.
func TestSingleRollout(t *testing.T) {
	for name, law := range reference() {
		v := schedule.Default()
		v.M0 = 1
		stops, err := RoundByRound(law, v, 0.75, DefaultNodes)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		missing(t, name+": progress after round 1", stops[0].Progress, noProgress)
		if eta := value(t, name+": eta after round 1", stops[0].Eta); !(math.Abs(eta-1) < 1e-12) {
			t.Errorf("%s: eta after round 1 = %v, want 1", name, eta)
		}
		value(t, name+": progress after round 2", stops[1].Progress)
	}
}
