package logs

import "hash/maphash"

// Names number the prompts of a log, in order of appearance. A prompt takes some
// 50 bytes and those of its name.
type names struct {
	seed   maphash.Seed
	number map[uint64]int32 // by the hash of the name, or the next one that is free
	text   []byte           // the names, one after the other
	ends   []int            // of each name in text
}

func newNames() names { return names{seed: maphash.MakeSeed(), number: map[uint64]int32{}} }

// of returns the number of a name.
func (n *names) of(name []byte) int32 {
	for h := maphash.Bytes(n.seed, name); ; h++ {
		k, taken := n.number[h]
		if taken && string(n.at(k)) != string(name) {
			continue // another name with this hash
		}
		if !taken {
			k = int32(len(n.ends))
			n.number[h] = k
			n.text = append(n.text, name...)
			n.ends = append(n.ends, len(n.text))
		}
		return k
	}
}

// at returns a name, which belongs to n.
func (n *names) at(k int32) []byte {
	start := 0
	if k > 0 {
		start = n.ends[k-1]
	}
	return n.text[start:n.ends[k]]
}
