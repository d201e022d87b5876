package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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

// TestReadmeContents: the contents link every section, in their order, and nothing else.
func TestReadmeContents(t *testing.T) {
	text := read(t, filepath.Join("..", "..", "README.md"))
	_, contents, found := strings.Cut(text, "\nContents: ")
	contents, rest, ended := strings.Cut(contents, ".\n\n")
	if !found || !ended {
		t.Fatal("README.md has no contents")
	}
	unlike := regexp.MustCompile(`[^a-z0-9 -]`)
	var want []string
	for _, m := range regexp.MustCompile(`(?m)^## (.*)$`).FindAllStringSubmatch(rest, -1) {
		anchor := unlike.ReplaceAllString(strings.ToLower(m[1]), "")
		want = append(want, fmt.Sprintf("[%s](#%s)", m[1], strings.ReplaceAll(anchor, " ", "-")))
	}
	got := strings.Split(strings.ReplaceAll(contents, "\n", " "), " · ")
	if !slices.Equal(got, want) {
		t.Errorf("the contents are %q, want %q", got, want)
	}
}

// TestReadmeOutputs lets a reader run README's commands in one folder: nothing that
// one of them writes is in the way of another.
func TestReadmeOutputs(t *testing.T) {
	writes := regexp.MustCompile(`--(?:out|emit-table) (\S+)`)
	commands := map[string]string{}
	for line := range strings.Lines(read(t, filepath.Join("..", "..", "README.md"))) {
		if !strings.HasPrefix(line, "    ") {
			continue
		}
		for _, m := range writes.FindAllStringSubmatch(line, -1) {
			if earlier, ok := commands[m[1]]; ok {
				t.Errorf("two commands write %s:\n%s%s", m[1], earlier, line)
			}
			commands[m[1]] = line
		}
	}
	if len(commands) < 15 {
		t.Errorf("%d commands that write, want at least 15", len(commands))
	}
}

// TestReadmePictures wants every picture of README in the gallery, and drawn by
// make figures.
func TestReadmePictures(t *testing.T) {
	root := filepath.Join("..", "..")
	_, figures, _ := strings.Cut(read(t, filepath.Join(root, "Makefile")), "\nfigures:")
	figures, _, _ = strings.Cut(figures, "\n\n")
	_, gallery, _ := strings.Cut(read(t, filepath.Join(root, "Makefile")), "\nGALLERY := ")
	gallery, _, _ = strings.Cut(gallery, "\n")
	pictures := regexp.MustCompile(`(?m)^!\[.*\]\((.*)\)$`).FindAllStringSubmatch(read(t, filepath.Join(root, "README.md")), -1)
	if len(pictures) < 7 {
		t.Errorf("%d pictures, want at least 7", len(pictures))
	}
	for _, m := range pictures {
		pixelsOf(t, filepath.Join(root, filepath.FromSlash(m[1])))
		name, ok := strings.CutPrefix(m[1], "plots/gallery/")
		if !ok || !strings.Contains(figures, "plots/gallery/"+name) && !slices.Contains(strings.Fields(gallery), name) {
			t.Errorf("make figures does not draw %s", m[1])
		}
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
