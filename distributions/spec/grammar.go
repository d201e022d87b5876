// Package spec holds the grammar of specs, `name:key=value,key=value`, and
// turns population specs into laws. It refuses to open files by itself: the
// caller hands it an Opener.
package spec

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"

	"vigorlab/distributions"
)

// An Opener opens a file that a spec names, as os.Open does.
type Opener func(path string) (io.ReadCloser, error)

// maxFile bounds what `@FILE` may bring in: a spec is a line, not a data set.
const maxFile = 1 << 20

// A Spec is a parsed spec: a name and its parameters as typed, in order.
type Spec struct {
	Name   string
	Params []Param
}

// A Param is one key=value pair.
type Param struct{ Key, Value string }

// Parse reads `name` or `name:key=value,key=value`. It checks the form alone:
// which names and keys exist is for the reader of the Spec. All faults are
// reported at once.
func Parse(text string) (Spec, error) {
	text = strings.TrimSpace(text)
	name, body, colon := strings.Cut(text, ":")
	s := Spec{Name: strings.TrimSpace(name)}
	if !isWord(s.Name) {
		return Spec{}, fmt.Errorf("%.80q has no name, want NAME or NAME:KEY=VALUE,KEY=VALUE", text)
	}
	if !colon {
		return s, nil
	}
	var errs []error
	for field := range strings.SplitSeq(body, ",") {
		key, value, equals := strings.Cut(field, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		switch {
		case !equals || !isWord(key) || !isValue(value):
			errs = append(errs, fmt.Errorf("%s: %.80q, want KEY=VALUE", s.Name, strings.TrimSpace(field)))
		case slices.ContainsFunc(s.Params, func(p Param) bool { return p.Key == key }):
			errs = append(errs, fmt.Errorf("%s: %s is given twice, want it once", s.Name, key))
		default:
			s.Params = append(s.Params, Param{key, value})
		}
	}
	return s, errors.Join(errs...)
}

// isWord reports whether a name or key is made of letters, digits, - and _,
// at most 64 of them.
func isWord(text string) bool {
	return text != "" && len(text) <= 64 && !strings.ContainsFunc(text, func(r rune) bool {
		return r != '-' && r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}

// isValue reports whether a value is proper text on one line.
func isValue(text string) bool {
	return text != "" && utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}

// String prints the spec; it parses back to itself.
func (s Spec) String() string {
	if len(s.Params) == 0 {
		return s.Name
	}
	fields := make([]string, len(s.Params))
	for i, p := range s.Params {
		fields[i] = p.Key + "=" + p.Value
	}
	return s.Name + ":" + strings.Join(fields, ",")
}

// Expand returns text itself, or, for `@FILE`, the spec that the file holds:
// its content without a byte order mark and surrounding space. It fails where
// the file cannot be read, is longer than 1 MiB or names a further file.
func Expand(text string, open Opener) (string, error) {
	path, ok := strings.CutPrefix(strings.TrimSpace(text), "@")
	if !ok {
		return text, nil
	}
	f, err := open(path)
	if err != nil {
		return "", err
	}
	defer f.Close() // only read
	content, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	if len(content) > maxFile {
		return "", fmt.Errorf("%s: longer than %d bytes, want one spec", path, maxFile)
	}
	expanded := strings.TrimSpace(strings.TrimPrefix(string(content), "\ufeff"))
	if strings.HasPrefix(expanded, "@") {
		return "", fmt.Errorf("%s: names a further file, want a spec", path)
	}
	return expanded, nil
}

// Args reads the parameters of a Spec by type and range, collects every fault,
// and writes down the normalised spec as it goes. Err reports every fault, and
// the keys that no getter asked for.
type Args struct {
	spec   Spec
	read   []string // the keys asked for, in order
	normal []Param
	faulty []string // the keys that a fault was reported for
	errs   []error
}

// NewArgs starts reading s.
func NewArgs(s Spec) *Args { return &Args{spec: s} }

// Text returns the value of key as typed, and whether it was given.
func (a *Args) Text(key string) (string, bool) {
	if !slices.Contains(a.read, key) {
		a.read = append(a.read, key)
	}
	for _, p := range a.spec.Params {
		if p.Key == key {
			return p.Value, true
		}
	}
	return "", false
}

// Keep records key=value in the normalised spec.
func (a *Args) Keep(key, value string) { a.normal = append(a.normal, Param{key, value}) }

// Fault reports a value outside its range; a long text is cut.
func (a *Args) Fault(key string, value any, want string) {
	if text, ok := value.(string); ok && len(text) > 80 {
		value = fmt.Sprintf("%.80s...", text)
	}
	a.faulty = append(a.faulty, key)
	a.errs = append(a.errs, fmt.Errorf("%s: %s = %v, want %s", a.spec.Name, key, value, want))
}

// Add reports faults that something else found, each under the spec's name.
// A value that was reported already, and so handed on as NaN, is not reported
// again.
func (a *Args) Add(err error) {
	if outside, ok := err.(*distributions.RangeError); ok {
		if !slices.Contains(a.faulty, outside.Field) {
			a.Fault(outside.Field, outside.Value, outside.Want)
		}
		return
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			a.Add(e)
		}
		return
	}
	if err != nil {
		a.errs = append(a.errs, fmt.Errorf("%s: %w", a.spec.Name, err))
	}
}

// Float reads a finite number that ok accepts; want describes the range. A
// missing key takes the default, or is a fault where there is none (NaN). It
// returns NaN for what is at fault.
func (a *Args) Float(key string, missing float64, want string, ok func(float64) bool) float64 {
	text, given := a.Text(key)
	if !given {
		if math.IsNaN(missing) {
			a.faulty = append(a.faulty, key)
			a.errs = append(a.errs, fmt.Errorf("%s: %s is missing, want %s", a.spec.Name, key, want))
			return missing
		}
		a.Keep(key, FormatFloat(missing))
		return missing
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) || !ok(x) {
		a.Fault(key, text, want)
		return math.NaN()
	}
	if x == 0 {
		x = 0 // -0 is typed by mistake at most
	}
	a.Keep(key, FormatFloat(x))
	return x
}

// Int reads a whole number in [low, high]. A missing key takes the default, and
// so does one at fault.
func (a *Args) Int(key string, missing, low, high int) int {
	text, given := a.Text(key)
	x := missing
	if given {
		var err error
		if x, err = strconv.Atoi(text); err != nil || x < low || x > high {
			a.Fault(key, text, fmt.Sprintf("a whole number in [%d, %d]", low, high))
			return missing
		}
	}
	a.Keep(key, strconv.Itoa(x))
	return x
}

// Choice reads one of the known words. A missing key takes the default, and so
// does one at fault.
func (a *Args) Choice(key, missing string, known ...string) string {
	text, given := a.Text(key)
	if !given {
		text = missing
	}
	if !slices.Contains(known, text) {
		want := "one of " + strings.Join(known, ", ")
		if near, ok := Nearest(text, known); ok {
			want += fmt.Sprintf(" (did you mean %s?)", near)
		}
		a.Fault(key, text, want)
		return missing
	}
	a.Keep(key, text)
	return text
}

// Err reports every fault so far, and every key that no getter asked for, with
// the nearest known one.
func (a *Args) Err() error {
	errs := slices.Clone(a.errs)
	for _, p := range a.spec.Params {
		if slices.Contains(a.read, p.Key) {
			continue
		}
		known := "no parameters"
		if len(a.read) > 0 {
			known = "one of " + strings.Join(a.read, ", ")
		}
		if near, ok := Nearest(p.Key, a.read); ok {
			known += fmt.Sprintf(" (did you mean %s?)", near)
		}
		errs = append(errs, fmt.Errorf("%s: unknown parameter %s, want %s", a.spec.Name, p.Key, known))
	}
	return errors.Join(errs...)
}

// Normal returns the normalised spec: every parameter that was read, defaults
// included, in the order of reading.
func (a *Args) Normal() Spec { return Spec{a.spec.Name, a.normal} }

// UnknownName is the error for a name that is none of known, with the nearest.
func UnknownName(name string, known []string) error {
	want := "one of " + strings.Join(known, ", ")
	if near, ok := Nearest(name, known); ok {
		want += fmt.Sprintf(" (did you mean %s?)", near)
	}
	return fmt.Errorf("unknown name %.80q, want %s", name, want)
}

// Nearest returns the known word with the smallest edit distance to word, if
// that is at most two, or a third of the word's length where that is more, and less than
// half of the longer word's: ppo is not m2po. Two letters may always change places.
func Nearest(word string, known []string) (string, bool) {
	if len(word) > 80 {
		return "", false
	}
	word = strings.ToLower(word)
	best, distance := "", max(2, len(word)/3)+1
	for _, k := range known {
		d := levenshtein.ComputeDistance(word, k)
		if near := 2*d < max(len(word), len(k)) || letters(word) == letters(k); near && d < distance {
			best, distance = k, d
		}
	}
	return best, best != ""
}

// letters returns the letters of a word in order.
func letters(word string) string {
	l := []rune(word)
	slices.Sort(l)
	return string(l)
}

// FormatFloat prints x with the fewest digits that parse back to x.
func FormatFloat(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
