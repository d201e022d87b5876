package plots

// ScreeningData is the errors of the cuts, one family a figure (false omission,
// false negative, cumulative) or a figure of a strategy.
type ScreeningData struct {
	Errors []Family // X the round after which the cut falls, Y a probability
}

// spanForLog is the ratio of largest to smallest error from which the axis is
// logarithmic.
const spanForLog = 30

// Screening draws screening errors by round, on a logarithmic axis where they
// span decades.
func Screening(d ScreeningData) (Figure, error) {
	s := emptySpan()
	for _, f := range d.Errors {
		for k := range kinds {
			for _, p := range f.of(kind(k)) {
				if p.Y >= tiny && usable(p.X) {
					s = s.with(p.Y)
				}
			}
		}
	}
	c := chart{
		what: "screening errors", title: "Screening errors by round",
		xTitle: "cut after round t", yTitle: "probability of a screening error",
		families: d.Errors, x: axis{integer: true}, xRange: emptySpan(),
	}
	if !s.empty() && s.max > spanForLog*s.min {
		c.y.log = true
	} else {
		c.include = []float64{0}
	}
	return c.figure()
}
