package formula

import (
	"math/big"
	"slices"
)

// An op is what a node does with its arguments.
type op int

const (
	opNumber op = iota // value
	opVariable
	opPi
	opE
	opI
	opInfinity
	opAdd
	opNegate
	opMultiply
	opDivide
	opPower
	opRoot      // of the first argument, its degree the second
	opFunction  // named
	opLog       // to the base of the second argument; without one the base is unknown
	opBinomial  // binom(n, k)
	opDegree    // π/180 of its argument
	opPercent   // a hundredth of its argument
	opPlusMinus // two values
	opMinusPlus
)

// A node is part of an expression. Nodes are never changed, so that they may be
// shared.
type node struct {
	op    op
	args  []*node
	value *big.Rat
	float float64 // the value, rounded
	name  string
}

func number(x *big.Rat) *node {
	float, _ := x.Float64()
	return &node{op: opNumber, value: x, float: float}
}

func integer(n int64) *node { return number(big.NewRat(n, 1)) }

func join(o op, args ...*node) *node { return &node{op: o, args: args} }

func call(name string, x *node) *node { return &node{op: opFunction, name: name, args: []*node{x}} }

// any reports whether ok holds of the node or one below it.
func (n *node) any(ok func(*node) bool) bool {
	return ok(n) || slices.ContainsFunc(n.args, func(a *node) bool { return a.any(ok) })
}

func (n *node) has(ops ...op) bool {
	return n.any(func(m *node) bool { return slices.Contains(ops, m.op) })
}

// size returns the number of parts.
func (n *node) size() int {
	size := 1
	for _, a := range n.args {
		size += a.size()
	}
	return size
}

// variables adds the names of the variables to set.
func (n *node) variables(set map[string]bool) {
	if n.op == opVariable {
		set[n.name] = true
	}
	for _, a := range n.args {
		a.variables(set)
	}
}

// signed returns the node with ± read as + and ∓ as -, or the other way round.
func (n *node) signed(plus bool) *node {
	if len(n.args) == 0 {
		return n
	}
	args := make([]*node, len(n.args))
	for i, a := range n.args {
		args[i] = a.signed(plus)
	}
	switch {
	case n.op != opPlusMinus && n.op != opMinusPlus:
		return &node{op: n.op, args: args, name: n.name}
	case (n.op == opPlusMinus) == plus:
		return join(opAdd, args...)
	}
	return join(opAdd, args[0], join(opNegate, args[1]))
}

// exact returns the value of a small rational constant, as exponents are:
// numerator and denominator of at most 62 bits.
func (n *node) exact() (*big.Rat, bool) {
	var args [2]*big.Rat
	if len(n.args) > 2 {
		return nil, false
	}
	for i, a := range n.args {
		var ok bool
		if args[i], ok = a.exact(); !ok {
			return nil, false
		}
	}
	x := new(big.Rat)
	switch n.op {
	case opNumber:
		x.Set(n.value)
	case opNegate:
		x.Neg(args[0])
	case opAdd:
		x.Add(args[0], args[1])
	case opMultiply:
		x.Mul(args[0], args[1])
	case opDivide:
		if args[1].Sign() == 0 {
			return nil, false
		}
		x.Quo(args[0], args[1])
	case opPower:
		if !args[1].IsInt() || args[1].Num().CmpAbs(big.NewInt(62)) > 0 || args[0].Sign() == 0 {
			return nil, false
		}
		k := args[1].Num().Int64()
		num := new(big.Int).Exp(args[0].Num(), big.NewInt(max(k, -k)), nil)
		den := new(big.Int).Exp(args[0].Denom(), big.NewInt(max(k, -k)), nil)
		if k < 0 {
			num, den = den, num
		}
		x.SetFrac(num, den)
	default:
		return nil, false
	}
	return x, x.Num().BitLen() <= 62 && x.Denom().BitLen() <= 62
}
