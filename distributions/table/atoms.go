package table

import "io"

// An Atom is a success probability with its weight.
type Atom struct{ P, Weight float64 }

// ReadAtoms reads a list of atoms from CSV with the columns p, in [0, 1], and
// weight, in [0, 1]. It is as strict as Read; that the weights sum to 1 is for
// the law to check.
func ReadAtoms(r io.Reader, name string) ([]Atom, error) {
	const p, weight, want = "p", "weight", "a number in [0, 1]"
	ok := func(x float64) bool { return x >= 0 && x <= 1 }
	var atoms []Atom
	in := newReader(newCSVRows(r), name, []string{p, weight}, nil)
	for in.next() {
		atoms = append(atoms, Atom{in.number(p, want, ok), in.number(weight, want, ok)})
	}
	if err := in.err("atom"); err != nil {
		return nil, err
	}
	return atoms, nil
}
