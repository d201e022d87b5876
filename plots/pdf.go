package plots

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"math"

	"github.com/tdewolff/canvas"
	"github.com/tdewolff/canvas/renderers/pdf"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// mm is a point in millimetres, the unit of package canvas.
const mm = 25.4 / 72

// renderPDF draws through canvas: gonum's own PDF garbles all but Latin-1.
func renderPDF(sh sheet, title string, w, h vg.Length) ([]byte, error) {
	var buf bytes.Buffer
	doc := pdf.New(&buf, float64(w)*mm, float64(h)*mm, nil)
	doc.SetInfo(title, "", "", "", "vigorlab")
	page := &pdfPage{ctx: canvas.NewContext(doc), w: w, h: h, families: map[string]*canvas.FontFamily{}}
	vg.Initialize(page)
	sh.draw(draw.New(page))
	err := errors.Join(page.err, doc.Close())
	if err != nil {
		return nil, fmt.Errorf("plots: PDF: %w", err)
	}
	content, err := timeless(buf.Bytes())
	if err != nil {
		return nil, err
	}
	return asVersion5(content)
}

// asVersion5 makes a PDF 1.7 one of version 1.5, the latest that pdfTeX includes
// without a warning. Nothing that figures need is newer: TrueType fonts, plain cross
// references, and transparency, which is of 1.4.
func asVersion5(doc []byte) ([]byte, error) {
	body, ok := bytes.CutPrefix(doc, []byte("%PDF-1.7\n"))
	if !ok {
		return nil, errLayout
	}
	return append([]byte("%PDF-1.5\n"), body...), nil
}

// A pdfPage lets gonum draw on a PDF page of package canvas. (The adapter that
// canvas offers itself brings every one of its other formats along.)
type pdfPage struct {
	ctx      *canvas.Context
	w, h     vg.Length
	families map[string]*canvas.FontFamily
	width    vg.Length
	dashes   []vg.Length
	offset   vg.Length
	err      error
}

var _ vg.CanvasSizer = (*pdfPage)(nil)

func (p *pdfPage) Size() (w, h vg.Length)   { return p.w, p.h }
func (p *pdfPage) SetLineWidth(w vg.Length) { p.width = w }
func (p *pdfPage) Rotate(radians float64)   { p.ctx.Rotate(radians * 180 / math.Pi) }
func (p *pdfPage) Translate(by vg.Point)    { p.ctx.Translate(float64(by.X)*mm, float64(by.Y)*mm) }
func (p *pdfPage) Scale(x, y float64)       { p.ctx.Scale(x, y) }
func (p *pdfPage) Push()                    { p.ctx.Push() }
func (p *pdfPage) Pop()                     { p.ctx.Pop() }
func (p *pdfPage) Fill(path vg.Path)        { p.trace(path); p.ctx.Fill() }
func (p *pdfPage) fail(err error)           { p.err = errors.Join(p.err, err) }

func (p *pdfPage) SetLineDash(pattern []vg.Length, offset vg.Length) {
	p.dashes, p.offset = pattern, offset
}

// Stroke draws the path. Package canvas multiplies dashes by the width of the
// line, so they are divided by it here.
func (p *pdfPage) Stroke(path vg.Path) {
	if p.width <= 0 {
		return
	}
	dashes := make([]float64, len(p.dashes))
	for i, d := range p.dashes {
		dashes[i] = float64(d / p.width)
	}
	p.ctx.SetStrokeWidth(float64(p.width) * mm)
	p.ctx.SetDashes(float64(p.offset/p.width), dashes...)
	p.trace(path)
	p.ctx.Stroke()
}

func (p *pdfPage) SetColor(c color.Color) {
	if c == nil {
		c = color.Black
	}
	p.ctx.SetFillColor(c)
	p.ctx.SetStrokeColor(c)
}

// trace puts the path into the context.
func (p *pdfPage) trace(path vg.Path) {
	at := func(q vg.Point) (x, y float64) { return float64(q.X) * mm, float64(q.Y) * mm }
	for _, step := range path {
		x, y := at(step.Pos)
		switch {
		case step.Type == vg.MoveComp:
			p.ctx.MoveTo(x, y)
		case step.Type == vg.LineComp:
			p.ctx.LineTo(x, y)
		case step.Type == vg.ArcComp:
			r, from := float64(step.Radius)*mm, step.Start*180/math.Pi
			p.ctx.Arc(r, r, 0, from, from+step.Angle*180/math.Pi)
		case step.Type == vg.CurveComp && len(step.Control) == 1:
			cx, cy := at(step.Control[0])
			p.ctx.QuadTo(cx, cy, x, y)
		case step.Type == vg.CurveComp && len(step.Control) == 2:
			ax, ay := at(step.Control[0])
			bx, by := at(step.Control[1])
			p.ctx.CubeTo(ax, ay, bx, by, x, y)
		case step.Type == vg.CloseComp:
			p.ctx.Close()
		}
	}
}

// FillString writes one line with its baseline from at on.
func (p *pdfPage) FillString(f font.Face, at vg.Point, s string) {
	family, ok := p.families[f.Name()]
	if !ok {
		var source bytes.Buffer
		_, err := f.Face.WriteSourceTo(nil, &source)
		family = canvas.NewFontFamily(f.Name())
		err = errors.Join(err, family.LoadFont(source.Bytes(), 0, canvas.FontRegular))
		if err != nil {
			p.fail(err)
			return
		}
		p.families[f.Name()] = family
	}
	style := family.Face(float64(f.Font.Size), p.ctx.Style.Fill.Color, canvas.FontRegular, canvas.FontNormal)
	p.ctx.DrawText(float64(at.X)*mm, float64(at.Y)*mm, canvas.NewTextLine(style, s, canvas.Left))
}

// DrawImage is not needed: no figure holds pixels.
func (p *pdfPage) DrawImage(vg.Rectangle, image.Image) {
	p.fail(errors.New("images are not supported"))
}
