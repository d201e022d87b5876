package pages

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

const around = `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 10 20">%s</svg>`

func TestInlineSVG(t *testing.T) {
	got, width, err := inlineSVG(fmt.Appendf(nil, around, `<g id="a$1" style="fill:url(#b); stroke:#FFF"><use xlink:href="#a$1"/><text>&lt;b&gt; &amp;</text></g>`), "p-", `a "label"`)
	if err != nil {
		t.Fatal(err)
	}
	want := `<svg viewBox="0 0 10 20" role="img" aria-label="a &#34;label&#34;"><g id="p-a$1" style="fill:url(#p-b); stroke:#FFF">` +
		`<use href="#p-a$1"></use><text>&lt;b&gt; &amp;</text></g></svg>`
	if string(got) != want || width != 10 {
		t.Errorf("%s of width %v\nwant %s", got, width, want)
	}
}

func TestInlineSVGRefuses(t *testing.T) {
	for inner, want := range map[string]string{
		`<script>1</script>`:    `element "script"`,
		`<foreignObject/>`:      `element "foreignObject"`,
		`<image href="x.png"/>`: `element "image"`,
		`<style>*{}</style>`:    `element "style"`,
		`<animate/>`:            `element "animate"`,
		`<a href="#x"/>`:        `element "a"`,
		`<svg/>`:                "element svg inside",
		`<b xmlns="http://www.w3.org/1999/xhtml"/>`:         `element "b"`,
		`<g onclick="x"/>`:                                  `attribute "onclick"`,
		`<g class="verdict"/>`:                              `attribute "class"`,
		`<use href="http://elsewhere.example/#x"/>`:         "want a reference into the figure",
		`<use xlink:href="data:image/svg+xml,x"/>`:          "want a reference into the figure",
		`<g style="fill:url(http://elsewhere.example/x)"/>`: "want nothing from outside",
		`<g style="fill:URL('//x')"/>`:                      "want nothing from outside",
		`<g style="fill:u\72l(x)"/>`:                        "want nothing from outside",
		`<g style="background:image-set('x')"/>`:            "want nothing from outside",
		`<g fill="url(x#y)"/>`:                              "want nothing from outside",
		`<g style="x:@import 'y'"/>`:                        "want nothing from outside",
		`<g style="position: fixed; top: 0"/>`:              `style: "position", want what draws`,
		`<g style="fill:none;/**/inset:0"/>`:                `style: "/**/inset", want what draws`,
		`<g>`:                                               "XML syntax error",
		`&nbsp;`:                                            "invalid character entity",
		`</svg><svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1">`: "element svg inside or behind another",
	} {
		got, _, err := inlineSVG(fmt.Appendf(nil, around, inner), "p-", "")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %s, error %v, want %q", inner, got, err, want)
		}
	}
	for content, want := range map[string]string{
		``: "no element svg",
		`<svg xmlns="http://www.w3.org/2000/svg"/>`: "svg without viewBox",
		`<svg/>`: `element "svg" of ""`,
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 NaN 1"/>`:                           `viewBox = "0 0 NaN 1"`,
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 -1 1"/>`:                            "viewBox",
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1e9 1"/>`:                           "viewBox",
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1"/>`:                               "viewBox",
		`<g xmlns="http://www.w3.org/2000/svg"/>`:                                                 "one around all",
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1" style="position:fixed"/>`:      `"position", want what draws`,
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1" style="margin:-9em"/>`:         `"margin", want what draws`,
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1" overflow="visible"/>`:          "stays in its place",
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1" transform="translate(-9 0)"/>`: "stays in its place",
	} {
		if _, _, err := inlineSVG([]byte(content), "p-", ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", content, err, want)
		}
	}
}

// FuzzInlineSVG: what is let through draws, and does nothing else, as a browser's
// parser reads it.
func FuzzInlineSVG(f *testing.F) {
	f.Add(fmt.Sprintf(around, `<g style="fill:url(#b)"><text>&lt;script&gt;</text></g>`))
	f.Add(fmt.Sprintf(around, `<title>&lt;/title>&lt;img src=x onerror=y></title><desc>&lt;b></desc>`))
	f.Fuzz(func(t *testing.T, content string) {
		got, _, err := inlineSVG([]byte(content), "p-", "label")
		if err != nil {
			return
		}
		root, err := html.Parse(strings.NewReader("<!doctype html><body>" + string(got)))
		if err != nil {
			t.Fatal(err)
		}
		for n := range root.Descendants() {
			if n.Type != html.ElementNode {
				continue
			}
			switch n.Data {
			case "html", "head", "body":
				continue
			}
			if n.Namespace != "svg" {
				t.Fatalf("%q gives the element %s", content, n.Data)
			}
			for _, a := range n.Attr {
				if strings.HasPrefix(a.Key, "on") || a.Key == "href" && !strings.HasPrefix(a.Val, "#") {
					t.Fatalf("%q gives %s=%q", content, a.Key, a.Val)
				}
			}
		}
	})
}

func TestParse(t *testing.T) {
	got := parse("# Title\n\n    code\n    more\nwords\nand more\n#none\n- a\n- b\n![x](figures/f-1.png)\n\n*A *caption*.*\n\n*emphasis*\n| a | b \\| c |\n|---|---|\n| 1 |\n## End")
	want := []part{
		{level: 1, lines: []string{"Title"}},
		{code: true, lines: []string{"    code", "    more"}},
		{lines: []string{"words", "and more"}},
		{lines: []string{"#none"}},
		{list: true, lines: []string{"- a", "- b"}},
		{figure: "f-1", caption: "A *caption*."},
		{lines: []string{"*emphasis*"}},
		{table: [][]string{{"a", "b | c"}, {"1"}}},
		{level: 2, lines: []string{"End"}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestInline(t *testing.T) {
	for line, want := range map[string][]Span{
		"a `b_c` d":     {{"a ", false}, {"b_c", true}, {" d", false}},
		"\\*a\\_ \\ b":  {{"*a_ \\ b", false}},
		"``a`b``":       {{"a`b", true}},
		"`open":         {{"`open", false}},
		"":              nil,
		"κ = 1 \\$ `x`": {{"κ = 1 $ ", false}, {"x", true}},
	} {
		if got := inline(line); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %v, want %v", line, got, want)
		}
	}
}

// FuzzReport: any text is parts that keep its words, and reading it ends.
func FuzzReport(f *testing.F) {
	f.Add("# a\n\n|x|\n|---|\n|y")
	f.Add("!\n-\n#\n`\\")
	f.Fuzz(func(t *testing.T, report string) {
		for _, p := range parse(report) {
			for _, line := range p.lines {
				inline(line)
			}
			if len(p.table) > 0 {
				markdownTable("t", nil, p.table)
			}
		}
	})
}

func TestBreaks(t *testing.T) {
	if got, want := breaks(`a_b=0.75,<x>.csv&`), "a_<wbr>b=0.75,<wbr>&lt;x&gt;.<wbr>csv&amp;"; string(got) != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestFacts(t *testing.T) {
	got := facts("", []byte(`{"table": "a.csv", "sizes": {"strategy": "", "holdout": 0}}`))
	want := []Fact{
		{"table", Span{"a.csv", true}},
		{"sizes.strategy", Span{Text: "not given"}},
		{"sizes.holdout", Span{"0", true}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
