package plots

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
)

var (
	creationDate = regexp.MustCompile(`/CreationDate\(D:[0-9Z+-]*\)`)
	startXref    = regexp.MustCompile(`startxref\n([0-9]{1,10})\n%%EOF\s*$`)
	xrefTable    = regexp.MustCompile(`^xref\n0 [0-9]+\n((?:[0-9]{10} [0-9]{5} [nf] \n)+)(?s:(trailer\n.*))startxref\n`)
	streamStart  = regexp.MustCompile(`/Length ([0-9]{1,10})>>stream\n`)
)

var errLayout = errors.New("the layout of the PDF is not that of its writer")

// timeless takes out of a PDF what tells when it was made, so that equal figures
// are equal files: the creation date, and the date at which each font subset was
// cut. Objects change their length, so the cross references are written anew.
func timeless(doc []byte) ([]byte, error) {
	start := startXref.FindSubmatch(doc)
	if start == nil {
		return nil, errLayout
	}
	xref, _ := strconv.Atoi(string(start[1])) // digits by the pattern
	if xref > len(doc) {
		return nil, errLayout
	}
	table := xrefTable.FindSubmatch(doc[xref:])
	if table == nil {
		return nil, errLayout
	}
	objects, err := splitObjects(doc[:xref], table[1])
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	out.Write(doc[:objects[0].at])
	moved := make([]int, len(objects)+1)
	for _, o := range objects {
		moved[o.number] = out.Len()
		body, err := fixedFont(creationDate.ReplaceAll(o.body, nil))
		if err != nil {
			return nil, err
		}
		out.Write(body)
	}
	xref = out.Len()
	fmt.Fprintf(&out, "xref\n0 %d\n0000000000 65535 f \n", len(moved))
	for _, at := range moved[1:] {
		fmt.Fprintf(&out, "%010d 00000 n \n", at)
	}
	out.Write(table[2])
	fmt.Fprintf(&out, "startxref\n%d\n%%%%EOF\n", xref)
	return out.Bytes(), nil
}

// An object of a PDF and the place where it begins.
type object struct {
	number, at int
	body       []byte
}

// splitObjects returns the objects in the order of the file. entries are the
// lines of the cross-reference table, the first that of object 0.
func splitObjects(doc, entries []byte) ([]object, error) {
	const line = len("0000000000 00000 n \n")
	var objects []object
	for number := 1; number*line < len(entries); number++ {
		at, _ := strconv.Atoi(string(entries[number*line : number*line+10]))
		if at > len(doc) || !bytes.HasPrefix(doc[at:], fmt.Appendf(nil, "%d 0 obj\n", number)) {
			return nil, errLayout
		}
		objects = append(objects, object{number: number, at: at})
	}
	if len(objects) == 0 {
		return nil, errLayout
	}
	slices.SortFunc(objects, func(a, b object) int { return a.at - b.at })
	for i := range objects {
		end := len(doc)
		if i+1 < len(objects) {
			end = objects[i+1].at
		}
		objects[i].body = doc[objects[i].at:end]
	}
	return objects, nil
}

// fixedFont returns the object, and where its stream is a TrueType font the font
// with the date of its making as that of its last change.
func fixedFont(body []byte) ([]byte, error) {
	m := streamStart.FindSubmatchIndex(body)
	if m == nil {
		return body, nil
	}
	length, _ := strconv.Atoi(string(body[m[2]:m[3]]))
	if m[1]+length > len(body) {
		return nil, errLayout
	}
	r, err := zlib.NewReader(bytes.NewReader(body[m[1] : m[1]+length]))
	if err != nil {
		return body, nil // not compressed: no font
	}
	font, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(font, []byte("\x00\x01\x00\x00")) {
		return body, nil
	}
	head, ok := sfntTable(font, "head")
	if !ok {
		return nil, errors.New("a font has no table head")
	}
	stampHead(font, head)
	var packed bytes.Buffer
	w := zlib.NewWriter(&packed)
	if _, err := w.Write(font); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	out.Write(body[:m[2]])
	fmt.Fprintf(&out, "%d>>stream\n", packed.Len())
	out.Write(packed.Bytes())
	out.Write(body[m[1]+length:])
	return out.Bytes(), nil
}

// A tableAt is the place of a table in a font, and that of its entry in the
// directory.
type tableAt struct{ entry, at, length int }

// sfntTable finds a table of an OpenType font that is long enough for a head.
func sfntTable(font []byte, tag string) (tableAt, bool) {
	const directory, entry, headLength = 12, 16, 54
	for i := directory; i+entry <= len(font); i += entry {
		if string(font[i:i+4]) != tag {
			continue
		}
		t := tableAt{i, int(binary.BigEndian.Uint32(font[i+8:])), int(binary.BigEndian.Uint32(font[i+12:]))}
		return t, t.length >= headLength && t.at+t.length <= len(font)
	}
	return tableAt{}, false
}

// stampHead sets the date of the last change (28 bytes into the table) to that
// of the font's making (20 bytes in) and mends both checksums (OpenType
// specification, "head" and "Calculating checksums").
func stampHead(font []byte, head tableAt) {
	table := font[head.at : head.at+head.length]
	adjustment := table[8:12]
	copy(table[28:36], table[20:28])
	binary.BigEndian.PutUint32(adjustment, 0)
	binary.BigEndian.PutUint32(font[head.entry+4:], wordSum(table))
	binary.BigEndian.PutUint32(adjustment, 0xB1B0AFBA-wordSum(font))
}

// wordSum adds up the 32-bit words of b, the last filled up with zeros.
func wordSum(b []byte) uint32 {
	var sum uint32
	for len(b) >= 4 {
		sum += binary.BigEndian.Uint32(b)
		b = b[4:]
	}
	var last [4]byte
	copy(last[:], b)
	return sum + binary.BigEndian.Uint32(last[:])
}
