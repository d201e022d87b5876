package theory

import (
	"errors"
	"math"

	"vigorlab/distributions"
	"vigorlab/sim/lookahead"
	"vigorlab/sim/schedule"
)

// A Number is a figure, or the reason why it does not exist.
type Number struct {
	Value  float64
	Reason string // "" where Value is the figure
}

// number is Value where err is nil and x exists; missing is the reason of NaN.
func number(x float64, err error, missing string) Number {
	switch {
	case err != nil:
		return Number{Reason: reason(err)}
	case math.IsNaN(x):
		return Number{Reason: missing}
	}
	return Number{Value: x}
}

// An Input names what to predict. At most one of Vigor, Group and Lookahead says
// which strategy; none stands for one that has no exact theory.
type Input struct {
	Variance distributions.VarianceLaw // never nil
	Law      distributions.Law         // nil where the law has no rewards
	Vigor    *schedule.Vigor           // nil for other strategies
	Group    int                       // of the fixed group; 0 for other strategies
	// Lookahead is nil for other strategies.
	Lookahead *lookahead.Parameters
	Batch     int     // >= 1
	Frontier  float64 // c in [0, 1]
	Nodes     int     // quadrature nodes, as VigorMeanField takes them
	// Brief leaves out what costs most, for a page that follows its reader:
	// Etas.FiniteBatch and Prediction.Rounds.
	Brief bool
}

// A Prediction holds everything that theory says about a strategy on a
// population (theory.md, sections 3 and 4.6).
type Prediction struct {
	Eta     Etas
	Speedup []Speedups // one entry an exponent

	// EtaGenerated is Eta.Noisy per generated rather than trained rollout.
	EtaGenerated Number
	// Progress is E[G sigma u]/E[G] over that of the fixed group (4.6).
	Progress Number

	RolloutsPerPrompt Number // generated
	GroupSizes        []SizeShare

	// The strategy and the fixed group of the same mean size: floor and ceil
	// of the mean group that the schedule generates for selection.
	Ineffective        Pair
	ZeroVarianceGroups Pair
	Signal             Pair
	SignalPromptMean   Pair

	Screening []ScreeningNumbers // one entry a cut
	Rounds    []Stop             // the figures after every round; nil for fixed groups, without a mean field and beyond MaxStops rounds
	Field     *MeanField         // behind these figures; nil where there is none
	Fixed     *MeanField         // of the fixed group of the same mean size; nil where there is none
}

// Etas holds eta under different assumptions, and its bounds.
type Etas struct {
	ClosedForm  Number // unbounded Pareto of the law's shape, perfect selection, infinite batch
	Law         Number // this law, perfect selection, infinite batch
	FiniteBatch Number // this law, perfect selection, this batch
	Noisy       Number // this law, the strategy's own selection, infinite batch
	Cap         Number // no law passes it on an infinite batch
	LawCap      Number // no allocation passes it with this law
	CapBatch    Number // no law passes it on this batch
}

// Speedups holds eta^exponent for every eta.
type Speedups struct {
	Exponent Exponent
	Etas
}

// A Pair compares the strategy with the fixed group of the same mean size.
type Pair struct{ Strategy, Fixed Number }

// ScreeningNumbers is a Screening whose figures may not exist.
type ScreeningNumbers struct {
	Round                   int
	FalseOmission           Number
	FalseNegative           Number
	FalseNegativeCumulative Number
}

// MaxStops is the largest number of rounds that Predict follows one by one: it
// costs a mean field a round.
const MaxStops = 32

// Predict collects what theory says. A figure that does not exist carries its
// reason; an input that makes no sense is an error.
func Predict(in Input) (*Prediction, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	p := &Prediction{}
	switch {
	case in.Vigor != nil:
		p.Eta = in.vigorEtas()
		in.addField(p)
	case in.Group != 0:
		p.Eta = in.fixedEtas()
		in.addField(p)
	case in.Lookahead != nil:
		p.Eta = in.lookaheadEtas()
		in.addField(p)
	default:
		*p = in.lawAlone()
	}
	if in.Vigor != nil && p.Field != nil && in.Vigor.Rounds <= MaxStops && !in.Brief {
		var err error
		if p.Rounds, err = RoundByRound(in.Law, *in.Vigor, in.Frontier, in.Nodes); err != nil {
			return nil, err
		}
	}
	for _, e := range Exponents() {
		p.Speedup = append(p.Speedup, Speedups{e, p.Eta.speedup(e.Value)})
	}
	return p, nil
}

func (in Input) check() error {
	errs := []error{
		unless(in.Variance != nil, errors.New("theory: no law, want one")),
		unless(in.Vigor == nil || in.Group == 0, errors.New("theory: want a schedule or a fixed group, not both")),
		unless(in.Lookahead == nil || in.Vigor == nil && in.Group == 0, errors.New("theory: want lookahead, a schedule or a fixed group, one of them")),
		unless(in.Group >= 0 && in.Group <= schedule.MaxGroup, outside("g", in.Group, groupRange)),
		unless(in.Batch >= 1, outside("batch", in.Batch, "a whole number >= 1")),
		checkQuadrature(in.Frontier, in.Nodes),
	}
	if in.Vigor != nil {
		errs = append(errs, in.Vigor.Validate())
	}
	if in.Lookahead != nil {
		errs = append(errs, in.Lookahead.Validate())
	}
	return errors.Join(errs...)
}

const (
	noVariance = "E[u] = 0: no prompt has any reward variance"
	noProgress = "the fixed group makes no progress"
)

// fixedEtas are all 1 where the law has a mean: every prompt has the same
// group.
func (in Input) fixedEtas() Etas {
	one := Number{Value: 1}
	law := number(1, checkMean(in.Variance), "")
	noisy := law
	if in.Law == nil {
		noisy = Number{Reason: noRewards}
	}
	lawCap, err := CapLaw(in.Variance)
	return Etas{
		ClosedForm: in.closedForm(func(float64) (float64, error) { return 1, nil }),
		Law:        law, FiniteBatch: law, Noisy: noisy,
		Cap: one, LawCap: number(lawCap, err, ""), CapBatch: one,
	}
}

// lookaheadEtas are those that hold whatever is learnt: no allocation of groups
// of at most max passes max/g.
func (in Input) lookaheadEtas() Etas {
	none := Number{Reason: "lookahead ranks by outcomes: perfect selection is VIGOR's"}
	most := Number{Value: float64(in.Lookahead.Max) / float64(in.Lookahead.Group)}
	lawCap, err := CapLaw(in.Variance)
	return Etas{
		ClosedForm: none, Law: none, FiniteBatch: none, // Noisy comes with the mean field
		Cap: most, LawCap: number(lawCap, err, ""), CapBatch: most,
	}
}

// lawAlone holds what is known whatever the strategy does: the cap of the law.
func (in Input) lawAlone() Prediction {
	none := Number{Reason: "this strategy has no exact theory"}
	lawCap, err := CapLaw(in.Variance)
	return Prediction{
		Eta: Etas{
			ClosedForm: none, Law: none, FiniteBatch: none, Noisy: none,
			Cap: none, LawCap: number(lawCap, err, ""), CapBatch: none,
		},
		EtaGenerated: none, Progress: none, RolloutsPerPrompt: none,
		Ineffective: Pair{none, none}, ZeroVarianceGroups: Pair{none, none},
		Signal: Pair{none, none}, SignalPromptMean: Pair{none, none},
	}
}

const noRewards = "this law has no rewards: an unbounded reward variance is none of a binary-valued reward, so only perfect selection has a theory"

func (in Input) vigorEtas() Etas {
	v := *in.Vigor
	etas := Etas{ClosedForm: in.closedForm(func(kappa float64) (float64, error) {
		if v.Update == schedule.UpdateSurvivors {
			return EtaParetoSurvivors(kappa, v.Alpha.Float(), v.Rounds)
		}
		return EtaPareto(kappa, v.Alpha.Float(), v.Gamma.Float(), v.Rounds)
	})}
	set := func(n *Number, x float64, err error) { *n = number(x, err, "") }
	eta, err := etaInfiniteBatch(in.Variance, v)
	set(&etas.Law, eta, err)
	if in.Brief {
		etas.FiniteBatch = Number{Reason: "a brief prediction leaves it out"}
	} else {
		eta, err = EtaFiniteBatch(in.Variance, v, in.Batch)
		set(&etas.FiniteBatch, eta, err)
	}
	eta, err = CapLawFree(v)
	set(&etas.Cap, eta, err)
	eta, err = CapLaw(in.Variance)
	set(&etas.LawCap, eta, err)
	eta, err = CapBatch(v, in.Batch)
	set(&etas.CapBatch, eta, err)
	return etas // Noisy comes with the mean field
}

// closedForm evaluates eta at the shape of a Pareto law of u.
func (in Input) closedForm(eta func(kappa float64) (float64, error)) Number {
	pareto, ok := in.Variance.(paretoLaw)
	if !ok {
		return Number{Reason: "u is not Pareto: Theorem 2 has no closed form"}
	}
	kappa := pareto.Shape()
	if !(kappa > 1) {
		return Number{Reason: "shape <= 1: an unbounded Pareto reward variance has no mean"}
	}
	x, err := eta(kappa)
	return number(x, err, "")
}

func (e Etas) speedup(exponent float64) Etas {
	for _, n := range []*Number{&e.ClosedForm, &e.Law, &e.FiniteBatch, &e.Noisy, &e.Cap, &e.LawCap, &e.CapBatch} {
		n.Value = Speedup(n.Value, exponent)
	}
	return e
}

// addField fills in the figures of the mean field, or the reason why there is
// none.
func (in Input) addField(p *Prediction) {
	field, fixed, err := in.meanFields()
	if field == nil {
		field = in.scheduleOnly()
	} else {
		p.Field, p.Fixed = field, fixed
	}
	if field == nil { // no group can be built
		field = &MeanField{Rollouts: math.NaN()}
	}
	if fixed == nil {
		fixed = &MeanField{}
	}
	set := func(n *Number, x float64, missing string) { *n = number(x, err, missing) }
	pair := func(get func(*MeanField) float64) Pair {
		return Pair{number(get(field), err, noVariance), number(get(fixed), err, noVariance)}
	}
	if in.Group == 0 {
		set(&p.Eta.Noisy, field.Eta, noVariance)
	}
	set(&p.EtaGenerated, field.EtaGenerated, noVariance)
	set(&p.Progress, ratio(field.Progress, fixed.Progress), noProgress)
	p.RolloutsPerPrompt = number(field.Rollouts, nil, reason(err))
	p.GroupSizes = field.GroupSizes
	p.Ineffective = pair(func(m *MeanField) float64 { return m.Ineffective })
	p.ZeroVarianceGroups = pair(func(m *MeanField) float64 { return m.ZeroVarianceGroups })
	p.Signal = pair(func(m *MeanField) float64 { return m.Signal })
	p.SignalPromptMean = pair(func(m *MeanField) float64 { return m.SignalPromptMean })
	for _, s := range field.Screening {
		p.Screening = append(p.Screening, ScreeningNumbers{
			Round:                   s.Round,
			FalseOmission:           number(s.FalseOmission, err, "no prompt is dropped"),
			FalseNegative:           number(s.FalseNegative, err, "no active prompt is at the frontier"),
			FalseNegativeCumulative: number(s.FalseNegativeCumulative, err, "no prompt is at the frontier"),
		})
	}
}

// meanFields returns the mean field of the strategy and that of the fixed
// group of the same mean size.
func (in Input) meanFields() (field, fixed *MeanField, err error) {
	if in.Law == nil {
		return nil, nil, errors.New(noRewards)
	}
	if in.Lookahead != nil {
		if field, err = LookaheadMeanField(in.Law, *in.Lookahead, in.Frontier, in.Nodes); err != nil {
			return nil, nil, err
		}
		fixed, err = FixedMeanField(in.Law, float64(in.Lookahead.Group), in.Frontier, in.Nodes)
		return field, fixed, err
	}
	if in.Vigor == nil {
		field, err = FixedMeanField(in.Law, float64(in.Group), in.Frontier, in.Nodes)
		return field, field, err
	}
	field, err = VigorMeanField(in.Law, *in.Vigor, in.Frontier, in.Nodes)
	if err != nil {
		return nil, nil, err
	}
	fixed, err = FixedMeanField(in.Law, in.Vigor.MeanGroup(), in.Frontier, in.Nodes)
	return field, fixed, err
}

// scheduleOnly holds what does not depend on the law: group sizes and the
// rollouts they cost. It is nil where the groups cannot be built.
func (in Input) scheduleOnly() *MeanField {
	switch {
	case in.Lookahead != nil:
		return &MeanField{Rollouts: float64(in.Lookahead.Group)}
	case in.Vigor == nil:
		return &MeanField{Rollouts: float64(in.Group), GroupSizes: []SizeShare{{in.Group, 1}}}
	}
	rollouts, err := in.Vigor.Rollouts()
	if err != nil {
		return nil
	}
	m := &MeanField{Rollouts: in.Vigor.MeanGroup()}
	size, active, alpha := 0, 1.0, in.Vigor.Alpha.Float()
	for t, asked := range rollouts {
		size += asked
		leave := active * (1 - alpha)
		if t == len(rollouts)-1 {
			leave = active
		} else {
			m.Screening = append(m.Screening, Screening{Round: t + 1})
		}
		m.GroupSizes = append(m.GroupSizes, SizeShare{size, leave})
		active *= alpha
	}
	if !in.Vigor.Reuse { // trained = share*generated and generated = selection + trained
		m.Rollouts /= 1 - trainedShare(*in.Vigor)
	}
	return m
}
