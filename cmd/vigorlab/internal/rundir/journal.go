package rundir

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
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
// sittings appended.
func (d *Dir) Journal() (*Journal, [][]byte, error) {
	var lines [][]byte
	j, err := d.EachLine(func(_ int64, line []byte) error {
		lines = append(lines, slices.Clone(line))
		return nil
	})
	return j, lines, err
}

// EachLine opens the journal of a long run and hands over the lines that earlier
// sittings appended, valid during the call alone, each with the place by which Line
// reads it back. A last line without its end, as a kill or a full disk leaves it,
// is cut off; any other line that the run did not write is a ConflictError, and so is
// a journal that is gone, or shorter than it was when a sitting ended by itself.
func (d *Dir) EachLine(each func(at int64, line []byte) error) (*Journal, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.ended || !d.long() || d.journal != nil {
		return nil, fmt.Errorf("%s: want one journal, of a long run that goes on", d.final)
	}
	var specs bytes.Buffer
	if err := json.Compact(&specs, d.record.Specs); err != nil {
		return nil, err
	}
	f, err := d.openJournal()
	if err != nil {
		return nil, err
	}
	j := &Journal{dir: d, file: f, sum: crc32.Checksum(specs.Bytes(), castagnoli)}
	if err := j.read(each); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	d.journal = j
	return j, nil
}

// openJournal opens the file of the journal. It is there before the record names
// it, so that one that is named and gone was taken away.
func (d *Dir) openJournal() (*os.File, error) {
	if slices.Contains(d.record.Files, journalFile) {
		f, err := os.OpenFile(d.Path(journalFile), os.O_RDWR, 0o666)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, d.lost("holds a run whose " + journalFile + " is gone")
		}
		return f, err
	}
	f, err := os.OpenFile(d.Path(journalFile), os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	d.record.Files = append(d.record.Files, journalFile)
	if err := d.writeRecord(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// lost returns the conflict of a journal that is not as the run left it.
func (d *Dir) lost(reason string) error {
	return &ConflictError{d.final, reason, "put it back as the run left it, or replace the run with --force"}
}

// read hands over the lines of the file and cuts off what follows the last end
// of one.
func (j *Journal) read(each func(at int64, line []byte) error) error {
	in := bufio.NewReaderSize(j.file, 1<<16)
	for n := 1; ; n++ {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			if left := j.dir.record.JournalBytes; j.size < left {
				return j.dir.lost(fmt.Sprintf("holds a %s that ends after %d bytes, of %d that the run left", journalFile, j.size, left))
			}
			return j.file.Truncate(j.size)
		}
		if err != nil {
			return err
		}
		text := textOf(line)
		next, sum := j.line(text)
		if !bytes.Equal(next, line) {
			return j.dir.lost(fmt.Sprintf("holds a %s whose line %d is damaged or of another run", journalFile, n))
		}
		if err := each(j.size, text); err != nil {
			return err
		}
		j.size, j.sum = j.size+int64(len(line)), sum
	}
}

// textOf returns a line without its checksum and its end.
func textOf(line []byte) []byte {
	_, text, _ := bytes.Cut(bytes.TrimSuffix(line, []byte{'\n'}), []byte{' '})
	return text
}

// Line reads back the text of the line at a place that EachLine or Append told.
func (j *Journal) Line(at int64) ([]byte, error) {
	line, err := bufio.NewReader(io.NewSectionReader(j.file, at, j.size-at)).ReadBytes('\n')
	if err != nil {
		return nil, fmt.Errorf("%s: no line at byte %d: %w", journalFile, at, err)
	}
	return textOf(line), nil
}

// line returns the next line for a text, and its checksum.
func (j *Journal) line(text []byte) (line []byte, sum uint32) {
	sum = crc32.Update(j.sum, castagnoli, append(slices.Clone(text), '\n'))
	return fmt.Appendf(nil, "%08x %s\n", sum, text), sum
}

// Append appends texts of one line each and returns the place of each. Without an
// error all are on the disk, by one call of fsync; after one the journal holds what
// it held before, and takes nothing more.
func (j *Journal) Append(texts ...[]byte) (at []int64, err error) {
	j.dir.mutex.Lock()
	defer j.dir.mutex.Unlock()
	if j.dir.ended {
		return nil, fmt.Errorf("%s: %s: the run has ended", j.dir.final, journalFile)
	}
	if j.err != nil {
		return nil, j.err
	}
	var lines []byte
	before := j.sum
	for _, text := range texts {
		if bytes.ContainsRune(text, '\n') {
			j.sum = before
			return nil, fmt.Errorf("%s: %s: a text of several lines, want one", j.dir.final, journalFile)
		}
		at = append(at, j.size+int64(len(lines)))
		line, sum := j.line(text)
		lines, j.sum = append(lines, line...), sum
	}
	_, err = j.file.WriteAt(lines, j.size)
	if err = errors.Join(err, j.file.Sync()); err != nil {
		j.err = errors.Join(err, j.file.Truncate(j.size))
		return nil, j.err
	}
	j.size += int64(len(lines))
	return at, nil
}

// closeJournal closes the journal, if there is one, and notes its size.
func (d *Dir) closeJournal() error {
	if d.journal == nil {
		return nil
	}
	d.record.JournalBytes = d.journal.size
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
	d.record.Files, d.record.JournalBytes = slices.Delete(d.record.Files, i, i+1), 0
	return d.writeRecord()
}
