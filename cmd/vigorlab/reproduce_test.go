package main

import (
	"bytes"
	"context"
	"reflect"
	"strings"
	"testing"
)

// TestHeaderReproduces runs the command that heads a table and expects the
// same table.
func TestHeaderReproduces(t *testing.T) {
	t.Chdir(t.TempDir())
	outcomesFile(t, ".")
	command(t, strings.Fields("simulate --population uniform --batch 9 --replicates 5 --out run")...)
	for _, args := range []string{
		"plot run --figure screening --figure allocation",
		"theory --population spiked-beta:dead=0.3,solved=0.1,a=2,b=6 --batch 31 --frontier 0.5 --strategy vigor:alpha=1/3,gamma=3",
		"simulate --population mixture:0.3@beta:a=2,b=6+0.7@uniform --replicates 5 --batch 9 --seed 7 --aggregate prompt --frontier 0.5",
		"simulate --population uniform --replicates 5 --batch 9 --strategy vigor:select=random,ties=index --strategy fixed:g=3 --workers 1",
		"replay --table outcomes.csv --draw posterior --batch 8 --replicates 5 --resamples 9 --seed 3",
		"fit outcomes.csv --family npmle --family pareto-variance --window 0:3 --replicates 9 --seed 5",
		"verify --quick --only 2.published-speedup,2.closed-form --seed 9",
		"compare --population uniform --table outcomes.csv --strategy vigor --batch 4 --steps 3 --group 4 --replicates 3 --prompts 9 " +
			"--drift walk:sd=0.1 --aggregate prompt --hard 0.3 --seed 5",
		quickTraining + " --policy linear:overlap=0.5,heldout=8,floor=1e-3 --eval held-out --estimator rloo --estimator trl --aggregate both " +
			"--optimizer momentum --clip 0.2 --epochs 2 --kl 0.01 --token-mean --lr 3 --group 6 --prompts 20 --max-rollouts 2000 --max-steps 90 " +
			"--resamples 50 --probes=false --seed 4",
		quickTraining + " --policy logit:floor=1e-3 --choose-seeds 1 --optimizer adam",
	} {
		first := runTable(t, strings.Fields(args))
		header := strings.TrimPrefix(firstLine(first), "# vigorlab ")
		if again := runTable(t, strings.Fields(header)); again != first {
			t.Errorf("%q: %q prints another table", args, header)
		}
	}
}

func runTable(t *testing.T, args []string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := execute(context.Background(), args, &stdout, &stderr); code != exitDone {
		t.Fatalf("%q: exit code %d: %s", args, code, &stderr)
	}
	return stdout.String()
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

func TestQuote(t *testing.T) {
	for _, c := range []struct{ word, want string }{
		{"beta:a=0.1,b=0.3", "beta:a=0.1,b=0.3"},
		{"mixture:0.3@beta:a=2,b=6+0.7@uniform", "mixture:0.3@beta:a=2,b=6+0.7@uniform"},
		{"atoms:path=two atoms.csv", "'atoms:path=two atoms.csv'"},
		{"it's", `'it'\''s'`},
		{"", "''"},
		{"$(rm)", "'$(rm)'"},
	} {
		if got := quote(c.word); got != c.want {
			t.Errorf("quote(%q) = %s, want %s", c.word, got, c.want)
		}
	}
}

// TestTablesFitTheTerminal checks the width of tables. That of the whole ladder is
// looked at where help's example of it is run.
func TestTablesFitTheTerminal(t *testing.T) {
	t.Chdir(t.TempDir())
	outcomesFile(t, ".")
	command(t, strings.Fields("simulate --population uniform --batch 9 --replicates 5 --out run")...)
	for _, args := range []string{
		"theory --population mixture:0.3@spiked-beta:dead=0.25,solved=0.125,a=0.0625,b=12.5+0.7@pareto-variance:shape=1.5,min=0.0001,max=0.999",
		"theory --population pareto-variance:shape=1.5,min=0.01",
		"simulate --population uniform:tokens=1000 --replicates 5 --batch 9 --strategy vigor --strategy fixed --strategy vigor:select=random,ties=index " +
			"--strategy vigor:m0=4,rounds=2,alpha=1/4,gamma=4,update=survivors,reuse=false --strategy vigor:cut=floor --strategy fixed:g=4",
		"simulate --population uniform --replicates 5 --batch 300 --strategy vigor:m0=2,rounds=30,alpha=0.9,gamma=1",
		"replay --table outcomes.csv --replicates 5",
		"fit outcomes.csv --replicates 3",
		"verify --quick --only 2.monte-carlo,7,8",
		"compare --population uniform:tokens=1000 --population mixture:0.3@spiked-beta:dead=0.25,solved=0.125,a=0.0625,b=12.5+0.7@pareto-variance:shape=1.5,min=0.0001,max=0.999 " +
			"--strategy vigor:m0=4,rounds=2,alpha=1/4,gamma=4,update=survivors,reuse=false --batch 4 --replicates 3",
		quickTraining + " --policy sequence:floor=1e-3 --lr 10,20 --choose-seeds 1 --estimator grpo --estimator drgrpo --aggregate both " +
			"--strategy vigor:m0=4,rounds=2,alpha=1/4,gamma=4,update=survivors,reuse=false",
		"strategies", "populations", "policies", "systems", "version", "plot run", "plot run --image svg --out drawn",
	} {
		checkWidth(t, args, runTable(t, strings.Fields(args)))
	}
}

// checkWidth checks that no line of a table but the command is wider than 100
// columns.
func checkWidth(t *testing.T, what, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > 100 && !strings.HasPrefix(line, "# ") {
			t.Errorf("%q: a line of %d columns: %s", what, n, line)
		}
	}
}

// TestFlagsReachTheResult checks that every flag that a result depends on
// changes its figures, and that --workers does not.
func TestFlagsReachTheResult(t *testing.T) {
	t.Chdir(t.TempDir())
	outcomesFile(t, ".")
	simulate := "simulate --population beta:a=0.5,b=0.5 --batch 9 --replicates 5"
	replay := "replay --table outcomes.csv --batch 9 --replicates 5 --quiet"
	compare := "compare --population uniform --strategy vigor --batch 4 --steps 2 --replicates 3"
	train := quickTraining + " --policy linear:overlap=0.5,heldout=8,floor=1e-3 --lr 2,4 --choose-seeds 2 --max-rollouts 20000"
	theory := "theory --population beta:a=0.5,b=0.5 --batch 9 --quiet"
	plan := "plan outcomes.csv --batch 64 --max-rounds 2 --replicates 3 --worlds 40 --quiet"
	plain := map[string]any{} // what a command prints without the flag
	for _, c := range []struct {
		base, flag, key string
		same            bool
	}{
		{plan, "--seed 2", "pilot", false},
		{plan, "--batch 100", "table", false},
		{plan, "--group 6", "table", false},
		{plan, "--objective signal", "best", false},
		{plan, "--aggregate prompt", "best", false},
		{plan, "--max-group 20", "table", false},
		{plan, "--max-rounds 3", "table", false},
		{plan, "--tolerance 0.2", "evaluated", false},
		{plan, "--smooth npmle", "table", false},
		{plan, "--replicates 4", "table", false},
		{plan, "--worlds 50", "best", false},
		{plan, "--round-latency 3", "front", false},
		{plan + " --rollout-seconds 4", "--concurrency 50", "front", false},
		{plan, "--workers 3", "table", true},
		{simulate, "--seed 2", "strategies", false},
		{simulate, "--batch 10", "strategies", false},
		{simulate, "--replicates 6", "strategies", false},
		{simulate, "--frontier 0.2", "strategies", false},
		{simulate, "--aggregate prompt", "strategies", false},
		{simulate, "--workers 3", "strategies", true},
		{replay, "--seed 2", "strategies", false},
		{replay, "--batch 10", "strategies", false},
		{replay, "--batch all", "strategies", false},
		{replay, "--replicates 6", "strategies", false},
		{replay, "--frontier 0.2", "strategies", false},
		{replay, "--aggregate prompt", "strategies", false},
		{replay, "--draw posterior", "strategies", false},
		{replay, "--resamples 0", "strategies", false},
		{replay, "--resamples 20", "strategies", false},
		{replay, "--resamples 200", "strategies", true},
		{replay, "--workers 3", "strategies", true},
		{theory, "--batch 10", "eta", false},
		{theory, "--frontier 0.2", "screening", false},
		{compare, "--seed 2", "populations", false},
		{compare, "--batch 5", "populations", false},
		{compare, "--group 6", "populations", false},
		{compare, "--steps 3", "populations", false},
		{compare, "--replicates 4", "populations", false},
		{compare, "--prompts 13", "populations", false},
		{compare, "--drift walk", "populations", false},
		{compare, "--aggregate prompt", "populations", false},
		{compare, "--hard 0.9", "populations", false},
		{compare + " --strategy vip:n=8,low=4,high=16 --prompts 12", "--embedding-noise 2", "populations", false},
		{compare, "--workers 3", "populations", true},
		{train, "--seed 2", "arms", false},
		{train, "--group 6", "arms", false},
		{train, "--estimator rloo", "arms", false},
		{train, "--aggregate prompt", "arms", false},
		{train, "--optimizer adam", "arms", false},
		{train, "--epochs 2", "arms", false},
		{train + " --epochs 2", "--clip 0.01", "arms", false},
		{train, "--kl 0.1", "arms", false},
		{strings.Replace(train, "linear:overlap=0.5,heldout=8,", "sequence:", 1), "--token-mean", "arms", false},
		{train, "--target 0.75", "arms", false},
		{train, "--eval held-out", "arms", false},
		{train, "--max-rollouts 100", "arms", false},
		{train, "--max-steps 2", "arms", false},
		{train, "--batch 9", "arms", false},
		{train, "--prompts 20", "arms", false},
		{train, "--seeds 4", "arms", false},
		{train, "--choose-seeds 3", "grids", false},
		{train + " --seeds 6", "--resamples 50", "arms", false}, // the fewest with intervals
		{train, "--probes=false", "arms", false},
		{train, "--lr 2,4.5", "grids", false},
		{train, "--workers 3", "arms", true},
		{"verify --only 2.monte-carlo --quick", "--seed 2", "rungs", false},
		{"verify --only 2.monte-carlo --quick", "--workers 3", "rungs", true},
	} {
		before, ran := plain[c.base]
		if !ran {
			before, _ = runJSON(t, strings.Fields(c.base)...)
			forgetTimes(before)
			plain[c.base] = before
		}
		after, _ := runJSON(t, strings.Fields(c.base+" "+c.flag)...)
		forgetTimes(after)
		got := reflect.DeepEqual(before.(map[string]any)[c.key], after.(map[string]any)[c.key])
		if got != c.same {
			t.Errorf("%s %s: %s stays the same: %v, want %v", c.base, c.flag, c.key, got, c.same)
		}
	}
}

// forgetTimes removes the selection times of compare, on which no two runs
// agree.
func forgetTimes(document any) {
	populations, _ := document.(map[string]any)["populations"].([]any)
	for _, p := range populations {
		for _, row := range p.(map[string]any)["rows"].([]any) {
			delete(row.(map[string]any), "select_ns")
		}
	}
}
