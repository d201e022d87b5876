package tinymodel

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Options are those of the server; the zero value serves the exact law, and
// n choices where a request asks for n.
type Options struct {
	IgnoreN   bool // answers a request for n choices with one, and says nothing
	Rounded   bool // llama.cpp's own 16-bit cache and flash attention: rates move by up to 1 % of themselves
	Sequences int  // completions generated side by side; 0 for 16
}

// startTimeout is what a loaded machine may take to start node and load half a
// megabyte.
const startTimeout = 2 * time.Minute

// Start serves the model on loopback until the test ends and returns the base
// URL, which ends in /v1. Where node or its packages are missing the test is
// skipped, and fails where skipping is forbidden. The server also stops when
// the process of the test dies.
func Start(t testing.TB, o Options) string {
	t.Helper()
	url, stop, err := start(needServer(t), o.args())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return url
}

// Drawn waits until the server at a base URL answers nobody any more and returns
// how many completions it has drawn in its life, by its own count.
func Drawn(t testing.TB, base string) int {
	t.Helper()
	const quiet = 3 // looks in a row, 50 ms apart: what a killed client sent may still be arriving
	for idle, deadline := 0, time.Now().Add(startTimeout); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		book, err := health(base)
		if err != nil {
			t.Fatal(err)
		}
		if idle++; book.Answering > 0 {
			idle = 0
		}
		if idle == quiet {
			return book.Drawn
		}
	}
	t.Fatalf("the server at %s is busy for %v", base, startTimeout)
	return 0
}

// A book is what the server counts.
type book struct{ Answering, Drawn int }

func health(base string) (b book, err error) {
	response, err := http.Get(strings.TrimSuffix(base, "/v1") + "/health")
	if err != nil {
		return b, err
	}
	defer response.Body.Close()
	return b, json.NewDecoder(response.Body).Decode(&b)
}

func (o Options) args() []string {
	args := []string{"--exit-with-stdin"}
	if o.IgnoreN {
		args = append(args, "--ignore-n")
	}
	if o.Sequences > 0 {
		args = append(args, "--sequences", strconv.Itoa(o.Sequences))
	}
	if o.Rounded {
		args = append(args, "--rounded")
	}
	return args
}

// needServer returns the path of the server's script. Without it the test is
// skipped, or fails.
func needServer(t testing.TB) string {
	t.Helper()
	script, err := findServer()
	if err == nil {
		return script
	}
	if os.Getenv("VIGORLAB_NO_SKIP") != "" {
		t.Fatal(err)
	}
	t.Skip(err)
	return ""
}

// findServer returns the path of the server's script. Its error says what is
// missing and ends in the command that brings it.
func findServer() (string, error) {
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, "sim", "source", "live", "tinymodel", "server")
	if _, err := exec.LookPath("node"); err != nil {
		return "", errors.New("no node to serve the model: apt-get install nodejs npm (node 20 or newer)")
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "node-llama-cpp")); errors.Is(err, fs.ErrNotExist) {
		return "", errors.New("no llama.cpp to serve the model: make server-parts")
	}
	return filepath.Join(dir, "server.mjs"), nil
}

// moduleRoot returns the folder of go.mod, at or above the working directory,
// which for a test is that of its package.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, statErr := os.Stat(filepath.Join(dir, "go.mod")); statErr == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			err = errors.New("no go.mod at or above the working directory")
		}
		dir = filepath.Dir(dir)
	}
	return "", err
}

// start runs the script until it says where it listens. stop ends it.
func start(script string, args []string) (url string, stop func(), err error) {
	cmd := exec.Command("node", append([]string{script}, args...)...)
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	stdin, err := cmd.StdinPipe() // closes when this process dies
	if err != nil {
		return "", nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	var once sync.Once
	stop = func() {
		once.Do(func() {
			stdin.Close()
			kill := time.AfterFunc(5*time.Second, func() { cmd.Process.Kill() })
			defer kill.Stop()
			cmd.Wait()
		})
	}
	late := time.AfterFunc(startTimeout, stop)
	defer late.Stop()
	line, _ := bufio.NewReader(stdout).ReadString('\n') // "" where it ends or is stopped first
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if !ok {
		stop()
		return "", nil, fmt.Errorf("the server of the model did not start: %q %s", line, bytes.TrimSpace(complaints.Bytes()))
	}
	return url, stop, nil
}
