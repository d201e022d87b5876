package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"vigorlab/cmd/vigorlab/internal/output"
	"vigorlab/distributions/spec"
	"vigorlab/sim/strategy"
)

func newStrategies(a *app) *cobra.Command {
	var flags common
	cmd := &cobra.Command{
		Use:   "strategies [NAME ...]",
		Short: "List the strategies, their parameters and what they need",
		Long: `strategies lists every strategy that --strategy knows, or those named: who gets
how many rollouts. A spec is NAME or NAME:KEY=VALUE,KEY=VALUE; @FILE reads it from
a file.`,
		Example: `  # what there is
  vigorlab strategies

  # one of them
  vigorlab strategies cero-v2

  # the same for a script
  vigorlab strategies --format json

  # try one: VIGOR in two rounds of 4 and 16 rollouts, which keep a quarter of the prompts
  vigorlab theory --population beta:a=0.1,b=0.3 --strategy vigor:m0=4,rounds=2,alpha=1/4,gamma=4

  # three side by side on the same batches, one of them from a file
  vigorlab simulate --population uniform --replicates 100 --strategy vigor --strategy fixed:g=8 \
    --strategy @schedule.txt`,
		Args: func(*cobra.Command, []string) error { return nil },
		RunE: func(_ *cobra.Command, names []string) error {
			if err := flags.err(); err != nil {
				return err
			}
			known, err := knownStrategies(names)
			if err != nil {
				return err
			}
			return listStrategies(names, known).print(a, flags.format)
		},
	}
	flags.registerFormat(cmd.Flags())
	return cmd
}

// A parameterRow is one parameter of a strategy or population.
type parameterRow struct {
	Name       string `parquet:"name"`
	Parameter  string `parquet:"parameter"`
	Default    string `parquet:"default"`
	Range      string `parquet:"range"`
	Doc        string `parquet:"doc"`
	Provenance string `parquet:"provenance"`
	Source     string `parquet:"source"`
}

// knownStrategies returns the strategies of the given names, all without names.
func knownStrategies(names []string) ([]strategy.Info, error) {
	all := strategy.Known()
	if len(names) == 0 {
		return all, nil
	}
	var every []string
	for _, s := range all {
		every = append(every, s.Name)
	}
	var some []strategy.Info
	var f faults
	for _, name := range names {
		i := slices.Index(every, name)
		if i < 0 {
			f.addf("%s", spec.UnknownName(name, every))
			continue
		}
		some = append(some, all[i])
	}
	return some, f.err()
}

func listStrategies(names []string, known []strategy.Info) result[parameterRow] {
	var rows []parameterRow
	for _, s := range known {
		for _, p := range s.Parameters {
			rows = append(rows, parameterRow{s.Name, p.Name, p.Default, p.Range, p.Doc, s.Provenance, s.Source})
		}
	}
	return result[parameterRow]{known, rows, func(t *output.Text) { strategiesText(t, names, known) }}
}

// The rollouts a prompt and the steps of compare's defaults, which the list's
// examples of specs are for.
const exampleGroup, exampleSteps = 8, 32

func strategiesText(t *output.Text, names []string, known []strategy.Info) {
	t.Command(strings.Join(append([]string{"vigorlab strategies"}, names...), " "))
	examples := strategy.Spending(exampleGroup, exampleSteps)
	for _, s := range known {
		t.Heading(s.Name)
		t.Note("  ", "from "+s.Source+" ("+s.Provenance+")")
		t.Note("  ", abilities(s.Capabilities))
		t.Note("  ", placed(s.Taxonomy))
		for _, p := range s.Parameters {
			t.Parameter(p.Name, p.Default, p.Doc, p.Range)
		}
		if slices.ContainsFunc(s.Parameters, func(p strategy.Parameter) bool { return p.Default == "" }) {
			i := slices.IndexFunc(strategy.Known(), func(k strategy.Info) bool { return k.Name == s.Name })
			t.Note("  ", "compare --strategy all runs it as "+examples[i]+", by our choice of what no source states")
		}
	}
	t.Blank()
	t.Note("", "A spec is NAME or NAME:KEY=VALUE,KEY=VALUE, as in --strategy vigor:m0=4,rounds=2,alpha=1/4,gamma=4. "+
		"Parameters that are not given take the default shown; those without one must be given, as no source states them.")
	taxonomyNote(t)
}

// abilities says in words what a strategy can do and needs.
func abilities(c strategy.Capabilities) string {
	var can []string
	say := func(has bool, yes, no string) {
		if has && yes != "" {
			can = append(can, yes)
		}
		if !has && no != "" {
			can = append(can, no)
		}
	}
	say(c.FirstEpoch, "works in the first epoch", "needs a first epoch of history")
	say(c.History, "learns across steps", "")
	say(c.Embeddings, "needs embeddings", "")
	say(c.ChangesLoss, "changes the loss", "")
	say(c.ExactBudget, "spends a budget known beforehand", "spends a budget not known beforehand")
	say(c.PicksPrompts, "picks its prompts from the prompt set", "")
	say(c.Truth, "is handed the true success probabilities", "")
	return strings.Join(can, "; ")
}
