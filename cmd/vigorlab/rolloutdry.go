package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"vigorlab/cmd/vigorlab/internal/output"
	"vigorlab/distributions"
	"vigorlab/sim"
	"vigorlab/sim/source"
	"vigorlab/sim/source/live"
	"vigorlab/sim/strategy"
)

// A dryRow is one figure of what would be asked.
type dryRow struct {
	Figure string `parquet:"figure"`
	Value  string `parquet:"value"`
}

// An expectation is what a run would ask, found by letting the strategy run on
// prompts of uniform success probability.
type expectation struct {
	exact    bool // it depends on no outcome
	rollouts int
	rounds   []int    // requests of each
	waves    int      // of as many requests as are in flight at once, one after the other
	bytes    int      // of prompts sent
	tokens   int      // out, at most
	missing  []string // figures that would take more rollouts held out, and why
}

// dry says what would be asked, and asks nothing.
func (f *rolloutFlags) dry(ctx context.Context, a *app, w *setting, s strategy.Strategy) error {
	e, err := await(ctx, func() (*expectation, error) { return f.expect(ctx, w, s) })
	if err != nil {
		return err
	}
	return f.dryResult(w, s, e).print(a, f.format)
}

func (f *rolloutFlags) expect(ctx context.Context, w *setting, s strategy.Strategy) (*expectation, error) {
	uniform, err := distributions.NewBeta(1, 1)
	if err != nil {
		return nil, err
	}
	src, err := source.NewSynthetic(uniform, nil, w.batch)
	if err != nil {
		return nil, err
	}
	o, err := sim.Observe(ctx, src, s, false, f.holdout, f.key(w))
	if err != nil {
		return nil, err
	}
	e := &expectation{exact: o.Budgeted, rollouts: o.Ledger.Generated}
	outcome := o.Outcome()
	for _, reason := range reasonsOf(&outcome, o.Variance()) {
		if strings.Contains(reason, "--holdout") {
			e.missing = append(e.missing, reason)
		}
	}
	exchanges := o.Rounds
	for _, more := range []*sim.Exchange{o.Fresh, o.Holdout} {
		if more != nil {
			exchanges = append(exchanges, *more)
		}
	}
	for _, x := range exchanges {
		requests := 0
		for _, q := range x.Ask {
			n := (q.N-1)/f.most() + 1
			requests += n
			if served, ok := w.answerer.(*live.Served); ok {
				e.bytes += n * len(served.Prompts[q.X])
			}
		}
		e.rounds = append(e.rounds, requests)
		e.waves += (requests-1)/f.client.Concurrency + 1
	}
	e.tokens = e.rollouts * f.client.Sampling.MaxTokens
	return e, nil
}

// most returns the rollouts that one request asks for, at most.
func (f *rolloutFlags) most() int {
	if f.sendSeed {
		return 1
	}
	return live.MaxChoices
}

// dryResult returns the expectation in each format.
func (f *rolloutFlags) dryResult(w *setting, s strategy.Strategy, e *expectation) result[dryRow] {
	o := header("rollout").Object()
	o.Add("dry_run", true)
	o = append(o, w.subject...)
	o.Add("strategy", s.Spec())
	o.Add("batch", w.batch)
	figures := output.Object{{Key: "rollouts", Value: e.rollouts}, {Key: "exact", Value: e.exact}}
	if served, ok := w.answerer.(*live.Served); ok {
		figures.Add("requests", e.rounds)
		figures.Add("prompt_bytes", e.bytes)
		figures.Add("tokens_out_at_most", e.tokens)
		figures.Add("waves", e.waves)
		figures.Add("seconds", f.expectedSeconds(e))
		figures.Add("samples", served.Prompts[:min(len(served.Prompts), samplePrompts)])
	}
	var rows []dryRow
	for _, g := range figures {
		rows = append(rows, dryRow{g.Key, fmt.Sprint(g.Value)})
	}
	return result[dryRow]{append(o, figures...), rows, func(t *output.Text) { f.dryText(t, w, s, e) }}
}

// samplePrompts is how many requests are shown.
const samplePrompts = 2

// expectedSeconds returns the time that a run would take, nil where nobody said
// what a request takes.
func (f *rolloutFlags) expectedSeconds(e *expectation) any {
	if f.seconds == 0 {
		return nil
	}
	return float64(e.waves) * f.seconds
}

func (f *rolloutFlags) dryText(t *output.Text, w *setting, s strategy.Strategy, e *expectation) {
	t.Command(f.line(w, s).String())
	t.Heading("What would be asked; nothing was")
	say := func(name, text string) { t.Note("  "+fmt.Sprintf("%-12s", name), text) }
	how := "whatever the outcomes are"
	if !e.exact {
		how = "on prompts of uniform success probability; it depends on the outcomes"
	}
	say("rollouts", fmt.Sprintf("%d for %d prompts by %s, %s", e.rollouts, w.batch, shortSpec(s.Spec()), how))
	for _, reason := range e.missing {
		say("estimates", reason)
	}
	served, ok := w.answerer.(*live.Served)
	if !ok {
		say("requests", "none: there is no server")
		return
	}
	total := 0
	for _, n := range e.rounds {
		total += n
	}
	say("requests", fmt.Sprintf("%d in %d rounds, of up to %d rollouts each; more where the server makes one at a time", total, len(e.rounds), f.most()))
	say("tokens", fmt.Sprintf("out at most %d, --max-tokens %d for each rollout; in those of %d bytes of prompts", e.tokens, f.client.Sampling.MaxTokens, e.bytes))
	time := "give --rollout-seconds what one takes"
	if f.seconds > 0 {
		time = fmt.Sprintf("about %s s at %v s a request", strconv.FormatFloat(float64(e.waves)*f.seconds, 'g', 4, 64), f.seconds)
	}
	say("time", fmt.Sprintf("%d waves of up to %d requests, one after the other: %s", e.waves, f.client.Concurrency, time))
	for _, base := range f.client.BaseURLs {
		say("server", shownURL(base))
	}
	for x := range min(len(served.Prompts), samplePrompts) {
		say("prompt "+w.prompts[x].ID, strconv.Quote(served.Prompts[x]))
	}
}
