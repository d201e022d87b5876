package logs

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A Rule says which rewards are successes. The zero value stands for none.
type Rule struct {
	op string
	x  float64
}

// comparisons are the operators of a rule, the longer ones first.
var comparisons = []string{">=", "<=", "==", "!=", ">", "<"}

// ParseRule reads a rule: an operator and a number, "> 0" or "reward >= 0.5".
func ParseRule(text string) (Rule, error) {
	rest := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(text), "reward"))
	for _, op := range comparisons {
		number, ok := strings.CutPrefix(rest, op)
		if !ok {
			continue
		}
		x, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) || strings.ContainsAny(number, "_xX") { // ParseFloat reads 1_0, too
			break
		}
		return Rule{op, x}, nil
	}
	return Rule{}, fmt.Errorf("%.80q, want reward, one of %s and a number, as in \"reward > 0\"", text, strings.Join(comparisons, " "))
}

// String returns the rule as ParseRule reads it, "" for none.
func (r Rule) String() string {
	if r.op == "" {
		return ""
	}
	return fmt.Sprintf("reward %s %v", r.op, r.x)
}

// Success reports whether a reward is a success. Rewards that differ from the
// rule's number by rounding equal it.
func (r Rule) Success(reward float64) bool {
	equal := same(reward, r.x)
	switch r.op {
	case ">=":
		return equal || reward > r.x
	case "<=":
		return equal || reward < r.x
	case "==":
		return equal
	case "!=":
		return !equal
	case ">":
		return !equal && reward > r.x
	}
	return !equal && reward < r.x
}

// rule returns the rule that two-point rewards follow: the higher is a success.
// Rewards that are all 0 or all 1 are failures or successes.
func (s *support) rule() (Rule, bool) {
	switch {
	case s.more || len(s.values) > 2 || len(s.values) == 0:
		return Rule{}, false
	case s.two():
		return Rule{"==", s.values[1]}, true
	}
	return Rule{"==", 1}, same(s.values[0], 0) || same(s.values[0], 1)
}
