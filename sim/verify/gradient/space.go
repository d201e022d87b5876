package gradient

// A space holds every response of up to length tokens. With ends, token 0 ends
// a response before that; without, all responses have full length. A cell is a
// token at a prefix, numbered prefix*tokens + token.
type space struct {
	tokens, length int
	ends           bool
	prefixes       int
	next           []int   // of a cell: the prefix after it, or ^o where it completes response o
	paths          [][]int // of a response: its cells
}

// newSpace numbers prefixes so that longer ones come later.
func newSpace(tokens, length int, ends bool) *space {
	s := &space{tokens: tokens, length: length, ends: ends}
	s.grow(nil)
	return s
}

// grow adds the prefix that path leads to, and everything below it.
func (s *space) grow(path []int) int {
	prefix := s.prefixes
	s.prefixes++
	s.next = append(s.next, make([]int, s.tokens)...)
	for token := range s.tokens {
		cell := prefix*s.tokens + token
		longer := append(path[:len(path):len(path)], cell)
		if len(longer) == s.length || s.ends && token == 0 {
			s.next[cell] = ^len(s.paths)
			s.paths = append(s.paths, longer)
		} else {
			s.next[cell] = s.grow(longer)
		}
	}
	return prefix
}

func (s *space) cells() int     { return len(s.next) }
func (s *space) responses() int { return len(s.paths) }

// first returns the first token of response o.
func (s *space) first(o int) int { return s.paths[o][0] }
