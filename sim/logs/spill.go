package logs

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"os"
	"slices"
)

// maxHeld is how many bytes a spill, and what waits for it, keep in memory.
const maxHeld = 8 << 20

// A spill keeps bytes that are written once and read back: in memory while they
// are few, then in a temporary file that vanishes with the process.
type spill struct {
	dir   string // where the file goes, "" for that of the system
	most  int    // bytes in memory
	held  []byte // what is not in the file yet
	file  *os.File
	moved int64 // bytes in the file
}

// A region is where a piece of a spill lies.
type region struct {
	at   int64
	size int
}

// A SpillError is why rollouts cannot be kept on the disk.
type SpillError struct {
	Dir string
	Err error
}

func (e *SpillError) Error() string {
	return fmt.Sprintf("rollouts do not fit in memory and cannot be kept in %s: %v", e.Dir, e.Err)
}

func (e *SpillError) Unwrap() error { return e.Err }

// put adds a piece.
func (s *spill) put(piece []byte) (region, error) {
	if len(s.held)+len(piece) > s.most {
		if err := s.move(); err != nil {
			dir := s.dir
			if dir == "" {
				dir = os.TempDir()
			}
			return region{}, &SpillError{dir, err}
		}
	}
	at := region{s.moved + int64(len(s.held)), len(piece)}
	s.held = append(s.held, piece...)
	return at, nil
}

// move moves what is held into the file. Its name is gone at once, so that
// nothing is left behind, however the process ends.
func (s *spill) move() error {
	if s.file == nil {
		f, err := os.CreateTemp(s.dir, ".vigorlab-rollouts-*")
		if err != nil {
			return err
		}
		s.file = f
		os.Remove(f.Name()) // where an open file keeps its name, close removes it
	}
	n, err := s.file.Write(s.held)
	s.moved += int64(n)
	s.held = s.held[:0]
	return err
}

// get returns a piece, valid until the next call with the same buffer.
func (s *spill) get(r region, buffer *[]byte) ([]byte, error) {
	if r.at >= s.moved {
		start := r.at - s.moved
		return s.held[start : start+int64(r.size)], nil
	}
	*buffer = slices.Grow((*buffer)[:0], r.size)[:r.size]
	_, err := s.file.ReadAt(*buffer, r.at)
	return *buffer, err
}

// close gives everything up.
func (s *spill) close() {
	s.held = nil
	if s.file != nil {
		s.file.Close() // nothing in it is wanted any more
		os.Remove(s.file.Name())
		s.file = nil
	}
}

// appendFloat appends a number, in few bytes if it has few digits.
func appendFloat(b []byte, x float64) []byte {
	return binary.AppendUvarint(b, bits.ReverseBytes64(math.Float64bits(x)))
}

// A cursor reads back what was appended.
type cursor []byte

func (c *cursor) uint() uint64 {
	x, n := binary.Uvarint(*c)
	*c = (*c)[max(n, 0):]
	return x
}

func (c *cursor) float() float64 { return math.Float64frombits(bits.ReverseBytes64(c.uint())) }
