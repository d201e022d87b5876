package strategy

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// A gpPrior is the prior of a latent Gaussian process over prompt embeddings:
// constant mean, covariance exp(-d^2/(2 scale^2)) at Euclidean distance d, and
// jitter on the variance of what is observed.
type gpPrior struct{ mean, scale, jitter float64 }

// covariance returns the prior covariance of the latent values at x and y.
func (k gpPrior) covariance(x, y []float64) float64 {
	square := 0.0
	y = y[:len(x)]
	for i := range x {
		d := x[i] - y[i]
		square += d * d
	}
	return math.Exp(-square / (2 * k.scale * k.scale))
}

// A gpPosterior is the mean of a Gaussian process given observations.
type gpPosterior struct {
	prior  gpPrior
	at     [][]float64
	weight *mat.VecDense // (K + jitter I)^-1 (y - mean)
}

// fit conditions on y[i] at the embedding at[i], len(y) >= 1. It keeps at. It
// panics where an embedding is not finite.
func (k gpPrior) fit(at [][]float64, y []float64) *gpPosterior {
	cov := mat.NewSymDense(len(at), nil)
	shifted := mat.NewVecDense(len(at), nil)
	for i := range at {
		shifted.SetVec(i, y[i]-k.mean)
		for j := range i {
			cov.SetSym(i, j, k.covariance(at[i], at[j]))
		}
		cov.SetSym(i, i, 1+k.jitter)
	}
	var chol mat.Cholesky
	if !chol.Factorize(cov) {
		panic("strategy: the covariance of the embeddings is not positive definite")
	}
	post := &gpPosterior{k, at, new(mat.VecDense)}
	if err := chol.SolveVecTo(post.weight, shifted); err != nil {
		if _, ill := err.(mat.Condition); !ill { // solved all the same
			panic("strategy: " + err.Error())
		}
	}
	return post
}

// mean returns the posterior mean of the latent value at x.
func (g *gpPosterior) mean(x []float64) float64 {
	m := g.prior.mean
	for i, at := range g.at {
		m += g.weight.AtVec(i) * g.prior.covariance(x, at)
	}
	return m
}

// logit returns ln(p/(1-p)) for p in (0, 1).
func logit(p float64) float64 { return math.Log(p) - math.Log1p(-p) }

// sigmoid is the inverse of logit.
func sigmoid(z float64) float64 { return 1 / (1 + math.Exp(-z)) }
