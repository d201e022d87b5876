package main

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"vigorlab/cmd/vigorlab/internal/rundir"
	"vigorlab/distributions/fit"
	"vigorlab/distributions/spec"
	"vigorlab/sim/reward"
	"vigorlab/sim/strategy"
	"vigorlab/sim/train"
)

// completing reports whether a command line is a shell's question of what may
// follow, and no command.
func completing(args []string) bool {
	return len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd)
}

// completeFlags says to shells what every flag of a command may be, and that no
// files follow a command that takes none.
func completeFlags(cmd *cobra.Command) {
	specs := map[string]cobra.CompletionFunc{
		"population":     completeSpec(populationForms(), nil),
		"strategy":       completeSpec(strategyForms(), func(cmd *cobra.Command) []string { return strategyWords[cmd.Name()] }),
		"pilot-strategy": completeSpec(strategyForms(), func(*cobra.Command) []string { return []string{"none"} }),
		"policy":         completeSpec(policyForms(), nil),
		"system":         completeSpec(systemForms(), nil),
		"verifier":       completeSpec(verifierForms(), nil),
		"figure":         completeFigures,
		"family":         cobra.FixedCompletions(fit.Families(), cobra.ShellCompDirectiveNoFileComp),
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		complete := specs[f.Name]
		switch v := f.Value.(type) {
		case *choiceFlag:
			complete = cobra.FixedCompletions(v.known, cobra.ShellCompDirectiveNoFileComp)
		case *wholeFlag, *realFlag, *seedFlag:
			complete = cobra.NoFileCompletions
		case *textFlag:
			if v.want == "a directory" {
				complete = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
			}
		}
		if complete != nil {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, complete) // fails where it is registered already
		}
	})
	switch {
	case cmd.Name() == "strategies":
		cmd.ValidArgsFunction = names(strategyForms())
	case !readsFiles.MatchString(cmd.Use):
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
}

// readsFiles says of a line of usage whether its arguments are paths.
var readsFiles = regexp.MustCompile(`^[a-z]+ (TABLE|PATH|RUNDIR|FILE)`)

// completeFigures completes the names of the figures that every run directory of the
// command line has; a directory that holds no run has none.
func completeFigures(_ *cobra.Command, dirs []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	found := []cobra.Completion{allFigures}
	for i, dir := range dirs {
		record, err := rundir.Read(filepath.Clean(dir))
		if err != nil {
			continue
		}
		names := figureNames(record)
		if i == 0 {
			found = append(found, names...)
		}
		found = slices.DeleteFunc(found, func(name string) bool { return name != allFigures && !slices.Contains(names, name) })
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

func names(forms []form) cobra.CompletionFunc {
	var all []cobra.Completion
	for _, f := range forms {
		all = append(all, cobra.CompletionWithDesc(f.name, f.doc))
	}
	return cobra.FixedCompletions(all, cobra.ShellCompDirectiveNoFileComp)
}

// strategyWords are the words that --strategy of a command takes beside specs.
var strategyWords = map[string][]string{"compare": {"all"}, "fit": {"none"}}

// A form is what a spec may look like: a name, and keys that follow it.
type form struct {
	name, doc  string
	parameters []spec.Parameter
}

func populationForms() []form {
	var forms []form
	for _, k := range spec.Populations() {
		forms = append(forms, form{k.Name, k.Source, k.Parameters})
	}
	return forms
}

func strategyForms() []form {
	var forms []form
	for _, k := range strategy.Known() {
		forms = append(forms, form{k.Name, k.Source, asSpec(k.Parameters)})
	}
	return forms
}

func policyForms() []form {
	var forms []form
	for _, k := range train.Policies() {
		forms = append(forms, form{k.Name, k.Doc, asSpec(k.Parameters)})
	}
	return forms
}

func systemForms() []form {
	var forms []form
	for _, k := range train.Systems() {
		forms = append(forms, form{k.Name, k.Source, asSpec(k.Parameters)})
	}
	return forms
}

func asSpec(parameters []strategy.Parameter) []spec.Parameter {
	var as []spec.Parameter
	for _, p := range parameters {
		as = append(as, spec.Parameter(p))
	}
	return as
}

func verifierForms() []form {
	var forms []form
	for _, k := range reward.Known() {
		forms = append(forms, form{k.Name, k.Doc, k.Parameters})
	}
	return forms
}

// completeSpec completes NAME, or KEY= behind NAME: and behind each comma, keys
// that are given left out. Further words stand beside the names.
func completeSpec(forms []form, words func(*cobra.Command) []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		name, keys, inside := strings.Cut(typed, ":")
		if inside {
			return completeKeys(forms, name, keys), directive
		}
		var found []cobra.Completion
		for _, f := range forms {
			found = append(found, cobra.CompletionWithDesc(f.name, f.doc))
		}
		if words != nil {
			found = append(found, words(cmd)...)
		}
		return found, directive
	}
}

// completeKeys completes the key behind the last comma of NAME:KEY=VALUE,...
func completeKeys(forms []form, name, keys string) []cobra.Completion {
	at := slices.IndexFunc(forms, func(f form) bool { return f.name == name })
	if at < 0 {
		return nil
	}
	done := keys[:strings.LastIndex(keys, ",")+1]
	var found []cobra.Completion
	for _, p := range forms[at].parameters {
		if !plainKey(p.Name) || strings.Contains(","+done, ","+p.Name+"=") {
			continue
		}
		found = append(found, cobra.CompletionWithDesc(name+":"+done+p.Name+"=", p.Doc))
	}
	return found
}

// plainKey reports whether a parameter is a key, and no placeholder such as
// W@SPEC+W@SPEC.
func plainKey(name string) bool { return name == strings.ToLower(name) && !strings.Contains(name, "@") }
