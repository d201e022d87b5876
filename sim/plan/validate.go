package plan

import (
	"fmt"
	"math"

	"vigorlab/distributions"
	"vigorlab/distributions/fit"
	"vigorlab/distributions/table"
)

// ahead is how many visits of a prompt the past is scored on.
const ahead = 5

// A Validation is what the recorded past would have promised at one time after
// another, and what the next 5 visits of the same prompts kept. Figures are
// means over times, errors by the jackknife over groups of prompts. That
// prompts change from visit to visit is part of what is measured.
type Validation struct {
	Times   int // at which past and next visits are parted
	Prompts int // that have visits enough for the first of them

	// Hindsight is the gain E[u]/E[sqrt u]^2 that the next visits' own counts
	// claim: weights and score from the same noise.
	Hindsight Finite
	// Weights are what weights from the past gain on the next visits.
	Weights []WeightsScore
	// Schedule is what the plan's choice on the past promised and kept; nil
	// where nothing gains.
	Schedule *ScheduleScore
}

// A WeightsScore is the gain of weights sqrt u of the last Visits visits, u at
// (s + 1/2)/(n + 1), scored on the next ones: E[u]/(E[w] E[u/w]), by how much
// groups in proportion to w lower the variance of a mean over prompts.
type WeightsScore struct {
	Visits int
	Gain   Finite
}

// A ScheduleScore compares the gain that the finalist chosen on the last 5
// visits promises by their law with the gain that it has by the law of the
// next 5.
type ScheduleScore struct{ Promised, Kept float64 }

// parts is the number of groups of prompts, of which the jackknife leaves out one after another.
const parts = 20

// validate returns nil where no prompt has visits enough.
func validate(t *table.Table, c *choice, o Options) (*Validation, error) {
	visits := t.ByPrompt()
	times := timesOf(visits)
	if len(times) == 0 {
		return nil, nil
	}
	v := &Validation{Times: len(times)}
	for _, rows := range visits {
		if len(rows) >= times[0]+ahead {
			v.Prompts++
		}
	}
	v.Hindsight = overTimes(visits, times, hindsight)
	for _, k := range []int{ahead, 1} {
		v.Weights = append(v.Weights, WeightsScore{k, overTimes(visits, times, lastVisits(k))})
	}
	var err error
	v.Schedule, err = scheduleScore(visits, times, c, o)
	return v, err
}

// timesOf returns the numbers of past visits, 5 apart so that no visit is
// scored on twice, after which nine in ten prompts still have 5 next ones.
func timesOf(visits [][]table.Row) []int {
	var times []int
	for t := ahead; ; t += ahead {
		prompts := 0
		for _, rows := range visits {
			if len(rows) >= t+ahead {
				prompts++
			}
		}
		if prompts < 2*parts || 10*prompts < 9*len(visits) {
			return times
		}
		times = append(times, t)
	}
}

// terms are a prompt's parts of a gain E[u]/(E[w] E[u/w]).
type terms struct{ u, w, uOverW float64 }

// unscored says why visits are too few to score the past on, "" where they are
// enough or no prompt has two.
func unscored(visits [][]table.Row) string {
	enough, most := 0, 0
	for _, rows := range visits {
		most = max(most, len(rows))
		if len(rows) >= 2*ahead {
			enough++
		}
	}
	if most < 2 || len(timesOf(visits)) > 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d prompts have %d rows or more, want %d at least and nine in ten: a past of %d visits, and the next %d to score it on",
		enough, len(visits), 2*ahead, 2*parts, ahead, ahead)
}

// hindsight lets a prompt's next visits choose their own weights.
func hindsight(_, next []table.Row) terms {
	n, s := pool(next)
	u := distributions.U(s / n)
	return terms{u, math.Sqrt(u), math.Sqrt(u)}
}

// lastVisits weighs a prompt by its last k past visits, and scores it by the
// unbiased u of its next ones.
func lastVisits(k int) func(past, next []table.Row) terms {
	return func(past, next []table.Row) terms {
		n, s := pool(past[len(past)-k:])
		w := math.Sqrt(distributions.U((s + 0.5) / (n + 1)))
		n, s = pool(next)
		u := distributions.U(s/n) * n / max(n-1, 1)
		return terms{u, w, u / w}
	}
}

func pool(rows []table.Row) (n, s float64) {
	for _, r := range rows {
		n, s = n+float64(r.N), s+float64(r.S)
	}
	return n, s
}

// overTimes averages the gain over times and takes its error by leaving out
// every 20th prompt.
func overTimes(visits [][]table.Row, times []int, of func(past, next []table.Row) terms) Finite {
	without := make([]float64, parts+1) // the last one leaves out none
	for _, t := range times {
		var sum [parts]terms
		var prompts [parts]float64
		for i, rows := range visits {
			if len(rows) < t+ahead {
				continue
			}
			x := of(rows[:t], rows[t:t+ahead])
			part := &sum[i%parts]
			part.u, part.w, part.uOverW = part.u+x.u, part.w+x.w, part.uOverW+x.uOverW
			prompts[i%parts]++
		}
		for left := range without {
			var all terms
			n := 0.0
			for k, x := range sum {
				if k != left {
					all.u, all.w, all.uOverW = all.u+x.u, all.w+x.w, all.uOverW+x.uOverW
					n += prompts[k]
				}
			}
			without[left] += all.u * n / (all.w * all.uOverW) / float64(len(times))
		}
	}
	mean, square := 0.0, 0.0
	for _, x := range without[:parts] {
		mean += x / parts
	}
	for _, x := range without[:parts] {
		square += (x - mean) * (x - mean)
	}
	return Finite{without[parts], math.Sqrt(square * (parts - 1) / parts)}
}

// scheduleScore chooses among the finalists at up to 5 times, spread evenly. It
// returns nil where the visits of a prompt have more rollouts than can be
// fitted.
func scheduleScore(visits [][]table.Row, times []int, c *choice, o Options) (*ScheduleScore, error) {
	const most = 5
	for _, rows := range visits {
		if !fittable(rows) {
			return nil, nil
		}
	}
	score, n := ScheduleScore{}, 0.0
	for i := range min(most, len(times)) {
		t := times[i*(len(times)-1)/max(1, min(most, len(times))-1)]
		before, err := lawOf(visits, t-ahead, t, t+ahead, o)
		if err != nil {
			return nil, err
		}
		after, err := lawOf(visits, t, t+ahead, t+ahead, o)
		if err != nil {
			return nil, err
		}
		kept, err := c.gains(after, o)
		if err != nil {
			return nil, err
		}
		promised, err := c.gains(before, o)
		if err != nil {
			return nil, err
		}
		best := largest(promised)
		if best < 0 || !(kept[best] > 0) {
			continue
		}
		score.Promised += promised[best]
		score.Kept += kept[best]
		n++
	}
	if n == 0 {
		return nil, nil
	}
	return &ScheduleScore{score.Promised / n, score.Kept / n}, nil
}

// fittable reports whether any visits of a prompt that are pooled can be fitted.
func fittable(rows []table.Row) bool {
	for first := range rows {
		if n, _ := pool(rows[first:min(first+ahead, len(rows))]); n > fit.MaxRollouts {
			return false
		}
	}
	return true
}

// lawOf fits the visits from first up to last of the prompts that have enough.
func lawOf(visits [][]table.Row, first, last, enough int, o Options) (distributions.Law, error) {
	var cells []fit.Cell
	for _, rows := range visits {
		if len(rows) < enough {
			continue
		}
		n, s := pool(rows[first:last])
		cells = append(cells, fit.Cell{N: int(n), S: int(s), Prompts: 1})
	}
	counts, err := fit.NewCounts(cells)
	if err != nil {
		return nil, err
	}
	return fit.Smooth(counts, o.Smooth)
}
