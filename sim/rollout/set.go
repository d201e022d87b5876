package rollout

import "math/rand/v2"

// A Set is the prompt set of a run of many steps: prompts 0 to Len()-1, which
// every epoch goes through in a fresh random order. Load and Admit bring them
// into the batch of a step, where no prompt stands twice.
type Set struct {
	// Embeddings holds a vector for every prompt, all of one length; nil where
	// there are none. Strategies only read it.
	Embeddings [][]float64

	order   []int
	next    int // in order
	epoch   int
	place   []int // of every prompt in the batch, -1 for none
	batch   *Batch
	shuffle *rand.Rand
}

// NewSet returns a set of prompts >= 1 prompts. Restart and Begin come next.
func NewSet(prompts int) *Set {
	s := &Set{order: make([]int, prompts), place: make([]int, prompts)}
	for id := range s.place {
		s.order[id], s.place[id] = id, -1
	}
	return s
}

// Restart begins the first epoch of a run; r draws the order of every epoch,
// so that equal generators give equal orders.
func (s *Set) Restart(r *rand.Rand) {
	for id := range s.order {
		s.order[id] = id
	}
	s.shuffle, s.epoch = r, 0
	s.reorder()
}

func (s *Set) reorder() {
	s.shuffle.Shuffle(len(s.order), func(i, j int) { s.order[i], s.order[j] = s.order[j], s.order[i] })
	s.next = 0
}

// Begin empties b, which becomes the batch of the next step.
func (s *Set) Begin(b *Batch) {
	if s.batch != nil {
		for _, id := range s.batch.ID {
			s.place[id] = -1
		}
	}
	b.N, b.S, b.ID, b.Round = b.N[:0], b.S[:0], b.ID[:0], 0
	if b.Tokens != nil {
		b.Tokens = b.Tokens[:0]
	}
	b.Set, s.batch = s, b
}

// Len returns the number of prompts.
func (s *Set) Len() int { return len(s.order) }

// Epoch returns how many times the whole set has been gone through by Load.
func (s *Set) Epoch() int { return s.epoch }

// Load appends the next n prompts of the epoch's order to the batch, those
// that stand there already left out, and returns how many: fewer than n where
// the whole set is in the batch. A new epoch begins when it must.
func (s *Set) Load(n int) int {
	loaded := 0
	for loaded < n && s.batch.Len() < s.Len() {
		if s.next == len(s.order) {
			s.epoch++
			s.reorder()
		}
		id := s.order[s.next]
		s.next++
		if s.place[id] < 0 {
			s.Admit(id)
			loaded++
		}
	}
	return loaded
}

// Admit brings prompt id into the batch, whatever the order, and returns its
// place there.
func (s *Set) Admit(id int) int {
	if s.place[id] < 0 {
		s.place[id] = s.batch.Len()
		s.batch.add(id)
	}
	return s.place[id]
}
