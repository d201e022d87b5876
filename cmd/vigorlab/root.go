package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"vigorlab/cmd/vigorlab/internal/output"
	"vigorlab/distributions/spec"
)

// An app is what commands write to and the command line as typed.
type app struct {
	args   []string
	stdout io.Writer
	colour bool // stdout understands it
	stderr io.Writer
}

// execute runs one command line and returns the exit code. The end of ctx also
// ends writing to stdout.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	colour := output.Coloured(stdout)
	stdout = awaited{ctx, stdout}
	root := newRoot(&app{args, stdout, colour, stderr})
	root.SetArgs(args)
	if err := unknownCommand(root, args); err != nil {
		return exitCode(stderr, err)
	}
	help := &helpWriter{w: stdout}
	root.SetOut(help)
	err := root.ExecuteContext(ctx)
	if help.err != nil {
		err = help.err
	}
	return exitCode(stderr, err)
}

// A helpWriter is standard output for cobra, which prints help without looking
// at errors: the first one stays.
type helpWriter struct {
	w   io.Writer
	err error
}

func (h *helpWriter) Write(text []byte) (int, error) {
	if h.err == nil {
		h.err = write(h.w, text)
	}
	if h.err != nil {
		return 0, h.err
	}
	return len(text), nil
}

// newRoot builds the command tree.
func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "vigorlab",
		Short: "A wind tunnel for rollout budgets",
		Long: `vigorlab checks theorems about rollout allocation in reinforcement learning with
verifiable rewards, and the methods that they describe: in closed form, on
synthetic prompts and on recorded outcomes of real models.

Figures are under signed coding: rewards in {-1, +1}, reward variance
u = 4p(1-p) of a prompt with success probability p.`,
		Example: `  # what a theorem promises, what is left of it for rewards, and what the algorithm gets
  vigorlab theory --population pareto-variance:shape=1.5,min=0.01,max=1 --strategy vigor

  # the same by Monte Carlo, beside fixed groups; --out keeps figures, tables and how to repeat them
  vigorlab simulate --population beta:a=0.3,b=0.7 --strategy vigor --strategy fixed:g=8 \
    --replicates 200 --out run

  # logs of a trainer, or a table as here, to a plan for your prompts
  vigorlab simulate --population beta:a=0.3,b=0.7 --batch 400 --strategy fixed:g=8 \
    --replicates 2 --emit-table pilot.csv
  vigorlab fit pilot.csv --family beta --replicates 20
  vigorlab plan pilot.csv --batch 64 --replicates 20 --worlds 40 --max-rounds 3

  # what may stand for a population and a strategy, and what else this machine could do
  vigorlab populations
  vigorlab strategies
  vigorlab doctor`,
		Version:       version,
		Args:          noArguments,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return usagef(helpHint(cmd), "no command given, want one of %s", strings.Join(commandNames(cmd), ", "))
		},
	}
	root.SetErr(a.stderr)
	root.SetFlagErrorFunc(flagError)
	root.SetVersionTemplate("vigorlab {{.Version}}\n")
	root.SetHelpCommand(newHelp(root))
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".LocalFlags.FlagUsages", "(.LocalFlags.FlagUsagesWrapped 100)"))
	root.AddCommand(
		newTheory(a), newSimulate(a), newReplay(a), newVerify(a), newCompare(a), newTrain(a), newImport(a), newFit(a), newPlan(a), newRollout(a), newGrade(a), newPlot(a), newReport(a), newExplore(a),
		newStrategies(a), newPopulations(a), newPolicies(a), newSystems(a), newVersion(a),
		newVerifiers(a), newDoctor(a), newSweep(a),
	)
	for _, cmd := range root.Commands() {
		if cmd.Args == nil {
			cmd.Args = noArguments
		}
		cmd.DisableFlagsInUseLine = true
		cmd.Flags().SortFlags = false
		if completing(a.args) {
			completeFlags(cmd)
		}
	}
	return root
}

// newHelp returns the help command, which unlike cobra's own refuses topics
// that do not exist.
func newHelp(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about a command",
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return commandNames(root), cobra.ShellCompDirectiveNoFileComp
		},
		Args: func(*cobra.Command, []string) error { return nil },
		RunE: func(_ *cobra.Command, args []string) error {
			if err := unknownCommand(root, args); err != nil {
				return err
			}
			cmd, _, err := root.Find(args)
			if err != nil {
				return err
			}
			return cmd.Help()
		},
	}
}

// commandNames returns the commands that a user may type.
func commandNames(root *cobra.Command) []string {
	var names []string
	for _, cmd := range root.Commands() {
		if cmd.IsAvailableCommand() {
			names = append(names, cmd.Name())
		}
	}
	return names
}

// unknownCommand refuses a first word that is no command, before its flags
// are looked at.
func unknownCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return nil
	}
	known := append(commandNames(root), "help", "completion")
	for _, name := range append(known, cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd) {
		if args[0] == name {
			return nil
		}
	}
	hint := helpHint(root)
	if near, ok := spec.Nearest(args[0], known); ok {
		hint = fmt.Sprintf("did you mean vigorlab %s?", near)
	}
	return usagef(hint, "unknown command %s, want one of %s", shown(args[0]), strings.Join(commandNames(root), ", "))
}
