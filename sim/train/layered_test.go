package train

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// TestLayersAddUp: the layers sum to softmax's initial logits, whatever their
// spread; without s equal layers of L the logits shrink by (L-s)/L.
func TestLayersAddUp(t *testing.T) {
	want := policy(t, "softmax:answers=4,near=1,gap=2", population, 5)
	for _, spread := range []string{"0", "0.7", "20"} {
		m := policy(t, "layered:layers=6,answers=4,near=1,gap=2,spread="+spread, population, 5).(*layered)
		for x := range 5 {
			m.logits(x)
			if got, want := m.z, logits(want.Parameters(), x, 4); !floats.EqualApprox(got, want, 1e-13) {
				t.Errorf("spread %s: logits %v of prompt %d, want %v", spread, got, x, want)
			}
		}
	}
	m := policy(t, "layered:layers=6,answers=4,near=1,gap=2", population, 5).(*layered)
	m.Skipped()[2], m.Skipped()[3] = true, true
	for x := range 5 {
		cooled := make([]float64, 4)
		floats.ScaleTo(cooled, 4./6, logits(want.Parameters(), x, 4))
		if got, want := m.LogProbs(nil, x), appendLogSoftmax(nil, cooled); !floats.EqualApprox(got, want, 1e-14) {
			t.Errorf("log probabilities %v of prompt %d without two layers of six, want %v", got, x, want)
		}
	}
}

// TestSpreadOfLayers: the standard deviation of a layer's logit round its share
// is spread sqrt(1-1/L) at the start. n = 60000 entries, of which L-1 in L are
// independent: the estimate's relative standard error is below 1/sqrt(2n(1-1/L))
// = .0034, the tolerance 4.9 of them (false alarm 1e-6); a spread 3.4 % off is
// missed with probability 1e-6.
func TestSpreadOfLayers(t *testing.T) {
	const layers, spread = 4, 0.7
	m := policy(t, "layered:layers=4,answers=3,spread=0.7", population, 5000).(*layered)
	var off []float64
	for x := range 5000 {
		m.logits(x)
		for l := range layers {
			for k, part := range m.layer(m.theta, x, l) {
				off = append(off, part-m.z[k]/layers)
			}
		}
	}
	want := spread * math.Sqrt(1-1./layers)
	if got := stat.PopStdDev(off, nil); !(math.Abs(got/want-1) < 4.9*.0034) {
		t.Errorf("standard deviation %v, want %v", got, want)
	}
}

// TestSkippedScores: what is skipped has no gradient, and the others have that
// of the policy without it, by central differences (see TestScores).
func TestSkippedScores(t *testing.T) {
	const h = 1e-5
	m := policy(t, "layered:layers=4,answers=3,spread=1", population, 2).(*layered)
	scatter(m, newRand(20), 1)
	m.Skipped()[1] = true
	w, grad := []float64{.3, -1.2, .8}, make([]float64, len(m.theta))
	m.AddScores(grad, 1, w)
	for i := range m.theta {
		at := m.theta[i]
		m.theta[i] = at + h
		up := floats.Dot(w, m.LogProbs(nil, 1))
		m.theta[i] = at - h
		down := floats.Dot(w, m.LogProbs(nil, 1))
		m.theta[i] = at
		if want := (up - down) / (2 * h); !(math.Abs(grad[i]-want) < 2e-9) {
			t.Errorf("parameter %d: %v, want %v", i, grad[i], want)
		}
	}
	for l, skipped := range m.Skipped() {
		if norm := floats.Norm(m.layer(grad, 1, l), 2); (norm == 0) != skipped {
			t.Errorf("layer %d, skipped %v: gradient of norm %v", l, skipped, norm)
		}
	}
}
