// Package advantage turns the rewards of one group of rollouts into advantages:
// GRPO, Dr. GRPO and RLOO. It refuses training loops, and knows neither how
// rewards are coded nor where they come from.
//
// Every estimator here is a multiple of r_i - mean, so that advantages sum to
// zero, a group whose rewards are all equal gets A = 0 exactly, and so does a
// singleton. Libraries differ on singletons (verl's loops return A = r, or
// r/(1+delta) under GRPO; OpenRLHF rejects them): a singleton carries no
// comparison, and A = 0 is the limit that theory.md, section 2, asks for.
package advantage

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
)

// An Estimator is an immutable value that goroutines may share.
type Estimator interface {
	// Spec returns the estimator's normalised spec, such as
	// "grpo:ddof=0,delta=0".
	Spec() string
	// Advantages fills dst[i] with the advantage of rewards[i] within the
	// group that rewards make up. The slices share one length >= 1 and belong
	// to the caller; they may be the same slice. Rewards must be
	// finite, and so must G times any difference. After an error dst holds no
	// advantages.
	Advantages(dst, rewards []float64) error
}

var (
	_ Estimator = GRPO{}
	_ Estimator = DrGRPO{}
	_ Estimator = RLOO{}
)

// GRPO divides by the group's standard deviation (DeepSeekMath,
// arXiv 2402.03300, which states no ddof):
//
//	A_i = (r_i - mean) / (sd + Delta),  sd^2 = sum (r_i - mean)^2 / (G - DDOF)
//
// and A_i = 0 where sd = Delta = 0. The zero value is the variant of VIGOR's
// Theorem 1. With Delta = 0 the advantages do not change when rewards are
// shifted or scaled, hence not with their coding; Delta is in units of reward.
// Libraries compute DDOF 1 with Delta 1e-6 (verl), 1e-4 (TRL), 1e-9 (OpenRLHF).
type GRPO struct {
	DDOF  int     // 0 or 1
	Delta float64 // >= 0 and finite
}

// Spec implements Estimator.
func (e GRPO) Spec() string { return fmt.Sprintf("grpo:ddof=%d,delta=%v", e.DDOF, e.Delta) }

// Advantages implements Estimator. It fails where DDOF or Delta is out of
// range.
func (e GRPO) Advantages(dst, rewards []float64) error {
	if e.DDOF != 0 && e.DDOF != 1 {
		return fmt.Errorf("advantage: ddof = %d, want 0 or 1", e.DDOF)
	}
	if !(e.Delta >= 0 && e.Delta <= math.MaxFloat64) {
		return fmt.Errorf("advantage: delta = %v, want a finite number >= 0", e.Delta)
	}
	if err := center(dst, rewards); err != nil || len(dst) == 1 {
		return err
	}
	sd := floats.Norm(dst, 2) / math.Sqrt(float64(len(dst)-e.DDOF))
	if sd+e.Delta == 0 {
		clear(dst)
		return nil
	}
	for i := range dst {
		dst[i] /= sd + e.Delta
	}
	return nil
}

// DrGRPO centres and does not divide, A_i = r_i - mean (arXiv 2503.20783).
type DrGRPO struct{}

// Spec implements Estimator.
func (DrGRPO) Spec() string { return "drgrpo" }

// Advantages implements Estimator.
func (DrGRPO) Advantages(dst, rewards []float64) error { return center(dst, rewards) }

// RLOO compares with the mean of the others (arXiv 2402.14740),
//
//	A_i = r_i - mean_{j != i} r_j = G/(G-1) (r_i - mean),
//
// and A = 0 where there are no others.
type RLOO struct{}

// Spec implements Estimator.
func (RLOO) Spec() string { return "rloo" }

// Advantages implements Estimator.
func (RLOO) Advantages(dst, rewards []float64) error {
	if err := center(dst, rewards); err != nil || len(dst) == 1 {
		return err
	}
	g := float64(len(dst))
	floats.Scale(g/(g-1), dst)
	return nil
}

// center fills dst with r_i - mean. It works on differences to the first
// reward: equal rewards give exact zeros, and a spread far below the rewards
// themselves keeps its digits.
func center(dst, rewards []float64) error {
	if len(rewards) == 0 {
		return errors.New("advantage: the group is empty, want at least 1 reward")
	}
	if len(dst) != len(rewards) {
		return fmt.Errorf("advantage: room for %d advantages, want %d, one a reward", len(dst), len(rewards))
	}
	first, sum, n := rewards[0], 0.0, float64(len(rewards))
	for i, r := range rewards {
		d := r - first
		if !(math.Abs(d) <= math.MaxFloat64/n) {
			return fmt.Errorf("advantage: reward %d = %v beside %v, want finite rewards whose differences have a finite sum", i, r, first)
		}
		dst[i] = d
		sum += d
	}
	floats.AddConst(-sum/n, dst)
	return nil
}
