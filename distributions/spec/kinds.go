package spec

import "vigorlab/distributions"

// Info describes a kind of population as data.
type Info struct {
	Name         string       `json:"name"`
	Parameters   []Parameter  `json:"parameters"`
	Capabilities Capabilities `json:"capabilities"`
	Provenance   string       `json:"provenance"` // paper | own
	Source       string       `json:"source"`     // where it was read
}

// A Parameter is one key of a population spec.
type Parameter struct {
	Name    string `json:"name"`
	Default string `json:"default"` // "" where it must be given, or may be left out
	Range   string `json:"range"`
	Doc     string `json:"doc"`
}

// Capabilities say what a population offers.
type Capabilities struct {
	Rewards bool `json:"rewards"` // prompts have success probabilities: they can be simulated
	Atoms   bool `json:"atoms"`   // single values of p have positive probability
	Lengths bool `json:"lengths"` // takes a length law
	File    bool `json:"file"`    // is read from a file
}

// Populations lists every kind of population.
func Populations() []Info {
	kinds := populationKinds()
	infos := make([]Info, len(kinds))
	for i, k := range kinds {
		infos[i] = k.Info
	}
	return infos
}

// A kind is a population with the function that reads its parameters. A
// mixture and a flip have grammars of their own, and none.
type kind struct {
	Info
	read func(*reader) Population
}

// The populations whose specs hold others.
const (
	nameMixture = "mixture"
	nameFlip    = "flip"
)

// smoothNone keeps the recorded success rates as they are.
const smoothNone = "none"

func populationKinds() []kind {
	var (
		shape  = Parameter{"shape", "", "[1e-09, 10000]", "Pareto shape kappa"}
		low    = Parameter{"min", "", "[1e-100, 1)", "smallest value"}
		a      = Parameter{"a", "", "[0.0001, 1e+06]", "first parameter of the Beta law"}
		b      = Parameter{"b", "", "[0.0001, 1e+06]", "second parameter of the Beta law"}
		path   = Parameter{"path", "", "a CSV file", ""}
		simple = Capabilities{Rewards: true, Lengths: true}
		spikes = Capabilities{Rewards: true, Lengths: true, Atoms: true}
		file   = Capabilities{Rewards: true, Lengths: true, Atoms: true, File: true}
	)
	doc := func(p Parameter, doc string) Parameter {
		p.Doc = doc
		return p
	}
	return []kind{
		{Info{
			"pareto-variance",
			withLengths(
				shape,
				doc(low, "smallest reward variance u; without max up to 1e+100"),
				Parameter{"max", "", "(min, 1]", "largest u; without it u is unbounded, for theory and perfect selection only"},
				Parameter{"hard", "0.5", "[0, 1]", "probability of p < 1/2, given u"},
			),
			simple, "paper", "VIGOR, arXiv 2607.22002, Theorem 2, where u is unbounded; its truncation to max is our own",
		}, readParetoVariance},
		{Info{
			"pareto-success",
			withLengths(
				shape,
				doc(low, "smallest success probability"),
				Parameter{"max", "1", "(min, 1]", "largest success probability"},
			),
			simple, "own", "our own: p itself Pareto, where Theorem 2 of VIGOR, arXiv 2607.22002, has the reward variance so",
		}, func(r *reader) Population {
			return r.law(law(distributions.NewParetoSuccess(r.number("shape"), r.number("min"), r.number("max"))))
		}},
		{
			Info{"beta", withLengths(a, b), simple, "own", "the usual law of probabilities; the mean field under it is our own"},
			func(r *reader) Population { return r.law(law(distributions.NewBeta(r.number("a"), r.number("b")))) },
		},
		{
			Info{"uniform", withLengths(), simple, "own", "the usual law of probabilities; the mean field under it is our own"},
			func(r *reader) Population { return r.law(distributions.NewUniform(), nil) },
		},
		{
			Info{
				"point", withLengths(Parameter{"p", "", "[0, 1]", "success probability of every prompt"}),
				spikes, "own", "",
			},
			func(r *reader) Population { return r.law(law(distributions.NewPoint(r.number("p")))) },
		},
		{
			Info{"spiked-beta", withLengths(
				Parameter{"dead", "", "[0, 1]", "probability of p = 0"},
				Parameter{"solved", "", "[0, 1]", "probability of p = 1; dead+solved at most 1"},
				a, b,
			), spikes, "own", ""},
			func(r *reader) Population {
				return r.law(law(distributions.NewSpikedBeta(r.number("dead"), r.number("solved"), r.number("a"), r.number("b"))))
			},
		},
		{Info{nameMixture, []Parameter{
			{"W@SPEC+W@SPEC...", "", "weights in (0, 1] with sum 1", "components, none of them a mixture; the keys of a length law go into every one"},
		}, spikes, "own", ""}, nil},
		{Info{nameFlip, []Parameter{
			{"q", "", "[0, 1]", "probability that a reward is turned round: p becomes q + (1-2q)p, label noise"},
			{"@SPEC", "", "any population with rewards", "whose rewards are turned, as in flip:q=0.05@beta:a=0.1,b=0.3"},
		}, Capabilities{Rewards: true, Atoms: true}, "own", "the usual law of symmetric label noise"}, nil},
		{
			Info{"atoms", withLengths(doc(path, "columns p and weight, weights that sum to 1")), file, "own", ""},
			readAtoms,
		},
		{
			Info{"table", withLengths(
				doc(path, "columns prompt_id, n, successes and more: the law of successes/n over its rows"),
				Parameter{"smooth", smoothNone, "none, beta or npmle", "the law of successes/n as recorded, or the law behind them of largest likelihood: Beta, or any (nonparametric)"},
			), file, "own", ""},
			readTable,
		},
	}
}

// law widens what a constructor returned, and keeps nil out of the interface.
func law[L distributions.Law](l L, err error) (distributions.Law, error) {
	if err != nil {
		return nil, err
	}
	return l, nil
}

// withLengths appends the keys of the length law.
func withLengths(p ...Parameter) []Parameter {
	return append(
		p,
		Parameter{"tokens", "", "(0, 1e+09]", "mean tokens of a rollout at p = 1/2, before the cap; without it lengths are unknown"},
		Parameter{"tokens-sd", "", "[0, 1e+09]", "their standard deviation at p = 1/2, half the mean if left out"},
		Parameter{"tokens-slope", "0", "[-50, 50]", "K: mean tokens are those at p = 1/2 times exp(K*(1/2-p))"},
		Parameter{"tokens-cap", "", "a whole number >= 1", "where rollouts are cut off; without it nowhere"},
	)
}
