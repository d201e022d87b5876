package main

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"vigorlab/cmd/vigorlab/internal/output"
	"vigorlab/cmd/vigorlab/internal/report"
	"vigorlab/sim/verify"
)

// A ladder is what verify found.
type ladder struct {
	reproduce string
	*verify.Report
}

// A ladderRow is one row of the ladder as CSV and parquet have it.
type ladderRow struct {
	ID        string   `parquet:"id"`
	Rung      int64    `parquet:"rung"`
	Kind      string   `parquet:"kind"`
	Claim     string   `parquet:"claim"`
	Method    string   `parquet:"method"`
	Estimate  *float64 `parquet:"estimate,optional"`
	SE        *float64 `parquet:"se,optional"`
	Low       *float64 `parquet:"low,optional"`
	High      *float64 `parquet:"high,optional"`
	Reference *float64 `parquet:"reference,optional"`
	Bias      float64  `parquet:"bias"`
	P         *float64 `parquet:"p,optional"`
	Detects   *float64 `parquet:"detects,optional"`
	Verdict   string   `parquet:"verdict"`
	Test      string   `parquet:"test"`
	Note      string   `parquet:"note"`
	Seed      uint64   `parquet:"seed"`
	Coding    string   `parquet:"coding"`
	Reason    string   `parquet:"reason"`
}

func (l *ladder) result() result[ladderRow] {
	return result[ladderRow]{l.document(), l.rows(), l.text}
}

// document returns the JSON document of the command contract.
func (l *ladder) document() output.Object {
	o := header("verify").Object()
	o.Add("quick", l.Quick)
	o.Add("seed", l.Seed)
	o.Add("level", l.Level)
	o.Add("family", l.Family)
	o.Add("rungs", l.reasoned())
	o.Add("predictions", append([]verify.Prediction{}, l.Predictions()...))
	o.Add("ratios", append([]verify.Ratio{}, l.Ratios()...))
	return o
}

// reasoned returns the rows, each with a reason for what it does not have.
func (l *ladder) reasoned() []verify.Row {
	rows := l.Rows()
	for i := range rows {
		r := &rows[i]
		if r.Reason != "" {
			continue
		}
		var absent []string
		if r.Interval == nil {
			absent = append(absent, "interval")
		}
		for _, f := range []struct {
			key   string
			value *float64
		}{{"se", r.SE}, {"p", r.P}, {"detects", r.Detects}, {"estimate", r.Estimate}, {"reference", r.Reference}} {
			if f.value == nil {
				absent = append(absent, f.key)
			}
		}
		if len(absent) > 0 {
			r.Reason = strings.Join(absent, ", ") + ": the figure is exact"
		}
	}
	return rows
}

func (l *ladder) rows() []ladderRow {
	var rows []ladderRow
	for _, r := range l.reasoned() {
		row := ladderRow{
			ID: r.ID, Rung: int64(r.Rung), Kind: r.Kind, Claim: r.Claim, Method: r.Method,
			Estimate: r.Estimate, SE: r.SE, Reference: r.Reference, Bias: r.Bias, P: r.P, Detects: r.Detects,
			Verdict: string(r.Verdict), Test: r.Test, Note: r.Note,
			Seed: l.Seed, Coding: output.Signed, Reason: r.Reason,
		}
		if r.Interval != nil {
			row.Low, row.High = &r.Interval[0], &r.Interval[1]
		}
		rows = append(rows, row)
	}
	return rows
}

// text prints the ladder for a terminal: every claim, checks of our own in
// sum unless they fail.
func (l *ladder) text(t *output.Text) {
	t.Command(l.reproduce)
	for _, rung := range report.Rungs(l.Rows()) {
		t.Heading(fmt.Sprintf("Rung %d: %s", rung, report.RungTitle(rung)))
		l.rungText(t, rung)
	}
	l.predictionsText(t)
	t.Blank()
	for _, line := range report.Summary(l.Report) {
		t.Note("", line)
	}
	t.Note("", "A published claim that fails is a result; exit code 1 means a failed check of vigorlab itself.")
	t.Note("", "estimate is what the method in --format json gives, ± its standard error where it is Monte Carlo; reference is what the claim says or allows; rewards are in {-1, +1}.")
}

func (l *ladder) rungText(t *output.Text, rung int) {
	var shown []verify.Row
	checks, hold := 0, 0
	for _, r := range l.Rows() {
		switch {
		case r.Rung != rung:
		case r.Kind != verify.Check || r.Verdict == verify.Fails:
			shown = append(shown, r)
		default:
			hold++
		}
		if r.Rung == rung && r.Kind == verify.Check {
			checks++
		}
	}
	verdicts, estimates := len("verdict"), len("estimate")
	for _, r := range shown {
		verdicts = max(verdicts, len(verdictText(r)))
		estimates = max(estimates, utf8.RuneCountInString(estimateText(r)))
	}
	const reference = 9
	claimWidth := output.Width - verdicts - 2 - 2 - estimates - 2 - reference
	g := output.Grid{Head: []string{"verdict", "claim", "estimate", "reference"}, Left: 1}
	for _, r := range shown {
		for i, line := range output.Wrap(claimText(r), claimWidth) {
			row := []string{"", line, "", ""}
			if i == 0 {
				row = []string{t.Paint(verdictColour(r), verdictText(r)), line, estimateText(r), output.Number(r.Reference)}
			}
			g.Add(row...)
		}
	}
	if len(shown) > 0 {
		t.Grid(g)
	}
	if checks > 0 {
		t.Line(fmt.Sprintf("%d of %d checks of vigorlab's own code hold", hold, checks))
	}
}

// claimText is a claim, with the reason why it could not be tested.
func claimText(r verify.Row) string {
	if r.Verdict != verify.Untestable || r.Reason == "" {
		return r.Claim
	}
	return r.Claim + " (" + r.Reason + ")"
}

// predictionsText prints every predicted speedup under all three exponents,
// beside its cap and the progress figure.
func (l *ladder) predictionsText(t *output.Text) {
	if len(l.Predictions()) == 0 {
		return
	}
	t.Heading("Predicted speedup of VIGOR's defaults over the fixed group of the same mean size")
	g := output.Grid{Head: []string{"population", "exponent", "perfect", "real", "cap", "progress"}}
	for _, row := range report.PredictionRows(l.Report) {
		g.Add(row...)
	}
	t.Grid(g)
	t.Note("", report.PredictionNote)
}

// estimateText prints an estimate with its standard error, where it has one.
func estimateText(r verify.Row) string {
	return output.Measured(output.Figure{Mean: r.Estimate, SE: r.SE})
}

// verdictText prints a verdict, that of a failed check of our own apart.
func verdictText(r verify.Row) string {
	if r.Kind == verify.Check && r.Verdict == verify.Fails {
		return "OUR ERROR"
	}
	return string(r.Verdict)
}

func verdictColour(r verify.Row) string {
	switch r.Verdict {
	case verify.Holds:
		return output.Green
	case verify.Fails:
		return output.Red
	}
	return output.Yellow
}
