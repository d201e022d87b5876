package enumerate

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
)

const (
	// MaxBatch is the largest batch that is enumerated.
	MaxBatch = 8
	// MaxVectors is the largest number of vectors of success probabilities,
	// len(atoms)^batch, that Draws accepts; each costs up to 2^MaxRollouts
	// sequences.
	MaxVectors = 4096
)

// An Atom is a success probability P in [0, 1] with its weight W >= 0.
type Atom struct{ P, W float64 }

// A Population says where the success probabilities of a batch come from. It
// is an immutable value; build it with Prompts or Draws.
type Population struct {
	atoms []Atom
	batch int
	fixed bool // prompt x has atom x, in place of one drawn
}

// Prompts returns the population whose only batch has the given success
// probabilities, each in [0, 1], in batch order: between 1 and MaxBatch of
// them. Atom i is prompt i.
func Prompts(p ...float64) (Population, error) {
	pop := Population{batch: len(p), fixed: true}
	for _, p := range p {
		pop.atoms = append(pop.atoms, Atom{P: p, W: 1 / float64(pop.batch)})
	}
	return pop.checked()
}

// Draws returns the population of batches of the given size, in [1, MaxBatch],
// whose prompts are drawn independently from the law with the given atoms:
// P in [0, 1], W >= 0, weights that sum to 1 within 1e-12, and at most
// MaxVectors batches.
func Draws(batch int, atoms ...Atom) (Population, error) {
	pop := Population{atoms: append([]Atom(nil), atoms...), batch: batch}
	return pop.checked()
}

// checked returns the population, or the zero one with every fault.
func (pop Population) checked() (Population, error) {
	err := errors.Join(pop.checkBatch(), pop.checkAtoms())
	if !pop.fixed {
		err = errors.Join(err, pop.checkWeights())
	}
	if err != nil {
		return Population{}, err
	}
	return pop, nil
}

func (pop Population) checkBatch() error {
	if pop.batch < 1 || pop.batch > MaxBatch {
		return fmt.Errorf("enumerate: batch = %d, want a whole number in [1, %d]", pop.batch, MaxBatch)
	}
	return nil
}

func (pop Population) checkAtoms() error {
	var errs []error
	for i, a := range pop.atoms {
		if !(a.P >= 0 && a.P <= 1) {
			errs = append(errs, fmt.Errorf("enumerate: p[%d] = %v, want [0, 1]", i, a.P))
		}
	}
	return errors.Join(errs...)
}

func (pop Population) checkWeights() error {
	var errs []error
	var total sum
	for i, a := range pop.atoms {
		if !(a.W >= 0 && a.W <= 1) {
			errs = append(errs, fmt.Errorf("enumerate: w[%d] = %v, want [0, 1]", i, a.W))
		}
		total.add(a.W)
	}
	if w := total.value(); !(math.Abs(w-1) <= 1e-12) {
		errs = append(errs, fmt.Errorf("enumerate: sum of w = %v, want 1 within 1e-12", w))
	}
	if k := math.Pow(float64(len(pop.atoms)), float64(pop.batch)); k > MaxVectors {
		errs = append(errs, fmt.Errorf("enumerate: %d atoms in a batch of %d make %.0f vectors of success probabilities, want at most %d",
			len(pop.atoms), pop.batch, k, MaxVectors))
	}
	return errors.Join(errs...)
}

// each visits every batch, as the atom of each prompt, with its probability.
// The slice is valid during the visit.
func (pop Population) each(visit func(atom []int, prob float64)) {
	atom := make([]int, pop.batch)
	if pop.fixed {
		for x := range atom {
			atom[x] = x
		}
		visit(atom, 1)
		return
	}
	var assign func(x int, prob float64)
	assign = func(x int, prob float64) {
		if x == pop.batch {
			visit(atom, prob)
			return
		}
		for k, a := range pop.atoms {
			if a.W > 0 {
				atom[x] = k
				assign(x+1, prob*a.W)
			}
		}
	}
	assign(0, 1)
}

// meanU returns E[u] of a prompt of the batch chosen at random, in [0, 1].
func (pop Population) meanU() float64 {
	var mean sum
	for _, a := range pop.atoms {
		mean.add(a.W * variance(a.P))
	}
	return mean.value()
}

// variance returns u = 4p(1-p), in [0, 1].
func variance(p float64) float64 { return 4 * p * (1 - p) }

// decimal returns the shortest decimal that gives x, exactly.
func decimal(x float64) *big.Rat {
	r, _ := new(big.Rat).SetString(strconv.FormatFloat(x, 'g', -1, 64))
	return r
}

// exactVariance returns u of p as typed.
func exactVariance(p float64) *big.Rat {
	exact := decimal(p)
	failure := new(big.Rat).Sub(big.NewRat(1, 1), exact)
	return exact.Mul(exact, failure).Mul(exact, big.NewRat(4, 1))
}

// ranks returns, for each atom, how many atoms have a smaller u: equal for
// equal u.
func (pop Population) ranks() []int {
	ranks := make([]int, len(pop.atoms))
	for i, a := range pop.atoms {
		for _, b := range pop.atoms {
			if exactVariance(b.P).Cmp(exactVariance(a.P)) < 0 {
				ranks[i]++
			}
		}
	}
	return ranks
}

// frontier says of each atom whether u >= c.
func (pop Population) frontier(c float64) []bool {
	in := make([]bool, len(pop.atoms))
	for i, a := range pop.atoms {
		in[i] = exactVariance(a.P).Cmp(decimal(c)) >= 0
	}
	return in
}
