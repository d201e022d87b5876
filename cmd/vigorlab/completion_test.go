package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"vigorlab/distributions/spec"
	"vigorlab/sim/strategy"
)

// completions returns what may follow a command line, whose last word is begun. As
// shells do, it takes of what is offered what begins like that word.
func completions(t *testing.T, words ...string) []string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := execute(context.Background(), append([]string{"__completeNoDesc"}, words...), &stdout, &stderr); code != exitDone {
		t.Fatalf("%q: exit code %d: %s", words, code, &stderr)
	}
	found := strings.Split(strings.TrimSpace(stdout.String()), "\n")
	found = found[:len(found)-1] // the last line says whether files may follow
	last := words[len(words)-1]
	if strings.HasPrefix(last, "--") {
		_, last, _ = strings.Cut(last, "=")
	}
	return slices.DeleteFunc(found, func(s string) bool { return !strings.HasPrefix(s, last) })
}

// TestFigureCompletions: --figure of plot completes to what the runs before it share.
func TestFigureCompletions(t *testing.T) {
	t.Chdir(t.TempDir())
	command(t, strings.Fields("simulate --population uniform --batch 8 --replicates 2 --strategy vigor --out a")...)
	command(t, strings.Fields("simulate --population uniform --batch 8 --replicates 2 --strategy fixed:g=8 --out b")...)
	for _, c := range []struct{ line, want string }{
		{"plot a --figure ", "all allocation group-sizes screening"},
		{"plot a --figure=s", "screening"},
		{"plot --figure s a", ""},
		{"plot a b --figure ", "all allocation group-sizes"},
		{"plot b a --figure ", "all allocation group-sizes"},
		{"plot nowhere --figure ", "all"},
	} {
		if got := strings.Join(completions(t, strings.Split(c.line, " ")...), " "); got != c.want {
			t.Errorf("%q completes to %q, want %q", c.line, got, c.want)
		}
	}
}

func TestCompletions(t *testing.T) {
	for _, c := range []struct {
		words []string
		want  []string
	}{
		{[]string{"the"}, []string{"theory"}},
		{[]string{"help", "simu"}, []string{"simulate"}},
		{[]string{"strategies", "cero-"}, []string{"cero-v2"}},
		{[]string{"theory", "--format", ""}, []string{"table", "json", "csv"}},
		{[]string{"theory", "--format", "j"}, []string{"json"}},
		{[]string{"theory", "--population", "spik"}, []string{"spiked-beta"}},
		{[]string{"theory", "--population", "beta:"}, []string{"beta:a=", "beta:b="}},
		{[]string{"theory", "--population", "beta:a=0.1,"}, []string{"beta:a=0.1,b="}},
		{[]string{"simulate", "--strategy", "vigor:al"}, []string{"vigor:alpha="}},
		{[]string{"simulate", "--strategy", "vigor:alpha=0.5,m"}, []string{"vigor:alpha=0.5,m0="}},
		{[]string{"simulate", "--strategy=sequ"}, []string{"sequential-halving"}},
		{[]string{"theory", "--strategy", "nobody:"}, nil},
		{[]string{"compare", "--strategy", "al"}, []string{"all"}},
		{[]string{"train", "--policy", "soft"}, []string{"softmax"}},
		{[]string{"train", "--system", "m2"}, []string{"m2po"}},
		{[]string{"grade", "--verifier", "num"}, []string{"numeric"}},
		{[]string{"fit", "--family", "npm"}, []string{"npmle"}},
		{[]string{"plan", "--objective", "eff"}, []string{"effective"}},
		{[]string{"simulate", "--replicates", ""}, nil},
	} {
		if got := completions(t, c.words...); !begin(got, c.want) {
			t.Errorf("%q completes to %q, want %q", c.words, got, c.want)
		}
	}
	var names []string
	for _, k := range spec.Populations() {
		names = append(names, k.Name)
	}
	if got := completions(t, "theory", "--population", ""); !slices.Equal(got, names) {
		t.Errorf("populations complete to %q, want %q", got, names)
	}
	if got := completions(t, "theory", "--strategy", ""); len(got) != len(strategy.Known()) {
		t.Errorf("%d strategies complete, want %d", len(got), len(strategy.Known()))
	}
}

// begin reports whether got is want, behind each of whose words further keys of a
// length law may stand.
func begin(got, want []string) bool {
	got = slices.DeleteFunc(slices.Clone(got), func(s string) bool { return strings.Contains(s, lengthKeys) })
	return slices.Equal(got, want)
}

// TestBashCompletes asks a real bash what Tab would do. Bash breaks words at = and
// at : and hands over the pieces, and replaces the last piece alone. Behind a comma
// it offers nothing, as cobra's script compares what it has escaped with what it has
// not; other shells go on.
func TestBashCompletes(t *testing.T) {
	needBashCompletion(t)
	for _, c := range []struct{ typed, want string }{
		{"vigorlab the", "theory"},
		{"vigorlab theory --population spik", "spiked-beta"},
		{"vigorlab theory --population spiked-beta:de", "dead="},
		{"vigorlab simulate --strategy sequ", "sequential-halving"},
		{"vigorlab train --population uniform --format js", "json"},
		{"vigorlab compare --strategy al", "all"},
	} {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, "bash", "--norc", "-c", pressTab, "bash", c.typed)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		cmd.WaitDelay = time.Minute
		said, err := cmd.Output()
		if err != nil {
			t.Fatalf("bash: %v: %s", err, &stderr)
		}
		if got := strings.Fields(string(said)); !slices.Contains(got, c.want) {
			t.Errorf("%s: bash offers %q, want %q among them\n%s", c.typed, got, c.want, &stderr)
		}
	}
}

// pressTab is what bash does at Tab behind the line $1: it splits the line into
// pieces, calls the function that completes vigorlab, and has COMPREPLY.
const pressTab = `
source /usr/share/bash-completion/bash_completion
source <(vigorlab completion bash)
compopt() { :; } # has a meaning at a prompt alone
COMP_LINE=$1
COMP_POINT=${#COMP_LINE}
COMP_TYPE=9
mapfile -t COMP_WORDS < <(grep -oE '[=:]+|[^ =:]+' <<<"$COMP_LINE")
COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
complete -p vigorlab >&2
__start_vigorlab
printf '%s\n' "${COMPREPLY[@]}"
`

func needBashCompletion(t *testing.T) {
	t.Helper()
	_, err := exec.LookPath("bash")
	if err == nil {
		_, err = os.Stat("/usr/share/bash-completion/bash_completion")
	}
	if err == nil {
		return
	}
	missing := "no completion in bash: apt-get install bash bash-completion"
	if os.Getenv("VIGORLAB_NO_SKIP") != "" {
		t.Fatal(missing)
	}
	t.Skip(missing)
}
