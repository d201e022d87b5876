package fit

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"strconv"
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

func recorded(t *testing.T, dir, name string) *Counts {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() // only read
	tab, err := table.Read(f, name)
	if err != nil {
		t.Fatal(err)
	}
	c, err := FromTable(tab)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestRecorded meets what was known of the recorded tables, to the digits in
// which it was known, before this package was written.
func TestRecorded(t *testing.T) {
	dir := shared(t)
	for _, want := range []struct {
		name              string
		a, b, logLik      float64
		plugin, gain      float64 // 0 where not known
		npmle             float64 // at least
		fold, foldOfShape float64 // nats of Beta against Pareto on folded counts: any shape, positive shape
	}{
		// The first fold was known as about 0.2. That is Beta as fitted to all
		// counts, -888.722, against the best power law, -888.957; Beta fitted to
		// the folded counts, as for the other three, has -888.213.
		{"oneshot_rlvr/window_first1.csv", .3489, .7068, -2377.95, 1.831, 1.315, -2373.90, 0.7, 3},
		{"oneshot_rlvr/window_first5.csv", .3562, .6779, -4069.31, 1.407, 1.306, -4047.03, 42, 124},
		{"oneshot_rlvr/window_visits20to29.csv", .3195, .4376, -4797.17, 0, 0, -4788.26, 66, 192},
		{"oneshot_rlvr/window_last10.csv", .3169, .3575, -4751.42, 0, 0, -4737.86, 67, 192},
		{"cruxeval/codellama-7b_T0.2_input.csv", .0737, .1286, -1191.74, 0, 0, -1182.19, 0, 0},
		{"tot_game24/gpt-4_T0.7_cot.csv", .2155, 5.1284, -214.05, 0, 0, -211.09, 0, 0},
	} {
		c := recorded(t, dir, want.name)
		beta, err := estimateOf(whole, familyNamed(Beta), c)
		if err != nil {
			t.Fatal(err)
		}
		near(t, want.name+": a", beta.theta[0], want.a, 0.5e-4)
		near(t, want.name+": b", beta.theta[1], want.b, 0.5e-4)
		near(t, want.name+": log-likelihood", beta.logLik, want.logLik, 0.5e-2)
		if want.gain > 0 {
			near(t, want.name+": plug-in gain", PluginGain(c), want.plugin, 0.5e-3)
			near(t, want.name+": gain", beta.figures().Gain, want.gain, 0.5e-3)
		}
		m, err := Nonparametric(c)
		if err != nil || !(m.LogLik >= want.npmle && m.LogLik < want.npmle+1) {
			t.Errorf("%s: nonparametric log-likelihood %v, %v, want at least %v and not much more", want.name, m.LogLik, err, want.npmle)
		}
		if want.fold == 0 {
			continue
		}
		folded := fold(c)
		height := func(names ...string) float64 {
			best := -1e300
			for _, name := range names {
				e, err := estimateOf(foldedMixed, familyNamed(name), folded)
				if err != nil {
					t.Fatal(err)
				}
				best = max(best, e.logLik)
			}
			return best
		}
		near(t, want.name+": Beta against power laws", height(Beta)-height(ParetoVarianceFree, TruncatedParetoFree), want.fold, 0.5)
		near(t, want.name+": Beta against Pareto", height(Beta)-height(ParetoVariance, TruncatedPareto), want.foldOfShape, 0.5)
	}
}

// TestRecordedDrift meets the known transitions of a real run.
func TestRecordedDrift(t *testing.T) {
	f, err := os.Open(filepath.Join(shared(t), "oneshot_rlvr", "history_digits.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() // only read
	records, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	history := &table.Table{Name: "history_digits.csv"}
	for _, r := range records[1:] {
		n, err := strconv.Atoi(r[1])
		if err != nil {
			t.Fatal(err)
		}
		for v, digit := range r[3] {
			history.Rows = append(history.Rows, table.Row{PromptID: r[0], Visit: v, N: n, S: int(digit - '0')})
		}
	}
	d := Drifted(history)
	for from, want := range map[int]float64{AllWrong: .21, AllRight: .26, Mixed: .78} {
		near(t, "mixed at the next visit", d.Next[from][Mixed].Mean, want, 0.005)
	}
}
