package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"vigorlab/cmd/vigorlab/internal/figures"
	"vigorlab/cmd/vigorlab/internal/output"
	"vigorlab/cmd/vigorlab/internal/rundir"
	"vigorlab/plots"
	"vigorlab/sim"
)

// command runs a command line that must succeed and returns what it prints.
func command(t *testing.T, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	if code := execute(context.Background(), args, &out, &err); code != exitDone {
		t.Fatalf("%q: exit code %d: %s", args, code, &err)
	}
	return out.String(), err.String()
}

// checkRedrawn draws all figures of a run again: every file must have the bytes that the
// run wrote, and every caption its facts. It returns the kinds of the figures.
func checkRedrawn(t *testing.T, run string) []string {
	t.Helper()
	again := filepath.Join(t.TempDir(), "again")
	command(t, "plot", run, "--out", again)
	drawn := filesOf(t, filepath.Join(run, figuresFolder))
	if redrawn := filesOf(t, again); !slices.Equal(drawn, redrawn) {
		t.Errorf("%s: drawn again, %q become %q", run, drawn, redrawn)
	}
	var kinds []string
	for _, name := range drawn {
		content := read(t, filepath.Join(run, figuresFolder, name))
		if read(t, filepath.Join(again, name)) != content {
			t.Errorf("%s: %s has other bytes when drawn again", run, name)
		}
		if strings.HasSuffix(name, figures.MarkdownEnd) {
			checkCaption(t, filepath.Join(run, name), content)
		}
		if strings.HasSuffix(name, figures.DataEnd) {
			f, err := figures.Decode(name, []byte(content))
			if err != nil {
				t.Fatalf("%s: %s: %v", run, name, err)
			}
			kinds = append(kinds, f.Data.Kind())
		}
	}
	return kinds
}

// captionFacts are what every caption states, in their order.
var captionFacts = regexp.MustCompile(`^[A-Z].+\. Populations?: .+\. (Strategy|Strategies): .+\. Replicates: .+\. Intervals: .+\. ` +
	`Seeds? \d+(, \d+)*, (signed coding: rewards in \{−1, \+1\}|binary coding: rewards in \{0, 1\})\. Made by ` + "`vigorlab .+`\\.\n$")

func checkCaption(t *testing.T, name, caption string) {
	t.Helper()
	if !captionFacts.MatchString(caption) {
		t.Errorf("%s: the caption lacks facts: %s", name, caption)
	}
}

// filesOf lists the files of a folder.
func filesOf(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// checkFigures does so for every run in the working directory, and sets the captions of
// all in one document.
func checkFigures(t *testing.T) []string {
	t.Helper()
	runs, _ := filepath.Glob(filepath.Join("*", figuresFolder)) // of a sound pattern
	var kinds, captions []string
	for _, folder := range runs {
		if run := filepath.Dir(folder); isRun(run) {
			kinds = append(kinds, checkRedrawn(t, run)...)
			found, _ := filepath.Glob(filepath.Join(folder, "*"+figures.LaTeXEnd))
			captions = append(captions, found...)
		}
	}
	if len(captions) > 0 {
		checkLaTeX(t, captions, true)
	}
	return kinds
}

func isRun(dir string) bool {
	_, err := rundir.Read(dir)
	return err == nil
}

// checkLaTeX sets captions in an article: LaTeX must not complain, and where they are of
// words and specs no line be too wide.
func checkLaTeX(t *testing.T, captions []string, words bool) {
	t.Helper()
	if _, err := exec.LookPath("pdflatex"); errors.Is(err, exec.ErrNotFound) {
		if os.Getenv("VIGORLAB_NO_SKIP") != "" {
			t.Fatal("pdflatex (texlive-latex-base) is not here, and VIGORLAB_NO_SKIP forbids skipping")
		}
		t.Log("captions are not set: pdflatex (texlive-latex-base) is not here")
		return
	}
	var b strings.Builder
	b.WriteString("\\documentclass{article}\n\\begin{document}\n\\listoffigures\n")
	for _, file := range captions {
		fmt.Fprintf(&b, "\\begin{figure}\\centering\n%s\\end{figure}\\clearpage\n", read(t, file))
	}
	b.WriteString("\\end{document}\n")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "paper.tex"), []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("pdflatex: %v\n%s", err, out)
	}
	for line := range strings.Lines(read(t, filepath.Join(dir, "paper.log"))) {
		if words && strings.HasPrefix(line, "Overfull") || strings.HasPrefix(line, "Missing character") || strings.Contains(line, "multiply defined") {
			t.Errorf("captions of %d figures: %s", len(captions), line)
		}
	}
}

// TestCaptionsOfAnySigns sets captions with every sign that a spec, a file or a label may
// have, also those that pdfLaTeX does not know.
func TestCaptionsOfAnySigns(t *testing.T) {
	var signs []rune
	for r := rune(0); r < 0x180; r++ {
		signs = append(signs, r)
	}
	signs = append(signs, []rune("αβγδεηκλμπστΔΣΩ≤≥≈≠±×·√∞−–—‘’“”…\u2028日本🎲 -- --- ,, '' `` << >> ?` !`")...)
	dir := t.TempDir()
	var captions []string
	for part := range slices.Chunk(signs, 64) {
		f := figures.Figure{
			Name: fmt.Sprintf("odd_%d%%", len(captions)), Coding: output.Signed, Data: new(plots.GroupSizesData), Caption: figures.Caption{
				What: string(part), Populations: []string{"path=" + string(part)}, Strategies: []string{"\xff"}, Seeds: []uint64{1}, Commands: []string{string(part)},
			},
		}
		records, err := f.Records()
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range records {
			if name := filepath.Join(dir, file.Name); strings.HasSuffix(name, figures.LaTeXEnd) {
				if err := os.WriteFile(name, file.Content, 0o666); err != nil {
					t.Fatal(err)
				}
				captions = append(captions, name)
			}
		}
	}
	checkLaTeX(t, captions, false)
}

// simulated makes a small run and returns its directory.
func simulated(t *testing.T, args ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	command(t, append(strings.Fields("simulate --population uniform --batch 8 --replicates 4 --quiet --out "+dir), args...)...)
	return dir
}

// editRecord changes run.json of a run.
func editRecord(t *testing.T, run string, edit func(map[string]any)) {
	t.Helper()
	path := filepath.Join(run, "run.json")
	var record map[string]any
	if err := json.Unmarshal([]byte(read(t, path)), &record); err != nil {
		t.Fatal(err)
	}
	edit(record)
	content, err := json.Marshal(record)
	if err == nil {
		err = os.WriteFile(path, content, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestPlotRepeats draws the figures of the commands whose help has no run directory
// again; TestHelpExamples does so for the others.
func TestPlotRepeats(t *testing.T) {
	t.Chdir(t.TempDir())
	outcomesFile(t, ".")
	for i, args := range []string{
		"theory --population pareto-variance:shape=1.5,min=0.01,max=1",
		"replay --table outcomes.csv --replicates 5 --resamples 0",
		"fit outcomes.csv --replicates 3",
		"plan outcomes.csv --batch 64 --max-rounds 2 --replicates 3 --worlds 40 --rollout-seconds 9",
		quickTraining + " --policy softmax:floor=1e-3 --lr 10 --system m2po:lag=4",
	} {
		command(t, append(strings.Fields(args), "--quiet", "--out", fmt.Sprintf("run %d_%%", i))...)
	}
	kinds := checkFigures(t)
	for _, kind := range []string{plots.KindSpeedup, plots.KindScreening, plots.KindCurves, plots.KindPlan} {
		if !slices.Contains(kinds, kind) {
			t.Errorf("no figure of kind %s was drawn", kind)
		}
	}
}

// TestPlotRefusesRuns: what cannot be drawn again is refused with what makes it, and
// nothing is written.
func TestPlotRefusesRuns(t *testing.T) {
	again := regexp.QuoteMeta("make it again: vigorlab simulate --population uniform") + `.* --out .*run --force\n`
	whole := os.DirFS(simulated(t))
	data := func(run string) string { return filepath.Join(run, figuresFolder, "allocation.json") }
	edit := func(from, to string) func(t *testing.T, run string) {
		return func(t *testing.T, run string) {
			content := read(t, data(run))
			if !strings.Contains(content, from) {
				t.Fatalf("the data have no %s", from)
			}
			if err := os.WriteFile(data(run), []byte(strings.Replace(content, from, to, 1)), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		what  string
		spoil func(t *testing.T, run string)
		want  string
	}{
		{"cut off", func(t *testing.T, run string) {
			if err := os.Truncate(data(run), 700); err != nil {
				t.Fatal(err)
			}
		}, `allocation\.json is cut off after 700 bytes\nhint: ` + again},
		{"gone", func(t *testing.T, run string) {
			if err := os.Remove(data(run)); err != nil {
				t.Fatal(err)
			}
		}, `allocation\.json: no such file or directory\nhint: ` + again},
		{"a word for a number", edit(`"low": `, `"low": "small", "high": `), `allocation\.json data\.strategies\[0\]\.monte_carlo\[0\]\.low = "small", want a number, or null for none\nhint: `},
		{"another schema", edit(`"schema": 1`, `"schema": 2`), `allocation\.json schema = 2, of version "` + version + `", want 1\nhint: ` + again},
		{"another kind", edit(`"kind": "allocation"`, `"kind": "pie"`), `allocation\.json kind = "pie", want one of allocation, `},
		{"data that cannot be drawn", func(t *testing.T, run string) {
			f := decoded(t, filepath.Join(run, figuresFolder), "allocation")
			f.Data = new(plots.AllocationData)
			records, err := f.Records()
			if err == nil {
				err = os.WriteFile(data(run), records[0].Content, 0o666)
			}
			if err != nil {
				t.Fatal(err)
			}
		}, `^vigorlab: figure allocation: plots: allocation: no finite point to draw\n$`},
		{"unfinished", func(t *testing.T, run string) {
			editRecord(t, run, func(r map[string]any) { r["status"] = rundir.Incomplete })
		}, `run holds a run that is incomplete, and figures are drawn at its end\nhint: finish it: vigorlab simulate .* --out .*run\n`},
		{"of a version without data", func(t *testing.T, run string) {
			editRecord(t, run, func(r map[string]any) {
				r["version"], r["files"] = "0.0.1", []string{"results.json", "figures/allocation.pdf"}
			})
		}, `run holds pictures without their data, as version 0\.0\.1 of vigorlab wrote them\nhint: ` + again},
		{"without figures", func(t *testing.T, run string) {
			editRecord(t, run, func(r map[string]any) { r["files"] = []string{"results.json"} })
		}, `run holds no figures: this run of vigorlab simulate drew none\n`},
		{"names that lead elsewhere", func(t *testing.T, run string) {
			editRecord(t, run, func(r map[string]any) { r["files"] = []string{"figures/../../x.json", "figures/a/b.json", "x.json"} })
		}, `run holds pictures without their data`},
		{"a record that commands the terminal", func(t *testing.T, run string) {
			editRecord(t, run, func(r map[string]any) { r["status"] = "\x1b[31m" })
		}, `a run that is \\x1b\[31m, and`},
		{"no record", func(t *testing.T, run string) {
			if err := os.Remove(filepath.Join(run, "run.json")); err != nil {
				t.Fatal(err)
			}
		}, `run holds no run\.json, want a run directory: what --out of another command wrote\n`},
	} {
		t.Run(c.what, func(t *testing.T) {
			run := filepath.Join(t.TempDir(), "run")
			if err := os.CopyFS(run, whole); err != nil {
				t.Fatal(err)
			}
			c.spoil(t, run)
			out := filepath.Join(t.TempDir(), "out")
			var stdout, stderr bytes.Buffer
			if code := execute(context.Background(), []string{"plot", run, "--out", out}, &stdout, &stderr); code != exitUsage || stdout.Len() > 0 {
				t.Errorf("exit code %d, want %d; printed %q", code, exitUsage, &stdout)
			}
			if !regexp.MustCompile(c.want).MatchString(stderr.String()) {
				t.Errorf("complains %q, want %s", &stderr, c.want)
			}
			if _, err := os.Stat(out); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("--out stands there: %v", err)
			}
		})
	}
}

// TestPlotLeavesRunsAlone: no picture is written into a run directory, not through a link
// and not by --force, which would put two runs' data where one found its own.
func TestPlotLeavesRunsAlone(t *testing.T) {
	one, two := simulated(t), simulated(t, "--seed", "2")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(filepath.Join(two, figuresFolder), link); err != nil {
		t.Fatal(err)
	}
	before := read(t, filepath.Join(two, figuresFolder, "allocation.json"))
	for _, out := range []string{
		one, two, filepath.Join(two, figuresFolder), filepath.Join(two, "paper"), filepath.Join(two, figuresFolder, "allocation.pdf"), link,
	} {
		var stdout, stderr bytes.Buffer
		args := []string{"plot", one, two, "--figure", "allocation", "--out", out, "--force"}
		if code := execute(context.Background(), args, &stdout, &stderr); code != exitUsage || !strings.Contains(stderr.String(), "lies in the run directory") {
			t.Errorf("--out %s: exit code %d, want %d; complains %q", out, code, exitUsage, &stderr)
		}
	}
	if read(t, filepath.Join(two, figuresFolder, "allocation.json")) != before {
		t.Error("the data of a run have become others")
	}
	if names := filesOf(t, two); slices.Contains(names, "paper") || slices.Contains(names, "allocation.pdf") {
		t.Errorf("the run directory holds %q", names)
	}
}

// TestCaptionsStateWhatIsThere: one batch has no interval, the strategy of a table whose
// sizes nobody explains is not said, and estimates from it are not exact.
func TestCaptionsStateWhatIsThere(t *testing.T) {
	table := filepath.Join(t.TempDir(), "table.csv")
	one := simulated(t, "--replicates", "1", "--emit-table", table)
	fitted := filepath.Join(t.TempDir(), "fitted")
	command(t, "fit", table, "--replicates", "0", "--out", fitted)
	pilot := filepath.Join(t.TempDir(), "pilot.csv")
	command(t, "simulate", "--population", "beta:a=0.3,b=0.7", "--batch", "300", "--strategy", "fixed:g=8", "--replicates", "1", "--emit-table", pilot)
	plan := func(args ...string) string {
		run := filepath.Join(t.TempDir(), "plan")
		command(t, append([]string{"plan", pilot, "--worlds", "0", "--max-rounds", "3", "--out", run}, args...)...)
		return run
	}
	for _, c := range []struct{ run, figure, want string }{
		{one, "allocation", ". Replicates: 1 batch of 8 prompts. Intervals: none. Seed 1, "},
		{one, "screening", ". Replicates: 1 batch of 8 prompts. Intervals: none. Seed 1, "},
		{plan("--replicates", "0"), "plan", ". Replicates: none, gains are exact for large batches of the law fitted to the pilot, whose error is not shown. Intervals: 95 %, Wilson's of the recorded shares. Seed 1, "},
		{plan("--replicates", "2"), "plan", "counts over the recorded ones, with Wilson's 95 % intervals. Right: "},
		{plan("--replicates", "0"), "front-rounds", "The most gain at each cost, exact for large batches. Population"},
		{fitted, "hill", ". Strategy: not said. Replicates: none. Intervals: 95 %, estimate ± 1.96 standard errors, cut off at 0. Seed 1, "},
	} {
		if got := read(t, filepath.Join(c.run, figuresFolder, c.figure+figures.MarkdownEnd)); !strings.Contains(got, c.want) {
			t.Errorf("%s: the caption is %s, want in it %s", c.figure, got, c.want)
		}
	}
}

// TestIntervalsEndAtZero: what is never below 0 has no interval below it, and the caption
// says that it was cut off.
func TestIntervalsEndAtZero(t *testing.T) {
	low := measured(1, sim.Estimate{Mean: 1, SE: 2})
	whole := measured(1, sim.Estimate{Mean: 1, SE: 0.1})
	if low.Low != 0 || !(low.High > 4.9) || !(whole.Low > 0.8) {
		t.Errorf("intervals %v and %v", low, whole)
	}
	for _, c := range []struct {
		point plots.Point
		want  string
	}{{low, normalReplicates + ", cut off at 0"}, {whole, normalReplicates}, {measured(1, sim.Estimate{}), normalReplicates}} {
		data := &plots.AllocationData{Strategies: []plots.Family{{Label: "a", MonteCarlo: []plots.Point{c.point}}}}
		if got := cutOff([]string{normalReplicates}, data); got[0] != c.want {
			t.Errorf("%v: the caption says %q, want %q", c.point, got[0], c.want)
		}
	}
}

// TestPlotOverlays: two runs in one figure have the series of both, named by what the
// runs' specs differ in, and a caption of both.
func TestPlotOverlays(t *testing.T) {
	one, two := simulated(t), simulated(t, "--seed", "9")
	out := filepath.Join(t.TempDir(), "out")
	command(t, "plot", one, two, "--out", out)
	f := decoded(t, out, "allocation")
	var labels []string
	var families []plots.Family
	for _, run := range []string{one, two} {
		families = append(families, decoded(t, filepath.Join(run, figuresFolder), "allocation").Data.(*plots.AllocationData).Strategies...)
	}
	for i, s := range f.Data.(*plots.AllocationData).Strategies {
		labels = append(labels, s.Label)
		if got, want := fmt.Sprint(s.MonteCarlo), fmt.Sprint(families[i].MonteCarlo); got != want {
			t.Errorf("%s: points %s, want %s", s.Label, got, want)
		}
	}
	if want := []string{"vigor, seed = 1", "fixed:g=8, seed = 1", "vigor, seed = 9", "fixed:g=8, seed = 9"}; !slices.Equal(labels, want) {
		t.Errorf("labels %q, want %q", labels, want)
	}
	if c := f.Caption; !slices.Equal(c.Seeds, []uint64{1, 9}) || len(c.Commands) != 2 || len(c.Populations) != 1 || len(c.Strategies) != 2 {
		t.Errorf("caption %+v", c)
	}
	checkCaption(t, "overlay", read(t, filepath.Join(out, "allocation"+figures.MarkdownEnd)))
}

func decoded(t *testing.T, dir, name string) *figures.Figure {
	t.Helper()
	f, err := figures.Decode(name, []byte(read(t, filepath.Join(dir, name+figures.DataEnd))))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestRunLabels: runs are named by what differs, else by where they are.
func TestRunLabels(t *testing.T) {
	for _, c := range []struct {
		specs, paths, want []string
	}{
		{[]string{`{"seed": 1}`, `{"seed": 18446744073709551615}`}, nil, []string{"seed = 1", "seed = 18446744073709551615"}},
		{
			[]string{`{"population": "uniform", "seed": 1, "batch": 8}`, `{"population": "beta:a=1,b=2", "seed": 2, "batch": 8}`},
			nil,
			[]string{"uniform, seed = 1", "beta:a=1,b=2, seed = 2"},
		},
		{[]string{`{"population": "uniform"}`, `{"table": "t.csv", "sha256": "ab"}`}, nil, []string{"uniform", "t.csv"}},
		{[]string{`{"round_latency": 1.50}`, `{"round_latency": 2}`, `{"round_latency": 3}`}, nil, []string{"round latency = 1.50", "round latency = 2", "round latency = 3"}},
		{[]string{`{"strategies": ["vigor"]}`, `{"strategies": ["pods"]}`}, []string{"runs/a", "runs/b"}, []string{"a", "b"}},
		{[]string{`{"seed": 1}`, `{"seed": 1}`, `{"seed": 2}`}, []string{"a", "b", "c"}, []string{"a", "b", "c"}},
		{[]string{`{}`, `{}`}, []string{"a/run", "b/run"}, []string{"a/run", "b/run"}},
		{[]string{`{"table": "t.csv", "sha256": "ab"}`, `{"table": "t.csv", "sha256": "cd"}`}, []string{"a", "b"}, []string{"a", "b"}},
		{[]string{`[]`, `nothing`}, []string{"a", "b"}, []string{"a", "b"}},
	} {
		runs := make([]drawnRun, len(c.specs))
		for i, s := range c.specs {
			runs[i].record = &rundir.Record{Specs: json.RawMessage(s)}
			if c.paths != nil {
				runs[i].path = c.paths[i]
			}
		}
		if got := runLabels(runs); !slices.Equal(got, c.want) {
			t.Errorf("%q: labels %q, want %q", c.specs, got, c.want)
		}
	}
}

// TestReadmePlot runs the commands of README's section on figures.
func TestReadmePlot(t *testing.T) {
	section := readmeSection(t, "Figures for a paper")
	t.Chdir(t.TempDir())
	if commands := runQuoted(t, section); commands != 5 {
		t.Errorf("%d commands in the section, want 5", commands)
	}
	table := read(t, filepath.Join("both", "allocation.csv"))
	if rows := strings.Count(table, "\n"); rows != 81 {
		t.Errorf("both/allocation.csv has %d lines, want a heading and the 40 numbers of two runs", rows)
	}
	t.Run("latex", func(t *testing.T) { checkReadmeLaTeX(t, section) })
	t.Run("pandas", func(t *testing.T) { checkReadmePandas(t, section) })
}

// checkReadmeLaTeX sets README's block in a document of two columns, 7 inches wide as
// --width page is, with the picture as PDF and as TeX: nothing is missing or too wide.
func checkReadmeLaTeX(t *testing.T, section string) {
	needTeX(t)
	_, block, ok := strings.Cut(section, "\n```latex\n")
	block, _, ended := strings.Cut(block, "```\n")
	const picture = `\includegraphics{both/allocation.pdf}`
	if !ok || !ended || !strings.Contains(block, picture) {
		t.Fatalf("README has no block of LaTeX with %s", picture)
	}
	runTable(t, strings.Fields("plot seed1 seed2 --figure allocation --width page --image tex --out both --force"))
	for _, way := range []string{`\usepackage{graphicx}`, `\usepackage{pgf}`, picture, `\input{both/allocation}`} {
		if !strings.Contains(section, strings.NewReplacer(picture, `\includegraphics`).Replace(way)) {
			t.Errorf("README does not say %s", way)
		}
	}
	drawn := strings.Replace(block, picture, `\input{both/allocation}`, 1)
	drawn = strings.Replace(drawn, `\input{both/allocation.caption}`, `\caption{The same in the fonts of the document.}`, 1)
	document := "\\documentclass[twocolumn]{article}\n\\usepackage{graphicx}\n\\usepackage{pgf}\n" +
		"\\setlength\\textwidth{7in}\n\\begin{document}\n" + block + drawn + "Text.\n\\end{document}\n"
	if err := os.WriteFile("paper.tex", []byte(document), 0o666); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "paper.tex").CombinedOutput()
	if err != nil {
		t.Fatalf("pdflatex: %v\n%s", err, out)
	}
	for line := range strings.Lines(read(t, "paper.log")) {
		if strings.HasPrefix(line, "Overfull") || strings.HasPrefix(line, "Missing character") {
			t.Error(line)
		}
	}
}

// needTeX skips, or fails, where LaTeX or its pictures are missing.
func needTeX(t *testing.T) {
	t.Helper()
	if exec.Command("kpsewhich", "graphicx.sty", "pgf.sty").Run() == nil {
		return
	}
	const missing = "no pdflatex with graphicx and pgf: apt-get install texlive-latex-base texlive-pictures"
	if os.Getenv("VIGORLAB_NO_SKIP") != "" {
		t.Fatal(missing)
	}
	t.Skip(missing)
}

// checkReadmePandas runs README's line on the table of a figure.
func checkReadmePandas(t *testing.T, section string) {
	needNotebooks(t)
	line := regexp.MustCompile(`pandas\.read_csv\([^)]*\)`).FindString(section)
	if line == "" {
		t.Fatal("README has no pandas.read_csv")
	}
	out, err := exec.Command(notebookPython, "-c", "import pandas\nt = "+line+"\nprint(len(t), *t.columns)").CombinedOutput()
	const want = "80 panel group series number x y low high\n"
	if err != nil || string(out) != want {
		t.Errorf("%s: %v: %q, want %q", line, err, out, want)
	}
}
