package distributions

import (
	"errors"
	"fmt"
)

// A RangeError reports a parameter outside its allowed range.
type RangeError struct {
	Field string  // "dead", as the user types it
	Value float64 // -0.1
	Want  string  // "[0, 1]"
}

func (e *RangeError) Error() string {
	return fmt.Sprintf("distributions: %s = %v, want %s", e.Field, e.Value, e.Want)
}

// faults collects the RangeErrors of one constructor.
type faults []error

// check records a fault unless ok. NaN makes every comparison false, so ok is
// written as what must hold.
func (f *faults) check(field string, value float64, ok bool, want string) {
	if !ok {
		*f = append(*f, &RangeError{Field: field, Value: value, Want: want})
	}
}

// probability checks for a value in [0, 1].
func (f *faults) probability(field string, value float64) {
	f.check(field, value, value >= 0 && value <= 1, "[0, 1]")
}

// shape checks for the shape of a Pareto law. Outside the range its sums lose
// the accuracy of 1e-10.
func (f *faults) shape(value float64) {
	f.check("shape", value, value >= 1e-9 && value <= 1e4, "[1e-09, 10000]")
}

// smallestMin bounds the lower end of a Pareto law: much below it, moments and
// densities leave the range of float64.
const smallestMin = 1e-100

// unit checks for smallestMin <= min < max <= 1, max against min where no
// parameter has a fault of its own.
func (f *faults) unit(min, max float64) {
	const want = "(min, 1]"
	f.check("min", min, min >= smallestMin && min < 1, "[1e-100, 1)")
	f.check("max", max, max > 0 && max <= 1, want)
	if len(*f) == 0 {
		f.check("max", max, max > min, want)
	}
}

func (f faults) err() error { return errors.Join(f...) }
