// Package prompts reads the prompts of a data set, with their answers, from JSON
// lines, CSV or Parquet. It refuses to open files and to know who is asked.
package prompts

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Prompt is one question of a data set.
type Prompt struct {
	ID     string // unique in a file: the row's number, from 1, where the file names none
	Text   string
	Answer string // "" where the file has none
}

// A Field says where a record has something: a key, with dots into nested objects.
type Field struct {
	Path string
	Must bool // every record has it, and it is not empty
}

// Fields say where a record has what a prompt needs.
type Fields struct {
	Prompt, Answer, ID Field

	// Answer is cut out of a longer text: what follows the last Mark, or the last
	// \boxed{...}; at most one of them.
	Mark  string
	Boxed bool
}

// DefaultFields returns the keys prompt, answer and id, of which only the first
// must be there.
func DefaultFields() Fields {
	return Fields{Prompt: Field{"prompt", true}, Answer: Field{"answer", false}, ID: Field{"id", false}}
}

// presets are the keys of known data sets, as recalled: no loader was read.
var presets = []struct {
	name   string
	fields Fields
}{
	{"gsm8k", Fields{Prompt: Field{"question", true}, Answer: Field{"answer", true}, ID: Field{"id", false}, Mark: "####"}},
	{"math", Fields{Prompt: Field{"problem", true}, Answer: Field{"solution", true}, ID: Field{"unique_id", false}, Boxed: true}},
	{"dapo", Fields{Prompt: Field{"prompt", true}, Answer: Field{"reward_model.ground_truth", true}, ID: Field{"extra_info.index", false}}},
}

// Presets returns the names that Preset takes.
func Presets() []string {
	var names []string
	for _, p := range presets {
		names = append(names, p.name)
	}
	return names
}

// Preset returns the fields of a known data set: gsm8k, whose answer follows
// "####"; math, whose answer is boxed in a solution; dapo, whose prompt is a list
// of messages.
func Preset(name string) (Fields, error) {
	for _, p := range presets {
		if p.name == name {
			return p.fields, nil
		}
	}
	return Fields{}, fmt.Errorf("%s, want one of %s", name, strings.Join(Presets(), ", "))
}

// A Set are the prompts of a file, in its order, each text once.
type Set struct {
	Prompts  []Prompt
	Repeated int // records left out, since an earlier one has their text and answer
	Numbered int // of Prompts, those whose record names none: their ID is its number
}

// Finder returns what finds the prompt of a rollout: by its name, where every
// record has one of its own, else by its text. A record's number is no name: other
// logs number from elsewhere.
func (s *Set) Finder() func(id, text string) (Prompt, bool) {
	ids, texts := map[string]Prompt{}, map[string]Prompt{}
	for _, p := range s.Prompts {
		texts[p.Text] = p
		if s.Numbered == 0 {
			ids[p.ID] = p
		}
	}
	return func(id, text string) (Prompt, bool) {
		p, ok := ids[id]
		if !ok {
			p, ok = texts[text]
		}
		return p, ok
	}
}

// maxFaults is how many faults of one file are spelled out.
const maxFaults = 20

// Read reads a file. name stands for it in messages, and its extension says how
// it is written: .jsonl for an object a line, .parquet, .csv with a
// header line. A prompt is a text, or a list of one message of the user. A text
// that is there again is left out, as data sets repeat prompts, but with another
// answer it is an error. Errors name file, record, key and what was wanted, up to
// 20 at once.
func Read(r io.Reader, name string, fields Fields) (*Set, error) {
	g := &gatherer{name: name, fields: fields, texts: map[string]Prompt{}, ids: map[string]int{}}
	if err := eachRecord(r, name, g.record); err != nil {
		g.fault(fmt.Errorf("%s: %w", name, err))
	}
	if g.faults == 0 && len(g.set.Prompts) == 0 {
		g.fault(fmt.Errorf("%s: no records, want at least one prompt", name))
	}
	if more := g.faults - maxFaults; more > 0 {
		g.errs = append(g.errs, fmt.Errorf("%s: and %d more faults", name, more))
	}
	if err := errors.Join(g.errs...); err != nil {
		return nil, err
	}
	return &g.set, nil
}

// A gatherer takes records and makes a set of them.
type gatherer struct {
	name   string
	fields Fields
	set    Set
	texts  map[string]Prompt // those that are there
	ids    map[string]int    // the record of each
	errs   []error
	faults int
}

func (g *gatherer) fault(err error) {
	if g.faults++; g.faults <= maxFaults {
		g.errs = append(g.errs, err)
	}
}

// record takes one record; place is its number, from 1.
func (g *gatherer) record(place int, record map[string]any) {
	before := g.faults
	fault := func(key string, err error) {
		g.fault(fmt.Errorf("%s: record %d, %s: %w", g.name, place, key, err))
	}
	text := func(f Field, read func(any) (string, error)) string {
		v, err := lookUp(record, f.Path)
		if err != nil {
			if f.Must {
				fault(f.Path, err)
			}
			return ""
		}
		s, err := read(v)
		if err == nil && !utf8.ValidString(s) {
			err = errors.New("not valid UTF-8, want a file in UTF-8")
		}
		if err == nil && f.Must && strings.TrimSpace(s) == "" {
			err = errors.New("empty, want a text")
		}
		if err != nil {
			fault(f.Path, err)
		}
		return s
	}
	p := Prompt{Text: text(g.fields.Prompt, question), Answer: text(g.fields.Answer, plain), ID: text(g.fields.ID, plain)}
	if g.faults > before {
		return
	}
	answer, err := g.fields.cut(p.Answer)
	if err != nil {
		fault(g.fields.Answer.Path, err)
		return
	}
	p.Answer = answer
	if earlier, repeated := g.texts[p.Text]; repeated {
		if earlier.Answer != p.Answer {
			fault(g.fields.Prompt.Path, fmt.Errorf("%.60q is there with the answers %.40q and %.40q, want one", p.Text, earlier.Answer, p.Answer))
			return
		}
		g.set.Repeated++
		return
	}
	if p.ID == "" {
		p.ID = strconv.Itoa(place)
		g.set.Numbered++
	}
	if first, twice := g.ids[p.ID]; twice {
		fault(g.fields.ID.Path, fmt.Errorf("%.60q names record %d too, want another name for another prompt", p.ID, first))
		return
	}
	g.texts[p.Text], g.ids[p.ID] = p, place
	g.set.Prompts = append(g.set.Prompts, p)
}

// lookUp follows a path of keys.
func lookUp(record map[string]any, path string) (any, error) {
	if v, ok := record[path]; ok { // a key with dots in it
		return v, nil
	}
	var v any = record
	for key := range strings.SplitSeq(path, ".") {
		object, ok := v.(map[string]any)
		if !ok {
			return nil, errors.New("there is no such key")
		}
		if v, ok = object[key]; !ok {
			return nil, errors.New("there is no such key")
		}
	}
	return v, nil
}

// plain returns a value as text.
func plain(v any) (string, error) {
	switch v := v.(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	case []byte:
		return string(v), nil
	case bool:
		return strconv.FormatBool(v), nil
	case json.Number:
		return v.String(), nil
	case int32, int64, int, float64, float32:
		return fmt.Sprint(v), nil
	case []any:
		if len(v) == 1 {
			return plain(v[0]) // a list of one answer
		}
		return "", fmt.Errorf("a list of %d, want one text or number", len(v))
	}
	return "", errors.New("an object, want a text or a number")
}

// question returns the text of a prompt: a text, or the one message of a list.
func question(v any) (string, error) {
	list, ok := v.([]any)
	if !ok {
		return plain(v)
	}
	var roles []string
	content := ""
	for _, m := range list {
		message, ok := m.(map[string]any)
		if !ok {
			return "", errors.New("a list of what is no message, want a text or messages with role and content")
		}
		role, _ := plain(message["role"])
		roles = append(roles, role)
		text, err := plain(message["content"])
		if err != nil {
			return "", fmt.Errorf("content: %w", err)
		}
		content = text
	}
	if len(roles) != 1 || roles[0] != "user" {
		return "", fmt.Errorf("messages of %q, want one of user: put what the others say into a template", strings.Join(roles, ", "))
	}
	return content, nil
}

// cut cuts the answer out of a text.
func (f Fields) cut(text string) (string, error) {
	switch {
	case f.Mark != "":
		i := strings.LastIndex(text, f.Mark)
		if i < 0 {
			return "", fmt.Errorf("%.60q has no %s before its answer", text, f.Mark)
		}
		return strings.TrimSpace(text[i+len(f.Mark):]), nil
	case f.Boxed:
		return boxed(text)
	}
	return text, nil
}

// boxed returns what stands in the last \boxed{...} of a text, braces matched.
func boxed(text string) (string, error) {
	const mark = `\boxed{`
	start := strings.LastIndex(text, mark)
	if start < 0 {
		return "", fmt.Errorf("%.60q has no %s...}", text, mark)
	}
	start += len(mark)
	depth := 1
	for i, c := range text[start:] {
		switch c {
		case '{':
			depth++
		case '}':
			depth--
		}
		if depth == 0 {
			return strings.TrimSpace(text[start : start+i]), nil
		}
	}
	return "", fmt.Errorf("%.60q ends inside %s", text, mark)
}
