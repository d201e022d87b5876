package train

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"vigorlab/distributions/spec"
	"vigorlab/sim/stream"
)

// systemSpecs has every kind of system, and every rule of it.
var systemSpecs = []string{
	"m2po", "m2po:lag=8,updates=2,rule=released", "m2po:lag=4,rule=areal", "m2po:lag=4,rule=clip",
	"m2po:lag=3,updates=1,rule=none", "m2po:lag=4,rule=truncated-is",
	"saturated", "saturated:level=rollout", "saturated:level=rollout,proposal=uniform,mistakes=3,wrong=0.5",
	"nested-reft", "nested-reft:skip=0.25,weight=truncated,baseline=weighted", "nested-reft:weight=none",
	"r2po", "r2po:schedule=2,a-steps=3,correction=importance,reset=visit", "r2po:schedule=2,control=temperature,init=zero",
}

// runsOn tells whether a system runs on a policy.
func runsOn(system, policySpec string) bool {
	layered := strings.HasPrefix(policySpec, "layered:layers=7")
	offset := strings.HasPrefix(policySpec, "linear")
	return (layered || !strings.HasPrefix(system, "nested-reft")) && !(offset && strings.Contains(system, "temperature"))
}

// policyFor returns a policy that the system runs on, the given one if it does.
func policyFor(system, policySpec string) string {
	if runsOn(system, policySpec) {
		return policySpec
	}
	return "layered:layers=7,answers=5,correct=2,near=1,gap=3,spread=0.5"
}

func system(t testing.TB, text string) System {
	t.Helper()
	s, err := NewSystem(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// systemRun is a run under a system that goes on until it is told to stop.
func systemRun(t testing.TB, text, policySpec, strategy string, change func(*Config)) *run {
	t.Helper()
	cfg := smallConfig()
	cfg.System, cfg.Target = text, 1
	if change != nil {
		change(&cfg)
	}
	r, err := newRun(&cfg, policy(t, policySpec, population, 32), allocation(t, strategy))
	if err != nil {
		t.Fatal(text, err)
	}
	return r
}

// next takes a run through one step.
func next(t testing.TB, r *run) {
	t.Helper()
	if err := r.look(); err != nil {
		t.Fatal(err)
	}
	if err := r.step(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// TestSystemSpecs: a spec prints normalised and parses to itself; what is listed
// is what is read, with its defaults; faults are named, all of them.
func TestSystemSpecs(t *testing.T) {
	for text, want := range map[string]string{
		"":                                "",
		"m2po":                            "m2po:lag=0,updates=4,rule=paper,tau=0.04",
		"m2po:rule=areal,lag=6,updates=3": "m2po:lag=6,updates=3,rule=areal,tau=0.04,clip=0.2",
		"m2po:rule=none":                  "m2po:lag=0,updates=4,rule=none",
		"saturated":                       "saturated:level=advantage,pad=8",
		"saturated:level=rollout":         "saturated:level=rollout,mistakes=2,proposal=policy,temperature=1.2,wrong=1",
		"saturated:proposal=uniform,level=rollout": "saturated:level=rollout,mistakes=2,proposal=uniform,wrong=1",
	} {
		if got := system(t, text).Spec(); got != want || system(t, got).Spec() != want {
			t.Errorf("%s prints %s, want %s", text, got, want)
		}
	}
	for text, want := range map[string][]string{
		"m2p":                      {"did you mean m2po?"},
		"m2po:lag=-1":              {"m2po: lag = -1, want a whole number in [0, 1024]"},
		"m2po:lag=1025,updates=0":  {"lag = 1025", "updates = 0, want a whole number in [1, 64]"},
		"m2po:lag=6":               {"lag = 6, want a multiple of updates = 4"},
		"m2po:rule=papr,tau=-1":    {"rule = papr", "did you mean paper?", "tau = -1, want a number >= 0"},
		"m2po:rule=paper,clip=0.2": {"unknown parameter clip"},
		"m2po:rule=clip,clip=NaN":  {"clip = NaN, want a number >= 0"},
		"m2po:lag=1,lag=2":         {"lag is given twice"},
		"saturated:pad=0":          {"pad = 0, want a whole number in [1, 1024]"},
		"saturated:mistakes=2":     {"unknown parameter mistakes"},
		"saturated:level=rollouts": {"did you mean rollout?"},
		"saturated:level=rollout,mistakes=0,wrong=2,temperature=0": {"mistakes = 0", "wrong = 2, want [0, 1]", "temperature = 0, want a number > 0"},
		"saturated:level=rollout,proposal=prefix":                  {"proposal = prefix, want one of policy, uniform"},
		":": {"has no name"},
	} {
		_, err := NewSystem(text)
		for _, want := range want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want %q", text, err, want)
			}
		}
	}
}

// TestSystemsListed: the list has every parameter that a spec prints, with the
// default that it takes.
func TestSystemsListed(t *testing.T) {
	printed := map[string][]spec.Param{}
	for _, text := range systemSpecs {
		s, err := spec.Parse(system(t, text).Spec())
		if err != nil {
			t.Fatal(err)
		}
		printed[s.Name] = append(printed[s.Name], s.Params...)
	}
	if len(Systems()) != len(printed) {
		t.Errorf("%d systems listed, %d tested", len(Systems()), len(printed))
	}
	for _, info := range Systems() {
		if info.Provenance == "" || info.Source == "" {
			t.Errorf("%s: no provenance or source", info.Name)
		}
		if _, err := NewSystem(info.Name); err != nil {
			t.Errorf("%s: %v", info.Name, err)
		}
		for _, p := range info.Parameters {
			if !slices.Contains(printed[info.Name], spec.Param{Key: p.Name, Value: p.Default}) {
				t.Errorf("%s: %s has the default %s in no spec: %v", info.Name, p.Name, p.Default, printed[info.Name])
			}
			if p.Range == "" || p.Doc == "" {
				t.Errorf("%s: %s has no range or doc", info.Name, p.Name)
			}
		}
		for _, p := range printed[info.Name] {
			listed := false
			for _, q := range info.Parameters {
				listed = listed || q.Name == p.Key
			}
			if !listed {
				t.Errorf("%s: %s is read and not listed", info.Name, p.Key)
			}
		}
	}
}

// TestSystemLedger: under every system, policy and some strategies generated
// rollouts are those that were asked for and the extra ones, no more are trained
// on, tokens are counted where there are lengths, and a rollout costs one.
func TestSystemLedger(t *testing.T) {
	extra := map[string]int{}
	for _, text := range systemSpecs {
		for _, policySpec := range policySpecs {
			if !runsOn(text, policySpec) {
				continue
			}
			for _, s := range []string{"fixed:g=2", "vigor:m0=2,rounds=2", "vigor:update=survivors", "vigor:reuse=false", "reinforce-ada:mode=est"} {
				r := systemRun(t, text, policySpec, s, nil)
				name := fmt.Sprintf("%s on %s of %s", text, policySpec, s)
				asked, tokens := 0, 0
				for range 6 {
					next(t, r)
					for _, a := range r.source.answers {
						asked += a.n
						for k, o := range r.policy.Outcomes(a.x) {
							tokens += r.source.counts[a.counts+k] * o.Tokens
						}
					}
				}
				l, full := r.point.Ledger, !strings.HasPrefix(text, "nested-reft") // whose cost has a test of its own
				if l.Generated != asked+l.Extra || l.Trained > l.Generated || l.Trained == 0 || full && r.point.Cost != float64(l.Generated) {
					t.Errorf("%s: ledger %+v at cost %v, %d rollouts asked for", name, l, r.point.Cost, asked)
				}
				lengths := r.source.MeanTokens() != nil
				if more := l.GeneratedTokens - tokens; lengths && (more < l.Extra || more > 6*l.Extra) || !lengths && l.GeneratedTokens != 0 {
					t.Errorf("%s: ledger %+v, %d tokens asked for", name, l, tokens)
				}
				if infos := Systems(); len(r.point.Diagnostics) != len(infos[slices.IndexFunc(infos, func(i SystemInfo) bool {
					return strings.HasPrefix(r.system.Spec(), i.Name+":")
				})].Diagnostics) {
					t.Errorf("%s: diagnostics %v, want those listed", name, r.point.Diagnostics)
				}
				extra[text] += l.Extra
			}
		}
	}
	for text, n := range extra {
		stageA := strings.HasPrefix(text, "r2po") && !strings.Contains(text, "temperature")
		if (n > 0) != (stageA || strings.Contains(text, "level=rollout")) {
			t.Errorf("%s: %d extra rollouts", text, n)
		}
	}
}

// TestSystemsSuccess: a run's success is that of the policy that learns, whoever
// answers.
func TestSystemsSuccess(t *testing.T) {
	for _, text := range append([]string{""}, systemSpecs...) {
		r := systemRun(t, text, policyFor(text, "sequence:tokens=3,branching=2,correct=3"), "fixed:g=4", nil)
		for range 8 {
			next(t, r)
			if err := r.look(); err != nil {
				t.Fatal(err)
			}
			if want := meanSuccess(r.policy, 0, r.policy.Prompts()); r.point.Success != want {
				t.Errorf("%s: success %v after step %d, want %v", text, r.point.Success, r.point.Step, want)
			}
		}
	}
}

// TestSystemsRepeat: the same seed gives the same bytes under every system, and
// another seed other ones.
func TestSystemsRepeat(t *testing.T) {
	run := func(text string, seed uint64) string {
		r := systemRun(t, text, policyFor(text, "sequence:tokens=3,branching=2,correct=3"), "vigor:m0=2,rounds=2", func(c *Config) { c.Seed = seed })
		for range 8 {
			next(t, r)
		}
		return fmt.Sprintf("%x %+v", r.policy.Parameters(), r.point)
	}
	for _, text := range systemSpecs {
		want := run(text, 1)
		if got := run(text, 1); got != want {
			t.Errorf("%s: the same seed gives %s, then %s", text, want, got)
		}
		if run(text, 2) == want {
			t.Errorf("%s: another seed gives the same run", text)
		}
	}
}

// TestSystemsEstimators: every system takes every estimator that takes its
// groups, stays finite and moves the policy.
func TestSystemsEstimators(t *testing.T) {
	for _, text := range systemSpecs {
		for _, e := range estimatorSpecs {
			r := systemRun(t, text, policyFor(text, "softmax:answers=5,correct=2,near=1,gap=3"), "fixed:g=4", func(c *Config) {
				c.Objective.Estimator, c.Objective.KL, c.Objective.Epochs, c.Optimizer = estimator(t, e), .1, 2, "adam:lr=0.1"
			})
			start := slices.Clone(r.policy.Parameters())
			for range 6 {
				next(t, r)
			}
			if slices.Equal(start, r.policy.Parameters()) || math.IsNaN(r.policy.Parameters()[0]) {
				t.Errorf("%s, %s: from %v to %v", text, e, start, r.policy.Parameters())
			}
		}
	}
}

// a step for a system by itself.
func bareStep(point *Point, groups []Group, old func(int) []float64) *Step {
	return &Step{Number: 1, Groups: groups, Old: old, Key: stream.New(3), Price: 1, point: point}
}
