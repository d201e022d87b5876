package formula

import (
	"errors"
	"math"
	"slices"
	"strings"
)

// samples are what a comparison has found out about an expression: what it
// contains, and its values at the points where expressions are compared.
type samples struct {
	size      int             // how many parts it has
	names     map[string]bool // of variables
	infinite  bool            // contains ∞
	imaginary bool            // contains i
	bareLog   bool            // contains a log without a base

	field    [fieldPoints]element
	fieldErr error
	planes   [len(pointSizes)][2][2]*approx // by point, complex or not, base e or 10
}

// A planeKey names a way to evaluate in floating point.
type planeKey struct {
	point   int
	complex bool
	tens    bool // a log without a base is to the base of 10, otherwise of e
}

func (c *comparison) samplesOf(n *node) *samples {
	s, ok := c.seen[n]
	if ok {
		return s
	}
	s = &samples{size: n.size(), names: make(map[string]bool), infinite: n.has(opInfinity), imaginary: n.has(opI), bareLog: n.any(isBareLog)}
	n.variables(s.names)
	c.seen[n] = s
	if c.visits -= len(s.field) * s.size; c.visits < 0 {
		s.fieldErr = errNotRational // too much already, and no verdict rests on it
		return s
	}
	for i := range s.field {
		if s.field[i], s.fieldErr = (field{fieldPoint(i), &c.work}).eval(n); s.fieldErr != nil {
			break
		}
	}
	return s
}

// plane returns the value at a point of floating point.
func (c *comparison) plane(n *node, key planeKey) approx {
	index := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	s := c.samplesOf(n)
	known := &s.planes[key.point][index(key.complex)][index(key.tens)]
	if *known == nil {
		if c.visits -= s.size; c.visits < 0 {
			return undefined
		}
		log := 1.
		if key.tens {
			log = math.Ln10
		}
		a := plane{planePoint(key.point), key.complex, log, &c.work}.eval(n)
		*known = &a
	}
	return **known
}

// scalars compares expressions.
func (c *comparison) scalars(a, b *node, decimal bool) Verdict {
	s, t := c.samplesOf(a), c.samplesOf(b)
	switch {
	case s.infinite || t.infinite:
		return c.infinities(a, b)
	case errors.Is(s.fieldErr, errUndefined) || errors.Is(t.fieldErr, errUndefined):
		return c.verdict(CannotTell, "divides by zero")
	case s.fieldErr == nil && t.fieldErr == nil && s.field == t.field:
		return c.verdict(Equal, "equal in exact arithmetic")
	case s.fieldErr == nil && t.fieldErr == nil && (!decimal || wholes(a, b)):
		return c.different(a, b, "different in exact arithmetic")
	}
	v := c.floats(a, b, decimal, true)
	if s.bareLog || t.bareLog {
		reason := c.reason
		c.reason = ""
		if w := c.floats(a, b, decimal, false); w != v {
			c.reason = ""
			return c.verdict(CannotTell, "log without a base")
		}
		c.reason = reason
	}
	return v
}

// wholes reports whether both are whole numbers, for which no tolerance holds.
func wholes(a, b *node) bool {
	x, ok := a.exact()
	y, ok2 := b.exact()
	return ok && ok2 && x.IsInt() && y.IsInt()
}

func isBareLog(n *node) bool { return n.op == opLog && len(n.args) == 1 }

// infinities compares where one side at least contains ∞.
func (c *comparison) infinities(a, b *node) Verdict {
	x, y := infinite(a), infinite(b)
	undefinable := func(n *node, sign int) bool {
		return sign == 0 && len(c.samplesOf(n).names) == 0 && !c.plane(n, planeKey{complex: true}).defined()
	}
	switch {
	case undefinable(a, x) || undefinable(b, y): // 1/0
		return c.verdict(CannotTell, "undefined, or lost to cancelling")
	case x == 0 && c.samplesOf(a).infinite || y == 0 && c.samplesOf(b).infinite:
		return c.verdict(CannotTell, "arithmetic with infinity")
	case x == y:
		return c.verdict(Equal, "both infinite")
	}
	return c.verdict(Different, "one is infinite")
}

// infinite returns 1 for ∞, -1 for -∞ and 0 for anything else.
func infinite(n *node) int {
	switch {
	case n.op == opInfinity:
		return 1
	case n.op == opNegate:
		return -infinite(n.args[0])
	}
	return 0
}

// different is the verdict on expressions that differ, unless they do so by the
// name of a variable in capitals, a constant of integration, a letter that names a
// function, or letters that may be units.
func (c *comparison) different(a, b *node, reason string) Verdict {
	x, y := c.samplesOf(a).names, c.samplesOf(b).names
	extra := append(missing(x, y), missing(y, x)...)
	if len(extra) > 0 && len(extra) == len(x)+len(y) && !slices.ContainsFunc(extra, func(name string) bool { return !isUnit(name) }) {
		return c.verdict(CannotTell, "%s may be a unit", extra[0])
	}
	for _, name := range extra {
		switch other := swapCase(name); {
		case x[other] != y[other] && (x[other] || y[other]):
			return c.verdict(CannotTell, "%s and %s may be one variable", name, other)
		case name == "C" && len(extra) == 1 && len(x)+len(y) > 1:
			return c.verdict(CannotTell, "C may be a constant of integration")
		case name == "I" && (c.samplesOf(a).imaginary || c.samplesOf(b).imaginary):
			return c.verdict(CannotTell, "I may be the imaginary unit")
		case functionNames[name] && len(extra) == len(x)+len(y) && len(extra) == 1:
			return c.verdict(CannotTell, "%s may be a function", name)
		}
	}
	return c.verdict(Different, "%s", reason)
}

// missing returns the names of x that y lacks.
func missing(x, y map[string]bool) []string {
	var names []string
	for name := range x {
		if !y[name] {
			names = append(names, name)
		}
	}
	return names
}

func swapCase(name string) string {
	if upper := strings.ToUpper(name); upper != name {
		return upper
	}
	return strings.ToLower(name)
}

// An agreement is what one point says of two expressions.
type agreement int

const (
	nothing agreement = iota // neither is defined, or errors are too large to tell
	agree
	disagree
	domains // one alone is defined
)

// surely bounds the error, as a share of the value, up to which numbers that
// agree within it are taken for equal.
const surely = 1e-9

// compareAt compares two values. Within the tolerance, a share of the larger,
// they agree; where it is 0, within their error bounds.
func compareAt(a, b approx, tolerance float64) agreement {
	switch {
	case !a.defined() && !b.defined():
		return nothing
	case !a.defined() || !b.defined():
		return domains
	}
	bound := a.e + b.e
	size := max(abs(a), abs(b))
	difference := abs(approx{v: a.v - b.v})
	switch {
	case tolerance > 0 && difference <= tolerance*size && bound <= tolerance*size:
		return agree
	case difference > bound+tolerance*size:
		return disagree
	case bound <= surely*size, size <= bound && bound <= 1e-12:
		return agree
	}
	return nothing
}

func abs(a approx) float64 { return math.Hypot(real(a.v), imag(a.v)) }

// floats compares expressions in floating point, a logarithm without a base being
// to that of 10 or of e.
func (c *comparison) floats(a, b *node, decimal, tens bool) Verdict {
	tolerance := 0.
	if decimal {
		tolerance = c.tolerance
	}
	s, t := c.samplesOf(a), c.samplesOf(b)
	free := len(s.names)+len(t.names) > 0
	key := planeKey{complex: !free || s.imaginary || t.imaginary, tens: tens}
	if !free {
		switch compareAt(c.plane(a, key), c.plane(b, key), tolerance) {
		case agree:
			return c.verdict(Equal, "equal within the error of floating point or the tolerance")
		case disagree:
			return c.verdict(Different, "different values")
		}
		return c.verdict(CannotTell, "undefined, or lost to cancelling")
	}
	return c.atPoints(a, b, key, tolerance)
}

// atPoints compares expressions with variables: at positive points they must
// agree, and where they then differ at others it cannot tell.
func (c *comparison) atPoints(a, b *node, key planeKey, tolerance float64) Verdict {
	var agreed int
	for key.point = range pointSizes {
		switch compareAt(c.plane(a, key), c.plane(b, key), tolerance) {
		case agree:
			agreed++
		case disagree:
			if key.point < positivePoints || agreed == 0 {
				return c.different(a, b, "different at a point")
			}
			return c.verdict(CannotTell, "equal for positive variables alone")
		case domains:
			if key.point >= positivePoints && agreed > 0 {
				return c.verdict(CannotTell, "equal, but not defined for the same variables")
			}
		}
	}
	if agreed < 2 {
		return c.verdict(CannotTell, "defined at too few points")
	}
	return c.verdict(Equal, "equal at random points")
}
