package distributions

// A LengthLaw is the law of the tokens of one rollout, given the prompt's
// success probability: lognormal and cut off at Cap tokens. It is an immutable
// value; build it with NewLengthLaw.
type LengthLaw struct{}
