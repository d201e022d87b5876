package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"vigorlab/plots"
)

// TestHelpExamples runs every example of the help texts, those of `vigorlab help`
// too.
func TestHelpExamples(t *testing.T) {
	root := newRoot(&app{})
	drawn := map[string]bool{}
	skipped := false
	t.Run("help", func(t *testing.T) { runExamples(t, root) })
	for _, cmd := range root.Commands() {
		if !cmd.IsAvailableCommand() || cmd.Name() == "help" || cmd.Name() == "completion" {
			continue
		}
		ran := false
		t.Run(cmd.Name(), func(t *testing.T) {
			ran = true
			runExamples(t, cmd)
			for _, kind := range checkFigures(t) {
				drawn[kind] = true
			}
		})
		skipped = skipped || !ran // by -run
	}
	for _, kind := range plots.Kinds() {
		fromSweep := kind == plots.KindLines || kind == plots.KindHeat        // see TestScripts/plotsweep
		if !drawn[kind] && !skipped && !fromSweep && kind != plots.KindPlan { // see TestPlotRepeats
			t.Errorf("no example draws a figure of kind %s", kind)
		}
	}
}

// TestHelpIsNarrow: no line of a help text or of its examples is wider than 100 columns.
func TestHelpIsNarrow(t *testing.T) {
	root := newRoot(&app{})
	for _, cmd := range append(root.Commands(), root) {
		if cmd.Name() != "help" && cmd.Name() != "completion" { // cobra's own
			checkWidth(t, "help "+cmd.Name(), strings.ReplaceAll(cmd.Long+"\n"+cmd.Example, "\n# ", "\n#"))
		}
	}
}

func runExamples(t *testing.T, cmd *cobra.Command) {
	examples := commandsOf(cmd.Example)
	if len(examples) == 0 {
		t.Fatal("the help text has no example")
	}
	t.Chdir(t.TempDir())
	outcomesFile(t, ".")
	rolloutFiles(t, "rollouts")
	questionsFile(t, ".")
	unansweredFiles(t, ".")
	if err := os.WriteFile("schedule.txt", []byte("vigor:m0=4,rounds=2,alpha=1/4,gamma=4\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("grid.toml", []byte(smallGrid), 0o666); err != nil {
		t.Fatal(err)
	}
	for i, words := range examples {
		prepares := i+1 < len(examples) && (words[1] == "rollout" || words[1] == "simulate" || words[1] == "sweep") // makes what the next example reads
		shows := slices.Contains([]string{"vigorlab", "populations", "strategies"}, cmd.Name())                     // what other commands do
		if words[0] != "vigorlab" || words[1] != cmd.Name() && !prepares && !shows {
			t.Errorf("%q is no example of %s", words, cmd.Name())
			continue
		}
		var stdout, stderr bytes.Buffer
		if code := execute(context.Background(), words[1:], &stdout, &stderr); code != exitDone {
			t.Errorf("%q: exit code %d: %s", words, code, &stderr)
		}
		if stdout.Len() == 0 {
			t.Errorf("%q prints nothing", words)
		}
		if strings.Join(words, " ") == "vigorlab verify --quick --out ladder" {
			checkLadder(t, stdout.String())
		}
	}
}

// checkLadder checks what the example that climbs the whole quick ladder printed and
// left in ladder/: no check of vigorlab's own fails, no line is too wide, everything is
// written, and figures that do not exist have their reasons.
func checkLadder(t *testing.T, printed string) {
	t.Helper()
	if !strings.Contains(printed, "Rung 1: ") || strings.Contains(printed, "OUR ERROR") {
		t.Errorf("the ladder prints %s", printed)
	}
	checkWidth(t, "verify", printed)
	for _, file := range []string{
		"results.csv", "results.parquet", "rungs/rung-1.csv", "rungs/rung-4.csv", "rungs/4.mean-field.json",
		"figures/rung-1-gradient-norm.pdf", "figures/rung-3-eta-shape.svg", "figures/rung-4-speedup.png",
		"figures/rung-4-allocation.pdf", "figures/rung-4-screening.png", "figures/rung-6-levels-rollout-small.png",
		"figures/rung-6-calibration-prompt-best.pdf",
	} {
		if s, err := os.Stat(filepath.Join("ladder", file)); err != nil || s.Size() == 0 {
			t.Errorf("ladder/%s: %v, want a file with something in it", file, err)
		}
	}
	for file, text := range map[string]string{"report.md": "Where a speedup of 2.3 can come from", "run.json": `"status": "complete"`} {
		if !strings.Contains(read(t, filepath.Join("ladder", file)), text) {
			t.Errorf("ladder/%s has no %s", file, text)
		}
	}
	var document any
	if err := json.Unmarshal([]byte(read(t, "ladder/results.json")), &document); err != nil { // fails on NaN
		t.Fatal(err)
	}
	checkReasons(t, "ladder/results.json", "", document)
}

// commandsOf returns the words of every command line of an example: comments
// are left out, and a backslash at the end of a line joins the next.
func commandsOf(example string) [][]string {
	var commands [][]string
	for line := range strings.Lines(strings.ReplaceAll(example, "\\\n", " ")) {
		words := strings.Fields(line)
		if len(words) > 0 && words[0] != "#" {
			commands = append(commands, words)
		}
	}
	return commands
}
