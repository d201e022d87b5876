package logs

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"vigorlab/distributions/table"
)

// Ways to hold rollouts: at once in groups, as texts are read, or by step, with so
// many bytes in memory.
const (
	heldAtOnce  = -1
	heldOnDisk  = 0 // every rollout is moved at once
	heldUsually = maxHeld
)

// holding returns an importer that holds rollouts in a way.
func holding(o Options, most int) *importer {
	im := newImporter(context.Background(), o)
	im.shelf.spill.most = max(0, most)
	if most == heldAtOnce {
		im.visit = func(record, *group) error { return nil }
		return im
	}
	im.steps = newSteps("")
	im.steps.spill.most = most
	return im
}

// imported says what an import gives, its rows or its error.
func imported(t *testing.T, o Options, most int) string {
	t.Helper()
	files, err := o.files()
	if err != nil {
		t.Fatal(err)
	}
	im := holding(o, most)
	defer im.close()
	l, err := im.log(files)
	if err != nil {
		return err.Error()
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%+v %+v\n", *l.Report, l.Shape)
	for _, name := range table.Extensions() {
		if err := l.Write(&b, name); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// tangled is a log of two runs of several files, prompts, lengths and names that
// stand more than once, with steps that go back, so that no two groups are alike.
func tangled(r *rand.Rand, runs, goesBack int) smallLog {
	l := smallLog{files: map[string]string{}}
	for run := range runs {
		step := 3
		for part := range 3 {
			var b bytes.Buffer
			for range 400 {
				if step += r.IntN(2) * r.IntN(2); r.IntN(400) < goesBack {
					step -= r.IntN(3)
				}
				fmt.Fprintf(&b, `{"rollout_id": %d, "samples": [{"group_index": %d, "index": %d, "prompt": "%d", "response_length": %d, "reward": %v, "status": %q}]}`+"\n",
					step/20, r.IntN(9), r.IntN(300), run*7+r.IntN(7), 1+r.IntN(99), float64(r.IntN(4))/2, []string{"completed", "truncated"}[r.IntN(2)])
			}
			l.files[fmt.Sprintf("run%d/part_%d.jsonl", run, part)] = b.String()
		}
	}
	return l
}

// TestHolding: where rollouts are held changes nothing, byte for byte: neither in
// tables and reports nor in refusals. What gathers them at once is the reference.
func TestHolding(t *testing.T) {
	logs := map[string]smallLog{}
	for id, c := range defectCases {
		logs[id], logs["not "+id] = c.has, c.not
	}
	r := rand.New(rand.NewPCG(20260104, 0))
	for i := range 12 {
		l := tangled(r, 1+i%2, []int{0, 4, 40, 400}[i/2%4])
		l.o.KeepAll = i >= 8
		logs[fmt.Sprint("tangled ", i)] = l
	}
	for name, l := range logs {
		dir := t.TempDir()
		for path, content := range l.files {
			path = filepath.Join(dir, path)
			if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		l.o.Paths = []string{dir}
		want := imported(t, l.o, heldAtOnce)
		for _, most := range []int{heldOnDisk, 100, 5000, heldUsually} {
			if got := imported(t, l.o, most); got != want {
				t.Errorf("%s, %d bytes in memory: %.1000s, want %.1000s", name, most, got, want)
			}
		}
	}
}

// TestMemory: eight times the rollouts of as many prompts take no more memory,
// while they are read and while their rows are made, where all that does not fit
// in 64 KiB is on the disk. Gathered at once they take 20 bytes a rollout and more.
func TestMemory(t *testing.T) {
	const few, many, allowed = 20_000, 160_000, 2.0 // bytes a further rollout
	for _, most := range []int{1 << 16, heldAtOnce} {
		read, made := liveBytes(t, few, most)
		readMore, madeMore := liveBytes(t, many, most)
		readMore, madeMore = (readMore-read)/(many-few), (madeMore-made)/(many-few)
		t.Logf("%d bytes held: %.2f bytes a further rollout while reading, %.2f while writing", most, readMore, madeMore)
		if most == heldAtOnce && !(readMore > 20) {
			t.Errorf("gathered at once, a further rollout takes %.2f bytes: the test sees no memory", readMore)
		}
		if most != heldAtOnce && !(readMore < allowed && madeMore < allowed) {
			t.Errorf("a further rollout takes %.2f bytes while reading and %.2f while writing, want less than %v", readMore, madeMore, allowed)
		}
	}
}

// liveBytes returns the bytes of the heap that live once a log of so many rollouts
// is read, and in the middle of its rows.
func liveBytes(t *testing.T, rollouts, most int) (read, made float64) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "1.jsonl")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	for i := range rollouts {
		fmt.Fprintf(w, "{\"prompt\": \"p%d\", \"reward\": %d, \"step\": %d}\n", i/8%1000, i%7%2, i/4000)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	o := Options{Paths: []string{path}}
	files, err := o.files()
	if err != nil {
		t.Fatal(err)
	}
	start := live()
	im := holding(o, most)
	defer im.close()
	if err := im.read(files); err != nil {
		t.Fatal(err)
	}
	read = live() - start
	_, rule, err := im.judged()
	if err != nil {
		t.Fatal(err)
	}
	row := 0
	for _, err := range im.rowsOf(rule) {
		if err != nil {
			t.Fatal(err)
		}
		if row++; row == rollouts/16 {
			made = live() - start
		}
	}
	if row != rollouts/8 {
		t.Errorf("%d rows, want %d", row, rollouts/8)
	}
	return read, made
}

// live returns the bytes of the heap in use.
func live() float64 {
	runtime.GC()
	runtime.GC() // what the first one finalised
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// TestSpillError: a folder that cannot hold rollouts is named, and nothing is left
// in one that can.
func TestSpillError(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "1.jsonl")
	if err := os.WriteFile(path, []byte(rows("a 1 a 0 b 1").files["1.jsonl"]), 0o666); err != nil {
		t.Fatal(err)
	}
	o := Options{Paths: []string{path}, Out: filepath.Join(dir, "table.csv")}
	im := holding(o, heldOnDisk)
	im.steps.spill.dir = filepath.Join(dir, "none")
	if _, err := im.log([]logFile{{path: path, named: true}}); err == nil || !bytes.Contains([]byte(err.Error()), []byte("cannot be kept in "+im.steps.spill.dir)) {
		t.Errorf("error %v, want one that names %s", err, im.steps.spill.dir)
	}
	im = holding(o, heldOnDisk)
	im.steps.spill.dir = dir
	if _, err := im.log([]logFile{{path: path, named: true}}); err != nil || im.shelf.spill.dir != dir {
		t.Errorf("error %v, groups in %q, want them in %s", err, im.shelf.spill.dir, dir)
	}
	im.close()
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v: want the log alone", entries, err)
	}
}

// TestNoNameIsLeft: what was moved to the disk has no name there, so that a killed
// import leaves nothing behind. (Windows lets no open file go.)
func TestNoNameIsLeft(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Log("files that are open keep their names here")
		return
	}
	s := spill{dir: t.TempDir()}
	defer s.close()
	at, err := s.put([]byte("a"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.move(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(s.dir); err != nil || len(left) > 0 {
		t.Errorf("%v is there, %v", left, err)
	}
	var buffer []byte
	if got, err := s.get(at, &buffer); err != nil || string(got) != "a" {
		t.Errorf("%q, %v, want a", got, err)
	}
}

// TestNamesCollide: names of one hash keep their own numbers.
func TestNamesCollide(t *testing.T) {
	n := newNames()
	a := n.of([]byte("a"))
	n.number[maphash.String(n.seed, "b")] = a // as if b had the hash of a
	for _, name := range []string{"b", "c", "b", "c"} {
		k := n.of([]byte(name))
		if k == a || string(n.at(k)) != name {
			t.Errorf("%s has the number %d of %s", name, k, n.at(k))
		}
	}
}
