package plots

// CostQualityData is what strategies have reached against what they spent.
type CostQualityData struct {
	Quality    string   // what Y is, with unit: the title of the axis
	Strategies []Family // X the rollouts generated so far per prompt of the batch
}

// CostQuality draws the quality reached against the rollouts generated,
// strategy by strategy.
func CostQuality(d CostQualityData) (Figure, error) {
	return chart{
		what: "cost against quality", title: "Cost against quality",
		xTitle: "rollouts generated per prompt of the batch", yTitle: d.Quality,
		families: d.Strategies,
		include:  []float64{0}, xRange: emptySpan(),
	}.figure()
}
