package theory

import (
	"errors"

	"gonum.org/v1/gonum/floats"
)

// A Candidate is a rollout that is finished with a probability of its own,
// independently of the others (PAIR, arXiv 2608.11368, a reconstruction from
// readers' notes in systems.md, section 4; the formulas are derived anew).
type Candidate struct {
	Reward    float64
	Score     []float64 // the gradient of its log probability; all of one length
	Inclusion float64   // the probability of finishing it, in (0, 1]
}

// CompletePairs returns the mean over pairs i < j of
//
//	h_ij = (r_i - r_j)(S_i - S_j)/2,
//
// which is (1/n) sum_i (r_i - mean of the other rewards) S_i, the leave-one-out
// gradient of n >= 2 rollouts.
func CompletePairs(c []Candidate) ([]float64, error) {
	if err := checkCandidates(c); err != nil {
		return nil, err
	}
	sum := make([]float64, len(c[0].Score))
	for i := range c {
		for j := range i {
			floats.Add(sum, pairTerm(&c[i], &c[j]))
		}
	}
	floats.Scale(1/pairs(len(c)), sum)
	return sum, nil
}

// PairVariance returns the variance, summed over coordinates, of
//
//	C(n,2)^-1 sum_{i<j, both finished} h_ij/(pi_i pi_j)
//
// over which of n >= 2 candidates are finished, each independently with its
// Inclusion pi:
//
//	C(n,2)^-2 (sum_{i<j} (1/(pi_i pi_j) - 1) |h_ij|^2
//	           + sum_i (1/pi_i - 1) sum_{j != k} h_ij.h_ik).
//
// Pairs without a common candidate are independent and add nothing.
func PairVariance(c []Candidate) (float64, error) {
	if err := checkCandidates(c); err != nil {
		return 0, err
	}
	variance := 0.0
	for i := range c {
		around := make([]float64, len(c[0].Score)) // sum over j of h_ij
		alone := 0.0                               // sum over j of |h_ij|^2
		for j := range c {
			if i == j {
				continue
			}
			h := pairTerm(&c[i], &c[j])
			square := floats.Dot(h, h)
			floats.Add(around, h)
			alone += square
			variance += (1/(c[i].Inclusion*c[j].Inclusion) - 1) * square / 2 // each pair comes twice
		}
		variance += (1/c[i].Inclusion - 1) * (floats.Dot(around, around) - alone)
	}
	return variance / (pairs(len(c)) * pairs(len(c))), nil
}

func pairTerm(a, b *Candidate) []float64 {
	h := make([]float64, len(a.Score))
	floats.SubTo(h, a.Score, b.Score)
	floats.Scale((a.Reward-b.Reward)/2, h)
	return h
}

// pairs is the number of pairs of n.
func pairs(n int) float64 { return float64(n) * float64(n-1) / 2 }

func checkCandidates(c []Candidate) error {
	if len(c) < 2 {
		return outside("candidates", len(c), "at least 2")
	}
	var err error
	for i := range c {
		err = errors.Join(err,
			unless(len(c[i].Score) == len(c[0].Score), outside("length of a score", len(c[i].Score), "one length for all")),
			unless(c[i].Inclusion > 0 && c[i].Inclusion <= 1, outside("inclusion", c[i].Inclusion, "(0, 1]")),
		)
	}
	return err
}
