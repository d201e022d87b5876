//go:build !race

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"vigorlab/cmd/internal/browser"
	"vigorlab/cmd/vigorlab/internal/notation"
)

// TestExplorePage opens the page of vigorlab explore in a browser, served by the
// command and by another server from files, and holds what it shows to vigorlab
// theory. Nothing in it is random; it waits for conditions, and no limit on time is
// tighter than a second where a twentieth is the aim.
func TestExplorePage(t *testing.T) {
	b := browser.Start(t)
	dir := filepath.Join(t.TempDir(), "site")
	runTable(t, []string{"explore", "--out", dir})
	static := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(static.Close)

	t.Run("served", func(t *testing.T) {
		address, end := serveExplore(t)
		p := openExplorer(t, b, address)
		p.choose("beta:a=0.3,b=0.7", 3, 3, "0.4", "2")
		p.holdsToTheory()
		p.complains(address)
		end()
	})
	t.Run("populations and schedules", func(t *testing.T) {
		p := openExplorer(t, b, static.URL)
		presets := browser.Eval[[]string](p.Page, `[...$("preset").options].filter(o => o.value).map(o => o.value)`)
		if len(presets) < 8 {
			t.Errorf("populations to choose from: %q", presets)
		}
		for _, preset := range presets {
			p.set("preset", preset)
			p.answered()
			if got := browser.Eval[string](p.Page, `$("preset").value`); got != preset {
				t.Errorf("%s is chosen, %q is shown", preset, got)
			}
			p.holdsToTheory()
		}
		p.choose("spiked-beta:dead=0.25,solved=0.125,a=0.5,b=3", 4, 2, "0.25", "4")
		p.holdsToTheory()
		p.choose("point:p=0.25", 1, 6, "0.95", "1")
		p.holdsToTheory()
		if got := browser.Eval[int](p.Page, `document.querySelectorAll("#drawing circle").length`); got != 2 {
			t.Errorf("%d dots for a single p under two rankings, want 2", got)
		}
		p.choose("uniform", 16, 8, "0.5", "4") // groups too large to be run
		p.holdsToTheory()
		if !strings.Contains(p.text("reading"), "the group passes 10000 rollouts") {
			t.Errorf("no curves, and not why: %q", p.text("reading"))
		}
		p.choose("point:p=1", 2, 4, "0.5", "2") // no reward variance: nulls
		p.holdsToTheory()
		p.complains(static.URL)
	})
	t.Run("keys alone", func(t *testing.T) { testExploreKeys(t, openExplorer(t, b, static.URL)) })
	t.Run("faults", func(t *testing.T) { testExploreFaults(t, openExplorer(t, b, static.URL)) })
	t.Run("a view that is shared", func(t *testing.T) {
		p := openExplorer(t, b, static.URL)
		p.choose("mixture:0.5@uniform+0.5@beta:a=1,b=9", 3, 5, "0.35", "1")
		p.Wait(`location.hash.includes("rounds=5")`)
		shared := browser.Eval[string](p.Page, `location.href`)
		other := openExplorer(t, b, shared)
		if got, want := other.text("command"), p.text("command"); got != want {
			t.Errorf("the view that was shared shows %q, want %q", got, want)
		}
		browser.Eval[string](other.Page, `location.hash = "#m0=9&rounds=99&alpha=x&gamma=1&population=uniform"`)
		other.Wait(`$("population").value === "uniform" && $("rounds").value === "8"`) // what a slider can show
		other.answered()
		other.holdsToTheory()
		other.complains(static.URL)
	})
	t.Run("appearance", func(t *testing.T) { testExploreAppearance(t, openExplorer(t, b, static.URL)) })
	t.Run("quick", func(t *testing.T) { testExploreSpeed(t, openExplorer(t, b, static.URL)) })
}

// serveExplore runs the command, and returns its address and what ends it.
func serveExplore(t *testing.T) (address string, end func()) {
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	var stderr bytes.Buffer
	code := make(chan int, 1)
	go func() {
		code <- execute(ctx, []string{"explore"}, w, &stderr)
		w.Close()
	}()
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		t.Fatalf("no address: %v: %s", err, &stderr)
	}
	return strings.TrimSpace(line), func() {
		cancel()
		if got := <-code; got != exitInterrupted || stderr.String() != "vigorlab: interrupted\n" {
			t.Errorf("exit code %d, %q, want %d as of an interrupt", got, &stderr, exitInterrupted)
		}
	}
}

// An explorer is the page in a browser.
type explorer struct {
	*browser.Page
	t *testing.T
}

func openExplorer(t *testing.T, b *browser.Browser, address string) *explorer {
	p := &explorer{b.Open(t, address), t}
	p.answered()
	return p
}

// answered waits until what is shown belongs to what is chosen.
func (p *explorer) answered() {
	p.t.Helper()
	p.Wait(`$("results").dataset.shown === JSON.stringify(query())`)
}

func (p *explorer) text(id string) string {
	p.t.Helper()
	return browser.Eval[string](p.Page, fmt.Sprintf(`$(%q).textContent`, id))
}

// set gives a control a value as a user's input does.
func (p *explorer) set(id string, value any) {
	p.t.Helper()
	browser.Eval[bool](p.Page, fmt.Sprintf(`($(%[1]q).value = %[2]q, $(%[1]q).dispatchEvent(new Event("input", { bubbles: true })))`, id, fmt.Sprint(value)))
}

func (p *explorer) choose(population string, m0, rounds int, alpha, gamma string) {
	p.t.Helper()
	p.set("population", population)
	p.set("m0", m0)
	p.set("rounds", rounds)
	p.set("alpha", alpha)
	p.set("gamma", gamma)
	p.answered()
}

// A cell is a figure of the page.
type cell struct {
	Key, Text string
	Value     *string // in full
}

// holdsToTheory compares every figure with what the command that is shown prints: the
// text as tables have it, and the value to twelve digits.
func (p *explorer) holdsToTheory() {
	p.t.Helper()
	command := p.text("command")
	words := commandsOf(command)
	if len(words) != 1 || len(words[0]) < 2 || words[0][0] != "vigorlab" {
		p.t.Errorf("no command: %q", command)
		return
	}
	var document map[string]any
	if err := json.Unmarshal([]byte(runTable(p.t, append(words[0][1:], "--format", "json"))), &document); err != nil {
		p.t.Fatal(err)
	}
	cells := browser.Eval[[]cell](p.Page,
		`[...document.querySelectorAll("[data-key]")].map(c => ({ key: c.dataset.key, text: c.textContent, value: c.dataset.value }))`)
	if len(cells) != 20 {
		p.t.Errorf("%d figures, want 20", len(cells))
	}
	for _, c := range cells {
		want, known := field(document, strings.Split(c.Key, "."))
		if !known {
			p.t.Errorf("%s: %s is no figure of theory", command, c.Key)
			continue
		}
		if c.Text != notation.Number(want) {
			p.t.Errorf("%s: %s shows %q, want %q", command, c.Key, c.Text, notation.Number(want))
		}
		if (c.Value == nil) != (want == nil) {
			p.t.Errorf("%s: %s has the value %v, want %v", command, c.Key, c.Value, want)
		}
		if c.Value == nil || want == nil {
			continue
		}
		var got float64
		if _, err := fmt.Sscan(*c.Value, &got); err != nil || !(math.Abs(got-*want) <= 1e-12*math.Abs(*want)) {
			p.t.Errorf("%s: %s is %s, want %v", command, c.Key, *c.Value, *want)
		}
	}
}

// field returns a number of a JSON document; nil for null.
func field(document any, path []string) (number *float64, known bool) {
	for _, key := range path {
		object, ok := document.(map[string]any)
		if !ok {
			return nil, false
		}
		if document, ok = object[key]; !ok {
			return nil, false
		}
	}
	x, ok := document.(float64)
	if !ok {
		return nil, document == nil
	}
	return &x, true
}

// complains reports errors of the page, and requests that leave it.
func (p *explorer) complains(address string) {
	p.t.Helper()
	if errs := p.Errors(); len(errs) > 0 {
		p.t.Errorf("the page complains: %q", errs)
	}
	for _, r := range p.Requests() {
		if !strings.HasPrefix(r, strings.TrimSuffix(address, "/")+"/") && !strings.HasPrefix(r, "data:") {
			p.t.Errorf("the page asks for %s", r)
		}
	}
}

// testExploreKeys goes through the page by Tab, moves every slider by the arrows and
// types a spec.
func testExploreKeys(t *testing.T, p *explorer) {
	stops := []string{"preset", "population", "shape", "m0", "rounds", "alpha", "gamma"}
	before := browser.Eval[map[string]string](p.Page, `Object.fromEntries(["shape", ...sliders].map(id => [id, $(id).value]))`)
	for _, id := range stops {
		p.Press(kb.Tab)
		p.Wait(fmt.Sprintf(`document.activeElement.id === %q`, id))
		if outline := browser.Eval[string](p.Page, `getComputedStyle(document.activeElement).outlineStyle`); outline != "solid" {
			t.Errorf("the focus on %s does not show: outline %s", id, outline)
		}
		if _, slides := before[id]; !slides {
			continue
		}
		p.Press(kb.ArrowRight)
		p.Wait(fmt.Sprintf(`Number($(%q).value) > %s && $(%q).value === $(%q).value`, id, before[id], id+"-value", id))
		p.answered()
		if id == "gamma" { // 2.5 asks for half a rollout
			p.Press(kb.ArrowLeft)
			p.Wait(`$("gamma").value === "2"`)
			p.answered()
		}
		p.holdsToTheory()
	}
	for _, id := range []string{"command", "copy"} {
		p.Press(kb.Tab)
		p.Wait(fmt.Sprintf(`[document.activeElement.id, document.activeElement.firstElementChild?.id].includes(%q)`, id))
	}
	p.Press(kb.Enter)
	p.Wait(`$("copied").textContent`)
	browser.Eval[bool](p.Page, `($("population").focus(), $("population").select(), true)`)
	p.Press("beta:a=2,b=3")
	p.answered()
	if !browser.Eval[bool](p.Page, `$("shape").disabled && $("preset").value === ""`) {
		t.Error("a Beta law has a shape to move, or is one of the choices")
	}
	p.holdsToTheory()
	p.complains(browser.Eval[string](p.Page, `location.origin`))
}

// testExploreFaults types what the command refuses, and goes on.
func testExploreFaults(t *testing.T, p *explorer) {
	for _, c := range []struct{ population, gamma string }{
		{"spiked-beta:dead=-0.1,solved=2,a=2,b=6", "2"},
		{"bta:a=1,b=2", "2"},
		{"beta:a=1,b", "2"},
		{"mixture:0.5@uniform+0.6@uniform", "2"},
		{`<img src=x onerror="throw 1">:a=1`, "2"},
		{"uniform", "1.5"},
		{"point:p=2", "2.5"},
		{"", "2"},
	} {
		p.choose(c.population, 2, 4, "0.5", c.gamma)
		var stdout, stderr bytes.Buffer
		args := []string{"theory", "--population", c.population, "--strategy", "vigor:m0=2,rounds=4,alpha=0.5,gamma=" + c.gamma}
		if code := execute(t.Context(), args, &stdout, &stderr); code != exitUsage {
			t.Errorf("%q: exit code %d, want %d", args, code, exitUsage)
		}
		var want []string
		for line := range strings.Lines(stderr.String()) {
			if fault, ok := strings.CutPrefix(strings.TrimSpace(line), "vigorlab: "); ok {
				want = append(want, fault)
			}
		}
		got := browser.Eval[[]string](p.Page, `[...document.querySelectorAll(".faults p")].map(f => f.textContent)`)
		if !slices.Equal(got, want) {
			t.Errorf("%q: the page says %q, want %q", args, got, want)
		}
		if invalid := browser.Eval[string](p.Page, `$("population").getAttribute("aria-invalid")`); (invalid == "true") != strings.Contains(stderr.String(), "--population") {
			t.Errorf("%q: the field is marked invalid: %s", args, invalid)
		}
		if n := browser.Eval[int](p.Page, `document.querySelectorAll("[data-value], #drawing:not([hidden])").length`); n != 0 {
			t.Errorf("%q: %d figures or drawings of something else stay", args, n)
		}
	}
	p.choose("table:path=t.csv", 2, 4, "0.5", "2")
	if want := "--population table: open t.csv: no files can be read here"; p.text("population-faults") != want {
		t.Errorf("of a file the page says %q, want %q", p.text("population-faults"), want)
	}
	p.choose("uniform", 2, 4, "0.5", "2")
	p.holdsToTheory()
	p.complains(browser.Eval[string](p.Page, `location.origin`))
}

// testExploreAppearance looks at contrast and width: figures, figures that do not
// exist, and a fault.
func testExploreAppearance(t *testing.T, p *explorer) {
	for _, population := range []string{"beta:a=0.3,b=0.7", "pareto-variance:shape=1.5,min=0.01", "beta:a=0.3"} {
		p.choose(population, 2, 4, "0.5", "2")
		for _, scheme := range []string{"light", "dark"} {
			for _, width := range []int64{1280, 360} {
				p.Scheme(scheme)
				p.Resize(width, 800)
				p.readable(fmt.Sprintf("%s, %s, %d pixels", population, scheme, width))
			}
		}
	}
	p.complains(browser.Eval[string](p.Page, `location.origin`))
}

// readable checks that the page fits its window, and the contrast of all its texts.
func (p *explorer) readable(where string) {
	p.t.Helper()
	if over := p.Overflow(); over > 0 {
		p.t.Errorf("%s: %v pixels too wide", where, over)
	}
	texts := p.Texts()
	if len(texts) < 40 {
		p.t.Errorf("%s: %d texts, want the whole page", where, len(texts))
	}
	for _, text := range texts {
		if !(text.Ratio >= 4.5) {
			p.t.Errorf("%s: %+v, want a contrast of 4.5", where, text)
		}
	}
}

// testExploreSpeed moves alpha, one change at a time, and then leaves a long
// computation behind.
func testExploreSpeed(t *testing.T, p *explorer) {
	p.choose("beta:a=0.3,b=0.7", 2, 4, "0.5", "2")
	var took []float64
	for i := range 21 {
		p.set("alpha", fmt.Sprintf("%.2f", 0.3+0.05*float64(i%8)))
		p.answered()
		took = append(took, browser.Eval[float64](p.Page, `Number($("results").dataset.ms)`))
	}
	slices.Sort(took)
	t.Logf("a change takes %.1f ms (median; %.1f to %.1f)", took[len(took)/2], took[0], took[len(took)-1])
	if !(took[0] < 1000) { // the quickest: others may have the machine
		t.Errorf("every change takes %.0f ms or more, want less than 1000", took[0])
	}
	// In the page, so that the change surely comes while it computes: a group of 4,080
	// takes seconds anywhere.
	browser.Eval[bool](p.Page, `(window.left = undefined, window.watch = setInterval(() => {
		if (!asked || asked.query.rounds !== 8 || performance.now() - asked.since <= slow) return;
		clearInterval(watch);
		left = worker;
		$("rounds").value = 2;
		$("rounds").dispatchEvent(new Event("input", { bubbles: true }));
	}, 10), true)`)
	p.set("m0", 16)
	p.set("rounds", 8)
	p.Wait(`window.left`)
	p.answered()
	if !browser.Eval[bool](p.Page, `window.left !== worker`) {
		t.Error("a change waits for the computation before it")
	}
	p.holdsToTheory()
	p.complains(browser.Eval[string](p.Page, `location.origin`))
}

// TestExploreRefuses looks at the ways in which the command cannot start.
func TestExploreRefuses(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, port, err := net.SplitHostPort(taken.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		args []string
		path string // PATH
		code int
		want string
	}{
		{[]string{"--port", "x"}, "", exitUsage, "--port = x, want a whole number in [0, 65535]"},
		{[]string{"--port", port, "--out", "site"}, "", exitUsage, "--port is for a page that is served"},
		{[]string{"--port", port}, "", exitFailed, "--port " + port + ": listen tcp 127.0.0.1:" + port},
		{[]string{"--out", ""}, "", exitUsage, "--out is empty, want a directory"},
		{nil, t.TempDir(), exitFailed, "it needs the go command, which is not in PATH; install Go"},
		{[]string{"--out", "site"}, t.TempDir(), exitFailed, "it needs the go command, which is not in PATH; install Go"},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			if c.path != "" {
				t.Setenv("PATH", c.path)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			var stdout, stderr bytes.Buffer
			code := execute(ctx, append([]string{"explore"}, c.args...), &stdout, &stderr)
			if code != c.code || !strings.Contains(stderr.String(), c.want) || strings.Count(stderr.String(), "vigorlab: ") != 1 || stdout.Len() > 0 {
				t.Errorf("exit code %d, %q, %q, want %d, %q", code, &stdout, &stderr, c.code, c.want)
			}
			if left, err := filepath.Glob("*"); err != nil || len(left) > 0 {
				t.Errorf("left behind: %q, %v", left, err)
			}
		})
	}
}
