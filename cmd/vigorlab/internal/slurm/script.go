package slurm

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"vigorlab/cmd/vigorlab/internal/notation"
)

//go:embed script.sh
var scriptText string

var scriptTemplate = template.Must(template.New("script").Parse(scriptText))

// Script returns the batch script of the job. Its one argument is the number of the
// task that index 0 stands for.
func (j Job) Script() (string, error) {
	var b strings.Builder
	err := scriptTemplate.Execute(&b, struct {
		Arguments, Setup []string
		Line             string
	}{j.Options.arguments(), j.Setup, shell(j.Command)})
	return b.String(), err
}

// arguments returns what sbatch is told of a task. It stands in the script, for people
// who submit that by hand, and is given to sbatch too: a variable such as
// SBATCH_PARTITION would be heard before the script.
func (o Options) arguments() []string {
	args := []string{"--ntasks=1", "--requeue", "--open-mode=append"}
	for _, given := range []struct{ name, value string }{
		{"account", o.Account},
		{"partition", o.Partition},
		{"time", o.Time},
		{"mem", o.Memory},
	} {
		if given.value != "" {
			args = append(args, "--"+given.name+"="+given.value)
		}
	}
	if o.CPUs > 0 {
		args = append(args, fmt.Sprint("--cpus-per-task=", o.CPUs))
	}
	return args
}

// ScriptFile is where WriteScript puts the script.
func (j Job) ScriptFile() string { return filepath.Join(j.Dir, "task.sh") }

// WriteScript writes the script into the job's folder, which it makes. Who submits it
// meanwhile has the old one or the new one, never half of it.
func (j Job) WriteScript() error {
	text, err := j.Script()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(j.Dir, 0o777); err != nil {
		return err
	}
	next := j.ScriptFile() + ".new"
	if err := os.WriteFile(next, []byte(text), 0o777); err != nil {
		return err
	}
	return os.Rename(next, j.ScriptFile())
}

// Lines returns the commands that submit tasks by hand, as a shell reads them, in arrays
// of at most size tasks: what this machine's cluster takes, or Slurm's default, and known
// is false, where none answers.
func (j Job) Lines(ctx context.Context, tasks []int) (lines []string, size int, known bool) {
	size, err := arraySize(ctx)
	if err != nil {
		size = most
	}
	for _, a := range arrays(tasks, size) {
		lines = append(lines, shell(append([]string{"sbatch"}, j.arguments(a)...)))
	}
	return lines, size, err == nil
}

// arguments returns the arguments of sbatch that submit an array of the job.
func (j Job) arguments(a array) []string {
	logs := strings.ReplaceAll(j.Dir, "%", "%%") // in names of files %A and the like are patterns
	return []string{
		"--array=" + a.spec(),
		"--job-name=" + j.name(a.base),
		"--output=" + filepath.Join(logs, "%A_%a.log"),
		j.ScriptFile(), fmt.Sprint(a.base),
	}
}

// shell returns words as a shell reads them.
func shell(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = notation.Word(w)
	}
	return strings.Join(quoted, " ")
}
