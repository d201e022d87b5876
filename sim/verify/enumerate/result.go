package enumerate

import "math"

// A Result holds the exact figures of an allocation on a finite batch, within
// 1e-13 (relative; the probabilities of a sequence are multiplied in float64 and
// added with compensation). All are under signed coding, expectations over
// batches, rewards and ties; "trained" groups are those that the update uses. A
// figure that does not exist is NaN.
type Result struct {
	Batch       int
	Sequences   int     // ends of sequences visited
	Probability float64 // of all of them together: 1

	MeanU     float64 // E[u] of a prompt
	Generated float64 // E[rollouts of a batch], selection and fresh ones alike
	Trained   float64 // E[sum G] over trained groups
	Weight    float64 // E[sum G u] over trained groups

	Eta          float64 // Weight / (Trained * MeanU), NaN where MeanU = 0
	EtaGenerated float64 // Weight / (Generated * MeanU), NaN where MeanU = 0
	// EtaBatchMean is the mean over batches of sum G u / sum G over the
	// batch's own mean of u: another figure than Eta. Batches whose prompts
	// all have u = 0 have no ratio and are left out; NaN where all have none.
	EtaBatchMean float64

	Signal             float64 // E[sum G sigma] / Trained
	SignalPromptMean   float64 // mean of sigma over trained groups
	Ineffective        float64 // share of trained rollouts in groups with s = 0 or s = G
	ZeroVarianceGroups float64 // share of such groups among trained ones
	Progress           float64 // E[sum G sigma u] / Trained, not relative to anything (theory.md, 4.6)

	GroupSizes  []SizeShare  // of all prompts, trained on or not, by size
	Groups      []Group      // the law of one group, by atom, size and successes
	Screening   []Screening  // one entry a cut
	SizeVectors []SizeVector // where asked for
}

// A SizeShare is the share of prompts whose group has a size, fresh rollouts
// not counted.
type SizeShare struct {
	Size  int
	Share float64
}

// A Group is a kind of group with how many of it a batch has on average. The
// figures that are linear in groups follow from it.
type Group struct {
	Atom      int     // index of the prompt (Prompts) or atom (Draws)
	Round     int     // the last round, from 1, that gave it rollouts
	Size      int     // G
	Successes int     // s, of the fresh rollouts where the update uses these
	Trained   bool    // whether the update uses it
	Expected  float64 // expected number in a batch
}

// Screening holds the errors of one cut against the frontier u >= c, ratios of
// expectations pooled over prompts (theory.md, section 0).
type Screening struct {
	Round                   int     // the round after which the cut falls, from 1
	FalseOmission           float64 // P(frontier | dropped here), NaN where none is dropped
	FalseNegative           float64 // P(dropped here | frontier and active), NaN where none is
	FalseNegativeCumulative float64 // P(dropped by now | frontier), NaN without frontier
}

// A SizeVector is the probability that the prompts, in batch order, end with
// groups of these sizes, fresh rollouts not counted.
type SizeVector struct {
	Sizes       []int
	Probability float64
}

// result derives the figures from the law of the groups.
func (ty *tally) result(pop Population, c float64) *Result {
	r := &Result{
		Batch: pop.batch, Sequences: ty.sequences, Probability: ty.probability.value(),
		MeanU: pop.meanU(), Groups: ty.groupLaw(), SizeVectors: ty.sizeVectors(pop.batch),
	}
	var generated, trained, groups, weight, signal, deviation, dead, deadGroups, progress sum
	for _, g := range r.Groups {
		size, u, sigma := float64(g.Size), variance(pop.atoms[g.Atom].P), g.sigma()
		generated.add(g.Expected * size)
		if !g.Trained {
			continue
		}
		if ty.plan.fresh {
			generated.add(g.Expected * size)
		}
		trained.add(g.Expected * size)
		groups.add(g.Expected)
		weight.add(g.Expected * size * u)
		signal.add(g.Expected * size * sigma)
		deviation.add(g.Expected * sigma)
		progress.add(g.Expected * size * sigma * u)
		if g.Successes == 0 || g.Successes == g.Size {
			dead.add(g.Expected * size)
			deadGroups.add(g.Expected)
		}
	}
	r.Generated, r.Trained, r.Weight = generated.value(), trained.value(), weight.value()
	r.Eta = ratio(r.Weight, r.Trained*r.MeanU)
	r.EtaGenerated = ratio(r.Weight, r.Generated*r.MeanU)
	r.EtaBatchMean = ratio(ty.ratio.value(), ty.rated.value())
	r.Signal = ratio(signal.value(), r.Trained)
	r.SignalPromptMean = ratio(deviation.value(), groups.value())
	r.Ineffective = ratio(dead.value(), r.Trained)
	r.ZeroVarianceGroups = ratio(deadGroups.value(), groups.value())
	r.Progress = ratio(progress.value(), r.Trained)
	r.GroupSizes = sizeShares(r.Groups, pop.batch)
	r.Screening = screening(r.Groups, ty.plan.rounds(), pop.frontier(c))
	return r
}

// sigma returns 2 sqrt(s(G-s))/G.
func (g Group) sigma() float64 {
	return 2 * math.Sqrt(float64(g.Successes*(g.Size-g.Successes))) / float64(g.Size)
}

// screening counts the prompts that end in each round: those are the ones that
// its cut dropped.
func screening(law []Group, rounds int, frontier []bool) []Screening {
	ended, missed := make([]sum, rounds+1), make([]sum, rounds+1)
	var members sum
	for _, g := range law {
		ended[g.Round].add(g.Expected)
		if frontier[g.Atom] {
			missed[g.Round].add(g.Expected)
			members.add(g.Expected)
		}
	}
	var list []Screening
	var gone sum
	for t := 1; t < rounds; t++ {
		here := missed[t].value()
		var active sum
		for later := t; later <= rounds; later++ {
			active.add(missed[later].value())
		}
		gone.add(here)
		list = append(list, Screening{
			Round:                   t,
			FalseOmission:           ratio(here, ended[t].value()),
			FalseNegative:           ratio(here, active.value()),
			FalseNegativeCumulative: ratio(gone.value(), members.value()),
		})
	}
	return list
}

// ratio returns a/b, NaN where b = 0.
func ratio(a, b float64) float64 {
	if b == 0 {
		return math.NaN()
	}
	return a / b
}

// A sum adds with Neumaier's compensation: its error does not grow with the
// number of terms.
type sum struct{ high, low float64 }

func (s *sum) add(x float64) {
	t := s.high + x
	if math.Abs(s.high) >= math.Abs(x) {
		s.low += (s.high - t) + x
	} else {
		s.low += (x - t) + s.high
	}
	s.high = t
}

func (s *sum) value() float64 { return s.high + s.low }
