package sweep

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// commands are what the tests' files may run.
var commands = []Command{
	{
		Name: "simulate", Scale: "replicates", Scaled: 1000, Withheld: []string{"out"},
		Flags: []Flag{
			{Name: "population", Repeats: true},
			{Name: "strategy", Repeats: true},
			{Name: "batch"},
			{Name: "replicates"},
			{Name: "aggregate"},
			{Name: "seed"},
			{Name: "quick", Switch: true},
		},
		Columns: []Column{{"population", Text}, {"strategy", Text}, {"figure", Text}, {"value", Real}, {"replicates", Whole}, {"seed", Natural}},
		Timed:   []string{"select_ns"},
	},
	{Name: "plan", Args: true, Flags: []Flag{{Name: "batch"}}, Columns: []Column{{"figure", Text}, {"value", Real}}},
}

func mustPlan(t testing.TB, text string) *Plan {
	t.Helper()
	p, err := New([]byte(text), commands)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return p
}

// lines returns the command lines of a plan.
func lines(p *Plan) []string {
	var lines []string
	for _, point := range p.Points {
		lines = append(lines, strings.Join(point.Words, " "))
	}
	return lines
}

func TestPointsByHand(t *testing.T) {
	for _, c := range []struct {
		name, file string
		want       []string
	}{
		{"grid", `
			command = "simulate"
			flags.population = "pareto-variance:shape={shape},min=0.01"
			flags.quick = true
			[grid]
			shape = [1.2, 2]
			batch = {from = 64, to = 128, step = 64}`, []string{
			"simulate --population pareto-variance:shape=1.2,min=0.01 --quick=true --batch 64",
			"simulate --population pareto-variance:shape=1.2,min=0.01 --quick=true --batch 128",
			"simulate --population pareto-variance:shape=2,min=0.01 --quick=true --batch 64",
			"simulate --population pareto-variance:shape=2,min=0.01 --quick=true --batch 128",
		}},
		{"a placeholder in an axis, and one that is there twice", `
			command = "simulate"
			flags.population = "beta:a={a},b={a}"
			[grid]
			strategy = ["vigor:alpha={a}", "fixed:g=8"]
			a = [0.3]`, []string{
			"simulate --population beta:a=0.3,b=0.3 --strategy vigor:alpha=0.3",
			"simulate --population beta:a=0.3,b=0.3 --strategy fixed:g=8",
		}},
		{"lists for a repeatable flag", `
			command = "simulate"
			flags.strategy = ["vigor", "fixed:g=8"]
			grid.population = [["uniform", "point:p=0.3"], "uniform"]`, []string{
			"simulate --strategy vigor --strategy fixed:g=8 --population uniform --population point:p=0.3",
			"simulate --strategy vigor --strategy fixed:g=8 --population uniform",
		}},
		{"points by name, beside a grid", `
			command = "simulate"
			list = [{population = "uniform", batch = 8}, {population = "point:p=0.3", batch = 16}]
			grid.seed = [1, 2]`, []string{
			"simulate --population uniform --batch 8 --seed 1",
			"simulate --population uniform --batch 8 --seed 2",
			"simulate --population point:p=0.3 --batch 16 --seed 1",
			"simulate --population point:p=0.3 --batch 16 --seed 2",
		}},
		{"arguments", `
			command = "plan"
			args = ["{table}.csv"]
			grid.table = ["a", "b"]`, []string{"plan a.csv", "plan b.csv"}},
		{"one point", `command = "plan"`, []string{"plan"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := lines(mustPlan(t, c.file))
			for i, line := range got { // flags of inline tables and lists come in their own order
				got[i] = sortedFlags(line)
			}
			var want []string
			for _, line := range c.want {
				want = append(want, sortedFlags(line))
			}
			if !slices.Equal(got, want) {
				t.Errorf("points are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

// sortedFlags returns a command line with its flags in the order of their names.
func sortedFlags(line string) string {
	parts := strings.Split(line, " --")
	slices.SortStableFunc(parts[1:], func(a, b string) int {
		return strings.Compare(strings.Fields(a)[0], strings.Fields(b)[0])
	})
	return strings.Join(parts, " --")
}

// TestPointsOfAnyGrid: a grid has as many points as the product of its axes, every
// combination once, the last axis fastest; a list and a random search multiply it.
func TestPointsOfAnyGrid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := []string{"batch", "seed", "replicates", "aggregate"}[:rapid.IntRange(1, 4).Draw(t, "axes")]
		list := rapid.IntRange(0, 3).Draw(t, "list")
		random := rapid.IntRange(0, 3).Draw(t, "random")
		var b strings.Builder
		b.WriteString("command = \"simulate\"\nflags.population = \"u:{x}{y}\"\n")
		want := max(1, list) * max(1, random)
		if list > 0 {
			b.WriteString("list = [")
			for i := range list {
				fmt.Fprintf(&b, "{x = %d},", i)
			}
			b.WriteString("]\n")
		}
		b.WriteString("[grid]\n")
		sizes := map[string]int{}
		for _, name := range names {
			sizes[name] = rapid.IntRange(1, 4).Draw(t, name)
			want *= sizes[name]
			fmt.Fprintf(&b, "%s = {from = 1, to = %d, step = 1}\n", name, sizes[name])
		}
		if list == 0 {
			b.WriteString("x = [0]\n")
		}
		if random > 0 {
			fmt.Fprintf(&b, "[random]\nn = %d\naxes.y = {min = 0, max = 1}\n", random)
		} else {
			b.WriteString("y = [0]\n")
		}
		p, err := New([]byte(b.String()), commands)
		if err != nil {
			t.Fatalf("%s: %v", &b, err)
		}
		if len(p.Points) != want || p.Repeated() != 0 {
			t.Fatalf("%s: %d points, %d of them repeated, want %d different ones", &b, len(p.Points), p.Repeated(), want)
		}
		for at, axis := range p.Axes {
			seen := map[string]int{}
			for i, point := range p.Points {
				if point.Number != i+1 {
					t.Fatalf("point %d is called %d", i+1, point.Number)
				}
				seen[point.Cells[at]]++
			}
			if n, ok := sizes[axis.Name]; ok && len(seen) != n {
				t.Errorf("axis %s has %d values, want %d", axis.Name, len(seen), n)
			}
			for value, n := range seen {
				if n != want/len(seen) {
					t.Errorf("%s = %s is in %d of %d points, want all values alike", axis.Name, value, n, want)
				}
			}
		}
	})
}

func TestRangesByHand(t *testing.T) {
	for _, c := range []struct{ axis, want string }{
		{"{from = 0.1, to = 0.4, step = 0.1}", "0.1 0.2 0.3 0.4"},
		{"{from = 0.3, to = 0.6, step = 0.1}", "0.3 0.4 0.5 0.6"},
		{"{from = 4, to = 1, step = -1}", "4 3 2 1"},
		{"{from = 1, to = 6, step = 2}", "1 3 5"},
		{"{from = 1, to = 1000, count = 4, log = true}", "1 10 100 1000"},
		{"{from = 1, to = 3, count = 5}", "1 1.5 2 2.5 3"},
		{"{from = 2, to = 1e-2, count = 2, log = true}", "2 0.01"},
	} {
		p := mustPlan(t, "command = \"simulate\"\ngrid.batch = "+c.axis)
		var got []string
		for _, point := range p.Points {
			got = append(got, point.Cells[0])
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s = %s, want %s", c.axis, got, c.want)
		}
	}
}

func TestKinds(t *testing.T) {
	for _, c := range []struct {
		axis string
		want Kind
	}{
		{"batch = [1, 2]", Whole},
		{"batch = [1, 2.5]", Real},
		{"batch = [1, 'auto']", Text},
		{"batch = [0.5]", Real},
		{"quick = [true, false]", Truth},
		{"strategy = [['a', 'b'], 'c']", Text},
	} {
		p := mustPlan(t, "command = \"simulate\"\n[grid]\n"+c.axis)
		if p.Axes[0].Kind != c.want {
			t.Errorf("%s is %s, want %s", c.axis, p.Axes[0].Kind, c.want)
		}
	}
}

// TestAxisColumns: an axis never hides a column of the command.
func TestAxisColumns(t *testing.T) {
	p := mustPlan(t, "command = \"simulate\"\nflags.population = \"u:{a}\"\n[grid]\na = [1]\nseed = [1]\nstrategy = [\"vigor\"]")
	got := strings.Join(namesOf(p.Table()), " ")
	want := "point a axis_seed axis_strategy population strategy figure value replicates seed error"
	if got != want {
		t.Errorf("columns are %s, want %s", got, want)
	}
}

// TestFaults: what a user may get wrong is named by where it stands, all at once.
func TestFaults(t *testing.T) {
	for _, c := range []struct{ file, want string }{
		{"command = ", "line 1: "},
		{"", "command is missing, want one of simulate, plan"},
		{"command = 'simulat'", "unknown command simulat, want one of simulate, plan (did you mean simulate?)"},
		{"command = 'plan'\ngird.batch = [1]", "unknown key gird, want one of command, args, flags, list, random, grid, slurm (did you mean grid?)"},
		{"command = 'plan'\ngrid = 3", "grid is a number, want a table: [grid]"},
		{"command = 'simulate'\nargs = ['x']", "args: simulate takes none, want flags alone"},
		{"command = 'plan'\nargs = ['--x']", "args[1] = --x, want a text that is no flag; flags stand in [flags]"},
		{"command = 'plan'\nargs = [\"a\\u0000\"]", "args[1] = a\x00, want a text that is no flag"},
		{"command = 'plan'\nargs = ['{a}']\ngrid.a = ['x', '--out=x']", "args of point 2 have --out=x, want texts that are no flags; flags stand in [flags]"},
		{"command = 'simulate'\nflags.population = \"a\\u0000\"", `flags.population = "a\x00", want a text without the character 0`},
		{"command = 'simulate'\nflags.bach = 3", "flags.bach: simulate has no flag --bach; want one of population, strategy, batch, replicates, aggregate, seed, quick (did you mean batch?)"},
		{"command = 'simulate'\nflags.out = 'x'", "flags.out: --out is not for a file to say"},
		{"command = 'simulate'\nflags.quick = 1", "flags.quick = 1, want true or false"},
		{"command = 'simulate'\nflags.batch = true", "flags.batch = true, want a number or a text"},
		{"command = 'simulate'\nflags.batch = [1, 2]", "flags.batch = 1 2 is a list, and --batch is given once; want one value"},
		{"command = 'simulate'\nflags.batch = nan", "flags.batch = NaN, want a finite number"},
		{"command = 'simulate'\nflags.batch = ''", `flags.batch = "", want a text that is not empty`},
		{"command = 'simulate'\nflags.batch = 1979-05-27", "flags.batch is a date or time, want a number, a text or true or false"},
		{"command = 'simulate'\nflags.batch = 3\ngrid.batch = [1]", "flags.batch and grid.batch set one flag, want one of them"},
		{"command = 'simulate'\ngrid.batch = []", "grid.batch is empty, want at least one value"},
		{"command = 'simulate'\ngrid.batch = 3", "grid.batch is a number, want a list or {from, to, step} or {from, to, count, log}"},
		{"command = 'simulate'\ngrid.batch = [1, 2, 1]", "grid.batch[3] = 1 is there twice, want each value once"},
		{"command = 'simulate'\ngrid.batch = [1, 1.0]", "grid.batch[2] = 1 is there twice, want each value once"},
		{"command = 'simulate'\ngrid.batch = ['1', 1]", "grid.batch[2] = 1 is there twice, want each value once"},
		{"command = 'simulate'\ngrid.batch = {from = 5, to = 5, count = 2}", "grid.batch[2] = 5 is there twice, want each value once"},
		{"command = 'simulate'\ngrid.batch = {from = 1, to = 1.000000000001, step = 1e-13}", "grid.batch[2] = 1 is there twice, want each value once"},
		{"command = 'simulate'\ngrid.batch = {from = 9007199254740993, to = 9007199254740995, step = 1}", "grid.batch goes from 9007199254740993 to 9007199254740995, want whole numbers between -2^53 and 2^53; a list can have others"},
		{"command = 'simulate'\ngrid.batch = {from = -1e308, to = 1e308, count = 3}", "grid.batch goes from -1e+308 to 1e+308, which is too far"},
		{"command = 'simulate'\ngrid.batch = {from = 1e-300, to = 1e300, count = 3, log = true}", "grid.batch goes from 1e-300 to 1e+300, which is too far"},
		{"command = 'simulate'\n[random]\nn = 2\naxes.batch = {min = -1e308, max = 1e308}", "random.axes.batch has min = -1e+308 and max = 1e+308, which are too far apart"},
		{"command = 'simulate'\n[random]\nn = 2\naxes.batch = {min = 1e-300, max = 1e300, log = true}", "random.axes.batch has min = 1e-300 and max = 1e+300, which are too far apart"},
		{"command = 'simulate'\ngrid.batch = [1, inf]", "grid.batch[2] = +Inf, want a finite number"},
		{"command = 'simulate'\ngrid.alpha = [1]", "grid.alpha: simulate has no flag --alpha, and {alpha} stands nowhere"},
		{"command = 'simulate'\nflags.population = '{shpe}'\ngrid.shape = [1]", "flags.population: {shpe}: unknown axis shpe, want one of shape (did you mean shape?)"},
		{"command = 'simulate'\nflags.population = '{a}'\ngrid.a = ['{b}']\ngrid.b = ['{a}']", "grid.a leads to itself by its placeholders"},
		{"command = 'simulate'\nflags.population = '{a}'\ngrid.a = [[1, 2]]", "grid.a holds a list, which the placeholder {a} cannot take; want single values"},
		{"command = 'simulate'\ngrid.point = [1]", "grid.point: want another name than point, error or axis_..."},
		{"command = 'simulate'\ngrid.'a b' = [1]", "grid.a b: an axis is called by a letter, then letters, digits, - or _"},
		{"command = 'simulate'\ngrid.batch = {from = 1, to = 2}", "grid.batch has step and count, or neither, want one of them"},
		{"command = 'simulate'\ngrid.batch = {from = 1, to = 2, step = 0}", "grid.batch goes from 1 to 2 by step = 0"},
		{"command = 'simulate'\ngrid.batch = {from = 1, to = 2, step = -1}", "grid.batch goes from 1 to 2 by step = -1"},
		{"command = 'simulate'\ngrid.batch = {from = 0, to = 2, count = 3, log = true}", "grid.batch has from = 0 and to = 2, want both above 0 for log = true"},
		{"command = 'simulate'\ngrid.batch = {from = 1, to = 2, count = 1}", "grid.batch has count = 1, want a whole number in [2, 200000]"},
		{"command = 'simulate'\ngrid.batch = {from = 1, till = 2}", "grid.batch has the key till, want from, to, step, count, log"},
		{"command = 'simulate'\nlist = 3", "list is a number, want a list of tables"},
		{"command = 'simulate'\nlist = [{batch = 1}, {seed = 1}]", "list[2] has seed, want the names of list[1]: batch"},
		{"command = 'simulate'\nlist = [{batch = 1}]\ngrid.batch = [1]", "list.batch and grid.batch are one axis, want each name once"},
		{"command = 'simulate'\n[random]\nn = 0\naxes.batch = [1]", "random.n = 0, want a whole number in [1, 200000]"},
		{"command = 'simulate'\n[random]\nn = 2", "random.axes is missing"},
		{"command = 'simulate'\n[random]\nn = 2\nseed = -1\naxes.batch = [1]", "random.seed = -1, want a whole number in [0, 9223372036854775807]"},
		{"command = 'simulate'\n[random]\nn = 2\naxes.batch = {min = 2, max = 1}", "random.axes.batch has min = 2 and max = 1, want min < max"},
		{"command = 'simulate'\n[random]\nn = 2\naxes.batch = {min = 0, max = 1, log = true}", "random.axes.batch has min = 0, want it above 0 for log = true"},
		{"command = 'simulate'\n[random]\nn = 2\naxes.batch = {min = 0.5, max = 3, whole = true}", "random.axes.batch has min = 0.5 and max = 3, want whole numbers for whole = true"},
		{"command = 'simulate'\n[random]\nn = 2\naxes.batch = {min = 1}", "random.axes.batch has no max, want a number"},
		{"command = 'simulate'\n[random]\nn = 2\naxes.batch = {min = 1, max = 2, log = 1}", "random.axes.batch has log = 1, want true or false"},
		{"command = 'simulate'\nslurm.cpus = 0", "slurm.cpus = 0, want a whole number in [1, 4096]"},
		{"command = 'simulate'\nslurm.time = \"1\\n2\"", "slurm.time = 1\n2, want a text of one line, as sbatch takes it"},
		{"command = 'simulate'\nslurm.mem = '2G'", "unknown key slurm.mem"},
		{"command = 'simulate'\n[grid]\nbatch = {from = 1, to = 1000, step = 1}\nseed = {from = 1, to = 1000, step = 1}", "has more than 200000 points"},
	} {
		_, err := New([]byte(c.file), commands)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s", c.file, err, c.want)
		}
	}
	_, err := New([]byte("comand = 1\ngrid.a = []\nflags.b = inf"), commands)
	if err == nil || strings.Count(err.Error(), "\n") != 3 {
		t.Errorf("four faults are told as %v", err)
	}
}

// TestRandomAxes: a search is reproduced by its seed; another axis, or more draws, change
// none of the values that were there.
func TestRandomAxes(t *testing.T) {
	search := func(n, seed int, more string) [][]string {
		p := mustPlan(t, fmt.Sprintf(`
			command = "simulate"
			flags.population = "beta:a={a},b={b}"
			[random]
			n = %d
			seed = %d
			[random.axes]
			a = {min = 0.1, max = 10, log = true}
			b = {min = 2, max = 4, whole = true}
			%s`, n, seed, more))
		var cells [][]string
		for _, point := range p.Points {
			cells = append(cells, point.Cells[:2])
		}
		return cells
	}
	same := func(a, b [][]string) bool { return slices.EqualFunc(a, b, slices.Equal) }
	first := search(5, 1, "")
	if !same(first, search(5, 1, "")) || !same(first, search(9, 1, "")[:5]) || !same(first, search(5, 1, "seed = [1, 2, 3]")) {
		t.Error("a draw depends on more than seed, axis and number")
	}
	if same(first, search(5, 2, "")) {
		t.Error("two seeds draw alike")
	}
	p := mustPlan(t, "command = \"simulate\"\nrandom.n = 1\nrandom.axes.batch = {min = 0, max = 1}\nrandom.axes.seed = {min = 0, max = 1}")
	if p.Points[0].Cells[0] == p.Points[0].Cells[1] {
		t.Error("two axes share their draws")
	}
}

// TestDrawsLaw: over n draws, the shares below given points are those of the law. A
// share strays by tol with probability at most 2 exp(-2 n tol^2) (Hoeffding): 1e-6 over
// all four; one off by 2 tol = 0.056 is missed with probability at most 2.5e-7.
func TestDrawsLaw(t *testing.T) {
	const n = 10_000
	tol := math.Sqrt(math.Log(2*4/1e-6) / (2 * n))
	for _, c := range []struct {
		axis  string
		below float64
		want  float64
	}{
		{"{min = 2, max = 4}", 2.5, 0.25},
		{"{min = 0.1, max = 10, log = true}", 1, 0.5},
		{"{min = 1, max = 4, whole = true}", 1.5, 0.25},
		{"{min = 1, max = 7, log = true, whole = true}", 1.5, 1.0 / 3}, // log 2 / log 8
	} {
		p := mustPlan(t, fmt.Sprintf("command = \"simulate\"\nrandom.n = %d\nrandom.axes.batch = %s", n, c.axis))
		share := 0.0
		for _, point := range p.Points {
			var x float64
			if _, err := fmt.Sscan(point.Cells[0], &x); err != nil {
				t.Fatal(err)
			}
			if x < c.below {
				share += 1.0 / n
			}
		}
		if !(math.Abs(share-c.want) < tol) {
			t.Errorf("%s: a share of %.4f is below %v, want %.4f ± %.4f", c.axis, share, c.below, c.want, tol)
		}
	}
}

func TestInputs(t *testing.T) {
	for _, c := range []struct{ word, want string }{
		{"table:path=a.csv,smooth=beta", "table:path=a.csv,smooth=beta table:path=a.csv a.csv,smooth=beta a.csv"},
		{"table: path = a.csv ,smooth=beta", "table: path = a.csv ,smooth=beta table: path = a.csv a.csv ,smooth=beta a.csv"},
		{"@plan.json", "@plan.json plan.json"},
		{"a.csv", "a.csv"},
	} {
		if got := strings.Join(pathsIn(c.word), " "); got != c.want {
			t.Errorf("%s may name %s, want %s", c.word, got, c.want)
		}
	}
}

// TestFindInputs: a table is an input by its path, and behind the file of a spec. A pipe,
// which gives what it holds once, is left to the command.
func TestFindInputs(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, content := range map[string]string{"a.csv": "a", "b.csv": "b", "spec.txt": "table: path = b.csv\n"} {
		must(t, os.WriteFile(name, []byte(content), 0o666))
	}
	p := mustPlan(t, "command = \"simulate\"\ngrid.population = [\"table:path=a.csv\", \"@spec.txt\", \"@none.txt\", \"@pipe\"]")
	must(t, exec.Command("mkfifo", "pipe").Run())
	must(t, p.FindInputs()) // it would wait for ever
	var got []string
	for _, in := range p.Inputs {
		got = append(got, in.Path)
	}
	slices.Sort(got)
	if want := []string{"a.csv", "b.csv", "spec.txt"}; !slices.Equal(got, want) {
		t.Errorf("inputs are %s, want %s", got, want)
	}
}

// TestSamplesAreOppositeCorners: of a grid, ends of axes are timed in pairs, where each
// has what the other has not.
func TestSamplesAreOppositeCorners(t *testing.T) {
	p := mustPlan(t, "command = \"simulate\"\n[grid]\nbatch = [1, 2, 3]\nseed = [1, 2, 3]\nreplicates = [1, 2, 3]")
	chosen := p.sample(sampled)
	if len(chosen) != 8 {
		t.Fatalf("%d points are timed, want the 8 corners", len(chosen))
	}
	for i := 0; i < len(chosen); i += 2 {
		a, b := p.Points[chosen[i]].Cells, p.Points[chosen[i+1]].Cells
		for at := range a {
			if pair := a[at] + b[at]; pair != "13" && pair != "31" {
				t.Errorf("points %s and %s are no opposite corners", a, b)
			}
		}
	}
	if p := mustPlan(t, "command = \"plan\""); len(p.sample(sampled)) != 1 {
		t.Error("a sweep of one point is timed by another number of points")
	}
}

// TestSharesOfCorners: with their shares, corners have the mean over all points of a cost
// that is linear in the numbers of every axis, however they lie, and any in its words.
func TestSharesOfCorners(t *testing.T) {
	for _, grid := range []string{
		"batch = [100, 1, 10, 1000]\nreplicates = [2, 4, 64]\nquick = [true, false]",
		"batch = {from = 1, to = 1e6, count = 7, log = true}\naggregate = ['a', 'bbbbb', 'c']",
		"batch = [7]\naggregate = ['a', 'bb']",
	} {
		p := mustPlan(t, "command = \"simulate\"\n[grid]\n"+grid)
		cost := func(i int) float64 {
			product, sum := 1.0, 5.0
			for _, cell := range p.Points[i].Cells {
				if x, err := strconv.ParseFloat(cell, 64); err == nil {
					product *= x
				} else {
					sum += float64(len(cell))
				}
			}
			return sum * product
		}
		want := 0.0
		for i := range p.Points {
			want += cost(i) / float64(len(p.Points))
		}
		e := new(Estimate)
		for _, at := range p.sample(sampled) {
			e.Samples = append(e.Samples, Sample{Share: p.corners[at], Seconds: cost(at)})
		}
		if got, _, _, _, _ := e.Seconds(); !(math.Abs(got-want) < 1e-9*want) {
			t.Errorf("%s: %d corners say %v s, want %v", grid, len(e.Samples), got, want)
		}
	}
}

// TestExtrapolated: 4 replicates took 0.5 s, 0.4 s of it for themselves; 100 take 96
// times 0.1 s more.
func TestExtrapolated(t *testing.T) {
	if got := extrapolated(5e8, 4e8, 4, 100); math.Abs(got-10.1) > 1e-12 {
		t.Errorf("100 replicates take %v s, want 10.1", got)
	}
}

func TestShardsOfAnEstimate(t *testing.T) {
	for _, c := range []struct {
		each   float64
		points int
		want   int
	}{{1, 100, 4}, {100, 5, 5}, {0.001, 100, 1}, {30, 7, 7}, {29, 7, 4}} {
		e := &Estimate{Samples: []Sample{{Share: 1, Seconds: c.each}}}
		if got := e.Shards(c.points, 30); got != c.want {
			t.Errorf("%d points of %v s make %d shards, want %d", c.points, c.each, got, c.want)
		}
	}
}

func TestDeal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		points, shards := rapid.IntRange(1, 500).Draw(t, "points"), rapid.IntRange(1, 600).Draw(t, "shards")
		spans := Deal(points, shards)
		if len(spans) != min(points, shards) {
			t.Fatalf("%d shards, want %d", len(spans), min(points, shards))
		}
		next := 1
		for _, s := range spans {
			size := s.To - s.From + 1
			if s.From != next || size < points/len(spans) || size > points/len(spans)+1 {
				t.Fatalf("%v is no even deal of %d points", spans, points)
			}
			next = s.To + 1
		}
		if next != points+1 {
			t.Fatalf("%v does not end at %d", spans, points)
		}
	})
}
