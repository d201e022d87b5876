package main

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"vigorlab/cmd/vigorlab/internal/output"
	"vigorlab/sim/strategy"
)

// placeOf returns the place of the strategy of a spec in the taxonomy, that of
// what methods are compared with where nothing is known of it.
func placeOf(spec string) strategy.Placement {
	if info := strategyInfo(spec); info != nil {
		return info.Taxonomy
	}
	return strategy.Placement{Family: strategy.FamilyNone}
}

// controlNote says what a random control is.
const controlNote = "control/S asks as many rollouts as S, in groups and rounds of the same sizes, and leaves out as many, of prompts by lot: what S has " +
	"over it is what its choice of prompts is worth."

// isControl reports whether a spec is that of a random control.
func isControl(spec string) bool {
	_, ok := strategy.ControlOf(spec)
	return ok
}

// randomControl returns the random control of a method; nil for what methods are
// compared with, what sees the truth, and a control.
func randomControl(s strategy.Strategy) (strategy.Strategy, error) {
	if isControl(s.Spec()) || s.Capabilities().Truth || placeOf(s.Spec()).Family == strategy.FamilyNone {
		return nil, nil
	}
	return strategy.Parse(strategy.ControlSpec(s.Spec()), nil)
}

// withControls returns the strategies, each method with its random control unless
// that is named too: behind it, or before it on a ladder, where the rung up to the
// method is what its choice of prompts is worth.
func (f *faults) withControls(named []strategy.Strategy, ladder bool) []strategy.Strategy {
	var all []strategy.Strategy
	for _, s := range named {
		c, err := randomControl(s)
		f.add("--control", err)
		switch {
		case c == nil || slices.ContainsFunc(named, func(have strategy.Strategy) bool { return have.Spec() == c.Spec() }):
			all = append(all, s)
		case ladder:
			all = append(all, c, s)
		default:
			all = append(all, s, c)
		}
	}
	return all
}

// checkLadder refuses a ladder with one rung.
func (f *faults) checkLadder(field []strategy.Strategy) {
	if len(field) == 1 && len(f.errs) == 0 {
		f.addf("--ladder with %s alone: nothing stands before or behind it, want another --strategy", field[0].Spec())
	}
}

// comparePlaces orders specs by family, and within it by when the cost is paid.
func comparePlaces(a, b string) int {
	rank := func(spec string) (family, paid int) {
		p := placeOf(spec)
		return slices.Index(strategy.Families(), p.Family), slices.Index([]string{strategy.PaidBefore, strategy.PaidDuring, strategy.PaidAfter}, p.Paid)
	}
	familyA, paidA := rank(a)
	familyB, paidB := rank(b)
	return cmp.Or(cmp.Compare(familyA, familyB), cmp.Compare(paidA, paidB))
}

// section names the part of a table that a strategy of the group stands in: for
// methods, and their controls, the family and when its cost is paid.
func section(group, spec string) string {
	p := placeOf(spec)
	if group != groupMethods && group != groupControls || p.Family == strategy.FamilyNone {
		return group
	}
	return strings.TrimPrefix(p.Family, "prompt selection and ") + ", paid " + p.Paid
}

// placed says in words where a method stands in the taxonomy.
func placed(p strategy.Placement) string {
	if p.Family == strategy.FamilyNone {
		return "what methods are compared with: no place in the taxonomy"
	}
	lever := p.Lever + " lever"
	if p.Lever == strategy.LeverBoth {
		lever = "system and algorithmic lever"
	}
	words := []string{lever, p.Family}
	if p.Bottleneck != strategy.FamilyNone {
		words = append(words, "bottleneck "+p.Bottleneck)
	}
	return strings.Join(append(words, "cost paid "+p.Paid+" generation"), "; ")
}

// taxonomyNote explains the words of the taxonomy.
func taxonomyNote(t *output.Text) {
	letters := strategy.Bottlenecks()
	var words []string
	for _, letter := range slices.Sorted(maps.Keys(letters)) {
		words = append(words, letter+" "+letters[letter])
	}
	t.Note("", "Levers, families and bottlenecks are those of a taxonomy (arXiv 2609.25463, a reconstruction from notes on it; placed_by in "+
		"--format json says which methods it names and which this project has placed): "+strings.Join(words, ", ")+".")
}
