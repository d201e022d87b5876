package formula

import (
	"errors"
	"math/big"
	"math/bits"

	"vigorlab/sim/stream"
)

// Rational expressions are evaluated in the field of integers modulo the prime
// p = 2^61 - 1: exactly, in a time that does not depend on the size of numbers
// and powers. Two expressions that differ there differ; two rational functions
// of degree d that differ agree at a random point with probability at most d/p
// (Schwartz and Zippel), and at all fieldPoints of them with its power.
const (
	prime       = 1<<61 - 1
	fieldPoints = 2
)

// An element is an integer modulo prime, in [0, prime).
type element uint64

var (
	bigPrime = big.NewInt(prime)

	// errNotRational says that an expression is beyond field operations.
	errNotRational = errors.New("not rational")
	// errUndefined says that an expression has no value: it divides by zero.
	errUndefined = errors.New("undefined")
)

func (a element) plus(b element) element {
	s := a + b
	if s >= prime {
		s -= prime
	}
	return s
}

func (a element) negated() element {
	if a == 0 {
		return 0
	}
	return prime - a
}

func (a element) times(b element) element {
	high, low := bits.Mul64(uint64(a), uint64(b))
	return element(low & prime).plus(element(low>>61 | high<<3))
}

// power returns a^k.
func (a element) power(k uint64) element {
	x := element(1)
	for ; k > 0; k >>= 1 {
		if k&1 == 1 {
			x = x.times(a)
		}
		a = a.times(a)
	}
	return x
}

// inverse returns 1/a for a > 0, by Fermat.
func (a element) inverse() element { return a.power(prime - 2) }

// modulo returns a whole number's remainder.
func modulo(x *big.Int) element { return element(new(big.Int).Mod(x, bigPrime).Uint64()) }

// pointKey names the stream of the points at which expressions are compared.
var pointKey = stream.New(0).Named("formula")

// A field evaluates expressions modulo prime at one point.
type field struct {
	// at returns the value of a variable.
	at   func(name string) element
	work *int // what is left of maxWork
}

// fieldPoint returns the i-th point: a uniform residue for every variable.
func fieldPoint(i int) func(name string) element {
	return func(name string) element { return element(pointKey.Named(name).Bits(uint64(i)) % prime) }
}

func (f field) eval(n *node) (element, error) {
	switch n.op {
	case opNumber:
		d := modulo(n.value.Denom())
		if d == 0 {
			return 0, errNotRational
		}
		x := modulo(n.value.Num())
		if d == 1 {
			return x, nil
		}
		return x.times(d.inverse()), nil
	case opVariable:
		return f.at(n.name), nil
	case opPower:
		return f.power(n)
	case opBinomial:
		return f.binomial(n)
	case opFunction:
		if n.name == "factorial" {
			return f.factorial(n)
		}
		return 0, errNotRational
	case opAdd, opNegate, opMultiply, opDivide, opPercent:
	default:
		return 0, errNotRational
	}
	var args [2]element
	for i, a := range n.args {
		var err error
		if args[i], err = f.eval(a); err != nil {
			return 0, err
		}
	}
	switch n.op {
	case opAdd:
		return args[0].plus(args[1]), nil
	case opNegate:
		return args[0].negated(), nil
	case opMultiply:
		return args[0].times(args[1]), nil
	case opPercent:
		return args[0].times(element(100).inverse()), nil
	}
	if args[1] == 0 {
		return 0, errUndefined
	}
	return args[0].times(args[1].inverse()), nil
}

// power takes whole exponents; 0^0 is undefined.
func (f field) power(n *node) (element, error) {
	k, ok := n.args[1].exact()
	if !ok || !k.IsInt() {
		return 0, errNotRational
	}
	base, err := f.eval(n.args[0])
	e := k.Num().Int64()
	switch {
	case err != nil:
		return 0, err
	case base == 0 && e <= 0:
		return 0, errUndefined
	case e < 0:
		return base.inverse().power(uint64(-e)), nil
	}
	return base.power(uint64(e)), nil
}

// whole returns a small whole constant, and takes its size from the work left.
func (f field) whole(n *node) (int64, error) {
	k, ok := n.exact()
	if !ok || !k.IsInt() || k.Sign() < 0 || k.Num().Int64() > int64(*f.work) {
		return 0, errNotRational
	}
	*f.work -= int(k.Num().Int64())
	return k.Num().Int64(), nil
}

func (f field) factorial(n *node) (element, error) {
	k, err := f.whole(n.args[0])
	x := element(1)
	for i := int64(2); i <= k; i++ {
		x = x.times(element(i))
	}
	return x, err
}

// binomial takes a whole k; n may be any expression.
func (f field) binomial(n *node) (element, error) {
	k, err := f.whole(n.args[1])
	if err != nil {
		return 0, err
	}
	top, err := f.eval(n.args[0])
	x, below := element(1), element(1)
	for i := range element(k) {
		x = x.times(top.plus(i.negated()))
		below = below.times(i + 1)
	}
	return x.times(below.inverse()), err
}
