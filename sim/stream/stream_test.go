package stream

import (
	"math"
	"math/bits"
	"testing"
)

// TestDistinct wants every way to derive a key to give another one.
func TestDistinct(t *testing.T) {
	seen := map[Key]string{}
	add := func(k Key, name string) {
		t.Helper()
		if other, ok := seen[k]; ok {
			t.Errorf("%s and %s share a stream", name, other)
		}
		seen[k] = name
	}
	add(New(0), "seed 0")
	add(New(1), "seed 1")
	add(New(1).With(0), "1, 0")
	add(New(1).With(1), "1, 1")
	add(New(1).With(0, 0), "1, 0, 0")
	add(New(1).With(1, 2), "1, 1, 2")
	add(New(1).With(2, 1), "1, 2, 1")
	add(New(2).With(1), "2, 1")
	add(New(1).Named(""), "1, empty name")
	add(New(1).Named("a"), "1, a")
	add(New(1).Named("ab"), "1, ab")
	add(New(1).Named("ba"), "1, ba")
	if New(1).With(1).With(2) != New(1).With(1, 2) {
		t.Error("labels one by one give another key than together")
	}
}

// TestUniform checks mean, spread and lag correlations of the stateless
// numbers and of the generator, over neighbouring indices of one key and over
// neighbouring keys of one index: where raw seeds would be visibly correlated.
//
// A mean of n uniform numbers strays by more than tol from 1/2 with
// probability at most 2 exp(-2 n tol^2) (Hoeffding); n = 2^17 and
// tol = 0.0083 give 3e-8, over 12 checks less than 1e-6. The product of two
// centred numbers lies in [-1/4, 1/4] and obeys the same bound. A shift of
// 2*tol = 0.0166 is missed with probability at most 3e-8.
func TestUniform(t *testing.T) {
	const n, tol = 1 << 17, 0.0083
	check := func(name string, at func(i uint64) float64) {
		var sum, cube, lag float64
		last := at(n)
		for i := range uint64(n) {
			x := at(i)
			if !(x >= 0 && x < 1) {
				t.Fatalf("%s: %v, want [0, 1)", name, x)
			}
			sum += x
			cube += 4 * (x - 0.5) * (x - 0.5)
			lag += (x - 0.5) * (last - 0.5)
			last = x
		}
		for figure, d := range map[string]float64{"mean": sum/n - 0.5, "spread": cube/n - 1.0/3, "lag": lag / n} {
			if !(math.Abs(d) < tol) {
				t.Errorf("%s: %s off by %v, want 0 ± %v", name, figure, d, tol)
			}
		}
	}
	check("indices", New(1).Uniform)
	check("keys", func(i uint64) float64 { return New(1).With(i).Uniform(0) })
	check("seeds", func(i uint64) float64 { return Rand(New(i)).Float64() })
	g := NewGenerator(New(7))
	check("generator", func(uint64) float64 { return g.Float64() })
}

// TestBitsAvalanche flips one bit of the index: half of the 64 output bits
// change. Over 64 bits and 4,096 indices the mean share of changed bits has a
// standard deviation of at most sqrt(2)/2/sqrt(64*64*4096) = 1.73e-4, for flips
// among the indices come twice; 6 of them are passed with probability 2e-9, and
// a shift of 9 is missed with probability 0.2 %.
func TestBitsAvalanche(t *testing.T) {
	changed := 0
	k := New(3)
	for i := range uint64(4096) {
		for b := range 64 {
			changed += bits.OnesCount64(k.Bits(i) ^ k.Bits(i^1<<b))
		}
	}
	if share := float64(changed) / (64 * 64 * 4096); !(math.Abs(share-0.5) < 6*1.73e-4) {
		t.Errorf("a flipped bit changes a share %v of the bits, want 0.5 ± %v", share, 6*1.73e-4)
	}
}

func TestGeneratorReset(t *testing.T) {
	g := NewGenerator(New(1))
	first := []uint64{g.Uint64(), g.Uint64(), g.Uint64()}
	g.Reset(New(1))
	for i, want := range first {
		if got := g.Uint64(); got != want {
			t.Fatalf("number %d after Reset is %d, want %d", i, got, want)
		}
	}
	if a := testing.AllocsPerRun(100, func() { g.Reset(New(2)); g.Float64() }); a != 0 {
		t.Errorf("Reset allocates %v times, want 0", a)
	}
}
