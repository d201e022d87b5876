package logs

import (
	"bufio"
	"errors"
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
	next, pass := 1, 0
	for place := 1; ; place++ {
		var err error
		line, err = readLine(in, line[:0])
		if err != nil && !ended(err) {
			return err
		}
		if m := rollout.FindSubmatch(line); m != nil {
			idx, _ := strconv.Atoi(string(m[1]))
			if idx == 1 && next > 1 {
				pass++
				next = 1
			}
			if idx == next {
				next++
				if err := s.record(record{
					{"idx", value(m[1])},
					{"of", value(m[2])},
					{"seqlen", value(m[3])},
					{"reward", dumped(string(m[4]))},
					{"pass", value(strconv.Itoa(pass))},
				}, place); err != nil {
					return err
				}
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

// dumped returns a reward as Python printed it.
func dumped(text string) value {
	if literal(text) {
		return value(text)
	}
	return quote(text)
}
