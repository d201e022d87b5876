package sweep

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// An Input is a file that command lines of a sweep name: its results depend on it.
type Input struct {
	Path   string `json:"path"` // as the command lines have it
	SHA256 string `json:"sha256"`
}

// FindInputs records every file that a command line names: by a word, behind path= or
// behind @.
func (p *Plan) FindInputs() error {
	var words []string
	for _, point := range p.Points {
		words = append(words, point.Words[1:]...)
	}
	slices.Sort(words)
	var errs []error
	for _, word := range slices.Compact(words) {
		for _, path := range pathsIn(word) {
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

// pathsIn returns what may be paths in a word of a command line: table:path=FILE,smooth=beta
// or @FILE.
func pathsIn(word string) []string {
	starts := []string{word}
	for _, lead := range []string{"path=", "@"} {
		for rest := word; ; {
			_, after, ok := strings.Cut(rest, lead)
			if !ok {
				break
			}
			starts = append(starts, after)
			rest = after
		}
	}
	var paths []string
	for _, s := range starts {
		paths = append(paths, s)
		for i, c := range s {
			if c == ',' || c == '+' {
				paths = append(paths, s[:i])
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
