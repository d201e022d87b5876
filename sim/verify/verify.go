// Package verify climbs the ladder of claims (theory.md, section 5): it holds
// each claim's method, estimate, reference and verdict. It refuses printing,
// drawing and new mathematics: theory computes, sim draws, and here they meet.
package verify

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"vigorlab/distributions/spec"
	"vigorlab/distributions/table"
)

// A Verdict says how a claim fared.
type Verdict string

// The verdicts of the ladder.
const (
	Holds       Verdict = "holds"
	HoldsWithin Verdict = "holds within d" // d is in the note, Report.Within at most
	Fails       Verdict = "fails"
	Untestable  Verdict = "cannot be tested here"
)

// The kinds of rows. A published claim that fails is a result; a check of ours
// that fails is an error of ours.
const (
	Claim = "claim"
	Check = "check"
)

// A Row is one claim of the ladder, checked.
type Row struct {
	ID        string      `json:"id"`   // study.ID, then what it was tried on
	Rung      int         `json:"rung"` // 1..11
	Kind      string      `json:"kind"` // Claim | Check
	Claim     string      `json:"claim"`
	Method    string      `json:"method"`
	Estimate  *float64    `json:"estimate"`
	Reference *float64    `json:"reference"`
	Interval  *[2]float64 `json:"interval"` // of the estimate, at 95 % where it is Monte Carlo
	Bias      float64     `json:"bias"`     // of the estimate, at most, where its method has one: the verdict allows for it
	Verdict   Verdict     `json:"verdict"`
	Test      string      `json:"test"` // by which the verdict was reached, with its level
	Note      string      `json:"note"`
	SE        *float64    `json:"se"`               // of the estimate, where it is Monte Carlo
	P         *float64    `json:"p"`                // of the comparison with the reference, before Holm's correction
	Detects   *float64    `json:"detects"`          // a true difference above this is missed with probability <= 1 %
	Reason    string      `json:"reason,omitempty"` // why it cannot be tested, or why fields are nil though the figure is not exact
}

// A Curve is a line or a set of points of a figure.
type Curve struct {
	Figure string  `json:"figure"` // "speedup", "eta-shape", ...
	Family string  `json:"family"` // what the points share: a shape, a strategy, a table
	Kind   string  `json:"kind"`   // ClosedForm | Truncated | MeanField | ExactFlow | MonteCarlo | Cap
	Points []Point `json:"points"`
	Setting
}

// A Setting says what a curve was computed of.
type Setting struct {
	Population string `json:"population,omitempty"` // empty for what holds of any
	Strategy   string `json:"strategy,omitempty"`   // a spec; T stands for the rounds that a figure varies
	Batch      int    `json:"batch,omitempty"`      // prompts; 0 where exact
	Replicates int    `json:"replicates,omitempty"` // 0 where exact
}

// in sets what curves were computed of.
func (s Setting) in(curves ...Curve) []Curve {
	for i := range curves {
		curves[i].Setting = s
	}
	return curves
}

// The kinds of curves.
const (
	ClosedForm = "closed_form"
	Truncated  = "truncated"
	MeanField  = "mean_field"
	ExactFlow  = "exact_flow"
	MonteCarlo = "monte_carlo"
	Cap        = "cap"
)

// A Point is a figure Y at X with its 95 % interval; Low = High = 0 where it
// has none.
type Point struct {
	X    float64 `json:"x"`
	Y    float64 `json:"y"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// A Section is what one study found.
type Section struct {
	Study       string       `json:"study"`
	Rows        []Row        `json:"rows"`
	Curves      []Curve      `json:"curves"`
	Predictions []Prediction `json:"predictions,omitempty"`
	Ratios      []Ratio      `json:"ratios,omitempty"`
}

// A Report is the whole ladder.
type Report struct {
	Quick    bool      `json:"quick"`
	Seed     uint64    `json:"seed"`
	Level    float64   `json:"level"`  // of the family of Monte Carlo comparisons
	Family   int       `json:"family"` // comparisons of the whole ladder, selected or not
	Within   float64   `json:"within"` // the largest d of HoldsWithin, relative to the reference
	Sections []Section `json:"sections"`
}

// Rows returns the rows of all sections in order.
func (r *Report) Rows() []Row {
	var rows []Row
	for _, s := range r.Sections {
		rows = append(rows, s.Rows...)
	}
	return rows
}

// Predictions returns what was predicted, population by population.
func (r *Report) Predictions() []Prediction {
	var p []Prediction
	for _, s := range r.Sections {
		p = append(p, s.Predictions...)
	}
	return p
}

// Ratios returns what training runs measured.
func (r *Report) Ratios() []Ratio {
	var all []Ratio
	for _, s := range r.Sections {
		all = append(all, s.Ratios...)
	}
	return all
}

// Wrong returns the checks of ours that failed.
func (r *Report) Wrong() []Row {
	return slices.DeleteFunc(r.Rows(), func(row Row) bool { return row.Kind != Check || row.Verdict != Fails })
}

// A Config says what to climb. Results depend on everything but Workers and
// the functions.
type Config struct {
	Seed    uint64
	Workers int            // >= 1
	Quick   bool           // fewer replicates: under a minute in all
	Only    []string       // rungs ("4") or studies ("4.mean-field"); none stands for all
	Tables  []*table.Table // for rungs 7 and 10
	Live    *Live          // for rung 8; nil for none

	// Done, where not nil, returns the section of a study that an earlier run
	// finished, and Save keeps one as soon as it is finished.
	Done func(study string) (*Section, bool)
	Save func(*Section) error
	// Progress, where not nil, hears which study runs and how far it is.
	Progress func(study string, done, total int)
}

// Validate reports names in Only that nothing on the ladder has, before
// anything runs.
func (c *Config) Validate() error {
	_, err := choose(ladder(c), c.Only)
	return err
}

// A study is the unit of selection, saving and resumption: it fills a section
// from one set of runs.
type study struct {
	id          string // "4.mean-field"
	comparisons int    // Monte Carlo comparisons that it makes, for the family
	run         func(context.Context, *env) (*Section, error)
}

// rung is the rung's number, as it is written.
func (s study) rung() string {
	number, _, _ := strings.Cut(s.id, ".")
	return number
}

// of reports whether a name stands for the study: its id, its rung, or its id up
// to a hyphen, as 10.replay does for the replay of every table.
func (s study) of(name string) bool {
	return name == s.rung() || name == s.id || strings.HasPrefix(s.id, name+"-")
}

// env is what a study has at hand.
type env struct {
	cfg      *Config
	study    string
	progress func(done, total int)
}

// Run climbs the ladder. It fails where Only names nothing that exists, or
// with ctx's error.
func Run(ctx context.Context, cfg Config) (*Report, error) {
	studies := ladder(&cfg)
	selected, err := choose(studies, cfg.Only)
	if err != nil {
		return nil, err
	}
	r := &Report{Quick: cfg.Quick, Seed: cfg.Seed, Level: familyLevel, Within: closeBy}
	for _, s := range studies {
		r.Family += s.comparisons
	}
	for _, s := range selected {
		section, err := climb(ctx, &cfg, s)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.id, err)
		}
		r.Sections = append(r.Sections, *section)
	}
	judge(r)
	return r, nil
}

// climb runs one study, or takes over what an earlier run found.
func climb(ctx context.Context, cfg *Config, s study) (*Section, error) {
	if cfg.Done != nil {
		if section, ok := cfg.Done(s.id); ok {
			return section, nil
		}
	}
	e := &env{cfg: cfg, study: s.id, progress: func(done, total int) {
		if cfg.Progress != nil {
			cfg.Progress(s.id, done, total)
		}
	}}
	e.progress(0, 1)
	section, err := s.run(ctx, e)
	if err != nil {
		return nil, err
	}
	section.Study = s.id
	rung, err := strconv.Atoi(s.rung())
	if err != nil {
		return nil, err
	}
	for i := range section.Rows {
		row := &section.Rows[i]
		row.Rung = rung
		row.ID = strings.TrimSuffix(s.id+"."+row.ID, ".")
	}
	if cfg.Save != nil {
		if err := cfg.Save(section); err != nil {
			return nil, err
		}
	}
	return section, nil
}

// ladder returns every study in order.
func ladder(cfg *Config) []study {
	return slices.Concat(rung1(), rung2(), rung3(), rung4(), rung5(), rung6(), rung7(cfg), rung8(cfg), rung9(), rung10(cfg), rung11())
}

// choose returns the studies that only names, in the order of the ladder.
func choose(studies []study, only []string) ([]study, error) {
	if len(only) == 0 {
		return studies, nil
	}
	var known []string
	for _, s := range studies {
		known = append(known, s.id)
		if rung := s.rung(); !slices.Contains(known, rung) {
			known = append(known, rung)
		}
	}
	var picked []study
	for _, name := range only {
		if !slices.Contains(known, name) && !slices.ContainsFunc(studies, func(s study) bool { return s.of(name) }) {
			return nil, spec.UnknownName(name, slices.Sorted(slices.Values(known)))
		}
	}
	for _, s := range studies {
		if slices.ContainsFunc(only, s.of) {
			picked = append(picked, s)
		}
	}
	return picked, nil
}
