package logs

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// An Action is what a defect does.
type Action int

// The actions, by weight.
const (
	Note   Action = iota // said beside the result
	Warn                 // said aloud
	Refuse               // no table
)

// A defect is one thing that goes wrong in rollout logs.
type defect struct {
	ID      string
	Report  string // where it was seen: a report of ../shared/formats/README.md, or the tables there
	Action  Action
	Wording string                // a format for what found returns
	Hint    string                // what to type, where that helps
	found   func(*evidence) []any // nil where the log does not have it
	settled func(o *Options) bool // whoever typed this knows: a refusal becomes a warning
}

// A Finding is a defect that a log has.
type Finding struct {
	ID     string
	Action Action
	Text   string
	Hint   string
}

// verdicts returns what a log has of the defects.
func (e *evidence) verdicts() []Finding {
	var findings []Finding
	for _, d := range defects {
		args := d.found(e)
		if args == nil {
			continue
		}
		f := Finding{d.ID, d.Action, fmt.Sprintf(d.Wording, args...), d.Hint}
		if d.Action == Refuse && d.settled != nil && d.settled(&e.o) {
			f.Action, f.Hint = Warn, ""
		}
		findings = append(findings, f)
	}
	return findings
}

// when returns the arguments of a finding, nil unless it holds.
func when(holds bool, args ...any) []any {
	if !holds {
		return nil
	}
	return append([]any{}, args...)
}

func choseReward(o *Options) bool  { return o.Reward != "" }
func choseSuccess(o *Options) bool { return o.Success != Rule{} }
func isLenient(o *Options) bool    { return o.Lenient }

// rareEnough is the probability below which a log without a single constant
// group is taken for a filtered one.
const rareEnough = 1e-3

// defects is everything that is known to go wrong in rollout logs. What would
// bias a table if it were guessed wrongly is refused.
var defects = []defect{
	{
		ID: "no-rewards", Report: "README, OpenAI batch", Action: Refuse,
		Wording: "a log of %s: %s",
		found:   func(e *evidence) []any { return when(e.rewardless(), e.format.name, e.format.refuse) },
	},
	{
		ID: "no-group-key", Report: "README, NeMo-RL", Action: Refuse,
		Wording: "records of %s name no prompt, and %s goes on with the answer: groups can be found by position alone",
		Hint:    "give --group position --group-size N, N the rollouts a prompt of the run; whether prompts agree inside the groups is checked",
		found:   func(e *evidence) []any { return when(e.joined, e.format.name, e.format.text) },
	},
	{
		ID: "not-scored-singly", Report: "README, lm-eval", Action: Refuse,
		Wording: "%d records have several answers and one score, which is that of what the filter made of them: single rollouts have no reward",
		Hint:    "grade the answers in resps one by one",
		found:   func(e *evidence) []any { return when(e.unscored > 0, e.unscored) },
	},
	{
		ID: "several-rewards", Report: "README, TRL", Action: Refuse,
		Wording: "several columns may be the reward: %s; the log has neither their total nor its weights",
		Hint:    "choose one with --reward",
		found: func(e *evidence) []any {
			return when(e.o.Reward == "" && len(e.candidates) > 1, strings.Join(e.candidates, ", "))
		},
	},
	{
		ID: "no-such-column", Report: "own", Action: Refuse,
		Wording: "no record has the column %s of --reward; there are %s",
		found: func(e *evidence) []any {
			return when(e.o.Reward != "" && !e.chosenSeen && e.recorded > 0 && e.census.groups == 0, e.o.Reward, strings.Join(slices.Sorted(maps.Keys(e.columns)), ", "))
		},
	},
	{
		ID: "reward-unreadable", Report: "README, slime", Action: Refuse,
		Wording: "%d rewards are no numbers in [-1e100, 1e100]: %s",
		Hint:    "choose another column, or a key of the reward as in --reward reward.KEY; what a pickle needs code for (#code) is never run: let the trainer save float(reward)",
		found:   func(e *evidence) []any { return when(e.unreadable > 0, e.unreadable, e.unreadExample) },
	},
	{
		ID: "filtered-rewards", Report: "7, NVIDIA-NeMo/RL pull 3794", Action: Refuse,
		Wording: "%[2]s and %[3]s disagree in %[1]d rows: dynamic sampling overwrites rewards with those of another batch, and which column belongs to the rows cannot be told from the log",
		Hint:    "--reward filtered_rewards takes each row's own reward, if the run filtered groups",
		found:   func(e *evidence) []any { return when(e.disagree > 0, e.disagree, e.between[0], e.between[1]) },
		settled: choseReward,
	},
	{
		ID: "reward-against-judge", Report: "1, verl issue 4232", Action: Refuse,
		Wording: "%s and %s disagree: an answer that is right has reward %v, one that is wrong %v; one of the two columns belongs to other rows",
		Hint:    "choose the column to trust with --reward",
		found: func(e *evidence) []any {
			return when(e.leastRight < e.mostWrong && !same(e.leastRight, e.mostWrong), e.column, e.judge, e.leastRight, e.mostWrong)
		},
		settled: choseReward,
	},
	{
		ID: "single-rollouts", Report: "5, rllm issue 605", Action: Refuse,
		Wording: "%d of %d groups by %s have one rollout, and the prompts of %d of them repeat within their step: that key names rollouts, not prompts",
		Hint:    "--group text finds the groups by the prompt",
		found: func(e *evidence) []any {
			c := &e.census
			return when(2*c.single > c.groups && c.repeated > 0, c.single, c.groups, e.grouping(), c.repeated)
		},
	},
	{
		ID: "several-runs", Report: "own", Action: Refuse,
		Wording: "%d groups have rollouts from several places (%s): of two runs, or of a run and its validation, they would be pooled as one",
		Hint:    "import one at a time; if one run wrote all of them, --attempts all pools them",
		found:   func(e *evidence) []any { return when(e.tally.spread > 0, e.tally.spread, short(e.places())) },
		settled: func(o *Options) bool { return o.KeepAll },
	},
	{
		ID: "several-prompts", Report: "tables, LiveCodeBench", Action: Refuse,
		Wording: "%d rollouts have another prompt than the first of their group by %s",
		Hint:    "--group text finds the groups by the prompt; by position, another --group-size may fit",
		found:   func(e *evidence) []any { return when(e.tally.manyTexts > 0, e.tally.manyTexts, e.grouping()) },
	},
	{
		ID: "misaligned", Report: "13, prime-rl pull 600", Action: Refuse,
		Wording: "%d pairs of neighbouring groups of %d by position have as much in common with each other as within: the size is wrong, or prompts do not stand together",
		Hint:    "give another --group-size",
		found:   func(e *evidence) []any { return when(e.misaligned > 0, e.misaligned, e.o.GroupSize) },
	},
	{
		ID: "half-named", Report: "own", Action: Refuse,
		Wording: "some rollouts have a name of their prompt (%s) and others have not: one prompt would have two names",
		Hint:    "--group text names all of them by the prompt's text",
		found: func(e *evidence) []any {
			return when(e.byText && e.keyed != "", e.keyed)
		},
	},
	{
		ID: "no-names", Report: "4, verl pull 6101", Action: Refuse,
		Wording: "--group id: the log names neither prompts nor groups",
		Hint:    "--group text finds the groups by the prompt",
		found: func(e *evidence) []any {
			return when(e.o.Group == GroupID && e.byText && !e.parted)
		},
	},
	{
		ID: "no-name", Report: "own", Action: Refuse,
		Wording: "%d rollouts have nothing that names their prompt",
		Hint:    "--group text or --group position may find the groups",
		found:   func(e *evidence) []any { return when(e.unnamed > 0, e.unnamed) },
	},
	{
		ID: "mixed-ranges", Report: "15, rllm issue 63, ms-swift issue 3925", Action: Refuse,
		Wording: "rewards of one file are %v or %v, of another %v or %v (%s, %s): what fails is not the same number everywhere",
		Hint:    "say what succeeds in all of them, as in --success \"reward > 0\"",
		found: func(e *evidence) []any {
			if len(e.pairs) < 2 || e.graded || len(e.support.values) < 3 {
				return nil
			}
			a, b := e.pairs[0], e.pairs[1]
			return when(true, a.low, a.high, b.low, b.high, a.file, b.file)
		},
		settled: choseSuccess,
	},
	{
		ID: "sentinel", Report: "15 and tables, LiveCodeBench", Action: Refuse,
		Wording: "rewards are -1 (%d), 0 (%d) and 1 (%d): -1 may stand for not run, or two codings are mixed",
		Hint:    "if -1 is a failure like 0, give --success \"reward > 0\"; if it stands for not run, take those rows out first",
		found: func(e *evidence) []any {
			s := e.support
			three := len(s.values) == 3 && !s.more && same(s.values[0], -1) && same(s.values[1], 0) && same(s.values[2], 1)
			if !three {
				return nil
			}
			return when(true, s.counts[0], s.counts[1], s.counts[2])
		},
		settled: choseSuccess,
	},
	{
		ID: "one-value", Report: "own", Action: Refuse,
		Wording: "every reward is %v: nothing says whether that is a success",
		Hint:    "say so, as in --success \"reward > 0\"",
		found: func(e *evidence) []any {
			if _, ok := e.support.rule(); ok || len(e.support.values) != 1 {
				return nil
			}
			return when(true, e.support.values[0])
		},
		settled: choseSuccess,
	},
	{
		ID: "bad-record", Report: "16, verifiers pull 1564", Action: Refuse,
		Wording: "%d records before the end cannot be read: %s",
		Hint:    "--lenient counts them and goes on",
		found:   func(e *evidence) []any { return when(e.bad > 0, e.bad, e.badExample) },
		settled: isLenient,
	},
	{
		ID: "interleaved", Report: "17", Action: Refuse,
		Wording: "steps go back %d times (too often first in %s): more than runs are resumed, and dropping what came before would drop most of the log",
		Hint:    "--attempts all keeps every rollout of a step",
		found:   func(e *evidence) []any { return when(e.attempts > maxAttempts && !e.o.KeepAll, e.attempts, e.wentBack) },
	},
	{
		ID: "nothing-left", Report: "own", Action: Refuse,
		Wording: "no rollout with a reward is left of %d",
		found: func(e *evidence) []any {
			nameless := e.o.Reward != "" && !e.chosenSeen && e.recorded > 0
			return when(e.census.groups == 0 && !e.rewardless() && !nameless && !e.joined && e.unreadable == 0 && e.bad == 0 && e.unnamed == 0, e.rows)
		},
	},
	{
		ID: "survivors", Report: "tables, dynamic sampling", Action: Warn,
		Wording: "SURVIVOR BIAS: none of %d full groups has rewards that are all the same, as if groups without a signal had been filtered out before the log: every share and every law of these prompts is then that of the survivors, and hard and easy prompts are missing; import the log from before the filter, unless every prompt is of middle difficulty",
		found: func(e *evidence) []any {
			n, filtered := e.filteredOut()
			return when(filtered, n)
		},
	},
	{
		ID: "filtered-log", Report: "7 and tables, dynamic sampling", Action: Warn,
		Wording: "SURVIVOR BIAS: the run filtered groups before it logged them (it has %s and %s): prompts whose rewards were all the same are missing; import the log from before the filter",
		found: func(e *evidence) []any {
			return when(e.columns["filtered_rewards"] > 0, "filtered_rewards", "rewards")
		},
	},
	{
		ID: "torn-tail", Report: "16, verifiers pull 1564, OpenEnv pull 1154", Action: Warn,
		Wording: "the last record of %d files is torn and left out: %s",
		found: func(e *evidence) []any {
			return when(len(e.tornTails) > 0, len(e.tornTails), short(e.tornTails))
		},
	},
	{
		ID: "no-end-of-line", Report: "16, verifiers pull 1564", Action: Warn,
		Wording: "the last line of %d CSV files has no end of line and counts as it is: if it was being written, its last field may have lost digits: %s",
		found: func(e *evidence) []any {
			return when(len(e.unended) > 0, len(e.unended), short(e.unended))
		},
	},
	{
		ID: "missing-rewards", Report: "10, trl pull 5773; 12, prime-rl issue 2585", Action: Warn,
		Wording: "%d of %d rollouts have no reward and are left out, not counted as failures (%s); where they are missing for a reason that depends on the answer, shares are biased",
		found: func(e *evidence) []any {
			var why []string
			for _, reason := range slices.Sorted(maps.Keys(e.reasons)) {
				why = append(why, fmt.Sprintf("%s: %d", reason, e.reasons[reason]))
			}
			return when(e.dropped > 0, e.dropped, e.rows, strings.Join(why, ", "))
		},
	},
	{
		ID: "resumed", Report: "17, PaddleFormers pull 4744", Action: Warn,
		Wording: "steps go back %d times, as when a run is resumed: %d rollouts of earlier attempts are superseded, those of the last attempt are kept",
		found: func(e *evidence) []any {
			return when(e.attempts > 0 && e.attempts <= maxAttempts && !e.o.KeepAll, e.attempts, e.tally.superseded)
		},
	},
	{
		ID: "copies", Report: "own", Action: Warn,
		Wording: "%d rollouts were logged twice and count once%s",
		found: func(e *evidence) []any {
			files := ""
			if len(e.copies) > 0 {
				files = ": " + short(e.copies)
			}
			return when(e.duplicated > 0, e.duplicated, files)
		},
	},
	{
		ID: "merged-prompts", Report: "6, NVIDIA-NeMo/RL pull 3882", Action: Warn,
		Wording: "%d groups by %s have %d times the usual %d rollouts or another multiple: prompts that stood several times in a step, or a step that was logged twice, and cannot be told apart",
		found: func(e *evidence) []any {
			sizes, usual, groups, least := e.census.sizes, e.census.usual(), 0, math.MaxInt
			for n, count := range sizes {
				if 2*sizes[usual] > e.census.groups && n > usual && n%usual == 0 {
					groups += count
					least = min(least, n/usual)
				}
			}
			return when(groups > 0 && e.byText, groups, e.grouping(), least, usual)
		},
	},
	{
		ID: "repeated-records", Report: "tables, LiveCodeBench", Action: Warn,
		Wording: "%d groups by %s have a name that another group of their step has, too: they stand in the table as visits of one prompt, which they are not if each is another test of it",
		found: func(e *evidence) []any {
			n := e.census.namesake
			return when(n > 0 && e.parted, n, e.grouping())
		},
	},
	{
		ID: "ragged", Report: "12, prime-rl issue 2585, AReaL issue 1559", Action: Warn,
		Wording: "groups have different sizes (%s): each keeps its own n",
		found:   func(e *evidence) []any { return when(len(e.census.sizes) > 1, e.histogram(8)) },
	},
	{
		ID: "single-sizes", Report: "own", Action: Warn,
		Wording: "every group has one rollout: such a table says what share of prompts succeeds, and nothing of how prompts differ",
		found:   func(e *evidence) []any { return when(len(e.census.sizes) == 1 && e.census.sizes[1] > 0) },
	},
	{
		ID: "constant-groups", Report: "9, trl issue 3857", Action: Warn,
		Wording: "rewards vary between prompts (variance %.3g) and not at all within any of %d groups: no group has a signal, whatever the standard deviation of a batch",
		found: func(e *evidence) []any {
			within, between, rollouts := e.census.split()
			return when(rollouts > 0 && between > 0 && within <= closeness*between, between, e.census.groups)
		},
	},
	{
		ID: "no-variance", Report: "own", Action: Warn,
		Wording: "every reward is %v: none of %d groups has a signal",
		found: func(e *evidence) []any {
			if len(e.support.values) != 1 {
				return nil
			}
			return when(e.census.groups > 0, e.support.values[0], e.census.groups)
		},
	},
	{
		ID: "dead-off-the-ends", Report: "14, OpenRLHF issue 1270", Action: Warn,
		Wording: "%d groups are constant at a reward between the least and the greatest: they have no signal, though a filter on the mean reward keeps them",
		found:   func(e *evidence) []any { return when(e.census.offEnds > 0, e.census.offEnds) },
	},
	{
		ID: "shaped-rewards", Report: "8, NVIDIA-NeMo/RL issue 2431", Action: Warn,
		Wording: "%d of %d groups are constant by %s, %d by %s: a shaped reward makes groups look mixed, or alike, that are not; --reward %[5]s takes the other column",
		found: func(e *evidence) []any {
			c := &e.census
			return when(c.shaped != c.raw, c.shaped, c.judged, e.column, c.raw, e.judge)
		},
	},
	{
		ID: "columns-change", Report: "3, verl pull 7588", Action: Warn,
		Wording: "columns start or stop within the log: of %d records, %s",
		found: func(e *evidence) []any {
			p := e.partial()
			return when(len(p) > 0 && !(e.format != nil && e.format.sparse), e.recorded, short(p))
		},
	},
	{
		ID: "skipped-files", Report: "README, SkyRL, Open-Instruct", Action: Note,
		Wording: "%d files are no part of the log: %s",
		found:   func(e *evidence) []any { return when(len(e.skipped) > 0, len(e.skipped), short(e.skipped)) },
	},
	{
		ID: "numbers-as-text", Report: "2, verl issue 4924", Action: Note,
		Wording: "%d rewards are written as text and read as the numbers or truth values that they spell",
		found:   func(e *evidence) []any { return when(e.coerced > 0, e.coerced) },
	},
	{
		ID: "no-id", Report: "4, verl pull 6101", Action: Note,
		Wording: "the log has no name of its prompts: groups are those of equal text in %s, and prompt_id is a digest of it",
		found: func(e *evidence) []any {
			return when(e.byText && e.format != nil, e.format.text)
		},
	},
	{
		ID: "by-position", Report: "13, prime-rl pull 600", Action: Note,
		Wording: "groups were found by position: prompts cannot be followed over steps",
		found:   func(e *evidence) []any { return when(e.o.Group == GroupPosition) },
	},
	{
		ID: "rounding", Report: "11, NVIDIA-NeMo/RL pull 4161", Action: Note,
		Wording: "rewards that differ by less than %g of their size are taken for equal: the difference is rounding",
		found:   func(e *evidence) []any { return when(e.support.rounded, closeness) },
	},
	{
		ID: "last-batch-alone", Report: "18, trl pull 3217", Action: Note,
		Wording: "%s logs one generation batch a log event, and a fraction of it under gradient accumulation: neither the batch nor how often a prompt is visited can be read from it",
		found:   func(e *evidence) []any { return when(e.format != nil && e.format.name == "trl", e.format.name) },
	},
	{
		ID: "no-step", Report: "own", Action: Note,
		Wording: "neither the records nor the path of some files say their step: it is 0",
		found:   func(e *evidence) []any { return when(e.stepless) },
	},
}

// filteredOut counts the full groups, those of at least the usual size, and
// reports whether so many without a constant one among them are unlikely. Under
// a uniform law of success probabilities a group of n is constant with
// probability 2/(n+1), and training logs have more of them. A group that lost
// rollouts may have become constant after the filter.
func (e *evidence) filteredOut() (full int, filtered bool) {
	usual := max(2, e.census.usual())
	if len(e.support.values) > 2 || e.census.largest >= usual {
		return 0, false
	}
	logProb := 0.0
	for n, groups := range e.census.sizes {
		if n >= usual {
			full += groups
			logProb += float64(groups) * math.Log1p(-2/float64(n+1))
		}
	}
	return full, logProb < math.Log(rareEnough)
}

// short joins the first few of a list.
func short(list []string) string {
	const most = 5
	if len(list) <= most {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), len(list)-most)
}
