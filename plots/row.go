package plots

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// A Row is one number of a figure, for tables: a point of a curve, a bar, a cell.
type Row struct {
	Panel  string  // what Y is, with unit; of ranks the population
	Group  string  // what rows of a figure stand together under; often none
	Series string  // the label: a strategy, a law, a predictor
	Number string  // where Y comes from: closed form, Monte Carlo, cap; of a comparison the party
	X      float64 // NaN where a figure has none
	Y      float64 // NaN where the number does not exist
	Low    float64 // the interval of Y, NaN for none; of ranks their range
	High   float64
}

// pointRows returns a row a point.
func pointRows(of Row, points []Point) []Row {
	rows := make([]Row, len(points))
	for i, p := range points {
		rows[i] = of
		rows[i].X, rows[i].Y, rows[i].Low, rows[i].High = p.X, p.Y, p.Low, p.High
		if !p.hasInterval() && !p.badInterval() {
			rows[i].Low, rows[i].High = math.NaN(), math.NaN() // both zero says none
		}
	}
	return rows
}

// valueRow returns the row of a value without X.
func valueRow(of Row, v Value) Row {
	return pointRows(of, []Point{{math.NaN(), v.Value, v.Low, v.High}})[0]
}

// familyRows returns the points of every family, kind by kind, then those of the cap.
func familyRows(panel string, families []Family, ceiling []Point) []Row {
	var rows []Row
	for _, f := range families {
		for k := range kinds {
			rows = append(rows, pointRows(Row{Panel: panel, Series: f.Label, Number: kinds[k]}, f.of(kind(k)))...)
		}
	}
	return append(rows, pointRows(Row{Panel: panel, Series: "cap, any law", Number: "cap"}, ceiling)...)
}

// Table implements Data.
func (d *AllocationData) Table() []Row {
	if d.Relative {
		return familyRows("rollouts of a prompt, equal rollouts = 1", d.Strategies, nil)
	}
	if d.Observed {
		rows := familyRows("mean rollouts per prompt", d.Strategies, nil)
		for i := range rows {
			rows[i].Number = observedKinds[slices.Index(kinds[:], rows[i].Number)]
		}
		return rows
	}
	return familyRows("mean rollouts per prompt", d.Strategies, nil)
}

// Table implements Data.
func (d *CalibrationData) Table() []Row {
	var rows []Row
	for _, q := range d.Predictors {
		rows = append(rows, pointRows(Row{Panel: d.Measured, Series: q.Label, Number: "measured against predicted"}, q.Cases)...)
	}
	return rows
}

// Table implements Data.
func (d *ComparisonData) Table() []Row {
	var rows []Row
	for _, r := range d.Rows {
		for k, v := range r.Values[:min(len(r.Values), len(d.Parties))] {
			rows = append(rows, valueRow(Row{Panel: d.Figure, Group: r.Group, Series: r.Label, Number: d.Parties[k]}, v))
		}
	}
	return append(rows, level(d.Figure, "reference", d.Reference)...)
}

// level is the row of a line across a panel; none where there is no line.
func level(panel, name string, y float64) []Row {
	if math.IsNaN(y) {
		return nil
	}
	return pointRows(Row{Panel: panel, Series: name, Number: "reference"}, []Point{At(math.NaN(), y)})
}

// Table implements Data.
func (d *CostQualityData) Table() []Row { return familyRows(d.Quality, d.Strategies, nil) }

// Table implements Data.
func (d *CurvesData) Table() []Row {
	var rows []Row
	for _, p := range d.Panels {
		for _, l := range p.Lines {
			for k, points := range [][]Point{l.First, l.Second} {
				rows = append(rows, pointRows(Row{Panel: p.Y, Series: l.Label, Number: d.Styles[k]}, points)...)
			}
		}
		rows = append(rows, level(p.Y, p.Name, p.Reference)...)
	}
	return rows
}

// Table implements Data.
func (d *EtaShapeData) Table() []Row {
	return familyRows("reward variance per rollout, fixed groups = 1", d.Schedules, d.Cap)
}

// Table implements Data.
func (d *GradientNormData) Table() []Row {
	return pointRows(Row{Panel: "gradient norm", Series: "cases", Number: "norm against bound"}, d.Cases)
}

// Table implements Data.
func (d *GroupSizesData) Table() []Row {
	var rows []Row
	for _, l := range d.Strategies {
		for _, s := range l.Shares {
			row := valueRow(Row{Panel: "share of groups", Series: l.Label, Number: "share"}, s.Share)
			row.X = float64(s.Size)
			rows = append(rows, row)
		}
	}
	return rows
}

// Table implements Data. The number says the column, and why there is no value.
func (d *HeatData) Table() []Row {
	var rows []Row
	for _, q := range d.Panels {
		for i, cells := range q.Cells[:min(len(q.Cells), len(d.Rows))] {
			for k, c := range cells[:min(len(cells), len(d.Columns))] {
				of := Row{Panel: d.Figure, Group: q.Head, Series: d.Y + " = " + d.Rows[i]}
				if d.X != "" { // else a single column, of no axis
					of.Number = d.X + " = " + d.Columns[k]
				}
				if why := c.why(); why != "" {
					of.Number = strings.TrimPrefix(of.Number+", "+why, ", ")
				}
				rows = append(rows, valueRow(of, c.Value))
			}
		}
	}
	return rows
}

// Table implements Data.
func (d *LinesData) Table() []Row {
	var rows []Row
	for _, q := range d.Panels {
		for _, l := range q.Lines {
			rows = append(rows, pointRows(Row{Panel: d.Y, Group: q.Head, Series: l.Label, Number: d.Number}, l.Points)...)
		}
	}
	if len(d.Panels) == 0 {
		return nil
	}
	return append(rows, level(d.Y, d.Name, d.Reference)...)
}

// Table implements Data.
func (d *PlanData) Table() []Row {
	law := Row{Panel: fmt.Sprintf("share of prompts by successes among %d rollouts", d.Rollouts)}
	fitted, recorded, front := law, law, Row{Panel: d.Gain, Series: "most gain at this cost", Number: "front"}
	fitted.Series, fitted.Number = "fitted law", "law"
	recorded.Series, recorded.Number = "recorded", "counts"
	rows := append(pointRows(fitted, d.Law), pointRows(recorded, d.Recorded)...)
	rows = append(rows, pointRows(front, d.Front)...)
	for _, s := range d.Schedules {
		rows = append(rows, pointRows(Row{Panel: d.Gain, Series: s.Label, Number: "schedule"}, []Point{s.Point})...)
	}
	return rows
}

// Table implements Data. Y does not exist: Low and High are the range of ranks.
func (d *RanksData) Table() []Row {
	var rows []Row
	for _, s := range d.Strategies {
		for k, r := range s.Ranks[:min(len(s.Ranks), len(d.Populations))] {
			row := valueRow(Row{Panel: d.Populations[k], Group: s.Group, Series: s.Label, Number: "ranks by " + d.Objective}, Value{Value: math.NaN()})
			if r != (RankRange{}) {
				row.Low, row.High = float64(r.Low), float64(r.High)
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// Table implements Data.
func (d *ScreeningData) Table() []Row {
	return familyRows("probability of a screening error", d.Errors, nil)
}

// Table implements Data.
func (d *SpeedupData) Table() []Row {
	panel := "speedup, eta"
	if d.Exponent != "" && d.Exponent != "1" {
		panel += "^(" + d.Exponent + ")"
	}
	return familyRows(panel, d.Shapes, d.Cap)
}
