package train

import (
	"errors"

	"vigorlab/distributions/spec"
	"vigorlab/sim/strategy"
	"vigorlab/sim/stream"
)

// A System stands between what a strategy asks and how the policy moves: it
// says who answers, a policy that may differ from the one that learns, and how
// the answers are learnt from. A run owns its system.
type System interface {
	// Spec returns the normalised spec, which parses to the same system.
	Spec() string
	// Begin makes ready for a run of the policy, which the updater moves, and
	// fails where the system cannot run on it. key names the system's streams.
	Begin(p Policy, u *Updater, key stream.Key) error
	// Answer calls read while the policy is the one that answers the step of
	// that number, from 1, and puts it back.
	Answer(step int, read func() error) error
	// Learn lets the policy learn from a step.
	Learn(s *Step) error
}

// ownAnswers is a further method of systems under which the policy that learns
// answers, as it stands: the answers tell its success, which is then not worked
// out anew.
type ownAnswers interface{ ownAnswers() }

// A Step is what a system learns from.
type Step struct {
	Number int     // from 1
	Groups []Group // the system may change them
	// Old returns the token log probabilities that prompt x was answered with.
	Old func(x int) []float64
	Key stream.Key // names the step's streams
	// Price is the cost of one of the step's answers, in rollouts of the full
	// policy: 1 unless the system sets it.
	Price float64

	point   *Point
	lengths bool // whether rollouts have lengths
}

// Charge puts on the ledger what a system generates beside what the strategy
// asked for: rollouts, at full price each, their tokens, which the ledger leaves
// at 0 where every outcome is one, and other costs in rollouts of the full policy.
func (s *Step) Charge(rollouts, tokens int, cost float64) {
	l := &s.point.Ledger
	l.Generated += rollouts
	l.Extra += rollouts
	if s.lengths {
		l.GeneratedTokens += tokens
	}
	s.point.Cost += float64(rollouts) + cost
}

// A Diagnostic is one figure that a system gives of a step.
type Diagnostic struct {
	Name  string // one that the system's SystemInfo explains
	Value float64
}

// Report gives the run's point the system's figures of the step, in the same order
// at every step.
func (s *Step) Report(figures ...Diagnostic) { s.point.Diagnostics = figures }

// SystemInfo describes a system as data.
type SystemInfo struct {
	Name        string               `json:"name"`
	Parameters  []strategy.Parameter `json:"parameters"`
	Diagnostics []Figure             `json:"diagnostics"` // of every step; none for some
	Provenance  string               `json:"provenance"`  // paper | code | reconstruction
	Source      string               `json:"source"`      // where its rule was read
	Taxonomy    strategy.Placement   `json:"taxonomy"`
}

// A Figure says what a diagnostic is.
type Figure struct {
	Name  string `json:"name"`
	Title string `json:"title"` // of an axis: words and symbols, scripts as in M_{2} and χ^{2}
	Doc   string `json:"doc"`
}

// Systems lists what NewSystem knows.
func Systems() []SystemInfo {
	infos := make([]SystemInfo, len(systemKinds))
	for i, k := range systemKinds {
		infos[i] = k.info
	}
	return infos
}

// NewSystem makes the system of a spec; "" stands for none.
func NewSystem(text string) (System, error) {
	if text == "" {
		return &plain{}, nil
	}
	s, err := spec.Parse(text)
	if s.Name == "" {
		return nil, err
	}
	for _, k := range systemKinds {
		if k.info.Name == s.Name {
			a := spec.NewArgs(s)
			system, readErr := k.read(a)
			if err := errors.Join(err, readErr); err != nil {
				return nil, err
			}
			return system, nil
		}
	}
	return nil, errors.Join(spec.UnknownName(s.Name, systemNames()), err)
}

// A systemKind joins what is known of a system to how its spec is read.
type systemKind struct {
	info SystemInfo
	read func(a *spec.Args) (System, error)
}

var systemKinds = []systemKind{m2poKind, saturatedKind, nestedKind, r2poKind}

func systemNames() []string {
	var names []string
	for _, k := range systemKinds {
		names = append(names, k.info.Name)
	}
	return names
}

// plain is no system: the policy answers and learns.
type plain struct{ updater *Updater }

func (*plain) Spec() string { return "" }

func (p *plain) Begin(_ Policy, u *Updater, _ stream.Key) error {
	p.updater = u
	return nil
}

func (*plain) Answer(_ int, read func() error) error { return read() }
func (*plain) ownAnswers()                           {}
func (p *plain) Learn(s *Step) error                 { return p.updater.Update(s.Groups, s.Old) }
