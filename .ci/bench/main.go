// Command bench runs BenchmarkStaticComparison beside the reference programs of
// ../shared/bench, the same Monte Carlo in C, NumPy and numba, and prints how
// the rates compare. All take turns in one run, since only ratios of one run
// mean anything. It refuses a verdict: no build fails on a timing.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const benchmark = "BenchmarkStaticComparison"

// A contender is a program that prints one or more rates.
type contender struct {
	argv []string
	rate *regexp.Regexp // two groups: name, replicates a second
}

var (
	goRate        = regexp.MustCompile(`(?m)^` + benchmark + `(-\d+)?\s.*?([0-9.e+]+) replicates/s`)
	referenceRate = regexp.MustCompile(`(?m)^(C|numpy|numba) replicates/s ([0-9.e+]+)`)
)

func main() {
	rounds := flag.Int("rounds", 7, "how often every program takes its turn")
	flag.Parse()
	if err := run(os.Stdout, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, rounds int) error {
	dir, err := os.MkdirTemp("", "vigorlab-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	contenders, err := build(out, dir, filepath.Join(cmp.Or(os.Getenv("VIGORLAB_SHARED"), filepath.Join("..", "shared")), "bench"))
	if err != nil {
		return err
	}
	r := rates{}
	for i := range rounds {
		for _, c := range contenders {
			text, err := output(c.argv...)
			if err != nil {
				return err
			}
			if !r.add(i, c.rate, text) {
				return fmt.Errorf("%s prints no rate:\n%s", c.argv[0], text)
			}
			if i == 0 {
				fmt.Fprint(out, text)
			}
		}
	}
	r.print(out, rounds)
	return nil
}

// build compiles the C and the Go program and finds Python.
func build(out io.Writer, dir, shared string) ([]contender, error) {
	c, test := filepath.Join(dir, "mc_limit"), filepath.Join(dir, "sim.test")
	if _, err := output("gcc", "-O3", "-march=native", "-o", c, filepath.Join(shared, "mc_limit.c"), "-lm"); err != nil {
		return nil, errors.Join(err, errors.New("the C program is the bar: it needs apt-get install gcc libc6-dev, and the project's shared folder at ../shared or in VIGORLAB_SHARED"))
	}
	if _, err := output("go", "test", "-c", "-o", test, "./sim"); err != nil {
		return nil, err
	}
	all := []contender{
		{[]string{c, "10000"}, referenceRate},
		{[]string{test, "-test.run=^$", "-test.bench=^" + benchmark + "$", "-test.benchtime=1s", "-test.cpu=1,2"}, goRate},
	}
	for _, p := range []struct{ module, script, replicates string }{{"numpy", "mc_numpy.py", "2000"}, {"numba", "mc_numba.py", "3000"}} {
		python := having(p.module)
		if python == "" {
			fmt.Fprintf(out, "not here: %s: apt-get install python3-%s\n", p.module, p.module)
			continue
		}
		all = append(all, contender{[]string{python, filepath.Join(shared, p.script), p.replicates}, referenceRate})
	}
	return all, nil
}

// having returns a Python that imports the module, or "".
func having(module string) string {
	for _, python := range []string{"/usr/bin/python3", "python3"} {
		if exec.Command(python, "-c", "import "+module).Run() == nil {
			return python
		}
	}
	return ""
}

func output(argv ...string) (string, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	text, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, text)
	}
	return string(text), nil
}

// rates holds the replicates a second of every program, by round.
type rates map[string][]float64

// add reads the rates that a program printed in round i.
func (r rates) add(i int, rate *regexp.Regexp, text string) bool {
	matches := rate.FindAllStringSubmatch(text, -1)
	for _, m := range matches {
		name := m[1]
		if rate == goRate {
			name = fmt.Sprintf("Go, workers = %s", cmp.Or(strings.TrimPrefix(name, "-"), "1"))
		}
		x, err := strconv.ParseFloat(m[2], 64)
		if err != nil || len(r[name]) != i {
			return false
		}
		r[name] = append(r[name], x)
	}
	return len(matches) > 0
}

// print writes medians over the rounds, and of each program's ratio to C in
// the same round the median and the ends.
func (r rates) print(out io.Writer, rounds int) {
	fmt.Fprintf(out, "\n%-20s %14s  %s\n", "program", "replicates/s", "of the C program's rate: median (least to most)")
	names := make([]string, 0, len(r))
	for name := range r {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(median(r[b]), median(r[a])) })
	for _, name := range names {
		ratios := make([]float64, rounds)
		for i, x := range r[name] {
			ratios[i] = x / r["C"][i]
		}
		fmt.Fprintf(out, "%-20s %14.0f  %.2f (%.2f to %.2f)\n", name, median(r[name]), median(ratios), slices.Min(ratios), slices.Max(ratios))
	}
	fmt.Fprintf(out, "%d rounds, every program in each\n", rounds)
}

func median(x []float64) float64 {
	s := slices.Sorted(slices.Values(x))
	n := len(s)
	return (s[(n-1)/2] + s[n/2]) / 2
}
