package logs

import (
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
)

// A discard is a sink that looks at every record and keeps none.
type discard struct{ records int }

func (d *discard) record(r record, _ int) error {
	d.records++
	for _, f := range r {
		f.value.number()
		f.value.count()
	}
	return nil
}

func (d *discard) torn(int, bool, error) error { return nil }

// bounded runs a reader and fails where it takes more memory than its input
// can justify.
func bounded(t *testing.T, content []byte, read func(s sink) error) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_ = read(&discard{}) // any error will do: what must not be is a panic
	runtime.ReadMemStats(&after)
	if spent := after.TotalAlloc - before.TotalAlloc; spent > 1<<26+4000*uint64(len(content)) {
		t.Fatalf("%d bytes of input take %d bytes of memory", len(content), spent)
	}
}

// FuzzText reads JSON lines, JSON documents, CSV and dumps.
func FuzzText(f *testing.F) {
	for _, text := range []string{
		"{\"a\": 1}\n{\"a\": NaN}\n{\"a\":", "[\n{\"a\": [1, 2]},\n{\"a\": \"x\"}\n]\n", "{\n\"a\": {\"b\": \"}\"}\n}\n{\n}", "\ufeff{\"a\": 1}\r\n\r\n",
		"a,b\n1,\"x\ny\"\n", "a,b\n1\n", "idx: 1 / 2, seqlen: 3, reward is 1.0.\nprompt is \nidx: 1 / 2, seqlen: 3, reward is nan.\n", "[{\"a\": 1}", "[[1]]", "\x80\x02.",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		bounded(t, content, func(s sink) error { return readText(bytes.NewReader(content), s) })
	})
}

// FuzzPickle reads pickles as torch.save wraps them.
func FuzzPickle(f *testing.F) {
	for _, p := range pickles {
		f.Add([]byte(p.pickle))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		archive := torchFile(t, content)
		bounded(t, archive, func(s sink) error { return readTorch(bytes.NewReader(archive), int64(len(archive)), s) })
	})
}

// torchFile wraps a pickle as torch.save does.
func torchFile(t *testing.T, pickle []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	f, err := w.CreateHeader(&zip.FileHeader{Name: "rollout_3/data.pkl", Method: zip.Store})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(pickle); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// FuzzArchive reads zip archives that nobody checked.
func FuzzArchive(f *testing.F) {
	f.Add(torchFile(&testing.T{}, []byte("\x80\x02}q\x00.")))
	f.Fuzz(func(t *testing.T, content []byte) {
		bounded(t, content, func(s sink) error { return readTorch(bytes.NewReader(content), int64(len(content)), s) })
	})
}

// FuzzParquet reads Parquet files that nobody checked.
func FuzzParquet(f *testing.F) {
	type row struct {
		Prompt string   `parquet:"prompt,dict"`
		Reward *float64 `parquet:"reward,optional"`
		Tokens []int32  `parquet:"tokens,list"`
	}
	x := 1.5
	var b bytes.Buffer
	if err := parquet.Write(&b, []row{{"a", &x, []int32{1, 2}}, {"a", nil, nil}}); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, content []byte) {
		bounded(t, content, func(s sink) error { return readParquet(bytes.NewReader(content), int64(len(content)), s) })
	})
}

// FuzzImport imports a file of any kind; what comes out keeps every promise of
// a table.
func FuzzImport(f *testing.F) {
	for _, text := range []string{
		`{"input": "a", "output": "x", "score": 1.0, "step": 1, "acc": true}` + "\n" + `{"input": "a", "output": "x", "score": "0", "step": 0}`,
		`{"step": 5, "prompt": "a", "completion": "x", "r": 1.0, "advantage": 0.5}`,
		`{"content": ["ab"], "rewards": [1.0], "idx": 0}`,
		`{"example_id": 10, "prompt": [{"role": "user"}], "reward": 1.0, "is_truncated": true, "info": {"prime_rl": {"env_name": "e"}}}`,
		`{"input_prompt": "a", "output_response": "x", "score": [0.0, 1.0], "stop_reason": "length"}`,
		`{"step": 1, "sample_idx": 0, "prompt_idx": 0, "prompt_tokens": [5], "response_tokens": [9], "reward": 10.0}`,
		`{"rollout_id": 3, "samples": [{"group_index": 0, "prompt": "a", "reward": {"acc": 1}, "status": "aborted"}]}`,
		`{"task_hash": "h", "task": {}, "trajectories": [{"reward": 1}, {"reward": 0}], "training_step": 1}`,
		`{"gen_step": 3, "prompt": ["a", "b"], "completion": ["x", "y"], "R": [1, 0], "advantages": [1, 2]}`,
		`[{"prompt": "a", "response": "x", "reward": 1.0, "response_length": 2.0}]`,
		`{"doc_id": 0, "doc": {}, "resps": [["a", "b"]], "filtered_resps": ["a"], "filter": "f", "metrics": ["m"], "m": 1.0}`,
		`{"messages": [{"role": "user", "content": "a"}, {"role": "assistant"}], "score": 1}`,
		`[{"question_id": "q", "graded_list": [true, false]}]`, `{"raw_scored_generations": {"a": [true, false]}}`,
		`{"idx": 0, "question": "a", "score": [true]}`, `{"task_id": "a", "passed": true, "completion_id": 0}`,
		"prompt_id,n,successes\na,2,1\n", "prompt,reward,step\na,0.5,3\n",
		"idx: 1 / 2, seqlen: 3, reward is 1.0.\n",
	} {
		f.Add([]byte(text), uint8(0), "")
		f.Add([]byte(text), uint8(2), "reward")
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write([]byte(`{"prompt": "a", "reward": 1}`)) // into memory, cannot fail
	z.Close()
	f.Add(packed.Bytes(), uint8(0), "")
	e, err := zstd.NewWriter(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(e.EncodeAll([]byte(`{"prompt": "a", "reward": 1}`), nil), uint8(0), "")
	f.Fuzz(func(t *testing.T, content []byte, how uint8, column string) {
		path := filepath.Join(t.TempDir(), "3.jsonl")
		if err := os.WriteFile(path, content, 0o666); err != nil {
			t.Fatal(err)
		}
		o := Options{Paths: []string{path}, Reward: column, Lenient: how&16 != 0, KeepAll: how&32 != 0}
		o.Group = []string{Auto, GroupID, GroupText, GroupPosition}[how%4]
		if o.Group == GroupPosition {
			o.GroupSize = 1 + int(how)/64
		}
		if how&4 != 0 {
			o.Success = Rule{">", 0}
		}
		tab, report, err := Import(context.Background(), o)
		if err != nil {
			return
		}
		type key struct {
			prompt      string
			step, visit int
		}
		seen := map[key]bool{}
		rollouts := 0
		for _, r := range tab.Rows {
			k := key{r.PromptID, r.Step, r.Visit}
			graded := tab.Graded && len(r.Rewards) == r.N && r.S == 0
			if r.PromptID == "" || r.N < 1 || r.S < 0 || r.S > r.N || seen[k] || tab.Graded && !graded {
				t.Fatalf("%q gives the row %+v", content, r)
			}
			seen[k] = true
			rollouts += r.N
		}
		if left := report.Rows - report.Dropped - report.Duplicated - report.Superseded; rollouts != left {
			t.Fatalf("%q: %d rollouts in the table, want %d of %+v", content, rollouts, left, report)
		}
	})
}

// pickles are pickles with what they hold, as JSON; "" for those that are
// refused. Each was made by hand from pickletools' list of opcodes.
var pickles = []struct{ name, pickle, want string }{
	{"a dict", "\x80\x02}q\x00(X\x01\x00\x00\x00aq\x01K\x07X\x01\x00\x00\x00bq\x02]q\x03(G\x3f\xf0\x00\x00\x00\x00\x00\x00N\x88\x89eu.", `{"a":7,"b":[1,null,true,false]}`},
	{"protocol 4", "\x80\x04\x95\x05\x00\x00\x00\x00\x00\x00\x00}\x94\x8c\x01a\x94J\xff\xff\xff\xffs.", `{"a":-1}`},
	{"protocol 0", "(dp0\nVa\np1\nI12\nsVb\nF-1.5\nsVc\nI01\nsVd\nL5L\ns.", `{"a":12,"b":-1.5,"c":true,"d":5}`},
	{"tuples and sets", "\x80\x04}(U\x01aK\x01\x85U\x01bK\x01K\x02\x86U\x01cK\x01K\x02K\x03\x87U\x01d(K\x01tU\x01e)U\x01f\x8f(K\x09\x90u.", `{"a":[1],"b":[1,2],"c":[1,2,3],"d":[1],"e":[],"f":[9]}`},
	{"longs", "\x80\x02}(U\x01a\x8a\x01\xffU\x01b\x8a\x02\x00\x01U\x01c\x8a\x00U\x01d\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x01u.", `{"a":-1,"b":256,"c":0,"d":1.8446744073709552e+19}`},
	{"the memo", "\x80\x02}(U\x01aX\x02\x00\x00\x00hiq\x05U\x01bh\x05u.", `{"a":"hi","b":"hi"}`},
	{"code is named, not run", "\x80\x02}U\x01acos\nsystem\nX\x07\x00\x00\x00rm -rf/\x85Rs.", `{"a":{"#code":"os.system"}}`},
	{"code of protocol 4", "\x80\x04}U\x01a\x8c\x02os\x8c\x06system\x93)Rs.", `{"a":{"#code":"os.system"}}`},
	{"an object with state", "\x80\x02}U\x01acm\nC\n)\x81}U\x01xK\x01sbs.", `{"a":{"#code":"m.C"}}`},
	{"a dict of code", "\x80\x02}U\x01accollections\nOrderedDict\n)R(U\x01xK\x01us.", `{"a":{"#code":"collections.OrderedDict"}}`},
	{"a tensor beside the pickle", "\x80\x02}U\x01a(U\x07storageU\x010tQs.", `{"a":{"#code":"persistent"}}`},
	{"a list that holds itself", "\x80\x02}U\x01a]q\x00h\x00as.", ""},
	{"a bomb of references", bomb(), ""},
	{"nothing on the stack", "\x80\x02s.", ""},
	{"no mark", "\x80\x02}u.", ""},
	{"below a mark", "\x80\x02}(0.", ""},
	{"a length that lies", "\x80\x02}X\xff\xff\xff\x0fa", ""},
	{"a length of 2^63", "\x80\x04}\x8d\xff\xff\xff\xff\xff\xff\xff\x7fa", ""},
	{"no end", "\x80\x02}", ""},
	{"an unknown opcode", "\x80\x02}\xff.", ""},
	{"odd keys and values", "\x80\x02}(U\x01au.", ""},
	{"an unknown memo", "\x80\x02h\x07.", ""},
	{"no dict", "\x80\x02K\x01.", ""},
}

// bomb is a pickle of lists of ten times the same list, ten deep and more.
func bomb() string {
	b := []byte("\x80\x02}U\x01a]q\x000")
	for i := range byte(12) {
		b = append(b, ']', 'q', i+1, '(')
		for range 10 {
			b = append(b, 'h', i)
		}
		b = append(b, 'e', '0')
	}
	return string(append(b, 'h', 12, 's', '.'))
}

// last keeps the text of the last record.
type last struct{ text string }

func (l *last) record(r record, _ int) error {
	l.text = ""
	for i, f := range r {
		l.text += string(",{"[max(0, 1-i)]) + string(quote(f.key)) + ":" + string(f.value)
	}
	l.text += "}"
	return nil
}

func (l *last) torn(int, bool, error) error { return nil }

func TestPickles(t *testing.T) {
	for _, p := range pickles {
		archive := torchFile(t, []byte(p.pickle))
		var got last
		err := readTorch(bytes.NewReader(archive), int64(len(archive)), &got)
		if got.text != p.want || (err == nil) != (p.want != "") {
			t.Errorf("%s: %s, %v, want %s", p.name, got.text, err, p.want)
		}
	}
}

// TestPickleKeepsFewNumbers: tokens are counted out of a list, texts are not.
func TestPickleKeepsFewNumbers(t *testing.T) {
	b := []byte("\x80\x02](")
	for i := range 1000 {
		b = append(b, 'M')
		b = binary.LittleEndian.AppendUint16(b, uint16(i))
	}
	b = append(b, "U\x01xe."...)
	x, err := unpickle(bufio.NewReader(bytes.NewReader(b)))
	list, ok := x.(*pickledList)
	if err != nil || !ok || len(list.items) != maxNumbers+1 || list.items[maxNumbers] != "x" {
		t.Errorf("%v, %v, want %d numbers and a text", x, err, maxNumbers)
	}
}

// TestAlign checks the test of groups by position against its promise: it
// passes where groups hold one prompt each, and finds every shift.
func TestAlign(t *testing.T) {
	texts := []string{}
	for _, prompt := range []string{"What is 3+4?", "What is 12*12?", "Who?", "What is 1?"} {
		for _, answer := range []string{"7", "8", "79"} {
			texts = append(texts, prompt+answer)
		}
	}
	for _, c := range []struct {
		size, skip int
		want       bool
	}{{3, 0, true}, {6, 0, false}, {2, 0, false}, {4, 0, false}, {3, 1, false}, {3, 2, false}, {5, 0, false}} {
		im := &importer{evidence: newEvidence(Options{Group: GroupPosition, GroupSize: c.size})}
		for i, text := range slices.Clone(texts)[c.skip:] {
			im.align(1, i/c.size, text)
		}
		im.compare()
		if (im.misaligned == 0) != c.want {
			t.Errorf("groups of %d after %d: %d misaligned, want none: %v", c.size, c.skip, im.misaligned, c.want)
		}
	}
}

// bent returns an archive of a pickle with one byte of the pickle changed, and
// not its checksum.
func bent(t *testing.T, pickle, old, new string) []byte {
	t.Helper()
	archive := torchFile(t, []byte(pickle))
	changed := bytes.Replace(archive, []byte(old), []byte(new), 1)
	if bytes.Equal(archive, changed) {
		t.Fatalf("%q is not in %q", old, archive)
	}
	return changed
}

// TestArchiveSums: a pickle that does not fit its checksum is refused, also
// where it reads well.
func TestArchiveSums(t *testing.T) {
	pickle := "\x80\x02}U\x01aK\x01s."
	for _, archive := range [][]byte{bent(t, pickle, "K\x01", "K\x00"), torchFile(t, []byte(pickle))[:40]} {
		if err := readTorch(bytes.NewReader(archive), int64(len(archive)), &discard{}); err == nil {
			t.Error("a bent archive is read")
		}
	}
}

// TestPickleBombs: short pickles that would take long or much are refused.
func TestPickleBombs(t *testing.T) {
	read := func(pickle []byte) func(s sink) error {
		archive := torchFile(t, pickle)
		return func(s sink) error {
			err := readTorch(bytes.NewReader(archive), int64(len(archive)), s)
			if err == nil {
				t.Errorf("%.20q...: no error", pickle)
			}
			return err
		}
	}
	marks := append([]byte("\x80\x02"), bytes.Repeat([]byte("("), 1<<20)...)
	marks = append(append(marks, bytes.Repeat([]byte("1"), 1<<20)...), "}."...) // the dict that is left reads well
	bounded(t, marks, read(marks))

	sample := append([]byte("}U\x06promptX\x00\x00\x08\x00"), bytes.Repeat([]byte("y"), 1<<19)...) // of half a MiB
	references := append([]byte("\x80\x02}(U\x0arollout_idK\x03U\x07samples]("), sample...)
	references = append(references, "sq\x01"...)
	references = append(references, bytes.Repeat([]byte("h\x01"), 3*repeats)...)
	counted := &discard{}
	_ = read(append(references, "eu."...))(counted) // checked within
	if counted.records < repeats || counted.records > 2*repeats {
		t.Errorf("%d samples were read, want about %d", counted.records, repeats)
	}
}

// TestSamplesOfClasses: samples that are no dicts say what they are.
func TestSamplesOfClasses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rollout_3.pt")
	pickle := "\x80\x02}(U\x0arollout_idK\x03U\x07samples](cslime.types\nSample\n)\x81eu."
	if err := os.WriteFile(path, torchFile(t, []byte(pickle)), 0o666); err != nil {
		t.Fatal(err)
	}
	_, _, err := Import(context.Background(), Options{Paths: []string{path}})
	if err == nil || !strings.Contains(err.Error(), "samples are objects of slime.types.Sample") {
		t.Errorf("error %v", err)
	}
}
