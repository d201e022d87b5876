// Package rundir writes run directories: run.json, which says what ran, when
// and with what outcome, beside the results and figures. No file ever stands
// truncated under its final name. It refuses to know what the results mean.
package rundir

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// The states of a run, as run.json names them.
const (
	Running    = "running"
	Incomplete = "incomplete"
	Complete   = "complete"
)

// runFile holds the Record; it is the only file that carries timestamps.
const runFile = "run.json"

// insideName is what the temporary directory of a run inside its final one is
// named after.
const insideName = "run"

// known are the names that runs write. A directory that holds another is
// never replaced: a user keeps something there.
var known = []string{
	runFile, "results.json", "results.csv", "results.parquet", "figures",
	"report.md", "rungs", "plan.json", "npmle.csv", "rollouts.jsonl", "table.csv", journalFile,
	"index.html", "explore.css", "explore.js", "explore.wasm", "wasm_exec.js", "worker.js",
	"sweep.json", shardsDir, slurmDir,
}

// shardsDir holds what the tasks of a sweep write: other processes, perhaps on other
// machines, which may go on while the sweep itself is killed and begun again. So its
// files are in no record, and those under temporary names are left alone. slurmDir holds
// what tasks print on a cluster, and the script that runs them there.
const (
	shardsDir = "shards"
	slurmDir  = "slurm"
)

// shardFile is a file that a task writes.
var shardFile = regexp.MustCompile(`^(` + shardsDir + `/[0-9]+\.(parquet|json)|` + slurmDir + `/(task\.sh|[0-9]+_[0-9]+\.log))$`)

// A Record is the content of run.json.
type Record struct {
	Schema      int             `json:"schema"`
	Version     string          `json:"version"`
	Revision    string          `json:"revision,omitempty"` // the commit of the source, where the build knows it
	Command     string          `json:"command"`            // the command's name
	CommandLine []string        `json:"command_line"`       // as typed
	Reproduce   string          `json:"reproduce"`          // normalised
	Specs       json.RawMessage `json:"specs"`              // resolved: all that the results depend on
	Seed        uint64          `json:"seed"`
	Workers     int             `json:"workers"`
	Go          string          `json:"go"`
	Machine     Machine         `json:"machine"`
	Start       time.Time       `json:"start"`
	End         *time.Time      `json:"end"` // null while running
	Status      string          `json:"status"`
	Files       []string        `json:"files"` // what the run wrote beside run.json, or began to; slashes

	Notices      []string `json:"notices,omitempty"`       // what was learnt on the way, of any sitting: fields that a server refused, ...
	JournalBytes int64    `json:"journal_bytes,omitempty"` // that the journal had when a sitting last ended by itself
}

// A Machine is where a run ran.
type Machine struct {
	Host string `json:"host"`
	OS   string `json:"os"`
	Arch string `json:"arch"`
	CPUs int    `json:"cpus"`
}

// A ConflictError reports a directory that a run may not take over.
type ConflictError struct {
	Path   string
	Reason string
	Hint   string
}

func (e *ConflictError) Error() string { return e.Path + " " + e.Reason }

// A Dir is a run directory being written. Exactly one of Complete, Stop and
// Discard ends it. Goroutines may share it; nothing is written after its end.
type Dir struct {
	mutex  sync.Mutex // guards ended, and writing against ending
	ended  bool
	final  string // where the user asked for it
	work   string // where the files are written: final itself for a long run, or a temporary directory beside or in it
	force  bool   // whatever run stands at final may be replaced
	record Record
	lock   io.Closer

	journal *Journal // nil until it is opened
}

// Create begins the directory of a one-shot run beside path, under a
// temporary name that Complete and Stop turn into path. Where path must stay,
// as a mount or the working directory does, the temporary directory is inside,
// and its files move up. Either way what stands there stays until the run has
// ended. An existing path must be empty or an incomplete run of identical
// specs; force lifts that for any run directory.
func Create(path string, record Record, force bool) (*Dir, error) {
	if err := admit(path, record, force); err != nil {
		return nil, err
	}
	path, err := resolve(path)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, err
	}
	work := temporaryName(path)
	if mounted(path) || holdsWorkingDirectory(path) { // it cannot be renamed, or must not
		work = temporaryName(filepath.Join(path, insideName))
	}
	d := &Dir{final: path, work: work, record: begin(record), force: force}
	if err := d.lockFinal(); err != nil {
		return nil, err
	}
	if err := os.Mkdir(d.work, 0o777); err != nil {
		return nil, errors.Join(err, d.close())
	}
	if err := d.writeRecord(); err != nil {
		return nil, errors.Join(err, d.Discard())
	}
	return d, nil
}

// Resume begins the directory of a long run at path itself. It goes on with
// an incomplete run of identical specs, whose files stay (resumed is true);
// with force it clears any run directory first.
func Resume(path string, record Record, force bool) (d *Dir, resumed bool, err error) {
	if err := admit(path, record, force); err != nil {
		return nil, false, err
	}
	if path, err = resolve(path); err != nil {
		return nil, false, err
	}
	if err := os.MkdirAll(path, 0o777); err != nil {
		return nil, false, err
	}
	lock, err := lockDir(path)
	if err != nil {
		return nil, false, err
	}
	earlier, err := check(path, record, force) // again: another run may have ended meanwhile
	if err != nil {
		return nil, false, errors.Join(err, lock.Close())
	}
	resumed = earlier != nil && !force
	d = &Dir{final: path, work: path, record: begin(record), lock: lock}
	if resumed {
		d.record.Start, d.record.Files, d.record.JournalBytes = earlier.Start, earlier.Files, earlier.JournalBytes
		d.record.Notices = earlier.Notices
		err = clearLeftovers(path)
	} else {
		err = clearRun(path)
	}
	if err != nil {
		return nil, false, errors.Join(err, lock.Close())
	}
	if err := d.writeRecord(); err != nil {
		return nil, false, errors.Join(err, lock.Close())
	}
	return d, resumed, nil
}

// Reopen makes a complete run incomplete, for Resume to go on with it: where part of it
// is to be done again.
func Reopen(path string) (err error) {
	lock, err := lockDir(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	r, err := Read(path)
	if err != nil {
		return err
	}
	d := &Dir{final: path, work: path, record: *r}
	d.record.Status = Incomplete
	return d.writeRecord()
}

// lockFinal takes the lock of the directory that the run will replace, where
// there is one and it is not held yet: a long run may be writing there.
func (d *Dir) lockFinal() error {
	if d.lock != nil {
		return nil
	}
	lock, err := lockDir(d.final)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		d.lock = lock
	}
	return err
}

// holdsWorkingDirectory reports whether the process works in path or below it.
func holdsWorkingDirectory(path string) bool {
	here, err := os.Getwd()
	if err != nil {
		return false
	}
	if target, err := filepath.EvalSymlinks(here); err == nil {
		here = target
	}
	below, err := filepath.Rel(path, here)
	return err == nil && below != ".." && !strings.HasPrefix(below, ".."+string(filepath.Separator))
}

// resolve returns the absolute path, symbolic links followed: a link to a
// directory stays a link when the directory is replaced.
func resolve(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target, nil
	}
	return path, nil // nothing is there yet
}

// begin fills in what is the same for every run.
func begin(r Record) Record {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	r.Go = runtime.Version()
	r.Machine = Machine{Host: host, OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU()}
	r.Start = now()
	r.End = nil
	r.Status = Running
	r.Files = []string{}
	return r
}

func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

// admit returns why a run may not take path over. That another is writing there
// comes first: it is no run to be replaced.
func admit(path string, record Record, force bool) error {
	_, err := check(path, record, force)
	if err == nil {
		return nil
	}
	lock, held := lockDir(path)
	var live *ConflictError
	if errors.As(held, &live) {
		return held
	}
	if held == nil {
		err = errors.Join(err, lock.Close())
	}
	return err
}

// check says whether a run may take path over, and returns the record of the
// run that is there.
func check(path string, record Record, force bool) (*Record, error) {
	entries, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return leftover(e.Name()) })
	if len(entries) == 0 {
		return nil, nil
	}
	for _, e := range entries {
		if !slices.Contains(known, e.Name()) {
			return nil, foreign(path, e.Name())
		}
	}
	earlier, err := Read(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, foreign(path, entries[0].Name())
	case err != nil, !earlier.ours(): // ours is never half-written
		return nil, foreign(path, runFile)
	}
	if err := earlier.owns(path); err != nil {
		return nil, err
	}
	if force {
		return earlier, nil
	}
	return earlier, earlier.admits(path, record)
}

// foreign is the conflict of a file that no run wrote.
func foreign(path, name string) error {
	return &ConflictError{
		path, fmt.Sprintf("holds %s, which no run wrote, want a new, an empty or a run directory", name),
		"name another directory",
	}
}

// ours reports whether a run wrote the record: another tool may call a file
// run.json too.
func (r *Record) ours() bool {
	return r.Schema > 0 && r.Command != "" && slices.Contains([]string{Running, Incomplete, Complete}, r.Status)
}

// owns returns a conflict where the directory holds a file that the run did
// not write.
func (r *Record) owns(path string) error {
	return fs.WalkDir(os.DirFS(path), ".", func(name string, e fs.DirEntry, err error) error {
		if e != nil && e.IsDir() && leftover(name) {
			return fs.SkipDir
		}
		if err != nil || e.IsDir() || name == runFile || leftover(name) || slices.Contains(r.Files, name) || begun(name, e) || shardFile.MatchString(name) {
			return err
		}
		return foreign(path, name)
	})
}

// begun reports whether a file is a journal without a line yet, which stands there
// before the record names it.
func begun(name string, e fs.DirEntry) bool {
	if name != journalFile {
		return false
	}
	info, err := e.Info()
	return err == nil && info.Size() == 0
}

// admits says whether a run may go on where r stopped.
func (r *Record) admits(path string, next Record) error {
	if r.Status == Complete {
		return &ConflictError{
			path, "holds a complete run",
			"a complete run is not extended: name another directory, or replace the run with --force",
		}
	}
	if r.Version != next.Version || r.Revision != next.Revision {
		return &ConflictError{
			path, "holds an incomplete run of " + r.source() + ", this is " + next.source(),
			"name another directory, or replace the run with --force",
		}
	}
	if r.Command != next.Command || !sameJSON(r.Specs, next.Specs) {
		return &ConflictError{
			path, fmt.Sprintf("holds an incomplete run of other specs: %s%s", r.Reproduce, differences("", r.Specs, next.Specs)),
			"finish that run, name another directory, or replace it with --force",
		}
	}
	return nil
}

// source names the code that ran.
func (r *Record) source() string {
	if r.Revision == "" {
		return "version " + r.Version
	}
	return fmt.Sprintf("version %s (%s)", r.Version, r.Revision)
}

// sameJSON compares two documents whatever their layout.
func sameJSON(a, b json.RawMessage) bool {
	var x, y bytes.Buffer
	if json.Compact(&x, a) != nil || json.Compact(&y, b) != nil {
		return false
	}
	return bytes.Equal(x.Bytes(), y.Bytes())
}

// differences lists what two documents have different behind semicolons, by keys with
// dots into nested objects: the command lines of two runs may be alike.
func differences(key string, there, here json.RawMessage) string {
	var a, b map[string]json.RawMessage
	if json.Unmarshal(there, &a) != nil || json.Unmarshal(here, &b) != nil || a == nil || b == nil {
		if sameJSON(there, here) {
			return ""
		}
		return fmt.Sprintf("; %s: %s there, %s here", key, shown(there), shown(here))
	}
	keys := maps.Clone(a)
	maps.Copy(keys, b)
	text := ""
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		text += differences(strings.TrimPrefix(key+"."+k, "."), a[k], b[k])
	}
	return text
}

// shown returns a JSON value in few words.
func shown(value json.RawMessage) string {
	if value == nil {
		return "nothing"
	}
	var line bytes.Buffer
	if json.Compact(&line, value) != nil {
		return "what is no JSON"
	}
	const longest = 80 // characters
	if text := []rune(line.String()); len(text) > longest {
		return string(text[:longest]) + "..."
	}
	return line.String()
}

// Read returns the record of a run directory.
func Read(path string) (*Record, error) {
	content, err := os.ReadFile(filepath.Join(path, runFile))
	if err != nil {
		return nil, err
	}
	r := new(Record)
	if err := json.Unmarshal(content, r); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(path, runFile), err)
	}
	return r, nil
}

// Path returns where a file of the run is at the moment.
func (d *Dir) Path(name string) string { return filepath.Join(d.work, name) }

// Write writes a file of the run, whose name may contain folders. The name
// appears once the content is on the disk.
func (d *Dir) Write(name string, content []byte) error {
	return d.WriteWith(name, writing(content))
}

// writing writes content.
func writing(content []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	}
}

// WriteWith writes a file of the run as Write does, piece by piece. write may use
// the journal's Line, and nothing else of the directory.
func (d *Dir) WriteWith(name string, write func(io.Writer) error) error {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.ended {
		return fmt.Errorf("%s: %s: the run has ended", d.final, name)
	}
	return d.write(name, write)
}

func (d *Dir) write(name string, write func(io.Writer) error) error {
	path := d.Path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	if name != runFile && !slices.Contains(d.record.Files, name) {
		d.record.Files = append(d.record.Files, name)
		if d.long() { // before the file: the run may be killed
			if err := d.writeRecord(); err != nil {
				return err
			}
		}
	}
	return WriteFile(path, write)
}

// Notice puts a notice into the record, unless it is there. Of a long run it is on
// the disk at once, since the run may be killed; where that fails, the end of the run
// writes it, or says what is wrong.
func (d *Dir) Notice(text string) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.ended || slices.Contains(d.record.Notices, text) {
		return
	}
	d.record.Notices = append(d.record.Notices, text)
	if d.long() {
		_ = d.writeRecord() // the end of the run tries again
	}
}

// Complete ends a run that is done.
func (d *Dir) Complete() error { return d.end(Complete) }

// Stop ends a run that was interrupted: what it wrote stays, marked
// incomplete. A one-shot run leaves an earlier complete one in place.
func (d *Dir) Stop() error {
	if !d.long() {
		if earlier, err := Read(d.final); err == nil && earlier.Status == Complete {
			return d.Discard()
		}
	}
	return d.end(Incomplete)
}

// Discard ends a run that failed: a one-shot run leaves nothing, a long one
// what it wrote, marked incomplete.
func (d *Dir) Discard() error {
	if d.long() {
		return d.end(Incomplete)
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.ended = true
	return errors.Join(os.RemoveAll(d.work), d.close())
}

// long reports whether this is a long run, which writes in its final place.
func (d *Dir) long() bool { return d.work == d.final }

// End ends a run with the state that its error says: Complete where there is
// none, Stop where a context was cancelled, else Discard. It returns err,
// joined with what went wrong here.
func (d *Dir) End(err error) error {
	switch {
	case err == nil:
		return d.Complete()
	case errors.Is(err, context.Canceled):
		return errors.Join(err, d.Stop())
	}
	return errors.Join(err, d.Discard())
}

func (d *Dir) end(status string) error {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.ended = true
	end := now()
	d.record.End, d.record.Status = &end, status
	err := errors.Join(d.closeJournal(), d.writeRecord())
	if err == nil && d.long() && status == Complete {
		err = d.dropJournal()
	}
	if err == nil && !d.long() {
		// Another run may have begun or finished there in the meantime.
		if err = d.lockFinal(); err == nil {
			_, err = check(d.final, d.record, d.force)
		}
		if err == nil {
			err = replace(d.work, d.final)
		}
	}
	if err != nil && !d.long() {
		err = errors.Join(err, os.RemoveAll(d.work))
	}
	return errors.Join(err, d.close())
}

func (d *Dir) close() error {
	if d.lock == nil {
		return nil
	}
	return d.lock.Close()
}

// replace renames work to final, moving an earlier run or an empty directory
// out of the way first. Where work is inside final, this is done file by file.
func replace(work, final string) error {
	if filepath.Dir(work) == final {
		return moveUp(work, final)
	}
	if _, err := os.Lstat(final); errors.Is(err, fs.ErrNotExist) {
		return os.Rename(work, final)
	}
	old := work + "-old"
	if err := os.Rename(final, old); err != nil {
		return err
	}
	if err := os.Rename(work, final); err != nil {
		return errors.Join(err, os.Rename(old, final))
	}
	return os.RemoveAll(old)
}

// moveUp moves the run in work, a directory in final, into final itself, and
// removes the earlier run there.
func moveUp(work, final string) error {
	old := work + "-old"
	if err := moveRun(final, old); err != nil {
		return errors.Join(err, moveRun(old, final))
	}
	if err := moveRun(work, final); err != nil {
		return errors.Join(err, moveRun(final, work), moveRun(old, final))
	}
	return errors.Join(os.RemoveAll(old), os.RemoveAll(work))
}

// moveRun moves what a run wrote from one directory into another, which it
// makes where there is none.
func moveRun(from, to string) error {
	if err := os.MkdirAll(to, 0o777); err != nil {
		return err
	}
	for _, name := range known {
		err := os.Rename(filepath.Join(from, name), filepath.Join(to, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// clearRun removes what an earlier run wrote into path.
func clearRun(path string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !slices.Contains(known, e.Name()) && !leftover(e.Name()) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(path, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// clearLeftovers removes what killed runs left under temporary names in path and
// its folders.
func clearLeftovers(path string) error {
	return fs.WalkDir(os.DirFS(path), ".", func(name string, e fs.DirEntry, err error) error {
		if name == shardsDir && err == nil {
			return fs.SkipDir
		}
		if err != nil || !leftover(name) {
			return err
		}
		err = os.RemoveAll(filepath.Join(path, filepath.FromSlash(name)))
		if err == nil && e.IsDir() {
			err = fs.SkipDir
		}
		return err
	})
}

func (d *Dir) writeRecord() error {
	content, err := json.MarshalIndent(d.record, "", "  ")
	if err != nil {
		return err
	}
	return d.write(runFile, writing(append(content, '\n')))
}

// temporaryName returns a fresh name beside path.
func temporaryName(path string) string {
	return filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.tmp-%08x", filepath.Base(path), rand.Uint32()))
}

var temporary = regexp.MustCompile(`^\.(.+)\.tmp-[0-9a-f]{8}(-old)?$`)

// leftover reports whether a file or directory of a run directory, named from
// its root with slashes, is one that a killed run has left: a temporary name
// for a file that runs write, or for the run itself.
func leftover(name string) bool {
	of := temporary.FindStringSubmatch(path.Base(name))
	return of != nil && (of[1] == insideName || strings.Contains(name, "/") || slices.Contains(known, of[1]))
}

// WriteFile writes a file under a temporary name beside path, flushes it to
// the disk and renames it, so that path is never truncated; on any error the
// temporary file is removed and path is untouched.
func WriteFile(path string, write func(io.Writer) error) (err error) {
	f, err := createBeside(path)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if err := errors.Join(write(f), f.Sync()); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// CanWrite reports why WriteFile could not create a file beside path. It leaves
// nothing there.
func CanWrite(path string) error {
	f, err := createBeside(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// createBeside creates a temporary file beside path. An error names path.
func createBeside(path string) (*os.File, error) {
	f, err := os.OpenFile(temporaryName(path), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	var cause *fs.PathError
	if errors.As(err, &cause) {
		return nil, &fs.PathError{Op: "write", Path: path, Err: cause.Err}
	}
	return f, err
}
