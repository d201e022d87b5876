package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// pageOf writes the page of run directories and returns it, parsed and as text.
func pageOf(t *testing.T, dirs ...string) (*html.Node, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "page.html")
	runTable(t, append(append([]string{"report"}, dirs...), "--out", path))
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	root, err := html.Parse(strings.NewReader(string(content)))
	if err != nil {
		t.Fatal(err)
	}
	return root, string(content)
}

// digitsOf returns how often each number stands in a page, with all its digits.
func digitsOf(root *html.Node) map[string]int {
	numbers := map[string]int{}
	for n := range root.Descendants() {
		if n.Type == html.ElementNode && n.Data == "data" {
			for _, a := range n.Attr {
				numbers[a.Val]++
			}
		}
	}
	return numbers
}

// TestReportHasEveryNumber: claims and their numbers are those of results.json, the
// figures of other commands those of results.csv, digit by digit; and there are as
// many pictures as the runs drew.
func TestReportHasEveryNumber(t *testing.T) {
	ladder := runOf(t, "verify", "--quick", "--only", "2.closed-form,2.published-speedup,4.screening")
	easy := runOf(t, "simulate", "--population", "beta:a=0.3,b=0.7", "--batch", "16", "--replicates", "20")
	root, page := pageOf(t, ladder, easy)
	numbers := digitsOf(root)

	var found struct {
		Rungs []struct {
			ID, Claim           string
			Estimate, Reference *json.Number
		}
	}
	content, err := os.ReadFile(filepath.Join(ladder, "results.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(content, &found); err != nil {
		t.Fatal(err)
	}
	if len(found.Rungs) < 8 {
		t.Errorf("%d claims, want all of three studies", len(found.Rungs))
	}
	for _, c := range found.Rungs {
		if !strings.Contains(page, html.EscapeString(c.Claim)) {
			t.Errorf("the page lacks the claim %s: %s", c.ID, c.Claim)
		}
		for _, x := range []*json.Number{c.Estimate, c.Reference} {
			if x != nil && numbers[x.String()] == 0 {
				t.Errorf("the page lacks %s of %s", x, c.ID)
			}
		}
	}

	file, err := os.Open(filepath.Join(easy, "results.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows[1:] {
		wanted := 1
		if row[3] == "" { // in the overview, and among all rows
			wanted = 2
		}
		if value := row[4]; value != "" && numbers[value] < wanted {
			t.Errorf("%s = %s of %s at %q stands %d times, want %d", row[2], value, row[1], row[3], numbers[value], wanted)
		}
	}

	drawn := 0
	for _, dir := range []string{ladder, easy} {
		names, err := filepath.Glob(filepath.Join(dir, "figures", "*.svg"))
		if err != nil {
			t.Fatal(err)
		}
		drawn += len(names)
	}
	if got := strings.Count(page, "<svg "); got != drawn || drawn < 5 {
		t.Errorf("%d figures in the page, want the %d of the runs", got, drawn)
	}
}

// TestReportOfEveryCommand: whatever writes a run directory has a page.
func TestReportOfEveryCommand(t *testing.T) {
	t.Chdir(t.TempDir())
	table := outcomesFile(t, ".")
	for command, words := range map[string]string{
		"theory":   "--population uniform",
		"replay":   "--table " + table + " --replicates 5",
		"fit":      table + " --replicates 2 --family beta",
		"plan":     "--population uniform --batch 8 --group 4 --max-rounds 1 --replicates 0 --worlds 0",
		"compare":  "--population uniform --strategy vigor --batch 4 --steps 2 --replicates 3",
		"train":    strings.TrimPrefix(quickTraining, "train ") + " --policy softmax:floor=1e-3 --lr 10",
		"rollout":  "--source synthetic:beta:a=0.3,b=0.7 --batch 32 --strategy vigor",
		"grade":    gradedFileOf(t, ".") + " --verifier exact",
		"simulate": "--population uniform --batch 8 --replicates 5 --strategy vigor:update=survivors",
	} {
		runTable(t, append(strings.Fields(command+" "+words), "--out", command, "--quiet"))
		_, page := pageOf(t, command)
		for _, want := range []string{"How to repeat it", "Parameters", "vigorlab " + command, "results.csv"} {
			if !strings.Contains(page, want) {
				t.Errorf("the page of %s lacks %q", command, want)
			}
		}
	}
}

// TestReadmePage runs the commands of README's section on pages.
func TestReadmePage(t *testing.T) {
	section := readmeSection(t, "A page to send around")
	t.Chdir(t.TempDir())
	if commands := runQuoted(t, section); commands != 3 {
		t.Errorf("%d commands in the section, want 3", commands)
	}
	if info, err := os.Stat("vigor.html"); err != nil || info.Size() < 10_000 {
		t.Error(fmt.Errorf("no page vigor.html of more than 10 kB: %w", err))
	}
}
