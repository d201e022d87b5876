package distributions

import (
	"errors"
	"fmt"
	"math"
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

// positive checks for a finite value above 0.
func (f *faults) positive(field string, value float64) {
	f.check(field, value, value > 0 && value <= math.MaxFloat64, "(0, Inf)")
}

// probability checks for a value in [0, 1].
func (f *faults) probability(field string, value float64) {
	f.check(field, value, value >= 0 && value <= 1, "[0, 1]")
}

// unit checks for 0 < min < max <= 1, max against min where no parameter has a
// fault of its own.
func (f *faults) unit(min, max float64) {
	const want = "(min, 1]"
	f.check("min", min, min > 0 && min < 1, "(0, 1)")
	f.check("max", max, max > 0 && max <= 1, want)
	if len(*f) == 0 {
		f.check("max", max, max > min, want)
	}
}

func (f faults) err() error { return errors.Join(f...) }
