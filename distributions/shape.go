package distributions

// Shape returns the shape of the Pareto law of u.
func (d UnboundedPareto) Shape() float64 { return d.u.k }

// Shape returns the shape of the Pareto law of u, which max truncates.
func (d *ParetoVariance) Shape() float64 { return d.u.k }
