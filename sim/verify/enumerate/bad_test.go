package enumerate

import (
	"math"
	"strings"
	"testing"

	"vigorlab/sim/schedule"
)

func TestBadPopulations(t *testing.T) {
	build := func(_ Population, err error) error { return err }
	for _, c := range []struct {
		err  error
		want []string
	}{
		{build(Prompts()), []string{"batch = 0, want a whole number in [1, 8]"}},
		{build(Prompts(make([]float64, 9)...)), []string{"batch = 9"}},
		{build(Prompts(-0.1, 0.5, math.NaN())), []string{"p[0] = -0.1, want [0, 1]", "p[2] = NaN, want [0, 1]"}},
		{build(Draws(2)), []string{"sum of w = 0, want 1"}},
		{build(Draws(2, Atom{0.5, 0.5}, Atom{0.1, 0.4})), []string{"sum of w = 0.9, want 1"}},
		{build(Draws(2, Atom{0.5, math.NaN()}, Atom{1.5, 1})), []string{"w[0] = NaN, want [0, 1]", "p[1] = 1.5, want [0, 1]"}},
		{build(Draws(0, Atom{0.5, 1})), []string{"batch = 0"}},
		{build(Draws(4, make([]Atom, 9)...)), []string{"9 atoms in a batch of 4 make 6561", "at most 4096"}},
	} {
		complains(t, c.err, c.want...)
	}
}

func TestBadSchedules(t *testing.T) {
	pop := prompts(t, 0.1, 0.2, 0.3, 0.4)
	for _, c := range []struct {
		set  func(*schedule.Vigor)
		want []string
	}{
		// 4*2 + 2*4 + 1*8 + 1*16 = 40
		{func(*schedule.Vigor) {}, []string{"batch of 4 is asked for 40 rollouts", "at most 20"}},
		// 4*2 + 2*2 = 12, and 12 fresh ones
		{func(v *schedule.Vigor) { *v = small(); v.Reuse = false }, []string{"asked for 24 rollouts", "at most 20"}},
		{func(v *schedule.Vigor) { v.Rounds = 10_000 }, []string{"rounds = 10000", "at most 20"}},
		{func(v *schedule.Vigor) { v.Gamma = schedule.MustRatio("1e60") }, []string{"rollouts", "at most 20"}},
		{func(v *schedule.Vigor) { v.Gamma = schedule.MustRatio("0.5") }, []string{"round 3 asks 1/2 rollouts of a prompt, want a whole number"}},
		{func(v *schedule.Vigor) { v.M0 = 0 }, []string{"m0 = 0"}},
		{func(v *schedule.Vigor) { v.Alpha = schedule.MustRatio("1") }, []string{"alpha = 1, want (0, 1)"}},
		{func(v *schedule.Vigor) { v.Ties = "coin" }, []string{"ties = coin"}},
	} {
		v := schedule.Default()
		c.set(&v)
		r, err := VigorEnumerate(pop, v, Options{})
		complains(t, err, c.want...)
		if r != nil {
			t.Errorf("a result beside the error %v", err)
		}
	}
}

func TestBadRest(t *testing.T) {
	pop := prompts(t, 0.1, 0.2)
	_, err := FixedEnumerate(pop, 11, Options{})
	complains(t, err, "batch of 2 is asked for 22 rollouts", "at most 20")
	_, err = FixedEnumerate(pop, 0, Options{})
	complains(t, err, "g = 0, want a whole number >= 1")
	_, err = FixedEnumerate(pop, math.MaxInt, Options{})
	complains(t, err, "at most 20")
	_, err = FixedEnumerate(Population{}, 2, Options{})
	complains(t, err, "batch = 0")
	for _, c := range []float64{-0.1, 1.1, math.NaN()} {
		_, err = VigorEnumerate(pop, small(), Options{Frontier: c})
		complains(t, err, "frontier = ", "want [0, 1]")
	}
}

func complains(t *testing.T, err error, want ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want %q", want)
		return
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q, want %q in it", err, w)
		}
	}
}
