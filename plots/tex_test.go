package plots

import (
	"bytes"
	"context"
	"fmt"
	"image/color"
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
	"gonum.org/v1/plot/vg"
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
	for _, s := range styles() {
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
		if len(widths) < 100 {
			t.Errorf("%s: %d signs, want >= 100", c.name, len(widths))
		}
		for r := 'A'; r <= 'z'; r++ {
			if r > 'Z' && r < 'a' {
				continue
			}
			word := strings.Repeat(string(r), 4)
			if room, w := float64(romanWidth(c.font, word)), 4*widths[r]*float64(c.font.Size); room < w || room > 1.25*w+1 {
				t.Errorf("%s: %q is %.2f pt wide, has a room of %.2f", c.name, word, w, room)
				break
			}
			if got := float64(romanWidths[r-' ']) / 1000; c.name == "cmr8" && math.Abs(got-widths[r]) > 0.0006 {
				t.Errorf("cmr8: %q is %v em wide, want %v", r, got, widths[r])
			}
		}
	}
}

// TestTeXSqueezes sets a figure in letters that are wider than its room: TeX
// squeezes them, and the figure keeps its size.
func TestTeXSqueezes(t *testing.T) {
	doc, err := Render(samples()["speedup"], TeX, OneColumn, Paper())
	if err != nil {
		t.Fatal(err)
	}
	log, _ := typeset(t, `\documentclass{article}
\usepackage{pgf}
\renewcommand{\rmdefault}{cmtt}
\begin{document}
\noindent\hbox to 3.35in{\input{figure.tex}\hss}\par
\end{document}
`, map[string][]byte{"figure.tex": doc})
	squeezed := 0
	for _, line := range complaint.FindAllString(log, -1) {
		if strings.HasPrefix(line, "vigorlab: a word") {
			squeezed++
		} else {
			t.Error(line)
		}
	}
	if squeezed < 5 {
		t.Errorf("%d words are squeezed, want >= 5", squeezed)
	}
}

// readTeX reads a figure in TeX back, as a probe sees it.
func readTeX(t *testing.T, doc string, s Style) *probe {
	t.Helper()
	p := &probe{s: &s}
	colors := map[string]color.RGBA{}
	var fill, line color.Color
	var path stroke
	var arc []vg.Point
	opacity := 1.0
	seen := func(c color.Color) color.Color {
		if c, ok := c.(color.RGBA); ok && opacity < 1 {
			return color.NRGBA{c.R, c.G, c.B, uint8(math.Round(255 * opacity))}
		}
		return c
	}
	_, doc, _ = strings.Cut(doc, `\begin{pgfpicture}`)
	for _, m := range regexp.MustCompile(`\\(definecolor|pgfset[a-z]+|vl[a-z]+)\b((?:\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\})*)`).FindAllStringSubmatch(doc, -1) {
		args := regexp.MustCompile(`\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}`).FindAllStringSubmatch(m[2], -1)
		number := func(i int) vg.Length {
			v, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSuffix(args[i][1], "bp"), "pt"), 64)
			if err != nil {
				t.Fatalf("%s: %v", m[0], err)
			}
			return vg.Length(v)
		}
		at := func(i int) vg.Point { return vg.Point{X: number(i), Y: number(i + 1)} }
		switch m[1] {
		case "definecolor":
			var r, g, b uint8
			fmt.Sscanf(args[2][1], "%d,%d,%d", &r, &g, &b)
			colors[args[0][1]] = color.RGBA{r, g, b, 255}
		case "pgfsetfillcolor":
			fill = colors[args[0][1]]
		case "pgfsetstrokecolor":
			line = colors[args[0][1]]
		case "pgfsetfillopacity":
			opacity = float64(number(0))
		case "pgfsetlinewidth":
			path.width = number(0)
		case "pgfsetdash":
			path.dashes = nil
			for _, d := range regexp.MustCompile(`[0-9.]+`).FindAllString(args[0][1], -1) {
				v, _ := strconv.ParseFloat(d, 64)
				path.dashes = append(path.dashes, vg.Length(v))
			}
		case "vlm", "vll":
			path.points = append(path.points, at(0))
		case "vlc":
			arc = append(arc, at(4))
		case "vls", "vlf":
			done := path
			done.color = line
			if m[1] == "vlf" {
				done.color = seen(fill)
			}
			if len(arc) == 4 { // a circle, in quarters from the right
				done.points = []vg.Point{{X: (arc[3].X + arc[1].X) / 2, Y: (arc[0].Y + arc[2].Y) / 2}}
				done.radius = (arc[3].X - arc[1].X) / 2
			}
			if m[1] == "vls" {
				p.lines = append(p.lines, done)
			} else {
				p.fills = append(p.fills, done)
			}
			path.points, arc = nil, nil
		case "vlword", "vlturned":
			var x, y float64
			fmt.Sscanf(args[0][1], `\pgfqpoint{%fbp}{%fbp}`, &x, &y)
			room := float64(number(2))
			left := map[string]float64{"left": 0, "center": 0.5, "right": 1}[args[1][1]] * room
			w := word{text: args[5][1], size: number(3), color: seen(colors[args[4][1]]), x0: x - left, y0: y, x1: x - left + room, upright: m[1] == "vlturned"}
			if w.upright {
				w.x0, w.y0, w.y1 = x, y-left, y-left+room
			}
			p.words = append(p.words, w)
		}
	}
	return p
}

// TestTeXDrawsTheSame reads every figure in TeX back: the same lines, areas and
// words stand at the same places in the same colours as on the probe, which the
// tests of numbers read.
func TestTeXDrawsTheSame(t *testing.T) {
	for name, f := range samples() {
		for _, s := range styles() {
			doc, err := Render(f, TeX, s.column, s)
			if err != nil {
				t.Fatal(err)
			}
			want, got := lookIn(f, s.column, s.inTeX()), readTeX(t, string(doc), s)
			want.lines = slices.DeleteFunc(want.lines, func(l stroke) bool { return l.width == 0 })
			sameStrokes(t, fmt.Sprint(name, ", ", s, ", lines"), got.lines, want.lines, true)
			sameStrokes(t, fmt.Sprint(name, ", ", s, ", areas"), got.fills, want.fills, false)
			sameWords(t, fmt.Sprint(name, ", ", s), got.words, want.words)
		}
	}
}

// TestTeXWordsAreSolid draws a band last of all areas: the words behind it are not
// seen through as it is.
func TestTeXWordsAreSolid(t *testing.T) {
	line := Line{Label: "a", First: []Point{{1, 2, 1, 3}, {2, 3, 2, 4}}}
	f := must(Curves(CurvesData{Title: "A band", X: "x", Panels: []CurvesPanel{{Y: "y", Reference: math.NaN(), Lines: []Line{line}}}}))
	doc, err := Render(f, TeX, OneColumn, Paper())
	if err != nil {
		t.Fatal(err)
	}
	paper := Paper()
	got := readTeX(t, string(doc), paper)
	if !slices.ContainsFunc(got.fills, func(f stroke) bool { _, through := f.color.(color.NRGBA); return through }) {
		t.Error("no area is seen through, want a band")
	}
	sameWords(t, "words", got.words, lookIn(f, OneColumn, paper.inTeX()).words)
}

// hundredth is how well a place is known, in points.
const hundredth = 0.011

func sameStrokes(t *testing.T, what string, got, want []stroke, lines bool) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d, want %d", what, len(got), len(want))
		return
	}
	for i, w := range want {
		g := got[i]
		same := len(g.points) == len(w.points) && g.color == w.color && math.Abs(float64(g.radius-w.radius)) < hundredth
		if lines {
			same = same && fmt.Sprint(g.dashes) == fmt.Sprint(w.dashes) && math.Abs(float64(g.width-w.width)) < hundredth
		}
		for k := 0; same && k < len(w.points); k++ {
			d := g.points[k].Sub(w.points[k])
			same = math.Abs(float64(d.X)) < hundredth && math.Abs(float64(d.Y)) < hundredth
		}
		if !same {
			t.Errorf("%s: %d of them is %+v, want %+v", what, i, g, w)
			return
		}
	}
}

// sameWords compares all but the places of titles with scripts, which are several
// words on a probe.
func sameWords(t *testing.T, what string, got, want []word) {
	t.Helper()
	for _, g := range got {
		found := strings.Contains(g.text, `\vlscript`) && g.color == color.RGBAModel.Convert(g.color) // not seen through
		for _, w := range want {
			at := w.x0
			if w.upright {
				at = w.x1 - 0.21*float64(w.size) // the baseline
			}
			near := math.Abs(g.x0-at) < 2*hundredth && (w.upright || math.Abs(g.x1-w.x1) < 2*hundredth)
			base := w.y0 + 0.21*float64(w.size)
			if w.upright {
				base = w.y0
			}
			found = found || near && math.Abs(g.y0-base) < 2*hundredth && g.size == w.size && g.color == color.RGBAModel.Convert(w.color) && g.upright == w.upright
		}
		if !found {
			t.Errorf("%s: %+v stands elsewhere or looks otherwise on the probe", what, g)
		}
	}
	if len(got) == 0 || len(got) > len(want) {
		t.Errorf("%s: %d words, want [1, %d]", what, len(got), len(want))
	}
}

// TestTeXArcs wants the curves of a circle within 3e-4 of its radius.
func TestTeXArcs(t *testing.T) {
	p := &texPage{state: texState{a: 1, d: 1}}
	centre, r := vg.Point{X: 500, Y: 400}, vg.Length(300)
	p.arc(vg.PathComp{Type: vg.ArcComp, Pos: centre, Radius: r, Start: 0.3, Angle: -2 * math.Pi})
	last := centre.Add(vg.Point{X: r * vg.Length(math.Cos(0.3)), Y: r * vg.Length(math.Sin(0.3))})
	curves := regexp.MustCompile(`\\vlc((?:\{[-0-9.]+\}){6})`).FindAllStringSubmatch(p.body.String(), -1)
	if len(curves) != 4 {
		t.Fatalf("%d curves, want 4", len(curves))
	}
	for _, c := range curves {
		var v [6]float64
		for i, s := range regexp.MustCompile(`[-0-9.]+`).FindAllString(c[1], -1) {
			v[i], _ = strconv.ParseFloat(s, 64)
		}
		for u := 0.0; u <= 1; u += 0.125 {
			b := func(p0, p1, p2, p3 float64) float64 {
				return (1-u)*(1-u)*(1-u)*p0 + 3*u*(1-u)*(1-u)*p1 + 3*u*u*(1-u)*p2 + u*u*u*p3
			}
			x, y := b(float64(last.X), v[0], v[2], v[4]), b(float64(last.Y), v[1], v[3], v[5])
			if d := math.Hypot(x-float64(centre.X), y-float64(centre.Y)); math.Abs(d/float64(r)-1) > 3e-4 {
				t.Errorf("a point at (%.2f, %.2f) is %.3f from the centre, want %v", x, y, d, r)
			}
		}
		last = vg.Point{X: vg.Length(v[4]), Y: vg.Length(v[5])}
	}
}
