package reward

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// waiting is how many items a worker has before it, so that a slow one does not
// keep the others idle.
const waiting = 16

// An ItemError is a failure of the verifier, with what was told about the item.
type ItemError struct {
	About any
	Err   error
}

func (e *ItemError) Error() string { return e.Err.Error() }
func (e *ItemError) Unwrap() error { return e.Err }

// InOrder judges items with a number of workers, at least 1, and hands the grades
// to take in the order of the items, so that nothing depends on the workers.
// source yields the items, each with what take is to know of it. Source and take
// run beside each other, each in one goroutine. The first error, of source, the verifier or take,
// or the end of ctx, ends it.
func InOrder[T any](ctx context.Context, v Verifier, workers int,
	source func(ctx context.Context, yield func(Item, T) error) error, take func(T, Item, Grade) error,
) error {
	type job struct {
		item  Item
		about T
		grade chan Grade
	}
	group, ctx := errgroup.WithContext(ctx)
	todo, order := make(chan job), make(chan job, waiting*workers)
	group.Go(func() error {
		defer close(order)
		defer close(todo)
		return source(ctx, func(item Item, about T) error {
			j := job{item, about, make(chan Grade, 1)}
			for _, to := range []chan job{order, todo} {
				select {
				case to <- j:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			return nil
		})
	})
	for range workers {
		group.Go(func() error {
			for j := range todo {
				g, err := v.Verify(ctx, j.item)
				if err != nil {
					return &ItemError{j.about, err}
				}
				j.grade <- g
			}
			return nil
		})
	}
	group.Go(func() error {
		for j := range order {
			select {
			case g := <-j.grade:
				if err := take(j.about, j.item, g); err != nil {
					return err
				}
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	return group.Wait()
}
