package rundir_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"vigorlab/cmd/vigorlab/internal/rundir"
)

// resume begins or takes up a long run with its journal.
func resume(t *testing.T, out string) (*rundir.Dir, *rundir.Journal, []string) {
	t.Helper()
	d, _, err := rundir.Resume(out, record(`{"batch": 4}`), false)
	must(t, err)
	j, lines, err := d.Journal()
	must(t, err)
	var texts []string
	for _, l := range lines {
		texts = append(texts, string(l))
	}
	return d, j, texts
}

// part is what the tests append as line i.
func part(i int) string { return fmt.Sprintf(`{"part":%d,"of":%q}`, i, strings.Repeat("x", i%7)) }

// appendParts appends lines from number from to number to-1.
func appendParts(t *testing.T, j *rundir.Journal, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		_, err := j.Append([]byte(part(i)))
		must(t, err)
	}
}

// kill ends a run as a kill does, which leaves its record as it was.
func kill(t *testing.T, d *rundir.Dir) {
	t.Helper()
	record := d.Path("run.json")
	running, err := os.ReadFile(record)
	must(t, err)
	must(t, d.Stop()) // lets the lock go
	must(t, os.WriteFile(record, running, 0o666))
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	must(t, err)
	return string(content)
}

func journalOf(t *testing.T, out string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(out, "journal"))
	must(t, err)
	return content
}

// TestJournalCutAnywhere cuts the journal of a stopped run after every byte, as a
// kill may: whole lines stay, the rest is done again, and the bytes are those of
// a run that was never stopped.
func TestJournalCutAnywhere(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	const parts = 4
	d, j, _ := resume(t, out)
	appendParts(t, j, 0, parts)
	kill(t, d)
	whole := journalOf(t, out)
	for cut := range len(whole) + 1 {
		torn := whole[:cut:cut]
		if cut == len(whole) { // and a tail that no later line covers
			torn = append(torn, strings.Repeat("x", len(whole))...)
		}
		must(t, os.WriteFile(filepath.Join(out, "journal"), torn, 0o666))
		d, j, lines := resume(t, out)
		if want := bytes.Count(whole[:cut], []byte("\n")); len(lines) != want {
			t.Fatalf("cut after %d bytes: %d lines, want %d", cut, len(lines), want)
		}
		for i, l := range lines {
			if l != part(i) {
				t.Fatalf("cut after %d bytes: line %d is %q, want %q", cut, i, l, part(i))
			}
		}
		appendParts(t, j, len(lines), parts)
		kill(t, d)
		if got := journalOf(t, out); !bytes.Equal(got, whole) {
			t.Fatalf("cut after %d bytes and resumed: %q, want %q", cut, got, whole)
		}
	}
}

// TestJournalIsMissed: a journal that is gone, or that ends before what a sitting
// left that ended by itself, is a conflict, in later sittings too; one that was
// killed knows no end.
func TestJournalIsMissed(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	path := filepath.Join(out, "journal")
	d, j, _ := resume(t, out)
	appendParts(t, j, 0, 3)
	must(t, d.Stop())
	d, j, _ = resume(t, out)
	appendParts(t, j, 3, 5)
	kill(t, d)
	whole := journalOf(t, out)
	left := 0 // by the first sitting
	for _, l := range bytes.SplitAfter(whole, []byte("\n"))[:3] {
		left += len(l)
	}
	refused := func(want string) {
		t.Helper()
		d, _, err := rundir.Resume(out, record(`{"batch": 4}`), false)
		must(t, err)
		_, _, err = d.Journal()
		conflict(t, err, want)
		must(t, d.Discard())
	}
	for cut := range left {
		must(t, os.WriteFile(path, whole[:cut], 0o666))
		refused(fmt.Sprintf("of %d that the run left", left))
		if got := journalOf(t, out); !bytes.Equal(got, whole[:cut]) {
			t.Fatalf("cut after %d bytes, it was changed to %q", cut, got)
		}
	}
	must(t, os.Remove(path))
	refused("holds a run whose journal is gone")
	if got := names(t, out); got != "run.json" {
		t.Errorf("%s is left, want run.json alone", got)
	}
	must(t, os.WriteFile(path, whole[:left+1], 0o666))
	d, j, lines := resume(t, out)
	if len(lines) != 3 {
		t.Errorf("%d lines, want 3", len(lines))
	}
	appendParts(t, j, 3, 4)
	must(t, d.Complete())
	if record := read(t, filepath.Join(out, "run.json")); strings.Contains(record, "journal") {
		t.Errorf("the record of a complete run names its journal: %s", record)
	}
}

// TestJournalBegun: a run that was killed between the first sight of its journal
// and the record that names it is taken up, one whose file has lines is not.
func TestJournalBegun(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	d, _, err := rundir.Resume(out, record(`{"batch": 4}`), false)
	must(t, err)
	kill(t, d)
	path := filepath.Join(out, "journal")
	must(t, os.WriteFile(path, nil, 0o666))
	d, j, _ := resume(t, out)
	appendParts(t, j, 0, 1)
	must(t, d.Complete())

	d, _, err = rundir.Resume(out, record(`{"batch": 4}`), true)
	must(t, err)
	kill(t, d)
	must(t, os.WriteFile(path, []byte("mine\n"), 0o666))
	_, _, err = rundir.Resume(out, record(`{"batch": 4}`), false)
	conflict(t, err, "holds journal, which no run wrote")
}

// TestJournalOfBatches: lines that are appended together stand as if one by one,
// each is read back from its place, and a cut anywhere takes whole lines only.
func TestJournalOfBatches(t *testing.T) {
	root := t.TempDir()
	const parts = 9
	d, j, _ := resume(t, filepath.Join(root, "one"))
	appendParts(t, j, 0, parts)
	must(t, d.Stop())
	whole := journalOf(t, filepath.Join(root, "one"))
	out := filepath.Join(root, "many")
	d, j, _ = resume(t, out)
	var at []int64
	for n := 0; n < parts; {
		var texts [][]byte
		for k := n; k < min(parts, 2*n+1); k++ { // 1, 1, 2, 4 and the rest
			texts = append(texts, []byte(part(k)))
		}
		n += len(texts)
		places, err := j.Append(texts...)
		must(t, err)
		at = append(at, places...)
	}
	for i, place := range at {
		line, err := j.Line(place)
		must(t, err)
		if string(line) != part(i) {
			t.Errorf("line %d at byte %d is %q, want %q", i, place, line, part(i))
		}
	}
	if _, err := j.Line(int64(len(whole))); err == nil {
		t.Error("a line behind the end")
	}
	must(t, d.Stop())
	if got := journalOf(t, out); !bytes.Equal(got, whole) {
		t.Errorf("appended in batches: %q, want %q", got, whole)
	}
	d, _, err := rundir.Resume(out, record(`{"batch": 4}`), false)
	must(t, err)
	var again []int64
	_, err = d.EachLine(func(place int64, line []byte) error {
		if want := part(len(again)); string(line) != want {
			t.Errorf("line %d is %q, want %q", len(again), line, want)
		}
		again = append(again, place)
		return nil
	})
	must(t, err)
	must(t, d.Stop())
	if !slices.Equal(again, at) {
		t.Errorf("lines at %v after the run was taken up, want %v", again, at)
	}
}

// TestJournalKnowsItsLines: whatever was not written here, in this order, is an
// error that names the line, and the file stays as it is.
func TestJournalKnowsItsLines(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	d, j, _ := resume(t, out)
	appendParts(t, j, 0, 4)
	must(t, d.Stop())
	whole := journalOf(t, out)
	lines := bytes.SplitAfter(whole, []byte("\n"))
	join := func(order ...int) []byte {
		var b []byte
		for _, i := range order {
			b = append(b, lines[i]...)
		}
		return b
	}
	flip := bytes.Clone(whole)
	flip[len(lines[0])+12] ^= 1
	other := filepath.Join(t.TempDir(), "other")
	d, _, err := rundir.Resume(other, record(`{"batch": 5}`), false)
	must(t, err)
	j, _, err = d.Journal()
	must(t, err)
	appendParts(t, j, 0, 2)
	must(t, d.Stop())
	for name, c := range map[string]struct {
		content []byte
		line    int
	}{
		"a bit turned":        {flip, 2},
		"two lines swapped":   {join(0, 2, 1, 3), 2},
		"a line taken out":    {join(0, 1, 3), 3},
		"a line twice":        {join(0, 1, 1, 2), 3},
		"of another run":      {journalOf(t, other), 1},
		"an empty line":       {append(join(0), '\n'), 2},
		"a user's line":       {append(join(0, 1, 2), "remember this\n"...), 4},
		"capitals in the sum": {bytes.Replace(whole, lines[1][:8], bytes.ToUpper(lines[1][:8]), 1), 2},
	} {
		if bytes.Equal(c.content, whole) {
			continue // a checksum without letters
		}
		must(t, os.WriteFile(filepath.Join(out, "journal"), c.content, 0o666))
		d, resumed, err := rundir.Resume(out, record(`{"batch": 4}`), false)
		must(t, err)
		_, _, err = d.Journal()
		conflict(t, err, fmt.Sprintf("holds a journal whose line %d is damaged or of another run", c.line))
		must(t, d.Discard())
		if got := journalOf(t, out); !resumed || !bytes.Equal(got, c.content) {
			t.Errorf("%s: the journal was changed to %q", name, got)
		}
	}
}

// TestJournalGoes with a complete run, and with one that is replaced.
func TestJournalGoes(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	d, j, _ := resume(t, out)
	appendParts(t, j, 0, 2)
	must(t, d.Stop())
	if got := names(t, out); got != "journal run.json" {
		t.Errorf("a stopped run holds %s", got)
	}
	d, _, err := rundir.Resume(out, record(`{"batch": 4}`), true)
	must(t, err)
	j, lines, err := d.Journal()
	must(t, err)
	if len(lines) != 0 {
		t.Errorf("with force %d lines of the earlier run are left", len(lines))
	}
	appendParts(t, j, 0, 1)
	if _, err := j.Append([]byte("one"), []byte("two\nlines")); err == nil {
		t.Error("two lines are taken for one")
	}
	must(t, d.Complete())
	r, err := rundir.Read(out)
	must(t, err)
	if got := names(t, out); got != "run.json" || len(r.Files) != 0 {
		t.Errorf("a complete run holds %s and lists %q", got, r.Files)
	}
	if _, err := j.Append([]byte("late")); err == nil {
		t.Error("a line is appended after the end")
	}
	if _, _, err := d.Journal(); err == nil {
		t.Error("a journal is opened after the end")
	}
	if _, _, err := create(t, filepath.Join(t.TempDir(), "short"), false).Journal(); err == nil {
		t.Error("a one-shot run has a journal")
	}
}

// TestJournalOfAKilledRun kills a process in the midst of appending: the lines
// that it said were on the disk are there, in order, and the run goes on.
func TestJournalOfAKilledRun(t *testing.T) {
	if out := os.Getenv("VIGORLAB_TEST_JOURNAL"); out != "" {
		_, j, lines := resume(t, out)
		for i := len(lines); ; i++ {
			_, err := j.Append([]byte(part(i)))
			must(t, err)
			fmt.Println("appended")
		}
	}
	out := filepath.Join(t.TempDir(), "out")
	appended := 0
	for range 3 { // sittings
		var stdout bytes.Buffer
		cmd := exec.Command(os.Args[0], "-test.run=^TestJournalOfAKilledRun$")
		cmd.Env, cmd.Stdout = append(os.Environ(), "VIGORLAB_TEST_JOURNAL="+out), &stdout
		must(t, cmd.Start())
		before := int64(0)
		if info, err := os.Stat(filepath.Join(out, "journal")); err == nil {
			before = info.Size()
		}
		for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(time.Millisecond) {
			if info, err := os.Stat(filepath.Join(out, "journal")); err == nil && info.Size() > before+100 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("the process appends nothing")
			}
		}
		must(t, cmd.Process.Kill())
		if err := cmd.Wait(); err == nil {
			t.Fatal("the process was not killed")
		}
		appended += strings.Count(stdout.String(), "appended")
	}
	d, j, lines := resume(t, out)
	if len(lines) < appended {
		t.Errorf("%d lines after %d were said to be on the disk", len(lines), appended)
	}
	for i, l := range lines {
		if l != part(i) {
			t.Fatalf("line %d is %q, want %q", i, l, part(i))
		}
	}
	appendParts(t, j, len(lines), len(lines)+2)
	must(t, d.Complete())
}

// TestJournalOnAFullDisk: the line that has no room is an error, those before it
// stay, and once there is room the run goes on.
func TestJournalOnAFullDisk(t *testing.T) {
	disk := t.TempDir()
	if err := exec.Command("mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk).Run(); err != nil {
		if os.Getenv("VIGORLAB_NO_SKIP") != "" {
			t.Fatal("a small file system cannot be mounted here, which needs root")
		}
		t.Skip("a small file system cannot be mounted here, which needs root")
	}
	t.Cleanup(func() { must(t, exec.Command("umount", disk).Run()) })
	out := filepath.Join(disk, "out")
	d, j, _ := resume(t, out)
	ballast := filepath.Join(disk, "ballast")
	must(t, os.WriteFile(ballast, make([]byte, 20<<10), 0o666))
	line := bytes.Repeat([]byte("x"), 3000) // a page is taken now and then, and not with every line
	n := 0
	var err error
	for ; n < 100 && err == nil; n++ {
		_, err = j.Append(line)
	}
	if err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Fatalf("%d lines of 3 kB on a disk of 64 kB: error %v", n, err)
	}
	const lineSize = 3000 + 10 // with its sum and its end
	if got := len(journalOf(t, out)); got != (n-1)*lineSize {
		t.Errorf("%d bytes after the failure, want those of %d lines", got, n-1)
	}
	_, again := j.Append([]byte("short"))
	if again == nil || again.Error() != err.Error() {
		t.Errorf("after a failure Append returns %v, want %v", again, err)
	}
	must(t, os.Remove(ballast))
	must(t, d.Stop())
	d, j, lines := resume(t, out)
	if len(lines) != n-1 || len(journalOf(t, out)) != (n-1)*lineSize {
		t.Errorf("%d lines in %d bytes, want the %d that were appended", len(lines), len(journalOf(t, out)), n-1)
	}
	_, err = j.Append(line)
	must(t, err)
	must(t, d.Complete())
}

// TestNotices: a notice is in the record at once and once, also of a run that was
// killed, and goes with a run that is replaced.
func TestNotices(t *testing.T) {
	out := filepath.Join(t.TempDir(), "run")
	notices := func(want string) {
		t.Helper()
		r, err := rundir.Read(out)
		must(t, err)
		if got := strings.Join(r.Notices, " "); got != want {
			t.Errorf("notices %q, want %q", got, want)
		}
	}
	d, _, _ := resume(t, out)
	for _, text := range []string{"a", "b", "a"} {
		d.Notice(text)
	}
	notices("a b")
	kill(t, d)
	d, _, _ = resume(t, out)
	d.Notice("c")
	d.Notice("b")
	must(t, d.Complete())
	d.Notice("late")
	notices("a b c")
	d, _, err := rundir.Resume(out, record(`{"batch": 4}`), true)
	must(t, err)
	notices("")
	must(t, d.Discard())
}
