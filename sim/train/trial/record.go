package trial

import (
	"vigorlab/sim/train"
)

// The phases of a trial.
const (
	PhaseChoose = "choose" // every arm at every rate, to choose one
	PhaseReport = "report" // every arm at the common rate and at its own
)

// A Job names one run of a trial. A trial's runs have one order: by phase, arm,
// rate and seed.
type Job struct {
	Phase string `json:"phase"`
	Arm   int    `json:"arm"`
	Rate  int    `json:"rate"` // a place in Config.Rates
	Seed  int    `json:"seed"` // of the phase, from 0
}

// A Record is all that a trial keeps of one run. It survives encoding/json
// unchanged: it holds no NaN and no infinity.
type Record struct {
	Job
	Levels   []*Spent  `json:"levels"` // at the end of the first step on Config.Levels, then the target; nil where never reached
	End      Spent     `json:"end"`
	Success  float64   `json:"success"`  // at the end
	HeldOut  *float64  `json:"held_out"` // nil where no prompts are held out
	Diverged *Diverged `json:"diverged"` // nil for a run that stayed finite; one that did not never reaches a level after it

	// Of reports alone.
	Interval int                `json:"interval,omitempty"` // steps between the points of the curve
	Curve    []train.CurvePoint `json:"curve,omitempty"`
	Probes   []*train.Probe     `json:"probes,omitempty"` // by quarter of the way to the target, nil where never reached
}

// Spent is what a run has spent up to and with a step.
type Spent struct {
	Step     int     `json:"step"`
	Rollouts int     `json:"rollouts"` // generated
	Tokens   int     `json:"tokens"`   // generated; 0 where every rollout is one token
	Cost     float64 `json:"cost"`     // in rollouts of the full policy
}

// Diverged says where a run stopped being finite.
type Diverged struct {
	Step     int    `json:"step"`
	Quantity string `json:"quantity"`
	Value    string `json:"value"` // NaN, +Inf or -Inf
}
