package plots

import (
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"
	"strconv"

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
// occurs. More than 12 sizes are summed by powers of two, without intervals.
func GroupSizes(d GroupSizesData) (Figure, error) {
	f := Figure{title: "Group sizes", tall: 2.1 * 72}
	if len(d.Strategies) > maxSeries {
		return Figure{}, fmt.Errorf("plots: group sizes: %d series, want [1, %d]", len(d.Strategies), maxSeries)
	}
	laws, places := gatherSizes(d.Strategies, &f.notes)
	if len(places) == 0 {
		return Figure{}, fmt.Errorf("plots: group sizes: no finite share to draw")
	}
	top := span{0, 0}
	p := &panel{x: axis{}}
	for i, law := range laws {
		for _, v := range law.shares {
			top = top.with(v.Value)
			if !math.IsNaN(v.High) {
				top = top.with(v.High)
			}
		}
		if len(laws) > 1 {
			p.key = append(p.key, fillSample(law.label, inkOf(i).mark))
		}
	}
	for k, place := range places {
		p.x.fixed = append(p.x.fixed, plot.Tick{Value: float64(k), Label: place.name})
	}
	p.plot = newPlot("rollouts in the group G", "share of groups", span{-0.6, float64(len(places)) - 0.4}, top.padded(0, 0.06))
	p.plot.X.Tick.LineStyle.Width = 0
	p.plot.X.Padding = 0
	p.plot.Add(grid{})
	for i, law := range laws {
		p.plot.Add(bars{law.shares, i, len(laws), inkOf(i)})
	}
	f.panels = []*panel{p}
	return f, nil
}

// A place on the axis of sizes stands for the sizes from low to high.
type place struct {
	low  int
	name string
}

// A sizes is a cleaned law: shares[k] belongs to place k.
type sizes struct {
	label  string
	shares []Value
}

// gatherSizes cleans the laws and gives each size, or power of two, a place.
func gatherSizes(laws []SizeLaw, n *notes) ([]sizes, []place) {
	points := make([][]Point, len(laws))
	lows := map[int]bool{}
	for i, law := range laws {
		name := n.clean(law.Label)
		for _, s := range law.Shares {
			points[i] = append(points[i], Point{float64(s.Size), s.Share.Value, s.Share.Low, s.Share.High})
		}
		points[i] = slices.Concat(n.runs(name, points[i])...)
		for _, p := range points[i] {
			lows[int(p.X)] = true
		}
	}
	binned := len(lows) > maxSizes
	if binned {
		n.add("group sizes: more than %d sizes, summed by powers of two", maxSizes)
		lows = map[int]bool{}
		for _, ps := range points {
			for _, p := range ps {
				lows[powerBelow(int(p.X))] = true
			}
		}
	}
	var places []place
	at := map[int]int{}
	for _, low := range slices.Sorted(maps.Keys(lows)) {
		at[low] = len(places)
		name := strconv.Itoa(low)
		if binned && low > 1 {
			name += "–" + strconv.Itoa(2*low-1)
		}
		places = append(places, place{low, name})
	}
	out := make([]sizes, len(laws))
	for i, ps := range points {
		out[i] = sizes{n.clean(laws[i].Label), make([]Value, len(places))}
		for k := range out[i].shares {
			out[i].shares[k] = Value{0, math.NaN(), math.NaN()}
		}
		for _, p := range ps {
			v := Value{p.Y, p.Low, p.High}
			key := int(p.X)
			if binned {
				key, v = powerBelow(key), Value{p.Y, math.NaN(), math.NaN()}
			}
			v.Value += out[i].shares[at[key]].Value
			out[i].shares[at[key]] = v
		}
	}
	return out, places
}

// powerBelow returns the largest power of two <= n, and n itself below 1.
func powerBelow(n int) int {
	if n < 1 {
		return n
	}
	return 1 << (bits.Len(uint(n)) - 1)
}

// bars draws one strategy's bar at each place: number i of n side by side.
type bars struct {
	shares []Value
	i, n   int
	ink    ink
}

func (b bars) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	const filled = 0.8 // of the room of a place
	for k, v := range b.shares {
		at := func(j int) vg.Length { return x(float64(k) + filled*(float64(j)/float64(b.n)-0.5)) }
		if v.Value != 0 {
			fillRect(c, b.ink.mark, at(b.i), y(0), at(b.i+1), y(v.Value))
		}
		if !math.IsNaN(v.Low) {
			mid := (at(b.i) + at(b.i+1)) / 2
			mark{color: axisGrey}.interval(c, vg.Point{X: mid, Y: y(max(v.Low, p.Y.Min))}, vg.Point{X: mid, Y: y(v.High)}, v.Low < p.Y.Min)
		}
	}
}
