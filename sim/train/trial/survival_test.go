package trial

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// TestSurvivalGolden compares with testdata/survival.py.
func TestSurvivalGolden(t *testing.T) {
	text, err := os.ReadFile("testdata/survival.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Cases map[string]struct {
			Times  []float64
			Events []bool
			Steps  []struct {
				Time, Survival float64
				Greenwood      *float64
			}
			Median, Low, High *float64
		}
	}
	if err := json.Unmarshal(text, &golden); err != nil {
		t.Fatal(err)
	}
	for name, c := range golden.Cases {
		var d []Duration
		for i, time := range c.Times { // out of order
			d = append([]Duration{{time, c.Events[i]}}, d...)
		}
		steps := KaplanMeier(d)
		if len(steps) != len(c.Steps) {
			t.Fatalf("%s: %d steps, want %d", name, len(steps), len(c.Steps))
		}
		for i, s := range steps {
			want := c.Steps[i]
			greenwood := math.Inf(1)
			if want.Greenwood != nil {
				greenwood = *want.Greenwood
			}
			if s.Time != want.Time || !(math.Abs(s.Survival-want.Survival) < 1e-14) || s.Greenwood != greenwood && !(math.Abs(s.Greenwood-greenwood) < 1e-13) {
				t.Errorf("%s: step %+v, want %+v", name, s, want)
			}
		}
		f := Median(d, 0.95)
		same := func(what string, got, want *float64) {
			if (got == nil) != (want == nil) || got != nil && *got != *want {
				t.Errorf("%s: %s %v, want %v", name, what, orInf(got), orInf(want))
			}
		}
		same("median", f.Estimate, c.Median)
		same("low", f.Low, c.Low)
		same("high", f.High, c.High)
		if (f.Estimate == nil || f.Low == nil || f.High == nil) != (f.Reason != "") {
			t.Errorf("%s: reason %q", name, f.Reason)
		}
	}
}

// TestMedianCoverage works out how often the interval holds the median of a
// continuous law, from the ranks of its ends among m durations, none censored: the
// number below the median is Binomial(m, 1/2).
func TestMedianCoverage(t *testing.T) {
	for m := 1; m <= 60; m++ {
		var d []Duration
		for i := range m {
			d = append(d, Duration{float64(i + 1), true})
		}
		f := Median(d, 0.95)
		if m < 6 {
			if f.Low != nil || f.High != nil || f.Reason == "" || f.Estimate == nil {
				t.Errorf("%d durations: %+v, want no interval and a reason", m, f)
			}
			continue
		}
		below := distuv.Binomial{N: float64(m), P: 0.5}
		coverage := below.CDF(*f.High-1) - below.CDF(*f.Low-1)
		if !(coverage > 0.92 && coverage < 0.99) {
			t.Errorf("%d durations: ranks %v to %v hold the median with probability %.4f, want about 0.95", m, *f.Low, *f.High, coverage)
		}
	}
}

// TestMedianEdges: ties, no runs, none and all reached at once.
func TestMedianEdges(t *testing.T) {
	tied := make([]Duration, 8)
	for i := range tied {
		tied[i] = Duration{512, true}
	}
	if f := Median(tied, 0.95); orInf(f.Estimate) != 512 || orInf(f.Low) != 512 || orInf(f.High) != 512 || f.Reason != "" {
		t.Errorf("tied: %+v", f)
	}
	never := []Duration{{100, false}, {120, false}, {math.Inf(1), false}}
	if f := Median(never, 0.95); f.Estimate != nil || f.Low != nil || f.High != nil || f.Reason == "" {
		t.Errorf("never: %+v", f)
	}
	if f := Median(nil, 0.95); f.Estimate != nil || f.Reason == "" {
		t.Errorf("no runs: %+v", f)
	}
}
