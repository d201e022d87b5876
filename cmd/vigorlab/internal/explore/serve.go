package explore

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"path"
	"strings"
	"time"
)

// policy is what the page may do: run its own files, and ask nobody else. It is that of
// index.html, and forbids frames, which a page cannot.
const policy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self'; " +
	"style-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// types are the media types by extension, whatever the machine's table says.
var types = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".wasm": "application/wasm",
}

// Handler serves the files, index.html at /, to GET and HEAD alone.
func Handler(files []File) http.Handler {
	mux := http.NewServeMux()
	for _, f := range files {
		pattern := "GET /" + f.Name
		if f.Name == "index.html" {
			pattern = "GET /{$}"
		}
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", types[path.Ext(f.Name)])
			http.ServeContent(w, r, f.Name, time.Time{}, bytes.NewReader(f.Content))
		})
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !loopback(r.Host) {
			http.Error(w, "want 127.0.0.1 or localhost", http.StatusMisdirectedRequest)
			return
		}
		w.Header().Set("Content-Security-Policy", policy)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Header().Set("Cache-Control", "no-store") // the next start may have another theory at this port
		mux.ServeHTTP(w, r)
	})
}

// loopback reports whether a request names this machine, and not a name of the
// internet that leads to it.
func loopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Serve serves the files on a listener until ctx ends, and returns its error.
func Serve(ctx context.Context, l net.Listener, files []File) error {
	server := &http.Server{Handler: Handler(files), ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // Serve says what matters
	defer stop()
	err := server.Serve(l)
	if errors.Is(err, http.ErrServerClosed) {
		return ctx.Err()
	}
	return err
}
