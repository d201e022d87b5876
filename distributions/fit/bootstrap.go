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
	distance float64
	figures  Figures
	cdf      []float64 // of the most frequent number of rollouts
}

// bootstrap draws counts from e and fits e's family to them, again and again
// (parametric bootstrap). Replicate k draws from streams(k) alone, so that the
// result does not depend on the number of workers.
func bootstrap(ctx context.Context, v view, e *estimate, c *Counts, replicates, workers int, streams func(k int) *rand.Rand) ([]replicate, error) {
	found := make([]replicate, replicates)
	group, ctx := errgroup.WithContext(ctx)
	for w := range workers {
		group.Go(func() error {
			truth, own := newCountLaw(v, e, c), newCountLaw(v, e, c)
			for k := w; k < replicates; k += workers {
				if err := ctx.Err(); err != nil {
					return err
				}
				drawn := truth.draw(streams(k))
				again, err := e.refit(v, drawn)
				if err != nil {
					return err
				}
				own.set(again)
				found[k] = replicate{again, own.distance(drawn), again.figures(), slices.Clone(own.frequent().cdf)}
			}
			return nil
		})
	}
	return found, group.Wait()
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
