package theory

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"sync"
	"testing"

	"vigorlab/distributions"
	"vigorlab/sim/schedule"
)

// The golden values come from testdata/golden.py, which shares no code or
// method with this package; testdata/golden.json names its tool and version.
type golden struct {
	Tool      string
	EtaPareto []struct {
		Kappa, Alpha, Gamma float64
		Rounds              int
		Eta                 *float64 // nil where it passes float64
	} `json:"eta_pareto"`
	EtaTruncated []struct {
		Kappa, Umin, Umax, Alpha, Gamma float64
		Rounds                          int
		Eta                             float64
	} `json:"eta_truncated"`
	Caps []struct {
		Schedule planSpec
		Batch    int // 0: infinite
		Cap      float64
	}
	ParetoTop []struct {
		Kappa    float64
		N, Batch int
		Mean     float64
	} `json:"pareto_top"`
	ParetoOrder []struct {
		Kappa float64
		R, N  int
		Mean  float64
	} `json:"pareto_order"`
	EtaFinite []struct {
		Population populationSpec
		Schedule   planSpec
		Batch      int
		Eta        float64
	} `json:"eta_finite"`
	EtaPerfect []struct {
		Population     populationSpec
		Alpha, Gamma   float64
		Rounds         int
		Eta, Survivors float64
		Cap            float64 // 1/E[u]
	} `json:"eta_perfect"`
	MeanField  []fieldRow `json:"mean_field"`
	FixedField []fieldRow `json:"fixed_field"`
	Objectives []struct {
		Population populationSpec
		Schedule   planSpec
		Cosine     float64   // with groups of 8
		Starved    []float64 // in 1, 2 and 5 epochs
		Atoms      []struct {
			P, Weight float64
			Shares    []float64
		}
	}
	MeanSigma []struct {
		G       int
		P, Mean float64
	} `json:"mean_sigma"`
	Gradients []struct {
		Tokens, Jacobian, Std float64
		Razin, Linear, Sharp  float64
	}
	Advantages []struct {
		Estimator Estimator
		G, S      int
		Delta     float64
		Coding    Coding
		Sum       float64
	}
	Graded []struct {
		Rewards []float64
		Factor  float64
	}
	Times []struct {
		Gain, Tokens, Jacobian, Variance            float64
		Lambda                                      float64
		Razin, General, Binary, Normalised, Tabular float64
	}
}

type fieldRow struct {
	Population         populationSpec
	Schedule           planSpec
	Mean               float64 // of fixed groups
	Frontier           float64
	Rollouts, Trained  float64
	MeanGroup          float64 `json:"mean_group"`
	Eta                float64
	EtaGenerated       float64 `json:"eta_generated"`
	Signal             float64
	SignalPromptMean   float64 `json:"signal_prompt_mean"`
	Ineffective        float64
	ZeroVarianceGroups float64 `json:"zero_variance_groups"`
	Progress           float64
	Sizes              []SizeShare
	Screening          []struct {
		FalseOmission *float64 `json:"false_omission"`
		FalseNegative *float64 `json:"false_negative"`
		Cumulative    *float64
	}
}

type planSpec struct {
	M0, Rounds                        int
	Alpha, Gamma, Cut, Select, Update string
	Reuse                             bool
}

func (p planSpec) plan() schedule.Vigor {
	return schedule.Vigor{
		M0: p.M0, Rounds: p.Rounds, Alpha: schedule.MustRatio(p.Alpha), Gamma: schedule.MustRatio(p.Gamma),
		Ties: schedule.TiesRandom, Cut: p.Cut, Select: p.Select, Update: p.Update, Reuse: p.Reuse,
	}
}

type populationSpec struct {
	Name                  string
	A, B                  float64
	Shape, Min, Max, Hard float64
	Dead, Solved          float64
	Atoms                 []struct{ P, W float64 }
}

func (p populationSpec) variance(t *testing.T) distributions.VarianceLaw {
	t.Helper()
	if p.Name != "pareto" {
		return p.law(t)
	}
	// eta does not depend on the lower end
	return must(distributions.NewUnboundedPareto(p.Shape, 0.01))
}

func (p populationSpec) law(t *testing.T) distributions.Law {
	t.Helper()
	switch p.Name {
	case "beta":
		return must(distributions.NewBeta(p.A, p.B))
	case "pareto-variance":
		return must(distributions.NewParetoVariance(p.Shape, p.Min, p.Max, p.Hard))
	case "spiked-beta":
		return must(distributions.NewSpikedBeta(p.Dead, p.Solved, p.A, p.B))
	case "atoms":
		var nodes []distributions.Node
		for _, a := range p.Atoms {
			nodes = append(nodes, distributions.Node(a))
		}
		return must(distributions.NewAtoms(nodes))
	}
	t.Fatalf("unknown population %q", p.Name)
	return nil
}

// must is for arguments that a test knows to be valid.
func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

var loadGolden = sync.OnceValues(func() (*golden, error) {
	text, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		return nil, err
	}
	g := &golden{}
	return g, json.Unmarshal(text, g)
})

func goldenValues(t *testing.T) *golden {
	t.Helper()
	g, err := loadGolden()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// accuracy is what this package promises against golden values, relatively.
const accuracy = 1e-10

// A ruler checks relative errors and reports the largest one.
type ruler struct {
	t     *testing.T
	worst float64
	where string
	count int
}

func newRuler(t *testing.T) *ruler {
	r := &ruler{t: t}
	t.Cleanup(func() { t.Logf("%d values, largest relative error %.2g at %s", r.count, r.worst, r.where) })
	return r
}

// check compares got with want, relatively, or absolutely where want is 0.
func (r *ruler) check(got, want float64, where string, args ...any) {
	r.t.Helper()
	r.count++
	e := math.Abs(got - want)
	if want != 0 {
		e /= math.Abs(want)
	}
	where = fmt.Sprintf(where, args...)
	if e > r.worst || math.IsNaN(e) {
		r.worst, r.where = e, where
	}
	if !(e <= accuracy) {
		r.t.Errorf("%s = %v, want %v: relative error %.2g", where, got, want, e)
	}
}

// exists compares got, NaN where it does not exist, with want, then nil.
func (r *ruler) exists(got float64, want *float64, where string, args ...any) {
	r.t.Helper()
	if want == nil {
		if !math.IsNaN(got) {
			r.t.Errorf("%s = %v, want none", fmt.Sprintf(where, args...), got)
		}
		return
	}
	r.check(got, *want, where, args...)
}

func TestEtaParetoGolden(t *testing.T) {
	r := newRuler(t)
	for _, c := range goldenValues(t).EtaPareto {
		eta, err := EtaPareto(c.Kappa, c.Alpha, c.Gamma, c.Rounds)
		if (err != nil) != (c.Eta == nil) {
			t.Errorf("%+v: error %v", c, err)
			continue
		}
		r.exists(eta, c.Eta, "EtaPareto(%v, %v, %v, %d)", c.Kappa, c.Alpha, c.Gamma, c.Rounds)
	}
}

func TestEtaTruncatedParetoGolden(t *testing.T) {
	r := newRuler(t)
	for _, c := range goldenValues(t).EtaTruncated {
		eta, err := EtaTruncatedPareto(c.Kappa, c.Umin, c.Umax, c.Alpha, c.Gamma, c.Rounds)
		if err != nil {
			t.Errorf("%+v: %v", c, err)
		}
		r.check(eta, c.Eta, "EtaTruncatedPareto(%v, %v, %v, %v, %v, %d)", c.Kappa, c.Umin, c.Umax, c.Alpha, c.Gamma, c.Rounds)
	}
}

func TestCapsGolden(t *testing.T) {
	r := newRuler(t)
	for _, c := range goldenValues(t).Caps {
		v := c.Schedule.plan()
		if c.Batch == 0 {
			r.check(must(CapLawFree(v)), c.Cap, "CapLawFree(%+v)", c.Schedule)
			continue
		}
		r.check(must(CapBatch(v, c.Batch)), c.Cap, "CapBatch(%+v, %d)", c.Schedule, c.Batch)
	}
}

func TestParetoOrderStatisticsGolden(t *testing.T) {
	r := newRuler(t)
	for _, c := range goldenValues(t).ParetoTop {
		r.check(paretoTopMean(c.Kappa, c.N, c.Batch), c.Mean, "paretoTopMean(%v, %d, %d)", c.Kappa, c.N, c.Batch)
	}
	for _, c := range goldenValues(t).ParetoOrder {
		r.check(must(ParetoOrderMean(c.Kappa, c.R, c.N)), c.Mean, "ParetoOrderMean(%v, %d, %d)", c.Kappa, c.R, c.N)
	}
}

func TestEtaFiniteBatchGolden(t *testing.T) {
	r := newRuler(t)
	for _, c := range goldenValues(t).EtaFinite {
		eta, err := EtaFiniteBatch(c.Population.variance(t), c.Schedule.plan(), c.Batch)
		if err != nil {
			t.Errorf("%+v: %v", c, err)
		}
		r.check(eta, c.Eta, "EtaFiniteBatch(%+v, %+v, %d)", c.Population, c.Schedule, c.Batch)
	}
}

func TestEtaPerfectGolden(t *testing.T) {
	r := newRuler(t)
	for _, c := range goldenValues(t).EtaPerfect {
		law := c.Population.law(t)
		r.check(must(EtaPerfect(law, c.Alpha, c.Gamma, c.Rounds)), c.Eta, "EtaPerfect(%+v, %v, %v, %d)", c.Population, c.Alpha, c.Gamma, c.Rounds)
		r.check(must(EtaPerfectSurvivors(law, c.Alpha, c.Rounds)), c.Survivors, "EtaPerfectSurvivors(%+v, %v, %d)", c.Population, c.Alpha, c.Rounds)
		r.check(must(CapLaw(law)), c.Cap, "CapLaw(%+v)", c.Population)
	}
}

func TestMeanFieldGolden(t *testing.T) {
	r := newRuler(t)
	for _, c := range goldenValues(t).MeanField {
		m, err := VigorMeanField(c.Population.law(t), c.Schedule.plan(), c.Frontier, DefaultNodes)
		if err != nil {
			t.Errorf("%+v %+v: %v", c.Population, c.Schedule, err)
			continue
		}
		checkField(r, m, c)
		if !(m.MassError <= 1e-12) {
			t.Errorf("%+v %+v: mass is missed by %v", c.Population, c.Schedule, m.MassError)
		}
	}
}

func checkField(r *ruler, m *MeanField, c fieldRow) {
	r.t.Helper()
	at := fmt.Sprintf("%+v %+v %v", c.Population, c.Schedule, c.Frontier)
	r.check(m.Rollouts, c.Rollouts, "%s rollouts", at)
	r.check(m.Trained, c.Trained, "%s trained", at)
	r.check(m.MeanGroup, c.MeanGroup, "%s mean group", at)
	r.check(m.Eta, c.Eta, "%s eta", at)
	r.check(m.EtaGenerated, c.EtaGenerated, "%s eta generated", at)
	checkRewards(r, m, c, at)
	for i, s := range c.Sizes {
		if m.GroupSizes[i].Size != s.Size {
			r.t.Errorf("%s: size %d, want %d", at, m.GroupSizes[i].Size, s.Size)
		}
		r.check(m.GroupSizes[i].Share, s.Share, "%s share of size %d", at, s.Size)
	}
	if len(m.Screening) != len(c.Screening) {
		r.t.Fatalf("%s: %d cuts, want %d", at, len(m.Screening), len(c.Screening))
	}
	for i, s := range c.Screening {
		r.exists(m.Screening[i].FalseOmission, s.FalseOmission, "%s false omission %d", at, i+1)
		r.exists(m.Screening[i].FalseNegative, s.FalseNegative, "%s false negative %d", at, i+1)
		r.exists(m.Screening[i].FalseNegativeCumulative, s.Cumulative, "%s cumulative %d", at, i+1)
	}
}

func checkRewards(r *ruler, m *MeanField, c fieldRow, at string) {
	r.t.Helper()
	r.check(m.Signal, c.Signal, "%s signal", at)
	r.check(m.SignalPromptMean, c.SignalPromptMean, "%s prompt-mean signal", at)
	r.check(m.Ineffective, c.Ineffective, "%s ineffective", at)
	r.check(m.ZeroVarianceGroups, c.ZeroVarianceGroups, "%s zero-variance groups", at)
	r.check(m.Progress, c.Progress, "%s progress", at)
}

func TestFixedMeanFieldGolden(t *testing.T) {
	r := newRuler(t)
	for _, c := range goldenValues(t).FixedField {
		m := must(FixedMeanField(c.Population.law(t), c.Mean, 0.75, DefaultNodes))
		at := fmt.Sprintf("%+v mean %v", c.Population, c.Mean)
		checkRewards(r, m, c, at)
		r.check(m.Rollouts, c.Mean, "%s rollouts", at)
		r.check(m.Eta, 1, "%s eta", at)
	}
}

// TestObjectivesGolden checks what theory.md, section 4.6, makes of the
// allocation: its implicit objective, and who starves.
func TestObjectivesGolden(t *testing.T) {
	r := newRuler(t)
	for _, c := range goldenValues(t).Objectives {
		at := fmt.Sprintf("%+v %+v", c.Population, c.Schedule)
		// Without a frontier both rules have the same nodes.
		m := must(VigorMeanField(c.Population.law(t), c.Schedule.plan(), 0, DefaultNodes))
		fixed := must(FixedMeanField(c.Population.law(t), 8, 0, DefaultNodes))
		r.check(must(ObjectiveCosine(m, fixed)), c.Cosine, "%s cosine", at)
		for i, epochs := range []int{1, 2, 5} {
			r.check(m.Starved(epochs), c.Starved[i], "%s starved in %d epochs", at, epochs)
		}
		if s := fixed.Starved(2); s != 0 {
			t.Errorf("%s: %v of fixed groups starve, want none", at, s)
		}
		for i, a := range c.Atoms {
			n := m.Allocation[i]
			r.check(n.ImplicitWeight(), a.Weight, "%s implicit weight at p = %v", at, a.P)
			for k, share := range a.Shares {
				r.check(n.Shares[k], share, "%s share of size %d at p = %v", at, m.GroupSizes[k].Size, a.P)
			}
		}
	}
}

func TestExpectedGradientsGolden(t *testing.T) {
	r := newRuler(t)
	for _, c := range goldenValues(t).Gradients {
		p := Policy{c.Tokens, c.Jacobian}
		r.check(must(p.GradientRazin2024(c.Std)), c.Razin, "GradientRazin2024 %+v", c)
		r.check(must(p.GradientLinear(c.Std)), c.Linear, "GradientLinear %+v", c)
		r.check(must(p.GradientSharp(c.Std)), c.Sharp, "GradientSharp %+v", c)
	}
}

func TestMeanSigmaGolden(t *testing.T) {
	r := newRuler(t)
	for _, c := range goldenValues(t).MeanSigma {
		r.check(must(MeanSigma(c.G, c.P)), c.Mean, "MeanSigma(%d, %v)", c.G, c.P)
		r.check(must(OneLogitGradient(c.G, c.P)), c.Mean/2, "OneLogitGradient(%d, %v)", c.G, c.P)
	}
}

func TestAdvantagesGolden(t *testing.T) {
	r := newRuler(t)
	for _, c := range goldenValues(t).Advantages {
		g := Group{c.G, c.S}
		r.check(must(SumAbsAdvantages(c.Estimator, g, c.Delta, c.Coding)), c.Sum, "SumAbsAdvantages(%+v)", c)
		r.check(must(BoundFactor(c.Estimator, g, c.Delta, c.Coding)), c.Sum/float64(c.G), "BoundFactor(%+v)", c)
	}
	for _, c := range goldenValues(t).Graded {
		r.check(must(GradedFactor(c.Rewards)), c.Factor, "GradedFactor(%v)", c.Rewards)
	}
}

func TestTimesGolden(t *testing.T) {
	r := newRuler(t)
	for _, c := range goldenValues(t).Times {
		f := Flow{c.Gain, c.Tokens, c.Jacobian}
		r.check(must(f.TimeRazin2025(c.Variance, c.Lambda)), c.Razin, "TimeRazin2025 %+v", c)
		r.check(must(f.TimeGeneral(c.Variance)), c.General, "TimeGeneral %+v", c)
		r.check(must(f.TimeBinary(c.Variance)), c.Binary, "TimeBinary %+v", c)
		r.check(must(f.TimeNormalised(c.Variance)), c.Normalised, "TimeNormalised %+v", c)
		r.check(must(TimeTabular(c.Gain, 12, c.Variance)), c.Tabular, "TimeTabular %+v", c)
	}
}
