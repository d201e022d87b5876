package strategy

import (
	"encoding/binary"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/combin"
)

// An HBN is the hierarchical Beta model of Speculative Evaluation after a pilot
// of the same number of rollouts for every task: the mean mu and the dispersion
// phi are uniform on (0, 1), kappa = (1-phi)/phi, and every task's p is
// Beta(mu kappa, (1-mu) kappa) (arXiv 2609.28560; core.py of
// ShenQianli/SpecEval [code]). The integral over (mu, phi) is the released
// code's: 16 x 16 Gauss-Legendre nodes. Tasks with equal counts have equal
// scores, so all is done by count. One goroutine uses it at a time.
type HBN struct {
	pilot   int
	nodes   []hbnNode
	weights []float64 // scratch: the posterior of the nodes
}

// An hbnNode is one pair (mu, phi) of the grid.
type hbnNode struct {
	prior       float64
	logPrior    float64
	alpha, beta float64
	logMarginal []float64 // log P(c of the pilot succeed), binomial coefficient left out
	variance    []float64 // E[p(1-p) | c, node]
}

// hbnOrder is the number of nodes in each of mu and phi.
const hbnOrder = 16

// NewHBN returns the model for a pilot >= 0 of rollouts a task.
func NewHBN(pilot int) *HBN {
	var x, w [hbnOrder]float64
	quad.Legendre{}.FixedLocations(x[:], w[:], 0, 1)
	h := &HBN{pilot: pilot, weights: make([]float64, hbnOrder*hbnOrder)}
	for i, mu := range x {
		for j, phi := range x {
			kappa := (1 - phi) / phi
			h.nodes = append(h.nodes, newHBNNode(w[i]*w[j], mu*kappa, (1-mu)*kappa, pilot))
		}
	}
	return h
}

func newHBNNode(prior, alpha, beta float64, pilot int) hbnNode {
	n := hbnNode{prior: prior, logPrior: math.Log(prior), alpha: alpha, beta: beta}
	wins, losses := logRising(alpha, pilot), logRising(beta, pilot)
	all := logRising(alpha+beta, pilot)[pilot]
	total := alpha + beta + float64(pilot)
	for c := range pilot + 1 {
		a, b := alpha+float64(c), beta+float64(pilot-c)
		n.logMarginal = append(n.logMarginal, wins[c]+losses[pilot-c]-all)
		n.variance = append(n.variance, a*b/(total*(total+1)))
	}
	return n
}

// logRising returns log a(a+1)...(a+j-1) for j = 0..n.
func logRising(a float64, n int) []float64 {
	l := make([]float64, n+1)
	for j := range n {
		l[j+1] = l[j] + math.Log(a+float64(j))
	}
	return l
}

// Scores returns s_c = E[p(1-p) | the pilots of all tasks] of a task with c
// successes in its pilot, for c = 0..pilot. tasks[c] says how many tasks had c.
// It appends to dst[:0].
func (h *HBN) Scores(tasks []int, dst []float64) []float64 {
	h.posterior(tasks)
	dst = dst[:0]
	for range tasks {
		dst = append(dst, 0)
	}
	for i := range h.nodes {
		w := h.weights[i]
		if w == 0 {
			continue
		}
		for c, v := range h.nodes[i].variance {
			dst[c] += w * v
		}
	}
	return dst
}

// posterior fills h.weights.
func (h *HBN) posterior(tasks []int) {
	top := math.Inf(-1)
	for i := range h.nodes {
		l := h.nodes[i].logPrior
		for c, k := range tasks {
			if k > 0 {
				l += float64(k) * h.nodes[i].logMarginal[c]
			}
		}
		h.weights[i] = l
		top = max(top, l)
	}
	sum := 0.
	for i, l := range h.weights {
		h.weights[i] = 0
		if l > top-40 { // e^-40 is lost in the sum
			h.weights[i] = math.Exp(l - top)
		}
		sum += h.weights[i]
	}
	for i := range h.weights {
		h.weights[i] /= sum
	}
}

// TwoStageMean is the estimate of a task's p, coding {0,1}, from the mean of
// its pilot and the mean of its continuation. The weight w in [0, 1] of the
// pilot is one constant for all tasks, fixed before any rollout: the length of
// the continuation depends on the pilot, so the plain mean of all rollouts is
// biased, and this one is not. The mean score is the mean over tasks.
func TwoStageMean(w, pilot, continuation float64) float64 {
	return w*pilot + (1-w)*continuation
}

// TwoStageRisk is the variance of the mean score of tasks with variances
// v = p(1-p), coding {0,1}, estimated by TwoStageMean with weight w from a
// pilot of m rollouts and continuations of L >= 1, given L, relative to that of
// the same budget b = m + mean(L) spent evenly:
//
//	b w^2/m + b (1-w)^2 sum(v/L)/sum(v)
//
// (stage_weighted_ratio of core.py [code]; its mean over L is the risk, since
// the continuations are fresh). Some v must be positive.
func TwoStageRisk(v []float64, continuation []int, m int, w float64) float64 {
	total, inverse, mass := 0, 0., 0.
	for i, l := range continuation {
		total += l
		inverse += v[i] / float64(l)
		mass += v[i]
	}
	b := float64(m) + float64(total)/float64(len(v))
	return b*w*w/float64(m) + b*(1-w)*(1-w)*inverse/mass
}

// NeymanIntegers fills L with the whole numbers >= 1 of the given sum,
// total >= len(L), that minimise sum s_i/L_i: each further rollout goes where
// s/(L(L+1)) is largest, which is exact since s/L is convex. Of equal gains the
// task of the smaller rank goes first, rank nil standing for the order given.
func NeymanIntegers(s []float64, total int, rank, l []int) {
	for i := range l {
		l[i] = 1
	}
	gain := func(i, n int) float64 { return s[i] / (float64(n) * float64(n+1)) }
	greedy(l, total-len(l), math.MaxInt, gain, rank)
}

// neymanMass returns the minimum of sum_c tasks_c s_c/L that NeymanIntegers
// reaches, for positive scores by class. It bisects the gain below which
// nothing more is spent; what is left at the end has that gain, within 1e-12
// of it.
func neymanMass(tasks []int, s []float64, total int) float64 {
	top := 0.
	for c, k := range tasks {
		if k > 0 {
			top = max(top, s[c])
		}
	}
	low, high := 0., top/2
	for range 44 {
		mid := (low + high) / 2
		if spent, _ := spendAbove(mid, tasks, s, total); spent > total {
			low = mid
		} else {
			high = mid
		}
	}
	spent, mass := spendAbove(high, tasks, s, total)
	return mass - high*float64(total-spent)
}

// spendAbove gives every task all the rollouts that gain more than the price,
// s/(L(L+1)) > price before the last, and returns their number and sum s/L. It
// stops early above the limit.
func spendAbove(price float64, tasks []int, s []float64, limit int) (spent int, mass float64) {
	for c, k := range tasks {
		if k == 0 {
			continue
		}
		l := max(1, math.Ceil((math.Sqrt(1+4*s[c]/price)-1)/2))
		if l > float64(limit) {
			return limit + 1, 0
		}
		spent += k * int(l)
		mass += float64(k) * s[c] / l
	}
	return spent, mass
}

// A SpecEvalDesign is a schedule that is fixed before any rollout.
type SpecEvalDesign struct {
	Pilot  int     // m
	Weight float64 // w of TwoStageMean
	Risk   float64 // of TwoStageRisk, in expectation under the prior
	Error  float64 // standard error of Risk
}

// hbnVariance is E[p(1-p)] under the prior of HBN: E[mu(1-mu)] E[1-phi].
const hbnVariance = 1. / 12

// NewSpecEvalDesign returns the pilot and the weight of least expected risk
// for the given numbers of tasks >= 1 and rollouts a task, budget >= 2.
// A pilot of m has M = tasks V/m, V = 1/12, and C = E[sum s/L] of the exact
// allocation; w = C/(M+C) and the risk is budget/(tasks V) MC/(M+C)
// (design.py [code]). Pilots are tried from 1 on, above 20 each a twentieth
// larger, until the risk has risen 2% above the least.
//
// C is a mean over what all the pilots may show, too many cases to enumerate.
// The released code averages over random (mu, phi, p), with standard errors of
// the risk of .0015 to .0025. Here every one of the 256 nodes of the prior has
// its share and draws >= 2 random pilots by Polya's urn, the same ones for
// every m, and the mean is corrected by a control whose mean is known. The
// numbers come from a fixed stream, so that the design is a function of its
// arguments. Error is the standard error from the spread within the nodes.
func NewSpecEvalDesign(tasks, budget, draws int) SpecEvalDesign {
	best := SpecEvalDesign{Risk: math.Inf(1)}
	for m := 1; m < budget; m = max(m+1, m*21/20) {
		d := SpecEvalDesignAt(tasks, budget, m, draws)
		if d.Risk < best.Risk {
			best = d
		}
		if d.Risk > 1.02*best.Risk {
			break
		}
	}
	return best
}

// SpecEvalDesignAt is NewSpecEvalDesign with the pilot given, m in [1, budget-1].
func SpecEvalDesignAt(tasks, budget, m, draws int) SpecEvalDesign {
	c, se := continuationMass(tasks, budget, m, draws)
	pilot := float64(tasks) * hbnVariance / float64(m)
	scale := float64(budget) / (float64(tasks) * hbnVariance)
	w := c / (pilot + c)
	return SpecEvalDesign{
		Pilot: m, Weight: w,
		Risk:  scale * (1 - w) * c,
		Error: scale * (1 - w) * (1 - w) * se,
	}
}

// continuationMass estimates C and its standard error by C - slope*control,
// with the slope of least variance (the bias of fitting it is of the order of
// the variance, and left out of the error).
func continuationMass(tasks, budget, m, draws int) (c, se float64) {
	h := NewHBN(m)
	var seed [32]byte
	source := rand.NewChaCha8(seed)
	r := rand.New(source)
	count, byCount := make([]int, tasks), make([]int, m+1)
	mass, control := make([]float64, draws), make([]float64, draws)
	var s []float64
	var known, varMass, varControl, cov float64
	for i := range h.nodes {
		node := &h.nodes[i]
		for k := range draws {
			binary.LittleEndian.PutUint64(seed[:], uint64(i))
			binary.LittleEndian.PutUint64(seed[8:], uint64(k))
			source.Seed(seed)
			urn(node, m, count, r)
			clear(byCount)
			for _, k := range count {
				byCount[k]++
			}
			s = h.Scores(byCount, s)
			mass[k] = neymanMass(byCount, s, tasks*(budget-m))
			control[k] = node.control(byCount)
		}
		c += node.prior * stat.Mean(mass, nil)
		known += node.prior * (stat.Mean(control, nil) - node.meanControl(tasks))
		square := node.prior * node.prior / float64(draws)
		varMass += square * stat.Variance(mass, nil)
		varControl += square * stat.Variance(control, nil)
		cov += square * stat.Covariance(mass, control, nil)
	}
	if varControl == 0 {
		return c, math.Sqrt(varMass)
	}
	return c - cov/varControl*known, math.Sqrt(max(0, varMass-cov*cov/varControl))
}

// control is (sum sqrt(v))^2, v the tasks' expected variances if the node were
// known: L times the real-valued Neyman optimum.
func (n *hbnNode) control(tasks []int) float64 {
	sum := 0.
	for c, k := range tasks {
		sum += float64(k) * math.Sqrt(n.variance[c])
	}
	return sum * sum
}

// meanControl is the mean of control: N E[v] + N(N-1) E[sqrt v]^2.
func (n *hbnNode) meanControl(tasks int) float64 {
	var v, root float64
	pilot := len(n.variance) - 1
	for c, x := range n.variance {
		p := math.Exp(n.logMarginal[c] + combin.LogGeneralizedBinomial(float64(pilot), float64(c)))
		v += p * x
		root += p * math.Sqrt(x)
	}
	return float64(tasks)*v + float64(tasks)*float64(tasks-1)*root*root
}

// urn draws the successes of every task in m rollouts, rollout by rollout, so
// that a longer pilot continues a shorter one.
func urn(node *hbnNode, m int, count []int, r *rand.Rand) {
	clear(count)
	for n := range m {
		for i, k := range count {
			if r.Float64()*(node.alpha+node.beta+float64(n)) < node.alpha+float64(k) {
				count[i]++
			}
		}
	}
}
