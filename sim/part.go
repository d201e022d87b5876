package sim

import "vigorlab/sim/rollout"

// Part returns the observation of some of the batch's prompts, in the given
// order, as if they had been the batch: what was asked of them in every round,
// and what they gave. prompts are distinct batch indices. A part spends no exact
// budget, whatever the whole does, and its Ledger is empty: costs are those of
// the whole. Groups still compete with those of the rest: the rounds of a part
// depend on the rewards of all prompts.
func (o *Observation) Part(prompts []int) *Observation {
	place := make(map[int]int, len(prompts))
	for i, x := range prompts {
		place[x] = i
	}
	p := &Observation{
		Strategy: o.Strategy, Batch: len(prompts),
		Update: o.Update, TrainedN: pick(o.TrainedN, prompts), TrainedS: pick(o.TrainedS, prompts),
		survivors: o.survivors,
	}
	for i := range o.Rounds {
		p.Rounds = append(p.Rounds, *o.Rounds[i].part(place))
	}
	p.Fresh, p.Holdout = o.Fresh.part(place), o.Holdout.part(place)
	p.Update.N, p.Update.S = pick(o.Update.N, prompts), pick(o.Update.S, prompts)
	p.Update.Weights, p.Update.Baselines = pick(o.Update.Weights, prompts), pick(o.Update.Baselines, prompts)
	if o.Update.Prompts != nil {
		p.Update.Prompts = []int{}
		for _, x := range o.Update.Prompts {
			if i, ok := place[x]; ok {
				p.Update.Prompts = append(p.Update.Prompts, i)
			}
		}
	}
	return p
}

// Counts returns the rollouts of every prompt in all rounds, fresh groups and
// those held out included, and the successes among them.
func (o *Observation) Counts() (n, s []int) {
	n, s = make([]int, o.Batch), make([]int, o.Batch)
	add := func(e *Exchange) {
		for i, q := range e.Ask {
			n[q.X] += q.N
			s[q.X] += e.S[i]
		}
	}
	for i := range o.Rounds {
		add(&o.Rounds[i])
	}
	for _, e := range []*Exchange{o.Fresh, o.Holdout} {
		if e != nil {
			add(e)
		}
	}
	return n, s
}

// part returns what an exchange, nil for none, says of the prompts that have a
// place.
func (e *Exchange) part(place map[int]int) *Exchange {
	if e == nil {
		return nil
	}
	p := new(Exchange)
	for i, q := range e.Ask {
		at, ok := place[q.X]
		if !ok {
			continue
		}
		p.Ask, p.S = append(p.Ask, rollout.Request{X: at, N: q.N}), append(p.S, e.S[i])
		if e.Tokens != nil {
			p.Tokens = append(p.Tokens, e.Tokens[i])
		}
	}
	return p
}

// pick returns the elements of v at the given indices; nil for nil.
func pick[T any](v []T, at []int) []T {
	if v == nil {
		return nil
	}
	picked := make([]T, len(at))
	for i, x := range at {
		picked[i] = v[x]
	}
	return picked
}
