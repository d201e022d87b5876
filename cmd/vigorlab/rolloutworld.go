package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"vigorlab/cmd/vigorlab/internal/output"
	"vigorlab/cmd/vigorlab/internal/rundir"
	"vigorlab/distributions/spec"
	"vigorlab/distributions/table"
	"vigorlab/sim/logs"
	"vigorlab/sim/reward"
	"vigorlab/sim/rollout"
	"vigorlab/sim/source"
	"vigorlab/sim/source/live"
	"vigorlab/sim/source/prompts"
)

// A setting is what a strategy meets: who answers, for which prompts.
type setting struct {
	name     string           // of its streams
	batch    int              // prompts
	prompts  []prompts.Prompt // the batch; without texts where no server answers
	served   bool
	tokens   bool // lengths are known, or will be
	answerer live.Answerer
	client   *live.Client // nil where no server answers
	subject  output.Object
	specs    output.Object // resolved: all that the results depend on
	addTo    func(*commandLine)
	notes    []string
	record   *rundir.Dir // which is told what the servers refuse or ignore; nil before it is open
	close    func()
}

// syntheticBatch is the number of prompts of a population where --batch is not
// given, as of simulate.
const syntheticBatch = 256

// The names of sources without a server.
const (
	sourceSynthetic = "synthetic"
	sourceTable     = "table"
)

// setting returns what --base-url or --source names; nil where it is at fault.
func (f *rolloutFlags) setting(ctx context.Context, a *app, rule logs.Rule) (*setting, error) {
	if len(f.sources) == 0 {
		return f.servedSetting(ctx, a, rule)
	}
	if len(f.client.BaseURLs)+len(f.promptFiles)+len(f.verifierSpecs) > 0 || f.client.Model != "" {
		f.addf("--source needs no server, want no --base-url, --model, --prompts and --verifier beside it")
	}
	text, ok := f.once(f.sources, "source", "synthetic:POPULATION or table:path=FILE")
	if !ok {
		return nil, nil
	}
	name, rest, _ := strings.Cut(text, ":")
	switch name {
	case sourceSynthetic:
		return f.syntheticSetting(ctx, text, rest), nil
	case sourceTable:
		return f.tableSetting(ctx, text), nil
	}
	f.add("--source", spec.UnknownName(name, []string{sourceSynthetic, sourceTable}))
	return nil, nil
}

// simulated fills in a setting that a source without a server makes.
func (w *setting) simulated(src rollout.LengthSource, lengths bool) *setting {
	w.answerer, w.tokens = live.NewSimulated(src, lengths), lengths
	w.close = func() {}
	return w
}

func (f *rolloutFlags) syntheticSetting(ctx context.Context, text, population string) *setting {
	p, err := spec.ParsePopulation(population, opener(ctx))
	if err != nil {
		f.add("--source synthetic:", err) // which names the population
		f.hint(hintPopulations)
		return nil
	}
	batch := f.batch
	if batch == 0 {
		batch = syntheticBatch
	}
	src, err := source.NewSynthetic(p.Law, p.Lengths, batch)
	if err != nil {
		f.add("--source synthetic:", err)
		return nil
	}
	name := sourceSynthetic + ":" + p.Spec
	w := &setting{
		name: p.Spec, batch: batch,
		subject: output.Object{{Key: "source", Value: name}}, specs: output.Object{{Key: "source", Value: name}},
		addTo: func(l *commandLine) { l.add("source", name) },
	}
	for x := range batch {
		w.prompts = append(w.prompts, prompts.Prompt{ID: strconv.Itoa(x)})
	}
	return w.simulated(src, p.Lengths != nil)
}

func (f *rolloutFlags) tableSetting(ctx context.Context, text string) *setting {
	subject := "--source " + text + ":"
	s, err := spec.Parse(text)
	if err != nil {
		f.add(subject, err)
		return nil
	}
	args := spec.NewArgs(s)
	path, ok := args.Text("path")
	if !ok || path == "" {
		args.Fault("path", "nothing", "a file with the columns prompt_id, n, successes")
	}
	draw := args.Choice("draw", source.DrawReplacement, source.Draws()...)
	if err := args.Err(); err != nil {
		f.add(subject, err)
		return nil
	}
	t, digest, err := readTable(ctx, path)
	if err != nil {
		f.add(subject, err)
		return nil
	}
	t = f.firstRows(subject, t)
	if t == nil {
		return nil
	}
	src, err := source.NewTable(t, draw, 0)
	if err != nil {
		f.add(subject, err)
		return nil
	}
	name := fmt.Sprintf("%s:path=%s,draw=%s", sourceTable, path, draw)
	w := &setting{
		name: filepath.Base(path), batch: len(t.Rows), // where the file lies does not change what is drawn
		subject: output.Object{{Key: "source", Value: name}},
		specs:   output.Object{{Key: "source", Value: name}, {Key: "sha256", Value: digest}},
		addTo:   func(l *commandLine) { l.add("source", name) },
	}
	if draw == source.DrawReplacement {
		w.notes = fewRollouts(t)
	}
	for _, r := range t.Rows {
		w.prompts = append(w.prompts, prompts.Prompt{ID: r.PromptID})
	}
	return w.simulated(src, t.HasTokens)
}

// firstRows returns the rows of a batch, one a prompt; nil where they are at fault.
func (f *rolloutFlags) firstRows(subject string, t *table.Table) *table.Table {
	if f.batch > len(t.Rows) {
		f.addf("--batch = %d, want a whole number in [1, %d], the prompts of %s, or all", f.batch, len(t.Rows), t.Name)
		return nil
	}
	if f.batch > 0 {
		first := *t
		first.Rows = t.Rows[:f.batch]
		t = &first
	}
	seen := map[string]bool{}
	for _, r := range t.Rows {
		if seen[r.PromptID] {
			f.add(subject, fmt.Errorf("prompt %s has several visits, want a table with one row a prompt", r.PromptID))
			return nil
		}
		seen[r.PromptID] = true
	}
	return t
}

// servedSetting returns the setting of a model server.
func (f *rolloutFlags) servedSetting(ctx context.Context, a *app, rule logs.Rule) (*setting, error) {
	if len(f.client.BaseURLs) == 0 {
		f.addf("neither --base-url nor --source is given, want the URL of a server, as in http://127.0.0.1:8000/v1, or a source without one")
	}
	w := &setting{served: true, tokens: true, name: f.client.Model, close: func() {}}
	template, templateDigest := f.template(ctx)
	set, digest := f.readPrompts(ctx, &f.common)
	v := f.verifier(ctx, set)
	f.serve(a, w, v, rule)
	if v != nil {
		w.close = func() { _ = v.Close() } // nothing is left to judge
	}
	if set == nil || v == nil {
		return nil, nil
	}
	w.prompts = set.Prompts
	if f.batch > len(set.Prompts) {
		f.addf("--batch = %d, want a whole number in [1, %d], the prompts of %s, or all", f.batch, len(set.Prompts), f.promptFiles[0])
		return nil, nil
	}
	if f.batch > 0 {
		w.prompts = set.Prompts[:f.batch]
	}
	w.batch = len(w.prompts)
	if set.Repeated > 0 {
		w.notes = append(w.notes, fmt.Sprintf("%s: %d records repeat an earlier prompt and are left out", f.promptFiles[0], set.Repeated))
	}
	texts, err := sent(w.prompts, template)
	if err != nil {
		f.add("--template", err)
		return nil, nil
	}
	if served, ok := w.answerer.(*live.Served); ok {
		served.Prompts = texts
	}
	f.describe(w, v, rule, digest, templateDigest)
	return w, nil
}

// sent returns what is sent of every prompt.
func sent(all []prompts.Prompt, t *prompts.Template) ([]string, error) {
	texts := make([]string, len(all))
	for x, p := range all {
		text, err := t.Apply(p.Text)
		if err != nil {
			return nil, err
		}
		texts[x] = text
	}
	return texts, nil
}

// serve makes the client and who grades its completions.
func (f *rolloutFlags) serve(a *app, w *setting, v reward.Verifier, rule logs.Rule) {
	c := f.client
	c.Chat = f.api == apiChat
	c.Key = os.Getenv(f.keyEnv)
	c.Proxy = http.ProxyFromEnvironment
	if f.keyEnv != defaultKeyEnv && c.Key == "" && !f.dryRun {
		f.addf("--api-key-env %s: the environment has no such variable, or it is empty", f.keyEnv)
	}
	if f.sendSeed {
		c.Sampling.Seed = &f.seed
	}
	c.Notify = func(text string) {
		f.warn(a, []string{text})
		if w.record != nil {
			w.record.Notice(text)
		}
	}
	if len(c.BaseURLs) == 0 {
		c.BaseURLs = []string{"http://127.0.0.1/v1"} // go on looking for faults
	}
	if c.Model == "" {
		f.addf("--model is missing, want the model's name on the server")
		c.Model = "model"
	}
	client, err := live.NewClient(c)
	for _, e := range flatten(err) {
		if text := e.Error(); strings.HasPrefix(text, "the key") {
			f.add("--api-key-env "+f.keyEnv+":", e)
		} else {
			f.addf("--%s", text)
		}
	}
	if err != nil || v == nil {
		return
	}
	w.client = client
	w.answerer = &live.Served{Completer: client, Grade: func(ctx context.Context, x, index int, c live.Completion) (live.Judgement, error) {
		g, err := v.Verify(ctx, reward.Item{
			Prompt: w.prompts[x].Text, Completion: c.Text, Answer: w.prompts[x].Answer, Truncated: c.Truncated(), Index: uint64(index),
		})
		if err != nil {
			return live.Judgement{}, fmt.Errorf("--verifier %s: prompt %s, rollout %d: %w", v.String(), w.prompts[x].ID, index, err)
		}
		return live.Judgement{Reward: g.Reward, Success: rule.Success(g.Reward), Kind: string(g.Kind), Detail: g.Detail}, nil
	}}
}

// template reads --template, with the digest of its bytes; nil for none.
func (f *rolloutFlags) template(ctx context.Context) (*prompts.Template, string) {
	if f.templateFile == "" {
		return nil, ""
	}
	file, err := opener(ctx)(f.templateFile)
	if err != nil {
		f.add("--template", err)
		return nil, ""
	}
	defer file.Close() // only read
	const most = 1 << 20
	text, err := io.ReadAll(io.LimitReader(file, most))
	if err == nil && len(text) == most {
		err = fmt.Errorf("%s: %d bytes or more, want a template", f.templateFile, most)
	}
	var t *prompts.Template
	if err == nil {
		t, err = prompts.ParseTemplate(f.templateFile, string(text))
	}
	f.add("--template", err)
	return t, fmt.Sprintf("%x", sha256.Sum256(text))
}

// verifier parses --verifier; one that compares with an answer wants every prompt
// to have one.
func (f *rolloutFlags) verifier(ctx context.Context, set *prompts.Set) reward.Verifier {
	v := f.common.verifier(ctx, f.verifierSpecs, "a spec such as numeric")
	if v == nil {
		return nil
	}
	if reward.NeedsAnswer(v) && set != nil {
		missing := 0
		for _, p := range set.Prompts {
			if p.Answer == "" {
				missing++
			}
		}
		if missing > 0 {
			f.addf("--verifier %s compares with the answer, which %d of %d prompts of %s have not: want --answer-field or --preset to name it", v.String(), missing, len(set.Prompts), f.promptFiles[0])
		}
	}
	return v
}

// describe fills in what the run says of itself. Where the server is, and how
// patiently it is asked, changes no result: a run may go on at another address.
func (f *rolloutFlags) describe(w *setting, v reward.Verifier, rule logs.Rule, digest, templateDigest string) {
	s := f.client.Sampling
	var seed any
	if f.sendSeed {
		seed = f.seed
	}
	sampling := output.Object{
		{Key: "temperature", Value: s.Temperature},
		{Key: "top_p", Value: s.TopP},
		{Key: "top_k", Value: s.TopK},
		{Key: "max_tokens", Value: s.MaxTokens},
		{Key: "stop", Value: append([]string{}, s.Stop...)},
		{Key: "seed", Value: seed},
		{Key: "logprobs", Value: s.LogProbs},
	}
	neutral := live.Neutral()
	for _, name := range slices.Sorted(maps.Keys(neutral)) {
		sampling.Add(name, neutral[name])
	}
	w.subject = output.Object{
		{Key: "source", Value: "live"},
		{Key: "model", Value: f.client.Model},
		{Key: "api", Value: f.api},
		{Key: "prompts", Value: f.promptFiles[0]},
		{Key: "verifier", Value: v.String()},
		{Key: "success", Value: rule.String()},
		{Key: "sampling", Value: sampling},
	}
	w.specs = append(slices.Clone(w.subject),
		output.Field{Key: "prompts_sha256", Value: digest},
		output.Field{Key: "fields", Value: f.fieldsRead()},
		output.Field{Key: "template_sha256", Value: templateDigest},
	)
	w.addTo = func(l *commandLine) { f.addServed(l, v.String(), rule.String()) }
}

// addServed adds the flags that a served setting is made of.
func (f *rolloutFlags) addServed(l *commandLine, verifier, rule string) {
	some := func(flag, value string) {
		if value != "" {
			l.add(flag, value)
		}
	}
	for _, base := range f.client.BaseURLs {
		l.add("base-url", shownURL(base))
	}
	l.add("model", f.client.Model)
	l.add("api", f.api)
	f.addPrompts(l)
	some("template", f.templateFile)
	l.add("verifier", verifier)
	l.add("success", rule)
	s := f.client.Sampling
	l.add("temperature", s.Temperature)
	l.add("top-p", s.TopP)
	l.add("top-k", s.TopK)
	l.add("max-tokens", s.MaxTokens)
	for _, stop := range s.Stop {
		l.add("stop", stop)
	}
	if f.sendSeed {
		l.mark("send-seed")
	}
	if s.LogProbs {
		l.mark("logprobs")
	}
}
