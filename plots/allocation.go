package plots

// AllocationData is who gets the rollouts.
type AllocationData struct {
	// Relative says that Y is relative to equal rollouts for every prompt.
	Relative bool
	// Observed says that success probabilities are unknown: X is the middle of a
	// bin of observed shares of successes.
	Observed   bool
	Strategies []Family // X the middle of a bin of success probabilities p, Y the mean rollouts of its prompts
}

// observedKinds are the kinds of a run whose success probabilities are unknown.
var observedKinds = [...]string{closedForm: "equal groups", truncated: "", meanField: "", monteCarlo: "observed"}

// Allocation draws the mean rollouts of a prompt against its success
// probability p, bin by bin, strategy by strategy.
func Allocation(d AllocationData) (Figure, error) {
	yTitle, kindNames := "mean rollouts per prompt E[G | p]", kinds[:]
	if d.Relative {
		yTitle = "rollouts of a prompt, equal rollouts = 1"
	}
	title, xTitle := "Rollouts against success probability", "success probability p, middle of its bin"
	if d.Observed {
		title, xTitle = "Rollouts against observed success", "observed share of successes, middle of its bin"
		yTitle, kindNames = "mean rollouts per prompt", observedKinds[:]
	}
	return chart{
		what: "allocation", title: title,
		xTitle: xTitle, yTitle: yTitle,
		families: d.Strategies, kindNames: kindNames,
		include: []float64{0}, xRange: span{0, 1},
	}.figure()
}
