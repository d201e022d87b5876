package main

import (
	"github.com/spf13/cobra"

	"vigorlab/cmd/vigorlab/internal/output"
	"vigorlab/sim/train"
)

func newSystems(a *app) *cobra.Command {
	var flags common
	cmd := &cobra.Command{
		Use:   "systems",
		Short: "List the training systems, their parameters and where they come from",
		Long: `systems lists what train's --system knows: who answers, and how a policy learns from
the answers. A spec is NAME or NAME:KEY=VALUE,KEY=VALUE.`,
		Example: `  # what there is
  vigorlab systems`,
		RunE: func(*cobra.Command, []string) error {
			if err := flags.err(); err != nil {
				return err
			}
			return listSystems().print(a, flags.format)
		},
	}
	flags.registerFormat(cmd.Flags())
	return cmd
}

func listSystems() result[parameterRow] {
	known := train.Systems()
	var rows []parameterRow
	for i, s := range known {
		known[i].Diagnostics = append([]train.Figure{}, s.Diagnostics...) // a list, if an empty one
		for _, p := range s.Parameters {
			rows = append(rows, parameterRow{s.Name, p.Name, p.Default, p.Range, p.Doc, s.Provenance, s.Source})
		}
	}
	return result[parameterRow]{known, rows, func(t *output.Text) {
		t.Command("vigorlab systems")
		for _, s := range known {
			t.Heading(s.Name)
			t.Note("  ", "from "+s.Source+" ("+s.Provenance+")")
			t.Note("  ", placed(s.Taxonomy))
			for _, p := range s.Parameters {
				t.Parameter(p.Name, p.Default, p.Doc, p.Range)
			}
			for _, d := range s.Diagnostics {
				t.Note("  reports ", d.Name+": "+d.Doc)
			}
		}
		t.Blank()
		taxonomyNote(t)
	}}
}

// provenance says where the system of a spec comes from; "" of none.
func provenance(system string) string {
	if s := infoOf(system); s != nil {
		return s.Provenance
	}
	return ""
}
