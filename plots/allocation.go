package plots

// AllocationData is who gets the rollouts.
type AllocationData struct {
	// Relative says that Y is relative to equal rollouts for every prompt.
	Relative   bool
	Strategies []Family // X the middle of a bin of success probabilities p, Y the mean rollouts of its prompts
}

// Allocation draws the mean rollouts of a prompt against its success
// probability p, bin by bin, strategy by strategy.
func Allocation(d AllocationData) (Figure, error) {
	yTitle := "mean rollouts per prompt E[G | p]"
	if d.Relative {
		yTitle = "rollouts of a prompt, equal rollouts = 1"
	}
	return chart{
		what: "allocation", title: "Rollouts against success probability",
		xTitle: "success probability p, middle of its bin", yTitle: yTitle,
		families: d.Strategies,
		include:  []float64{0}, xRange: span{0, 1},
	}.figure()
}
