package prompts_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/parquet-go/parquet-go"

	"vigorlab/sim/source/prompts"
)

func preset(t *testing.T, name string) prompts.Fields {
	t.Helper()
	f, err := prompts.Preset(name)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// A dapoRow is a row of DAPO's data set as Parquet.
type dapoRow struct {
	Prompt []struct {
		Content string `parquet:"content"`
		Role    string `parquet:"role"`
	} `parquet:"prompt,list"`
	RewardModel struct {
		GroundTruth string `parquet:"ground_truth"`
		Style       string `parquet:"style"`
	} `parquet:"reward_model"`
	ExtraInfo struct {
		Index string `parquet:"index"`
	} `parquet:"extra_info"`
}

func dapo(t *testing.T, roles ...string) string {
	t.Helper()
	var rows []dapoRow
	for i, text := range []string{"2+2?", "1+1?", "2+2?"} {
		var r dapoRow
		for _, role := range roles {
			r.Prompt = append(r.Prompt, struct {
				Content string `parquet:"content"`
				Role    string `parquet:"role"`
			}{text, role})
		}
		r.RewardModel.GroundTruth = []string{"4", "2", "4"}[i]
		r.ExtraInfo.Index = []string{"a", "b", "c"}[i]
		rows = append(rows, r)
	}
	var b bytes.Buffer
	w := parquet.NewGenericWriter[dapoRow](&b)
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestRead(t *testing.T) {
	own := prompts.DefaultFields()
	nested := prompts.Fields{Prompt: prompts.Field{Path: "q.text", Must: true}, Answer: prompts.Field{Path: "q.a"}, ID: prompts.Field{Path: "n"}}
	for _, c := range []struct {
		what, name, content string
		fields              prompts.Fields
		want                []prompts.Prompt
		repeated            int
	}{
		{
			"our own keys", "p.jsonl", "\ufeff{\"prompt\":\"1+1?\",\"answer\":2,\"id\":\"x\"}\r\n\n{\"prompt\":\"a\\nb\"}\n", own,
			[]prompts.Prompt{{"x", "1+1?", "2"}, {"2", "a\nb", ""}},
			0,
		},
		{"CSV", "p.csv", "id,prompt,answer\n7,\"1, 2 or 3?\",3\n8,b,\n", own, []prompts.Prompt{{"7", "1, 2 or 3?", "3"}, {"8", "b", ""}}, 0},
		{
			"an answer stays as written", "p.jsonl", `{"prompt":"a","answer":1.50}` + "\n" + `{"prompt":"b","answer":12345678901234567890}`, own,
			[]prompts.Prompt{{"1", "a", "1.50"}, {"2", "b", "12345678901234567890"}},
			0,
		},
		{"nested keys", "p.jsonl", `{"q":{"text":"a","a":true},"n":3}`, nested, []prompts.Prompt{{"3", "a", "true"}}, 0},
		{
			"gsm8k", "train.jsonl", `{"question":"How many?","answer":"2*3=<<2*3=6>>6 #### no\n#### 1,006"}`, preset(t, "gsm8k"),
			[]prompts.Prompt{{"1", "How many?", "1,006"}},
			0,
		},
		{
			"math", "test.jsonl", `{"problem":"x?","solution":"so \\boxed{1} or \\boxed{\\frac{1}{2}}.","unique_id":"test/algebra/1.json"}`, preset(t, "math"),
			[]prompts.Prompt{{"test/algebra/1.json", "x?", `\frac{1}{2}`}},
			0,
		},
		{"dapo, with a repeated prompt", "dapo.parquet", dapo(t, "user"), preset(t, "dapo"), []prompts.Prompt{{"a", "2+2?", "4"}, {"b", "1+1?", "2"}}, 1},
	} {
		s, err := prompts.Read(strings.NewReader(c.content), c.name, c.fields)
		if err != nil {
			t.Errorf("%s: %v", c.what, err)
			continue
		}
		if !slices.Equal(s.Prompts, c.want) || s.Repeated != c.repeated {
			t.Errorf("%s: %q, %d repeated, want %q, %d", c.what, s.Prompts, s.Repeated, c.want, c.repeated)
		}
	}
}

// TestFinder: a name goes before a text, and the number of a record is no name.
func TestFinder(t *testing.T) {
	for content, want := range map[string][3]string{ // of ("2", "a"), ("1", "b") and ("x", "c")
		`{"id":"1","prompt":"a","answer":1}` + "\n" + `{"id":"2","prompt":"b","answer":2}`: {"2", "1", ""},
		`{"prompt":"a","answer":1}` + "\n" + `{"id":"3","prompt":"b","answer":2}`:          {"1", "2", ""},
	} {
		set, err := prompts.Read(strings.NewReader(content), "p.jsonl", prompts.DefaultFields())
		if err != nil {
			t.Fatal(err)
		}
		find := set.Finder()
		for i, x := range [3][2]string{{"2", "a"}, {"1", "b"}, {"x", "c"}} {
			if p, ok := find(x[0], x[1]); p.Answer != want[i] || ok != (want[i] != "") {
				t.Errorf("%s: %q has the answer %q, %v, want %q", content, x, p.Answer, ok, want[i])
			}
		}
	}
}

// TestReadRefuses: errors name file, record, key, and what was wanted, all at once.
func TestReadRefuses(t *testing.T) {
	own := prompts.DefaultFields()
	for _, c := range []struct {
		what, name, content string
		fields              prompts.Fields
		want                []string
	}{
		{
			"keys", "p.jsonl", `{"question":"a"}` + "\n" + `{"prompt":""}` + "\n" + `{"prompt":{"a":1}}`, own,
			[]string{"p.jsonl: record 1, prompt: there is no such key", "p.jsonl: record 2, prompt: empty, want a text", "p.jsonl: record 3, prompt: an object, want"},
		},
		{"two answers", "p.jsonl", `{"prompt":"a","answer":1}` + "\n" + `{"prompt":"a","answer":2}`, own, []string{`"a" is there with the answers "1" and "2"`}},
		{"one name for two", "p.csv", "id,prompt\nx,a\nx,b\n", own, []string{`record 2, id: "x" names record 1 too`}},
		{"no mark", "p.jsonl", `{"question":"a","answer":"3"}`, preset(t, "gsm8k"), []string{`answer: "3" has no #### before its answer`}},
		{"no box", "p.jsonl", `{"problem":"a","solution":"3"}`, preset(t, "math"), []string{`has no \boxed{`}},
		{"open box", "p.jsonl", `{"problem":"a","solution":"\\boxed{3"}`, preset(t, "math"), []string{`ends inside \boxed{`}},
		{"several messages", "p.parquet", dapo(t, "system", "user"), preset(t, "dapo"), []string{`messages of "system, user", want one of user`}},
		{"no answer", "p.jsonl", `{"question":"a"}`, preset(t, "gsm8k"), []string{"record 1, answer: there is no such key"}},
		{"not JSON", "p.jsonl", "{\"prompt\":\"a\"}\n{\"prompt\":", own, []string{"p.jsonl: line 2: unexpected EOF"}},
		{"null", "p.jsonl", "null\n", own, []string{`line 1: "null", want one object`}},
		{"two objects", "p.jsonl", "{} {}\n", own, []string{"want one object"}},
		{"a brace too many", "p.jsonl", "{\"prompt\":\"a\"}}\n", own, []string{"line 1:", "want one object"}},
		{"a bracket too many", "p.jsonl", "{\"prompt\":\"a\"}]\n", own, []string{"line 1:", "want one object"}},
		{"Latin-1 JSON", "p.jsonl", "{\"prompt\":\"a\"}\n{\"prompt\":\"\xe9t\xe9\"}\n", own, []string{"line 2: not valid UTF-8"}},
		{"Latin-1 CSV", "p.csv", "prompt\na\n\xe9t\xe9\n", own, []string{"record 2, prompt: not valid UTF-8"}},
		{"a long line", "p.jsonl", "{\"prompt\":\"a\"}\n\"" + strings.Repeat("a", 1<<24) + "\"\n", own, []string{"line 2: 16777216 bytes or more"}},
		{"short row", "p.csv", "prompt,answer\na\n", own, []string{"wrong number of fields"}},
		{"a column twice", "p.csv", "prompt,prompt\na,b\n", own, []string{`column "prompt" is there twice`}},
		{"nothing", "p.csv", "", own, []string{"no records"}},
		{"no Parquet", "p.parquet", "PAR1", own, []string{"malformed Parquet"}},
		{"extension", "p.txt", "a", own, []string{"want a file that ends in .jsonl, .csv, .parquet"}},
	} {
		_, err := prompts.Read(strings.NewReader(c.content), c.name, c.fields)
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want %q", c.what, err, want)
			}
		}
	}
	_, err := prompts.Read(strings.NewReader(strings.Repeat("{\"q\":1}\n", 50)), "p.jsonl", own)
	if err == nil || strings.Count(err.Error(), "\n") != 20 || !strings.HasSuffix(err.Error(), "p.jsonl: and 30 more faults") {
		t.Errorf("50 faults: %v", err)
	}
	if _, err := prompts.Preset("gsm"); err == nil || !strings.Contains(err.Error(), "want one of gsm8k, math, dapo") {
		t.Errorf("unknown preset: %v", err)
	}
}

// TestReadStops: what stops the reader in the midst of a line is the error, and not
// the line that it left.
func TestReadStops(t *testing.T) {
	stopped := errors.New("stopped")
	for _, name := range []string{"p.jsonl", "p.csv"} {
		begun := io.MultiReader(strings.NewReader("\"prompt"), iotest.ErrReader(stopped))
		if _, err := prompts.Read(begun, name, prompts.DefaultFields()); !errors.Is(err, stopped) {
			t.Errorf("%s: error %v, want %v", name, err, stopped)
		}
	}
}

func TestTemplate(t *testing.T) {
	made, err := prompts.ParseTemplate("t.txt", "Q: {{.Prompt}}\nA:")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := made.Apply("1<2 & {{.Answer}}?"); err != nil || got != "Q: 1<2 & {{.Answer}}?\nA:" {
		t.Errorf("%q, %v", got, err)
	}
	made, err = prompts.ParseTemplate("t.txt", `{{if gt (len .Prompt) 3}}{{printf "%.3s" .Prompt}}...{{else}}{{.Prompt}}{{end}}{{with 1}}{{.}}{{end}}`)
	if err == nil {
		t.Errorf("a part of the prompt was taken for it: %v", made)
	}
	made, err = prompts.ParseTemplate("t.txt", `{{if gt (len .Prompt) 99}}long: {{end}}{{with .Prompt}}{{.}}{{else}}none{{end}}{{/* end */}}`)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := made.Apply("ab"); err != nil || got != "ab" {
		t.Errorf("%q, %v", got, err)
	}
	var none *prompts.Template
	if got, err := none.Apply("a"); err != nil || got != "a" {
		t.Errorf("no template: %q, %v", got, err)
	}
	for text, want := range map[string]string{
		"Q:": "{{.Prompt}} is missing", "{{.Answer}}": "can't evaluate field Answer", "{{.Prompt": "unclosed action",
		"{{if true}}{{end}}": "is missing", "": "is missing", `{{define "a"}}{{.Prompt}}{{end}}`: "is missing",

		// what might never end
		"{{.Prompt}}{{range 1000000000000}}{{end}}":                        "want no range",
		"{{if .Prompt}}{{.Prompt}}{{else}}{{range 9}}{{end}}{{end}}":       "want no range",
		"{{with .Prompt}}{{.}}{{range 9}}{{end}}{{end}}":                   "want no range",
		`{{.Prompt}}{{define "a"}}{{template "a"}}{{end}}{{template "a"}}`: "no template",
		`{{block "a" .}}{{.Prompt}}{{end}}`:                                "no template",
	} {
		if _, err := prompts.ParseTemplate("t.txt", text); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "t.txt") {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

// FuzzRead: no file panics, and what is read has texts and distinct names.
func FuzzRead(f *testing.F) {
	f.Add(`{"prompt":"a","answer":"b"}`, uint8(0))
	f.Add("prompt,answer\na,b\n", uint8(1))
	f.Add(`{"prompt":[{"role":"user","content":"a"}],"reward_model":{"ground_truth":1}}`, uint8(9))
	f.Fuzz(func(t *testing.T, content string, kind uint8) {
		name := "p" + prompts.Extensions()[int(kind)%len(prompts.Extensions())]
		fields := prompts.DefaultFields()
		if i := int(kind) / 3 % 4; i > 0 {
			fields, _ = prompts.Preset(prompts.Presets()[i-1])
		}
		s, err := prompts.Read(strings.NewReader(content), name, fields)
		if err != nil {
			return
		}
		ids := map[string]bool{}
		for _, p := range s.Prompts {
			if strings.TrimSpace(p.Text) == "" || ids[p.ID] {
				t.Errorf("%q of %q", p, content)
			}
			ids[p.ID] = true
		}
	})
}
