package strategy

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"vigorlab/distributions/spec"
	"vigorlab/sim/schedule"
)

// Parse reads a strategy spec such as `vigor:m0=2,rounds=4`, or `@FILE` with a
// file that holds one, as plain text or as the "strategy" of a JSON object.
// All faults of a spec are reported at once. Behind control/ it stands for the
// strategy's random control.
func Parse(text string, open spec.Opener) (Strategy, error) {
	text, err := spec.Expand(text, open)
	if err != nil {
		return nil, err
	}
	if of, ok := ControlOf(strings.TrimSpace(text)); ok {
		return parseControl(of, open)
	}
	if strings.HasPrefix(text, "{") {
		var plan struct {
			Strategy string `json:"strategy"`
		}
		if err := json.Unmarshal([]byte(text), &plan); err != nil {
			return nil, fmt.Errorf("strategy file: %w", err)
		}
		if text = plan.Strategy; text == "" {
			return nil, fmt.Errorf(`strategy file: "strategy" is missing, want a spec such as vigor:m0=2`)
		}
	}
	s, err := spec.Parse(text)
	if err != nil {
		return nil, err
	}
	for _, k := range kinds {
		if k.info.Name == s.Name {
			return k.parse(s)
		}
	}
	return nil, spec.UnknownName(s.Name, names())
}

// A kind joins what a strategy is to how its spec is read.
type kind struct {
	info  Info
	parse func(spec.Spec) (Strategy, error)
	// spending returns the spec of the strategy for a comparison at g rollouts
	// a prompt of the batch, over a run of the given steps. Where the budget is
	// exact it is g a prompt, or the nearest that the parameters allow. Where it
	// is random, a group, or a round of one, has g rollouts; what a prompt of the
	// batch costs may be far from g and is for the ledger to tell. Parameters
	// that scale with g do so as published, all others are the published defaults.
	spending func(g, steps int) string
}

var kinds = []kind{
	fixedKind,
	vigorKind,
	ar3poKind,
	arcusKind,
	ceroKind,
	cero2Kind,
	cobaKind,
	dapoKind,
	gresoKind,
	gvmKind,
	horaKind,
	knapsackKind,
	lookaheadKind,
	mcucbKind,
	neymanKind,
	oracleKind,
	pairKind,
	pilotCommitKind,
	podsKind,
	reinforceAdaKind,
	halvingKind,
	seraKind,
	specEvalKind,
	thompsonKind,
	vipKind,
	xrpoKind,
}

// Spending returns a spec of every known strategy for a comparison at g >= 1
// rollouts a prompt of the batch over a run of steps >= 1 steps: strategies of
// exact budget (Capabilities) spend g a prompt, or the nearest that their
// parameters allow; the others have groups, or rounds, of g and spend what they
// spend.
func Spending(g, steps int) []string {
	specs := make([]string, len(kinds))
	for i, k := range kinds {
		specs[i] = k.spending(g, steps)
	}
	return specs
}

// Known returns the strategies that Parse knows, in a fixed order.
func Known() []Info {
	infos := make([]Info, len(kinds))
	for i, k := range kinds {
		infos[i] = k.info
	}
	return infos
}

func names() []string {
	var n []string
	for _, k := range kinds {
		n = append(n, k.info.Name)
	}
	return n
}

// needInt reads a whole number in [low, high] that has no default: a constant
// that no source states. It returns low for what is at fault.
func needInt(a *spec.Args, key string, low, high int) int {
	if _, given := a.Text(key); !given {
		a.Add(fmt.Errorf("%s is missing, want a whole number in [%d, %d]", key, low, high))
		return low
	}
	return a.Int(key, low, low, high)
}

// needIntUpTo is needInt for a whole number in [low, high] of which high is the
// parameter named: while that one is missing, the range says its name.
func needIntUpTo(a *spec.Args, key string, low int, bound string, high int) int {
	_, given := a.Text(key)
	if _, bounded := a.Text(bound); !given && !bounded {
		a.Add(fmt.Errorf("%s is missing, want a whole number in [%d, %s]", key, low, bound))
		return low
	}
	return needInt(a, key, low, high)
}

// needFloat is needInt for a number that ok accepts; it returns NaN for what is
// at fault.
func needFloat(a *spec.Args, key, want string, ok func(float64) bool) float64 {
	return a.Float(key, math.NaN(), want, ok)
}

// ratio reads an exact decimal or fraction that ok accepts.
func ratio(a *spec.Args, key, missing, want string, ok func(float64) bool) schedule.Ratio {
	text, given := a.Text(key)
	if !given {
		return schedule.MustRatio(missing)
	}
	r, err := schedule.ParseRatio(text)
	if err != nil || !ok(r.Float()) {
		a.Fault(key, text, want+", a decimal or a fraction such as 0.5 or 1/3")
		return schedule.MustRatio(missing)
	}
	return r
}
