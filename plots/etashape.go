package plots

// EtaShapeData is eta against the Pareto shape.
type EtaShapeData struct {
	Schedules []Family // X the shape kappa, Y eta; often only one schedule
	Cap       []Point  // the most that any law can reach
}

// EtaShape draws eta against the Pareto shape kappa.
func EtaShape(d EtaShapeData) (Figure, error) {
	return chart{
		what: "eta against shape", title: "Eta against Pareto shape",
		xTitle: "Pareto shape κ", yTitle: "reward variance per rollout η (fixed groups = 1)",
		families: d.Schedules, cap: d.Cap, capName: "cap, any law",
		include: []float64{1}, xRange: emptySpan(),
	}.figure()
}
