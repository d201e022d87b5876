package plots

// A kind says where the numbers of a curve come from; the dash tells it.
type kind int

const (
	closedForm kind = iota
	truncated
	meanField
	monteCarlo
)

var kinds = [...]string{
	closedForm: "closed form",
	truncated:  "truncated",
	meanField:  "mean field",
	monteCarlo: "Monte Carlo",
}
