package plots

import (
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// GroupSizesData is the law of group sizes, strategy by strategy.
type GroupSizesData struct {
	Strategies []SizeLaw
}

// A SizeLaw is the law of the group sizes of one strategy.
type SizeLaw struct {
	Label  string
	Shares []SizeShare
}

// A SizeShare is the share of groups that have Size rollouts.
type SizeShare struct {
	Size  int
	Share Value
}

// maxSizes is the number of sizes beyond which they are shown by powers of two.
const maxSizes = 12

// GroupSizes draws the shares of group sizes as bars, one place a size that
// occurs. More than 12 sizes are summed by powers of two, and more than five
// strategies are drawn in rows with their shares in numbers, both without
// intervals.
func GroupSizes(d GroupSizesData) (Figure, error) {
	return newFigure("Group sizes", d.panels)
}

func (d GroupSizesData) panels(s *Style, n *notes) ([]*panel, error) {
	if len(d.Strategies) > maxSeries {
		return nil, fmt.Errorf("plots: group sizes: %d series, want [1, %d]", len(d.Strategies), maxSeries)
	}
	laws, places, binned := gatherSizes(d.Strategies, n)
	if len(places) == 0 {
		return nil, fmt.Errorf("plots: group sizes: no finite share to draw")
	}
	p := &panel{s: s, tall: 2.1 * vg.Inch}
	title := "rollouts in the group G"
	if binned {
		title = "rollouts in the group, from G to 2G \u2212 1"
		n.add("group sizes: more than %d sizes, summed by powers of two", maxSizes)
	}
	for k, place := range places {
		p.x.fixed = append(p.x.fixed, plot.Tick{Value: float64(k), Label: strconv.Itoa(place)})
	}
	if len(laws) > len(s.inks) {
		p.barRows(laws, title)
	} else {
		p.barGroups(laws, title)
	}
	p.plot.X.Tick.LineStyle.Width = 0
	p.plot.X.Padding = 0
	return []*panel{p}, nil
}

// barGroups draws the bars of a place side by side, with a key.
func (p *panel) barGroups(laws []sizeLaw, title string) {
	top := span{0, 0}
	for i, law := range laws {
		for _, v := range law.shares {
			top = top.with(v.Value, v.High)
		}
		if len(laws) > 1 {
			p.key = append(p.key, p.s.fillSample(law.label, p.s.inkOf(i).mark))
		}
	}
	p.setPlot(title, "share of groups", span{-0.6, float64(len(p.x.fixed)) - 0.4}, top.padded(0, 0.06))
	p.plot.Add(grid{p.s}, bars{p.s, laws, len(p.x.fixed)})
}

// barRows draws a row a strategy: there are more of them than inks.
func (p *panel) barRows(laws []sizeLaw, title string) {
	p.y.bare = true
	p.pitch = 2.8 * p.s.tick
	for i, law := range laws {
		p.rows = append(p.rows, row{text: law.label, y: -float64(i)})
	}
	p.setPlot(title, "", span{-0.6, float64(len(p.x.fixed)) - 0.4}, span{0.4 - float64(len(laws)), 0.75})
	p.plot.Y.Width = 0
	p.plot.Add(barTable{p.s, laws})
}

// A sizeLaw is a cleaned law: shares[k] belongs to place k of the axis.
type sizeLaw struct {
	label  string
	shares []Value
}

// gatherSizes cleans the laws and gives each size a place, or where there are
// too many each power of two, for the sizes from it to below the next.
func gatherSizes(laws []SizeLaw, n *notes) (out []sizeLaw, places []int, binned bool) {
	points := make([][]Point, len(laws))
	found := map[int]bool{}
	for i, law := range laws {
		for _, s := range law.Shares {
			points[i] = append(points[i], Point{float64(s.Size), s.Share.Value, s.Share.Low, s.Share.High})
		}
		points[i] = slices.Concat(n.runs(n.clean(law.Label), points[i])...)
		for _, p := range points[i] {
			found[int(p.X)] = true
		}
	}
	binned = len(found) > maxSizes
	if binned {
		powers := map[int]bool{}
		for size := range found {
			powers[powerBelow(size)] = true
		}
		found = powers
	}
	places = slices.Sorted(maps.Keys(found))
	for i, law := range laws {
		out = append(out, sizeLaw{n.clean(law.Label), sharesAt(places, points[i], binned)})
	}
	return out, places, binned
}

// sharesAt returns the share of each place; sums have no interval.
func sharesAt(places []int, points []Point, binned bool) []Value {
	shares := make([]Value, len(places))
	for k := range shares {
		shares[k] = Value{0, math.NaN(), math.NaN()}
	}
	for _, p := range points {
		if !binned {
			k, _ := slices.BinarySearch(places, int(p.X))
			shares[k] = Value{p.Y, p.Low, p.High}
			continue
		}
		k, _ := slices.BinarySearch(places, powerBelow(int(p.X)))
		shares[k].Value += p.Y
	}
	return shares
}

// powerBelow returns the largest power of two <= n, and n itself below 1.
func powerBelow(n int) int {
	if n < 1 {
		return n
	}
	return 1 << (bits.Len(uint(n)) - 1)
}

// bars draws at each place the bars of the strategies that have it, side by
// side about the middle; all bars are of one width.
type bars struct {
	s      *Style
	laws   []sizeLaw
	places int
}

func (b bars) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	const filled = 0.8 // of the room of a place
	at := make([][]int, b.places)
	most := 1
	for k := range at {
		for i, law := range b.laws {
			if law.shares[k].Value != 0 {
				at[k] = append(at[k], i)
			}
		}
		most = max(most, len(at[k]))
	}
	for k, present := range at {
		for j, i := range present {
			mid := float64(k) + filled/float64(most)*(float64(j)-float64(len(present)-1)/2)
			half := min((x(filled)-x(0))/vg.Length(2*most), b.s.pt(12))
			v := b.laws[i].shares[k]
			fillRect(c, b.s.inkOf(i).mark, x(mid)-half, y(0), x(mid)+half, y(v.Value))
			if v.Low < v.High { // a share without an error has no whisker
				mark{s: b.s, color: b.s.grey.axis}.interval(c, vg.Point{}, vg.Point{X: x(mid), Y: y(max(v.Low, p.Y.Min))}, vg.Point{X: x(mid), Y: y(v.High)}, v.Low < p.Y.Min)
			}
		}
	}
}

// barTable draws a row of bars a strategy, each with its share above it.
type barTable struct {
	s    *Style
	laws []sizeLaw
}

func (b barTable) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	row := y(0) - y(-1)
	s := b.s
	half := min((x(1)-x(0))*0.3, s.pt(8))
	for i, law := range b.laws {
		foot := y(-float64(i) - 0.4)
		c.StrokeLine2(pen(s.grey.grid, s.hair), c.Min.X, foot, c.Max.X, foot)
		for k, v := range law.shares {
			if v.Value == 0 {
				continue
			}
			at, high := x(float64(k)), foot+row*vg.Length(0.45*max(0, min(v.Value, 1)))
			fillRect(c, s.inkOf(0).mark, at-half, foot, at+half, high)
			text := strings.TrimPrefix(number(v.Value, 2, 2), "0")
			s.drawBlock(c, sans(s.tick), black, at, high+0.6*s.tick, 0.5, []string{text})
		}
	}
}
