package strategy

import (
	"encoding/json"
	"fmt"
	"strings"

	"vigorlab/distributions/spec"
	"vigorlab/sim/schedule"
)

// Parse reads a strategy spec such as `vigor:m0=2,rounds=4`, or `@FILE` with a
// file that holds one, as plain text or as the "strategy" of a JSON object.
// All faults of a spec are reported at once.
func Parse(text string, open spec.Opener) (Strategy, error) {
	text, err := spec.Expand(text, open)
	if err != nil {
		return nil, err
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
}

var kinds = []kind{
	{fixedInfo, parseFixed},
	{vigorInfo, parseVigor},
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

var fixedInfo = Info{
	Name:         "fixed",
	Parameters:   []Parameter{{"g", "8", fmt.Sprintf("a whole number in [1, %d]", schedule.MaxGroup), "rollouts of every prompt"}},
	Capabilities: fixedCapabilities,
	Provenance:   "paper",
	Source:       "GRPO: DeepSeekMath, arXiv 2402.03300",
}

func parseFixed(s spec.Spec) (Strategy, error) {
	a := spec.NewArgs(s)
	g := a.Int("g", 8, 1, schedule.MaxGroup)
	if err := a.Err(); err != nil {
		return nil, err
	}
	return NewFixed(g)
}

var vigorInfo = Info{
	Name: "vigor",
	Parameters: []Parameter{
		{"m0", "2", fmt.Sprintf("a whole number in [1, %d]", schedule.MaxGroup), "rollouts of every prompt in round 1"},
		{"rounds", "4", fmt.Sprintf("a whole number in [1, %d]", schedule.MaxRounds), "rounds T"},
		{"alpha", "0.5", "(0, 1), a decimal or a fraction", "fraction of the active prompts that a cut keeps"},
		{"gamma", "2", "(0, Inf), a decimal or a fraction; m0*gamma^(t-1) whole in every round", "expansion of the rollouts a prompt, round by round"},
		{"ties", schedule.TiesRandom, "random, index", "who stays of the level that a cut splits"},
		{"cut", schedule.CutCeil, "ceil, floor, nearest", "rounding of alpha*n"},
		{"select", schedule.SelectSample, "sample, truth, random", "rank by the observed variance, or a control; only truth is handed the true success probabilities"},
		{"update", schedule.UpdateAll, "all, survivors", "groups that the policy update uses"},
		{"reuse", "true", "true, false", "whether the update uses the rollouts that chose the prompts"},
	},
	Capabilities: Capabilities{FirstEpoch: true, ExactBudget: true},
	Provenance:   "paper",
	Source:       "VIGOR, arXiv 2607.22002",
}

func parseVigor(s spec.Spec) (Strategy, error) {
	a := spec.NewArgs(s)
	plan := schedule.Vigor{
		M0:     a.Int("m0", 2, 1, schedule.MaxGroup),
		Rounds: a.Int("rounds", 4, 1, schedule.MaxRounds),
		Alpha:  ratio(a, "alpha", "0.5", "(0, 1)", func(x float64) bool { return x > 0 && x < 1 }),
		Gamma:  ratio(a, "gamma", "2", "(0, Inf)", func(x float64) bool { return x > 0 }),
		Ties:   a.Choice("ties", schedule.TiesRandom, schedule.TiesRandom, schedule.TiesIndex),
		Cut:    a.Choice("cut", schedule.CutCeil, schedule.CutCeil, schedule.CutFloor, schedule.CutNearest),
		Select: a.Choice("select", schedule.SelectSample, schedule.SelectSample, schedule.SelectTruth, schedule.SelectRandom),
		Update: a.Choice("update", schedule.UpdateAll, schedule.UpdateAll, schedule.UpdateSurvivors),
		Reuse:  a.Choice("reuse", "true", "true", "false") == "true",
	}
	if err := a.Err(); err != nil {
		return nil, err
	}
	v, err := NewVigor(plan)
	if err != nil {
		a.Add(err)
		return nil, a.Err()
	}
	return v, nil
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
