package trial

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// A Duration is a time >= 0 to an event, or the time up to which none had come:
// then it is censored.
type Duration struct {
	Time  float64 // +Inf only where it is censored
	Event bool
}

// A SurvivalStep is the Kaplan-Meier estimate from an event time to the next.
type SurvivalStep struct {
	Time     float64
	Survival float64 // estimate of P(T > Time)
	// Greenwood is the sum of d/(n(n-d)) over the event times so far, with d
	// events among n at risk: the variance of log Survival, +Inf where it is 0.
	Greenwood float64
}

// KaplanMeier returns the product-limit estimate, prod (1 - d/n), at every event
// time, rising (Kaplan and Meier, 1958). A duration censored at an event time is
// still at risk there. Censoring must tell nothing of the time that was to come.
func KaplanMeier(d []Duration) []SurvivalStep {
	d = slices.Clone(d)
	slices.SortFunc(d, func(a, b Duration) int { return cmp.Compare(a.Time, b.Time) })
	var steps []SurvivalStep
	survival, greenwood := 1.0, 0.0
	for i := 0; i < len(d); {
		atRisk, events, t := float64(len(d)-i), 0.0, d[i].Time
		for ; i < len(d) && d[i].Time == t; i++ {
			if d[i].Event {
				events++
			}
		}
		if events == 0 {
			continue
		}
		survival *= (atRisk - events) / atRisk
		greenwood += events / (atRisk * (atRisk - events)) // +Inf at the last one
		steps = append(steps, SurvivalStep{t, survival, greenwood})
	}
	return steps
}

// Median returns the Kaplan-Meier median, the first event time at which survival
// is at most 1/2, with the interval of Brookmeyer and Crowley (1982) at a level in
// (0, 1): the times at which survival is not told from 1/2 by its standard error,
// on the scale log(-log S), on which the normal law fits better with few durations
// (Klein and Moeschberger, 2003, section 4.5).
//
// All m durations lie on one side of the true median with probability 2 (1/2)^m.
// Where that is more than 1-level, at 95 % below 6 durations, there is no interval;
// elsewhere the last one bounds the median from above where none is censored and
// survival, which has no standard error at 0, tells of no earlier bound.
func Median(d []Duration, level float64) Figure {
	if len(d) == 0 {
		return Figure{Reason: "no runs"}
	}
	const rounding = 1e-9 // survival is a product of ratios, 1/2 often exactly
	half := math.Log(math.Ln2)
	z := distuv.UnitNormal.Quantile((1 + level) / 2)
	var f Figure
	for _, s := range KaplanMeier(d) {
		scale := math.Log(-math.Log(s.Survival))
		se := math.Sqrt(s.Greenwood) / -math.Log(s.Survival)
		if s.Survival == 0 {
			scale, se = math.Inf(1), 0 // without an error: for the low end alone
		}
		if f.Estimate == nil && s.Survival <= 0.5+rounding {
			f.Estimate = &s.Time
		}
		if f.Low == nil && scale+z*se >= half {
			f.Low = &s.Time
		}
		if f.High == nil && s.Survival > 0 && scale-z*se > half {
			f.High = &s.Time
		}
	}
	if last := slices.MaxFunc(d, func(a, b Duration) int { return cmp.Compare(a.Time, b.Time) }); f.High == nil && reached(d) == len(d) {
		f.High = &last.Time
	}
	few := tooFew(len(d), level)
	if few != "" {
		f.Low, f.High = nil, nil
	}
	switch {
	case f.Estimate == nil:
		f.Reason = "not reached by half of the runs"
	case few != "":
		f.Reason = few
	case f.High == nil:
		f.Reason = "too few runs were seen to get there to bound the median from above"
	}
	return f
}

// tooFew says why m values bear no interval for their median at a level: all of
// them lie on one side of it with probability 2 (1/2)^m; "" where that is at most
// 1-level.
func tooFew(m int, level float64) string {
	if 2*math.Exp2(-float64(m)) <= 1-level {
		return ""
	}
	if m == 1 {
		return "a single seed has no interval"
	}
	return fmt.Sprintf("%d seeds: too few for an interval of %.4g %%", m, 100*level)
}
