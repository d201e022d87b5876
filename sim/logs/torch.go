package logs

import (
	"archive/zip"
	"bufio"
	"errors"
	"fmt"
	"io"
	"path"
)

// readTorch hands the samples of what torch.save wrote to s, each as a record
// of its own beside the other keys. The file is a zip archive around a pickle.
func readTorch(r io.ReaderAt, size int64, s sink) error {
	archive, err := zip.NewReader(r, size)
	if err != nil {
		return fmt.Errorf("a zip archive that cannot be read: %w", err)
	}
	for _, f := range archive.File {
		if path.Base(f.Name) != "data.pkl" {
			continue
		}
		in, err := f.Open()
		if err != nil {
			return err
		}
		defer in.Close() // only read
		text := bufio.NewReader(in)
		x, err := unpickle(text)
		if err == nil {
			err = drain(text)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
		return samplesOf(x, maxSample+repeats*int(min(f.UncompressedSize64, maxPickle)), s)
	}
	return errKind("a zip archive without a data.pkl, which torch.save writes")
}

// drain reads what follows a pickle: the archive checks its sum at the end.
func drain(r io.Reader) error {
	n, err := io.CopyN(io.Discard, r, maxPickle)
	if err == io.EOF {
		return nil
	}
	if err == nil {
		err = fmt.Errorf("more than %d bytes after the end of the pickle", n)
	}
	return err
}

// samplesOf hands an object with a list of samples to s, one at a time, each
// beside the numbers of the object: nothing asks for what else it holds.
//
// Their text is at most most bytes, which bounds the time that references to one
// sample may take.
func samplesOf(x any, most int, s sink) error {
	object, ok := x.(*pickledDict)
	if !ok {
		return errKind("a pickle of something else than a dict")
	}
	var samples *pickledList
	rest := &pickledDict{}
	for _, item := range object.items {
		if list, ok := item.value.(*pickledList); ok && item.key == "samples" {
			samples = list
			continue
		}
		switch item.value.(type) {
		case int64, float64:
			rest.items = append(rest.items, item)
		}
	}
	if samples == nil {
		_, err := handOver(object, 1, s)
		return err
	}
	total := 0
	for i, one := range samples.items {
		whole := &pickledDict{append(rest.items[:len(rest.items):len(rest.items)], pickledItem{"samples", &pickledList{items: []any{one}}})}
		n, err := handOver(whole, i+1, s)
		if err != nil {
			return err
		}
		if total += n; total > most {
			return fmt.Errorf("a pickle whose samples repeat each other in more than %d bytes of text", most)
		}
	}
	return nil
}

// repeats is how often the text of samples may be longer than their pickle: what
// samples of a group share is written once, but not the tokens of each.
const repeats = 64

// handOver hands one object to s and returns the length of its text.
func handOver(object *pickledDict, place int, s sink) (int, error) {
	text, err := appendPickled(nil, object, 0)
	if err != nil {
		return 0, err
	}
	r, err := record(nil).parse(string(text))
	if err != nil {
		return 0, err
	}
	return len(text), s.record(r, place)
}

// The containers of a pickle.
type (
	pickledList struct{ items []any }
	pickledDict struct{ items []pickledItem }
	pickledItem struct {
		key   string
		value any
	}

	// pickledCode stands for what only code could make: its name is kept, and it
	// is never looked up or run.
	pickledCode struct{ name string }
)

// codeKey is the key of the name of what only code could make.
const codeKey = "#code"

// maxNumbers is how many numbers of a list are kept. Tokens and their
// log-probabilities are most of such a file, and no table asks for them.
const maxNumbers = 64

func (l *pickledList) append(items ...any) {
	for _, x := range items {
		switch x.(type) {
		case int64, float64, bool:
			if len(l.items) >= maxNumbers {
				continue
			}
		}
		l.items = append(l.items, x)
	}
}

// maxSample bounds the text of one sample: its prompt and answer, but no tokens.
// References make a short pickle a long text.
const maxSample = 1 << 23

// appendPickled appends the JSON text of a value.
func appendPickled(b []byte, x any, depth int) ([]byte, error) {
	if depth > maxDepth || len(b) > maxSample {
		return nil, errors.New("a pickle that holds itself, or a sample of too much text")
	}
	var err error
	switch x := x.(type) {
	case *pickledList:
		b = append(b, '[')
		for i, e := range x.items {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = appendPickled(b, e, depth+1); err != nil {
				return nil, err
			}
		}
		return append(b, ']'), nil
	case *pickledDict:
		b = append(b, '{')
		for i, item := range x.items {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(append(b, quote(item.key)...), ':')
			if b, err = appendPickled(b, item.value, depth+1); err != nil {
				return nil, err
			}
		}
		return append(b, '}'), nil
	case *pickledCode:
		return append(append(append(b, `{"`+codeKey+`":`...), quote(x.name)...), '}'), nil
	}
	v, err := jsonText(x)
	return append(b, v...), err
}
