package enumerate

import (
	"cmp"
	"fmt"
	"slices"

	"vigorlab/sim/schedule"
)

// Options say what to report. Zero means zero.
type Options struct {
	Frontier    float64 // c in [0, 1]: a prompt is of the frontier where u >= c
	SizeVectors bool    // report the law of the vector of group sizes
}

// VigorEnumerate returns the exact law of VIGOR (theory.md, section 1) on a
// population, with every option of the schedule. With reuse=false the groups
// of the update are drawn again after the last round, in the sizes reached.
// With select=random a cut keeps every set of prompts with the same
// probability, whatever ties says.
//
// It is an error where a batch is asked for more than MaxRollouts rollouts,
// fresh groups included, or where a parameter is outside its range. A vector of
// success probabilities costs up to 2^20 sequences, times the ways of breaking
// ties: about a second at most for a batch of 4.
func VigorEnumerate(pop Population, v schedule.Vigor, opts Options) (*Result, error) {
	if err := check(pop, opts); err != nil {
		return nil, err
	}
	pl, err := newPlan(v, pop.batch)
	if err != nil {
		return nil, err
	}
	return enumerate(pop, pl, opts), nil
}

// FixedEnumerate returns the exact law of fixed groups of g >= 1 rollouts, with
// at most MaxRollouts rollouts in a batch.
func FixedEnumerate(pop Population, g int, opts Options) (*Result, error) {
	if err := check(pop, opts); err != nil {
		return nil, err
	}
	pl, err := fixedPlan(g, pop.batch)
	if err != nil {
		return nil, err
	}
	return enumerate(pop, pl, opts), nil
}

func check(pop Population, opts Options) error {
	if err := pop.checkBatch(); err != nil {
		return err // the zero Population, or one whose error was passed over
	}
	if !(opts.Frontier >= 0 && opts.Frontier <= 1) {
		return fmt.Errorf("enumerate: frontier = %v, want [0, 1]", opts.Frontier)
	}
	return nil
}

func enumerate(pop Population, pl plan, opts Options) *Result {
	ty := newTally(len(pop.atoms), pl, opts.SizeVectors)
	ranks := pop.ranks()
	pop.each(func(atom []int, prob float64) {
		p, rank := make([]float64, pop.batch), make([]int, pop.batch)
		for x, k := range atom {
			p[x], rank[x] = pop.atoms[k].P, ranks[k]
		}
		w := newWalk(pl, p, rank)
		w.run(prob, func(prob float64) { ty.leaf(w, atom, prob) })
	})
	return ty.result(pop, opts.Frontier)
}

// A tally adds up the ends of all sequences.
type tally struct {
	plan plan

	groups      [][][]sum // expected groups by atom, last round - 1 and successes
	probability sum
	ratio       sum // of batches: rollout-weighted mean of u over the mean of u
	rated       sum // probability of the batches that have that ratio
	sequences   int
	sizes       map[[MaxBatch]int]*sum // nil where not asked for
}

func newTally(atoms int, pl plan, sizes bool) *tally {
	ty := &tally{plan: pl, groups: make([][][]sum, atoms)}
	for k := range ty.groups {
		for round := 1; round <= pl.rounds(); round++ {
			ty.groups[k] = append(ty.groups[k], make([]sum, pl.size(round)+1))
		}
	}
	if sizes {
		ty.sizes = map[[MaxBatch]int]*sum{}
	}
	return ty
}

// leaf counts the end of one sequence.
func (ty *tally) leaf(w *walk, atom []int, prob float64) {
	ty.sequences++
	ty.probability.add(prob)
	var rollouts, weighted, total float64
	for x, k := range atom {
		ty.groups[k][w.last[x]-1][w.successes(x)].add(prob)
		u := variance(w.p[x])
		total += u
		if ty.plan.trained(w.last[x]) {
			rollouts += float64(w.n[x])
			weighted += float64(w.n[x]) * u
		}
	}
	if total > 0 {
		ty.ratio.add(prob * weighted / rollouts * float64(len(atom)) / total)
		ty.rated.add(prob)
	}
	if ty.sizes != nil {
		ty.countSizes(w, prob)
	}
}

func (ty *tally) countSizes(w *walk, prob float64) {
	var key [MaxBatch]int
	copy(key[:], w.n)
	if ty.sizes[key] == nil {
		ty.sizes[key] = new(sum)
	}
	ty.sizes[key].add(prob)
}

// sizeVectors returns the law of the sizes in lexicographic order.
func (ty *tally) sizeVectors(batch int) []SizeVector {
	var vectors []SizeVector
	for key, prob := range ty.sizes {
		vectors = append(vectors, SizeVector{Sizes: slices.Clone(key[:batch]), Probability: prob.value()})
	}
	slices.SortFunc(vectors, func(a, b SizeVector) int { return slices.Compare(a.Sizes, b.Sizes) })
	return vectors
}

// groupLaw lists the groups that occur.
func (ty *tally) groupLaw() []Group {
	var law []Group
	for k, rounds := range ty.groups {
		for r, counts := range rounds {
			for s, expected := range counts {
				if e := expected.value(); e > 0 {
					law = append(law, Group{
						Atom: k, Round: r + 1, Size: ty.plan.size(r + 1), Successes: s,
						Trained: ty.plan.trained(r + 1), Expected: e,
					})
				}
			}
		}
	}
	return law
}

// sizeShares returns the law of the group size of a prompt.
func sizeShares(law []Group, batch int) []SizeShare {
	shares := map[int]*sum{}
	for _, g := range law {
		if shares[g.Size] == nil {
			shares[g.Size] = new(sum)
		}
		shares[g.Size].add(g.Expected / float64(batch))
	}
	var list []SizeShare
	for size, share := range shares {
		list = append(list, SizeShare{Size: size, Share: share.value()})
	}
	slices.SortFunc(list, func(a, b SizeShare) int { return cmp.Compare(a.Size, b.Size) })
	return list
}
