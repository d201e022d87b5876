package plots

import (
	"fmt"
	"image/color"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
)

// within is how far a mark may lie from its number, in points: ticks are read
// off the middle of their numbers.
const within = 0.6

// near reports whether one of the places is at (x, y).
func near(places []vg.Point, x, y float64) bool {
	for _, p := range places {
		if math.Hypot(float64(p.X)-x, float64(p.Y)-y) < within {
			return true
		}
	}
	return false
}

// hasCurve reports whether a line of the style runs through all the points.
func (p *probe) hasCurve(points []Point, x, y scale, c color.Color, dashes []vg.Length) bool {
	for _, l := range p.lines {
		if l.color != c || fmt.Sprint(l.dashes) != fmt.Sprint(dashes) {
			continue
		}
		all := true
		for _, q := range points {
			all = all && near(l.points, x.page(q.X), y.page(q.Y))
		}
		if all {
			return true
		}
	}
	return false
}

// hasDot reports whether the point has its disc and both ends of its interval.
func (p *probe) hasDot(q Point, x, y scale, c color.Color, shift vg.Length) bool {
	at := x.page(q.X) + float64(shift)
	if !near(p.circles(c), at, y.page(q.Y)) {
		return false
	}
	for _, l := range p.lines {
		if l.color == c && len(l.points) == 2 && near(l.points, at, y.page(q.Low)) && near(l.points, at, y.page(q.High)) {
			return true
		}
	}
	return false
}

func TestNumbersReachSpeedup(t *testing.T) {
	d := sampleSpeedup()
	for _, w := range []Width{OneColumn, TwoColumn} {
		p := look(must(Speedup(d)), w)
		x, y := p.scales(t, false, false)
		for i, f := range d.Shapes {
			c := paper.inkOf(i).mark
			for k := closedForm; k <= meanField; k++ {
				if !p.hasCurve(f.of(k), x, y, c, paper.dashes[k]) {
					t.Errorf("width %v: %s, %s: the curve does not run through its points", w, f.Label, kinds[k])
				}
			}
			for _, q := range f.MonteCarlo {
				if !p.hasDot(q, x, y, c, aside(i, len(d.Shapes))) {
					t.Errorf("width %v: %s: no dot with its interval at %+v", w, f.Label, q)
				}
			}
		}
		if !p.hasCurve(d.Cap, x, y, paper.grey.bound.mark, nil) {
			t.Errorf("width %v: the cap does not run through its points", w)
		}
	}
}

func TestNumbersReachEtaShape(t *testing.T) {
	d := sampleEtaShape()
	p := look(must(EtaShape(d)), OneColumn)
	x, y := p.scales(t, false, false)
	f := d.Schedules[0]
	for k := closedForm; k <= meanField; k++ {
		if !p.hasCurve(f.of(k), x, y, paper.inkOf(int(k)).mark, paper.dashes[k]) {
			t.Errorf("%s: the curve does not run through its points", kinds[k])
		}
	}
	for _, q := range f.MonteCarlo {
		if !p.hasDot(q, x, y, paper.inkOf(int(monteCarlo)).mark, 0) {
			t.Errorf("no dot with its interval at %+v", q)
		}
	}
	if !p.hasCurve(d.Cap, x, y, paper.grey.bound.mark, nil) {
		t.Error("the cap does not run through its points")
	}
}

func TestNumbersReachAllocation(t *testing.T) {
	d := sampleAllocation()
	p := look(must(Allocation(d)), TwoColumn)
	x, y := p.scales(t, false, false)
	for i, f := range d.Strategies {
		if !p.hasCurve(f.MeanField, x, y, paper.inkOf(i).mark, nil) {
			t.Errorf("%s: the curve does not run through its points", f.Label)
		}
		for _, q := range f.MonteCarlo {
			if !p.hasDot(q, x, y, paper.inkOf(i).mark, 0) {
				t.Errorf("%s: no dot with its interval at %+v", f.Label, q)
			}
		}
	}
}

func TestNumbersReachScreening(t *testing.T) {
	d := sampleScreening()
	p := look(must(Screening(d)), OneColumn)
	x, y := p.scales(t, false, true)
	for i, f := range d.Errors {
		if !p.hasCurve(f.MeanField, x, y, paper.inkOf(i).mark, nil) {
			t.Errorf("%s: the curve does not run through its points", f.Label)
		}
		for _, q := range f.MonteCarlo {
			if q.Low <= 0 { // open below
				if !near(p.circles(paper.inkOf(i).mark), x.page(q.X)+float64(aside(i, 3)), y.page(q.Y)) {
					t.Errorf("%s: no dot at %+v", f.Label, q)
				}
				continue
			}
			if !p.hasDot(q, x, y, paper.inkOf(i).mark, aside(i, len(d.Errors))) {
				t.Errorf("%s: no dot with its interval at %+v", f.Label, q)
			}
		}
	}
}

func TestNumbersReachGroupSizes(t *testing.T) {
	d := sampleGroupSizes()
	p := look(must(GroupSizes(d)), OneColumn)
	_, y := p.scales(t, false, false)
	// The numbers of x are names; bars are read off them in order.
	place := map[int]float64{}
	for _, w := range p.words {
		for _, law := range d.Strategies {
			for _, s := range law.Shares {
				if w.text == fmt.Sprint(s.Size) && w.y1 < float64(p.h)/2 && math.Abs(w.y0-p.words[0].y0) < 0.1 {
					place[s.Size] = (w.x0 + w.x1) / 2
				}
			}
		}
	}
	for i, law := range d.Strategies {
		for _, s := range law.Shares {
			found := false
			for _, f := range p.fills {
				if f.color == paper.inkOf(i).mark && len(f.points) >= 4 {
					mid := float64(f.points[0].X+f.points[2].X) / 2
					top := math.Max(float64(f.points[0].Y), float64(f.points[2].Y))
					low := math.Min(float64(f.points[0].Y), float64(f.points[2].Y))
					found = found || math.Abs(mid-place[s.Size]) < within &&
						math.Abs(top-y.page(s.Share.Value)) < within && math.Abs(low-y.page(0)) < within
				}
			}
			if !found {
				t.Errorf("%s: no bar of height %v at size %d", law.Label, s.Share.Value, s.Size)
			}
		}
	}
}

// TestNumbersReachRanks reads the cells: a column stands above its letter, a row
// beside its label.
func TestNumbersReachRanks(t *testing.T) {
	d := sampleRanks()
	p := look(must(Ranks(d)), OneColumn)
	middle := map[string]vg.Point{} // of words that stand alone
	for _, w := range p.words {
		middle[w.text] = vg.Point{X: vg.Length(w.x0+w.x1) / 2, Y: vg.Length(w.y0+w.y1) / 2}
	}
	for _, s := range d.Strategies {
		for k, r := range s.Ranks {
			column, rowAt := middle[string(rune('A'+k))].X, middle[s.Label].Y
			found := false
			for _, w := range p.words {
				found = found || w.text == r.String() && r.Low > 0 &&
					math.Abs((w.x0+w.x1)/2-float64(column)) < 2 && math.Abs((w.y0+w.y1)/2-float64(rowAt)) < 2
			}
			if found != (r.Low > 0) {
				t.Errorf("%s on %s: a cell with %q: %v", s.Label, d.Populations[k], r, found)
			}
		}
	}
	for name, spoil := range map[string]func(*RanksData){
		"no strategy":  func(d *RanksData) { d.Strategies = nil },
		"a rank of 0":  func(d *RanksData) { d.Strategies[0].Ranks[0] = RankRange{0, 2} },
		"a rank of 6":  func(d *RanksData) { d.Strategies[0].Ranks[0] = RankRange{1, 6} },
		"a short row":  func(d *RanksData) { d.Strategies[0].Ranks = d.Strategies[0].Ranks[:2] },
		"27 columns":   func(d *RanksData) { d.Populations = make([]string, 27) },
		"high and low": func(d *RanksData) { d.Strategies[0].Ranks[0] = RankRange{3, 2} },
	} {
		bad := sampleRanks()
		spoil(&bad)
		if _, err := Ranks(bad); err == nil {
			t.Errorf("%s is drawn", name)
		}
	}
}

// TestRanksFitAPage: a map of thirty strategies under six heads, some of them with
// names of several lines, is no taller than the 9 inches of a page of a paper; a row
// is as tall as its own name, which stands beside its cells.
func TestRanksFitAPage(t *testing.T) {
	d := sampleRanks()
	d.Strategies = nil
	for i := range 30 {
		label := fmt.Sprintf("strategy-%d:n=8", i)
		if i%10 == 4 {
			label = fmt.Sprintf("strategy-%d:rounds=32,c=3,a=1,b=1,rho=1,eta=1,price=0.5,step=%[1]d [R]", i)
		}
		d.Strategies = append(d.Strategies, RankRow{fmt.Sprintf("group %d", i/5), label, []RankRange{{i + 1, i + 1}, {1, 30}, {9, 20}}})
	}
	f := must(Ranks(d))
	for _, w := range []Width{OneColumn, TwoColumn} {
		if tall := f.Aspect(w, paper) * float64(w); !(tall <= 9) {
			t.Errorf("%v inches wide: %.3g inches tall, want <= 9", float64(w), tall)
		}
	}
	for _, s := range looks() {
		for _, w := range []Width{s.column, s.page} {
			t.Run(where(s, w), func(t *testing.T) {
				p := lookIn(f, w, s)
				p.check(t)
				checkRankRows(t, p, d)
			})
		}
	}
}

// checkRankRows compares the cells of the first column with the names beside them.
func checkRankRows(t *testing.T, p *probe, d RanksData) {
	t.Helper()
	sh, err := must(Ranks(d)).in(p.s)
	if err != nil {
		t.Fatal(err)
	}
	names := sh.panels[0].fit(p.w).rowLines
	boxes := map[string]word{}
	for _, w := range p.words {
		boxes[w.text] = w
	}
	cells := p.fills[1:] // after the page
	k := 0
	for i, row := range sh.panels[0].rows {
		if row.head {
			continue
		}
		cell := cells[k*len(d.Populations)].points
		k++
		low, high := float64(cell[0].Y), float64(cell[2].Y)
		low, high = min(low, high), max(low, high)
		first, last := boxes[names[i][0]], boxes[names[i][len(names[i])-1]]
		if !(last.y0 >= low && first.y1 <= high) {
			t.Errorf("%q stands at [%.1f, %.1f], its cells at [%.1f, %.1f]", row.text, last.y0, first.y1, low, high)
		}
		if slack := high - low - (first.y1 - last.y0); !(slack < 5*float64(p.s.unit)) {
			t.Errorf("%q: its cells are %.1f pt taller than it", row.text, slack)
		}
	}
}

// TestPanelsTwoByTwo: a wide figure of many panels has two in a row, each as high and
// as wide as its neighbours; a column has them one above the other.
func TestPanelsTwoByTwo(t *testing.T) {
	d := sampleCurves()
	d.Panels = d.Panels[:1]
	for k := 1; k < 5; k++ {
		d.Panels = append(d.Panels, d.Panels[0])
		f := must(Curves(d))
		for _, s := range looks() {
			sh, err := f.in(&s)
			if err != nil {
				t.Fatal(err)
			}
			for w, perRow := range map[Width]int{s.column: 1, s.page: 2} {
				lookIn(f, w, s).check(t)
				width, height := sh.size(w)
				rows := (k + 1 + perRow - 1) / perRow
				for i := range sh.panels {
					got := sh.cell(i, width, height)
					x, y := vg.Length(i%perRow)*width/vg.Length(perRow), height*vg.Length(rows-1-i/perRow)/vg.Length(rows)
					want := vg.Rectangle{Min: vg.Point{X: x, Y: y}, Max: vg.Point{X: x + width/vg.Length(perRow), Y: y + height/vg.Length(rows)}}
					for j, d := range []vg.Length{got.Min.X - want.Min.X, got.Min.Y - want.Min.Y, got.Max.X - want.Max.X, got.Max.Y - want.Max.Y} {
						if gap := 2 * s.pt(panelGap); !(d > -0.01 && d < 0.01 || j == 0 && i%perRow == 1 && abs(d-gap) < 0.01) {
							t.Errorf("%s: panel %d of %d is at %v, want %v", where(s, w), i, len(sh.panels), got, want)
						}
					}
				}
			}
		}
	}
}

// TestNumbersReachGradient looks at the scatter alone: few cases are specks,
// those above the bound diamonds.
func TestNumbersReachGradient(t *testing.T) {
	for _, c := range []struct {
		name  string
		log   bool
		cases []Point
	}{
		{"linear", false, []Point{At(0.2, 0.1), At(0.5, 0.3), At(1, 1+1e-12), At(0.8, 0), At(0, 0), At(0.5, 0.6)}},
		{"logarithmic", true, []Point{At(0.01, 0.005), At(0.5, 0.3), At(30, 30), At(7, 0.02), At(0.5, 0.6)}},
	} {
		f := must(GradientNorm(GradientNormData{Cases: c.cases}))
		p := look(panelOf(f, 0), OneColumn)
		x, y := p.scales(t, c.log, c.log)
		specks := p.circles(paper.inkOf(0).mark)
		sound := c.cases[:len(c.cases)-1]
		for _, q := range sound {
			if !near(specks, x.page(q.X), y.page(q.Y)) {
				t.Errorf("%s: no speck at %+v", c.name, q)
			}
		}
		if len(specks) != len(sound)+1 { // and the key
			t.Errorf("%s: %d specks, want %d", c.name, len(specks), len(sound)+1)
		}
		above, diamonds := c.cases[len(sound)], 0
		for _, s := range p.fills {
			if s.color == paper.inkOf(3).mark && len(s.points) == 4 {
				diamonds++
				at := vg.Point{X: s.points[0].X, Y: s.points[1].Y}
				if diamonds == 1 && !near([]vg.Point{at}, x.page(above.X), y.page(above.Y)) {
					t.Errorf("%s: the case above the bound is drawn at %v", c.name, at)
				}
			}
		}
		if diamonds != 2 || !strings.Contains(p.text(), "1 above") { // and the key
			t.Errorf("%s: %d diamonds, want 2; the key says %s", c.name, diamonds, p.text())
		}
		if text := p.text(); !strings.Contains(text, fmt.Sprintf("%d cases", len(sound))) {
			t.Errorf("%s: %d sound cases; the key says %s", c.name, len(sound), text)
		}
		for _, l := range p.lines {
			if l.color != paper.grey.bound.mark || len(l.points) != 2 || l.points[0].Y == l.points[1].Y {
				continue // the key, and axes
			}
			// The diagonal passes through (1, 1).
			a, b, at := l.points[0], l.points[1], x.page(1)
			v := float64(a.Y) + (at-float64(a.X))*float64(b.Y-a.Y)/float64(b.X-a.X)
			if math.Abs(v-y.page(1)) > within {
				t.Errorf("%s: the diagonal is at %.1f over 1, want %.1f", c.name, v, y.page(1))
			}
		}
	}
}

// TestCells counts the cases of a binned scatter: each lies in one cell, cells
// of many are dark, and a case above the bound is never binned.
func TestCells(t *testing.T) {
	d := GradientNormData{}
	for i := range 1000 {
		d.Cases = append(d.Cases, At(1, 0.5), At(0.5+float64(i)/2000, 0.1))
	}
	d.Cases = append(d.Cases, At(0.2, 0.9))
	f := must(GradientNorm(d))
	p := look(panelOf(f, 0), OneColumn)
	p.check(t)
	x, y := p.scales(t, false, false)
	covered := func(q Point, shade color.Color) bool {
		for _, s := range p.fills {
			if s.color != shade {
				continue
			}
			for i := 0; i+3 < len(s.points); i += 4 {
				a, b := s.points[i], s.points[i+2]
				if px, py := x.page(q.X), y.page(q.Y); px > float64(a.X)-within && px < float64(b.X)+within && py > float64(a.Y)-within && py < float64(b.Y)+within {
					return true
				}
			}
		}
		return false
	}
	if !covered(At(1, 0.5), paper.shades[len(paper.shades)-1]) {
		t.Error("a thousand cases at one place are not in the darkest cell")
	}
	for _, q := range d.Cases[:2000] {
		found := false
		for _, s := range paper.shades {
			found = found || covered(q, s)
		}
		if !found {
			t.Errorf("no cell holds %+v", q)
		}
	}
	if text := p.text(); !strings.Contains(text, "2,000 cases") || !strings.Contains(text, "1 above") {
		t.Errorf("the key says %s, want 2,000 cases and 1 above", text)
	}
}

func TestTightness(t *testing.T) {
	for _, c := range []struct {
		name  string
		cases []Point
		want  map[int]float64 // share by bin of width 1/20
		bins  int
	}{
		{"halves", []Point{At(1, 0.5), At(2, 1), At(1, 0.99), At(0, 0)}, map[int]float64{10: 2.0 / 3, 19: 1.0 / 3}, 20},
		{"tight", []Point{At(1, 1), At(3, 3*(1+1e-12))}, map[int]float64{19: 1}, 20},
		{"broken", []Point{At(1, 1), At(1, 1.25), At(1, 7)}, map[int]float64{19: 1.0 / 3, 25: 1.0 / 3, 39: 1.0 / 3}, 40},
	} {
		got := tightness(c.cases)
		if len(got) != c.bins {
			t.Errorf("%s: %d bins, want %d", c.name, len(got), c.bins)
			continue
		}
		for i, v := range got {
			if math.Abs(v-c.want[i]) > 1e-12 {
				t.Errorf("%s: bin %d holds %v, want %v", c.name, i, v, c.want[i])
			}
		}
	}
}

func TestNumbersReachComparison(t *testing.T) {
	d := sampleComparison()
	p := look(must(Comparison(d)), OneColumn)
	// There are numbers of x only.
	var a, b word
	for _, w := range p.words {
		switch w.text {
		case "1.0":
			a = w
		case "2.0":
			b = w
		}
	}
	if a.text == "" || b.text == "" {
		t.Fatal("no numbers 1.0 and 2.0 on the axis")
	}
	mid := func(w word) float64 { return (w.x0 + w.x1) / 2 }
	page := func(v float64) float64 { return mid(a) + (v-1)*(mid(b)-mid(a)) }
	rowOf := map[string][]float64{}
	for _, w := range p.words {
		rowOf[w.text] = append(rowOf[w.text], w.y0+0.21*float64(paper.label)+0.35*float64(paper.label))
	}
	seen := map[string]int{}
	for _, r := range d.Rows {
		y := rowOf[r.Label][seen[r.Label]]
		seen[r.Label]++
		for k, v := range r.Values {
			if math.IsNaN(v.Value) {
				continue
			}
			at := y + partyStep*(0.5-float64(k))
			if !near(p.circles(paper.inkOf(k).mark), page(v.Value), at) {
				t.Errorf("%s, %s, %s: no dot at %v", r.Group, r.Label, d.Parties[k], v.Value)
			}
			if math.IsNaN(v.Low) {
				continue
			}
			found := false
			for _, l := range p.lines {
				found = found || l.color == paper.inkOf(k).mark && near(l.points, page(v.Low), at) && near(l.points, page(v.High), at)
			}
			if !found {
				t.Errorf("%s, %s, %s: no interval [%v, %v]", r.Group, r.Label, d.Parties[k], v.Low, v.High)
			}
		}
	}
}

// panelOf returns a figure of one of the panels.
func panelOf(f Figure, i int) Figure {
	return Figure{build: func(s *Style, n *notes) ([]*panel, error) {
		all, err := f.build(s, n)
		return all[i : i+1], err
	}}
}

// hasBand reports whether an area of the colour has both ends of the intervals
// of all the points on its rim.
func (p *probe) hasBand(points []Point, x, y scale, c color.Color) bool {
	for _, f := range p.fills {
		all := f.color == c
		for _, q := range points {
			all = all && near(f.points, x.page(q.X), y.page(q.Low)) && near(f.points, x.page(q.X), y.page(q.High))
		}
		if all {
			return true
		}
	}
	return false
}

func TestNumbersReachCurves(t *testing.T) {
	d := sampleCurves()
	f := must(Curves(d))
	for i, q := range d.Panels {
		p := look(panelOf(f, i), TwoColumn)
		x, y := p.scales(t, false, false)
		for k, l := range q.Lines {
			c := paper.inkOf(k).mark
			if !p.hasCurve(l.First, x, y, c, nil) {
				t.Errorf("panel %d, %s: the curve does not run through its points", i, l.Label)
			}
			if !p.hasBand(l.First, x, y, veil(c)) {
				t.Errorf("panel %d, %s: the band does not have its intervals", i, l.Label)
			}
			if len(l.Second) > 0 && !p.hasCurve(l.Second, x, y, c, paper.dashes[truncated]) {
				t.Errorf("panel %d, %s: the dashed curve does not run through its points", i, l.Label)
			}
		}
		level := []Point{At(0, q.Reference), At(400, q.Reference)}
		if usable(q.Reference) != p.hasCurve(level, x, y, paper.grey.bound.mark, nil) {
			t.Errorf("panel %d: reference %v: drawn %v", i, q.Reference, !usable(q.Reference))
		}
	}
}

// TestNumbersReachPlan: the band and the counts of the law, and the front as a
// staircase with the schedules at their gains.
func TestNumbersReachPlan(t *testing.T) {
	d := samplePlan()
	f := must(Plan(d))
	p := look(panelOf(f, 0), TwoColumn)
	x, y := p.scales(t, false, false)
	law, recorded := paper.inkOf(int(closedForm)).mark, paper.inkOf(int(monteCarlo)).mark
	if !p.hasCurve(d.Law, x, y, law, nil) || !p.hasBand(d.Law, x, y, veil(law)) {
		t.Error("the law does not run through its points, or has another band")
	}
	for _, q := range d.Recorded {
		if !p.hasDot(q, x, y, recorded, 0) {
			t.Errorf("no dot with its interval at %+v", q)
		}
	}
	p = look(panelOf(f, 1), TwoColumn)
	x, y = p.scales(t, false, false)
	stairs := []Point{At(260, 1), At(340, 1), At(340, 1.84), At(480, 1.84), At(480, 2.05), At(491, 2.05)}
	if !p.hasCurve(stairs, x, y, paper.inkOf(0).mark, nil) {
		t.Error("the front is no staircase through its points")
	}
	for i, s := range d.Schedules {
		if c := paper.inkOf(i + 1).mark; !near(p.circles(c), x.page(s.X), y.page(s.Y)) || s.Low > 0 && !p.hasDot(s.Point, x, y, c, 0) {
			t.Errorf("no dot with its interval for %+v", s)
		}
	}
}

// TestStairsAndMarks: first curves keep a value up to the next point, and second
// ones are dots with their intervals.
func TestStairsAndMarks(t *testing.T) {
	marks := []Point{{X: 2, Y: 1.4, Low: 1.2, High: 1.6}}
	line := Line{Label: "front", First: []Point{At(1, 1), At(2, 1.5), At(4, 2)}, Second: marks}
	d := CurvesData{X: "cost", Styles: [2]string{"field", "batches"}, Stairs: true, Marks: true, Panels: []CurvesPanel{{Y: "gain", Lines: []Line{line}, Reference: 1, Name: "no change"}}}
	p := look(panelOf(must(Curves(d)), 0), OneColumn)
	x, y := p.scales(t, false, false)
	if !p.hasCurve([]Point{At(1, 1), At(2, 1), At(2, 1.5), At(4, 1.5), At(4, 2)}, x, y, paper.inkOf(int(closedForm)).mark, nil) {
		t.Error("the first curve is no staircase through its points")
	}
	if !p.hasDot(marks[0], x, y, paper.inkOf(int(monteCarlo)).mark, 0) {
		t.Error("the second curve has no dot with its interval")
	}
}

// TestInks: labels keep their colours where others are left out, even alone.
func TestInks(t *testing.T) {
	d := sampleCurves()
	d.Panels = d.Panels[:1]
	lines := d.Panels[0].Lines
	d.Inks = map[string]int{}
	for i, l := range lines {
		d.Inks[l.Label] = i
	}
	for k := range lines {
		l := lines[k]
		l.Second = nil
		d.Panels[0].Lines = []Line{l}
		p := look(must(Curves(d)), TwoColumn)
		x, y := p.scales(t, false, false)
		if !p.hasCurve(l.First, x, y, paper.inkOf(k).mark, nil) {
			t.Errorf("%s alone has not the colour %d", l.Label, k)
		}
	}
}

// hasPolygon reports whether a mark with corners stands around the point.
func (p *probe) hasPolygon(q Point, x, y scale, c color.Color) bool {
	for _, f := range p.fills {
		if f.color != c || f.radius > 0 || len(f.points) < 3 {
			continue
		}
		x0, x1, y0, y1 := inf, -inf, inf, -inf
		for _, v := range f.points {
			x0, x1 = min(x0, float64(v.X)), max(x1, float64(v.X))
			y0, y1 = min(y0, float64(v.Y)), max(y1, float64(v.Y))
		}
		most := 2.7 * float64(paper.dot)
		if x1-x0 < most && y1-y0 < most && math.Abs((x0+x1)/2-x.page(q.X)) < within && math.Abs((y0+y1)/2-y.page(q.Y)) < 2*within {
			return true
		}
	}
	return false
}

// TestBeads wants marks on the curves whose colour another has, and on no other.
func TestBeads(t *testing.T) {
	d := sampleCurves()
	d.Panels = d.Panels[:1]
	p := look(must(Curves(d)), TwoColumn)
	x, y := p.scales(t, false, false)
	for k, l := range d.Panels[0].Lines {
		last := l.First[len(l.First)-1]
		found := p.hasPolygon(last, x, y, paper.inkOf(k).mark)
		if found != (k >= len(paper.inks)) {
			t.Errorf("%s: a mark at its end: %v", l.Label, found)
		}
	}
}

func TestNumbersReachSlopes(t *testing.T) {
	d := sampleSlopes()
	p := look(must(Curves(d)), OneColumn)
	x, y := p.scales(t, true, false)
	for k, l := range d.Panels[0].Lines {
		if !p.hasCurve(l.First, x, y, paper.inkOf(k).mark, nil) {
			t.Errorf("%s: the curve does not run through its points", l.Label)
		}
	}
	if !p.hasCurve([]Point{At(1e-5, 1), At(0.1, 1)}, x, y, paper.grey.bound.mark, nil) {
		t.Error("the reference is not drawn at 1")
	}
}

func TestNumbersReachCalibration(t *testing.T) {
	d := sampleCalibration()
	p := look(must(Calibration(d)), OneColumn)
	x, y := p.scales(t, true, true)
	for k, q := range d.Predictors {
		for _, c := range q.Cases {
			if k == 0 && !p.hasDot(c, x, y, paper.inkOf(k).mark, 0) { // the discs
				t.Errorf("%s: no dot with its interval at %+v", q.Label, c)
			}
			found := false
			for _, l := range p.lines {
				found = found || l.color == paper.inkOf(k).mark && near(l.points, x.page(c.X), y.page(c.Low)) && near(l.points, x.page(c.X), y.page(c.High))
			}
			if !found {
				t.Errorf("%s: no interval at %+v", q.Label, c)
			}
			if k > 0 && !p.hasPolygon(c, x, y, paper.inkOf(k).mark) {
				t.Errorf("%s: no mark at %+v", q.Label, c)
			}
		}
	}
	var ends []Point
	for _, v := range []float64{1, 2} {
		ends = append(ends, At(v, v))
	}
	on := false
	for _, l := range p.lines {
		if l.color != paper.grey.bound.mark || len(l.points) != 2 || l.points[0].Y == l.points[1].Y {
			continue // the key
		}
		on = true
		a, b := l.points[0], l.points[1]
		for _, q := range ends {
			v := float64(a.Y) + (x.page(q.X)-float64(a.X))*float64(b.Y-a.Y)/float64(b.X-a.X)
			on = on && math.Abs(v-y.page(q.Y)) < within
		}
	}
	if !on {
		t.Error("the diagonal does not run through (1, 1) and (2, 2)")
	}
}

// text returns all words of the page.
func (p *probe) text() string {
	var s []string
	for _, w := range p.words {
		s = append(s, w.text)
	}
	return strings.Join(s, " | ")
}

func TestReadable(t *testing.T) {
	for name, f := range samples() {
		for _, s := range looks() {
			for _, w := range []Width{s.least, s.column, s.Width(5), s.page, maxWidth} {
				t.Run(name+"/"+where(s, w), func(t *testing.T) { lookIn(f, w, s).check(t) })
			}
		}
	}
}

func TestTitlesCarrySymbols(t *testing.T) {
	want := map[string][]string{
		"speedup":     {"rounds T", "τ", "GRPO", "VIGOR", "η", "1/3", "κ = 1.1", "cap, any law"},
		"eta-shape":   {"κ", "η", "closed form", "truncated", "mean field", "Monte Carlo", "cap, any law"},
		"allocation":  {"success probability p", "E[G | p]", "fixed, G = 8"},
		"group-sizes": {"G", "share of groups"},
		"gradient":    {"M·σ", "||grad L||", "norm = bound"},
		"screening":   {"round t", "false omission", "false negative"},
		"comparison":  {"signal per rollout", "random control", "replay, 95 % interval"},
		"curves":      {"target", "trained prompts", "held-out prompts", "zero-variance groups, share", "fixed:g=8"},
		"slopes":      {"initial success probability p", "local slope"},
		"calibration": {"η | 1/3", "progress", "measured = predicted", "measured ratio"},
	}
	for name, f := range samples() {
		text := look(f, TwoColumn).text()
		for _, s := range want[name] {
			if !strings.Contains(text, s) {
				t.Errorf("%s: %q is missing in %s", name, s, text)
			}
		}
	}
}

func TestExponent(t *testing.T) {
	for exponent, want := range map[string]string{"1/3": "η^(1/3)", "1/2": "η^(1/2)", "1": "η", "": "η"} {
		d := sampleSpeedup()
		d.Exponent = exponent
		got := must(Speedup(d)).Plots()[0].Y.Label.Text
		if got != "speedup τ_GRPO/τ_VIGOR = "+want {
			t.Errorf("exponent %q: title %q, want = %s at its end", exponent, got, want)
		}
	}
}

func TestCapOutOfRange(t *testing.T) {
	d := sampleSpeedup()
	d.Cap = nil
	for r := 1.0; r <= 8; r++ {
		d.Cap = append(d.Cap, At(r, math.Pow(1.5, r-1))) // 17 at T = 8
	}
	p := look(must(Speedup(d)), OneColumn)
	p.check(t)
	x, y := p.scales(t, false, false)
	top := y.page(2.8)
	if got := y.page(3.2); got < float64(p.h)-30 {
		t.Errorf("the data reach 2.8, but the axis beyond 3.2, %.0f of %.0f pt up", got, float64(p.h))
	}
	for _, l := range p.lines {
		if l.color == paper.grey.bound.mark {
			for _, q := range l.points {
				if float64(q.Y) > top+12 {
					t.Errorf("the cap is drawn at %v, above the data", q)
				}
			}
		}
	}
	for _, w := range p.words {
		// It leaves between T = 3 and 4.
		if w.text == "cap, any law" && !(w.y0 > top && (w.x0+w.x1)/2 > x.page(3) && (w.x0+w.x1)/2 < x.page(4)) {
			t.Errorf("the label of the cap stands at %+v", w)
		}
	}
	if !strings.Contains(p.text(), "cap, any law") {
		t.Error("the cap has no label")
	}
}

// TestCapAboveAll keeps a cap in sight that lies above all of the data.
func TestCapAboveAll(t *testing.T) {
	f := Family{Label: "a", MeanField: []Point{At(1, 1.2), At(2, 1.1), At(3, 1.05)}}
	top := []Point{At(1, 3.75), At(3, 3.75)}
	p := look(must(EtaShape(EtaShapeData{Schedules: []Family{f}, Cap: top})), OneColumn)
	p.check(t)
	x, y := p.scales(t, false, false)
	if !p.hasCurve(top, x, y, paper.grey.bound.mark, nil) || !strings.Contains(p.text(), "cap, any law") {
		t.Error("the cap is not drawn or has no label")
	}
}

// TestManySizes sums more than twelve sizes by powers of two.
func TestManySizes(t *testing.T) {
	law := SizeLaw{Label: "a"}
	for size := range 20 { // 0; 1; 2, 3; 4 to 7; 8 to 15; 16 to 19
		law.Shares = append(law.Shares, SizeShare{size, Value{0.05, 0.04, 0.06}})
	}
	f := must(GroupSizes(GroupSizesData{[]SizeLaw{law}}))
	if n := f.Notes(); len(n) != 1 || !strings.Contains(n[0], "summed by powers of two") {
		t.Errorf("notes %q, want one on the sums", n)
	}
	p := look(f, OneColumn)
	p.check(t)
	_, y := p.scales(t, false, false)
	var got []float64
	for _, s := range p.fills {
		if s.color == paper.inkOf(0).mark {
			high := math.Max(float64(s.points[0].Y), float64(s.points[2].Y))
			got = append(got, (high-y.at)/y.factor)
		}
	}
	want := []float64{0.05, 0.05, 0.1, 0.2, 0.4, 0.2}
	if len(got) != len(want) {
		t.Fatalf("%d bars, want %d", len(got), len(want))
	}
	for i := range want {
		if math.Abs(got[i]-want[i]) > 0.003 {
			t.Errorf("bar %d is %.3f high, want %v", i, got[i], want[i])
		}
	}
	for _, name := range []string{"0", "1", "2", "4", "8", "16"} {
		if !strings.Contains(" | "+p.text()+" | ", " | "+name+" | ") {
			t.Errorf("the bin from %s on has no name", name)
		}
	}
}

// TestSizesInRows reads the table that more strategies than inks become.
func TestSizesInRows(t *testing.T) {
	var d GroupSizesData
	for i := range 7 {
		d.Strategies = append(d.Strategies, SizeLaw{fmt.Sprint("strategy ", i), []SizeShare{
			{2, Value{Value: 0.11 * float64(i+1)}}, {8, Value{Value: 1 - 0.11*float64(i+1)}},
		}})
	}
	p := look(must(GroupSizes(d)), OneColumn)
	p.check(t)
	for i, law := range d.Strategies {
		var row word
		for _, w := range p.words {
			if w.text == law.Label {
				row = w
			}
		}
		for _, s := range law.Shares {
			want, found := strings.TrimPrefix(fmt.Sprintf("%.2f", s.Share.Value), "0"), false
			for _, w := range p.words {
				found = found || w.text == want && math.Abs(w.y0-row.y0) < 12
			}
			if !found {
				t.Errorf("row %d: no number %s", i, want)
			}
		}
	}
}
