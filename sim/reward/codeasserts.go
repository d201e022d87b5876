package reward

import (
	"context"
	"encoding/json"
	"os"
	"slices"

	"vigorlab/sim/reward/sandbox"
)

// asserts runs the tests in one sandbox and the program in another.
func (c *code) asserts(ctx context.Context, program string, tests suite) ([]outcome, error) {
	text, err := json.Marshal(map[string]any{
		"setup": append([]string{}, tests.setup...), "tests": tests.asserts, "first": !c.all,
	})
	if err != nil {
		return nil, err
	}
	p, err := pipes(3)
	if err != nil {
		return nil, err
	}
	requests, answers, report := p[0], p[1], p[2]
	serving, stop := context.WithCancel(ctx)
	defer stop()
	var served sandbox.Result
	var servedErr error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		served, servedErr = c.box.Run(serving, c.server(program, 1, requests.r, answers.w))
	}()
	read := make(chan [][]byte, 1)
	go func() { read <- readLines(report.r, c.limits.Output, func() {}) }()
	limits := c.limits
	limits.Wall += margin // so that what takes too long is the program
	tested, err := c.runTests(ctx, text, []*os.File{requests.w, answers.r, report.w}, limits)
	sandbox.Linger(report.r)
	found := readFindings(<-read)
	if found.done || err != nil {
		stop() // the program has nothing more to do
	}
	<-ended
	switch {
	case err != nil:
		return nil, err
	case !found.done && servedErr != nil:
		return nil, servedErr
	}
	return c.concluded(found, served, tested), nil
}

// concluded are the outcomes of the tests that were found, by how the program and
// the tests ended.
func (c *code) concluded(found findings, served, tested sandbox.Result) []outcome {
	switch {
	case found.done && !found.asked && found.allPass():
		return []outcome{{CannotTell, "the tests ask the program for nothing"}}
	case found.done:
		return found.outcomes
	case !found.begun:
		return []outcome{{CannotTell, "the tests cannot be read: " + brief(lastLine(tested.Stderr))}}
	}
	rest, failed := c.failed(served)
	if !failed && tested.End != sandbox.Exited {
		rest, failed = c.failed(tested)
	}
	if !failed {
		rest = outcome{Error, "ended before its tests did, or answers what is no answer"}
	}
	return found.fill(rest)
}

// runTests runs a file of tests in a nursery, which goes on to others where it is as
// it was: the tests of an answer vouch for nothing but its own grade, and a program
// never is where they are.
func (c *code) runTests(ctx context.Context, text []byte, pipes []*os.File, limits sandbox.Limits) (sandbox.Result, error) {
	n, err := c.nursery()
	if err != nil {
		for _, p := range pipes {
			p.Close()
		}
		return sandbox.Result{}, err
	}
	r, err := n.Run(ctx, text, pipes, limits)
	if err == nil && !n.Spent() && c.closed.Err() == nil {
		select {
		case c.idle <- n:
			return r, nil
		default:
		}
	}
	n.Close()
	return r, err
}

// nursery returns one that waits, or starts one.
func (c *code) nursery() (*sandbox.Nursery, error) {
	for {
		select {
		case n := <-c.idle:
			if !n.Spent() {
				return n, nil
			}
			n.Close()
		default:
			return c.box.Nursery(c.closed, c.harness("nursery"))
		}
	}
}

// findings are what python/asserts.py reports.
type findings struct {
	begun    bool // the tests could be read
	tests    int  // how many there are
	outcomes []outcome
	done     bool // it came to its end
	asked    bool // for something that the program has
}

// mostTests bounds the tests of a file.
const mostTests = 1_000_000

// readFindings reads the lines of the report.
func readFindings(lines [][]byte) findings {
	var found findings
	for _, line := range lines {
		var f struct {
			Tests  *int   `json:"tests"`
			Kind   Kind   `json:"kind"`
			Detail string `json:"detail"`
			All    bool   `json:"all"` // of every test that is left
			Done   bool   `json:"done"`
			Asked  bool   `json:"asked"`
		}
		if json.Unmarshal(line, &f) != nil {
			return found // what follows a torn line is no report
		}
		switch o := (outcome{f.Kind, f.Detail}); {
		case f.Tests != nil && !(*f.Tests >= 0 && *f.Tests <= mostTests):
			return found
		case f.Tests != nil:
			found.begun, found.tests = true, *f.Tests
		case f.Done:
			found.done, found.asked = true, f.Asked
		case !slices.Contains(testKinds, f.Kind):
			return found // the tests have changed what writes it
		case f.All:
			found.outcomes = found.fill(o)
		default:
			found.outcomes = append(found.outcomes, o)
		}
	}
	return found
}

// testKinds are those that python/asserts.py gives to tests.
var testKinds = []Kind{Pass, Wrong, Error, CannotTell}

// allPass reports whether there are outcomes and all of them pass.
func (f findings) allPass() bool {
	return len(f.outcomes) > 0 && !slices.ContainsFunc(f.outcomes, func(o outcome) bool { return o.kind != Pass })
}

// fill gives every test that has no outcome the same one.
func (f findings) fill(o outcome) []outcome {
	for len(f.outcomes) < f.tests {
		f.outcomes = append(f.outcomes, o)
	}
	return f.outcomes
}
