package formula

// A shape says what an answer is as a whole.
type shape int

const (
	scalar   shape = iota // expr
	tuple                 // (a, b), with an order
	list                  // a, b or {a, b}, without one
	interval              // from items[0] to items[1]
	union                 // of intervals and sets, without an order
	matrix                // rows of items, each a tuple
	relation              // items[0] sign items[1]
	prose                 // text
)

var shapeNames = [...]string{"an expression", "a tuple", "a set", "an interval", "a union", "a matrix", "a relation", "text"}

// A value is a parsed answer.
type value struct {
	shape shape
	expr  *node
	items []*value
	// Of a tuple or interval: the brackets, "[" or "(" and "]" or ")".
	open, close string
	sign        string // of a relation: = < > le ge ne
	unit        string // in words; "" for none
	times       int64  // what words multiply it by, as million does; 0 for no such words
	text        string // of prose
	base        string // of a number in a base: the digits, as they are written
	decimal     bool   // some number has a point, and so may be rounded
	name        string // what a solved equation or inequality is about
	doubt       string // how else it can be read, so that it need not differ; "" for in no other way
	unsure      string // how else it can be read, so that it need not be equal either
	bare        bool   // a list without brackets
}

func expression(n *node) *value { return &value{shape: scalar, expr: n} }

func group(s shape, items ...*value) *value { return &value{shape: s, items: items} }

// between returns the interval from low to high.
func between(low, high *node, open, close string) *value {
	v := group(interval, expression(low), expression(high))
	v.open, v.close = open, close
	return v
}

func infinity(sign int) *node {
	n := &node{op: opInfinity}
	if sign < 0 {
		return join(opNegate, n)
	}
	return n
}

// each calls f with the value and all below it.
func (v *value) each(f func(*value)) {
	f(v)
	for _, item := range v.items {
		item.each(f)
	}
}

// expand turns expressions with ± into lists of two, in every part.
func (v *value) expand() *value {
	if v.shape == scalar && v.expr.has(opPlusMinus, opMinusPlus) {
		plus, minus := *v, *v
		plus.expr, minus.expr = v.expr.signed(true), v.expr.signed(false)
		l := group(list, &plus, &minus)
		l.bare, l.decimal = true, v.decimal
		return l
	}
	for i, item := range v.items {
		v.items[i] = item.expand()
	}
	if v.shape == relation && v.sign == "=" && v.items[1].shape == list { // x = a ± b
		l := group(list)
		for _, item := range v.items[1].items {
			equation := *v
			equation.items = []*value{v.items[0], item}
			l.items = append(l.items, &equation)
		}
		l.bare = true
		return l
	}
	if v.shape == list { // 0, ±1 is one list
		var flat []*value
		for _, item := range v.items {
			if item.shape == list && item.bare {
				flat = append(flat, item.items...)
			} else {
				flat = append(flat, item)
			}
		}
		v.items = flat
	}
	return v
}
