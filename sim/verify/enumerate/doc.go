// Package enumerate holds the exact finite-batch law of VIGOR by enumeration
// of every reward sequence; it refuses sampling.
//
// It is an oracle for the mean field (package theory) and for the engine
// (packages sim, sim/source, sim/strategy), so it shares no code with them.
// From sim/schedule it takes the parameter struct and its range check alone:
// the rollouts of a round and the prompts that a cut keeps are worked out
// again here, in rational arithmetic and by search. The same holds for the
// method. The mean field and the engine draw or convolve binomial counts and
// rank by sorting; here rollouts come one by one as success or failure, nothing
// is merged, and a cut keeps every set of prompts of which no dropped prompt
// outranks a member.
//
// Where equality matters, in ties of the true u and at the frontier, p and c
// are read as the shortest decimal that gives the float64, as typed: p = 0.3 and
// p = 0.7 have the same u = 0.84, and the frontier u >= 0.84 includes both.
// Elsewhere p is the float64.
//
// Throughout, rewards are coded signed, u = 4p(1-p) is the reward variance of a
// prompt and sigma = 2 sqrt(s(G-s))/G, ddof 0, that of a group of G rollouts with
// s successes (theory.md, section 0).
package enumerate
