package fit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"vigorlab/distributions"
)

// An Interval is a figure with its 95 % interval; Low and High are NaN where
// there is none.
type Interval struct{ Estimate, Low, High float64 }

// A Fit is the law of one family that makes the counts most likely.
type Fit struct {
	Family     string
	Doc        string // what the law is, for people
	Parameters []Parameter
	LogLik     float64 // of the counts, binomial coefficients included
	AIC        float64 // NaN for the nonparametric one: atoms are no fixed number of parameters
	Distance   float64 // what Result.Test looks at; NaN where nothing is tested
	P          float64 // probability of a larger one, by parametric bootstrap; NaN without
	PError     float64 // its standard error

	// Intervals of figures are percentiles of the bootstrap.
	MeanP, MeanU, Gain Interval
	ZeroVariance       []Interval // by GroupSizes

	Law    distributions.Law // nil where there is none in distributions
	Spec   string            // parses to Law; "" where there is none
	Reason string            // why there is no Spec

	Atoms []distributions.Node // of the nonparametric one
	Gap   float64              // its gradient condition, in nats
	Band  []BandPoint          // nil where outcomes chose the sizes, or may have
}

// A BandPoint is the distribution of counts at the most frequent number of
// rollouts N: the law's P(s <= S) with its interval, and the observed one.
type BandPoint struct {
	N, S     int
	Fitted   Interval
	Observed float64
}

// Options say what to fit, and how surely.
type Options struct {
	Families   []string // see Families
	Replicates int      // of the parametric bootstrap of each family; 0 for no bootstrap
	Workers    int      // goroutines, >= 1; the result does not depend on it
	// Design draws counts whose sizes outcomes chose; nil where they did not.
	Design Design
	// Beforehand says that sizes which differ were fixed before any outcome.
	// Without it and a Design there is no bootstrap of such counts.
	Beforehand bool
	// Streams returns the generator of replicate k for one purpose.
	Streams func(purpose string, k int) *rand.Rand
	// Progress, unless nil, is told how many of the fits are done.
	Progress func(done, total int)
}

// A Result is every family's fit to the same counts.
type Result struct {
	Prompts, Rollouts int
	Sizes             string       // how they came about: SizesBeforehand | SizesChosen | SizesUnknown
	Test              string       // of goodness of fit, AndersonDarling | Shortfall; "" for none
	Replicates        int          // of every bootstrap
	Fits              []Fit        // in the order of Families
	Comparisons       []Comparison // of the parametric ones
	Folded            *Folded      // nil where no prompt is mixed, or sizes are not fixed beforehand
	Observed          []Share      // zero-variance groups, by GroupSizes; of no prompts where sizes are not fixed beforehand
	PluginGain        float64
	Hill              []HillPoint
	Verdict           []string
}

// Folded are the families that say something of u, fitted to the folded
// counts min(s, n-s) of the mixed prompts alone: where Theorem 2's assumption
// is tested, since it speaks of u. How likely a prompt of n rollouts is mixed
// depends on the rule that chose n where one did, so that this likelihood, other
// than that of the counts themselves, needs sizes fixed beforehand.
type Folded struct {
	Prompts     int
	Rollouts    int // the most that a prompt has
	Fits        []FoldedFit
	Comparisons []Comparison
}

// A FoldedFit is a family's fit to folded counts.
type FoldedFit struct {
	Family     string
	Parameters []Parameter // hard does not matter and is left out
	LogLik     float64
	P, PError  float64 // of Anderson-Darling's A^2, as in Fit
}

// DefaultOptions returns options that fit every family with 200 replicates, on
// one goroutine, without streams: these are for the caller to set.
func DefaultOptions() Options {
	return Options{Families: Families(), Replicates: 200, Workers: 1}
}

// Run fits the families to counts.
func Run(ctx context.Context, c *Counts, o Options) (*Result, error) {
	chosen, err := chosenFamilies(o.Families)
	if err != nil {
		return nil, err
	}
	r := &Result{Prompts: c.prompts, Rollouts: c.rollouts, Sizes: o.Sizes(c), Replicates: o.Replicates, PluginGain: PluginGain(c), Hill: Hill(c)}
	r.Test = map[string]string{SizesBeforehand: AndersonDarling, SizesChosen: Shortfall}[r.Sizes]
	for _, g := range groupSizes {
		r.Observed = append(r.Observed, r.observed(c, g))
	}
	var folding []*family
	if r.Sizes == SizesBeforehand {
		folding = speakingOfU(chosen)
	}
	done, total := 0, len(chosen)+len(folding)
	told := func() {
		if done++; o.Progress != nil {
			o.Progress(done, total)
		}
	}
	var estimates []*estimate
	for _, f := range chosen {
		e, err := estimateOf(whole, f, c, estimates...)
		if err != nil {
			return nil, err
		}
		fit, err := o.fit(ctx, c, e)
		if err != nil {
			return nil, err
		}
		r.Fits, estimates = append(r.Fits, *fit), append(estimates, e)
		told()
	}
	r.Comparisons = compare(whole, c, estimates)
	if r.Sizes == SizesBeforehand {
		if r.Folded, err = o.folded(ctx, c, folding, told); err != nil {
			return nil, err
		}
	}
	r.Verdict = r.verdict()
	return r, nil
}

// chosenFamilies returns the families of names, nil for the nonparametric one.
func chosenFamilies(names []string) ([]*family, error) {
	var chosen []*family
	var errs []error
	for _, name := range names {
		f := familyNamed(name)
		if f == nil && name != NPMLE {
			errs = append(errs, fmt.Errorf("fit: family = %.80q, want one of %v", name, Families()))
		}
		chosen = append(chosen, f)
	}
	if len(names) == 0 {
		errs = append(errs, errors.New("fit: no families, want at least one"))
	}
	return chosen, errors.Join(errs...)
}

func familyNamed(name string) *family {
	for _, f := range families {
		if f.name == name {
			return f
		}
	}
	return nil
}

// fit returns all that is to be said of an estimate.
func (o Options) fit(ctx context.Context, c *Counts, e *estimate) (*Fit, error) {
	f := &Fit{Family: NPMLE, Doc: "nonparametric maximum likelihood, atoms", LogLik: e.logLik, AIC: math.NaN()}
	if e.family != nil {
		f.Family, f.Doc, f.AIC = e.family.name, e.family.doc, 2*float64(len(e.theta))-2*e.logLik
	} else {
		f.Atoms, f.Gap = slices.Clone(e.mixing.Atoms), e.mixing.Gap
	}
	f.setLaw(e)
	replicates, err := o.bootstrap(ctx, whole, e, c, f.Family)
	if err != nil {
		return nil, err
	}
	switch o.Sizes(c) {
	case SizesBeforehand:
		law := newCountLaw(whole, e, c)
		f.Distance = law.distance(c)
		f.setBand(law, c, replicates)
	case SizesChosen:
		if f.Distance, err = shortfall(e, c); err != nil {
			return nil, err
		}
	default:
		f.Distance = math.NaN()
	}
	f.P, f.PError = exceeded(f.Distance, replicates)
	f.setFigures(e, replicates)
	if e.family != nil {
		f.Parameters = newSearch(whole, e.family, c).parameters(e.optimum)
	}
	return f, nil
}

// observed returns the zero-variance groups of counts whose sizes outcomes had
// no say in: prompts of at least g rollouts are a selection otherwise.
func (r *Result) observed(c *Counts, g int) Share {
	if r.Sizes != SizesBeforehand {
		return Share{Mean: math.NaN(), SE: math.NaN()}
	}
	return ObservedZeroVariance(c, g)
}

func (f *Fit) setLaw(e *estimate) {
	law, spec, err := e.law()
	switch {
	case err != nil:
		f.Reason = "populations have no such law: a Pareto shape is positive"
	case e.family == nil:
		f.Law, f.Reason = law, "atoms are written to a file, or table:path=TABLE,smooth=npmle"
	default:
		f.Law, f.Spec = law, spec
	}
}

// sameDistance is how near distances count as equal: refits end within 1e-5
// nats, which leaves them as uncertain.
const sameDistance = 1e-5

// exceeded returns the bootstrap p-value (1 + exceeding)/(1 + replicates) with
// its standard error.
func exceeded(distance float64, replicates []replicate) (p, se float64) {
	if len(replicates) == 0 || math.IsNaN(distance) {
		return math.NaN(), math.NaN()
	}
	more := 1.0
	for _, r := range replicates {
		if !(r.distance < distance-sameDistance) {
			more++
		}
	}
	n := float64(len(replicates)) + 1
	p = more / n
	return p, math.Sqrt(p * (1 - p) / n)
}

func (f *Fit) setFigures(e *estimate, replicates []replicate) {
	interval := func(figure func(Figures) float64) Interval {
		low, high := quantiles(replicates, func(r replicate) float64 { return figure(r.figures) })
		return Interval{figure(e.figures()), low, high}
	}
	f.MeanP = interval(func(x Figures) float64 { return x.MeanP })
	f.MeanU = interval(func(x Figures) float64 { return x.MeanU })
	f.Gain = interval(func(x Figures) float64 { return x.Gain })
	for i := range groupSizes {
		f.ZeroVariance = append(f.ZeroVariance, interval(func(x Figures) float64 { return x.ZeroVariance[i] }))
	}
}

func (f *Fit) setBand(law *countLaw, c *Counts, replicates []replicate) {
	part := law.frequent()
	seen := map[int]int{}
	prompts := 0
	for _, x := range c.cells {
		if x.N == part.cells[0].N {
			seen[x.S] = x.Prompts
			prompts += x.Prompts
		}
	}
	sum := 0
	for i, x := range part.cells {
		sum += seen[x.S]
		low, high := quantiles(replicates, func(r replicate) float64 { return r.cdf[i] })
		f.Band = append(f.Band, BandPoint{
			N: x.N, S: x.S, Fitted: Interval{part.cdf[i], low, high}, Observed: float64(sum) / float64(prompts),
		})
	}
}

// parameters returns the parameters with their intervals.
func (s *search) parameters(top optimum) []Parameter {
	all := make([]Parameter, len(s.family.ranges))
	for j, r := range s.family.ranges {
		p := Parameter{Name: r.name, Estimate: top.theta[j], AtEnd: s.family.atEnd(top.theta, j)}
		p.Low, p.High = s.profile(top, j)
		all[j] = p
	}
	return all
}

// speakingOfU leaves out the nonparametric family and the one with spikes, which
// show in no mixed prompt.
func speakingOfU(chosen []*family) []*family {
	return slices.DeleteFunc(slices.Clone(chosen), func(f *family) bool { return f == nil || f.name == SpikedBeta })
}

// folded fits families to folded counts.
func (o Options) folded(ctx context.Context, c *Counts, chosen []*family, told func()) (*Folded, error) {
	seen := fold(c)
	if seen == nil {
		return nil, nil
	}
	r := &Folded{Prompts: seen.prompts, Rollouts: maxN(seen.cells)}
	var estimates []*estimate
	for _, f := range chosen {
		e, err := estimateOf(foldedMixed, f, seen, estimates...)
		if err != nil {
			return nil, err
		}
		replicates, err := o.bootstrap(ctx, foldedMixed, e, seen, "folded "+f.name)
		if err != nil {
			return nil, err
		}
		fit := FoldedFit{Family: f.name, LogLik: e.logLik}
		fit.P, fit.PError = exceeded(newCountLaw(foldedMixed, e, seen).distance(seen), replicates)
		fit.Parameters = slices.DeleteFunc(newSearch(foldedMixed, f, seen).parameters(e.optimum), func(p Parameter) bool {
			return p.Name == "hard"
		})
		r.Fits, estimates = append(r.Fits, fit), append(estimates, e)
		told()
	}
	r.Comparisons = compare(foldedMixed, seen, estimates)
	return r, nil
}
