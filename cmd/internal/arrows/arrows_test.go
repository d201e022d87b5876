// Package arrows holds the test that imports run downwards, from commands to
// laws, as CONTRIBUTING.md draws them. It refuses code of its own.
package arrows

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "vigorlab/"

// arrows says what every package may import of this module, in its non-test
// files. A name that ends in /... stands for the package and all below it.
var arrows = []struct{ pkg, may string }{
	{"distributions", ""},
	{"distributions/fit", "distributions distributions/table"},
	{"distributions/spec", "distributions distributions/fit distributions/table"},
	{"distributions/table", ""},
	{"distributions/lawtest", "distributions"},
	{"distributions/ratetest", ""},

	{"sim/schedule", ""},  // whole numbers only, so that theory and sim/strategy can share it
	{"sim/stream", ""},    // seeding
	{"sim/lookahead", ""}, // plans alone, likewise

	{"theory", "distributions sim/lookahead sim/schedule"},

	{"sim/rollout", "sim/stream"},
	{"sim/source", "distributions distributions/table sim/rollout sim/stream"},
	{"sim/source/live/tinymodel", ""},
	{"sim/source/live", "sim/rollout sim/stream"},
	{"sim/source/live/livetest", "sim/stream"},
	{"sim/source/prompts", "distributions/table"},
	{"sim/strategy", "distributions distributions/spec sim/lookahead sim/rollout sim/schedule"},
	{"sim/strategy/strategytest", "sim/rollout sim/strategy"},
	{"sim/advantage", "distributions"},
	{"sim/logs", "distributions/table"},
	{"sim/reward", "distributions/spec sim/reward/formula sim/reward/sandbox sim/stream"},
	{"sim/reward/formula", "sim/stream"},
	{"sim/reward/agreement", ""},
	{"sim/reward/sandbox", ""},

	{"sim", "distributions distributions/spec sim/rollout sim/strategy sim/advantage sim/schedule sim/stream"},
	{"sim/train", "distributions distributions/spec sim sim/rollout sim/schedule sim/source sim/strategy sim/advantage sim/stream"},
	{"sim/train/trial", "sim sim/stream sim/train"},

	{"sim/verify/enumerate", "sim/schedule"},
	{"sim/verify/gradient", "sim/advantage sim/stream theory"},
	{"sim/verify", "distributions/... theory sim sim/advantage sim/rollout sim/schedule sim/source sim/strategy sim/stream sim/train/... sim/verify/..."},

	{"sim/pilot", "distributions/fit distributions/table sim sim/rollout sim/source sim/strategy sim/stream"},
	{"sim/plan", "distributions distributions/fit distributions/table theory sim sim/pilot sim/rollout sim/schedule sim/source sim/strategy sim/stream"},

	{"plots", ""}, // finished numbers alone

	{"cmd/vigorlab", "distributions/... theory sim/... plots cmd/vigorlab/internal/..."},
	{"cmd/vigorlab/internal/explore", ""},
	{"cmd/vigorlab/internal/explore/view", "distributions distributions/spec sim/schedule theory cmd/vigorlab/internal/notation"},
	{"cmd/vigorlab/internal/figures", "plots cmd/vigorlab/internal/output"},
	{"cmd/vigorlab/internal/merged", ""},
	{"cmd/vigorlab/internal/notation", ""},
	{"cmd/vigorlab/internal/output", "cmd/vigorlab/internal/notation"},
	{"cmd/vigorlab/internal/parts", "sim/reward/sandbox"},
	{"cmd/vigorlab/internal/progress", "cmd/vigorlab/internal/output"},
	{"cmd/vigorlab/internal/pages", "cmd/vigorlab/internal/output cmd/vigorlab/internal/rundir"},
	{"cmd/vigorlab/internal/report", "sim/verify"},
	{"cmd/vigorlab/internal/rundir", ""},
	{"cmd/vigorlab/internal/sweep", "distributions/spec sim/stream cmd/vigorlab/internal/rundir"},
	{"cmd/vigorlab/internal/slurm", "cmd/vigorlab/internal/notation"},
	{"cmd/internal/arrows", ""},
	{"cmd/internal/browser", ""}, // for tests alone
	{"cmd/internal/cluster", ""}, // likewise
}

// refused says what the direct imports of a package may not be, whoever wrote
// them: its first sentence as a test. Names may end in /... on either side.
var refused = []struct{ pkg, imports, why string }{
	{"theory", "math/rand/... crypto/rand golang.org/x/exp/rand", "theory refuses randomness"},
	{"sim/lookahead", "math/rand/... crypto/rand golang.org/x/exp/rand", "plans refuse randomness"},
	{"distributions/...", "os/... io/ioutil net/...", "distributions opens no files: commands hand it an opener"},
	{"sim/source/live", "os/...", "the client reads no environment and no files: commands hand it all"},
	{"plots", "math/rand/... crypto/rand gonum.org/v1/gonum/...", "plots receives finished numbers"},
	{"plots", "os/...", "plots returns bytes: commands write them"},
	{"theory", "os/... log/... github.com/spf13/cobra", "theory is pure functions"},
	{"sim/...", "github.com/spf13/cobra gonum.org/v1/plot/...", "commands print and plots draws"},
	{"...", "math/rand io/ioutil", "math/rand/v2, io and os replace it"},
}

// seeding is the one file that may import the deprecated seeding, here named
// by the folder that holds it.
const (
	seeding    = "golang.org/x/exp/rand"
	seedingDir = "sim/stream"
)

// A pkg is what `go list -json` says of a package.
type pkg struct {
	ImportPath string
	Imports    []string
}

func TestImportsRunDownwards(t *testing.T) {
	pkgs, err := list(root(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(pkgs) < 5 {
		t.Fatalf("go list found %d packages, want the whole module", len(pkgs))
	}
	for _, fault := range append(faults(pkgs), unused(pkgs)...) {
		t.Error(fault)
	}
}

// TestPlantedImports plants arrows that run up, and one package that no row
// names: each must be found, alone and under its name.
func TestPlantedImports(t *testing.T) {
	for _, c := range []struct{ from, to string }{
		{"distributions", "vigorlab/theory"},
		{"distributions", "vigorlab/distributions/spec"},
		{"distributions/fit", "vigorlab/distributions/spec"},
		{"theory", "vigorlab/sim"},
		{"theory", "vigorlab/sim/rollout"},
		{"theory", "math/rand/v2"},
		{"distributions/spec", "os"},
		{"sim/schedule", "vigorlab/distributions"},
		{"sim/stream", "vigorlab/sim/rollout"},
		{"sim/lookahead", "vigorlab/sim/strategy"},
		{"sim/lookahead", "math/rand/v2"},
		{"sim/rollout", "vigorlab/sim/strategy"},
		{"sim/source", "vigorlab/sim/strategy"},
		{"sim/source/live", "vigorlab/sim/strategy"},
		{"sim/source/live", "vigorlab/sim/source/live/livetest"},
		{"sim/source/live", "os"},
		{"sim/source/live", "vigorlab/sim/reward"},
		{"sim/source/prompts", "vigorlab/sim/source/live"},
		{"sim/strategy", "vigorlab/sim/source"},
		{"sim/strategy", "vigorlab/theory"},
		{"sim/advantage", "vigorlab/sim/source"},
		{"sim/logs", "vigorlab/sim/source"},
		{"sim/reward", "vigorlab/sim/source"},
		{"sim/reward/formula", "vigorlab/sim/reward"},
		{"sim/reward/sandbox", "vigorlab/sim/reward"},
		{"sim", "vigorlab/theory"},
		{"sim", "vigorlab/sim/verify"},
		{"sim/verify/gradient", "vigorlab/sim/source"},
		{"sim/verify/enumerate", "vigorlab/sim"},
		{"sim", "vigorlab/sim/train"},
		{"sim/train", "vigorlab/theory"},
		{"sim/train", "gonum.org/v1/plot"},
		{"sim/plan", "vigorlab/plots"},
		{"sim/verify", "vigorlab/cmd/vigorlab/internal/report"},
		{"plots", "vigorlab/theory"},
		{"plots", "gonum.org/v1/gonum/stat"},
		{"plots", "os"},
		{"sim/verify", "math/rand"},
		{"cmd/vigorlab/internal/output", "vigorlab/sim"},
		{"sim/novel", "fmt"},
	} {
		planted := []pkg{{"vigorlab/sim/schedule", nil}, {module + c.from, []string{"fmt", c.to}}}
		got := faults(planted)
		if len(got) != 1 || !strings.Contains(got[0], c.from) {
			t.Errorf("planted %s -> %s: faults %q, want one that names it", c.from, c.to, got)
		}
	}
	clean := []pkg{{"vigorlab/cmd/vigorlab", []string{"vigorlab/plots", "vigorlab/theory", "os"}}, {"vigorlab/theory", []string{"vigorlab/sim/schedule"}}}
	if got := faults(clean); got != nil {
		t.Errorf("arrows that run down: faults %q, want none", got)
	}
	for _, c := range []struct {
		imports []string
		unused  string
	}{
		{[]string{"vigorlab/distributions", "vigorlab/sim/lookahead", "vigorlab/sim/schedule"}, ""},
		{[]string{"vigorlab/distributions", "vigorlab/sim/lookahead", "fmt"}, "theory may import sim/schedule and does not"},
	} {
		got := strings.Join(unused([]pkg{{"vigorlab/theory", c.imports}}), "\n")
		if strings.Contains(got, "theory may import") != (c.unused != "") || !strings.Contains(got, c.unused) {
			t.Errorf("theory imports %q: %s, want %q", c.imports, got, c.unused)
		}
		if !strings.Contains(got, "plots is in a row of arrows, but there is no such package") {
			t.Errorf("a row of no package: %s", got)
		}
	}
}

// TestPlantedModule runs the whole check, go list included, on a module with
// one arrow that runs up.
func TestPlantedModule(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":           "module vigorlab\n\ngo 1.26.0\n",
		"sim/sim.go":       "package sim\n",
		"theory/a.go":      "package theory\n\nimport _ \"vigorlab/sim\"\n",
		"theory/a_test.go": "package theory\n\nimport _ \"math/rand/v2\"\n", // tests may
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	pkgs, err := list(dir)
	if err != nil {
		t.Fatal(err)
	}
	got := faults(pkgs)
	if len(got) != 1 || !strings.Contains(got[0], "theory imports sim,") {
		t.Errorf("faults %q, want theory -> sim alone", got)
	}
}

// TestOneSeedingFile finds every file, tests included, that imports the
// deprecated seeding or exempts itself from the check of deprecated imports.
func TestOneSeedingFile(t *testing.T) {
	var importers, exempt []string
	err := goFiles(root(t), func(name string, file *ast.File) {
		if imports(file, seeding) {
			importers = append(importers, name)
		}
		if exempts(file) {
			exempt = append(exempt, name)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(importers) != 1 || filepath.ToSlash(filepath.Dir(importers[0])) != seedingDir {
		t.Errorf("%s is imported by %q, want one file of %s", seeding, importers, seedingDir)
	}
	if !slices.Equal(exempt, importers) {
		t.Errorf("exempt from the check of deprecated imports: %q, want %q", exempt, importers)
	}
}

// faults checks every package against arrows and refused.
func faults(pkgs []pkg) []string {
	var out []string
	for _, p := range pkgs {
		name := strings.TrimPrefix(p.ImportPath, module)
		may, known := allowed(name)
		if !known {
			out = append(out, name+" is in no row of arrows: say where it belongs, there and in CONTRIBUTING.md")
			continue
		}
		for _, path := range p.Imports {
			if inner, ok := strings.CutPrefix(path, module); ok && !slices.ContainsFunc(may, covers(inner)) {
				out = append(out, fmt.Sprintf("%s imports %s, want only %q: arrows run downwards", name, inner, may))
			}
			for _, r := range refused {
				if covers(name)(r.pkg) && slices.ContainsFunc(strings.Fields(r.imports), covers(path)) {
					out = append(out, fmt.Sprintf("%s imports %s: %s", name, path, r.why))
				}
			}
		}
	}
	return out
}

// unused returns the rows of no package and the arrows that no package of their
// row needs.
func unused(pkgs []pkg) []string {
	var out []string
	for _, a := range arrows {
		i := slices.IndexFunc(pkgs, func(p pkg) bool { return p.ImportPath == module+a.pkg })
		if i < 0 {
			out = append(out, a.pkg+" is in a row of arrows, but there is no such package")
			continue
		}
		for _, may := range strings.Fields(a.may) {
			if !slices.ContainsFunc(pkgs[i].Imports, func(path string) bool {
				inner, ok := strings.CutPrefix(path, module)
				return ok && covers(inner)(may)
			}) {
				out = append(out, fmt.Sprintf("%s may import %s and does not: take the arrow away", a.pkg, may))
			}
		}
	}
	return out
}

// allowed returns the row for a package.
func allowed(name string) (may []string, known bool) {
	for _, a := range arrows {
		if a.pkg == name {
			return strings.Fields(a.may), true
		}
	}
	return nil, false
}

// covers reports whether a pattern of arrows or refused names the path.
func covers(path string) func(pattern string) bool {
	return func(pattern string) bool {
		prefix, below := strings.CutSuffix(pattern, "...")
		if !below {
			return path == pattern
		}
		return strings.HasPrefix(path+"/", prefix)
	}
}

// list runs `go list` on the module in dir.
func list(dir string) ([]pkg, error) {
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Imports", "./...")
	cmd.Dir = dir
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var pkgs []pkg
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		pkgs = append(pkgs, p)
	}
}

// goFiles parses every Go file below dir and hands it to do with its path from
// there. Hidden folders and testdata are left out, as the go command does.
func goFiles(dir string, do func(name string, file *ast.File)) error {
	return fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, name), nil, parser.ParseComments)
		if err != nil {
			return err
		}
		do(name, file)
		return nil
	})
}

// imports reports whether the file imports the path.
func imports(file *ast.File, path string) bool {
	return slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == strconv.Quote(path) })
}

// exempts reports whether the file has a directive that switches SA1019, the
// check of deprecated imports, off.
func exempts(file *ast.File) bool {
	for _, group := range file.Comments {
		for _, c := range group.List {
			if strings.HasPrefix(c.Text, "//lint:") && strings.Contains(c.Text, "SA1019") {
				return true
			}
		}
	}
	return false
}

// root returns the folder of go.mod.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
		t.Fatal(err)
	}
	return dir
}
