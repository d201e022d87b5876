package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"vigorlab": main})
}

// TestScripts runs testdata/script: every command, every error that a user can
// make.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(e *testscript.Env) error {
			e.Setenv("SHARED", sharedFolder(t))
			return nil
		},
		Cmds:      scriptCommands,
		Condition: scriptCondition,
	})
}

// sharedFolder returns the absolute path of the folder of recorded tables, or
// "" where it is absent.
func sharedFolder(t *testing.T) string {
	path := os.Getenv("VIGORLAB_SHARED")
	if path == "" {
		path = filepath.Join("..", "..", "..", "shared")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(path, "data")); err != nil {
		return ""
	}
	return path
}

// firstLine returns the text up to the first newline.
func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
