package plan

import (
	"context"
	"fmt"
	"math"
	"slices"

	"vigorlab/distributions"
	"vigorlab/sim"
	"vigorlab/sim/rollout"
	"vigorlab/sim/source"
	"vigorlab/sim/strategy"
	"vigorlab/sim/stream"
)

// Finite is the objective's gain on batches of the given size, over fixed
// groups that spend as much on the same batches, with its standard error (the
// jackknife over batches). Both are NaN where nothing was simulated.
type Finite struct{ Gain, SE float64 }

// String prints the gain and its error to two significant digits of the error.
func (f Finite) String() string {
	d := decimals(f.SE)
	return fmt.Sprintf("%.*f ± %.*f", d, f.Gain, d, f.SE)
}

// decimals returns how many show two significant digits of an error, at most 9.
func decimals(se float64) int {
	if !(se > 0) {
		return 3
	}
	return min(max(0, 1-int(math.Floor(math.Log10(se)))), 9)
}

// A Simulated is a strategy without an exact mean field. It is simulated alone:
// its gain is no promise of the fit's noise either.
type Simulated struct {
	Strategy string
	Finite
	Rounds int // sequential rounds of a step, the most of any batch
	// Seconds is the mean over batches, and PerSecond the gain over it in units of
	// that of fixed groups of the budget; NaN without a clock.
	Seconds, PerSecond float64
}

// cost says what a step takes.
func (s Simulated) cost(o Options) string {
	text := fmt.Sprintf("%d rounds", s.Rounds)
	if s.Rounds == 1 {
		text = "1 round"
	}
	if o.Clock.on() {
		text += fmt.Sprintf(" and %.4g s: %.3g times a second", s.Seconds, s.PerSecond)
	}
	return text
}

// simulate measures the rows' schedules on finite batches, and other
// strategies of the same budget that look at one step alone, need no truth and
// train on all that they generate.
func simulate(ctx context.Context, law distributions.Law, lengths *distributions.LengthLaw, rows []Row, o Options) ([]Simulated, error) {
	others := otherStrategies(o)
	var specs []string
	var at []*Finite
	for i := range rows {
		rows[i].Finite = Finite{math.NaN(), math.NaN()}
		if rows[i].candidate.group == 0 {
			specs, at = append(specs, rows[i].Strategy), append(at, &rows[i].Finite)
		}
	}
	for i := range others {
		specs, at = append(specs, others[i].Strategy), append(at, &others[i].Finite)
	}
	if o.Replicates == 0 || len(specs) == 0 {
		return nil, nil
	}
	batches := make([][]pair, o.Replicates) // by strategy
	key := o.streams("batches")
	err := parallel(ctx, o.Workers, o.Replicates, func() (func(int) error, error) {
		w, err := newBatches(law, lengths, specs, o)
		if err != nil {
			return nil, err
		}
		return func(k int) error {
			var err error
			batches[k], err = w.run(ctx, key.With(uint64(k)))
			return err
		}, nil
	})
	if err != nil {
		return nil, err
	}
	for j, f := range at {
		*f = jackknife(batches, j, o.Objective)
	}
	still := math.NaN()
	if i := slices.IndexFunc(rows, func(r Row) bool { return r.Strategy == o.NoChange() }); i >= 0 {
		still = rows[i].Seconds
	}
	for i := range others {
		others[i].setCost(batches, len(specs)-len(others)+i, still)
	}
	return others, nil
}

// setCost sets what steps of strategy j took, no change taking still seconds.
func (s *Simulated) setCost(batches [][]pair, j int, still float64) {
	for _, b := range batches {
		s.Rounds = max(s.Rounds, b[j].rounds)
		s.Seconds += b[j].seconds / float64(len(batches))
	}
	s.PerSecond = s.Gain * still / s.Seconds
}

// otherStrategies returns the other strategies that can be simulated beside
// schedules, at the budget.
func otherStrategies(o Options) []Simulated {
	var all []Simulated
	for _, text := range strategy.Spending(o.Group, 1) {
		s, err := strategy.Parse(text, nil)
		if err != nil {
			continue // the budget is too small for its parameters
		}
		c := s.Capabilities()
		_, exact := s.(strategy.Budgeter)
		_, fixed := s.(*strategy.Fixed)
		_, vigor := s.(*strategy.Vigor)
		if exact && !fixed && !vigor && !c.History && !c.PicksPrompts && !c.Truth && !c.ChangesLoss {
			all = append(all, Simulated{Strategy: s.Spec()})
		}
	}
	return all
}

// sums are what one batch, or several, come to.
type sums struct {
	batches, generated        float64
	w, sigma, sigmaU, mixed   float64 // of the update: weights, and weighted figures
	estimate, estimateSquared float64 // of the batches' gradient estimates
}

// A pair is a strategy's batch with that of the fixed groups, and what its own
// took.
type pair struct {
	own, fixed sums
	rounds     int
	seconds    float64 // NaN without a clock
}

// A timed source remembers what is asked of it, round by round.
type timed struct {
	*source.Synthetic
	rounds []round
}

// Draw is that of the source.
func (t *timed) Draw(ctx context.Context, ask []rollout.Request, first, s, tokens []int) error {
	p, asked := t.Truth(), round{nodes: make([]distributions.Node, len(ask))}
	for i, q := range ask {
		asked.rollouts += float64(q.N)
		asked.nodes[i] = distributions.Node{P: p[q.X], W: float64(q.N)}
	}
	t.rounds = append(t.rounds, asked)
	return t.Synthetic.Draw(ctx, ask, first, s, tokens)
}

// batches runs strategies, each followed by the fixed groups that spend as
// much, on the same prompts.
type batches struct {
	o        Options
	source   timed
	lengths  *distributions.LengthLaw // nil where unknown
	spenders []*sim.Spender
}

func newBatches(law distributions.Law, lengths *distributions.LengthLaw, specs []string, o Options) (*batches, error) {
	b := &batches{o: o, lengths: lengths}
	var err error
	if b.source.Synthetic, err = source.NewSynthetic(law, nil, o.Batch); err != nil {
		return nil, err
	}
	for _, text := range specs {
		s, err := strategy.Parse(text, nil)
		if err != nil {
			return nil, err
		}
		if err := s.Start(o.Batch); err != nil {
			return nil, fmt.Errorf("plan: %s: %w", text, err)
		}
		fixed, err := strategy.NewFixedMean(s.(strategy.Budgeter).Budget(o.Batch), o.Batch)
		if err != nil {
			return nil, err
		}
		b.spenders = append(b.spenders, sim.NewSpender(s, o.Batch, false), sim.NewSpender(fixed, o.Batch, false))
	}
	return b, nil
}

// run simulates the batch that key names.
func (b *batches) run(ctx context.Context, key stream.Key) ([]pair, error) {
	if _, err := b.source.Reset(key); err != nil {
		return nil, err
	}
	all := make([]pair, len(b.spenders)/2)
	for i, s := range b.spenders {
		s.Begin(key, nil)
		b.source.rounds = b.source.rounds[:0]
		if err := s.Step(ctx, &b.source, b.o.Batch, b.source.Truth(), key); err != nil {
			return nil, err
		}
		if i%2 == 0 {
			all[i/2] = pair{own: b.sum(s), rounds: len(b.source.rounds), seconds: b.o.Clock.step(b.source.rounds, b.lengths)}
		} else {
			all[i/2].fixed = b.sum(s)
		}
	}
	return all, nil
}

func (b *batches) sum(s *sim.Spender) sums {
	t := sums{batches: 1, generated: float64(s.Ledger().Generated)}
	p, id := b.source.Truth(), s.Batch().ID
	gradient := 0.0
	s.EachTrained(func(x, n, k int) {
		w := 1.0
		if b.o.Aggregate == sim.AggregateRollout {
			w = float64(n)
		}
		t.w += w
		if k == 0 || k == n {
			return
		}
		sigma := 2 * math.Sqrt(float64(k)*float64(n-k)) / float64(n)
		t.mixed += w
		t.sigma += w * sigma
		t.sigmaU += w * sigma * distributions.U(p[id[x]])
		gradient += w * float64(k) * float64(n-k) / (float64(n) * float64(n-1))
	})
	t.estimate = gradient / t.w
	t.estimateSquared = t.estimate * t.estimate
	return t
}

// plus returns t + sign*other.
func (t sums) plus(sign float64, other sums) sums {
	t.batches += sign * other.batches
	t.generated += sign * other.generated
	t.w += sign * other.w
	t.sigma += sign * other.sigma
	t.sigmaU += sign * other.sigmaU
	t.mixed += sign * other.mixed
	t.estimate += sign * other.estimate
	t.estimateSquared += sign * other.estimateSquared
	return t
}

// merits are the figures of MeanField, estimated.
func (t sums) merits() Gains {
	mean := t.estimate / t.batches
	variance := (t.estimateSquared/t.batches - mean*mean) * t.batches / (t.batches - 1)
	return Gains{t.sigma / t.w, t.sigmaU / t.w, t.mixed / t.w, precision(t.generated / t.batches * variance / (mean * mean))}
}

// jackknife returns the gain of strategy j.
func jackknife(batches [][]pair, j int, objective string) Finite {
	var own, fixed sums
	for _, b := range batches {
		own, fixed = own.plus(1, b[j].own), fixed.plus(1, b[j].fixed)
	}
	gain := func(without pair) float64 {
		return own.plus(-1, without.own).merits().over(fixed.plus(-1, without.fixed).merits()).Of(objective)
	}
	all, n := gain(pair{}), float64(len(batches))
	mean, square := 0.0, 0.0
	left := make([]float64, len(batches))
	for k, b := range batches {
		left[k] = gain(b[j])
		mean += left[k] / n
	}
	for _, x := range left {
		square += (x - mean) * (x - mean)
	}
	return Finite{all, math.Sqrt(square * (n - 1) / n)}
}
