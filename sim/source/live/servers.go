package live

import (
	"context"
	"fmt"
	"math"
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
// in flight, but for a request that failed another than the one that failed it:
// or it might spend its retries on a dead server beside one that lives. One that fails tripAt times in a row is set aside, for waits that
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

// pick returns the server to ask next, once there is one: not the last, nil for
// none, where there is another.
func (p *pool) pick(ctx context.Context, last *server) (visit, error) {
	for {
		if ctx.Err() != nil {
			return visit{}, context.Cause(ctx)
		}
		p.mu.Lock()
		s, wait := p.best(time.Now(), last)
		stopped, failure, changed := p.stopped, p.last, p.changed
		if s != nil && stopped == nil {
			v := s.begin()
			p.mu.Unlock()
			return v, nil
		}
		p.mu.Unlock()
		switch {
		case stopped != nil:
			return visit{}, stopped
		case wait > longestWait:
			return visit{}, fmt.Errorf("no server may be asked for the next %v: %w", wait.Round(time.Second), failure)
		}
		select {
		case <-ctx.Done():
		case <-changed:
		case <-time.After(wait):
		}
	}
}

// best returns the server to ask now, or nil and how long none may be asked.
// One that a request in flight tries may be back at any time.
func (p *pool) best(now time.Time, last *server) (best *server, wait time.Duration) {
	wait = math.MaxInt64
	for _, s := range p.servers {
		switch {
		case s.probing:
			wait = min(wait, longestWait)
		case now.Before(s.until):
			wait = min(wait, s.until.Sub(now))
		case best == nil, best == last:
			best = s
		case s == last:
		case s.inFlight < best.inFlight, s.inFlight == best.inFlight && s.asked < best.asked:
			best = s
		}
	}
	return best, wait
}

// begin begins a visit.
func (s *server) begin() visit {
	s.inFlight++
	s.asked++
	v := visit{server: s, epoch: s.epoch, probe: s.failures >= tripAt}
	s.probing = s.probing || v.probe
	return v
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
