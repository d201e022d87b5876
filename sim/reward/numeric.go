package reward

import (
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"vigorlab/distributions/spec"
)

// numeric takes a completion for right if its last number x and the last number
// a of the answer agree: |x - a| <= tolerance·|a|, in exact arithmetic. Two whole
// numbers must be equal, unless integers=tolerance. Where one alone is a
// percentage, it may be meant either way: 50 % agrees with 0.5 and with 50.
type numeric struct {
	tolerance *big.Rat
	integers  bool // whole numbers must be equal
	strict    bool
	spec      string
}

var numericInfo = Info{
	Name: "numeric", Form: "numeric:tolerance=1e-6",
	Doc: "the last number of the completion is that of the answer: decimals, fractions, mixed numbers, separators of thousands, percent, powers of ten",
	Parameters: []spec.Parameter{
		{Name: "tolerance", Default: "1e-06", Range: "[0, 1)", Doc: "largest difference, as a share of the answer"},
		{Name: "integers", Default: "exact", Range: "exact or tolerance", Doc: "whether two whole numbers must be equal, or the tolerance holds for them too"},
		truncatedParameter,
	},
	Provenance: "own",
}

func readNumeric(text string) (Verifier, error) {
	return readPlain(text, func(a *spec.Args) judge {
		tolerance := a.Float("tolerance", 1e-6, "[0, 1)", func(x float64) bool { return x >= 0 && x < 1 })
		n := numeric{
			tolerance: new(big.Rat).SetFloat64(tolerance), // nil for NaN, which Args reports
			integers:  a.Choice("integers", "exact", "exact", "tolerance") == "exact",
			strict:    strict(a),
		}
		n.spec = a.Normal().String()
		return n
	})
}

func (n numeric) String() string { return n.spec }

func (numeric) needsAnswer() bool { return true }

func (n numeric) judge(item Item) Grade {
	if n.strict && item.Truncated {
		return cutOff()
	}
	want, err := lastNumber(item.Answer)
	if err != nil {
		return cannotTell("answer: %v", err)
	}
	got, err := lastNumber(item.Completion)
	switch {
	case err == errNoNumber:
		return right(false, "%v", err)
	case err != nil:
		return cannotTell("%v", err)
	}
	return right(n.agree(got, want), "%s against %s", brief(got.text), brief(want.text))
}

func (n numeric) agree(got, want number) bool {
	if n.close(got.value, want.value) {
		return true
	}
	hundredth := big.NewRat(1, 100)
	switch {
	case got.percent && !want.percent:
		return n.close(new(big.Rat).Mul(got.value, hundredth), want.value)
	case want.percent && !got.percent:
		return n.close(got.value, new(big.Rat).Mul(want.value, hundredth))
	}
	return false
}

func (n numeric) close(got, want *big.Rat) bool {
	if n.integers && got.IsInt() && want.IsInt() {
		return got.Cmp(want) == 0
	}
	difference := new(big.Rat).Sub(got, want)
	limit := new(big.Rat).Mul(n.tolerance, want)
	return difference.Abs(difference).Cmp(limit.Abs(limit)) <= 0
}

// A number is what lastNumber found.
type number struct {
	text    string
	value   *big.Rat // of 50 %: 50
	percent bool
}

// plainly writes the signs of LaTeX and of typesetting as a keyboard has them.
var plainly = strings.NewReplacer("−", "-", "{,}", ",", `\,`, ",", `\!`, "", `\%`, "%", `\$`, "$",
	`\dfrac`, `\frac`, `\tfrac`, `\frac`, "×", "*", "·", "*", `\times`, "*", `\cdot`, "*", "**", "^")

// rewrites bring fractions and powers of ten into the forms 1 3/4 and 1e-3.
var rewrites = []struct {
	pattern *regexp.Regexp
	by      string
}{
	{regexp.MustCompile(`\\frac\s*(\d)\s*(\d)`), `\frac{$1}{$2}`},
	{regexp.MustCompile(`(\d)\s*\\frac\s*\{\s*(\d+)\s*\}\s*\{\s*(\d+)\s*\}`), `$1 $2/$3`},
	{regexp.MustCompile(`\\frac\s*\{\s*(-?\d+)\s*\}\s*\{\s*(\d+)\s*\}`), `$1/$2`},
	{regexp.MustCompile(`(\d)\s*[x*]\s*10\s*\^\s*\{?([-+]?\d+)\}?`), `${1}e$2`},
	{regexp.MustCompile(`\b10\s*\^\s*\{?([-+]?\d+)\}?`), `1e$1`},
}

// digits are those of a decimal, in groups of three or not.
const digits = `(?:\d{1,3}(?:[,\x{a0}\x{2009}\x{202f}]\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)`

var numberPattern = regexp.MustCompile(`(-?)[$€£]?(-?)` +
	`(?:(\d+) (\d+/\d+)|(` + digits + `(?:[eE][-+]?\d+)?)(?:\s*/\s*(` + digits + `))?)` +
	`(\s*%|\s*per\s?cent\b)?`)

// errNoNumber says that a text has no number.
var errNoNumber = errors.New("no number")

// Exact arithmetic stays short within these: no answer is longer.
const (
	maxDigits   = 100
	maxExponent = 1000
)

// lastNumber finds the last number of a text. It fails with errNoNumber where
// there is none, and otherwise where what is there can be read in two ways (a
// decimal comma or two numbers), is a power or is too long.
//
// It reads the neighbourhood of the last digit, which holds any number of
// maxDigits digits, and the whole text only where that has none.
func lastNumber(text string) (number, error) {
	const before, after = 2 * maxDigits, 16
	last := strings.LastIndexAny(text, "0123456789")
	begin, end := max(0, last-before), min(len(text), last+after)
	if space := strings.IndexAny(text[begin:end], " \n\t"); begin > 0 && space >= 0 {
		begin += space // not into the middle of H2O
	}
	n, err := lastNumberOf(text[begin:end])
	if err == errNoNumber && begin > 0 {
		return lastNumberOf(text)
	}
	return n, err
}

func lastNumberOf(text string) (number, error) {
	text = plainly.Replace(text)
	for _, r := range rewrites {
		text = r.pattern.ReplaceAllString(text, r.by)
	}
	matches := numberPattern.FindAllStringSubmatchIndex(text, -1)
	for i := len(matches) - 1; i >= 0; i-- {
		m := matches[i]
		before, _ := utf8.DecodeLastRuneInString(text[:m[0]])
		if text[m[0]] != '-' && unicode.IsLetter(before) || text[m[0]] == '.' && unicode.IsDigit(before) {
			continue // the 2 of H2O, the .3 of 1.2.3
		}
		return readNumber(text, m)
	}
	return number{}, errNoNumber
}

// readNumber reads the match m of numberPattern.
func readNumber(text string, m []int) (number, error) {
	group := func(i int) string {
		if m[2*i] < 0 {
			return ""
		}
		return text[m[2*i]:m[2*i+1]]
	}
	n := number{text: group(0), percent: group(7) != ""}
	before, after := text[:m[0]], text[m[1]:]
	switch {
	case strings.HasSuffix(before, ",") && endsInDigit(before[:len(before)-1]):
		return n, fmt.Errorf("%s has a decimal comma or is two numbers", brief(text[m[0]-2:m[1]]))
	case strings.HasSuffix(strings.TrimRight(before, "{ "), "^") || strings.HasPrefix(strings.TrimLeft(after, " "), "^"):
		return n, fmt.Errorf("%s belongs to a power", brief(n.text))
	case len(n.text) > maxDigits:
		return n, fmt.Errorf("%s is longer than %d characters", brief(n.text), maxDigits)
	}
	var ok bool
	if n.value, ok = value(group(3), group(4), group(5), group(6)); !ok {
		return n, fmt.Errorf("%s is no number, or one beyond 1e±%d", brief(n.text), maxExponent)
	}
	// A minus that stands between two things subtracts: 5-3 ends in 3.
	last, _ := utf8.DecodeLastRuneInString(before)
	subtracts := group(1) != "" && (unicode.IsLetter(last) || unicode.IsDigit(last) || strings.ContainsRune(")]}", last))
	if group(2) != "" || group(1) != "" && !subtracts {
		n.value.Neg(n.value)
	}
	return n, nil
}

// value returns whole + part where there is a part, else mantissa / divisor,
// whose "" stands for 1.
func value(whole, part, mantissa, divisor string) (*big.Rat, bool) {
	if part == "" {
		x, ok := decimal(mantissa)
		if !ok || divisor == "" {
			return x, ok
		}
		d, ok := decimal(divisor)
		if !ok || d.Sign() == 0 {
			return nil, false
		}
		return x.Quo(x, d), true
	}
	x, ok := new(big.Rat).SetString(part) // fails where it divides by zero
	w, wholeOK := decimal(whole)
	if !ok || !wholeOK {
		return nil, false
	}
	return x.Add(x, w), true
}

// decimal reads a number with or without separators of thousands and exponent.
func decimal(text string) (*big.Rat, bool) {
	text = strings.Map(func(r rune) rune {
		if r == ',' || unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text)
	if _, exponent, ok := strings.Cut(strings.ToLower(text), "e"); ok {
		if e, err := strconv.Atoi(exponent); err != nil || e < -maxExponent || e > maxExponent {
			return nil, false
		}
	}
	return new(big.Rat).SetString(text)
}

func endsInDigit(text string) bool {
	r, _ := utf8.DecodeLastRuneInString(text)
	return unicode.IsDigit(r)
}
