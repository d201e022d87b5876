package figures

import (
	"fmt"
	"strings"

	"vigorlab/cmd/vigorlab/internal/output"
)

// A markup is how words and code are written in a language.
type markup struct{ words, code func(string) string }

// spec writes a spec or a file as code, and what is said in words as words.
func (m markup) spec(s string) string {
	if strings.Contains(s, " ") && !strings.Contains(s, ":") {
		return m.words(s)
	}
	return m.code(s)
}

// markdown returns the caption in Markdown.
func (f *Figure) markdown() string {
	return f.caption(markup{markdownWords, markdownCode}) + "\n"
}

// latex returns \caption and \label, to be read inside a figure environment. The list of
// figures has what is drawn alone; lines may be loose, as specs break in few places.
func (f *Figure) latex() string {
	return fmt.Sprintf("\\caption[{%s}]{\\emergencystretch=3em\\relax{}%s}\n\\label{fig:%s}\n",
		latexWords(f.Caption.What), f.caption(markup{latexWords, latexCode}), labelOf(f.Name))
}

// labelOf leaves of a name what a LaTeX label may hold.
func labelOf(name string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x80 && (r == '-' || r == '.' || '0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z') {
			return r
		}
		return '-'
	}, name)
}

// caption states what is drawn, of which prompts and strategies, with which
// intervals, seed and coding, and how it was made.
func (f *Figure) caption(m markup) string {
	c := &f.Caption
	exact := "none, every number is exact"
	if len(c.Intervals) > 0 {
		exact = "none"
	}
	sentences := []string{
		m.words(c.What),
		f.list(m, "Population", "Populations", "none", c.Populations, m.spec),
		f.list(m, "Strategy", "Strategies", "none", c.Strategies, m.spec),
		f.list(m, "Replicates", "Replicates", exact, c.Replicates, m.words),
		f.list(m, "Intervals", "Intervals", "none", c.Intervals, m.words),
		m.words(seeds(c.Seeds) + ", " + codingWords(f.Coding) + "."),
		f.madeBy(m),
	}
	return strings.Join(sentences, " ")
}

// longest is how many bytes of a list, or of commands, a caption has: LaTeX sets no
// caption of more than about 3000, and nobody reads one.
const longest = 600

// list returns the sentence of a list, as far as a caption has room for it, or what it
// says of an empty one.
func (f *Figure) list(m markup, one, many, none string, items []string, write func(string) string) string {
	head := one
	if len(items) > 1 {
		head = many
	}
	var parts []string
	room := longest
	for _, item := range items {
		if room -= len(item); room < 0 {
			break
		}
		parts = append(parts, write(item))
	}
	switch left := len(items) - len(parts); {
	case len(items) == 0:
		parts = append(parts, m.words(none))
	case len(parts) == 0:
		parts = append(parts, m.words(fmt.Sprintf("%d, in", left))+" "+m.code(f.Name+DataEnd))
	case left > 0:
		parts = append(parts, m.words(fmt.Sprintf("%d more in", left))+" "+m.code(f.Name+DataEnd))
	}
	return m.words(head+":") + " " + strings.Join(parts, "; ") + "."
}

// madeBy names the commands, whole where a caption has room for them.
func (f *Figure) madeBy(m markup) string {
	made := m.words("Made by") + " "
	if commands := f.Caption.Commands; len(commands) > 0 && len(strings.Join(commands, "")) <= longest {
		parts := make([]string, len(commands))
		for i, c := range commands {
			parts[i] = m.code(c)
		}
		return made + strings.Join(parts, " and ") + "."
	}
	names := strings.Split(f.Command, commandsBetween)
	for i, name := range names {
		names[i] = m.code("vigorlab " + name)
	}
	return made + strings.Join(names, " and ") + m.words(", in full in") + " " + m.code(f.Name+DataEnd) + "."
}

func seeds(seeds []uint64) string {
	switch len(seeds) {
	case 0:
		return "No seed"
	case 1:
		return fmt.Sprintf("Seed %d", seeds[0])
	}
	return "Seeds " + strings.ReplaceAll(strings.Trim(fmt.Sprint(seeds), "[]"), " ", ", ")
}

func codingWords(coding string) string {
	if coding == output.Binary {
		return "binary coding: rewards in {0, 1}"
	}
	return "signed coding: rewards in {\u22121, +1}"
}

// oneLine joins lines: captions are paragraphs.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// markdownSigns would be read as markup in words.
var markdownSigns = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", `\<`, ">", `\>`, "#", `\#`, "|", `\|`, "$", `\$`, "~", `\~`, "&", `\&`,
)

func markdownWords(s string) string { return markdownSigns.Replace(oneLine(s)) }

// markdownCode puts s between more backticks than it has in a row.
func markdownCode(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	return fence + s + fence
}

// latexSigns are the characters that LaTeX reads as commands, and those that the
// fonts of old encodings lack.
var latexSigns = map[rune]string{
	'\\': `\textbackslash{}`, '{': `\{`, '}': `\}`, '$': `\$`, '&': `\&`, '#': `\#`, '_': `\_`, '%': `\%`,
	'^': `\textasciicircum{}`, '~': `\textasciitilde{}`, '<': `\textless{}`, '>': `\textgreater{}`, '|': `\textbar{}`,
	'"': `\char34{}`, '\'': `\textquotesingle{}`, '`': `\textasciigrave{}`,
	'\u2212': `$-$`,
	'α':      `$\alpha$`, 'β': `$\beta$`, 'γ': `$\gamma$`, 'δ': `$\delta$`, 'ε': `$\epsilon$`, 'η': `$\eta$`, 'κ': `$\kappa$`, 'λ': `$\lambda$`,
	'μ': `$\mu$`, 'χ': `$\chi$`, 'π': `$\pi$`, 'σ': `$\sigma$`, 'τ': `$\tau$`, 'Δ': `$\Delta$`, 'Σ': `$\Sigma$`,
	'≤': `$\leq$`, '≥': `$\geq$`, '≈': `$\approx$`, '²': `$^2$`, '±': `$\pm$`, '×': `$\times$`, '·': `$\cdot$`, '√': `$\surd$`, '∞': `$\infty$`,
	'–': `--`, '—': `---`, '‘': "`", '’': `'`, '“': "``", '”': `''`, '…': `\ldots{}`,
}

// latexSign returns a character as pdfLaTeX sets it with no package loaded; one that it
// cannot set is named by its number.
func latexSign(r rune) string {
	if s, ok := latexSigns[r]; ok {
		return s
	}
	switch {
	case ' ' <= r && r <= '~':
		return string(r)
	case 'À' <= r && r <= 'ÿ' && !strings.ContainsRune("ÐðÞþ÷", r): // accents that every encoding makes
		return string(r)
	}
	return fmt.Sprintf("[U+%04X]", r)
}

func latexWords(s string) string {
	var b strings.Builder
	for _, r := range oneLine(strings.ToValidUTF8(s, "\uFFFD")) {
		switch r {
		case '\'':
			b.WriteRune(r) // an apostrophe
		default:
			b.WriteString(latexSign(r))
		}
	}
	return b.String()
}

// latexCode sets s in typewriter letters that may break behind its signs.
func latexCode(s string) string {
	var b strings.Builder
	b.WriteString(`\texttt{`)
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		switch {
		case r == '-': // two of them would melt into a dash
			b.WriteString(`-{}`)
		case strings.ContainsRune("\\{}$&#_%^~<>|\"", r): // typewriter fonts have them where ASCII does
			fmt.Fprintf(&b, `\char%d{}`, r)
		case r == '\n' || r == '\t':
			b.WriteByte(' ')
		default:
			b.WriteString(latexSign(r))
		}
		if strings.ContainsRune(",:/+", r) {
			b.WriteString(`\allowbreak{}`)
		}
	}
	b.WriteByte('}')
	return b.String()
}
