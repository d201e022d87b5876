package fit

import (
	"strings"
	"testing"
)

// TestUnlikeSizesAreSaid: the verdict says what goodness of fit takes for granted
// where prompts have unlike numbers of rollouts, and only there.
func TestUnlikeSizesAreSaid(t *testing.T) {
	for _, c := range []struct {
		n    int
		said bool
	}{{8, false}, {4, true}} {
		counts, err := NewCounts([]Cell{{N: 8, S: 3, Prompts: 5}, {N: c.n, S: 1, Prompts: 5}, {N: 8, S: 0, Prompts: 4}})
		if err != nil {
			t.Fatal(err)
		}
		r := &Result{Replicates: 99, SizesDiffer: counts.sizesDiffer(), Fits: []Fit{{Family: Beta, P: 0.01}}}
		if got := r.rejected(); strings.Contains(got, "for fixed beforehand") != c.said {
			t.Errorf("groups of 8 and %d: %q", c.n, got)
		}
	}
}
