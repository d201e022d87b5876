package formula

import (
	"fmt"
	"slices"
	"strings"
)

// related makes the value of sides with signs between them.
func related(sides []*value, signs []string) (*value, error) {
	for i, sign := range signs {
		if sign == "approx" {
			signs[i] = "="
		}
	}
	switch {
	case len(signs) == 0:
		return sides[0], nil
	case len(signs) == 1, !slices.ContainsFunc(signs, func(s string) bool { return s != "=" }):
		// Of a = b = c the first and the last count.
		v := group(relation, sides[0], sides[len(sides)-1])
		v.sign = signs[0]
		return v, nil
	case len(signs) == 2:
		return chain(sides, signs)
	}
	return nil, fmt.Errorf("a chain of %d relations", len(signs))
}

// chain reads a < x <= b and b >= x > a as an interval of x.
func chain(sides []*value, signs []string) (*value, error) {
	if strings.Contains(">ge", signs[0]) {
		slices.Reverse(sides)
		slices.Reverse(signs)
		turned := map[string]string{">": "<", "ge": "le", "<": ">", "le": "ge"}
		signs[0], signs[1] = turned[signs[0]], turned[signs[1]]
	}
	name := variableOf(sides[1])
	if name == "" || sides[0].shape != scalar || sides[2].shape != scalar || !strings.Contains("<le", signs[0]) || !strings.Contains("<le", signs[1]) ||
		signs[0] == "" || signs[1] == "" {
		return nil, fmt.Errorf("a chain of relations that is no interval")
	}
	brackets := map[string][2]string{"<": {"(", ")"}, "le": {"[", "]"}}
	v := between(sides[0].expr, sides[2].expr, brackets[signs[0]][0], brackets[signs[1]][1])
	v.name = name
	return v, nil
}

// variableOf returns the name of a value that is a variable alone.
func variableOf(v *value) string {
	if v.shape == scalar && v.expr.op == opVariable {
		return v.expr.name
	}
	return ""
}

// functionNames are letters that name functions where they stand on the left.
var functionNames = words("f g h F G H P Q f' g' h' f''")

// subject returns what a left side names: x, or f of f(x).
func subject(v *value) string {
	if v.shape != scalar {
		return ""
	}
	n := v.expr
	if n.op == opMultiply && n.args[1].op == opVariable { // f(x), f^{-1}(x)
		f := n.args[0]
		if f.op == opVariable && functionNames[f.name] {
			return f.name
		}
		if f.op == opPower && functionNames[f.args[0].name] {
			return f.args[0].name + "^"
		}
	}
	if n.op == opDivide && differential(n.args[0]) && differential(n.args[1]) { // dy/dx
		return "derivative"
	}
	return variableOf(v)
}

// differential reports whether an expression is that of dx.
func differential(n *node) bool {
	return n.op == opMultiply && n.args[0].name == "d" && n.args[1].op == opVariable
}

// coordinates reports whether a value is a tuple of variables: (x, y).
func coordinates(v *value) bool {
	return v.shape == tuple && !slices.ContainsFunc(v.items, func(item *value) bool { return variableOf(item) == "" })
}

// solved reads x = 5 as the value 5 of x, and x > 5 as an interval; other
// relations stay what they are.
func solved(v *value) *value {
	left, right := v.items[0], v.items[1]
	name, sign := subject(left), v.sign
	if coordinates(left) && sign == "=" {
		return right
	}
	if name == "" && variableOf(right) != "" {
		turned := map[string]string{"<": ">", ">": "<", "le": "ge", "ge": "le", "=": "=", "ne": "ne"}
		if t, ok := turned[sign]; ok {
			left, right, name, sign = right, left, variableOf(right), t
		}
	}
	if name == "" {
		return v
	}
	if sign == "=" || sign == "element" {
		if right.shape == relation || right.mentions(name) || len(right.name) > 0 {
			return v
		}
		right.name = name
		return right
	}
	if right.shape != scalar || right.mentions(name) {
		return v
	}
	x := right.expr
	var s *value
	switch sign {
	case "<":
		s = between(infinity(-1), x, "(", ")")
	case "le":
		s = between(infinity(-1), x, "(", "]")
	case ">":
		s = between(x, infinity(1), "(", ")")
	case "ge":
		s = between(x, infinity(1), "[", ")")
	default:
		s = group(union, between(infinity(-1), x, "(", ")"), between(x, infinity(1), "(", ")"))
	}
	s.name, s.decimal = name, right.decimal
	return s
}

// mentions reports whether the variable occurs in v.
func (v *value) mentions(name string) bool {
	return v.any(func(n *node) bool { return n.op == opVariable && n.name == name })
}

// equation returns a value as an equation: one that was solved is put back.
func (v *value) equation() (*value, bool) {
	if v.shape == relation {
		return v, v.items[0].shape == scalar && v.items[1].shape == scalar
	}
	if v.shape != scalar || v.name == "" {
		return nil, false
	}
	e := group(relation, expression(&node{op: opVariable, name: v.name}), v)
	e.sign = "="
	return e, true
}
