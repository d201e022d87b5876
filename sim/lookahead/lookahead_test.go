package lookahead

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

func beta(t testing.TB, a, b float64, most int) *Prior {
	t.Helper()
	p, err := Beta(a, b, most)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func near(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol*math.Max(1, math.Abs(want))) {
		t.Errorf("%s = %.15g, want %.15g", what, got, want)
	}
}

// TestPlansGolden: what to ask of every outcome, what that is worth and what it
// spends, from testdata/lookahead.py.
func TestPlansGolden(t *testing.T) {
	text, err := os.ReadFile("testdata/lookahead.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Plans []struct {
			A, B, Price float64
			Rounds, Max int
			Rows        [][5]float64 // n, s, worth, ask, spend
		}
	}
	if err := json.Unmarshal(text, &golden); err != nil {
		t.Fatal(err)
	}
	asked := 0
	for _, c := range golden.Plans {
		var p Plan
		for range 2 { // the second time in buffers that hold the first
			p.Make(beta(t, c.A, c.B, c.Max), c.Rounds, 1, c.Price)
		}
		for _, row := range c.Rows {
			n, s := int(row[0]), int(row[1])
			near(t, "worth", p.Worth(n, s), row[2], 1e-11)
			near(t, "spend", p.Spend(n, s), row[4], 1e-11)
			if got := p.Ask(n, s); got != int(row[3]) {
				t.Errorf("Beta(%v, %v), %d rounds, price %v: %d of %d is asked %d, want %v", c.A, c.B, c.Rounds, c.Price, s, n, got, row[3])
			}
			asked += p.Ask(n, s)
		}
	}
	if asked == 0 {
		t.Error("nothing is asked in any plan: a test of nothing")
	}
}

// TestMoments: h(n, s) = h(n+1, s) + h(n+1, s+1), since the next rollout is a
// success or not; Beta(2, 1) has density 2p, hence h(1, 1) = 2/3, h(3, 1) = 2
// (1/3 - 2/4 + 1/5) = 1/15; atoms by hand, dead and solved prompts too.
func TestMoments(t *testing.T) {
	two := beta(t, 2, 1, 5)
	near(t, "h(1, 1)", two.Moment(1, 1), 2./3, 1e-15)
	near(t, "h(3, 1)", two.Moment(3, 1), 1./15, 1e-15)
	atoms, err := Atoms([]float64{0, 0.25, 1}, []float64{0.5, 0.25, 0.25}, 5)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "h(2, 0)", atoms.Moment(2, 0), 0.5+0.25*0.5625, 1e-15)
	near(t, "h(2, 1)", atoms.Moment(2, 1), 0.25*0.1875, 1e-15)
	near(t, "h(2, 2)", atoms.Moment(2, 2), 0.25*0.0625+0.25, 1e-15)
	for _, p := range []*Prior{two, atoms, beta(t, 0x1p-6, 16, MostRollouts)} {
		near(t, "h(0, 0)", p.Moment(0, 0), 1, 0)
		for n := range p.Max() + 2 {
			for s := range n + 1 {
				near(t, "h", p.Moment(n+1, s)+p.Moment(n+1, s+1), p.Moment(n, s), 1e-14)
			}
		}
	}
}

// value is what a way to ask is worth less its price, given s of n: by the
// predictive probabilities, one rollout at a time.
func value(p *Prior, ask func(round, n, s int) int, rounds, n, s int, price float64) float64 {
	var draw func(m, n, s int) float64
	draw = func(m, n, s int) float64 {
		if m == 0 {
			return value(p, ask, rounds-1, n, s, price)
		}
		up := p.Moment(n+1, s+1) / p.Moment(n, s)
		return up*draw(m-1, n+1, s+1) + (1-up)*draw(m-1, n+1, s)
	}
	if rounds == 0 {
		return 4 * p.Moment(n+2, s+1) / p.Moment(n, s) * 2 * math.Sqrt(float64(s*(n-s)))
	}
	m := ask(rounds, n, s)
	return draw(m, n, s) - price*float64(m)
}

// TestNothingIsBetter: no way to ask is worth more than the plan, among 300
// random ones, each with its own number for every round and outcome, and among
// all that differ from the plan in one place of the first round.
func TestNothingIsBetter(t *testing.T) {
	const most, rounds, price = 6, 2, 0.2
	p := beta(t, 0.5, 1, most)
	stages := make([]Plan, rounds+1)
	for left := 1; left <= rounds; left++ {
		stages[left].Make(p, left, 0, price)
	}
	planned := func(left, n, s int) int { return stages[left].Ask(n, s) }
	best := stages[rounds].Worth(0, 0)
	near(t, "worth of the plan", value(p, planned, rounds, 0, 0, price), best, 1e-13)
	r := rand.New(rand.NewPCG(1, 20260101))
	for range 300 {
		var asks [rounds + 1][most + 1][most + 1]int
		for left := range asks {
			for n := range asks[left] {
				for s := range n + 1 {
					asks[left][n][s] = r.IntN(most - n + 1)
				}
			}
		}
		if got := value(p, func(left, n, s int) int { return asks[left][n][s] }, rounds, 0, 0, price); got > best+1e-12 {
			t.Fatalf("asking %v is worth %v, more than the plan's %v", asks, got, best)
		}
	}
	for m := range most + 1 {
		got := value(p, func(left, n, s int) int {
			if left == rounds {
				return m
			}
			return planned(left, n, s)
		}, rounds, 0, 0, price)
		if got > best+1e-12 {
			t.Errorf("%d rollouts first are worth %v, more than the plan's %v", m, got, best)
		}
	}
}

// TestPrices: what is spent does not rise with the price, and the two plans are
// on either side of the budget.
func TestPrices(t *testing.T) {
	p := beta(t, 0.25, 0.5, 20)
	mass := make([]float64, Cells(20))
	mass[Cell(2, 0)], mass[Cell(2, 1)], mass[Cell(2, 2)], mass[Cell(5, 2)] = 30, 8, 10, 3
	var plan Plan
	before := math.Inf(1)
	for _, price := range []float64{1e-9, 1e-3, 0.03, 0.1, 0.3, 0.5, 0.7, 0.9, 1.1, 3} {
		plan.Make(p, 3, 2, price)
		total := plan.Total(mass, 2)
		if total > before+1e-9 {
			t.Errorf("price %v: %v rollouts, more than %v at a lower price", price, total, before)
		}
		before = total
	}
	var plans Plans
	for _, budget := range []float64{0, 1, 10.5, 100, 300, 900} {
		plans.Find(p, 3, 2, mass, budget)
		low, high := plans.Low.Total(mass, 2), plans.High.Total(mass, 2)
		if !(high <= budget && budget <= low+1e-9) {
			t.Errorf("budget %v: %v and %v rollouts, want it between", budget, high, low)
		}
	}
}

// TestGridWeights: with 7 mixed pairs and 3 solved ones the weights are, but for
// a factor, (ab)^7 (a(a+1))^3 / ((a+b)(a+b+1))^10. A law of the grid that all
// prompts of an infinite batch come from is learnt, and after one rollout each the
// mean of all with its success probability: 1/3 is that of a = b/2, 12 laws.
func TestGridWeights(t *testing.T) {
	g, err := NewGrid(8)
	if err != nil {
		t.Fatal(err)
	}
	mass := make([]float64, Cells(8))
	mass[Cell(2, 1)], mass[Cell(2, 2)] = 7, 3
	sum, want := 0.0, make([]float64, len(g.A))
	for i, a := range g.A {
		b := g.B[i]
		want[i] = math.Pow(a*b, 7) * math.Pow(a*(a+1), 3) / math.Pow((a+b)*(a+b+1), 10)
		sum += want[i]
	}
	for i, w := range g.Weights(mass) {
		near(t, "weight", w, want[i]/sum, 2*negligible)
	}
	for i, law := range g.laws {
		for n := 5; n <= 8; n++ { // what groups of 5 to 8 show in an infinite batch
			clear(mass)
			ways := 1.0
			for s := range n + 1 {
				mass[Cell(n, s)] = ways * law.Moment(n, s)
				ways *= float64(n-s) / float64(s+1)
			}
			var p Prior
			if g.LearnAll(&p, mass); p.Moment(8, 4) != law.Moment(8, 4) {
				t.Errorf("groups of %d from Beta(%v, %v) are taken for another law's", n, g.A[i], g.B[i])
			}
		}
	}
	clear(mass)
	mass[Cell(1, 0)], mass[Cell(1, 1)] = 2./3, 1./3
	mean := 0.0
	for i, a := range g.A {
		if b := g.B[i]; b == 2*a {
			mean += a * b / ((a + b) * (a + b + 1)) / 12
		}
	}
	var p Prior
	g.LearnAll(&p, mass)
	near(t, "h(2, 1)", p.Moment(2, 1), mean, 1e-12)
}

func TestRefusals(t *testing.T) {
	nan := math.NaN()
	fails := func(err error, want ...string) {
		t.Helper()
		for _, w := range want {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("error %v, want %q in it", err, w)
			}
		}
	}
	_, err := Beta(0, nan, 257)
	fails(err, "a = 0, want", "b = NaN, want", "max = 257, want a whole number in [1, 256]")
	_, err = NewGrid(0)
	fails(err, "max = 0")
	_, err = Atoms([]float64{0.5}, nil, 4)
	fails(err, "1 atoms with 0 weights")
	_, err = Atoms([]float64{nan}, []float64{1}, 4)
	fails(err, "p = NaN")
	_, err = Atoms([]float64{0.5}, []float64{nan}, 4)
	fails(err, "weight NaN")
	_, err = Atoms([]float64{0.5}, []float64{1}, -1)
	fails(err, "max = -1")
}

func BenchmarkFind(b *testing.B) {
	g, err := NewGrid(30)
	if err != nil {
		b.Fatal(err)
	}
	mass := make([]float64, Cells(30))
	mass[Cell(2, 0)], mass[Cell(2, 1)], mass[Cell(2, 2)] = 30, 14, 20
	var p Prior
	var plans Plans
	b.ReportAllocs()
	for b.Loop() {
		g.Learn(&p, mass)
		plans.Find(&p, 3, 2, mass, 384)
	}
}
