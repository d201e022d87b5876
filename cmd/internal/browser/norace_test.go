package browser_test

import (
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestPagesRunWithoutRace: whatever imports this package is a test that the race
// detector's build leaves out, in a package that is also run without that.
func TestPagesRunWithoutRace(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`(?m)^NO_RACE := (.*)$`).FindSubmatch(makefile)
	if list == nil {
		t.Fatal("the Makefile has no NO_RACE")
	}
	found := 0
	err = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && path != root && strings.HasPrefix(e.Name(), ".") || e.Name() == "node_modules" {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || !importsBrowser(t, path) {
			return nil
		}
		found++
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if !strings.HasSuffix(name, "_test.go") {
			t.Errorf("%s imports this package, which is for tests alone", name)
		}
		if pkg := "./" + filepath.ToSlash(filepath.Dir(name)); !slices.Contains(strings.Fields(string(list[1])), pkg) {
			t.Errorf("%s: %s is not in NO_RACE of the Makefile", name, pkg)
		}
		if !withoutRace(t, path) {
			t.Errorf("%s is built for the race detector, want //go:build !race", name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found == 0 {
		t.Error("no file is found that imports this package, not even its own test")
	}
}

// importsBrowser reports whether a file imports this package.
func importsBrowser(t *testing.T, path string) bool {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range file.Imports {
		if s.Path.Value == `"vigorlab/cmd/internal/browser"` {
			return true
		}
	}
	return false
}

// withoutRace reports whether a file's first line keeps it from the race detector.
func withoutRace(t *testing.T, path string) bool {
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(content), "\n")
	rule, err := constraint.Parse(first)
	return err == nil && !rule.Eval(func(tag string) bool { return true }) && rule.Eval(func(tag string) bool { return tag != "race" })
}
