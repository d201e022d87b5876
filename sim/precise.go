package sim

import (
	"context"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"vigorlab/distributions"
	"vigorlab/sim/schedule"
	"vigorlab/sim/stream"
)

// A Precise is what RunPrecise measured.
type Precise struct {
	Eta          Estimate // a ratio of means, as Outcome.Eta
	EtaBatchMean Estimate // the mean of the per-batch ratio, as Outcome.EtaBatchMean
	Replicates   int      // batches that the estimates rest on
	Pilot        int      // batches before them, which said how to estimate
}

// pilotReplicates is the size of the pilot: with c controls its noise adds about
// c/pilotReplicates to the variance.
const pilotReplicates = 4096

// ErrPrecision is wrapped by RunPrecise's error for a precision that takes too
// many batches.
var ErrPrecision = errors.New("too many batches")

// RunPrecise estimates both figures eta of a VIGOR that the fast path can
// simulate (ErrNotFast), with standard errors of at most about precision > 0, in
// far less time than Run. cfg.Replicates and cfg.Frontier are not used, and
// cfg.Progress hears of the batches after the pilot. Two things make the variance
// small, and neither moves the mean.
//
// Given all counts the u of a batch's prompts are independent, with known laws:
// what a batch contributes is the mean given its counts, which has the mean of
// what it stands for, and no more variance (Rao and Blackwell). For a sum of u it
// is the sum of posterior means, for a ratio see laplace.
//
// The counts are drawn round by round from known laws. By how much the number of
// prompts with s successes after a round passes its mean, given the rounds before,
// has the mean 0. These surprises are control variates; their coefficients are
// those that leave the least variance in a pilot of batches that are used for
// nothing else, so that the estimates are unbiased and their errors those of
// independent terms. What surprises leave may be the same in all n batches seen,
// and yet not in every batch: an error is at least 1/n of a batch's deviation
// before they are taken away, as with Estimate's other rare events. Where the pilot has
// not met what eta hangs on, the deviation is that of spread.
func RunPrecise(ctx context.Context, cfg Config, law distributions.Law, v schedule.Vigor, batch int, precision float64) (*Precise, error) {
	cfg.Replicates = pilotReplicates
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if !(precision > 0) {
		return nil, fmt.Errorf("precision = %v, want (0, Inf)", precision)
	}
	if !(law.MeanU() > 0) {
		none := Estimate{Reason: reasonNoVariance}
		return &Precise{Eta: none, EtaBatchMean: none}, nil
	}
	key := stream.New(cfg.Seed).Named(cfg.Population).With(uint64(batch), firstStep).Named("precise")
	progress := cfg.Progress
	cfg.Progress = nil
	workers := make([]*etaWorker, cfg.Workers)
	for k := range workers {
		var err error
		if workers[k], err = newEtaWorker(law, v, batch, cfg.Aggregate == AggregatePrompt); err != nil {
			return nil, err
		}
	}
	pilot, err := runEta(ctx, cfg, workers, key.Named("pilot"), nil)
	if err != nil {
		return nil, err
	}
	c := pilot.controls()
	const margin = 1.1 // the pilot's variance is itself an estimate
	var unseen [numEta]float64
	need := 0.0
	for i := range unseen {
		unseen[i] = math.Sqrt(pilot.cov(i, i) * pilot.n)
		if i == 0 {
			unseen[i] = max(unseen[i], workers[0].spread())
		}
		need = max(need, margin*pilot.left(i, c[i])/(precision*precision), unseen[i]/precision)
	}
	if !(need <= math.MaxInt32) {
		return nil, fmt.Errorf("%w: precision = %v takes %.3g batches, want at most %d", ErrPrecision, precision, need, math.MaxInt32)
	}
	cfg.Replicates, cfg.Progress = max(pilotReplicates, int(math.Ceil(need))), progress
	m, err := runEta(ctx, cfg, workers, key, c)
	if err != nil {
		return nil, err
	}
	estimate := func(i int) Estimate {
		return Estimate{Mean: m.mean[i], SE: max(math.Sqrt(m.cov(i, i)), unseen[i]/m.n)}
	}
	return &Precise{estimate(0), estimate(1), cfg.Replicates, pilotReplicates}, nil
}

// runEta runs cfg.Replicates batches under key. Without coefficients it returns
// the moments of both figures and the surprises after them, otherwise of the
// figures without their share of the surprises.
func runEta(ctx context.Context, cfg Config, workers []*etaWorker, key stream.Key, c [][]float64) (*moments, error) {
	blocks := blocksOf(cfg.Replicates)
	var total *moments
	done, next := 0, 0
	err := InOrder(ctx, cfg.Workers, blocks.count(),
		func() (func(context.Context, int) (*moments, error), error) {
			w := workers[next]
			next++
			return func(ctx context.Context, i int) (*moments, error) {
				first, n := blocks.at(i)
				var m *moments
				for k := range n {
					if err := ctx.Err(); err != nil {
						return nil, err
					}
					x := w.replicate(key.With(uint64(first + k)))
					if c != nil {
						x = without(x, c)
					}
					if m == nil {
						m = newMoments(len(x))
					}
					m.add(x)
				}
				return m, nil
			}, nil
		},
		func(i int, m *moments) error {
			if total == nil {
				total = m
			} else {
				total.merge(m)
			}
			_, n := blocks.at(i)
			done += n
			if cfg.Progress != nil {
				cfg.Progress(done, cfg.Replicates)
			}
			return nil
		})
	return total, err
}

// numEta is the number of figures; surprises stand after them.
const numEta = 2

// without returns the figures of x minus their surprises times c.
func without(x []float64, c [][]float64) []float64 {
	figures, surprises := x[:numEta], x[numEta:]
	for i := range figures {
		for j, s := range surprises {
			figures[i] -= c[i][j] * s
		}
	}
	return figures
}

// controls returns the coefficients of the surprises that leave the least
// variance of each figure.
func (m *moments) controls() [][]float64 {
	d := len(m.mean) - numEta
	c := [][]float64{make([]float64, d), make([]float64, d)}
	var used []int
	for j := range d {
		// A count's variance is about its mean: the sum of squares is the number
		// of prompts that the pilot met. Of few nothing is learnt.
		if m.cov(numEta+j, numEta+j)*m.n*m.n >= fewestMet {
			used = append(used, j)
		}
	}
	if len(used) == 0 {
		return c
	}
	scale := func(j int) float64 { return math.Sqrt(m.cov(numEta+j, numEta+j)) }
	between := mat.NewSymDense(len(used), nil)
	for a, i := range used {
		for b, j := range used[:a+1] {
			between.SetSym(a, b, m.cov(numEta+i, numEta+j)/scale(i)/scale(j))
		}
		between.SetSym(a, a, 1+1e-6) // the surprises of a round may add up to nothing
	}
	var factor mat.Cholesky
	if !factor.Factorize(between) {
		return c
	}
	for i := range c {
		with, solved := mat.NewVecDense(len(used), nil), mat.NewVecDense(len(used), nil)
		for a, j := range used {
			with.SetVec(a, m.cov(i, numEta+j)/scale(j))
		}
		if err := factor.SolveVecTo(solved, with); err != nil {
			continue // without controls the estimate is as right, only less precise
		}
		for a, j := range used {
			c[i][j] = solved.AtVec(a) / scale(j)
		}
	}
	return c
}

// fewestMet is how many prompts the pilot has to meet beyond a mean that is
// known, for their surprise to be a control.
const fewestMet = 50

// left returns the variance of figure i in one replicate without its surprises.
func (m *moments) left(i int, c []float64) float64 {
	v := m.cov(i, i)
	for j, a := range c {
		v -= 2 * a * m.cov(i, numEta+j)
		for k, b := range c {
			v += a * b * m.cov(numEta+j, numEta+k)
		}
	}
	return v * m.n
}

// An etaWorker simulates the counts of batches and takes means given these.
type etaWorker struct {
	*urn
	laplace laplace
	weight  []float64     // by round: of a prompt that leaves there, in the update
	chance  [][][]float64 // by round and successes so far: the law of those of the round
	meanU   [][]float64   // by round and successes: given these
	scale   [numEta]float64
	mean    []float64 // scratch: by successes
	x       []float64 // the figures and the surprises of a batch
}

func newEtaWorker(law distributions.Law, v schedule.Vigor, batch int, byPrompt bool) (*etaWorker, error) {
	u, err := newUrn(law, v, batch, 0, 1)
	if err != nil {
		return nil, err
	}
	w := &etaWorker{urn: u}
	sumW := 0.0
	for t := range u.rounds {
		leaving := u.kept[t]
		if t+1 < len(u.rounds) {
			leaving -= u.kept[t+1]
		}
		weight := float64(u.rounds[t].n)
		if byPrompt {
			weight = 1
		}
		if u.survivors && t+1 < len(u.rounds) {
			weight = 0
		}
		w.weight = append(w.weight, weight)
		sumW += weight * float64(leaving)
		w.chance = append(w.chance, make([][]float64, u.rounds[t].n-u.rollouts[t]+1))
		w.meanU = append(w.meanU, u.posteriorMeans(u.rounds[t].n))
	}
	w.mean = make([]float64, u.rounds[len(u.rounds)-1].n+1)
	w.laplace = newLaplace(u)
	w.scale = [numEta]float64{1 / (sumW * law.MeanU()), float64(batch) / sumW / w.laplace.someVariance}
	return w, nil
}

// spread returns the deviation of eta of a batch that is due to the counts of as many
// prompts as reach the last round, if nothing had chosen them: it is known from the law,
// however rare the counts that matter are.
func (w *etaWorker) spread() float64 {
	last := len(w.rounds) - 1
	law, means := w.successes(0, 0, w.rounds[last].n), w.meanU[last]
	mean, square := 0.0, 0.0
	for s, p := range law {
		mean += p * means[s]
		square += p * means[s] * means[s]
	}
	return w.scale[0] * w.weight[last] * math.Sqrt(float64(w.kept[last])*max(0, square-mean*mean))
}

// replicate plays the batch that key names and returns its figures and
// surprises, valid until the next call.
func (w *etaWorker) replicate(key stream.Key) []float64 {
	w.begin(key)
	w.x = append(w.x[:0], 0, 0)
	for t := range w.rounds {
		w.ask(t)
		w.surprise(t)
		w.cut(t)
	}
	w.laplace.begin()
	for t := range w.rounds {
		for s, prompts := range w.rounds[t].left[0] {
			if prompts > 0 {
				w.x[0] += float64(prompts) * w.weight[t] * w.meanU[t][s]
				w.laplace.add(t, s, float64(prompts), w.weight[t])
			}
		}
	}
	w.x[0] *= w.scale[0]
	w.x[1] = w.laplace.ratio() * w.scale[1]
	return w.x
}

// posteriorMeans returns E[u | s successes in n] = 4 M(n+2, s+1) / M(n, s), 0 for
// an s that is impossible.
func (u *urn) posteriorMeans(n int) []float64 {
	means := make([]float64, n+1)
	for s := range means {
		if m := u.moment(n, s); m > 0 {
			means[s] = 4 * u.moment(n+2, s+1) / m
		}
	}
	return means
}

// surprise appends by how much the numbers of prompts with s successes after
// round t pass their means given the rounds before, s from 1: with s = 0 they add
// up to nothing. Two sums follow, for numbers too rare to learn from one by one:
// of those with 0 < s < n, and of these times the mean of u.
func (w *etaWorker) surprise(t int) {
	r, m := &w.rounds[t], w.rollouts[t]
	mean := w.mean[:r.n+1]
	clear(mean)
	for s, prompts := range w.active[0][:r.n-m+1] {
		if prompts == 0 {
			continue
		}
		if w.chance[t][s] == nil {
			law, sum := w.successes(r.n-m, s, m), w.moment(r.n-m, s)
			for x := range law {
				law[x] /= sum
			}
			w.chance[t][s] = law
		}
		for x, p := range w.chance[t][s] {
			mean[s+x] += float64(prompts) * p
		}
	}
	mixed, mixedU := 0.0, 0.0
	for s := 1; s <= r.n; s++ {
		surprise := float64(w.asked[0][s]) - mean[s]
		w.x = append(w.x, surprise)
		if s < r.n {
			mixed += surprise
			mixedU += surprise * w.meanU[t][s]
		}
	}
	w.x = append(w.x, mixed, mixedU)
}

// A laplace takes the mean of X/Y, where Y > 0, for X = sum w u and Y = sum u over
// prompts whose u are independent:
//
//	E[X/Y; Y > 0] = integral over t > 0 of E[X e^(-tY)]
//	              = integral over t > 0 of sum w (-f'/f)(t) times the product of all f(t),
//
// f(t) = E[e^(-tu)], the Laplace transform of a prompt's law. It integrates by the
// trapezoidal rule in x, t = e^(x-e^-x)/E[Y], whose integrand falls doubly
// exponentially to the left, and, where Y is not close to 0, to the right.
//
// For the law of p stands the urn's rule here too, though a ratio is no polynomial:
// beside a rule of 16 times the degree the mean is 4e-6 of itself off where 4 prompts
// of Beta(0.05, 2) have no success at all, and less than 1e-12 in common batches.
type laplace struct {
	u            *urn
	t, dt        []float64
	classes      [][]*transform // by round and successes
	someVariance float64        // P(Y > 0)
	log, sum     []float64      // of the batch, by t: the sum of log f, and that of w (-f'/f)
}

// A transform is a law of u.
type transform struct {
	log, slope []float64 // log f and -f'/f, by t
}

// laplaceStep is the step in x: its error is near e^(-2 pi (pi/2)/step).
const laplaceStep = 0.25

func newLaplace(u *urn) laplace {
	l := laplace{u: u}
	sumU, none := 0.0, 0.0
	for i, n := range u.nodes {
		sumU += n.W * u.truth[i].u
		if u.truth[i].u == 0 {
			none += n.W
		}
	}
	batch := float64(u.batch)
	l.someVariance = -math.Expm1(batch * math.Log(none))
	for i := range u.rounds {
		l.classes = append(l.classes, make([]*transform, u.rounds[i].n+1))
	}
	for x := -4.0; x < 60; x += laplaceStep {
		t := math.Exp(x-math.Exp(-x)) / (batch * sumU)
		dt := laplaceStep * t * (1 + math.Exp(-x))
		l.t, l.dt = append(l.t, t), append(l.dt, dt)
		// What the whole batch has left, before anything is known of it, ends the grid.
		f, slope := 0.0, 0.0
		for i, n := range u.nodes {
			e := n.W * math.Exp(-t*u.truth[i].u)
			f += e
			slope += e * u.truth[i].u
		}
		if x > 0 && dt*batch*slope*math.Pow(f, batch-1) < 1e-16 {
			break
		}
	}
	l.log, l.sum = make([]float64, len(l.t)), make([]float64, len(l.t))
	return l
}

// begin forgets the batch.
func (l *laplace) begin() {
	clear(l.log)
	clear(l.sum)
}

// add takes in prompts of weight w that left in round t with s successes.
func (l *laplace) add(t, s int, prompts, w float64) {
	c := l.classes[t][s]
	if c == nil {
		c = l.transform(l.u.posterior(l.u.rounds[t].n, s))
		l.classes[t][s] = c
	}
	log, sum := l.log[:len(c.log)], l.sum[:len(c.log)]
	for i, x := range c.log {
		log[i] += prompts * x
		sum[i] += prompts * w * c.slope[i]
	}
}

// transform returns the transform of u under the given weights of the nodes.
func (l *laplace) transform(weights []float64) *transform {
	c := &transform{log: make([]float64, len(l.t)), slope: make([]float64, len(l.t))}
	total := 0.0
	for _, w := range weights {
		total += w
	}
	for j, t := range l.t {
		f, slope := 0.0, 0.0
		for i, w := range weights {
			if w == 0 {
				continue
			}
			e := w * math.Exp(-t*l.u.truth[i].u)
			f += e
			slope += e * l.u.truth[i].u
		}
		c.log[j] = math.Log(f / total)
		if slope > 0 {
			c.slope[j] = slope / f
		}
	}
	return c
}

// ratio returns E[X/Y; Y > 0].
func (l *laplace) ratio() float64 {
	r := 0.0
	for i, dt := range l.dt {
		r += dt * math.Exp(l.log[i]) * l.sum[i]
	}
	return r
}
