package plots

import (
	"fmt"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// RanksData is the ranks of strategies by one objective, population by
// population.
type RanksData struct {
	Objective   string
	Populations []string
	Strategies  []RankRow
}

// A RankRow holds the ranks of one strategy, one a population. Rows of a group
// stand together under its name.
type RankRow struct {
	Group, Label string
	Ranks        []RankRange
}

// A RankRange is the ranks that the data leave open, 1 for the best. The zero
// value stands for none.
type RankRange struct{ Low, High int }

// maxColumns is the number of populations that have a letter.
const maxColumns = 26

// Ranks draws a map of ranks: a row a strategy, a column a population, the
// darker the better, with the range of ranks in every cell that has room.
func Ranks(d RanksData) (Figure, error) {
	return newFigure("Ranks of strategies", d.panels)
}

func (d RanksData) panels(s *Style, n *notes) ([]*panel, error) {
	rows, columns := len(d.Strategies), len(d.Populations)
	if rows < 1 || rows > maxRows || columns < 1 || columns > maxColumns {
		return nil, fmt.Errorf("plots: ranks: %d strategies on %d populations, want [1, %d] on [1, %d]", rows, columns, maxRows, maxColumns)
	}
	p := &panel{s: s, y: axis{bare: true}, tall: 1.2 * vg.Inch, pitch: 1.35 * s.tick, loose: true}
	for k, name := range d.Populations {
		letter := string(rune('A' + k))
		p.x.fixed = append(p.x.fixed, plot.Tick{Value: float64(k), Label: letter})
		p.key = append(p.key, textSample(letter+"  "+n.clean(name)))
	}
	var cells []rankCells
	y, group := 0.0, ""
	for _, r := range d.Strategies {
		if len(r.Ranks) != columns {
			return nil, fmt.Errorf("plots: ranks: %q has %d ranks, want %d, one a population", r.Label, len(r.Ranks), columns)
		}
		for _, k := range r.Ranks {
			if !(k == RankRange{} || k.Low >= 1 && k.High >= k.Low && k.High <= rows) {
				return nil, fmt.Errorf("plots: ranks: %q has the ranks %d to %d, want 1 to %d", r.Label, k.Low, k.High, rows)
			}
		}
		if g := n.clean(r.Group); g != group {
			p.rows = append(p.rows, row{text: g, y: y, head: true})
			group = g
			y--
		}
		p.rows = append(p.rows, row{text: n.clean(r.Label), y: y})
		cells = append(cells, rankCells{y, r.Ranks})
		y--
	}
	p.setPlot(n.clean("ranks by "+d.Objective), "", span{-0.5, float64(columns) - 0.5}, span{y + 0.5, 0.5})
	p.plot.X.Tick.LineStyle.Width = 0
	p.plot.X.LineStyle.Width = 0
	p.plot.X.Padding, p.plot.Y.Padding = 0, 0
	p.plot.Y.Width = 0
	p.plot.Add(rankMap{s, cells})
	return []*panel{p}, nil
}

// rankCells are the cells of a row at height y.
type rankCells struct {
	y     float64
	ranks []RankRange
}

// rankMap draws the cells; one too narrow for its numbers has its shade alone.
type rankMap struct {
	s    *Style
	rows []rankCells
}

func (m rankMap) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	s := m.s
	gap := s.pt(0.4) // white between cells
	for _, row := range m.rows {
		for k, r := range row.ranks {
			if r == (RankRange{}) {
				continue
			}
			fill, word := s.rankShade(r, len(m.rows))
			at := vg.Point{X: x(float64(k)), Y: y(row.y)}
			fillRect(c, fill, x(float64(k)-0.5)+gap, y(row.y-0.5)+gap, x(float64(k)+0.5)-gap, y(row.y+0.5)-gap)
			if s.textWidth(sans(s.tick), r.String()) <= x(float64(k)+0.5)-x(float64(k)-0.5) {
				s.drawBlock(c, sans(s.tick), word, at.X, at.Y, 0.5, []string{r.String()})
			}
		}
	}
}

// String prints the range with an en dash.
func (r RankRange) String() string {
	if r.Low == r.High {
		return fmt.Sprint(r.Low)
	}
	return fmt.Sprintf("%d\u2013%d", r.Low, r.High)
}

// rankShade returns the colour of a cell by the middle of its ranks, of n, and
// that of its words.
func (s *Style) rankShade(r RankRange, n int) (fill, word color.RGBA) {
	share := 1.0
	if n > 1 {
		share = 1 - (float64(r.Low+r.High)/2-1)/float64(n-1)
	}
	shade := 0.06 + 0.84*share*share // most of the contrast among the best
	word = black
	if shade > 0.45 {
		word = white
	}
	return tint(s.inkOf(0).mark, shade), word
}
