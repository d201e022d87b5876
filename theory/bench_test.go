package theory

import (
	"testing"

	"vigorlab/distributions"
	"vigorlab/sim/schedule"
)

// BenchmarkMeanField is the default schedule on 2,000 nodes, quadrature nodes
// included.
func BenchmarkMeanField(b *testing.B) {
	for _, c := range []struct {
		name string
		law  distributions.Law
	}{
		{"tp15", reference()["tp15"]},
		{"beta1-3", reference()["beta1-3"]},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := VigorMeanField(c.law, schedule.Default(), 0.75, DefaultNodes); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkFiniteBatch is perfect selection from a batch of 256.
func BenchmarkFiniteBatch(b *testing.B) {
	for _, c := range []struct {
		name string
		law  distributions.Law
	}{
		{"tp15", reference()["tp15"]},
		{"beta1-3", reference()["beta1-3"]},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := EtaFiniteBatch(c.law, schedule.Default(), 256); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
