package sweep

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"vigorlab/distributions/spec"
)

// An Input is a file that command lines of a sweep name: its results depend on it.
type Input struct {
	Path   string `json:"path"` // as the command lines have it
	SHA256 string `json:"sha256"`
}

// FindInputs records every file that a command line names: by a word, behind path= or
// behind @, and those that a spec in such a file names.
func (p *Plan) FindInputs() error {
	var words []string
	for _, point := range p.Points {
		words = append(words, point.Words[1:]...)
	}
	slices.Sort(words)
	var errs []error
	for _, word := range slices.Compact(words) {
		paths := pathsIn(word)
		expanded, err := spec.Expand(word, openRegular)
		if err == nil && expanded != word {
			paths = append(paths, pathsIn(expanded)...)
		}
		for _, path := range paths {
			known := slices.ContainsFunc(p.Inputs, func(in Input) bool { return in.Path == path })
			info, err := os.Stat(path)
			if known || err != nil || !info.Mode().IsRegular() {
				continue // what must be there is missed by the command
			}
			sum, err := sumOf(path)
			errs = append(errs, err)
			p.Inputs = append(p.Inputs, Input{path, sum})
		}
	}
	return errors.Join(errs...)
}

// openRegular opens a file that can be read again. What a pipe holds is for the command
// alone.
func openRegular(path string) (io.ReadCloser, error) {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: no regular file", path)
	}
	return os.Open(path)
}

// pathLead is what stands before a path in a word; specs may have spaces about their =.
var pathLead = regexp.MustCompile(`path\s*=\s*|@`)

// longestPath is the most bytes of a path, on Linux.
const longestPath = 4096

// pathsIn returns what may be paths in a word of a command line: table:path=FILE,smooth=beta
// or @FILE.
func pathsIn(word string) []string {
	starts := []string{word}
	for _, lead := range pathLead.FindAllStringIndex(word, -1) {
		starts = append(starts, word[lead[1]:])
	}
	var paths []string
	for _, s := range starts {
		paths = append(paths, s)
		for i, c := range s[:min(len(s), longestPath)] {
			if c == ',' || c == '+' {
				paths = append(paths, strings.TrimSpace(s[:i]))
			}
		}
	}
	return slices.DeleteFunc(paths, func(path string) bool { return path == "" })
}

// sumOf returns the SHA-256 of a file.
func sumOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	_, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), errors.Join(err, f.Close())
}

// checkInputs returns an error where a file is not what it was when the sweep began.
func (s *Sweep) checkInputs() error {
	var errs []error
	for _, in := range s.Inputs {
		path := in.Path
		if !filepath.IsAbs(path) {
			path = filepath.Join(s.Folder, path)
		}
		sum, err := sumOf(path)
		if err == nil && sum != in.SHA256 {
			err = fmt.Errorf("%s has changed since the sweep began; bring it back, or begin anew with --force", path)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
