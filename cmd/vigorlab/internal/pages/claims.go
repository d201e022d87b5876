package pages

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"vigorlab/cmd/vigorlab/internal/output"
)

// A Verdict is what came of a claim.
type Verdict string

// verdicts are those that a ladder gives, with the class that paints them.
var verdicts = []struct {
	verdict Verdict
	class   string
}{
	{"holds", "holds"},
	{"holds within d", "within"},
	{"fails", "fails"},
	{"cannot be tested here", "untested"},
}

// Class returns the class of a verdict in the style sheet.
func (v Verdict) Class() string {
	for _, known := range verdicts {
		if known.verdict == v {
			return known.class
		}
	}
	return ""
}

// A claim is a row of a ladder as results.json has it.
type claim struct {
	ID        string        `json:"id"`
	Rung      int           `json:"rung"`
	Kind      string        `json:"kind"`
	Claim     string        `json:"claim"`
	Method    string        `json:"method"`
	Estimate  *json.Number  `json:"estimate"`
	Reference *json.Number  `json:"reference"`
	Interval  []json.Number `json:"interval"`
	P         *json.Number  `json:"p"`
	Verdict   Verdict       `json:"verdict"`
	Test      string        `json:"test"`
	Note      string        `json:"note"`
	Reason    string        `json:"reason"`
}

// The kinds of claims: what a theory or paper says, and checks of vigorlab's own code.
const (
	kindClaim = "claim"
	kindCheck = "check"
)

// checkClaims returns what is wrong with the rows of a ladder.
func checkClaims(claims []claim) error {
	var errs []error
	var want []string
	for _, v := range verdicts {
		want = append(want, string(v.verdict))
	}
	for i, c := range claims {
		field := func(name, value, want string) {
			errs = append(errs, fmt.Errorf("rungs[%d].%s = %.60q, want %s", i, name, value, want))
		}
		if c.ID == "" {
			field("id", c.ID, "a name")
		}
		if c.Claim == "" {
			field("claim", c.Claim, "what is claimed")
		}
		if c.Kind != kindClaim && c.Kind != kindCheck {
			field("kind", c.Kind, kindClaim+" or "+kindCheck)
		}
		if c.Verdict.Class() == "" {
			field("verdict", string(c.Verdict), "one of "+strings.Join(want, ", "))
		}
		if c.Interval != nil && len(c.Interval) != 2 {
			field("interval", fmt.Sprint(c.Interval), "two ends")
		}
	}
	return errors.Join(errs...)
}

// tally counts the verdicts on what theories and papers say.
func tally(claims []claim) []Count {
	var counts []Count
	for _, v := range verdicts {
		n := 0
		for _, c := range claims {
			if c.Kind == kindClaim && c.Verdict == v.verdict {
				n++
			}
		}
		counts = append(counts, Count{v.verdict, n})
	}
	return counts
}

// claimTable returns the table of claims, or of checks, of a rung; nil where there
// is none.
func claimTable(id string, claims []claim, rung int, kind string) *Table {
	t := &Table{ID: id, Caption: words(fmt.Sprintf("The claims of rung %d; sort by any column.", rung))}
	if kind == kindCheck {
		t.Caption = words(fmt.Sprintf("Checks of vigorlab's own code, rung %d; sort by any column.", rung))
	}
	for _, name := range []string{"verdict", kind, "estimate", "95 % interval", "reference", "method", "test", "note"} {
		t.Head = append(t.Head, Column{Text: words(name)})
	}
	for _, c := range claims {
		if c.Rung == rung && c.Kind == kind {
			t.Rows = append(t.Rows, c.cells())
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	t.dropEmpty()
	t.numberColumns()
	return t
}

// cells returns a claim's row.
func (c *claim) cells() []Cell {
	test := textCell(words(c.Test))
	if c.P != nil {
		test.Under = words("p = " + shownNumber(*c.P))
	}
	subject := textCell(words(c.Claim))
	subject.Long, subject.Under = true, code(c.ID)
	return []Cell{
		{Verdict: c.Verdict},
		subject, exactCell(c.Estimate), intervalCell(c.Interval), exactCell(c.Reference),
		textCell(words(c.Method)), test, textCell(words(cmp.Or(c.Note, c.Reason))),
	}
}

// exactCell returns the cell of a number that may be absent.
func exactCell(x *json.Number) Cell {
	if x == nil {
		return Cell{Text: words(output.Absent)}
	}
	return Cell{Text: words(shownNumber(*x)), Value: x.String()}
}

// intervalCell returns the cell of an interval, which sorts by its lower end.
func intervalCell(ends []json.Number) Cell {
	if len(ends) != 2 {
		return Cell{}
	}
	return Cell{Text: words("[" + shownNumber(ends[0]) + ", " + shownNumber(ends[1]) + "]"), Value: ends[0].String()}
}

// shownNumber returns a number to five digits, as report.md has it.
func shownNumber(n json.Number) string {
	x, err := n.Float64()
	if err != nil {
		return n.String()
	}
	return strconv.FormatFloat(x, 'g', 5, 64)
}

// dropEmpty takes away the columns that say nothing.
func (t *Table) dropEmpty() {
	for c := len(t.Head) - 1; c >= 0; c-- {
		if slices.ContainsFunc(t.Rows, func(row []Cell) bool { return len(row[c].Text) > 0 && plain(row[c].Text) != "" || row[c].Verdict != "" }) {
			continue
		}
		t.Head = slices.Delete(t.Head, c, c+1)
		for i := range t.Rows {
			t.Rows[i] = slices.Delete(t.Rows[i], c, c+1)
		}
	}
}
