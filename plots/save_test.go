package plots

import (
	"bytes"
	"compress/zlib"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/png"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

var update = flag.Bool("update", false, "rewrite the golden images in testdata")

// TestGolden compares a picture of each figure at 100 dots per inch with the
// one in testdata. Another processor may round differently and move a few
// pixels of an edge: 0.5 % of the pixels may differ visibly.
func TestGolden(t *testing.T) {
	for name, f := range samples() {
		t.Run(name, func(t *testing.T) {
			got := raster(f, OneColumn, 100)
			path := filepath.Join("testdata", name+".png")
			if *update {
				var buf bytes.Buffer
				enc := png.Encoder{CompressionLevel: png.BestCompression}
				if err := errors.Join(enc.Encode(&buf, got), os.WriteFile(path, buf.Bytes(), 0o644)); err != nil {
					t.Fatal(err)
				}
				return
			}
			file, err := os.Open(path)
			if err != nil {
				t.Fatalf("%v (go test ./plots -update makes it)", err)
			}
			defer file.Close()
			want, err := png.Decode(file)
			if err != nil {
				t.Fatal(err)
			}
			if d := difference(got, want); !(d <= 0.005) {
				t.Errorf("%.2f %% of the pixels differ from %s, want <= 0.5 %%", 100*d, path)
			}
		})
	}
}

func raster(f Figure, w Width, dpi int) image.Image {
	sh, err := f.in(&paper)
	if err != nil {
		panic(err)
	}
	width, height := sh.size(w)
	c := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(dpi))
	sh.draw(draw.New(c))
	return c.Image()
}

// difference returns the share of pixels one of whose components differs by more
// than 32 of 255; 1 where the sizes differ.
func difference(a, b image.Image) float64 {
	if a.Bounds().Size() != b.Bounds().Size() {
		return 1
	}
	n, size := 0, a.Bounds().Size()
	for y := range size.Y {
		for x := range size.X {
			ar, ag, ab, _ := a.At(x, y).RGBA()
			br, bg, bb, _ := b.At(x, y).RGBA()
			far := func(p, q uint32) bool { return math.Abs(float64(p)-float64(q)) > 32*257 }
			if far(ar, br) || far(ag, bg) || far(ab, bb) {
				n++
			}
		}
	}
	return float64(n) / float64(size.X*size.Y)
}

// TestGoldenSees makes sure that the tolerance of TestGolden is not too wide:
// one curve of twelve moved by 3 % is seen.
func TestGoldenSees(t *testing.T) {
	d := sampleSpeedup()
	before := raster(must(Speedup(d)), OneColumn, 100)
	for i := range d.Shapes[1].ClosedForm {
		d.Shapes[1].ClosedForm[i].Y *= 1.03
	}
	if got := difference(raster(must(Speedup(d)), OneColumn, 100), before); !(got > 0.005) {
		t.Errorf("a moved curve changes %.2f %% of the pixels, want > 0.5 %%", 100*got)
	}
}

// tool finds a program of Debian's poppler-utils or skips the test.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err == nil {
		return path
	}
	const hint = "%s is missing: apt-get install poppler-utils"
	if os.Getenv("VIGORLAB_NO_SKIP") != "" {
		t.Fatalf(hint, name)
	}
	t.Skipf(hint, name)
	return ""
}

func TestPDFText(t *testing.T) {
	pdftotext := tool(t, "pdftotext")
	want := map[string][]string{
		"speedup":    {"κ = 1.1", "κ=3", "τ", "η", "rounds T", "closed form"},
		"eta-shape":  {"κ", "η", "Monte Carlo", "cap, any law"},
		"gradient":   {"M·σ", "||grad L||", "share of cases"},
		"comparison": {"1–5", "random control", "Beta(0.1, 0.3)"},
		"odd":        {"σ ≤ 1", "√u", "Δ ≥ −2", "α_γ^δ", "Łódź", "Ünïcödé", "%&#$\\{}~"},
	}
	figures := samples()
	d := sampleSpeedup()
	for i, s := range []string{"σ ≤ 1, √u", "Δ ≥ −2", "α_γ^δ Łódź", `Ünïcödé %&#$\{}~`} {
		d.Shapes[i].Label = s
	}
	figures["odd"] = must(Speedup(d))
	for name, words := range want {
		doc, err := Render(figures[name], PDF, TwoColumn, paper)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(pdftotext, "-enc", "UTF-8", "-", "-")
		cmd.Stdin = bytes.NewReader(doc)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: pdftotext: %v: %s", name, err, out)
		}
		// Spaces are guessed from gaps.
		bare := func(s string) string { return strings.Join(strings.Fields(s), "") }
		for _, w := range words {
			if !strings.Contains(bare(string(out)), bare(w)) {
				t.Errorf("%s: %q is missing in the text of the PDF:\n%s", name, w, out)
			}
		}
	}
}

// TestPDFFonts makes sure that a PDF holds subsets of its fonts only, and no
// pixels.
func TestPDFFonts(t *testing.T) {
	for name, f := range samples() {
		doc, err := Render(f, PDF, OneColumn, paper)
		if err != nil {
			t.Fatal(err)
		}
		if len(doc) > 60_000 {
			t.Errorf("%s: the PDF has %d bytes, want <= 60000", name, len(doc))
		}
		if !bytes.HasPrefix(doc, []byte("%PDF-1.5\n")) || bytes.Contains(doc, []byte("/FontFile3")) || bytes.Contains(doc, []byte("/ObjStm")) {
			t.Errorf("%s: not a PDF 1.5, which pdfTeX takes without a warning", name)
		}
		if !bytes.Contains(doc, []byte("/BaseFont/SUBSET+LiberationSans")) || bytes.Contains(doc, []byte("/Image")) {
			t.Errorf("%s: no subset of Liberation Sans, or pixels", name)
		}
	}
}

// TestPDFReferences follows every cross reference: taking out the date moves
// what comes after it.
func TestPDFReferences(t *testing.T) {
	doc, err := Render(samples()["speedup"], PDF, OneColumn, paper)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(doc, []byte("Date")) {
		t.Error("the PDF bears a date")
	}
	start := regexp.MustCompile(`startxref\n(\d+)\n%%EOF`).FindSubmatch(doc)
	at, _ := strconv.Atoi(string(start[1]))
	if !bytes.HasPrefix(doc[at:], []byte("xref\n")) {
		t.Errorf("startxref points to %q, want xref", doc[at:at+10])
	}
	entries := regexp.MustCompile(`(\d{10}) \d{5} n \n`).FindAllSubmatch(doc, -1)
	if len(entries) < 5 {
		t.Fatalf("%d cross references, want >= 5", len(entries))
	}
	for i, e := range entries {
		at, _ := strconv.Atoi(string(e[1]))
		if want := fmt.Sprintf("%d 0 obj\n", i+1); !bytes.HasPrefix(doc[at:], []byte(want)) {
			t.Errorf("reference %d points to %q, want %q", i+1, doc[at:at+10], want)
		}
	}
}

func TestTimelessRefuses(t *testing.T) {
	for _, doc := range []string{
		"", "%PDF-1.7\n", "startxref\n0\n%%EOF\n", "startxref\n99\n%%EOF\n", "xref\n0 1\nstartxref\n0\n%%EOF\n",
		"xref\n0 2\n0000000000 65535 f \n0000000999 00000 n \ntrailer\n<<>>\nstartxref\n0\n%%EOF\n",
		"xref\n0 2\n0000000000 65535 f \n0000000000 00000 n \ntrailer\n<<>>\nstartxref\n0\n%%EOF\n",
	} {
		if _, err := timeless([]byte(doc)); err == nil {
			t.Errorf("timeless(%q) does not fail", doc)
		}
	}
}

// TestFontsOfPDF wants the fonts whole after the date has been taken out: a
// font's words add up to 0xB1B0AFBA, and each table's to its checksum.
func TestFontsOfPDF(t *testing.T) {
	doc, err := Render(samples()["comparison"], PDF, OneColumn, paper)
	if err != nil {
		t.Fatal(err)
	}
	fonts := 0
	for _, m := range regexp.MustCompile(`(?s)stream\n(.*?)\nendstream`).FindAllSubmatch(doc, -1) {
		f := []byte(inflate(m[1]))
		if !bytes.HasPrefix(f, []byte("\x00\x01\x00\x00")) {
			continue
		}
		fonts++
		if sum := wordSum(f); sum != 0xB1B0AFBA {
			t.Errorf("font %d: its words add up to %#x, want 0xb1b0afba", fonts, sum)
		}
		head, ok := sfntTable(f, "head")
		if !ok {
			t.Fatalf("font %d has no table head", fonts)
		}
		if got, want := f[head.at+28:head.at+36], f[head.at+20:head.at+28]; !bytes.Equal(got, want) {
			t.Errorf("font %d: modified at %x, want when it was made, %x", fonts, got, want)
		}
	}
	if fonts != 2 { // regular and bold
		t.Errorf("%d fonts in the PDF, want 2", fonts)
	}
}

// TestDashesOfPDF looks into an uncompressed stream: the library multiplies
// dashes by the width of the line.
func TestDashesOfPDF(t *testing.T) {
	stream := pageStream(t, must(Speedup(sampleSpeedup())), OneColumn)
	for k, want := range map[kind]string{truncated: "[5 2]", meanField: "[1.3 1.5]"} {
		found := false
		for _, m := range regexp.MustCompile(`\[([0-9.]+) ([0-9.]+)\] 0 d`).FindAllStringSubmatch(stream, -1) {
			a, _ := strconv.ParseFloat(m[1], 64)
			b, _ := strconv.ParseFloat(m[2], 64)
			d := paper.dashes[k]
			found = found || math.Abs(a/mm-float64(d[0])) < 1e-3 && math.Abs(b/mm-float64(d[1])) < 1e-3
		}
		if !found {
			t.Errorf("%s: no dashes %s pt in the PDF", kinds[k], want)
		}
	}
}

// TestDeterminism wants the same bytes from a figure built anew, in another time
// zone and a moment later.
func TestDeterminism(t *testing.T) {
	render := func() map[string][]byte {
		out := map[string][]byte{}
		for name, f := range samples() {
			for _, format := range Formats() {
				doc, err := Render(f, format, OneColumn, paper)
				if err != nil {
					t.Fatal(err)
				}
				out[name+"."+format] = doc
			}
		}
		return out
	}
	first := render()
	zone := time.Local
	defer func() { time.Local = zone }()
	time.Local = time.FixedZone("elsewhere", 5*3600+1800)
	for name, doc := range render() {
		if !bytes.Equal(doc, first[name]) {
			t.Errorf("%s differs when drawn again", name)
		}
	}
}

func TestSVG(t *testing.T) {
	d := sampleSpeedup()
	d.Shapes[0].Label = `<&"'> \x00 ` + "\x00\x1b\uFFFE" + `style="font-family:Liberation Sans;`
	doc, err := Render(must(Speedup(d)), SVG, OneColumn, paper)
	if err != nil {
		t.Fatal(err)
	}
	dec := xml.NewDecoder(bytes.NewReader(doc))
	texts, words := 0, ""
	for {
		tok, err := dec.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("not XML: %v", err)
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			if tok.Name.Local != "text" {
				continue
			}
			texts++
			style := ""
			for _, a := range tok.Attr {
				if a.Name.Local == "style" {
					style = a.Value
				}
			}
			if !strings.HasPrefix(style, "font-family:'Liberation Sans',Arimo,Arial,Helvetica,sans-serif;") {
				t.Errorf("a text names the fonts %q", style)
			}
		case xml.CharData:
			words += string(tok) + "\n"
		}
	}
	if texts < 10 {
		t.Errorf("%d texts, want >= 10", texts)
	}
	for _, w := range []string{"κ = 1.5", "η", "τ", "rounds T"} {
		if !strings.Contains(words, w) {
			t.Errorf("%q is missing in the SVG", w)
		}
	}
}

func TestPNGResolution(t *testing.T) {
	doc, err := Render(samples()["speedup"], PNG, OneColumn, paper)
	if err != nil {
		t.Fatal(err)
	}
	c, err := png.DecodeConfig(bytes.NewReader(doc))
	if err != nil {
		t.Fatal(err)
	}
	if c.Width != 1005 { // 3.35 in at 300 dpi
		t.Errorf("the PNG is %d pixels wide, want 1005", c.Width)
	}
	if !bytes.Contains(doc, []byte("pHYs\x00\x00\x2e\x23\x00\x00\x2e\x23\x01")) { // 11811 pixels a metre
		t.Error("the PNG does not tell its resolution")
	}
	if _, err := png.Decode(bytes.NewReader(doc)); err != nil {
		t.Errorf("the PNG does not decode: %v", err)
	}
}

func TestAspect(t *testing.T) {
	for name, f := range samples() {
		for _, w := range []Width{OneColumn, TwoColumn} {
			doc, err := Render(f, PNG, w, paper)
			if err != nil {
				t.Fatal(err)
			}
			c, err := png.DecodeConfig(bytes.NewReader(doc))
			if err != nil {
				t.Fatal(err)
			}
			if got := float64(c.Height) / float64(c.Width); math.Abs(got-f.Aspect(w, paper)) > 0.002 {
				t.Errorf("%s at %v in: height over width = %v, Aspect says %v", name, w, got, f.Aspect(w, paper))
			}
		}
	}
}

func TestRenderErrors(t *testing.T) {
	f := samples()["screening"]
	for _, c := range []struct {
		name, format string
		f            Figure
		width        Width
		want         string
	}{
		{"format", "jpg", f, OneColumn, `format = "jpg", want one of pdf, svg, png, tex`},
		{"width NaN", PDF, f, Width(math.NaN()), "width = NaN, want [2, 20] inches"},
		{"width 0", PDF, f, 0, "width = 0, want [2, 20] inches"},
		{"width 21", PDF, f, 21, "width = 21, want [2, 20] inches"},
		{"empty figure", PDF, Figure{}, OneColumn, "the figure is empty"},
	} {
		if _, err := Render(c.f, c.format, c.width, paper); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
	if _, err := Render(f, PDF, OneColumn, Talk()); err == nil || !strings.Contains(err.Error(), "width = 3.35, want [3.6, 20] inches") {
		t.Errorf("a talk in a column of a paper: error %v, want the range", err)
	}
	if _, err := Render(f, PDF, OneColumn, Style{}); err == nil || !strings.Contains(err.Error(), "the style is empty, want one of paper, talk") {
		t.Errorf("the zero Style: error %v, want the names of styles", err)
	}
}

// pageStream returns the drawing operations of the figure's PDF, lengths in
// millimetres.
func pageStream(t *testing.T, f Figure, w Width) string {
	t.Helper()
	doc, err := Render(f, PDF, w, paper)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, m := range regexp.MustCompile(`(?s)stream\n(.*?)\nendstream`).FindAllSubmatch(doc, -1) {
		all.WriteString(inflate(m[1]))
	}
	return all.String()
}

// inflate returns the data of a stream, or nothing where it is not compressed.
func inflate(data []byte) string {
	r, err := zlib.NewReader(bytes.NewReader(data))
	if err != nil {
		return ""
	}
	out, _ := io.ReadAll(r)
	return string(out)
}
