package main

import (
	"github.com/spf13/cobra"

	"vigorlab/cmd/vigorlab/internal/output"
	"vigorlab/sim/train"
)

func newPolicies(a *app) *cobra.Command {
	var flags common
	cmd := &cobra.Command{
		Use:   "policies",
		Short: "List the policies that learn in training runs, and their parameters",
		Long: `policies lists what train's --policy knows: small policies whose success
probabilities are exact. A spec is NAME or NAME:KEY=VALUE,KEY=VALUE.`,
		Example: `  # what there is
  vigorlab policies`,
		RunE: func(*cobra.Command, []string) error {
			if err := flags.err(); err != nil {
				return err
			}
			return listPolicies().print(a, flags.format)
		},
	}
	flags.registerFormat(cmd.Flags())
	return cmd
}

func listPolicies() result[parameterRow] {
	known := train.Policies()
	var rows []parameterRow
	for _, p := range known {
		for _, k := range p.Parameters {
			rows = append(rows, parameterRow{p.Name, k.Name, k.Default, k.Range, k.Doc, p.Provenance, p.Source})
		}
	}
	return result[parameterRow]{known, rows, func(t *output.Text) {
		t.Command("vigorlab policies")
		for _, p := range known {
			t.Heading(p.Name)
			t.Note("  ", p.Doc+"; "+p.Source+" ("+p.Provenance+")")
			for _, k := range p.Parameters {
				t.Parameter(k.Name, k.Default, k.Doc, k.Range)
			}
		}
	}}
}
