package formula

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"strings"
)

// A parser reads tokens by recursive descent. Its methods return an error for
// what lies outside the scope; they never panic, and bounds on depth and size
// keep them short.
type parser struct {
	tokens []token
	at     int
	depth  int
	nodes  int
	bars   int // how many | are open
	inside int // how many brackets are
	// Of the item being read:
	decimal bool
	money   string // its unit, of money or temperature, which stands with the number
	doubt   string
}

// parse reads an answer; what it cannot read is prose.
func parse(tokens []token) *value {
	p := &parser{tokens: slices.Clone(tokens)}
	if v, err := p.items(""); err == nil {
		return v.expand()
	}
	if name, right := named(tokens); name != "" {
		p := &parser{tokens: slices.Clone(right)}
		if v, err := p.items(""); err == nil && v.name == "" {
			v.name = name
			return v.expand()
		}
	}
	return readProse(tokens)
}

// named splits \angle ABC = 60 at its one equals sign, the left side being a name,
// without numbers, that cannot be read.
func named(tokens []token) (name string, right []token) {
	for i, t := range tokens {
		switch {
		case t.text == "=" && name != "" && right == nil:
			right = tokens[i+1:]
		case t.text == "=" || t.kind == tokenNumber && right == nil:
			return "", nil
		case right == nil:
			name += t.text
		}
	}
	if right == nil {
		return "", nil
	}
	return name, right
}

func (p *parser) peek() token { return p.peekAt(0) }

func (p *parser) peekAt(i int) token {
	if p.at+i >= len(p.tokens) {
		return token{}
	}
	return p.tokens[p.at+i]
}

// is reports whether the next token is one of the symbols, commands or words.
func (p *parser) is(texts ...string) bool {
	t := p.peek()
	if t.kind == tokenEnd || t.kind == tokenLetter || t.kind == tokenNumber {
		return false
	}
	for _, text := range texts {
		if t.text == text {
			return true
		}
	}
	return false
}

// accept reads the next token if it is one of texts.
func (p *parser) accept(texts ...string) bool {
	if p.is(texts...) {
		p.at++
		return true
	}
	return false
}

func (p *parser) expect(text string) error {
	if !p.accept(text) {
		return p.fail()
	}
	return nil
}

// fail is the error of a token that does not belong.
func (p *parser) fail() error {
	if t := p.peek(); t.kind != tokenEnd {
		return fmt.Errorf("cannot read %q", t.text)
	}
	return fmt.Errorf("ends too early")
}

// enter counts what nests; the caller leaves it. Only primary does, through which
// every recursion goes.
func (p *parser) enter() error {
	if p.depth++; p.depth > maxDepth {
		return errTooLong
	}
	return nil
}

func (p *parser) leave() { p.depth-- }

// make builds a node, and counts it.
func (p *parser) make(o op, args ...*node) (*node, error) {
	if p.nodes++; p.nodes > maxNodes {
		return nil, errTooLong
	}
	return join(o, args...), nil
}

// items reads what commas, semicolons, "or" and "and" separate, up to the end or
// one of the closing symbols, which it leaves.
func (p *parser) items(closing string) (*value, error) {
	decimal, money, doubt := p.decimal, p.money, p.doubt // of the item around
	defer func() { p.decimal, p.money, p.doubt = decimal, money, doubt }()
	l := group(list)
	l.bare = true
	both := false // there is an "and"
	for {
		if len(l.items) > maxItems {
			return nil, errTooLong
		}
		item, err := p.item()
		if err != nil {
			return nil, err
		}
		l.items = append(l.items, item)
		decimal, doubt = decimal || p.decimal, cmp.Or(doubt, p.doubt)
		comma := p.is(",")
		both = both || p.is("and")
		if !p.accept(",", ";", "or", "and") {
			break
		}
		if comma {
			both = both || p.is("and")
			p.accept("or", "and")
			if t := p.peek(); t.kind == tokenNumber && !t.spaced && closing == "" {
				l.doubt = "a comma may be a decimal point"
			}
		}
	}
	if t := p.peek(); (t.kind == tokenEnd) != (closing == "") || !strings.Contains(closing, t.text) {
		return nil, p.fail()
	}
	switch len(l.items) {
	case 1:
		return l.items[0], nil
	case 2:
	default:
		l.doubt = ""
	}
	for i, item := range l.items[1:] {
		if before := l.items[i]; before.shape == union && before.name != "" && item.shape == scalar && item.name == "" { // x ≠ 1, 2
			l.unsure = "one condition on several values, or a condition and a value"
		}
	}
	if !slices.ContainsFunc(l.items, func(v *value) bool { return v.shape != interval }) { // x < 1 or x > 3
		l.shape, l.bare = union, false
		if both {
			l.unsure = "two inequalities that hold at once"
		}
	}
	return l, nil
}

// item reads one part of a list: relations and unions, and a unit behind.
func (p *parser) item() (*value, error) {
	p.decimal, p.money, p.doubt = false, "", ""
	p.accept("=", "approx") // of = 5
	begin := p.at
	if p.peek().kind == tokenWord && !p.is("or", "and") { // Area = 5
		for p.peek().kind == tokenWord {
			p.at++
		}
		if !p.accept("=", ":", "approx") {
			p.at = begin
			return nil, p.fail()
		}
	}
	v, err := p.relation()
	if err != nil {
		return nil, err
	}
	if v.unit = p.unit(); v.unit != "" && variableOf(v) != "" { // A triangle
		return nil, fmt.Errorf("words behind a letter")
	}
	if factor, rest := multiple(v.unit); factor > 1 && v.shape == scalar {
		v.times, v.unit = factor, rest
	}
	if sign := p.peek(); v.unit == "" && sign.kind == tokenSymbol && currencies[sign.text] != "" { // 5 €
		v.unit = currencies[sign.text]
		p.at++
	}
	if v.unit == "" {
		v.unit = p.money
	}
	if v.shape == relation {
		for i := range v.items {
			v.items[i].decimal = p.decimal
		}
		last := v.items[len(v.items)-1]
		last.unit, v.unit = v.unit, ""
		last.times, v.times = v.times, 0
		v = solved(v)
	}
	v.decimal = v.decimal || p.decimal
	if v.doubt == "" {
		v.doubt = p.doubt
	}
	return v, nil
}

// unit reads words behind a value, with their powers: cm^2, square units.
func (p *parser) unit() string {
	var parts []string
	for {
		switch t := p.peek(); {
		case t.kind == tokenWord && t.text != "or" && t.text != "and" && t.text != "not":
			parts = append(parts, t.text)
			p.at++
		case len(parts) > 0 && p.is("^") && (p.peekAt(1).text == "2" || p.peekAt(1).text == "3"):
			parts[len(parts)-1] += "^" + p.peekAt(1).text
			p.at += 2
		case len(parts) > 0 && p.is("^") && p.peekAt(1).text == "{" && p.peekAt(3).text == "}" && (p.peekAt(2).text == "2" || p.peekAt(2).text == "3"):
			parts[len(parts)-1] += "^" + p.peekAt(2).text
			p.at += 4
		case len(parts) > 0 && p.is("/") && p.peekAt(1).kind == tokenWord:
			parts = append(parts, "/")
			p.at++
		default:
			return strings.Join(parts, " ")
		}
		if len(parts) > 5 {
			return strings.Join(parts, " ")
		}
	}
}

// union reads A ∪ B ∪ ...
func (p *parser) union() (*value, error) {
	first, err := p.ratio()
	if err != nil || !p.is("cup") {
		return first, err
	}
	u := group(union, first)
	for p.accept("cup") {
		next, err := p.ratio()
		if err != nil {
			return nil, err
		}
		if len(u.items) >= maxItems {
			return nil, errTooLong
		}
		u.items = append(u.items, next)
	}
	for _, item := range u.items {
		if item.shape == tuple && len(item.items) == 2 {
			item.shape = interval
		}
		if item.shape != interval && item.shape != list {
			return nil, fmt.Errorf("a union of what is no set")
		}
	}
	return u, nil
}

// relations are signs between two sides.
var relations = []string{"=", "<", ">", "le", "ge", "ne", "element", "approx"}

// relation reads a = b, a < b < c and the like.
func (p *parser) relation() (*value, error) {
	first, err := p.union()
	if err != nil {
		return nil, err
	}
	var signs []string
	sides := []*value{first}
	for p.is(relations...) {
		if len(sides) > maxItems {
			return nil, errTooLong
		}
		signs = append(signs, p.peek().text)
		p.at++
		next, err := p.union()
		if err != nil {
			return nil, err
		}
		sides = append(sides, next)
	}
	return related(sides, signs)
}

// ratio reads a : b, which is a/b, and a : b : c, the tuple of b/a and c/a.
func (p *parser) ratio() (*value, error) {
	time := p.time()
	first, err := p.sum()
	if err != nil || !p.is(":") {
		return first, err
	}
	a, err := p.scalarOf(first)
	if err != nil {
		return nil, err
	}
	var rest []*node
	for p.accept(":") {
		next, err := p.sum()
		if err != nil {
			return nil, err
		}
		b, err := p.scalarOf(next)
		if err != nil || len(rest) > maxItems {
			return nil, p.fail()
		}
		rest = append(rest, b)
	}
	if len(rest) == 1 {
		n, err := p.make(opDivide, a, rest[0])
		v := expression(n)
		if time {
			v.unsure = "3:30 may be a time"
		}
		return v, err
	}
	t := group(tuple)
	t.open, t.close = ":", ":"
	for _, b := range rest {
		n, err := p.make(opDivide, b, a)
		if err != nil {
			return nil, err
		}
		t.items = append(t.items, expression(n))
	}
	return t, nil
}

// time reports whether a time of day may come next: 3:30.
func (p *parser) time() bool {
	hour, minute := p.peek().text, p.peekAt(2).text
	return p.peekAt(1).text == ":" && isDigits(hour) && isDigits(minute) && len(hour) <= 2 && len(minute) == 2 && (len(hour) == 1 || hour < "24") && minute < "60"
}

// scalarOf returns the expression of a scalar.
func (p *parser) scalarOf(v *value) (*node, error) {
	if v.shape != scalar || v.unit != "" || v.base != "" {
		return nil, fmt.Errorf("arithmetic with %s", shapeNames[v.shape])
	}
	return v.expr, nil
}

// binary combines two scalars.
func (p *parser) binary(o op, left *value, right *value) (*value, error) {
	a, err := p.scalarOf(left)
	if err != nil {
		return nil, err
	}
	b, err := p.scalarOf(right)
	if err != nil {
		return nil, err
	}
	n, err := p.make(o, a, b)
	return expression(n), err
}

// sum reads a + b - c ± d.
func (p *parser) sum() (*value, error) {
	var left *value
	var err error
	switch {
	case p.accept("pm"):
		left, err = p.plusMinus(opPlusMinus, expression(integer(0)))
	case p.accept("mp"):
		left, err = p.plusMinus(opMinusPlus, expression(integer(0)))
	default:
		left, err = p.product()
	}
	for err == nil {
		var right *value
		switch {
		case p.accept("+"):
			if p.accept("-") && p.peek().text != "-" { // +- is ±
				left, err = p.plusMinus(opPlusMinus, left)
				continue
			}
			if right, err = p.product(); err == nil {
				left, err = p.binary(opAdd, left, right)
			}
		case p.accept("-"):
			if right, err = p.product(); err == nil {
				if right, err = p.negated(right); err == nil {
					left, err = p.binary(opAdd, left, right)
				}
			}
		case p.accept("pm"):
			left, err = p.plusMinus(opPlusMinus, left)
		case p.accept("mp"):
			left, err = p.plusMinus(opMinusPlus, left)
		default:
			return left, nil
		}
	}
	return nil, err
}

func (p *parser) plusMinus(o op, left *value) (*value, error) {
	right, err := p.product()
	if err != nil {
		return nil, err
	}
	return p.binary(o, left, right)
}

func (p *parser) negated(v *value) (*value, error) {
	x, err := p.scalarOf(v)
	if err != nil {
		return nil, err
	}
	n, err := p.make(opNegate, x)
	return expression(n), err
}

// product reads a * b / c, and factors side by side.
func (p *parser) product() (*value, error) {
	left, err := p.unary()
	slash := false
	for err == nil {
		var right *value
		switch {
		case p.accept("*"):
			slash = false
			if right, err = p.unary(); err == nil {
				left, err = p.binary(opMultiply, left, right)
			}
		case p.accept("/"):
			slash = true
			if right, err = p.unary(); err == nil {
				left, err = p.binary(opDivide, left, right)
			}
		case p.startsFactor(), p.peek().kind == tokenNumber && p.peekAt(-1).text == "!": // 3!4!
			if slash {
				p.doubt = "1/2x may be x/2 or 1/(2x)"
			}
			if right, err = p.power(); err == nil {
				left, err = p.binary(opMultiply, left, right)
			}
		default:
			return left, nil
		}
	}
	return nil, err
}

// startsFactor reports whether the next token begins a factor that needs no sign
// before it. A number does not: 2 3 is no product.
func (p *parser) startsFactor() bool {
	switch t := p.peek(); t.kind {
	case tokenLetter:
		return true
	case tokenCommand:
		return functions[t.text] || starters[t.text]
	case tokenSymbol:
		return t.text == "(" || t.text == "{" || t.text == "|" && p.bars == 0
	}
	return false
}

func (p *parser) unary() (*value, error) {
	negative := false
	for p.is("-", "+") {
		negative = negative != p.is("-")
		p.at++
	}
	v, err := p.power()
	if err != nil || !negative {
		return v, err
	}
	return p.negated(v)
}

// power reads a^b, with what stands behind a: ! % ° and primes.
func (p *parser) power() (*value, error) {
	base, err := p.postfix()
	if err != nil {
		return nil, err
	}
	if !p.is("^") {
		return base, nil
	}
	p.at++
	x, err := p.scalarOf(base)
	if err != nil {
		return nil, err
	}
	if p.acceptCircle() {
		if scale := map[string]string{"C": "degree Celsius", "F": "degree Fahrenheit"}[p.peek().text]; scale != "" {
			p.at++
			p.money = scale
			return expression(x), nil
		}
		n, err := p.make(opDegree, x)
		return expression(n), err
	}
	k, err := p.argument()
	if err != nil {
		return nil, err
	}
	n, err := p.make(opPower, x, k)
	if err != nil {
		return nil, err
	}
	return p.after(expression(n))
}

// acceptCircle reads the circle of degrees, with or without braces.
func (p *parser) acceptCircle() bool {
	if p.is("{") && p.peekAt(1).text == "circ" && p.peekAt(2).text == "}" {
		p.at += 3
		return true
	}
	return p.accept("circ")
}

// argument reads what a power, root or fraction applies to: a group, or one
// token, which of a power may carry a sign.
func (p *parser) argument() (*node, error) {
	negative := p.accept("-")
	v, err := p.primary()
	if err == nil && negative {
		v, err = p.negated(v)
	}
	if err != nil {
		return nil, err
	}
	return p.scalarOf(v)
}

// digitArgument reads the argument of a command that takes one digit where there
// are no braces: \frac12, \sqrt2.
func (p *parser) digitArgument() (*node, error) {
	if t := p.peek(); t.kind == tokenNumber && len(t.text) > 1 {
		if !isDigit(rune(t.text[0])) {
			return nil, p.fail()
		}
		p.tokens[p.at].text, p.tokens[p.at].spaced = t.text[1:], false
		return integer(int64(t.text[0] - '0')), nil
	}
	return p.argument()
}

func (p *parser) postfix() (*value, error) {
	v, err := p.primary()
	if err != nil {
		return nil, err
	}
	return p.after(v)
}

// after reads the signs behind a value.
func (p *parser) after(v *value) (*value, error) {
	for {
		var n *node
		switch {
		case p.is("!"):
			x, err := p.scalarOf(v)
			if err != nil {
				return nil, err
			}
			n = call("factorial", x)
		case p.is("%"):
			x, err := p.scalarOf(v)
			if err != nil {
				return nil, err
			}
			n = join(opPercent, x)
		default:
			return v, nil
		}
		if p.nodes++; p.nodes > maxNodes {
			return nil, errTooLong
		}
		p.at++
		v = expression(n)
	}
}

// numberOf reads the digits of a number.
func numberOf(text string) (*big.Rat, bool) {
	if mantissa, exponent, ok := strings.Cut(strings.ToLower(text), "e"); ok {
		if len(strings.TrimLeft(exponent, "+-0")) > 3 || mantissa == "" {
			return nil, false
		}
	}
	return new(big.Rat).SetString(strings.TrimSuffix(text, "."))
}
