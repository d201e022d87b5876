package sim

import (
	"context"
	"runtime"
	"strconv"
	"testing"
)

// BenchmarkStaticComparison does the work of the reference programs (a C
// program and two Python ones; `make bench` runs them side by side): 1,024
// fresh prompts a replicate, u Pareto of shape 1.5 on [0.01, 1] on either
// branch, a fixed group of 8 and VIGOR at its defaults on the same prompts,
// with all of the engine's own figures and their errors. It reports replicates
// per second; -cpu 1,2 sets the number of workers.
func BenchmarkStaticComparison(b *testing.B) {
	cfg := config(tp15, b.N)
	cfg.Workers = runtime.GOMAXPROCS(0)
	src := synthetic(b, tp15, 1024)
	b.ReportAllocs()
	b.ResetTimer()
	if _, err := Run(context.Background(), cfg, src, parseAll("vigor", "fixed:g=8")); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "replicates/s")
}

// BenchmarkBatch shows how the cost a prompt depends on the batch.
func BenchmarkBatch(b *testing.B) {
	for _, batch := range []int{100, 10_000, 1_000_000} {
		b.Run(strconv.Itoa(batch), func(b *testing.B) {
			cfg := config(tp15, b.N)
			cfg.Workers = 1
			src := synthetic(b, tp15, batch)
			b.ResetTimer()
			if _, err := Run(context.Background(), cfg, src, parseAll("vigor", "fixed:g=8")); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(batch), "ns/prompt")
		})
	}
}
