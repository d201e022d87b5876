package sim

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"vigorlab/distributions"
	"vigorlab/distributions/table"
	"vigorlab/sim/rollout"
	"vigorlab/sim/source"
	"vigorlab/sim/strategy"
	"vigorlab/sim/stream"
)

// A spy is a fixed group under another name that notes the first number of
// its stream in every batch, and whether it was told the truth.
type spy struct {
	*strategy.Fixed
	name  string
	drawn *[]uint64
	told  *bool
}

func (s spy) Spec() string { return s.name }

func (s spy) Next(b *rollout.Batch, ask []rollout.Request, r *rand.Rand) []rollout.Request {
	if b.Round == 0 {
		*s.drawn = append(*s.drawn, r.Uint64())
	}
	return s.Fixed.Next(b, ask, r)
}

func (s spy) SeeTruth([]float64) { *s.told = true }

// A keySource notes the keys of its batches.
type keySource struct {
	rollout.TruthSource
	keys *[]stream.Key
}

func (s keySource) Reset(key stream.Key) (int, error) {
	*s.keys = append(*s.keys, key)
	return s.TruthSource.Reset(key)
}

// observe runs spies of the given names on three batches and returns the keys
// of these and the first number of each spy's stream in each.
func observe(t *testing.T, seed uint64, population string, batch int, names ...string) ([]stream.Key, map[string][]uint64) {
	t.Helper()
	group, err := strategy.NewFixed(2)
	if err != nil {
		t.Fatal(err)
	}
	var keys []stream.Key
	var told bool
	drawn := map[string][]uint64{}
	var spies []NewStrategy
	first := make([][]uint64, len(names))
	for i, name := range names {
		spies = append(spies, func() (strategy.Strategy, error) { return spy{group, name, &first[i], &told}, nil })
	}
	cfg := config(population, 3)
	cfg.Seed, cfg.Workers = seed, 1
	inner := synthetic(t, "uniform", batch)
	_, err = Run(context.Background(), cfg, func() (rollout.TruthSource, error) {
		s, err := inner()
		return keySource{s, &keys}, err
	}, spies)
	if err != nil {
		t.Fatal(err)
	}
	if told {
		t.Error("a strategy is told the truth that its capabilities do not ask for")
	}
	for i, name := range names {
		drawn[name] = first[i]
	}
	return keys[1:], drawn // the first Reset asks for the size
}

// TestStreams: prompts depend on seed, population, batch and replicate, all
// that strategies draw depends on the strategy too, and neither depends on the
// strategies beside it. No two streams that must be independent are equal.
func TestStreams(t *testing.T) {
	baseKeys, baseDrawn := observe(t, 1, "p", 4, "a", "b")
	keys, drawn := observe(t, 1, "p", 4, "b")
	if !slices.Equal(keys, baseKeys) || !slices.Equal(drawn["b"], baseDrawn["b"]) {
		t.Error("a strategy meets other prompts or draws alone than beside another")
	}
	seen := map[uint64]bool{}
	distinct := func(what string, numbers ...uint64) {
		for _, x := range numbers {
			if seen[x] {
				t.Errorf("%s: a stream that another use has", what)
			}
			seen[x] = true
		}
	}
	for _, c := range []struct {
		what       string
		seed       uint64
		population string
		batch      int
	}{{"base", 1, "p", 4}, {"seed", 2, "p", 4}, {"population", 1, "q", 4}, {"batch", 1, "p", 5}} {
		keys, drawn := observe(t, c.seed, c.population, c.batch, "a", "b")
		if len(keys) != 3 {
			t.Fatalf("%s: %d batches, want 3", c.what, len(keys))
		}
		distinct(c.what, drawn["a"]...)
		distinct(c.what, drawn["b"]...)
		for _, k := range keys {
			distinct(c.what, uint64(k), stream.NewGenerator(k.Named("difficulty")).Uint64())
		}
	}
}

// A keyTable notes the keys of its batches and of its bootstrap samples.
type keyTable struct {
	*source.Table
	keys *[]stream.Key
}

func (s keyTable) Reset(key stream.Key) (int, error) {
	*s.keys = append(*s.keys, key)
	return s.Table.Reset(key)
}

func (s keyTable) Resample(key stream.Key) {
	*s.keys = append(*s.keys, key)
	s.Table.Resample(key)
}

// TestBootstrapStreams: every sample of prompts and every batch of every sample
// has a stream of its own, apart from those of the run, and a sample has no more
// batches than the run.
func TestBootstrapStreams(t *testing.T) {
	tab := &table.Table{Name: "t", Rows: []table.Row{{PromptID: "a", N: 4, S: 1}, {PromptID: "b", N: 4, S: 2}}}
	for _, c := range []struct{ replicates, asked, batches int }{
		{5, 4, 5},    // ten passes are more than the run
		{30, 20, 20}, // and fewer than is asked
		{2, 50, 2},
	} {
		var keys []stream.Key
		src := func() (rollout.TruthSource, error) {
			inner, err := source.NewTable(tab, source.DrawReplacement, 0)
			return keyTable{inner, &keys}, err
		}
		cfg := config("t", c.replicates)
		cfg.Workers = 1
		r := run(t, cfg, src, "fixed:g=2")
		if err := Bootstrap(context.Background(), cfg, BootstrapConfig{3, c.asked, 0.9}, src, parseAll("fixed:g=2"), r); err != nil {
			t.Fatal(err)
		}
		// The run's batches; of 3 samples each its own stream and its batches. The
		// key 0 asks for the size alone.
		want := c.replicates + 3*(1+c.batches)
		keys = slices.DeleteFunc(keys, func(k stream.Key) bool { return k == 0 })
		if len(keys) != want {
			t.Fatalf("%+v: %d streams, want %d", c, len(keys), want)
		}
		slices.Sort(keys)
		if len(slices.Compact(keys)) != want {
			t.Errorf("%+v: two batches or samples share a stream", c)
		}
	}
}

// A spyLaw notes the quantiles that it is asked for.
type spyLaw struct {
	distributions.VarianceLaw
	asked *[]float64
}

func (l spyLaw) QuantileU(q float64) float64 {
	*l.asked = append(*l.asked, q)
	return l.VarianceLaw.QuantileU(q)
}

// TestPerfectStreams: no two prompts of any two batches share a draw.
func TestPerfectStreams(t *testing.T) {
	const batch, replicates = 3, 600 // in blocks of two batches
	group, err := strategy.NewFixed(2)
	if err != nil {
		t.Fatal(err)
	}
	var asked []float64
	cfg := config("p", replicates)
	cfg.Workers = 1
	law := spyLaw{population(t, "uniform").Law, &asked}
	if _, err := RunPerfect(context.Background(), cfg, law, batch, []strategy.Strategy{group}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(asked)
	if n := len(slices.Compact(asked)); n != batch*replicates {
		t.Errorf("%d distinct draws, want %d", n, batch*replicates)
	}
}
