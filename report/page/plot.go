package page

import (
	"fmt"
	"math"
)

// plot is one figure of the page: a question, the drawing that answers it, and the numbers behind it.
type plot struct {
	id       string
	question string // the caption
	note     string // n, and what is excluded
	desc     string // for readers who cannot see it
	x, y     axis
	height   float64 // of the area; 0 means the usual height
	inset    float64 // space at the top of the area that the axis does not use
	legend   []key
	draw     func(c *canvas, p *plot)
	head     []string
	rows     [][]string
	drawn    string
}

// key is an entry of the legend.
type key struct {
	series int
	label  string
	kind   keyKind
}

type keyKind uint8

const (
	lineKey   keyKind = iota // line and marker
	plainKey                 // line alone
	boxKey                   // filled area
	dashKey                  // a reference, dashed and grey
	hollowKey                // a hollow marker
	thinKey                  // a thin line without dashes
	spotKey                  // a marker alone
	emptyKey                 // a hollow marker alone
	shadeKey                 // a shaded range
)

// The measures of a plot, in units of its view box. A screen shows two plots side by side; a phone shows one, with 0.77 pixels per unit.
const (
	wide    = 480.0
	left    = 50.0
	right   = 12.0
	usual   = 210.0
	rowHigh = 17.0
)

// render returns the SVG of the plot.
func (p *plot) render() string {
	if p.drawn != "" {
		return p.drawn
	}
	c := &canvas{}
	top := 8.0
	var rows [][]key
	x := left
	for _, k := range p.legend {
		w := 30 + width(k.label) + 14
		if len(rows) == 0 || x+w > wide-right+14 && x > left {
			rows, x = append(rows, nil), left
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], k)
		x += w
	}
	top += rowHigh * float64(len(rows))
	if p.y.label != "" {
		top += rowHigh
	}
	high := p.height
	if high == 0 {
		high = usual
	}
	p.x.from, p.x.to, p.y.from, p.y.to = left, wide-right, top+6+high, top+6+p.inset
	total := p.y.from + 20
	if p.x.label != "" {
		total += 18
	}
	c.open("svg", "xmlns", "http://www.w3.org/2000/svg", "viewBox", fmt.Sprintf("0 0 %s %s", num(wide), num(total)), "role", "img", "aria-labelledby",
		p.id+"-t "+p.id+"-d", "font-family", "system-ui, sans-serif", "font-size", "12", "fill", "#444444")
	c.element("title", p.question, "id", p.id+"-t")
	c.element("desc", p.desc, "id", p.id+"-d")
	for i, row := range rows {
		x := left
		for _, k := range row {
			c.key(k, x, 12+rowHigh*float64(i))
			x += 30 + width(k.label) + 14
		}
	}
	if p.y.label != "" {
		c.words(2, top-5, "start", "label", p.y.label)
	}
	p.axes(c)
	p.draw(c, p)
	c.end("svg")
	p.drawn = c.b.String()
	return p.drawn
}

func (c *canvas) key(k key, x, y float64) {
	switch k.kind {
	case dashKey:
		c.line(x, y-4, x+24, y-4, "class", "ref", "stroke", "#777777", "stroke-width", "1.3", "stroke-dasharray", "4 4")
	case boxKey:
		c.ink(k.series)
		c.box(k.series, x+4, y-10, 16, 11)
		c.end("g")
	case shadeKey:
		c.empty("rect", "class", "h2", "x", x+4, "y", y-10, "width", 16, "height", 11, "fill", heatColours[1])
	case thinKey:
		c.ink(k.series)
		c.line(x, y-4, x+24, y-4, "stroke-width", "1")
		c.end("g")
	case spotKey, emptyKey:
		c.ink(k.series)
		c.marker(k.series, x+12, y-4, k.kind == emptyKey)
		c.end("g")
	case hollowKey:
		c.open("g", "class", "ref", "color", "#777777", "stroke", "currentColor", "fill", "currentColor")
		c.marker(k.series, x+12, y-4, true)
		c.end("g")
	default:
		c.ink(k.series)
		c.polyline([][2]float64{{x, y - 4}, {x + 24, y - 4}}, stroke(k.series)...)
		if k.kind == lineKey {
			c.marker(k.series, x+12, y-4, false)
		}
		c.end("g")
	}
	c.words(x+30, y, "start", "key", k.label)
}

// box draws a filled area of series i. Its outline separates adjacent boxes without colour.
func (c *canvas) box(i int, x, y, w, h float64) {
	opacity := []string{"0.85", "0.6", "0.95", "0.45", "0.75", "0.3", "0.55"}[i%7]
	c.empty("rect", "x", x, "y", y, "width", math.Max(w, 0.4), "height", h, "fill-opacity", opacity, "stroke-width", "0.6")
}

// axes draws the grid, the ticks and their labels, without labels that would touch the previous one.
func (p *plot) axes(c *canvas) {
	c.open("g", "class", "grid", "stroke", "#dddddd", "stroke-width", "1")
	for _, t := range p.y.ticks {
		if y := p.y.at(t.at); !math.IsNaN(y) {
			c.line(p.x.from, y, p.x.to, y)
		}
	}
	c.end("g")
	last := math.Inf(1)
	for _, t := range p.y.ticks {
		if y := p.y.at(t.at); last-y >= 15 && t.label != "" {
			c.words(left-7, y+4, "end", "tick", t.label)
			last = y
		}
	}
	edge := math.Inf(-1)
	c.line(p.x.from, p.y.from, p.x.to, p.y.from, "class", "axis", "stroke", "#888888", "stroke-width", "1")
	for _, t := range p.x.ticks {
		x := p.x.at(t.at)
		if math.IsNaN(x) {
			continue
		}
		half := width(t.label) / 2
		at := math.Min(math.Max(x, half), wide-half)
		if at-half < edge+6 {
			continue
		}
		c.line(x, p.y.from, x, p.y.from+4, "class", "axis", "stroke", "#888888", "stroke-width", "1")
		c.words(at, p.y.from+17, "middle", "tick", t.label)
		edge = at + half
	}
	if p.x.label != "" {
		c.words(p.x.to, p.y.from+34, "end", "label", p.x.label)
	}
}

// point is a value of a series, with the range of its repetitions.
type point struct {
	x, y, low, high float64
	hollow          bool
}

// line draws a series with markers, and with whiskers at points that have ranges.
func (p *plot) line(c *canvas, series int, points []point) {
	var path [][2]float64
	for _, q := range points {
		path = append(path, [2]float64{p.x.at(q.x), p.y.at(q.y)})
	}
	c.ink(series)
	c.polyline(path, stroke(series)...)
	for i, q := range points {
		x, y := path[i][0], path[i][1]
		if math.IsNaN(y) || math.IsNaN(x) {
			continue
		}
		if low, high := p.y.at(q.low), p.y.at(q.high); q.high > q.low && !math.IsNaN(low) {
			c.line(x, low, x, high, "stroke-width", "1.2")
			c.line(x-3, low, x+3, low, "stroke-width", "1.2")
			c.line(x-3, high, x+3, high, "stroke-width", "1.2")
		}
		c.marker(series, x, y, q.hollow)
	}
	c.end("g")
}

// reference draws a dashed grey line through points.
func (p *plot) reference(c *canvas, points [][2]float64) {
	c.polyline(p.coordinates(points), "class", "ref", "stroke", "#777777", "stroke-width", "1.3", "stroke-dasharray", "4 4")
}
