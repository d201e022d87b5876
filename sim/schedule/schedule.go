// Package schedule holds VIGOR's parameters and what they mean in whole
// numbers: how many rollouts a round asks of each prompt and how many prompts
// a cut keeps. It refuses outcomes, laws and randomness, which is why theory
// and sim/strategy can share it.
package schedule

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
)

// MaxRounds is the largest number of rounds that a schedule may have.
const MaxRounds = 10_000

// MaxGroup is the largest group that a schedule can be run for, in simulation
// or mean field; closed forms have no such limit.
const MaxGroup = 10_000

// The options of VIGOR that its paper leaves open (theory.md, section 1).
const (
	TiesRandom      = "random"    // every prompt of a tied level is kept with the same probability
	TiesIndex       = "index"     // the earlier batch position is kept first
	CutCeil         = "ceil"      // alpha*n rounded up
	CutFloor        = "floor"     // rounded down
	CutNearest      = "nearest"   // rounded half up
	SelectSample    = "sample"    // rank by the observed variance: the algorithm
	SelectTruth     = "truth"     // rank by the true u: perfect selection
	SelectRandom    = "random"    // rank by nothing, whatever ties says: the control with eta exactly 1
	UpdateAll       = "all"       // the update uses every collected group
	UpdateSurvivors = "survivors" // only the groups that reached the last round
)

// Vigor holds every parameter of VIGOR (arXiv 2607.22002) as the spec
// `vigor:m0=2,rounds=4,alpha=0.5,gamma=2,ties=random,cut=ceil,select=sample,update=all,reuse=true`
// names them. It is an immutable value; build it with Default or the spec
// parser of sim/strategy and check it with Validate.
type Vigor struct {
	M0     int    // rollouts of every prompt in round 1, >= 1
	Rounds int    // T, in [1, MaxRounds]
	Alpha  Ratio  // kept fraction, in (0, 1)
	Gamma  Ratio  // expansion factor, > 0
	Ties   string // TiesRandom | TiesIndex
	Cut    string // CutCeil | CutFloor | CutNearest
	Select string // SelectSample | SelectTruth | SelectRandom
	Update string // UpdateAll | UpdateSurvivors
	Reuse  bool   // false: the update's rollouts are drawn afresh after allocation and charged separately
}

// Default returns the paper's default schedule: groups of 2, 6, 14 and 30
// with shares 1/2, 1/4, 1/8, 1/8.
func Default() Vigor {
	return Vigor{
		M0: 2, Rounds: 4, Alpha: MustRatio("0.5"), Gamma: MustRatio("2"),
		Ties: TiesRandom, Cut: CutCeil, Select: SelectSample, Update: UpdateAll, Reuse: true,
	}
}

// Words returns what an option of Vigor may be: ties, cut, select or update.
func Words(option string) []string {
	return map[string][]string{
		"ties":   {TiesRandom, TiesIndex},
		"cut":    {CutCeil, CutFloor, CutNearest},
		"select": {SelectSample, SelectTruth, SelectRandom},
		"update": {UpdateAll, UpdateSurvivors},
	}[option]
}

// Validate reports every parameter outside its range, joined.
func (v Vigor) Validate() error {
	var errs []error
	fault := func(field string, value any, want string) {
		errs = append(errs, fmt.Errorf("%s = %v, want %s", field, value, want))
	}
	if v.M0 < 1 || v.M0 > MaxGroup {
		fault("m0", v.M0, fmt.Sprintf("a whole number in [1, %d]", MaxGroup))
	}
	if v.Rounds < 1 || v.Rounds > MaxRounds {
		fault("rounds", v.Rounds, fmt.Sprintf("a whole number in [1, %d]", MaxRounds))
	}
	if a := v.Alpha.Float(); !(a > 0 && a < 1) {
		fault("alpha", v.Alpha, "(0, 1)")
	}
	if g := v.Gamma.Float(); !(g > 0 && !math.IsInf(g, 1)) {
		fault("gamma", v.Gamma, "(0, Inf)")
	}
	oneOf := func(field, value string) {
		if known := Words(field); !slices.Contains(known, value) {
			fault(field, value, "one of "+strings.Join(known, ", "))
		}
	}
	oneOf("ties", v.Ties)
	oneOf("cut", v.Cut)
	oneOf("select", v.Select)
	oneOf("update", v.Update)
	return errors.Join(errs...)
}

// Rollouts returns m_1..m_T, the rollouts that each round asks of every active
// prompt: m_t = m0*gamma^(t-1). It is an error where some m_t is not a whole
// number >= 1 or where a group would pass MaxGroup.
func (v Vigor) Rollouts() ([]int, error) {
	if err := v.Validate(); err != nil {
		return nil, err
	}
	exact := new(big.Rat).SetInt64(int64(v.M0))
	limit := new(big.Rat).SetInt64(MaxGroup)
	m := make([]int, 0, min(v.Rounds, 64))
	total := 0
	for t := 1; t <= v.Rounds; t++ {
		if exact.Cmp(limit) <= 0 && !exact.IsInt() {
			return nil, fmt.Errorf("m0 = %d, gamma = %v: round %d would ask %s rollouts of a prompt, want a whole number",
				v.M0, v.Gamma, t, exact.RatString())
		}
		if exact.Cmp(limit) > 0 || total+int(exact.Num().Int64()) > MaxGroup {
			return nil, &LargeError{Plan: v, Round: t}
		}
		m = append(m, int(exact.Num().Int64()))
		total += m[t-1]
		exact.Mul(exact, v.Gamma.exact())
	}
	return m, nil
}

// MeanGroup returns the mean group of a large batch after the last round,
// m0 sum_{i<T} (alpha*gamma)^i, to the nearest float64: m0*T exactly where
// alpha*gamma = 1, and +Inf past the largest one. v must be valid.
func (v Vigor) MeanGroup() float64 {
	const bits = 256 // rounding errors of MaxRounds steps stay far below the last bit of a float64
	ratio := new(big.Float).SetPrec(bits).SetRat(new(big.Rat).Mul(v.Alpha.exact(), v.Gamma.exact()))
	first := new(big.Float).SetInt64(int64(v.M0))
	mean := new(big.Float).SetPrec(bits)
	for range v.Rounds {
		mean.Mul(mean, ratio)
		mean.Add(mean, first)
	}
	f, _ := mean.Float64()
	return f
}

// A LargeError reports a schedule whose group passes MaxGroup: it has closed
// forms, but cannot be run.
type LargeError struct {
	Plan  Vigor
	Round int // the first in which a group passes MaxGroup
}

func (e *LargeError) Error() string {
	return fmt.Sprintf("m0 = %d, gamma = %v, rounds = %d: the group passes %d rollouts in round %d, want at most %d",
		e.Plan.M0, e.Plan.Gamma, e.Plan.Rounds, MaxGroup, e.Round, MaxGroup)
}

// String returns the normalised spec.
func (v Vigor) String() string {
	return fmt.Sprintf("vigor:m0=%d,rounds=%d,alpha=%v,gamma=%v,ties=%s,cut=%s,select=%s,update=%s,reuse=%t",
		v.M0, v.Rounds, v.Alpha, v.Gamma, v.Ties, v.Cut, v.Select, v.Update, v.Reuse)
}

// Active returns n_1..n_T, the prompts that are active in each round of a
// batch of size batch >= 1: n_1 = batch, n_{t+1} = max(1, round(alpha*n_t)),
// alpha exact.
func (v Vigor) Active(batch int) []int {
	n := make([]int, v.Rounds)
	for t := range n {
		if t == 0 {
			n[t] = batch
			continue
		}
		if n[t-1] == 1 {
			n[t] = 1
			continue
		}
		n[t] = max(1, v.cut(n[t-1]))
	}
	return n
}

// cut rounds alpha*n as the option says.
func (v Vigor) cut(n int) int {
	x := new(big.Rat).SetInt64(int64(n))
	x.Mul(x, v.Alpha.exact())
	num, den := new(big.Int).Set(x.Num()), new(big.Int).Set(x.Denom())
	switch v.Cut {
	case CutFloor:
	case CutNearest: // half up: floor(x + 1/2) = floor((2*num + den) / (2*den))
		num.Lsh(num, 1).Add(num, den)
		den.Lsh(den, 1)
	default:
		num.Add(num, den).Sub(num, big.NewInt(1))
	}
	return int(num.Quo(num, den).Int64())
}

// OnePrompt returns the first round, counted from 1, that starts with a single
// active prompt though the batch had more, and whether there is one before
// the last round: from there on a cut cuts nothing.
func (v Vigor) OnePrompt(batch int) (round int, ok bool) {
	for t, n := range v.Active(batch) {
		if n == 1 && batch > 1 && t+1 < v.Rounds {
			return t + 1, true
		}
	}
	return 0, false
}
