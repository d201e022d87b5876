package formula_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"vigorlab/sim/reward/formula"
)

// A term is a random expression, kept as a tree so that it can be written in many
// ways that are equal.
type term struct {
	op   string // "" for a leaf
	text string
	a, b *term
}

// random returns a term of the given depth, over x, y and small numbers; roots
// and functions occur if it may be irrational.
func random(r *rand.Rand, depth int, irrational bool) *term {
	if depth == 0 || r.IntN(5) == 0 {
		leaves := []string{"x", "y", "2", "3", "7", "10", `\frac{1}{3}`, "1/2"}
		return &term{text: leaves[r.IntN(len(leaves))]}
	}
	ops := []string{"+", "-", "*", "/", "^2"}
	if irrational {
		ops = append(ops, "sqrt", "sin", "exp")
	}
	t := &term{op: ops[r.IntN(len(ops))], a: random(r, depth-1, irrational)}
	switch t.op {
	case "+", "-", "*", "/":
		t.b = random(r, depth-1, irrational)
	case "exp": // of a bounded argument, so that it stays in range
		t.a = &term{op: "sin", a: t.a}
	}
	return t
}

// write writes the term, each of its parts in one of the equal ways at random.
func (t *term) write(r *rand.Rand) string {
	if t.op == "" {
		return "(" + t.text + ")"
	}
	a, b := t.a.write(r), ""
	if t.b != nil {
		b = t.b.write(r)
	}
	ways := map[string][]string{
		"+":    {a + "+" + b, b + "+" + a, a + "-(-" + b + ")", `\left(` + b + "+" + a + `\right)`},
		"-":    {a + "-" + b, "-(" + b + "-" + a + ")", "-" + b + "+" + a},
		"*":    {a + b, b + `\cdot ` + a, a + "*" + b, `\frac{` + a + "}{" + `\frac{1}{` + b + "}}"},
		"/":    {`\frac{` + a + "}{" + b + "}", a + "/" + b, a + `\cdot ` + b + "^{-1}", `\dfrac{2` + a + "}{2" + b + "}"},
		"^2":   {a + "^2", a + "^{2}", a + a, `\frac{` + a + "^3}{" + a + "}"},
		"sqrt": {`\sqrt{` + a + "^2+1}", `(1+` + a + "^2)^{1/2}", `\sqrt[4]{(1+` + a + "^2)^2}"},
		"sin":  {`\sin` + a, `\cos(\frac{\pi}{2}-` + a + ")", `-\sin(-` + a + ")"},
		"exp":  {"e^{" + a + "}", `\exp` + a, `\frac{1}{e^{-` + a + "}}"},
	}[t.op]
	return "(" + ways[r.IntN(len(ways))] + ")"
}

// TestEqualWays writes random terms in two ways each: they are never different,
// and equal wherever they have a value; with a little more on one side they are
// never equal.
func TestEqualWays(t *testing.T) {
	const n = 2000
	for _, irrational := range []bool{false, true} {
		r := rand.New(rand.NewPCG(20260101, 0))
		equal, different := 0, 0
		for i := range n {
			e := random(r, 3, irrational)
			got, want := e.write(r), e.write(r)
			switch v, reason := formula.Compare(got, want, tolerance); v {
			case formula.Equal:
				equal++
			case formula.Different:
				t.Errorf("%q against %q is different: %s", got, want, reason)
			}
			more := fmt.Sprintf(`%s+\frac{1}{%d}`, want, 1000+i)
			switch v, reason := formula.Compare(got, more, tolerance); v {
			case formula.Different:
				different++
			case formula.Equal:
				t.Errorf("%q against %q is equal: %s", got, more, reason)
			}
		}
		if equal < n*95/100 || different < n*95/100 {
			t.Errorf("irrational %v: of %d, %d are equal and %d different, want most", irrational, n, equal, different)
		}
		t.Logf("irrational %v: of %d, %d are equal, and %d different with more", irrational, n, equal, different)
	}
}
