package plots

import (
	"fmt"
	"regexp"
)

// SpeedupData is the speedup against rounds, shape by shape.
type SpeedupData struct {
	Shapes   []Family // X the rounds T, Y the speedup
	Cap      []Point  // the most that any law can reach
	Exponent string   // of eta in the speedup, such as "1/3"; empty stands for "1"
}

// exponent is what can stand as an exponent of eta.
var exponent = regexp.MustCompile(`^([0-9./]{1,8})?$`)

// Speedup draws the speedup against rounds T: curves for the exact figures,
// points for Monte Carlo, a thin grey line for the cap, which is cut off where
// it would flatten the rest. All numbers are Exponent powers of eta already.
func Speedup(d SpeedupData) (Figure, error) {
	if !exponent.MatchString(d.Exponent) {
		return Figure{}, fmt.Errorf("plots: speedup: exponent = %q, want a number or fraction such as 1/3", d.Exponent)
	}
	y := "speedup τ_{GRPO}/τ_{VIGOR} = η"
	if d.Exponent != "" && d.Exponent != "1" {
		y += "^{" + d.Exponent + "}"
	}
	return chart{
		what: "speedup", title: "Speedup against rounds",
		xTitle: "rounds T", yTitle: y,
		families: d.Shapes, cap: d.Cap, capName: "cap, any law",
		x: axis{integer: true}, include: []float64{1}, xRange: emptySpan(),
	}.figure()
}
