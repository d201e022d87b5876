package fit

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// fewRollouts is the number of rollouts of a prompt up to which folded counts
// have at most five values.
const fewRollouts = 10

// verdict says in words what the counts tell and what they do not.
func (r *Result) verdict() []string {
	var say []string
	add := func(text string) {
		if text != "" {
			say = append(say, text)
		}
	}
	add(r.apart())
	add(r.rejected())
	if r.Sizes != SizesBeforehand {
		add("nothing is said of folded counts, nor by them of Theorem 2: how likely a prompt of n rollouts is mixed depends on what chose n")
		return say
	}
	if r.Folded == nil {
		add("no prompt is mixed: the counts say nothing of u but that it is near 0")
		return say
	}
	add(r.Folded.apart())
	add(r.Folded.assumption(r.Replicates))
	return say
}

// tooFew says that replicates cannot reject: the smallest p-value is one over
// one more than their number. It is "" where they can.
func tooFew(replicates int) string {
	least := int(math.Round(1/Level)) - 1
	if replicates >= least {
		return ""
	}
	return fmt.Sprintf("%d bootstrap replicates can reject nothing at %v %%: that takes %d", replicates, 100*Level, least)
}

// apart says which families are told from the one of smallest AIC.
func (r *Result) apart() string {
	best := ""
	smallest := math.Inf(1)
	for _, f := range r.Fits {
		if f.AIC < smallest {
			best, smallest = f.Family, f.AIC
		}
	}
	if best == "" || len(r.Comparisons) == 0 {
		return ""
	}
	var same, apart []string
	for _, x := range r.Comparisons {
		other := x.A
		switch best {
		case x.A:
			other = x.B
		case x.B:
		default:
			continue
		}
		if x.Apart {
			apart = append(apart, other)
		} else {
			same = append(same, other)
		}
	}
	text := fmt.Sprintf("by AIC %s describes the counts best", best)
	if len(same) > 0 {
		text += fmt.Sprintf("; they cannot tell it from %s", list(same))
	}
	if len(apart) > 0 {
		text += fmt.Sprintf("; they tell it from %s", list(apart))
	}
	return text + testWords(r.Comparisons)
}

// testWords names test and level of comparisons.
func testWords(all []Comparison) string {
	pairs := fmt.Sprintf("%d pairs", len(all))
	if len(all) == 1 {
		pairs = "one pair"
	}
	return fmt.Sprintf(" (Vuong's test, likelihood ratio where one family holds the other; %v %% over %s, Holm)", 100*Level, pairs)
}

// rejected says which families the counts reject.
func (r *Result) rejected() string {
	if r.Sizes == SizesUnknown {
		return "goodness of fit cannot be tested: numbers of rollouts differ, and how they came about is not said"
	}
	if few := tooFew(r.Replicates); few != "" {
		return "goodness of fit is not judged: " + few
	}
	var bad, good []string
	for _, f := range r.Fits {
		switch text := fmt.Sprintf("%s (p = %.2g)", f.Family, f.P); {
		case math.IsNaN(f.P): // the best law of all, by which the others are judged
		case f.P <= Level:
			bad = append(bad, text)
		default:
			good = append(good, text)
		}
	}
	if len(bad)+len(good) == 0 {
		return ""
	}
	test := fmt.Sprintf(" (%s, parametric bootstrap, each at %v %%)", r.testName(), 100*Level)
	switch {
	case len(bad) == 0:
		return "the counts of all prompts reject no family: " + list(good) + test
	case len(good) == 0:
		return "the counts of all prompts reject every family: " + list(bad) + test
	}
	return "the counts of all prompts reject " + list(bad) + " and not " + list(good) + test
}

// testName names the test of goodness of fit.
func (r *Result) testName() string {
	if r.Test == Shortfall {
		return "log-likelihood short of the best law of all, sizes drawn again by the rule that chose them"
	}
	return "Anderson-Darling"
}

// apart says which families the folded counts tell from each other.
func (f *Folded) apart() string {
	if len(f.Comparisons) == 0 {
		return ""
	}
	var apart []string
	for _, x := range f.Comparisons {
		if x.Apart {
			apart = append(apart, fmt.Sprintf("%s from %s (%+.1f nats)", x.A, x.B, x.Difference))
		}
	}
	view := fmt.Sprintf("on the folded counts min(s, n-s) of the %d mixed prompts, which speak of u alone, ", f.Prompts)
	if len(apart) > 0 {
		return view + "the data tell " + list(apart) + testWords(f.Comparisons)
	}
	text := view + "the data tell no two families apart" + testWords(f.Comparisons)
	if f.Rollouts <= fewRollouts {
		text += fmt.Sprintf(": with %d rollouts a prompt there are %d values to tell them by", f.Rollouts, f.Rollouts/2)
	}
	return text
}

// assumption says what becomes of Theorem 2's assumption, u Pareto with a
// shape above 1.
func (f *Folded) assumption(replicates int) string {
	i := slices.IndexFunc(f.Fits, func(x FoldedFit) bool { return x.Family == ParetoVariance })
	if i < 0 {
		return ""
	}
	fit := f.Fits[i]
	shape := fit.Parameters[0]
	text := "Theorem 2 assumes u Pareto and unbounded with a shape above 1, which no u <= 1 is; cut off at 1 "
	if few := tooFew(replicates); few != "" {
		return text + "it is not judged: " + few
	}
	smallest, largest := familyNamed(ParetoVariance).ranges[0].low, familyNamed(ParetoVariance).ranges[0].high
	test := fmt.Sprintf("p = %.2g, Anderson-Darling, %v %%", fit.P, 100*Level)
	view := "on the folded counts of the mixed prompts alone"
	switch everywhere := shape.Low <= smallest && shape.High >= largest; {
	case fit.P <= Level:
		text += fmt.Sprintf("it is rejected %s (%s)", view, test)
	case shape.AtEnd || everywhere:
		text += fmt.Sprintf("whether it holds cannot be told %s (not rejected, %s, but with a shape that they do not place inside its range)", view, test)
	default:
		text += fmt.Sprintf("it is not rejected %s (%s)", view, test)
	}
	text += fmt.Sprintf("; its shape is %.3g [%.3g, %.3g] of [%g, %g]", shape.Estimate, shape.Low, shape.High, smallest, largest)
	switch {
	case shape.AtEnd && shape.Estimate < 1:
		text += ", the smallest allowed: the counts ask for one below 0, a law that is no Pareto law"
	case shape.AtEnd:
		text += ", the largest allowed: the counts ask for more"
	}
	if shape.High < 1 {
		text += ", and 1 lies outside the interval (95 %, profile likelihood)"
	}
	return text
}

// list joins words as a sentence does.
func list(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}
