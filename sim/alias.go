package sim

import (
	"math/bits"

	"vigorlab/sim/stream"
)

// An alias draws from a finite law with one 64-bit number and one look-up, by
// Walker's method as Vose builds it (1991): a uniform cell, and in it one of two
// outcomes. Probabilities are kept to rounding, about 2^-53.
type alias []aliasCell

// An aliasCell has an outcome of its own, other^flip, where the rest of the
// number is below cut, and else the other one. Flipped rather than branched on:
// no processor could predict which it is.
type aliasCell struct {
	cut         uint64
	other, flip uint32
}

// newAlias returns the law of outcome i with probability weights[i] over their
// sum, which is positive. Outcomes below 2^-64 of it, which no number could
// tell from none, are left out.
func newAlias(weights []float64) alias {
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	var t alias
	var share []float64 // of a cell
	for i, w := range weights {
		if w > 0x1p-64*sum {
			t = append(t, aliasCell{other: uint32(i)})
			share = append(share, w/sum)
		}
	}
	var small, large []int
	for i := range t {
		share[i] *= float64(len(t))
		if share[i] < 1 {
			small = append(small, i)
		} else {
			large = append(large, i)
		}
	}
	for len(small) > 0 && len(large) > 0 {
		s, l := small[len(small)-1], large[len(large)-1]
		small = small[:len(small)-1]
		own := t[s].other
		t[s] = aliasCell{uint64(share[s] * 0x1p64), t[l].other, own ^ t[l].other}
		share[l] -= 1 - share[s]
		if share[l] < 1 {
			small, large = append(small, l), large[:len(large)-1]
		}
	}
	return t // what is left over by rounding is a cell of its own
}

// draw returns the outcome that the uniform number r stands for.
func (t alias) draw(r uint64) uint32 {
	i, rest := bits.Mul64(r, uint64(len(t)))
	_, below := bits.Sub64(rest, t[i].cut, 0) // 1 where rest < cut
	return t[i].other ^ t[i].flip&-uint32(below)
}

// count draws n outcomes, by the numbers of the stream from number used on, and
// adds how often each came up to counts.
func (t alias) count(counts []int, n int, key stream.Key, used uint64) {
	for i := range uint64(n) {
		counts[t.draw(key.Bits(used+i))]++
	}
}
