package output_test

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"

	"vigorlab/cmd/vigorlab/internal/output"
)

func sample() []output.Row {
	return []output.Row{
		{Population: "beta:a=2,b=6", Strategy: "fixed:g=8", Figure: "eta", Value: output.Finite(0.1), SE: output.Finite(1e-9), Replicates: 10, Seed: math.MaxUint64, Coding: output.Signed},
		{Population: "uniform", Strategy: "vigor", Figure: "eta", Reason: `no "eta", as E[u] = 0`, Coding: output.Signed},
	}
}

func TestCSV(t *testing.T) {
	var b bytes.Buffer
	if err := output.CSV(&b, sample()); err != nil {
		t.Fatal(err)
	}
	want := `population,strategy,figure,at,value,se,low,high,level,exact,replicates,seed,coding,reason
"beta:a=2,b=6",fixed:g=8,eta,,0.1,1e-09,,,,,10,18446744073709551615,signed,
uniform,vigor,eta,,,,,,,,0,0,signed,"no ""eta"", as E[u] = 0"
`
	if b.String() != want {
		t.Errorf("CSV = %s\nwant %s", &b, want)
	}
}

func TestParquetReadsBack(t *testing.T) {
	var b bytes.Buffer
	if err := output.Parquet(&b, sample()); err != nil {
		t.Fatal(err)
	}
	got, err := parquet.Read[output.Row](bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || *got[0].Value != 0.1 || got[1].Value != nil || got[0].Seed != math.MaxUint64 || got[1].Reason != sample()[1].Reason {
		t.Errorf("parquet reads back %+v", got)
	}
}

func TestFiniteRefusesNaNAndInf(t *testing.T) {
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if p := output.Finite(x); p != nil {
			t.Errorf("Finite(%v) = %v, want nil", x, *p)
		}
	}
	if p := output.Finite(-0.5); p == nil || *p != -0.5 {
		t.Errorf("Finite(-0.5) = %v", p)
	}
}

func TestJSONKeepsTextAndNulls(t *testing.T) {
	got, err := output.JSON(struct {
		output.Header
		Eta output.Figure `json:"eta"`
	}{output.Header{Schema: 1, Version: "v", Command: "c", Coding: "signed"}, output.Figure{Reason: "u < 0 & more"}})
	if err != nil {
		t.Fatal(err)
	}
	want := `{
  "schema": 1,
  "version": "v",
  "command": "c",
  "coding": "signed",
  "eta": {
    "mean": null,
    "se": null,
    "reason": "u < 0 & more"
  }
}
`
	if string(got) != want {
		t.Errorf("JSON = %s\nwant %s", got, want)
	}
}

func TestMeasured(t *testing.T) {
	for _, c := range []struct {
		mean, se float64
		want     string
	}{
		{1.19342, 0.00234, "1.1934 ± 0.0023"},
		{8, 0, "8"},
		{2.5, math.NaN(), "2.500"},
		{0.17857142857, 0, "0.1786"},
		{1234.5, 12.3, "1234 ± 12"},
		{12345, 1234, "12300 ± 1200"},
		{564.9, 151, "560 ± 150"},
		{3e12, 4e11, "3e+12 ± 4e+11"},
		{0.5, 1e-12, "0.5 ± 1e-12"},
		{math.NaN(), 1, "-"},
	} {
		got := output.Measured(output.Figure{Mean: output.Finite(c.mean), SE: output.Finite(c.se)})
		if got != c.want {
			t.Errorf("Measured(%v, %v) = %q, want %q", c.mean, c.se, got, c.want)
		}
	}
}

func TestNumber(t *testing.T) {
	for _, c := range []struct {
		x    float64
		want string
	}{
		{2.66620, "2.666"},
		{0, "0"},
		{1, "1"},
		{0.00031207, "0.0003121"},
		{3.1e-7, "3.1e-07"},
		{-0.25, "-0.2500"},
		{123456.7, "123457"},
	} {
		if got := output.Number(&c.x); got != c.want {
			t.Errorf("Number(%v) = %q, want %q", c.x, got, c.want)
		}
	}
}

func TestGridFitsTheWidth(t *testing.T) {
	g := output.Grid{Head: []string{"figure"}}
	row := []string{"eta"}
	for range 9 {
		g.Head = append(g.Head, "strategy")
		row = append(row, "1.1934 ± 0.0023")
	}
	g.Add(row...)
	var text output.Text
	text.Grid(g)
	lines := strings.Split(strings.TrimRight(string(text.Bytes()), "\n"), "\n")
	if n := strings.Count(string(text.Bytes()), "1.1934"); n != 9 {
		t.Errorf("%d cells are printed, want 9", n)
	}
	for _, line := range lines {
		if n := utf8.RuneCountInString(line); n > output.Width {
			t.Errorf("line of %d columns, want at most %d: %q", n, output.Width, line)
		}
	}
	if len(lines) != 5 { // two blocks of head and row, with an empty line between
		t.Errorf("%d lines, want 5:\n%s", len(lines), text.Bytes())
	}
}

// TestGridBreaksLabels: a table that does not fit is first made narrower by its
// labels, and stays one.
func TestGridBreaksLabels(t *testing.T) {
	g := output.Grid{Head: []string{"", strings.Repeat("a", 30), strings.Repeat("b", 28)}}
	g.Add("cero-v2:rounds=32,c=3,a=1,b=1,rho=1,eta=1,price=0.5 [R]", "1", "2")
	g.Add("fixed:g=8", "3", "4")
	g.Add("section:")
	var text output.Text
	text.Grid(g)
	want := fmt.Sprintf("%30s  %s  %s\n%-30s  %30s  %28s\n  rho=1,eta=1,price=0.5 [R]\n%-30s  %30s  %28s\nsection:\n",
		"", g.Head[1], g.Head[2], "cero-v2:rounds=32,c=3,a=1,b=1,", "1", "2", "fixed:g=8", "3", "4")
	if got := string(text.Bytes()); got != want {
		t.Errorf("the table is\n%s\nwant\n%s", got, want)
	}
}

func TestGridAlignsColouredCells(t *testing.T) {
	text := output.Text{Colour: true}
	g := output.Grid{Head: []string{"a", "verdict"}}
	g.Add("b", text.Paint(output.Green, "holds"))
	text.Grid(g)
	if want := "a  verdict\nb    \x1b[32mholds\x1b[0m\n"; string(text.Bytes()) != want {
		t.Errorf("got %q, want %q", text.Bytes(), want)
	}
}

func TestWrap(t *testing.T) {
	long := "vigor:m0=2,rounds=4,alpha=0.5,gamma=2"
	for _, line := range output.Wrap("see "+long+" for more", 20) {
		if utf8.RuneCountInString(line) > 20 {
			t.Errorf("%q is longer than 20", line)
		}
	}
	joined := strings.Join(output.Wrap("see "+long, 20), "")
	if !strings.Contains(joined, long) {
		t.Errorf("wrapping loses text: %q", joined)
	}
}
