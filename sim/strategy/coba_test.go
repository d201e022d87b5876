package strategy_test

import (
	"fmt"
	"strings"
	"testing"

	"vigorlab/sim/strategy"
	"vigorlab/sim/strategy/strategytest"
)

// TestCobaTrace follows three steps on four prompts by hand.
//
// Step 1: nobody is known: 4 each, of which 0, 4, 2, 1 succeed. The mean rate is
// .4375, so alpha = 1 + 5 * .5625 = 3.8125 and beta = 3.1875.
//
// Step 2: rates 0, 1, .5, .25; one each, 12 left, int(.8 * 12) = 9 for the middle.
// tau = 3 + 9 * .015625/.1667 = 3.844; the density at .5 and .25 is as .03125 to
// .0108, so the gain of .5 after n is as .001968 exp(-.06504 n), above that of .25
// after one, .000490, as long as n < 21: all 9 go to .5. The last 3 go to
// prompt 0: groups 4 1 10 1.
//
// Step 3: 1, 1, 5, 1 of them succeed, a mean of (.25 + 1 + .5 + 1)/4 = .6875. The
// window's mean failure is 1 - (.4375 + .6875)/2 = .4375, at most 1/2: the sigmoid
// makes it .3486, alpha 2.743, beta 4.257. Rates 1/8, 5/5, 7/14, 2/5: the middle
// is 3 of 4, so again 9 of 12. tau = 3 + 9 * .02514/.1667 = 4.357; density as
// p^1.743 (1-p)^3.257: .125: .01726, .5: .03125, .4: .03838; p(1-p)/tau: .02510,
// .05738, .05509. Gains after n: .000428 exp(-.0251 n), .001743 exp(-.0574 n),
// .002057 exp(-.0551 n). From 1: .4 leads with .001947, and after 4 it is at
// .001650, .5 after 1 at .001645; so .4 goes to 4 and on to 5 before .5 gets its
// first; .4 after 5 .001562 < .5's .001645; after 2 .5 is at .001554: alternating,
// .4 (6), .5 (3), .4 (7): 6 + 2 = 8 units so far, next .5 after 3 .001467 against
// .4 after 7 .001399: .5 gets the ninth. Nobody is hard, so the last 3 go to the
// middle by 1-p = .875, .5, .6: int(3 * .875/1.975) = 1, int(2 * .5/1.975) = 0,
// int(2 * .6/1.975) = 0, and the 2 left to the first two of the middle in the
// batch's order.
func TestCobaTrace(t *testing.T) {
	successes := [][]int{{0, 4, 2, 1}, {1, 1, 5, 1}, {0, 0, 0, 0}}
	s := mustParse(t, "coba:n=4,low=1")
	got, err := strategytest.Steps(s, &strategytest.World{
		Prompts: 4, Batch: 4, Steps: 3,
		Answer: func(step, id, _, _ int) int { return successes[step][id] },
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	asked := byID(got, 4)
	if two := fmt.Sprint(asked[:2]); two != "[[4 4 4 4] [4 1 10 1]]" {
		t.Errorf("steps 1 and 2: %s, want [[4 4 4 4] [4 1 10 1]]", two)
	}
	want := []int{1 + 1, 1, 4, 7} // and 1 more for each of the first two of the middle
	more := 2
	for _, id := range got[2].ID {
		if id != 1 && more > 0 {
			want[id]++
			more--
		}
	}
	if fmt.Sprint(asked[2]) != fmt.Sprint(want) {
		t.Errorf("step 3: %v, want %v", asked[2], want)
	}
}

// TestCobaWindow: only the last visits count.
func TestCobaWindow(t *testing.T) {
	s := mustParse(t, "coba:n=4,low=4,up=4,window=2")
	_, err := strategytest.Steps(s, &strategytest.World{
		Prompts: 1, Batch: 1, Steps: 4,
		Answer: func(step, _, _, _ int) int { return []int{4, 4, 0, 3}[step] },
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if p, ok := s.(strategy.Believer).Belief(0); !ok || p != 3./8 {
		t.Errorf("rate %v, want 3/8", p)
	}
}

func TestCobaConformance(t *testing.T) {
	for _, text := range []string{
		"coba",
		"coba:n=1,low=1,up=1,window=1",
		"coba:n=31,sum=11,window=1",
		"coba:n=8,up=128,rest=uniform,power=0",
		"coba:n=16,sum=2,tau_min=1,tau_max=1,explore=0",
	} {
		t.Run(text, func(t *testing.T) {
			strategytest.Conform(t, func() strategy.Strategy { return mustParse(t, text) }, true) // the front of the batch gets more, as in the code
		})
	}
}

func TestCobaSpecs(t *testing.T) {
	const rest = ",window=3,sum=7,smooth=0.01,tau_min=3,tau_max=12,var_max=0.1667,explore=0.8,rest=weighted,power=1"
	wantSpecs(t, map[string]string{
		"coba":      "coba:n=16,low=2,up=32" + rest,
		"coba:n=1":  "coba:n=1,low=1,up=32" + rest,
		"coba:n=64": "coba:n=64,low=2,up=64" + rest,
	})
	wantFaults(t, map[string][]string{
		"coba:n=4,low=5,up=3":          {"low = 5, want a whole number in [1, 4]", "up = 3, want a whole number in [4, 10000]"},
		"coba:sum=1,smooth=0,rest=all": {"sum = 1, want [2, 1000]", "smooth = 0, want (0, 0.5)", "rest = all, want one of weighted, uniform"},
		"coba:tau_min=5,tau_max=4":     {"tau_max = 4, want [tau_min, 1000]"},
	})
	for _, g := range []int{1, 2, 7, 8, 64, 10_000} {
		s := mustParse(t, spending(t, "coba", g))
		if want := fmt.Sprintf("coba:n=%d,", g); !strings.HasPrefix(s.Spec(), want) {
			t.Errorf("%d a prompt: %s", g, s.Spec())
		}
	}
}
