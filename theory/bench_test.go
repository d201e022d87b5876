package theory

import (
	"testing"

	"vigorlab/distributions"
	"vigorlab/sim/schedule"
)

// BenchmarkMeanField is the default schedule on 2,000 nodes, quadrature nodes
// included.
func BenchmarkMeanField(b *testing.B) {
	benchmark(b, func(law distributions.Law) error {
		_, err := VigorMeanField(law, schedule.Default(), 0.75, DefaultNodes)
		return err
	})
}

// BenchmarkFiniteBatch is perfect selection from a batch of 256.
func BenchmarkFiniteBatch(b *testing.B) {
	benchmark(b, func(law distributions.Law) error {
		_, err := EtaFiniteBatch(law, schedule.Default(), 256)
		return err
	})
}

func benchmark(b *testing.B, compute func(distributions.Law) error) {
	for _, name := range []string{"tp15", "beta1-3"} {
		law := reference()[name]
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := compute(law); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkTraining follows VIGOR over Beta(0.1, 0.3) from a mean of .25 to .5.
func BenchmarkTraining(b *testing.B) {
	law, err := distributions.NewBeta(.1, .3)
	if err != nil {
		b.Fatal(err)
	}
	v := schedule.Default()
	start := law.Nodes(DefaultNodes/8, 1)
	for i, n := range start {
		start[i].P = min(max(n.P, .001), .999)
	}
	for b.Loop() {
		if _, err := (Training{Start: start, Vigor: &v, Gain: gains["grpo"]}).Arrivals(.5); err != nil {
			b.Fatal(err)
		}
	}
}
