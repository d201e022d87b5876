package strategy_test

import (
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"vigorlab/sim/rollout"
	"vigorlab/sim/strategy"
	"vigorlab/sim/strategy/strategytest"
)

// goldenRows returns the cases of a quantity in testdata/reconstructions.csv,
// made by reconstructions.py there, and their values.
func goldenRows(t *testing.T, quantity string) (cases []string, values [][]float64) {
	t.Helper()
	f, err := os.Open("testdata/reconstructions.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() // only read
	r := csv.NewReader(f)
	r.FieldsPerRecord = -1 // specs have commas
	all, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range all {
		if last := len(row) - 1; row[0] == quantity {
			cases = append(cases, strings.Join(row[1:last], ","))
			values = append(values, numbers(t, row[last]))
		}
	}
	if len(cases) == 0 {
		t.Fatalf("no rows of %s", quantity)
	}
	return cases, values
}

// numbers reads numbers, and fractions, that spaces part.
func numbers(t *testing.T, text string) (list []float64) {
	t.Helper()
	for _, field := range strings.Fields(text) {
		top, bottom, fraction := strings.Cut(field, "/")
		x, err := strconv.ParseFloat(top, 64)
		if fraction && err == nil {
			var y float64
			y, err = strconv.ParseFloat(bottom, 64)
			x /= y
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, x)
	}
	return list
}

// wantAll wants every number to within tol of the golden one, relative to 1 or
// to it where it is larger.
func wantAll(t *testing.T, what string, got, want []float64, tol float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d numbers, want %d", what, len(got), len(want))
	}
	for i := range got {
		if !(math.Abs(got[i]-want[i]) <= tol*max(1, math.Abs(want[i]))) {
			t.Errorf("%s: number %d is %.15g, want %.15g", what, i, got[i], want[i])
		}
	}
}

// tapeWorld is a set of prompts whose rollouts, over all steps, read off tapes.
func tapeWorld(tapes []string, batch, steps int) *strategytest.World {
	used := make([]int, len(tapes))
	return &strategytest.World{
		Prompts: len(tapes), Batch: batch, Steps: steps,
		Answer: func(_, id, _, n int) int {
			from := used[id]
			used[id] += n
			return strings.Count(tapes[id][from:from+n], "1")
		},
	}
}

// wantGroups wants the groups of every golden case of a strategy that works on
// one batch; a case is a spec and the prompts' tapes.
func wantGroups(t *testing.T, quantity string) {
	t.Helper()
	cases, want := goldenRows(t, quantity)
	for i, c := range cases {
		text, tapes, _ := strings.Cut(c, "|")
		rewards := strings.Split(tapes, ";")
		for k := range rewards { // what a tape does not show is not looked at
			rewards[k] += strings.Repeat("0", 100)
		}
		got, err := strategytest.Run(mustParse(t, text), len(rewards), script(rewards...), nil, seeded(1))
		if err != nil {
			t.Fatal(err)
		}
		var n []float64
		for _, g := range got.N {
			n = append(n, float64(g))
		}
		wantAll(t, c, n, want[i], 0)
	}
}

func TestReconstructionsConform(t *testing.T) {
	for _, text := range []string{
		"ar3po:stages=2,k=4", "ar3po:stages=1,k=1", "ar3po:stages=3,k=2,reuse=none",
		"arcus:targets=3", "arcus:g=2,rho=0,temperature=1,warmup=1,delta=1,beta=1,targets=2", "arcus:g=1,rho=3,targets=2",
		"cero-v2:g=4,groups=1/2,rounds=3,c=3,a=1,b=1,rho=1,eta=1,price=0,step=0.5",
		"cero-v2:c=1,a=0.5,b=2,rho=0.5,eta=2,price=0.1,step=1",
		"hora:g=8,base=4", "hora:g=1,base=1", "hora:g=6,base=1,max=7",
		"pair:n=8,g=4,min=0.1", "pair:n=3,g=1,min=0.2,design=pointwise,weights=marginal", "pair:n=16,g=8,min=0.01,design=uniform,weights=none",
		"xrpo:g=8,base=4,phases=2,alpha=0.05,lambda=0.1", "xrpo:g=4,base=2,phases=3,alpha=0.5,lambda=1,bonus=linear", "xrpo:g=2,base=2,phases=1,alpha=0.1,lambda=0",
	} {
		t.Run(text, func(t *testing.T) {
			strategytest.Conform(t, func() strategy.Strategy { return mustParse(t, text) }, false)
		})
	}
}

func TestReconstructionsSpecs(t *testing.T) {
	wantSpecs(t, map[string]string{
		"ar3po:k=4,stages=2":    "ar3po:stages=2,k=4,reuse=stop-gradient",
		"arcus:warmup=7":        "arcus:g=8,rho=0.25,eps=0.03,temperature=0.3,delta=0.005,targets=41,beta=0.1,warmup=7",
		"arcus":                 "arcus:g=8,rho=0.25,eps=0.03,temperature=0.3,delta=0.005,targets=41,beta=0.1,warmup=auto",
		"hora:base=2,g=8":       "hora:g=8,base=2,max=10000",
		"pair:min=.5,g=4,n=8":   "pair:n=8,g=4,min=0.5,design=pair,weights=joint",
		"pair:n=3,g=1,min=0.33": "pair:n=3,g=1,min=0.33,design=pair,weights=joint",
		"xrpo:base=4,phases=2,alpha=0.05,lambda=0":            "xrpo:g=16,base=4,phases=2,alpha=0.05,lambda=0,bonus=root",
		"cero-v2:c=3,a=1,b=1,rho=1,eta=1,price=0.5,step=5e-1": "cero-v2:g=8,groups=1,rounds=500,c=3,a=1,b=1,rho=1,eta=1,price=0.5,step=0.5",
	})
	wantFaults(t, map[string][]string{
		"ar3po":                             {"ar3po: stages is missing, want a whole number in [1, 10000]", "ar3po: k is missing"},
		"ar3po:stages=101,k=100":            {"stages = 101, want k*stages at most 10000"},
		"ar3po:stages=0,k=x,reuse=on":       {"stages = 0", "k = x", "reuse = on, want one of none, stop-gradient"},
		"arcus:g=0,rho=-1,eps=2":            {"g = 0", "rho = -1, want [0, 1024]", "eps = 2, want [0, 1]"},
		"arcus:temperature=0,delta=NaN":     {"temperature = 0, want (0, 1000]", "delta = NaN, want [0, 2]"},
		"arcus:targets=1,beta=-1,warmup=no": {"targets = 1", "beta = -1", "warmup = no, want a whole number in [1, 1000000]"},
		"hora":                              {"hora: g is missing", "hora: base is missing, want a whole number in [1, g]"},
		"hora:g=8":                          {"base is missing, want a whole number in [1, 8]"},
		"hora:g=8,base=9,max=7":             {"base = 9, want a whole number in [1, 8]", "max = 7, want a whole number in [8, 10000]"},
		"pair":                              {"n is missing", "g is missing, want a whole number in [1, n]", "min is missing, want (0, g/n]"},
		"pair:n=8,g=4,min=0.6":              {"min = 0.6, want (0, g/n]"},
		"pair:n=8,g=9,min=0,design=par":     {"g = 9, want a whole number in [1, 8]", "min = 0", "did you mean pair?"},
		"xrpo":                              {"base is missing", "phases is missing", "alpha is missing, want (0, 1)", "lambda is missing"},
		"xrpo:base=1,phases=0,alpha=1,lambda=-1,bonus=rot": {"base = 1", "phases = 0", "alpha = 1", "lambda = -1", "did you mean root?"},
		"cero-v2": {"c is missing, want (0, 100]", "a is missing", "b is missing", "rho is missing", "eta is missing", "price is missing", "step is missing"},
		"cero-v2:c=0,a=0,b=0,rho=2,eta=0,price=-1,step=0,groups=0": {"c = 0", "rho = 2, want [0, 1]", "price = -1, want [0, 100]", "groups = 0"},
		"cero-v3:c=1": {"did you mean cero-v2?"},
	})
}

func TestReconstructionsSpending(t *testing.T) {
	wantSpending(t, "ar3po", map[int]string{1: "ar3po:stages=2,k=1", 8: "ar3po:stages=2,k=4"})
	wantSpending(t, "arcus", map[int]string{1: "arcus:g=2", 8: "arcus:g=6", 64: "arcus:g=51"})
	wantSpending(t, "pair", map[int]string{1: "pair:n=2,g=1,min=0.1", 8: "pair:n=16,g=8,min=0.1", 10_000: "pair:n=10000,g=10000,min=0.1"})
	wantSpending(t, "cero-v2", map[int]string{8: "cero-v2:g=8,rounds=500,c=3,a=1,b=1,rho=1,eta=1,price=0.5,step=0.5"})
	wantExactSpending(t, "hora")
	wantSpending(t, "xrpo", map[int]string{1: "xrpo:g=2,base=2,phases=2,alpha=0.05,lambda=0.1"})
}

// TestReconstructionsSaySo: what was rebuilt from notes says so, in its source
// too, and what no source states has no default.
func TestReconstructionsSaySo(t *testing.T) {
	unknown := map[string][]string{
		"ar3po": {"stages", "k"}, "arcus": nil, "cero-v2": {"c", "a", "b", "rho", "eta", "price", "step"},
		"hora": {"g", "base"}, "pair": {"n", "g", "min"}, "xrpo": {"base", "phases", "alpha", "lambda"},
	}
	for _, info := range strategy.Known() {
		missing, ok := unknown[info.Name]
		if !ok {
			continue
		}
		if info.Provenance != "reconstruction" || !strings.Contains(info.Source, "from") {
			t.Errorf("%s: provenance %s, source %s", info.Name, info.Provenance, info.Source)
		}
		for _, p := range info.Parameters {
			if unknown := slices.Contains(missing, p.Name); unknown != (p.Default == "") {
				t.Errorf("%s: %s has the default %q", info.Name, p.Name, p.Default)
			}
		}
		delete(unknown, info.Name)
	}
	if len(unknown) > 0 {
		t.Errorf("not listed: %v", unknown)
	}
}

// TestAR3POCost meets the mean cost and the share of prompts without success by
// enumeration of every sequence of rewards.
func TestAR3POCost(t *testing.T) {
	cases, want := goldenRows(t, "ar3po cost")
	for i, c := range cases {
		x := numbers(t, c)
		cost, never := strategy.AdaSeqCost(x[0], int(x[1]), int(x[2]), 1, 0)
		wantAll(t, c, []float64{cost, never}, want[i], 1e-12)
	}
}

// TestAR3POTrace follows three steps on four prompts by hand, two stages of 2:
//
//	step 1  two each: 0 1 2 0 succeed, so 0 and 3 go on, 3 with a success: groups
//	        0/4 1/2 2/2 1/4, nothing stored before, means 0 1/2 1 1/4.
//	step 2  nobody succeeds: four each. 1, 2 and 3 had successes, of which one
//	        overwrites a wrong rollout: 0/4, and 0/3 thrice, compared with 1/4.
//	step 3  all succeed at once.
func TestAR3POTrace(t *testing.T) {
	tapes := []string{"0000" + "0000" + "11", "10" + "0000" + "11", "11" + "0000" + "11", "0001" + "0000" + "11"}
	s := mustParse(t, "ar3po:stages=2,k=2")
	w := tapeWorld(tapes, 4, 3)
	w.Order = rand.New(inOrder{})
	got, err := strategytest.Steps(s, w, seeded(1))
	if err != nil {
		t.Fatal(err)
	}
	for step, want := range []string{
		"0:2 1:2 2:2 3:2 | 0:2 3:2 [4 2 2 4] [0 1 2 1] [0 0.5 1 0.25]",
		"0:2 1:2 2:2 3:2 | 0:2 1:2 2:2 3:2 [4 3 3 3] [0 0 0 0] [0 0.25 0.25 0.25]",
		"0:2 1:2 2:2 3:2 [2 2 2 2] [2 2 2 2] [1 1 1 1]",
	} {
		u := got[step].Update
		rounds, _, _ := strings.Cut(tell(got[step]), " -> ")
		if text := fmt.Sprint(rounds, " ", u.N, u.S, u.Baselines); text != want {
			t.Errorf("step %d:\n got %s\nwant %s", step+1, text, want)
		}
	}
	plain, err := strategytest.Run(mustParse(t, "ar3po:stages=2,k=2,reuse=none"), 4, script(tapes...), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(plain.N, plain.Update) != fmt.Sprint([]int{4, 2, 2, 4}, strategy.Update{}) {
		t.Errorf("without reuse: %v, %+v", plain.N, plain.Update)
	}
}

// TestHoraGroups meets groups by fractions of Beta functions. By hand, g=5 and
// base=2 on 00, 01, 11: further rollouts are worth 1/4, 3/20, 1/10, 1/14, ... to
// the first, 1/2, 1/5, 1/10, 2/35 to the second and 3/4, 3/20, 1/20 to the third: nine of
// them are 4, 3 and 2.
func TestHoraGroups(t *testing.T) { wantGroups(t, "hora") }

// TestXRPOGroups meets groups, and priorities, by Student's law from its incomplete beta function.
func TestXRPOGroups(t *testing.T) {
	wantGroups(t, "xrpo")
	cases, want := goldenRows(t, "xrpo priority")
	for i, c := range cases {
		text, at, _ := strings.Cut(c, "|")
		x := numbers(t, at)
		got := mustParse(t, text).(*strategy.XRPO).Priority(int(x[0]), int(x[1]), int(x[2]))
		wantAll(t, c, []float64{got}, want[i], 1e-12)
	}
}

// TestXRPOTrace: 5 rollouts are left for 2 phases of 3 and 2; with a bonus that
// outweighs all else the smallest groups come first, and without one prompts
// with equal rewards get nothing as long as another has both: 0001 and 0110 with
// sd .5 and .577, h shrinks by (3.182/2 - 2.776/2.236) = .349 after 4 rollouts and
// by (2.776/2.236 - 2.571/2.449) = .192 after 5: .202 and .175 first, then .111
// against .096.
func TestXRPOTrace(t *testing.T) {
	rewards := []string{"0000" + "000000", "0001" + "000001", "0110" + "010101", "1111" + "111111", "0000" + "000000"}
	for text, want := range map[string]string{
		"xrpo:g=5,base=4,phases=2,alpha=0.05,lambda=1000": "[5 5 5 5 5] 3",
		"xrpo:g=5,base=4,phases=2,alpha=0.05,lambda=0":    "[4 6 7 4 4] 3",
	} {
		got, err := strategytest.Run(mustParse(t, text), 5, script(rewards...), nil, seeded(1))
		if err != nil {
			t.Fatal(err)
		}
		if now := fmt.Sprint(got.N, len(got.Asked)); now != want {
			t.Errorf("%s: groups and rounds %s, want %s", text, now, want)
		}
	}
}

// TestCero2Run meets the price, the slopes, the beliefs and who is asked after
// every step of three runs.
func TestCero2Run(t *testing.T) {
	cases, states := goldenRows(t, "cero-v2 state")
	_, asked := goldenRows(t, "cero-v2 asked")
	for i, c := range cases {
		part := strings.Split(c, "|")
		batch, step := int(numbers(t, part[1])[0]), int(numbers(t, part[2])[0])
		tapes := strings.Split(part[3], ";")
		s := mustParse(t, part[0]).(*strategy.CERO2)
		got, err := strategytest.Steps(s, tapeWorld(tapes, batch, step+1), seeded(1))
		if err != nil {
			t.Fatal(err)
		}
		var ids []float64
		for _, id := range got[step].ID {
			ids = append(ids, float64(id))
		}
		slices.Sort(ids)
		wantAll(t, c+": asked", ids, asked[i], 0)
		wantAll(t, c, s.Duals(), states[i], 1e-12)
	}
}

// TestCero2Regret meets the trial of systems.md, section 3b, in kind: on prompts
// that stand still, with qhat learnt, c = 3 and 30 % of the budget that would ask
// all, what a prompt loses against the offline optimum falls as the run grows,
// and the budget is spent. The values are pins of fixed seeds.
func TestCero2Regret(t *testing.T) {
	loss := map[int]float64{}
	for _, rounds := range []int{100, 1600} {
		const prompts, batch = 20, 6
		text := fmt.Sprintf("cero-v2:rounds=%d,c=3,a=1,b=1,rho=1,eta=1,price=0.5,step=0.5", rounds)
		s, r := mustParse(t, text).(*strategy.CERO2), seeded(7)
		groups := make([]int, prompts)
		p := func(id int) float64 { return (float64(id) + 0.5) / prompts }
		_, err := strategytest.Steps(s, &strategytest.World{
			Prompts: prompts, Batch: batch, Steps: rounds,
			Answer: func(_, id, _, n int) int {
				groups[id]++
				return flips(n, p(id), r)
			},
		}, r)
		if err != nil {
			t.Fatal(err)
		}
		admitted, executed := s.Groups()
		if executed < rounds*batch*9/10 || executed > rounds*batch || admitted < executed {
			t.Errorf("%d rounds: %d groups executed of %d admitted, want nearly %d", rounds, executed, admitted, rounds*batch)
		}
		value := func(id int, n float64) float64 {
			return -p(id) * (1 - p(id)) * math.Expm1(-3*n/float64(rounds))
		}
		had, best := 0.0, make([]int, prompts)
		for id, n := range groups {
			had += value(id, float64(n))
		}
		for range rounds * batch { // the offline optimum, greedily
			next, gain := -1, -1.0
			for id, n := range best {
				if g := value(id, float64(n+1)) - value(id, float64(n)); n < rounds && g > gain {
					next, gain = id, g
				}
			}
			best[next]++
		}
		optimum := 0.0
		for id, n := range best {
			optimum += value(id, float64(n))
		}
		loss[rounds] = (optimum - had) / optimum
		t.Logf("%d rounds: loses %.4f of the optimum", rounds, loss[rounds])
		if !(had <= optimum*(1+1e-12)) {
			t.Errorf("%d rounds: %v passes the optimum %v", rounds, had, optimum)
		}
	}
	if !(loss[1600] < loss[100]/2) {
		t.Errorf("the loss falls from %v to %v over 16 times the rounds, want by half at least", loss[100], loss[1600])
	}
}

// TestPairInclusion meets the design's probabilities by the roots of a cubic.
func TestPairInclusion(t *testing.T) {
	cases, want := goldenRows(t, "pair inclusion")
	for i, c := range cases {
		part := strings.Split(c, "|")
		n, g, least := numbers(t, part[0])[0], numbers(t, part[1])[0], numbers(t, part[2])[0]
		p, cost := numbers(t, part[3]), numbers(t, part[4])
		for _, design := range []string{"pair", "pointwise", "uniform"} {
			pi := strategy.Inclusion(design, p, cost, int(n), g, least, nil)
			spend, budget := 0.0, 0.0
			for k := range pi {
				spend += n * pi[k] * cost[k]
				budget += g * cost[k]
				if !(pi[k] >= least && pi[k] <= 1) {
					t.Errorf("%s, %s: probability %v outside [%v, 1]", c, design, pi[k], least)
				}
			}
			wantNear(t, c+", "+design+": spending", spend, budget, 1e-9*budget)
			if design == "pair" {
				wantAll(t, c, pi, want[i], 1e-9)
			}
		}
	}
	// Probabilities that nothing cuts are as sqrt(p(1-p)): .3, .4, .5.
	pi := strategy.Inclusion("pointwise", []float64{0.1, 0.2, 0.5}, []float64{1, 1, 1}, 4, 2, 0.01, nil)
	wantAll(t, "pointwise", pi, []float64{0.5 * 3 / 4, 0.5, 0.5 * 5 / 4}, 1e-12)
}

// TestPairUnbiased sums over the binomial groups that Pair's weights are made
// for: m finished rollouts of weight w give m w times RLOO's estimate, whose mean
// is p(1-p) from two on, and enumeration of rollouts and inclusions agrees. Joint
// weights give n p(1-p), those of the complete pairs; the others do not.
func TestPairUnbiased(t *testing.T) {
	cases, want := goldenRows(t, "pair mean")
	for i, c := range cases {
		part := strings.Fields(c)
		x := numbers(t, strings.Join(part[:3], " "))
		p, n, pi := x[0], int(x[1]), x[2]
		s := mustParse(t, fmt.Sprintf("pair:n=%d,g=%d,min=0.01,design=uniform,weights=%s", n, n, part[3])).(*strategy.Pair)
		mean := 0.0
		for m := 2; m <= n; m++ {
			mean += choose(n, m) * math.Pow(pi, float64(m)) * math.Pow(1-pi, float64(n-m)) * float64(m) * s.LossWeight(m, pi) * p * (1 - p)
		}
		wantAll(t, c, []float64{mean}, want[i], 1e-12)
		if unbiased := math.Abs(mean-float64(n)*p*(1-p)) < 1e-12; unbiased != (part[3] == "joint") {
			t.Errorf("%s: mean %v beside %v of the complete pairs", c, mean, float64(n)*p*(1-p))
		}
	}
}

// choose returns n over k.
func choose(n, k int) float64 {
	c := 1.0
	for i := range k {
		c *= float64(n-i) / float64(i+1)
	}
	return c
}

// TestPairTrace: first all prompts have pi = g/n and each of 4 rollouts is
// finished by its own coin, here always under 1/2 and so always; weights are
// (m-1)/3 * 4 for joint ones. Then a prompt of p = 1/6 and one of 1/2 (posterior
// means after 0 and 2 of 4) share 4 of 8: the roots of x^3 + x^2/2 = t/v.
func TestPairTrace(t *testing.T) {
	s := mustParse(t, "pair:n=4,g=2,min=0.1").(*strategy.Pair)
	w := tapeWorld([]string{"00000000", "01100000"}, 2, 1)
	w.Order = rand.New(inOrder{})
	got, err := strategytest.Steps(s, w, rand.New(coin(0.25)))
	if err != nil {
		t.Fatal(err)
	}
	u := got[0].Update
	wantAll(t, "weights", u.Weights, []float64{4, 4}, 1e-12)
	wantAll(t, "inclusion", s.Inclusion(), []float64{0.5, 0.5}, 1e-12)
	if fmt.Sprint(got[0].N, got[0].S) != "[4 4] [0 2]" {
		t.Errorf("groups %v of %v", got[0].S, got[0].N)
	}
	for id, want := range []float64{1. / 6, 1. / 2} {
		if p, ok := s.Belief(id); !ok || math.Abs(p-want) > 1e-15 {
			t.Errorf("belief in prompt %d: %v, want %v", id, p, want)
		}
	}
	w = tapeWorld([]string{"00000000", "01100000"}, 2, 2)
	w.Order = rand.New(inOrder{})
	if _, err = strategytest.Steps(s, w, rand.New(coin(0.25))); err != nil {
		t.Fatal(err)
	}
	pi := s.Inclusion()
	rate := func(k int, v float64) float64 { return v * (math.Pow(pi[k], -3) + math.Pow(pi[k], -2)/2) }
	wantNear(t, "sum of the probabilities", pi[0]+pi[1], 1, 1e-12)
	wantNear(t, "marginal variance of the second", rate(1, 1./4), rate(0, 5./36), 1e-9)
}

// TestArcus meets yield and kernel by quadrature under the belief, the wanted
// target of pools, and the scale of odds.
func TestArcus(t *testing.T) {
	cases, yields := goldenRows(t, "arcus yield")
	_, kernels := goldenRows(t, "arcus kernel")
	for i, c := range cases {
		x := numbers(t, c)
		wantAll(t, c, []float64{strategy.ArcYield(x[0], x[1], int(x[2])), strategy.ArcKernel(x[0], x[1], x[3])}, []float64{yields[i][0], kernels[i][0]}, 1e-12)
	}
	cases, want := goldenRows(t, "arcus scale")
	for i, c := range cases {
		odds, m, _ := strings.Cut(c, "|")
		wantAll(t, c, []float64{strategy.InclusionScale(numbers(t, odds), int(numbers(t, m)[0]))}, want[i], 1e-12)
	}
	cases, want = goldenRows(t, "arcus wanted")
	for i, c := range cases {
		part := strings.Split(c, "|")
		u := mustParse(t, part[0]).(*strategy.ARCUS)
		got := u.Wanted(numbers(t, part[2]), numbers(t, part[3]), int(numbers(t, part[1])[0]))
		wantAll(t, c, []float64{got}, want[i], 1e-12)
	}
	if c := strategy.InclusionScale([]float64{1, 1, 0}, 3); !math.IsInf(c, 1) {
		t.Errorf("more groups than prompts that can be mixed: scale %v", c)
	}
}

// TestArcusRun meets v, Q, the target, every belief and who is trained on, after
// every step of three runs that ask all prompts.
func TestArcusRun(t *testing.T) {
	cases, states := goldenRows(t, "arcus state")
	_, trained := goldenRows(t, "arcus trained")
	for i, c := range cases {
		part := strings.Split(c, "|")
		batch, step := int(numbers(t, part[1])[0]), int(numbers(t, part[2])[0])
		tapes := strings.Split(part[3], ";")
		s := mustParse(t, part[0]).(*strategy.ARCUS)
		got, err := strategytest.Steps(s, tapeWorld(tapes, batch, step+1), seeded(1))
		if err != nil {
			t.Fatal(err)
		}
		var ids []float64
		for _, x := range got[step].Update.Prompts {
			ids = append(ids, float64(got[step].ID[x]))
		}
		slices.Sort(ids)
		wantAll(t, c+": trained", ids, trained[i], 0)
		wantAll(t, c, s.Arc(), states[i], 1e-10)
	}
}

// TestArcusGaps: a prompt that was left out for a step tells of two steps' drift.
// After steps that ask both prompts, the first, and the second, v and Q move by
// what the second shows, over twice its pull and a gap of two.
func TestArcusGaps(t *testing.T) {
	const beta = 0.5
	u := mustParse(t, "arcus:g=4,beta=0.5,warmup=100").(*strategy.ARCUS)
	u.Begin(2)
	step := func(ids, successes []int) {
		b := &rollout.Batch{ID: ids, S: successes, Round: 1}
		for range ids {
			b.N = append(b.N, 4)
		}
		if err := u.Start(1); err != nil {
			t.Fatal(err)
		}
		u.Next(b, nil, seeded(1))
		u.Observe(b)
		u.Drift() // that of the next step
	}
	step([]int{0, 1}, []int{1, 1})
	step([]int{0}, []int{3})
	before := u.Arc() // v, Q, target, means, variances
	step([]int{1}, []int{4})
	z, r := strategy.ArcObservation(4, 4)
	d := z - before[4]
	wantNear(t, "v", u.Arc()[0], before[0]+beta*d/(2*math.Sin(2*before[4])), 1e-12)
	wantNear(t, "Q", u.Arc()[1], (1-beta)*before[1]+beta*(before[1]+(d*d-before[6]-r)/2), 1e-12)
	if !(u.Arc()[1] > 0.01) {
		t.Errorf("Q = %v: its floor hides the rule", u.Arc()[1])
	}
}

// TestArcusPool: once 100 prompts were seen the others take their mean and total
// variance, and before that the prior.
func TestArcusPool(t *testing.T) {
	for batch, pooled := range map[int]bool{99: false, 100: true} {
		const prompts = 110
		u := mustParse(t, "arcus:g=4,rho=0").(*strategy.ARCUS)
		seen := map[int]bool{}
		_, err := strategytest.Steps(u, &strategytest.World{
			Prompts: prompts, Batch: batch, Steps: 1,
			Answer: func(_, id, _, _ int) int {
				seen[id] = true
				return id % 5
			},
		}, seeded(2))
		if err != nil {
			t.Fatal(err)
		}
		state := u.Arc()
		mean, variance, n := 0.0, 0.0, float64(len(seen))
		for id := range seen {
			mean += state[3+id] / n
		}
		for id := range seen {
			variance += (state[3+prompts+id] + (state[3+id]-mean)*(state[3+id]-mean)) / n
		}
		if !pooled {
			mean, variance = math.Pi/4, math.Pi*math.Pi/48
		}
		for id := range prompts {
			if !seen[id] {
				wantNear(t, "mean", state[3+id], mean, 1e-12)
				wantNear(t, "variance", state[3+prompts+id], variance, 1e-12)
			}
		}
	}
}

// TestArcusDraws: of three prompts one is drawn a step, with the odds of its score
// to the power 1/T. Beliefs after one group each of 0, 1 and 2 of 4 are worked
// out by ArcKernel and ArcYield. By Hoeffding the share of one prompt in n =
// 20,000 draws strays by tol = .0206 with probability at most 2 exp(-2 n tol^2) =
// 8.5e-8, one of three with less than 1e-6; a share off by .0412 is missed with at
// most that probability.
func TestArcusDraws(t *testing.T) {
	const n, tol = 20_000, 0.0206
	tapes := []string{"0000", "0001", "0011"}
	r := seeded(11)
	var drawn [3]int
	odds := make([]float64, 3)
	for k := range n {
		s := mustParse(t, "arcus:g=4,rho=0,temperature=1,beta=0,warmup=100").(*strategy.ARCUS)
		// The first step asks all three, the second one.
		w := &strategytest.World{Prompts: 3, Batch: 3, Steps: 1, Answer: func(_, id, _, _ int) int { return strings.Count(tapes[id], "1") }}
		if _, err := strategytest.Steps(s, w, r); err != nil {
			t.Fatal(err)
		}
		state := s.Arc()
		if k == 0 {
			sum := 0.0
			for id := range odds {
				mean, variance := state[3+id], state[6+id]+1e-5 // a step's drift
				odds[id] = strategy.ArcKernel(mean, variance, math.Pi/4) * strategy.ArcYield(mean, variance, 4)
				sum += odds[id]
			}
			for id := range odds {
				odds[id] /= sum
			}
		}
		id, err := firstAsked(s, 3, r)
		if err != nil {
			t.Fatal(err)
		}
		drawn[id]++
	}
	for id, k := range drawn {
		if share := float64(k) / n; !(math.Abs(share-odds[id]) < tol) {
			t.Errorf("prompt %d is drawn in a share %.4f of the steps, want %.4f ± %v", id, share, odds[id], tol)
		}
	}
}

// firstAsked returns the prompt that a strategy asks first in the next step, for a
// batch of one.
func firstAsked(s strategy.Strategy, prompts int, r *rand.Rand) (int, error) {
	set, b := rollout.NewSet(prompts), new(rollout.Batch)
	set.Restart(r)
	set.Begin(b)
	if err := s.Start(1); err != nil {
		return 0, err
	}
	ask := s.Next(b, nil, r)
	if len(ask) != 1 {
		return 0, fmt.Errorf("%d prompts asked, want 1", len(ask))
	}
	return b.ID[ask[0].X], nil
}
