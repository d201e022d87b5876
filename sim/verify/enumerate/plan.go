package enumerate

import (
	"errors"
	"fmt"
	"math/big"

	"vigorlab/sim/schedule"
)

// MaxRollouts is the largest number of rollouts of a batch, fresh groups
// included, that is enumerated: 2^20 sequences for each way of breaking ties.
const MaxRollouts = 20

// A plan is a schedule in whole numbers for one batch size.
type plan struct {
	ask    []int // rollouts of each active prompt, round by round
	active []int // prompts that are active, round by round

	selectBy  string // schedule.SelectSample | SelectTruth | SelectRandom
	byIndex   bool   // ties go to the earlier position
	survivors bool   // the update uses only the groups of the last round
	fresh     bool   // its groups are drawn anew
}

// newPlan works out v for a batch and refuses what has a round that is not
// whole or more than MaxRollouts rollouts.
func newPlan(v schedule.Vigor, batch int) (plan, error) {
	if err := v.Validate(); err != nil {
		return plan{}, fmt.Errorf("enumerate: %w", err)
	}
	if v.Rounds > MaxRollouts {
		return plan{}, fmt.Errorf("enumerate: rounds = %d ask at least %d rollouts, want at most %d", v.Rounds, v.Rounds, MaxRollouts)
	}
	ask, err := asked(v)
	if err != nil {
		return plan{}, err
	}
	pl := plan{
		active:    kept(v, batch),
		selectBy:  v.Select,
		byIndex:   v.Ties == schedule.TiesIndex,
		survivors: v.Update == schedule.UpdateSurvivors,
		fresh:     !v.Reuse,
	}
	if err := checkTotal(pl.total(ask), batch); err != nil {
		return plan{}, err
	}
	for _, m := range ask {
		pl.ask = append(pl.ask, int(m.Int64()))
	}
	return pl, nil
}

// fixedPlan is the plan of one round of g rollouts.
func fixedPlan(g, batch int) (plan, error) {
	if g < 1 {
		return plan{}, fmt.Errorf("enumerate: g = %d, want a whole number >= 1", g)
	}
	total := new(big.Int).Mul(big.NewInt(int64(g)), big.NewInt(int64(batch)))
	return plan{ask: []int{g}, active: []int{batch}}, checkTotal(total, batch)
}

// asked returns m_t = m0*gamma^(t-1) of every round.
func asked(v schedule.Vigor) ([]*big.Int, error) {
	gamma, _ := new(big.Rat).SetString(v.Gamma.String())
	var ask []*big.Int
	var errs []error
	for t := range v.Rounds {
		power := big.NewInt(int64(t))
		num := new(big.Int).Exp(gamma.Num(), power, nil)
		den := new(big.Int).Exp(gamma.Denom(), power, nil)
		m := new(big.Rat).SetFrac(num.Mul(num, big.NewInt(int64(v.M0))), den)
		if !m.IsInt() {
			errs = append(errs, fmt.Errorf("enumerate: round %d asks %s rollouts of a prompt, want a whole number", t+1, m.RatString()))
		}
		ask = append(ask, m.Num())
	}
	return ask, errors.Join(errs...)
}

// kept returns n_1 = batch, n_{t+1} = max(1, round(alpha*n_t)).
func kept(v schedule.Vigor, batch int) []int {
	alpha, _ := new(big.Rat).SetString(v.Alpha.String())
	active := []int{batch}
	for t := 1; t < v.Rounds; t++ {
		exact := new(big.Rat).Mul(alpha, big.NewRat(int64(active[t-1]), 1))
		active = append(active, max(1, whole(exact, v.Cut)))
	}
	return active
}

// whole rounds x >= 0 by counting up from 0, as the definitions read: ceil is
// the first whole number >= x, floor the last <= x, and nearest, half up, the
// last <= x + 1/2.
func whole(x *big.Rat, cut string) int {
	switch cut {
	case schedule.CutNearest:
		return whole(new(big.Rat).Add(x, big.NewRat(1, 2)), schedule.CutFloor)
	case schedule.CutFloor:
		k := 0
		for big.NewRat(int64(k+1), 1).Cmp(x) <= 0 {
			k++
		}
		return k
	default:
		k := 0
		for big.NewRat(int64(k), 1).Cmp(x) < 0 {
			k++
		}
		return k
	}
}

// total counts the rollouts of a batch, fresh groups included.
func (pl plan) total(ask []*big.Int) *big.Int {
	total, group := new(big.Int), new(big.Int)
	for t, m := range ask {
		group.Add(group, m)
		total.Add(total, new(big.Int).Mul(m, big.NewInt(int64(pl.active[t]))))
		if pl.fresh && pl.trained(t+1) {
			total.Add(total, new(big.Int).Mul(group, big.NewInt(int64(pl.ends(t+1)))))
		}
	}
	return total
}

// rounds returns T.
func (pl plan) rounds() int { return len(pl.active) }

// ends returns how many prompts have their last rollouts in the round, from 1.
func (pl plan) ends(round int) int {
	if round == pl.rounds() {
		return pl.active[round-1]
	}
	return pl.active[round-1] - pl.active[round]
}

// trained says whether the update uses the groups whose last round it is.
func (pl plan) trained(round int) bool { return !pl.survivors || round == pl.rounds() }

// size returns the group of a prompt whose last round it is.
func (pl plan) size(round int) int {
	g := 0
	for _, m := range pl.ask[:round] {
		g += m
	}
	return g
}

func checkTotal(total *big.Int, batch int) error {
	if total.Cmp(big.NewInt(MaxRollouts)) > 0 {
		return fmt.Errorf("enumerate: a batch of %d is asked for %s rollouts, fresh groups included, want at most %d",
			batch, new(big.Float).SetInt(total).Text('g', 12), MaxRollouts)
	}
	return nil
}
