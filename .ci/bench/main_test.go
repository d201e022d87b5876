package main

import (
	"strings"
	"testing"
)

// TestRates reads the lines that the programs print. Ratios are taken round by
// round: 5/10 and 12/20 have median 0.55, which no ratio of medians gives.
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
		"goos: linux\nBenchmarkStaticComparison-2 \t 100\t 7 ns/op\t 5 replicates/s\t 0 B/op\nPASS\n",
		"BenchmarkStaticComparison-2 \t 100\t 7 ns/op\t 1.2e+01 replicates/s\nPASS\n",
	} {
		if !r.add(i, goRate, text) {
			t.Fatalf("no rate in %q", text)
		}
	}
	var out strings.Builder
	r.print(&out, 2)
	for _, want := range []string{"C                                15  1.00 (1.00 to 1.00)", "Go, workers = 2                   8  0.55 (0.50 to 0.60)"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("output lacks %q:\n%s", want, out.String())
		}
	}
	if r.add(2, referenceRate, "no figure here\n") {
		t.Error("a text without a rate was taken for one")
	}
}
