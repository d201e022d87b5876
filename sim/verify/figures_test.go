package verify

import (
	"context"
	"math"
	"testing"
)

// TestAllocationPointsLieOnTheirLine: points and line are means over the same
// bins, on a law whose mass crowds at both ends of its first and last bin. At
// B = 1,024 the mean field is off by about a tenth of a percent, far below the
// error of a bin. Over seeds all bins together raise a false alarm with
// probability <= 1e-6 in the normal limit (each bin has some 2,000 prompts at
// least); a bin that is off by 8 standard errors is missed with probability
// <= 1 %. The mean field at the middle of the first bin is off by 60.
func TestAllocationPointsLieOnTheirLine(t *testing.T) {
	e := &env{cfg: &Config{Seed: 1, Workers: 2, Quick: true}, progress: func(int, int) {}}
	p, err := predictDefault(popBeta13)
	if err != nil {
		t.Fatal(err)
	}
	r, err := e.simulate(context.Background(), popBeta13, 1024, 200, 200, strategies(vigor(nil))...)
	if err != nil {
		t.Fatal(err)
	}
	o := &r.Strategies[0]
	points := outcomeCurves("VIGOR", o)[0].Points
	line := meanFieldCurves("VIGOR", p.field, o.Allocation)[0].Points
	if len(points) != len(o.Allocation) || len(line) != len(points) {
		t.Fatalf("%d points and %d of the line in %d bins", len(points), len(line), len(o.Allocation))
	}
	z := normalQuantile(1 - 1e-6/float64(2*len(points)))
	for i, q := range points {
		se := o.Allocation[i].Rollouts.SE
		if line[i].X != q.X || !(math.Abs(q.Y-line[i].Y) <= z*se) {
			t.Errorf("p = %v: %v ± %v beside %v", q.X, q.Y, se, line[i].Y)
		}
		t.Logf("p = %.3f: %.4f ± %.4f beside %.4f (%+.2f)", q.X, q.Y, se, line[i].Y, (q.Y-line[i].Y)/se)
	}
}
