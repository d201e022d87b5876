// Package explore holds the page of `vigorlab explore`: its files, the theory compiled
// for it, and what serves them. It refuses to compute: package view does, in the
// browser.
package explore

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

//go:embed page
var page embed.FS

// program is the package that the browser runs.
const program = "vigorlab/cmd/vigorlab/internal/explore/wasm"

// ErrNoGo says that the Go toolchain is missing.
var ErrNoGo = errors.New("explore compiles the theory for the browser: it needs the go command, which is not in PATH")

// A File is one of the page's.
type File struct {
	Name    string // without folders
	Content []byte
}

// Build returns the files of the page, index.html among them, which any web server
// can serve. The theory in it is compiled on the spot from the source that this
// program was built of, so that no binary lies in the repository and page and
// commands say the same; the support file comes from the toolchain that compiled it.
// Errors: ErrNoGo, a source that is not there, what the compiler says, the end of ctx.
func Build(ctx context.Context) ([]File, error) {
	entries, err := fs.ReadDir(page, "page")
	if err != nil {
		return nil, err
	}
	var files []File
	for _, e := range entries {
		content, err := page.ReadFile(path.Join("page", e.Name()))
		if err != nil {
			return nil, err
		}
		files = append(files, File{e.Name(), content})
	}
	compiled, err := compile(ctx)
	return append(files, compiled...), err
}

// compile returns explore.wasm and wasm_exec.js.
func compile(ctx context.Context) ([]File, error) {
	if _, err := exec.LookPath("go"); err != nil {
		return nil, ErrNoGo
	}
	dir, err := os.MkdirTemp("", "vigorlab-explore-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) // temporary
	out := filepath.Join(dir, "explore.wasm")
	if _, err := goTool(ctx, "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", out, program); err != nil {
		return nil, err
	}
	root, err := goTool(ctx, "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	wasm, err := os.ReadFile(out)
	if err != nil {
		return nil, err
	}
	support, err := os.ReadFile(filepath.Join(root, "lib", "wasm", "wasm_exec.js"))
	return []File{{"explore.wasm", wasm}, {"wasm_exec.js", support}}, err
}

// goTool runs the go command for the browser's platform and returns what it prints.
func goTool(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = source()
	cmd.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "GOFLAGS=")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it clears away after itself
	cmd.WaitDelay = 5 * time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.Output()
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	switch {
	case err != nil && cmd.Dir == "":
		return "", fmt.Errorf("the source of vigorlab is neither where this program was built nor here, run it in a checkout: go %s: %w: %s",
			args[0], err, strings.TrimSpace(stderr.String()))
	case err != nil:
		return "", fmt.Errorf("go %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(string(stdout)), nil
}

// source returns the folder that this file was compiled from; "", the working
// directory, where the build left that out or the folder is gone.
func source() string {
	_, file, _, _ := runtime.Caller(0)
	dir := filepath.Dir(file)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() || !filepath.IsAbs(dir) {
		return ""
	}
	return dir
}
