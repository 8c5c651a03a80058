package page

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// canvas is an SVG document under construction. Attributes are pairs of name and value.
type canvas struct{ b strings.Builder }

var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;")

// xmlText escapes text for an element or an attribute and drops the control characters that XML forbids.
func xmlText(s string) string {
	return escape.Replace(strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == utf8.RuneError || r == 0xFFFE || r == 0xFFFF {
			return -1
		}
		return r
	}, s))
}

func (c *canvas) tag(name, end string, attrs ...any) {
	c.b.WriteString("<" + name)
	for i := 0; i+1 < len(attrs); i += 2 {
		value := ""
		switch v := attrs[i+1].(type) {
		case float64:
			value = num(v)
		case int:
			value = strconv.Itoa(v)
		default:
			value = xmlText(fmt.Sprint(v))
		}
		fmt.Fprintf(&c.b, ` %s="%s"`, attrs[i], value)
	}
	c.b.WriteString(end)
}

func (c *canvas) open(name string, attrs ...any)  { c.tag(name, ">", attrs...) }
func (c *canvas) empty(name string, attrs ...any) { c.tag(name, "/>", attrs...) }
func (c *canvas) end(name string)                 { c.b.WriteString("</" + name + ">\n") }

func (c *canvas) element(name, text string, attrs ...any) {
	c.open(name, attrs...)
	c.b.WriteString(xmlText(text))
	c.end(name)
}

func (c *canvas) line(x1, y1, x2, y2 float64, attrs ...any) {
	c.empty("line", append([]any{"x1", x1, "y1", y1, "x2", x2, "y2", y2}, attrs...)...)
}

// words draws text at a point; anchor is start, middle or end.
func (c *canvas) words(x, y float64, anchor, class, text string) {
	attrs := []any{"x", x, "y", y, "class", class}
	if anchor != "start" {
		attrs = append(attrs, "text-anchor", anchor)
	}
	c.element("text", text, attrs...)
}

// polyline draws a path through points; a point that is not a number starts a new piece.
func (c *canvas) polyline(points [][2]float64, attrs ...any) {
	var d strings.Builder
	pen := "M"
	for _, p := range points {
		if math.IsNaN(p[0]) || math.IsNaN(p[1]) {
			pen = "M"
			continue
		}
		d.WriteString(pen + num(p[0]) + " " + num(p[1]))
		pen = "L"
	}
	if d.Len() > 0 {
		c.empty("path", append([]any{"d", d.String(), "fill", "none"}, attrs...)...)
	}
}

// num formats a coordinate to a tenth of a unit.
func num(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "0"
	}
	s := strconv.FormatFloat(v, 'f', 1, 64)
	if s = strings.TrimSuffix(s, ".0"); s == "-0" {
		return "0"
	}
	return s
}

// width returns an upper bound of the width of a text in the font of the plots: no font is available to measure it.
func width(text string) float64 { return 6.9 * float64(utf8.RuneCountInString(text)) }

// The series of a plot differ in colour, dash and marker. The colours are those of Okabe and Ito (Color Universal Design, 2008), which people
// with the usual forms of colour blindness can distinguish; report.css has lighter ones for dark mode.
var (
	colours = []string{"#0072b2", "#d55e00", "#009e73", "#aa4499", "#b8860b", "#3a8fb7", "#555555"}
	dashes  = []string{"", "7 3", "2 3", "9 3 2 3", "4 2", "1 2", "12 4"}
)

// ink opens a group in the colour of series i; end("g") closes it.
func (c *canvas) ink(i int, attrs ...any) {
	n := i % len(colours)
	c.open("g", append([]any{"class", fmt.Sprintf("c%d", n+1), "color", colours[n], "stroke", "currentColor", "fill", "currentColor"}, attrs...)...)
}

// stroke returns the attributes of the line of series i.
func stroke(i int) []any {
	attrs := []any{"stroke-width", "1.8", "stroke-linejoin", "round"}
	if d := dashes[i%len(dashes)]; d != "" {
		attrs = append(attrs, "stroke-dasharray", d)
	}
	return attrs
}

// marker draws the marker of series i at a point; a hollow one is filled with the colour of the page.
func (c *canvas) marker(i int, x, y float64, hollow bool) {
	attrs := []any{"stroke-width", "1.5"}
	if hollow {
		attrs = append(attrs, "class", "hollow", "fill", "#ffffff")
	}
	const r = 3.6
	switch i % 5 {
	case 0:
		c.empty("circle", append([]any{"cx", x, "cy", y, "r", r}, attrs...)...)
	case 1:
		c.empty("rect", append([]any{"x", x - r, "y", y - r, "width", 2 * r, "height", 2 * r}, attrs...)...)
	default:
		shape := [][2]float64{{0, -1.25}, {1.2, 0.9}, {-1.2, 0.9}}
		if i%5 == 3 {
			shape = [][2]float64{{0, -1.35}, {1.35, 0}, {0, 1.35}, {-1.35, 0}}
		} else if i%5 == 4 {
			shape = [][2]float64{{0, 1.25}, {1.2, -0.9}, {-1.2, -0.9}}
		}
		d := ""
		for k, p := range shape {
			d += map[bool]string{true: "M", false: "L"}[k == 0] + num(x+p[0]*r) + " " + num(y+p[1]*r)
		}
		c.empty("path", append([]any{"d", d + "Z"}, attrs...)...)
	}
}
