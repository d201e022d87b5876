//go:build !race

package browser_test

import (
	"bytes"
	"fmt"
	"image/png"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"vigorlab/cmd/internal/browser"
)

// page is what the tests look at: texts whose contrast is known, one of them hidden,
// a button, and something that is too wide for a phone.
const page = `<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>t</title>
<style>
html { background: #fff } body { margin: 8px; color: #000 }
#a { color: #767676 } #b { color: #fff; background: #777 } #c { color: rgba(0, 0, 0, .5) } #d { opacity: .5 } #e { display: none }
@media (prefers-color-scheme: dark) { html { background: #000 } body { color: #fff } }
#wide { width: 700px; height: 1px }
</style>
<p id="a">4.54</p><p id="b">4.48</p><p id="c">half black</p><p id="d">3.98</p><p id="e">0</p>
<svg width="50" height="20"><text y="15" fill="#767676">svg</text></svg>
<button id="k">k</button><div id="wide"></div>
<script>let n = 0; document.getElementById("k").onclick = () => { document.title = "clicked " + ++n }</script>`

// TestBrowser holds every step that tests of pages rest on against a page whose
// figures are known.
func TestBrowser(t *testing.T) {
	b := browser.Start(t)
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
		return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String()
	}
	own := write("page.html", page)
	p := b.Open(t, own) // of most subtests: a tab costs a second of processor time

	t.Run("a page that asks for nothing", func(t *testing.T) {
		if got := p.Requests(); len(got) != 1 || got[0] != own {
			t.Errorf("requests %q, want the page alone", got)
		}
		if got := p.Errors(); len(got) != 0 {
			t.Errorf("errors %q", got)
		}
	})
	t.Run("contrast", func(t *testing.T) { // #767676 and #777777 are known as the pair about 4.5 on white
		want := map[string]float64{"4.54": 4.54, "4.48": 4.48, "half black": 3.98, "3.98": 3.98, "svg": 4.54, "k": 18.26} // a button is #efefef
		for _, text := range p.Texts() {
			if w, ok := want[text.Text]; !ok || !(math.Abs(text.Ratio-w) < 0.05) {
				t.Errorf("%+v, want %.2f", text, w)
			}
			delete(want, text.Text)
		}
		if len(want) > 0 {
			t.Errorf("not looked at: %v", want)
		}
	})
	t.Run("schemes", func(t *testing.T) {
		const background = `getComputedStyle(document.documentElement).backgroundColor`
		for scheme, want := range map[string]string{"dark": "rgb(0, 0, 0)", "light": "rgb(255, 255, 255)"} {
			p.Scheme(scheme)
			p.Wait(fmt.Sprintf("%s === %q", background, want))
		}
	})
	t.Run("overflow", func(t *testing.T) {
		defer p.Resize(1280, 800)
		if got := p.Overflow(); got != 0 {
			t.Errorf("at 1280 pixels it is %v too wide", got)
		}
		p.Resize(360, 640)
		if got := p.Overflow(); got != 700+8-360 {
			t.Errorf("at 360 pixels it is %v too wide, want 348", got)
		}
	})
	t.Run("a page for desktops alone", func(t *testing.T) {
		p := b.Open(t, write("desktop.html", "<!doctype html><p>wide"))
		p.Resize(360, 640)
		if got := p.Overflow(); got != 980-360 { // Chromium's width of such a page
			t.Errorf("at 360 pixels it is %v too wide, want 620", got)
		}
	})
	t.Run("click and keys", func(t *testing.T) {
		p.Click("#k")
		p.Wait(`document.title === "clicked 1"`)
		p.Press(kb.Enter)
		p.Wait(`document.title === "clicked 2"`)
		p.Press(" ")
		p.Wait(`document.title === "clicked 3"`)
	})
	t.Run("pictures", func(t *testing.T) {
		picture, err := png.Decode(bytes.NewReader(p.Screenshot()))
		if err != nil || picture.Bounds().Dx() != 1280 {
			t.Errorf("a picture of %v, %v, want one 1280 pixels wide", picture, err)
		}
		if pdf := p.PDF(); !bytes.HasPrefix(pdf, []byte("%PDF-")) {
			t.Errorf("printed: %.20q", pdf)
		}
	})
	t.Run("complaints", func(t *testing.T) {
		for content, wants := range map[string][]string{
			`<script>console.error("planted", 7); throw new Error("planted")</script>`:                   {"Error: planted", `console.error: "planted" 7`},
			`<meta http-equiv="Content-Security-Policy" content="default-src 'none'"><script>1</script>`: {"Content Security Policy"},
		} {
			p := b.Open(t, write("faulty.html", "<!doctype html>"+content))
			for _, want := range wants {
				if got := strings.Join(p.Errors(), "\n"); !strings.Contains(got, want) {
					t.Errorf("%s: errors %q, want %q", content, got, want)
				}
			}
		}
	})
	t.Run("requests", func(t *testing.T) {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/" {
				http.NotFound(w, r)
				return
			}
			fmt.Fprint(w, `<!doctype html><img src="/lost.png"><img src="http://elsewhere.example/x.png">`)
		}))
		defer server.Close()
		p := b.Open(t, server.URL+"/")
		got := strings.Join(p.Requests(), " ")
		for _, want := range []string{server.URL + "/ ", server.URL + "/lost.png", "http://elsewhere.example/x.png"} {
			if !strings.Contains(got+" ", want) {
				t.Errorf("requests %s, want %s", got, want)
			}
		}
		if got := strings.Join(p.Errors(), "\n"); !strings.Contains(got, "404") || !strings.Contains(got, "ERR_NAME_NOT_RESOLVED") {
			t.Errorf("errors %q, want those of both pictures", got)
		}
	})
}
