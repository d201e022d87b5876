package plots

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// texMaths is what stands for a sign in maths.
var texMaths = map[rune]string{
	'α': `\alpha`, 'β': `\beta`, 'γ': `\gamma`, 'δ': `\delta`, 'ε': `\varepsilon`, 'ϵ': `\epsilon`, 'ζ': `\zeta`,
	'η': `\eta`, 'θ': `\theta`, 'ϑ': `\vartheta`, 'ι': `\iota`, 'κ': `\kappa`, 'λ': `\lambda`, 'μ': `\mu`, 'µ': `\mu`,
	'ν': `\nu`, 'ξ': `\xi`, 'ο': `o`, 'π': `\pi`, 'ρ': `\rho`, 'σ': `\sigma`, 'ς': `\varsigma`, 'τ': `\tau`,
	'υ': `\upsilon`, 'φ': `\varphi`, 'ϕ': `\phi`, 'χ': `\chi`, 'ψ': `\psi`, 'ω': `\omega`,
	'Γ': `\Gamma`, 'Δ': `\Delta`, '∆': `\Delta`, 'Θ': `\Theta`, 'Λ': `\Lambda`, 'Ξ': `\Xi`, 'Π': `\Pi`, 'Σ': `\Sigma`,
	'Υ': `\Upsilon`, 'Φ': `\Phi`, 'Ψ': `\Psi`, 'Ω': `\Omega`,

	'−': `-`, '±': `\pm`, '×': `\times`, '÷': `\div`, '·': `\cdot`, '⋅': `\cdot`, '≤': `\leq`, '≥': `\geq`, '≠': `\neq`,
	'≈': `\approx`, '≡': `\equiv`, '∼': `\sim`, '∝': `\propto`, '≪': `\ll`, '≫': `\gg`, '¬': `\neg`,
	'∞': `\infty`, '∇': `\nabla`, '∂': `\partial`, '∑': `\sum`, '∏': `\prod`, '∫': `\int`, '√': `\surd`, '∈': `\in`,
	'∀': `\forall`, '∃': `\exists`, '∅': `\emptyset`, '∪': `\cup`, '∩': `\cap`, '⊂': `\subset`, '⊆': `\subseteq`,
	'∧': `\wedge`, '∨': `\vee`, '‖': `\|`, '∥': `\|`, '∣': `\mid`, '⟨': `\langle`, '⟩': `\rangle`, '⌈': `\lceil`,
	'⌉': `\rceil`, '⌊': `\lfloor`, '⌋': `\rfloor`, 'ℓ': `\ell`, '′': `'`, '→': `\to`, '←': `\leftarrow`,
	'↔': `\leftrightarrow`, '↑': `\uparrow`, '↓': `\downarrow`, '⇒': `\Rightarrow`, '↦': `\mapsto`, '∗': `\ast`,
	'⁰': `^0`, '¹': `^1`, '²': `^2`, '³': `^3`, '⁴': `^4`, '⁵': `^5`, '⁶': `^6`, '⁷': `^7`, '⁸': `^8`, '⁹': `^9`,
	'⁺': `^+`, '⁻': `^-`, 'ⁿ': `^n`, '₀': `_0`, '₁': `_1`, '₂': `_2`, '₃': `_3`, '₄': `_4`, '₅': `_5`, '₆': `_6`,
	'₇': `_7`, '₈': `_8`, '₉': `_9`, '°': `^\circ`, '½': `\frac12`, '¼': `\frac14`, '¾': `\frac34`, '†': `\dagger`,
	'•': `\bullet`,
}

// texText is what stands for a sign in text: all that TeX would read as a command, or set as
// another sign in its oldest encoding of fonts.
var texText = map[rune]string{
	'\\': `\textbackslash{}`, '{': `\{`, '}': `\}`, '$': `\$`, '&': `\&`, '#': `\#`, '%': `\%`, '_': `\_`,
	'~': `\textasciitilde{}`, '^': `\textasciicircum{}`, '<': `\textless{}`, '>': `\textgreater{}`,
	'|': `\textbar{}`, '"': `{\char34}`, '`': `{\char96}`,
	'\u2002': `\enspace{}`, '–': `\textendash{}`, '—': `\textemdash{}`, '‐': `-`, '‑': `-`, '…': `\textellipsis{}`, '‘': `{\char96}`, '’': `'`,
	'“': `\textquotedblleft{}`, '”': `\textquotedblright{}`, '§': `\S{}`, '¶': `\P{}`, '©': `\textcopyright{}`,
	'ß': `\ss{}`, 'æ': `\ae{}`, 'Æ': `\AE{}`, 'œ': `\oe{}`, 'Œ': `\OE{}`, 'ø': `\o{}`, 'Ø': `\O{}`, 'ł': `\l{}`,
	'Ł': `\L{}`, 'ı': `\i{}`, '¿': `?{}` + "`", '¡': `!{}` + "`", '£': `\pounds{}`, 'ﬁ': `fi`, 'ﬂ': `fl`,
}

// texAccents are the commands of combining marks.
var texAccents = map[rune]string{
	'\u0300': "\\`", '\u0301': `\'`, '\u0302': `\^`, '\u0303': `\~`, '\u0304': `\=`, '\u0306': `\u`, '\u0307': `\.`,
	'\u0308': `\"`, '\u030a': `\r`, '\u030b': `\H`, '\u030c': `\v`, '\u0323': `\d`, '\u0327': `\c`, '\u0331': `\b`,
}

// texPhrases are signs for what the font of the other formats has only words for,
// and a space that TeX keeps.
var texPhrases = strings.NewReplacer("||grad L||", "‖∇L‖", "  ", "\u2002")

// texWords returns text for TeX, and adds what TeX has no sign for to strange. A
// letter before " = " is a variable; in a title of an axis every letter that
// stands alone is.
func texWords(text string, title bool, strange *[]string) string {
	s := []rune(norm.NFC.String(texPhrases.Replace(text)))
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		r, next := s[i], rune(0)
		if i+1 < len(s) {
			next = s[i+1]
		}
		var word string
		switch {
		case variable(s, i, title):
			word = `$` + string(r) + `$`
		case r == '√' && unicode.IsLetter(next):
			word = `$\sqrt{` + strings.Trim(texSign(next, strange), "$") + `}$`
			i++
		default:
			word = texSign(r, strange)
		}
		for ; i+1 < len(s) && texAccents[s[i+1]] != ""; i++ {
			word = texAccents[s[i+1]] + "{" + word + "}"
		}
		b.WriteString(word)
		if next == r && strings.ContainsRune("-,'", r) {
			b.WriteString("{}") // no ligature
		}
	}
	return b.String()
}

// texSign returns one sign for TeX, a letter with its accents. A box stands for
// what is strange to TeX.
func texSign(r rune, strange *[]string) string {
	if maths, ok := texMaths[r]; ok {
		return `$` + maths + `$`
	}
	if word, ok := texText[r]; ok {
		return word
	}
	if r < unicode.MaxASCII {
		return string(r)
	}
	if parts := []rune(norm.NFD.String(string(r))); len(parts) > 1 && known(parts[1:]) {
		word := texSign(parts[0], strange)
		for _, mark := range parts[1:] {
			word = texAccents[mark] + "{" + word + "}"
		}
		return word
	}
	if code := fmt.Sprintf("U+%04X", r); !slices.Contains(*strange, code) {
		*strange = append(*strange, code)
	}
	return `\rule{0.6em}{0.6em}`
}

// known reports whether TeX has all of the combining marks.
func known(marks []rune) bool {
	for _, m := range marks {
		if texAccents[m] == "" {
			return false
		}
	}
	return true
}

// variable reports whether the letter at i is one.
func variable(s []rune, i int, title bool) bool {
	r := s[i]
	if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') || i > 0 && (unicode.IsLetter(s[i-1]) || s[i-1] == '\'') {
		return false
	}
	after := string(s[i+1 : min(i+4, len(s))])
	if strings.HasPrefix(after, " = ") {
		return true
	}
	alone := after == "" || !unicode.IsLetter([]rune(after)[0]) && !strings.HasPrefix(after, "'") && !unicode.IsMark([]rune(after)[0])
	return title && alone && !strings.ContainsRune("aAI", r)
}

// texComment returns text that may stand in a comment.
func texComment(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= unicode.MaxASCII {
			return '?'
		}
		return r
	}, text)
}
