package fit

import "math"

// A view is what is seen of a prompt's count.
type view struct {
	name    string
	support func(n int) []Cell // what may be seen of n rollouts, in order
	over    func(f *family, cells []Cell) likelihood
	starts  func(f *family, c *Counts) [][]float64
}

// whole sees the count itself.
var whole = view{
	name: "counts",
	support: func(n int) []Cell {
		cells := make([]Cell, n+1)
		for s := range cells {
			cells[s] = Cell{N: n, S: s}
		}
		return cells
	},
	over:   func(f *family, cells []Cell) likelihood { return f.over(cells) },
	starts: func(f *family, c *Counts) [][]float64 { return f.starts(c) },
}

// foldedMixed sees min(s, n-s) of the mixed prompts: what a law says of u
// where counts show any, and neither which branch a prompt is on nor how many
// are dead or solved.
var foldedMixed = view{
	name: "folded counts of mixed prompts",
	support: func(n int) []Cell {
		cells := make([]Cell, n/2)
		for i := range cells {
			cells[i] = Cell{N: n, S: i + 1}
		}
		return cells
	},
	over: func(f *family, cells []Cell) likelihood { return newFolded(f, cells) },
	starts: func(f *family, c *Counts) [][]float64 {
		starts := f.starts(c)
		if f.name == Beta { // a = b is a saddle of what is symmetric in a and b
			starts = append(starts, []float64{0.5, 2})
		}
		return starts
	},
}

// fold returns the folded counts of the mixed prompts, nil where there are none.
func fold(c *Counts) *Counts {
	var cells []Cell
	for _, x := range c.cells {
		if x.S > 0 && x.S < x.N {
			cells = append(cells, Cell{x.N, min(x.S, x.N-x.S), x.Prompts})
		}
	}
	if cells == nil {
		return nil
	}
	folded := &Counts{cells: joinCells(cells)}
	for _, x := range cells {
		folded.prompts += x.Prompts
		folded.rollouts += x.N * x.Prompts
	}
	return folded
}

// A folded is a family's likelihood of min(s, n-s) = j given 0 < s < n. The
// probability of 0 < s < n is added up over s: one less those of 0 and n would
// be all rounding where hardly any prompt is mixed.
type folded struct {
	cells []Cell // with S = j in [1, N/2]
	of    []int  // of each cell: its size
	sizes []mixedCounts

	inner  likelihood
	logsOf []float64 // log-probabilities of the mixed counts, s = 1, 2, ..., n-1, size by size
	slopes [][]float64
	p      []float64 // the probabilities
}

// Mixed counts are all counts of n rollouts but 0 and n.
type mixedCounts struct {
	n, first int     // where s = 1 stands
	p        float64 // of all of them
	slopes   []float64
}

func newFolded(f *family, cells []Cell) *folded {
	l := &folded{cells: cells}
	var mixed []Cell
	for _, x := range cells {
		if k := len(l.sizes); k == 0 || l.sizes[k-1].n != x.N {
			l.sizes = append(l.sizes, mixedCounts{n: x.N, first: len(mixed), slopes: make([]float64, len(f.ranges))})
			for s := 1; s < x.N; s++ {
				mixed = append(mixed, Cell{N: x.N, S: s})
			}
		}
		l.of = append(l.of, len(l.sizes)-1)
	}
	l.inner, l.logsOf, l.p = f.over(mixed), make([]float64, len(mixed)), make([]float64, len(mixed))
	for range f.ranges {
		l.slopes = append(l.slopes, make([]float64, len(mixed)))
	}
	return l
}

func (l *folded) logs(theta, logs []float64, slopes [][]float64) {
	var inner [][]float64
	if slopes != nil {
		inner = l.slopes
	}
	l.inner.logs(theta, l.logsOf, inner)
	for i, x := range l.logsOf {
		l.p[i] = math.Exp(x)
	}
	for i := range l.sizes {
		l.sizes[i].add(l.p, inner)
	}
	for i, x := range l.cells {
		size := &l.sizes[l.of[i]]
		hit, miss := size.first+x.S-1, size.first+x.N-x.S-1
		p := l.p[hit]
		if hit != miss {
			p += l.p[miss]
		}
		logs[i] = math.Log(p / size.p)
		for j := range slopes {
			slope := l.p[hit] * inner[j][hit]
			if hit != miss {
				slope += l.p[miss] * inner[j][miss]
			}
			slopes[j][i] = slope/p - size.slopes[j]
		}
	}
}

// add sets the probability of the size, and the derivatives of its logarithm.
func (m *mixedCounts) add(p []float64, slopes [][]float64) {
	m.p = 0
	clear(m.slopes)
	for i := m.first; i < m.first+m.n-1; i++ {
		m.p += p[i]
		for j := range slopes {
			m.slopes[j] += p[i] * slopes[j][i]
		}
	}
	for j := range m.slopes {
		m.slopes[j] /= m.p
	}
}
