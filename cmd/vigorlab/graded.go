package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"vigorlab/cmd/vigorlab/internal/output"
	"vigorlab/sim/logs"
	"vigorlab/sim/reward"
	"vigorlab/sim/reward/agreement"
)

// A graded is what grade found. The log is the first rater, the verifier the
// second.
type graded struct {
	reproduce string
	paths     []string
	texts     *logs.Texts
	verifier  string
	rule      logs.Rule // the verifier's successes
	most      int       // examples of each sort

	answersFile string // of answers that the log has not, "" for none

	prompts  map[string]int // their numbers
	groups   []agreement.Group
	kinds    map[reward.Kind]counted
	examples []gradeExample
	untold   []gradeExample // that the verifier cannot judge
	lastStep int
	goesBack bool // steps do, from one line to the next
	agreement.Result
}

// Counted is how many rollouts the log calls successes and failures.
type counted struct{ Success, Failure int }

func (c counted) add(success bool) counted {
	if success {
		c.Success++
	} else {
		c.Failure++
	}
	return c
}

func (c counted) sum() int { return c.Success + c.Failure }

// A gradeExample is a rollout that the graders see differently, or that the
// verifier cannot judge. Texts are cut.
type gradeExample struct {
	PromptID   string      `json:"prompt_id"`
	Step       int         `json:"step"`
	File       string      `json:"file"`
	Line       int         `json:"line"`
	LogReward  float64     `json:"log_reward"`
	Reward     *float64    `json:"reward"` // null where the verifier cannot tell
	Kind       reward.Kind `json:"kind"`
	Detail     string      `json:"detail"`
	Completion string      `json:"completion"` // its end
	Answer     string      `json:"answer"`
}

// A gradedLine is a line of rollouts.jsonl, with the keys that import reads.
type gradedLine struct {
	PromptID   string      `json:"prompt_id"`
	Step       int         `json:"step"`
	Visit      int         `json:"visit"`
	Index      int         `json:"index"` // in its group
	Round      int         `json:"round"` // 0: the log says nothing of rounds
	Reward     *float64    `json:"reward"`
	Success    *bool       `json:"success"` // null, as the reward, where the verifier cannot tell
	Kind       reward.Kind `json:"kind"`
	Detail     string      `json:"detail,omitempty"`
	LogReward  float64     `json:"log_reward"`
	LogSuccess bool        `json:"log_success"`
	File       string      `json:"file"` // where the completion stands
	Line       int         `json:"line"`
}

func newGraded(reproduce string, paths []string, t *logs.Texts, verifier string, rule logs.Rule, most int) *graded {
	return &graded{
		reproduce: reproduce, paths: paths, texts: t, verifier: verifier, rule: rule, most: most,
		prompts: map[string]int{}, groups: make([]agreement.Group, t.Groups), kinds: map[reward.Kind]counted{},
		examples: []gradeExample{}, untold: []gradeExample{},
	}
}

// take counts a grade and returns its line.
func (r *graded) take(x logs.Rollout, g reward.Grade) gradedLine {
	r.goesBack = r.goesBack || x.Step < r.lastStep
	r.lastStep = x.Step
	r.kinds[g.Kind] = r.kinds[g.Kind].add(x.Success)
	line := gradedLine{
		PromptID: x.PromptID, Step: x.Step, Visit: x.Visit, Index: x.Index, Kind: g.Kind, Detail: g.Detail,
		LogReward: x.Reward, LogSuccess: x.Success, File: x.File, Line: x.Line,
	}
	if g.Kind == reward.CannotTell {
		if len(r.untold) < r.most {
			r.untold = append(r.untold, exampleOf(x, g, nil))
		}
		return line
	}
	success := r.rule.Success(g.Reward)
	line.Reward, line.Success = &g.Reward, &success
	r.group(x).count(x.Success, success)
	if success != x.Success && len(r.examples) < r.most {
		r.examples = append(r.examples, exampleOf(x, g, &g.Reward))
	}
	return line
}

// group returns the group of a rollout, its prompt numbered.
func (r *graded) group(x logs.Rollout) *groupCount {
	n, known := r.prompts[x.PromptID]
	if !known {
		n = len(r.prompts)
		r.prompts[x.PromptID] = n
	}
	g := &r.groups[x.Group]
	g.Prompt = n
	return (*groupCount)(g)
}

type groupCount agreement.Group

// count counts a rollout of the group.
func (g *groupCount) count(log, verifier bool) {
	switch {
	case log && verifier:
		g.Both++
	case log:
		g.First++
	case verifier:
		g.Second++
	default:
		g.None++
	}
}

func exampleOf(x logs.Rollout, g reward.Grade, r *float64) gradeExample {
	return gradeExample{
		PromptID: x.PromptID, Step: x.Step, File: x.File, Line: x.Line, LogReward: x.Reward, Reward: r, Kind: g.Kind, Detail: g.Detail,
		Completion: lastRunes(strings.TrimSpace(x.Completion), 80), Answer: lastRunes(x.Answer, 80),
	}
}

// lastRunes returns the end of a text, at most n runes of it.
func lastRunes(text string, n int) string {
	runes := []rune(text)
	if len(runes) <= n {
		return text
	}
	return "..." + string(runes[len(runes)-n:])
}

// harmless returns a text as a terminal may have it: without control characters, and
// at most 200 runes of it.
func harmless(text string) string {
	const most = 200
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "..."
	}
	var b strings.Builder
	for _, r := range text {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
	}
	return b.String()
}

// warnings says what may mislead.
func (r *graded) warnings() []string {
	all := slices.Clone(r.texts.Report.Warnings)
	if n := r.texts.Missing; n > 0 {
		all = append(all, fmt.Sprintf("%d rollouts have no completion and are left out", n))
	}
	if n := r.texts.Rollouts - r.texts.Answered; n > 0 && r.texts.Answered > 0 {
		all = append(all, fmt.Sprintf("%d of %d rollouts have no answer", n, r.texts.Rollouts))
	}
	if r.goesBack {
		all = append(all, "steps go back from one rollout to the next, as in several logs put together: import the new rewards with --attempts all")
	}
	return all
}

// A gradeFigure is a figure of the comparison under its key.
type gradeFigure struct {
	key   string
	label string
	value agreement.Figure
	share bool // its interval is Wilson's
}

// rates are the shares of rollouts, and kappa.
func (r *graded) rates() []gradeFigure {
	return []gradeFigure{
		{"agreement", "both judge alike", r.Agreement, true},
		{"kappa", "kappa, beyond chance", r.Kappa, false},
		{"log_success", "successes by the log", r.FirstSuccess, true},
		{"verifier_success", "successes by the verifier", r.SecondSuccess, true},
		{"verifier_success_of_log_failures", "of the log's failures, successes by the verifier", r.SecondOfFirstFailed, true},
		{"verifier_failure_of_log_successes", "of the log's successes, failures by the verifier", r.SecondFailsSucceeded, true},
		{"log_success_of_verifier_failures", "of the verifier's failures, successes by the log", r.FirstOfSecondFailed, true},
		{"log_failure_of_verifier_successes", "of the verifier's successes, failures by the log", r.FirstFailsSucceeded, true},
	}
}

// variances are the figures of reward variance within groups.
func (r *graded) variances() []gradeFigure {
	return []gradeFigure{
		{"log", "by the log", r.FirstVariance, false},
		{"verifier", "by the verifier", r.SecondVariance, false},
		{"added", "verifier minus log: what disagreement adds", r.Added, false},
		{"shared", "shared: 4 Cov of both rewards", r.Covariance, false},
		{"correlation", "correlation of both rewards", r.Correlation, false},
		{"verifier_predicted", "verifier's, if the log were right and it erred at random", r.SecondPredicted, false},
		{"log_predicted", "log's, if the verifier were right and it erred at random", r.FirstPredicted, false},
	}
}

// reasonOf says why a figure, or its error, does not exist.
func (r *graded) reasonOf(f gradeFigure) string {
	switch {
	case output.Finite(f.value.Value) == nil && f.share:
		return "there is no such rollout"
	case output.Finite(f.value.Value) == nil:
		return "needs rewards of both sorts by both graders, and groups of at least two rollouts"
	case output.Finite(f.value.SE) == nil:
		return "errors are over prompts, and there are too few that tell"
	case output.Finite(f.value.Low) == nil:
		return "no prompt makes a difference, so that there is no interval"
	}
	return ""
}

// figure returns a figure for documents.
func (r *graded) figure(f gradeFigure) output.Figure {
	x := output.Figure{Mean: output.Finite(f.value.Value), SE: output.Finite(f.value.SE), Reason: r.reasonOf(f)}
	if output.Finite(f.value.Low) != nil && output.Finite(f.value.High) != nil {
		x.Prompts = &output.Interval{Low: f.value.Low, High: f.value.High, Level: 0.95}
	}
	return x
}

// unidentified says what two graders without a truth leave open.
func (r *graded) unidentified() string {
	d := 100 * (1 - r.Agreement.Value)
	if !(d > 0) {
		return "neither grader is the truth: that they agree does not show that they are right"
	}
	return fmt.Sprintf("neither grader is the truth: each disagreement is an error of exactly one, so that their two rates of errors "+
		"add up to %.3g %% or more and differ by %.3g %% or less, but which errs how often cannot be known from the two, nor how often both are wrong", d, d)
}

func (r *graded) result() result[gradeRow] {
	return result[gradeRow]{r.document(), r.rows(), r.text}
}

// A confused is a cell of the confusion table.
type confused struct {
	Log      string `json:"log"`
	Verifier string `json:"verifier"`
	Rollouts int    `json:"rollouts"`
}

// The verdicts of a grader.
const (
	verdictSuccess = "success"
	verdictFailure = "failure"
)

func (r *graded) confusion() []confused {
	untold := r.kinds[reward.CannotTell]
	return []confused{
		{verdictSuccess, verdictSuccess, r.Total.Both},
		{verdictSuccess, verdictFailure, r.Total.First},
		{verdictSuccess, string(reward.CannotTell), untold.Success},
		{verdictFailure, verdictSuccess, r.Total.Second},
		{verdictFailure, verdictFailure, r.Total.None},
		{verdictFailure, string(reward.CannotTell), untold.Failure},
	}
}

// A gradeKind is how often the verifier used a word.
type gradeKind struct {
	Kind       reward.Kind `json:"kind"`
	LogSuccess int         `json:"log_success"`
	LogFailure int         `json:"log_failure"`
}

// kindsSeen returns the kinds that occurred, the best first.
func (r *graded) kindsSeen() []gradeKind {
	kinds := []gradeKind{}
	for _, k := range reward.Kinds() {
		if c := r.kinds[k]; c.sum() > 0 {
			kinds = append(kinds, gradeKind{k, c.Success, c.Failure})
		}
	}
	return kinds
}

// document returns the JSON document of the command contract.
func (r *graded) document() output.Object {
	o := header("grade").Object()
	for _, f := range r.subject() {
		o.Add(f.Key, f.Value)
	}
	for _, f := range r.counts() {
		o.Add(f.Key, f.Value)
	}
	o.Add("confusion", r.confusion())
	o.Add("kinds", r.kindsSeen())
	o.Add("rates", r.object(r.rates()))
	o.Add("variance", r.object(r.variances()))
	o.Add("mixing", r.mixing())
	o.Add("disagreements", r.examples)
	o.Add("untold", r.untold)
	o.Add("warnings", append([]string{}, r.warnings()...))
	o.Add("notes", []string{r.unidentified()})
	return o
}

func (r *graded) subject() output.Object {
	return output.Object{
		{Key: "paths", Value: r.paths},
		{Key: "from", Value: r.texts.Report.From},
		{Key: "reward", Value: r.texts.Report.Reward},
		{Key: "completion", Value: strings.Join(r.texts.Completion, " or ")},
		{Key: "answer", Value: strings.Join(r.texts.Answer, " or ")},
		{Key: "answers_file", Value: r.answersFile},
		{Key: "success", Value: r.texts.Rule.String()},
		{Key: "verifier", Value: r.verifier},
		{Key: "verifier_success", Value: r.rule.String()},
	}
}

// counts are the whole numbers of the comparison.
func (r *graded) counts() output.Object {
	return output.Object{
		{Key: "rollouts", Value: r.texts.Rollouts},
		{Key: "compared", Value: r.Rollouts},
		{Key: "cannot_tell", Value: r.kinds[reward.CannotTell].sum()},
		{Key: "without_completion", Value: r.texts.Missing},
		{Key: "answered", Value: r.texts.Answered},
		{Key: "answers_joined", Value: r.texts.Joined},
		{Key: "prompts", Value: r.Prompts},
		{Key: "groups", Value: r.Groups},
		{Key: "prompts_with_disagreement", Value: r.Disagreeing},
		{Key: "prompts_with_half_of_it", Value: r.HoldHalf},
	}
}

// mixing returns what becomes of groups whose rewards are all the same.
func (r *graded) mixing() output.Object {
	return output.Object{
		{Key: "constant_by_log", Value: r.FirstConstant},
		{Key: "constant_by_verifier", Value: r.SecondConstant},
		{Key: "mixed_by_verifier_alone", Value: r.SecondMixes},
		{Key: "mixed_by_verifier_alone_at_random", Value: output.Finite(r.SecondMixesWant)},
		{Key: "mixed_by_log_alone", Value: r.FirstMixes},
		{Key: "mixed_by_log_alone_at_random", Value: output.Finite(r.FirstMixesWant)},
	}
}

func (r *graded) object(figures []gradeFigure) output.Object {
	var o output.Object
	for _, f := range figures {
		o.Add(f.key, r.figure(f))
	}
	return o
}

// A gradeRow is one figure of the comparison.
type gradeRow struct {
	Figure string   `parquet:"figure"`
	At     string   `parquet:"at"`
	Value  *float64 `parquet:"value,optional"`
	SE     *float64 `parquet:"se,optional"`
	Low    *float64 `parquet:"low,optional"`
	High   *float64 `parquet:"high,optional"`
	Coding string   `parquet:"coding"`
	Reason string   `parquet:"reason"`
}

func (r *graded) rows() []gradeRow {
	var rows []gradeRow
	count := func(figure, at string, n any) {
		x, err := strconv.ParseFloat(fmt.Sprint(n), 64)
		if p, ok := n.(*float64); ok {
			x, err = math.NaN(), nil
			if p != nil {
				x = *p
			}
		}
		if err == nil {
			rows = append(rows, gradeRow{Figure: figure, At: at, Value: output.Finite(x), Coding: output.Signed})
		}
	}
	for _, f := range r.counts() {
		count(f.Key, "", f.Value)
	}
	for _, c := range r.confusion() {
		count("confusion", "log="+c.Log+",verifier="+c.Verifier, c.Rollouts)
	}
	for _, k := range r.kindsSeen() {
		count("kinds", string(k.Kind), k.LogSuccess+k.LogFailure)
	}
	add := func(group string, figures []gradeFigure) {
		for _, f := range figures {
			x := r.figure(f)
			row := gradeRow{Figure: group + "." + f.key, Value: x.Mean, SE: x.SE, Coding: output.Signed, Reason: x.Reason}
			if x.Prompts != nil {
				row.Low, row.High = &x.Prompts.Low, &x.Prompts.High
			}
			rows = append(rows, row)
		}
	}
	add("rates", r.rates())
	add("variance", r.variances())
	for _, f := range r.mixing() {
		count("mixing."+f.Key, "", f.Value)
	}
	return rows
}

// text prints the comparison for a person.
func (r *graded) text(t *output.Text) {
	t.Command(r.reproduce)
	t.Heading(fmt.Sprintf("%d rollouts of %d prompts in %d groups", r.texts.Rollouts, r.texts.Prompts, r.texts.Report.Groups))
	say := func(name, text string) { t.Note("  "+fmt.Sprintf("%-12s", name), text) }
	say("log", fmt.Sprintf("%s, rewards in %s, completions in %s%s", r.texts.Report.From, r.texts.Report.Reward,
		strings.Join(r.texts.Completion, " or "), r.answersText()))
	say("verifier", r.verifier)
	say("success", fmt.Sprintf("log: %s; verifier: %s", r.texts.Rule, r.rule))
	t.Heading("Verdicts, in rollouts")
	t.Grid(r.confusionGrid())
	t.Heading("Rates of the rollouts that the verifier can judge")
	t.Grid(r.grid(r.rates()))
	t.Heading("Reward variance u within groups")
	t.Grid(r.grid(r.variances()))
	t.Blank()
	r.findings(t)
	r.exampleText(t, "Where they disagree", r.examples)
	r.exampleText(t, "What the verifier cannot judge", r.untold)
}

func (r *graded) answersText() string {
	var from []string
	if r.texts.Answered > r.texts.Joined {
		from = append(from, strings.Join(r.texts.Answer, " or "))
	}
	if r.texts.Joined > 0 {
		from = append(from, fmt.Sprintf("%s (%d of %d)", r.answersFile, r.texts.Joined, r.texts.Rollouts))
	}
	if len(from) == 0 {
		return ", no answers"
	}
	return ", answers in " + strings.Join(from, " and ")
}

func (r *graded) confusionGrid() output.Grid {
	g := output.Grid{Head: []string{"log", "verifier: success", "failure", "cannot tell"}}
	untold := r.kinds[reward.CannotTell]
	n := strconv.Itoa
	g.Add(verdictSuccess, n(r.Total.Both), n(r.Total.First), n(untold.Success))
	g.Add(verdictFailure, n(r.Total.Second), n(r.Total.None), n(untold.Failure))
	return g
}

func (r *graded) grid(figures []gradeFigure) output.Grid {
	g := output.Grid{Head: []string{"", "", "95 %, over prompts"}}
	for _, f := range figures {
		x := r.figure(f)
		interval := output.Absent
		if x.Prompts != nil {
			interval = output.Between(x.Prompts.Low, x.Prompts.High)
		}
		g.Add(f.label, output.Measured(x), interval)
	}
	return g
}

// findings says in words what the figures mean.
func (r *graded) findings(t *output.Text) {
	var kinds []string
	for _, k := range r.kindsSeen() {
		kinds = append(kinds, fmt.Sprintf("%s %d", k.Kind, k.LogSuccess+k.LogFailure))
	}
	t.Note("- ", "the verifier's words: "+strings.Join(kinds, ", "))
	if r.Disagreeing > 0 {
		t.Note("- ", fmt.Sprintf("%d of %d prompts have disagreements, %d of them half of all", r.Disagreeing, r.Prompts, r.HoldHalf))
	}
	t.Note("- ", mixesText("verifier", "log", r.SecondMixes, r.FirstConstant, r.SecondMixesWant))
	t.Note("- ", mixesText("log", "verifier", r.FirstMixes, r.SecondConstant, r.FirstMixesWant))
	t.Note("- ", r.unidentified())
}

// mixesText says how many constant groups a grader mixes, and how many random
// errors would.
func mixesText(one, other string, mixes, constant int, want float64) string {
	text := fmt.Sprintf("of %d groups whose rewards are all the same by the %s, %d are mixed by the %s", constant, other, mixes, one)
	if constant > 0 && output.Finite(want) != nil {
		text += fmt.Sprintf("; errors at random would mix %.1f", want)
	}
	return text
}

func (r *graded) exampleText(t *output.Text, title string, examples []gradeExample) {
	if len(examples) == 0 {
		return
	}
	t.Heading(title)
	for _, x := range examples {
		verdict := string(x.Kind)
		if x.Reward != nil {
			verdict = fmt.Sprintf("%v (%s)", *x.Reward, x.Kind)
		}
		t.Note("  ", fmt.Sprintf("%s, line %d, prompt %s, step %d: log %v, verifier %s: %s; completion %q", x.File, x.Line, harmless(x.PromptID), x.Step,
			x.LogReward, verdict, harmless(x.Detail), x.Completion))
	}
}
