package train

import (
	"math"

	"vigorlab/distributions/spec"
	"vigorlab/sim/strategy"
	"vigorlab/sim/stream"
)

// padded learns from groups whose rollouts are all correct, by comparing them
// with pad wrong answers that nobody gave: with n rollouts under GRPO with ddof 1
// every one has the advantage sqrt(pad(n+pad-1)/(n(n+pad))), and sqrt(pad/n) with
// ddof 0, without any negative one. A stated baseline leaves them alone. Released
// with Save Your Saturated Data (arXiv 2609.33126), whose estimator is
// grpo:ddof=1,delta=1e-6.
type padded struct {
	plain
	spec string
	pad  int
}

func (p *padded) Spec() string { return p.spec }

func (p *padded) Learn(s *Step) error {
	for i := range s.Groups {
		if g := &s.Groups[i]; p.saturated(g) {
			g.Pad = p.pad
		}
	}
	return p.plain.Learn(s)
}

// injected asks anew wherever a group's rollouts are all correct, mistakes times
// and for a mistake, and overwrites members of the group with the wrong answers
// it gets; the last correct member stays, which is ours. It is charged for every
// answer. No weight tells them from the policy's own: the ratio starts at 1
// (Save Your Saturated Data, arXiv 2609.33126, released code).
//
// The request for a mistake is modelled: it gives a wrong answer with probability
// wrong, drawn from the proposal restricted to wrong answers, and else a correct
// one, drawn likewise. The proposal of an answer is proportional to
// pi^(1/temperature), the softmax at that temperature where an answer is one
// token, or uniform, as if the final answer were swapped. The code's top-p 0.95
// is left out.
type injected struct {
	plain
	spec        string
	mistakes    int
	wrong       float64
	temperature float64 // of pi, +Inf for a uniform proposal
	policy      Policy
	gen         *stream.Generator
	prob        []float64
	drawn       []int
}

const (
	levelAdvantage = "advantage"
	levelRollout   = "rollout"
)

var saturatedKind = systemKind{
	info: SystemInfo{
		Name: "saturated",
		Parameters: []strategy.Parameter{
			{Name: "level", Default: levelAdvantage, Range: "advantage, rollout", Doc: "all-correct groups are padded with zero rewards, or get wrong answers that are asked for"},
			{Name: "pad", Default: "8", Range: "a whole number in [1, 1024]", Doc: "zero rewards added to an all-correct group, for level=advantage"},
			{Name: "mistakes", Default: "2", Range: "a whole number in [1, 1024]", Doc: "answers asked for with every all-correct group, all of them charged; this and the next for level=rollout"},
			{Name: "proposal", Default: "policy", Range: "policy, uniform", Doc: "where the answers are drawn from"},
			{Name: "temperature", Default: "1.2", Range: "a number > 0", Doc: "of the policy as a proposal; for proposal=policy"},
			{Name: "wrong", Default: "1", Range: "[0, 1]", Doc: "probability that an answer asked to be a mistake is one: a model of the request, in no source"},
		},
		Provenance: "code",
		Source:     "Save Your Saturated Data, arXiv 2609.33126, released code of its advantage and rollout levels; the answer to a request for a mistake is modelled",
		Taxonomy:   strategy.PlacedByTaxonomy(strategy.LeverAlgorithmic, strategy.FamilyOther, "C", strategy.PaidAfter),
	},
	read: readSaturated,
}

func readSaturated(a *spec.Args) (System, error) {
	if a.Choice("level", levelAdvantage, levelAdvantage, levelRollout) == levelAdvantage {
		p := &padded{pad: a.Int("pad", 8, 1, 1024)}
		p.spec = normal(a)
		return p, a.Err()
	}
	j := &injected{mistakes: a.Int("mistakes", 2, 1, 1024), temperature: math.Inf(1)}
	if a.Choice("proposal", "policy", "policy", "uniform") == "policy" {
		j.temperature = a.Float("temperature", 1.2, "a number > 0", func(x float64) bool { return x > 0 })
	}
	j.wrong = a.Float("wrong", 1, "[0, 1]", func(x float64) bool { return x >= 0 && x <= 1 })
	j.spec = normal(a)
	return j, a.Err()
}

func (j *injected) Spec() string { return j.spec }

func (j *injected) Begin(p Policy, u *Updater, key stream.Key) error {
	j.policy, j.gen = p, stream.NewGenerator(key)
	return j.plain.Begin(p, u, key)
}

func (j *injected) Learn(s *Step) error {
	for i := range s.Groups {
		if g := &s.Groups[i]; j.saturated(g) {
			j.gen.Reset(s.Key.Named("mistakes").With(uint64(g.X)))
			j.inject(s, g)
		}
	}
	return j.plain.Learn(s)
}

// inject asks for the mistakes of one group, charges them and overwrites. The
// members to go are chosen at random, as the last ones of a random order are.
func (j *injected) inject(s *Step, g *Group) {
	outcomes := j.policy.Outcomes(g.X)
	n, _ := size(outcomes, g.Counts)
	j.propose(outcomes, s.Old(g.X))
	tokens, keep := 0, n
	j.drawn = append(j.drawn[:0], make([]int, len(outcomes))...)
	for range j.mistakes {
		k := j.draw(outcomes, !(j.gen.Float64() < j.wrong))
		tokens += outcomes[k].Tokens
		if !outcomes[k].Correct && keep > 1 {
			keep--
			j.drawn[k]++
		}
	}
	s.Charge(j.mistakes, tokens, 0)
	thin(g.Counts, outcomes, true, n, keep, j.gen.Rand)
	for k, c := range j.drawn {
		g.Counts[k] += c
	}
}

// propose fills j.prob with the proposal's odds of every outcome. Each class has
// its own largest one at 1, so that neither underflows as a whole.
func (j *injected) propose(outcomes []Outcome, logp []float64) {
	j.prob = j.prob[:0]
	top := map[bool]float64{true: math.Inf(-1), false: math.Inf(-1)}
	for _, o := range outcomes {
		sum := 0.0
		for _, l := range logp[:o.Tokens] {
			sum += l
		}
		logp = logp[o.Tokens:]
		j.prob = append(j.prob, sum/j.temperature)
		top[o.Correct] = max(top[o.Correct], sum/j.temperature)
	}
	for k, o := range outcomes {
		j.prob[k] = math.Exp(j.prob[k] - top[o.Correct])
	}
}

// draw returns an outcome of one class, by the odds in j.prob.
func (j *injected) draw(outcomes []Outcome, correct bool) int {
	mass := 0.0
	for k, o := range outcomes {
		if o.Correct == correct {
			mass += j.prob[k]
		}
	}
	v, last := j.gen.Float64()*mass, -1
	for k, o := range outcomes {
		if o.Correct != correct {
			continue
		}
		last = k
		if v -= j.prob[k]; v < 0 {
			break
		}
	}
	return last
}

// saturated reports whether all rollouts of a group are correct.
func (p *plain) saturated(g *Group) bool {
	n, successes := size(p.updater.policy.Outcomes(g.X), g.Counts)
	return successes == n
}

var (
	_ System = (*padded)(nil)
	_ System = (*injected)(nil)
)
