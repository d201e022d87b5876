// Package stream derives every random number stream of the toolkit from a seed
// and labels, so that the same seed gives the same bytes for any number of
// workers. It refuses to know what the numbers are for.
package stream

import (
	"math/bits"
	"math/rand/v2"

	// golang.org/x/exp/rand is deprecated in favour of math/rand/v2. The
	// project's brief asks for it, and it is imported here and nowhere else: its
	// PCG generator is seeded from a hash, since neighbouring raw seeds are
	// visibly correlated, and handed out as a math/rand/v2 value.
	exprand "golang.org/x/exp/rand" //lint:ignore SA1019 asked for by the brief; see above
)

// A Key names a stream. Equal keys give equal numbers.
type Key uint64

// golden is 2^64 divided by the golden ratio, odd: the increment of splitmix64
// (Steele, Lea and Flood, 2014), under which consecutive multiples spread over
// all 64 bits.
const golden = 0x9E3779B97F4A7C15

// mix is the finaliser of splitmix64 (Stafford's variant 13): a bijection in
// which each input bit flips each output bit with probability near 1/2.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

// New returns the key of a seed.
func New(seed uint64) Key { return Key(mix(seed + golden)) }

// With derives the key of a sub-stream named by the labels, in order. The
// derivation does not commute: With(1, 2) and With(2, 1) differ.
func (k Key) With(labels ...uint64) Key {
	x := uint64(k)
	for _, l := range labels {
		x = mix(bits.RotateLeft64(x, 23)*golden + mix(l+golden))
	}
	return Key(x)
}

// Named derives the key of a sub-stream named by text.
func (k Key) Named(text string) Key {
	h := uint64(0xCBF29CE484222325) // FNV-1a, 64 bits
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * 0x100000001B3
	}
	return k.With(h)
}

// Bits returns the i-th number of the stream, uniform on 64 bits, without any
// state: splitmix64 started at the key.
func (k Key) Bits(i uint64) uint64 { return mix(uint64(k) + (i+1)*golden) }

// Uniform returns the i-th number of the stream, uniform on the multiples of
// 2^-53 in [0, 1), without any state.
func (k Key) Uniform(i uint64) float64 { return float64(k.Bits(i)>>11) * 0x1p-53 }

// A Generator is a sequential generator that can be set to any stream without
// allocating. It is not safe for concurrent use.
type Generator struct {
	*rand.Rand
	pcg exprand.PCGSource
}

// NewGenerator returns a generator set to k.
func NewGenerator(k Key) *Generator {
	g := new(Generator)
	g.Rand = rand.New(&g.pcg)
	g.Reset(k)
	return g
}

// Reset sets the generator to the start of k's stream.
func (g *Generator) Reset(k Key) { g.pcg.Seed(mix(uint64(k) ^ golden)) }

// Rand returns a fresh generator set to k.
func Rand(k Key) *rand.Rand { return NewGenerator(k).Rand }
