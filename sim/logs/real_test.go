package logs_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"vigorlab/sim/logs"
)

// TestTorch reads what torch.save itself wrote (foreign/make.py), and runs no
// code for rewards that only code could make.
func TestTorch(t *testing.T) {
	for i, says := range []string{"", "", `reward = {"#code":"numpy.core.multiarray.scalar"}`} {
		tab, _, err := logs.Import(context.Background(), logs.Options{Paths: []string{filepath.Join("testdata", "real", fmt.Sprintf("rollout_%d.pt", i))}})
		if says != "" {
			var refusal *logs.Refusal
			if !errors.As(err, &refusal) || !strings.Contains(err.Error(), says) || !strings.Contains(refusal.Findings[0].Hint, "float(reward)") {
				t.Errorf("rollout_%d.pt: %v, want %q and what to do", i, err, says)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range tab.Rows {
			got = append(got, r.PromptID+" "+r.Outcomes)
		}
		if want := []string{text(sum) + " 101", text(product) + " 001", text("Was ist 7·8?") + " 111"}; !slices.Equal(got, want) {
			t.Errorf("rollout_%d.pt: %q, want %q", i, got, want)
		}
	}
}

// TestParquetWriters reads what DuckDB and Rust's arrow wrote of the same 3,000
// completions (foreign/make.mjs): their codecs, dictionary pages, versions and
// row groups are not those of the library that reads them.
func TestParquetWriters(t *testing.T) {
	for _, writer := range []string{"duckdb_zstd", "duckdb_v2", "arrow_snappy"} {
		tab, report, err := logs.Import(context.Background(), logs.Options{Paths: []string{filepath.Join("testdata", "real", writer)}})
		if err != nil {
			t.Fatalf("%s: %v", writer, err)
		}
		if report.From != "trl" || len(tab.Rows) != 500 {
			t.Fatalf("%s: %d rows from %s, want 500 from trl", writer, len(tab.Rows), report.From)
		}
		for i, r := range tab.Rows {
			var outcomes []byte
			for k := range 6 {
				outcomes = append(outcomes, "11000"[(7*i+3*k)%5])
			}
			if r.PromptID != text(fmt.Sprintf("What is %d+1?", i)) || r.Outcomes != string(outcomes) || r.Step != 5 {
				t.Fatalf("%s: row %d is %+v, want outcomes %s of step 5", writer, i, r, outcomes)
			}
		}
	}
}
