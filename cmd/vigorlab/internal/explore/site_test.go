package explore

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
)

// largest is the size that the compiled theory may have under gzip, in bytes.
const largest = 1_200_000

// TestBuild compiles the page and holds its parts to what the page asks for.
func TestBuild(t *testing.T) {
	files, err := Build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	content := map[string][]byte{}
	for _, f := range files {
		content[f.Name] = f.Content
	}
	for _, name := range []string{"index.html", "explore.css", "explore.js", "worker.js", "wasm_exec.js", "explore.wasm"} {
		if len(content[name]) == 0 {
			t.Errorf("no %s", name)
		}
	}
	if len(files) != 6 {
		t.Errorf("%d files, want 6", len(files))
	}
	if !bytes.HasPrefix(content["explore.wasm"], []byte("\x00asm")) {
		t.Errorf("explore.wasm begins with %q", content["explore.wasm"][:4])
	}
	size := compressed(t, content["explore.wasm"])
	t.Logf("explore.wasm: %d bytes, %d under gzip", len(content["explore.wasm"]), size)
	if size > largest {
		t.Errorf("explore.wasm is %d bytes under gzip, want at most %d: what does it link that it need not?", size, largest)
	}
}

func compressed(t *testing.T, content []byte) int {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Len()
}

// TestImports holds what the program for the browser may import of this module, which
// the check of arrows does not see: it is of another platform.
func TestImports(t *testing.T) {
	got, err := goTool(t.Context(), "list", "-f", `{{join .Imports " "}}`, program)
	if want := "syscall/js vigorlab/cmd/vigorlab/internal/explore/view"; err != nil || got != want {
		t.Errorf("it imports %s, %v, want %s", got, err, want)
	}
}

func TestBuildFails(t *testing.T) {
	t.Run("without go", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		if _, err := Build(t.Context()); !errors.Is(err, ErrNoGo) {
			t.Errorf("error %v, want %v", err, ErrNoGo)
		}
	})
	t.Run("at the end of the context", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := Build(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want that of the context", err)
		}
	})
	t.Run("what the compiler says", func(t *testing.T) {
		_, err := goTool(t.Context(), "build", program+"/elsewhere")
		var exit *exec.ExitError
		if !errors.As(err, &exit) || !strings.Contains(err.Error(), "elsewhere") {
			t.Errorf("error %v, want the compiler's", err)
		}
	})
}

func TestHandler(t *testing.T) {
	h := Handler([]File{
		{"index.html", []byte("page")}, {"a.css", []byte("style")}, {"a.js", []byte("script")}, {"a.wasm", []byte("program")},
	})
	for _, c := range []struct {
		method, path, host string
		status             int
		kind, body         string
	}{
		{"GET", "/", "127.0.0.1:80", 200, "text/html; charset=utf-8", "page"},
		{"GET", "/a.css", "127.0.0.1:80", 200, "text/css; charset=utf-8", "style"},
		{"GET", "/a.js", "localhost:80", 200, "text/javascript; charset=utf-8", "script"},
		{"GET", "/a.wasm", "localhost", 200, "application/wasm", "program"},
		{"HEAD", "/a.wasm", "[::1]:80", 200, "application/wasm", ""},
		{"POST", "/", "127.0.0.1:80", 405, "", "Method Not Allowed\n"},
		{"GET", "/other", "127.0.0.1:80", 404, "", "404 page not found\n"},
		{"GET", "/../site.go", "127.0.0.1:80", 307, "", ""},
		{"GET", "/", "attacker.example", 421, "", "want 127.0.0.1 or localhost\n"},
		{"GET", "/", "10.0.0.1:80", 421, "", "want 127.0.0.1 or localhost\n"},
	} {
		r := httptest.NewRequest(c.method, c.path, nil)
		r.Host = c.host
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		body, err := io.ReadAll(w.Result().Body)
		if err != nil {
			t.Fatal(err)
		}
		kind := w.Header().Get("Content-Type")
		if w.Code != c.status || c.kind != "" && kind != c.kind || c.body != "" && string(body) != c.body || c.method == "HEAD" && len(body) > 0 {
			t.Errorf("%+v: %d %s %q", c, w.Code, kind, body)
		}
		if c.status == http.StatusOK && (w.Header().Get("Content-Security-Policy") != policy || w.Header().Get("X-Content-Type-Options") != "nosniff") {
			t.Errorf("%+v: headers %v", c, w.Header())
		}
	}
}

// TestPolicies holds the page's own policy, for other servers, to that of ours.
func TestPolicies(t *testing.T) {
	index, err := page.ReadFile("page/index.html")
	if err != nil {
		t.Fatal(err)
	}
	if own := strings.TrimSuffix(policy, "; frame-ancestors 'none'"); !strings.Contains(string(index), `content="`+own+`"`) {
		t.Errorf("index.html has another policy than %s", own)
	}
}
