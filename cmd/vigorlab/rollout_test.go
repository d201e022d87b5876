package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"vigorlab/distributions/table"
	"vigorlab/sim/source/live/livetest"
)

// livePrompts is the size of the data set of the tests against a server.
const livePrompts = 30

// A liveRun is `vigorlab rollout` against a server of the tests, in a folder of
// its own.
type liveRun struct {
	t        testing.TB
	dir      string
	url      string
	strategy string
	world    []string // model, prompts and what judges them
	args     []string // beside those that every run has
	env      []string

	uncounted bool // the server does not count the tokens of every answer
}

// serveAnswers starts a server whose completions a numeric verifier judges: prompt
// k is answered 1, and right, with probability k/livePrompts, k modulo livePrompts.
func serveAnswers(t *testing.T, c livetest.Config) *livetest.Server {
	t.Helper()
	c.Seed = 7
	c.Success = func(prompt string) float64 {
		var k int
		if _, err := fmt.Sscanf(prompt, "Question %d", &k); err != nil {
			t.Errorf("the server is asked %q", prompt)
		}
		return float64(k%livePrompts) / livePrompts
	}
	if c.Answer == nil {
		c.Answer = answerText
	}
	return livetest.New(t, c)
}

func answerText(_ string, right bool, serial int) string {
	if right {
		return fmt.Sprintf("try %d: the answer is 1", serial)
	}
	return fmt.Sprintf("try %d: the answer is 0", serial)
}

func newLiveRun(t testing.TB, url string, args ...string) *liveRun {
	t.Helper()
	r := &liveRun{t: t, dir: t.TempDir(), url: url, strategy: twoRounds, args: args, env: append(os.Environ(), "OPENAI_API_KEY=")}
	r.world = []string{"--model", "toy", "--prompts", "questions.jsonl", "--verifier", "numeric", "--max-tokens", "32"}
	var b strings.Builder
	for k := range livePrompts {
		fmt.Fprintf(&b, "{\"prompt\":\"Question %d\",\"answer\":1,\"id\":\"q%d\"}\n", k, k)
	}
	if err := os.WriteFile(filepath.Join(r.dir, "questions.jsonl"), []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	return r
}

// liveConcurrency is how many requests are in flight.
const liveConcurrency = 4

// twoRounds asks 2 rollouts of every prompt and 4 of the better half.
const (
	twoRounds = "vigor:rounds=2"
	twoBudget = 2*livePrompts + 4*livePrompts/2
)

func (r *liveRun) command() *exec.Cmd {
	hearInterrupts()
	args := append([]string{
		"rollout", "--base-url", r.url, "--strategy", r.strategy, "--out", "run", "--concurrency", fmt.Sprint(liveConcurrency),
	}, r.world...)
	cmd := exec.Command("vigorlab", append(args, r.args...)...)
	cmd.Dir, cmd.Env = r.dir, r.env
	cmd.Stdout, cmd.Stderr = new(bytes.Buffer), new(bytes.Buffer)
	return cmd
}

// run runs the command to its end, and returns its exit code and standard error.
func (r *liveRun) run() (code int, stderr string) {
	r.t.Helper()
	cmd := r.command()
	err := cmd.Run()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		r.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), fmt.Sprint(cmd.Stderr)
}

// done runs the command, which must succeed.
func (r *liveRun) done() (stderr string) {
	r.t.Helper()
	code, stderr := r.run()
	if code != exitDone {
		r.t.Fatalf("exit code %d: %s", code, stderr)
	}
	return stderr
}

// journaled counts the rollouts and requests in the journal.
func (r *liveRun) journaled() (rollouts, requests int) {
	content, err := os.ReadFile(filepath.Join(r.dir, "run", "journal"))
	if err != nil {
		return 0, 0
	}
	whole := string(content[:bytes.LastIndexByte(content, '\n')+1])
	return strings.Count(whole, ` {"rollout":`), strings.Count(whole, ` {"asked":`)
}

// kept counts the rollouts in the journal.
func (r *liveRun) kept() int {
	n, _ := r.journaled()
	return n
}

// A dam answers requests up to a number, and lets the client of the others wait until
// it goes: so that a run is stopped where the test wants it.
type dam struct{ open atomic.Int64 }

func (d *dam) fault(arrival int) livetest.Fault {
	if int64(arrival) < d.open.Load() {
		return livetest.None
	}
	return livetest.Hang
}

// untilDammed opens the dam for as many further requests, starts the command and
// waits until the rest of what it sends waits, all that came being on the disk.
func (r *liveRun) untilDammed(server *livetest.Server, d *dam, requests int) *exec.Cmd {
	r.t.Helper()
	open := server.Book().Requests + requests
	d.open.Store(int64(open))
	cmd := r.command()
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		book := server.Book()
		kept, asked := r.journaled()
		if book.InFlight == liveConcurrency && kept == book.Delivered && asked == book.Requests {
			return cmd
		}
		if time.Now().After(deadline) {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			r.t.Fatalf("%d rollouts of %d requests are kept of book %+v: %s", kept, asked, book, cmd.Stderr)
		}
	}
}

// A liveLedger is what results.json says was spent.
type liveLedger struct {
	Ledger struct {
		Generated, Extra, Trained, Rounds int
		TokensOut                         int `json:"tokens_out"`
		TokensIn                          int `json:"tokens_in"`
	}
	Eta    struct{ Mean, SE *float64 }
	Judged map[string]int
}

func (r *liveRun) results() (l liveLedger) {
	r.t.Helper()
	content, err := os.ReadFile(filepath.Join(r.dir, "run", "results.json"))
	if err == nil {
		err = json.Unmarshal(content, &l)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return l
}

// checkRollouts checks that every rollout of the budget is there once, judged as
// its text says, and returns how many.
func (r *liveRun) checkRollouts() int {
	r.t.Helper()
	file, err := os.Open(filepath.Join(r.dir, "run", "rollouts.jsonl"))
	if err != nil {
		r.t.Fatal(err)
	}
	defer file.Close()
	seen, texts := map[string]bool{}, map[string]bool{}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var l struct {
			PromptID   string `json:"prompt_id"`
			Prompt     string
			Index      int
			Completion string
			Reward     float64
			Tokens     int
		}
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			r.t.Fatal(err)
		}
		key := fmt.Sprint(l.PromptID, " ", l.Index)
		if seen[key] || texts[l.Completion] {
			r.t.Errorf("rollout %s, %q, is there twice", key, l.Completion)
		}
		seen[key], texts[l.Completion] = true, true
		if right := strings.HasSuffix(l.Completion, "is 1"); right != (l.Reward == 1) || (l.Tokens < 1 && !r.uncounted) || "q"+strings.TrimPrefix(l.Prompt, "Question ") != l.PromptID {
			r.t.Errorf("%s", lines.Bytes())
		}
	}
	if err := lines.Err(); err != nil {
		r.t.Fatal(err)
	}
	return len(seen)
}

// TestLiveRun runs undisturbed: the budget is exact, and the table has what the
// server's book has.
func TestLiveRun(t *testing.T) {
	for _, api := range []string{apiChat, apiCompletions} {
		server := serveAnswers(t, livetest.Config{})
		r := newLiveRun(t, server.URL, "--api", api, "--holdout", "3")
		if stderr := r.done(); strings.Contains(stderr, "going on") {
			t.Errorf("a new run goes on: %s", stderr)
		}
		const budget = twoBudget + 3*livePrompts
		book, l := server.Book(), r.results()
		if n := r.checkRollouts(); n != budget || book.Generated != budget || l.Ledger.Generated != budget || l.Ledger.Extra != 3*livePrompts || l.Ledger.Rounds != 3 {
			t.Errorf("%s: %d rollouts, %d generated, ledger %+v, want %d, of them %d held out", api, n, book.Generated, l.Ledger, budget, 3*livePrompts)
		}
		if l.Eta.Mean == nil || l.Ledger.TokensOut == 0 || l.Ledger.TokensIn == 0 || l.Judged["right"]+l.Judged["wrong"] != budget {
			t.Errorf("%s: results %+v", api, l)
		}
		outcomes := readOutcomes(t, filepath.Join(r.dir, "run", "table.csv"))
		for k := range livePrompts {
			got, want := outcomes[fmt.Sprintf("q%d", k)], book.Prompts[fmt.Sprintf("Question %d", k)]
			if got != [2]int{want.Delivered, want.Right} {
				t.Errorf("%s: prompt %d has %d rollouts, %d right, the server's book %+v", api, k, got[0], got[1], want)
			}
		}
		imported := exec.Command("vigorlab", "import", "run/rollouts.jsonl", "--out", "again.csv", "--quiet")
		imported.Dir = r.dir
		if out, err := imported.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		for _, name := range []string{"again.csv", "run/table.csv"} {
			if header := strings.SplitN(read(t, filepath.Join(r.dir, name)), "\n", 2)[0]; header != "prompt_id,n,successes,outcomes,tokens,truncated" {
				t.Errorf("%s has the columns %s", name, header)
			}
		}
		if read(t, filepath.Join(r.dir, "again.csv")) != read(t, filepath.Join(r.dir, "run/table.csv")) {
			t.Errorf("%s: import reads other outcomes than table.csv has", api)
		}
	}
}

func read(t testing.TB, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// readOutcomes returns rollouts and successes by prompt.
func readOutcomes(t *testing.T, path string) map[string][2]int {
	t.Helper()
	tab, err := table.Read(strings.NewReader(read(t, path)), path)
	if err != nil {
		t.Fatal(err)
	}
	outcomes := map[string][2]int{}
	for _, row := range tab.Rows {
		outcomes[row.PromptID] = [2]int{row.N, row.S}
	}
	return outcomes
}

// TestLiveKilled kills a run in the midst of either round, leaves half a line behind
// its journal, and goes on: the last sitting asks for exactly what is missing, and
// what was in flight is charged, no more.
func TestLiveKilled(t *testing.T) {
	d := new(dam)
	server := serveAnswers(t, livetest.Config{Fault: d.fault})
	r := newLiveRun(t, server.URL)
	inFlight := 0
	for i, requests := range []int{12, 14, 10} { // twice in round 1, whose 30 requests are of 2, once in round 2
		cmd := r.untilDammed(server, d, requests)
		if i == 1 { // another run may not come between
			code, stderr := r.run()
			if code != exitUsage || !strings.Contains(stderr, "is being written by another run") {
				t.Errorf("a second run: exit code %d, %s", code, stderr)
			}
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
		inFlight += liveConcurrency * []int{2, 2, 4}[i]
	}
	journal, err := os.OpenFile(filepath.Join(r.dir, "run", "journal"), os.O_WRONLY|os.O_APPEND, 0)
	if err == nil {
		_, err = journal.WriteString(`0badcafe {"rollout":{"x":3,"index":1,"rou`)
		err = errors.Join(err, journal.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{"fixed:g=2", "vigor:rounds=2,ties=index"} {
		refused := *r
		refused.strategy = other
		if code, stderr := refused.run(); code != exitUsage || !strings.Contains(stderr, "incomplete run of other specs") {
			t.Errorf("a run of another strategy: exit code %d, %s", code, stderr)
		}
	}
	kept, before := r.kept(), waitForBook(server)
	d.open.Store(math.MaxInt64)
	stderr := r.done()
	if want := fmt.Sprintf("going on after the %d rollouts", kept); kept != 2*30+4*6 || !strings.Contains(stderr, want) {
		t.Errorf("%d are kept, and standard error is %q, want 84 and %q", kept, stderr, want)
	}
	after, l := server.Book(), r.results()
	if n := r.checkRollouts(); n != twoBudget || after.Generated-before.Generated != twoBudget-kept {
		t.Errorf("%d rollouts, of which the last sitting asked for %d, want %d and %d", n, after.Generated-before.Generated, twoBudget, twoBudget-kept)
	}
	if l.Ledger.Extra != inFlight || l.Ledger.Generated != after.Generated {
		t.Errorf("ledger %+v, want %d extra, what was in flight, and the %d of the server's book", l.Ledger, inFlight, after.Generated)
	}
}

// waitForBook returns the book once no request is in flight.
func waitForBook(s *livetest.Server) livetest.Book {
	for s.Book().InFlight > 0 {
		time.Sleep(time.Millisecond)
	}
	return s.Book()
}

// TestLiveIgnoresN: of a server that makes one completion a request no more is charged
// at a kill than twice the requests in flight: asked for two at first, then one by one.
func TestLiveIgnoresN(t *testing.T) {
	d := new(dam)
	server := serveAnswers(t, livetest.Config{IgnoreN: true, Fault: d.fault})
	r := newLiveRun(t, server.URL)
	r.strategy = "fixed:g=16"
	const answered, budget = 100, 16 * livePrompts
	d.open.Store(answered)
	cmd := r.command()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(patience); server.Book().InFlight < liveConcurrency || r.kept() < answered; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Errorf("%d rollouts are kept of book %+v: %s", r.kept(), server.Book(), cmd.Stderr)
			break
		}
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait() // it was killed
	waitForBook(server)
	d.open.Store(math.MaxInt64)
	r.done()
	book, l := server.Book(), r.results()
	if n := r.checkRollouts(); n != budget || l.Ledger.Extra < liveConcurrency || l.Ledger.Extra > 2*liveConcurrency || l.Ledger.Generated < book.Generated {
		t.Errorf("%d rollouts, ledger %+v, want %d and %d to %d extra; the server made %d", n, l.Ledger, budget, liveConcurrency, 2*liveConcurrency, book.Generated)
	}
}

// TestLiveInterrupted: an interrupt ends a run in time, and says how it goes on. As in
// endInTime, one of three tries must be in time.
func TestLiveInterrupted(t *testing.T) {
	var took, most time.Duration
	for range 3 {
		if took, most = interruptLive(t); took <= most {
			return
		}
	}
	t.Errorf("ended %v after the interrupt, want at most %v", took, most)
}

// interruptLive interrupts a run, and lets it go on. It returns how long the end took, and
// how long it may take.
func interruptLive(t *testing.T) (took, most time.Duration) {
	t.Helper()
	d := new(dam)
	server := serveAnswers(t, livetest.Config{Fault: d.fault})
	r := newLiveRun(t, server.URL)
	cmd := r.untilDammed(server, d, 34)
	sent := time.Now()
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // its code tells
	took = time.Since(sent)
	most, err := longestEnd(took)
	if code := cmd.ProcessState.ExitCode(); err != nil || code != exitInterrupted {
		t.Errorf("%v, exit code %d, want %d: %s", err, code, exitInterrupted, cmd.Stderr)
	}
	if want := "hint: give the same command again to go on; run keeps the rollouts that came"; !strings.Contains(fmt.Sprint(cmd.Stderr), want) {
		t.Errorf("standard error %q, want %q", cmd.Stderr, want)
	}
	kept, before := r.kept(), waitForBook(server)
	d.open.Store(math.MaxInt64)
	r.done()
	if n, asked := r.checkRollouts(), server.Book().Generated-before.Generated; n != twoBudget || asked != twoBudget-kept {
		t.Errorf("%d rollouts, %d of them asked for in the end, want %d and %d", n, asked, twoBudget, twoBudget-kept)
	}
	if l := r.results(); l.Ledger.Generated != server.Book().Generated || l.Ledger.Extra != 4*liveConcurrency {
		t.Errorf("ledger %+v, want the %d that were generated, 16 of them extra", l.Ledger, server.Book().Generated)
	}
	return took, most
}

// TestLiveServerGone: a server that goes away ends the run with its last error; it
// goes on at the server's next address.
func TestLiveServerGone(t *testing.T) {
	d := new(dam)
	server := serveAnswers(t, livetest.Config{Fault: d.fault})
	first := httptest.NewServer(server)
	r := newLiveRun(t, first.URL+"/v1", "--retries", "1", "--max-failures", "4", "--quiet")
	cmd := r.untilDammed(server, d, 20)
	first.Listener.Close() // what it refuses from now on
	first.CloseClientConnections()
	_ = cmd.Wait() // its code tells
	first.Close()
	stderr := fmt.Sprint(cmd.Stderr)
	if code := cmd.ProcessState.ExitCode(); code != exitFailed || !strings.Contains(stderr, "connection refused") || !strings.Contains(stderr, "hint: give the same command again") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	kept, before := r.kept(), waitForBook(server)
	d.open.Store(math.MaxInt64)
	r.url = server.URL
	r.done()
	if n, asked := r.checkRollouts(), server.Book().Generated-before.Generated; n != twoBudget || asked != twoBudget-kept {
		t.Errorf("%d rollouts, %d of them asked for in the end, want %d and %d", n, asked, twoBudget, twoBudget-kept)
	}
}

// TestLiveFaults: whatever the server does wrong, the budget is exact, what it made
// too much is charged, and the key is shown nowhere, though every error of the
// server shows it.
func TestLiveFaults(t *testing.T) {
	const key = "sk-do-not-show-1234"
	faults := []livetest.Fault{
		livetest.None, livetest.More, livetest.Busy, livetest.Fewer, livetest.HTML, livetest.None, livetest.ErrorBody, livetest.Broken, livetest.More, livetest.Empty,
	}
	server := serveAnswers(t, livetest.Config{Key: key, RetryAfter: "0", Fault: func(arrival int) livetest.Fault { return faults[arrival%len(faults)] }})
	// Of two requests in flight chance decides which meets the next fault: with the usual
	// 5 retries one of some hundred runs ended.
	r := newLiveRun(t, server.URL, "--max-failures", "50", "--retries", "50", "--concurrency", "2")
	r.env = append(r.env, "OPENAI_API_KEY="+key)
	stderr := r.done()
	book, l := server.Book(), r.results()
	if n := r.checkRollouts(); n != twoBudget || l.Ledger.Extra != book.Delivered-twoBudget || l.Ledger.Extra == 0 {
		t.Errorf("%d rollouts, ledger %+v, want %d and the other %d of the server's book as extra", n, l.Ledger, twoBudget, book.Delivered-twoBudget)
	}
	if !strings.Contains(stderr, "requests failed and were asked again") {
		t.Errorf("nothing is said of failed requests: %s", stderr)
	}
	refused := newLiveRun(t, server.URL, "--max-failures", "2", "--retries", "0")
	refused.env = append(refused.env, "OPENAI_API_KEY="+key+"x")
	code, wrong := refused.run()
	if code != exitFailed {
		t.Errorf("a wrong key: exit code %d: %s", code, wrong)
	}
	for _, dir := range []string{r.dir, refused.dir} {
		err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && strings.Contains(read(t, path), "sk-do-not-show") {
				t.Errorf("%s shows the key", path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range []string{stderr, wrong} {
		if strings.Contains(text, "sk-do-not-show") {
			t.Errorf("standard error shows the key: %s", text)
		}
	}
}

// TestLiveCutOff: many completions that were cut off are warned of.
func TestLiveCutOff(t *testing.T) {
	const warning = "100 % of the completions were cut off by --max-tokens"
	server := serveAnswers(t, livetest.Config{})
	if stderr := newLiveRun(t, server.URL).done(); strings.Contains(stderr, "cut off") {
		t.Errorf("whole completions: %s", stderr)
	}
	if stderr := newLiveRun(t, server.URL, "--max-tokens", "1").done(); !strings.Contains(stderr, warning) {
		t.Errorf("%q is not in %s", warning, stderr)
	}
}

// TestLiveNeutralSampling: neutral values are sent, with a seed of its own for every
// completion where seeds are wanted, and run.json has them.
func TestLiveNeutralSampling(t *testing.T) {
	server := serveAnswers(t, livetest.Config{})
	r := newLiveRun(t, server.URL, "--send-seed", "--batch", "3", "--stop", "END", "--template", "t.txt", "--api", apiCompletions)
	r.strategy = "fixed:g=4"
	if err := os.WriteFile(filepath.Join(r.dir, "t.txt"), []byte("{{.Prompt}}\nA:"), 0o666); err != nil {
		t.Fatal(err)
	}
	r.done()
	seeds := map[any]bool{}
	for _, body := range server.Requests() {
		seeds[body["seed"]] = true
		if body["temperature"] != 1.0 || body["top_p"] != 1.0 || body["max_tokens"] != 32.0 || !strings.HasSuffix(body["prompt"].(string), "\nA:") {
			t.Errorf("the server was sent %v", body)
		}
	}
	if len(seeds) != 12 {
		t.Errorf("%d seeds for 12 completions", len(seeds))
	}
	run := read(t, filepath.Join(r.dir, "run", "run.json"))
	for _, want := range []string{`"temperature": 1`, `"top_k": 0`, `"max_tokens": 32`, `"seed": 1`, `"END"`} {
		if !strings.Contains(run, want) {
			t.Errorf("run.json lacks %s", want)
		}
	}
	var record struct {
		Specs struct {
			Sampling map[string]any `json:"sampling"`
		} `json:"specs"`
	}
	if err := json.Unmarshal([]byte(run), &record); err != nil {
		t.Fatal(err)
	}
	body := server.Requests()[0]
	for _, name := range strings.Fields("min_p repetition_penalty repeat_penalty presence_penalty frequency_penalty") {
		if body[name] == nil || record.Specs.Sampling[name] != body[name] {
			t.Errorf("%s = %v was sent, run.json has %v", name, body[name], record.Specs.Sampling[name])
		}
	}
	for name := range body { // whatever is sent beside the prompt
		if _, recorded := record.Specs.Sampling[name]; !recorded && !slices.Contains([]string{"model", "prompt", "n"}, name) {
			t.Errorf("%s is sent and not recorded", name)
		}
	}
	if strings.Contains(run, "notices") {
		t.Errorf("a server that refuses nothing: %s", run)
	}
}

// TestLiveNoiseIsThatOfGrade: label noise turns the rollouts of a run that it turns
// when they are graded, by prompt, completion and index.
func TestLiveNoiseIsThatOfGrade(t *testing.T) {
	const noisy = "flip:q=0.3@numeric"
	r := newLiveRun(t, serveAnswers(t, livetest.Config{}).URL)
	r.world[slices.Index(r.world, "numeric")], r.strategy = noisy, "fixed:g=4"
	r.done()
	log := filepath.Join(r.dir, "run", "rollouts.jsonl")
	for verifier, same := range map[string]bool{noisy: true, "numeric": false} {
		document, _ := runJSON(t, "grade", log, "--verifier", verifier)
		rates := document.(map[string]any)["rates"].(map[string]any)
		if got := rates["agreement"].(map[string]any)["mean"]; (got == 1.) != same {
			t.Errorf("%s agrees with %v of the rollouts that %s judged, want all: %v", verifier, got, noisy, same)
		}
	}
}

// TestLiveNotices: what a server refuses or ignores is in run.json.
func TestLiveNotices(t *testing.T) {
	server := serveAnswers(t, livetest.Config{IgnoreN: true, Refuse: []string{"min_p"}})
	r := newLiveRun(t, server.URL, "--quiet")
	r.done()
	run := read(t, filepath.Join(r.dir, "run", "run.json"))
	for _, want := range []string{"the server refuses min_p: it is not sent any more", "the server ignores n"} {
		if strings.Count(run, want) != 1 {
			t.Errorf("%q is in run.json %d times, want once: %s", want, strings.Count(run, want), run)
		}
	}
}
