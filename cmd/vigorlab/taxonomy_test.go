package main

import (
	"slices"
	"strings"
	"testing"

	"vigorlab/sim/strategy"
	"vigorlab/sim/train"
)

// TestLabels: what rests on notes is marked wherever a strategy is named, its
// random control and a variant of read code too, and nothing else is.
func TestLabels(t *testing.T) {
	for text, want := range map[string]string{
		"hora:g=8,base=2":                    "hora:g=8,base=2 [R]",
		"control/hora:g=8,base=2":            "control/hora:g=8,base=2 [R]",
		"pods:n=16,m=8":                      "pods:n=16,m=8 [R]",
		"reinforce-ada:mode=est":             "reinforce-ada:mode=est [R]",
		"reinforce-ada:mode=ema":             "reinforce-ada:mode=ema",
		"control/reinforce-ada:mode=est,m=4": "control/reinforce-ada:mode=est,m=4 [R]",
		"vigor:m0=4,rounds=2":                "vigor:m0=4,rounds=2",
		"lookahead:max=24":                   "lookahead:max=24",
	} {
		if got := labelSpec(text); got != want {
			t.Errorf("%s is shown as %q, want %q", text, got, want)
		}
		provenance := strategyProvenance(text)
		if marked := strings.HasSuffix(want, reconstructed); provenance == "" || marked != (provenance == reconstruction) {
			t.Errorf("%s: provenance %q", text, provenance)
		}
	}
	for _, info := range strategy.Known() {
		if notes := strings.Contains(info.Source, "from notes") || strings.Contains(info.Source, "abstract"); notes && info.Provenance != reconstruction && info.Rebuilt == "" {
			t.Errorf("%s: from %s, but its provenance is %s", info.Name, info.Source, info.Provenance)
		}
	}
}

// TestPlacements: every strategy and system has its place, in the taxonomy's own
// words, and those that the notes on it name stand where they say.
func TestPlacements(t *testing.T) {
	places := map[string]strategy.Placement{}
	for _, info := range strategy.Known() {
		places[info.Name] = info.Taxonomy
	}
	for _, info := range train.Systems() {
		places[info.Name] = info.Taxonomy
	}
	for name, p := range places {
		none := p.Family == strategy.FamilyNone
		if !slices.Contains(strategy.Families(), p.Family) || !slices.Contains([]string{"taxonomy", "own"}, p.PlacedBy) {
			t.Errorf("%s: %+v", name, p)
		}
		for field, known := range map[string][]string{
			p.Lever: {strategy.LeverSystem, strategy.LeverAlgorithmic, strategy.LeverBoth},
			p.Paid:  {strategy.PaidBefore, strategy.PaidDuring, strategy.PaidAfter},
		} {
			if none != (field == "none") || !none && !slices.Contains(known, field) {
				t.Errorf("%s: %q, want one of %q", name, field, known)
			}
		}
		for _, letter := range strings.Split(p.Bottleneck, ", ") {
			if _, ok := strategy.Bottlenecks()[letter]; !ok && p.Bottleneck != "none" {
				t.Errorf("%s: bottleneck %s", name, p.Bottleneck)
			}
		}
	}
	for name, want := range map[string]string{ // systems.md, section 9
		"cero": "algorithmic, prompt selection and budgeting, D", "cero-v2": "algorithmic, prompt selection and budgeting, D",
		"sera": "algorithmic, prompt selection and budgeting, D", "arcus": "algorithmic, prompt selection and budgeting, D",
		"pair": "both, partial rollout, B, C", "nested-reft": "system, resource-aware execution, A, B",
		"m2po": "system, pipeline decoupling, A", "r2po": "algorithmic, no family of the taxonomy, C",
		"saturated": "algorithmic, no family of the taxonomy, C", "speceval": "algorithmic, outside training, none",
	} {
		p := places[name]
		if got := strings.Join([]string{p.Lever, p.Family, p.Bottleneck}, ", "); got != want || p.PlacedBy != "taxonomy" {
			t.Errorf("%s: %s, placed by %s, want %s", name, got, p.PlacedBy, want)
		}
		delete(places, name)
	}
	for name, p := range places {
		if p.PlacedBy != "own" {
			t.Errorf("%s: placed by %s, which does not name it", name, p.PlacedBy)
		}
	}
}
