package strategy_test

import (
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"vigorlab/sim/strategy"
	"vigorlab/sim/strategy/strategytest"
)

// inOrder is a source under which Shuffle leaves everything in its place.
type inOrder struct{}

func (inOrder) Uint64() uint64 { return math.MaxUint64 }

// A coin is a source whose Float64 is always the same number.
type coin float64

func (c coin) Uint64() uint64 { return uint64(c * (1 << 53)) }

// tell writes a step down, prompts by their number in the set: the rollouts
// asked, round by round, and the groups trained on as successes/rollouts, such
// as `0:4 1:4 | 2:4 -> 1 3/4`.
func tell(t *strategytest.Trace) string {
	var rounds, trained []string
	for _, ask := range t.Asked {
		var round []string
		for _, q := range ask {
			round = append(round, fmt.Sprintf("%d:%d", t.ID[q.X], q.N))
		}
		rounds = append(rounds, strings.Join(round, " "))
	}
	n, s := t.N, t.S
	if t.Update.N != nil {
		n, s = t.Update.N, t.Update.S
	}
	for _, x := range t.Update.Prompts {
		trained = append(trained, fmt.Sprintf("%d %d/%d", t.ID[x], s[x], n[x]))
	}
	text := strings.Join(rounds, " | ") + " -> " + strings.Join(trained, ", ")
	if t.Update.Prompts == nil {
		text += "all"
	}
	if t.Update.Failed {
		text += " failed"
	}
	return text
}

// follow runs a strategy whose loader keeps to the order of the set and
// compares every step with what it should do.
func follow(t *testing.T, s strategy.Strategy, w strategytest.World, r *rand.Rand, want []string) {
	t.Helper()
	w.Steps, w.Order = len(want), rand.New(inOrder{})
	got, err := strategytest.Steps(s, &w, r)
	if err != nil {
		t.Fatal(err)
	}
	for step, trace := range got {
		if text := tell(trace); text != want[step] {
			t.Errorf("step %d:\n got %s\nwant %s", step+1, text, want[step])
		}
	}
}

// spent returns the rollouts of a step.
func spent(t *strategytest.Trace) int {
	sum := 0
	for _, n := range t.N {
		sum += n
	}
	return sum
}

// checkLaw compares the sample, whole numbers from 1 on, with the distribution
// function cdf at 1..upTo. By the Dvoretzky-Kiefer-Wolfowitz inequality the
// largest gap passes sqrt(ln(2/alpha)/(2n)) with probability at most alpha =
// 1e-7, a tenth of 1e-6 for as many cases; a law that is off by twice that
// somewhere is missed with probability at most alpha.
func checkLaw(t *testing.T, sample []int, upTo int, cdf func(k int) float64) {
	t.Helper()
	const alpha = 1e-7
	n := float64(len(sample))
	tol := math.Sqrt(math.Log(2/alpha) / (2 * n))
	at := make([]float64, upTo+1)
	for _, k := range sample {
		if k <= upTo {
			at[k]++
		}
	}
	below := 0.
	for k := 1; k <= upTo; k++ {
		below += at[k] / n
		if want := cdf(k); !(math.Abs(below-want) < tol) {
			t.Errorf("P(K <= %d) = %.4f, want %.4f ± %.4f", k, below, want, tol)
		}
	}
}

// A loaderRow is a row of testdata/loader.csv: arguments and the value.
type loaderRow struct{ x, y, z, value float64 }

// loaderRows reads the rows of a quantity, and wants some.
func loaderRows(t *testing.T, quantity string) (rows []loaderRow) {
	t.Helper()
	f, err := os.Open("testdata/loader.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() // only read
	all, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	number := func(text string) float64 {
		if text == "" {
			return 0
		}
		top, bottom, fraction := strings.Cut(text, "/")
		x, err := strconv.ParseFloat(top, 64)
		if fraction && err == nil {
			var y float64
			y, err = strconv.ParseFloat(bottom, 64)
			x /= y
		}
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	for _, row := range all {
		if row[0] == quantity {
			rows = append(rows, loaderRow{number(row[1]), number(row[2]), number(row[3]), number(row[4])})
		}
	}
	if len(rows) == 0 {
		t.Fatalf("no rows of %s", quantity)
	}
	return rows
}

// TestLoadersParse wants specs normalised, and every fault named.
func TestLoadersParse(t *testing.T) {
	wantSpecs(t, map[string]string{
		"dapo":                      "dapo:mode=batch,n=16,gen=3,cap=0,low=0,high=1",
		"dapo:mode=stream,low=0.10": "dapo:mode=stream,n=16,cap=0,low=0.1,high=1",
		"greso:size=3/2":            "greso:n=8,size=1.5,least=64,loader=32,p_easy=0.5,p_hard=0.5,target=0.25,easy=0.98,hard=0,gpus=1",
		"pilot-commit":              "pilot-commit:pilot=16,commit=48,gen=3,lower=0.125,upper=0.25,evict=1,effective=0,staleness=4,cap=10,order=random",
	})
	wantFaults(t, map[string][]string{
		"dapo:n=0,gen=0,cap=-1":           {"n = 0, want a whole number in [1, 10000]", "gen = 0", "cap = -1"},
		"dapo:mode=stream,n=1":            {"n = 1, want a whole number in [2, 10000]"},
		"dapo:mode=stream,gen=2":          {"gen = 2, want none with mode=stream"},
		"dapo:low=0.5,high=0.5":           {"high = 0.5, want (low, 1]"},
		"dapo:low=1":                      {"low = 1, want [0, 1)"},
		"dapo:high=NaN":                   {"high = NaN"},
		"dapo:mode=steam":                 {"did you mean stream?"},
		"greso:n=1,size=0,least=0":        {"n = 1", "size = 0", "least = 0"},
		"greso:p_easy=2,p_hard=-1":        {"p_easy = 2, want [0, 1]", "p_hard = -1"},
		"greso:easy=0.3,hard=0.3":         {"hard = 0.3, want [0, easy)"},
		"greso:easy=0,target=NaN":         {"easy = 0, want (0, 1]", "target = NaN"},
		"pilot-commit:pilot=0,commit=0":   {"pilot = 0", "commit = 0"},
		"pilot-commit:effective=17":       {"effective = 17, want a whole number in [0, 16]"},
		"pilot-commit:lower=0.9":          {"upper = 0.25, want [0, 1-lower]"},
		"pilot-commit:lower=2,upper=NaN":  {"lower = 2, want [0, 1]", "upper = NaN"},
		"pilot-commit:lower=.6,upper=.6":  {"upper = 0.6, want [0, 1-lower]"},
		"pilot-commit:order=max,evict=-1": {"order = max", "evict = -1"},
	})
}

func TestLoadersSpending(t *testing.T) {
	wantSpending(t, "dapo", map[int]string{1: "dapo:n=1", 8: "dapo:n=8"})
	wantSpending(t, "greso", map[int]string{1: "greso:n=2", 8: "greso:n=8"})
	wantSpending(t, "pilot-commit", map[int]string{
		1: "pilot-commit:pilot=2,commit=1", 8: "pilot-commit:pilot=2,commit=6", 64: "pilot-commit:pilot=16,commit=48",
	})
}
