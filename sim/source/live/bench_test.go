package live_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"vigorlab/sim/source/live"
	"vigorlab/sim/source/live/livetest"
)

// BenchmarkThroughput asks the test server, without faults, for single
// completions, 16 at a time: through the client, and in a bare loop over
// net/http that sends the same fields and reads text, reason and tokens. They
// take turns in one run, since only their ratio means anything: its median over
// the turns is what of-bare says. The server shares the cores with both. Where
// it answers at once, the ratio is that of their work; where an answer takes
// 10 ms, as few models can, that of what is seen of it.
func BenchmarkThroughput(b *testing.B) {
	b.Run("at-once", func(b *testing.B) { throughput(b, livetest.None) })
	b.Run("10ms", func(b *testing.B) { throughput(b, livetest.Slow) })
}

func throughput(b *testing.B, fault livetest.Fault) {
	const concurrency, turns, turn = 16, 15, 320
	s := livetest.New(b, livetest.Config{Fault: always(fault), Delay: 10 * time.Millisecond})
	c := config(s.URL)
	c.Concurrency = concurrency
	seed := uint64(1)
	c.Sampling.Seed = &seed // one completion a request
	l := client(b, c)
	ask := bare(s.URL, concurrency)
	var rates, ratios []float64
	for b.Loop() {
		for range turns {
			begin := time.Now()
			if err := l.Complete(b.Context(), "12+34=", 0, turn, func(int, live.Completion) error { return nil }); err != nil {
				b.Fatal(err)
			}
			through := time.Since(begin)
			begin = time.Now()
			if err := ask(b.Context(), "12+34=", turn); err != nil {
				b.Fatal(err)
			}
			ratios = append(ratios, time.Since(begin).Seconds()/through.Seconds())
			rates = append(rates, turn/through.Seconds())
		}
	}
	slices.Sort(rates)
	slices.Sort(ratios)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(rates[len(rates)/2], "completions/s")
	b.ReportMetric(ratios[len(ratios)/2], "of-bare")
	b.ReportMetric(ratios[0], "least-of-bare")
	b.ReportMetric(ratios[len(ratios)-1], "most-of-bare")
}

// bare returns the loop that asks for n completions with net/http alone.
func bare(base string, concurrency int) func(ctx context.Context, prompt string, n int) error {
	c := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: concurrency}}
	one := func(ctx context.Context, prompt string, seed int) error {
		body, err := json.Marshal(map[string]any{
			"model": "tiny", "prompt": prompt, "n": 1, "seed": seed, "max_tokens": 1024, "temperature": 1, "top_p": 1, "top_k": -1, "min_p": 0,
			"repetition_penalty": 1, "repeat_penalty": 1, "presence_penalty": 0, "frequency_penalty": 0,
		})
		if err != nil {
			return err
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/completions", bytes.NewReader(body))
		if err != nil {
			return err
		}
		r.Header.Set("Content-Type", "application/json")
		res, err := c.Do(r)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		var a struct {
			Choices []struct {
				Text         string
				FinishReason string `json:"finish_reason"`
			}
			Usage struct {
				PromptTokens     int `json:"prompt_tokens"`
				CompletionTokens int `json:"completion_tokens"`
			}
		}
		return json.NewDecoder(res.Body).Decode(&a)
	}
	return func(ctx context.Context, prompt string, n int) error {
		errs := make([]error, concurrency)
		var wg sync.WaitGroup
		for i := range concurrency {
			wg.Go(func() {
				for k := i; k < n && errs[i] == nil; k += concurrency {
					errs[i] = one(ctx, prompt, k)
				}
			})
		}
		wg.Wait()
		for _, err := range errs {
			if err != nil {
				return err
			}
		}
		return nil
	}
}
