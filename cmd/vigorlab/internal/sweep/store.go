package sweep

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"vigorlab/cmd/vigorlab/internal/rundir"
)

// The files of a sweep's directory, beside those of every run.
const (
	PlanFile  = "sweep.json"
	ShardsDir = "shards"
)

// A Sweep is a sweep in its directory, as sweep.json has it.
type Sweep struct {
	Dir      string `json:"-"`        // absolute
	Digest   string `json:"sweep"`    // of the plan
	Version  string `json:"version"`  // of vigorlab, which every task must have
	Revision string `json:"revision"` // of its source, where known
	Folder   string `json:"folder"`   // that the commands run in
	Shards   []Span `json:"shards"`
	Plan     `json:"plan"`
}

// A Span is the points of a shard: From, ..., To.
type Span struct {
	From int `json:"from"`
	To   int `json:"to"`
}

func (s Span) String() string {
	if s.From == s.To {
		return fmt.Sprintf("point %d", s.From)
	}
	return fmt.Sprintf("points %d to %d", s.From, s.To)
}

// Deal deals points to shards, in order, as evenly as may be.
func Deal(points, shards int) []Span {
	shards = max(1, min(points, shards))
	var spans []Span
	for k := range shards {
		spans = append(spans, Span{k*points/shards + 1, (k + 1) * points / shards})
	}
	return spans
}

// Encode returns the text of sweep.json.
func (s *Sweep) Encode() ([]byte, error) {
	content, err := json.Marshal(s)
	return append(content, '\n'), err
}

// Open reads the sweep of a directory.
func Open(dir string) (*Sweep, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, PlanFile)
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s holds no %s, want the directory of a sweep", dir, PlanFile)
	}
	if err != nil {
		return nil, err
	}
	s := &Sweep{Dir: dir}
	if err := json.Unmarshal(content, s); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := s.sound(); err != nil {
		return nil, fmt.Errorf("%s: %w, want what a sweep wrote", path, err)
	}
	return s, nil
}

// sound returns an error where the sweep is not what was written: a plan of another
// digest, or shards that do not have every point once, in order.
func (s *Sweep) sound() error {
	digest, err := s.Plan.Digest()
	if err != nil {
		return err
	}
	if digest != s.Digest {
		return errors.New("its plan has been changed")
	}
	next := 1
	for k, span := range s.Shards {
		if span.From != next || span.To < span.From {
			return fmt.Errorf("its shard %d has %s", k+1, span)
		}
		next = span.To + 1
	}
	if len(s.Points) == 0 || next != len(s.Points)+1 {
		return fmt.Errorf("its shards have %d of %d points", next-1, len(s.Points))
	}
	return nil
}

// file returns the path of a shard's file: parquet or json.
func (s *Sweep) file(shard int, extension string) string {
	return filepath.Join(s.Dir, ShardsDir, fmt.Sprintf("%04d.%s", shard, extension))
}

// A manifest says what a shard's rows are of.
type manifest struct {
	Sweep  string    `json:"sweep"` // the digest of its plan
	Shard  int       `json:"shard"`
	Points []int     `json:"points"`
	Failed []Failure `json:"failed"`
	Rows   int       `json:"rows"`
	Bytes  int       `json:"bytes"`
	SHA256 string    `json:"sha256"`
}

// A Failure is a point that could not be run, with the reason.
type Failure struct {
	Point int    `json:"point"`
	Error string `json:"error"`
}

// write writes a shard's rows, then its manifest, each under a temporary name first.
func (s *Sweep) write(shard int, rows []row, failed []Failure) error {
	var b bytes.Buffer
	each := func(yield func(row) error) error {
		for _, r := range rows {
			if err := yield(r); err != nil {
				return err
			}
		}
		return nil
	}
	if err := writeParquet(&b, s.Table(), each); err != nil {
		return err
	}
	span := s.Shards[shard-1]
	sum := sha256.Sum256(b.Bytes())
	m := manifest{Sweep: s.Digest, Shard: shard, Failed: append([]Failure{}, failed...), Rows: len(rows), Bytes: b.Len(), SHA256: hex.EncodeToString(sum[:])}
	for number := span.From; number <= span.To; number++ {
		m.Points = append(m.Points, number)
	}
	content, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(s.Dir, ShardsDir), 0o777); err != nil {
		return err
	}
	if err := writeFile(s.file(shard, "parquet"), b.Bytes()); err != nil {
		return err
	}
	return writeFile(s.file(shard, "json"), append(content, '\n'))
}

// writeFile writes a file that stands on the disk before it has its name: path never
// holds half of it.
func writeFile(path string, content []byte) error {
	if err := rundir.WriteFile(path, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	}); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// syncDir puts the names of a directory on the disk.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// A Shard is what the directory holds of a shard.
type Shard struct {
	Number int
	Span   Span
	Fault  string    // why its rows cannot be used; "" for a sound one
	Absent bool      // it has not been run, which is no fault
	Failed []Failure // points
	rows   int
}

// Done reports whether the shard's rows can be used.
func (s *Shard) Done() bool { return s.Fault == "" && !s.Absent }

// Scan looks at every shard of the directory, and at what is there beside them:
// strays say what manifests of no shard hold.
func (s *Sweep) Scan() (shards []Shard, strays []string, err error) {
	for k, span := range s.Shards {
		shard := Shard{Number: k + 1, Span: span}
		m, err := s.manifest(k + 1)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			shard.Absent = true
		case err != nil:
			shard.Fault = err.Error()
		default:
			shard.Failed, shard.rows = m.Failed, m.Rows
		}
		shards = append(shards, shard)
	}
	strays, err = s.strays()
	return shards, strays, err
}

var manifestName = regexp.MustCompile(`^([0-9]+)\.json$`)

// strays says of every manifest that belongs to no shard what it holds.
func (s *Sweep) strays() ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(s.Dir, ShardsDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var strays []string
	for _, e := range entries {
		m := manifestName.FindStringSubmatch(e.Name())
		if m == nil {
			continue
		}
		if k, err := strconv.Atoi(m[1]); err != nil || k < 1 || k > len(s.Shards) || e.Name() != filepath.Base(s.file(k, "json")) {
			strays = append(strays, s.stray(e.Name()))
		}
	}
	return strays, err
}

// manifest returns the manifest of a shard, if it and its rows are sound.
func (s *Sweep) manifest(shard int) (*manifest, error) {
	content, err := os.ReadFile(s.file(shard, "json"))
	if err != nil {
		return nil, err
	}
	m := new(manifest)
	if err := json.Unmarshal(content, m); err != nil {
		return nil, fmt.Errorf("its manifest cannot be read: %w", err)
	}
	span := s.Shards[shard-1]
	if m.Sweep != s.Digest {
		return nil, errors.New("its manifest is of another sweep")
	}
	if m.Shard != shard || len(m.Points) != span.To-span.From+1 || m.Points[0] != span.From || m.Points[len(m.Points)-1] != span.To {
		return nil, fmt.Errorf("its manifest is of shard %d, %s", m.Shard, listed(m.Points))
	}
	for _, f := range m.Failed {
		if f.Point < span.From || f.Point > span.To {
			return nil, fmt.Errorf("its manifest says that point %d failed, which it has not", f.Point)
		}
	}
	rows, err := os.ReadFile(s.file(shard, "parquet"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("its rows are gone")
	}
	if err != nil {
		return nil, err
	}
	if len(rows) != m.Bytes {
		return nil, fmt.Errorf("its rows have %d bytes, the manifest says %d", len(rows), m.Bytes)
	}
	if sum := sha256.Sum256(rows); hex.EncodeToString(sum[:]) != m.SHA256 {
		return nil, errors.New("its rows have been changed")
	}
	return m, nil
}

// Sound reports whether the rows of a shard are there and can be used.
func (s *Sweep) Sound(shard int) bool {
	_, err := s.manifest(shard)
	return err == nil
}

// listed names points in few words: 1 to 4, 7.
func listed(points []int) string {
	points = slices.Clone(points)
	slices.Sort(points)
	var parts []string
	for i := 0; i < len(points); {
		j := i
		for j+1 < len(points) && points[j+1] <= points[j]+1 {
			j++
		}
		part := strconv.Itoa(points[i])
		if points[j] > points[i] {
			part = fmt.Sprintf("%d to %d", points[i], points[j])
		}
		parts = append(parts, part)
		i = j + 1
	}
	const most = 20 // parts
	if len(parts) > most {
		parts = append(parts[:most], fmt.Sprintf("and %d more", len(parts)-most))
	}
	noun := "points "
	if len(points) == 1 {
		noun = "point "
	}
	return noun + strings.Join(parts, ", ")
}

// Missing returns the tasks of the shards that are still to be run.
func (s *Sweep) Missing(shards []Shard) []Task {
	var tasks []Task
	for _, k := range shards {
		if !k.Done() {
			tasks = append(tasks, Task{Dir: s.Dir, Shard: k.Number, Points: k.Span.To - k.Span.From + 1})
		}
	}
	return tasks
}

// Forget removes the manifest of a shard, which is then to be run.
func (s *Sweep) Forget(shard int) error {
	err := os.Remove(s.file(shard, "json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// halfWritten is what a killed task leaves of a file.
var halfWritten = regexp.MustCompile(`^\.[0-9]+\.(parquet|json)\.tmp-[0-9a-f]{8}$`)

// Tidy removes what killed tasks have left beside the shards' files.
func (s *Sweep) Tidy() error {
	entries, err := os.ReadDir(filepath.Join(s.Dir, ShardsDir))
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		if !halfWritten.MatchString(e.Name()) {
			continue
		}
		// A task that is run twice on a cluster may give the file its name meanwhile.
		if err := os.Remove(filepath.Join(s.Dir, ShardsDir, e.Name())); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// each yields the rows of all shards in the order of points. All must be sound.
func (s *Sweep) each(yield func(row) error) error {
	for k := range s.Shards {
		if _, err := s.manifest(k + 1); err != nil {
			return fmt.Errorf("shard %04d: %w", k+1, err)
		}
		content, err := os.ReadFile(s.file(k+1, "parquet"))
		if err != nil {
			return err
		}
		rows, err := readParquet(content, s.Table())
		if err != nil {
			return fmt.Errorf("%s: %w", s.file(k+1, "parquet"), err)
		}
		for _, r := range rows {
			if err := yield(r); err != nil {
				return err
			}
		}
	}
	return nil
}

// WriteCSV, WriteParquet and WriteRows write the merged table.
func (s *Sweep) WriteCSV(w io.Writer) error { return writeCSV(w, s.Table(), s.each) }

// WriteParquet writes the merged table as Parquet.
func (s *Sweep) WriteParquet(w io.Writer) error { return writeParquet(w, s.Table(), s.each) }

// WriteRows writes the merged table as a JSON list.
func (s *Sweep) WriteRows(w io.Writer) error { return writeJSON(w, s.Table(), s.each) }

// Finished returns how many shards have a manifest, sound or not.
func (s *Sweep) Finished() int {
	entries, err := os.ReadDir(filepath.Join(s.Dir, ShardsDir))
	if err != nil {
		return 0
	}
	n := 0
	for _, e := range entries {
		if manifestName.MatchString(e.Name()) {
			n++
		}
	}
	return n
}

// stray says what a manifest of no shard holds.
func (s *Sweep) stray(name string) string {
	m := new(manifest)
	content, err := os.ReadFile(filepath.Join(s.Dir, ShardsDir, name))
	if err != nil || json.Unmarshal(content, m) != nil || len(m.Points) == 0 || m.Sweep != s.Digest {
		return name + " is of no shard of this sweep"
	}
	for k, span := range s.Shards {
		if m.Points[0] >= span.From && m.Points[0] <= span.To {
			return fmt.Sprintf("%s holds %s, which shard %04d has", name, listed(m.Points), k+1)
		}
	}
	return fmt.Sprintf("%s holds %s, which the sweep has not", name, listed(m.Points))
}

// Lacks says which points are missing, and why: of shards in a row that have not been run
// in one line.
func Lacks(shards []Shard) []string {
	var lines []string
	for i := 0; i < len(shards); i++ {
		k := shards[i]
		switch {
		case k.Absent:
			for i+1 < len(shards) && shards[i+1].Absent {
				i++
			}
			lines = append(lines, fmt.Sprintf("%s: %s not been run", Span{k.Span.From, shards[i].Span.To}, shardsFrom(k.Number, shards[i].Number)))
		case k.Fault != "":
			lines = append(lines, fmt.Sprintf("%s: shard %04d cannot be used: %s", k.Span, k.Number, k.Fault))
		}
	}
	return lines
}

// shardsFrom names shards from one to another, with their verb.
func shardsFrom(first, last int) string {
	if first == last {
		return fmt.Sprintf("shard %04d has", first)
	}
	return fmt.Sprintf("shards %04d to %04d have", first, last)
}

// Whole returns why the shards make no table: points that are missing or there twice,
// by name.
func (s *Sweep) Whole() error {
	shards, strays, err := s.Scan()
	if err != nil {
		return err
	}
	var errs []error
	for _, text := range Lacks(shards) {
		errs = append(errs, errors.New(text))
	}
	for _, text := range strays {
		errs = append(errs, errors.New(text))
	}
	return errors.Join(errs...)
}
