package enumerate

import (
	"fmt"
	"log"
	"math"
	"testing"

	"vigorlab/sim/schedule"
)

// TestTwoPrompts works the smallest batch by pencil. The pair of prompt i is
// mixed with probability h_i = 2 p_i (1-p_i) = u_i/2. Prompt 1 is kept where
// only its pair is mixed, and half the time where both are or neither is:
//
//	P(1 kept) = h1(1-h2) + (h1 h2 + (1-h1)(1-h2))/2 = (1 + h1 - h2)/2.
//
// With gamma = 1 the kept prompt has 4 rollouts and the other 2, so E[G_1] =
// 3 + h1 - h2, E[sum G u] = 3(u1+u2) + (u1-u2)^2/2, sum G = 6. With gamma = 2
// the groups are 6 and 2: E[sum G u] = 4(u1+u2) + (u1-u2)^2, sum G = 8.
func TestTwoPrompts(t *testing.T) {
	for _, p := range [][2]float64{{0.5, 0}, {0.5, 0.5}, {0.3, 0.9}, {0.02, 1}, {1e-9, 0.25}} {
		u1, u2 := 4*p[0]*(1-p[0]), 4*p[1]*(1-p[1])
		difference := (u1 - u2) * (u1 - u2)
		kept := (1 + (u1-u2)/2) / 2
		for _, c := range []struct {
			gamma           string
			large           int
			weight, trained float64
		}{
			{"1", 4, 3*(u1+u2) + difference/2, 6},
			{"2", 6, 4*(u1+u2) + difference, 8},
		} {
			v := small()
			v.Gamma = schedule.MustRatio(c.gamma)
			r := enumerated(t, prompts(t, p[0], p[1]), v, 0.75)
			near(t, "probability", r.Probability, 1)
			near(t, "E[sum G]", r.Trained, c.trained)
			near(t, "generated", r.Generated, c.trained)
			near(t, "E[sum G u]", r.Weight, c.weight)
			near(t, "eta", r.Eta, c.weight/(c.trained*(u1+u2)/2))
			near(t, "eta of the batch", r.EtaBatchMean, r.Eta) // one batch only
			nearVectors(t, r.SizeVectors, []SizeVector{
				{[]int{2, c.large}, 1 - kept}, {[]int{c.large, 2}, kept},
			})
		}
	}
}

// TestTwoPromptsEveryFigure takes p = (1/2, 0), gamma = 1. Prompt 2 has sigma =
// 0 always. Prompt 1 is
//   - mixed (1/2), kept: s = 1, 2, 3 of 4 with 1/4, 1/2, 1/4 and sigma = r, 1, r
//     where r = sqrt(3)/2, so E[sigma] = r/2 + 1/2;
//   - not mixed and kept (1/4): s = 0, 1, 2 of 4 (or 4, 3, 2) with 1/4, 1/2, 1/4,
//     so E[sigma] = r/2 + 1/4, and all agree in 1/4 of the cases;
//   - not mixed and dropped (1/4): sigma = 0, G = 2.
func TestTwoPromptsEveryFigure(t *testing.T) {
	r := enumerated(t, prompts(t, 0.5, 0), small(), 0.75)
	root := math.Sqrt(3)
	near(t, "E[u]", r.MeanU, 0.5)
	near(t, "eta", r.Eta, 7./6)
	near(t, "eta generated", r.EtaGenerated, 7./6)
	// 4((r/2 + 1/2)/2 + (r/2 + 1/4)/4) = 3 sqrt(3)/4 + 5/4, over 6 rollouts or,
	// without the 4, 2 groups. Prompt 1 has u = 1: progress is the signal.
	near(t, "signal", r.Signal, (3*root+5)/24)
	near(t, "progress", r.Progress, (3*root+5)/24)
	near(t, "signal, prompt mean", r.SignalPromptMean, (3*root+5)/32)
	// Prompt 2: 2 rollouts where prompt 1 is kept (3/4), else 4: 5/2. Prompt 1:
	// 4 in (1/4)(1/4) of the cases, 2 in 1/4: 3/4.
	near(t, "ineffective", r.Ineffective, 3.25/6)
	near(t, "zero-variance groups", r.ZeroVarianceGroups, (1+1./16+1./4)/2)
	if len(r.Screening) != 1 {
		t.Fatalf("%d cuts, want 1", len(r.Screening))
	}
	near(t, "false omission", r.Screening[0].FalseOmission, 0.25)
	near(t, "false negative", r.Screening[0].FalseNegative, 0.25)
	near(t, "cumulative", r.Screening[0].FalseNegativeCumulative, 0.25)
	for i, want := range []SizeShare{{2, 0.5}, {4, 0.5}} {
		if r.GroupSizes[i].Size != want.Size {
			t.Fatalf("group sizes %v", r.GroupSizes)
		}
		near(t, "share", r.GroupSizes[i].Share, want.Share)
	}
}

// TestOptionsByPencil changes one option of p = (1/2, 0), gamma = 1, at a time.
func TestOptionsByPencil(t *testing.T) {
	root := math.Sqrt(3)
	with := func(set func(*schedule.Vigor), p ...float64) *Result {
		v := small()
		set(&v)
		return enumerated(t, prompts(t, p...), v, 0.75)
	}

	// Survivors: one group of 4, prompt 1's in 3/4 of the cases; 4*3/4 = 3 over
	// 4 trained (or 6 generated) times E[u] = 1/2.
	r := with(func(v *schedule.Vigor) { v.Update = schedule.UpdateSurvivors }, 0.5, 0)
	near(t, "survivors: eta", r.Eta, 1.5)
	near(t, "survivors: eta generated", r.EtaGenerated, 1)
	near(t, "survivors: signal", r.Signal, (3*root+5)/16)
	near(t, "survivors: signal, prompt mean", r.SignalPromptMean, (3*root+5)/16)

	// Fresh groups: 12 generated, 6 trained. Prompt 1 has 4 fresh rollouts with
	// 3/4 (sigma = r, 1, r for s = 1, 2, 3 with 4/16, 6/16, 4/16), else 2, which
	// are mixed half the time: 3(sqrt(3)/4 + 3/8) + 1/4.
	r = with(func(v *schedule.Vigor) { v.Reuse = false }, 0.5, 0)
	near(t, "fresh: eta", r.Eta, 7./6)
	near(t, "fresh: eta generated", r.EtaGenerated, 7./12)
	near(t, "fresh: generated", r.Generated, 12)
	near(t, "fresh: signal", r.Signal, (0.75*root+1.375)/6)
	near(t, "fresh: ineffective", r.Ineffective, (2.5+0.75*4*2/16+0.25*2/2)/6)

	// Fresh groups of survivors: 6 + 4 generated, 4 trained, 3 of them prompt 1's.
	r = with(func(v *schedule.Vigor) { v.Reuse, v.Update = false, schedule.UpdateSurvivors }, 0.5, 0)
	near(t, "fresh survivors: generated", r.Generated, 10)
	near(t, "fresh survivors: trained", r.Trained, 4)
	near(t, "fresh survivors: eta generated", r.EtaGenerated, 3/(10*0.5))
	// Prompt 1, kept, has 4 sequences in round 2 and 16 fresh ones: 2*64 after
	// a mixed pair, 2*64 after one that is not, and 2*1 where prompt 2 is kept,
	// since a dropped prompt has no fresh group.
	if r.Sequences != 258 {
		t.Errorf("fresh survivors: %d sequences, want 258", r.Sequences)
	}

	// Ties by index: prompt 1 is always kept, being mixed or first.
	r = with(func(v *schedule.Vigor) { v.Ties = schedule.TiesIndex }, 0.5, 0)
	nearVectors(t, r.SizeVectors, []SizeVector{{[]int{4, 2}, 1}})
	near(t, "index: eta", r.Eta, 4./3)
	// In the other order it is kept only where mixed.
	r = with(func(v *schedule.Vigor) { v.Ties = schedule.TiesIndex }, 0, 0.5)
	nearVectors(t, r.SizeVectors, []SizeVector{{[]int{2, 4}, 0.5}, {[]int{4, 2}, 0.5}})
	near(t, "index, reversed: eta", r.Eta, 1)

	// Truth keeps prompt 1; u of .3 and .7 tie as typed, and go by the option.
	truth := func(v *schedule.Vigor) { v.Select = schedule.SelectTruth }
	nearVectors(t, with(truth, 0.5, 0).SizeVectors, []SizeVector{{[]int{4, 2}, 1}})
	nearVectors(t, with(truth, 0.4, 0.3).SizeVectors, []SizeVector{{[]int{4, 2}, 1}})
	nearVectors(t, with(truth, 0.7, 0.3).SizeVectors, []SizeVector{{[]int{2, 4}, 0.5}, {[]int{4, 2}, 0.5}})
	nearVectors(t, with(func(v *schedule.Vigor) { truth(v); v.Ties = schedule.TiesIndex }, 0.7, 0.3).SizeVectors,
		[]SizeVector{{[]int{4, 2}, 1}})

	// Random selection is random even with ties by index.
	r = with(func(v *schedule.Vigor) { v.Select, v.Ties = schedule.SelectRandom, schedule.TiesIndex }, 0.5, 0)
	nearVectors(t, r.SizeVectors, []SizeVector{{[]int{2, 4}, 0.5}, {[]int{4, 2}, 0.5}})
	near(t, "random: eta", r.Eta, 1)
}

// TestThreeRounds takes p = (1/2, 0, 1), m = 1, 1, 1 and n = 3, 2, 1 (ceil).
// After one rollout all tie: the pairs {1,2}, {1,3}, {2,3} are kept with 1/3
// each. Prompt 1, if kept, is mixed after two with 1/2 and then wins; otherwise
// the tie goes either way: it wins with 3/4.
func TestThreeRounds(t *testing.T) {
	v := small()
	v.M0, v.Rounds = 1, 3
	r := enumerated(t, prompts(t, 0.5, 0, 1), v, 0.75)
	nearVectors(t, r.SizeVectors, []SizeVector{
		{[]int{1, 2, 3}, 1. / 6},
		{[]int{1, 3, 2}, 1. / 6},
		{[]int{2, 1, 3}, 1. / 12},
		{[]int{2, 3, 1}, 1. / 12},
		{[]int{3, 1, 2}, 1. / 4},
		{[]int{3, 2, 1}, 1. / 4},
	})
	// E[G_1] = 1/3 + 2/6 + 3/2 = 13/6, of 6 rollouts, and E[u] = 1/3.
	near(t, "eta", r.Eta, 13./12)
	want := []Screening{
		{1, 1. / 3, 1. / 3, 1. / 3},
		{2, 1. / 6, 1. / 4, 1. / 2}, // dropped with 1/6, of the 2/3 still there
	}
	for i, s := range r.Screening {
		near(t, "false omission", s.FalseOmission, want[i].FalseOmission)
		near(t, "false negative", s.FalseNegative, want[i].FalseNegative)
		near(t, "cumulative", s.FalseNegativeCumulative, want[i].FalseNegativeCumulative)
	}
}

// TestLaw takes B = 2 and p = 0 or 1/2 with 1/2 each, gamma = 1. Of the four
// batches one has u = 0 and E[sum G u] = 0, two are those of
// TestTwoPromptsEveryFigure with 7/2, and one is even with 6: eta =
// (13/4)/(6*1/2). The mean of the ratios of the batches that have one is (7/6 +
// 7/6 + 1)/3.
func TestLaw(t *testing.T) {
	pop, err := Draws(2, Atom{0, 0.5}, Atom{0.5, 0.5})
	if err != nil {
		t.Fatal(err)
	}
	r := enumerated(t, pop, small(), 0.75)
	near(t, "probability", r.Probability, 1)
	near(t, "eta", r.Eta, 13./12)
	near(t, "mean over batches", r.EtaBatchMean, 10./9)
	// A frontier prompt is dropped with 1/4 beside a dead one, 1/2 beside another.
	near(t, "false negative", r.Screening[0].FalseNegative, 0.375)
	near(t, "false omission", r.Screening[0].FalseOmission, 0.375*0.5/0.5)
}

// TestFixed takes groups of 3 at p = 1/2 and 0: all of three rollouts agree
// with 1/4, else sigma = 2 sqrt(2)/3.
func TestFixed(t *testing.T) {
	r, err := FixedEnumerate(prompts(t, 0.5, 0), 3, Options{Frontier: 0.75, SizeVectors: true})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "eta", r.Eta, 1)
	near(t, "trained", r.Trained, 6)
	near(t, "generated", r.Generated, 6)
	near(t, "signal", r.Signal, 0.75*2*math.Sqrt2/3/2)
	near(t, "signal, prompt mean", r.SignalPromptMean, r.Signal)
	near(t, "ineffective", r.Ineffective, 0.625)
	near(t, "zero-variance groups", r.ZeroVarianceGroups, 0.625)
	nearVectors(t, r.SizeVectors, []SizeVector{{[]int{3, 3}, 1}})
	if len(r.Screening) != 0 {
		t.Errorf("%d cuts, want none", len(r.Screening))
	}
}

// TestOnePrompt: with B = 1 no cut drops, every round is played and the group
// is a plain one of m0(1 + gamma + gamma^2) = 14.
func TestOnePrompt(t *testing.T) {
	v := schedule.Default()
	v.Rounds = 3
	got := enumerated(t, prompts(t, 0.3), v, 0.75)
	want, err := FixedEnumerate(prompts(t, 0.3), 14, Options{})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "eta", got.Eta, 1)
	near(t, "signal", got.Signal, want.Signal)
	near(t, "ineffective", got.Ineffective, want.Ineffective)
	near(t, "ineffective in closed form", got.Ineffective, math.Pow(0.3, 14)+math.Pow(0.7, 14))
	for _, s := range got.Screening {
		near(t, "false omission", s.FalseOmission, math.NaN())
		near(t, "false negative", s.FalseNegative, 0)
	}
	if len(got.Screening) != 2 {
		t.Errorf("%d cuts, want 2", len(got.Screening))
	}
}

// TestCorners: where every prompt is dead or solved nothing is random but the
// ties, no ratio to E[u] exists and there is no frontier.
func TestCorners(t *testing.T) {
	r := enumerated(t, prompts(t, 0, 1, 0), small(), 0.75)
	if r.Sequences != 3 { // one sequence of rewards, three pairs to keep
		t.Errorf("%d sequences, want 3", r.Sequences)
	}
	near(t, "probability", r.Probability, 1)
	for name, x := range map[string]float64{
		"eta": r.Eta, "eta generated": r.EtaGenerated, "mean over batches": r.EtaBatchMean,
		"false negative": r.Screening[0].FalseNegative, "cumulative": r.Screening[0].FalseNegativeCumulative,
	} {
		near(t, name, x, math.NaN())
	}
	near(t, "signal", r.Signal, 0)
	near(t, "progress", r.Progress, 0)
	near(t, "ineffective", r.Ineffective, 1)
	near(t, "zero-variance groups", r.ZeroVarianceGroups, 1)
	near(t, "false omission", r.Screening[0].FalseOmission, 0)
}

// TestFrontierIsInclusive reads u and c as typed: 4*0.3*0.7 is 0.84.
func TestFrontierIsInclusive(t *testing.T) {
	for _, p := range []float64{0.3, 0.7} {
		r := enumerated(t, prompts(t, p, 0), small(), 0.84)
		near(t, "false omission", r.Screening[0].FalseOmission, (1-0.42)/2)
		r = enumerated(t, prompts(t, p, 0), small(), 0.8400001)
		near(t, "false omission", r.Screening[0].FalseOmission, 0)
	}
}

// TestAdaptivityBias checks theory.md, section 4.5. The prompt p stands after a
// dead one and ties go by index, so it is kept if and only if its pair is
// mixed. Then 1 of the first 2 rollouts succeeded and 4 fresh ones succeed with
// p: E[s] = 1 + 4p, and the pooled mean over the group of 6 is (1 + 4p)/6,
// biased towards 1/2 unless p = 1/2. A pair that is not mixed is dropped with
// s/2 = 1 or 0: p^2/(p^2 + (1-p)^2). Fresh groups have mean p whatever their size.
func TestAdaptivityBias(t *testing.T) {
	v := small()
	v.Gamma, v.Ties = schedule.MustRatio("2"), schedule.TiesIndex
	for _, p := range []float64{0.01, 0.1, 0.25, 0.5, 0.9, 1 - 1e-6} {
		pop := prompts(t, 0, p)
		r := enumerated(t, pop, v, 0.75)
		mixed := 2 * p * (1 - p)
		near(t, "P(kept)", r.SizeVectors[0].Probability, mixed)
		near(t, "E[p^_6]", meanSuccess(r, 1, 6), (1+4*p)/6)
		near(t, "E[p^_2]", meanSuccess(r, 1, 2), p*p/(p*p+(1-p)*(1-p)))
		// Over all its groups: mixed (1+4p)/6 + p^2, where p^2 = p - mixed/2.
		near(t, "E[p^]", meanSuccess(r, 1, 0), p+mixed*(2*p-1)/3)

		v := v
		v.Reuse = false
		fresh := enumerated(t, pop, v, 0.75)
		near(t, "fresh E[p^_6]", meanSuccess(fresh, 1, 6), p)
		near(t, "fresh E[p^_2]", meanSuccess(fresh, 1, 2), p)
	}
}

// TestAdaptivityBiasWithRandomTies: here the pair that is not mixed is kept
// half the time, ending with 2 + 4p successes after two, or 4p after none:
//
//	E[p^_6] = (mixed (1+4p) + p^2 (2+4p)/2 + (1-p)^2 4p/2) / (6 (1+mixed)/2).
func TestAdaptivityBiasWithRandomTies(t *testing.T) {
	v := small()
	v.Gamma = schedule.MustRatio("2")
	const p = 0.2
	const mixed = 2 * p * (1 - p)
	r := enumerated(t, prompts(t, p, 0), v, 0.75)
	want := (mixed*(1+4*p) + p*p*(2+4*p)/2 + (1-p)*(1-p)*4*p/2) / (6 * (1 + mixed) / 2)
	near(t, "E[p^_6]", meanSuccess(r, 0, 6), want)
}

// A prompt of even odds beside a dead one: its first pair is mixed half the
// time and then wins; otherwise the tie is broken by lot. It has 4 rollouts
// with probability 3/4 and else 2, the other 2 or 4.
func ExampleVigorEnumerate() {
	pop, err := Prompts(0.5, 0)
	if err != nil {
		log.Fatal(err)
	}
	v := schedule.Default()
	v.Rounds, v.Gamma = 2, schedule.MustRatio("1")
	r, err := VigorEnumerate(pop, v, Options{Frontier: 0.75})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("eta %.3f\n", r.Eta) // (3/4*4 + 1/4*2) / (6 * 1/2)
	// Output: eta 1.167
}
