package sweep

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// stored returns a sweep of six points in three shards.
func stored(t *testing.T) *Sweep {
	t.Helper()
	return storedPlan(t, "command = \"simulate\"\n[grid]\nbatch = [1, 2, 3]\nquick = [true, false]", 3)
}

// storedPlan returns the sweep of a file's text, dealt to so many shards, in a directory.
func storedPlan(t *testing.T, text string, shards int) *Sweep {
	t.Helper()
	p := mustPlan(t, text)
	digest, err := p.Digest()
	if err != nil {
		t.Fatal(err)
	}
	s := &Sweep{Digest: digest, Shards: Deal(len(p.Points), shards), Plan: *p}
	content, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, PlanFile), content, 0o666); err != nil {
		t.Fatal(err)
	}
	s, err = Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// fill writes the shards: a row for every point, but for the failed one.
func fill(t *testing.T, s *Sweep, shards ...int) {
	t.Helper()
	for _, k := range shards {
		var rows []row
		var failed []Failure
		span := s.Shards[k-1]
		for _, p := range s.Points[span.From-1 : span.To] {
			if p.Number == 4 {
				failed = append(failed, Failure{4, "out of\nmemory"})
				rows = append(rows, s.failedRow(p, "out of\nmemory"))
				continue
			}
			more, err := s.pointRows(p, []byte("population,strategy,figure,value,replicates,seed\n"+
				"uniform,\"vigor:m0=2,rounds=4\",eta,1e-09,5,18446744073709551615\nuniform,vigor,select_ns,17,5,1\nuniform,vigor,signal,,5,1\n"))
			if err != nil {
				t.Fatal(err)
			}
			rows = append(rows, more...)
		}
		if err := s.write(k, rows, failed); err != nil {
			t.Fatal(err)
		}
	}
}

const wantTable = `point,batch,quick,population,strategy,figure,value,replicates,seed,error
1,1,true,uniform,"vigor:m0=2,rounds=4",eta,1e-09,5,18446744073709551615,
1,1,true,uniform,vigor,signal,,5,1,
2,1,false,uniform,"vigor:m0=2,rounds=4",eta,1e-09,5,18446744073709551615,
2,1,false,uniform,vigor,signal,,5,1,
3,2,true,uniform,"vigor:m0=2,rounds=4",eta,1e-09,5,18446744073709551615,
3,2,true,uniform,vigor,signal,,5,1,
4,2,false,,,,,,,"out of
memory"
5,3,true,uniform,"vigor:m0=2,rounds=4",eta,1e-09,5,18446744073709551615,
5,3,true,uniform,vigor,signal,,5,1,
6,3,false,uniform,"vigor:m0=2,rounds=4",eta,1e-09,5,18446744073709551615,
6,3,false,uniform,vigor,signal,,5,1,
`

// TestMerge: the table holds every point once, in order, whichever shard was written
// first; times are left out; a failed point is a row; Parquet and JSON hold the same.
func TestMerge(t *testing.T) {
	s := stored(t)
	fill(t, s, 3, 1, 2)
	if err := s.Whole(); err != nil {
		t.Fatal(err)
	}
	var table, columns, list bytes.Buffer
	for _, err := range []error{s.WriteCSV(&table), s.WriteParquet(&columns), s.WriteRows(&list)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if table.String() != wantTable {
		t.Errorf("the table is\n%s\nwant\n%s", &table, wantTable)
	}
	type figures struct { // read by its own names, not by ours
		Point int64    `parquet:"point,optional"`
		Quick *bool    `parquet:"quick,optional"`
		Value *float64 `parquet:"value,optional"`
		Seed  *uint64  `parquet:"seed,optional"`
		Error string   `parquet:"error"`
	}
	rows, err := parquet.Read[figures](bytes.NewReader(columns.Bytes()), int64(columns.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 11 || *rows[0].Value != 1e-9 || *rows[0].Seed != 1<<64-1 || rows[1].Value != nil || !*rows[0].Quick || rows[6].Error != "out of\nmemory" || rows[6].Seed != nil {
		t.Errorf("parquet reads back %+v", rows)
	}
	var objects []map[string]any
	if err := json.Unmarshal(list.Bytes(), &objects); err != nil {
		t.Fatalf("%v: %s", err, &list)
	}
	if len(objects) != 11 || objects[0]["value"] != 1e-9 || objects[1]["value"] != nil || objects[6]["error"] != "out of\nmemory" || objects[2]["quick"] != false {
		t.Errorf("JSON reads back %v", objects)
	}
}

// TestFaultsOfShards: a shard is used only if its rows are those that its manifest names,
// of this sweep; what is missing or there twice is named.
func TestFaultsOfShards(t *testing.T) {
	for _, c := range []struct {
		name string
		harm func(t *testing.T, s *Sweep)
		want string
	}{
		{"missing", func(t *testing.T, s *Sweep) { must(t, s.Forget(2)) }, "points 3 to 4: shard 0002 has not been run"},
		{"missing in a row", func(t *testing.T, s *Sweep) { must(t, s.Forget(2)); must(t, s.Forget(3)) }, "points 3 to 6: shards 0002 to 0003 have not been run"},
		{"truncated", func(t *testing.T, s *Sweep) { must(t, os.Truncate(s.file(2, "parquet"), 100)) }, "points 3 to 4: shard 0002 cannot be used: its rows have 100 bytes, the manifest says "},
		{"changed", func(t *testing.T, s *Sweep) {
			content := contentOf(t, s.file(2, "parquet"))
			content[len(content)/2] ^= 1
			must(t, os.WriteFile(s.file(2, "parquet"), content, 0o666))
		}, "points 3 to 4: shard 0002 cannot be used: its rows have been changed"},
		{"no rows", func(t *testing.T, s *Sweep) { must(t, os.Remove(s.file(2, "parquet"))) }, "its rows are gone"},
		{"no manifest", func(t *testing.T, s *Sweep) { must(t, os.WriteFile(s.file(2, "json"), nil, 0o666)) }, "its manifest cannot be read"},
		{"another sweep's", func(t *testing.T, s *Sweep) {
			changed := bytes.Replace(contentOf(t, s.file(2, "json")), []byte(s.Digest[:8]), []byte("00000000"), 1)
			must(t, os.WriteFile(s.file(2, "json"), changed, 0o666))
		}, "its manifest is of another sweep"},
		{"a copy in another's place", func(t *testing.T, s *Sweep) {
			must(t, os.WriteFile(s.file(2, "json"), contentOf(t, s.file(3, "json")), 0o666))
			must(t, os.WriteFile(s.file(2, "parquet"), contentOf(t, s.file(3, "parquet")), 0o666))
		}, "points 3 to 4: shard 0002 cannot be used: its manifest is of shard 3, points 5 to 6"},
		{"a failure of another's point", func(t *testing.T, s *Sweep) {
			changed := bytes.Replace(contentOf(t, s.file(2, "json")), []byte(`"point": 4`), []byte(`"point": 7`), 1)
			must(t, os.WriteFile(s.file(2, "json"), changed, 0o666))
		}, "points 3 to 4: shard 0002 cannot be used: its manifest says that point 7 failed, which it has not"},
		{"a copy beside", func(t *testing.T, s *Sweep) {
			must(t, os.WriteFile(s.file(4, "json"), contentOf(t, s.file(3, "json")), 0o666))
		}, "0004.json holds points 5 to 6, which shard 0003 has"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := stored(t)
			fill(t, s, 1, 2, 3)
			c.harm(t, s)
			err := s.Whole()
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}

// TestFaultsOfThePlan: sweep.json is read only as it was written.
func TestFaultsOfThePlan(t *testing.T) {
	for _, c := range []struct{ old, changed, want string }{
		{`"3"`, `"4"`, "its plan has been changed"},
		{`"words":["simulate"`, `"words":["plan"`, "its plan has been changed"},
		{`"point":6`, `"point":7`, "its plan has been changed"},
		{`"from":3,"to":4`, `"from":3,"to":5`, "its shard 3 has points 5 to 6"},
		{`"from":3,"to":4`, `"from":3,"to":-1`, "its shard 2 has points 3 to -1"},
		{`"from":5,"to":6`, `"from":5,"to":7`, "its shards have 7 of 6 points"},
		{`,{"from":5,"to":6}`, ``, "its shards have 4 of 6 points"},
		{`"shards":[`, `"shards":null,"x":[`, "its shards have 0 of 6 points"},
	} {
		s := stored(t)
		path := filepath.Join(s.Dir, PlanFile)
		content := string(contentOf(t, path))
		changed := strings.Replace(content, c.old, c.changed, 1)
		if changed == content {
			t.Fatalf("%s has no %s", content, c.old)
		}
		must(t, os.WriteFile(path, []byte(changed), 0o666))
		if _, err := Open(s.Dir); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s for %s: %v, want %s", c.changed, c.old, err, c.want)
		}
	}
}

// TestMissing: what is to be run is what cannot be used, and nothing else.
func TestMissing(t *testing.T) {
	s := stored(t)
	fill(t, s, 1, 3)
	must(t, os.Truncate(s.file(3, "parquet"), 7))
	shards, strays, err := s.Scan()
	if err != nil || len(strays) > 0 {
		t.Fatal(err, strays)
	}
	var got []int
	for _, task := range s.Missing(shards) {
		got = append(got, task.Shard)
	}
	if !slices.Equal(got, []int{2, 3}) || !shards[1].Absent || shards[2].Absent {
		t.Errorf("shards %v are to be run, want 2, which was never, and 3, which is broken", got)
	}
}

// TestWriteFileOnFailure: what cannot be written leaves the earlier file.
func TestWriteFileOnFailure(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	must(t, writeFile(path, []byte("first")))
	must(t, os.Mkdir(path+".d", 0o777))
	if err := writeFile(path+".d", []byte("second")); err == nil {
		t.Error("a directory was replaced")
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 2 || string(contentOf(t, path)) != "first" {
		t.Errorf("%v, %v: want the first file and the directory alone", entries, err)
	}
}

// TestPointRows: what a command should not print is an error, not a row.
func TestPointRows(t *testing.T) {
	s := stored(t)
	for _, c := range []struct{ printed, want string }{
		{"", "it printed no figures"},
		{"population,strategy,figure,value,replicates,seed\n", "it printed no figures"},
		{"a,b\n1,2\n", "it printed the columns a, b, want population"},
		{"a,b\n1\n", "it printed no CSV"},
	} {
		if _, err := s.pointRows(s.Points[0], []byte(c.printed)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s", c.printed, err, c.want)
		}
	}
}

// TestFolderGone: where the folder is gone in which the commands run, that is what is said,
// and no point has failed.
func TestFolderGone(t *testing.T) {
	s := stored(t)
	s.Folder = filepath.Join(s.Dir, "gone")
	if err := s.Run(t.Context(), "true", 1, 1); err == nil || !strings.Contains(err.Error(), "the folder in which the sweep began: stat "+s.Folder) || s.Sound(1) {
		t.Errorf("%v, want that the folder is gone", err)
	}
}

// TestTooLong: a command line that the system does not take fails its point alone.
func TestTooLong(t *testing.T) {
	s := stored(t)
	point := Point{Number: 1, Words: []string{strings.Repeat("x", 8<<20)}}
	if _, why, _, err := s.tryPoint(t.Context(), "true", point); why != tooLong || err != nil {
		t.Errorf("%q, %v; want %q", why, err, tooLong)
	}
	if _, why, err := timeRun(t.Context(), "true", point.Words); why != tooLong || err != nil {
		t.Errorf("timed: %q, %v; want %q", why, err, tooLong)
	}
}

// TestReason: of what a process says before it fails, its complaints remain, without what
// differs from run to run.
func TestReason(t *testing.T) {
	for _, c := range []struct{ script, want string }{
		{"echo 'vigorlab: --batch = 0, want 1' >&2; echo 'hint: see' >&2; exit 2", "--batch = 0, want 1"},
		{"echo 'fatal error: pageAlloc: out of memory' >&2; printf 'goroutine 1 [running]:\\nmain.main()\\n\\t0xc000\\n' >&2; exit 2", "out of memory"},
		{"printf 'runtime/cgo: pthread_create failed: Resource temporarily unavailable\\nSIGABRT: abort\\nPC=0x7f53\\n' >&2; exit 2", "out of memory"},
		{"printf 'panic: index out of range\\n\\ngoroutine 7 [running]:\\n' >&2; exit 2", "panic: index out of range"},
		{"exit 3", "exit status 3"},
		{"kill -9 $$", "signal: killed"},
		{"echo 'vigorlab: a' >&2; echo 'vigorlab: b' >&2; exit 1", "a; b"},
	} {
		cmd := exec.Command("sh", "-c", c.script)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		err := cmd.Run()
		exit, ok := err.(*exec.ExitError)
		if !ok {
			t.Fatalf("%s: %v", c.script, err)
		}
		if got := reason(stderr.String(), exit); got != c.want {
			t.Errorf("%s: %q, want %q", c.script, got, c.want)
		}
	}
}

// TestCells: a cell of any kind is the same behind Parquet.
func TestCells(t *testing.T) {
	columns := []Column{{"a", Whole}, {"b", Natural}, {"c", Real}, {"d", Truth}, {"e", Text}}
	rows := []row{
		{"-9223372036854775808", "18446744073709551615", "-1.7976931348623157e+308", "true", "Ω \"quoted\", and\nmore"},
		{"", "", "", "", ""},
		{"0", "0", "5e-324", "false", " "},
	}
	var b bytes.Buffer
	must(t, writeParquet(&b, columns, func(yield func(row) error) error {
		for _, r := range rows {
			if err := yield(r); err != nil {
				return err
			}
		}
		return nil
	}))
	got, err := readParquet(b.Bytes(), columns)
	if err != nil || !slices.EqualFunc(got, rows, slices.Equal) {
		t.Errorf("%q, %v; want %q", got, err, rows)
	}
	if _, err := readParquet(b.Bytes(), columns[1:]); err == nil {
		t.Error("a table of other columns is read")
	}
	for _, c := range columns[:4] {
		if _, err := cellValue(c, "x"); err == nil || !strings.Contains(err.Error(), "column "+c.Name) {
			t.Errorf("x in a column of kind %s: %v", c.Kind, err)
		}
	}
	if _, err := csv.NewReader(strings.NewReader(wantTable)).ReadAll(); err != nil {
		t.Error(err)
	}
}

func TestListed(t *testing.T) {
	if got := listed([]int{7, 1, 2, 3}); got != "points 1 to 3, 7" {
		t.Errorf("listed: %s", got)
	}
	if got := listed([]int{4}); got != "point 4" {
		t.Errorf("listed: %s", got)
	}
}

func contentOf(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
