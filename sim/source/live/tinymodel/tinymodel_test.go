package tinymodel

import (
	"math"
	"testing"
)

// TestProblems checks what the problems are there to offer: success
// probabilities that spread, lengths that differ tenfold, a tenth cut off.
func TestProblems(t *testing.T) {
	problems := Problems()
	if len(problems) != 128 {
		t.Fatalf("%d problems, want 128", len(problems))
	}
	seen := map[string]bool{}
	var bins [4]int // quarters of (0, 1)
	var dead int
	var cutOff float64
	shortest, longest := math.Inf(1), 0.0
	for _, p := range problems {
		if seen[p.ID] {
			t.Errorf("%s is there twice", p.ID)
		}
		seen[p.ID] = true
		fits := len(p.Answer) < MaxTokens // the end is the last token
		if !(p.Rate >= 0 && p.Rate < 1) || fits != (p.Rate > 0) {
			t.Errorf("%s: rate %v, answer of %d characters, want a rate in (0, 1) where it fits, else 0", p.ID, p.Rate, len(p.Answer))
		}
		if fits {
			bins[int(4*p.Rate)]++
		} else {
			dead++
		}
		cutOff += p.CutOff.Mean / float64(len(problems))
		shortest, longest = min(shortest, p.Length.Mean), max(longest, p.Length.Mean)
	}
	t.Logf("rates by quarters %v, %d dead; mean lengths %.2f to %.2f, %.3f cut off", bins, dead, shortest, longest, cutOff)
	for i, n := range bins {
		if n < 8 {
			t.Errorf("%d rates in [%v, %v), want at least 8: quarters %v", n, float64(i)/4, float64(i+1)/4, bins)
		}
	}
	if !(longest >= 10*shortest) {
		t.Errorf("mean lengths from %.2f to %.2f, want a tenfold spread", shortest, longest)
	}
	if !(cutOff > 0.08 && cutOff < 0.12) {
		t.Errorf("share cut off %.3f, want a tenth", cutOff)
	}
}

// TestEstimatesMeetRates: a right text has its result as its last number, so
// the estimated share of right last numbers may not lie below the exact rate.
// The share is a mean of 4,096 draws; by Bernstein it falls short by chance
// with probability 1e-6 over all 128 cases together.
func TestEstimatesMeetRates(t *testing.T) {
	problems := Problems()
	for _, p := range problems {
		short := bernstein(Draws*p.Rate*(1-p.Rate), 1e-6/float64(len(problems))) / Draws
		if got := p.LastNumber.Mean; !(got > p.Rate-short && got <= 1) {
			t.Errorf("%s: share of right last numbers %v, want at least the rate %v less %.4f", p.ID, got, p.Rate, short)
		}
	}
}

// bernstein returns the t with P(|S - E S| >= t) <= alpha for a sum S of
// independent variables in [0, 1] of the given total variance: Bernstein's
// inequality 2 exp(-t^2 / (2 (v + t/3))) = alpha, solved.
func bernstein(v, alpha float64) float64 {
	l := math.Log(2 / alpha)
	return l/3 + math.Sqrt(l*l/9+2*v*l)
}
