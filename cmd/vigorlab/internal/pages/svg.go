package pages

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"html/template"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// drawing are the elements of SVG that a figure may have: what draws, and nothing
// that runs, fetches or embeds.
var drawing = strings.Fields(`svg g defs path rect line circle ellipse polyline polygon text tspan
	clipPath use symbol marker pattern linearGradient radialGradient stop`)

// spoken are elements that only say what is drawn. They are left out: the label says
// it, and a browser would read HTML in them.
var spoken = []string{"title", "desc", "metadata"}

// attributes are those that a figure's elements may have, besides those that begin
// with a word of presentation.
var attributes = strings.Fields(`id d x y x1 y1 x2 y2 dx dy cx cy fx fy r rx ry points width height viewBox transform style
	fill stroke opacity offset color display visibility overflow href preserveAspectRatio rotate textLength lengthAdjust
	clipPathUnits gradientUnits gradientTransform spreadMethod patternUnits patternTransform patternContentUnits
	markerWidth markerHeight markerUnits refX refY orient version`)

var presentation = strings.Fields("fill- stroke- font- text- stop- clip- marker- letter- word- dominant- alignment- baseline- shape- paint- vector-")

// styled are the properties that a style may set, besides words of presentation: none
// that moves or sizes what it is of, which could cover what the page says.
var styled = strings.Fields("fill stroke opacity color display visibility")

const svgSpace = "http://www.w3.org/2000/svg"

// An svgWriter copies a drawing into a page.
type svgWriter struct {
	b      bytes.Buffer
	prefix string  // of every id, which is unique in the page
	label  string  // that says what is drawn
	width  float64 // of the viewBox
}

// inlineSVG returns a figure as it stands in a page: elements and attributes that
// draw, ids under the prefix, a label for who cannot see it, as wide as the page lets
// it be. Anything else in it is an error, as is a figure without a viewBox.
func inlineSVG(content []byte, prefix, label string) (template.HTML, float64, error) {
	d := xml.NewDecoder(bytes.NewReader(content))
	w := &svgWriter{prefix: prefix, label: label}
	depth := 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", 0, err
		}
		switch token := token.(type) {
		case xml.StartElement:
			if slices.Contains(spoken, token.Name.Local) {
				if err := d.Skip(); err != nil {
					return "", 0, err
				}
				continue
			}
			if err := w.open(token, depth); err != nil {
				return "", 0, err
			}
			depth++
		case xml.EndElement:
			depth--
			fmt.Fprintf(&w.b, "</%s>", token.Name.Local)
		case xml.CharData:
			if depth > 0 {
				w.b.WriteString(html.EscapeString(string(token)))
			}
		}
	}
	if w.width == 0 {
		return "", 0, errors.New("no element svg, want a figure")
	}
	return template.HTML(w.b.String()), w.width, nil
}

// open copies the start of an element.
func (w *svgWriter) open(e xml.StartElement, depth int) error {
	name := e.Name.Local
	if e.Name.Space != svgSpace || !slices.Contains(drawing, name) {
		return fmt.Errorf("element %.40q of %.60q, want elements of SVG that draw", name, e.Name.Space)
	}
	if (name == "svg") != (depth == 0) || depth == 0 && w.width > 0 {
		return errors.New("element svg inside or behind another, want one around all")
	}
	fmt.Fprintf(&w.b, "<%s", name)
	for _, a := range e.Attr {
		if err := w.attribute(name, a); err != nil {
			return err
		}
	}
	if depth == 0 {
		if w.width == 0 {
			return errors.New("svg without viewBox, want one of four numbers")
		}
		fmt.Fprintf(&w.b, ` role="img" aria-label="%s"`, html.EscapeString(w.label))
	}
	w.b.WriteByte('>')
	return nil
}

// attribute copies an attribute. Those of XML itself go, and so does the size of the
// whole, which the page decides.
func (w *svgWriter) attribute(element string, a xml.Attr) error {
	name := a.Name.Local
	switch {
	case a.Name.Space == "xmlns" || name == "xmlns" || strings.HasSuffix(a.Name.Space, "/namespace"):
		return nil
	case element == "svg" && (name == "width" || name == "height"):
		return nil
	case !slices.Contains(attributes, name) && !slices.ContainsFunc(presentation, func(p string) bool { return strings.HasPrefix(name, p) }):
		return fmt.Errorf("%s has the attribute %.40q, want those that draw", element, name)
	case element == "svg" && (name == "transform" || name == "overflow"):
		return fmt.Errorf("svg has the attribute %s, want a drawing that stays in its place", name)
	case element == "svg" && name == "viewBox":
		width, err := widthOf(a.Value)
		if err != nil {
			return err
		}
		w.width = width
	}
	value, err := w.local(name, a.Value)
	if err != nil {
		return fmt.Errorf("%s %s: %w", element, name, err)
	}
	fmt.Fprintf(&w.b, ` %s="%s"`, name, html.EscapeString(value))
	return nil
}

// reference is a reference into the figure itself, of CSS.
var reference = regexp.MustCompile(`url\(\s*["']?#([^"')\s]+)["']?\s*\)`)

// local returns a value whose ids, and references to them, are those of the page. A
// reference to anything outside the figure is an error.
func (w *svgWriter) local(name, value string) (string, error) {
	switch name {
	case "id":
		return w.prefix + value, nil
	case "href":
		id, ok := strings.CutPrefix(value, "#")
		if !ok {
			return "", fmt.Errorf("%.60q, want a reference into the figure, as #name", value)
		}
		return "#" + w.prefix + id, nil
	}
	value = reference.ReplaceAllString(value, "url(#"+strings.ReplaceAll(w.prefix, "$", "$$")+"${1})")
	rest := strings.ToLower(reference.ReplaceAllString(value, ""))
	if strings.ContainsAny(rest, `\@`) || strings.Contains(rest, "url") || strings.Contains(rest, "image") {
		return "", fmt.Errorf("%.60q, want nothing from outside the figure", value)
	}
	if name == "style" {
		return value, checkStyle(rest)
	}
	return value, nil
}

// checkStyle returns an error where a style, in lower case, sets what a figure has no
// use for.
func checkStyle(style string) error {
	for declaration := range strings.SplitSeq(style, ";") {
		property, _, _ := strings.Cut(declaration, ":")
		property = strings.TrimSpace(property)
		if property != "" && !slices.Contains(styled, property) && !slices.ContainsFunc(presentation, func(p string) bool { return strings.HasPrefix(property, p) }) {
			return fmt.Errorf("%.60q, want what draws", property)
		}
	}
	return nil
}

// widthOf returns the width of a viewBox.
func widthOf(viewBox string) (float64, error) {
	fields := strings.FieldsFunc(viewBox, func(r rune) bool { return r == ' ' || r == ',' })
	var size []float64
	for _, f := range fields {
		x, err := strconv.ParseFloat(f, 64)
		if err != nil {
			break
		}
		size = append(size, x)
	}
	const largest = 1e5 // points: no paper is so wide
	if len(fields) != 4 || len(size) != 4 || !(size[2] > 0 && size[2] <= largest) || !(size[3] > 0 && size[3] <= largest) {
		return 0, fmt.Errorf("svg viewBox = %.60q, want four numbers, width and height in (0, %g]", viewBox, largest)
	}
	return size[2], nil
}
