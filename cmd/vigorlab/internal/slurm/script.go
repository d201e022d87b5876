package slurm

import (
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
		Options
		Line string
	}{j.Options, shell(j.Command)})
	return b.String(), err
}

// ScriptFile is where WriteScript puts the script.
func (j Job) ScriptFile() string { return filepath.Join(j.Dir, "task.sh") }

// WriteScript writes the script into the job's folder, which it makes.
func (j Job) WriteScript() error {
	text, err := j.Script()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(j.Dir, 0o777); err != nil {
		return err
	}
	return os.WriteFile(j.ScriptFile(), []byte(text), 0o777)
}

// Lines returns the commands that submit tasks by hand, as a shell reads them.
func (j Job) Lines(tasks []int) []string {
	var lines []string
	for _, a := range arrays(tasks, most) {
		lines = append(lines, shell(append([]string{"sbatch"}, j.arguments(a)...)))
	}
	return lines
}

// arguments returns the arguments of sbatch that submit an array.
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
