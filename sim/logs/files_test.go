package logs

import (
	"bytes"
	"compress/gzip"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestStrangersInAFolder: what stands beside a log and is none is set aside, and
// the report says so.
func TestStrangersInAFolder(t *testing.T) {
	for name, content := range map[string]string{
		"NOTES.md": "# run, notes\nfoo\nbar, baz\n", "train.log": "[INFO] starting\n[INFO] more\n", "numbers.json": "[1, 2]\n", "figure.svg": "<?xml version=\"1.0\"?>\n<svg/>\n", "last.txt": "a, b\nfoo",
		"config.json": `{"lr": 1e-6, "model": "m"}`, "losses.csv": "epoch,loss\n1,0.5\n", "lists.json": "[[1], [2]]", "wide.txt": "\xff\xfe{\x00", "picture.png": "\x89PNG\r\n\x1a\n\x00",
	} {
		l := rows("a 1 a 0")
		l.files[name] = content
		findings, tab, err := l.run(t)
		f := find(findings, "skipped-files")
		if err != nil || f == nil || !strings.Contains(f.Text, name) || find(findings, "torn-tail") != nil || len(tab.Rows) != 1 {
			t.Errorf("%s: %+v, %+v, %v, want it set aside", name, findings, tab, err)
		}
	}
}

// TestLinks: a link to a folder is followed where it is named; below a folder
// it is set aside and said, as is one that leads nowhere.
func TestLinks(t *testing.T) {
	dir := t.TempDir()
	run := filepath.Join(dir, "run")
	if err := os.Mkdir(run, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(run, "1.jsonl"), []byte(rows("a 1 a 0").files["1.jsonl"]), 0o666); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"latest": "run", "run/up": "..", "run/self": "self", "run/gone.jsonl": "nowhere"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Skip("needs symbolic links:", err)
		}
	}
	tab, report, err := Import(context.Background(), Options{Paths: []string{filepath.Join(dir, "latest")}})
	if err != nil || len(tab.Rows) != 1 || tab.Rows[0].N != 2 {
		t.Fatalf("%+v, %v, want one group of 2", tab, err)
	}
	said := strings.Join(report.Notes, "\n")
	for _, want := range []string{"3 files are no part", "up (a link to a folder", "self (a link that leads to no file)", "gone.jsonl (a link that leads to no file)"} {
		if !strings.Contains(said, want) {
			t.Errorf("notes %q, want %q in them", said, want)
		}
	}
}

// TestOutIsNoInput: the file that the table goes to is no log, by whatever path.
func TestOutIsNoInput(t *testing.T) {
	dir := t.TempDir()
	log, out := filepath.Join(dir, "1.jsonl"), filepath.Join(dir, "out.csv")
	for path, content := range map[string]string{log: rows("a 1 a 0").files["1.jsonl"], out: "prompt,reward\nb,1\n"} {
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	tab, _, err := Import(context.Background(), Options{Paths: []string{dir}, Out: out})
	if err != nil || len(tab.Rows) != 1 {
		t.Errorf("%+v, %v, want the log alone", tab, err)
	}
	_, _, err = Import(context.Background(), Options{Paths: []string{log}, Out: filepath.Join(dir, ".", "x", "..", "1.jsonl")})
	if err == nil || !strings.Contains(err.Error(), "is the file that the table goes to") {
		t.Errorf("error %v, want it refused", err)
	}
}

// TestTornFirst: a file that ends within its first record says so.
func TestTornFirst(t *testing.T) {
	for name, content := range map[string]string{"1.jsonl": "{\"prompt\": \"a\"", "1.json": "[", "2.json": "{\n", "1.jsonl.gz": "\x1f\x8b\x08"} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
		_, _, err := Import(context.Background(), Options{Paths: []string{path}})
		if err == nil || !strings.Contains(err.Error(), name+" (ends in the middle of its first record)") {
			t.Errorf("%q: error %v", content, err)
		}
	}
}

// TestDamage: what a crash leaves at the end is a torn record; before the end it
// is damage, in an array as in lines.
func TestDamage(t *testing.T) {
	whole := rows("a 1 a 0").files["1.jsonl"]
	for content, want := range map[string]string{
		whole + "\x00\x00\x00\x00":   "torn-tail",
		whole + "\x00\x00\n" + whole: "bad-record",
		`[{"prompt": "a", "reward": 1}, {"prompt": a}, {"prompt": "b", "reward": 1}]`: "bad-record",
	} {
		findings, _, _ := file(content).run(t)
		if find(findings, want) == nil {
			t.Errorf("%q: %+v, want %s", content, findings, want)
		}
		findings, tab, err := file(content).with(Options{Lenient: true}).run(t)
		if err != nil || tab.Rows[0].N < 1 {
			t.Errorf("%q: %+v, %v, want it read where that is asked", content, findings, err)
		}
	}
}

// TestNames: names that are no UTF-8 stay apart in every kind of table.
func TestNames(t *testing.T) {
	_, tab, err := primeRows("1 a 1").run(t)
	if err != nil || tab.Rows[0].PromptID != "1" {
		t.Fatalf("%+v, %v", tab, err)
	}
	_, tab, err = file("{\"example_id\": \"\xe8\", \"reward\": 1}\n{\"example_id\": \"\xe9\", \"reward\": 0}\n").run(t)
	if err != nil || len(tab.Rows) != 2 || tab.Rows[0].PromptID != `\xe8` || tab.Rows[1].PromptID != `\xe9` {
		t.Errorf("%+v, %v, want \\xe8 and \\xe9", tab, err)
	}
	_, tab, err = file(`{"example_id": 11, "info": {"prime_rl": {"env_name": "a"}}, "reward": 1}` + "\n" +
		`{"example_id": 1, "info": {"prime_rl": {"env_name": "a1"}}, "reward": 0}` + "\n").run(t)
	if err != nil || len(tab.Rows) != 2 || tab.Rows[0].PromptID != "a/11" || tab.Rows[1].PromptID != "a1/1" {
		t.Errorf("%+v, %v, want a/11 and a1/1", tab, err)
	}
}

// TestHugeRewards: a reward whose square is no number is none, and neither is
// text that Go alone would read.
func TestHugeRewards(t *testing.T) {
	for _, reward := range []string{"1e101", "-1e308", `"1e101"`, `"1_0"`, `"0x1p-2"`} {
		if findings, _, _ := rows("a 1 a " + reward).run(t); find(findings, "reward-unreadable") == nil {
			t.Errorf("%s: %+v, want it refused", reward, findings)
		}
	}
	if _, tab, err := rows("a 1e100 a -1e100").run(t); err != nil || tab.Rows[0].Outcomes != "10" {
		t.Errorf("%+v, %v, want 10", tab, err)
	}
}

// TestColumnsOfOneName: a header that names two columns alike is refused.
func TestColumnsOfOneName(t *testing.T) {
	path := filepath.Join(t.TempDir(), "1.csv")
	if err := os.WriteFile(path, []byte("prompt,reward,reward\na,1,0\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	_, _, err := Import(context.Background(), Options{Paths: []string{path}})
	if err == nil || !strings.Contains(err.Error(), `two columns are called "reward"`) {
		t.Errorf("error %v", err)
	}
}

// TestGzipMembers: members one after the other are one log; zeros or anything
// else behind them is not passed over.
func TestGzipMembers(t *testing.T) {
	var b bytes.Buffer
	for _, part := range []string{rows("a 1 a 0").files["1.jsonl"], rows("a 1 a 1").files["1.jsonl"]} {
		z := gzip.NewWriter(&b)
		if _, err := z.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
	}
	_, tab, err := file(b.String()).run(t)
	if err != nil || len(tab.Rows) != 1 || tab.Rows[0].Outcomes != "1011" {
		t.Errorf("%+v, %v, want 1011", tab, err)
	}
	bent := bytes.Clone(b.Bytes())
	bent[len(bent)-8] ^= 1 // the checksum of the last member
	for _, content := range []string{b.String() + strings.Repeat("\x00", 64), string(bent)} {
		path := filepath.Join(t.TempDir(), "1.jsonl.gz")
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, _, err := Import(context.Background(), Options{Paths: []string{path}}); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("error %v, want it refused", err)
		}
	}
}
