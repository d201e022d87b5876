package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"vigorlab/cmd/vigorlab/internal/progress"
	"vigorlab/cmd/vigorlab/internal/rundir"
	"vigorlab/distributions/table"
	"vigorlab/sim"
	"vigorlab/sim/source/live"
	"vigorlab/sim/strategy"
)

// A rolled is a run of rollout: what was asked, kept and seen.
type rolled struct {
	*setting
	flags     *rolloutFlags
	strategy  strategy.Strategy
	reproduce string
	kept      *kept // nil before anything is asked
	seen      *sim.Observation
	rounds    []live.Cost
}

// A kept is what is remembered of the rollouts on the disk: where each stands in
// the journal, and what a table needs.
type kept struct {
	journal *rundir.Journal // nil without a run directory
	prompts []keptPrompt
	kinds   map[string]int // rollouts by the verifier's word
}

type keptPrompt struct {
	place     []int64 // of every rollout in the journal, by index
	outcomes  []byte  // '0' or '1', likewise
	tokens    int
	truncated int
}

// ask lets the strategy spend its rollouts, going on with those of earlier
// sittings, and writes what became of them.
func (r *rolled) ask(ctx context.Context, a *app, d *rundir.Dir, bar *progress.Bar) error {
	f := r.flags
	r.kept = &kept{prompts: make([]keptPrompt, r.batch), kinds: map[string]int{}}
	total, start := f.budget(r.strategy, r.batch), time.Now()
	cfg := live.SourceConfig{
		Answerer: r.answerer, Concurrency: f.workers, Journal: r.kept.append,
		Progress: func(c live.Cost) {
			bar.Note(r.pace(c, time.Since(start)))
			bar.Show("rollouts", c.Rollouts, max(total, c.Rollouts))
		},
	}
	if r.served {
		cfg.Concurrency, cfg.Most, cfg.Served = f.client.Concurrency, r.client.Most, true
		cfg.Surplus = func() (int, int) {
			c := r.client.Counts()
			return c.Extra, c.ExtraTokens
		}
	}
	src, err := live.NewSource(cfg)
	if err != nil {
		return err
	}
	if d != nil {
		r.record = d
		if err := r.restore(a, d, src); err != nil {
			return err
		}
	}
	observe := func() (*sim.Observation, error) {
		return sim.Observe(ctx, src, r.strategy, r.tokens, f.holdout, f.key(r.setting))
	}
	if r.served {
		r.seen, err = observe() // what has come is waited for
	} else {
		r.seen, err = await(ctx, observe)
	}
	if err != nil {
		return f.input(err, "--source:")
	}
	r.rounds = src.Rounds()
	r.charge()
	if d == nil {
		return nil
	}
	if err := d.WriteWith("rollouts.jsonl", func(w io.Writer) error { return r.writeRollouts(stopped{ctx, w}) }); err != nil {
		return err
	}
	return d.WriteWith("table.csv", func(w io.Writer) error { return r.table().Write(stopped{ctx, w}) })
}

// pace says how fast rollouts come.
func (r *rolled) pace(c live.Cost, elapsed time.Duration) string {
	text := fmt.Sprintf("%.3g/s", float64(c.Rollouts-c.Kept)/max(elapsed.Seconds(), 1e-3))
	if c.Tokens > 0 {
		text += fmt.Sprintf(", %d tokens", c.Tokens)
	}
	if r.client != nil {
		if n := r.client.Counts().Failures; n > 0 {
			text += fmt.Sprintf(", %d failures", n)
		}
	}
	return text
}

// restore takes in what earlier sittings kept.
func (r *rolled) restore(a *app, d *rundir.Dir, src *live.Source) error {
	n := 0
	j, err := d.EachLine(func(at int64, line []byte) error {
		var e live.Entry
		if err := json.Unmarshal(line, &e); err != nil {
			return err
		}
		if e.Rollout != nil {
			if e.Rollout.X < 0 || e.Rollout.X >= r.batch {
				return fmt.Errorf("a rollout of prompt %d, of a batch of %d", e.Rollout.X, r.batch)
			}
			n++
		}
		if err := src.Restore(e); err != nil {
			return err
		}
		r.kept.take(e, at)
		return nil
	})
	if err != nil {
		return fmt.Errorf("--out %s: %w", r.flags.out, err)
	}
	r.kept.journal = j
	if n > 0 && !r.flags.quiet {
		fmt.Fprintf(a.stderr, "vigorlab: going on after the %d rollouts that %s keeps\n", n, r.flags.out)
	}
	return nil
}

// append puts entries into the journal and remembers them.
func (k *kept) append(entries []live.Entry) error {
	at := make([]int64, len(entries))
	if k.journal != nil {
		lines := make([][]byte, len(entries))
		for i, e := range entries {
			line, err := json.Marshal(e)
			if err != nil {
				return err
			}
			lines[i] = line
		}
		var err error
		if at, err = k.journal.Append(lines...); err != nil {
			return err
		}
	}
	for i, e := range entries {
		k.take(e, at[i])
	}
	return nil
}

// take remembers an entry that stands at a place of the journal.
func (k *kept) take(e live.Entry, at int64) {
	r := e.Rollout
	if r == nil {
		return
	}
	p := &k.prompts[r.X]
	for len(p.place) <= r.Index {
		p.place, p.outcomes = append(p.place, -1), append(p.outcomes, 0)
	}
	p.place[r.Index], p.outcomes[r.Index] = at, '0'
	if r.Success {
		p.outcomes[r.Index] = '1'
	}
	p.tokens += r.Tokens
	if r.Truncated() {
		p.truncated++
	}
	if r.Kind != "" {
		k.kinds[r.Kind]++
	}
}

// charge puts what was paid beside the rollouts that count into the ledger, and
// drops tokens that nobody counted.
func (r *rolled) charge() {
	l := &r.seen.Ledger
	unmeasured := 0
	for _, c := range r.rounds {
		l.Generated += c.Extra
		l.Extra += c.Extra
		l.GeneratedTokens += c.ExtraTokens
		unmeasured += c.Unmeasured
	}
	if r.tokens && unmeasured > 0 {
		r.seen.ForgetTokens()
		r.tokens = false
		r.notes = append(r.notes, fmt.Sprintf("the server did not count the tokens of %d rollouts: no figure per token", unmeasured))
	}
}

// A rolloutLine is a line of rollouts.jsonl, with the keys that import reads.
type rolloutLine struct {
	PromptID string `json:"prompt_id"`
	Index    int    `json:"index"` // among the prompt's rollouts
	Round    int    `json:"round"`
	Prompt   string `json:"prompt,omitempty"`
	Expected string `json:"answer,omitempty"`
	live.Answer
	Tokens    *int  `json:"tokens,omitempty"`    // where they were counted: an empty answer may have 0
	Truncated *bool `json:"truncated,omitempty"` // of a served model
}

// writeRollouts writes every rollout, prompt by prompt.
func (r *rolled) writeRollouts(w io.Writer) error {
	out := bufio.NewWriter(w)
	in := json.NewEncoder(out)
	in.SetEscapeHTML(false)
	for x, p := range r.kept.prompts {
		for _, at := range p.place {
			if at < 0 {
				continue // another strategy's; the source has refused it
			}
			kept, err := r.kept.journal.Line(at)
			if err != nil {
				return err
			}
			var e live.Entry
			if err := json.Unmarshal(kept, &e); err != nil {
				return err
			}
			of := r.prompts[x]
			line := rolloutLine{PromptID: of.ID, Index: e.Rollout.Index, Round: e.Rollout.Round, Prompt: of.Text, Expected: of.Answer, Answer: e.Rollout.Answer}
			if r.tokens && !e.Rollout.Uncounted {
				line.Tokens = &e.Rollout.Tokens
			}
			if r.served {
				truncated := e.Rollout.Truncated()
				line.Truncated = &truncated
			}
			if err := in.Encode(line); err != nil {
				return err
			}
		}
	}
	return out.Flush()
}

// table returns the outcomes of all rollouts, a row a prompt that has any.
func (r *rolled) table() *table.Table {
	t := &table.Table{Name: "table.csv", HasTokens: r.tokens, HasTruncated: r.served}
	for x, p := range r.kept.prompts {
		n := len(p.outcomes)
		if n == 0 {
			continue
		}
		row := table.Row{PromptID: r.prompts[x].ID, N: n, Outcomes: string(p.outcomes)}
		for _, o := range p.outcomes {
			if o == '1' {
				row.S++
			}
		}
		if r.tokens {
			row.Tokens = float64(p.tokens) / float64(n)
		}
		row.Truncated = float64(p.truncated) / float64(n)
		t.Rows = append(t.Rows, row)
	}
	return t
}
