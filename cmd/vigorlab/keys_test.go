package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// runJSON runs a command line in this process and returns its document and
// the keys of the document in their order.
func runJSON(t *testing.T, args ...string) (document any, keys []string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := execute(context.Background(), append(args, "--format", "json"), &stdout, &stderr); code != exitDone {
		t.Fatalf("%q: exit code %d: %s", args, code, &stderr)
	}
	if err := json.Unmarshal(stdout.Bytes(), &document); err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return document, topKeys(t, stdout.Bytes())
}

// topKeys returns the keys of the outermost object in their order.
func topKeys(t *testing.T, document []byte) []string {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(document))
	var keys []string
	depth, key := 0, true
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return keys
		}
		if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case json.Delim:
			if token == '{' || token == '[' {
				depth++
			} else {
				depth--
			}
			key = depth == 1
		default:
			if depth == 1 && key {
				keys = append(keys, fmt.Sprint(token))
				key = false
			} else if depth == 1 {
				key = true
			}
		}
	}
}

// keysAt returns the keys of the object at a path such as "strategies.0.eta".
func keysAt(t *testing.T, document any, path string) string {
	t.Helper()
	at := document
	for step := range strings.SplitSeq(path, ".") {
		switch node := at.(type) {
		case map[string]any:
			at = node[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(node) {
				t.Fatalf("%s: no %s in a list of %d", path, step, len(node))
			}
			at = node[i]
		}
	}
	object, ok := at.(map[string]any)
	if !ok {
		t.Fatalf("%s is no object but %v", path, at)
	}
	var keys []string
	for k := range object {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return strings.Join(keys, " ")
}

// outcomesFile writes a recorded table and returns its path.
func outcomesFile(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("prompt_id,n,successes\n")
	for i, s := range []int{0, 0, 1, 3, 5, 8, 12, 16, 20, 27, 33, 37, 39, 40, 40, 40} {
		fmt.Fprintf(&b, "p%d,40,%d\n", i, s)
	}
	path := filepath.Join(dir, "outcomes.csv")
	if err := os.WriteFile(path, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// runOf runs a command and returns its run directory.
func runOf(t *testing.T, args ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), args[0])
	runTable(t, append(args, "--out", dir, "--quiet"))
	return dir
}

// questionsFile writes a small data set of questions with answers.
func questionsFile(t *testing.T, dir string) {
	t.Helper()
	var b strings.Builder
	for i := range 8 {
		fmt.Fprintf(&b, "{\"prompt\":\"What is 1+%d?\",\"answer\":%d}\n", i, i+1)
	}
	if err := os.WriteFile(filepath.Join(dir, "questions.jsonl"), []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
}

// gradedFileOf writes a small log of sums with the rewards of a lenient grader.
func gradedFileOf(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	for i := range 24 {
		prompt := i / 4
		said := prompt + 1 + i%4/2
		fmt.Fprintf(&b, `{"prompt_id":"q%d","index":%d,"round":1,"prompt":"1+%d?","answer":"%d","completion":"%d","reward":%d}`+"\n",
			prompt, i%4, prompt, prompt+1, said, 1-i%4/3)
	}
	path := filepath.Join(dir, "graded.jsonl")
	if err := os.WriteFile(path, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// unansweredFiles writes that log without its answers, and the prompts that have
// them.
func unansweredFiles(t *testing.T, dir string) {
	t.Helper()
	log, err := os.ReadFile(gradedFileOf(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	log = regexp.MustCompile(`,"answer":"\d+"`).ReplaceAll(log, nil)
	var b strings.Builder
	for i := range 6 {
		fmt.Fprintf(&b, "{\"id\":\"q%d\",\"prompt\":\"1+%d?\",\"answer\":%d}\n", i, i, i+1)
	}
	for name, content := range map[string]string{"unanswered.jsonl": string(log), "sums.jsonl": b.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// rolloutFiles writes a small verl log of two steps: prompts 0 to 3, of which
// prompt k has k of 3 right.
func rolloutFiles(t *testing.T, dir string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for step := 1; step <= 2; step++ {
		var b strings.Builder
		for i := range 12 {
			score := 0
			if i%4 > i/4 {
				score = 1
			}
			fmt.Fprintf(&b, `{"input": "prompt %d", "output": "x", "score": %d.0, "step": %d}`+"\n", i%4, score, step)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.jsonl", step)), []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const figureKeys = "mean se"

// quickTraining is a trial of a moment, without its policy and learning rates.
const quickTraining = "train --population uniform --strategy vigor --target 0.7 --batch 8 --seeds 3 --quiet"

// TestKeys keeps every key that scripts depend on: more may be added, none
// renamed.
func TestKeys(t *testing.T) {
	table := outcomesFile(t, t.TempDir())
	rollouts := rolloutFiles(t, t.TempDir())
	etas := "cap cap_batch closed_form finite_batch law law_cap noisy"
	comparison := "aggregate batch coding command frontier replicates schema seed strategies version warnings"
	outcome := "allocation eta eta_batch_mean eta_token fixed_ineffective fixed_signal fixed_signal_prompt_mean " +
		"fixed_zero_variance_groups group_sizes ineffective progress provenance rollouts_per_prompt rounds screening signal " +
		"signal_prompt_mean signal_relative signal_token strategy tokens_per_prompt trained_per_prompt zero_variance_groups"
	for _, c := range []struct {
		args string
		want map[string]string // keys by path
	}{
		{"theory --population pareto-variance:shape=1.5,min=0.01,max=1", map[string]string{
			"": "batch coding command eta frontier group_sizes ineffective population progress provenance rollouts_per_prompt " +
				"rounds schema screening signal signal_prompt_mean speedup strategy version warnings zero_variance_groups",
			"eta": etas, "speedup": "1 1/2 1/3", "speedup.1/3": etas, "speedup.1/2": etas, "speedup.1": etas,
			"group_sizes.0": "share size", "ineffective": "fixed strategy", "zero_variance_groups": "fixed strategy",
			"signal": "fixed strategy", "signal_prompt_mean": "fixed strategy",
			"screening.0": "false_negative false_negative_cumulative false_omission round",
			"rounds.0":    "eta ineffective progress rollouts_per_prompt round signal signal_prompt_mean zero_variance_groups",
		}},
		{"theory --population uniform --strategy pods", map[string]string{
			"": "batch coding command eta frontier group_sizes ineffective population progress provenance reason rollouts_per_prompt " +
				"rounds schema screening signal signal_prompt_mean speedup strategy version warnings zero_variance_groups",
			"eta": etas + " reason", "speedup.1": etas + " reason",
			"ineffective": "fixed reason strategy", "signal": "fixed reason strategy",
		}},
		{"theory --population beta:a=1,b=1 --strategy fixed:g=8", map[string]string{"eta": etas + " reason"}},
		{"simulate --population uniform:tokens=10 --batch 16 --replicates 20", map[string]string{
			"":             comparison + " population",
			"strategies.0": outcome, "strategies.0.eta": figureKeys, "strategies.0.eta_token": figureKeys,
			"strategies.0.group_sizes.0": "share size", "strategies.0.group_sizes.0.share": figureKeys,
			"strategies.0.screening.0":  "false_negative false_negative_cumulative false_omission round",
			"strategies.0.allocation.0": "high low rollouts share",
		}},
		{"simulate --population uniform --batch 16 --replicates 20 --strategy vigor:update=survivors", map[string]string{
			"strategies.0": strings.Replace(outcome, "eta_token", "eta_generated eta_token", 1), "strategies.0.eta_token": figureKeys + " reason",
		}},
		{"simulate --population pareto-variance:shape=1.5,min=0.01 --batch 16 --replicates 20", map[string]string{
			"strategies.0.eta": "exact mean se untrusted",
		}},
		{"replay --table " + table + " --replicates 20", map[string]string{
			"":             comparison + " draw table",
			"strategies.0": outcome, "strategies.0.eta": figureKeys + " prompts", "strategies.0.eta.prompts": "high level low missing",
		}},
		{"fit " + table + " --replicates 3", map[string]string{
			"":                      "coding command comparisons drift families folded gain gof_test hill prompts replicates rollouts schema seed sizes table verdict version warnings window",
			"sizes":                 "batch came_about holdout strategy",
			"families.0":            "aic family gain gof_p gof_p_se gof_statistic law loglik mean_p mean_u parameters spec zero_variance",
			"families.0.parameters": "a b", "families.0.parameters.a": "at_end estimate high low method",
			"families.0.gain": "estimate high low", "families.0.zero_variance.0": "g high low observed predicted prompts se",
			"comparisons.0": "a apart b difference level p test", "folded": "comparisons families prompts",
			"folded.families.0": "family gof_p gof_p_se loglik parameters", "gain": "family fitted plugin", "hill": "points warning",
			"hill.points.0": "estimate k se u", "drift": "correlations next reason",
		}},
		{"grade " + gradedFileOf(t, t.TempDir()) + " --verifier exact", map[string]string{
			"": "answer answered answers_file answers_joined cannot_tell coding command compared completion confusion disagreements from groups kinds mixing notes paths prompts " +
				"prompts_with_disagreement prompts_with_half_of_it rates reward rollouts schema success untold variance verifier verifier_success version warnings without_completion",
			"confusion.0": "log rollouts verifier", "kinds.0": "kind log_failure log_success",
			"disagreements.0": "answer completion detail file kind line log_reward prompt_id reward step",
			"rates": "agreement kappa log_failure_of_verifier_successes log_success log_success_of_verifier_failures " +
				"verifier_failure_of_log_successes verifier_success verifier_success_of_log_failures",
			"variance": "added correlation log log_predicted shared verifier verifier_predicted",
			"mixing":   "constant_by_log constant_by_verifier mixed_by_log_alone mixed_by_log_alone_at_random mixed_by_verifier_alone mixed_by_verifier_alone_at_random",
		}},
		{"verify --quick --only 2.published-speedup", map[string]string{
			"":        "coding command family level predictions quick ratios rungs schema seed version",
			"rungs.0": "bias claim detects estimate id interval kind method note p reason reference rung se test verdict",
		}},
		{"compare --population uniform --strategy vigor --batch 4 --steps 2 --replicates 3", map[string]string{
			"":              "aggregate batch coding command drift group hard matched_cost populations replicates schema seed steps version",
			"populations.0": "drift lag population prompts ranks rows", "populations.0.ranks": "level pairs test",
			"populations.0.rows.0": "acceptance allocation calibration curve effective effective_token failed generated_per_prompt gradient_bias gradient_snr " +
				"gradient_variance group groups_per_prompt hits hits_token matched_effective matched_mean_p progress progress_token provenance rank rounds select_ns short signal signal_token " +
				"strategy taxonomy tokens_per_prompt trained_per_prompt",
			"populations.0.rows.0.signal": figureKeys, "populations.0.rows.0.select_ns": figureKeys,
			"populations.0.rows.0.rank": "effective gradient_snr hits progress signal", "populations.0.rows.0.rank.signal": "beats high low",
			"populations.0.rows.0.curve.0":      "effective generated mean_p step",
			"populations.0.rows.0.allocation.0": "high low rollouts share",
		}},
		{quickTraining + " --policy sequence:floor=1e-3 --lr 10,20 --choose-seeds 2", map[string]string{
			"": "arms batch choose_seeds coding command common_rate epochs eval grids kl learning_rates level max_rollouts optimizer policy population " +
				"prompts resamples schema seed seeds target token_mean version warnings",
			"arms.0": "aggregate at by_level curve diagnostics diverged edge estimator learning_rate ledger log_odds_per_epoch probes provenance ratio rollouts_to_target steps_to_target " +
				"strategy strategy_provenance success system token_ratio tokens_to_target",
			"arms.0.rollouts_to_target": "high low median reached reason seeds", // 3 seeds have no interval
			"arms.0.ratio":              "estimate high low reason statistic",
			"arms.0.by_level.0":         "level ratio rollouts steps token_ratio tokens",
			"arms.0.probes.0":           "bias length quarter rollouts seeds snr success",
			"arms.0.probes.0.snr":       figureKeys,
			"arms.0.curve.0":            "cost never_trained rollouts rounds starvation_max starvation_mean starvation_q90 step success tokens",
			"arms.0.curve.0.success":    "high low mean se seeds",
			"arms.0.ledger":             "cost extra generated rounds steps tokens trained",
			"arms.0.ledger.cost":        figureKeys,
			"grids.0":                   "aggregate diverged estimator learning_rate log_odds_per_epoch rollouts_to_target strategy success system",
		}},
		{quickTraining + " --policy softmax:floor=1e-3 --lr 10 --system m2po:lag=4", map[string]string{
			"arms.0": "aggregate at by_level curve diagnostics diverged edge estimator learning_rate ledger log_odds_per_epoch probes provenance ratio rollouts_to_target steps_to_target " +
				"strategy strategy_provenance success system",
			"arms.0.success":       figureKeys,
			"arms.1.diagnostics.0": "mean name se seeds",
			"arms.1.curve.1": "cost curriculum ineffective never_trained rollouts rollouts_at_p_0 rollouts_at_p_1 rollouts_at_p_2 rollouts_at_p_3 " +
				"rollouts_at_p_4 rollouts_at_p_5 rollouts_at_p_6 rollouts_at_p_7 rollouts_at_p_8 rollouts_at_p_9 rounds starvation_max starvation_mean " +
				"starvation_q90 step success system_chi2 system_held system_m2 system_max_log zero_variance_groups",
		}},
		{"import " + rollouts + " --out " + filepath.Join(t.TempDir(), "t.csv"), map[string]string{
			"": "basis coding coerced command constant_groups continuous dropped duplicated files from group_sizes grouping groups notes " +
				"prompts reward rows schema steps success superseded support table torn variance_between variance_within version warnings why",
			"group_sizes.0": "groups size", "support.0": "reward rollouts",
		}},
		{"plan " + table + " --batch 64 --max-rounds 2 --replicates 3 --worlds 40 --rollout-seconds 9", map[string]string{
			"": "aggregate batch best coding command concurrency evaluated front group max_group max_rounds objective pilot replicates " +
				"rollout_seconds round_latency schema seed simulated smooth strategy subject table theorem2 tolerance validation version visits warnings worlds",
			"best": "beta do_not_bother gain other_law over_default per_second recommended strategy verdict", "best.beta": "gof_p gof_p_se spiked_p", "best.other_law": "gain smooth", "best.gain": "estimate high low reason", "best.over_default": "estimate high low reason", // so small a pilot has no interval
			"table.0":              "eta finite_batch gain gain_per_second gains_prompt gains_rollout largest_group prompts_per_prompt rollouts_per_prompt rounds seconds strategy",
			"table.0.finite_batch": figureKeys, "table.0.gains_rollout": "effective gradient_variance progress signal",
			"simulated.0": "gain gain_per_second provenance rounds seconds strategy", "front.0": "by gain gain_per_second rounds seconds strategy", "theorem2": "eta speedup strategy",
			"theorem2.speedup": "1 1/2 1/3", "validation": "reason times", "pilot.0": "gain prompts rollouts",
		}},
		{"report " + runOf(t, "theory", "--population", "uniform") + " --out " + filepath.Join(t.TempDir(), "page.html"), map[string]string{
			"": "coding command page runs schema title version", "runs.0": "checks claims command directory figures tables",
		}},
		{"strategies", map[string]string{
			"0":              "capabilities name parameters provenance source taxonomy",
			"0.capabilities": "changes_loss embeddings exact_budget first_epoch history picks_prompts truth",
			"0.parameters.0": "default doc name range",
		}},
		{"policies", map[string]string{"0": "doc name parameters provenance source", "0.parameters.0": "default doc name range"}},
		{"systems", map[string]string{"0.diagnostics.0": "doc name title", "0": "diagnostics name parameters provenance source taxonomy", "0.parameters.0": "default doc name range"}},
		{"populations", map[string]string{
			"0":              "capabilities name parameters provenance source",
			"0.parameters.0": "default doc name range",
		}},
		{"plot " + simulated(t) + " --out " + filepath.Join(t.TempDir(), "drawn"), map[string]string{
			"": "coding command figures schema version", "figures.0": "coding figure files kind numbers what width_inches",
		}},
		{"version", map[string]string{"": "coding command go platform reason revision schema version"}},
	} {
		document, top := runJSON(t, strings.Fields(c.args)...)
		if _, list := document.([]any); !list && !slices.Equal(top[:4], []string{"schema", "version", "command", "coding"}) {
			t.Errorf("%s: the document starts with %q", c.args, top)
		}
		for path, want := range c.want {
			if path == "" {
				path, document := "root", map[string]any{"root": document}
				compareKeys(t, c.args, keysAt(t, document, path), want)
				continue
			}
			compareKeys(t, c.args+" "+path, keysAt(t, document, path), want)
		}
		checkReasons(t, c.args, "", document)
	}
}

func compareKeys(t *testing.T, what, got, want string) {
	t.Helper()
	sorted := strings.Fields(want)
	slices.Sort(sorted)
	if want = strings.Join(sorted, " "); got != want {
		t.Errorf("%s: keys\n%s\nwant\n%s", what, got, want)
	}
}

// checkReasons checks that every null has a sibling reason.
func checkReasons(t *testing.T, what, path string, node any) {
	t.Helper()
	switch node := node.(type) {
	case []any:
		for i, x := range node {
			checkReasons(t, what, fmt.Sprintf("%s[%d]", path, i), x)
		}
	case map[string]any:
		reason, _ := node["reason"].(string)
		for k, x := range node {
			if x == nil && reason == "" {
				t.Errorf("%s: %s.%s is null without a reason", what, path, k)
			}
			checkReasons(t, what, path+"."+k, x)
		}
	}
}

// TestNullsHaveReasons tries inputs on which many figures do not exist.
func TestNullsHaveReasons(t *testing.T) {
	table := filepath.Join(t.TempDir(), "dead.csv")
	if err := os.WriteFile(table, []byte("prompt_id,n,successes\na,8,0\nb,8,0\nc,8,8\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	history := filepath.Join(t.TempDir(), "history.csv") // of prompts that do not differ: no correlations
	if err := os.WriteFile(history, []byte("prompt_id,step,n,successes\na,1,8,4\na,2,8,4\nb,1,8,4\nb,2,8,4\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{
		"theory --population point:p=0",
		"theory --population pareto-variance:shape=0.9,min=0.01",
		"theory --population pareto-variance:shape=1.5,min=0.01 --strategy vigor:rounds=10000",
		"theory --population uniform --strategy vigor:rounds=40",
		"theory --population uniform --strategy vigor:m0=1",
		"theory --population point:p=1 --strategy fixed:g=1 --batch 1",
		"simulate --population point:p=0 --batch 4 --replicates 3",
		"simulate --population point:p=0.5 --batch 1 --replicates 1",
		"simulate --population uniform --batch 8 --replicates 3 --aggregate prompt --strategy vigor:update=survivors,reuse=false",
		"simulate --population pareto-variance:shape=0.9,min=0.01 --batch 4 --replicates 3",
		"replay --table " + table + " --replicates 3",
		"fit " + table + " --replicates 2",
		"fit " + table + " --replicates 0 --window 3",
		"fit " + history + " --replicates 0 --family beta",
		"verify --quick --only 7,8",
		quickTraining + " --policy logit:floor=1e-3 --lr 0.01,0.02 --choose-seeds 1 --max-rollouts 200",
		quickTraining + " --policy logit:floor=1e-3 --lr 20 --seeds 1",
		"train --population point:p=0.5 --target 0.51 --strategy dapo:n=8 --batch 8 --seeds 2 --quiet --lr 1000",
		"verify --quick --only 7 --table " + table,
		"plan " + table + " --batch 16 --max-rounds 2 --replicates 3 --worlds 40",
		"plan --population point:p=0.5 --batch 2 --group 2 --max-rounds 1 --replicates 0 --worlds 0",
	} {
		document, _ := runJSON(t, append(strings.Fields(args), "--quiet")...)
		checkReasons(t, args, "", document)
	}
}
