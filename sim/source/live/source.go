package live

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"vigorlab/sim/rollout"
	"vigorlab/sim/stream"
)

// A Rollout is one answer with its reward, as it is kept.
type Rollout struct {
	X      int `json:"x"`     // the prompt's place in the batch
	Index  int `json:"index"` // among the prompt's rollouts, from 0
	Round  int `json:"round"` // that asked for it, from 1
	Answer     // what was answered, and what that is worth
	// Elapsed are the seconds from the round's start until it came, sittings
	// before this one included; 0 where no server was asked.
	Elapsed float64 `json:"elapsed,omitempty"`
}

// An Answer is what became of one rollout. Texts are empty where no server was
// asked.
type Answer struct {
	Completion   string   `json:"completion,omitempty"`
	FinishReason string   `json:"finish_reason,omitempty"`
	PromptTokens int      `json:"prompt_tokens,omitempty"`
	Tokens       int      `json:"tokens,omitempty"`    // out
	Uncounted    bool     `json:"uncounted,omitempty"` // the server did not count them
	LogProb      *float64 `json:"logprob,omitempty"`
	Seconds      float64  `json:"seconds,omitempty"` // of its request
	Judgement
}

// Truncated reports whether a limit on tokens cut the completion off.
func (a *Answer) Truncated() bool { return a.FinishReason == finishLength }

// A Judgement is what a completion is worth.
type Judgement struct {
	Reward  float64 `json:"reward"`
	Success bool    `json:"success"`
	Kind    string  `json:"kind,omitempty"`   // a verifier's word
	Detail  string  `json:"detail,omitempty"` // and its reason
}

// A Span are n rollouts of one prompt, of which index is the first.
type Span struct {
	X     int `json:"x"`
	Index int `json:"index"`
	N     int `json:"n"`
	Round int `json:"round"`
}

// An Extra are rollouts that a server made beside what was asked, and their
// tokens.
type Extra struct {
	Rollouts int `json:"rollouts"`
	Tokens   int `json:"tokens"`
	Round    int `json:"round"`
}

// An Entry is a line of the journal: one of the three.
type Entry struct {
	Rollout *Rollout `json:"rollout,omitempty"`
	Asked   *Span    `json:"asked,omitempty"` // a request is about to be sent
	Extra   *Extra   `json:"extra,omitempty"`
}

// An Answerer answers for single rollouts. Goroutines share it.
type Answerer interface {
	// Reset starts the batch that key names and returns its size.
	Reset(key stream.Key) (int, error)
	// Answer makes n rollouts of prompt x, of which index names the first, and
	// hands each to take as it comes, from one goroutine at a time. It ends when
	// all were taken, or with an error.
	Answer(ctx context.Context, x, index, n int, take func(index int, a Answer) error) error
}

// A SourceConfig says how a Source asks and what it keeps.
type SourceConfig struct {
	Answerer    Answerer
	Concurrency int        // calls of Answerer at once, >= 1
	Most        func() int // rollouts that a call may ask for, >= 1, asked before each; nil for no limit
	// Served says that a server makes the rollouts: they take time, and what was
	// asked and never came is charged, at most what was in flight.
	Served bool
	// Surplus, if not nil, returns what a server made so far beside what was
	// asked, and its tokens. It is asked after every call of Answerer.
	Surplus func() (rollouts, tokens int)
	// Journal, if not nil, puts entries on the disk. It is called from one
	// goroutine at a time, and nothing counts before it has returned.
	Journal func([]Entry) error
	// Progress, if not nil, is told after every batch of entries what all rounds
	// have cost.
	Progress func(Cost)
}

// A Cost is what rounds have cost, rollouts of earlier sittings included.
type Cost struct {
	Rollouts     int     // that count
	PromptTokens int     // tokens in
	Tokens       int     // tokens out
	Truncated    int     // rollouts that a limit on tokens cut off
	Unmeasured   int     // rollouts whose tokens out nobody counted
	Kept         int     // rollouts of earlier sittings
	Extra        int     // rollouts paid for beside these: surplus, or in flight when a sitting ended
	ExtraTokens  int     // of the surplus
	Seconds      float64 // wall clock, waiting for the disk included
}

// Plus returns the sum of two costs.
func (c Cost) Plus(d Cost) Cost {
	c.Rollouts += d.Rollouts
	c.PromptTokens += d.PromptTokens
	c.Tokens += d.Tokens
	c.Truncated += d.Truncated
	c.Unmeasured += d.Unmeasured
	c.Kept += d.Kept
	c.Extra += d.Extra
	c.ExtraTokens += d.ExtraTokens
	c.Seconds += d.Seconds
	return c
}

// A Source is a rollout.Source whose rollouts are made one by one, journaled, and
// never made again: a run that was stopped asks for what is missing alone, if the
// strategy asks as it did. Rollouts are known by prompt and index and remember
// their round.
//
// It is no rollout.LengthSource, since nobody knows the mean length of a prompt's
// rollouts beforehand, and no TruthSource. Draw fills in tokens all the same.
type Source struct {
	cfg    SourceConfig
	kept   [][]outcome // by prompt and index
	rounds []roundCost

	charging sync.Mutex
	surplus  Extra // as last told by cfg.Surplus
}

// An outcome is what must be remembered of a rollout.
type outcome struct {
	round   int32 // 0 for a rollout that is not there
	success bool
	tokens  int
}

// A roundCost is the cost of a round with the rollouts that were asked for.
type roundCost struct {
	Cost
	asked int // of a server
	made  int
}

var _ rollout.Source = (*Source)(nil)

// NewSource returns a source. Restore comes next, then Reset.
func NewSource(cfg SourceConfig) (*Source, error) {
	if cfg.Answerer == nil || cfg.Concurrency < 1 {
		return nil, fmt.Errorf("concurrency = %d, want at least 1, and an answerer", cfg.Concurrency)
	}
	return &Source{cfg: cfg}, nil
}

// Restore takes an entry of an earlier sitting's journal, in its order.
func (s *Source) Restore(e Entry) error {
	if r := e.Rollout; r != nil && (r.X < 0 || r.Index < 0 || r.Round < 1 || s.at(r.X, r.Index).round != 0) {
		return fmt.Errorf("rollout %d of prompt %d in round %d is out of range or there twice", r.Index, r.X, r.Round)
	}
	s.count(e)
	if e.Rollout != nil {
		s.cost(e.Rollout.Round).Kept++
	}
	return nil
}

// Reset implements rollout.Source. It keeps the rollouts that are there: a source
// is for one batch.
func (s *Source) Reset(key stream.Key) (int, error) {
	n, err := s.cfg.Answerer.Reset(key)
	if err == nil && len(s.kept) > n {
		err = fmt.Errorf("rollouts of prompt %d are kept, of a batch of %d", len(s.kept)-1, n)
	}
	return n, err
}

// at returns what is kept of a rollout.
func (s *Source) at(x, index int) outcome {
	if x < len(s.kept) && index < len(s.kept[x]) {
		return s.kept[x][index]
	}
	return outcome{}
}

// keep remembers a rollout.
func (s *Source) keep(x, index int, o outcome) {
	for len(s.kept) <= x {
		s.kept = append(s.kept, nil)
	}
	for len(s.kept[x]) <= index {
		s.kept[x] = append(s.kept[x], outcome{})
	}
	s.kept[x][index] = o
}

// cost returns the cost of a round.
func (s *Source) cost(round int) *roundCost {
	for len(s.rounds) < round {
		s.rounds = append(s.rounds, roundCost{})
	}
	return &s.rounds[round-1]
}

// count counts an entry that is on the disk.
func (s *Source) count(e Entry) {
	if a := e.Asked; a != nil {
		s.cost(a.Round).asked += a.N
	}
	if x := e.Extra; x != nil {
		c := s.cost(x.Round)
		c.Extra += x.Rollouts
		c.ExtraTokens += x.Tokens
	}
	r := e.Rollout
	if r == nil {
		return
	}
	s.keep(r.X, r.Index, outcome{int32(r.Round), r.Success, r.Tokens})
	c := s.cost(r.Round)
	c.made++
	c.PromptTokens += r.PromptTokens
	c.Tokens += r.Tokens
	c.Seconds = max(c.Seconds, r.Elapsed)
	if r.Truncated() {
		c.Truncated++
	}
	if r.Uncounted {
		c.Unmeasured++
	}
}

// Draw implements rollout.Source: it makes the rollouts that are not kept, and
// counts when all are. What was made before an error is kept.
func (s *Source) Draw(ctx context.Context, ask []rollout.Request, first, got, tokens []int) error {
	round := s.drawn() + 1
	spans, err := s.missing(ask, first, round)
	if err != nil {
		return err
	}
	if err := s.fetch(ctx, spans, round); err != nil {
		return err
	}
	for i, q := range ask {
		got[i] = 0
		sum := 0
		for k := range q.N {
			o := s.at(q.X, first[i]+k)
			if o.success {
				got[i]++
			}
			sum += o.tokens
		}
		if tokens != nil {
			tokens[i] = sum
		}
		s.cost(round).Rollouts += q.N
	}
	return nil
}

// drawn returns the rounds that were drawn since the source was made.
func (s *Source) drawn() int {
	n := 0
	for n < len(s.rounds) && s.rounds[n].Rollouts > 0 {
		n++
	}
	return n
}

// missing returns the spans of a round that are not kept.
// A rollout that another round asked for shows that another strategy made the
// journal.
func (s *Source) missing(ask []rollout.Request, first []int, round int) ([]Span, error) {
	var spans []Span
	for i, q := range ask {
		open := false // the last span may grow
		for index := first[i]; index < first[i]+q.N; index++ {
			if kept := s.at(q.X, index).round; kept != 0 {
				if int(kept) != round {
					return nil, fmt.Errorf("rollout %d of prompt %d was asked for in round %d, now in round %d: the journal is of another strategy, seed or version", index, q.X, kept, round)
				}
				open = false
				continue
			}
			if open {
				spans[len(spans)-1].N++
				continue
			}
			spans = append(spans, Span{X: q.X, Index: index, N: 1, Round: round})
			open = true
		}
	}
	return spans, nil
}

// fetch makes the rollouts of spans, Concurrency calls at a time, while one
// goroutine writes the journal.
func (s *Source) fetch(ctx context.Context, spans []Span, round int) error {
	if len(spans) == 0 {
		return nil
	}
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	waiting := s.cfg.Concurrency // for the disk: what came and is not there yet may be lost
	if !s.cfg.Served {
		waiting = mostEntries // and costs nothing
	}
	entries, written := make(chan waiter, waiting), make(chan error, 1)
	go func() { written <- s.write(entries, cancel) }()
	start, before := time.Now(), s.cost(round).Seconds
	elapsed := func() float64 {
		if !s.cfg.Served {
			return 0
		}
		return before + time.Since(start).Seconds()
	}
	group, running := errgroup.WithContext(running)
	group.SetLimit(s.cfg.Concurrency)
	var lost atomic.Int64
	for len(spans) > 0 && running.Err() == nil {
		var part Span
		part, spans = s.part(spans)
		group.Go(func() error {
			left, err := s.answer(running, part, entries, elapsed)
			lost.Add(int64(left))
			if err == nil { // now, or a kill would hide it
				s.charge(running, entries, round, 0)
			}
			return err
		})
	}
	err := group.Wait()
	s.charge(context.Background(), entries, round, int(lost.Load()))
	close(entries)
	if err := cmp.Or(<-written, err); err != nil {
		return err
	}
	return ctx.Err()
}

// part takes what one call may ask for off the first span.
func (s *Source) part(spans []Span) (Span, []Span) {
	part := spans[0]
	if s.cfg.Most != nil {
		part.N = min(part.N, s.cfg.Most())
	}
	rest := &spans[0]
	rest.Index += part.N
	if rest.N -= part.N; rest.N == 0 {
		spans = spans[1:]
	}
	return part, spans
}

// answer makes the rollouts of a span, hands them to the journal and returns how
// many never came.
func (s *Source) answer(ctx context.Context, span Span, entries chan<- waiter, elapsed func() float64) (left int, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err // nothing was sent
	}
	if s.cfg.Served { // what is sent is on the disk before, so that a kill cannot hide its cost
		written := make(chan struct{})
		entries <- waiter{Entry{Asked: &span}, written}
		<-written
		if err := ctx.Err(); err != nil {
			return 0, err
		}
	}
	taken := make([]bool, span.N)
	left = span.N
	err = s.cfg.Answerer.Answer(ctx, span.X, span.Index, span.N, func(index int, a Answer) error {
		if k := index - span.Index; k < 0 || k >= span.N || taken[k] {
			return fmt.Errorf("rollout %d of prompt %d came twice or was never asked for", index, span.X)
		}
		taken[index-span.Index] = true
		left--
		entries <- waiter{Entry: Entry{Rollout: &Rollout{X: span.X, Index: index, Round: span.Round, Answer: a, Elapsed: elapsed()}}}
		return nil
	})
	if err == nil && left > 0 {
		err = fmt.Errorf("%d of %d rollouts of prompt %d never came", left, span.N, span.X)
	}
	return left, err
}

// charge journals what the server made beside what was asked since it was last
// looked at, unless ctx has ended meanwhile. Of it as many as never came may be
// answers that came too late: those are charged as such, and not twice.
func (s *Source) charge(ctx context.Context, entries chan<- waiter, round, lost int) {
	if s.cfg.Surplus == nil {
		return
	}
	s.charging.Lock()
	defer s.charging.Unlock()
	rollouts, tokens := s.cfg.Surplus()
	if ctx.Err() != nil {
		return // what is late is not told apart before all calls have ended
	}
	made := rollouts - s.surplus.Rollouts
	extra := &Extra{made - lost, tokens - s.surplus.Tokens, round}
	s.surplus = Extra{Rollouts: rollouts, Tokens: tokens}
	if extra.Rollouts <= 0 {
		return
	}
	if lost > 0 {
		extra.Tokens = extra.Tokens * extra.Rollouts / made // in proportion: nobody knows which came late
	}
	entries <- waiter{Entry: Entry{Extra: extra}}
}

// mostEntries bounds a batch of the journal, and with it the entries in memory.
const mostEntries = 1024

// A waiter is an entry and who waits for it to be on the disk.
type waiter struct {
	Entry
	written chan<- struct{} // closed then, or once the disk has failed; may be nil
}

// write journals and counts entries, those that came meanwhile together. After a
// failure it stops the round and takes entries without keeping them.
func (s *Source) write(entries <-chan waiter, stop func()) error {
	var failure error
	for e := range entries {
		batch, waiting := []Entry{e.Entry}, []waiter{e}
		for more := true; more && len(batch) < mostEntries; {
			select {
			case e, open := <-entries:
				if more = open; open {
					batch, waiting = append(batch, e.Entry), append(waiting, e)
				}
			default:
				more = false
			}
		}
		if failure == nil && s.cfg.Journal != nil {
			if failure = s.cfg.Journal(batch); failure != nil {
				stop()
			}
		}
		for _, w := range waiting {
			if w.written != nil {
				close(w.written)
			}
		}
		if failure != nil {
			continue
		}
		for _, e := range batch {
			s.count(e)
		}
		if s.cfg.Progress != nil {
			s.cfg.Progress(s.made())
		}
	}
	return failure
}

// made returns the cost of all rollouts that were made, those of a round that is
// not done included.
func (s *Source) made() Cost {
	var total Cost
	for i := range s.rounds {
		c := s.rounds[i].Cost
		c.Rollouts = s.rounds[i].made
		total = total.Plus(c)
	}
	return total
}

// Rounds returns the cost of every round that was drawn. Rollouts that were asked
// of a server and are not kept are extra: in flight when a sitting ended.
func (s *Source) Rounds() []Cost {
	costs := make([]Cost, s.drawn())
	for i := range costs {
		r := &s.rounds[i]
		costs[i] = r.Cost
		if s.cfg.Served {
			costs[i].Extra += max(0, r.asked-r.made)
		}
	}
	return costs
}

// A Completer asks a served model. Client is one.
type Completer interface {
	Complete(ctx context.Context, prompt string, index, n int, take func(index int, c Completion) error) error
}

var _ Completer = (*Client)(nil)

// Served answers with graded completions of a model.
type Served struct {
	Completer Completer
	Prompts   []string // as they are sent
	// Grade judges a completion of prompt x. Goroutines share it. Its error ends
	// the run.
	Grade func(ctx context.Context, x, index int, c Completion) (Judgement, error)
}

var _ Answerer = (*Served)(nil)

// Reset implements Answerer: there is one batch, whatever the key.
func (s *Served) Reset(stream.Key) (int, error) { return len(s.Prompts), nil }

// Answer implements Answerer.
func (s *Served) Answer(ctx context.Context, x, index, n int, take func(int, Answer) error) error {
	return s.Completer.Complete(ctx, s.Prompts[x], index, n, func(index int, c Completion) error {
		j, err := s.Grade(ctx, x, index, c)
		if err != nil {
			return err
		}
		return take(index, Answer{
			Completion: c.Text, FinishReason: c.FinishReason, PromptTokens: c.PromptTokens, Tokens: c.CompletionTokens, Uncounted: c.Uncounted,
			LogProb: c.LogProb, Seconds: c.Seconds, Judgement: j,
		})
	})
}

// Simulated answers from another source, rollout by rollout, so that a run needs no
// server: a success has the reward 1.
type Simulated struct {
	source rollout.Source
	tokens bool
	mutex  sync.Mutex // one goroutine at a time uses the source
}

var _ Answerer = (*Simulated)(nil)

// NewSimulated returns an Answerer over src; tokens says whether src knows the
// lengths of its rollouts.
func NewSimulated(src rollout.Source, tokens bool) *Simulated {
	return &Simulated{source: src, tokens: tokens}
}

// Reset implements Answerer.
func (s *Simulated) Reset(key stream.Key) (int, error) { return s.source.Reset(key) }

// Answer implements Answerer.
func (s *Simulated) Answer(ctx context.Context, x, index, n int, take func(int, Answer) error) error {
	for i := index; i < index+n; i++ {
		a, err := s.one(ctx, x, i)
		if err != nil {
			return err
		}
		if err := take(i, a); err != nil {
			return err
		}
	}
	return nil
}

// one draws a single rollout.
func (s *Simulated) one(ctx context.Context, x, index int) (Answer, error) {
	if err := ctx.Err(); err != nil {
		return Answer{}, err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	got := []int{0}
	var tokens []int
	if s.tokens {
		tokens = []int{0}
	}
	if err := s.source.Draw(ctx, []rollout.Request{{X: x, N: 1}}, []int{index}, got, tokens); err != nil {
		return Answer{}, err
	}
	a := Answer{Judgement: Judgement{Reward: float64(got[0]), Success: got[0] == 1}}
	if s.tokens {
		a.Tokens = tokens[0]
	}
	return a, nil
}
