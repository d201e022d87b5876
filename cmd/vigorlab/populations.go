package main

import (
	"strings"

	"github.com/spf13/cobra"

	"vigorlab/cmd/vigorlab/internal/output"
	"vigorlab/distributions/spec"
)

func newPopulations(a *app) *cobra.Command {
	var flags common
	cmd := &cobra.Command{
		Use:   "populations",
		Short: "List the populations of prompts and their parameters",
		Long: `populations lists every law of prompt difficulty that --population knows. A spec
is NAME or NAME:KEY=VALUE,KEY=VALUE; @FILE reads it from a file.`,
		Example: `  # what there is
  vigorlab populations

  # the same for a script
  vigorlab populations --format json

  # try one: three in ten prompts dead, one in ten solved, the others Beta(2, 6)
  vigorlab theory --population spiked-beta:dead=0.3,solved=0.1,a=2,b=6

  # a mixture of two, and 5 % of rewards that are wrong
  vigorlab theory --population mixture:0.3@beta:a=2,b=6+0.7@uniform
  vigorlab theory --population flip:q=0.05@beta:a=0.1,b=0.3

  # recorded outcomes as a population, smoothed by the Beta law that fits them
  vigorlab theory --population table:path=outcomes.csv,smooth=beta`,
		RunE: func(*cobra.Command, []string) error {
			if err := flags.err(); err != nil {
				return err
			}
			return listPopulations().print(a, flags.format)
		},
	}
	flags.registerFormat(cmd.Flags())
	return cmd
}

func listPopulations() result[parameterRow] {
	known := spec.Populations()
	var rows []parameterRow
	for _, s := range known {
		for _, p := range s.Parameters {
			rows = append(rows, parameterRow{s.Name, p.Name, p.Default, p.Range, p.Doc, s.Provenance, s.Source})
		}
	}
	return result[parameterRow]{known, rows, func(t *output.Text) { populationsText(t, known) }}
}

// lengthKeys start with this; every population with lengths has the same.
const lengthKeys = "tokens"

func populationsText(t *output.Text, known []spec.Info) {
	t.Command("vigorlab populations")
	var lengths []spec.Parameter
	for _, s := range known {
		t.Heading(s.Name)
		if s.Source != "" {
			t.Note("  ", "from "+s.Source)
		}
		lengths = lengths[:0]
		for _, p := range s.Parameters {
			if strings.HasPrefix(p.Name, lengthKeys) {
				lengths = append(lengths, p)
				continue
			}
			t.Parameter(p.Name, p.Default, p.Doc, p.Range)
		}
	}
	t.Heading("lengths, for all of them but an unbounded pareto-variance; flip takes its population's")
	for _, p := range lengths {
		t.Parameter(p.Name, p.Default, p.Doc, p.Range)
	}
	t.Blank()
	t.Note("", "p is the success probability of a prompt, u = 4p(1-p) its reward variance. "+
		"A spec is NAME or NAME:KEY=VALUE,KEY=VALUE, as in --population beta:a=0.1,b=0.3 or "+
		"mixture:0.3@beta:a=2,b=6+0.7@uniform.")
}
