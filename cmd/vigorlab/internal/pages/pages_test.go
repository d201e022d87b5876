package pages_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"vigorlab/cmd/vigorlab/internal/pages"
	"vigorlab/cmd/vigorlab/internal/rundir"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// hostile is a label that would run as a script where it is not escaped.
const hostile = `<script>alert("1")</script><b onclick='x'>&amp;`

// drawing is a figure with ids, references to them, and a hostile label.
const drawing = `<?xml version="1.0"?>
<svg width="241.2pt" height="100pt" viewBox="0 0 241.2 100" xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">
<defs><clipPath id="a"><rect width="10" height="10"/></clipPath></defs>
<g clip-path="url(#a)" style="fill:#FFFFFF"><path d="M0,0L1,1Z" style="stroke:black; clip-path: url('#a')"/></g>
<text x="1" y="2">` + "&lt;script&gt;alert(1)&lt;/script&gt; &amp; more" + `</text><use xlink:href="#a"/>
</svg>`

// simulation are the files of a run with two strategies.
func simulation() map[string]string {
	return map[string]string{
		"results.json": `{"schema":1,"version":"9.9","command":"simulate","coding":"signed","warnings":["few prompts <i>"],
			"strategies":[{"eta":{"mean":1.5028556718091433,"se":0.015}},{"eta":{"mean":1,"se":0}}]}`,
		"results.csv": "population,strategy,figure,at,value,se,low,high,level,exact,replicates,seed,coding,reason\n" +
			"uniform,vigor,eta,,1.5028556718091433,0.015,1.4,1.6,0.95,,50,1,signed,\n" +
			"uniform,vigor,eta_token,,,,,,,,50,1,signed,lengths are unknown\n" +
			"uniform,vigor,share,size=2,0.5,0,,,,,50,1,signed,\n" +
			"uniform,fixed:g=8,eta,,1,0,,,,,50,1,signed,\n" +
			"uniform,fixed:g=8,eta_token,,,,,,,,50,1,signed,lengths are unknown\n",
		"figures/allocation.svg":        drawing,
		"figures/group-sizes.svg":       drawing,
		"figures/group-sizes.png":       "png",
		"figures/group-sizes.csv":       "x\n",
		"figures/group-sizes.pdf":       "pdf",
		"figures/allocation.caption.md": "Who gets the \\*rollouts\\*: `beta:a=1`.\n",
	}
}

// ladder are the files of a climbed ladder.
func ladder() map[string]string {
	return map[string]string{
		"results.json": `{"schema":1,"version":"9.9","command":"verify","coding":"signed","rungs":[
			{"id":"2.a","rung":2,"kind":"claim","claim":"eta is right <script>","method":"exact","estimate":3.2565626625427964,"reference":3.2565632700964957,"interval":[3.25,3.26],"verdict":"holds within d","test":"level 0.0001","note":"a | note","p":0.25},
			{"id":"2.b","rung":2,"kind":"claim","claim":"a speedup of 2.3","method":"cap","estimate":1.5536162529769293,"reference":2.3,"interval":null,"verdict":"fails","test":"exact","note":""},
			{"id":"2.c","rung":2,"kind":"check","claim":"a check","method":"exact","estimate":1,"reference":1,"interval":null,"verdict":"holds","test":"exact","note":""},
			{"id":"8.d","rung":8,"kind":"claim","claim":"a live model","method":"none","estimate":null,"reference":null,"interval":null,"verdict":"cannot be tested here","test":"","note":"","reason":"no run"}]}`,
		"results.csv": "id,rung\n2.a,2\n",
		"report.md": "# The ladder of claims\n\n    vigorlab verify\n\nClaims: some.\nMore on them.\n\n## What to conclude\n\n- One thing.\n- Another `vigor:m0=2` thing.\n\n" +
			"## Rung 2: Theorem 2\n\n![rung 2](figures/rung-2-claims.png)\n\n*Estimates, seed 1.*\n\n| verdict | claim |\n|---|---|\n| fails | stale |\n\n" +
			"| population | ratio |\n|---|---|\n| uniform | 1.05 ± 0.02 |\n| b \\| c | - |\n\n## Rung 8: a live model\n\n| verdict | claim |\n|---|---|\n| holds | stale |\n\n" +
			"## Appendix: checks of vigorlab's own code\n\nIntervals are pointwise.\n\n### Rung 2: Theorem 2\n\n| verdict | claim |\n|---|---|\n| holds | stale |\n",
		"figures/rung-2-claims.svg": drawing,
	}
}

// write makes a run directory of files.
func write(t *testing.T, name, command string, files map[string]string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	d, err := rundir.Create(path, rundir.Record{
		Schema: 1, Version: "9.9", Command: command, CommandLine: []string{"vigorlab", command, "--out", "/home/someone/secret"},
		Reproduce: "vigorlab " + command + " --population uniform --seed 18446744073709551615",
		Specs:     []byte(`{"population":"uniform","batch":64,"nested":{"only":["2","4.screening"],"none":[]},"odd <b>":null}`), Seed: 18446744073709551615,
	}, false)
	must(t, err)
	for name, content := range files {
		must(t, d.Write(name, []byte(content)))
	}
	must(t, d.Complete())
	return path
}

// render returns the page of directories.
func render(t *testing.T, dirs ...string) string {
	t.Helper()
	var runs []*pages.Run
	for i, dir := range dirs {
		r, err := pages.Read(dir, []string{"run-1", "run-2"}[i])
		must(t, err)
		runs = append(runs, r)
	}
	var b bytes.Buffer
	must(t, pages.Write(&b, "A title "+hostile, runs))
	return b.String()
}

// both returns the page of a simulation and a ladder.
func both(t *testing.T) (page string, root *html.Node) {
	t.Helper()
	page = render(t, write(t, "easy", "simulate", simulation()), write(t, "ladder", "verify", ladder()))
	root, err := html.Parse(strings.NewReader(page))
	must(t, err)
	return page, root
}

// each calls f with every element.
func each(root *html.Node, f func(*html.Node)) {
	for n := range root.Descendants() {
		if n.Type == html.ElementNode {
			f(n)
		}
	}
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// text returns the text inside a node, spaces in one.
func text(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// TestPageAsksForNothing: no element that fetches, no address but those inside the
// page, one script, which the policy names, and no handler of events.
func TestPageAsksForNothing(t *testing.T) {
	_, root := both(t)
	ids := map[string]bool{}
	each(root, func(n *html.Node) {
		if id := attribute(n, "id"); id != "" && ids[id] {
			t.Errorf("the id %s stands twice", id)
		} else {
			ids[id] = true
		}
	})
	scripts, policy := 0, ""
	each(root, func(n *html.Node) {
		switch n.Data {
		case "link", "img", "iframe", "object", "embed", "base", "form", "audio", "video", "source", "image", "foreignObject", "animate", "set":
			t.Errorf("an element %s", n.Data)
		case "script":
			scripts++
			sum := sha256.Sum256([]byte(n.FirstChild.Data))
			if want := "script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.Contains(policy, want) {
				t.Errorf("policy %q, want %q", policy, want)
			}
		case "meta":
			if attribute(n, "http-equiv") == "Content-Security-Policy" {
				policy = attribute(n, "content")
			}
		}
		for _, a := range n.Attr {
			switch {
			case strings.HasPrefix(a.Key, "on"), slices.Contains([]string{"src", "srcset", "action", "formaction", "poster", "data", "ping", "background", "xmlns:xlink"}, a.Key):
				t.Errorf("%s has %s", n.Data, a.Key)
			case a.Key == "href":
				if id, ok := strings.CutPrefix(a.Val, "#"); !ok || !ids[id] {
					t.Errorf("%s leads to %q, want a place in the page", n.Data, a.Val)
				}
			case a.Key == "aria-labelledby" && !ids[a.Val]:
				t.Errorf("%s is labelled by %q, which is not there", n.Data, a.Val)
			case strings.Contains(strings.ToLower(a.Val), "http") && a.Key != "http-equiv":
				t.Errorf("%s %s=%q", n.Data, a.Key, a.Val)
			}
		}
	})
	if scripts != 1 || !strings.HasPrefix(policy, "default-src 'none'; ") {
		t.Errorf("%d scripts under the policy %q, want one under default-src 'none'", scripts, policy)
	}
}

// TestPageHoldsItsRuns: titles, claims with their verdicts and all digits, figures
// with captions, parameters and the command line are in the page.
func TestPageHoldsItsRuns(t *testing.T) {
	page, root := both(t)
	values := map[string]string{} // of data elements, with what is shown
	if want := `<data value="1.5028556718091433">1.503 ± 0.015</data> <span class="quiet">[1.40, 1.60]</span>`; !strings.Contains(page, want) {
		t.Errorf("no figure with its error and interval %q", want)
	}
	figures := map[string]int{}
	each(root, func(n *html.Node) {
		if n.Data == "data" {
			values[attribute(n, "value")] = text(n)
		}
		if n.Data == "svg" {
			figures[attribute(n, "aria-label")]++
		}
	})
	for value, want := range map[string]string{
		"3.2565626625427964": "3.2566", "3.2565632700964957": "3.2566", "1.5536162529769293": "1.5536", "3.25": "[3.25, 3.26]",
		"1.5028556718091433": "1.503", "0.5": "0.5000", "1.05": "1.05 ± 0.02",
	} {
		if got := values[value]; got != want {
			t.Errorf("%s is shown as %q, want %q", value, got, want)
		}
	}
	for _, name := range []string{"allocation", "group sizes", "rung 2 claims"} {
		if figures[name] != 1 {
			t.Errorf("figure %s stands %d times, want once", name, figures[name])
		}
	}
	body := text(root)
	for _, want := range []string{
		"A title " + hostile, "Strategies on synthetic prompts", "The ladder of claims", "few prompts <i>",
		"eta is right <script>", "holds within d", "fails", "cannot be tested here", "2.a", "8.d", "level 0.0001 p = 0.25", "a | note", "no run",
		"1 fails", "a check", "b | c", "Who gets the *rollouts*: beta:a=1.", "Estimates, seed 1.",
		"Group sizes, population uniform, signed coding.", "eta_token: lengths are unknown", "All 5 rows of results.csv", "size=2",
		"vigorlab simulate --population uniform --seed 18446744073709551615", "nested.only", "2; 4.screening", "odd <b>", "<script>alert(1)</script> & more",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, leak := range []string{"/home/someone", t.TempDir(), "stale"} {
		if strings.Contains(page, leak) {
			t.Errorf("the page has %q", leak)
		}
	}
	if host, err := os.Hostname(); err == nil && len(host) > 3 && strings.Contains(page, host) {
		t.Errorf("the page has the machine's name %q", host)
	}
}

// TestTally counts claims, and no checks.
func TestTally(t *testing.T) {
	r, err := pages.Read(write(t, "ladder", "verify", ladder()), "run-1")
	must(t, err)
	want := []pages.Count{{Verdict: "holds", Number: 0}, {Verdict: "holds within d", Number: 1}, {Verdict: "fails", Number: 1}, {Verdict: "cannot be tested here", Number: 1}}
	if !slices.Equal(r.Tally, want) || r.Claims != 3 || r.Checks != 1 || r.Tables != 4 || r.Figures != 1 {
		t.Errorf("tally %v of %d claims, %d checks, %d tables, %d figures", r.Tally, r.Claims, r.Checks, r.Tables, r.Figures)
	}
}

// TestSameBytes: a page is a function of its runs.
func TestSameBytes(t *testing.T) {
	a, b := write(t, "easy", "simulate", simulation()), write(t, "ladder", "verify", ladder())
	if first := render(t, a, b); first != render(t, a, b) {
		t.Error("two pages of the same runs differ")
	}
}

// TestManyRows: of more rows than a page shows it says how many are left out.
func TestManyRows(t *testing.T) {
	files := simulation()
	files["results.csv"] += strings.Repeat("uniform,vigor,share,size=3,0.25,0,,,,,50,1,signed,\n", 1200)
	page := render(t, write(t, "easy", "simulate", files))
	if n := strings.Count(page, "size=3"); n != 1000-5 {
		t.Errorf("%d rows, want 995", n)
	}
	for _, want := range []string{"The first 1000 of 1205 rows of results.csv", "205 more rows are in results.csv"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// TestLongTables: no table has more rows than a page shows, those of a report and of
// many strategies among them, and each says where the others are.
func TestLongTables(t *testing.T) {
	files := simulation()
	files["report.md"] = "# Report\n\n| name | value |\n|---|---|\n" + strings.Repeat("| of the report | 1 |\n", 100_000)
	checkLeft(t, files, "of the report", "99000 of 100000 rows of a table of report.md")
	files = simulation()
	for i := range 1300 {
		files["results.csv"] += fmt.Sprintf("uniform,strategy-%d,eta,,0.25,0,,,,,50,1,signed,\n", i)
	}
	checkLeft(t, files, "strategy-", "of a table of results.csv")
}

func checkLeft(t *testing.T, files map[string]string, row, left string) {
	t.Helper()
	r, err := pages.Read(write(t, "long", "simulate", files), "run-1")
	must(t, err)
	for _, s := range r.Sections {
		for _, b := range s.Blocks {
			if b.Table != nil && len(b.Table.Rows) > 1000 {
				t.Errorf("%d rows of the table %s", len(b.Table.Rows), b.Table.ID)
			}
		}
	}
	if !strings.Contains(strings.Join(r.Left, "\n"), left) {
		t.Errorf("left out are %q, want %q", r.Left, left)
	}
	var b strings.Builder
	must(t, pages.Write(&b, "long", []*pages.Run{r}))
	if !strings.Contains(b.String(), row) || !strings.Contains(b.String(), " more rows are in ") {
		t.Error("the page does not say that rows are left out")
	}
}

// TestWritesInPieces: a page is written in few pieces, as a file takes each of them to
// the system.
func TestWritesInPieces(t *testing.T) {
	r, err := pages.Read(write(t, "easy", "simulate", simulation()), "run-1")
	must(t, err)
	var w pieces
	must(t, pages.Write(&w, "easy", []*pages.Run{r}))
	if w.n > 1+w.bytes/1000 {
		t.Errorf("%d bytes in %d pieces", w.bytes, w.n)
	}
}

// pieces counts what is written.
type pieces struct{ n, bytes int }

func (w *pieces) Write(p []byte) (int, error) {
	w.n, w.bytes = w.n+1, w.bytes+len(p)
	return len(p), nil
}

// TestSubject: a figure without a caption is named by its file, in any letters.
func TestSubject(t *testing.T) {
	files := simulation()
	files["figures/été-x.svg"] = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"/>`
	if page := render(t, write(t, "easy", "simulate", files)); !strings.Contains(page, "Été x") {
		t.Error("the page does not name the figure")
	}
}

// TestReadRefuses: what is no complete run of vigorlab is an error that names the
// file, the field and what was wanted.
func TestReadRefuses(t *testing.T) {
	// edit changes run.json.
	edit := func(field string, value any) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			path := filepath.Join(dir, "run.json")
			content, err := os.ReadFile(path)
			must(t, err)
			record := map[string]json.RawMessage{}
			must(t, json.Unmarshal(content, &record))
			record[field], err = json.Marshal(value)
			must(t, err)
			content, err = json.Marshal(record)
			must(t, err)
			must(t, os.WriteFile(path, content, 0o666))
		}
	}
	put := func(name, content string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			must(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666))
		}
	}
	swap := func(name, from, to string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			content, err := os.ReadFile(filepath.Join(dir, name))
			must(t, err)
			changed := strings.Replace(string(content), from, to, 1)
			if changed == string(content) {
				t.Fatalf("%s has no %q", name, from)
			}
			put(name, changed)(t, dir)
		}
	}
	remove := func(name string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) { must(t, os.Remove(filepath.Join(dir, name))) }
	}
	for name, c := range map[string]struct {
		damage func(t *testing.T, dir string)
		want   string
	}{
		"no run":             {remove("run.json"), "no run.json in it, want the directory of a run"},
		"torn record":        {put("run.json", `{"schema":1,`), "run.json: unexpected end of JSON input"},
		"other schema":       {edit("schema", 2), `run.json: schema = "2", want 1`},
		"no command":         {edit("command", ""), `run.json: command = "", want`},
		"no version":         {edit("version", ""), `run.json: version = "", want`},
		"no specs":           {edit("specs", nil), `run.json: specs = "null", want an object`},
		"running":            {edit("status", "running"), "run.json: status = running, want complete"},
		"incomplete":         {edit("status", "incomplete"), "run.json: status = incomplete, want complete"},
		"a file outside":     {edit("files", []string{"../x"}), `run.json: files has "../x", want names inside`},
		"no results":         {edit("files", []string{"results.csv"}), "run.json: files lacks results.json"},
		"a file lost":        {remove("figures/group-sizes.pdf"), "figures/group-sizes.pdf is not there, and run.json lists it"},
		"torn results":       {put("results.json", `{`), "results.json: unexpected end of JSON input"},
		"of another command": {swap("results.json", `"simulate"`, `"theory"`), `results.json: command = "theory", want simulate as in run.json`},
		"of another version": {swap("results.json", `"9.9"`, `"9.8"`), `results.json: version = "9.8", want 9.9 as in run.json`},
		"another coding":     {swap("results.json", `"signed"`, `"odd"`), `results.json: coding = "odd", want signed or binary`},
		"text for a number":  {swap("results.csv", "1.5028556718091433", "much"), `results.csv: row 1: value = "much", want a number or nothing`},
		"a short row":        {swap("results.csv", ",signed,lengths are unknown", ""), "results.csv: record on line 3: wrong number of fields"},
		"no figure column":   {swap("results.csv", ",figure,", ",picture,"), "results.csv: no column figure among"},
		"empty results.csv":  {put("results.csv", ""), "results.csv: no columns"},
		"a script":           {swap("figures/allocation.svg", "<defs>", "<script>1</script><defs>"), `figures/allocation.svg: element "script"`},
		"a torn figure":      {swap("figures/allocation.svg", "</svg>", ""), "figures/allocation.svg: XML syntax error"},
		"a handler":          {swap("figures/allocation.svg", "<text ", `<text onload="x" `), `figures/allocation.svg: text has the attribute "onload"`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := write(t, "easy", "simulate", simulation())
			c.damage(t, dir)
			if _, err := pages.Read(dir, "run-1"); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
	for name, c := range map[string]struct{ from, to, file, want string }{
		"no such verdict":     {`"fails"`, `"won"`, "results.json", `results.json: rungs[1].verdict = "won", want one of holds, holds within d, fails, cannot be tested here`},
		"no id":               {`"2.a"`, `""`, "results.json", `results.json: rungs[0].id = "", want a name`},
		"another kind":        {`"check"`, `"boast"`, "results.json", `results.json: rungs[2].kind = "boast", want claim or check`},
		"half an interval":    {`[3.25,3.26]`, `[3.25]`, "results.json", "results.json: rungs[0].interval"},
		"text for a number":   {`3.2565626625427964`, `"x"`, "results.json", "results.json: "},
		"a rung of no table":  {"## Rung 8: a live model", "## Rung 7: a live model", "report.md", "report.md has no table of rung 8, of which results.json has the claim 8.d"},
		"a figure of no file": {"rung-2-claims.png", "rung-3-claims.png", "report.md", "report.md shows figures/rung-3-claims, and the run has no figures/rung-3-claims.svg"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := write(t, "ladder", "verify", ladder())
			swap(c.file, c.from, c.to)(t, dir)
			if _, err := pages.Read(dir, "run-1"); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// TestReadStaysInside: a link out of the run directory is not followed.
func TestReadStaysInside(t *testing.T) {
	dir := write(t, "easy", "simulate", simulation())
	secret := filepath.Join(t.TempDir(), "secret.svg")
	must(t, os.WriteFile(secret, []byte(drawing), 0o666))
	path := filepath.Join(dir, "figures", "allocation.svg")
	must(t, os.Remove(path))
	if err := os.Symlink(secret, path); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	if _, err := pages.Read(dir, "run-1"); err == nil || !strings.Contains(err.Error(), "figures/allocation.svg") {
		t.Errorf("error %v, want one that names the link", err)
	}
}
