package plan

import (
	"context"
	"math"
	"math/rand/v2"

	"vigorlab/distributions/fit"
	"vigorlab/sim/stream"
)

// A FamilyCheck is what the pilot says of the Beta law that a plan stands on. The
// bootstrap of the gain knows nothing of it: it takes the family for true.
type FamilyCheck struct {
	P, PError float64 // goodness of fit as in fit.Fit; NaN where it was not asked for, or cannot be told
	Test      string  // of P, as in fit.Result; "" for none
	// SpikedP tells Beta from Beta with spikes, the likelihood ratio's p-value of
	// fit.Comparison; NaN where it was not asked for.
	SpikedP float64
	// Untold says that goodness of fit cannot be told: prompts have unlike numbers of
	// rollouts, and nobody says how they came about.
	Untold bool
}

// Asked reports whether the pilot was asked.
func (f FamilyCheck) Asked() bool { return f.P > 0 || f.Untold }

// rejected reports whether the counts reject Beta.
func (f FamilyCheck) rejected() bool { return f.P <= fit.Level }

// spiked reports whether the counts tell spikes.
func (f FamilyCheck) spiked() bool { return f.SpikedP <= fit.Level }

// checkFamily asks the pilot about the Beta law, where the plan stands on that
// and on bootstrap samples enough to reject it.
func (r *Result) checkFamily(ctx context.Context, o Options) error {
	r.Family = FamilyCheck{P: math.NaN(), PError: math.NaN(), SpikedP: math.NaN()}
	if r.Pilot == nil || o.Smooth != fit.SmoothBeta || o.Worlds == 0 || r.varied() == 0 {
		return nil
	}
	key := o.streams("family")
	of := fit.Options{
		Families: []string{fit.Beta}, Replicates: o.Worlds, Workers: o.Workers, Design: r.design, Beforehand: r.beforehand,
		Streams: func(purpose string, k int) *rand.Rand { return stream.Rand(key.Named(purpose).With(uint64(k))) },
	}
	beta, err := fit.Run(ctx, r.Pilot, of)
	if err != nil {
		return err
	}
	r.Family.P, r.Family.PError, r.Family.Test = beta.Fits[0].P, beta.Fits[0].PError, beta.Test
	r.Family.Untold = beta.Sizes == fit.SizesUnknown
	of.Families, of.Replicates = []string{fit.Beta, fit.SpikedBeta}, 0
	both, err := fit.Run(ctx, r.Pilot, of)
	if err != nil {
		return err
	}
	r.Family.SpikedP = both.Comparisons[0].P
	return nil
}

// testNames are the names of the tests of goodness of fit.
var testNames = map[string]string{fit.AndersonDarling: "Anderson-Darling", fit.Shortfall: "log-likelihood short of the best law of all"}

// sayFamily says what speaks against the law that the plan stands on.
func (r *Result) sayFamily(o Options, add func(string, ...any)) {
	if r.Pilot == nil || o.Smooth != fit.SmoothBeta {
		return
	}
	const instead = "the interval takes the Beta law for true; --smooth npmle plans without it"
	switch f := r.Family; {
	case f.rejected():
		add("the pilot rejects the Beta law that this plan stands on (%s, p = %.2g): %s", testNames[f.Test], f.P, instead)
	case f.spiked():
		add("the pilot tells the Beta law that this plan stands on from Beta with spikes of dead and solved prompts (likelihood ratio, p = %.2g): %s", f.SpikedP, instead)
	}
	if r.Family.Untold {
		add("whether the pilot fits the Beta law cannot be tested: numbers of rollouts differ, and how they came about is not said")
	}
}
