//go:build !race

package main

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"vigorlab/cmd/internal/browser"
)

// TestReportInABrowser opens the page of two runs in Chromium. Nothing in it is
// random; every step waits for its condition.
func TestReportInABrowser(t *testing.T) {
	b := browser.Start(t)
	dir := t.TempDir()
	page := filepath.Join(dir, "page.html")
	ladder := runOf(t, "verify", "--quick", "--only", "2.closed-form,2.published-speedup")
	easy := runOf(t, "simulate", "--population", "beta:a=0.3,b=0.7", "--batch", "16", "--replicates", "20")
	runTable(t, []string{"report", ladder, easy, "--out", page})
	address := (&url.URL{Scheme: "file", Path: filepath.ToSlash(page)}).String()
	p := b.Open(t, address)

	t.Run("it asks for nothing", func(t *testing.T) {
		if got := p.Requests(); len(got) != 1 || got[0] != address {
			t.Errorf("requests %q, want the page alone", got)
		}
	})
	t.Run("sorting", func(t *testing.T) {
		const table = `[...document.querySelectorAll("table")].find(t => t.caption.textContent.includes("claims of rung 2"))`
		column := func() []string {
			return browser.Eval[[]string](p, `[...`+table+`.tBodies[0].rows].map(r => r.cells[2].querySelector("data").value)`)
		}
		rising := func(a, c string) int {
			x, errX := strconv.ParseFloat(a, 64)
			y, errY := strconv.ParseFloat(c, 64)
			if errX != nil || errY != nil {
				t.Fatal(errX, errY)
			}
			return int(1e6 * (x - y))
		}
		before := column()
		if len(before) != 7 || slices.IsSortedFunc(before, rising) {
			t.Fatalf("estimates %q, want seven that are not in order", before)
		}
		browser.Eval[bool](p, table+`.tHead.rows[0].cells[2].id = "estimate", true`)
		p.Click("#estimate button")
		p.Wait(`document.querySelector("#estimate").ariaSort === "ascending"`)
		if got := column(); !slices.IsSortedFunc(got, rising) {
			t.Errorf("after a click: %q", got)
		}
		p.Press(kb.Enter)
		p.Wait(`document.querySelector("#estimate").ariaSort === "descending"`)
		if got := column(); !slices.IsSortedFunc(got, func(a, c string) int { return rising(c, a) }) {
			t.Errorf("after Enter: %q", got)
		}
		p.Press(kb.Tab)
		p.Press(" ")
		p.Wait(`document.querySelector("#estimate + th").ariaSort === "ascending" && document.querySelector("#estimate").ariaSort === null`)
	})
	t.Run("widths", func(t *testing.T) {
		for _, width := range []int64{1280, 768, 360} {
			p.Resize(width, 740)
			if got := p.Overflow(); got != 0 {
				t.Errorf("at %d pixels it is %v too wide", width, got)
			}
		}
	})
	t.Run("contrast", func(t *testing.T) {
		for scheme, paper := range map[string]string{"dark": "rgb(20, 23, 27)", "light": "rgb(255, 255, 255)"} {
			p.Scheme(scheme)
			p.Wait(fmt.Sprintf(`getComputedStyle(document.documentElement).backgroundColor === %q`, paper))
			texts := p.Texts()
			seen := map[string]bool{}
			for _, text := range texts {
				seen[text.Element] = true
				if text.Element != "text" && !(text.Ratio >= 4.5) || text.Element == "text" && text.Background != "rgb(255, 255, 255)" {
					t.Errorf("%s: %+v, want a ratio of 4.5, and figures on white", scheme, text)
				}
			}
			for _, element := range []string{"h1", "a", "figcaption", "text", "button", "summary", "code", "dt", "span.verdict.within", "span.verdict.fails", "span.verdict.holds"} {
				if !seen[element] {
					t.Errorf("%s: no %s among %d texts", scheme, element, len(texts))
				}
			}
		}
	})
	t.Run("paper", func(t *testing.T) {
		pdf := filepath.Join(dir, "page.pdf")
		if err := os.WriteFile(pdf, p.PDF(), 0o666); err != nil {
			t.Fatal(err)
		}
		text, err := exec.Command("pdftotext", "-layout", pdf, "-").Output()
		if err != nil {
			missing := fmt.Sprintf("pdftotext: %v: apt-get install poppler-utils", err)
			if os.Getenv("VIGORLAB_NO_SKIP") != "" {
				t.Fatal(missing)
			}
			t.Skip(missing)
		}
		for _, want := range []string{
			"Report on 2 runs", "The ladder of claims", "What to conclude", "Rung 2: Theorem 2", "2.2768", "holds within d", "needs eta = 12.2",
			"Strategies on synthetic prompts", "Parameters", "How to repeat it", "--replicates 20",
		} {
			if !strings.Contains(string(text), want) {
				t.Errorf("on paper there is no %q", want)
			}
		}
	})
	t.Run("no complaint", func(t *testing.T) {
		if got := p.Errors(); len(got) != 0 {
			t.Errorf("errors %q", got)
		}
	})
}
