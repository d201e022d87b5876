package plots

import (
	"errors"
	"fmt"
	"image"
	"image/color"
	"math"
	"strconv"
	"strings"

	stdfont "golang.org/x/image/font"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// inTeX returns the style of figures in a document.
func (s Style) inTeX() Style {
	s.sizes, s.roman = s.texSizes, true
	return s
}

// renderTeX draws a picture of package pgf. (Gonum's own canvas sets words by
// their left end in another font, escapes none of them, and leaves paths open.)
func renderTeX(sh sheet, title string, w, h vg.Length) ([]byte, error) {
	page := &texPage{s: sh.s, w: w, h: h, colors: map[color.RGBA]string{}, state: texState{a: 1, d: 1}}
	vg.Initialize(page)
	sh.draw(draw.New(page))
	if page.err != nil {
		return nil, fmt.Errorf("plots: TeX: %w", page.err)
	}
	var doc strings.Builder
	fmt.Fprintf(&doc, texHead, texComment(title), float64(w)/72)
	if len(page.strange) > 0 {
		fmt.Fprintf(&doc, "%% TeX has no sign for %s: boxes stand in their place.\n", strings.Join(page.strange, ", "))
	}
	doc.WriteString(texMacros)
	doc.WriteString(page.palette.String())
	fmt.Fprintf(&doc, "\\pgfpathrectangle{\\pgfpointorigin}{\\pgfqpoint{%s}{%s}}\\pgfusepath{use as bounding box}%%\n", bp(w), bp(h))
	doc.WriteString(page.body.String())
	doc.WriteString("\\end{pgfpicture}%\n\\endgroup\n")
	return []byte(doc.String()), nil
}

const texHead = `%% %s, drawn by vigorlab, %.4g inches wide.
%% In the preamble: \usepackage{pgf}. In the text: \input of this file.
%% Words are in the fonts of the document.
`

// texMacros begins the picture. \vlword{point}{anchor}{room}{size}{color}{words}
// sets words, squeezed into their room where the document's font is wider.
const texMacros = `\begingroup
\def\vlword#1#2#3#4#5#6{\pgftext[base,#2,at={#1}]{\vlfit{#3}{#4}{#5}{#6}}}%
\def\vlturned#1#2#3#4#5#6{\pgftext[base,#2,at={#1},rotate=90]{\vlfit{#3}{#4}{#5}{#6}}}%
\def\vlfit#1#2#3#4{\sbox0{\fontsize{#2}{#2}\selectfont\color{#3}#4}%
  \ifdim\wd0>#1 \typeout{vigorlab: a word of \the\wd0\space is squeezed into #1}\resizebox{#1}{\height}{\usebox0}\else\usebox0\fi}%
\def\vlscript#1#2#3{\raisebox{#1}{\fontsize{#2}{#2}\selectfont#3}}%
\def\vlm#1#2{\pgfpathqmoveto{#1bp}{#2bp}}%
\def\vll#1#2{\pgfpathqlineto{#1bp}{#2bp}}%
\def\vlc#1#2#3#4#5#6{\pgfpathqcurveto{#1bp}{#2bp}{#3bp}{#4bp}{#5bp}{#6bp}}%
\def\vlz{\pgfpathclose}%
\def\vls{\pgfusepathqstroke}%
\def\vlf{\pgfusepathqfill}%
\begin{pgfpicture}%
`

// A texPage lets gonum draw a picture of package pgf.
type texPage struct {
	s       *Style
	w, h    vg.Length
	state   texState
	stack   []texState
	palette strings.Builder // definitions of colours
	colors  map[color.RGBA]string
	body    strings.Builder
	last    map[string]string // what the picture's state is, by command
	strange []string          // signs without TeX
	err     error
}

// A texState is what Push saves.
type texState struct {
	a, b, c, d, e, f float64 // x' = ax + cy + e, y' = bx + dy + f
	color            color.Color
	width            vg.Length
	dashes           []vg.Length
	offset           vg.Length
}

var (
	_ vg.CanvasSizer = (*texPage)(nil)
	_ setter         = (*texPage)(nil)
)

func (p *texPage) Size() (w, h vg.Length)   { return p.w, p.h }
func (p *texPage) SetLineWidth(w vg.Length) { p.state.width = w }
func (p *texPage) SetColor(c color.Color)   { p.state.color = c }
func (p *texPage) Push()                    { p.stack = append(p.stack, p.state) }

func (p *texPage) SetLineDash(pattern []vg.Length, offset vg.Length) {
	p.state.dashes, p.state.offset = pattern, offset
}

func (p *texPage) Pop() {
	p.state = p.stack[len(p.stack)-1]
	p.stack = p.stack[:len(p.stack)-1]
}

func (p *texPage) Rotate(t float64) {
	s, sin, cos := p.state, math.Sin(t), math.Cos(t)
	p.state.a, p.state.b = s.a*cos+s.c*sin, s.b*cos+s.d*sin
	p.state.c, p.state.d = s.c*cos-s.a*sin, s.d*cos-s.b*sin
}

func (p *texPage) Translate(by vg.Point) {
	p.state.e += p.state.a*float64(by.X) + p.state.c*float64(by.Y)
	p.state.f += p.state.b*float64(by.X) + p.state.d*float64(by.Y)
}

func (p *texPage) Scale(x, y float64) {
	p.state.a, p.state.b = p.state.a*x, p.state.b*x
	p.state.c, p.state.d = p.state.c*y, p.state.d*y
}

// page moves a point to the page.
func (p *texPage) page(q vg.Point) vg.Point {
	x, y, s := float64(q.X), float64(q.Y), p.state
	return vg.Point{X: vg.Length(s.a*x + s.c*y + s.e), Y: vg.Length(s.b*x + s.d*y + s.f)}
}

// tex prints a length in hundredths of a point, without its unit.
func tex(v vg.Length) string {
	s := strconv.FormatFloat(float64(v), 'f', 2, 64)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

func bp(v vg.Length) string { return tex(v) + "bp" }

// do writes a command whose last value of this name was another.
func (p *texPage) do(name, command string) {
	if p.last == nil {
		p.last = map[string]string{}
	}
	if p.last[name] != command {
		p.last[name] = command
		p.body.WriteString(command + "%\n")
	}
}

// ink returns the name of the colour and its opacity.
func (p *texPage) ink() (name string, opacity float64) {
	c := color.NRGBAModel.Convert(p.state.color).(color.NRGBA)
	solid := color.RGBA{c.R, c.G, c.B, 255}
	name, ok := p.colors[solid]
	if !ok {
		name = "vigorlab" + strconv.Itoa(len(p.colors))
		p.colors[solid] = name
		fmt.Fprintf(&p.palette, "\\definecolor{%s}{RGB}{%d,%d,%d}%%\n", name, c.R, c.G, c.B)
	}
	return name, float64(c.A) / 255
}

// Stroke draws the path.
func (p *texPage) Stroke(path vg.Path) {
	if p.state.width <= 0 || len(path) == 0 {
		return
	}
	name, _ := p.ink() // no line is seen through
	dashes := ""
	for _, d := range p.state.dashes {
		dashes += "{" + bp(d) + "}"
	}
	p.do("stroke", `\pgfsetstrokecolor{`+name+"}")
	p.do("width", `\pgfsetlinewidth{`+bp(p.state.width)+"}")
	p.do("dash", `\pgfsetdash{`+dashes+"}{"+bp(p.state.offset)+"}")
	p.trace(path)
	p.body.WriteString("\\vls%\n")
}

// Fill fills the path.
func (p *texPage) Fill(path vg.Path) {
	if len(path) == 0 {
		return
	}
	name, opacity := p.ink()
	p.do("fill", `\pgfsetfillcolor{`+name+"}")
	p.setOpacity(opacity)
	p.trace(path)
	p.body.WriteString("\\vlf%\n")
}

// setOpacity is for what fills and words share.
func (p *texPage) setOpacity(share float64) {
	p.do("opacity", fmt.Sprintf(`\pgfsetfillopacity{%.3g}`, share))
}

// trace writes the path.
func (p *texPage) trace(path vg.Path) {
	for _, step := range path {
		switch step.Type {
		case vg.MoveComp:
			p.point(`\vlm`, step.Pos)
		case vg.LineComp:
			p.point(`\vll`, step.Pos)
		case vg.ArcComp:
			p.arc(step)
		case vg.CurveComp:
			p.fail(errors.New("curves are not supported"))
		case vg.CloseComp:
			p.body.WriteString(`\vlz`)
		}
	}
}

// point writes an operator with points on the page.
func (p *texPage) point(operator string, at ...vg.Point) {
	p.body.WriteString(operator)
	for _, q := range at {
		q = p.page(q)
		p.body.WriteString("{" + tex(q.X) + "}{" + tex(q.Y) + "}")
	}
}

// arc writes an arc as Bézier curves of at most a quarter of a circle each, off
// by less than 3e-4 of the radius.
func (p *texPage) arc(step vg.PathComp) {
	n := math.Ceil(math.Abs(step.Angle)/(math.Pi/2) - 1e-9)
	turn := step.Angle / n
	k := 4. / 3 * math.Tan(turn/4)
	on := func(t, along float64) vg.Point {
		sin, cos := math.Sincos(t)
		return step.Pos.Add(vg.Point{
			X: step.Radius * vg.Length(cos-along*sin),
			Y: step.Radius * vg.Length(sin+along*cos),
		})
	}
	for i := range int(n) {
		from := step.Start + float64(i)*turn
		p.point(`\vlc`, on(from, k), on(from+turn, -k), on(from+turn, 0))
	}
}

// set writes a line; it is turned where the page is.
func (p *texPage) set(f font.Font, at vg.Point, room vg.Length, align float64, line string, title bool) {
	if line == "" {
		return
	}
	command := `\vlword`
	if math.Abs(p.state.b) > 0.5 {
		command = `\vlturned`
	}
	anchor := [...]string{"left", "center", "right"}[int(math.Round(2*align))]
	name, opacity := p.ink()
	p.setOpacity(opacity)
	at = p.page(at)
	fmt.Fprintf(&p.body, "%s{\\pgfqpoint{%s}{%s}}{%s}{%s}{%s}{%s}{%s}%%\n",
		command, bp(at.X), bp(at.Y), anchor, bp(room), tex(f.Size)+"pt", name, p.words(f, line, title))
}

// words returns a line in TeX.
func (p *texPage) words(f font.Font, line string, title bool) string {
	line = raised(line)
	var b strings.Builder
	if f.Weight == stdfont.WeightBold {
		b.WriteString(`\bfseries `)
	}
	for _, part := range pieces(line) {
		t := texWords(part.text, title, &p.strange)
		if part.script == 0 {
			b.WriteString(t)
			continue
		}
		_, rise := p.s.pieceFont(f, part)
		fmt.Fprintf(&b, `\vlscript{%s}{%s}{%s}`, bp(rise), tex(p.s.script)+"pt", t)
	}
	return b.String()
}

func (p *texPage) fail(err error) { p.err = errors.Join(p.err, err) }

// FillString is not needed: whoever writes knows which point stays in place.
func (p *texPage) FillString(font.Face, vg.Point, string) {
	p.fail(errors.New("words without an alignment are not supported"))
}

// DrawImage is not needed: no figure holds pixels.
func (p *texPage) DrawImage(vg.Rectangle, image.Image) {
	p.fail(errors.New("images are not supported"))
}
