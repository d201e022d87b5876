package slurm

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// An entry is what squeue says of a task.
type entry struct {
	job    int    // the array's number
	index  int    // in the array
	state  string // of Slurm: PENDING, RUNNING, ...
	reason string // why it waits
}

// id returns the name by which commands know the task.
func (e entry) id() string { return fmt.Sprintf("%d_%d", e.job, e.index) }

// ended are the states of tasks that do not run any more, and will not.
var ended = []string{"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "OUT_OF_MEMORY", "DEADLINE", "NODE_FAIL", "BOOT_FAIL", "PREEMPTED", "REVOKED"}

// lost are those of tasks that the cluster ended for its own reasons, not for theirs.
var lost = []string{"NODE_FAIL", "BOOT_FAIL", "PREEMPTED", "REVOKED"}

func (e entry) ended() bool   { return slices.Contains(ended, e.state) }
func (e entry) lost() bool    { return slices.Contains(lost, e.state) }
func (e entry) waiting() bool { return !e.ended() && !e.running() }

func (e entry) running() bool { return e.state == "RUNNING" || e.state == "COMPLETING" }

// Reasons why a task waits that was begun before. Slurm holds one back for two minutes
// whose node is lost, and for ever one that a node could not begin.
const (
	heldBack = "BeginTime"
	held     = "launch failed requeued held"
)

// usual are reasons to wait that need no word.
var usual = []string{"", "None", "Resources", "Priority", "Cleaning", heldBack, held}

// steps are what to do about reasons to wait, of a job of this number.
var steps = map[string]string{
	"JobHeldUser":  "to let it go: scontrol release %d",
	"JobHeldAdmin": "an administrator of the cluster holds it, and can say why: scontrol show job %d",
}

// A look is what squeue says at one time.
type look struct {
	tasks map[int][]entry // by number; a task may be of several arrays
	rest  map[int]string  // by array: the state of tasks that it does not list one by one
}

// queue asks squeue for the tasks of the arrays that tasks would be of, also those that
// ended a few minutes ago.
func (j Job) queue(ctx context.Context, tasks []int, size int) (*look, error) {
	bases := map[string]int{}
	var names []string
	for _, a := range arrays(tasks, size) {
		names = append(names, j.name(a.base))
		bases[j.name(a.base)] = a.base
	}
	printed, err := run(ctx, "squeue", "--noheader", "--array", "--states=all", "--name="+strings.Join(names, ","), "--format=%j|%F|%K|%T|%r")
	if err != nil {
		return nil, err
	}
	l := &look{map[int][]entry{}, map[int]string{}}
	for line := range strings.Lines(printed) {
		name, e, err := parse(strings.TrimSpace(line))
		if err != nil {
			return nil, err
		}
		base, ours := bases[name]
		switch {
		case !ours:
		case e.index < 0:
			l.rest[e.job] = e.state
		default:
			l.tasks[base+e.index] = append(l.tasks[base+e.index], e)
		}
	}
	return l, nil
}

// rest is what squeue prints for the index of all tasks of an array that were cancelled
// before they began.
const rest = "N/A"

// parse reads a line of squeue: the name and the entry, of index -1 for the rest of an
// array.
func parse(line string) (string, entry, error) {
	fields := strings.SplitN(line, "|", 5)
	if len(fields) < 5 {
		return "", entry{}, &CommandError{"squeue", fmt.Sprintf("it printed %q, want name|job|index|state|reason", line), nil, ""}
	}
	job, err1 := strconv.Atoi(fields[1])
	index, err2 := strconv.Atoi(fields[2])
	if fields[2] == rest {
		index, err2 = -1, nil
	}
	if err1 != nil || err2 != nil {
		return "", entry{}, &CommandError{"squeue", fmt.Sprintf("it printed %q, want numbers of a job and an index", line), nil, ""}
	}
	return fields[0], entry{job, index, fields[3], fields[4]}, nil
}
