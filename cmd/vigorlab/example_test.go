package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestHelpExamples runs every example of the help texts.
func TestHelpExamples(t *testing.T) {
	root := newRoot(&app{})
	for _, cmd := range root.Commands() {
		if !cmd.IsAvailableCommand() || cmd.Name() == "help" || cmd.Name() == "completion" {
			continue
		}
		t.Run(cmd.Name(), func(t *testing.T) { runExamples(t, cmd) })
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
	for i, words := range examples {
		prepares := i+1 < len(examples) && (words[1] == "rollout" || words[1] == "simulate") // makes what the next example reads
		if words[0] != "vigorlab" || words[1] != cmd.Name() && !prepares {
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
	}
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
