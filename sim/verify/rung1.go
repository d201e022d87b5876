package verify

import (
	"context"
	"fmt"
	"math"

	"vigorlab/sim/verify/gradient"
)

// rung1 checks that reward variance bounds the gradient (theory.md, section 2).
func rung1() []study {
	return []study{{id: "1.gradient-bounds", run: gradientBounds}}
}

func gradientBounds(ctx context.Context, e *env) (*Section, error) {
	cfg := gradient.DefaultConfig(e.cfg.Quick)
	cfg.Seed, cfg.Workers = e.cfg.Seed, e.cfg.Workers
	r, err := gradient.Check(ctx, cfg)
	if err != nil {
		return nil, err
	}
	s := &Section{}
	for _, row := range r.Rows {
		s.Rows = append(s.Rows, estimatorRow(row))
	}
	s.Rows = append(s.Rows, casesRow(r), identityRow(r), oneLogitRow(r))
	for _, p := range r.Plants {
		s.Rows = append(s.Rows, plantRow(p))
	}
	for _, x := range r.Expected {
		s.Rows = append(s.Rows, expectedRow(x))
	}
	cases := Curve{Figure: FigureGradient, Family: "GRPO, ddof 0, delta 0", Kind: MonteCarlo}
	for _, p := range r.Points {
		cases.Points = append(cases.Points, Point{X: p.Sigma, Y: p.Norm})
	}
	s.Curves = Setting{Population: "random softmax policies", Strategy: "grpo:ddof=0,delta=0"}.in(cases)
	return s, nil
}

// estimatorRow is one line of the table of section 2: no case may pass its
// bound. The estimate is the largest norm over its bound.
func estimatorRow(r gradient.Row) Row {
	row := Row{
		ID: r.Estimator + "-" + r.Coding, Kind: Claim,
		Claim:  fmt.Sprintf("||grad L|| <= M f(G, s): %s, %s rewards", r.Estimator, r.Coding),
		Method: "exact gradients of random softmax policies",
		Test:   "every case, to rounding",
		Note:   fmt.Sprintf("%d cases, %d beyond the bound; %s", r.Cases, r.Bound, spread(r.Tightness)),
	}
	return bounded(row, 1+r.MaxExcess, 1, r.Flagged == 0)
}

// spread prints how tight a bound is over its cases.
func spread(d gradient.Distribution) string {
	return fmt.Sprintf("tightness %.2g, %.2g, %.2g, %.2g, %.2g at the 5, 25, 50, 75, 95 %% quantiles, attained in %d",
		d.Q05, d.Q25, d.Median, d.Q75, d.Q95, d.Attained)
}

// casesRow counts the cases of all estimators and says what they cover.
func casesRow(r *gradient.Result) Row {
	c := r.Covered
	row := Row{
		ID: "cases", Kind: Check,
		Claim:  "two routes agree on sum|A|, the identity and M over all responses in every case",
		Method: "exact gradients of random softmax policies, tabular, with features and with adversarial ones",
		Test:   "disagreements, beyond rounding",
		Note: fmt.Sprintf("%d cases of %d policies with %d to %d responses; groups of %d to %d, p from %.2g to 1-%.2g; "+
			"%d policies moved by inner epochs, ratios to %.2g, %d clipped, %d with ratios of tokens averaged over a response's length, "+
			"the others with ratios of sequences; graded rewards with sigma < 1e-6 reach ||grad L|| = %.2g M",
			r.Cases, r.Settings, c.Responses[0], c.Responses[1], c.Sizes[0], c.Sizes[1], c.Success[0], 1-c.Success[1],
			c.Moved, c.MaxRatio, c.Clipped, c.TokenRatios, r.GradedAtSmallSigma),
	}
	disagreements := r.Sum + r.Identity + r.Maximum
	return bounded(row, float64(disagreements), 0, disagreements == 0)
}

func identityRow(r *gradient.Result) Row {
	row := Row{
		ID: "identity", Kind: Claim,
		Claim:  "grad L = (sigma/2) (mean grad rho of correct - of wrong rollouts)",
		Method: "exact gradients of random softmax policies",
		Test:   "largest residual over M sigma, to rounding",
		Note:   fmt.Sprintf("%d cases", r.Identities),
	}
	return bounded(row, r.MaxIdentity, 0, r.Identity == 0 && r.Identities > 0)
}

func oneLogitRow(r *gradient.Result) Row {
	row := Row{
		ID: "one-logit", Kind: Check,
		Claim:  "one logit: E||grad L|| = E[sigma_G]/2, p(1-p) at G = 2",
		Method: "exact binomial sums",
		Test:   "every pair (G, p), to rounding",
		Note:   fmt.Sprintf("%d pairs (G, p)", len(r.OneLogit)),
	}
	worst, agree := 0.0, true
	for _, o := range r.OneLogit {
		worst, agree = max(worst, math.Abs(o.Mean-o.Claim)/o.Claim), agree && o.Agrees()
	}
	return bounded(row, worst, 0, agree)
}

// plantRow wants a mistake that was planted on purpose to be noticed as often
// as it must be.
func plantRow(p gradient.Plant) Row {
	row := Row{
		ID: "planted-" + p.Mistake, Kind: Check,
		Claim:  "the check notices a planted mistake: " + p.Mistake,
		Method: "the same cases with the mistake in them",
		Test:   fmt.Sprintf("at least %v of the groups whose rewards differ are flagged", p.Least),
		Note:   fmt.Sprintf("%d flagged of %d cases, in %d of which rewards differ", p.Flagged, p.Cases, p.Spread),
	}
	return bounded(row, float64(p.Flagged)/float64(max(p.Spread, 1)), p.Least, p.Noticed())
}

func expectedRow(x gradient.Expected) Row {
	row := Row{
		ID: x.Bound, Kind: Claim,
		Claim:  "||grad E[r]|| <= " + x.Formula,
		Method: "exact gradients of random softmax policies",
		Test:   "every case, to rounding",
		Note:   fmt.Sprintf("%d cases, %d beyond the bound; %s", x.Cases, x.Violations, spread(x.Tightness)),
	}
	return bounded(row, x.Tightness.Max, 1, x.Violations == 0)
}
