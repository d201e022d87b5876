package sim

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"vigorlab/sim/schedule"
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

// BenchmarkFast is BenchmarkStaticComparison on the fast path.
func BenchmarkFast(b *testing.B) {
	cfg := config(tp15, b.N)
	cfg.Workers, cfg.Fast = runtime.GOMAXPROCS(0), true
	src := synthetic(b, tp15, 1024)
	b.ReportAllocs()
	b.ResetTimer()
	if _, err := Run(context.Background(), cfg, src, parseAll("vigor", "fixed:g=8")); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "replicates/s")
}

// BenchmarkPrecise takes eta of VIGOR at its defaults on 1,024 prompts of the
// same population, the mean of per-batch ratios that the reference programs
// print, to a standard error of 1e-4: pilot and tables included, on one worker.
func BenchmarkPrecise(b *testing.B) {
	law := population(b, tp15).Law
	cfg := config(tp15, 1)
	cfg.Workers = 1
	se := 0.0
	for b.Loop() {
		cfg.Seed++
		r, err := RunPrecise(context.Background(), cfg, law, schedule.Default(), 1024, 1e-4)
		if err != nil {
			b.Fatal(err)
		}
		se = max(se, r.EtaBatchMean.SE)
	}
	b.ReportMetric(se, "largest-SE")
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/estimate")
}

// BenchmarkBatch shows how the cost a prompt depends on the batch, for VIGOR and
// the fixed group of its mean size.
func BenchmarkBatch(b *testing.B) {
	for _, fast := range []bool{false, true} {
		for _, batch := range []int{100, 1_000, 10_000, 100_000, 1_000_000} {
			b.Run(fmt.Sprintf("fast=%t/%d", fast, batch), func(b *testing.B) {
				cfg := config(tp15, b.N)
				cfg.Workers, cfg.Fast = 1, fast
				src := synthetic(b, tp15, batch)
				b.ResetTimer()
				if _, err := Run(context.Background(), cfg, src, parseAll("vigor")); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(batch), "ns/prompt")
			})
		}
	}
}
