package rundir

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"
)

// journalFile holds the journal of a long run.
const journalFile = "journal"

// A Journal keeps what a long run has finished, a line a part, so that a run
// that was killed goes on behind its last line. Goroutines may share it.
//
// It goes when the run is complete: it is a scaffold, in a format for this
// package alone, and a reader finds in the results what it was for.
//
// Every line begins with a checksum (CRC-32C) of itself and all lines before it,
// the first one of the run's specs too: a line that was changed, moved, taken
// out or brought from another run is found.
type Journal struct {
	dir  *Dir
	file *os.File
	size int64  // of the whole lines
	sum  uint32 // of the last one
	err  error  // after which nothing is appended
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Journal opens the journal of a long run and returns the lines that earlier
// sittings appended. A last line without its end, as a kill or a full disk leaves
// it, is cut off; any other line that the run did not write is a ConflictError.
func (d *Dir) Journal() (*Journal, [][]byte, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.ended || !d.long() || d.journal != nil {
		return nil, nil, fmt.Errorf("%s: want one journal, of a long run that goes on", d.final)
	}
	if !slices.Contains(d.record.Files, journalFile) {
		d.record.Files = append(d.record.Files, journalFile)
		if err := d.writeRecord(); err != nil { // before the file: the run may be killed
			return nil, nil, err
		}
	}
	var specs bytes.Buffer
	if err := json.Compact(&specs, d.record.Specs); err != nil {
		return nil, nil, err
	}
	f, err := os.OpenFile(d.Path(journalFile), os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, nil, err
	}
	j := &Journal{dir: d, file: f, sum: crc32.Checksum(specs.Bytes(), castagnoli)}
	lines, err := j.read()
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	d.journal = j
	return j, lines, nil
}

// read returns the lines of the file and cuts off what follows the last end of
// one.
func (j *Journal) read() (lines [][]byte, err error) {
	content, err := io.ReadAll(j.file)
	if err != nil {
		return nil, err
	}
	for {
		line, rest, whole := bytes.Cut(content, []byte{'\n'})
		if !whole {
			return lines, j.file.Truncate(j.size)
		}
		_, text, _ := bytes.Cut(line, []byte{' '})
		next, sum := j.line(text)
		if !bytes.Equal(next, content[:len(line)+1]) {
			return nil, &ConflictError{
				j.dir.final, fmt.Sprintf("holds a %s whose line %d is damaged or of another run", journalFile, len(lines)+1),
				"put it back as the run left it, or replace the run with --force",
			}
		}
		lines = append(lines, text)
		j.size, j.sum, content = j.size+int64(len(next)), sum, rest
	}
}

// line returns the next line for a text, and its checksum.
func (j *Journal) line(text []byte) (line []byte, sum uint32) {
	sum = crc32.Update(j.sum, castagnoli, append(slices.Clone(text), '\n'))
	return fmt.Appendf(nil, "%08x %s\n", sum, text), sum
}

// Append appends a text of one line. Without an error it is on the disk; after
// one the journal holds what it held before, and takes nothing more.
func (j *Journal) Append(text []byte) error {
	j.dir.mutex.Lock()
	defer j.dir.mutex.Unlock()
	switch {
	case j.dir.ended:
		return fmt.Errorf("%s: %s: the run has ended", j.dir.final, journalFile)
	case j.err != nil:
		return j.err
	case bytes.ContainsRune(text, '\n'):
		return fmt.Errorf("%s: %s: a text of several lines, want one", j.dir.final, journalFile)
	}
	line, sum := j.line(text)
	_, err := j.file.WriteAt(line, j.size)
	if err = errors.Join(err, j.file.Sync()); err != nil {
		j.err = errors.Join(err, j.file.Truncate(j.size))
		return j.err
	}
	j.size, j.sum = j.size+int64(len(line)), sum
	return nil
}

// closeJournal closes the journal, if there is one.
func (d *Dir) closeJournal() error {
	if d.journal == nil {
		return nil
	}
	return d.journal.file.Close()
}

// dropJournal removes the journal of a run whose record says that it is
// complete. A kill in between leaves a record that names a file too many.
func (d *Dir) dropJournal() error {
	i := slices.Index(d.record.Files, journalFile)
	if i < 0 {
		return nil
	}
	if err := os.Remove(d.Path(journalFile)); err != nil {
		return err
	}
	d.record.Files = slices.Delete(d.record.Files, i, i+1)
	return d.writeRecord()
}
