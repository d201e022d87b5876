package logs

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// A logFile is a file to read.
type logFile struct {
	path  string
	size  int64
	named bool   // given itself, not found in a folder or by a pattern
	twin  string // of its bytes, "" where no other file has its size
	aside string // why it is not read, "" for what is
}

// unpacked returns the path of a file without the extension of a compression.
func (f logFile) unpacked() string {
	return strings.TrimSuffix(strings.TrimSuffix(f.path, ".gz"), ".zst")
}

// name returns the name of a file without its extensions.
func (f logFile) name() string {
	name := filepath.Base(f.unpacked())
	return strings.TrimSuffix(name, filepath.Ext(name))
}

// expand returns the files that paths name: files, folders with all that is
// below them, patterns. They come in natural order, 9 before 10, and each once.
//
// out is the file that the table goes to, "" for none: it is no log.
func expand(paths []string, out string) ([]logFile, error) {
	var files []logFile
	var faults []error
	for _, path := range paths {
		found, err := named(path)
		if err != nil {
			faults = append(faults, err)
		}
		files = append(files, found...)
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	slices.SortStableFunc(files, func(a, b logFile) int { return natural(a.path, b.path) })
	files = slices.CompactFunc(files, func(a, b logFile) bool { return filepath.Clean(a.path) == filepath.Clean(b.path) })
	stands := map[string]bool{}
	for _, f := range files {
		stands[f.path] = true
	}
	for i, f := range files {
		if f.unpacked() != f.path && stands[f.unpacked()] {
			files[i].aside = "packed, and " + filepath.Base(f.unpacked()) + " stands beside it"
		}
		switch {
		case out == "" || !sameFile(f.path, out):
		case f.named:
			return nil, fmt.Errorf("%s is the file that the table goes to, too: name another one", f.path)
		default:
			files[i].aside = "the file that the table goes to"
		}
	}
	return files, twins(files)
}

// sameFile reports whether two paths lead to one file.
func sameFile(a, b string) bool {
	x, errA := os.Stat(a)
	y, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(x, y)
}

// named returns the files of one path.
func named(path string) ([]logFile, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return matched(path, err)
	}
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return below(path)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no file and no folder", path)
	}
	return []logFile{{path: path, size: info.Size(), named: true}}, nil
}

// matched returns the files of a pattern; missing is the error of a path that
// is none.
func matched(pattern string, missing error) ([]logFile, error) {
	if !strings.ContainsAny(pattern, "*?[") {
		return nil, missing
	}
	paths, err := filepath.Glob(pattern)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", pattern, err)
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("%s: no file fits the pattern", pattern)
	}
	var files []logFile
	for _, p := range paths {
		found, err := named(p)
		if err != nil {
			return nil, err
		}
		for i := range found {
			found[i].named = false
		}
		files = append(files, found...)
	}
	return files, nil
}

// below returns the files of a folder, hidden ones left out. Links to folders
// below it, which may lead round in a circle, are set aside.
func below(dir string) ([]logFile, error) {
	var files []logFile
	if info, err := os.Lstat(dir); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		dir += string(filepath.Separator) // WalkDir does not follow a link
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if strings.HasPrefix(d.Name(), ".") && path != dir {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.IsDir() {
			return nil
		}
		files = append(files, found(path))
		return nil
	})
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s: no files in it", dir)
	}
	return files, err
}

// found returns what stands at a path within a folder.
func found(path string) logFile {
	info, err := os.Stat(path) // follows links
	switch {
	case err != nil:
		return logFile{path: path, aside: "a link that leads to no file"}
	case info.IsDir():
		return logFile{path: path, aside: "a link to a folder, name that to have it read"}
	case !info.Mode().IsRegular():
		return logFile{path: path, aside: "no regular file"}
	}
	return logFile{path: path, size: info.Size()}
}

// natural compares paths with their numbers as numbers.
func natural(a, b string) int {
	for a != "" && b != "" {
		x, y := leading(a), leading(b)
		if x > 0 && y > 0 {
			m, n := strings.TrimLeft(a[:x], "0"), strings.TrimLeft(b[:y], "0")
			if c := len(m) - len(n); c != 0 {
				return c
			}
			if c := strings.Compare(m, n); c != 0 {
				return c
			}
			a, b = a[x:], b[y:]
			continue
		}
		if a[0] != b[0] {
			return int(a[0]) - int(b[0])
		}
		a, b = a[1:], b[1:]
	}
	return len(a) - len(b)
}

// leading returns how many digits s starts with.
func leading(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// twins marks files of equal size by a digest of their bytes.
func twins(files []logFile) error {
	sizes := map[int64]int{}
	for _, f := range files {
		if f.aside == "" {
			sizes[f.size]++
		}
	}
	for i, f := range files {
		if f.aside != "" || sizes[f.size] < 2 {
			continue
		}
		r, err := os.Open(f.path)
		if err != nil {
			return err
		}
		digest := sha256.New()
		_, err = io.Copy(digest, r)
		r.Close() // only read
		if err != nil {
			return err
		}
		files[i].twin = string(digest.Sum(nil))
	}
	return nil
}

// An errKind is why a file is no log of any kind that is read here.
type errKind string

func (e errKind) Error() string { return string(e) }

// read hands the records of a file to s. seen is told how many bytes were read.
func (f logFile) read(s sink, seen func(int)) error {
	file, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer file.Close() // only read
	start := make([]byte, 4)
	n, err := io.ReadFull(file, start)
	if err != nil && !ended(err) {
		return err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	counted := &counting{file, seen}
	switch start = start[:n]; {
	case bytes.HasPrefix(start, []byte("PAR1")):
		defer seen(int(f.size))
		return readParquet(file, f.size, s)
	case bytes.HasPrefix(start, []byte("PK\x03\x04")):
		defer seen(int(f.size))
		return readTorch(file, f.size, s)
	case bytes.HasPrefix(start, []byte{0x1f, 0x8b}):
		r, err := gzip.NewReader(counted)
		if ended(err) {
			return s.torn(1, true, errTorn)
		}
		if err != nil {
			return err
		}
		return readText(r, s)
	case bytes.HasPrefix(start, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		r, err := zstd.NewReader(counted, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(1<<27))
		if err != nil {
			return err
		}
		defer r.Close()
		return readText(r, s)
	}
	return readText(counted, s)
}

// readText hands the records of a text to s: JSON, CSV or AReaL's dump.
func readText(r io.Reader, s sink) error {
	in := bufio.NewReaderSize(r, 1<<16)
	mark := []byte("\ufeff")
	if start, _ := in.Peek(len(mark)); bytes.Equal(start, mark) {
		in.Discard(len(mark)) // cannot fail: they were peeked
	}
	start, err := in.Peek(1 << 12)
	if err != nil && !ended(err) {
		return err
	}
	blank := len(start) - len(bytes.TrimLeft(start, " \r\n\t"))
	switch start = start[blank:]; {
	case len(start) == 0:
		return nil // the sink saw no record
	case start[0] == '{' || start[0] == '[':
		in.Discard(blank) // cannot fail: they were peeked
		return readJSON(in, s)
	case bytes.HasPrefix(start, []byte("idx: ")):
		return readDump(in, s)
	case start[0] == 0x80:
		return errKind("a bare pickle, which may hold code: export it as JSON lines")
	case bytes.HasPrefix(start, []byte("PAR1")) || bytes.HasPrefix(start, []byte("PK\x03\x04")):
		return errKind("a compressed file inside a compressed one: unpack it first")
	case bytes.HasPrefix(start, []byte("\xff\xfe")) || bytes.HasPrefix(start, []byte("\xfe\xff")):
		return errKind("text in UTF-16: convert it to UTF-8")
	case bytes.IndexByte(start, 0) >= 0:
		return errKind("no text, and no kind of file that is known")
	}
	return readCSV(in, s)
}

// counting tells how many bytes were read.
type counting struct {
	io.Reader
	seen func(int)
}

func (c *counting) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.seen(n)
	return n, err
}
