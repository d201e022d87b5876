package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"vigorlab/sim/source/live/livetest"
	"vigorlab/sim/stream"
)

// TestLiveSoak asks 20,000 rollouts of a server that does everything wrong at
// random, and kills the run three times: none is lost, none is there
// twice, the budget is exact, what was delivered is charged, and the memory of the
// command is that of a run of a tenth of the size, but for 1 KB a rollout: a run that
// held the completions, of 2 KB each, would have more. Rubbish is collected early
// (GOGC), so that what is measured is what is held.
//
// The one fault that is missing, an old answer given again, is noticed within a
// sitting alone (the client's own soak has it): a sitting does not know the answers
// of earlier ones.
func TestLiveSoak(t *testing.T) {
	const prompts, g = 2000, 10
	memory := soakRun(t, prompts/10, g, nil)
	large := soakRun(t, prompts, g, []int{prompts, 3 * prompts, 7 * prompts})
	t.Logf("%d MB for %d rollouts, %d MB for %d", memory>>20, prompts/10*g, large>>20, prompts*g)
	if most := memory + prompts*g<<10; large > most {
		t.Errorf("%d MB, want at most %d MB", large>>20, most>>20)
	}
}

// soakRun runs g rollouts of every prompt, stopped whenever so many are kept, and
// returns the memory of the last sitting.
func soakRun(t *testing.T, prompts, g int, stops []int) (bytes int64) {
	t.Helper()
	var faults atomic.Int64
	padding := strings.Repeat("and so on ", 200)
	answer := func(prompt string, right bool, serial int) string { return padding + answerText(prompt, right, serial) }
	server := serveAnswers(t, livetest.Config{Answer: answer, RetryAfter: "0.1", Delay: 50 * time.Millisecond, Fault: func(arrival int) livetest.Fault {
		at := stream.New(6).With(uint64(arrival))
		if at.Uniform(0) < 0.8 {
			return livetest.None
		}
		fault := livetest.Fault(1 + int(at.Uniform(1)*float64(livetest.Faults-1)))
		if fault == livetest.Duplicate {
			return livetest.None
		}
		faults.Add(1)
		return fault
	}})
	const concurrency = 32
	r := newLiveRun(t, server.URL, "--concurrency", fmt.Sprint(concurrency), "--timeout", "8", "--retries", "100", "--max-failures", "1000")
	r.world[slices.Index(r.world, "--max-tokens")+1] = "4096"
	r.env = append(r.env, "GOGC=20")
	r.strategy, r.uncounted = fmt.Sprintf("fixed:g=%d", g), true
	var questions strings.Builder
	for k := range prompts {
		fmt.Fprintf(&questions, "{\"prompt\":\"Question %d\",\"answer\":1,\"id\":\"q%d\"}\n", k, k)
	}
	if err := os.WriteFile(filepath.Join(r.dir, "questions.jsonl"), []byte(questions.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, kept := range stops {
		r.killAfter(kept)
	}
	kept, before := r.kept(), waitForBook(server)
	cmd := r.command()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	memory := make(chan int64)
	go func() { memory <- peakMemory(cmd.Process.Pid) }()
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, cmd.Stderr)
	}
	bytes = <-memory
	book, l, budget := server.Book(), r.results(), prompts*g
	if n := r.checkRollouts(); n != budget || l.Ledger.Trained != budget || book.Delivered-before.Delivered < budget-kept {
		t.Errorf("%d rollouts, ledger %+v, %d of them were kept before the last sitting, in which %d were delivered; want %d", n, l.Ledger, kept, book.Delivered-before.Delivered, budget)
	}
	inFlight := len(stops) * concurrency * (g + 1)
	if l.Ledger.Generated != budget+l.Ledger.Extra || l.Ledger.Generated < book.Delivered || l.Ledger.Generated > book.Delivered+inFlight {
		t.Errorf("ledger %+v, want the %d that were delivered and at most the %d in flight", l.Ledger, book.Delivered, inFlight)
	}
	outcomes := readOutcomes(t, filepath.Join(r.dir, "run", "table.csv"))
	for id, o := range outcomes {
		if o[0] != g {
			t.Errorf("prompt %s has %d rollouts, want %d", id, o[0], g)
		}
	}
	t.Logf("%d rollouts of %d prompts in %d requests, %d of them faulty, %d extra", budget, len(outcomes), book.Requests, faults.Load(), l.Ledger.Extra)
	return bytes
}

// peakMemory watches a process until it ends and returns the most memory that it
// held, as Linux counts it; 0 elsewhere. What wait returns is no less than the
// memory of the process that started it, here a server of all completions.
func peakMemory(pid int) (bytes int64) {
	for {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		_, peak, there := strings.Cut(string(status), "VmHWM:")
		var kilobytes int64
		if _, scanErr := fmt.Sscan(peak, &kilobytes); err != nil || !there || scanErr != nil {
			return bytes // it has ended
		}
		bytes = kilobytes << 10
		time.Sleep(5 * time.Millisecond)
	}
}
