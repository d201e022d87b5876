// Package gradient checks the gradient bounds of theory.md, section 2, on small
// softmax policies whose gradients are exact and whose responses can all be
// enumerated: rung 1 of the ladder. It refuses allocation and laws.
//
// A case is one group of rollouts under one estimator, at one policy. The
// policy has moved away from the one that sampled by 0 to 4 ascent steps. The
// surrogate of a rollout with advantage A is PPO's minimum term
//
//	sequence: min(rho A, clip(rho) A),                rho = pi(o)/pi_old(o)
//	token:    1/|o| sum_t min(rho_t A, clip(rho_t) A), the length-mean of token ratios
//
// with clip to [1-eps, 1+eps], or none, and g(o, sign A) is its gradient per
// unit of |A|, up to that sign. Then grad L = (1/G) sum_i A_i g(o_i, sign A_i),
// and M is the maximum of ||g|| over ALL responses and both signs. The check
// demands of a case
//
//   - bound: ||grad L|| <= M f, where theory gives the factor f;
//   - sum: f = (1/G) sum|A_i|, which bounds f from both sides;
//   - identity: grad L = (sigma/2) (gbar_plus - gbar_minus), for the paper's
//     GRPO (ddof 0, delta 0). Theory.md states it unclipped; with clipping it
//     holds for the gradients of the minimum term, by the same algebra;
//   - maximum: M equals the largest norm that a second enumeration meets, over
//     all token strings and with other arithmetic, and that enumeration missed
//     no response.
//
// The last is what M from sampled responses only cannot pass. Such an M makes
// the bound the triangle inequality, which never fails, so that no comparison
// of norms can flag it; only looking at every response can.
//
// The advantages come from sim/advantage, the factor from theory: no sum|A_i|
// is stated here.
package gradient
