package live

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestBounded: a body as long as allowed comes whole, a longer one and an endless one
// end with an error.
func TestBounded(t *testing.T) {
	if got := longestBody(1024); got != 65<<20 {
		t.Errorf("1024 tokens: answers of up to %d bytes, want 65 MiB", got)
	}
	const most = 1000
	size := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for n := 0; size < 0 || n < size; n++ {
			if _, err := w.Write([]byte{'a'}); err != nil {
				return // the client has enough
			}
		}
	}))
	defer server.Close()
	client := &http.Client{Transport: bounded{http.DefaultTransport, most}}
	for _, size = range []int{0, most - 1, most, most + 1, 1 << 20, -1} {
		res, err := client.Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		switch tooLong := size < 0 || size > most; {
		case tooLong && (err == nil || !strings.Contains(err.Error(), "more than 1000 bytes") || len(body) > most):
			t.Errorf("%d bytes: %d read, error %v", size, len(body), err)
		case !tooLong && (err != nil || len(body) != size):
			t.Errorf("%d bytes: %d read, error %v, want all and none", size, len(body), err)
		}
	}
}
