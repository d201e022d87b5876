package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"vigorlab/cmd/vigorlab/internal/merged"
	"vigorlab/cmd/vigorlab/internal/rundir"
	"vigorlab/distributions/spec"
	"vigorlab/plots"
)

// A sweepView is which figure of a sweep is drawn over which of its axes, as typed.
type sweepView struct {
	y, x, lines, heat string
	panels            string
	at, mean, log     []string
	about             string
}

// sweepViewFlags are the flags that draw from the table of a sweep.
var sweepViewFlags = []string{"y", "x", "lines", "heat", "panels", "at", "mean", "log", "about"}

// register adds the flags.
func (v *sweepView) register(flags *pflag.FlagSet, faults *faults) {
	text := func(target *string, name, want, usage string) {
		short := ""
		if len(name) == 1 { // for shells: cobra completes flags of one letter by their short forms
			short = name
		}
		flags.VarP(&textFlag{target, name, want, faults}, name, short, usage)
	}
	text(&v.y, "y", "a figure of the sweep", "of a sweep, the `FIGURE` to draw, such as eta")
	text(&v.x, "x", "an axis of the sweep", "the `AXIS` from left to right (default the first whose values are numbers)")
	text(&v.lines, "lines", "an axis of the sweep", "a line for each value of this `AXIS` (default the next that differs)")
	text(&v.heat, "heat", "an axis of the sweep", "a map whose rows are the values of this `AXIS`, in place of lines")
	text(&v.panels, "panels", "an axis of the sweep, or two with a comma between", "small multiples over one or two `AXES`, as A,B: columns, rows (default those left that differ)")
	flags.StringArrayVar(&v.at, "at", nil, "draw only `AXIS=VALUE`, repeatable; of a strategy its name will do")
	flags.StringArrayVar(&v.mean, "mean", nil, "average over this `AXIS`, repeatable; seeds are averaged over unless they are drawn")
	flags.StringArrayVar(&v.log, "log", nil, "the axis `x|y` is logarithmic, repeatable")
	text(&v.about, "about", "a number", "compare with this `VALUE`, as ratios with 1: a level across lines, the middle of a map's colours")
}

// runSweep draws a figure from the table of a sweep.
func (f *plotFlags) runSweep(ctx context.Context, a *app, paths []string) error {
	look := f.look()
	switch {
	case len(paths) == 0:
		f.addf("no run directory is given, want that of a sweep")
	case len(paths) > 1:
		f.addf("%d directories are given, want one sweep with --y", len(paths))
	}
	if len(f.names) > 0 {
		f.addf("--figure = %s goes with figures that runs have drawn, want --y alone for one of a sweep", shown(f.names[0]))
	}
	about, logs := f.view.numbers(&f.faults)
	if err := f.err(); err != nil {
		return err
	}
	s, err := await(ctx, func() (*swept, error) { return f.readSweep(ctx, paths[0]) })
	if err != nil {
		return err
	}
	s.about, s.logX, s.logY = about, logs["x"], logs["y"]
	f.choose(s)
	if err := f.err(); err != nil {
		return err
	}
	p := &plotted{reproduce: f.line(paths)}
	q, warnings, err := s.figure(f.seenBy(paths[0], s.view))
	if err != nil {
		f.addf("%w", err)
		f.hint("--at AXIS=VALUE draws a part")
		return f.err()
	}
	p.add(q)
	file := f.file([]string{q.Name}, &look)
	f.outside([]drawnRun{{path: paths[0]}})
	f.drawsSomething()
	if err := f.err(); err != nil {
		return err
	}
	return f.finish(ctx, a, p, look, file, warnings)
}

// isSweep reports whether a directory holds a sweep.
func isSweep(path string) bool {
	r, err := rundir.Read(path)
	return err == nil && r.Command == "sweep"
}

// panelAxes returns the axes of --panels.
func (v *sweepView) panelAxes() []string {
	if v.panels == "" {
		return nil
	}
	return strings.Split(v.panels, ",")
}

// numbers returns the value of --about, NaN for none, and the axes of --log.
func (v *sweepView) numbers(faults *faults) (about float64, logs map[string]bool) {
	about, logs = math.NaN(), map[string]bool{}
	if v.about != "" {
		x, err := strconv.ParseFloat(v.about, 64)
		if err != nil || !(math.Abs(x) <= 1e100) {
			faults.addf("--about = %s, want a number in [-1e100, 1e100]", shown(v.about))
		}
		about = x
	}
	for _, axis := range v.log {
		if axis != "x" && axis != "y" {
			faults.addf("--log = %s, want x or y", shown(axis))
		}
		logs[axis] = true
	}
	if len(v.log) > 0 && v.heat != "" {
		faults.addf("--log = %s goes with lines, and --heat draws a map, want one of them", shown(v.log[0]))
	}
	return about, logs
}

// readSweep reads the axes of a sweep and the rows of the figure.
func (f *plotFlags) readSweep(ctx context.Context, path string) (*swept, error) {
	record, err := rundir.Read(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.addf("%s holds no run.json, want a sweep: what vigorlab sweep --out wrote", path)
		return nil, f.err()
	case err != nil:
		f.add(path, err)
		return nil, f.err()
	}
	run := drawnRun{path: path, record: record}
	switch {
	case record.Command != "sweep":
		f.addf("%s holds a run of vigorlab %s, want a sweep with --y", path, harmless(record.Command))
		return nil, f.err()
	case record.Status != rundir.Complete:
		f.addf("%s holds a sweep that is %s, and its points are merged at its end", path, harmless(record.Status))
		f.hint("finish it: " + run.again(false))
		return nil, f.err()
	}
	s := &swept{record: record}
	axes, err := s.axes(path)
	if err != nil {
		f.addf("%w", err)
		return nil, f.err()
	}
	table := filepath.Join(path, "results.csv")
	file, err := opener(ctx)(table)
	if err != nil {
		f.addf("%w", err)
		return nil, f.err()
	}
	defer file.Close() // only read
	if s.table, err = merged.Read(file, axes, f.view.y); err != nil {
		f.add(table, err)
		f.hint("merge it again: vigorlab sweep merge " + quote(path))
		return nil, f.err()
	}
	return s, nil
}

// choose says what of the sweep is seen: what is typed, else the first axes that differ.
func (f *plotFlags) choose(s *swept) {
	t, v := s.table, &f.view
	if !slices.Contains(t.Figures, v.y) {
		f.unknownFigure(t)
		return
	}
	for _, held := range v.at {
		axis, value, ok := strings.Cut(held, "=")
		if !ok {
			f.addf("--at = %s, want AXIS=VALUE", shown(held))
			continue
		}
		f.add("--at", t.Hold(axis, value))
	}
	s.view = merged.View{X: v.x, Series: v.lines, Panels: v.panelAxes(), Mean: v.mean}
	if s.heat = v.heat != ""; s.heat {
		s.view.Series = v.heat
		if v.lines != "" {
			f.addf("--heat = %s and --lines = %s are both given, want one of them", shown(v.heat), shown(v.lines))
		}
	}
	if f.knownAxes(s); len(f.errs) > 0 {
		return
	}
	f.fill(s)
	if x, _ := t.Axis(s.view.X); !s.heat && len(f.errs) == 0 && !x.Numbers {
		f.addf("--x = %s, whose values are words, want an axis of numbers for lines, or a map: --heat AXIS", s.view.X)
	}
	if n := len(s.panels()); n > plots.MaxFacets {
		f.addf("--y %s has %d panels, by %s, want at most %d", v.y, n, strings.Join(s.view.Panels, " and "), plots.MaxFacets)
		f.hint("--at AXIS=VALUE draws a part, and --panels chooses other axes")
		return
	}
	var loose *merged.LooseError
	if err := s.seen(); errors.As(err, &loose) {
		f.unshown(loose.Axes)
	} else if err != nil {
		f.addf("%w", err)
	}
}

// unshown records axes that would be averaged over, with their values, and what can be
// done.
func (f *plotFlags) unshown(axes []merged.Axis) {
	var parts []string
	for _, a := range axes {
		var values []string
		for _, v := range a.Values[:min(len(a.Values), maxListed)] {
			values = append(values, cellLabel(a.Name, v))
		}
		if more := len(a.Values) - len(values); more > 0 {
			values = append(values, fmt.Sprintf("%d more", more))
		}
		parts = append(parts, fmt.Sprintf("%s (%s)", a.Name, strings.Join(values, ", ")))
	}
	f.addf("--y %s would be averaged over %s", f.view.y, strings.Join(parts, " and "))
	name := axes[0].Name
	f.hint(fmt.Sprintf("--at %s draws one of its values, --mean %s averages, and --x, --lines, --heat or --panels shows them",
		quote(name+"="+briefValue(axes[0])), quote(name)))
}

// maxListed is the number of values of an axis that an error lists.
const maxListed = 12

// briefValue returns how the first value of an axis can be typed: by the name of its
// spec where no other has that name.
func briefValue(a merged.Axis) string {
	name, _, _ := strings.Cut(a.Values[0], ":")
	for _, other := range a.Values[1:] {
		if other == name || strings.HasPrefix(other, name+":") {
			return a.Values[0]
		}
	}
	return name
}

// unknownFigure records that a sweep has no such figure, and which it has.
func (f *plotFlags) unknownFigure(t *merged.Table) {
	want := "want a figure of the sweep: " + strings.Join(t.Figures, ", ")
	if len(t.Figures) == 0 {
		want = fmt.Sprintf("and the sweep has no figure at all: %d of its %d points failed", t.Failed, t.Points)
	}
	if near, ok := spec.Nearest(f.view.y, t.Figures); ok {
		want += fmt.Sprintf(" (did you mean %s?)", near)
	}
	if f.view.y == "" {
		f.addf("--y is missing, %s", want)
		return
	}
	f.addf("--y = %s, %s", shown(f.view.y), want)
}

// knownAxes records axes that the table has not, and those that are named twice.
func (f *plotFlags) knownAxes(s *swept) {
	taken := map[string]string{}
	check := func(flag, name string) {
		if name == "" {
			return
		}
		if _, ok := s.table.Axis(name); !ok {
			want := strings.Join(s.table.Names(), ", ")
			if near, ok := spec.Nearest(name, s.table.Names()); ok {
				want += fmt.Sprintf(" (did you mean %s?)", near)
			}
			f.addf("--%s = %s, want one of %s", flag, shown(name), want)
			return
		}
		if earlier, twice := taken[name]; twice {
			f.addf("--%s = %s, which --%s shows already, want another axis", flag, shown(name), earlier)
		}
		taken[name] = flag
	}
	check("x", f.view.x)
	check("lines", f.view.lines)
	check("heat", f.view.heat)
	for _, name := range s.view.Panels {
		if name == "" {
			f.addf("--panels = %s, want AXIS or AXIS,AXIS", shown(f.view.panels))
		}
		check("panels", name)
	}
	for _, name := range f.view.mean {
		check("mean", name)
	}
	if len(s.view.Panels) > maxPanelAxes {
		f.addf("--panels = %s, want at most two axes", shown(f.view.panels))
	}
}

// maxPanelAxes is the number of axes that panels stand for: their columns and rows.
const maxPanelAxes = 2

// fill gives what is not typed the first axes that differ within a cell.
func (f *plotFlags) fill(s *swept) {
	if s.view.X == "" {
		s.view.X = s.firstAxis()
	}
	if s.view.X == "" && !s.heat { // a map without one has a single column
		f.addf("--x is missing, and no axis has several numbers for lines; want a map: --heat with one of %s", strings.Join(s.table.Names(), ", "))
		return
	}
	for range s.table.Axes {
		loose := s.table.Loose(s.view)
		switch {
		case len(loose) == 0:
			return
		case s.view.Series == "":
			s.view.Series = loose[0].Name
		case f.view.panels == "" && len(s.view.Panels) < maxPanelAxes:
			s.view.Panels = append(s.view.Panels, loose[0].Name)
		default:
			return
		}
	}
}

// seenBy returns the command that draws what is seen, without where and how.
func (f *plotFlags) seenBy(path string, seen merged.View) string {
	l := newCommandLine("plot")
	l.argument(path)
	f.view.addTo(l, seen)
	return l.String()
}

// addTo adds the flags to a command line, with the axes that are seen.
func (v *sweepView) addTo(l *commandLine, seen merged.View) {
	series := "lines"
	if v.heat != "" {
		series = "heat"
	}
	for _, flag := range []struct{ name, value string }{
		{"y", v.y}, {"x", seen.X}, {series, seen.Series}, {"panels", strings.Join(seen.Panels, ",")}, {"about", v.about},
	} {
		if flag.value != "" {
			l.add(flag.name, flag.value)
		}
	}
	for _, flag := range []struct {
		name   string
		values []string
	}{{"at", v.at}, {"mean", v.mean}, {"log", v.log}} {
		for _, value := range flag.values {
			l.add(flag.name, value)
		}
	}
}

// completeSweepViews says to shells which figures and axes the sweep on the command line
// has.
func completeSweepViews(cmd *cobra.Command) {
	words := func(of func(*merged.Table) []string) cobra.CompletionFunc {
		return func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			f := new(plotFlags)
			if len(args) != 1 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			s, err := f.readSweep(context.Background(), args[0])
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return of(s.table), cobra.ShellCompDirectiveNoFileComp
		}
	}
	complete := map[string]cobra.CompletionFunc{
		"y": words(func(t *merged.Table) []string { return t.Figures }),
		"at": words(func(t *merged.Table) []string {
			var all []string
			for _, name := range t.Names() {
				a, _ := t.Axis(name)
				for _, value := range a.Values {
					all = append(all, name+"="+value)
				}
			}
			return all
		}),
		"log": cobra.FixedCompletions([]cobra.Completion{"x", "y"}, cobra.ShellCompDirectiveNoFileComp), "about": cobra.NoFileCompletions,
	}
	for _, name := range []string{"x", "lines", "heat", "panels", "mean"} {
		complete[name] = words((*merged.Table).Names)
	}
	for name, values := range complete {
		_ = cmd.RegisterFlagCompletionFunc(name, values) // fails for a name without a flag
	}
}
