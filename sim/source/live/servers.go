package live

import (
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	// tripAt failures in a row set a server aside: one or two are bad luck at
	// fault rates at which a server is still of use.
	tripAt = 3
	// longestBackoff bounds the doubling waits.
	longestBackoff = 30 * time.Second
	// longestWait is what a server's Retry-After may ask for, if there is no
	// other to go to: a quota that comes back in an hour ends a run.
	longestWait = 2 * time.Minute
)

// A server is one base URL and how it fares.
type server struct {
	base string
	post poster

	inFlight, asked int
	failures        int       // in a row
	epoch           int       // how often it was set aside
	until           time.Time // not to be asked before
	probing         bool      // one request finds out whether it is back
}

// A visit is one attempt at one server.
type visit struct {
	*server
	epoch int
	probe bool
}

// A pool shares the load over servers. Who is asked is the one with the least
// in flight. One that fails tripAt times in a row is set aside, for waits that
// double, after each of which a single request tries it again. Requests that
// were in flight together when it was set aside fail together, and count as
// the one failure that they are.
type pool struct {
	servers     []*server
	backoff     func(failures int) time.Duration
	maxFailures int

	mu       sync.Mutex
	failures int           // in a row, of all servers
	last     error         // the last of them
	stopped  error         // too many in a row
	changed  chan struct{} // closed when a server may have become free
}

// pick returns the server to ask next, once there is one.
func (p *pool) pick(ctx context.Context) (visit, error) {
	for {
		p.mu.Lock()
		now := time.Now()
		s, at := p.best(now)
		v := visit{server: s}
		if s != nil && p.stopped == nil {
			s.inFlight++
			s.asked++
			v.epoch, v.probe = s.epoch, s.failures >= tripAt
			s.probing = s.probing || v.probe
		}
		stopped, last, changed := p.stopped, p.last, p.changed
		p.mu.Unlock()

		wait := at.Sub(now)
		switch {
		case stopped != nil:
			return visit{}, stopped
		case s != nil:
			return v, nil
		case at.IsZero():
			wait = longestWait // until changed, in truth
		case wait > longestWait:
			return visit{}, fmt.Errorf("no server may be asked for the next %v: %w", wait.Round(time.Second), last)
		}
		select {
		case <-ctx.Done():
			return visit{}, ctx.Err()
		case <-changed:
		case <-time.After(wait):
		}
	}
}

// best returns the server to ask now, or nil and when one may be asked, zero
// if that depends on a request in flight.
func (p *pool) best(now time.Time) (best *server, at time.Time) {
	for _, s := range p.servers {
		switch {
		case s.probing:
		case now.Before(s.until):
			if at.IsZero() || s.until.Before(at) {
				at = s.until
			}
		case best == nil, s.inFlight < best.inFlight, s.inFlight == best.inFlight && s.asked < best.asked:
			best = s
		}
	}
	return best, at
}

// abandon ends a visit that says nothing about its server.
func (p *pool) abandon(v visit) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leave(v)
}

// succeed ends a visit that brought an answer.
func (p *pool) succeed(v visit) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leave(v)
	if v.failures >= tripAt {
		v.until = time.Time{}
	}
	v.failures, p.failures = 0, 0
}

// fail ends a visit that brought none, and keeps the server from being asked
// for as long as it wishes.
func (p *pool) fail(v visit, f *failure) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leave(v)
	now := time.Now()
	p.last = f
	v.setAside(now.Add(f.wish))
	if v.epoch != v.server.epoch {
		return
	}
	v.failures++
	p.failures++
	if v.failures >= tripAt {
		v.setAside(now.Add(p.backoff(v.failures - tripAt)))
		v.server.epoch++
	}
	if p.failures >= p.maxFailures && p.stopped == nil {
		p.stopped = fmt.Errorf("stopped after %d failures in a row, the last of them: %w", p.failures, f)
	}
}

func (s *server) setAside(until time.Time) {
	if until.After(s.until) {
		s.until = until
	}
}

func (p *pool) leave(v visit) {
	v.inFlight--
	if v.probe {
		v.probing = false
	}
	close(p.changed)
	p.changed = make(chan struct{})
}
