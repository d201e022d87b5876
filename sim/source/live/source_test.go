package live_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"vigorlab/distributions"
	"vigorlab/sim/rollout"
	"vigorlab/sim/source"
	"vigorlab/sim/source/live"
	"vigorlab/sim/stream"
)

// A model is an Answerer that counts what it made. It stops with failure once
// limit rollouts were made.
type model struct {
	prompts int
	limit   int // 0 for none
	failure error
	block   chan struct{} // where not nil, calls wait here once limit is reached, until ctx ends

	mutex sync.Mutex
	made  map[[2]int]int
	calls int
	open  int // calls at once, and the most
	most  int
	ended bool // a call that waited saw ctx end
}

func (m *model) Reset(stream.Key) (int, error) { return m.prompts, nil }

// success is what rollout index of prompt x gives, whenever it is made.
func success(x, index int) bool { return stream.New(9).With(uint64(x), uint64(index)).Uniform(0) < 0.4 }

func (m *model) Answer(ctx context.Context, x, index, n int, take func(int, live.Answer) error) error {
	m.mutex.Lock()
	m.calls++
	m.open++
	m.most = max(m.most, m.open)
	m.mutex.Unlock()
	defer func() {
		m.mutex.Lock()
		m.open--
		m.mutex.Unlock()
	}()
	for i := index + n - 1; i >= index; i-- { // not in the order of indices
		if err := m.one(ctx, x, i); err != nil {
			return err
		}
		a := live.Answer{Completion: fmt.Sprintf("%d.%d", x, i), FinishReason: "stop", PromptTokens: 3, Tokens: 1 + i%4}
		if i%5 == 0 {
			a.FinishReason = "length"
		}
		if a.Success = success(x, i); a.Success {
			a.Reward = 1
		}
		if err := take(i, a); err != nil {
			return err
		}
	}
	return nil
}

func (m *model) one(ctx context.Context, x, index int) error {
	m.mutex.Lock()
	if m.limit > 0 && len(m.made) >= m.limit {
		m.mutex.Unlock()
		if m.block != nil {
			<-ctx.Done()
			m.mutex.Lock()
			m.ended = true
			m.mutex.Unlock()
			return ctx.Err()
		}
		return m.failure
	}
	defer m.mutex.Unlock()
	if m.made == nil {
		m.made = map[[2]int]int{}
	}
	m.made[[2]int{x, index}]++
	return ctx.Err()
}

// A ledger is a journal in memory, whose lines are what a disk would hold.
type ledger struct {
	lines [][]byte
	full  int // lines at which it is full; 0 for never
	size  []int
}

func (l *ledger) append(entries []live.Entry) error {
	if l.full > 0 && len(l.lines)+len(entries) > l.full {
		return errors.New("no space left on device")
	}
	l.size = append(l.size, len(entries))
	for _, e := range entries {
		line, err := json.Marshal(e)
		if err != nil {
			return err
		}
		l.lines = append(l.lines, line)
	}
	return nil
}

// kept returns the rollouts of the journal, in its order.
func (l *ledger) kept(t *testing.T) []live.Rollout {
	t.Helper()
	var all []live.Rollout
	for _, line := range l.lines {
		var e live.Entry
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		if e.Rollout != nil {
			all = append(all, *e.Rollout)
		}
	}
	return all
}

// rollouts counts them by prompt and index.
func (l *ledger) rollouts(t *testing.T) map[[2]int]int {
	t.Helper()
	count := map[[2]int]int{}
	for _, r := range l.kept(t) {
		if want := fmt.Sprintf("%d.%d", r.X, r.Index); r.Completion != want {
			t.Fatalf("rollout %d of prompt %d is kept as %q", r.Index, r.X, r.Completion)
		}
		count[[2]int{r.X, r.Index}]++
	}
	return count
}

func newSource(t *testing.T, m live.Answerer, l *ledger, edit func(*live.SourceConfig)) *live.Source {
	t.Helper()
	cfg := live.SourceConfig{Answerer: m, Concurrency: 4, Served: true, Journal: l.append}
	if edit != nil {
		edit(&cfg)
	}
	s, err := live.NewSource(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range l.lines {
		var e live.Entry
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		if err := s.Restore(e); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Reset(stream.New(1)); err != nil {
		t.Fatal(err)
	}
	return s
}

// round asks n further rollouts of every prompt and checks the counts.
func round(ctx context.Context, t *testing.T, s *live.Source, prompts, first, n int) error {
	t.Helper()
	ask, firsts := make([]rollout.Request, prompts), make([]int, prompts)
	for x := range ask {
		ask[x], firsts[x] = rollout.Request{X: x, N: n}, first
	}
	got, tokens := make([]int, prompts), make([]int, prompts)
	if err := s.Draw(ctx, ask, firsts, got, tokens); err != nil {
		return err
	}
	for x := range ask {
		want, wantTokens := 0, 0
		for i := first; i < first+n; i++ {
			if success(x, i) {
				want++
			}
			wantTokens += 1 + i%4
		}
		if got[x] != want || tokens[x] != wantTokens {
			t.Errorf("prompt %d, rollouts %d to %d: %d successes and %d tokens, want %d and %d", x, first, first+n-1, got[x], tokens[x], want, wantTokens)
		}
	}
	return nil
}

// TestSourceGoesOn stops a run of two rounds after every possible number of
// rollouts: the next sitting asks for exactly those that are missing, and none is
// lost, made twice or counted twice.
func TestSourceGoesOn(t *testing.T) {
	const prompts, first, second = 5, 3, 2
	for stop := 1; stop < prompts*(first+second); stop++ {
		l := &ledger{}
		m := &model{prompts: prompts, limit: stop, failure: errors.New("the server is gone")}
		s := newSource(t, m, l, nil)
		err := round(context.Background(), t, s, prompts, 0, first)
		if err == nil {
			err = round(context.Background(), t, s, prompts, first, second)
		}
		if !errors.Is(err, m.failure) {
			t.Fatalf("stopped after %d: error %v", stop, err)
		}
		if got := len(l.rollouts(t)); got != stop {
			t.Fatalf("%d rollouts are kept of the %d that were made", got, stop)
		}
		passed := map[int]float64{} // seconds of a round
		for _, r := range l.kept(t) {
			passed[r.Round] = max(passed[r.Round], r.Elapsed)
		}
		again := &model{prompts: prompts}
		s = newSource(t, again, l, nil)
		for _, r := range [][2]int{{0, first}, {first, second}} {
			if err := round(context.Background(), t, s, prompts, r[0], r[1]); err != nil {
				t.Fatal(err)
			}
		}
		if len(again.made) != prompts*(first+second)-stop {
			t.Errorf("stopped after %d: the next sitting made %d, want the other %d", stop, len(again.made), prompts*(first+second)-stop)
		}
		for _, r := range l.kept(t)[stop:] { // time goes on where the first sitting stopped
			if r.Elapsed < passed[r.Round] {
				t.Errorf("stopped after %d, %v s into round %d: one of its next rollouts came after %v s", stop, passed[r.Round], r.Round, r.Elapsed)
			}
		}
		for key, n := range l.rollouts(t) {
			if n != 1 || m.made[key]+again.made[key] != 1 {
				t.Errorf("stopped after %d: rollout %v is kept %d times and was made %d times", stop, key, n, m.made[key]+again.made[key])
			}
		}
		var total live.Cost
		for r, c := range s.Rounds() {
			want := prompts * []int{first, second}[r]
			cutOff := prompts * []int{1, 0}[r] // rollout 0 of 0, 1, 2, none of 3, 4
			if c.Rollouts != want || c.PromptTokens != 3*want || c.Truncated != cutOff {
				t.Errorf("round %d: cost %+v, want %d rollouts, %d of them cut off", r+1, c, want, cutOff)
			}
			if c.Extra > 4*first { // four calls were open at most
				t.Errorf("round %d: %d extra, more than was in flight", r+1, c.Extra)
			}
			total.Kept += c.Kept
		}
		if total.Kept != stop {
			t.Errorf("%d rollouts of the first sitting, want %d", total.Kept, stop)
		}
	}
}

// TestSourceEndsWithItsContext: an interrupt ends the round, what had come is kept,
// and what was in flight is charged, never more.
func TestSourceEndsWithItsContext(t *testing.T) {
	l := &ledger{}
	m := &model{prompts: 20, limit: 9, block: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s := newSource(t, m, l, func(c *live.SourceConfig) {
		c.Progress = func(c live.Cost) {
			if c.Rollouts >= 9 {
				cancel()
			}
		}
		c.Surplus = func() (int, int) {
			m.mutex.Lock()
			defer m.mutex.Unlock()
			if !m.ended {
				return 0, 0
			}
			return 3, 30 // of what was in flight, come too late
		}
	})
	if err := round(ctx, t, s, 20, 0, 4); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want that of the context", err)
	}
	if got := len(l.rollouts(t)); got != 9 {
		t.Errorf("%d rollouts are kept, want the 9 that came", got)
	}
	if bytes.Contains(bytes.Join(l.lines, nil), []byte(`{"extra":`)) {
		t.Error("what came too late is charged as surplus, and again as what was in flight")
	}
	s = newSource(t, &model{prompts: 20}, l, nil)
	if err := round(context.Background(), t, s, 20, 0, 4); err != nil {
		t.Fatal(err)
	}
	if c := s.Rounds()[0]; c.Extra < 1 || c.Extra > 4*4 || c.Rollouts != 80 {
		t.Errorf("cost %+v, want 1 to 16 extra: four calls of four were open", c)
	}
}

// TestSourceOnAFullDisk: what the disk does not hold does not count, and ends the
// round.
func TestSourceOnAFullDisk(t *testing.T) {
	l := &ledger{full: 30}
	s := newSource(t, &model{prompts: 50}, l, nil)
	if err := round(context.Background(), t, s, 50, 0, 4); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Fatalf("error %v, want that of the disk", err)
	}
	before := len(l.rollouts(t))
	l.full = 0
	again := &model{prompts: 50}
	s = newSource(t, again, l, nil)
	if err := round(context.Background(), t, s, 50, 0, 4); err != nil || len(again.made) != 200-before {
		t.Errorf("error %v, %d rollouts made, want the %d that the disk did not hold", err, len(again.made), 200-before)
	}
}

// An announced is a model that wants every request on the disk before it is made.
type announced struct {
	model
	disk *sync.Map // of the spans that were asked, by prompt and first index
}

func (a *announced) Answer(ctx context.Context, x, index, n int, take func(int, live.Answer) error) error {
	if _, there := a.disk.Load([2]int{x, index}); !there {
		return fmt.Errorf("rollout %d of prompt %d is asked for before it is on the disk", index, x)
	}
	return a.model.Answer(ctx, x, index, n, take)
}

// TestSourceAnnounces: a request is on the disk before it is sent, or a kill would
// hide what it cost.
func TestSourceAnnounces(t *testing.T) {
	disk := new(sync.Map)
	m := &announced{model{prompts: 50}, disk}
	src, err := live.NewSource(live.SourceConfig{Answerer: m, Concurrency: 8, Most: func() int { return 2 }, Served: true, Journal: func(entries []live.Entry) error {
		time.Sleep(100 * time.Microsecond) // a slow disk
		for _, e := range entries {
			if e.Asked != nil {
				disk.Store([2]int{e.Asked.X, e.Asked.Index}, true)
			}
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	ask := make([]rollout.Request, m.prompts)
	for x := range ask {
		ask[x] = rollout.Request{X: x, N: 7}
	}
	if err := src.Draw(t.Context(), ask, make([]int, len(ask)), make([]int, len(ask)), nil); err != nil {
		t.Error(err)
	}
}

// TestSourceRefuses answers that were not asked for, and journals of other runs.
func TestSourceRefuses(t *testing.T) {
	for name, m := range map[string]struct {
		answers []int
		want    string
	}{
		"twice": {[]int{0, 1, 1}, "came twice"}, "beside": {[]int{0, 1, 3}, "never asked for"}, "short": {[]int{0, 2}, "1 of 3 rollouts of prompt 0 never came"},
	} {
		s := newSource(t, stub(m.answers), &ledger{}, nil)
		if err := round(context.Background(), t, s, 1, 0, 3); err == nil || !strings.Contains(err.Error(), m.want) {
			t.Errorf("%s: error %v, want %q", name, err, m.want)
		}
	}
	l := &ledger{}
	s := newSource(t, &model{prompts: 2}, l, nil)
	if err := errors.Join(round(context.Background(), t, s, 2, 0, 1), round(context.Background(), t, s, 2, 1, 1)); err != nil {
		t.Fatal(err)
	}
	s = newSource(t, &model{prompts: 2}, l, nil)
	if err := round(context.Background(), t, s, 2, 0, 2); err == nil || !strings.Contains(err.Error(), "of another strategy, seed or version") {
		t.Errorf("a journal of other rounds: error %v", err)
	}
	kept := slices.IndexFunc(l.lines, func(line []byte) bool { return bytes.Contains(line, []byte(`"rollout"`)) })
	var e live.Entry
	if err := json.Unmarshal(l.lines[kept], &e); err != nil || e.Rollout == nil {
		t.Fatalf("line %d is %s: %v", kept+1, l.lines[kept], err)
	}
	if err := s.Restore(e); err == nil || !strings.Contains(err.Error(), "there twice") {
		t.Errorf("a rollout twice: error %v", err)
	}
	if _, err := newSourceOf(t, l, 1).Reset(stream.New(1)); err == nil {
		t.Error("a journal of more prompts is taken")
	}
}

func newSourceOf(t *testing.T, l *ledger, prompts int) *live.Source {
	t.Helper()
	s, err := live.NewSource(live.SourceConfig{Answerer: &model{prompts: prompts}, Concurrency: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range l.lines {
		var e live.Entry
		if err := errors.Join(json.Unmarshal(line, &e), s.Restore(e)); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// A stub answers with the indices that it is told.
type stub []int

func (s stub) Reset(stream.Key) (int, error) { return 1, nil }

func (s stub) Answer(_ context.Context, _, _, _ int, take func(int, live.Answer) error) error {
	for _, i := range s {
		if err := take(i, live.Answer{Tokens: 1}); err != nil {
			return err
		}
	}
	return nil
}

// TestSourceLimits: at most Concurrency calls are open, none asks for more than
// Most, and the journal is written by batches.
func TestSourceLimits(t *testing.T) {
	l, m := &ledger{}, &model{prompts: 400}
	s := newSource(t, m, l, func(c *live.SourceConfig) { c.Concurrency, c.Most = 7, func() int { return 3 } })
	if err := round(context.Background(), t, s, 400, 0, 8); err != nil {
		t.Fatal(err)
	}
	if m.most > 7 || m.calls != 3*400 {
		t.Errorf("%d calls, %d at once, want 1200, 3, 3 and 2 of 8 rollouts, and at most 7", m.calls, m.most)
	}
	if slices.Max(l.size) < 2 || slices.Max(l.size) > 1024 {
		t.Errorf("the largest batch of the journal has %d entries, want some of several and none above 1024", slices.Max(l.size))
	}
}

// TestSurplus: what a server made beside what was asked is charged once, whatever
// the number of rounds and sittings, and before the round ends, which a kill or a
// full disk may prevent.
func TestSurplus(t *testing.T) {
	l := &ledger{}
	rollouts, tokens := 0, 0
	for sitting := range 2 {
		rollouts, tokens = 0, 0 // a new client
		s := newSource(t, &model{prompts: 3}, l, func(c *live.SourceConfig) {
			c.Surplus = func() (int, int) { return rollouts, tokens }
		})
		for r := range sitting + 2 {
			if r >= 2*sitting { // the second sitting keeps two rounds
				rollouts, tokens = rollouts+2, tokens+10
			}
			if err := round(context.Background(), t, s, 3, 2*r, 2); err != nil {
				t.Fatal(err)
			}
		}
		for r, c := range s.Rounds() {
			if c.Extra != 2 || c.ExtraTokens != 10 {
				t.Errorf("sitting %d, round %d: %d extra of %d tokens, want 2 of 10", sitting+1, r+1, c.Extra, c.ExtraTokens)
			}
		}
	}
	late := &ledger{}
	s := newSource(t, stub{0, 2}, late, func(c *live.SourceConfig) { c.Surplus = func() (int, int) { return 4, 40 } })
	if err := round(context.Background(), t, s, 1, 0, 3); err == nil {
		t.Fatal("a rollout that never came ends no round")
	}
	if want := `{"extra":{"rollouts":3,"tokens":30,"round":1}}`; string(late.lines[len(late.lines)-1]) != want {
		t.Errorf("the last line is %s, want %s: of 4 beside what was asked one may be that which never came", late.lines[len(late.lines)-1], want)
	}
	short := &ledger{full: 30}
	m := &model{prompts: 50}
	s = newSource(t, m, short, func(c *live.SourceConfig) {
		c.Surplus = func() (int, int) {
			m.mutex.Lock()
			defer m.mutex.Unlock()
			return m.calls, 5 * m.calls
		}
	})
	if err := round(context.Background(), t, s, 50, 0, 2); err == nil {
		t.Fatal("a full disk ends no round")
	}
	if !bytes.Contains(bytes.Join(short.lines, nil), []byte(`{"extra":`)) {
		t.Error("the surplus of a round that did not end is not on the disk")
	}
}

// TestSimulatedWorkers: a run without a server gives the same whatever runs at
// once, and the law of its source: over seeds fewer than 1e-6 of the runs have a
// share of successes that is tol = 0.0191 off (Hoeffding; one of 2 tol is missed as
// seldom).
func TestSimulatedWorkers(t *testing.T) {
	const prompts, n, tol = 200, 100, 0.0191
	law, err := distributions.NewPoint(0.3)
	if err != nil {
		t.Fatal(err)
	}
	var results [][]int
	for _, concurrency := range []int{1, 8} {
		src, err := source.NewSynthetic(law, nil, prompts)
		if err != nil {
			t.Fatal(err)
		}
		s, err := live.NewSource(live.SourceConfig{Answerer: live.NewSimulated(src, false), Concurrency: concurrency})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Reset(stream.New(5)); err != nil {
			t.Fatal(err)
		}
		ask, got := make([]rollout.Request, prompts), make([]int, prompts)
		for x := range ask {
			ask[x] = rollout.Request{X: x, N: n}
		}
		if err := s.Draw(context.Background(), ask, make([]int, prompts), got, nil); err != nil {
			t.Fatal(err)
		}
		sum := 0
		for _, k := range got {
			sum += k
		}
		if share := float64(sum) / (prompts * n); share < 0.3-tol || share > 0.3+tol {
			t.Errorf("%v of the rollouts succeed, want 0.3 ± %v", share, tol)
		}
		results = append(results, got)
	}
	if !slices.Equal(results[0], results[1]) {
		t.Error("the counts depend on the concurrency")
	}
}
