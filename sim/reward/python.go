package reward

import (
	"context"
	"embed" // the Python that runs in sandboxes
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"vigorlab/sim/reward/sandbox"
)

//go:embed python/*.py
var sources embed.FS

// python is what its harnesses need.
type python struct {
	path  string            // where it looks for modules, put together with colons
	files map[string][]byte // byte code of every harness, by its name
}

// prepare asks the interpreter for its path and has it compile the harnesses, which
// at every start would take longer than what they do.
func (c *code) prepare(ctx context.Context) error {
	files, err := sourceFiles()
	if err != nil {
		return err
	}
	job := sandbox.Job{
		Args:  []string{c.interpreter, "-s", "-B", sandbox.Box + "/prepare.py"},
		Files: files, Limits: sandbox.DefaultLimits(),
	}
	job.Limits.Wall = time.Minute // a machine may be busy
	r, err := c.box.Run(ctx, job)
	if err != nil {
		return err
	}
	var made struct {
		Path  []string          `json:"path"`
		Files map[string][]byte `json:"files"`
	}
	if r.Code != 0 || json.Unmarshal(r.Stdout, &made) != nil {
		return fmt.Errorf("code: language = python, and %s cannot begin: %s", c.interpreter, brief(lastLine(r.Stderr)))
	}
	c.python = python{strings.Join(made.Path, ":"), made.Files}
	return nil
}

// sourceFiles are the harnesses and their modules, by their names.
func sourceFiles() (map[string][]byte, error) {
	entries, err := sources.ReadDir("python")
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, e := range entries {
		if files[e.Name()], err = sources.ReadFile("python/" + e.Name()); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// harness is the job of a program of ours, python/*.py, with arguments.
func (c *code) harness(name string, args ...string) sandbox.Job {
	file := name + ".pyc"
	return sandbox.Job{
		// No byte code to write, no packages of a user, no site: start.py does what it does.
		Args:    append([]string{c.interpreter, "-s", "-B", "-S", sandbox.Box + "/" + file, c.python.path}, args...),
		Files:   map[string][]byte{file: c.python.files[name]},
		Harness: true, Limits: c.limits,
	}
}

// program is the job that runs a program.
func (c *code) program(text string) sandbox.Job {
	var job sandbox.Job
	if c.language.serves {
		job = c.harness("run")
	} else {
		job = sandbox.Job{
			Args:  append([]string{c.interpreter}, append(c.language.args(c.limits.Memory), sandbox.Box+"/"+c.language.file)...),
			Files: map[string][]byte{}, Reserves: c.language.reserves, Limits: c.limits,
		}
	}
	job.Files[c.language.file] = []byte(text)
	return job
}

// server is the job of a program that answers calls, as many as given.
func (c *code) server(program string, calls int, requests, answers *os.File) sandbox.Job {
	each := func(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }
	job := c.harness("serve", each(c.limits.Wall), each(c.limits.CPU))
	job.Files["program.py"] = []byte(program)
	job.Pipes = []*os.File{requests, answers}
	job.Limits.Wall *= time.Duration(calls)
	job.Limits.CPU *= time.Duration(calls)
	return job
}
