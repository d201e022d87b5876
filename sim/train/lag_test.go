package train

import (
	"context"
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/stat"

	"vigorlab/sim/stream"
)

// A lagRun is what a run of stale answers comes to.
type lagRun struct{ success, held float64 } // at the end, and the mean over steps

func runAtLag(t testing.TB, seed uint64, lag int, rule string) lagRun {
	t.Helper()
	cfg := smallConfig()
	cfg.Seed, cfg.Target, cfg.MaxSteps, cfg.MaxRollouts, cfg.Batch = seed, 1, 80, math.MaxInt, 16
	cfg.Optimizer, cfg.System = "sgd:lr=2", fmt.Sprintf("m2po:lag=%d,rule=%s", lag, rule)
	var out lagRun
	cfg.Step = func(p Point) {
		out.success = p.Success
		for _, d := range p.Diagnostics {
			if d.Name == "held" {
				out.held += d.Value / float64(cfg.MaxSteps)
			}
		}
	}
	p, err := NewPolicy("softmax:answers=5,near=1,gap=1", law(t, "beta:a=1,b=4"), 32, stream.New(seed))
	if err != nil {
		t.Fatal(err)
	}
	trained(t, cfg, p, "fixed:g=8")
	return out
}

// TestLagAgainstQuality: on stale answers fewer tokens are held back by M2PO's
// rule than by clipping, more at the longer lag, and the policy ends better the
// less is held back: without limits best, then the paper's rule, then clipping.
//
// Each claim is a sign test over 24 seeds, all of which must agree: where the
// signs are even, all claims together hold by chance with probability at most
// 11 * 2^-24 = 7e-7. A claim that is true of all but one seed in 10,000 is missed
// with probability 0.0024.
func TestLagAgainstQuality(t *testing.T) {
	const seeds = 24
	type arm struct {
		lag  int
		rule string
	}
	success, held := map[arm][]float64{}, map[arm][]float64{}
	for seed := range uint64(seeds) {
		runs := map[arm]lagRun{}
		for _, lag := range []int{16, 64} {
			for _, rule := range []string{"none", "paper", "released", "clip"} {
				r := runAtLag(t, seed, lag, rule)
				runs[arm{lag, rule}] = r
				success[arm{lag, rule}] = append(success[arm{lag, rule}], r.success)
				held[arm{lag, rule}] = append(held[arm{lag, rule}], r.held)
			}
		}
		for _, lag := range []int{16, 64} {
			clip, paper, released, none := runs[arm{lag, "clip"}], runs[arm{lag, "paper"}], runs[arm{lag, "released"}], runs[arm{lag, "none"}]
			for claim, ok := range map[string]bool{
				"the paper's rule holds fewer tokens than clipping":  paper.held < clip.held,
				"the released rule holds fewer tokens than clipping": released.held < clip.held,
				"the paper's rule ends above clipping":               paper.success > clip.success,
				"no limits end above clipping":                       none.success > clip.success,
				"no limits end above the paper's rule at lag 64":     lag == 16 || none.success > paper.success,
			} {
				if !ok {
					t.Errorf("seed %d, lag %d: it is false that %s: %+v", seed, lag, claim, runs)
				}
			}
		}
		for _, rule := range []string{"paper", "clip"} {
			if !(runs[arm{64, rule}].held > runs[arm{16, rule}].held) {
				t.Errorf("seed %d: %s holds fewer tokens at lag 64 than at 16: %+v", seed, rule, runs)
			}
		}
	}
	for a := range success {
		p, sd := stat.MeanStdDev(success[a], nil)
		h, heldSD := stat.MeanStdDev(held[a], nil)
		t.Logf("lag %d, %s: success %.3f ± %.3f, held %.4f ± %.4f (standard errors)", a.lag, a.rule, p, stat.StdErr(sd, seeds), h, stat.StdErr(heldSD, seeds))
	}
}

// TestTwoAnswersNeverCollapse: where a prompt has two answers, no lag and no rule
// makes the success probability fall under an estimator that compares within the
// group, at any rate: a group's gradient by its logit is A+ s rho+ (1-p) - A- (n-s)
// rho- p over n, no term of which is negative, and shared features do not oppose
// each other. So the collapse that M2PO's paper sees without a trust region is not
// to be had from logit or linear. No chance is involved.
func TestTwoAnswersNeverCollapse(t *testing.T) {
	for _, policySpec := range []string{"logit", "linear:overlap=0.5,skills=3"} {
		for _, rule := range []string{"none", "paper", "released", "areal", "clip", "truncated-is"} {
			for _, rate := range []string{"1", "100"} {
				r := systemRun(t, "m2po:lag=32,rule="+rule, policySpec, "fixed:g=8", func(c *Config) { c.Optimizer = "sgd:lr=" + rate })
				last := -1.0
				for range 40 {
					if err := r.look(); err != nil {
						t.Fatal(err)
					}
					if !(r.point.Success >= last-1e-15) {
						t.Errorf("%s, %s at rate %s: success falls from %v to %v at step %d", rule, policySpec, rate, last, r.point.Success, r.point.Step)
					}
					last = r.point.Success
					if err := r.step(context.Background()); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
}
