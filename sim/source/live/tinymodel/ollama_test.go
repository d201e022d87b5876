//go:build ollama

package tinymodel

import (
	"cmp"
	"os"
	"strings"
	"testing"
)

// TestOllama is TestServedRates against an Ollama that has the model under
// ModelName, with the Modelfile's sampler. It is run by hand, by
// `make test-ollama`, and has not been run where the project is tested: Ollama
// is not there. Ollama gives one choice a request.
func TestOllama(t *testing.T) {
	host := cmp.Or(os.Getenv("OLLAMA_HOST"), "127.0.0.1:11434")
	if !strings.Contains(host, "://") {
		host = "http://" + host
	}
	problems := spread(8)
	for _, d := range deviations(problems, drawAll(t, host+"/v1", problems, 1024, fields{"temperature": 1, "top_p": 1})) {
		t.Error(d)
	}
}
