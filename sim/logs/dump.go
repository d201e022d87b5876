package logs

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
)

// rollout is the line that opens every rollout of AReaL's text dump.
var rollout = regexp.MustCompile(`^idx: (\d+) / (\d+), seqlen: (\d+), reward is (\S+)\.\r?\n?$`)

// readDump hands the rollouts of an AReaL dump to s. The file is written by
// appending: a second generation of the prompt starts with idx 1 again. A line
// of an answer that looks like an opening one is told by its number, which must
// be the next.
func readDump(in *bufio.Reader, s sink) error {
	var line []byte
	var open dumpedRollout
	next, pass := 1, 0
	for place := 1; ; place++ {
		var err error
		line, err = readLine(in, line[:0])
		if err != nil && !ended(err) {
			return err
		}
		m := rollout.FindSubmatch(line)
		idx := 0
		if m != nil {
			idx, _ = strconv.Atoi(string(m[1]))
			if idx == 1 && next > 1 {
				pass++
				next = 1
			}
		}
		if m != nil && idx == next {
			next++
			if err := open.close(s); err != nil {
				return err
			}
			open = dumpedRollout{place: place, text: open.text[:0], fields: record{
				{"idx", value(m[1])},
				{"of", value(m[2])},
				{"seqlen", value(m[3])},
				{"reward", dumped(string(m[4]))},
				{"pass", value(strconv.Itoa(pass))},
			}}
		} else if err := open.add(line); err != nil {
			return err
		}
		if err != nil {
			if err := open.close(s); err != nil {
				return err
			}
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return s.torn(place, true, err)
		}
		if err != nil {
			return nil
		}
	}
}

// A dumpedRollout is a rollout of a dump whose texts are being read.
type dumpedRollout struct {
	place  int
	fields record // nil before the first one
	text   []byte // the lines under the opening one
}

// add takes a line under the opening one.
func (d *dumpedRollout) add(line []byte) error {
	if len(d.text)+len(line) > maxRecord {
		return fmt.Errorf("line %d: a rollout is longer than %d bytes", d.place, maxRecord)
	}
	d.text = append(d.text, line...)
	return nil
}

// close hands the rollout to s, with what follows the heading of its sequence.
func (d *dumpedRollout) close(s sink) error {
	if d.fields == nil {
		return nil
	}
	if _, text, ok := bytes.Cut(d.text, []byte("sequence is: \n")); ok {
		text = colours.ReplaceAll(bytes.TrimSuffix(text, []byte("\n")), nil)
		d.fields = append(d.fields, field{"completion", quote(string(text))})
	}
	return s.record(d.fields, d.place)
}

// colours are the codes that the dump colours texts with.
var colours = regexp.MustCompile(`\x1b\[\d*m`)

// dumped returns a reward as Python printed it.
func dumped(text string) value {
	if literal(text) {
		return value(text)
	}
	return quote(text)
}
