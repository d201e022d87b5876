// Package report tells in plain words what a run found, as Markdown. It refuses
// to compute: it counts and quotes.
package report

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"vigorlab/sim/verify"
)

// titles name the rungs of the ladder (theory.md, section 5).
var titles = map[int]string{
	1:  "reward variance bounds the gradient",
	2:  "Theorem 2 under its own assumptions",
	3:  "Theorem 2 with bounded reward variance, and with p itself Pareto",
	4:  "the real, noisy selection",
	5:  "from variance to time: the exponent",
	6:  "rollouts to target",
	7:  "recorded outcomes of real models",
	8:  "a live model",
	9:  "theorems of other methods on allocation",
	10: "theorems of other methods on estimates and pilots",
	11: "what choosing by rewards does to the update",
}

// RungTitle says what a rung is about.
func RungTitle(rung int) string { return titles[rung] }

// tally counts verdicts.
type tally struct{ holds, within, fails, untestable, checks, wrong int }

func count(rows []verify.Row) tally {
	var t tally
	for _, r := range rows {
		switch {
		case r.Kind == verify.Check:
			t.checks++
			if r.Verdict == verify.Fails {
				t.wrong++
			}
		case r.Verdict == verify.Holds:
			t.holds++
		case r.Verdict == verify.HoldsWithin:
			t.within++
		case r.Verdict == verify.Fails:
			t.fails++
		default:
			t.untestable++
		}
	}
	return t
}

// Summary says in a few sentences how the ladder went.
func Summary(r *verify.Report) []string {
	t := count(r.Rows())
	lines := []string{fmt.Sprintf("Claims: %d hold, %d hold within d, %d fail, %d cannot be tested here.",
		t.holds, t.within, t.fails, t.untestable)}
	if t.within > 0 {
		lines = append(lines, fmt.Sprintf("A claim holds within d where what it claims is off by d, at most %g %% of itself.", 100*r.Within))
	}
	switch {
	case t.wrong > 0:
		lines = append(lines, fmt.Sprintf("%d of %d checks of vigorlab's own code fail: believe nothing here until they are mended.", t.wrong, t.checks))
	case t.checks > 0:
		lines = append(lines, fmt.Sprintf("All %d checks of vigorlab's own code against exact computations hold, at level %g for the family of %d Monte Carlo comparisons.",
			t.checks, r.Level, r.Family))
	}
	return lines
}

// A Figure is a picture of the report: its name in figures/, without extension,
// and what it shows of what.
type Figure struct{ Name, Caption string }

// Ladder returns report.md of a climbed ladder, with the figures of each rung:
// the claims first, checks of our own behind them.
func Ladder(r *verify.Report, reproduce string, figures map[int][]Figure) []byte {
	var b bytes.Buffer
	rows := r.Rows()
	fmt.Fprintf(&b, "# The ladder of claims\n\n    %s\n\n", strings.ReplaceAll(reproduce, "\n", "\n    ")) // a path may have two lines
	for _, line := range Summary(r) {
		fmt.Fprintf(&b, "%s\n", line)
	}
	if r.Quick {
		b.WriteString("This was a quick climb: fewer replicates, wider intervals, the same exact figures.\n")
	}
	b.WriteString("Figures are under signed coding: rewards in {-1, +1}, u = 4p(1-p).\n")
	b.WriteString("Theorems 1 and 2, the speedup of 2.3 (mathematics) and the 7.9 % of frontier prompts that are lost are as stated in the VIGOR paper, arXiv 2607.22002. Theorem 4 and Proposition 3 of Razin et al. 2025 (arXiv 2503.15477) are as stated in notes on it.\n")
	conclusions(&b, rows)
	speedup(&b, rows)
	predictions(&b, r)
	claims, checks := ofKind(rows, verify.Claim), ofKind(rows, verify.Check)
	for _, rung := range Rungs(rows) {
		fmt.Fprintf(&b, "\n## Rung %d: %s\n\n", rung, RungTitle(rung))
		predictors(&b, ofRung(claims, rung))
		for _, f := range figures[rung] {
			fmt.Fprintf(&b, "![%s](figures/%s.png)\n\n*%s*\n\n", strings.ReplaceAll(f.Name, "-", " "), f.Name, f.Caption)
		}
		table(&b, ofRung(claims, rung))
		ratios(&b, r, rung)
	}
	appendix(&b, r, checks)
	return b.Bytes()
}

// Rungs returns the rungs that have rows, in order.
func Rungs(rows []verify.Row) []int {
	var rungs []int
	for _, r := range rows {
		rungs = append(rungs, r.Rung)
	}
	slices.Sort(rungs)
	return slices.Compact(rungs)
}

// A meaning says in plain words what the claims of a study come to.
type meaning struct {
	study string // prefix of the rows' ids
	row   string // their suffix
	holds string // where no claim fails
	fails string // where some do
}

var meanings = []meaning{
	{
		"1.gradient-bounds", "",
		"Reward variance bounds the policy gradient under every estimator tried, as Theorem 1 says.",
		"Some gradient passes the bound of Theorem 1.",
	},
	{
		"2.closed-form", "",
		"Under its own assumptions (unbounded Pareto variance, perfect selection, large batches) Theorem 2's eta is right.",
		"Theorem 2's eta is wrong even under its own assumptions.",
	},
	{
		"2.published-speedup", "",
		"The published speedup is within reach of four rounds under every exponent.",
		"The published speedup is out of reach of four rounds under some exponents, whatever the prompts are like.",
	},
	{
		"3.truncated", "",
		"At four rounds, bounding the reward variance as every binary reward does costs Theorem 2 at most a tenth of its eta.",
		"Bounding the reward variance as every binary reward does leaves Theorem 2's eta within a tenth at four rounds for some Pareto shapes, and costs more than a tenth of it for heavier tails.",
	},
	{
		"3.pareto-success", "",
		"Where the success probability itself is Pareto, Theorem 2's eta is within a tenth.",
		"Where the success probability itself is Pareto, Theorem 2's eta can be off by more than a tenth.",
	},
	{
		"3.saturation", "",
		"Theorem 2's eta stays within a tenth as rounds are added.",
		"As rounds are added, eta saturates, and Theorem 2's does not.",
	},
	{
		"4.noisy", "",
		"Selection by sample variance gets within a tenth of perfect selection.",
		"The real selection sees a few rewards and not the true variance, and gets clearly less than perfect selection.",
	},
	{
		"4.prompt-mean", "",
		"VIGOR raises the signal also where groups are averaged over prompts.",
		"Where groups are averaged over prompts and not over rollouts, VIGOR can have less signal than fixed groups.",
	},
	{
		"4.screening", "",
		"The published rate of lost frontier prompts is right.",
		"Screening loses more prompts at the frontier than published.",
	},
	{
		"5.exponents.limit", "",
		"Training time of one logit goes like 1/u0 under policy gradient, and under GRPO once p0 is far below 1/G; with groups without end it goes like u0^(-1/2).",
		"Training time of one logit does not follow the exponents derived for it.",
	},
	{
		"5.exponents.third", "",
		"Training time of one logit goes like u0^(-1/3).",
		"The exponent 1/3 is that of a lower bound, not of training time: the local exponent of one logit is 1/3 nowhere on the way to p = 1/2, and passes it at single starts on the way to targets near 1.",
	},
	{
		"5.exponents.target", "",
		"The exponent does not depend on the target.",
		"The exponent depends on the target: the last stretch takes the same time from every start, and hides the start's variance the more the nearer the target is to 1.",
	},
	{
		"5.exponents.easy", "",
		"Prompts of equal reward variance take equal time.",
		"Reward variance does not say how far the target is: of two prompts of equal variance the easy one is there much sooner.",
	},
	{
		"5.bounds", "",
		"No flow of any policy tried is faster than a lower bound on training time says; most are many times slower, so that a ratio of bounds says little about a ratio of times.",
		"Some flow is faster than a lower bound on training time says.",
	},
	{
		"5.graded", "",
		"The lower bound for std-normalised gradients holds for graded rewards too.",
		"The lower bound for std-normalised gradients is one for binary-valued rewards: three graded rewards break it.",
	},
	{
		"6.", ".eta^(1/3)",
		"eta^(1/3), the published predictor, foretells how many rollouts training needs.",
		"eta^(1/3), the published predictor, does not foretell how many rollouts training needs.",
	},
	{
		"6.", ".progress",
		"What the first step gains foretells how many rollouts training needs.",
		"What the first step gains does not foretell how many rollouts training needs: the population changes under it.",
	},
	{
		"6.", "-small.path",
		"In small steps at one rate the mean field of training, which follows the population as it changes, foretells how many rollouts VIGOR needs, averaged over rollouts or over prompts.",
		"Even in small steps the mean field of training does not foretell how many rollouts VIGOR needs.",
	},
	{
		"6.", "-best.path",
		"The mean field of training foretells rollouts at every strategy's own best rate too.",
		"Where every strategy has its own best rate, the mean field of training does not foretell rollouts: one visit then solves a prompt, and only how many prompts are seen counts.",
	},
	{
		"6.systems.nested-fixed-baseline", "",
		"Nested-ReFT, a reconstruction from its abstract: weights pi/mu and a fixed baseline give the gradient of the success without bias, whatever layers are skipped.",
		"Nested-ReFT, a reconstruction from its abstract: weights pi/mu and a fixed baseline do not give the gradient of the success.",
	},
	{
		"6.systems.nested-weighted-mean", "",
		"The weighted mean of the group as a baseline has the bias of the raw mean.",
		"The weighted mean of the group as a baseline has another bias than (G-1)/G, which depends on the prompt and the skipped layers.",
	},
	{
		"6.systems.nested-efficiency", "",
		"Skipping layers pays, however many are skipped.",
		"Skipping layers pays up to a share that falls with the number of answers and with how far the layers differ; beyond it an answer is worth less than its price.",
	},
	{
		"6.systems.m2po-theorem-5.1", "",
		"M2PO's Theorem 5.1 is not violated at any step of stale training.",
		"M2PO's Theorem 5.1 is violated along stale training.",
	},
	{
		"6.systems.m2po-masked", "",
		"At equal lag M2PO's own rule holds back fewer tokens than clipping at .2.",
		"At equal lag M2PO's own rule holds back more tokens than clipping at .2.",
	},
	{
		"6.systems.m2po-quality", "",
		"On stale answers M2PO's own rule ends at a higher success than clipping at .2.",
		"On stale answers M2PO's own rule ends at a lower success than clipping at .2.",
	},
	{
		"6.systems.m2po-limits", "",
		"M2PO's own rule ends higher than no limit on ratios.",
		"On these small policies no limit on ratios ends higher than M2PO's rule: nothing collapses here, so that a limit only holds back.",
	},
	{
		"6.systems.r2po-charged", "",
		"R2PO needs fewer rollouts than the same updates without a head, stage A charged.",
		"With stage A charged R2PO needs more rollouts than the same updates without a head, at one learning rate and these starts.",
	},
	{
		"6.systems.r2po-not-charged", "",
		"Stage B alone is helped by the head, or cannot be told from none, near 0, in the middle and near 1: so the notes' prediction that it loses near 1 is not borne out.",
		"Stage B alone needs more rollouts with a head than without from some start.",
	},
	{
		"6.systems.saturated-policy", "",
		"Wrong answers drawn from the policy and put into all-correct groups raise the success at the same cost, those asked for included.",
		"Wrong answers drawn from the policy and put into all-correct groups do not raise the success at the same cost.",
	},
	{
		"6.systems.saturated-uniform", "",
		"Wrong answers that do not carry the policy's residual mass are of no help.",
		"Wrong answers drawn evenly help too, since any wrong answer in an all-correct group pushes the correct ones up; those that carry the policy's residual mass help more.",
	},
	{
		"7.", ".gain",
		"On recorded outcomes that can tell, VIGOR finds more reward variance per rollout than fixed groups.",
		"On some recorded outcomes VIGOR finds less reward variance per rollout than fixed groups.",
	},
	{
		"7.", ".perfect",
		"Perfect selection foretells the gain on recorded outcomes within a tenth.",
		"Perfect selection foretells another gain than replay of recorded outcomes shows, by more than a tenth.",
	},
	{
		"8.", "",
		"What a law of difficulty, fitted to one half of a live run's prompts, foretells of the other half is what was seen there, as far as so many prompts can tell.",
		"One half of a live run's prompts does not foretell the other: the prompts are no sample of one law, the model moved, or the law fitted is of the wrong family.",
	},
	{
		"9.cero", "",
		"CERO's bound on its regret holds in every run on prompts that stand still.",
		"Some run of CERO passes the bound on its regret.",
	},
	{
		"9.greedy", "",
		"Rollouts one by one to the largest gain are the best allocation under every concave objective tried, as CERO, Speculative Evaluation, Knapsack and, rebuilt from notes, HORA and VIP use them.",
		"Rollouts one by one to the largest gain are not always the best allocation.",
	},
	{
		"9.mc-ucb", "",
		"MC-UCB (reconstruction) reaches Neyman's variance at its rates.",
		"MC-UCB (reconstruction) reaches Neyman's variance at the fast rate only where every prompt has variance.",
	},
	{
		"9.halving", "",
		"Sequential halving (reconstruction) loses the best prompt no oftener than its bound says, taken over to reward variances.",
		"Sequential halving (reconstruction) loses the best prompt oftener than its bound says, taken over to reward variances.",
	},
	{
		"10.pair", "",
		"PAIR's weights (reconstruction) are unbiased.",
		"Of PAIR's weights (reconstruction) those by joint propensities are unbiased, and simpler ones are not.",
	},
	{
		"10.arcus", "",
		"ARCUS's propositions (reconstruction) hold.",
		"ARCUS's propositions (reconstruction) hold for large groups; in groups of 8 the variance of its estimate depends on p.",
	},
	{
		"10.m2po", "",
		"M2PO's bound on the chi-square of stale tokens holds.",
		"M2PO's figures on stale tokens do not all hold.",
	},
	{
		"11.objective", "",
		"VIGOR climbs an objective near that of equal groups, tilted towards prompts near p = 1/2.",
		"VIGOR climbs another objective than equal groups.",
	},
}

// conclusions says what a reader should conclude and what not.
func conclusions(b *bytes.Buffer, rows []verify.Row) {
	b.WriteString("\n## What to conclude\n\n")
	if t := count(rows); t.wrong > 0 {
		fmt.Fprintf(b, "- Nothing, before this is mended: %d checks of vigorlab's own code fail.\n", t.wrong)
	}
	for _, m := range meanings {
		if line := m.of(rows); line != "" {
			fmt.Fprintf(b, "- %s\n", line)
		}
	}
	for _, r := range rows {
		if r.Kind == verify.Claim && r.Verdict == verify.Untestable {
			fmt.Fprintf(b, "- Nothing yet on rung %d, %q: %s.\n", r.Rung, r.Claim, r.Reason)
		}
	}
	b.WriteString("\n## What not to conclude\n\n")
	for _, line := range []string{
		"That a larger eta trains faster by any known factor. The published exponent 1/3 is that of a lower bound, no exponent is right everywhere (rung 5), and no power of eta foretells training under all aggregations and learning rates (rung 6): read every speedup under all three exponents, beside its cap, as what it is, a ratio of reward variances.",
		"That a ratio at one learning rate is what a method is worth. An allocation rescales the step; ask for the ratio at every method's own best rate too, and for the aggregation of your own trainer (rung 6).",
		"That a small reward variance means a small gradient under every estimator, or a large one a large gradient: the bounds of rung 1 are ceilings, and their tightness is a distribution.",
		"That the figures of perfect selection are those of the algorithm, which sees a few rewards and never the true variance (rung 4).",
		"That a synthetic population is your prompts. Replay your own recorded outcomes (rung 7) before spending on a schedule.",
	} {
		fmt.Fprintf(b, "- %s\n", line)
	}
	b.WriteString("\n## What rollouts leave out\n\n")
	for _, line := range []string{
		"Length. Selection moves rollouts to harder prompts, whose answers are usually longer: a gain per rollout is not a gain per token. Give populations and tables a length law to see both.",
		"Latency. T rounds run one after another, and each waits for its slowest rollout; a fixed group takes one round.",
		"Weight. When groups are averaged over prompts and not over rollouts, small groups count as much as large ones, and the comparison can turn round (rung 4).",
	} {
		fmt.Fprintf(b, "- %s\n", line)
	}
}

// speedup says where the published speedup can come from, and where not.
func speedup(b *bytes.Buffer, rows []verify.Row) {
	if !slices.ContainsFunc(rows, func(r verify.Row) bool {
		return r.Rung == 6 && r.Verdict != verify.Untestable && !strings.HasPrefix(r.ID, "6.systems.")
	}) {
		return
	}
	b.WriteString("\n## Where a speedup of 2.3 can come from\n\n")
	say := func(id, format string) {
		if i := slices.IndexFunc(rows, func(r verify.Row) bool { return r.ID == id }); i >= 0 && rows[i].Estimate != nil {
			fmt.Fprintf(b, "- "+format+" (%s)\n", measured(&rows[i]), rows[i].ID)
		}
	}
	say("2.published-speedup.exponent-1/3", "Not from eta under the published exponent: four rounds cap eta^(1/3) at %s on any prompts.")
	say("6.rollout-small.vigor", "Averaged over rollouts, all strategies in small steps at one rate, VIGOR needs %s times fewer rollouts than groups of 8, the geometric mean over populations.")
	say("6.rollout-small.published", "The largest such ratio is %s. VIGOR leaves prompts that are dead or solved, and an average over rollouts then makes longer steps on the others: the fewer there are, the longer.")
	list(b, rows, "6.reach.start.", "The first step alone, averaged over rollouts, gains at least 2.3 times as much on %s. Later steps gain less: those prompts are learnt first.")
	list(b, rows, "6.reach.defaults.", "All the way to the target, in steps without size, 2.3 or more is reached on %s.")
	list(b, rows, "6.reach.six-rounds.", "Six rounds reach it on %s, at the cost of six generations one after another, each waiting for its slowest rollout, and of groups of up to 126 rollouts.")
	say("6.rollout-small.fixed:g=2", "A ratio at one rate is partly a longer step. Groups of 2 at the same rate need no method and have %s: they make four times as many steps of the same rollouts.")
	say("6.rollout-best.vigor", "Not where every strategy has its own best rate: VIGOR then has %s, below 1 where it needs more rollouts than groups of 8. On these policies the best rates are the largest, a visit solves a prompt whose rewards differ, and VIGOR's rollouts go where one visit was enough. Nothing here punishes a large step, as a real model does; between the two regimes lies yours.")
	say("6.prompt-small.vigor", "Not from averages over prompts, as in the loss of GRPO's paper: VIGOR then has %s in small steps.")
	say("6.prompt-best.vigor", "Averaged over prompts and at every strategy's own best rate it has %s.")
}

// list says on which populations claims of a study hold, with their numbers.
func list(b *bytes.Buffer, rows []verify.Row, study, format string) {
	var where []string
	tested := false
	for i := range rows {
		r := &rows[i]
		if !strings.HasPrefix(r.ID, study) {
			continue
		}
		tested = true
		if r.Verdict == verify.Holds {
			where = append(where, fmt.Sprintf("%s (%s)", strings.TrimPrefix(r.ID, study), measured(r)))
		}
	}
	if !tested {
		return
	}
	if len(where) == 0 {
		where = []string{"none of the populations tried"}
	}
	fmt.Fprintf(b, "- "+format+"\n", strings.Join(where, ", "))
}

// measured prints an estimate with its interval.
func measured(r *verify.Row) string {
	if r.Interval == nil {
		return fmt.Sprintf("%.3g", *r.Estimate)
	}
	return fmt.Sprintf("%.3g [%.3g, %.3g]", *r.Estimate, r.Interval[0], r.Interval[1])
}

// predictors says how to read the claims of predictors, before any figure of them.
func predictors(b *bytes.Buffer, claims []verify.Row) {
	i := slices.IndexFunc(claims, func(r verify.Row) bool { return r.Rung == 6 && strings.HasSuffix(r.ID, ".path") && r.Estimate != nil })
	if i < 0 {
		return
	}
	fmt.Fprintf(b, "A ratio is the rollouts to target of groups of 8 over those of a strategy, above 1 where the strategy needs fewer. "+
		"Predictors of it: eta of the mean field on the initial prompts, to three exponents; progress, what the first step gains; "+
		"and path, the mean field of training: the limit of large batches in steps without size at one learning rate, followed as the prompts are learnt. "+
		"Where a claim says that one predicts, the estimate is the root mean square over cases of log(measured/predicted), less what seeds add, and the reference is its allowed size: "+
		"0.05 is off by 5 %%, 0.7 by a factor of 2. Verdict: %s.\n\n", claims[i].Test)
}

// ratios prints what training runs measured beside what was predicted.
func ratios(b *bytes.Buffer, r *verify.Report, rung int) {
	if rung != 6 || len(r.Ratios()) == 0 {
		return
	}
	fmt.Fprintf(b, "\nRollouts to target of groups of 8 over those of a strategy, 95 %% intervals over seeds, beside the predictors; "+
		"rates small: all strategies at one small rate, best: each at its own.\n\n| averaged over | rates | prompts | strategy | measured | 95 %% interval | %s |\n|---|---|---|---|---|---|%s\n",
		strings.Join(verify.PredictorNames, " | "), strings.Repeat("---|", len(verify.PredictorNames)))
	for _, x := range r.Ratios() {
		interval := ""
		if x.Low != nil && x.High != nil {
			interval = fmt.Sprintf("[%.3f, %.3f]", *x.Low, *x.High)
		}
		cells := []string{x.Aggregate + "s", x.Regime, cell(x.Where()), cell(x.Strategy), cmp.Or(short(x.Measured), cell(x.Reason)), interval}
		for _, p := range x.Predicted {
			cells = append(cells, short(p))
		}
		fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
	}
}

// short prints a ratio, or nothing.
func short(x *float64) string {
	if x == nil {
		return ""
	}
	return fmt.Sprintf("%.3f", *x)
}

// of returns the sentence for the claims among rows, with the worst that
// fails; "" where none was tested.
func (m meaning) of(rows []verify.Row) string {
	var worst *verify.Row
	tested := false
	for i := range rows {
		r := &rows[i]
		if r.Kind != verify.Claim || r.Verdict == verify.Untestable || !strings.HasPrefix(r.ID, m.study) || !strings.HasSuffix(r.ID, m.row) {
			continue
		}
		tested = true
		if r.Verdict == verify.Fails && (worst == nil || gap(r) > gap(worst)) {
			worst = r
		}
	}
	switch {
	case !tested:
		return ""
	case worst == nil:
		return m.holds
	}
	return fmt.Sprintf("%s Farthest off: %q, %s instead of %s.", m.fails, worst.Claim, number(worst.Estimate), number(worst.Reference))
}

// gap returns how far an estimate is from its reference, as a ratio >= 1.
func gap(r *verify.Row) float64 {
	if r.Estimate == nil || r.Reference == nil || !(*r.Estimate > 0 && *r.Reference > 0) {
		return 1
	}
	return max(*r.Estimate / *r.Reference, *r.Reference / *r.Estimate)
}

func ofKind(rows []verify.Row, kind string) []verify.Row {
	return slices.DeleteFunc(slices.Clone(rows), func(r verify.Row) bool { return r.Kind != kind })
}

func ofRung(rows []verify.Row, rung int) []verify.Row {
	return slices.DeleteFunc(slices.Clone(rows), func(r verify.Row) bool { return r.Rung != rung })
}

// PredictionNote says what the columns of PredictionRows are.
const PredictionNote = "speedup is eta^exponent; no exponent foretells training everywhere (rungs 5 and 6), 1/3 is the published one. " +
	"perfect is selection by the true variance, real that by the sample. cap is what no schedule like it can pass: " +
	"the lower of the cap of any law and of this law. progress is first-order progress per rollout, fixed group = 1."

// PredictionRows returns every prediction, a row an exponent: population,
// exponent, perfect, real, cap, progress.
func PredictionRows(r *verify.Report) [][]string {
	var rows [][]string
	for _, p := range r.Predictions() {
		for i, s := range p.Speedups {
			name, progress := "", ""
			if i == 0 {
				name, progress = p.Population, fmt.Sprintf("%.3f", p.Progress)
			}
			rows = append(rows, []string{name, s.Exponent, fmt.Sprintf("%.3f", s.Perfect), fmt.Sprintf("%.3f", s.Noisy), fmt.Sprintf("%.3f", s.Cap), progress})
		}
	}
	return rows
}

// predictions prints what theory foretells, population by population.
func predictions(b *bytes.Buffer, r *verify.Report) {
	rows := PredictionRows(r)
	if len(rows) == 0 {
		return
	}
	b.WriteString("\n## Predicted speedups\n\n| population | exponent | perfect | real | cap | progress |\n|---|---|---|---|---|---|\n")
	for _, row := range rows {
		row[0] = cell(row[0])
		fmt.Fprintf(b, "| %s |\n", strings.Join(row, " | "))
	}
	fmt.Fprintf(b, "\n%s\n", PredictionNote)
}

// appendix prints the checks of vigorlab's own code, rung by rung.
func appendix(b *bytes.Buffer, r *verify.Report, checks []verify.Row) {
	if len(checks) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## Appendix: checks of vigorlab's own code\n\n"+
		"Intervals are pointwise, at 95 %%: the reference of about one check in twenty lies outside. The verdict is that of all %d Monte Carlo comparisons together, at level %g.\n",
		r.Family, r.Level)
	for _, rung := range Rungs(checks) {
		fmt.Fprintf(b, "\n### Rung %d: %s\n\n", rung, RungTitle(rung))
		table(b, ofRung(checks, rung))
	}
}

// table prints rows; a note that several have in a row is printed once.
func table(b *bytes.Buffer, rows []verify.Row) {
	if len(rows) == 0 {
		b.WriteString("Nothing is claimed here; the appendix has checks of vigorlab's own code.\n")
		return
	}
	b.WriteString("| verdict | claim | estimate | 95 % interval | reference | method | note |\n|---|---|---|---|---|---|---|\n")
	last := ""
	for _, r := range rows {
		interval := ""
		if r.Interval != nil {
			interval = fmt.Sprintf("[%.4g, %.4g]", r.Interval[0], r.Interval[1])
		}
		note := cmp.Or(r.Note, r.Reason)
		shown := note
		if note != "" && note == last {
			shown = "as above"
		}
		last = note
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s |\n", r.Verdict, cell(r.Claim),
			number(r.Estimate), interval, number(r.Reference), cell(r.Method), cell(shown))
	}
}

// cell keeps a text inside its cell.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ").Replace(text)
}

func number(x *float64) string {
	if x == nil || math.IsNaN(*x) {
		return "-"
	}
	return strconv.FormatFloat(*x, 'g', 5, 64)
}
