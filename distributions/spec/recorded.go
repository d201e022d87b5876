//go:build !js

package spec

import (
	"io"

	"vigorlab/distributions"
	"vigorlab/distributions/fit"
	"vigorlab/distributions/table"
)

func readTable(r *reader) Population {
	var t *table.Table
	r.file(func(f io.Reader, name string) (err error) {
		t, err = table.Read(f, name)
		return err
	})
	smooth := r.Choice("smooth", smoothNone, smoothNone, fit.SmoothBeta, fit.SmoothNPMLE)
	if t == nil {
		return r.law(nil, nil)
	}
	if !t.HasTokens {
		return r.law(smoothed(t, smooth))
	}
	r.refuseLengths("it left out: the table has its own tokens")
	p := r.law(smoothed(t, smooth))
	lengths := make([]distributions.Recorded, len(t.Rows))
	for i, row := range t.Rows {
		lengths[i] = distributions.Recorded{P: row.P(), Tokens: row.Tokens}
	}
	var err error
	p.Lengths, err = distributions.NewRecordedLengths(lengths)
	r.Add(err)
	return p
}

// smoothed returns the law of a table, every row alike, with the noise of few
// rollouts taken out on request.
func smoothed(t *table.Table, smooth string) (distributions.Law, error) {
	if smooth == smoothNone {
		return TableLaw(t)
	}
	counts, err := fit.FromTable(t)
	if err != nil {
		return nil, err
	}
	return fit.Smooth(counts, smooth)
}

// TableLaw returns the law of the success rates of a table, every row alike.
func TableLaw(t *table.Table) (distributions.Law, error) {
	atoms := make([]distributions.Node, len(t.Rows))
	for i, row := range t.Rows {
		atoms[i] = distributions.Node{P: row.P(), W: 1 / float64(len(t.Rows))}
	}
	return law(distributions.NewAtoms(atoms))
}

func readAtoms(r *reader) Population {
	var atoms []distributions.Node
	r.file(func(f io.Reader, name string) error {
		list, err := table.ReadAtoms(f, name)
		for _, a := range list {
			atoms = append(atoms, distributions.Node{P: a.P, W: a.Weight})
		}
		return err
	})
	if atoms == nil {
		return r.law(nil, nil)
	}
	return r.law(law(distributions.NewAtoms(atoms)))
}
