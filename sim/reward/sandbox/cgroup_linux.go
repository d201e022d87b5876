package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// groups are the cgroups below which every job gets its own: none where this
// process may not make one.
type groups struct {
	parents []string
	unified bool // version 2: one parent for memory and processes
}

// cgroups is where they are mounted.
const cgroups = "/sys/fs/cgroup"

// prefix begins the names of those of jobs, which go on with a process.
const prefix = "vigorlab-"

// sweep removes what processes left that were killed.
func (g groups) sweep() {
	for _, parent := range g.parents {
		left, _ := filepath.Glob(filepath.Join(parent, prefix+"*")) // the pattern is right
		for _, dir := range left {
			owner, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), prefix), "-")
			if pid, err := strconv.Atoi(owner); err == nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
				_ = os.Remove(dir) // fails where processes are left, which are not ours
			}
		}
	}
}

// findGroups looks below root for cgroups that this process may make: of version
// 2 beside its own, or further up, where a parent hands on both controllers; of
// version 1 inside its own, of each controller.
func findGroups(root string) groups {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return groups{}
	}
	return groupsOf(root, string(text))
}

// groupsOf reads /proc/self/cgroup: lines of number:controllers:path.
func groupsOf(root, text string) groups {
	v1 := map[string]string{}
	for line := range strings.Lines(text) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		for _, c := range strings.Split(fields[1], ",") {
			v1[c] = filepath.Join(root, c, fields[2])
		}
		if fields[1] == "" {
			if dir, ok := handsOn(root, filepath.Join(root, fields[2])); ok {
				return groups{[]string{dir}, true}
			}
		}
	}
	if v1["memory"] == "" || v1["pids"] == "" {
		return groups{}
	}
	return groups{[]string{v1["memory"], v1["pids"]}, false}
}

// handsOn returns the nearest cgroup of version 2, from dir up to root, that hands
// on memory and processes to those below it.
func handsOn(root, dir string) (string, bool) {
	for ; strings.HasPrefix(dir, root); dir = filepath.Dir(dir) {
		text, err := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
		controllers := strings.Fields(string(text))
		if err == nil && slices.Contains(controllers, "memory") && slices.Contains(controllers, "pids") {
			return dir, true
		}
	}
	return "", false
}

// A group is the cgroup of a job, a folder for each controller; none where there
// are no cgroups.
type group struct{ dirs []string }

// make makes the cgroup of a job.
func (g groups) make(l Limits) (group, error) {
	var made group
	for i, parent := range g.parents {
		dir, err := os.MkdirTemp(parent, prefix+strconv.Itoa(os.Getpid())+"-")
		if err != nil {
			made.remove()
			return group{}, fmt.Errorf("sandbox: cgroup: %w", err)
		}
		made.dirs = append(made.dirs, dir)
		limits := [][2]string{{"memory.limit_in_bytes", strconv.FormatInt(l.Memory, 10)}}
		pids := [2]string{"pids.max", strconv.Itoa(l.Processes + 1)} // with bubblewrap's
		switch {
		case g.unified:
			limits = [][2]string{{"memory.max", strconv.FormatInt(l.Memory, 10)}, pids}
		case i == 1:
			limits = [][2]string{pids}
		}
		for _, set := range limits {
			if err := os.WriteFile(filepath.Join(dir, set[0]), []byte(set[1]), 0); err != nil {
				made.remove()
				return group{}, fmt.Errorf("sandbox: cgroup: %w", err)
			}
		}
	}
	return made, nil
}

// add moves a process into the group.
func (g group) add(pid int) error {
	var errs []error
	for _, dir := range g.dirs {
		errs = append(errs, os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0))
	}
	return errors.Join(errs...)
}

// exhausted reports whether the kernel killed a process of the group for memory.
func (g group) exhausted() bool {
	for _, dir := range g.dirs {
		for _, file := range []string{"memory.oom_control", "memory.events"} { // of version 1 and 2
			text, err := os.ReadFile(filepath.Join(dir, file))
			if err != nil {
				continue
			}
			for line := range strings.Lines(string(text)) {
				if f := strings.Fields(line); len(f) == 2 && f[0] == "oom_kill" && f[1] != "0" {
					return true
				}
			}
		}
	}
	return false
}

// remove kills what is left in the group and removes it. The kernel takes a
// moment to forget processes that have ended, and a busy machine seconds.
func (g group) remove() {
	for _, dir := range g.dirs {
		for pause := time.Millisecond; pause < 4*time.Second; pause += pause / 4 { // 20 s in all
			if err := os.Remove(dir); err == nil || errors.Is(err, os.ErrNotExist) {
				break
			}
			text, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs")) // none where it is gone
			for _, f := range strings.Fields(string(text)) {
				if pid, err := strconv.Atoi(f); err == nil && pid > 1 {
					_ = syscall.Kill(pid, syscall.SIGKILL) // or it has ended
				}
			}
			time.Sleep(pause)
		}
	}
}
