package strategy

import (
	"math"
	"math/rand/v2"
	"testing"

	"vigorlab/sim/rollout"
)

// TestCeroDuals checks the duals and the price of TestCeroTrace after every
// step, and a sixth one, where the budget is spent and what is proposed moves
// them all the same.
//
//	step 5  first 0 of 8: qhat 105/506; theta = .5248 - (2 - 1.4731/4)/4 = .1168;
//	        third, proposed and not asked: .5103 - 1/4; second + .0006. nu = .25.
//	step 6  proposed: second 2, third 1. second: .4760 - (2 - .0007)/4 < 0; third:
//	        z = 1.8652, .2603 - (1 - .4663)/4; first + 6.2994/16. nu = .5.
func TestCeroDuals(t *testing.T) {
	s, err := Parse("cero:units=1,capacity=3/2,rounds=4", nil)
	if err != nil {
		t.Fatal(err)
	}
	c := s.(*CERO)
	r := rand.New(rand.NewPCG(1, 2))
	set, b := rollout.NewSet(3), new(rollout.Batch)
	set.Restart(r)
	c.Begin(3)
	var first, second int
	successes := [][]int{{4, 0}, {}, {8, 2}, {}, {0}, {}} // in the order asked
	for step, want := range []struct{ first, second, third, nu float64 }{
		{.223529, .416667, .666667, .75},
		{.480725, .463403, .666667, .25},
		{.349201, .472930, .166667, .5},
		{.524757, .475335, .510314, 0},
		{.116828, .475964, .260314, .25},
		{.510538, 0, .126887, .5},
	} {
		set.Begin(b)
		if err := c.Start(2); err != nil {
			t.Fatal(err)
		}
		ask := c.Next(b, nil, r)
		if len(ask) != len(successes[step]) {
			t.Fatalf("step %d: asks %v, want %d groups", step+1, ask, len(successes[step]))
		}
		for i, q := range ask {
			b.N[q.X], b.S[q.X] = q.N, successes[step][i]
		}
		if step == 0 {
			first, second = b.ID[0], b.ID[1]
		}
		c.Observe(b)
		third := 3 - first - second
		for _, k := range []struct {
			name      string
			got, want float64
		}{
			{"first", c.state[first].theta, want.first},
			{"second", c.state[second].theta, want.second},
			{"third", c.state[third].theta, want.third},
			{"price", c.nu, want.nu},
		} {
			if math.Abs(k.got-k.want) > 2e-5 {
				t.Errorf("step %d: %s %.6f, want %.6f", step+1, k.name, k.got, k.want)
			}
		}
	}
}
