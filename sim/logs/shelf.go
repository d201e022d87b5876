package logs

import (
	"encoding/binary"
	"iter"
)

// A shelf keeps the groups that count, in the order of the table.
type shelf struct {
	spill   spill
	regions []region
	last    []byte // behind them
}

// shelved is how many bytes of groups are written at once.
const shelved = 1 << 16

func newShelf(dir string) *shelf { return &shelf{spill: spill{dir: dir, most: maxHeld}} }

// put adds a group.
func (s *shelf) put(g *group) error {
	if s.last = g.append(s.last); len(s.last) < min(shelved, s.spill.most) {
		return nil
	}
	at, err := s.spill.put(s.last)
	s.regions, s.last = append(s.regions, at), s.last[:0]
	return err
}

// each yields the groups, each valid until the next one. Errors are those of the
// disk.
func (s *shelf) each() iter.Seq2[*group, error] {
	return func(yield func(*group, error) bool) {
		var g group
		var buffer []byte
		for i := 0; i <= len(s.regions); i++ {
			piece := cursor(s.last)
			if i < len(s.regions) {
				b, err := s.spill.get(s.regions[i], &buffer)
				if err != nil {
					yield(nil, err)
					return
				}
				piece = b
			}
			for len(piece) > 0 {
				if g.read(&piece); !yield(&g, nil) {
					return
				}
			}
		}
	}
}

// append encodes what a table has of a group.
func (g *group) append(b []byte) []byte {
	for _, x := range [...]int32{g.prompt, g.step, g.visit, g.measured, g.ended, g.cut, int32(len(g.reward))} {
		b = binary.AppendUvarint(b, uint64(x))
	}
	b = appendFloat(b, g.tokens)
	for _, x := range g.reward {
		b = appendFloat(b, x)
	}
	return b
}

// read decodes a group into g's memory.
func (g *group) read(piece *cursor) {
	var n int32
	for _, x := range [...]*int32{&g.prompt, &g.step, &g.visit, &g.measured, &g.ended, &g.cut, &n} {
		*x = int32(piece.uint())
	}
	g.tokens = piece.float()
	g.reward = g.reward[:0]
	for range n {
		g.reward = append(g.reward, piece.float())
	}
}
