// Command wasm answers the page of vigorlab explore inside the browser: it gives the
// page the function vigorlab. It refuses everything but passing on what package view
// says.
package main

import (
	"syscall/js"

	"vigorlab/cmd/vigorlab/internal/explore/view"
)

func main() {
	js.Global().Set("vigorlab", js.FuncOf(func(_ js.Value, args []js.Value) any { return answer(args[0]) }))
	select {} // it answers as long as the page is open
}

// answer returns the view of a query as an object, or its faults.
func answer(q js.Value) any {
	v, err := view.Look(view.Query{
		Population: q.Get("population").String(),
		M0:         q.Get("m0").Int(),
		Rounds:     q.Get("rounds").Int(),
		Alpha:      q.Get("alpha").String(),
		Gamma:      q.Get("gamma").String(),
	})
	if err != nil {
		var faults []any
		for _, e := range view.Faults(err) {
			faults = append(faults, e.Error())
		}
		return map[string]any{"faults": faults}
	}
	figures := map[string]any{}
	for _, f := range v.Figures {
		figures[f.Key] = map[string]any{"value": f.Value, "text": f.Text(), "reason": f.Reason}
	}
	object := map[string]any{"command": v.Command, "figures": figures, "curves": nil, "noCurves": v.NoCurves}
	if c := v.Curves; c != nil {
		object["curves"] = map[string]any{
			"sampled": points(c.Sampled), "perfect": points(c.Perfect), "fixed": c.Fixed,
			"prompts": c.Prompts, "rollouts": c.Rollouts,
		}
	}
	return object
}

// points returns p, rollouts, p, rollouts, ...
func points(curve []view.Point) []any {
	flat := make([]any, 0, 2*len(curve))
	for _, p := range curve {
		flat = append(flat, p.P, p.Rollouts)
	}
	return flat
}
