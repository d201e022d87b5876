package train

import "vigorlab/sim/strategy"

// PolicyInfo describes a policy as data.
type PolicyInfo struct {
	Name       string               `json:"name"`
	Doc        string               `json:"doc"`
	Parameters []strategy.Parameter `json:"parameters"`
	Provenance string               `json:"provenance"` // own: these policies are the project's
	Source     string               `json:"source"`     // what the idea is
}

// Policies lists what NewPolicy knows.
func Policies() []PolicyInfo {
	answers := []strategy.Parameter{
		{Name: "answers", Default: "4", Range: "a whole number in [2, 1024]", Doc: "answers to a prompt"},
		{Name: "correct", Default: "1", Range: "a whole number in [1, answers-1]", Doc: "those that are right"},
		{Name: "near", Default: "0", Range: "a whole number in [0, answers-correct]", Doc: "wrong answers that are likelier than the others at the start"},
		{Name: "gap", Default: "0", Range: "[0, 100]", Doc: "by how much in log probability they are"},
	}
	infos := []PolicyInfo{
		{
			Name: "logit", Source: "a tabular softmax over two answers",
			Doc: "one logit a prompt: prompts share nothing, and no group of equal size lowers its prompt's success",
		},
		{
			Name: "softmax", Source: "a tabular softmax",
			Doc: "some answers of one token a prompt", Parameters: answers,
		},
		{
			Name: "linear", Source: "a linear model with logistic link",
			Doc: "one logit a prompt on features that prompts share: learning on one moves others",
			Parameters: []strategy.Parameter{
				{Name: "overlap", Range: "[0, 1]", Doc: "how far learning on a prompt moves those of the same skill, 1 as far as itself; 0 is logit"},
				{Name: "skills", Default: "1", Range: "a whole number >= 1", Doc: "skills, of which a prompt needs one; prompts of different skills share nothing"},
				{Name: "order", Default: "0", Range: "[0, 1]", Doc: "probability that a prompt's skill is that of its rank in difficulty, the hardest together, and not any of them"},
				{Name: "heldout", Default: "0", Range: "a whole number >= 0", Doc: "further prompts that are never trained on, for --eval held-out"},
			},
		},
		{
			Name: "sequence", Source: "a tabular softmax at every prefix",
			Doc: "answers of several tokens, a logit for every token after every prefix",
			Parameters: []strategy.Parameter{
				{Name: "tokens", Default: "3", Range: "a whole number in [1, 1024]", Doc: "the longest answer, the end token included"},
				{Name: "branching", Default: "2", Range: "a whole number in [2, 1024]", Doc: "tokens to choose from, one of which ends the answer"},
				{Name: "correct", Default: "1", Range: "a whole number >= 1, fewer than the answers", Doc: "answers to a prompt that are right"},
			},
		},
		{
			Name: "layered", Source: "a tabular softmax whose logits are sums, for systems that skip layers",
			Doc: "softmax whose logits are sums over layers, some of which can be skipped",
			Parameters: append([]strategy.Parameter{
				{Name: "layers", Default: "8", Range: "a whole number in [1, 1024]", Doc: "layers that add up"},
			}, append(answers[:len(answers):len(answers)],
				strategy.Parameter{Name: "spread", Default: "0", Range: "[0, 100]", Doc: "standard deviation by which layers differ at the start"})...),
		},
	}
	floor := strategy.Parameter{Name: "floor", Default: "0", Range: "[0, 0.5)", Doc: "initial success is moved into [floor, 1-floor]; with 0 a draw of 0 or 1, which no softmax has, is refused"}
	for i := range infos {
		infos[i].Provenance = "own"
		infos[i].Parameters = append([]strategy.Parameter{floor}, infos[i].Parameters...)
	}
	return infos
}
