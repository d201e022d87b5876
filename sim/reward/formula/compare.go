// Package formula reads short mathematical answers, in LaTeX or plain text, and
// tells whether two of them are equal. It refuses to guess: what it cannot read
// or decide is "cannot tell". It runs nothing that it reads, and takes bounded
// time whatever the text.
//
// # Scope
//
// It reads numbers (separators of thousands, repeating decimals, mixed numbers,
// powers of ten, other bases, percent, money), expressions in named variables
// (+ - * / powers, roots, factorials, binomials, absolute values, logarithms,
// trigonometric and hyperbolic functions and their inverses, pi, e, i), tuples,
// sets and lists, intervals and their unions, matrices, ratios, equations and
// inequalities, answers with units, and words.
//
// Conventions where texts differ: e and i are constants; x = 5 is compared as 5;
// a list has no order, a tuple has one; (1, 2) is a point and an open interval;
// a percentage or degree compares with its number and its value, 50 % with 50 and
// 1/2; a unit that one answer lacks is not asked for; 2 million is 2000000, and may
// be 2 where millions are asked for; m + n = 5 is 5, as variables alone on the left
// say what is asked for; 1 1/2 is a mixed number;
// odd roots of negative numbers are real; a cancelled singularity does not
// count, (x^2-1)/(x-1) is x+1.
//
// Rational expressions are compared exactly; others in floating point with error
// bounds, at random points. What it cannot tell: log without a base where the
// base matters; 1/2x; identities that hold for positive variables alone; a
// decimal comma; equations that are not multiples of each other and not linear;
// integrals, sums, limits, cases; words that are not the same; numbers that
// cancel. Two constants with roots or functions that agree within their error
// bounds, some 12 digits, count as equal: exp(pi sqrt(163)) is taken for the
// whole number that is next to it.
package formula

import (
	"fmt"
	"slices"
	"strings"
)

// A Verdict says whether two answers are equal.
type Verdict int

// The verdicts.
const (
	CannotTell Verdict = iota
	Equal
	Different
)

func (v Verdict) String() string {
	return [...]string{"cannot tell", "equal", "different"}[v]
}

// Compare compares an answer with the one that is wanted. Numbers of which one at
// least has a decimal point may differ by the tolerance, a share of the larger.
// The reason says in a few words what it rests on.
func Compare(got, want string, tolerance float64) (v Verdict, reason string) {
	a, err := read(got)
	if err != nil {
		return CannotTell, err.Error()
	}
	b, err := read(want)
	if err != nil {
		return CannotTell, err.Error()
	}
	if a.same(b) {
		return Equal, "the same text"
	}
	c := newComparison(tolerance)
	v = c.values(a.value, b.value)
	if c.visits < 0 {
		return CannotTell, "too much to compare"
	}
	for _, side := range []*value{a.value, b.value} {
		if v == Different && side.doubt != "" && (side.shape != list || a.value.shape == scalar || b.value.shape == scalar) {
			v, c.reason = CannotTell, side.doubt
		}
		if side.unsure != "" {
			v, c.reason = CannotTell, side.unsure
		}
	}
	return v, c.reason
}

// Readable reports whether a text is an answer in the scope: one that is not
// prose.
func Readable(text string) bool {
	a, err := read(text)
	return err == nil && a.value.shape != prose
}

// An answer is a text that was read.
type answer struct {
	tokens []token
	value  *value
}

// read reads a text without what does not belong to the answer: full stops and
// signs of emphasis.
func read(text string) (answer, error) {
	text = strings.TrimSpace(text)
	text = strings.TrimSpace(strings.Trim(text, "*`"))
	if !strings.HasSuffix(text, "..") {
		text = strings.TrimRight(text, ".,;:")
	}
	text = strings.TrimRight(text, `\`) // of a space or an end of line
	t, err := tokens(text)
	if err != nil {
		return answer{}, err
	}
	for len(t) > 0 && t[len(t)-1].text == "." && (len(t) < 2 || t[len(t)-2].text != ".") {
		t = t[:len(t)-1]
	}
	if len(t) == 0 {
		return answer{}, fmt.Errorf("the answer is empty")
	}
	return answer{t, parse(t)}, nil
}

// same reports whether two answers have the same tokens.
func (a answer) same(b answer) bool {
	if len(a.tokens) != len(b.tokens) {
		return false
	}
	for i, t := range a.tokens {
		u := b.tokens[i]
		if t.kind != u.kind || t.text != u.text || t.spaced != u.spaced && t.kind == tokenNumber && i > 0 {
			return false
		}
	}
	return true
}

// A comparison compares the parts of two answers.
type comparison struct {
	tolerance float64
	work      int // what is left of maxWork
	visits    int // what is left of maxVisits
	pairs     int // what is left of maxPairs
	reason    string
	seen      map[*node]*samples
	made      map[making]*node
	measures  map[string]measured // by the words of a unit
}

// A measured is what unitOf says of the words of a unit.
type measured struct {
	measure
	rest  string
	known bool
}

// unitOf reads the words of a unit once: their factor is the same node every time.
func (c *comparison) unitOf(words string) (m measure, rest string, known bool) {
	u, ok := c.measures[words]
	if !ok {
		u.measure, u.rest, u.known = unitOf(words)
		c.measures[words] = u
	}
	return u.measure, u.rest, u.known
}

// A making is what an expression was made of while values were compared.
type making struct {
	op     op
	of, by *node // by is nil for an op of one argument
	times  int64 // in place of by, where it is not 0
}

// make returns the expression, the same node every time: its samples are found
// once, not once for each of the values that it is compared with.
func (c *comparison) make(m making) *node {
	n := c.made[m]
	switch {
	case n != nil:
		return n
	case m.times != 0:
		n = join(m.op, m.of, integer(m.times))
	case m.by != nil:
		n = join(m.op, m.of, m.by)
	default:
		n = join(m.op, m.of)
	}
	c.made[m] = n
	return n
}

func newComparison(tolerance float64) *comparison {
	return &comparison{tolerance: tolerance, work: maxWork, visits: maxVisits, pairs: maxPairs, seen: map[*node]*samples{}, made: map[making]*node{}, measures: map[string]measured{}}
}

// tell keeps the first reason.
func (c *comparison) tell(format string, args ...any) {
	if c.reason == "" {
		c.reason = fmt.Sprintf(format, args...)
	}
}

// verdict returns v with its reason.
func (c *comparison) verdict(v Verdict, format string, args ...any) Verdict {
	c.tell(format, args...)
	return v
}

// values compares two answers.
func (c *comparison) values(a, b *value) Verdict {
	if c.pairs--; c.pairs < 0 || c.visits < 0 {
		return c.verdict(CannotTell, "too many parts to compare")
	}
	a, b = unwrap(a, b)
	switch {
	case a.shape == prose || b.shape == prose:
		return c.prose(a, b)
	case a.shape == relation || b.shape == relation:
		return c.relations(a, b)
	case a.name != b.name && a.name != "" && b.name != "":
		if v := c.named(a, b); v != Equal {
			return v
		}
		return c.verdict(CannotTell, "%s and %s have the same value", a.name, b.name)
	}
	return c.named(a, b)
}

// unwrap takes a set of one, against what is no set, for its element.
func unwrap(a, b *value) (*value, *value) {
	single := func(v, other *value) *value {
		if v.shape == list && len(v.items) == 1 && other.shape != list {
			return v.items[0]
		}
		return v
	}
	return single(a, b), single(b, a)
}

// named compares values whose names do not matter.
func (c *comparison) named(a, b *value) Verdict {
	switch {
	case a.shape == scalar && b.shape == scalar:
		return c.units(a, b)
	case a.shape == list && b.shape == list:
		return c.sets(a.items, b.items)
	case a.shape == union && b.shape == union:
		return c.sets(a.items, b.items)
	case a.shape == union && pair(b), pair(a) && b.shape == union:
		return c.verdict(CannotTell, "a union and an interval may be one set")
	case a.shape == matrix && b.shape == matrix:
		return c.rows(a, b)
	case a.shape == matrix && b.shape == tuple:
		return c.vector(a, b)
	case a.shape == tuple && b.shape == matrix:
		return c.vector(b, a)
	case ordered(a) && ordered(b):
		return c.tuples(a, b)
	case ordered(a) && b.shape == list || a.shape == list && ordered(b):
		return c.listed(a, b)
	case a.shape == list:
		return c.several(a, b)
	case b.shape == list:
		return c.several(b, a)
	}
	return c.verdict(Different, "%s and %s", shapeNames[a.shape], shapeNames[b.shape])
}

// pair reports whether v is or may be an interval.
func pair(v *value) bool { return ordered(v) && len(v.items) == 2 }

func ordered(v *value) bool { return v.shape == tuple || v.shape == interval }

// all compares items one by one: Different where any is, Equal where all are.
func (c *comparison) all(a, b []*value) Verdict {
	if len(a) != len(b) {
		return c.verdict(Different, "%d parts and %d", len(a), len(b))
	}
	result := Equal
	for i := range a {
		switch c.values(a[i], b[i]) {
		case Different:
			return Different
		case CannotTell:
			result = CannotTell
		}
	}
	return result
}

// tuples compares what has an order; brackets decide between intervals.
func (c *comparison) tuples(a, b *value) Verdict {
	if a.open == ":" != (b.open == ":") {
		return c.verdict(Different, "a ratio and a tuple")
	}
	v := c.all(a.items, b.items)
	if v == Different || a.open == b.open && a.close == b.close || len(a.items) != 2 {
		return v
	}
	if a.shape == interval || b.shape == interval {
		return c.verdict(Different, "open and closed ends")
	}
	return c.verdict(CannotTell, "(a, b) and [a, b] may be the same point")
}

// listed compares a tuple with a list or set: in the same order they are equal,
// otherwise the tuple asked for an order.
func (c *comparison) listed(a, b *value) Verdict {
	if a.shape == interval || b.shape == interval {
		return c.verdict(Different, "%s and %s", shapeNames[a.shape], shapeNames[b.shape])
	}
	set := a
	if b.shape == list {
		set = b
	}
	v := c.all(a.items, b.items)
	if set.bare {
		return v
	}
	if v == Different && c.sets(a.items, b.items) == Different {
		return Different
	}
	return c.verdict(CannotTell, "a tuple and a set of the same items")
}

// several compares a list with what is none: they are equal where all of the list
// is one value. Conditions in a list, x+1, x ≠ 3, are outside the scope.
func (c *comparison) several(l, v *value) Verdict {
	if slices.ContainsFunc(l.items, func(item *value) bool { return item.shape != scalar && item.name != "" || item.shape == relation }) {
		return c.verdict(CannotTell, "a condition beside the answer")
	}
	if items := c.distinct(l.items); len(items) == 1 {
		return c.values(items[0], v)
	}
	return c.verdict(Different, "%s and %s", shapeNames[l.shape], shapeNames[v.shape])
}

// sets compares items without order; repetitions do not count.
func (c *comparison) sets(a, b []*value) Verdict {
	a, b = c.distinct(a), c.distinct(b)
	used := make([]bool, len(b))
	unsure, matched := false, 0
	for _, x := range a {
		for i, y := range b {
			if used[i] {
				continue
			}
			v := c.quietly(x, y)
			if v == Equal {
				used[i] = true
				matched++
				break
			}
			unsure = unsure || v == CannotTell
		}
	}
	switch {
	case matched == len(a) && matched == len(b):
		return c.verdict(Equal, "the same items")
	case unsure:
		return c.verdict(CannotTell, "some items cannot be compared")
	}
	return c.verdict(Different, "%d of %d and %d items agree", matched, len(a), len(b))
}

// quietly compares items without leaving a reason.
func (c *comparison) quietly(a, b *value) Verdict {
	reason := c.reason
	c.reason = "not asked for" // so that none is written
	v := c.values(a, b)
	c.reason = reason
	return v
}

// distinct drops items that equal an earlier one.
func (c *comparison) distinct(items []*value) []*value {
	var kept []*value
	for _, x := range items {
		repeated := false
		for _, y := range kept {
			repeated = repeated || c.quietly(x, y) == Equal
		}
		if !repeated {
			kept = append(kept, x)
		}
	}
	return kept
}

func (c *comparison) rows(a, b *value) Verdict {
	if len(a.items) != len(b.items) {
		return c.verdict(Different, "%d rows and %d", len(a.items), len(b.items))
	}
	result := Equal
	for i := range a.items {
		switch c.all(a.items[i].items, b.items[i].items) {
		case Different:
			return Different
		case CannotTell:
			result = CannotTell
		}
	}
	return result
}

// vector compares a matrix of one row or column with a tuple.
func (c *comparison) vector(m, t *value) Verdict {
	if len(m.items) == 1 {
		return c.all(m.items[0].items, t.items)
	}
	var column []*value
	for _, row := range m.items {
		if len(row.items) != 1 {
			return c.verdict(Different, "a matrix and a tuple")
		}
		column = append(column, row.items[0])
	}
	return c.all(column, t.items)
}

// prose compares texts.
func (c *comparison) prose(a, b *value) Verdict {
	switch {
	case a.shape != prose || b.shape != prose:
		return c.verdict(CannotTell, "%s and %s", shapeNames[a.shape], shapeNames[b.shape])
	case a.text == b.text:
		return c.verdict(Equal, "the same words")
	case excludes(a.text, b.text):
		return c.verdict(Different, "%s is not %s", a.text, b.text)
	}
	return c.verdict(CannotTell, "text outside the scope")
}

// units compares scalars with their units.
func (c *comparison) units(a, b *value) Verdict {
	if a.base != "" || b.base != "" {
		return c.bases(a, b)
	}
	if a.times != b.times {
		return c.multiplied(a, b)
	}
	a, b = c.split(a), c.split(b)
	first, firstRest, firstKnown := c.unitOf(a.unit)
	second, secondRest, secondKnown := c.unitOf(b.unit)
	switch {
	case firstRest == secondRest:
		return c.scalars(a.expr, b.expr, a.decimal || b.decimal)
	case firstRest == "" || secondRest == "":
		return c.oneUnit(a, b, first, second)
	case firstKnown && secondKnown && first.dimension != second.dimension:
		return c.verdict(Different, "%s and %s", a.unit, b.unit)
	case firstKnown && secondKnown:
		return c.scalars(c.times(a.expr, first), c.times(b.expr, second), a.decimal || b.decimal)
	case c.scalars(a.expr, b.expr, a.decimal || b.decimal) == Different && !firstKnown && !secondKnown:
		return c.verdict(CannotTell, "units that are not known")
	}
	c.reason = ""
	return c.verdict(CannotTell, "units %q and %q", a.unit, b.unit)
}

// multiplied compares numbers that words multiply: 2 million is 2000000, and where
// the other has no such word, the question may ask for millions.
func (c *comparison) multiplied(a, b *value) Verdict {
	out := func(v *value) *value {
		w := *v
		if w.times, w.expr = 0, v.expr; v.times > 0 {
			w.expr = c.make(making{op: opMultiply, of: v.expr, times: v.times})
		}
		return &w
	}
	v := c.units(out(a), out(b))
	x, y := *a, *b
	x.times, y.times = 0, 0
	if v == Different && min(a.times, b.times) == 0 && c.quietly(&x, &y) != Different {
		c.reason = ""
		return c.verdict(CannotTell, "the question may ask for as many thousands, or the like")
	}
	return v
}

// oneUnit compares where one answer alone has a unit, which is then not asked
// for; a percentage or degree may also be meant as its value.
func (c *comparison) oneUnit(a, b *value, first, second measure) Verdict {
	v := c.scalars(a.expr, b.expr, a.decimal || b.decimal)
	dimension := first.dimension + second.dimension
	if v != Different || dimension != "share" && dimension != "angle" {
		return v
	}
	reason := c.reason
	c.reason = ""
	x, y := a.expr, b.expr
	if first.factor != nil {
		x = c.times(x, first)
	} else {
		y = c.times(y, second)
	}
	if w := c.scalars(x, y, a.decimal || b.decimal); w != Different {
		return w
	}
	c.reason = reason
	return Different
}

// times returns an expression times what its unit is of the dimension's first.
func (c *comparison) times(n *node, m measure) *node {
	return c.make(making{op: opMultiply, of: n, by: m.factor})
}

// split takes a percent sign or a circle off an expression, as its unit.
func (c *comparison) split(v *value) *value {
	n, negative := v.expr, false
	for n.op == opNegate {
		n, negative = n.args[0], !negative
	}
	unit := map[op]string{opPercent: "percent", opDegree: "degree"}[n.op]
	if unit == "" || v.unit != "" {
		return v
	}
	w := *v
	w.unit, w.expr = unit, n.args[0]
	if negative {
		w.expr = c.make(making{op: opNegate, of: w.expr})
	}
	return &w
}

// bases compares numbers of which one has a base.
func (c *comparison) bases(a, b *value) Verdict {
	if a.base != "" && b.base != "" {
		return c.scalars(a.expr, b.expr, false)
	}
	if a.base == "" {
		a, b = b, a
	}
	if b.expr.op == opNumber && b.expr.value.IsInt() && b.expr.value.Num().String() == strings.TrimLeft(a.base, "0") {
		return c.verdict(Equal, "the same digits")
	}
	return c.verdict(CannotTell, "a base on one side alone")
}
