//go:build !race

package browser

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// patience is how long a start, and every single step, may take: a machine may be
// busy with other tests.
const patience = 3 * time.Minute

// programs are the names that Chromium goes by, Debian's first.
var programs = []string{"chromium", "chromium-browser", "google-chrome"}

// A Browser is a running Chromium, that the subtests of a test share.
type Browser struct{ ctx context.Context }

// Start starts Chromium, which ends with the test. Without a Chromium the test is
// skipped, or fails where skipping is forbidden.
func Start(t *testing.T) *Browser {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program(t)),
		chromedp.DisableGPU,
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"),
	)
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // as root Chromium does not start otherwise
	}
	allocated, end := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(end)
	ctx, cancel := chromedp.NewContext(allocated)
	t.Cleanup(cancel)
	late := time.AfterFunc(patience, cancel) // no deadline of ctx: the browser would end with it
	defer late.Stop()
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("Chromium does not start: %v", err)
	}
	return &Browser{ctx}
}

// program returns the path of Chromium.
func program(t *testing.T) string {
	t.Helper()
	for _, name := range programs {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	const missing = "no chromium: apt-get install chromium"
	if os.Getenv("VIGORLAB_NO_SKIP") != "" {
		t.Fatal(missing)
	}
	t.Skip(missing)
	return ""
}

// A Page is a tab of its own. Its methods fail the test where a step fails or takes
// longer than it may.
type Page struct {
	t     *testing.T
	ctx   context.Context
	width int64 // of the window, in CSS pixels

	mutex    sync.Mutex
	errors   []string
	requests []string
}

// Open opens an address, file:///... or http://127.0.0.1..., in a new tab, 1280 by
// 800 pixels and light, and waits until it is loaded. The tab closes with the test.
func (b *Browser) Open(t *testing.T, address string) *Page {
	t.Helper()
	p := &Page{t: t}
	ctx, cancel := chromedp.NewContext(b.ctx, chromedp.WithListener(p.listen))
	t.Cleanup(cancel)
	p.ctx = ctx
	if err := chromedp.Do(ctx); err != nil { // the tab would end with a deadline of its first step
		t.Fatalf("no tab for %s: %v", address, err)
	}
	p.Resize(1280, 800)
	p.Scheme("light")
	p.do("open "+address, chromedp.Navigate(address))
	return p
}

// listen keeps what the page asks for and complains of.
func (p *Page) listen(event any) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		p.requests = append(p.requests, e.Request.URL)
	case *runtime.EventExceptionThrown:
		p.errors = append(p.errors, thrown(e.ExceptionDetails))
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeAssert {
			p.errors = append(p.errors, said(e.Args))
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError {
			p.errors = append(p.errors, e.Entry.Text+" "+e.Entry.URL)
		}
	}
}

// thrown returns the text of an exception.
func thrown(d *runtime.ExceptionDetails) string {
	if d.Exception != nil && d.Exception.Description != "" {
		return d.Exception.Description
	}
	return d.Text
}

// said returns what console.error was given.
func said(args []*runtime.RemoteObject) string {
	text := "console.error:"
	for _, a := range args {
		text += fmt.Sprintf(" %s%s", a.Value, a.Description)
	}
	return text
}

// Errors returns what the page has complained of so far: exceptions that nothing
// caught, console.error, what its policy or the network refused.
func (p *Page) Errors() []string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return slices.Clone(p.errors)
}

// Requests returns every address that was asked for so far, the page's own first.
func (p *Page) Requests() []string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return slices.Clone(p.requests)
}

// Resize gives the page a size in CSS pixels; below 600 of width it is a phone's.
func (p *Page) Resize(width, height int64) {
	p.t.Helper()
	p.width = width
	var options []chromedp.EmulateViewportOption
	if width < 600 {
		options = append(options, chromedp.EmulateMobile, chromedp.EmulateTouch, chromedp.EmulatePortrait)
	}
	p.do(fmt.Sprintf("resize to %d by %d", width, height), chromedp.EmulateViewport(width, height, options...))
}

// Scheme sets what the reader prefers, "light" or "dark".
func (p *Page) Scheme(scheme string) {
	p.t.Helper()
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}
	p.do("prefer "+scheme, func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, media)
		return chromedp.Void{}, err
	})
}

// Click scrolls to the first element of a CSS selector and clicks its middle.
func (p *Page) Click(selector string) {
	p.t.Helper()
	p.do("click "+selector, chromedp.Click(chromedp.CSS(selector)))
}

// Press presses keys one after the other, where the focus is: text, or constants of
// chromedp's package kb.
func (p *Page) Press(keys string) {
	p.t.Helper()
	p.do(fmt.Sprintf("press %q", keys), chromedp.KeyEvent(keys))
}

// Screenshot returns the whole page as a PNG, at its present width.
func (p *Page) Screenshot() []byte {
	p.t.Helper()
	return run(p, "screenshot", chromedp.FullScreenshot(100))
}

// PDF prints the page on A4, by its own margins where it states some.
func (p *Page) PDF() []byte {
	p.t.Helper()
	return run(p, "print", chromedp.PrintToPDF(chromedp.PDFPaper(chromedp.PaperA4), chromedp.PDFPreferCSSPageSize()))
}

// Overflow returns by how many CSS pixels the page is wider than its window: 0
// where it does not scroll sideways. A page that does not adapt to phones is as wide
// as a desktop's on one.
func (p *Page) Overflow() float64 {
	p.t.Helper()
	const width = `(root => root.scrollWidth - Math.min(root.clientWidth, %d))(document.documentElement)`
	return Eval[float64](p, fmt.Sprintf(width, p.width))
}

// A Text is a piece of text that the page shows, with its contrast.
type Text struct {
	Text       string  `json:"text"`
	Element    string  `json:"element"` // that holds it: td.number
	Foreground string  `json:"foreground"`
	Background string  `json:"background"`
	Ratio      float64 `json:"ratio"` // of WCAG 2.2, in [1, 21]; 0 where nothing opaque is behind the text
}

//go:embed contrast.js
var contrast string

// Texts returns every piece of text that the page shows, also below the window,
// with the contrast of its computed colours. Backgrounds that are images, and shapes
// of SVG behind text, are not looked at.
func (p *Page) Texts() []Text {
	p.t.Helper()
	return Eval[[]Text](p, contrast)
}

// Wait waits until a JavaScript expression is true.
func (p *Page) Wait(expression string) {
	p.t.Helper()
	for deadline := time.Now().Add(patience); !Eval[bool](p, "!!("+expression+")"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.t.Fatalf("still not true: %s", expression)
		}
	}
}

// Eval returns the value of a JavaScript expression; what it has in JSON must fit T.
func Eval[T any](p *Page, expression string) T {
	p.t.Helper()
	return run(p, expression, chromedp.Evaluate[T](expression))
}

func (p *Page) do(what string, step chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	run(p, what, step)
}

// run takes one step.
func run[T any](p *Page, what string, step chromedp.Action[T]) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, step)
	if err != nil {
		p.t.Fatalf("%s: %v", what, err)
	}
	return value
}
