package main

import (
	"errors"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"vigorlab/cmd/vigorlab/internal/output"
	"vigorlab/cmd/vigorlab/internal/sweep"
)

// A runnable is a command that a sweep may run.
type runnable struct {
	make    func(*app) *cobra.Command
	columns []sweep.Column
	scale   string
	scaled  int
	timed   []string
}

func runnables() []runnable {
	tidy := columnsOf[output.Row]()
	return []runnable{
		{newSimulate, tidy, "replicates", 1000, nil},
		{newCompare, tidy, "replicates", 64, []string{"select_ns"}},
		{newTrain, columnsOf[trainRow](), "seeds", 16, nil},
		{newVerify, columnsOf[ladderRow](), "", 0, nil},
		{newPlan, tidy, "", 0, nil},
	}
}

// withheld are the flags that a sweep sets, or whose files every point would write.
var withheld = []string{"workers", "format", "out", "force", "quiet", "emit-table", "help"}

// sweepable returns the commands that a sweep may run.
func sweepable() []sweep.Command {
	var commands []sweep.Command
	for _, r := range runnables() {
		cmd := r.make(&app{})
		c := sweep.Command{
			Name: cmd.Name(), Withheld: withheld, Columns: r.columns, Timed: r.timed,
			Scale: r.scale, Scaled: r.scaled, Args: cmd.Args != nil,
		}
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			if slices.Contains(withheld, flag.Name) {
				return
			}
			kind := flag.Value.Type()
			c.Flags = append(c.Flags, sweep.Flag{
				Name: flag.Name, Switch: kind == "bool", Repeats: kind == "stringArray" || kind == "stringSlice",
			})
		})
		commands = append(commands, c)
	}
	return commands
}

// columnsOf returns the columns of a struct with parquet tags.
func columnsOf[R any]() []sweep.Column {
	var columns []sweep.Column
	for field := range reflect.TypeFor[R]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("parquet"), ",")
		kind := field.Type
		if kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
		columns = append(columns, sweep.Column{Name: name, Kind: map[reflect.Kind]sweep.Kind{
			reflect.String: sweep.Text, reflect.Int64: sweep.Whole, reflect.Uint64: sweep.Natural,
			reflect.Float64: sweep.Real, reflect.Bool: sweep.Truth,
		}[kind.Kind()]})
	}
	return columns
}

// checkFlags gives the command every flag that some point has, and returns what it
// says of them.
func checkFlags(plan *sweep.Plan) error {
	for _, r := range runnables() {
		cmd := r.make(&app{})
		if cmd.Name() != plan.Name {
			continue
		}
		if err := cmd.ParseFlags(plan.Given); err != nil {
			return err
		}
		return errors.Join(cmd.Flags().Lookup("seed").Value.(*seedFlag).faults.errs...)
	}
	return nil
}
