package plots

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// The formats of Render.
const (
	PDF = "pdf" // vector, with subset fonts
	SVG = "svg" // names its font with stand-ins of the same widths
	PNG = "png" // at 300 dots per inch
	TeX = "tex" // a picture for \input, with words in the fonts of the document
)

// Formats lists all formats.
func Formats() []string { return []string{PDF, SVG, PNG, TeX} }

const dpi = 300

// Render returns the bytes of the figure in a format, at a width in [2, 20]
// inches, for Talk [3.6, 20]. They depend on the figure, format, width and style alone.
func Render(fig Figure, format string, width Width, style Style) ([]byte, error) {
	if format == TeX {
		style = style.inTeX()
	}
	sh, err := fig.in(&style)
	if err != nil {
		return nil, err
	}
	if !(width >= style.least && width <= maxWidth) {
		return nil, fmt.Errorf("plots: width = %v, want [%v, %v] inches", float64(width), style.least, maxWidth)
	}
	w, h := sh.size(width)
	switch format {
	case PDF:
		return renderPDF(sh, fig.title, w, h)
	case SVG:
		return renderSVG(sh, w, h)
	case PNG:
		return renderPNG(sh, w, h)
	case TeX:
		return renderTeX(sh, fig.title, w, h)
	}
	return nil, fmt.Errorf("plots: format = %q, want one of %s", format, strings.Join(Formats(), ", "))
}

// renderSVG draws through gonum, and names stand-ins for the font that have its
// widths: browsers would fall back to a serif face of others.
func renderSVG(sh sheet, w, h vg.Length) ([]byte, error) {
	c := vgsvg.New(w, h)
	sh.draw(draw.New(c))
	var buf bytes.Buffer
	if _, err := c.WriteTo(&buf); err != nil {
		return nil, fmt.Errorf("plots: SVG: %w", err)
	}
	// Labels cannot match: their quotation marks are escaped.
	return bytes.ReplaceAll(buf.Bytes(),
		[]byte(`style="font-family:Liberation Sans;`),
		[]byte(`style="font-family:'Liberation Sans',Arimo,Arial,Helvetica,sans-serif;`)), nil
}

func renderPNG(sh sheet, w, h vg.Length) ([]byte, error) {
	c := vgimg.NewWith(vgimg.UseWH(w, h), vgimg.UseDPI(dpi))
	sh.draw(draw.New(c))
	var buf bytes.Buffer
	if _, err := (vgimg.PngCanvas{Canvas: c}).WriteTo(&buf); err != nil {
		return nil, fmt.Errorf("plots: PNG: %w", err)
	}
	return withResolution(buf.Bytes()), nil
}

// withResolution puts the pHYs chunk behind the header of a PNG, so that other
// programs show it at its size.
func withResolution(png []byte) []byte {
	const header = 8 + 25  // signature, IHDR
	const perMetre = 11811 // pixels, dpi / 0.0254
	chunk := make([]byte, 0, 21)
	chunk = binary.BigEndian.AppendUint32(chunk, 9)
	chunk = append(chunk, "pHYs"...)
	chunk = binary.BigEndian.AppendUint32(chunk, perMetre)
	chunk = binary.BigEndian.AppendUint32(chunk, perMetre)
	chunk = append(chunk, 1) // per metre
	chunk = binary.BigEndian.AppendUint32(chunk, crc32.ChecksumIEEE(chunk[4:]))
	return bytes.Join([][]byte{png[:header], chunk, png[header:]}, nil)
}
