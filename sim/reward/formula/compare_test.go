package formula_test

import (
	"bufio"
	"os"
	"strings"
	"testing"

	"vigorlab/sim/reward/formula"
)

const tolerance = 1e-6

// A pair is a line of testdata/pairs.txt.
type pair struct {
	line                         int
	verdict, got, want, becauses string
}

func pairs(t testing.TB) []pair {
	t.Helper()
	f, err := os.Open("testdata/pairs.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() // only read
	var all []pair
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		if lines.Text() == "" || strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		parts := strings.Split(lines.Text(), " ¦ ")
		if len(parts) != 4 || strings.TrimSpace(parts[3]) == "" {
			t.Fatalf("line %d: %q, want verdict ¦ given ¦ wanted ¦ reason", n, lines.Text())
		}
		all = append(all, pair{n, parts[0], parts[1], parts[2], parts[3]})
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestPairs compares every pair both ways.
func TestPairs(t *testing.T) {
	all := pairs(t)
	counts := make(map[string]int)
	for _, p := range all {
		counts[p.verdict]++
		for _, c := range [][2]string{{p.got, p.want}, {p.want, p.got}} {
			if v, reason := formula.Compare(c[0], c[1], tolerance); v.String() != p.verdict {
				t.Errorf("line %d: %q against %q is %v (%s), want %s: %s", p.line, c[0], c[1], v, reason, p.verdict, p.becauses)
			}
		}
	}
	if len(all) < 300 || counts["equal"] < 100 || counts["different"] < 80 || counts["cannot tell"] < 40 {
		t.Errorf("%d pairs: %v, want 300 with many of each", len(all), counts)
	}
}
