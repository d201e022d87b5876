package plan

import (
	"math"
	"strings"
	"testing"

	"vigorlab/distributions"
	"vigorlab/distributions/fit"
	"vigorlab/distributions/table"
	"vigorlab/sim/schedule"
)

// TestSayByHand has plans made up for it, each with what it must recommend, say
// and leave unsaid.
func TestSayByHand(t *testing.T) {
	o := quick()
	other := planOf(t, "vigor:m0=1,rounds=3,alpha=2/9,gamma=4")
	row := func(c candidate, gain, precision float64) Row {
		return Row{Strategy: c.spec(), Gain: gain, Prompts: 1, Gains: Both{Rollout: Gains{GradientVariance: precision}}, candidate: c}
	}
	standard := row(candidate{plan: schedule.Default(), budget: 8}, 1.4, 1.5)
	best, equal := row(candidate{plan: other, budget: 8}, 1.5, 0.5), row(candidate{group: 8, budget: 8}, 1, 1)
	wide := row(candidate{group: 64, budget: 8}, 2, 0.25)
	timedRow := func(r Row, perSecond float64) Row {
		r.PerSecond = perSecond
		return r
	}
	large := must(fit.NewCounts([]fit.Cell{{N: 8, S: 3, Prompts: 40}}))
	ahead, near := Interval{1.5, 1.2, 1.8}, Interval{1.1, 0.9, 1.2}
	for _, c := range []struct {
		name         string
		r            Result
		recommended  string
		says, silent []string
	}{
		{"beyond noise", Result{Best: best, Gain: ahead, Over: Interval{1.1, 1.05, 1.2}}, best.Strategy, []string{"worth it: more progress", "at random", "0.5 of their precision"}, []string{"bother"}},
		{"the default as good", Result{Best: best, Gain: ahead, Over: near}, standard.Strategy, []string{"take the default"}, []string{"bother"}},
		{"no better than nothing", Result{Best: best, Gain: near, Over: near}, equal.Strategy, []string{"do not bother: what the best schedule has"}, []string{"worth it"}},
		{"fixed groups best", Result{Best: equal, Gain: Interval{1, 1, 1}, Over: none()}, equal.Strategy, []string{"do not bother: no schedule"}, []string{"precision", "at random"}},
		{"a default that is less noisy", Result{Best: standard, Gain: ahead, Over: Interval{1.1, 1.05, 1.2}}, standard.Strategy, []string{"worth it"}, []string{"noisier", "at random", "without any selection", "simulated"}},
		{"fewer prompts are more", Result{Table: []Row{wide, best}, Best: best, Gain: ahead, Over: ahead}, best.Strategy, []string{"has 2 times the progress a rollout without any selection", "0.25 of the precision"}, nil},
		{"another strategy", Result{Best: best, Gain: ahead, Over: ahead, Simulated: []Simulated{{Strategy: "gvm", Finite: Finite{1.9, 0.1}, Rounds: 3}}}, best.Strategy, []string{"gvm, simulated on the law as it stands at batches of 256, has 1.90 ± 0.10 times the progress a rollout, in 3 rounds"}, []string{"a second"}},
		{"another of too many rounds", Result{Best: best, Gain: ahead, Over: ahead, Simulated: []Simulated{{Strategy: "gvm", Finite: Finite{1.9, 0.1}, Rounds: o.MaxRounds + 1}}}, best.Strategy, nil, []string{"gvm"}},
		{"another within noise", Result{Best: best, Gain: ahead, Over: ahead, Simulated: []Simulated{{Strategy: "gvm", Finite: Finite{1.9, 0.3}}}}, best.Strategy, nil, []string{"gvm"}},
		{"the clock agrees", Result{Best: timedRow(best, 1.2), Fastest: timedRow(best, 1.2), Gain: ahead, Over: ahead}, best.Strategy, []string{"by the clock " + best.Strategy + " is best: 1.2 times the progress a second of fixed:g=8 (mean field), 1.5 times a rollout in 1.25 times the seconds", "within noise of fixed:g=8: 1.20 [0.96, 1.44] times the progress a second"}, nil},
		{"the clock is sure", Result{Best: timedRow(best, 1.4), Fastest: timedRow(standard, 1.45), Gain: ahead, Over: ahead}, best.Strategy, []string{"by the clock " + standard.Strategy + " is best: 1.45 times", "worth it by the clock too: 1.40 [1.12, 1.68]"}, nil},
		{"the clock is against it", Result{Best: timedRow(best, 0.75), Fastest: timedRow(equal, 1), Gain: ahead, Over: ahead}, best.Strategy, []string{"by the clock no schedule of this budget has more progress a second than fixed:g=8", "not worth it by the clock: 0.75 [0.60, 0.90] times the progress a second, less than fixed:g=8 has"}, nil},
		{"the pilot rejects Beta", Result{Best: best, Gain: ahead, Over: ahead, Pilot: large, Family: FamilyCheck{P: 0.005, PError: 0.005, SpikedP: 0.4, Test: fit.AndersonDarling}}, best.Strategy, []string{"rejects the Beta law that this plan stands on (Anderson-Darling, p = 0.005)", "--smooth npmle"}, []string{"spikes"}},
		{"the pilot of a strategy rejects Beta", Result{Best: best, Gain: ahead, Over: ahead, Pilot: large, Family: FamilyCheck{P: 0.005, PError: 0.005, SpikedP: 0.4, Test: fit.Shortfall}}, best.Strategy, []string{"the pilot rejects the Beta law", "(log-likelihood short of the best law of all, p = 0.005)", "--smooth npmle"}, []string{"cannot be tested"}},
		{"the pilot of unlike groups", Result{Best: best, Gain: ahead, Over: ahead, Pilot: large, Family: FamilyCheck{P: math.NaN(), PError: math.NaN(), SpikedP: 0.4, Untold: true}}, best.Strategy, []string{"cannot be tested: numbers of rollouts differ"}, []string{"rejects"}},
		{"the pilot tells spikes", Result{Best: best, Gain: ahead, Over: ahead, Pilot: large, Family: FamilyCheck{P: 0.06, PError: 0.01, SpikedP: 0.02}}, best.Strategy, []string{"from Beta with spikes of dead and solved prompts (likelihood ratio, p = 0.02)", "--smooth npmle"}, []string{"rejects"}},
		{"the pilot says nothing of Beta", Result{Best: best, Gain: ahead, Over: ahead, Pilot: large, Family: FamilyCheck{P: 0.06, PError: 0.01, SpikedP: 0.2}}, best.Strategy, nil, []string{"Beta"}},
		{"the other law disagrees", Result{Best: best, Gain: ahead, Over: ahead, Other: OtherLaw{"npmle", 1.1}}, best.Strategy, []string{"by the npmle law"}, nil},
		{"the other law agrees", Result{Best: best, Gain: ahead, Over: ahead, Other: OtherLaw{"npmle", 1.3}}, best.Strategy, nil, []string{"by the npmle law"}},
	} {
		if c.r.Table == nil {
			c.r.Table = []Row{c.r.Best}
		}
		if c.r.Other.Smooth == "" {
			c.r.Other.Gain = math.NaN()
		}
		c.r.say(o)
		verdict := strings.Join(c.r.Verdict, "\n")
		if c.r.Recommended != c.recommended || c.r.DoNotBother != (c.recommended == equal.Strategy) {
			t.Errorf("%s: recommends %s, do not bother %v, want %s", c.name, c.r.Recommended, c.r.DoNotBother, c.recommended)
		}
		for _, want := range c.says {
			if !strings.Contains(verdict, want) {
				t.Errorf("%s:\n%s\nwant in it: %s", c.name, verdict, want)
			}
		}
		for _, not := range c.silent {
			if strings.Contains(verdict, not) {
				t.Errorf("%s:\n%s\nwant nothing of: %s", c.name, verdict, not)
			}
		}
	}
}

// TestNoChangeIsExact: fixed groups gain exactly 1 over themselves, whatever
// the worlds say; and pilots to come have the rollouts of the one that is there.
func TestNoChangeIsExact(t *testing.T) {
	o := quick()
	o.Worlds = 0
	equal := Row{Strategy: "fixed:g=8", Gain: 1, candidate: candidate{group: 8, budget: 8}}
	r := &Result{Law: distributions.NewUniform(), Best: equal, Table: []Row{equal}, Other: OtherLaw{Gain: math.NaN()}, Pilot: must(fit.NewCounts([]fit.Cell{{N: 20, S: 3, Prompts: 40}}))}
	if err := r.judge(t.Context(), o); err != nil || r.Gain != (Interval{1, 1, 1}) {
		t.Errorf("gain %+v, %v, want exactly 1", r.Gain, err)
	}
	sizes := must(r.pilotSizes(t.Context(), &choice{}, o))
	for i, want := range []int{10, 20, 40, 80, 160} {
		if sizes[i].Prompts != want || sizes[i].Rollouts != 20 {
			t.Errorf("pilot %d: %d prompts of %d rollouts, want %d of 20", i, sizes[i].Prompts, sizes[i].Rollouts, want)
		}
	}
}

// TestLastRowsArePooled: the fit sees the last visits of a prompt, and lengths
// are those of its rows.
func TestLastRowsArePooled(t *testing.T) {
	var s Subject
	s.Table = &table.Table{HasTokens: true}
	for visit := range 7 {
		for prompt, hit := range []int{0, 4} {
			s.Table.Rows = append(s.Table.Rows, table.Row{PromptID: string(rune('a' + prompt)), Visit: visit, N: 4, S: hit * min(1, visit/4), Tokens: 10 + float64(hit*min(1, visit/4))})
		}
	}
	o := quick()
	o.Visits = 3
	var r Result
	if err := r.fit(s, o); err != nil || len(r.Warnings) != 1 {
		t.Fatalf("%v, %q", err, r.Warnings)
	}
	if got := r.Pilot.Cells(); len(got) != 2 || got[0] != (fit.Cell{N: 12, Prompts: 1}) || got[1] != (fit.Cell{N: 12, S: 12, Prompts: 1}) {
		t.Errorf("the pilot is %v, want the last 3 visits", got)
	}
	if l := must(s.lengths()); !(l.Mean(0) < l.Mean(1)) {
		t.Errorf("mean tokens %v at p = 0 and %v at p = 1, want them to rise", l.Mean(0), l.Mean(1))
	}
	o.Visits = 1
	if r = (Result{}); r.fit(s, o) != nil || len(r.Warnings) != 0 {
		t.Errorf("one visit alone: %q", r.Warnings)
	}
}

// TestFinalistsByHand: the best schedules, the best of every number of rounds,
// the default, fixed groups; fewer rounds first among equals; a default whose
// first round is the nearest to a quarter of the budget.
func TestFinalistsByHand(t *testing.T) {
	o := quick()
	o.Finalists = 1
	row := func(spec string, rounds int, gain float64) Row {
		return Row{Strategy: spec, Rounds: rounds, Gain: gain, candidate: candidate{plan: planOf(t, spec), budget: 8}}
	}
	a, b := "vigor:m0=3,rounds=3,alpha=2/9,gamma=4", "vigor:m0=4,rounds=2,alpha=1/4,gamma=4"
	c, d := "vigor:m0=3,rounds=3,alpha=1/4,gamma=4", "vigor:m0=4,rounds=2,alpha=1/5,gamma=5"
	s := &search{schedules: []Row{row(c, 3, 1.2), row(a, 3, 1.3), row(d, 2, 1.1), row(b, 2, 1.3)}}
	sortRows(s.schedules)
	if s.schedules[0].Strategy != row(b, 2, 0).Strategy {
		t.Errorf("%s is first, want the one of two rounds", s.schedules[0].Strategy)
	}
	var got []string
	for _, x := range s.finalists(o) {
		got = append(got, x.spec())
	}
	want := "fixed:g=8 " + candidate{plan: schedule.Default()}.spec() + " " + planOf(t, b).String() + " " + planOf(t, a).String() +
		" fixed:g=2,prompts=4 fixed:g=4,prompts=2 fixed:g=16,prompts=0.5 fixed:g=32,prompts=0.25"
	if strings.Join(got, " ") != want {
		t.Errorf("finalists\n%v, want\n%s", got, want)
	}
	for group, m0 := range map[int]int{2: 1, 3: 1, 6: 2, 8: 2, 9: 2, 10: 3, 16: 4} {
		o.Group = group
		if got := o.standard().M0; got != m0 {
			t.Errorf("budget %d: m0 = %d, want %d", group, got, m0)
		}
	}
}

// TestScheduleScoreByHand: what is chosen on the past is chosen by the past's
// law, and kept by the law of what came next; times need nine in ten prompts.
func TestScheduleScoreByHand(t *testing.T) {
	o := quick()
	var visits [][]table.Row
	for i := range 100 {
		var rows []table.Row
		for v := range 2 * ahead {
			s := i % 9 // about uniform, then all but dead and solved
			if v >= ahead {
				s = map[bool]int{true: 8}[i%2 == 0]
				if i%10 == v-ahead {
					s = 4
				}
			}
			rows = append(rows, table.Row{Visit: v, N: 8, S: s})
		}
		visits = append(visits, rows)
	}
	var rows []Row
	f := newField(distributions.NewUniform(), nil, searchNodes, false)
	for _, c := range []candidate{{plan: schedule.Default(), budget: 8}, {plan: planOf(t, "vigor:m0=3,rounds=3,alpha=2/9,gamma=4"), budget: 8}} {
		rows = append(rows, must(f.row(c, o)))
	}
	c := choiceOf(rows, o)
	got := must(scheduleScore(visits, timesOf(visits), c, o))
	promised, kept := must(c.gains(must(lawOf(visits, 0, ahead, 0, o)), o)), must(c.gains(must(lawOf(visits, ahead, 2*ahead, 0, o)), o))
	best := largest(promised)
	if !(promised[best] < 0.9*kept[best]) {
		t.Fatalf("promised %v, kept %v: nothing to tell", promised, kept)
	}
	if *got != (ScheduleScore{promised[best], kept[best]}) {
		t.Errorf("%+v, want %v and %v", got, promised[best], kept[best])
	}
	if got := unscored([][]table.Row{{{N: 8}}, {{N: 8}}}); got != "" {
		t.Errorf("a row a prompt: %q, want nothing said of a past", got)
	}
	for gone, want := range map[int]int{10: 1, 11: 0} {
		short := append([][]table.Row{}, visits...)
		for i := range gone {
			short[i] = short[i][:ahead]
		}
		if times := timesOf(short); len(times) != want {
			t.Errorf("%d of 100 prompts without next visits: times %v, want %d", gone, times, want)
		}
		if got := unscored(short); (got == "") != (want > 0) || want == 0 && !strings.Contains(got, "89 of 100 prompts have 10 rows or more, want 40 at least and nine in ten") {
			t.Errorf("%d of 100 prompts without next visits: %q", gone, got)
		}
	}
}
