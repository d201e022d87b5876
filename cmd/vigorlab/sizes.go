package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/spf13/pflag"

	"vigorlab/cmd/vigorlab/internal/output"
	"vigorlab/cmd/vigorlab/internal/rundir"
	"vigorlab/distributions/fit"
	"vigorlab/sim/pilot"
	"vigorlab/sim/strategy"
)

// sizesFlags say how the numbers of rollouts of a table came about, the sizes.
type sizesFlags struct {
	prefix  string // of the flags' names
	specs   []string
	batch   int // 0 stands for all of a step
	holdout int
}

// noStrategy says that sizes were fixed beforehand, though they differ.
const noStrategy = "none"

// sizesHelp says what the flags mean and what is assumed without them.
const sizesHelp = `Drawn tables, which p-values and bootstrap intervals rest on, need to know how
many rollouts each prompt gets. Equal numbers are taken to be fixed beforehand, and
so are equal rows of prompts with other numbers of visits: who was visited then has
nothing to do with outcomes. Where rows differ, name the strategy that chose them:
it then chooses anew in every drawn table, and goodness of fit is judged by how far
a law's likelihood falls short of the best law's. %s none says that
they were fixed beforehand. The table.csv of a run of rollout needs neither: its
run.json says who chose. Otherwise nothing is tested.`

func (f *sizesFlags) register(c *common, flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.specs, f.prefix+"strategy", nil, "strategy `SPEC` that chose the rollouts of the table, or none")
	flags.Var(&batchFlag{&f.batch, &c.faults}, f.prefix+"batch", "`B` prompts of the table that it saw together, in the table's order, or all of a step")
	c.whole(flags, &f.holdout, f.prefix+"holdout", 0, 100_000, "`M` further rollouts of every prompt in the table, as of rollout")
}

// A sizing is how the sizes of a table came about, as the flags or the run that
// the table stands in say.
type sizing struct {
	*sizesFlags
	strategy string        // "" where nobody says, or noStrategy
	origin   *pilot.Origin // nil without a strategy
}

// sizing resolves the flags for the table at path.
func (c *common) sizing(ctx context.Context, f *sizesFlags, path string) *sizing {
	s := &sizing{sizesFlags: f}
	if len(f.specs) == 0 {
		s.fromRun(path)
	} else if text, ok := c.once(f.specs, f.prefix+"strategy", "a spec such as vigor, or none"); ok {
		s.strategy = text
		if text != noStrategy {
			s.strategy = c.normalised(ctx, "--"+f.prefix+"strategy", text)
		}
	}
	if s.strategy == "" || s.strategy == noStrategy {
		if f.batch+f.holdout > 0 && len(f.specs) == 0 || s.strategy == noStrategy && f.batch+f.holdout > 0 {
			c.addf("--%sbatch and --%sholdout are of a strategy, want --%sstrategy SPEC beside them", f.prefix, f.prefix, f.prefix)
		}
		return s
	}
	spec := s.strategy
	s.origin = &pilot.Origin{
		Strategy: func() (strategy.Strategy, error) { return strategy.Parse(spec, nil) },
		Batch:    f.batch, Holdout: f.holdout,
	}
	return s
}

// normalised returns the normalised spec of a strategy; "" where it is at fault.
func (c *common) normalised(ctx context.Context, subject, text string) string {
	parsed, err := strategy.Parse(text, opener(ctx))
	if err != nil {
		c.add(subject, err)
		c.hint(hintStrategies)
		return ""
	}
	return parsed.Spec()
}

// design returns the design of rows, nil where there is none; its faults are
// recorded.
func (c *common) design(s *sizing, rows pilot.Rows) fit.Design {
	if s.origin == nil {
		return nil
	}
	design, err := pilot.Design(rows, *s.origin)
	c.add("--"+s.prefix+"strategy", err)
	return design
}

// fromRun takes the strategy from run.json of the complete run of rollout that
// wrote the table at path, if one did.
func (s *sizing) fromRun(path string) {
	if filepath.Base(path) != "table.csv" || s.batch+s.holdout > 0 {
		return
	}
	record, err := rundir.Read(filepath.Dir(path))
	if err != nil || record.Command != "rollout" || record.Status != rundir.Complete {
		return // nobody says: no fault of the table
	}
	var specs liveSpecs
	if json.Unmarshal(record.Specs, &specs) == nil {
		s.strategy, s.holdout = specs.Strategy, specs.Holdout
	}
}

// addTo adds the flags that say the same to a command line.
func (s *sizing) addTo(l *commandLine) {
	if s == nil || s.strategy == "" {
		return
	}
	l.add(s.prefix+"strategy", s.strategy)
	if s.batch > 0 {
		l.add(s.prefix+"batch", s.batch)
	}
	if s.holdout > 0 {
		l.add(s.prefix+"holdout", s.holdout)
	}
}

// object returns what results depend on.
func (s *sizing) object() output.Object {
	return output.Object{{Key: "strategy", Value: s.strategy}, {Key: "batch", Value: (&batchFlag{target: &s.batch}).String()}, {Key: "holdout", Value: s.holdout}}
}

// words say how sizes came about, for people.
func (s *sizing) words(sizes string) string {
	switch {
	case sizes == fit.SizesUnknown:
		return "differ, and how they came about is not said"
	case sizes == fit.SizesBeforehand && s.strategy == "":
		return "taken to be fixed beforehand"
	case s.strategy == noStrategy:
		return "fixed beforehand, as --" + s.prefix + "strategy none says"
	case sizes == fit.SizesBeforehand:
		return "fixed beforehand by " + shortSpec(s.strategy)
	}
	return fmt.Sprintf("chosen by %s, and anew in every drawn table", shortSpec(s.strategy))
}

// untold warns where sizes differ and nobody says why.
func (s *sizing) untold(sizes string) []string {
	if sizes != fit.SizesUnknown {
		return nil
	}
	return []string{fmt.Sprintf("goodness of fit cannot be tested: numbers of rollouts differ; name the strategy that chose them with --%sstrategy, or none where they were fixed beforehand", s.prefix)}
}
