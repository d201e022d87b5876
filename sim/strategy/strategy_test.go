package strategy_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"vigorlab/distributions/spec"
	"vigorlab/sim/strategy"
	"vigorlab/sim/strategy/strategytest"
)

func open(path string) (io.ReadCloser, error) { return os.Open(path) }

func mustParse(t testing.TB, text string) strategy.Strategy {
	t.Helper()
	s, err := strategy.Parse(text, open)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestConformance(t *testing.T) {
	specs := []struct {
		text    string
		byPlace bool
	}{
		{"fixed:g=8", false},
		{"fixed:g=1", false},
		{"fixed:g=4,prompts=2", false},
		{"fixed:g=16,prompts=1/2", false},
		{"sequential-halving", false},
		{"sequential-halving:g=1,rounds=3,counts=cumulative", false},
		{"speceval", true},
		{"speceval:ties=random", false},
		{"speceval:b=2,pilot=1,ties=random", false},
		{"speceval:b=16,pilot=4,ties=random", false},
		{"thompson", false},
		{"thompson:g=2,pool=1.5,decay=0.5,select=threshold", false},
		{"thompson:select=uniform", false},
		{"vigor", false},
		{"vigor:m0=4,rounds=2,alpha=1/4,gamma=4", false},
		{"vigor:ties=index", true},
		{"vigor:cut=floor,rounds=6,gamma=1", false},
		{"vigor:cut=nearest,alpha=1/3", false},
		{"vigor:select=truth", false},
		{"vigor:select=truth,ties=index", true},
		{"vigor:select=random", false},
		{"vigor:select=random,ties=index", false},
		{"vigor:update=survivors,reuse=false", false},
		{"vigor:m0=8,gamma=1/2", false},
		{"vigor:rounds=1", false},
	}
	for _, s := range specs {
		t.Run(s.text, func(t *testing.T) {
			strategytest.Conform(t, func() strategy.Strategy { return mustParse(t, s.text) }, s.byPlace)
		})
	}
}

// TestFixedMean checks the reference that the engine measures against: every
// batch spends exactly the total, in groups of floor and ceil of the mean.
func TestFixedMean(t *testing.T) {
	for _, c := range []struct{ total, batch int }{{8, 1}, {7, 3}, {59, 7}, {1024 * 8, 1024}, {10, 10}} {
		s, err := strategy.NewFixedMean(c.total, c.batch)
		if err != nil {
			t.Fatal(err)
		}
		got, err := strategytest.Run(s, c.batch, never, nil, rand.New(rand.NewPCG(1, 1)))
		if err != nil {
			t.Fatal(err)
		}
		sum, floor := 0, c.total/c.batch
		for _, n := range got.N {
			sum += n
			if n != floor && n != floor+1 {
				t.Errorf("total %d over %d: a group of %d, want %d or %d", c.total, c.batch, n, floor, floor+1)
			}
		}
		if sum != c.total {
			t.Errorf("total %d over %d: spent %d", c.total, c.batch, sum)
		}
	}
	for _, c := range []struct{ total, batch int }{{3, 4}, {0, 0}, {5, -1}} {
		if _, err := strategy.NewFixedMean(c.total, c.batch); err == nil {
			t.Errorf("total %d over %d is accepted", c.total, c.batch)
		}
	}
}

// TestVigorBudget: the defaults spend 8 a prompt on a power of two and more on
// a batch that ceil rounds up: 7 prompts cost 2*7 + 4*4 + 8*2 + 16*1 = 62.
func TestVigorBudget(t *testing.T) {
	v, ok := mustParse(t, "vigor").(strategy.Budgeter)
	if !ok {
		t.Fatal("vigor announces no budget")
	}
	for batch, want := range map[int]int{1024: 1024 * 8, 8: 64, 7: 62, 1: 30} {
		if got := v.Budget(batch); got != want {
			t.Errorf("batch %d: %d rollouts, want %d", batch, got, want)
		}
	}
}

func never(int, int, int) int { return 0 }

// script answers from a fixed sequence of rewards a prompt.
func script(rewards ...string) strategytest.Answer {
	return func(x, first, n int) int { return strings.Count(rewards[x][first:first+n], "1") }
}

// TestVigorTraces follows VIGOR by hand: counts after every round, ties
// included. ties=index makes every trace certain.
func TestVigorTraces(t *testing.T) {
	for _, c := range []struct {
		name, spec string
		rewards    []string
		asked      []string // by round: the prompts asked, in order
		n, s       []int
		trained    []int
	}{
		{
			// Round 1: two each, s(n-s) = 0 1 0 1 0 1: the mixed ones are 1, 3, 5.
			// ceil(6/2) = 3 stay: exactly those. Round 2: four more each, n = 6:
			// prompt 1 has 1+0 = 1 of 6 (min 1), prompt 3 1+2 = 3 (min 3), prompt 5
			// 1+4 = 5 (min 1). ceil(3/2) = 2 stay: 3, and of the tie 1, 5 the
			// earlier place, 1. Round 3: eight more for 1 and 3.
			name: "three rounds, a tie at the second cut",
			spec: "vigor:rounds=3,ties=index",
			rewards: []string{
				"00", "10" + "0000" + "00000001", "11",
				"01" + "1100" + "11111111", "00", "10" + "1111",
			},
			asked: []string{"0 1 2 3 4 5", "1 3 5", "1 3"},
			n:     []int{2, 14, 2, 14, 2, 6},
			s:     []int{0, 2, 2, 11, 0, 5},
		},
		{
			// Only one of four is mixed, two stay: prompt 2, and the earliest of
			// the all-equal ones, 0, though prompt 3 is solved and 0 dead: ranking
			// sees s(n-s) alone. Round 2 with gamma = 1: two more each, n = 4:
			// 0 has 0+1 (min 1), 2 has 1+1 = 2 (min 2).
			name:    "all-equal groups fill the cut",
			spec:    "vigor:rounds=2,gamma=1,ties=index,update=survivors",
			rewards: []string{"00" + "10", "11", "10" + "01", "11"},
			asked:   []string{"0 1 2 3", "0 2"},
			n:       []int{4, 2, 4, 2},
			s:       []int{1, 2, 2, 2},
			trained: []int{0, 2},
		},
		{
			// floor(5/2) = 2, then floor(2/2) = 1, then max(1, floor(1/2)) = 1:
			// past that point the last prompt alone is asked on.
			name: "rounds past the point where one prompt is left",
			spec: "vigor:m0=1,rounds=4,gamma=1,cut=floor,ties=index",
			// One rollout cannot differ from itself: every s(n-s) is 0 and the
			// first places stay.
			rewards: []string{"1" + "0" + "1" + "1", "0" + "0", "1", "1", "0"},
			asked:   []string{"0 1 2 3 4", "0 1", "0", "0"},
			n:       []int{4, 2, 1, 1, 1},
			s:       []int{3, 0, 1, 1, 0},
		},
		{
			// The paper's other schedule on eight prompts: four each, then
			// ceil(8/4) = 2 get sixteen more. s(4-s): 3 4 4 3 0 0 4 3: three tie
			// at the top level, 1, 2 and 6; the first two stay.
			name: "4, 20",
			spec: "vigor:m0=4,rounds=2,alpha=1/4,gamma=4,ties=index",
			rewards: []string{
				"1000", "1100" + "1111111111111111", "0101" + "0000000000000000", "1110",
				"0000", "1111", "0011", "0001",
			},
			asked: []string{"0 1 2 3 4 5 6 7", "1 2"},
			n:     []int{4, 20, 20, 4, 4, 4, 4, 4},
			s:     []int{1, 18, 2, 3, 0, 4, 2, 1},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := strategytest.Run(mustParse(t, c.spec), len(c.rewards), script(c.rewards...), nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			var asked []string
			for _, round := range got.Asked {
				var xs []string
				for _, q := range round {
					xs = append(xs, fmt.Sprint(q.X))
				}
				asked = append(asked, strings.Join(xs, " "))
			}
			if !slices.Equal(asked, c.asked) {
				t.Errorf("asked %q, want %q", asked, c.asked)
			}
			if !slices.Equal(got.N, c.n) || !slices.Equal(got.S, c.s) {
				t.Errorf("counts %v of %v, want %v of %v", got.S, got.N, c.s, c.n)
			}
			if !slices.Equal(got.Update.Prompts, c.trained) {
				t.Errorf("trained on %v, want %v", got.Update.Prompts, c.trained)
			}
		})
	}
}

// TestSelectTruth ranks by 4p(1-p), and takes p and 1-p for a tie though
// 4*0.9*(1-0.9) and 4*0.1*(1-0.1) differ in floating point.
func TestSelectTruth(t *testing.T) {
	s := mustParse(t, "vigor:rounds=2,select=truth,ties=index")
	p := []float64{0.9, 0.1, 0.5, 0.99, 0.1, 0.9}
	got, err := strategytest.Run(s, len(p), func(int, int, int) int { return 0 }, p, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := []int{6, 6, 6, 2, 2, 2}; !slices.Equal(got.N, want) {
		t.Errorf("groups %v, want %v: 0.5 first, then the earliest of the tied 0.9 and 0.1", got.N, want)
	}
}

// TestRandomTies gives each of six tied prompts the three places equally
// often. The count of one prompt over n batches is binomial(n, 1/2); by
// Hoeffding it strays by more than n*tol with probability at most
// 2 exp(-2 n tol^2) = 1e-6/6; a share off by 2*tol = 0.033 is missed with at
// most that probability.
func TestRandomTies(t *testing.T) {
	const n, tol = 30_000, 0.0165
	s := mustParse(t, "vigor:rounds=2")
	r := rand.New(rand.NewPCG(20260101, 1))
	var kept [6]int
	for range n {
		got, err := strategytest.Run(s, 6, never, nil, r)
		if err != nil {
			t.Fatal(err)
		}
		for x, g := range got.N {
			if g > 2 {
				kept[x]++
			}
		}
	}
	for x, k := range kept {
		if share := float64(k) / n; !(share > 0.5-tol && share < 0.5+tol) {
			t.Errorf("prompt %d stays in a share %.4f of the batches, want 0.5 ± %v", x, share, tol)
		}
	}
}

func TestParse(t *testing.T) {
	plain := filepath.Join(t.TempDir(), "plan")
	if err := os.WriteFile(plain, []byte("\ufeffvigor:m0=4,rounds=2\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	doc := filepath.Join(t.TempDir(), "plan.json")
	if err := os.WriteFile(doc, []byte(`{"strategy": "fixed:g=16", "gain": 1.1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	wantSpecs(t, map[string]string{
		"fixed":                  "fixed:g=8",
		"vigor":                  "vigor:m0=2,rounds=4,alpha=0.5,gamma=2,ties=random,cut=ceil,select=sample,update=all,reuse=true",
		"sequential-halving":     "sequential-halving:g=8,rounds=auto,counts=fresh",
		"speceval":               "speceval:b=8,pilot=auto,ties=index",
		"thompson:decay=5e-1":    "thompson:g=8,pool=16,select=topk,target=0.5,low=0.3,high=0.7,decay=0.5",
		"vigor:alpha=1/3,m0=3":   "vigor:m0=3,rounds=4,alpha=1/3,gamma=2,ties=random,cut=ceil,select=sample,update=all,reuse=true",
		"vigor:alpha=5e-1":       "vigor:m0=2,rounds=4,alpha=0.5,gamma=2,ties=random,cut=ceil,select=sample,update=all,reuse=true",
		"vigor:gamma=3/2,m0=8":   "vigor:m0=8,rounds=4,alpha=0.5,gamma=1.5,ties=random,cut=ceil,select=sample,update=all,reuse=true",
		" vigor : rounds = 2 ":   "vigor:m0=2,rounds=2,alpha=0.5,gamma=2,ties=random,cut=ceil,select=sample,update=all,reuse=true",
		"@" + plain:              "vigor:m0=4,rounds=2,alpha=0.5,gamma=2,ties=random,cut=ceil,select=sample,update=all,reuse=true",
		"@" + doc:                "fixed:g=16",
		"vigor:alpha=0.07,m0=2":  "vigor:m0=2,rounds=4,alpha=0.07,gamma=2,ties=random,cut=ceil,select=sample,update=all,reuse=true",
		"vigor:alpha=0.25,m0=16": "vigor:m0=16,rounds=4,alpha=0.25,gamma=2,ties=random,cut=ceil,select=sample,update=all,reuse=true",
	})
}

// TestParseRefuses wants every fault named with its value and range, all
// faults of a spec at once, and the nearest name where one is near.
func TestParseRefuses(t *testing.T) {
	wantFaults(t, map[string][]string{
		"":                           {"has no name"},
		"vigr":                       {`unknown name "vigr"`, "did you mean vigor?"},
		"fixd:g=8":                   {"did you mean fixed?"},
		"zzzzzzzz":                   {"one of fixed, "},
		"fixed:g=8.5":                {"fixed: g = 8.5, want a whole number in [1, 10000]"},
		"fixed:g=0":                  {"g = 0"},
		"fixed:g=-3":                 {"g = -3"},
		"fixed:g=NaN":                {"g = NaN"},
		"fixed:g=10001":              {"g = 10001"},
		"fixed:g":                    {`"g", want KEY=VALUE`},
		"fixed:":                     {`"", want KEY=VALUE`},
		"fixed:g=8,g=8":              {"g is given twice"},
		"vigor:alpha=1":              {"alpha = 1, want (0, 1)"},
		"vigor:alpha=0":              {"alpha = 0"},
		"vigor:alpha=NaN":            {"alpha = NaN"},
		"vigor:alpha=Inf":            {"alpha = Inf"},
		"vigor:alpha=1e999999999":    {"alpha = 1e999999999"},
		"vigor:alpha=0x1p-1":         {"alpha = 0x1p-1"},
		"vigor:gamma=0":              {"gamma = 0"},
		"vigor:gamma=-2":             {"gamma = -2"},
		"vigor:gamma=1.5":            {"round 3 would ask 9/2 rollouts"},
		"vigor:rounds=0":             {"rounds = 0"},
		"vigor:rounds=14":            {"passes 10000 rollouts in round"},
		"vigor:ties=rand":            {"ties = rand, want one of random, index"},
		"vigor:ties=randm":           {"did you mean random?"},
		"vigor:reuse=yes":            {"reuse = yes, want one of true, false"},
		"vigor:aplha=0.5":            {"unknown parameter aplha", "did you mean alpha?"},
		"vigor:m0=0,alpha=2,cut=sky": {"m0 = 0", "alpha = 2", "cut = sky"},
		"@absent":                    {"absent"},
	})
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"fixed:g=8", "vigor", "vigor:alpha=1/3,gamma=3", "vigor:m0=2,rounds=4,alpha=0.5,gamma=2,ties=index,cut=floor,select=truth,update=survivors,reuse=false", "fixed:g=,=", "vigor:alpha=1e-400"} {
		f.Add(seed)
	}
	nothing := func(string) (io.ReadCloser, error) { return nil, os.ErrNotExist }
	f.Fuzz(func(t *testing.T, text string) {
		s, err := strategy.Parse(text, nothing)
		if err != nil {
			return
		}
		again, err := strategy.Parse(s.Spec(), nothing)
		if err != nil || again.Spec() != s.Spec() {
			t.Errorf("%q prints as %q, which parses to %v, %v", text, s.Spec(), again, err)
		}
	})
}

// TestFixedTrace follows fixed:g=4,prompts=2 by hand for two steps of batches
// of 2 over a set of 6: 4 prompts a step in the epoch's order, each with 4
// rollouts in one round. The second step has the 2 that the first epoch left,
// then the first 2 of the second epoch that are not among them. Ties there are
// none to break.
func TestFixedTrace(t *testing.T) {
	world := func() *strategytest.World {
		return &strategytest.World{
			Prompts: 6, Batch: 2, Steps: 2, Order: rand.New(rand.NewPCG(4, 4)),
			Answer: func(_, id, _, n int) int { return min(id, n) },
		}
	}
	got, err := strategytest.Steps(mustParse(t, "fixed:g=4,prompts=2"), world(), nil)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(4, 4)) // the order of the epochs
	order := []int{0, 1, 2, 3, 4, 5}
	shuffle := func() { r.Shuffle(6, func(i, j int) { order[i], order[j] = order[j], order[i] }) }
	shuffle()
	want := [][]int{slices.Clone(order[:4]), slices.Clone(order[4:])}
	shuffle()
	for _, id := range order {
		if len(want[1]) < 4 && !slices.Contains(want[1], id) {
			want[1] = append(want[1], id)
		}
	}
	for step, trace := range got {
		if !slices.Equal(trace.ID, want[step]) || len(trace.Asked) != 1 {
			t.Errorf("step %d: prompts %v in %d rounds, want %v in 1", step+1, trace.ID, len(trace.Asked), want[step])
		}
		for x, n := range trace.N {
			if n != 4 || trace.S[x] != min(trace.ID[x], 4) {
				t.Errorf("step %d, prompt %d: %d of %d, want %d of 4", step+1, trace.ID[x], trace.S[x], n, min(trace.ID[x], 4))
			}
		}
	}
}

// TestSpendingStarts: what a comparison of all strategies runs parses and
// starts, for every size of a group.
func TestSpendingStarts(t *testing.T) {
	for _, g := range []int{1, 2, 3, 7, 64, 65, 1000} {
		for _, text := range append(strategy.Spending(g, 50), strategy.Oracles(g, 0.2)...) {
			s, err := strategy.Parse(text, open)
			if err != nil {
				t.Errorf("g = %d: %v", g, err)
				continue
			}
			if learner, ok := s.(strategy.Learner); ok {
				learner.Begin(16)
			}
			if err := s.Start(8); err != nil {
				t.Errorf("g = %d: %s: %v", g, text, err)
			}
		}
	}
}

// TestDefaults wants the defaults that a strategy is described with to be those
// that the parser fills in. What a spec leaves out is shown by a mode that has
// it, or changes nothing where it is given.
func TestDefaults(t *testing.T) {
	modes := map[string]string{"reinforce-ada": "reinforce-ada:mode=est"}
	for _, info := range strategy.Known() {
		least := needed(t, info)
		plain := mustParse(t, least).Spec()
		filled := values(t, plain)
		other := map[string]string{}
		if mode, ok := modes[info.Name]; ok {
			other = values(t, mustParse(t, mode).Spec())
		}
		for _, p := range info.Parameters {
			got, ok := filled[p.Name]
			if !ok {
				got, ok = other[p.Name]
			}
			if !ok {
				text := strings.Replace(least+","+p.Name+"="+p.Default, ",", ":", 1-strings.Count(least, ":"))
				if again := mustParse(t, text).Spec(); again != plain {
					t.Errorf("%s: spec %s, want %s", text, again, plain)
				}
				continue
			}
			if got != p.Default && p.Default != "" {
				t.Errorf("%s: %s is described as %q by default, and parsed as %q", info.Name, p.Name, p.Default, got)
			}
			delete(filled, p.Name)
		}
		for key := range filled {
			t.Errorf("%s: parameter %s is not described", info.Name, key)
		}
	}
}

// needed returns the shortest spec that parses: the name, and what has no default
// as a comparison has it.
func needed(t *testing.T, info strategy.Info) string {
	t.Helper()
	text, in := info.Name, values(t, spending(t, info.Name, 8))
	for _, p := range info.Parameters {
		if p.Default == "" {
			text += fmt.Sprintf(",%s=%s", p.Name, in[p.Name])
		}
	}
	return strings.Replace(text, ",", ":", 1)
}

// values returns the parameters of a normalised spec.
func values(t *testing.T, text string) map[string]string {
	t.Helper()
	s, err := spec.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	v := map[string]string{}
	for _, p := range s.Params {
		v[p.Key] = p.Value
	}
	return v
}

// TestRanges wants a number outside its range refused with the words that
// describe the range.
func TestRanges(t *testing.T) {
	modes := map[string]string{"reinforce-ada": "mode=est,"}
	for _, info := range strategy.Known() {
		for _, p := range info.Parameters {
			if !strings.HasPrefix(p.Range, "[") && !strings.HasPrefix(p.Range, "(") {
				continue
			}
			text := info.Name + ":" + modes[info.Name] + p.Name + "=NaN"
			want, _, _ := strings.Cut(p.Range, ";")
			if _, err := strategy.Parse(text, open); err == nil || !strings.Contains(err.Error(), p.Name+" = NaN, want "+want) {
				t.Errorf("%s: error %v, want %s in it", text, err, want)
			}
		}
	}
}
