package enumerate

import (
	"testing"

	"vigorlab/sim/schedule"
)

// BenchmarkVigorEnumerate enumerates 20 rollouts of a batch of 4, once with few
// ties and once with all prompts tied in the first cut.
func BenchmarkVigorEnumerate(b *testing.B) {
	pop, err := Prompts(0.1, 0.35, 0.6, 0.85)
	if err != nil {
		b.Fatal(err)
	}
	for name, set := range map[string]func(*schedule.Vigor){
		"m0=4,gamma=0.5": func(v *schedule.Vigor) { v.M0, v.Rounds, v.Gamma = 4, 2, schedule.MustRatio("0.5") },
		"m0=1,gamma=8":   func(v *schedule.Vigor) { v.M0, v.Rounds, v.Gamma = 1, 2, schedule.MustRatio("8") },
	} {
		b.Run(name, func(b *testing.B) {
			v := schedule.Default()
			set(&v)
			for b.Loop() {
				r, err := VigorEnumerate(pop, v, Options{Frontier: 0.75})
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(r.Sequences), "sequences")
				b.ReportMetric(r.Probability-1, "error")
			}
		})
	}
}
