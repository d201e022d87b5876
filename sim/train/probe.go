package train

// A Probe is the gradient estimate of a strategy at a policy that stands still,
// measured by two independent runs of one epoch of steps each, with fresh
// strategies and uncharged; a strategy with a history has an epoch before that to
// learn in. With g_t the gradients of a run's steps and A and B their means over
// the two runs:
type Probe struct {
	Step    int     `json:"step"` // of the run that the policy stands in
	Success float64 `json:"success"`

	Steps    int     `json:"steps"`    // of each run
	Rollouts float64 `json:"rollouts"` // generated a step, mean over both runs
	// Signal is <A, B>, whose mean is the squared norm of the mean gradient: the
	// runs are independent, while steps of one run share no prompts and are not.
	Signal float64 `json:"signal"`
	Square float64 `json:"square"` // mean of ||g_t||^2: Signal and the noise of a step

	// Exact is the squared norm of the exact gradient of groups without end, every
	// prompt alike, and Along its product with (A+B)/2; nil with Why where that
	// gradient is not known.
	Exact *float64 `json:"exact"`
	Along *float64 `json:"along"`
	Why   string   `json:"why,omitempty"`
}
