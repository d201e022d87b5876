package fit

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"golang.org/x/sync/errgroup"
)

// A replicate is a fit to counts drawn from a fitted law.
type replicate struct {
	*estimate
	distance float64 // what goodness of fit is judged by
	figures  Figures
	cdf      []float64 // of the most frequent number of rollouts; nil where sizes are drawn too
}

// bootstrap draws counts from e and fits e's family to them, again and again
// (parametric bootstrap). Replicate k draws from its own stream of the purpose
// alone, so that the result does not depend on the number of workers. There are
// none where nobody knows how to draw counts.
func (o Options) bootstrap(ctx context.Context, v view, e *estimate, c *Counts, purpose string) ([]replicate, error) {
	if o.Sizes(c) == SizesUnknown {
		return nil, nil
	}
	found := make([]replicate, o.Replicates)
	workers := max(1, o.Workers)
	group, ctx := errgroup.WithContext(ctx)
	for w := range workers {
		group.Go(func() error {
			again := redrawingSuccesses(v, e, c)
			if o.Design != nil {
				again = o.redrawing(e, c.prompts)
			}
			for k := w; k < o.Replicates; k += workers {
				if err := ctx.Err(); err != nil {
					return err
				}
				var err error
				if found[k], err = again(ctx, o.Streams(purpose, k)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return found, group.Wait()
}

// redrawingSuccesses returns what draws counts of the same sizes from an
// estimate, fits its family again and measures the distance.
func redrawingSuccesses(v view, e *estimate, c *Counts) func(ctx context.Context, r *rand.Rand) (replicate, error) {
	truth, own := newCountLaw(v, e, c), newCountLaw(v, e, c)
	return func(_ context.Context, r *rand.Rand) (replicate, error) {
		drawn := truth.draw(r)
		again, err := e.refit(v, drawn)
		if err != nil {
			return replicate{}, err
		}
		own.set(again)
		return replicate{again, own.distance(drawn), again.figures(), slices.Clone(own.frequent().cdf)}, nil
	}
}

// frequent returns the part of the law at the most frequent number of
// rollouts, the largest of equally frequent ones.
func (l *countLaw) frequent() *countPart {
	best := 0
	for k, s := range l.sizes {
		if s.prompts >= l.sizes[best].prompts {
			best = k
		}
	}
	return &l.parts[best]
}

// quantiles returns the 2.5 % and 97.5 % points of what figure says of the
// replicates, NaN where some of them have no such figure.
func quantiles(replicates []replicate, figure func(replicate) float64) (low, high float64) {
	if len(replicates) == 0 {
		return math.NaN(), math.NaN()
	}
	x := make([]float64, len(replicates))
	for k, r := range replicates {
		if x[k] = figure(r); math.IsNaN(x[k]) {
			return math.NaN(), math.NaN()
		}
	}
	slices.Sort(x)
	at := func(q float64) float64 { // linear between order statistics
		place := q * float64(len(x)-1)
		i := int(place)
		if i == len(x)-1 {
			return x[i]
		}
		return x[i] + (place-float64(i))*(x[i+1]-x[i])
	}
	return at(0.025), at(0.975)
}
