package parts

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"vigorlab/sim/reward/sandbox"
)

// version is the first number with a dot in what a program says of itself.
var version = regexp.MustCompile(`[0-9]+\.[0-9][0-9A-Za-z.+~-]*`)

// program looks for a program on PATH that says its version.
func program(name string, args ...string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		path, err := exec.LookPath(name)
		if err != nil {
			return "", fmt.Errorf("no %s on PATH", name)
		}
		said, err := run(ctx, path, args...)
		if err != nil {
			return "", fmt.Errorf("%s does not run: %w", path, err)
		}
		return version.FindString(said), nil
	}
}

// anyProgram looks for the first of several names of one program.
func anyProgram(names ...string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		for _, name := range names {
			if _, err := exec.LookPath(name); err == nil {
				return program(name, "--version")(ctx)
			}
		}
		return "", fmt.Errorf("no %s on PATH", strings.Join(names, " or "))
	}
}

// modules looks for modules of a Python, and returns their versions. It loads
// none of them.
func modules(python string, names ...string) func(context.Context) (string, error) {
	const script = `
import sys
from importlib.metadata import PackageNotFoundError, version
for name in sys.argv[1:]:
    try:
        print(name, version(name))
    except PackageNotFoundError:
        print(name, "-")
`
	return func(ctx context.Context) (string, error) {
		path, err := exec.LookPath(python)
		if err != nil {
			return "", fmt.Errorf("no %s", python)
		}
		said, err := run(ctx, path, append([]string{"-c", script}, names...)...)
		if err != nil {
			return "", fmt.Errorf("%s does not run: %w", path, err)
		}
		var have, lack []string
		for line := range strings.Lines(said) {
			if name, version, _ := strings.Cut(strings.TrimSpace(line), " "); version == "-" {
				lack = append(lack, name)
			} else {
				have = append(have, name+" "+version)
			}
		}
		if len(lack) > 0 {
			return "", fmt.Errorf("no %s of %s", strings.Join(lack, ", "), path)
		}
		return strings.Join(have, ", "), nil
	}
}

// anyFile looks for the first of several paths.
func anyFile(paths ...string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) {
		for _, path := range paths {
			if _, err := os.Stat(path); err == nil {
				return "", nil
			}
		}
		return "", fmt.Errorf("no %s", paths[0])
	}
}

// sandboxed tries to make a sandbox.
func sandboxed(ctx context.Context) (string, error) {
	_, err := sandbox.New(ctx)
	var refusal *sandbox.Refusal
	if errors.As(err, &refusal) {
		return "", errors.New(refusal.Why)
	}
	return "", err
}

// bounded tries whether a sandbox has a cgroup.
func bounded(ctx context.Context) (string, error) {
	box, err := sandbox.New(ctx)
	switch {
	case err != nil:
		return "", errors.New("no sandbox that could have one")
	case !box.Whole():
		return "", errors.New("no cgroup that may be written to")
	}
	return "", nil
}

// cluster looks for the commands of Slurm, which do not say their version on a machine
// that is of no cluster.
func cluster(ctx context.Context) (string, error) {
	path, err := exec.LookPath("sbatch")
	if err != nil {
		return "", errors.New("no sbatch on PATH")
	}
	said, err := run(ctx, path, "--version")
	if err != nil {
		return "", fmt.Errorf("%s finds no cluster: this machine is of none, or SLURM_CONF is not set", path)
	}
	return version.FindString(said), nil
}

// compiler tries whether the C compiler that Go would take links a program.
func compiler(ctx context.Context) (string, error) {
	name := os.Getenv("CC")
	if name == "" {
		name = "gcc"
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("no %s on PATH", name)
	}
	cmd := command(ctx, path, "-x", "c", "-o", os.DevNull, "-")
	cmd.Stdin = strings.NewReader("#include <stdlib.h>\nint main(void) { return 0; }\n")
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s makes no program: %w", path, err)
	}
	return program(name, "--version")(ctx)
}

// modelServer looks for what `make server-parts` installs, in the repository that
// the working directory is in.
func modelServer(context.Context) (string, error) {
	root, err := repository()
	if err != nil {
		return "", err
	}
	folder := filepath.Join(root, "sim", "source", "live", "tinymodel", "server", "node_modules", "node-llama-cpp")
	if _, err := os.Stat(folder); err != nil {
		return "", fmt.Errorf("no %s", folder)
	}
	return "", nil
}

// repository returns the folder of vigorlab's go.mod, at or above the working
// directory.
func repository() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if content, err := os.ReadFile(filepath.Join(dir, "go.mod")); err == nil && strings.HasPrefix(string(content), "module vigorlab\n") {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("the working directory is not in vigorlab's repository")
		}
		dir = filepath.Dir(dir)
	}
}

// sharedFolder looks for the folder of recorded tables where tests look for it.
func sharedFolder(context.Context) (string, error) {
	folder := os.Getenv("VIGORLAB_SHARED")
	if folder == "" {
		root, err := repository()
		if err != nil {
			return "", fmt.Errorf("VIGORLAB_SHARED is not set, and %w", err)
		}
		folder = filepath.Join(filepath.Dir(root), "shared")
	}
	if _, err := os.Stat(filepath.Join(folder, "data")); err != nil {
		return "", fmt.Errorf("no %s", filepath.Join(folder, "data"))
	}
	return "", nil
}

// command is a program that ends with ctx. What it has started may go on, and is not
// waited for.
func command(ctx context.Context, path string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.WaitDelay = time.Second
	return cmd
}

// run returns what a program prints, on either stream, as far as it is worth reading.
func run(ctx context.Context, path string, args ...string) (string, error) {
	cmd := command(ctx, path, args...)
	var said start
	cmd.Stdout, cmd.Stderr = &said, &said
	err := cmd.Run()
	return string(said), err
}

// A start keeps the start of what is written: a program that talks without end shall
// not fill the memory until it is given up.
type start []byte

func (s *start) Write(p []byte) (int, error) {
	const longest = 64 << 10 // bytes; versions stand in the first lines
	*s = append(*s, p[:min(len(p), longest-len(*s))]...)
	return len(p), nil
}
