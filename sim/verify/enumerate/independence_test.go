package enumerate

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestIndependence: the package reaches no code of the module but
// sim/schedule, calls none of its counts and draws no random number.
func TestIndependence(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range strings.Fields(string(out)) {
		allowed := []string{"vigorlab/sim/schedule", "vigorlab/sim/verify/enumerate"}
		if strings.HasPrefix(path, "vigorlab") && !slices.Contains(allowed, path) {
			t.Errorf("the oracle reaches %s", path)
		}
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !strings.HasSuffix(file, "_test.go") {
			checkFile(t, file)
		}
	}
}

func checkFile(t *testing.T, file string) {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, imported := range tree.Imports {
		path := strings.Trim(imported.Path.Value, `"`)
		if strings.Contains(path, "rand") || strings.Contains(path, ".") {
			t.Errorf("%s imports %s", file, path)
		}
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		if call, ok := n.(*ast.SelectorExpr); ok {
			if slices.Contains([]string{"Active", "Rollouts", "MeanGroup", "OnePrompt"}, call.Sel.Name) {
				t.Errorf("%s uses the counts of sim/schedule: %s", file, call.Sel.Name)
			}
		}
		return true
	})
}
