package main

import (
	"strings"

	"github.com/spf13/cobra"

	"vigorlab/cmd/vigorlab/internal/output"
	"vigorlab/distributions/spec"
	"vigorlab/sim/reward"
)

func newVerifiers(a *app) *cobra.Command {
	var flags common
	cmd := &cobra.Command{
		Use:   "verifiers",
		Short: "List the verifiers of completions and their parameters",
		Long: `verifiers lists what --verifier of rollout and grade knows: what turns a completion
and its answer into a reward. A spec is NAME or NAME:KEY=VALUE,KEY=VALUE.`,
		Example: `  # what there is
  vigorlab verifiers

  # the same for a script
  vigorlab verifiers --format json`,
		RunE: func(*cobra.Command, []string) error {
			if err := flags.err(); err != nil {
				return err
			}
			return listVerifiers().print(a, flags.format)
		},
	}
	flags.registerFormat(cmd.Flags())
	return cmd
}

func listVerifiers() result[parameterRow] {
	known := reward.Known()
	var rows []parameterRow
	for i, v := range known {
		known[i].Parameters = append([]spec.Parameter{}, v.Parameters...) // a list, if an empty one
		for _, p := range v.Parameters {
			rows = append(rows, parameterRow{v.Name, p.Name, p.Default, p.Range, p.Doc, v.Provenance, v.Doc})
		}
	}
	return result[parameterRow]{known, rows, func(t *output.Text) {
		t.Command("vigorlab verifiers")
		for _, v := range known {
			t.Heading(v.Name)
			t.Note("  ", v.Doc)
			t.Note("  ", "as in --verifier '"+strings.ReplaceAll(v.Form, " or ", "' or '")+"'")
			for _, p := range v.Parameters {
				t.Parameter(p.Name, p.Default, p.Doc, p.Range)
			}
		}
	}}
}
