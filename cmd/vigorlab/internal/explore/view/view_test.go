package view

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"vigorlab/sim/schedule"
	"vigorlab/sim/strategy"
	"vigorlab/theory"
)

// TestUniformGolden holds the curves of the default schedule on the uniform law
// against testdata/view.py, which follows every number of successes in fractions.
func TestUniformGolden(t *testing.T) {
	var want struct {
		Rollouts float64 // share of the prompts with p in [1/4, 3/4]
		Curve    []Point
		Eta      float64
	}
	golden(t, &want)
	v := look(t, Query{"uniform", 2, 4, "0.5", "2"})
	near(t, "prompts", v.Curves.Prompts, 0.5)
	near(t, "rollouts", v.Curves.Rollouts, want.Rollouts)
	near(t, "fixed", v.Curves.Fixed, 8)
	near(t, "eta", figure(t, v, "eta.noisy").Value, want.Eta)
	for _, p := range want.Curve {
		// Between two nodes that are drawn, less than closest apart and with a slope
		// below 70 rollouts over p, a line is off by less than 0.01.
		if got := at(v.Curves.Sampled, p.P); !(math.Abs(got-p.Rollouts) < 0.01) {
			t.Errorf("at p = %v it draws %v rollouts, want %v", p.P, got, p.Rollouts)
		}
	}
	for _, p := range []Point{{0.1, 2}, {0.3, 6}, {0.4, 14}, {0.5, 30}, {0.55, 30}, {0.6, 14}, {0.7, 6}, {0.9, 2}} { // |p - 1/2| <= 2^-(t+1) stays for round t+1
		near(t, fmt.Sprintf("ranked by the truth, p = %v", p.P), at(v.Curves.Perfect, p.P), p.Rollouts)
	}
}

func golden(t *testing.T, into any) {
	t.Helper()
	content, err := os.ReadFile("testdata/view.json")
	if err == nil {
		err = json.Unmarshal(content, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// at returns the height of the line drawn through the points.
func at(curve []Point, p float64) float64 {
	for i, b := range curve {
		if b.P < p {
			continue
		}
		if i == 0 {
			return b.Rollouts
		}
		a := curve[i-1]
		return a.Rollouts + (p-a.P)/(b.P-a.P)*(b.Rollouts-a.Rollouts)
	}
	return math.NaN()
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-12*max(1, math.Abs(want))) {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

func look(t *testing.T, q Query) *View {
	t.Helper()
	v, err := Look(q)
	if err != nil {
		t.Fatalf("%+v: %v", q, err)
	}
	return v
}

func figure(t *testing.T, v *View, key string) Figure {
	t.Helper()
	for _, f := range v.Figures {
		if f.Key == key {
			return f
		}
	}
	t.Fatalf("no figure %s", key)
	return Figure{}
}

// TestFaultsAreTheCommands compares every schedule that the sliders can show with
// the strategy that `vigorlab theory` would read.
func TestFaultsAreTheCommands(t *testing.T) {
	refused, large := 0, 0
	for m0 := 1; m0 <= 16; m0++ {
		for rounds := 1; rounds <= 8; rounds++ {
			for _, gamma := range []string{"0.5", "1", "1.5", "2", "2.5", "3", "3.5", "4"} {
				q := Query{"uniform", m0, rounds, "0.5", gamma}
				_, err := q.plan()
				_, want := strategy.Parse(fmt.Sprintf("vigor:m0=%d,rounds=%d,alpha=0.5,gamma=%s", m0, rounds, gamma), nil)
				var tooLarge *schedule.LargeError
				switch {
				case errors.As(want, &tooLarge):
					large++
					want = nil
				case want != nil:
					refused++
					want = fmt.Errorf("--strategy %w", want)
				}
				if fmt.Sprint(err) != fmt.Sprint(want) {
					t.Errorf("%+v: %v, want %v", q, err, want)
				}
			}
		}
	}
	if refused < 100 || large < 10 {
		t.Errorf("%d schedules refused, %d too large: want more to compare", refused, large)
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		q    Query
		want string
	}{
		{Query{" ", 2, 4, "0.5", "2"}, "--population is empty, want a spec such as beta:a=0.1,b=0.3"},
		{Query{"beta:a=-1,b=0", 2, 4, "0.5", "2"}, "--population beta: a = -1, want [0.0001, 1e+06]|--population beta: b = 0, want [0.0001, 1e+06]"},
		{Query{"bta:a=1,b=1", 2, 4, "0.5", "2"}, "--population unknown name \"bta\""},
		{Query{"@secret", 2, 4, "0.5", "2"}, "--population open secret: no files can be read here"},
		{Query{"table:path=t.csv", 2, 4, "0.5", "2"}, "--population table: open t.csv: no files can be read here"},
		{Query{"uniform", 0, 0, "0.5", "2"}, "--strategy vigor: m0 = 0, want a whole number in [1, 10000]|--strategy vigor: rounds = 0"},
		{Query{"uniform", 2, 4, "1", "0"}, "--strategy vigor: alpha = 1, want (0, 1)|--strategy vigor: gamma = 0, want (0, Inf)"},
		{Query{"uniform", 2, 4, "x", ""}, `--strategy vigor: alpha: "x" is not a number|--strategy vigor: gamma: "" is not a number`},
		{Query{"", 2, 4, "0.5", "1.5"}, "--population is empty|--strategy vigor: m0 = 2, gamma = 1.5: round 3 would ask 9/2"},
	} {
		_, err := Look(c.q)
		var got []string
		for _, e := range Faults(err) {
			got = append(got, e.Error())
		}
		parts := strings.Split(c.want, "|")
		if len(got) != len(parts) {
			t.Errorf("%+v: %q, want %q", c.q, got, parts)
			continue
		}
		for i, want := range parts {
			if !strings.HasPrefix(got[i], want) {
				t.Errorf("%+v: %q, want %q", c.q, got[i], want)
			}
		}
	}
}

// TestWithoutCurves looks at what has no rollouts to draw: a law without rewards, and
// groups too large to be run.
func TestWithoutCurves(t *testing.T) {
	for _, c := range []struct {
		q    Query
		want string
	}{
		{Query{"pareto-variance:shape=1.5,min=0.01", 2, 4, "0.5", "2"}, "this law has no rewards"},
		{Query{"uniform", 16, 8, "0.5", "4"}, "m0 = 16, gamma = 4, rounds = 8: the group passes 10000"},
	} {
		v := look(t, c.q)
		if v.Curves != nil || !strings.HasPrefix(v.NoCurves, c.want) {
			t.Errorf("%+v: curves %v, %q, want none: %q", c.q, v.Curves, v.NoCurves, c.want)
		}
		if f := figure(t, v, "eta.noisy"); f.Reason != v.NoCurves || f.Text() != "-" {
			t.Errorf("%+v: eta.noisy %+v", c.q, f)
		}
		if f := figure(t, v, "eta.cap"); f.Reason != "" || !(f.Value > 1) {
			t.Errorf("%+v: eta.cap %+v", c.q, f)
		}
	}
}

// TestThin keeps the ends and whatever a drawing can tell apart.
func TestThin(t *testing.T) {
	var nodes []theory.NodeRollouts
	for i := range 100_001 {
		nodes = append(nodes, theory.NodeRollouts{P: float64(i) / 100_000, Rollouts: float64(i)})
	}
	points := thin(nodes)
	last := points[len(points)-1]
	if points[0].P != 0 || last.P != 1 || len(points) < 900 || len(points) > 1100 {
		t.Errorf("%d points from %v to %v, want about a thousand from 0 to 1", len(points), points[0], last)
	}
	atoms := thin(nodes[:1])
	if len(atoms) != 1 {
		t.Errorf("one atom gives %v", atoms)
	}
}

func TestCommand(t *testing.T) {
	v := look(t, Query{"mixture:0.5@uniform+0.5@point:p=0.5", 2, 4, "1/3", "2"})
	if want := "vigorlab theory --population mixture:0.5@uniform+0.5@point:p=0.5 \\\n  --strategy vigor:m0=2,rounds=4,alpha=1/3,gamma=2"; v.Command != want {
		t.Errorf("command %q, want %q", v.Command, want)
	}
}
