package train

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// golden reads a file of testdata.
func golden(t testing.TB, name string, into any) {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}

// leftOut returns the share of the tokens a region guards that have no gradient.
func leftOut(region TrustRegion, tokens []Token) float64 {
	kept := ones(len(tokens))
	r := region.Limit(tokens, kept)
	out, all := 0.0, 0.0
	for i := range tokens {
		if _, in := harmful(&tokens[i]); !in {
			continue
		}
		all++
		if _, slope := r.term(tokens[i].LogRatio, tokens[i].Advantage); slope != 0 {
			out -= kept[i]
		}
	}
	return (all + out) / all
}

func ones(n int) []float64 {
	s := make([]float64, n)
	for i := range s {
		s[i] = 1
	}
	return s
}

// TestTrustGaussian compares the rules on a fine grid of tokens with the exact
// shares under normal ln r that testdata/trust.py integrates, and those with the
// four digits of strategies/systems.md, section 10. The grid has the quantiles
// (i+1/2)/n of ln r, each once with a positive and once with a negative advantage,
// so that half of the tokens are harmful. It misses 1/n of the probability beyond
// any point at most, and some 10/n of a second moment.
func TestTrustGaussian(t *testing.T) {
	const n = 20_000
	var want struct {
		Gaussian []struct{ SD, Paper, Released, Unfloored float64 }
	}
	golden(t, "trust.json", &want)
	published := [][3]float64{{.0928, .1292, .2268}, {.1956, .2055, .3735}, {.4732, .4465, .6466}, {.7269, .7032, .8319}}
	for i, w := range want.Gaussian {
		for j, exact := range []float64{w.Paper, w.Released, w.Unfloored} {
			if !(math.Abs(exact-published[i][j]) <= .00005) {
				t.Errorf("sd %v: exact share %v, published %v", w.SD, exact, published[i][j])
			}
		}
		var tokens []Token
		for i := range n {
			x := w.SD * distuv.UnitNormal.Quantile((float64(i)+.5)/n)
			tokens = append(tokens, Token{1, x, x, 1}, Token{-1, x, x, 1})
		}
		cap := math.Sqrt(capSquare(levels(tokens, harmful), .04))
		unfloored := clamp{math.Exp(-cap), math.Exp(cap)}
		for _, c := range []struct {
			name   string
			region TrustRegion
			want   float64
		}{
			{"paper", paperRule{.04}, w.Paper},
			{"areal without clipping", arealRule{.04, clipRange{math.Inf(1)}}, w.Paper},
			{"released", releasedRule{.04}, w.Released},
			{"released without floors", unfloored, w.Unfloored},
		} {
			if got := leftOut(c.region, tokens); !(math.Abs(got-c.want) < 20./n) {
				t.Errorf("%s, sd %v: %v of the tokens left out, want %v", c.name, w.SD, got, c.want)
			}
		}
	}
}

type clamp struct{ low, high float64 }

func (c clamp) Limit([]Token, []float64) Range { return Range{Low: c.low, High: c.high} }

// TestTrustCases: on random tokens with ties the rules leave what they leave
// when carried out one rollout at a time in exact arithmetic.
func TestTrustCases(t *testing.T) {
	var want struct {
		Cases []struct {
			Tau    float64
			Tokens []struct {
				Advantage float64
				LogRatio  float64 `json:"log_ratio"`
				Stale     float64
				Count     float64
			}
			Paper, Areal []*float64 // nil where no rollout has the token
			Cap          *float64   // nil for none
		}
	}
	golden(t, "trust.json", &want)
	if len(want.Cases) != 100 {
		t.Fatalf("%d cases, want 100", len(want.Cases))
	}
	split := 0
	for i, c := range want.Cases {
		var tokens []Token
		for _, k := range c.Tokens {
			tokens = append(tokens, Token{k.Advantage, k.LogRatio, k.Stale, k.Count})
		}
		for name, rule := range map[string]struct {
			region TrustRegion
			want   []*float64
			r      Range
		}{
			"paper": {paperRule{c.Tau}, c.Paper, Range{Low: math.Inf(-1), High: math.Inf(1)}},
			"areal": {arealRule{c.Tau, clipRange{.5}}, c.Areal, Range{Low: .5, High: 1.5}},
		} {
			kept := ones(len(tokens))
			if r := rule.region.Limit(tokens, kept); r != rule.r {
				t.Errorf("case %d: %s limits to %+v, want %+v", i, name, r, rule.r)
			}
			for k, want := range rule.want {
				if want != nil && kept[k] != *want {
					t.Errorf("case %d: %s keeps %v of token %d, want %v", i, name, kept[k], k, *want)
				}
				if want != nil && *want > 0 && *want < 1 {
					split++
				}
			}
		}
		low, high := 0., math.Inf(1)
		if c.Cap != nil {
			low, high = min(.7, math.Exp(-math.Sqrt(*c.Cap))), max(1.5, math.Exp(math.Sqrt(*c.Cap)))
		}
		kept := ones(len(tokens))
		r := releasedRule{c.Tau}.Limit(tokens, kept)
		if !(math.Abs(r.Low-low) < 1e-10 && (r.High == high || math.Abs(r.High-high) < 1e-10)) {
			t.Errorf("case %d: released limits to %+v, want [%v, %v]", i, r, low, high)
		}
		for k, s := range kept {
			if s != 1 {
				t.Errorf("case %d: released keeps %v of token %d", i, s, k)
			}
		}
	}
	if split < 20 {
		t.Errorf("%d tokens of which a part is masked, want more", split)
	}
}

// TestBreakpointIsHeld: the released code holds the tokens at its breakpoint.
// Squares 1/4, 1, 4 of which at tau 1.1 those above 1 are capped, to a mean of
// 3/4; without the cap it would be 7/4.
func TestBreakpointIsHeld(t *testing.T) {
	var tokens []Token
	for _, x := range []float64{.5, 1, 2} {
		tokens = append(tokens, Token{Advantage: 1, LogRatio: x, Count: 1}, Token{Advantage: -1, LogRatio: -x, Count: 1})
	}
	r := releasedRule{1.1}.Limit(tokens, ones(6))
	for i, held := range []bool{false, false, true, true, true, true} {
		if _, slope := r.term(tokens[i].LogRatio, tokens[i].Advantage); (slope == 0) != held {
			t.Errorf("ln r = %v: slope %v, held %v is wanted", tokens[i].LogRatio, slope, held)
		}
	}
}

// TestTruncatedWeights: the slope is min(1, r) A, and the value its integral.
func TestTruncatedWeights(t *testing.T) {
	r := truncatedWeights{}.Limit(nil, nil)
	for _, a := range []float64{2, -3} {
		for x := -2.0; x <= 2; x += .25 {
			_, slope := r.term(x, a)
			if want := a * math.Min(1, math.Exp(x)); slope != want {
				t.Errorf("ln r = %v: slope %v, want %v", x, slope, want)
			}
			const h = 1e-5
			up, _ := r.term(x+h, a)
			down, _ := r.term(x-h, a)
			if got := (up - down) / (2 * h); !(math.Abs(got-slope) < 1e-4) {
				t.Errorf("ln r = %v: difference %v, slope %v", x, got, slope)
			}
		}
	}
}

// regions has every trust region, with limits that bind on a workbench.
var regions = []TrustRegion{
	paperRule{.04}, releasedRule{.04}, arealRule{.02, clipRange{.2}}, clipRange{.2}, noRegion{}, truncatedWeights{},
}

// recalled is what another region said once.
type recalled struct {
	kept []float64
	r    Range
}

func (f recalled) Limit(_ []Token, kept []float64) Range {
	copy(kept, f.kept)
	return f.r
}

// eachRegion calls f for every policy, three estimators and every region, on a
// workbench that has moved since the start of its step.
func eachRegion(t *testing.T, f func(name string, w *workbench)) {
	r := newRand(31)
	for _, text := range policySpecs {
		for _, e := range []string{"grpo", "rloo", "reinforce:baseline=0.3"} {
			for _, region := range regions {
				o := DefaultObjective()
				o.Estimator, o.TokenMean = estimator(t, e), e == "rloo"
				w := newWorkbench(t, text, o, r)
				if err := w.updater.Trust(region); err != nil {
					t.Fatal(err)
				}
				w.updater.begin([][]Group{w.groups})
				scatter(w.policy, r, .2)
				f(fmt.Sprintf("%s, %s, %T", text, e, region), w)
			}
		}
	}
}

// TestTrustObjective works the objective out rollout by rollout, each of its
// tokens a Token of its own. Then what the region said is kept, its range made
// tighter by 1/1000, since the released rule's ends where a token is, and the
// gradient compared with central differences (see TestGradient).
func TestTrustObjective(t *testing.T) {
	masked, held := 0, 0
	eachRegion(t, func(name string, w *workbench) {
		u := w.updater
		theta := w.policy.Parameters()
		gradient := func() (float64, []float64, error) {
			grad := make([]float64, len(theta))
			v, err := u.gradient(grad, w.groups, w.oldLogProbs)
			return v, grad, err
		}
		got, _, err := gradient()
		if err != nil {
			t.Fatal(name, err)
		}
		want, m, h := trustByRollout(t, w)
		masked, held = masked+m, held+h
		if !(math.Abs(got-want) < 1e-12) {
			t.Errorf("%s: objective %v, want %v", name, got, want)
		}
		r := u.limits
		r.Low, r.High = r.Low*1.001, r.High/1.001
		u.trust = recalled{slices.Clone(u.kept), r}
		_, grad, err := gradient()
		if err != nil {
			t.Fatal(name, err)
		}
		value := func(i int, h float64) float64 {
			at := theta[i]
			theta[i] = at + h
			v, _, err := gradient()
			theta[i] = at
			if err != nil {
				t.Fatal(name, err)
			}
			return v
		}
		for i := range theta {
			const h = 1e-5
			if want := (value(i, h) - value(i, -h)) / (2 * h); !(math.Abs(grad[i]-want) < 1e-8) {
				t.Errorf("%s: gradient %v by parameter %d, want %v", name, grad[i], i, want)
			}
		}
	})
	if masked < 100 || held < 100 {
		t.Errorf("%d tokens masked and %d held, want many", masked, held)
	}
}

// trustByRollout returns the objective of a workbench, and how many tokens are
// masked and held at the edge of the range.
func trustByRollout(t *testing.T, w *workbench) (objective float64, masked, held int) {
	t.Helper()
	u := w.updater
	var tokens []Token
	var share []float64 // of every token in the objective
	total := 0.0
	for _, g := range w.groups {
		n, _ := size(w.policy.Outcomes(g.X), g.Counts)
		total += float64(n) * g.Weight
	}
	begin := u.start
	for _, g := range w.groups {
		outcomes, now, old := w.policy.Outcomes(g.X), w.policy.LogProbs(nil, g.X), w.old[g.X]
		var rewards []float64
		for k, c := range g.Counts {
			for range c {
				rewards = append(rewards, map[bool]float64{true: 1}[outcomes[k].Correct])
			}
		}
		a := make([]float64, len(rewards))
		if err := u.objective.Estimator.Advantages(a, rewards); err != nil {
			t.Fatal(err)
		}
		tok := 0
		for k, o := range outcomes {
			for range g.Counts[k] {
				advantage := a[0]
				if !math.IsNaN(g.Baseline) {
					advantage = rewards[0] - g.Baseline
				}
				a, rewards = a[1:], rewards[1:]
				for i := tok; i < tok+o.Tokens && g.Weight > 0; i++ {
					tokens = append(tokens, Token{advantage, now[i] - old[i], begin[i] - old[i], 1})
					s := g.Weight / total
					if u.objective.TokenMean {
						s /= float64(o.Tokens)
					}
					share = append(share, s)
				}
			}
			tok += o.Tokens
		}
		begin = begin[tok:]
	}
	kept := ones(len(tokens))
	r := u.trust.Limit(tokens, kept)
	for i, k := range tokens {
		v, slope := r.term(k.LogRatio, k.Advantage)
		objective += share[i] * kept[i] * v
		if kept[i] == 0 {
			masked++
		} else if slope == 0 && k.Advantage != 0 {
			held++
		}
	}
	return objective, masked, held
}

// TestTrustRefuses: two limits on the same ratios are a mistake.
func TestTrustRefuses(t *testing.T) {
	o := DefaultObjective()
	o.ClipHigh = .2
	w := newWorkbench(t, "logit", o, newRand(1))
	if err := w.updater.Trust(paperRule{.04}); err == nil {
		t.Error("a trust region is accepted beside clipping")
	}
}
