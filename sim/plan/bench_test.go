package plan

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"vigorlab/distributions"
	"vigorlab/distributions/table"
)

// BenchmarkPlan plans on a pilot of 1,200 prompts of Beta(.3, .7), 8 rollouts
// each, with the command's defaults, for every objective: what is to take less
// than 10 seconds on two idle cores.
func BenchmarkPlan(b *testing.B) {
	law := must(distributions.NewBeta(0.3, 0.7))
	r := rand.New(rand.NewPCG(1, 2))
	t := &table.Table{Name: "pilot.csv"}
	for x := range 1200 {
		row := table.Row{PromptID: strconv.Itoa(x), N: 8}
		p := law.Rand(r)
		for range row.N {
			if r.Float64() < p {
				row.S++
			}
		}
		t.Rows = append(t.Rows, row)
	}
	for _, objective := range Objectives() {
		b.Run(objective, func(b *testing.B) {
			o := DefaultOptions()
			o.Objective = objective
			for b.Loop() {
				if _, err := Run(b.Context(), Subject{Table: t}, o); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
