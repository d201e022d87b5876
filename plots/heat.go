package plots

import (
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
)

// HeatData is a figure of a sweep over two of its axes: a map of cells, or small
// multiples of it over further axes, in the same colours.
type HeatData struct {
	X, Y          string   // the axes
	Columns, Rows []string // their values: columns from left to right, rows from below
	Figure        string   // what the cells are
	Number        string   // what a cell is, such as the mean over seeds
	About         float64  // where colours part into two; NaN for one from light to dark
	Beside        int      // panels that belong side by side, where they have room; 0 for as many as have
	Panels        []HeatPanel
}

// A HeatPanel is the map of one value of the further axes.
type HeatPanel struct {
	Head  string       // which; empty where there is one panel
	Cells [][]HeatCell // Cells[i][k] stands in row i, column k
}

// A HeatCell is a value with its interval, or why there is none.
type HeatCell struct {
	Value
	Missing string // such as failed; a value that is not finite has this too, or "no value"
}

// maxPlaces is the number of rows or columns that fit on a page.
const maxPlaces = 60

// maxHatches is the number of reasons that hatches tell apart.
const maxHatches = 3

// Heat draws maps whose cells are the darker the larger their values, or away from About,
// with numbers and the half of their intervals where they have room. Cells without a
// value are hatched, and the key says why.
func Heat(d HeatData) (Figure, error) {
	return newFigure("A sweep over two axes", d.panels)
}

func (d HeatData) panels(s *Style, n *notes) ([]*panel, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	values, reasons := d.survey()
	if values.empty() {
		return nil, fmt.Errorf("plots: heat: no finite value to draw")
	}
	if len(reasons) > maxHatches {
		return nil, fmt.Errorf("plots: heat: %d reasons for missing values, want at most %d", len(reasons), maxHatches)
	}
	m := &heatMap{s: s, hues: d.hues(s, values), reasons: reasons, decimals: decimalsOf(values), mark: values.min < d.About}
	p := &panel{s: s, y: axis{bare: true}, beside: d.Beside, pitch: 2.3 * s.tick}
	p.least = max(s.pt(62), vg.Length(len(d.Columns))*0.8*s.tick)
	for i, name := range d.Rows {
		p.rows = append(p.rows, row{text: n.clean(name), y: float64(i)})
	}
	p.key = d.key(m, n)
	p.x.fixed = d.places(n, &p.key)
	for _, q := range d.Panels {
		p.setPlot(n.clean(d.X), n.clean(d.Y), span{-0.5, float64(len(d.Columns)) - 0.5}, span{-0.5, float64(len(d.Rows)) - 0.5})
		p.plot.X.Tick.LineStyle.Width, p.plot.X.LineStyle.Width = 0, 0
		p.plot.X.Padding, p.plot.Y.Padding = 0, 0
		p.plot.Y.Width = 0
		p.plot.Add(heatCells{m, q.Cells})
		p.facets = append(p.facets, facet{n.clean(q.Head), p.plot})
	}
	return []*panel{p}, nil
}

// check returns what is wrong with the sizes.
func (d HeatData) check() error {
	rows, columns := len(d.Rows), len(d.Columns)
	switch k := len(d.Panels); {
	case rows < 1 || rows > maxPlaces || columns < 1 || columns > maxPlaces:
		return fmt.Errorf("plots: heat: %d rows of %d cells, want [1, %d] of [1, %d]", rows, columns, maxPlaces, maxPlaces)
	case k < 1 || k > MaxFacets:
		return fmt.Errorf("plots: heat: %d panels, want [1, %d]", k, MaxFacets)
	}
	for _, q := range d.Panels {
		if len(q.Cells) != rows {
			return fmt.Errorf("plots: heat: panel %q has %d rows, want %d", q.Head, len(q.Cells), rows)
		}
		for i, cells := range q.Cells {
			if len(cells) != columns {
				return fmt.Errorf("plots: heat: panel %q: row %d has %d cells, want %d", q.Head, i+1, len(cells), columns)
			}
		}
	}
	return nil
}

// survey returns the span of all values, and why values are missing, as they come.
func (d HeatData) survey() (values span, reasons []string) {
	values = emptySpan()
	seen := map[string]bool{}
	for _, q := range d.Panels {
		for _, cells := range q.Cells {
			for _, c := range cells {
				values = values.with(c.Value.Value)
				if why := c.why(); why != "" && !seen[why] {
					seen[why] = true
					reasons = append(reasons, why)
				}
			}
		}
	}
	return values, reasons
}

// why returns the reason of a missing value; empty where there is a value.
func (c HeatCell) why() string {
	switch {
	case usable(c.Value.Value):
		return ""
	case c.Missing == "":
		return "no value"
	}
	return c.Missing
}

// places returns the labels of columns: their values, or where one is long letters that
// the key explains.
func (d HeatData) places(n *notes, key *[]sample) []plot.Tick {
	const short = 6 // signs of a value that stands below its column
	long := false
	for _, name := range d.Columns {
		long = long || utf8.RuneCountInString(name) > short
	}
	var ticks []plot.Tick
	for k, name := range d.Columns {
		label := n.clean(name)
		if long {
			letter := letterOf(k)
			*key = append(*key, textSample(letter+"  "+label))
			label = letter
		}
		ticks = append(ticks, plot.Tick{Value: float64(k), Label: label})
	}
	return ticks
}

// letterOf returns A to Z, then AA, AB and so on.
func letterOf(k int) string {
	if k >= maxColumns {
		return letterOf(k/maxColumns-1) + letterOf(k%maxColumns)
	}
	return string(rune('A' + k))
}

// hues returns the colours of values.
func (d HeatData) hues(s *Style, values span) hues {
	if !usable(d.About) {
		return hues{values.min, values.max, s.heat, values}
	}
	away := max(values.max-d.About, d.About-values.min)
	return hues{d.About - away, d.About + away, s.diverging, values}
}

// decimalsOf returns the decimals by which the values of a map are told apart: three
// digits of the largest.
func decimalsOf(values span) int {
	size := math.Max(math.Abs(values.min), math.Abs(values.max))
	if settle(size) == 0 {
		return 0
	}
	return int(math.Max(0, math.Min(9, 2-math.Floor(math.Log10(size)))))
}

// key names the figure, its colours and the hatches.
func (d HeatData) key(m *heatMap, n *notes) []sample {
	key := []sample{textSample(n.clean(d.Figure)), m.bar()}
	if m.mark {
		key = append(key, m.belowSample("below "+strconv.FormatFloat(d.About, 'g', 3, 64)))
	}
	for i, why := range m.reasons {
		key = append(key, m.hatchSample(n.clean(why), i))
	}
	return key
}
