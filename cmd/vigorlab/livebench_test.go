package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"vigorlab/sim/source/live/tinymodel"
)

// BenchmarkServedRollout asks the real server for 16 rollouts of each of the model's
// prompts: through `vigorlab rollout`, which judges them and puts each on the disk
// before it counts, and in a bare loop over net/http that sends the same fields and
// reads text, reason and tokens. They take turns in one run, since only their ratio
// means anything: its median over the turns is what of-bare says, with the least and
// the most. The command's time is that of its rounds, as it says itself, without
// its start and its figures. Once a completion is a request, once 16 are.
func BenchmarkServedRollout(b *testing.B) {
	base := tinymodel.Start(b, tinymodel.Options{})
	b.Run("one-a-request", func(b *testing.B) { servedThroughput(b, base, 1, "--send-seed") })
	b.Run("16-a-request", func(b *testing.B) { servedThroughput(b, base, 16) })
}

func servedThroughput(b *testing.B, base string, n int, args ...string) {
	const turns, g, concurrency = 7, 16, 16
	completions := float64(g * len(tinymodel.Problems()))
	var rates, ratios []float64
	for b.Loop() {
		for range turns {
			r := newRealRun(b, base, fmt.Sprintf("fixed:g=%d", g), append(args, "--concurrency", fmt.Sprint(concurrency), "--quiet")...)
			r.done()
			through := r.seconds()
			begin := time.Now()
			if err := bareRollouts(base, n, g/n, concurrency); err != nil {
				b.Fatal(err)
			}
			ratios = append(ratios, time.Since(begin).Seconds()/through)
			rates = append(rates, completions/through)
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

// seconds returns the wall clock of the run's rounds.
func (r *liveRun) seconds() float64 {
	r.t.Helper()
	var l struct{ Ledger struct{ Seconds float64 } }
	content, err := os.ReadFile(filepath.Join(r.dir, "run", "results.json"))
	if err == nil {
		err = json.Unmarshal(content, &l)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return l.Ledger.Seconds
}

// bareRollouts asks for n completions of every prompt, each as often as said.
func bareRollouts(base string, n, times, concurrency int) error {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: concurrency}}
	var group errgroup.Group
	group.SetLimit(concurrency)
	for _, p := range tinymodel.Problems() {
		for k := range times {
			group.Go(func() error { return bareRequest(client, base, p.Prompt, n, k) })
		}
	}
	return group.Wait()
}

func bareRequest(client *http.Client, base, prompt string, n, seed int) error {
	body, err := json.Marshal(map[string]any{
		"model": tinymodel.ModelName, "prompt": prompt, "n": n, "seed": seed, "max_tokens": tinymodel.MaxTokens, "temperature": 1, "top_p": 1, "top_k": -1, "min_p": 0,
		"repetition_penalty": 1, "repeat_penalty": 1, "presence_penalty": 0, "frequency_penalty": 0,
	})
	if err != nil {
		return err
	}
	res, err := client.Post(base+"/completions", "application/json", bytes.NewReader(body))
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
	if err := json.NewDecoder(res.Body).Decode(&a); err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK || len(a.Choices) != n {
		return fmt.Errorf("status %d, %d choices, want %d", res.StatusCode, len(a.Choices), n)
	}
	_, err = io.Copy(io.Discard, res.Body) // so that the connection is used again
	return err
}
