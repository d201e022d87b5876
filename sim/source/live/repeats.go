package live

import "hash/maphash"

// shortestID is the length from which on an id can be taken for unique:
// "cmpl-" and 64 random bits in hexadecimal. Some servers have one id for all
// answers, or three random digits.
const shortestID = 5 + 16

// recentAnswers is how many answers are remembered.
const recentAnswers = 1 << 12

// A repeats remembers recent answers by their ids, in fixed space, to tell a
// cache that gives one answer to two requests from two answers that are alike,
// which are samples like any others.
type repeats struct {
	seed    maphash.Seed
	bodies  map[uint64]uint64 // by id, both hashed
	ids     []uint64          // the keys of bodies, a ring
	next    int               // the oldest of them
	useless bool              // the server gives one id to different answers
}

// seen says whether an answer was seen before: same id, same bytes.
func (r *repeats) seen(id string, body []byte) bool {
	if len(id) < shortestID || r.useless {
		return false
	}
	if r.bodies == nil {
		r.seed = maphash.MakeSeed()
		r.bodies = make(map[uint64]uint64, recentAnswers)
		r.ids = make([]uint64, recentAnswers)
	}
	h, b := maphash.String(r.seed, id), maphash.Bytes(r.seed, body)
	if earlier, ok := r.bodies[h]; ok {
		r.useless = earlier != b
		return earlier == b
	}
	delete(r.bodies, r.ids[r.next])
	r.bodies[h], r.ids[r.next] = b, h
	r.next = (r.next + 1) % recentAnswers
	return false
}
