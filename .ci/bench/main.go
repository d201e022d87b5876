// Command bench runs BenchmarkStaticComparison and BenchmarkFast beside the
// reference programs of ../shared/bench, the same Monte Carlo in C, NumPy and
// numba, and prints how the rates compare; and BenchmarkPrecise beside NumPy by
// the time to a standard error of 1e-4 on eta. All take turns in one run, since
// only ratios of one run mean anything. It refuses a verdict: no build fails on a
// timing.
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

	"golang.org/x/sync/errgroup"
)

// A contender is a program that prints one or more rates.
type contender struct {
	argv   []string
	rate   *regexp.Regexp // two groups: name, replicates a second
	copies int            // that run at the same time, whose rates are added; 0 is 1
}

var (
	goRate        = regexp.MustCompile(`(?m)^Benchmark((?:StaticComparison|Fast)(?:-\d+)?)\s.*?([0-9.e+]+) replicates/s`)
	referenceRate = regexp.MustCompile(`(?m)^(C|numpy|numba) replicates/s ([0-9.e+]+)`)
	preciseTime   = regexp.MustCompile(`(?m)^Benchmark(Precise)(?:-\d+)?\s.*?([0-9.e+-]+) s/estimate`)
	numpyError    = regexp.MustCompile(`eta [0-9.]+±([0-9.]+)`)
)

// What the benchmarks are called in the table.
var labels = map[string]string{
	"StaticComparison":   "Go, plain, one worker",
	"StaticComparison-2": "Go, plain, two workers",
	"Fast":               "Go, fast, one worker",
	"Fast-2":             "Go, fast, two workers",
	"Precise":            "Go, one worker",
}

// numpyReplicates is how many batches the NumPy program runs, and precision the
// standard error of eta that it is compared by.
const (
	numpyReplicates = 2000
	precision       = 1e-4
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
	r, times := rates{}, rates{}
	for i := range rounds {
		for _, c := range contenders {
			texts, err := c.run()
			if err != nil {
				return err
			}
			to := r
			if c.rate == preciseTime {
				to = times
			}
			if !to.add(i, c.rate, texts...) {
				return fmt.Errorf("%s prints no rate:\n%s", c.argv[0], texts[0])
			}
			times.addError(texts[0])
			if i == 0 {
				fmt.Fprint(out, strings.Join(texts, ""))
			}
		}
	}
	r.print(out, rounds)
	times.printTimes(out)
	return nil
}

// run runs the contender's copies and returns what they print.
func (c *contender) run() ([]string, error) {
	texts := make([]string, max(1, c.copies))
	var group errgroup.Group
	for k := range texts {
		group.Go(func() (err error) {
			texts[k], err = output(c.argv...)
			return err
		})
	}
	return texts, group.Wait()
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
		{argv: []string{c, "10000"}, rate: referenceRate},
		{argv: []string{c, "10000"}, rate: referenceRate, copies: 2},
		{argv: []string{test, "-test.run=^$", "-test.bench=^Benchmark(StaticComparison|Fast)$", "-test.benchtime=1s", "-test.cpu=1,2"}, rate: goRate},
		{argv: []string{test, "-test.run=^$", "-test.bench=^BenchmarkPrecise$", "-test.benchtime=1s", "-test.cpu=1"}, rate: preciseTime},
	}
	for _, p := range []struct{ module, script, replicates string }{{"numpy", "mc_numpy.py", fmt.Sprint(numpyReplicates)}, {"numba", "mc_numba.py", "3000"}} {
		python := having(p.module)
		if python == "" {
			fmt.Fprintf(out, "not here: %s: apt-get install python3-%s\n", p.module, p.module)
			continue
		}
		all = append(all, contender{argv: []string{python, filepath.Join(shared, p.script), p.replicates}, rate: referenceRate})
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

// add reads the rates that a program printed in round i, one text a copy, and
// adds those of its copies.
func (r rates) add(i int, rate *regexp.Regexp, texts ...string) bool {
	sums := map[string]float64{}
	for _, text := range texts {
		for _, m := range rate.FindAllStringSubmatch(text, -1) {
			x, err := strconv.ParseFloat(m[2], 64)
			if err != nil {
				return false
			}
			name := cmp.Or(labels[m[1]], m[1])
			if len(texts) > 1 {
				name = fmt.Sprintf("%s, %d at once", name, len(texts))
			}
			sums[name] += x
		}
	}
	for name, x := range sums {
		if len(r[name]) != i {
			return false
		}
		r[name] = append(r[name], x)
	}
	return len(sums) > 0
}

// addError adds the seconds that the NumPy program, from the error and the rate
// that it printed, needs for the precision.
func (r rates) addError(text string) {
	e, rate := numpyError.FindStringSubmatch(text), referenceRate.FindStringSubmatch(text)
	if e == nil || rate == nil {
		return
	}
	se, err1 := strconv.ParseFloat(e[1], 64)
	persecond, err2 := strconv.ParseFloat(rate[2], 64)
	if err1 == nil && err2 == nil {
		r["numpy"] = append(r["numpy"], numpyReplicates*(se/precision)*(se/precision)/persecond)
	}
}

// printTimes writes the seconds to the precision, and how many times as many the
// NumPy program needs.
func (r rates) printTimes(out io.Writer) {
	own, numpy := r[labels["Precise"]], r["numpy"]
	if len(own) == 0 || len(own) != len(numpy) {
		return
	}
	ratios := make([]float64, len(own))
	for i := range own {
		ratios[i] = numpy[i] / own[i]
	}
	fmt.Fprintf(out, "\neta with a standard error of %v: %.3g s, NumPy %.3g s from its error and rate, %.0f times as long (%.0f to %.0f)\n",
		precision, median(own), median(numpy), median(ratios), slices.Min(ratios), slices.Max(ratios))
}

// print writes medians over the rounds, and of each program's ratio to C in
// the same round the median and the ends.
func (r rates) print(out io.Writer, rounds int) {
	fmt.Fprintf(out, "\n%-24s %14s  %s\n", "program", "replicates/s", "of the C program's rate: median (least to most)")
	names := make([]string, 0, len(r))
	for name := range r {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(median(r[b]), median(r[a])) })
	for _, name := range names {
		fmt.Fprintf(out, "%-24s %14.0f  %s\n", name, median(r[name]), spread(r[name], r["C"]))
	}
	for _, path := range []string{"StaticComparison", "Fast"} {
		if one, two := labels[path], labels[path+"-2"]; len(r[two]) > 0 {
			fmt.Fprintf(out, "%s, over one: %s\n", two, spread(r[two], r[one]))
		}
	}
	fmt.Fprintf(out, "%d rounds, every program in each\n", rounds)
}

// spread returns the median of rates' ratios to others of the same rounds, with the
// least and the most.
func spread(rates, others []float64) string {
	ratios := make([]float64, len(rates))
	for i, x := range rates {
		ratios[i] = x / others[i]
	}
	return fmt.Sprintf("%.2f (%.2f to %.2f)", median(ratios), slices.Min(ratios), slices.Max(ratios))
}

func median(x []float64) float64 {
	s := slices.Sorted(slices.Values(x))
	n := len(s)
	return (s[(n-1)/2] + s[n/2]) / 2
}
