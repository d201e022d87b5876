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

// A folded is a family's likelihood of min(s, n-s) = j given 0 < s < n.
type folded struct {
	cells  []Cell // with S = j in [1, N/2]
	inner  likelihood
	asked  []float64 // log-probabilities of j and n-j, cell by cell, then of 0 and n, by number of rollouts
	slopes [][]float64
	ends   []int // of each cell: where 0 and n stand
}

func newFolded(f *family, cells []Cell) *folded {
	l := &folded{cells: cells}
	var asked, ends []Cell
	for _, x := range cells {
		asked = append(asked, Cell{N: x.N, S: x.S}, Cell{N: x.N, S: x.N - x.S})
		if k := len(ends); k == 0 || ends[k-1].N != x.N {
			ends = append(ends, Cell{N: x.N}, Cell{N: x.N, S: x.N})
		}
		l.ends = append(l.ends, 2*len(cells)+len(ends)-2)
	}
	asked = append(asked, ends...)
	l.inner, l.asked = f.over(asked), make([]float64, len(asked))
	for range f.ranges {
		l.slopes = append(l.slopes, make([]float64, len(asked)))
	}
	return l
}

func (l *folded) logs(theta, logs []float64, slopes [][]float64) {
	var inner [][]float64
	if slopes != nil {
		inner = l.slopes
	}
	l.inner.logs(theta, l.asked, inner)
	for i, x := range l.cells {
		hit, miss, end := math.Exp(l.asked[2*i]), math.Exp(l.asked[2*i+1]), l.ends[i]
		if 2*x.S == x.N { // one count, asked for twice
			miss = 0
		}
		dead, solved := math.Exp(l.asked[end]), math.Exp(l.asked[end+1])
		mixed := 1 - dead - solved
		logs[i] = math.Log((hit + miss) / mixed)
		for j := range slopes {
			d := inner[j]
			slopes[j][i] = (hit*d[2*i]+miss*d[2*i+1])/(hit+miss) + (dead*d[end]+solved*d[end+1])/mixed
		}
	}
}
