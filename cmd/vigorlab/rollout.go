package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/url"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"vigorlab/cmd/vigorlab/internal/output"
	"vigorlab/cmd/vigorlab/internal/progress"
	"vigorlab/cmd/vigorlab/internal/rundir"
	"vigorlab/sim"
	"vigorlab/sim/logs"
	"vigorlab/sim/source/live"
	"vigorlab/sim/strategy"
	"vigorlab/sim/stream"
)

type rolloutFlags struct {
	common
	promptFlags
	client        live.Config
	api           string
	keyEnv        string
	timeout       float64 // seconds
	sendSeed      bool
	sources       []string
	templateFile  string
	strategySpecs []string
	verifierSpecs []string
	success       string
	batch         int // 0 stands for all prompts, or syntheticBatch
	holdout       int
	dryRun        bool
	seconds       float64 // of a request, for --dry-run
}

// The APIs of a server.
const (
	apiChat        = "chat"
	apiCompletions = "completions"
)

// What stands in where a flag is not given.
const (
	defaultKeyEnv  = "OPENAI_API_KEY"
	defaultSuccess = "reward >= 1"
)

func newRollout(a *app) *cobra.Command {
	f := &rolloutFlags{client: live.DefaultConfig(), keyEnv: defaultKeyEnv, success: defaultSuccess}
	f.timeout = f.client.Timeout.Seconds()
	cmd := &cobra.Command{
		Use:   "rollout --base-url URL --model NAME --prompts FILE --strategy SPEC --verifier SPEC --out DIR",
		Short: "Let a strategy spend its rollouts on a served model, or on prompts that stand for one",
		Long: `rollout asks a served model for one batch of rollouts: the prompts of a file, who
gets how many decided by a strategy as in every other command, each completion
judged by a verifier. Servers speak the OpenAI protocol, as those of vLLM, SGLang,
llama.cpp, Ollama and hosted models do. With --source it runs on synthetic or
recorded prompts instead, and needs no server.

Every completion is on the disk before it counts. A run that was interrupted or
killed, or whose server went away, goes on with the same command and asks for what
is missing alone. What was in flight then may have been paid for, and is charged.

eta and its kin are estimated without the rollouts that chose a prompt: from
rewards of the rounds that were asked for before, and from --holdout further
rollouts a prompt, which progress needs. DIR holds rollouts.jsonl, which import
reads, table.csv, results and figures.`,
		Example: `  # no server: synthetic prompts, and 8 rollouts a prompt held out
  vigorlab rollout --source synthetic:beta:a=0.3,b=0.7 --batch 64 --strategy vigor --holdout 8 \
    --out simulated

  # recorded prompts, each of their rollouts at most once
  vigorlab rollout --source table:path=outcomes.csv,draw=without --strategy fixed:g=4 --format json

  # what would be asked of a server, before anything is paid
  vigorlab rollout --base-url http://127.0.0.1:8000/v1 --model NAME --prompts questions.jsonl \
    --verifier numeric --strategy vigor --max-tokens 256 --rollout-seconds 2 --out live \
    --dry-run`,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), a) },
	}
	f.registerRollout(cmd)
	return cmd
}

func (f *rolloutFlags) registerRollout(cmd *cobra.Command) {
	flags := cmd.Flags()
	c := &f.client
	text := func(target *string, name, want, usage string) {
		flags.Var(&textFlag{target, name, want, &f.faults}, name, usage)
	}
	flags.StringArrayVar(&c.BaseURLs, "base-url", nil, "`URL` of a server, repeatable: servers of one model share the load")
	text(&c.Model, "model", "a name", "`NAME` of the model on the server")
	f.choice(flags, &f.api, "api", []string{apiChat, apiCompletions}, "`HOW` the server is asked")
	flags.StringArrayVar(&f.sources, "source", nil, "no server but `SOURCE`: synthetic:POPULATION or table:path=FILE[,draw=replacement|without|posterior]")
	f.registerPrompts(flags, &f.common, "prompts and answers")
	text(&f.templateFile, "template", "a file", "`FILE` with what is sent, {{.Prompt}} where the prompt goes")
	flags.StringArrayVar(&f.strategySpecs, "strategy", nil, "strategy `SPEC` (see vigorlab strategies)")
	flags.StringArrayVar(&f.verifierSpecs, "verifier", nil, "verifier `SPEC`: exact, numeric, choice, regex, math, code, command:CMD, or flip:q=0.05@math for noise")
	text(&f.success, "success", "a rule such as reward > 0", "`RULE` by which a reward is a success")
	flags.Var(&batchFlag{&f.batch, &f.faults}, "batch", "the first `B` prompts, or all; of a population 256 unless given")
	f.whole(flags, &f.holdout, "holdout", 0, 100_000, "`M` further rollouts a prompt, for estimates alone")
	f.real(flags, &c.Sampling.Temperature, "temperature", 0, 100, "`T` of sampling")
	f.real(flags, &c.Sampling.TopP, "top-p", 0, 1, "sample from the most likely tokens of probability `P`")
	f.whole(flags, &c.Sampling.TopK, "top-k", 0, 10_000_000, "sample from the `K` most likely tokens, 0 for all")
	f.whole(flags, &c.Sampling.MaxTokens, "max-tokens", 1, 10_000_000, "tokens of a completion, at most `N`")
	flags.StringArrayVar(&c.Sampling.Stop, "stop", nil, "`TEXT` that ends a completion, repeatable")
	flags.BoolVar(&f.sendSeed, "send-seed", false, "send a seed with every completion, derived from --seed: each is a request of its own then")
	flags.BoolVar(&c.Sampling.LogProbs, "logprobs", false, "ask for log probabilities")
	f.whole(flags, &c.Concurrency, "concurrency", 1, 100_000, "requests in flight, at most `C`")
	f.real(flags, &f.timeout, "timeout", 0.001, 1e6, "`SECONDS` that a request may take")
	f.whole(flags, &c.Retries, "retries", 0, 1000, "`N` further attempts of a request that failed")
	f.whole(flags, &c.MaxFailures, "max-failures", 1, 1_000_000, "stop after `N` failures in a row")
	text(&f.keyEnv, "api-key-env", "a name", "the environment variable `NAME` holds the key")
	flags.BoolVar(&c.Insecure, "insecure", false, "send the key over plain http to another host")
	flags.BoolVar(&f.dryRun, "dry-run", false, "say what would be asked, and ask nothing")
	f.real(flags, &f.seconds, "rollout-seconds", 0, 1e6, "`S` seconds a request, for the time that --dry-run expects")
	f.register(flags)
}

func (f *rolloutFlags) run(ctx context.Context, a *app) error {
	f.client.Timeout = time.Duration(f.timeout * float64(time.Second))
	rule := f.rule()
	s := f.strategy(ctx)
	w, err := f.setting(ctx, a, rule)
	if err != nil {
		return err
	}
	if w != nil {
		defer w.close()
	}
	if w != nil && s != nil {
		f.startRollout(s, w.batch)
	}
	if w != nil && w.served && f.out == "" && !f.dryRun {
		f.addf("--out is missing, want a directory: completions of a server are kept there, and paid only once")
	}
	if err := f.err(); err != nil {
		return err
	}
	if f.dryRun {
		return f.dry(ctx, a, w, s)
	}
	return f.rollOut(ctx, a, w, s)
}

// rule parses --success.
func (f *rolloutFlags) rule() logs.Rule {
	rule, err := logs.ParseRule(f.success)
	f.add("--success =", err)
	return rule
}

// strategy parses --strategy, which is given once.
func (f *rolloutFlags) strategy(ctx context.Context) strategy.Strategy {
	text, ok := f.once(f.strategySpecs, "strategy", "a spec such as vigor")
	if !ok {
		f.hint(hintStrategies)
		return nil
	}
	parsed := f.strategies(ctx, []string{text})
	if len(parsed) == 0 {
		return nil
	}
	return parsed[0]
}

// startRollout records why a strategy cannot run on one batch of unknown truth.
func (f *rolloutFlags) startRollout(s strategy.Strategy, batch int) {
	subject := "--strategy " + shortSpec(s.Spec())
	if err := sim.Observable(s); err != nil {
		f.add(subject, err)
		return
	}
	f.add(subject, s.Start(batch))
}

// line returns the command that reproduces the run.
func (f *rolloutFlags) line(w *setting, s strategy.Strategy) *commandLine {
	l := newCommandLine("rollout")
	w.addTo(l)
	l.add("strategy", s.Spec())
	l.add("batch", w.batch)
	l.add("holdout", f.holdout)
	l.add("seed", f.seed)
	return l
}

// key names the run's streams.
func (f *rolloutFlags) key(w *setting) stream.Key { return batchKey(f.seed, w.name, w.batch) }

// batchKey names the streams of the one batch that rollout runs on: the first that
// simulate would take.
func batchKey(seed uint64, name string, batch int) stream.Key {
	return stream.New(seed).Named(name).With(uint64(batch), 0).With(0)
}

// rollOut runs the strategy inside the run directory.
func (f *rolloutFlags) rollOut(ctx context.Context, a *app, w *setting, s strategy.Strategy) error {
	line := f.line(w, s)
	specs := append(output.Object{}, w.specs...)
	specs.Add("strategy", s.Spec())
	specs.Add("batch", w.batch)
	specs.Add("holdout", f.holdout)
	record, err := f.record(a, "rollout", line, specs)
	if err != nil {
		return err
	}
	bar := progress.New(a.stderr, f.quiet)
	defer bar.Close()
	r := &rolled{setting: w, strategy: s, flags: f, reproduce: line.String()}
	var notes []string // what figures do not show
	err = f.long(record, func(d *rundir.Dir) error {
		if err := r.ask(ctx, a, d, bar); err != nil {
			return err
		}
		notes, err = saveRun(ctx, d, r.result, r.drawings)
		return err
	})
	if err != nil {
		return f.stopped(err, r)
	}
	bar.Close()
	f.warn(a, slices.Concat(r.warnings(), notes, r.failures()))
	if f.out != "" && !f.quiet {
		fmt.Fprintf(a.stderr, "rollouts: %s\n", filepath.Join(f.out, "rollouts.jsonl"))
	}
	return r.result().print(a, f.format)
}

// failures says of failed requests what no ledger knows. They are of this sitting
// alone, so no result holds them.
func (r *rolled) failures() []string {
	if r.client == nil || r.client.Counts().Failures == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d requests failed and were asked again: a server may bill what it made for them, and the ledger has only what arrived or was in flight at a stop", r.client.Counts().Failures)}
}

// stopped says how a run that did not end goes on.
func (f *rolloutFlags) stopped(err error, r *rolled) error {
	var conflict *rundir.ConflictError
	if f.out == "" || r.kept == nil || errors.As(err, &conflict) {
		return err
	}
	return &stoppedError{err, f.out, "the rollouts that came"}
}

// budget returns the rollouts that a run will make, 0 where nobody knows.
func (f *rolloutFlags) budget(s strategy.Strategy, batch int) int {
	b, ok := s.(strategy.Budgeter)
	if !ok {
		return 0
	}
	if v, ok := s.(*strategy.Vigor); ok && !v.Plan().Reuse {
		return 0 // fresh groups come on top
	}
	return b.Budget(batch) + f.holdout*batch
}

// shownURL returns a base URL without what may be secret in it.
func shownURL(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return "(no URL)"
	}
	u.RawQuery, u.Fragment = "", ""
	return u.Redacted()
}

// share returns a part of a whole, NaN of nothing.
func share(part, whole int) float64 {
	if whole == 0 {
		return math.NaN()
	}
	return float64(part) / float64(whole)
}

// inFlight says in words what is charged beside the rollouts that count.
func inFlight(c live.Cost) string {
	return fmt.Sprintf("%d more were surplus, or in flight when a sitting ended, and may have been paid for", c.Extra)
}
