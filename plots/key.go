package plots

import (
	"image/color"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

const (
	keyRow  = vg.Length(10) // height of a row of a key
	keyGap  = vg.Length(9)  // between entries
	keySkip = vg.Length(3)  // between a sample and its text
	keyLine = vg.Length(14) // the piece of line in a key
	keyDot  = vg.Length(8)  // the room of a dot in a key
	keyFill = vg.Length(9)  // the room of a colour in a key
)

// fillKey breaks a key into rows no wider than width.
func (s *Style) fillKey(key []sample, width vg.Length) [][]sample {
	var rows [][]sample
	var used vg.Length
	for _, e := range key {
		e.text = s.labelRuler(sans(s.tick)).elide(e.text, width-e.room)
		w := s.keyWidth(e)
		if len(rows) == 0 || used+s.pt(keyGap)+w > width {
			rows, used = append(rows, nil), -s.pt(keyGap)
		}
		used += s.pt(keyGap) + w
		rows[len(rows)-1] = append(rows[len(rows)-1], e)
	}
	return rows
}

func (s *Style) keyWidth(e sample) vg.Length {
	return e.room + s.textWidth(sans(s.tick), e.text)
}

func (s *Style) rowWidth(row []sample) vg.Length {
	width := vg.Length(len(row)-1) * s.pt(keyGap)
	for _, e := range row {
		width += s.keyWidth(e)
	}
	return width
}

// drawKey writes the rows at the top of c, from left on where they fit.
func (s *Style) drawKey(c draw.Canvas, rows [][]sample, left vg.Length) {
	for i, row := range rows {
		x := max(min(left, c.Max.X-s.rowWidth(row)), c.Min.X)
		y := c.Max.Y - s.pt(keyRow)*(vg.Length(i)+0.5)
		for _, e := range row {
			e.draw(c, vg.Rectangle{
				Min: vg.Point{X: x, Y: y - s.pt(keyRow)/2},
				Max: vg.Point{X: x + e.room, Y: y + s.pt(keyRow)/2},
			})
			s.drawBlock(c, sans(s.tick), black, x+e.room, y, 0, []string{e.text})
			x += s.keyWidth(e) + s.pt(keyGap)
		}
	}
}

// textSample is words alone.
func textSample(text string) sample {
	return sample{text, 0, func(draw.Canvas, vg.Rectangle) {}}
}

// lineSample shows a line style.
func (s *Style) lineSample(text string, style draw.LineStyle) sample {
	return sample{text, s.pt(keyLine) + s.pt(keySkip), func(c draw.Canvas, box vg.Rectangle) {
		y := (box.Min.Y + box.Max.Y) / 2
		c.StrokeLine2(style, box.Min.X, y, box.Min.X+s.pt(keyLine), y)
	}}
}

// sample shows the mark; arm is half the interval that it bears.
func (m mark) sample(text string, arm vg.Point) sample {
	s := m.s
	room := max(s.pt(keyDot), 2*arm.X+s.pt(1))
	return sample{text, room + s.pt(keySkip), func(c draw.Canvas, box vg.Rectangle) {
		at := vg.Point{X: box.Min.X + room/2, Y: (box.Min.Y + box.Max.Y) / 2}
		if arm != (vg.Point{}) {
			m.interval(c, at, at.Sub(arm), at.Add(arm), false)
		}
		m.dot(c, at)
	}}
}

// fillSample shows the colours of areas, side by side.
func (s *Style) fillSample(text string, fills ...color.RGBA) sample {
	room := s.pt(keyFill) * vg.Length(1+0.5*float64(len(fills)-1))
	return sample{text, room + s.pt(keySkip), func(c draw.Canvas, box vg.Rectangle) {
		w := room / vg.Length(len(fills))
		for i, f := range fills {
			x := box.Min.X + w*vg.Length(i)
			fillRect(c, f, x, box.Min.Y+s.pt(2), x+w, box.Max.Y-s.pt(2))
		}
	}}
}

func fillRect(c draw.Canvas, col color.Color, x0, y0, x1, y1 vg.Length) {
	c.SetColor(col)
	c.Fill(vg.Rectangle{Min: vg.Point{X: x0, Y: y0}, Max: vg.Point{X: x1, Y: y1}}.Path())
}
