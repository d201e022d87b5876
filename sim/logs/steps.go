package logs

import (
	"encoding/binary"
	"maps"
	"slices"
)

// Steps keep the rollouts of a log by their step, as they were logged, until all
// is read: rollouts of one group have one step, so that groups can be made a step
// at a time. A rollout takes some 20 bytes, and beyond a few megabytes they lie on
// the disk.
type steps struct {
	spill spill
	kept  map[int32]*pieces
	held  int // bytes that are not in the spill yet
}

// Pieces are what was logged at one step, in order.
type pieces struct {
	regions []region
	last    []byte // behind them
}

func newSteps(dir string) *steps {
	return &steps{spill: spill{dir: dir, most: maxHeld}, kept: map[int32]*pieces{}}
}

// put keeps a rollout.
func (k *steps) put(s *sample) error {
	p := k.kept[s.step]
	if p == nil {
		p = &pieces{}
		k.kept[s.step] = p
	}
	before := len(p.last)
	p.last = s.append(p.last)
	return k.grown(len(p.last) - before)
}

// supersede keeps that a stream begins anew with a step.
func (k *steps) supersede(stream, step int32) error {
	grown := 0
	for later, p := range k.kept {
		if later >= step {
			before := len(p.last)
			p.last = binary.AppendUvarint(append(p.last, 0), uint64(stream))
			grown += len(p.last) - before
		}
	}
	return k.grown(grown)
}

// grown moves what is held into the spill once it is too much.
func (k *steps) grown(bytes int) error {
	if k.held += bytes; k.held <= k.spill.most {
		return nil
	}
	k.held = 0
	for _, step := range slices.Sorted(maps.Keys(k.kept)) {
		p := k.kept[step]
		if len(p.last) == 0 {
			continue
		}
		at, err := k.spill.put(p.last)
		if err != nil {
			return err
		}
		p.regions, p.last = append(p.regions, at), nil
	}
	return nil
}

// gather adds the rollouts of a step to a tally, as they were logged.
func (k *steps) gather(step int32, t *tally, buffer *[]byte) error {
	p := k.kept[step]
	for _, at := range p.regions {
		piece, err := k.spill.get(at, buffer)
		if err != nil {
			return err
		}
		t.replay(piece, step)
	}
	t.replay(p.last, step)
	return nil
}

// append encodes a rollout, but for its step.
func (s *sample) append(b []byte) []byte {
	for _, x := range [...]uint64{uint64(s.file) + 1, uint64(s.prompt), s.part, s.text, s.rollout} {
		b = binary.AppendUvarint(b, x)
	}
	return append(appendFloat(appendFloat(b, s.reward), s.tokens), byte(s.right+1)<<2|byte(s.cut+1))
}

// replay adds what a step kept.
func (t *tally) replay(piece cursor, step int32) {
	for len(piece) > 0 {
		file := piece.uint()
		if file == 0 {
			t.supersede(int32(piece.uint()), step)
			continue
		}
		s := sample{file: int32(file) - 1, prompt: int32(piece.uint()), part: piece.uint(), text: piece.uint(), rollout: piece.uint(), step: step}
		s.reward, s.tokens = piece.float(), piece.float()
		s.right, s.cut = int32(piece[0]>>2)-1, int32(piece[0]&3)-1
		piece = piece[1:]
		t.add(&s)
	}
}
