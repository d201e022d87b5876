package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"vigorlab/distributions/spec"
)

// opener returns how commands open the files that a user names. An interrupt
// ends opening and reading, which wait for ever on a pipe that nobody writes.
func opener(ctx context.Context) spec.Opener {
	return func(path string) (io.ReadCloser, error) {
		f, err := await(ctx, func() (*os.File, error) { return os.Open(path) })
		if err != nil {
			return nil, err
		}
		return &interruptible{ctx, f}, nil
	}
}

// interruptible is a file whose reading ctx ends.
type interruptible struct {
	ctx context.Context
	*os.File
}

// Read reads into a buffer of its own: after an interrupt it may still go on.
func (f *interruptible) Read(p []byte) (int, error) {
	content, err := await(f.ctx, func() ([]byte, error) {
		own := make([]byte, len(p))
		n, err := f.File.Read(own)
		return own[:n], err
	})
	return copy(p, content), err
}

// awaited is a writer that ctx ends at once, even while it waits for a reader.
type awaited struct {
	ctx context.Context
	io.Writer
}

// Write writes a copy: after an interrupt it may still go on.
func (w awaited) Write(p []byte) (int, error) {
	own := slices.Clone(p)
	return await(w.ctx, func() (int, error) { return w.Writer.Write(own) })
}

// stopped is a writer that ctx ends between two writes.
type stopped struct {
	ctx context.Context
	io.Writer
}

func (w stopped) Write(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.Writer.Write(p)
}

// The formats of standard output.
const (
	formatTable = "table"
	formatJSON  = "json"
	formatCSV   = "csv"
)

// common holds the flags that every running command shares, and the faults of
// its command line, so that one run reports all of them.
type common struct {
	faults
	seed    uint64
	workers int
	format  string
	out     string
	force   bool
	quiet   bool
}

// register adds the common flags to a command.
func (c *common) register(f *pflag.FlagSet) {
	c.seed, c.workers = 1, defaultWorkers()
	f.Var(&seedFlag{&c.seed, &c.faults}, "seed", "seed `N` of every random stream")
	c.whole(f, &c.workers, "workers", 1, 4096, "`N` goroutines; the results do not depend on it")
	f.Lookup("workers").DefValue = "all cores"
	c.registerFormat(f)
	f.Var(&textFlag{&c.out, "out", "a directory", &c.faults}, "out", "write a run directory `DIR`: run.json, results, figures")
	f.BoolVar(&c.force, "force", false, "replace what an earlier run wrote")
	f.BoolVar(&c.quiet, "quiet", false, "no progress and no warnings on standard error")
}

// defaultWorkers is the number of cores that Go may use.
func defaultWorkers() int { return runtime.GOMAXPROCS(0) }

// registerFormat adds --format alone.
func (c *common) registerFormat(f *pflag.FlagSet) {
	c.choice(f, &c.format, "format", []string{formatTable, formatJSON, formatCSV}, "`FORMAT` of standard output")
}

// whole adds a flag that is a whole number in [low, high]; its default is what
// target holds.
func (c *common) whole(f *pflag.FlagSet, target *int, name string, low, high int, usage string) {
	f.Var(&wholeFlag{target, name, low, high, &c.faults}, name, usage)
}

// real adds a flag that is a number in [low, high].
func (c *common) real(f *pflag.FlagSet, target *float64, name string, low, high float64, usage string) {
	f.Var(&realFlag{target, name, low, high, &c.faults}, name, usage)
}

// choice adds a flag that is one of the known words, the first by default.
func (c *common) choice(f *pflag.FlagSet, target *string, name string, known []string, usage string) {
	if *target == "" {
		*target = known[0]
	}
	f.Var(&choiceFlag{target, name, known, &c.faults}, name, usage+": "+strings.Join(known, ", "))
}

// once returns the value of a repeatable flag that a command takes only once;
// want describes it.
func (c *common) once(values []string, name, want string) (string, bool) {
	switch {
	case len(values) == 0:
		c.addf("--%s is missing, want %s", name, want)
	case len(values) > 1:
		c.addf("--%s is given %d times, want it once", name, len(values))
	case strings.TrimSpace(values[0]) == "":
		c.addf("--%s is empty, want %s", name, want)
	default:
		return values[0], true
	}
	return "", false
}

// The flag values below never fail in Set: they record the fault, so that
// parsing goes on and finds the others.

type wholeFlag struct {
	target    *int
	name      string
	low, high int
	faults    *faults
}

func (v *wholeFlag) String() string { return printed(v.target) }
func (v *wholeFlag) Type() string   { return "int" }

func (v *wholeFlag) Set(text string) error {
	x, err := strconv.Atoi(text)
	if err != nil || x < v.low || x > v.high {
		v.faults.addf("--%s = %s, want %s", v.name, shown(text), wholeRange(v.low, v.high))
		return nil
	}
	*v.target = x
	return nil
}

func wholeRange(low, high int) string {
	if high >= math.MaxInt32 {
		return fmt.Sprintf("a whole number >= %d", low)
	}
	return fmt.Sprintf("a whole number in [%d, %d]", low, high)
}

type realFlag struct {
	target    *float64
	name      string
	low, high float64
	faults    *faults
}

func (v *realFlag) String() string { return printed(v.target) }
func (v *realFlag) Type() string   { return "float" }

func (v *realFlag) Set(text string) error {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || !(x >= v.low && x <= v.high) {
		v.faults.addf("--%s = %s, want [%v, %v]", v.name, shown(text), v.low, v.high)
		return nil
	}
	*v.target = x
	return nil
}

type seedFlag struct {
	target *uint64
	faults *faults
}

func (v *seedFlag) String() string { return printed(v.target) }
func (v *seedFlag) Type() string   { return "uint" }

func (v *seedFlag) Set(text string) error {
	x, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		v.faults.addf("--seed = %s, want a whole number in [0, %d]", shown(text), uint64(math.MaxUint64))
		return nil
	}
	*v.target = x
	return nil
}

type choiceFlag struct {
	target *string
	name   string
	known  []string
	faults *faults
}

func (v *choiceFlag) String() string { return printed(v.target) }
func (v *choiceFlag) Type() string   { return "word" }

func (v *choiceFlag) Set(text string) error {
	if !slices.Contains(v.known, text) {
		want := "one of " + strings.Join(v.known, ", ")
		if near, ok := spec.Nearest(text, v.known); ok {
			want += fmt.Sprintf(" (did you mean %s?)", near)
		}
		v.faults.addf("--%s = %s, want %s", v.name, shown(text), want)
		return nil
	}
	*v.target = text
	return nil
}

// A textFlag is a text that is not empty.
type textFlag struct {
	target *string
	name   string
	want   string
	faults *faults
}

func (v *textFlag) String() string { return printed(v.target) }
func (v *textFlag) Type() string   { return "text" }

func (v *textFlag) Set(text string) error {
	if strings.TrimSpace(text) == "" {
		v.faults.addf("--%s is empty, want %s", v.name, v.want)
		return nil
	}
	*v.target = text
	return nil
}

// printed prints a flag's value; pflag also asks the zero flag.
func printed[T any](target *T) string {
	if target == nil {
		return ""
	}
	return fmt.Sprint(*target)
}

// shown prints what the user typed, quoted where that is clearer.
func shown(text string) string {
	if text == "" || strings.ContainsAny(text, " \t\n\"'") || len(text) > 80 {
		return fmt.Sprintf("%.80q", text)
	}
	return text
}

// noArguments refuses arguments that are no flags.
func noArguments(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := ""
	if name, _, ok := strings.Cut(args[0], "="); ok {
		hint = fmt.Sprintf("flags start with two dashes: --%s", name)
	}
	return usagef(hint, "unexpected argument %s, want flags only", shown(args[0]))
}

// flagError turns what pflag found into a usageError with the nearest flag.
func flagError(cmd *cobra.Command, err error) error {
	name := ""
	if unknown, ok := err.(*pflag.NotExistError); ok {
		name = unknown.GetSpecifiedName()
	}
	if name == "" {
		return usagef(helpHint(cmd), "%w", err)
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	hint := helpHint(cmd)
	if near, ok := spec.Nearest(name, known); ok {
		hint = fmt.Sprintf("did you mean --%s?", near)
	}
	dashes := "--"
	if len(name) == 1 {
		dashes = "-"
	}
	return usagef(hint, "unknown flag %s%s", dashes, name)
}

func helpHint(cmd *cobra.Command) string { return fmt.Sprintf("see %s --help", cmd.CommandPath()) }
