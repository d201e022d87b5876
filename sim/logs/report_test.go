package logs

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// reported imports a log of one file and returns the report.
func reported(t *testing.T, l smallLog) *Report {
	t.Helper()
	path := filepath.Join(t.TempDir(), "1.jsonl")
	if err := os.WriteFile(path, []byte(l.files["1.jsonl"]), 0o666); err != nil {
		t.Fatal(err)
	}
	l.o.Paths = []string{path}
	_, r, err := Import(context.Background(), l.o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestReportByHand: every count of a report stands where its name says, each of
// them another number.
func TestReportByHand(t *testing.T) {
	r := reported(t, file(rows(`a "1" a "0" a 1 b null b null b 0 b 1`).files["1.jsonl"]+"{\"prompt\": \"a\", \"rew\n{\"bad\n{\"bad\n"+rows("c 1 c 1", "a 0").files["1.jsonl"]+"{\"prompt\": \"a\", \"rew").with(Options{Lenient: true}))
	for name, x := range map[string][2]int{
		"rows": {r.Rows, 10}, "prompts": {r.Prompts, 3}, "steps": {r.Steps, 2}, "groups": {r.Groups, 4}, "constant groups": {r.Constant, 2},
		"coerced": {r.Coerced, 2}, "dropped": {r.Dropped, 2}, "torn": {r.Torn, 4}, "files": {r.Files, 1},
	} {
		if x[0] != x[1] {
			t.Errorf("%s = %d, want %d: %+v", name, x[0], x[1], r)
		}
	}
	// Rewards 1 0 1 | 0 1 | 1 1 in groups of two and more, mean 5/7: within
	// (2/3 + 1/2)/7, between (3(2/3)^2 + 2(1/2)^2 + 2)/7 - (5/7)^2.
	within, between := (2./3+1./2)/7, (3*4./9+2./4+2)/7-25./49
	if !same(r.Within, within) || !same(r.Between, between) {
		t.Errorf("variance within %v, between %v, want %v and %v", r.Within, r.Between, within, between)
	}
}

// TestUsualByHand: of two sizes that are as frequent the smaller is usual, so that
// a doubled group is seen, by text alone: groups that the log names are as large
// as they are.
func TestUsualByHand(t *testing.T) {
	c := census{sizes: map[int]int{2: 3, 4: 3, 8: 1}}
	if got := c.usual(); got != 2 {
		t.Errorf("usual size %d, want 2", got)
	}
	named := primeRows("1 a 1", "1 a 0", "2 b 1", "2 b 0", "3 c 1", "3 c 0", "3 c 1", "3 c 1")
	if findings, _, err := named.run(t); err != nil || find(findings, "merged-prompts") != nil {
		t.Errorf("%+v, %v: named groups are taken for merged ones", findings, err)
	}
}

// TestJudges: the worst of the wrong answers counts whatever comes after it, and
// a group that is judged in part says nothing of shaped rewards.
func TestJudges(t *testing.T) {
	findings, _, _ := verlRows("a 0.5 true", "a 1 false", "a 0 false").run(t)
	if find(findings, "reward-against-judge") == nil {
		t.Errorf("%+v, want reward-against-judge", findings)
	}
	findings, _, _ = verlRows("a 0.1 false", "a 0.3 0.5", "b 1 true", "b 0 false").run(t)
	if find(findings, "shaped-rewards") != nil {
		t.Errorf("%+v: shaped rewards, though one group of two is judged in part and the other agrees", findings)
	}
}

// TestActions: what would bias a table is refused, written down a second time.
func TestActions(t *testing.T) {
	refused := strings.Fields(`no-rewards no-group-key not-scored-singly several-rewards no-such-column reward-unreadable filtered-rewards
		reward-against-judge single-rollouts several-prompts misaligned half-named no-names no-name mixed-ranges sentinel one-value
		bad-record interleaved several-runs nothing-left`)
	for _, d := range defects {
		if slices.Contains(refused, d.ID) && d.Action != Refuse {
			t.Errorf("%s has action %d, want a refusal", d.ID, d.Action)
		}
	}
}
