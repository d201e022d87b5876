package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"vigorlab/cmd/vigorlab/internal/figures"
	"vigorlab/cmd/vigorlab/internal/output"
	"vigorlab/plots"
)

// A plotted is the figures of runs, and where they were drawn.
type plotted struct {
	reproduce string
	figures   []plottedFigure
}

type plottedFigure struct {
	figure *figures.Figure
	width  plots.Width // as drawn here, or by the run where nothing was drawn
	files  []string    // none where nothing was drawn
}

// add lists a figure that is not drawn yet.
func (p *plotted) add(f *figures.Figure) {
	p.figures = append(p.figures, plottedFigure{figure: f, width: f.Width})
}

// A plottedRow is a file of a figure, or a figure that was not drawn.
type plottedRow struct {
	Figure  string  `parquet:"figure"`
	Kind    string  `parquet:"kind"`
	Width   float64 `parquet:"width_inches"`
	Numbers int64   `parquet:"numbers"`
	File    string  `parquet:"file"`
}

// result returns the list of figures in each format.
func (p *plotted) result() result[plottedRow] {
	o := header("plot").Object()
	var rows []plottedRow
	list := []output.Object{}
	for _, q := range p.figures {
		row := plottedRow{q.figure.Name, q.figure.Data.Kind(), float64(q.width), int64(len(q.figure.Data.Table())), ""}
		list = append(list, output.Object{
			{Key: "figure", Value: row.Figure},
			{Key: "kind", Value: row.Kind},
			{Key: "coding", Value: q.figure.Coding},
			{Key: "width_inches", Value: row.Width},
			{Key: "numbers", Value: row.Numbers},
			{Key: "what", Value: q.figure.Caption.What},
			{Key: "files", Value: append([]string{}, q.files...)},
		})
		if len(q.files) == 0 {
			rows = append(rows, row)
		}
		for _, file := range q.files {
			row.File = file
			rows = append(rows, row)
		}
	}
	o.Add("figures", list)
	return result[plottedRow]{o, rows, p.text}
}

func (p *plotted) text(t *output.Text) {
	t.Command(p.reproduce)
	g := output.Grid{Head: []string{"figure", "kind", "inches", "numbers"}, Left: 2}
	drawn := false
	for _, q := range p.figures {
		g.Add(harmless(q.figure.Name), q.figure.Data.Kind(), fmt.Sprint(float64(q.width)), fmt.Sprint(len(q.figure.Data.Table())))
		drawn = drawn || len(q.files) > 0
	}
	t.Grid(g)
	if !drawn {
		t.Blank()
		text := "--out FOLDER draws them with their data and captions, --figure NAME --out FILE.pdf one alone."
		if len(p.figures) == 1 {
			text = "--out FOLDER draws it with its data and caption, --out FILE.pdf the picture alone."
		}
		t.Note("", text)
		return
	}
	t.Blank()
	for _, q := range p.figures {
		for _, file := range q.files {
			t.Line(harmless(file))
		}
	}
}

// runLabels says in few words what tells every run from the others: what their specs
// differ in, or else their paths.
func runLabels(runs []drawnRun) []string {
	specs := make([]map[string]string, len(runs))
	for i, r := range runs {
		specs[i] = scalars(r.record.Specs)
	}
	labels := make([]string, len(runs))
	for _, key := range labelKeys(specs) {
		for i := range runs {
			value, ok := specs[i][key]
			if !ok {
				continue
			}
			if !selfExplaining[key] {
				value = strings.ReplaceAll(key, "_", " ") + " = " + value
			}
			labels[i] = strings.TrimPrefix(labels[i]+", "+value, ", ")
		}
	}
	if distinct(labels) {
		return labels
	}
	for i, r := range runs {
		labels[i] = filepath.Base(r.path)
	}
	if distinct(labels) {
		return labels
	}
	for i, r := range runs {
		labels[i] = r.path
	}
	return labels
}

// selfExplaining are the specs whose values need no name.
var selfExplaining = map[string]bool{"population": true, "table": true}

// scalars returns the specs of a run that are a number, word or truth, by key.
func scalars(specs json.RawMessage) map[string]string {
	d := json.NewDecoder(bytes.NewReader(specs))
	d.UseNumber()
	var all map[string]any
	if d.Decode(&all) != nil {
		return nil // no run of ours
	}
	values := map[string]string{}
	for key, v := range all {
		switch v := v.(type) {
		case string, json.Number, bool:
			values[key] = fmt.Sprint(v)
		}
	}
	return values
}

// labelKeys lists the keys whose values differ between runs; digests say nothing to
// a reader.
func labelKeys(specs []map[string]string) []string {
	var keys []string
	for _, s := range specs {
		for key := range s {
			differs := slices.ContainsFunc(specs, func(other map[string]string) bool { return other[key] != s[key] })
			if differs && key != "sha256" && !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	slices.SortFunc(keys, func(a, b string) int {
		if selfExplaining[a] != selfExplaining[b] {
			if selfExplaining[a] {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	return keys
}

// distinct reports whether labels are there and tell all apart.
func distinct(labels []string) bool {
	for i, l := range labels {
		if l == "" || slices.Contains(labels[:i], l) {
			return false
		}
	}
	return true
}
