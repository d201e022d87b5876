// Package slurm runs numbered tasks as job arrays of a Slurm cluster, by the commands
// that a login node has: sbatch, squeue, scontrol and scancel. It refuses to know what a
// task computes, or to believe the cluster that it has succeeded: whoever calls says
// which tasks are done.
//
// Nothing is kept of what was submitted. A job goes by a name of its own, and under that
// name squeue tells what runs of it; so a caller that was killed, and is begun again,
// finds its tasks, and submits those alone that nobody runs.
package slurm

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Options are what a task asks of the cluster. The zero value of each leaves it to the
// cluster's own default.
type Options struct {
	Account   string
	Partition string
	Time      string   // most of wall clock, as sbatch has it: 30, 2:30:00, 1-12
	Memory    string   // of a node: 500M, 4G
	CPUs      int      // processors
	Setup     []string // lines of shell that run before the task: module load, ulimit
}

var (
	words    = regexp.MustCompile(`^[A-Za-z0-9_.,:@+][A-Za-z0-9_.,:@+-]*$`)
	times    = regexp.MustCompile(`^(([0-9]+-)?[0-9]+(:[0-9]{1,2}){0,2}|infinite|UNLIMITED)$`)
	memories = regexp.MustCompile(`^[0-9]+[KMGT]?$`)
)

// Check returns what is wrong with the options, all at once, each by its name: account,
// partition, time, memory, cpus, setup.
func (o Options) Check() error {
	var errs []error
	match := func(name, value string, form *regexp.Regexp, want string) {
		if value != "" && !form.MatchString(value) {
			errs = append(errs, fmt.Errorf("%s = %q, want %s", name, value, want))
		}
	}
	match("account", o.Account, words, "a name of letters, digits and _.,:@+-")
	match("partition", o.Partition, words, "a name, or several with commas")
	match("time", o.Time, times, "minutes, H:MM:SS, D-H or D-H:MM:SS")
	match("memory", o.Memory, memories, "a whole number with K, M, G or T, such as 4G")
	if o.CPUs < 0 || o.CPUs > 1<<16 {
		errs = append(errs, fmt.Errorf("cpus = %d, want [1, 65536]", o.CPUs))
	}
	for _, line := range o.Setup {
		if strings.ContainsAny(line, "\n\r\x00") {
			errs = append(errs, fmt.Errorf("setup = %q, want one line of shell each", line))
		}
	}
	return errors.Join(errs...)
}

// A Job is tasks of one command, which takes the number of the task as its last
// argument.
type Job struct {
	Name    string   // of this job alone on the cluster: letters, digits, -
	Command []string // absolute path of a program that nodes see, arguments
	Dir     string   // folder that nodes see, absolute: the script, and what tasks print
	Options
}

// most is how many tasks an array has at most, whatever the cluster allows: Slurm's own
// default allows one more.
const most = 1000

// An array is tasks that are submitted together: index i stands for task base+i.
type array struct {
	base    int
	indices []int // ascending
}

// arrays deals tasks, ascending and from 0, to arrays of size indices at most. Which
// array a task is of does not depend on the others.
func arrays(tasks []int, size int) []array {
	var all []array
	for _, t := range tasks {
		base := t / size * size
		if len(all) == 0 || all[len(all)-1].base != base {
			all = append(all, array{base: base})
		}
		last := &all[len(all)-1]
		last.indices = append(last.indices, t-base)
	}
	return all
}

// spec returns indices as sbatch reads them: 0-5,9.
func (a array) spec() string {
	var parts []string
	for i := 0; i < len(a.indices); {
		j := i
		for j+1 < len(a.indices) && a.indices[j+1] == a.indices[j]+1 {
			j++
		}
		part := fmt.Sprint(a.indices[i])
		if j > i {
			part += fmt.Sprintf("-%d", a.indices[j])
		}
		parts = append(parts, part)
		i = j + 1
	}
	return strings.Join(parts, ",")
}

// name returns the name under which an array is submitted. It has the base, so that
// squeue tells which tasks its indices are.
func (j Job) name(base int) string { return fmt.Sprintf("%s.%d", j.Name, base) }
