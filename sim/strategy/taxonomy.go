package strategy

// A Placement says where a method stands in the taxonomy of rollout efficiency
// (Rollout Efficiency in RL for Reasoning LLMs, arXiv 2609.25463, read through
// notes: systems.md, section 9): by what mechanism it saves, which waste, and
// when it decides and pays for that. None of them is empty.
type Placement struct {
	Lever      string `json:"lever"`      // system | algorithmic | both | none
	Family     string `json:"family"`     // one of Families
	Bottleneck string `json:"bottleneck"` // letters from A to D (see Bottlenecks), or none
	Paid       string `json:"cost_paid"`  // before | during | after generation, or none
	PlacedBy   string `json:"placed_by"`  // taxonomy, where the notes name the method, or own
}

// The levers: a system lever makes the same work cheaper, an algorithmic one
// asks for less of it.
const (
	LeverSystem      = "system"
	LeverAlgorithmic = "algorithmic"
	LeverBoth        = "both"
	none             = "none"
)

// The families of mechanisms. The last three are not the taxonomy's.
const (
	FamilyDecoupling  = "pipeline decoupling"
	FamilyResources   = "resource-aware execution"
	FamilyScheduling  = "scheduling and load balancing"
	FamilyPartial     = "partial rollout"
	FamilySpeculative = "speculative decoding"
	FamilySelection   = "rollout selection"
	FamilyBudgeting   = "prompt selection and budgeting"
	FamilyEvaluation  = "outside training"
	FamilyOther       = "no family of the taxonomy"
	FamilyNone        = none // what methods are compared with
)

// When a method decides, and pays.
const (
	PaidBefore = "before" // from what is known before a step's rollouts
	PaidDuring = "during" // in rounds of generation
	PaidAfter  = "after"  // rollouts are generated, then left out or replaced
)

// Who placed a method.
const (
	placedByTaxonomy = "taxonomy"
	placedByUs       = "own"
)

// Families lists the families in the order in which tables group by them.
func Families() []string {
	return []string{
		FamilyNone, FamilyBudgeting, FamilySelection, FamilyPartial, FamilyResources, FamilyDecoupling,
		FamilyScheduling, FamilySpeculative, FamilyEvaluation, FamilyOther,
	}
}

// Bottlenecks says what the letters of Placement.Bottleneck stand for: A and B
// waste execution, C and D what could have been learnt.
func Bottlenecks() map[string]string {
	return map[string]string{
		"A": "the barrier between rollouts and training, and idle capacity",
		"B": "the long tail of generation",
		"C": "uninformative rollouts that are found only after generation",
		"D": "prompts that should not have been generated on",
	}
}

// PlacedByTaxonomy returns the placement of a method that the taxonomy's notes
// name.
func PlacedByTaxonomy(lever, family, bottleneck, paid string) Placement {
	return Placement{lever, family, bottleneck, paid, placedByTaxonomy}
}

// PlacedByUs returns this project's placement of a method.
func PlacedByUs(lever, family, bottleneck, paid string) Placement {
	return Placement{lever, family, bottleneck, paid, placedByUs}
}

// Placements of strategies that many share.
var (
	unplaced        = PlacedByUs(none, FamilyNone, none, none)
	budgetsBefore   = PlacedByUs(LeverAlgorithmic, FamilyBudgeting, "D", PaidBefore)
	budgetsInRounds = PlacedByUs(LeverAlgorithmic, FamilyBudgeting, "D", PaidDuring)
	selectsAfter    = PlacedByUs(LeverAlgorithmic, FamilySelection, "C", PaidAfter)
	taxonomyBudgets = PlacedByTaxonomy(LeverAlgorithmic, FamilyBudgeting, "D", PaidBefore)
)
