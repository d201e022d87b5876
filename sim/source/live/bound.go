package live

import (
	"fmt"
	"io"
	"net/http"
)

// longestBody returns more bytes than an answer has: 1 KiB for each token of all
// choices, its log probability and the bytes that spell it out included, and 1 MiB
// for the rest.
func longestBody(maxTokens int) int64 {
	return 1<<20 + MaxChoices*int64(maxTokens)<<10
}

// bounded ends bodies that are longer than most bytes, unpacked: an answer is held
// in memory as a whole, and some never end.
type bounded struct {
	http.RoundTripper
	most int64
}

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		res.Body = &boundedBody{res.Body, b.most, b.most}
	}
	return res, err
}

// A boundedBody is a body that fails where it is longer than most bytes.
type boundedBody struct {
	io.ReadCloser
	most, left int64
}

// Read implements io.Reader. It reads one byte more than it lets through, to tell
// the end of a body from too much of it.
func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left+1)])
	if b.left -= int64(n); b.left < 0 {
		return 0, fmt.Errorf("an answer of more than %d bytes, which no completion has", b.most)
	}
	return n, err
}
