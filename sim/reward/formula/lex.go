package formula

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A tokenKind says what a token is.
type tokenKind int

const (
	tokenEnd     tokenKind = iota
	tokenNumber            // 12, 3.5, .5, 2e-3
	tokenLetter            // one letter, or the name of a Greek one
	tokenWord              // text
	tokenCommand           // a LaTeX command or the name of a function, without the backslash
	tokenSymbol            // everything else
)

// A token is the smallest part of a formula.
type token struct {
	kind   tokenKind
	text   string
	spaced bool // white space stands before it
}

// Limits that bound the time of a comparison, whatever the text.
const (
	maxText   = 2000 // bytes of an answer
	maxTokens = 1000
	maxNodes  = 400  // parts of a formula
	maxDepth  = 40   // nested brackets
	maxItems  = 24   // of a list
	maxWork   = 4000 // factors of factorials
	maxPairs  = 1000 // parts compared with parts
	maxVisits = 8000 // parts evaluated, at all points together
)

var errTooLong = errors.New("too long")

// signs writes typeset characters as LaTeX has them.
var signs = strings.NewReplacer(
	"−", "-", "–", "-", "×", `\times `, "÷", "/", "·", `\cdot `, "∙", `\cdot `, "√", `\sqrt `, "π", `\pi `, "∞", `\infty `,
	"°", `^\circ `, "≤", `\le `, "≥", `\ge `, "≠", `\ne `, "≈", `\approx `, "∪", `\cup `, "∈", `\in `, "±", `\pm `, "∓", `\mp `,
	"½", `\frac{1}{2}`, "¼", `\frac{1}{4}`, "¾", `\frac{3}{4}`, "⅓", `\frac{1}{3}`, "⅔", `\frac{2}{3}`,
	"⅕", `\frac{1}{5}`, "⅖", `\frac{2}{5}`, "⅗", `\frac{3}{5}`, "⅘", `\frac{4}{5}`, "⅙", `\frac{1}{6}`, "⅚", `\frac{5}{6}`,
	"⅛", `\frac{1}{8}`, "⅜", `\frac{3}{8}`, "⅝", `\frac{5}{8}`, "⅞", `\frac{7}{8}`,
	"∅", `\emptyset `, "ℝ", `\mathbb{R}`, "θ", `\theta `, "α", `\alpha `, "β", `\beta `, "λ", `\lambda `, "φ", `\phi `,
	"’", "'", "′", "'", "\u00a0", " ", "\u2009", " ", "\u202f", " ",
	"⟨", `\langle `, "⟩", `\rangle `, "**", "^", "≡", "=",
	"<=", `\le `, ">=", `\ge `, "!=", `\ne `,
)

// raised and lowered are digits typeset as powers and indices.
var (
	raised     = regexp.MustCompile(`[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+`)
	lowered    = regexp.MustCompile(`[₀₁₂₃₄₅₆₇₈₉]+`)
	flatDigits = strings.NewReplacer("⁻", "-", "⁰", "0", "¹", "1", "²", "2", "³", "3", "⁴", "4", "⁵", "5", "⁶", "6", "⁷", "7", "⁸", "8", "⁹", "9",
		"₀", "0", "₁", "1", "₂", "2", "₃", "3", "₄", "4", "₅", "5", "₆", "6", "₇", "7", "₈", "8", "₉", "9")
)

// plain writes what is typeset in one line.
func plain(text string) string {
	for sign, digits := range map[string]*regexp.Regexp{"^": raised, "_": lowered} {
		text = digits.ReplaceAllStringFunc(text, func(d string) string { return sign + "{" + flatDigits.Replace(d) + "}" })
	}
	return signs.Replace(text)
}

// ignored are commands that change nothing of what is meant.
var ignored = words(`left right big Big bigg Bigg bigl bigr Bigl Bigr displaystyle textstyle limits quad qquad , ; : space
 thinspace allowbreak nobreak middle`)

// texts are commands whose argument is text, or a formula in another type.
var texts = words(`text textbf textit textrm textsf texttt mathrm mathbf mathit mathsf mathtt mbox hbox boldsymbol bm operatorname
 emph underline boxed fbox`)

// synonyms are commands that mean the same.
var synonyms = map[string]string{
	"dfrac": "frac", "tfrac": "frac", "cfrac": "frac", "leq": "le", "geq": "ge", "leqslant": "le", "geqslant": "ge", "lt": "<", "gt": ">",
	"neq": "ne", "cdot": "*", "times": "*", "ast": "*", "div": "/", "lbrace": `\{`, "rbrace": `\}`, "{": `\{`, "}": `\}`,
	"lvert": "|", "rvert": "|", "vert": "|", "mid": "|", "lbrack": "[", "rbrack": "]", "dbinom": "binom", "tbinom": "binom",
	"varnothing": "emptyset", "varphi": "phi", "varepsilon": "epsilon", "vartheta": "theta", "to": "rightarrow", "simeq": "approx",
	"land": "and", "lor": "or", "wedge": "and", "vee": "or", "degree": "circ", "lg": "lg", "arccosine": "arccos", "bigcup": "cup",
	"infin": "infty", "inf": "infty", "infinity": "infty", "asin": "arcsin", "acos": "arccos", "atan": "arctan",
	"le": "le", "ge": "ge", "union": "cup", "equiv": "=", "tg": "tan", "ctg": "cot", "in": "element",
}

// greek are letters by name.
var greek = words(`alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi rho sigma tau upsilon phi chi psi omega
 Gamma Delta Theta Lambda Xi Sigma Upsilon Phi Psi Omega ell hbar`)

// spoken are commands that plain text names without a backslash.
var spoken = words(`sin cos tan cot sec csc arcsin arccos arctan asin acos atan sinh cosh tanh log ln lg exp sqrt pi infinity inf
 theta alpha beta lambda gamma union floor ceil abs`)

// words splits a list into a set.
func words(list string) map[string]bool {
	set := make(map[string]bool)
	for _, w := range strings.Fields(list) {
		set[w] = true
	}
	return set
}

// A lexer cuts a text into tokens.
type lexer struct {
	text   string
	tokens []token
	spaced bool
	dollar bool // a $ is money and delimits no formula
}

// tokens cuts an answer into tokens.
func tokens(text string) ([]token, error) {
	if len(text) > maxText {
		return nil, fmt.Errorf("%w: more than %d bytes", errTooLong, maxText)
	}
	l := &lexer{text: plain(text)}
	l.dollar = strings.Count(strings.ReplaceAll(l.text, `\$`, ""), "$") == 1
	if err := l.run(0); err != nil {
		return nil, err
	}
	return l.tokens, nil
}

// run cuts the rest of the text, inside depth commands of text.
func (l *lexer) run(depth int) error {
	for l.text != "" {
		if len(l.tokens) > maxTokens || depth > maxDepth {
			return fmt.Errorf("%w: more than %d parts", errTooLong, maxTokens)
		}
		r, size := utf8.DecodeRuneInString(l.text)
		switch {
		case unicode.IsSpace(r) || r == '~':
			l.text, l.spaced = l.text[size:], true
		case r == '$':
			l.text = l.text[size:]
			if l.dollar {
				l.add(tokenSymbol, `\$`)
			}
		case r == '\\':
			if err := l.command(depth); err != nil {
				return err
			}
		case isDigit(r) || r == '.' && len(l.text) > 1 && isDigit(rune(l.text[1])):
			l.number()
		case unicode.IsLetter(r):
			l.letters()
		default:
			l.text = l.text[size:]
			l.add(tokenSymbol, string(r))
		}
	}
	return nil
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

func (l *lexer) add(kind tokenKind, text string) {
	l.tokens = append(l.tokens, token{kind, text, l.spaced})
	l.spaced = false
}

// number cuts a number; 2e-3 is one, 2e and 2e^3 are not.
func (l *lexer) number() {
	i := 0
	digits := func() {
		for i < len(l.text) && isDigit(rune(l.text[i])) {
			i++
		}
	}
	digits()
	if i+1 < len(l.text) && l.text[i] == '.' && isDigit(rune(l.text[i+1])) || i == 0 || i+1 < len(l.text) && l.text[i] == '.' && l.text[i+1] == '\\' {
		i++
		digits()
	}
	if mantissa := i; i+1 < len(l.text) && (l.text[i] == 'e' || l.text[i] == 'E') {
		i++
		if l.text[i] == '-' || l.text[i] == '+' {
			i++
		}
		begin := i
		if digits(); i == begin {
			i = mantissa
		}
	}
	l.add(tokenNumber, l.text[:i])
	l.text = l.text[i:]
}

// letters cuts a run of letters: a function, words, or variables side by side.
func (l *lexer) letters() {
	run := l.text[:letterRun(l.text)]
	l.text = l.text[len(run):]
	switch {
	case utf8.RuneCountInString(run) == 1:
		l.add(tokenLetter, run)
	case spoken[strings.ToLower(run)]:
		l.name(strings.ToLower(run))
	case spoken[run[:len(run)-1]]: // sinx
		l.name(run[:len(run)-1])
		l.add(tokenLetter, run[len(run)-1:])
	case isWord(run) || l.afterNumber() && isUnit(run):
		l.add(tokenWord, run)
	default:
		for _, r := range run {
			l.add(tokenLetter, string(r))
		}
	}
}

// letterRun returns the length of the letters that text begins with.
func letterRun(text string) int {
	if i := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsLetter(r) }); i >= 0 {
		return i
	}
	return len(text)
}

func (l *lexer) afterNumber() bool {
	if len(l.tokens) == 0 {
		return false
	}
	last := l.tokens[len(l.tokens)-1]
	return last.kind == tokenNumber || last.text == "}" || last.text == ")" || last.kind == tokenWord && abbreviations[last.text] // sq ft
}

// shortWords are words of two letters that are no product of variables.
var shortWords = words("or no in is of to if by at we so as it on an be he do go my up us")

// isWord reports whether a run of letters is a word, and not variables side by
// side: four letters or more, three with a vowel that variables rarely are.
func isWord(run string) bool {
	switch lower := strings.ToLower(run); utf8.RuneCountInString(run) {
	case 1:
		return false
	case 2:
		return shortWords[lower]
	case 3:
		return strings.ContainsAny(lower, "eiou") || lower == "and" || unicode.IsUpper(rune(run[0])) && run[1:] == lower[1:]
	}
	return true
}

// name adds a command by its name.
func (l *lexer) name(name string) {
	if same, ok := synonyms[name]; ok {
		name = same
	}
	switch {
	case greek[name]:
		l.add(tokenLetter, name)
	case name == "and" || name == "or":
		l.add(tokenWord, name)
	case len(name) > 1 && name[0] != '\\':
		l.add(tokenCommand, name)
	default:
		l.add(tokenSymbol, name)
	}
}

// command cuts a LaTeX command, and the text of one that holds text.
func (l *lexer) command(depth int) error {
	l.text = l.text[1:]
	size := letterRun(l.text)
	if size == 0 {
		if l.text == "" {
			return errors.New(`a \ at the end`)
		}
		_, size = utf8.DecodeRuneInString(l.text)
	}
	name := l.text[:size]
	l.text = l.text[size:]
	switch {
	case (name == "left" || name == "right") && strings.HasPrefix(l.text, "."): // a bracket that is not there
		l.text = l.text[1:]
	case name == "!": // takes space away: 11,\! 111
		l.text = strings.TrimLeft(l.text, " ")
	case name == " " || ignored[name]:
		l.spaced = l.spaced || name != "left" && name != "right"
	case name == `\`:
		l.add(tokenSymbol, `\\`)
	case name == "$" || name == "%":
		l.add(tokenSymbol, map[string]string{"$": `\$`, "%": "%"}[name])
	case name == "begin" || name == "end":
		l.add(tokenCommand, name+" "+strings.TrimSuffix(l.argument(), "*"))
	case name == "mathbb" || name == "mathcal":
		l.add(tokenCommand, "set "+l.argument())
	case name == "hspace" || name == "phantom" || name == "label" || name == "color":
		l.argument()
	case texts[name]:
		return l.textArgument(depth, name == "boxed" || name == "fbox" || name == "boldsymbol" || name == "bm")
	default:
		l.name(name)
	}
	return nil
}

// argument cuts what stands in braces.
func (l *lexer) argument() string {
	l.text = strings.TrimLeft(l.text, " *")
	if !strings.HasPrefix(l.text, "{") {
		size := letterRun(l.text) // of \mathbb R
		if size == 0 {
			return ""
		}
		_, size = utf8.DecodeRuneInString(l.text)
		letter := l.text[:size]
		l.text = l.text[size:]
		return letter
	}
	depth := 0
	for i := 0; i < len(l.text); i++ {
		switch l.text[i] {
		case '\\':
			i++
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				inside := l.text[1:i]
				l.text = l.text[i+1:]
				return inside
			}
		}
	}
	return ""
}

// textArgument adds what a command of text holds: words, unless it must be a
// formula, or a formula.
func (l *lexer) textArgument(depth int, formula bool) error {
	inside := l.argument()
	trimmed := strings.TrimSpace(inside)
	switch {
	case trimmed == "":
		l.spaced = true
		return nil
	case spoken[trimmed]:
		l.name(trimmed)
		return nil
	case !formula && strings.IndexFunc(trimmed, func(r rune) bool { return !unicode.IsLetter(r) && r != ' ' && r != '.' && r != '-' }) < 0 && utf8.RuneCountInString(trimmed) > 1:
		for _, w := range strings.Fields(strings.TrimRight(trimmed, ".")) {
			l.spaced = true
			l.add(tokenWord, w)
		}
		return nil
	case utf8.RuneCountInString(trimmed) == 1 && l.afterNumber() && isUnit(trimmed):
		l.add(tokenWord, trimmed)
		return nil
	}
	rest := l.text
	l.text, l.spaced = inside, true
	err := l.run(depth + 1)
	l.text, l.spaced = rest, true
	return err
}
