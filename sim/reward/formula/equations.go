package formula

// relations compares equations and inequalities. Equations are equal where one
// is a multiple of the other.
func (c *comparison) relations(a, b *value) Verdict {
	x, ok := a.equation()
	y, ok2 := b.equation()
	if !ok || !ok2 {
		if a.shape == relation && a.items[0].shape == scalar && b.shape == scalar && a.sign == "=" {
			return c.side(a, b)
		}
		if b.shape == relation && b.items[0].shape == scalar && a.shape == scalar && b.sign == "=" {
			return c.side(b, a)
		}
		return c.verdict(CannotTell, "a relation and %s", shapeNames[min(a.shape, b.shape)])
	}
	if flipped(x.sign) {
		x = turned(x)
	}
	if flipped(y.sign) {
		y = turned(y)
	}
	f := join(opAdd, x.items[0].expr, join(opNegate, x.items[1].expr))
	g := join(opAdd, y.items[0].expr, join(opNegate, y.items[1].expr))
	switch v, positive := c.multiples(f, g); {
	case v == Equal && x.sign == y.sign && (positive || x.sign == "=" || x.sign == "ne"):
		return c.verdict(Equal, "multiples of each other")
	case v == Different && x.sign == "=" && y.sign == "=":
		return c.verdict(Different, "different linear equations")
	}
	return c.verdict(CannotTell, "relations that are no multiples of each other")
}

// side compares an equation with an expression: 2 + 3 = 5 is 5, and so is m + n = 5,
// AB = 5 or f(3) = 5, whose left side says what is asked for.
func (c *comparison) side(equation, v *value) Verdict {
	left, right := equation.items[0], equation.items[1]
	if right.shape == scalar && left.names() && c.constant(right.expr) && c.constant(v.expr) {
		return c.values(right, v)
	}
	if right.shape == scalar && c.quietly(left, right) == Equal && c.quietly(right, v) == Equal {
		return c.verdict(Equal, "the right side of an equation")
	}
	return c.verdict(CannotTell, "an equation and an expression")
}

func (c *comparison) constant(n *node) bool { return len(c.samplesOf(n).names) == 0 }

// names reports whether a left side names a quantity: variables without numbers, but
// not -x, or a function somewhere.
func (v *value) names() bool {
	n := v.expr
	if n.op == opMultiply && n.args[0].op == opVariable && functionNames[n.args[0].name] {
		return true
	}
	return n.op != opNegate && n.has(opVariable) && !n.has(opNumber)
}

func flipped(sign string) bool { return sign == ">" || sign == "ge" }

// turned writes a > b as b < a.
func turned(v *value) *value {
	w := group(relation, v.items[1], v.items[0])
	w.sign = map[string]string{">": "<", "ge": "le"}[v.sign]
	return w
}

// multiples tells whether f is a constant times g, and whether that is positive.
// Two expressions that are linear and no multiples are Different.
func (c *comparison) multiples(f, g *node) (v Verdict, positive bool) {
	s, t := c.samplesOf(f), c.samplesOf(g)
	if s.fieldErr == nil && t.fieldErr == nil {
		if s.field[0].times(t.field[1]) == s.field[1].times(t.field[0]) && s.field[0] != 0 && t.field[0] != 0 {
			return Equal, c.ratioSign(f, g)
		}
		if c.linear(f) && c.linear(g) {
			return Different, false
		}
		return CannotTell, false
	}
	if s.bareLog || t.bareLog {
		return CannotTell, false
	}
	return c.floatMultiples(f, g)
}

// ratioSign reports whether f/g is positive at the first point.
func (c *comparison) ratioSign(f, g *node) bool {
	key := planeKey{}
	x, y := c.plane(f, key), c.plane(g, key)
	return x.defined() && y.defined() && real(x.v)*real(y.v) > 0
}

func (c *comparison) floatMultiples(f, g *node) (v Verdict, positive bool) {
	var ratio approx
	found := 0
	for point := range pointSizes {
		key := planeKey{point: point}
		x, y := c.plane(f, key), c.plane(g, key)
		if !x.defined() || !y.defined() {
			continue
		}
		r := divide(x, y)
		if found == 0 {
			ratio = r
		} else if compareAt(r, ratio, 0) != agree {
			return CannotTell, false
		}
		found++
	}
	if found < 3 || !ratio.defined() || ratio.v == 0 {
		return CannotTell, false
	}
	return Equal, real(ratio.v) > 0
}

// linear reports whether f is linear in its variables: f(x+y) - f(x) - f(y) + f(0)
// is 0 at random points modulo prime.
func (c *comparison) linear(f *node) bool {
	at, bt := fieldPoint(0), fieldPoint(1)
	var values [4]element
	for i, point := range []func(string) element{
		func(name string) element { return at(name).plus(bt(name)) }, at, bt, func(string) element { return 0 },
	} {
		var err error
		if values[i], err = (field{point, &c.work}).eval(f); err != nil {
			return false
		}
	}
	return values[0].plus(values[3]) == values[1].plus(values[2])
}
