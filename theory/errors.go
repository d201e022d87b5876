package theory

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"vigorlab/sim/schedule"
)

// The ranges of group sizes that can be built, and of rounds.
var (
	groupRange  = fmt.Sprintf("[1, %d]", schedule.MaxGroup)
	roundsRange = fmt.Sprintf("[1, %d]", schedule.MaxRounds)
)

// outside is the error for a parameter outside its allowed range.
func outside(field string, value any, want string) error {
	return fmt.Errorf("theory: %s = %v, want %s", field, value, want)
}

// unless returns err where ok is false: a line a condition, written so that
// NaN fails.
func unless(ok bool, err error) error {
	if ok {
		return nil
	}
	return err
}

// checkSchedule validates the parameters that every closed form shares.
func checkSchedule(alpha, gamma float64, rounds int) error {
	return errors.Join(
		unless(alpha > 0 && alpha < 1, outside("alpha", alpha, "(0, 1)")),
		unless(gamma > 0 && gamma <= math.MaxFloat64, outside("gamma", gamma, "(0, Inf)")),
		unless(rounds >= 1 && rounds <= schedule.MaxRounds, outside("rounds", rounds, roundsRange)),
	)
}

// finite returns x, or an error where it passes the range of float64.
func finite(name string, x float64) (float64, error) {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return math.NaN(), fmt.Errorf("theory: %s passes the largest float64", name)
	}
	return x, nil
}

// reason returns what err says, for people, on one line.
func reason(err error) string {
	if err == nil {
		return ""
	}
	text := strings.ReplaceAll(err.Error(), "theory: ", "")
	return strings.ReplaceAll(text, "\n", "; ")
}
