package table_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vigorlab/distributions/table"
)

// shared returns the folder of third-party tables, or skips the test.
func shared(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("VIGORLAB_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared")
	}
	dir = filepath.Join(dir, "data")
	if _, err := os.Stat(dir); err != nil {
		if os.Getenv("VIGORLAB_NO_SKIP") != "" {
			t.Fatalf("%v: set VIGORLAB_SHARED to the shared folder", err)
		}
		t.Skip("needs the recorded tables of ../shared/data: set VIGORLAB_SHARED to the shared folder")
	}
	return dir
}

// TestRecordedTables reads every table of SOURCES.md and compares its size.
func TestRecordedTables(t *testing.T) {
	dir := shared(t)
	for _, c := range []struct {
		pattern        string
		files, prompts int
		rollouts       []int // the sizes that occur
		outcomes       bool
	}{
		{"oneshot_rlvr/window_*.csv", 4, 1209, []int{8, 40, 80}, false},
		{"tot_game24/*.csv", 2, 100, []int{100}, true},
		{"cruxeval/*.csv", 2, 800, []int{10}, true},
		{"qwen25math_rm_maj/*.csv", 1, 100, []int{8}, true},
		{"livecodebench/*.csv", 2, 880, []int{10}, false},
		{"speceval/math_100/*.csv", 6, 100, []int{1024}, false},
		{"speceval/aime2?/*.csv", 12, 30, []int{1024}, false},
	} {
		paths, err := filepath.Glob(filepath.Join(dir, c.pattern))
		if err != nil || len(paths) < c.files {
			t.Errorf("%s: %d files, %v, want at least %d", c.pattern, len(paths), err, c.files)
		}
		for _, path := range paths {
			f, err := os.Open(path)
			if err != nil {
				t.Error(err)
				continue
			}
			tab, err := table.Read(f, filepath.Base(path))
			f.Close() // only read
			if err != nil || len(tab.Rows) != c.prompts {
				t.Errorf("%s: %v, want %d prompts", path, err, c.prompts)
				continue
			}
			for _, r := range tab.Rows {
				sized := false
				for _, n := range c.rollouts {
					sized = sized || r.N == n
				}
				if !sized || (r.Outcomes != "") != c.outcomes {
					t.Errorf("%s: row %+v, want one of %v rollouts, outcomes %v", path, r, c.rollouts, c.outcomes)
					break
				}
			}
		}
	}
	f, err := os.Open(filepath.Join(dir, "oneshot_rlvr", "history_digits.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := table.Read(f, "history_digits.csv"); err == nil || !strings.Contains(err.Error(), "column n is missing") {
		t.Errorf("a table of another format: error %v, want its missing columns", err)
	}
}
