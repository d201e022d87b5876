package train

import (
	"fmt"

	"vigorlab/distributions/spec"
	"vigorlab/sim/strategy"
	"vigorlab/sim/stream"
)

// maxLag bounds the memory of m2po, four times the paper's longest lag.
const maxLag = 1024

// The rules of m2po, each of which limits ratios to the policy that answered.
const (
	rulePaper     = "paper"
	ruleReleased  = "released"
	ruleAReaL     = "areal"
	ruleClip      = "clip"
	ruleNone      = "none"
	ruleTruncated = "truncated-is"
)

// m2po trains on stale answers (arXiv 2510.01161): those of the policy as it was
// lag model updates ago, at first of the initial one. A step is so many model
// updates, one after another on a share of its groups each, in batch order and
// as even as whole groups allow; more updates than groups leave some out. Epochs
// repeat them all, and do not count for the lag, which is a whole number of steps.
//
// It keeps lag/updates + 1 copies of the parameters.
type m2po struct {
	spec    string
	steps   int // lag in steps
	updates int
	region  TrustRegion

	policy    Policy
	updater   *Updater
	snapshots [][]float64 // of the start of step s at place (s-1) mod steps+1
	batches   [][]Group
}

var m2poKind = systemKind{
	info: SystemInfo{
		Name: "m2po",
		Parameters: []strategy.Parameter{
			{Name: "lag", Default: "0", Range: fmt.Sprintf("a multiple of updates in [0, %d]", maxLag), Doc: "model updates since the policy that answers; memory grows with it, by the parameters"},
			{Name: "updates", Default: "4", Range: "a whole number in [1, 64]", Doc: "model updates of a step, one on each share of its groups"},
			{
				Name: "rule", Default: rulePaper, Range: "paper, released, areal, clip, none, truncated-is",
				Doc: "what limits ratios: Algorithm 1, the released code, AReaL's variant (a reconstruction from notes), PPO's clipping, nothing, or weights min(1, ratio)",
			},
			{Name: "tau", Default: "0.04", Range: "a number >= 0", Doc: "largest mean of (ln ratio)^2; for paper, released and areal"},
			{Name: "clip", Default: "0.2", Range: "a number >= 0", Doc: "ratios are held to 1 - clip and 1 + clip; for clip and areal"},
		},
		Diagnostics: []Figure{
			{"held", "share of tokens without gradient", "share of tokens without gradient: masked, or held at the edge of the range"},
			{"m2", "M_{2}: mean of (ln ratio)^{2}", "mean of (ln ratio)^2 over tokens"},
			{"chi2", "χ^{2}: mean of (ratio − 1)^{2}", "mean of (ratio - 1)^2 over tokens, at most exp(2 max_log) m2"},
			{"max_log", "largest |ln ratio|", "largest |ln ratio|, ratio being what a token's probability is now over what it was when it was answered"},
		},
		Provenance: "paper",
		Source:     "M2PO, arXiv 2510.01161, Algorithm 1 and stale-k protocol; rule=released from its code; rule=areal a reconstruction from notes on AReaL",
		Taxonomy:   strategy.PlacedByTaxonomy(strategy.LeverSystem, strategy.FamilyDecoupling, "A", strategy.PaidAfter),
	},
	read: readM2PO,
}

func readM2PO(a *spec.Args) (System, error) {
	m := &m2po{}
	lag := a.Int("lag", 0, 0, maxLag)
	m.updates = a.Int("updates", 4, 1, 64)
	if lag%m.updates != 0 {
		a.Fault("lag", lag, fmt.Sprintf("a multiple of updates = %d", m.updates))
	}
	m.steps = lag / m.updates
	m.region = readRegion(a)
	if err := a.Err(); err != nil {
		return nil, err
	}
	m.spec = normal(a)
	return m, nil
}

// readRegion reads the rule, and of tau and clip what it needs.
func readRegion(a *spec.Args) TrustRegion {
	rule := a.Choice("rule", rulePaper, rulePaper, ruleReleased, ruleAReaL, ruleClip, ruleNone, ruleTruncated)
	atLeast0 := func(x float64) bool { return x >= 0 }
	tau := func() float64 { return a.Float("tau", 0.04, "a number >= 0", atLeast0) }
	clip := func() clipRange { return clipRange{a.Float("clip", 0.2, "a number >= 0", atLeast0)} }
	switch rule {
	case ruleReleased:
		return releasedRule{tau()}
	case ruleAReaL:
		return arealRule{tau(), clip()}
	case ruleClip:
		return clip()
	case ruleNone:
		return noRegion{}
	case ruleTruncated:
		return truncatedWeights{}
	}
	return paperRule{tau()}
}

func (m *m2po) Spec() string { return m.spec }

func (m *m2po) Begin(p Policy, u *Updater, _ stream.Key) error {
	m.policy, m.updater, m.snapshots = p, u, make([][]float64, m.steps+1)
	if err := u.Trust(m.region); err != nil {
		return fmt.Errorf("%s: %w", m.spec, err)
	}
	return nil
}

func (m *m2po) Answer(step int, read func() error) error {
	theta := m.policy.Parameters()
	now := &m.snapshots[(step-1)%len(m.snapshots)]
	*now = append((*now)[:0], theta...)
	copy(theta, m.snapshots[max(0, step-1-m.steps)%len(m.snapshots)])
	err := read()
	copy(theta, *now)
	return err
}

func (m *m2po) Learn(s *Step) error {
	m.batches = m.batches[:0]
	for i := range m.updates {
		from, to := i*len(s.Groups)/m.updates, (i+1)*len(s.Groups)/m.updates
		m.batches = append(m.batches, s.Groups[from:to])
	}
	if err := m.updater.UpdateBatches(m.batches, s.Old); err != nil {
		return err
	}
	d := &m.updater.movement
	s.Report(
		Diagnostic{"held", d.held / d.tokens}, // NaN in a step without tokens
		Diagnostic{"m2", d.squareLog / d.tokens},
		Diagnostic{"chi2", d.square / d.tokens},
		Diagnostic{"max_log", d.largest},
	)
	return nil
}

var _ System = (*m2po)(nil)
