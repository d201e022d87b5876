package strategy

import (
	"fmt"
	"math"
	"math/rand/v2"

	"vigorlab/distributions/spec"
	"vigorlab/sim/rollout"
	"vigorlab/sim/schedule"
)

const (
	vipRLOO   = "rloo"
	vipDrGRPO = "drgrpo"
	vipGP     = "gp"
	vipOracle = "oracle"

	// vipClip bounds observed mean rewards away from 0 and 1 before the logit.
	vipClip = 1e-6
)

// VIPProcess predicts every prompt's success probability p from its embedding
// and minimises the predicted variance of the policy gradient (VIP, arXiv
// 2602.01601, reconstructed from notes on its theory; the predictor as in the
// code, HieuNT91/VIP, src/vip/success_rate_prediction/gaussian_process.py).
//
// Allocation: groups n_i in [low, high], n a prompt on average, that minimise
// sum_i a_i V(n_i), a_i = p_i(1-p_i), with V = RLOOFactor or DrGRPOFactor. The
// largest decrease first is exact for whole rollouts, V being convex on n >= 2
// and n >= 3; equal decreases go in a random order. The released code is not
// this: it adds an undocumented tilt 0.0007 log(p) n to the objective, rounds by
// another curve and drops groups below 4. low and high are those of its README
// for n = 16; its scripts have a low of 4 there.
//
// Predictor: a Gaussian process on the logit of p with constant mean and RBF
// covariance, conditioned on the logits of the mean rewards, clipped to
// [1e-6, 1-1e-6], of the last window batches, the newest where a prompt stands
// in several; such a prompt is predicted its own mean. The trainer's window is
// one batch. The first step of a run, which has no data, and prompts without
// embeddings get n each: a run of one step is uniform.
//
// A step spends exactly n rollouts a prompt.
type VIPProcess struct {
	vip
	window int
	prior  gpPrior

	embeddings [][]float64 // of the set
	past       [][]visit   // the last batches, oldest first
	logits     map[int]float64
	posterior  *gpPosterior // nil before the first data
}

// VIPOracle allocates as VIPProcess does, and is handed the true success
// probabilities (predictor=oracle).
type VIPOracle struct{ vip }

// vip is what both predictors share: the allocation.
type vip struct {
	n, low, high int
	factor       func(n int) float64 // variance of a group, by its size
	spec         string

	a     []float64 // predicted variances, binary
	group []int
	rank  []int
}

// A visit is a prompt and the logit of its mean reward in one step.
type visit struct {
	id    int
	logit float64
}

var (
	_ Budgeter  = (*VIPProcess)(nil)
	_ Learner   = (*VIPProcess)(nil)
	_ Believer  = (*VIPProcess)(nil)
	_ Budgeter  = (*VIPOracle)(nil)
	_ TruthSeer = (*VIPOracle)(nil)
)

var vipKind = kind{
	info: Info{
		Name: "vip",
		Parameters: []Parameter{
			{"n", "16", "a whole number in [low, high]", "rollouts a prompt on average"},
			{"low", "8", fmt.Sprintf("a whole number in [2, %d], from 3 for drgrpo", schedule.MaxGroup), "rollouts that every prompt gets at least"},
			{"high", "32", fmt.Sprintf("a whole number in [2, %d]", schedule.MaxGroup), "rollouts that a prompt gets at most"},
			{"estimator", vipRLOO, "rloo, drgrpo", "gradient estimate whose variance is minimised"},
			{"predictor", vipGP, "gp, oracle", "Gaussian process on the embeddings, or the true success probabilities"},
			{"window", "1", "a whole number in [1, 1000]", "last batches that the Gaussian process is conditioned on"},
			{"prior", "-1", "[-14, 14]", "prior mean of the logit"},
			{"scale", "0.4", "(0, Inf)", "length scale of the covariance, in units of the embeddings"},
			{"jitter", "0.0001", "[1e-8, 1e8]", "added to the variance of observed logits"},
		},
		Capabilities: Capabilities{FirstEpoch: true, History: true, Embeddings: true, ExactBudget: true},
		Provenance:   "reconstruction",
		Source:       "VIP, arXiv 2602.01601, from notes on its theory; predictor from HieuNT91/VIP, src/vip",
		Taxonomy:     budgetsBefore,
	},
	parse: parseVIP,
	spending: func(g, _ int) string {
		n := max(2, g)
		return fmt.Sprintf("vip:n=%d,low=%d,high=%d", n, max(2, n/2), 2*n)
	},
}

func parseVIP(s spec.Spec) (Strategy, error) {
	a := spec.NewArgs(s)
	v := vip{
		n:      a.Int("n", 16, 2, schedule.MaxGroup),
		low:    a.Int("low", 8, 2, schedule.MaxGroup),
		high:   a.Int("high", 32, 2, schedule.MaxGroup),
		factor: RLOOFactor,
	}
	if a.Choice("estimator", vipRLOO, vipRLOO, vipDrGRPO) == vipDrGRPO {
		v.factor = DrGRPOFactor
		if v.low < 3 {
			a.Fault("low", v.low, "at least 3 for estimator=drgrpo, whose variance is convex from there on")
		}
	}
	predictor := a.Choice("predictor", vipGP, vipGP, vipOracle)
	window := a.Int("window", 1, 1, 1000)
	prior := gpPrior{
		mean:   a.Float("prior", -1, "[-14, 14]", func(x float64) bool { return x >= -14 && x <= 14 }),
		scale:  a.Float("scale", 0.4, "(0, Inf)", func(x float64) bool { return x > 0 }),
		jitter: a.Float("jitter", 1e-4, "[1e-8, 1e8]", func(x float64) bool { return x >= 1e-8 && x <= 1e8 }),
	}
	if v.n < v.low || v.n > v.high {
		a.Fault("n", v.n, fmt.Sprintf("between low = %d and high = %d", v.low, v.high))
	}
	if err := a.Err(); err != nil {
		return nil, err
	}
	v.spec = a.Normal().String()
	if predictor == vipOracle {
		return &VIPOracle{v}, nil
	}
	return &VIPProcess{vip: v, window: window, prior: prior, logits: map[int]float64{}}, nil
}

// Spec implements Strategy.
func (v *vip) Spec() string { return v.spec }

// Start implements Strategy; any batch will do.
func (v *vip) Start(int) error { return nil }

// Budget implements Budgeter.
func (v *vip) Budget(batch int) int { return v.n * batch }

// Update implements Strategy: every group is trained on.
func (v *vip) Update() Update { return Update{} }

// allocate asks the groups that are best for the variances v.a.
func (v *vip) allocate(ask []rollout.Request, r *rand.Rand) []rollout.Request {
	batch := len(v.a)
	v.rank = randomRanks(v.rank, batch, r)
	v.group = equalGroups(v.group, batch, v.low)
	gain := func(i, n int) float64 { return orEven(v.a[i]*(v.factor(n)-v.factor(n+1)), n) }
	greedy(v.group, (v.n-v.low)*batch, v.high, gain, v.rank)
	return askGroups(ask, v.group)
}

// Capabilities implements Strategy.
func (v *VIPOracle) Capabilities() Capabilities {
	return Capabilities{FirstEpoch: true, ExactBudget: true, Truth: true}
}

// SeeTruth implements TruthSeer.
func (v *VIPOracle) SeeTruth(p []float64) { v.a = trueVariances(v.a, p) }

// Next asks the whole allocation at once.
func (v *VIPOracle) Next(b *rollout.Batch, ask []rollout.Request, r *rand.Rand) []rollout.Request {
	if b.Round > 0 {
		return ask
	}
	return v.allocate(ask, r)
}

// Capabilities implements Strategy.
func (v *VIPProcess) Capabilities() Capabilities { return vipKind.info.Capabilities }

// Next asks the whole allocation at once.
func (v *VIPProcess) Next(b *rollout.Batch, ask []rollout.Request, r *rand.Rand) []rollout.Request {
	if b.Round > 0 {
		return ask
	}
	if v.posterior == nil {
		v.group = equalGroups(v.group, b.Len(), v.n)
		return askGroups(ask, v.group)
	}
	v.a = v.a[:0]
	for _, id := range b.ID {
		p, _ := v.Belief(id)
		v.a = append(v.a, p*(1-p))
	}
	return v.allocate(ask, r)
}

// Begin implements Learner.
func (v *VIPProcess) Begin(int) {
	v.embeddings, v.past, v.posterior = nil, nil, nil
	clear(v.logits)
}

// Observe implements Learner: the process is conditioned on the last batches.
func (v *VIPProcess) Observe(b *rollout.Batch) {
	if b.Set == nil || b.Set.Embeddings == nil {
		return
	}
	v.embeddings = b.Set.Embeddings
	var seen []visit
	for x, n := range b.N {
		if n > 0 {
			mean := float64(b.S[x]) / float64(n)
			seen = append(seen, visit{b.ID[x], logit(min(max(mean, vipClip), 1-vipClip))})
		}
	}
	v.past = append(v.past, seen)
	v.past = v.past[max(0, len(v.past)-v.window):]
	v.condition()
}

// condition fits the process to the batches of v.past.
func (v *VIPProcess) condition() {
	var at [][]float64
	var y []float64
	clear(v.logits)
	for i := len(v.past) - 1; i >= 0; i-- {
		for _, seen := range v.past[i] {
			if _, newer := v.logits[seen.id]; newer {
				continue
			}
			v.logits[seen.id] = seen.logit
			at, y = append(at, v.embeddings[seen.id]), append(y, seen.logit)
		}
	}
	v.posterior = nil
	if len(y) > 0 {
		v.posterior = v.prior.fit(at, y)
	}
}

// Belief implements Believer: the prediction for prompt id after the last step,
// which is its clipped mean reward where the window holds it.
func (v *VIPProcess) Belief(id int) (p float64, ok bool) {
	if v.posterior == nil {
		return 0, false
	}
	if y, seen := v.logits[id]; seen {
		return sigmoid(y), true
	}
	return sigmoid(v.posterior.mean(v.embeddings[id])), true
}

// RLOOFactor returns 1/(n-1), n >= 2: the variance of the projected RLOO
// gradient of a group of n rollouts per unit of p(1-p) sigma_Z^2, with rewards
// in {0, 1} and a score Z of variance sigma_Z^2 that is independent of the
// reward, an assumption (VIP, arXiv 2602.01601, as noted by others and derived
// anew: (1/n^2) E[sum A^2] sigma_Z^2). With rewards in {-1, 1} it is 4 times that.
func RLOOFactor(n int) float64 { return 1 / float64(n-1) }

// DrGRPOFactor returns (n-1)/n^2, n >= 1: what RLOOFactor is for Dr. GRPO,
// which does not divide by the standard deviation. It is convex in whole n >= 3
// only: its decreases from n = 2 on are 1/36, 5/144, 11/400.
func DrGRPOFactor(n int) float64 { return float64(n-1) / float64(n*n) }

// RLOOGroups returns the real group sizes n_i in [low, high], low > 1, with sum
// total that minimise sum_i a_i/(n_i-1), a_i >= 0 being p_i(1-p_i):
// clip(1 + sqrt(a_i/lambda), low, high), Neyman's allocation shifted by one. It
// fails where total is not within [low, high] a prompt.
func RLOOGroups(a []float64, total, low, high float64) ([]float64, error) {
	if !(low > 1) {
		return nil, fmt.Errorf("low = %v, want (1, Inf)", low)
	}
	size := func(ratio float64) float64 { return 1 + math.Sqrt(ratio) }
	slope := func(n float64) float64 { return 1 / ((n - 1) * (n - 1)) }
	return fillGroups(a, total, low, high, size, slope)
}

// DrGRPOGroups is RLOOGroups for sum_i a_i (n_i-1)/n_i^2 and low >= 3: where it
// is not clipped, n_i is the largest root of a_i(n-2)/n^3 = lambda,
// 2 sqrt(c/3) cos(arccos(-3 sqrt(3/c))/3) with c = a_i/lambda >= 27.
func DrGRPOGroups(a []float64, total, low, high float64) ([]float64, error) {
	if !(low >= 3) {
		return nil, fmt.Errorf("low = %v, want [3, Inf)", low)
	}
	size := func(c float64) float64 {
		if c < 27 {
			return low
		}
		return 2 * math.Sqrt(c/3) * math.Cos(math.Acos(-3*math.Sqrt(3/c))/3)
	}
	slope := func(n float64) float64 { return (n - 2) / (n * n * n) }
	return fillGroups(a, total, low, high, size, slope)
}

// fillGroups returns clip(size(a_i/lambda), low, high) for the lambda at which
// they sum to total. size is the inverse of 1/slope, slope(n) the decrease of
// the convex variance factor at n. Prompts with a = 0 have low, or, where the
// others cannot take all, equal shares of the rest.
func fillGroups(a []float64, total, low, high float64, size, slope func(float64) float64) ([]float64, error) {
	count := float64(len(a))
	if !(low <= high) || !(total >= count*low && total <= count*high) {
		return nil, fmt.Errorf("total = %v for %d prompts, want groups in [%v, %v]", total, len(a), low, high)
	}
	least, most, zeros := math.Inf(1), 0.0, 0.0
	for i, a := range a {
		if !(a >= 0 && a <= math.MaxFloat64) {
			return nil, fmt.Errorf("a[%d] = %v, want [0, Inf)", i, a)
		}
		if a == 0 {
			zeros++
			continue
		}
		least, most = min(least, a), max(most, a)
	}
	n := make([]float64, len(a))
	idle := low // of a prompt with a = 0
	if rest := total - high*(count-zeros); zeros > 0 && rest > low*zeros {
		idle = rest / zeros
	}
	// All have low at the first -ln lambda and high at the second.
	waterline(-math.Log(most*slope(low)), -math.Log(least*slope(high)), total, func(x float64) (sum float64) {
		lambda := math.Exp(-x)
		for i, a := range a {
			n[i] = idle
			if a > 0 {
				n[i] = clip(size(a/lambda), low, high)
			}
			sum += n[i]
		}
		return sum
	})
	return n, nil
}
