package spec

import (
	"errors"
	"io"
)

// A browser has no files, and what reads recorded tables would make up most of
// the program that it loads: populations of a file are refused there.

func readTable(r *reader) Population { return r.unreadable() }
func readAtoms(r *reader) Population { return r.unreadable() }

func (r *reader) unreadable() Population {
	r.file(func(io.Reader, string) error { return errors.New("no files can be read here") })
	return Population{}
}
