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
)

// fillKey breaks a key into rows no wider than width.
func fillKey(key []sample, width vg.Length) [][]sample {
	var rows [][]sample
	var used vg.Length
	for _, s := range key {
		s.text = labelRuler(sans(tickSize)).elide(s.text, width-s.room)
		w := keyWidth(s)
		if len(rows) == 0 || used+keyGap+w > width {
			rows, used = append(rows, nil), -keyGap
		}
		used += keyGap + w
		rows[len(rows)-1] = append(rows[len(rows)-1], s)
	}
	return rows
}

func keyWidth(s sample) vg.Length {
	return s.room + textWidth(sans(tickSize), s.text)
}

// drawKey writes the rows at the top of c, from left on where they fit.
func drawKey(c draw.Canvas, rows [][]sample, left vg.Length) {
	for i, row := range rows {
		width := vg.Length(len(row)-1) * keyGap
		for _, s := range row {
			width += keyWidth(s)
		}
		x := max(min(left, c.Max.X-width), c.Min.X)
		y := c.Max.Y - keyRow*(vg.Length(i)+0.5)
		for _, s := range row {
			s.draw(c, vg.Rectangle{
				Min: vg.Point{X: x, Y: y - keyRow/2},
				Max: vg.Point{X: x + s.room, Y: y + keyRow/2},
			})
			drawBlock(c, sans(tickSize), black, x+s.room, y, 0, []string{s.text})
			x += keyWidth(s) + keyGap
		}
	}
}

// textSample is words alone.
func textSample(text string) sample {
	return sample{text, 0, func(draw.Canvas, vg.Rectangle) {}}
}

// lineSample shows a line style.
func lineSample(text string, style draw.LineStyle) sample {
	return sample{text, keyLine + keySkip, func(c draw.Canvas, box vg.Rectangle) {
		y := (box.Min.Y + box.Max.Y) / 2
		c.StrokeLine2(style, box.Min.X, y, box.Min.X+keyLine, y)
	}}
}

// dotSample shows a mark; arm is half the interval that it bears.
func dotSample(text string, m mark, arm vg.Point) sample {
	room := max(keyDot, 2*arm.X+1)
	return sample{text, room + keySkip, func(c draw.Canvas, box vg.Rectangle) {
		at := vg.Point{X: box.Min.X + room/2, Y: (box.Min.Y + box.Max.Y) / 2}
		if arm != (vg.Point{}) {
			m.interval(c, at, at.Sub(arm), at.Add(arm), false)
		}
		m.dot(c, at)
	}}
}

// fillSample shows the colours of areas, side by side.
func fillSample(text string, fills ...color.RGBA) sample {
	room := keyFill * vg.Length(1+0.5*float64(len(fills)-1))
	return sample{text, room + keySkip, func(c draw.Canvas, box vg.Rectangle) {
		w := room / vg.Length(len(fills))
		for i, f := range fills {
			x := box.Min.X + w*vg.Length(i)
			fillRect(c, f, x, box.Min.Y+2, x+w, box.Max.Y-2)
		}
	}}
}

func fillRect(c draw.Canvas, col color.Color, x0, y0, x1, y1 vg.Length) {
	c.SetColor(col)
	c.Fill(vg.Rectangle{Min: vg.Point{X: x0, Y: y0}, Max: vg.Point{X: x1, Y: y1}}.Path())
}
