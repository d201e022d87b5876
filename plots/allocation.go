package plots

// AllocationData is who gets the rollouts.
type AllocationData struct {
	Strategies []Family // X the success probability p, Y the mean rollouts
}

// Allocation draws the mean rollouts of a prompt against its success
// probability p, strategy by strategy.
func Allocation(d AllocationData) (Figure, error) {
	return chart{
		what: "allocation", title: "Rollouts against success probability",
		xTitle: "success probability p", yTitle: "mean rollouts per prompt E[G | p]",
		families: d.Strategies,
		include:  []float64{0}, xRange: span{0, 1},
	}.figure()
}
