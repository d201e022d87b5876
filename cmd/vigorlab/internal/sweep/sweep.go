// Package sweep runs a command at many points: it reads the file that names them,
// deals them to shards, runs every point in a process of its own, and makes one
// table of what the points printed. It refuses to simulate, to draw and to print.
//
// All that a sweep knows is in its directory. sweep.json says what is to be done, and
// is written once, before any task begins. shards/N.parquet holds the rows of a shard
// and shards/N.json, its manifest, which points they are of and the SHA-256 of the
// rows: a shard without a sound manifest has not been run. So a task may be killed at
// any time, on any machine, and be run again.
package sweep

import (
	"context"
	"fmt"
)

// A Command is a command that a sweep may run, as the sweep sees it.
type Command struct {
	Name     string
	Flags    []Flag
	Withheld []string // flags that a file may not set
	Columns  []Column // of the tidy table that it prints, in order
	Timed    []string // figures of that table that are times of this machine: a sweep leaves them out
	Args     bool     // it takes arguments that are no flags
	Scale    string   // the flag that its time grows with in proportion, such as replicates; "" for none
	Scaled   int      // what that flag is by default
}

// A Flag is a flag that a file may set.
type Flag struct {
	Name    string
	Switch  bool // it is given as --name or --name=false
	Repeats bool // it may be given more than once
}

// A Column is a column of a table.
type Column struct {
	Name string `json:"name"`
	Kind Kind   `json:"kind"`
}

// A Kind is what the values of a column or an axis are.
type Kind string

// The kinds. A cell of a number or a truth may be empty, where there is none.
const (
	Text    Kind = "text"
	Whole   Kind = "whole"   // 64 bits, signed
	Natural Kind = "natural" // 64 bits, unsigned: seeds
	Real    Kind = "real"    // 64 bits, finite
	Truth   Kind = "truth"   // true or false
)

// An Engine runs tasks. Each is a process of its own, `vigorlab sweep task DIR --shard
// N`, on any machine that sees the sweep's directory. Run returns when all have ended,
// or soon after ctx has. It may run a task again that was lost, and even twice at once,
// since shards have the same bytes whoever writes them. It need not say which tasks have
// succeeded: that is read from the files. An error says why tasks may not have ended
// well.
type Engine interface {
	Run(ctx context.Context, tasks []Task) error
}

// A Task is the run of one shard.
type Task struct {
	Dir    string // of the sweep, absolute
	Shard  int    // from 1
	Points int    // how many points the shard has
}

// Args returns the arguments of vigorlab that run the task.
func (t Task) Args() []string {
	return []string{"sweep", "task", t.Dir, "--shard", fmt.Sprint(t.Shard)}
}
