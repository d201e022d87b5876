package trial

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"vigorlab/sim"
	"vigorlab/sim/train"
)

// probes judges the gradient at every quarter that a seed came to.
func (t *trial) probes(records []Record) []ProbeResult {
	var results []ProbeResult
	for quarter := range quarters {
		var probes []*train.Probe
		for i := range records {
			if p := records[i].Probes; p != nil && p[quarter] != nil {
				probes = append(probes, p[quarter])
			}
		}
		if len(probes) > 0 {
			results = append(results, probeResult(quarter, probes, t.cfg.Level))
		}
	}
	return results
}

// probeResult works out the figures of at least one probe.
func probeResult(quarter int, probes []*train.Probe, level float64) ProbeResult {
	r := ProbeResult{Quarter: quarter, Seeds: len(probes)}
	var signal, noise, along, exact []float64
	for _, p := range probes {
		r.Success += p.Success / float64(len(probes))
		r.Rollouts += p.Rollouts / float64(len(probes))
		signal, noise = append(signal, p.Signal), append(noise, p.Square-p.Signal)
		if p.Exact != nil {
			along, exact = append(along, *p.Along), append(exact, *p.Exact)
		}
	}
	if reason := indistinct(signal, level); reason != "" {
		none := sim.Estimate{Reason: reason}
		r.SNR, r.Bias, r.Length = none, none, none
		return r
	}
	r.SNR = product("the gradient never varied", factor{signal, 1}, factor{noise, -1})
	if len(exact) < len(probes) {
		r.Bias, r.Length = sim.Estimate{Reason: probes[0].Why}, sim.Estimate{Reason: probes[0].Why}
		return r
	}
	const still = "the exact gradient is 0"
	r.Bias = product(still, factor{along, 1}, factor{signal, -0.5}, factor{exact, -0.5})
	r.Bias.Mean = 1 - r.Bias.Mean
	r.Length = product(still, factor{signal, 0.5}, factor{exact, -0.5})
	return r
}

// indistinct says why the mean of the signals cannot be told from 0, by a
// one-sided t-test at (1-level)/2; "" where it can.
func indistinct(signal []float64, level float64) string {
	n := len(signal)
	if n < 2 {
		return "a single seed does not tell the signal from noise"
	}
	mean, sd := stat.MeanStdDev(signal, nil)
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(n - 1)}.Quantile((1 + level) / 2)
	if !(mean > t*sd/math.Sqrt(float64(n))) {
		return fmt.Sprintf("the signal cannot be told from 0 over %d seeds", n)
	}
	return ""
}

// A factor is a power of a mean over seeds.
type factor struct {
	values []float64 // by seed
	power  float64
}

// product returns a product of powers of means with its error by the delta
// method: its relative deviation is the sum of power times the relative deviation
// of each mean. It does not exist, for the given reason, where a mean with a power
// below 1 is not above 0.
func product(reason string, factors ...factor) sim.Estimate {
	n := len(factors[0].values)
	value, deviation := 1.0, make([]float64, n)
	for _, f := range factors {
		mean := stat.Mean(f.values, nil)
		if f.power < 1 && !(mean > 0) {
			return sim.Estimate{Reason: reason}
		}
		value *= math.Pow(mean, f.power)
		for i, x := range f.values {
			deviation[i] += f.power * (x/mean - 1)
		}
	}
	return sim.Estimate{Mean: value, SE: math.Abs(value) * stat.StdDev(deviation, nil) / math.Sqrt(float64(n))}
}
