package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"vigorlab/distributions/spec"
	"vigorlab/sim"
	"vigorlab/sim/reward"
	"vigorlab/sim/schedule"
	"vigorlab/sim/strategy"
)

const (
	hintPopulations = "vigorlab populations lists the populations and their parameters"
	hintStrategies  = "vigorlab strategies lists the strategies and their parameters"
)

// population parses the value of --population.
func (c *common) population(ctx context.Context, values []string) spec.Population {
	text, ok := c.once(values, "population", "a spec such as beta:a=0.1,b=0.3")
	if !ok {
		c.hint(hintPopulations)
		return spec.Population{}
	}
	p, err := spec.ParsePopulation(text, opener(ctx))
	if err != nil {
		c.add("--population", err)
		c.hint(hintPopulations)
	}
	return p
}

// strategies parses the values of --strategy; those at fault are left out.
func (c *common) strategies(ctx context.Context, values []string) []strategy.Strategy {
	var parsed []strategy.Strategy
	typed := map[string]string{}
	for _, text := range values {
		s, err := strategy.Parse(text, opener(ctx))
		if err != nil {
			c.add("--strategy", err)
			c.hint(hintStrategies)
			continue
		}
		if earlier, twice := typed[s.Spec()]; twice {
			c.addf("--strategy %s is the same as %s, want each strategy once", text, earlier)
			continue
		}
		typed[s.Spec()] = text
		parsed = append(parsed, s)
	}
	return parsed
}

// specsOf returns the normalised specs.
func specsOf(strategies []strategy.Strategy) []string {
	specs := make([]string, len(strategies))
	for i, s := range strategies {
		specs[i] = s.Spec()
	}
	return specs
}

// makers returns what makes each worker its own strategies.
func makers(strategies []strategy.Strategy) []sim.NewStrategy {
	m := make([]sim.NewStrategy, len(strategies))
	for i, s := range strategies {
		m[i] = func() (strategy.Strategy, error) { return strategy.Parse(s.Spec(), nil) }
	}
	return m
}

// startable records a fault for every strategy that cannot run on a batch. It
// returns ctx's error alone: starting on a large batch takes seconds.
func (c *common) startable(ctx context.Context, strategies []strategy.Strategy, batch int) error {
	for _, s := range strategies {
		fault, err := await(ctx, func() (error, error) { return s.Start(batch), nil })
		if err != nil {
			return err
		}
		if k := s.Capabilities(); k.History || k.PicksPrompts {
			fault = sim.ErrManySteps
			c.hint("compare runs many steps over a prompt set: see vigorlab compare --help")
		}
		if fault != nil {
			c.add("--strategy "+s.Spec(), fault)
		}
	}
	return nil
}

// singlePrompts says which strategies are left with one prompt before their
// last round.
func singlePrompts(strategies []strategy.Strategy, batch int) []string {
	var warnings []string
	for _, s := range strategies {
		if v, ok := s.(*strategy.Vigor); ok {
			plan := v.Plan()
			warnings = append(warnings, singlePrompt(&plan, batch)...)
		}
	}
	return warnings
}

// singlePrompt says where a plan is left with one prompt before its last
// round: further cuts cut nothing. There is nothing to say of nil.
func singlePrompt(plan *schedule.Vigor, batch int) []string {
	if plan == nil {
		return nil
	}
	round, ok := plan.OnePrompt(batch)
	if !ok {
		return nil
	}
	return []string{fmt.Sprintf("%s: round %d of %d starts with a single prompt of the batch of %d, from there on a cut cuts nothing",
		shortSpec(plan.String()), round, plan.Rounds, batch)}
}

// labels returns the headings of strategies that stand side by side: the
// short spec, or its name with a letter where that would be too wide.
func labels(specs []string) []string {
	const widest = 22
	short := make([]string, len(specs))
	for i, s := range specs {
		short[i] = labelSpec(s)
		if len(short[i]) > widest {
			name, _, _ := strings.Cut(s, ":")
			short[i] = marked(s, fmt.Sprintf("%s (%c)", name, rune('a'+i%26)))
		}
	}
	return short
}

// The mark of what was rebuilt from notes or an abstract, and what it means.
const (
	reconstructed     = " [R]"
	reconstructedNote = "[R] marks a reconstruction, from notes or an abstract: not the published algorithm."
)

// labelSpec names a strategy in a table or figure: its short spec, marked where
// it is a reconstruction.
func labelSpec(text string) string { return marked(text, shortSpec(text)) }

// marked marks the label of a strategy that is a reconstruction.
func marked(spec, label string) string {
	if strategyProvenance(spec) == reconstruction {
		return label + reconstructed
	}
	return label
}

// strategyInfo returns what is known of the strategy of a spec, or of the one that
// it is a random control of; nil where that is nothing. The provenance is that of
// the variant that the spec names.
func strategyInfo(text string) *strategy.Info {
	if of, ok := strategy.ControlOf(text); ok {
		text = of
	}
	name, _, _ := strings.Cut(text, ":")
	known := strategy.Known()
	if i := slices.IndexFunc(known, func(k strategy.Info) bool { return k.Name == name }); i >= 0 {
		info := &known[i]
		if s, err := spec.Parse(text); err == nil && slices.ContainsFunc(s.Params, func(p spec.Param) bool { return p.Key+"="+p.Value == info.Rebuilt }) {
			info.Provenance = reconstruction
		}
		return info
	}
	return nil
}

// strategyProvenance says where the strategy of a spec comes from; "" of none.
func strategyProvenance(text string) string {
	if info := strategyInfo(text); info != nil {
		return info.Provenance
	}
	return ""
}

// rebuilt returns the note on reconstructions, where there is any among the
// specs.
func rebuilt(specs []string) (note string, ok bool) {
	return reconstructedNote, slices.ContainsFunc(specs, func(s string) bool { return marked(s, "") != "" })
}

// shortSpec leaves out the parameters that have their defaults; it parses to
// the same strategy.
func shortSpec(text string) string {
	if of, ok := strategy.ControlOf(text); ok {
		return strategy.ControlSpec(shortSpec(of))
	}
	s, err := spec.Parse(text)
	if err != nil || len(s.Params) < 2 {
		return text
	}
	for _, known := range strategy.Known() {
		if known.Name != s.Name {
			continue
		}
		s.Params = slices.DeleteFunc(s.Params, func(p spec.Param) bool {
			return slices.ContainsFunc(known.Parameters, func(k strategy.Parameter) bool {
				return k.Name == p.Key && k.Default == p.Value
			})
		})
	}
	return s.String()
}

// verifier parses --verifier, given once; nil where it is at fault.
func (c *common) verifier(ctx context.Context, specs []string, want string) reward.Verifier {
	text, ok := c.once(specs, "verifier", want)
	if !ok {
		return nil
	}
	text, err := spec.Expand(text, opener(ctx))
	if err != nil {
		c.add("--verifier", err)
		return nil
	}
	v, err := reward.Parse(text)
	if err != nil {
		c.add("--verifier", err)
		return nil
	}
	return v
}
