package gradient

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"

	"golang.org/x/sync/errgroup"

	"vigorlab/sim/stream"
)

// A Config says how much is checked. The results depend on everything but
// Workers.
type Config struct {
	Seed          uint64
	Workers       int // goroutines, >= 1
	Settings      int // policies, each with 4 groups under every row of the table, >= 1
	PlantSettings int // of these, how many are judged again with mistakes planted, in [0, Settings]
	MaxPoints     int // of Result.Points, >= 0
}

// DefaultConfig returns the configuration of the ladder: about 2 seconds of one
// core when quick, 20 otherwise.
func DefaultConfig(quick bool) Config {
	c := Config{Seed: 1, Workers: runtime.GOMAXPROCS(0), Settings: 30_000, PlantSettings: 3000, MaxPoints: 2000}
	if quick {
		c.Settings, c.PlantSettings, c.MaxPoints = 3000, 300, 500
	}
	return c
}

func (c Config) validate() error {
	var errs []error
	for _, f := range []struct {
		field     string
		value     int
		low, high int
	}{
		{"workers", c.Workers, 1, math.MaxInt},
		{"settings", c.Settings, 1, math.MaxInt},
		{"plant settings", c.PlantSettings, 0, max(0, c.Settings)},
		{"points", c.MaxPoints, 0, math.MaxInt},
	} {
		if f.value < f.low || f.value > f.high {
			errs = append(errs, fmt.Errorf("gradient: %s = %d, want [%d, %d]", f.field, f.value, f.low, f.high))
		}
	}
	return errors.Join(errs...)
}

// block is how many settings are in memory at a time.
const block = 256

// Check runs rung 1. It stops with ctx's error when ctx ends. A broken bound is
// no error but part of the result.
func Check(ctx context.Context, cfg Config) (*Result, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	t := newTally(cfg)
	for low := 0; low < cfg.Settings; low += block {
		sessions := make([]*session, min(block, cfg.Settings-low))
		work, ctx := errgroup.WithContext(ctx)
		work.SetLimit(cfg.Workers)
		for i := range sessions {
			work.Go(func() (err error) {
				if err := ctx.Err(); err != nil {
					return err
				}
				sessions[i], err = t.hold(low + i)
				return err
			})
		}
		if err := work.Wait(); err != nil {
			return nil, err
		}
		for _, s := range sessions {
			if err := t.add(s); err != nil {
				return nil, err
			}
		}
	}
	return t.result()
}

// A session is a setting with the verdicts on its cases.
type session struct {
	*setting
	cases    []judged
	planted  []judged // which holds the plant in place of the row, and spread of the honest verdict
	expected []expectation
}

type judged struct {
	verdict
	row    int
	group  *group
	spread bool // the rewards are not all equal: the bound is not 0
}

// hold draws setting i from its own stream and judges it.
func (t *tally) hold(i int) (*session, error) {
	r := stream.Rand(stream.New(t.cfg.Seed).Named("gradient").With(uint64(i)))
	setting, err := newSetting(i, r)
	if err != nil {
		return nil, err
	}
	s := &session{setting: setting}
	for g := range s.groups {
		for k, w := range t.rows {
			v, err := s.judge(s.groups[g], w, honest())
			if err != nil {
				return nil, err
			}
			s.cases = append(s.cases, judged{v, k, &s.groups[g], v.bound > 0})
			if i >= t.cfg.PlantSettings {
				continue
			}
			if err := s.plant(t.plants, &s.groups[g], w, v.bound > 0); err != nil {
				return nil, err
			}
		}
	}
	now, j := s.at(s.after), s.jacobian()
	s.expected = []expectation{now.expect(s.allRewards(), j), now.expect(s.graded, j)}
	return s, nil
}

// plant judges a case again with every mistake that applies to it.
func (s *session) plant(plants []plant, g *group, w row, spread bool) error {
	for k, p := range plants {
		if !p.applies(w) {
			continue
		}
		spoiled := honest()
		p.spoil(&spoiled)
		v, err := s.judge(*g, w, spoiled)
		if err != nil {
			return err
		}
		s.planted = append(s.planted, judged{v, k, g, spread})
	}
	return nil
}
