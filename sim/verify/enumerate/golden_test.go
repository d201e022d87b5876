package enumerate

import (
	"encoding/json"
	"os"
	"strconv"
	"testing"

	"vigorlab/sim/schedule"
)

// A goldenCase is one entry of testdata/golden.json, made by testdata/golden.py:
// counts merged and cuts sorted, in exact fractions. That the two agree shows
// that merging counts changes nothing.
type goldenCase struct {
	Name     string
	P        []string
	Law      [][2]string
	Batch    int
	M0       int
	Rounds   int
	Alpha    string
	Gamma    string
	Ties     string
	Cut      string
	Select   string
	Update   string
	Reuse    bool
	Frontier string
	Figures  map[string]*string

	SizeVectors []struct {
		Sizes       []int
		Probability string
	} `json:"size_vectors"`
}

func (c goldenCase) schedule() schedule.Vigor {
	return schedule.Vigor{
		M0: c.M0, Rounds: c.Rounds, Alpha: schedule.MustRatio(c.Alpha), Gamma: schedule.MustRatio(c.Gamma),
		Ties: c.Ties, Cut: c.Cut, Select: c.Select, Update: c.Update, Reuse: c.Reuse,
	}
}

func (c goldenCase) population(t *testing.T) Population {
	t.Helper()
	if c.P != nil {
		var p []float64
		for _, text := range c.P {
			p = append(p, number(t, text))
		}
		return prompts(t, p...)
	}
	var atoms []Atom
	for _, a := range c.Law {
		atoms = append(atoms, Atom{P: number(t, a[0]), W: number(t, a[1])})
	}
	pop, err := Draws(c.Batch, atoms...)
	if err != nil {
		t.Fatal(err)
	}
	return pop
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// figures names the figures of a result as golden.py does.
func figures(r *Result) map[string]float64 {
	f := map[string]float64{
		"Probability": r.Probability, "MeanU": r.MeanU, "Generated": r.Generated, "Trained": r.Trained, "Weight": r.Weight,
		"Eta": r.Eta, "EtaGenerated": r.EtaGenerated, "EtaBatchMean": r.EtaBatchMean,
		"Signal": r.Signal, "SignalPromptMean": r.SignalPromptMean, "Ineffective": r.Ineffective,
		"ZeroVarianceGroups": r.ZeroVarianceGroups, "Progress": r.Progress,
	}
	for _, s := range r.Screening {
		cut := strconv.Itoa(s.Round)
		f["FalseOmission"+cut] = s.FalseOmission
		f["FalseNegative"+cut] = s.FalseNegative
		f["FalseNegativeCumulative"+cut] = s.FalseNegativeCumulative
	}
	return f
}

func TestGolden(t *testing.T) {
	text, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct{ Cases []goldenCase }
	if err := json.Unmarshal(text, &golden); err != nil {
		t.Fatal(err)
	}
	if len(golden.Cases) == 0 {
		t.Fatal("no golden case")
	}
	for _, c := range golden.Cases {
		t.Run(c.Name, func(t *testing.T) {
			r := enumerated(t, c.population(t), c.schedule(), number(t, c.Frontier))
			got := figures(r)
			if len(got) != len(c.Figures) {
				t.Errorf("%d figures, want %d", len(got), len(c.Figures))
			}
			for name, want := range c.Figures {
				if want == nil {
					near(t, name, got[name], ratio(0, 0))
					continue
				}
				near(t, name, got[name], number(t, *want))
			}
			var vectors []SizeVector
			for _, v := range c.SizeVectors {
				vectors = append(vectors, SizeVector{Sizes: v.Sizes, Probability: number(t, v.Probability)})
			}
			nearVectors(t, r.SizeVectors, vectors)
		})
	}
}
