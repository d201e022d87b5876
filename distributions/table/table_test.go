package table_test

import (
	"bytes"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"vigorlab/distributions/table"
)

func read(text string) (*table.Table, error) { return table.Read(strings.NewReader(text), "pilot.csv") }

func TestRead(t *testing.T) {
	full := &table.Table{Name: "pilot.csv", HasTokens: true, Rows: []table.Row{
		{PromptID: "a", Step: 1, Visit: 0, N: 4, S: 2, Outcomes: "0110", Tokens: 512.5},
		{PromptID: "a", Step: 2, Visit: 1, N: 4, S: 0, Outcomes: "", Tokens: 3},
		{PromptID: "a", Step: 2, Visit: 0, N: 4, S: 0, Outcomes: "", Tokens: 3},
		{PromptID: "b, c", Step: 2, Visit: 0, N: 1, S: 1, Outcomes: "1", Tokens: 1},
	}}
	short := &table.Table{Name: "pilot.csv", Rows: []table.Row{{PromptID: "0", N: 8, S: 8}, {PromptID: "1", N: 8, S: 0}}}
	for name, c := range map[string]struct {
		text string
		want *table.Table
	}{
		"every column": {"prompt_id,n,successes,outcomes,step,visit,tokens\na,4,2,0110,1,0,512.5\na,4,0,,2,1,3\na,4,0,,2,0,3\n\"b, c\",1,1,1,2,0,1\n", full},
		"other order":  {"tokens,visit,model,step,successes,outcomes,n,prompt_id\n512.5,0,x,1,2,0110,4,a\n3,1,,2,0,,4,a\n3,0,,2,0,,4,a\n1,0,y,2,1,1,1,\"b, c\"\n", full},
		"least":        {"prompt_id,n,successes\n0,8,8\n1,8,0\n", short},
		"no last line": {"prompt_id,n,successes\n0,8,8\n1,8,0", short},
		"spreadsheet":  {"\ufeffprompt_id,n,successes\r\n0,8,8\r\n1,8,0\r\n", short},
		"spaces":       {" prompt_id , n,successes\n0, 8,8 \n\n1,8,0\n", short},
	} {
		got, err := read(c.text)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, c.want)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	const head = "prompt_id,n,successes\n"
	const long = "prompt_id,n,successes,outcomes,step,visit,tokens\n"
	count := "want a whole number in [1, 1000000000]"
	for _, c := range []struct {
		text string
		want []string // one a line of the error, in order
	}{
		{"", []string{"pilot.csv: empty, want a header line with the columns prompt_id, n, successes"}},
		{"\ufeff", []string{"pilot.csv: empty, want"}},
		{head, []string{"pilot.csv: no rows, want at least one prompt"}},
		{"prompt_id,n\na,8\n", []string{`pilot.csv: line 1: column successes is missing, want the columns prompt_id, n, successes; found "prompt_id,n"`}},
		{"id;n;successes\n", []string{"column prompt_id is missing", "column n is missing", "column successes is missing"}},
		{"prompt_id,n,successes,n\na,1,1,1\n", []string{"pilot.csv: line 1: column n is there twice, want it once"}},
		{head + "a,8,9\n", []string{`pilot.csv: line 2, column successes: "9", want a whole number in [0, 8]`}},
		{head + "a,8,-1\n", []string{`line 2, column successes: "-1", want a whole number in [0, 8]`}},
		{head + "a,0,0\n", []string{`line 2, column n: "0", ` + count}},
		{head + "a,-8,0\n", []string{`line 2, column n: "-8", ` + count}},
		{head + "a,8.0,x\n", []string{`line 2, column n: "8.0", ` + count, `line 2, column successes: "x", want a whole number in [0, 1000000000]`}},
		{head + "a,NaN,\n", []string{`column n: "NaN"`, `column successes: ""`}},
		{head + "a,1000000001,0\n", []string{`column n: "1000000001"`}},
		{head + "a,99999999999999999999,0\n", []string{`column n: "99999999999999999999"`}},
		{head + ",8,0\n", []string{`line 2, column prompt_id: "", want a name`}},
		{head + "a,8,1\nb,8\nc,8,1,7\n", []string{"line 3: 2 fields, want 3 as in the header", "line 4: 4 fields, want 3"}},
		{head + "a,8,1\nb,8,1\na,8,2\n", []string{`line 4, column prompt_id: "a", want (prompt_id, step, visit) once, but ("a", 0, 0) is on line 2 too`}},
		{head + "a,8,\"1\nb,8,1\n", []string{"parse error on line 3, column 7"}},
		{head + "a,8,1\"\n", []string{"pilot.csv: parse error on line 2"}},
		{long + "a,2,1,01,0,0,5\na,2,1,01,0,0,5\n", []string{`("a", 0, 0) is on line 2 too`}},
		{long + "a,2,1,0x,-1,z,0\n", []string{
			`column step: "-1", want a whole number in [0, 1000000000]`, `column visit: "z"`,
			`column tokens: "0", want a number in (0, 1e+09]`, `column outcomes: "0x", want 2 digits, 1 of them 1 and the others 0`,
		}},
		{long + "a,2,1,011,0,0,5\n", []string{`column outcomes: "011", want 2 digits`}},
		{long + "a,2,1,0x1,0,0,5\n", []string{`column outcomes: "0x1", want 2 digits`}},
		{long + "a,2,1,11,0,0,5\n", []string{`column outcomes: "11", want 2 digits, 1 of them 1`}},
		{long + "a,2,1,00,0,0,5\n", []string{`column outcomes: "00"`}},
		{long + "a,2,1,01,0,0,\n", []string{`column tokens: "", want`}},
		{long + "a,2,1,01,0,0,NaN\n", []string{`column tokens: "NaN", want`}},
		{long + "a,2,1,01,0,0,Inf\n", []string{`column tokens: "Inf", want`}},
		{long + "a,2,1,01,,0,5\n", []string{`column step: "", want`}},
	} {
		_, err := read(c.text)
		if err == nil {
			t.Errorf("%q is accepted, want %q", c.text, c.want)
			continue
		}
		lines := strings.Split(err.Error(), "\n")
		if len(lines) != len(c.want) {
			t.Errorf("%q: %q, want %d faults", c.text, lines, len(c.want))
			continue
		}
		for i, want := range c.want {
			if !strings.HasPrefix(lines[i], "pilot.csv: ") || !strings.Contains(lines[i], want) {
				t.Errorf("%q: fault %q, want %q in it", c.text, lines[i], want)
			}
		}
	}
}

// TestReadCountsFaults checks that 20 faults are spelled out and the others
// counted.
func TestReadCountsFaults(t *testing.T) {
	for _, n := range []int{19, 20, 21, 1000} {
		var b strings.Builder
		b.WriteString("prompt_id,n,successes\n")
		for i := range n {
			fmt.Fprintf(&b, "%d,8,9\n", i)
		}
		_, err := read(b.String())
		lines := strings.Split(err.Error(), "\n")
		if want := min(n, 20); len(lines) != want+min(1, n-want) {
			t.Errorf("%d faults: %d lines", n, len(lines))
		}
		if want := fmt.Sprintf("pilot.csv: and %d more faults", n-20); n > 20 && lines[20] != want {
			t.Errorf("%d faults end with %q, want %q", n, lines[20], want)
		}
	}
}

func TestReadReportsReadErrors(t *testing.T) {
	_, err := table.Read(io.MultiReader(strings.NewReader("prompt_id,n,successes\na,8,1\n"), iotest.ErrReader(io.ErrUnexpectedEOF)), "x")
	if err == nil || !strings.Contains(err.Error(), io.ErrUnexpectedEOF.Error()) {
		t.Errorf("error %v, want %v", err, io.ErrUnexpectedEOF)
	}
}

// endless is a line without an end.
type endless struct{}

func (endless) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

func TestReadRefusesEndlessLines(t *testing.T) {
	for _, start := range []string{"", "prompt_id,n,successes\na,8,1\n", "prompt_id,n,successes\n\"a"} {
		_, err := table.Read(io.MultiReader(strings.NewReader(start), endless{}), "x")
		if want := "x: a line is longer than 16777216 bytes"; err == nil || err.Error() != want {
			t.Errorf("after %q: error %v, want %s", start, err, want)
		}
	}
}

// TestReadCutsLongNames: a name of any length makes no error of that length.
func TestReadCutsLongNames(t *testing.T) {
	row := strings.Repeat("a", 1000) + ",8,1\n"
	_, err := read("prompt_id,n,successes\n" + row + row)
	if err == nil || len(err.Error()) > 400 {
		t.Errorf("error %v, want one of at most 400 bytes", err)
	}
}

func TestReadAtoms(t *testing.T) {
	got, err := table.ReadAtoms(strings.NewReader("\ufeffweight,p\r\n0.25,0.5\r\n0.75,1\r\n"), "atoms.csv")
	if want := []table.Atom{{P: 0.5, Weight: 0.25}, {P: 1, Weight: 0.75}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	for text, want := range map[string]string{
		"":                     "atoms.csv: empty, want a header line with the columns p, weight",
		"p,weight\n":           "atoms.csv: no rows, want at least one atom",
		"p,weight\n1.5,0.5\n":  `atoms.csv: line 2, column p: "1.5", want a number in [0, 1]`,
		"p,weight\n0.5,-1\n":   `atoms.csv: line 2, column weight: "-1", want a number in [0, 1]`,
		"p,weight\nNaN,0.5\n":  `atoms.csv: line 2, column p: "NaN", want`,
		"p,weight\n0.5,half\n": `atoms.csv: line 2, column weight: "half", want`,
		"p,weight\n0.5\n":      "atoms.csv: line 2: 1 fields, want 2",
	} {
		if _, err := table.ReadAtoms(strings.NewReader(text), "atoms.csv"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q in it", text, err, want)
		}
	}
}

func TestWriteReportsErrors(t *testing.T) {
	tab, err := read("prompt_id,n,successes\na,8,1\n")
	if err != nil {
		t.Fatal(err)
	}
	if err := tab.Write(failing{}); err != io.ErrClosedPipe {
		t.Errorf("error %v, want %v", err, io.ErrClosedPipe)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// FuzzTable checks that no input panics, that what is accepted keeps every
// promise of Row, and that it reads back after writing.
func FuzzTable(f *testing.F) {
	for _, text := range []string{
		"", "prompt_id,n,successes\na,8,1\n", "\ufeffprompt_id,n,successes,outcomes\r\n\"a\"\"\",2,1,01\r\n",
		"prompt_id,n,successes,outcomes,step,visit,tokens\na,4,2,0110,1,0,512.5\na,4,0,,2,1,3\n",
		"prompt_id,n,successes\na,8,9\nb\n", "n,n\n", "prompt_id,n,successes\n\"", "prompt_id,n,successes\n\" \r\n\",1,1",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tab, err := read(text)
		if err != nil {
			if tab != nil || strings.Count(err.Error(), "\n") > 100 {
				t.Fatalf("%q: %v with error %v", text, tab, err)
			}
			return
		}
		type key struct {
			id          string
			step, visit int
		}
		seen := map[key]bool{}
		for _, r := range tab.Rows {
			k := key{r.PromptID, r.Step, r.Visit}
			digits := r.Outcomes == "" || len(r.Outcomes) == r.N && strings.Count(r.Outcomes, "1") == r.S
			if r.PromptID == "" || r.N < 1 || r.S < 0 || r.S > r.N || !digits || (r.Tokens > 0) != tab.HasTokens || seen[k] {
				t.Fatalf("%q gives the row %+v", text, r)
			}
			seen[k] = true
		}
		var b bytes.Buffer
		if err := tab.Write(&b); err != nil {
			t.Fatal(err)
		}
		again, err := read(b.String())
		if err != nil || !reflect.DeepEqual(again, tab) {
			t.Fatalf("%q reads back as %+v, %v, want %+v", b.String(), again, err, tab)
		}
	})
}
