package formula

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// functions are names that take an argument.
var functions = words(`sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh log ln lg exp sqrt abs floor ceil`)

// starters are further commands that a factor may begin with.
var starters = words(`frac binom pi infty lfloor lceil`)

// primary reads what holds together most tightly.
func (p *parser) primary() (*value, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	t := p.peek()
	switch t.kind {
	case tokenNumber:
		return p.number()
	case tokenLetter:
		return p.variable()
	case tokenSymbol:
		return p.bracketed()
	case tokenCommand:
		return p.command()
	}
	return nil, p.fail()
}

// number reads a number: with separators of thousands, in a base, with repeating
// decimals, or mixed with a fraction.
func (p *parser) number() (*value, error) {
	text := p.peek().text
	p.at++
	p.decimal = p.decimal || strings.ContainsAny(text, ".eE")
	if isWhole(text) && len(text) <= 3 && text[0] != '0' {
		text += p.thousands()
	}
	x, ok := numberOf(text)
	if !ok {
		return nil, fmt.Errorf("cannot read the number %.20q", text)
	}
	switch {
	case p.is("_") && isWhole(text):
		return p.based(text)
	case p.is("overline") && strings.Contains(text, "."):
		return p.repeating(x, len(text)-1-strings.Index(text, "."))
	case isWhole(text):
		part, err := p.fraction()
		if err != nil {
			return nil, err
		}
		x.Add(x, part)
	}
	// Arithmetic with long numbers takes as long as that with several.
	if p.nodes += 1 + x.Num().BitLen()/64 + x.Denom().BitLen()/64; p.nodes > maxNodes {
		return nil, errTooLong
	}
	return expression(number(x)), nil
}

func isWhole(text string) bool { return !strings.ContainsAny(text, ".eE") }

// thousands reads the further groups of a number's digits, 1,234 or 12 345 or
// 12{,}345.
func (p *parser) thousands() (digits string) {
	for {
		comma := 0 // tokens of the separator
		switch {
		case p.is(",") && p.inside == 0 && !p.peek().spaced && !p.peekAt(1).spaced:
			comma = 1
		case p.is("{") && p.peekAt(1).text == "," && p.peekAt(2).text == "}":
			comma = 3
		case p.peek().kind != tokenNumber || !p.peek().spaced || p.peekAt(1).text == "/":
			return digits
		}
		t := p.peekAt(comma)
		whole, _, _ := strings.Cut(t.text, ".")
		if t.kind != tokenNumber || len(whole) != 3 || strings.ContainsAny(t.text, "eE") {
			return digits
		}
		p.at += comma + 1
		digits += t.text
		if whole != t.text {
			p.decimal = true
			return digits
		}
	}
}

// based reads the base of a number, as in 1011_2.
func (p *parser) based(digits string) (*value, error) {
	p.at++
	k, err := p.argument()
	if err != nil {
		return nil, err
	}
	base, ok := k.exact()
	if !ok || !base.IsInt() || base.Cmp(big.NewRat(2, 1)) < 0 || base.Cmp(big.NewRat(36, 1)) > 0 {
		return nil, fmt.Errorf("want a base in [2, 36]")
	}
	x, ok := new(big.Int).SetString(digits, int(base.Num().Int64()))
	if !ok {
		return nil, fmt.Errorf("%.20q has other digits than its base", digits)
	}
	v := expression(number(new(big.Rat).SetInt(x)))
	v.base = digits
	return v, nil
}

// repeating reads the repeating decimals of x, which has the given number of
// others: 0.1\overline{6}.
func (p *parser) repeating(x *big.Rat, places int) (*value, error) {
	p.at++
	digits := p.peek().text
	if p.accept("{") {
		digits = p.peek().text
		p.at++
		if err := p.expect("}"); err != nil {
			return nil, err
		}
	} else {
		p.at++
	}
	if !isDigits(digits) {
		return nil, fmt.Errorf("%.20q does not repeat", digits)
	}
	ten := big.NewInt(10)
	repeat, _ := new(big.Int).SetString(digits, 10)
	nines := new(big.Int).Exp(ten, big.NewInt(int64(len(digits))), nil)
	nines.Sub(nines, big.NewInt(1))
	nines.Mul(nines, new(big.Int).Exp(ten, big.NewInt(int64(places)), nil))
	p.decimal = false
	return expression(number(x.Add(x, new(big.Rat).SetFrac(repeat, nines)))), nil
}

func isDigits(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }

// fraction reads the fraction of a mixed number, 1\frac{1}{2} or 1 1/2, and
// returns 0 where there is none.
func (p *parser) fraction() (*big.Rat, error) {
	var over, under string
	switch {
	case p.is("frac"):
		parts, n := p.plainFraction()
		if n == 0 {
			return new(big.Rat), nil
		}
		over, under = parts[0], parts[1]
		p.at += n
	case p.peek().kind == tokenNumber && p.peek().spaced && p.peekAt(1).text == "/" && p.peekAt(2).kind == tokenNumber:
		over, under = p.peek().text, p.peekAt(2).text
		p.at += 3
	default:
		return new(big.Rat), nil
	}
	if !isDigits(over) || !isDigits(under) || strings.Trim(under, "0") == "" {
		return nil, fmt.Errorf("cannot read a mixed number")
	}
	x, _ := new(big.Rat).SetString(over + "/" + under)
	return x, nil
}

// plainFraction looks ahead at \frac{1}{2} or \frac12 with digits alone: its
// parts and how many tokens it takes, 0 for anything else.
func (p *parser) plainFraction() (parts [2]string, n int) {
	if t := p.peekAt(1); isDigits(t.text) && len(t.text) == 2 {
		return [2]string{t.text[:1], t.text[1:]}, 2
	}
	n = 1
	for i := range parts {
		switch {
		case p.peekAt(n).text == "{" && isDigits(p.peekAt(n+1).text) && p.peekAt(n+2).text == "}":
			parts[i] = p.peekAt(n + 1).text
			n += 3
		case isDigits(p.peekAt(n).text) && len(p.peekAt(n).text) == 1:
			parts[i] = p.peekAt(n).text
			n++
		default:
			return parts, 0
		}
	}
	return parts, n
}

// variable reads a letter with its index and primes, e and i being constants.
func (p *parser) variable() (*value, error) {
	name := p.peek().text
	p.at++
	if p.accept("_") {
		index, err := p.index()
		if err != nil {
			return nil, err
		}
		name += "_" + index
	}
	for p.accept("'") {
		name += "'"
	}
	if p.nodes++; p.nodes > maxNodes {
		return nil, errTooLong
	}
	switch name {
	case "e":
		return expression(&node{op: opE}), nil
	case "i":
		return expression(&node{op: opI}), nil
	}
	return expression(&node{op: opVariable, name: name}), nil
}

// index reads the index of a variable as text.
func (p *parser) index() (string, error) {
	if !p.accept("{") {
		t := p.peek()
		if t.kind == tokenEnd {
			return "", p.fail()
		}
		p.at++
		return t.text, nil
	}
	var text string
	for !p.accept("}") {
		if p.peek().kind == tokenEnd || p.is("{") {
			return "", p.fail()
		}
		text += p.peek().text
		p.at++
	}
	return text, nil
}

// bracketed reads what begins with a sign: brackets of every kind, money.
func (p *parser) bracketed() (*value, error) {
	switch open := p.peek().text; open {
	case "(", "[":
		p.at++
		return p.parenthesis(open, ")]")
	case `\{`:
		p.at++
		return p.set(`\}`)
	case "{":
		p.at++
		v, err := p.enclosed("}")
		if err != nil {
			return nil, err
		}
		v.bare = false // {1, 2} in plain text
		return v, p.expect("}")
	case "|":
		p.at++
		p.bars++
		v, err := p.sum()
		p.bars--
		if err != nil {
			return nil, err
		}
		x, err := p.scalarOf(v)
		if err != nil {
			return nil, err
		}
		return expression(call("abs", x)), p.expect("|")
	case `\$`, "€", "£", "¥", "₹":
		p.at++
		p.money = currencies[open]
		return p.postfix()
	}
	return nil, p.fail()
}

// enclosed reads items up to one of the closing signs.
func (p *parser) enclosed(closing string) (*value, error) {
	p.inside++
	bars := p.bars
	p.bars = 0
	defer func() { p.inside--; p.bars = bars }()
	return p.items(closing)
}

// parenthesis reads (a), (a, b), (a, b] and the like.
func (p *parser) parenthesis(open, closing string) (*value, error) {
	v, err := p.enclosed(closing)
	if err != nil {
		return nil, err
	}
	close := p.peek().text
	p.at++
	several := v.shape == list && v.bare
	switch {
	case (open == "(") != (close == ")") && (!several || len(v.items) != 2):
		return nil, fmt.Errorf("%s%s around what is no interval", open, close)
	case !several:
		return v, nil
	}
	v.shape, v.open, v.close, v.bare, v.doubt = tuple, open, close, false, ""
	if (open == "(") != (close == ")") || len(v.items) == 2 && v.any(isInfinity) {
		v.shape = interval
	}
	return v, nil
}

// any reports whether ok holds of an expression below v.
func (v *value) any(ok func(*node) bool) bool {
	found := false
	v.each(func(item *value) { found = found || item.expr != nil && item.expr.any(ok) })
	return found
}

func isInfinity(n *node) bool { return n.op == opInfinity }

// set reads \{1, 2\}, \{\} and \{x | x > 1\}.
func (p *parser) set(closing string) (*value, error) {
	if p.accept(closing) {
		return group(list), nil
	}
	if next := p.peekAt(1).text; p.peek().kind == tokenLetter && (next == "|" || next == ":") {
		p.at += 2
	}
	v, err := p.enclosed(closing)
	if err != nil {
		return nil, err
	}
	if v.shape == list && v.bare {
		v.bare, v.doubt = false, ""
		return v, p.expect(closing)
	}
	if v.shape == scalar || v.shape == tuple && v.open != ":" {
		v = group(list, v)
	}
	return v, p.expect(closing)
}

// command reads what begins with a command or a function.
func (p *parser) command() (*value, error) {
	name := p.peek().text
	p.at++
	switch name {
	case "pi":
		return expression(&node{op: opPi}), nil
	case "infty":
		return expression(infinity(1)), nil
	case "emptyset":
		return group(list), nil
	case "set R":
		return between(infinity(-1), infinity(1), "(", ")"), nil
	case "langle":
		return p.angled()
	case "frac", "binom":
		return p.two(map[string]op{"frac": opDivide, "binom": opBinomial}[name])
	case "lfloor", "lceil":
		return p.step(name[1:])
	case "sqrt":
		return p.root()
	}
	if kind, ok := strings.CutPrefix(name, "begin "); ok {
		return p.matrix(kind)
	}
	if functions[name] {
		return p.function(name)
	}
	p.at--
	return nil, p.fail()
}

// two reads the two arguments of a command.
func (p *parser) two(o op) (*value, error) {
	a, err := p.digitArgument()
	if err != nil {
		return nil, err
	}
	b, err := p.digitArgument()
	if err != nil {
		return nil, err
	}
	n, err := p.make(o, a, b)
	return expression(n), err
}

// angled reads the vector \langle a, b \rangle.
func (p *parser) angled() (*value, error) {
	v, err := p.enclosed("rangle")
	if err != nil {
		return nil, err
	}
	if v.shape != list || !v.bare {
		v = group(tuple, v)
	}
	v.shape, v.open, v.close, v.bare, v.doubt = tuple, "(", ")", false, ""
	return v, p.expect("rangle")
}

// step reads floor and ceil in brackets of their own.
func (p *parser) step(name string) (*value, error) {
	v, err := p.sum()
	if err != nil {
		return nil, err
	}
	x, err := p.scalarOf(v)
	if err != nil {
		return nil, err
	}
	return expression(call(name, x)), p.expect("r" + name)
}

// root reads \sqrt{2}, \sqrt[3]{2}, \sqrt2 and sqrt(2).
func (p *parser) root() (*value, error) {
	degree := integer(2)
	if p.accept("[") {
		v, err := p.sum()
		if err != nil {
			return nil, err
		}
		if degree, err = p.scalarOf(v); err != nil {
			return nil, err
		}
		if err := p.expect("]"); err != nil {
			return nil, err
		}
	}
	x, err := p.digitArgument()
	if err != nil {
		return nil, err
	}
	n, err := p.make(opRoot, x, degree)
	return expression(n), err
}

// function reads a function with its power, base and argument: \sin^2 x,
// \log_2 8, \ln(x).
func (p *parser) function(name string) (*value, error) {
	var base, exponent *node
	var err error
	if p.accept("_") {
		if name != "log" {
			return nil, p.fail()
		}
		if p.peek().text == "10" {
			base, err = p.argument()
		} else {
			base, err = p.digitArgument()
		}
		if err != nil {
			return nil, err
		}
	}
	if p.accept("^") {
		if exponent, err = p.argument(); err != nil {
			return nil, err
		}
	}
	x, err := p.functionArgument()
	if err != nil {
		return nil, err
	}
	if k, ok := exactInt(exponent); ok && k == -1 && (name == "sin" || name == "cos" || name == "tan") {
		name, exponent = "arc"+name, nil
	}
	n := apply(name, base, x)
	if exponent != nil {
		n = join(opPower, n, exponent)
	}
	if p.nodes += 2; p.nodes > maxNodes {
		return nil, errTooLong
	}
	return expression(n), nil
}

func exactInt(n *node) (int64, bool) {
	if n == nil {
		return 0, false
	}
	x, ok := n.exact()
	if !ok || !x.IsInt() {
		return 0, false
	}
	return x.Num().Int64(), true
}

func apply(name string, base, x *node) *node {
	switch {
	case name == "ln":
		return join(opLog, x, &node{op: opE})
	case name == "lg":
		return join(opLog, x, integer(10))
	case name == "log" && base != nil:
		return join(opLog, x, base)
	case name == "log":
		return join(opLog, x)
	}
	return call(name, x)
}

// functionArgument reads a bracket, or factors up to the next sign, bracket or
// function: \sin 2x is sin(2x), \sin x \cos x a product.
func (p *parser) functionArgument() (*node, error) {
	if p.is("(", "{", "|") {
		return p.argument()
	}
	v, err := p.unary()
	for err == nil && p.startsFactor() && !p.is("(") && !functions[p.peek().text] {
		var next *value
		if next, err = p.power(); err == nil {
			v, err = p.binary(opMultiply, v, next)
		}
	}
	if err != nil {
		return nil, err
	}
	return p.scalarOf(v)
}

// matrix reads the rows of \begin{pmatrix} and the like.
func (p *parser) matrix(kind string) (*value, error) {
	switch kind {
	case "pmatrix", "bmatrix", "matrix", "Bmatrix", "smallmatrix":
	case "array":
		if p.accept("{") {
			for p.peek().kind != tokenEnd && !p.accept("}") {
				p.at++
			}
		}
	default:
		return nil, fmt.Errorf("cannot read %s", kind)
	}
	m := group(matrix)
	row := group(tuple)
	for count := 0; ; count++ {
		entry, err := p.sum()
		if err != nil {
			return nil, err
		}
		if count > maxItems {
			return nil, errTooLong
		}
		row.items = append(row.items, entry)
		if p.accept("&") {
			continue
		}
		if p.accept(`\\`); p.is("end "+kind) || p.peekAt(-1).text == `\\` {
			m.items = append(m.items, row)
			row = group(tuple)
		}
		if p.accept("end " + kind) {
			break
		}
		if p.peekAt(-1).text != `\\` {
			return nil, p.fail()
		}
	}
	for _, r := range m.items {
		if len(r.items) != len(m.items[0].items) {
			return nil, fmt.Errorf("rows of %s and %s entries", strconv.Itoa(len(m.items[0].items)), strconv.Itoa(len(r.items)))
		}
	}
	return m, nil
}
