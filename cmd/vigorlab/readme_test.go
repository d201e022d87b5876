package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vigorlab/sim/strategy"
)

var update = flag.Bool("update", false, "rewrite what tests made: the table of strategies in README.md, the notebooks")

// The marks around what is generated in README.md.
const (
	readmeBegin = "<!-- strategies: made by go test ./cmd/vigorlab -run TestReadmeStrategies -update -->\n"
	readmeEnd   = "<!-- end of strategies -->\n"
)

// TestReadmeStrategies keeps README's table of strategies what `vigorlab
// strategies` says.
func TestReadmeStrategies(t *testing.T) {
	path := filepath.Join("..", "..", "README.md")
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(content), readmeBegin)
	_, after, ended := strings.Cut(rest, readmeEnd)
	if !ok || !ended {
		t.Fatalf("README.md has no table of strategies between %q and %q", readmeBegin, readmeEnd)
	}
	want := before + readmeBegin + strategiesMarkdown() + readmeEnd + after
	if want == string(content) {
		return
	}
	if !*update {
		t.Fatal("README's table of strategies is out of date: go test ./cmd/vigorlab -run TestReadmeStrategies -update makes it anew")
	}
	if err := os.WriteFile(path, []byte(want), 0o666); err != nil {
		t.Fatal(err)
	}
}

// strategiesMarkdown returns the table of what strategies can and need.
func strategiesMarkdown() string {
	var b strings.Builder
	b.WriteString("| strategy | first epoch | history | embeddings | changes loss | exact budget | picks prompts | taxonomy | provenance | source |\n")
	b.WriteString("|---|---|---|---|---|---|---|---|---|---|\n")
	mark := func(has bool) string {
		if has {
			return "yes"
		}
		return ""
	}
	tag := func(p strategy.Placement) string {
		if p.Family == strategy.FamilyNone {
			return ""
		}
		return p.Family + "; " + p.Bottleneck + "; " + p.Paid
	}
	for _, s := range strategy.Known() {
		c := s.Capabilities
		name := "`" + s.Name + "`"
		if c.Truth {
			name += " (sees the truth)"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", name, mark(c.FirstEpoch), mark(c.History),
			mark(c.Embeddings), mark(c.ChangesLoss), mark(c.ExactBudget), mark(c.PicksPrompts), tag(s.Taxonomy), s.Provenance, s.Source)
	}
	return b.String()
}
