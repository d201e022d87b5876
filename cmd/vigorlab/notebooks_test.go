package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// largestNotebook is what a code host still shows in a page, in bytes.
const largestNotebook = 1 << 20

// TestNotebooks executes every notebook from scratch, by this very vigorlab, and
// expects the text that is committed with it, numbers and all; pictures are not
// compared. With -update it puts what it got in their place.
func TestNotebooks(t *testing.T) {
	needNotebooks(t)
	paths := notebookPaths(t)
	fresh := executeNotebooks(t, paths)
	for _, path := range paths {
		name := filepath.Base(path)
		t.Run(name, func(t *testing.T) {
			if *update {
				copyFile(t, filepath.Join(fresh, name), path)
			}
			got, want := readNotebook(t, filepath.Join(fresh, name)), readNotebook(t, path)
			if len(got.Cells) != len(want.Cells) {
				t.Fatalf("%d cells, want %d", len(got.Cells), len(want.Cells))
			}
			for i := range got.Cells {
				if got, want := got.Cells[i].printed(), want.Cells[i].printed(); got != want {
					t.Errorf("cell %d says\n%s\nand with the notebook stands\n%s\n%s", i+1, got, want, again)
				}
			}
		})
	}
}

// TestNotebooksAreTidy holds what a reader sees without running anything: notebooks
// that were executed from the first cell to the last, without complaints, of a size
// that a code host shows.
func TestNotebooksAreTidy(t *testing.T) {
	for _, path := range notebookPaths(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			content := read(t, path)
			if len(content) > largestNotebook {
				t.Errorf("%d bytes, want at most %d", len(content), largestNotebook)
			}
			for _, trace := range []string{"/tmp/", "/root/", "/home/"} {
				if strings.Contains(content, trace) {
					t.Errorf("it has a path of a machine, %s", trace)
				}
			}
			executed, pictures := 0, 0
			for i, c := range readNotebook(t, path).Cells {
				if c.Type != "code" {
					continue
				}
				if executed++; c.Count != executed {
					t.Errorf("cell %d was executed as number %d, want %d: %s", i+1, c.Count, executed, again)
				}
				for _, o := range c.Outputs {
					if o.Type == "error" || o.Name == "stderr" {
						t.Errorf("cell %d complains: %s%s", i+1, o.Text, o.Error)
					}
					if _, ok := o.Data["image/png"]; ok {
						pictures++
					}
				}
			}
			if pictures == 0 {
				t.Error("no picture")
			}
		})
	}
}

const again = "make notebooks executes it again"

func notebookPaths(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("..", "..", "notebooks", "*.ipynb"))
	if err != nil || len(paths) < 4 {
		t.Fatalf("%d notebooks in notebooks/ (%v), want at least four", len(paths), err)
	}
	return paths
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	if err := os.WriteFile(to, []byte(read(t, from)), 0o666); err != nil {
		t.Fatal(err)
	}
}

// needNotebooks skips, or fails, where Jupyter is missing for /usr/bin/python3.
func needNotebooks(t *testing.T) {
	t.Helper()
	err := exec.Command(notebookPython, "-c", "import nbconvert, ipykernel, pandas, matplotlib").Run()
	if err == nil {
		_, err = exec.LookPath("bash")
	}
	if err == nil {
		return
	}
	missing := "no Jupyter for " + notebookPython + ": apt-get install --no-install-recommends jupyter-nbconvert python3-ipykernel python3-pandas python3-matplotlib"
	if os.Getenv("VIGORLAB_NO_SKIP") != "" {
		t.Fatal(missing)
	}
	t.Skip(missing)
}

// notebookPython is Debian's, for which Debian packages Jupyter, whatever other
// python3 is the first on PATH.
const notebookPython = "/usr/bin/python3"

// executeNotebooks executes notebooks one after the other and returns the folder
// of the results. Settings of the user do not matter. Kernels talk over sockets in
// a folder: a free port, as Jupyter looks for one, may be taken before it is used.
// Timeouts are those of a busy machine.
func executeNotebooks(t *testing.T, paths []string) string {
	t.Helper()
	own, err := os.MkdirTemp("", "nb") // the path of a socket has at most 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(own) })
	out := t.TempDir()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
	defer cancel()
	args := []string{
		"-m", "nbconvert", "--to", "notebook", "--execute", "--output-dir", out,
		"--ExecutePreprocessor.kernel_name=python3", "--ExecutePreprocessor.record_timing=False",
		"--ExecutePreprocessor.timeout=600", "--ExecutePreprocessor.startup_timeout=600", "--ExecutePreprocessor.iopub_timeout=600",
		"--KernelManager.transport=ipc", "--KernelManager.ip=" + filepath.Join(own, "k"),
	}
	cmd := exec.CommandContext(ctx, notebookPython, append(args, paths...)...)
	cmd.Env = append(os.Environ(), // PATH begins with the folder of this vigorlab
		"JUPYTER_PATH=/usr/share/jupyter", "JUPYTER_CONFIG_DIR="+filepath.Join(own, "config"),
		"JUPYTER_RUNTIME_DIR="+filepath.Join(own, "run"), "IPYTHONDIR="+filepath.Join(own, "ipython"),
		"MPLBACKEND=module://matplotlib_inline.backend_inline", "PYDEVD_DISABLE_FILE_VALIDATION=1", "PYTHONNOUSERSITE=1",
	)
	cmd.WaitDelay = time.Minute
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("nbconvert: %v: %s", err, said)
	}
	return out
}

// A notebook is what a test reads of one, in Jupyter's format (nbformat 4.5).
type notebook struct {
	Cells []notebookCell `json:"cells"`
}

// A notebookCell is text, or code with its outputs.
type notebookCell struct {
	Type    string           `json:"cell_type"`
	Count   int              `json:"execution_count"`
	Outputs []notebookOutput `json:"outputs"`
	Source  lines            `json:"source"`
}

// A notebookOutput is one piece of what a cell printed, showed or complained of.
type notebookOutput struct {
	Type  string           `json:"output_type"`
	Name  string           `json:"name"` // of a stream
	Text  lines            `json:"text"`
	Data  map[string]lines `json:"data"`
	Error string           `json:"evalue"`
}

// lines is a text that Jupyter writes as a list of lines, or as one string.
type lines string

func (l *lines) UnmarshalJSON(content []byte) error {
	var list []string
	if json.Unmarshal(content, &list) == nil {
		*l = lines(strings.Join(list, ""))
		return nil
	}
	return json.Unmarshal(content, (*string)(l))
}

// printed returns the text of the outputs of a cell, a picture as its kind alone.
// Tables stand there as plain text: how pandas marks them up is its own affair.
func (c notebookCell) printed() string {
	var b strings.Builder
	for _, o := range c.Outputs {
		b.WriteString(string(o.Text))
		if text, ok := o.Data["text/markdown"]; ok {
			b.WriteString(string(text) + "\n")
		} else {
			b.WriteString(string(o.Data["text/plain"]) + "\n")
		}
		if _, ok := o.Data["image/png"]; ok {
			b.WriteString("image/png\n")
		}
	}
	return b.String()
}

func readNotebook(t *testing.T, path string) notebook {
	t.Helper()
	var n notebook
	if err := json.Unmarshal([]byte(read(t, path)), &n); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return n
}
