package main

import (
	"strings"
	"testing"
)

// TestRates reads the lines that the programs print. Ratios are taken round by
// round: 5/10 and 12/20 have median 0.55, which no ratio of medians gives, and 5/2.5
// and 12/8 1.75.
func TestRates(t *testing.T) {
	r := rates{}
	for i, text := range []string{
		"eta 1.17 signal vigor .07\nC replicates/s 10 rollouts/s 1.6e5\n",
		"eta 1.17 signal vigor .07\nC replicates/s 20 rollouts/s 3.3e5\n",
	} {
		if !r.add(i, referenceRate, text) {
			t.Fatalf("no rate in %q", text)
		}
	}
	for i, text := range []string{
		"goos: linux\nBenchmarkStaticComparison \t 100\t 7 ns/op\t 2.5 replicates/s\t 0 B/op\nBenchmarkStaticComparison-2 \t 100\t 7 ns/op\t 5 replicates/s\t 0 B/op\nPASS\n",
		"BenchmarkStaticComparison \t 100\t 7 ns/op\t 8 replicates/s\nBenchmarkStaticComparison-2 \t 100\t 7 ns/op\t 1.2e+01 replicates/s\nPASS\n",
	} {
		if !r.add(i, goRate, text) {
			t.Fatalf("no rate in %q", text)
		}
	}
	var out strings.Builder
	r.print(&out, 2)
	for _, want := range []string{"C                                    15  1.00 (1.00 to 1.00)", "Go, plain, two workers                8  0.55 (0.50 to 0.60)", "Go, plain, two workers, over one: 1.75 (1.50 to 2.00)"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("output lacks %q:\n%s", want, out.String())
		}
	}
	if r.add(2, referenceRate, "no figure here\n") {
		t.Error("a text without a rate was taken for one")
	}
}

// TestCopies adds the rates of two copies.
func TestCopies(t *testing.T) {
	r := rates{}
	if !r.add(0, referenceRate, "C replicates/s 10\n", "C replicates/s 7\n") || r["C, 2 at once"][0] != 17 {
		t.Errorf("two copies: %v, want 17", r)
	}
}

// TestTimes: an error of 0.002 after 2,000 batches becomes 1e-4 after 400 times as
// many, at 1,000 a second 800 s, 1,600 times 0.5 s.
func TestTimes(t *testing.T) {
	r := rates{}
	r.addError("eta 1.17369±0.00200 signal\nnumpy replicates/s 1000 prompts\n")
	r.addError("C replicates/s 10\n")
	if !r.add(0, preciseTime, "BenchmarkPrecise-2 \t 3\t 5 ns/op\t 5e-05 largest-SE\t 0.5 s/estimate\n") {
		t.Fatal("no time")
	}
	var out strings.Builder
	r.printTimes(&out)
	if want := "0.5 s, NumPy 800 s from its error and rate, 1600 times as long (1600 to 1600)"; !strings.Contains(out.String(), want) {
		t.Errorf("output lacks %q:\n%s", want, out.String())
	}
}
