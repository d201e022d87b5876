package strategy_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"vigorlab/sim/rollout"
	"vigorlab/sim/strategy"
	"vigorlab/sim/strategy/strategytest"
)

func TestGRESOConformance(t *testing.T) {
	for _, text := range []string{
		"greso", "greso:n=2,size=1,least=1,loader=1", "greso:p_easy=0,p_hard=0,loader=4,least=4", "greso:size=1/2,loader=8,easy=0.75,hard=0.25,target=0.5",
	} {
		t.Run(text, func(t *testing.T) {
			strategytest.Conform(t, func() strategy.Strategy { return mustParse(t, text) }, false)
		})
	}
}

// TestGRESOTrace follows six prompts by hand, in the order of the set, two
// groups of four an update, two prompts served at a time, with coins that
// always fall alike: a test with probability q of keeping skips where the coin
// is at least q.
func TestGRESOTrace(t *testing.T) {
	followGRESO(t, "greso:n=4,size=1,least=1,loader=2", 6, 2, []gresoStep{
		// Size 1*2: 0 and 1, of which 1 is mixed. One missing, so the estimate is
		// floor(1*2*1.25/1) = 2, at most the first size: the last round. It keeps
		// nothing of 2 and 3, and the batch stays short. Epoch 0 steers nothing.
		{0.6, [6]int{0, 2, 4, 0, 0, 0}, "0:4 1:4 | 2:4 3:4 -> 1 2/4", .5, .5},
		{0.6, [6]int{0, 0, 0, 0, 2, 2}, "4:4 5:4 -> 4 2/4, 5 2/4", .5, .5},
		// Epoch 1: the coin skips 0 and 3 (all wrong once, keep .5), then 2 (all
		// right once); 1 is not enough, so 4 and 5 come too: three for a size of
		// two. Only 4 is mixed: floor(1*3*1.25/1) = 3 > 2, not the last round, but
		// the set is exhausted. One of three is all right (at least .25/3), one all
		// wrong (at least .5/3): both fall.
		{0.6, [6]int{0, 4, 0, 0, 2, 0}, "1:4 4:4 5:4 -> 4 2/4", .49, .49},
		// Epoch 2: 1 and 5 are skipped too now, 0, 2 and 3 still. No group without
		// both outcomes: both rise.
		{0.6, [6]int{0, 0, 0, 0, 1, 0}, "4:4 -> 4 1/4", .5, .5},
		// Epoch 3, and the coin lets pass what has .5. 0 and 1 are all wrong and
		// all right a second time: no group is kept and one is due, so the
		// released code divides by zero. Both fall.
		{0.4, [6]int{0, 4, 0, 0, 0, 0}, "0:4 1:4 ->  failed", .49, .49},
		// 2 and 3 pass with .49, and turn mixed; both rise.
		{0.4, [6]int{0, 0, 3, 1, 0, 0}, "2:4 3:4 -> 2 3/4, 3 1/4", .5, .5},
		{0.4, [6]int{0, 0, 0, 0, 3, 3}, "4:4 5:4 -> 4 3/4, 5 3/4", .51, .51},
		// Epoch 4: two in a row leave 0 and 1 with .51^2 = .26: skipped.
		{0.4, [6]int{0, 0, 1, 1, 0, 0}, "2:4 3:4 -> 2 1/4, 3 1/4", .52, .52},
	})
}

// TestGRESOTwoRates follows four prompts, all served at a time, one group an
// update, with targets of .3 all right and .6 all wrong.
func TestGRESOTwoRates(t *testing.T) {
	followGRESO(t, "greso:n=4,size=1,least=1,loader=4,p_easy=0.8,p_hard=0.3,target=0.9", 4, 1, []gresoStep{
		{0.5, [6]int{0, 4, 2, 0}, "0:4 1:4 2:4 3:4 -> 2 2/4", .8, .3},
		// The coin skips 0 and 3, kept with .3, and lets 1 pass, kept with .8. Half
		// of the groups are all right, none all wrong.
		{0.5, [6]int{0, 4, 2, 0}, "1:4 2:4 -> 2 2/4", .79, .31},
		// All pass. None is all right, and half are all wrong: less than .6.
		{0.2, [6]int{0, 1, 2, 0}, "0:4 1:4 2:4 3:4 -> 1 1/4", .8, .32},
	})
}

// A gresoStep is a coin, every prompt's successes, and what comes of them.
type gresoStep struct {
	coin float64
	s    [6]int
	want string
	easy float64 // p_easy after the step
	hard float64
}

// followGRESO compares every step, and p_easy and p_hard after it.
func followGRESO(t *testing.T, text string, prompts, batch int, steps []gresoStep) {
	t.Helper()
	s, ok := mustParse(t, text).(*strategy.GRESO)
	if !ok {
		t.Fatalf("%s is no GRESO", text)
	}
	w, want := &watchedGRESO{GRESO: s}, make([]string, len(steps))
	for i, step := range steps {
		w.coins = append(w.coins, coin(step.coin))
		want[i] = step.want
	}
	world := strategytest.World{
		Prompts: prompts, Batch: batch,
		Answer: func(step, id, _, _ int) int { return steps[step].s[id] },
	}
	follow(t, w, world, rand.New(w), want)
	for i, got := range w.rates {
		if math.Abs(got[0]-steps[i].easy) > 1e-12 || math.Abs(got[1]-steps[i].hard) > 1e-12 {
			t.Errorf("step %d: p_easy, p_hard = %.2f, want %v, %v", i+1, got, steps[i].easy, steps[i].hard)
		}
	}
}

// A watchedGRESO writes down its rates and is a source: the coin of the step.
type watchedGRESO struct {
	*strategy.GRESO
	coins []coin
	rates [][2]float64
}

func (w *watchedGRESO) Uint64() uint64 { return w.coins[len(w.rates)].Uint64() }

func (w *watchedGRESO) Observe(b *rollout.Batch) {
	w.GRESO.Observe(b)
	easy, hard := w.Rates()
	w.rates = append(w.rates, [2]float64{easy, hard})
}

// TestGRESORefill follows the sampling sizes of a first step by hand: 256
// groups an update, so a size of 384 at first, and 32 prompts served at a
// time.
func TestGRESORefill(t *testing.T) {
	for _, c := range []struct {
		name, spec string
		mixed      func(id int) bool
		rounds     []int // prompts asked
		trained    int
	}{
		// 192 of 384: 64 missing, floor(64*384/192*1.25) = 160 = 5*32, of which 80
		// are mixed: 272, cut to 256.
		{"half", "greso", func(id int) bool { return id%2 == 0 }, []int{384, 160}, 256},
		// 96 of 384: 160 missing, 800 > 384, so the first size again and not the
		// last round: 192; then floor(64*384/96*1.25) = 320 in the last: 272.
		{"a quarter", "greso", func(id int) bool { return id%4 == 0 }, []int{384, 384, 320}, 256},
		// 250 of 384: floor(6*384/250*1.25) = 11, raised to 64.
		{"least", "greso", func(id int) bool { return id < 250 || id >= 384 }, []int{384, 64}, 256},
		// The same without mixed prompts after the first round: the last round
		// leaves the batch short.
		{"short", "greso", func(id int) bool { return id < 250 }, []int{384, 64}, 250},
		// 384 are cut to 380, a multiple of 10, and 190 are mixed: floor(66*380/190
		// *1.25) = 165 takes 6*32 = 192, cut to 190: 95 more.
		{"gpus", "greso:gpus=10", func(id int) bool { return id%2 == 0 }, []int{380, 190}, 256},
		// 1*256 passes with 8*32; 128 are mixed: floor(128*256/128*1.25) = 320 >
		// 256, so 256 again, of which 128 more are mixed.
		{"size", "greso:size=1", func(id int) bool { return id%2 == 0 }, []int{256, 256}, 256},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &strategytest.World{
				Prompts: 2000, Batch: 256, Steps: 1, Order: rand.New(inOrder{}),
				Answer: func(_, id, _, n int) int {
					if c.mixed(id) {
						return n / 2
					}
					return 0
				},
			}
			got, err := strategytest.Steps(mustParse(t, c.spec), w, rand.New(rand.NewPCG(1, 1)))
			if err != nil {
				t.Fatal(err)
			}
			var rounds []int
			for _, ask := range got[0].Asked {
				rounds = append(rounds, len(ask))
			}
			u := got[0].Update
			if !slices.Equal(rounds, c.rounds) || len(u.Prompts) != c.trained || u.Failed {
				t.Errorf("asked %v prompts and trained on %d groups (failed: %v), want %v and %d", rounds, len(u.Prompts), u.Failed, c.rounds, c.trained)
			}
		})
	}
}

// TestGRESOWait holds the epochs between the visits of dead prompts against
// their geometric law: p_hard = 0.05 keeps a prompt with 0.05 after one
// all-wrong visit and with max(0.0025, 0.01) after two. The target of 0 holds
// p_hard there. One mixed prompt makes a step of every epoch.
func TestGRESOWait(t *testing.T) {
	for z, want := range []float64{1, 2, 4, 8, 16, 32, 64, 100, 100} {
		if got := strategy.GRESOWait(0.5, z); got != want {
			t.Errorf("q = 0.5, z = %d: a mean wait of %v, want %v", z, got, want)
		}
	}
	const dead, steps, first, second = 4000, 400, 100, 250
	w := &strategytest.World{Prompts: dead + 1, Batch: 1, Steps: steps, Answer: func(_, id, _, n int) int {
		if id == dead {
			return n / 2
		}
		return 0
	}}
	s := mustParse(t, fmt.Sprintf("greso:n=2,size=1,least=1,loader=%d,target=0,p_hard=0.05", dead+1))
	got, err := strategytest.Steps(s, w, rand.New(rand.NewPCG(20260101, 8)))
	if err != nil {
		t.Fatal(err)
	}
	visits := make([][]int, dead) // steps in which a prompt was asked
	for step, trace := range got {
		for x, id := range trace.ID {
			if id < dead && trace.N[x] > 0 {
				visits[id] = append(visits[id], step)
			}
		}
	}
	// A first gap of more than 100 is seen as such, and after a shorter one the
	// second is seen up to 250, for 1 + 100 + 250 < 400.
	var after1, after2 []int
	for _, v := range visits {
		gaps := [2]int{steps, steps}
		for i := range min(2, len(v)-1) {
			gaps[i] = v[i+1] - v[i]
		}
		after1 = append(after1, gaps[0])
		if gaps[0] <= first {
			after2 = append(after2, gaps[1])
		}
	}
	checkLaw(t, after1, first, func(k int) float64 { return 1 - math.Pow(0.95, float64(k)) })
	checkLaw(t, after2, second, func(k int) float64 { return 1 - math.Pow(0.99, float64(k)) })
	if got, want := strategy.GRESOWait(0.05, 1), 20.; math.Abs(got-want) > 1e-12 {
		t.Errorf("q = 0.05, z = 1: a mean wait of %v, want %v", got, want)
	}
}

func BenchmarkSelectGRESO(b *testing.B) { benchmarkSteps(b, "greso") }
