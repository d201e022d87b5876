package formula

import (
	"math"
	"math/cmplx"

	"vigorlab/sim/stream"
)

// An approx is a complex number and a bound on its error, which NaN says is
// without bound: the number is undefined, or beyond floating point.
type approx struct {
	v complex128
	e float64
}

// ulp bounds the relative error of one operation, with room for functions that
// round twice.
const ulp = 0x1p-51

var undefined = approx{e: math.NaN()}

func (a approx) defined() bool {
	return !math.IsNaN(a.e) && !math.IsInf(a.e, 0) && !cmplx.IsInf(a.v) && !cmplx.IsNaN(a.v)
}

// rounded adds to e the rounding of v, and undefines what is beyond range.
func rounded(v complex128, e float64) approx {
	// Adding 0 turns -0 into 0: roots of -4 and of its conjugate differ.
	a := approx{complex(real(v), imag(v)+0), e + ulp*cmplx.Abs(v)}
	if !a.defined() {
		return undefined
	}
	return a
}

// through returns f(a), whose derivative at a has absolute value slope.
func through(a approx, v complex128, slope float64) approx { return rounded(v, slope*a.e) }

// A plane evaluates expressions in floating point at one point.
type plane struct {
	at      func(name string) float64
	complex bool    // whether square roots of negative numbers exist
	log     float64 // the natural logarithm of the base of a log without one
	work    *int    // what is left of maxWork
}

// Points at which expressions in variables are compared: each variable is a
// dyadic rational of the size given, times a factor in [1/2, 3/2). At the first
// positivePoints all are positive, at the others some are negative.
var pointSizes = [...]float64{1, 0.4, 6, 25, 0.06, 2.5, 150, 1, 0.4, 6, 25}

const positivePoints = 7

// planePoint returns the i-th point.
func planePoint(i int) func(name string) float64 {
	return func(name string) float64 {
		key := stream.Key(pointKey.Named(name))
		x := pointSizes[i] * (0.5 + float64(key.Bits(uint64(100+i))>>52)*0x1p-12)
		if i >= positivePoints && (key.Bits(uint64(200+i))&3 != 0 || i == positivePoints) {
			return -x
		}
		return x
	}
}

func (p plane) eval(n *node) approx {
	switch n.op {
	case opNumber:
		return rounded(complex(n.float, 0), 0)
	case opVariable:
		return approx{v: complex(p.at(n.name), 0)}
	case opPi:
		return rounded(math.Pi, 0)
	case opE:
		return rounded(math.E, 0)
	case opI:
		return approx{v: 1i}
	case opInfinity, opPlusMinus, opMinusPlus:
		return undefined
	}
	var args [2]approx
	for i, a := range n.args {
		if args[i] = p.eval(a); !args[i].defined() {
			return undefined
		}
	}
	a := p.apply(n, args[0], args[1])
	if !p.complex && a.defined() && imag(a.v) != 0 {
		return undefined
	}
	return a
}

func (p plane) apply(n *node, a, b approx) approx {
	abs := cmplx.Abs
	switch n.op {
	case opAdd:
		return rounded(a.v+b.v, a.e+b.e)
	case opNegate:
		return approx{complex(-real(a.v), 0-imag(a.v)), a.e}
	case opMultiply:
		return rounded(a.v*b.v, abs(a.v)*b.e+abs(b.v)*a.e+a.e*b.e)
	case opDivide:
		return divide(a, b)
	case opPercent:
		return rounded(a.v/100, a.e/100)
	case opDegree:
		return rounded(a.v*(math.Pi/180), a.e*(math.Pi/180))
	case opPower:
		k, ok := n.args[1].exact()
		if !ok {
			return power(a, b)
		}
		if k.IsInt() {
			return wholePower(a, float64(k.Num().Int64()))
		}
		return rationalPower(a, float64(k.Num().Int64()), float64(k.Denom().Int64()))
	case opRoot:
		k, ok := n.args[1].exact()
		if !ok || !k.IsInt() || k.Sign() <= 0 {
			return power(a, divide(approx{v: 1}, b))
		}
		return rationalPower(a, 1, float64(k.Num().Int64()))
	case opLog:
		top := logarithm(a)
		if len(n.args) == 1 {
			return rounded(top.v/complex(p.log, 0), top.e/p.log)
		}
		return divide(top, logarithm(b))
	case opBinomial:
		return p.binomial(a, b)
	case opFunction:
		return p.function(n.name, a)
	}
	return undefined
}

func divide(a, b approx) approx {
	size := cmplx.Abs(b.v)
	if !(size > b.e) {
		return undefined
	}
	v := a.v / b.v
	return rounded(v, (a.e+cmplx.Abs(v)*b.e)/(size-b.e))
}

// real returns a real number that is known to be one.
func (a approx) real() (float64, bool) { return real(a.v), imag(a.v) == 0 }

func logarithm(a approx) approx {
	size := cmplx.Abs(a.v)
	if !(size > a.e) {
		return undefined
	}
	if x, ok := a.real(); ok && x > 0 {
		return through(a, complex(math.Log(x), 0), 1/(size-a.e))
	}
	return through(a, cmplx.Log(a.v), 1/(size-a.e))
}

// wholePower returns a^k for a whole k.
func wholePower(a approx, k float64) approx {
	size := cmplx.Abs(a.v)
	if k <= 0 && !(size > a.e) {
		return undefined
	}
	relative := 0.0
	if size > 0 {
		relative = a.e / size
	}
	v := complex128(0)
	if x, ok := a.real(); ok {
		v = complex(math.Pow(x, k), 0)
	} else {
		v = cmplx.Pow(a.v, complex(k, 0))
	}
	if size == 0 {
		return approx{v: 0, e: a.e}
	}
	// Powers lose as many times the relative error as their exponent says.
	return rounded(v, cmplx.Abs(v)*math.Expm1(math.Abs(k)*(relative+ulp)))
}

// rationalPower returns a^(k/q). Odd roots of negative numbers are the negative
// real ones, as schools have them.
func rationalPower(a approx, k, q float64) approx {
	if x, ok := a.real(); ok && x < 0 && math.Mod(q, 2) == 1 {
		root := rationalPower(approx{-a.v, a.e}, k, q)
		if math.Mod(k, 2) != 0 {
			root.v = -root.v
		}
		return root
	}
	if a.v == 0 && a.e == 0 && k > 0 {
		return a
	}
	if x, ok := a.real(); ok && x > 0 && q == 2 && k == 1 {
		v := math.Sqrt(x)
		return through(a, complex(v, 0), 1/v)
	}
	return power(a, rounded(complex(k/q, 0), 0))
}

// power returns a^b = exp(b·ln a).
func power(a, b approx) approx {
	if x, ok := a.real(); ok && x > 0 {
		if y, ok := b.real(); ok {
			ln := logarithm(a)
			v := math.Pow(x, y)
			return rounded(complex(v, 0), v*math.Expm1(math.Abs(y)*ln.e+math.Abs(real(ln.v))*(b.e+ulp*math.Abs(y))+ln.e*b.e))
		}
	}
	ln := logarithm(a)
	if !ln.defined() {
		return undefined
	}
	return exponential(rounded(b.v*ln.v, cmplx.Abs(b.v)*ln.e+cmplx.Abs(ln.v)*b.e+ln.e*b.e))
}

func exponential(a approx) approx {
	v := cmplx.Exp(a.v)
	if x, ok := a.real(); ok {
		v = complex(math.Exp(x), 0)
	}
	return rounded(v, cmplx.Abs(v)*math.Expm1(a.e))
}

// trigonometric are functions with what bounds their derivative at x, given
// their value there.
var trigonometric = map[string]struct {
	f     func(complex128) complex128
	slope func(x, v complex128) float64
}{
	"sin":    {cmplx.Sin, func(x, _ complex128) float64 { return cmplx.Abs(cmplx.Cos(x)) }},
	"cos":    {cmplx.Cos, func(x, _ complex128) float64 { return cmplx.Abs(cmplx.Sin(x)) }},
	"tan":    {cmplx.Tan, func(_, v complex128) float64 { return cmplx.Abs(1 + v*v) }},
	"sinh":   {cmplx.Sinh, func(x, _ complex128) float64 { return cmplx.Abs(cmplx.Cosh(x)) }},
	"cosh":   {cmplx.Cosh, func(x, _ complex128) float64 { return cmplx.Abs(cmplx.Sinh(x)) }},
	"tanh":   {cmplx.Tanh, func(_, v complex128) float64 { return cmplx.Abs(1 - v*v) }},
	"arcsin": {cmplx.Asin, func(x, _ complex128) float64 { return 1 / cmplx.Abs(cmplx.Sqrt(1-x*x)) }},
	"arccos": {cmplx.Acos, func(x, _ complex128) float64 { return 1 / cmplx.Abs(cmplx.Sqrt(1-x*x)) }},
	"arctan": {cmplx.Atan, func(x, _ complex128) float64 { return 1 / cmplx.Abs(1+x*x) }},
}

// reciprocal are functions that are 1 over another.
var reciprocal = map[string]string{"sec": "cos", "csc": "sin", "cot": "tan"}

// largestAngle bounds the arguments of trigonometric functions: beyond it the
// argument's own rounding says nothing any more.
const largestAngle = 1e6

func (p plane) function(name string, a approx) approx {
	if other, ok := reciprocal[name]; ok {
		return divide(approx{v: 1}, p.function(other, a))
	}
	if t, ok := trigonometric[name]; ok {
		return p.trigonometric(t.f, t.slope, name, a)
	}
	switch name {
	case "exp":
		return exponential(a)
	case "abs":
		return approx{complex(cmplx.Abs(a.v), 0), a.e}
	case "floor", "ceil":
		return step(name, a)
	case "factorial":
		return p.factorial(a)
	}
	return undefined
}

func (p plane) trigonometric(f func(complex128) complex128, slope func(x, v complex128) float64, name string, a approx) approx {
	x, isReal := a.real()
	if !isReal && !p.complex || !(cmplx.Abs(a.v) < largestAngle) {
		return undefined
	}
	inverse := name == "arcsin" || name == "arccos"
	if isReal && inverse && math.Abs(x) > 1 {
		return undefined
	}
	v := f(a.v)
	if isReal {
		v = complex(real(v), 0)
	}
	s := slope(a.v, v)
	if inverse && math.IsInf(s, 0) && a.e == 0 { // at ±1
		s = 0
	}
	// The second derivative of all of them is bounded by the cube of 1 + slope.
	return rounded(v, s*a.e+a.e*a.e*math.Pow(1+s, 3)+ulp*cmplx.Abs(a.v)*min(s, 1))
}

// step rounds down or up, where the error leaves no doubt to what.
func step(name string, a approx) approx {
	x, ok := a.real()
	if !ok || math.Abs(x) > 1<<50 {
		return undefined
	}
	if a.e > 0 && math.Abs(x-math.Round(x)) <= a.e {
		if near := math.Round(x); a.e > 1e-9 || math.Abs(x-near) > 0 {
			return undefined
		}
	}
	if name == "floor" {
		return approx{v: complex(math.Floor(x), 0)}
	}
	return approx{v: complex(math.Ceil(x), 0)}
}

// count returns a whole number that is not negative, and takes its size from the
// work left.
func (p plane) count(a approx) (int, bool) {
	x, ok := a.real()
	if !ok || x < 0 || x != math.Round(x) || !(a.e < 0.1) || x > float64(*p.work) {
		return 0, false
	}
	*p.work -= int(x)
	return int(x), true
}

func (p plane) factorial(a approx) approx {
	k, ok := p.count(a)
	if !ok {
		return undefined
	}
	x := 1.
	for i := 2; i <= k; i++ {
		x *= float64(i)
	}
	return rounded(complex(x, 0), x*float64(k)*ulp)
}

func (p plane) binomial(n, k approx) approx {
	count, ok := p.count(k)
	x := approx{v: 1}
	for i := range count {
		top := rounded(n.v-complex(float64(i), 0), n.e)
		x = divide(p.apply(&node{op: opMultiply}, x, top), approx{v: complex(float64(i+1), 0)})
	}
	if !ok {
		return undefined
	}
	return x
}
