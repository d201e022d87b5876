package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"vigorlab/cmd/vigorlab/internal/figures"
	"vigorlab/cmd/vigorlab/internal/merged"
	"vigorlab/cmd/vigorlab/internal/rundir"
	"vigorlab/distributions/spec"
	"vigorlab/plots"
)

type plotFlags struct {
	common
	names   []string
	style   string
	width   string
	image   string
	drawing bool // a flag is given that only drawing heeds
	view    sweepView
	sweep   bool // a flag is given that draws from the table of a sweep
}

func newPlot(a *app) *cobra.Command {
	f := new(plotFlags)
	cmd := &cobra.Command{
		Use:   "plot RUNDIR ...",
		Short: "Draw the figures of runs again, for a paper or a slide",
		Long: `plot draws figures of run directories again: at another width, for a slide, in
another format, or the same figure of several runs in one. It reads what the runs
keep, and never computes their results anew. Without --out it lists the figures
that there are.

--out FOLDER gets every picture with its data (NAME.csv, and NAME.json to draw it
from) and its caption (NAME.caption.md, and NAME.caption.tex to \input in a figure
environment). --out FILE.pdf, .svg, .png or .tex names the file of one figure in that
format, and gets the picture alone. A .tex picture is for \input, with the fonts of
the document, which must load pgf.

Of several runs, a figure has the series of all, and its labels say by what their
specs differ: the seed, the population. Ranks, plans and clouds of gradients are of
one run each.

Of a sweep, --y FIGURE is drawn from its merged table: over the axis --x, a line for
each value of --lines, or a map with the rows of --heat, a panel for each value of
--panels. What is not said is taken from the axes that differ, in their order. Runs
of different seeds are averaged over, with the error of their spread; other axes
only if --mean says so.`,
		Example: `  # which figures has a run?
  vigorlab simulate --population beta:a=0.1,b=0.3 --replicates 50 --out run
  vigorlab plot run

  # all of them for LaTeX, with data and captions
  vigorlab plot run --image pdf,tex --out paper

  # one of them across a page, and for a slide
  vigorlab plot run --figure allocation --width page --out allocation.pdf
  vigorlab plot run --figure allocation --style talk --out slide.svg

  # two seeds in one figure
  vigorlab simulate --population beta:a=0.1,b=0.3 --replicates 50 --seed 2 --out again
  vigorlab plot run again --figure group-sizes --out both

  # a figure of a sweep over its axes: a line a strategy, and a map
  vigorlab sweep grid.toml --out swept
  vigorlab plot swept --y eta --x shape --out lines.svg
  vigorlab plot swept --y eta --x shape --heat strategy --about 1 --out map.svg`,
		Args: func(*cobra.Command, []string) error { return nil },
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, name := range []string{"style", "width", "image"} {
				f.drawing = f.drawing || cmd.Flags().Changed(name)
			}
			for _, name := range sweepViewFlags {
				f.sweep = f.sweep || cmd.Flags().Changed(name)
			}
			if !f.sweep && len(args) == 1 {
				var err error
				if f.sweep, err = await(cmd.Context(), func() (bool, error) { return isSweep(args[0]), nil }); err != nil {
					return err
				}
			}
			if f.sweep {
				return f.runSweep(cmd.Context(), a, args)
			}
			return f.run(cmd.Context(), a, args)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.names, "figure", nil, "`NAME` of a figure, repeatable, or all (the default)")
	f.view.register(flags, &f.faults)
	f.choice(flags, &f.style, "style", plots.Styles(), "`STYLE` of the pictures, for a page or a slide")
	flags.Var(&textFlag{&f.width, "width", "column, page or inches", &f.faults}, "width", "`WIDTH` of the pictures: column, page, or inches in [2, 20], on a slide in [3.6, 20] (default as the run drew them, on a slide in proportion)")
	flags.Var(&textFlag{&f.image, "image", "a list such as pdf,svg", &f.faults}, "image", "`FORMATS` of the pictures, a list of "+strings.Join(plots.Formats(), ", ")+" (default "+strings.Join(drawnFormats, ",")+", or that of the file of --out)")
	f.registerFormat(flags)
	flags.Var(&textFlag{&f.out, "out", "a folder, or a file", &f.faults}, "out", "draw into `PATH`: a folder, or the file of one figure in one format")
	flags.BoolVar(&f.force, "force", false, "replace files of --out")
	flags.BoolVar(&f.quiet, "quiet", false, "no warnings on standard error")
	completeSweepViews(cmd)
	return cmd
}

func (f *plotFlags) run(ctx context.Context, a *app, paths []string) error {
	look := f.look()
	runs, err := await(ctx, func() ([]drawnRun, error) { return f.runs(paths), nil })
	if err != nil {
		return err
	}
	names := f.chosen(runs)
	file := f.file(names, &look)
	f.outside(runs)
	f.drawsSomething()
	if err := f.err(); err != nil {
		return err
	}
	p := &plotted{reproduce: f.line(paths)}
	warnings, err := f.read(ctx, p, runs, names)
	if err != nil {
		return err
	}
	return f.finish(ctx, a, p, look, file, warnings)
}

// finish draws the figures where --out asks for it, and prints what they are.
func (f *plotFlags) finish(ctx context.Context, a *app, p *plotted, look figures.Look, file string, warnings []string) error {
	if f.out != "" {
		notes, err := await(ctx, func() ([]string, error) { return f.draw(p, look, file) })
		if err != nil {
			return err
		}
		warnings = append(warnings, notes...)
	}
	f.warn(a, warnings)
	return p.result().print(a, f.format)
}

// drawsSomething records flags of drawing where nothing is drawn.
func (f *plotFlags) drawsSomething() {
	if f.out == "" && f.drawing {
		f.addf("--out is missing, want a folder, or the file of one figure: without it plot lists figures")
	}
}

// look returns how pictures are drawn.
func (f *plotFlags) look() figures.Look {
	l := figures.Look{Formats: drawnFormats}
	if f.image != "" {
		l.Formats = nil
		for word := range strings.SplitSeq(f.image, ",") {
			if !slices.Contains(plots.Formats(), word) {
				f.addf("--image = %s, want a list of %s", shown(f.image), strings.Join(plots.Formats(), ", "))
				break
			}
			if !slices.Contains(l.Formats, word) {
				l.Formats = append(l.Formats, word)
			}
		}
	}
	style, err := plots.ParseStyle(f.style)
	if err != nil { // which the flag has checked
		f.add("--style", err)
		return l
	}
	l.Style = style
	if f.width == "" {
		return l
	}
	if l.Width, err = plots.ParseWidth(f.width, style); err != nil {
		f.addf("--width = %s, want %s", shown(f.width), style.Widths())
	}
	return l
}

// A drawnRun is a run directory with figures.
type drawnRun struct {
	path   string
	record *rundir.Record
	names  []string // of its figures, in the order in which it drew them
}

// runs reads the records of run directories.
func (f *plotFlags) runs(paths []string) []drawnRun {
	if len(paths) == 0 {
		f.addf("no run directory is given, want what --out of another command wrote")
	}
	var runs []drawnRun
	for i, path := range paths {
		if slices.ContainsFunc(paths[:i], func(earlier string) bool { return followed(earlier) == followed(path) }) {
			f.addf("%s is given twice, want each run once", path)
			continue
		}
		record, err := rundir.Read(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			f.addf("%s holds no run.json, want a run directory: what --out of another command wrote", path)
			continue
		case err != nil:
			f.add(path, err)
			continue
		}
		if r := (drawnRun{path, record, figureNames(record)}); f.drew(&r) {
			runs = append(runs, r)
		}
	}
	return runs
}

// figureNames lists the figures whose data a run has written.
func figureNames(r *rundir.Record) []string {
	var names []string
	for _, file := range r.Files {
		name, isData := strings.CutSuffix(strings.TrimPrefix(file, figuresFolder+"/"), figures.DataEnd)
		if isData && file == figuresFolder+"/"+name+figures.DataEnd && !strings.ContainsAny(name, `/\`) {
			names = append(names, name)
		}
	}
	return names
}

// drew reports whether a run has figures to draw, and records why not.
func (f *plotFlags) drew(r *drawnRun) bool {
	drawn := slices.ContainsFunc(r.record.Files, func(file string) bool { return strings.HasPrefix(file, figuresFolder+"/") })
	switch {
	case r.record.Status != rundir.Complete:
		f.addf("%s holds a run that is %s, and figures are drawn at its end", r.path, harmless(r.record.Status))
		f.hint("finish it: " + r.again(false))
	case len(r.names) > 0:
		return true
	case drawn:
		f.addf("%s holds pictures without their data, as version %s of vigorlab wrote them", r.path, harmless(r.record.Version))
		f.hint("make it again: " + r.again(true))
	default:
		f.addf("%s holds no figures: this run of vigorlab %s drew none", r.path, harmless(r.record.Command))
	}
	return false
}

// again returns the command that makes the run again.
func (r *drawnRun) again(force bool) string {
	command := fmt.Sprintf("%s --out %s", harmless(r.record.Reproduce), quote(r.path))
	if force {
		command += " --force"
	}
	return command
}

// chosen returns the names of --figure: of all, those that every run has.
func (f *plotFlags) chosen(runs []drawnRun) []string {
	if len(runs) == 0 {
		return nil // which is a fault already
	}
	if len(f.names) == 0 || slices.Contains(f.names, allFigures) {
		names := slices.DeleteFunc(slices.Clone(runs[0].names), func(name string) bool {
			return slices.ContainsFunc(runs, func(r drawnRun) bool { return !slices.Contains(r.names, name) })
		})
		if len(names) == 0 {
			f.addf("the runs share no figure: %s", figuresOfRuns(runs))
		}
		return names
	}
	var names []string
	for _, name := range f.names {
		if f.known(name, runs) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// allFigures stands for every figure.
const allFigures = "all"

// known reports whether all runs have a figure, and records why not.
func (f *plotFlags) known(name string, runs []drawnRun) bool {
	for _, r := range runs {
		if slices.Contains(r.names, name) {
			continue
		}
		want := strings.Join(append([]string{allFigures}, r.names...), ", ")
		if near, ok := spec.Nearest(name, r.names); ok {
			want += fmt.Sprintf(" (did you mean %s?)", near)
		}
		f.addf("--figure = %s, %s has %s", shown(name), r.path, want)
		return false
	}
	return true
}

// figuresOfRuns lists the figures of every run.
func figuresOfRuns(runs []drawnRun) string {
	parts := make([]string, len(runs))
	for i, r := range runs {
		parts[i] = r.path + " has " + strings.Join(r.names, ", ")
	}
	return strings.Join(parts, "; ")
}

// file returns the file of --out where it names one, and makes its format the one
// that is drawn.
func (f *plotFlags) file(names []string, look *figures.Look) string {
	format := strings.TrimPrefix(strings.ToLower(filepath.Ext(f.out)), ".")
	if !slices.Contains(plots.Formats(), format) {
		return ""
	}
	if f.image == "" {
		look.Formats = []string{format}
	}
	if !slices.Equal(look.Formats, []string{format}) {
		f.addf("--out %s is one file, and --image = %s asks for other formats, want --image %s or a folder", f.out, f.image, format)
	}
	if len(names) > 1 {
		f.addf("--out %s is one file, and %d figures are asked for, want --figure and one of %s, or a folder", f.out, len(names), strings.Join(names, ", "))
	}
	return f.target("--out", f.out)
}

// outside records where --out lies in a run: its pictures would no longer be those of
// its data, nor its data those that it found, and no run takes over a directory that
// holds what no run wrote.
func (f *plotFlags) outside(runs []drawnRun) {
	for _, r := range runs {
		if f.out != "" && inside(f.out, r.path) {
			f.addf("--out %s lies in the run directory %s, want another place", f.out, r.path)
		}
	}
}

// line returns the command that draws the same again.
func (f *plotFlags) line(paths []string) string {
	l := newCommandLine("plot")
	for _, path := range paths {
		l.argument(path)
	}
	for _, name := range f.names {
		l.add("figure", name)
	}
	f.view.addTo(l, merged.View{X: f.view.x, Series: f.view.lines + f.view.heat, Panels: f.view.panelAxes()})
	if f.out != "" {
		l.add("style", f.style)
	}
	for _, flag := range []struct{ name, value string }{{"width", f.width}, {"image", f.image}, {"out", f.out}} {
		if flag.value != "" {
			l.add(flag.name, flag.value)
		}
	}
	return l.String()
}

// read reads the chosen figures, several runs' in one, and returns what they cannot
// show.
func (f *plotFlags) read(ctx context.Context, p *plotted, runs []drawnRun, names []string) (warnings []string, err error) {
	labels := runLabels(runs)
	for _, name := range names {
		var parts []figures.Run
		for i, r := range runs {
			figure, err := r.figure(ctx, name)
			if err != nil {
				if ctx.Err() != nil {
					return nil, ctx.Err()
				}
				f.add(r.dataFile(name), err)
				f.hint("make it again: " + r.again(true))
				continue
			}
			parts = append(parts, figures.Run{Name: labels[i], Figure: figure})
		}
		if len(parts) < len(runs) {
			continue
		}
		if len(runs) == 1 {
			p.add(parts[0].Figure)
			continue
		}
		figure, notes, err := figures.Overlay(parts)
		switch {
		case err == nil:
			p.add(figure)
			warnings = append(warnings, notes...)
		case len(f.names) == 0 || slices.Contains(f.names, allFigures):
			warnings = append(warnings, "left out: "+err.Error())
		default:
			f.addf("%w", err)
		}
	}
	if len(f.errs) == 0 && len(p.figures) == 0 {
		f.addf("no figure of these runs can be drawn in one: %s", strings.Join(warnings, "; "))
	}
	return warnings, f.err()
}

// dataFile is where the data of a figure are.
func (r *drawnRun) dataFile(name string) string {
	return filepath.Join(r.path, figuresFolder, name+figures.DataEnd)
}

// figure reads the data of a figure.
func (r *drawnRun) figure(ctx context.Context, name string) (*figures.Figure, error) {
	file, err := opener(ctx)(r.dataFile(name))
	if err != nil {
		return nil, err
	}
	defer file.Close() // only read
	content, err := io.ReadAll(file)
	if err != nil {
		return nil, err
	}
	return figures.Decode(name, content)
}

// draw draws every figure, then writes all files: those of a folder, or the one file.
func (f *plotFlags) draw(p *plotted, look figures.Look, file string) (notes []string, err error) {
	var files []figures.File
	for i := range p.figures {
		q := &p.figures[i]
		pictures, own, err := q.figure.Pictures(look)
		if err != nil {
			f.addf("%w", err)
			return nil, f.err()
		}
		q.width = q.figure.WidthIn(look)
		notes = append(notes, own...)
		if file != "" {
			q.files = []string{f.out}
			return notes, f.writeAll([]string{file}, pictures)
		}
		records, err := q.figure.Records()
		if err != nil {
			return nil, err
		}
		for _, one := range append(pictures, records...) {
			files = append(files, one)
			q.files = append(q.files, filepath.Join(f.out, one.Name))
		}
	}
	if err := os.MkdirAll(f.out, 0o777); err != nil {
		return nil, fmt.Errorf("--out: %w", err)
	}
	paths := make([]string, len(files))
	for i, one := range files {
		paths[i] = f.target("--out", filepath.Join(f.out, one.Name))
	}
	if err := f.err(); err != nil {
		return nil, err
	}
	return notes, f.writeAll(paths, files)
}

func (f *plotFlags) writeAll(paths []string, files []figures.File) error {
	for i, one := range files {
		err := rundir.WriteFile(paths[i], func(w io.Writer) error {
			_, err := w.Write(one.Content)
			return err
		})
		if err != nil {
			return fmt.Errorf("--out: %w", err)
		}
	}
	return nil
}
