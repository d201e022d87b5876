package plots

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	stdfont "golang.org/x/image/font"
	"golang.org/x/text/unicode/norm"
	"gonum.org/v1/plot/font"
)

// texTool finds a program of TeX, beside package pgf, or skips the test.
func texTool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err == nil && exec.Command("kpsewhich", "pgf.sty").Run() == nil {
		return path
	}
	const hint = "%s or pgf.sty is missing: apt-get install texlive-latex-base texlive-pictures"
	if os.Getenv("VIGORLAB_NO_SKIP") != "" {
		t.Fatalf(hint, name)
	}
	t.Skipf(hint, name)
	return ""
}

// typeset compiles a document, whose files are beside it, and returns its log in
// long lines, and its PDF.
func typeset(t *testing.T, document string, files map[string][]byte) (log string, pdf []byte) {
	t.Helper()
	pdflatex := texTool(t, "pdflatex")
	dir := t.TempDir()
	files["paper.tex"] = []byte(document)
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, pdflatex, "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "paper.tex")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "max_print_line=10000", "TEXMFVAR="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("pdflatex: %v\n%s", err, out)
	}
	all, err := os.ReadFile(filepath.Join(dir, "paper.log"))
	if err != nil {
		t.Fatal(err)
	}
	pdf, err = os.ReadFile(filepath.Join(dir, "paper.pdf"))
	if err != nil {
		t.Fatal(err)
	}
	return string(all), pdf
}

// complaint is what a document without a fault never logs.
var complaint = regexp.MustCompile(`(?m)^(Overfull|Underfull|Missing character|! |.*Warning|.*undefined|vigorlab: a word).*$`)

// article is a document of ten points with figures in both widths of a style.
func article(s Style, figures map[string]Figure, t *testing.T) (document string, files map[string][]byte) {
	var text strings.Builder
	fmt.Fprintf(&text, `\documentclass{article}
\usepackage[paperwidth=%gin,paperheight=14in,textwidth=%gin,textheight=12in]{geometry}
\usepackage{pgf}
\setlength{\parindent}{0pt}
\begin{document}
\newsavebox{\figbox}
`, float64(s.page)+1, float64(s.page))
	files = map[string][]byte{}
	for _, name := range slices.Sorted(maps.Keys(figures)) {
		for _, w := range []Width{s.column, s.page} {
			doc, err := Render(figures[name], TeX, w, s)
			if err != nil {
				t.Fatal(err)
			}
			file := fmt.Sprintf("%s-%v", name, float64(w))
			files[file+".tex"] = doc
			fmt.Fprintf(&text, "\\sbox{\\figbox}{\\input{%s.tex}}\\typeout{size %s \\the\\wd\\figbox\\space\\the\\ht\\figbox}%%\n", file, file)
			fmt.Fprintf(&text, "A sentence of the paper before a figure.\\par\\noindent\\input{%s.tex}\\par\n", file)
		}
	}
	return text.String() + "\\end{document}\n", files
}

// TestTeXCompiles sets every kind of figure in a document of ten points in
// Computer Modern, in both styles and widths: nothing is warned of, no word is
// squeezed, and each has the size that it says.
func TestTeXCompiles(t *testing.T) {
	for _, s := range []Style{Paper(), Talk()} {
		t.Run(s.name, func(t *testing.T) {
			figures := samples()
			document, files := article(s, figures, t)
			log, _ := typeset(t, document, files)
			for _, line := range complaint.FindAllString(log, -1) {
				t.Error(line)
			}
			sizes := regexp.MustCompile(`(?m)^size (.*)-([0-9.]+) ([0-9.]+)pt ([0-9.]+)pt$`).FindAllStringSubmatch(log, -1)
			if len(sizes) != 2*len(figures) {
				t.Fatalf("%d figures in the log, want %d", len(sizes), 2*len(figures))
			}
			for _, m := range sizes {
				inches, _ := strconv.ParseFloat(m[2], 64)
				width, _ := strconv.ParseFloat(m[3], 64)
				height, _ := strconv.ParseFloat(m[4], 64)
				aspect := figures[m[1]].Aspect(Width(inches), s.inTeX())
				if math.Abs(width-72.27*inches) > 0.05 || math.Abs(height-72.27*inches*aspect) > 0.05 {
					t.Errorf("%s at %v in: %v by %v pt, want %v by %v", m[1], inches, width, height, 72.27*inches, 72.27*inches*aspect)
				}
			}
		})
	}
}

// awkward are labels that TeX would take for commands, for other signs of its
// oldest encoding or for ligatures, and what pdftotext reads in the document,
// where _ is a rule and some accents stand alone.
var awkward = map[string]string{
	`100 % & #1 $x$ {y} a_b c~d e\f`: `100 % & #1 $x$ {y} a b c˜d e\f`,
	`p <= 1 | q > 0, "so"`:           `p <= 1 | q > 0, ”so”`,
	`--alpha ,,b'' ?` + "`" + `c`:    `--alpha ,,b’’ ?‘c`,
	`κ = 1.5, η ≤ 2, α ≥ −1, σ → ∞`:  `κ = 1.5, η ≤ 2, α ≥ −1, σ → ∞`,
	`η^(1/3) and √u, x²`:             `η1/3 and √u, x2`,
	`Łódź, Ünïcödé, façade, Ærø ß`:   `Lódź, Ünı̈cödé, façade, Ærø ß`,
	`steps 1–5… “so”`:                `steps 1–5. . . “so”`,
	`日本 🙂`:                           ``,
}

// TestTeXLabels reads every awkward label out of the document, in which a
// quotation mark is a command, as where babel brings German.
func TestTeXLabels(t *testing.T) {
	pdftotext := tool(t, "pdftotext")
	document := `\documentclass{article}
\usepackage{pgf}
\begin{document}
\catcode` + "`\\\"=\\active\n" + `\def"{\errmessage{a quotation mark is a command}}
`
	files := map[string][]byte{}
	var want []string
	for i, label := range slices.Sorted(maps.Keys(awkward)) {
		d := ComparisonData{label, []string{"party"}, []ComparisonRow{{label, "a", []Value{{1, 0.5, 2}}}}, nan}
		doc, err := Render(must(Comparison(d)), TeX, 4.7, Paper())
		if err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("label-%d.tex", i)
		files[name] = doc
		document += "\\noindent\\input{" + name + "}\\par\n"
		want = append(want, awkward[label])
		if strange := bytes.Contains(doc, []byte("% TeX has no sign for U+65E5, U+672C, U+1F642:")); strange != (awkward[label] == "") {
			t.Errorf("%q: says that TeX lacks a sign: %v", label, strange)
		}
		for _, b := range doc {
			if b > 126 || b < ' ' && b != '\n' {
				t.Fatalf("%q: byte %#x in the file, want ASCII", label, b)
			}
		}
	}
	log, pdf := typeset(t, document+"\\end{document}\n", files)
	for _, line := range complaint.FindAllString(log, -1) {
		t.Error(line)
	}
	cmd := exec.Command(pdftotext, "-enc", "UTF-8", "-", "-")
	cmd.Stdin = bytes.NewReader(pdf)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("pdftotext: %v: %s", err, out)
	}
	bare := func(s string) string { return norm.NFC.String(strings.Join(strings.Fields(s), "")) }
	for _, w := range want {
		if n := strings.Count(bare(string(out)), bare(w)); n < 1 {
			t.Errorf("%q is missing in the document:\n%s", w, out)
		}
	}
}

func TestTeXWords(t *testing.T) {
	for _, c := range []struct {
		text  string
		title bool
		want  string
	}{
		{"rounds T", true, `rounds $T$`},
		{"a plan, E[G | p]", true, `a plan, $E$[$G$ \textbar{} $p$]`},
		{"from G to 2G − 1", true, `from $G$ to 2$G$ $-$ 1`},
		{"norm ||grad L||", true, `norm $\|$$\nabla$$L$$\|$`},
		{"don't, Zoë, x̂", true, `don't, Zo\"{e}, \^{x}`},
		{"A  uniform", false, `A\enspace{}uniform`},
		{"fixed, G = 8", false, `fixed, $G$ = 8`},
		{"beta:a=0.3,b=0.7", false, `beta:a=0.3,b=0.7`},
		{"≠ ½ --", false, `$\neq$ $\frac12$ -{}-`},
		{"√u, √2, √η", false, `$\sqrt{u}$, $\surd$2, $\sqrt{\eta}$`},
	} {
		var strange []string
		if got := texWords(c.text, c.title, &strange); got != c.want || len(strange) > 0 {
			t.Errorf("texWords(%q, %v) = %s, want %s; strange %q", c.text, c.title, got, c.want, strange)
		}
	}
}

// TestRomanWidths reads the table's widths off the font.
func TestRomanWidths(t *testing.T) {
	tftopl := texTool(t, "tftopl")
	for _, c := range []struct {
		name string
		font font.Font
	}{
		{"cmr7", font.Font{Size: 7}},
		{"cmr8", font.Font{Size: 8}},
		{"cmr9", font.Font{Size: 9}},
		{"cmr12", font.Font{Size: 14.4}},
		{"cmr17", font.Font{Size: 17.28}},
		{"cmbx8", font.Font{Size: 8, Weight: stdfont.WeightBold}},
	} {
		path, err := exec.Command("kpsewhich", c.name+".tfm").Output()
		if err != nil {
			t.Fatal(err)
		}
		list, err := exec.Command(tftopl, strings.TrimSpace(string(path))).Output()
		if err != nil {
			t.Fatal(err)
		}
		widths := map[rune]float64{}
		for _, m := range regexp.MustCompile(`\(CHARACTER (?:C (.)|O ([0-7]+))\s*\(CHARWD R ([0-9.]+)\)`).FindAllStringSubmatch(string(list), -1) {
			code, _ := strconv.ParseUint(m[2], 8, 8)
			if m[1] != "" {
				code = uint64(m[1][0])
			}
			widths[rune(code)], _ = strconv.ParseFloat(m[3], 64)
		}
		n := 0
		for r := 'A'; r <= 'z'; r++ {
			if r > 'Z' && r < 'a' {
				continue
			}
			n++
			word := strings.Repeat(string(r), 4)
			if room, w := float64(romanWidth(c.font, word)), 4*widths[r]*float64(c.font.Size); room < w || room > 1.25*w+1 {
				t.Errorf("%s: %q is %.2f pt wide, has a room of %.2f", c.name, word, w, room)
			}
			if got := float64(romanWidths[r-' ']) / 1000; c.name == "cmr8" && math.Abs(got-widths[r]) > 0.0006 {
				t.Errorf("cmr8: %q is %v em wide, want %v", r, got, widths[r])
			}
		}
		if n != 52 || len(widths) < 100 {
			t.Errorf("%s: %d letters of %d signs", c.name, n, len(widths))
		}
	}
}
