package table_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"vigorlab/distributions/table"
)

// fullTables are a table with every column, one with the least and a graded one.
func fullTables() []*table.Table {
	return []*table.Table{
		{HasTokens: true, HasTruncated: true, Rows: []table.Row{
			{PromptID: "a", Step: 1, N: 4, S: 2, Outcomes: "0110", Tokens: 512.5, Truncated: 0.25},
			{PromptID: "a", Step: 2, Visit: 1, N: 4, Tokens: 3},
			{PromptID: `b, "c"`, Step: 2, N: 1, S: 1, Outcomes: "1", Tokens: 1, Truncated: 1},
		}},
		{Rows: []table.Row{{PromptID: "0", N: 8, S: 8}, {PromptID: "007", N: 1_000_000_000, S: 1}}},
		{Graded: true, HasTruncated: true, Rows: []table.Row{
			{PromptID: "a", Step: 5, N: 3, Rewards: []float64{-0.1, 1e-9, 1}, Truncated: 0.5},
			{PromptID: "b", Step: 5, N: 1, Rewards: []float64{2}},
		}},
	}
}

func readAny(content []byte, name string, graded bool) (*table.Table, error) {
	if graded {
		return table.ReadGraded(bytes.NewReader(content), name)
	}
	return table.Read(bytes.NewReader(content), name)
}

// TestWrittenReadsBack writes tables in every way and reads them back.
func TestWrittenReadsBack(t *testing.T) {
	for _, extension := range append(table.Extensions(), ".JSONL", "") {
		for _, want := range fullTables() {
			name := "t" + extension
			want.Name = name
			var b bytes.Buffer
			if err := want.WriteAs(&b, name); err != nil {
				t.Fatal(err)
			}
			got, err := readAny(b.Bytes(), name, want.Graded)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s: reads back %+v, %v, want %+v", name, got, err, want)
			}
			if _, err := readAny(b.Bytes(), name, !want.Graded); err == nil {
				t.Errorf("%s: graded %v, read as the other kind, want an error", name, want.Graded)
			}
		}
	}
}

// TestReadsOtherWriters reads tables with columns of others between.
func TestReadsOtherWriters(t *testing.T) {
	for name, content := range map[string]string{
		"a.jsonl": "{\"n\": 4, \"prompt_id\": 7, \"successes\": 2, \"model\": {\"x\": [1]}}\n\n{\"prompt_id\": \"b\", \"n\": 1, \"successes\": 0}",
		"a.csv":   "model,n,prompt_id,successes\nx,4,7,2\n,1,b,0\n",
	} {
		got, err := table.Read(strings.NewReader(content), name)
		want := &table.Table{Name: name, Rows: []table.Row{{PromptID: "7", N: 4, S: 2}, {PromptID: "b", N: 1}}}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, want)
		}
	}
}

func TestWrittenRefuses(t *testing.T) {
	for _, c := range []struct{ name, content, want string }{
		{"a.jsonl", "", "a.jsonl: empty, want"},
		{"a.jsonl", "null\n", "a.jsonl: line 1: null, want an object"},
		{"a.jsonl", "[1]\n", "a.jsonl: line 1: json: cannot unmarshal array"},
		{"a.jsonl", `{"prompt_id": "a", "n": 4}`, "column successes is missing"},
		{"a.jsonl", "{\"prompt_id\": \"a\", \"n\": 4, \"successes\": 1}\n{\"prompt_id\": \"b\"", "a.jsonl: line 2: unexpected end of JSON input"},
		{"a.jsonl", "{\"prompt_id\": \"a\", \"n\": 4, \"successes\": 1}\n{\"prompt_id\": \"b\", \"n\": 4}", `line 2, column successes: "", want a whole number in [0, 4]`},
		{"a.jsonl", `{"prompt_id": "a", "n": 4, "successes": 4.5}`, `column successes: "4.5", want`},
		{"a.jsonl", `{"prompt_id": "a", "n": 4, "rewards": [1, 2, 3, 4]}`, "a graded table, with the column rewards and no successes: say what succeeds when it is imported"},
		{"a.csv", "prompt_id,n,successes,truncated\na,4,2,1.5\n", `column truncated: "1.5", want a number in [0, 1]`},
		{"a.parquet", "", "a.parquet: a malformed Parquet file"},
		{"a.parquet", "PAR1PAR1PAR1PAR1", "a.parquet: a malformed Parquet file"},
	} {
		tab, err := table.Read(strings.NewReader(c.content), c.name)
		if err == nil || tab != nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, %v, want %q", c.content, tab, err, c.want)
		}
	}
	for _, c := range []struct{ content, want string }{
		{"prompt_id,n,rewards\na,2,1\n", "column rewards: 1 rewards, want 2, as n says"},
		{"prompt_id,n,rewards\na,2,1 NaN\n", `column rewards: "NaN", want finite numbers`},
		{"prompt_id,n,rewards\na,2,\"1,2\"\n", `column rewards: "1,2", want finite numbers`},
		{"prompt_id,n,successes\na,2,1\n", "column rewards is missing"},
	} {
		if _, err := table.ReadGraded(strings.NewReader(c.content), "a.csv"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.content, err, c.want)
		}
	}
}

// FuzzWritten checks that no input panics, and that what is accepted reads back.
func FuzzWritten(f *testing.F) {
	for _, tab := range fullTables() {
		for i, extension := range table.Extensions() {
			var b bytes.Buffer
			if err := tab.WriteAs(&b, extension); err != nil {
				f.Fatal(err)
			}
			f.Add(b.Bytes(), uint8(i), tab.Graded)
		}
	}
	f.Fuzz(func(t *testing.T, content []byte, kind uint8, graded bool) {
		name := "t" + table.Extensions()[int(kind)%len(table.Extensions())]
		tab, err := readAny(content, name, graded)
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := tab.WriteAs(&b, name); err != nil {
			t.Fatal(err)
		}
		again, err := readAny(b.Bytes(), name, graded)
		if err != nil || !reflect.DeepEqual(again, tab) {
			t.Fatalf("%q reads back as %+v, %v, want %+v", b.Bytes(), again, err, tab)
		}
	})
}
