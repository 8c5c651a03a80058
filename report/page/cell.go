package page

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/results"
)

// spectrum is plot 3 of a cell: its percentiles as far as there are enough samples.
func (s Source) spectrum(pooled results.Cell, id string) *plot {
	op := timedOp(pooled)
	if op == "" {
		return nil
	}
	p := &plot{id: "spectrum-" + id, question: "How bad is the tail: is it queueing, the service, or the generator?", head: []string{"percentile"}}
	clocks := []string{"response", "service", "lag"}
	var ys []float64
	lines := make([][][2]float64, len(clocks))
	table := map[string][]string{}
	var order []string
	most := 10.0
	for i, clock := range clocks {
		h := metrics.NewHistogram()
		for _, c := range repetitions(s.Run, pooled) {
			if part := s.whole[c.Name+"/"+op+"."+clock]; part != nil {
				h.Merge(part)
			}
		}
		n := float64(h.Count())
		if n < 6 {
			continue
		}
		p.head = append(p.head, clock+", ms")
		p.legend = append(p.legend, key{i, clock, plainKey})
		if p.note == "" {
			p.note = "n = " + count(h.Count()) + " samples; failures excluded; each line ends where its samples do."
		}
		end := n / 3.68 // the p99 needs 368 samples, the p99.9 3,688
		most = max(most, end)
		for k := 0; ; k++ {
			x := math.Pow(10, float64(k)/16)
			last := x >= end
			if last {
				x = max(end, 1)
			}
			y := float64(h.Quantile(1-1/x)) / float64(time.Millisecond)
			if k == 0 {
				y = float64(h.Quantile(0)) / float64(time.Millisecond)
			}
			y = max(y, 1e-3)
			lines[i], ys = append(lines[i], [2]float64{x, y}), append(ys, y)
			if last {
				break
			}
		}
		for _, q := range []float64{0.5, 0.9, 0.99, 0.999, 0.9999} {
			name := phrase.Number(100*q, 6) + " %"
			if table[name] == nil {
				order = append(order, name)
				table[name] = []string{name}
			}
			if value := "-"; q > 0.9 && n*(1-q) < 3.68-1e-9 {
				table[name] = append(table[name], value)
			} else {
				table[name] = append(table[name], phrase.Number(float64(h.Quantile(q))/float64(time.Millisecond), 3))
			}
		}
	}
	if len(ys) == 0 {
		return nil
	}
	for _, name := range order {
		p.rows = append(p.rows, table[name])
	}
	p.desc = "Response, service and lag of " + op + " by percentile."
	p.x = axis{label: "share of the operations that took less", log: true, lo: 1, hi: most}
	for k, text := range []string{"0 %", "90 %", "99 %", "99.9 %", "99.99 %", "99.999 %", "99.9999 %"} {
		if at := math.Pow10(k); at <= most {
			p.x.ticks = append(p.x.ticks, tick{at, text})
		}
	}
	p.x.ticks = slices.Insert(p.x.ticks, 1, tick{2, "50 %"})
	p.y = logarithmic(op+", ms, log", ys, 7)
	p.draw = func(c *canvas, p *plot) {
		for i, l := range lines {
			p.path(c, i, l, stroke(i)...)
		}
	}
	return p
}

// The limits of a heat map.
const (
	heatColumns = 200
	heatRows    = 60
	shades      = 6
	strip       = 46.0 // height of the throughput above the map
)

// heatMap is plot 4 of a cell: the response times over time.
func (s Source) heatMap(pooled results.Cell, id string) *plot {
	cell := typical(s.Run, pooled)
	columns := s.heat[cell.Name]
	if len(columns) == 0 {
		return nil
	}
	lo, hi, total := math.MaxInt, math.MinInt, int64(0)
	for _, c := range columns {
		total += c.count
		for b := range c.counts {
			lo, hi = min(lo, b), max(hi, b)
		}
	}
	if total == 0 {
		return nil
	}
	columns = together(columns, heatColumns)
	n := len(columns)
	at := func(t time.Time) float64 { return t.Sub(cell.Started).Seconds() }
	step := (hi-lo)/heatRows + 1 // bins per row
	rows := (hi-lo)/step + 1
	grid, rate := make([][]float64, n), make([]float64, n)
	peak := 0.0
	for i, c := range columns {
		grid[i] = make([]float64, rows)
		for b, k := range c.counts {
			grid[i][(b-lo)/step] += float64(k)
		}
		peak = max(peak, slices.Max(grid[i]))
		if span := c.to.Sub(c.from).Seconds(); span > 0 {
			rate[i] = float64(c.count) / span
		}
	}
	op := timedOp(cell)
	p := &plot{id: "heat-" + id, question: "When was it slow, and what happened then?", height: 250, inset: strip + 8,
		note: fmt.Sprintf("n = %s operations by the time of their ends; failures excluded%s; stronger: more, up to %s in a cell.", count(total),
			ofRepetitions(s.Run, pooled, cell), count(int64(peak))),
		desc: "Response times over the time of the cell, stronger where more operations ended, with the throughput above.",
		head: []string{"from, s", "to, s", "operations/s", "p50, ms", "max, ms"}}
	for _, c := range together(columns, 60) {
		median, longest := "-", "-"
		if c.count > 0 {
			median, longest = quantileOf(c.counts, 0.5), quantileOf(c.counts, 1)
		}
		span := c.to.Sub(c.from).Seconds()
		p.row(phrase.Number(at(c.from), 4), phrase.Number(at(c.to), 4), phrase.Number(float64(c.count)/span, 3), median, longest)
	}
	p.x = secondsOf(min(at(columns[0].from), cell.Steady.From), max(at(columns[n-1].to), cell.Steady.To))
	p.y = axis{label: op + " response, ms, log", log: true, lo: edge(lo), hi: edge(lo + rows*step)}
	p.y.ticks = logarithmic("", []float64{p.y.lo, p.y.hi}, 6).ticks
	p.y.ticks = slices.DeleteFunc(p.y.ticks, func(t tick) bool { return t.at < p.y.lo || t.at > p.y.hi })
	if len(p.y.ticks) < 2 {
		p.y.ticks = linear("", []float64{p.y.lo, p.y.hi}, false, 4).ticks
	}
	events := s.events(cell)
	p.note += noted(events)
	p.draw = func(c *canvas, p *plot) {
		top := p.y.to - p.inset
		p.skyline(c, top, rate, "operations per second, up to "+phrase.Number(slices.Max(rate), 3), func(i int) (float64, float64) { return at(columns[i].from), at(columns[i].to) })
		p.cells(c, columns, grid, peak, at)
		p.events(c, events, top+14, top+strip)
	}
	return p
}

// cells draws the cells of a heat map, one path per colour, in units of its columns and rows. It uses strokes as wide as a column, from the first row
// of a colour to the last, because their coordinates are short. A column of unusual length is drawn as rectangles.
func (p *plot) cells(c *canvas, columns []column, grid [][]float64, peak float64, at func(time.Time) float64) {
	rows := len(grid[0])
	x, y := p.x.at(at(columns[0].from)), p.y.from
	var widths []float64
	for _, col := range columns {
		widths = append(widths, p.x.at(at(col.to))-p.x.at(at(col.from)))
	}
	w := slices.Sorted(slices.Values(widths))[len(widths)/2]
	c.open("g", "transform", fmt.Sprintf("translate(%s %s) scale(%s %s)", exact(x), exact(y), exact(w), exact((p.y.to-p.y.from)/float64(rows))))
	for k := 1; k <= shades; k++ {
		var strokes, boxes strings.Builder
		penX, penY := 0.0, 0
		for i, col := range grid {
			from, span := (p.x.at(at(columns[i].from))-x)/w, widths[i]/w
			regular := math.Abs(span-1) <= 0.1
			if middle := from + span/2; regular { // snapped to whole columns if it is near
				from = math.Round(100*middle) / 100
				if whole := math.Floor(middle) + 0.5; math.Abs(middle-whole) <= 0.1 {
					from = whole
				}
			}
			for j := 0; j < rows; j++ {
				run := 0
				for j+run < rows && shadeOf(col[j+run], peak) == k {
					run++
				}
				switch {
				case run == 0:
					continue
				case regular:
					fmt.Fprintf(&strokes, "m%s %dv%d", grain(from-penX), j-penY, run)
					penX, penY = from, j+run
				default:
					fmt.Fprintf(&boxes, "M%s %dh%sv%dh-%sz", grain(from), j, grain(span), run, grain(span))
				}
				j += run
			}
		}
		shade := []any{"class", "k" + strconv.Itoa(k), "color", heatColours[k-1]}
		if strokes.Len() > 0 {
			c.empty("path", append(shade, "stroke", "currentColor", "stroke-width", "1", "d", "M0 0"+strokes.String())...)
		}
		if boxes.Len() > 0 {
			c.empty("path", append(shade, "fill", "currentColor", "d", boxes.String())...)
		}
	}
	c.end("g")
}

// grain formats a coordinate to a hundredth of a column; exact formats one to a ten-thousandth of a unit.
func grain(v float64) string { return strconv.FormatFloat(math.Round(100*v)/100, 'f', -1, 64) }
func exact(v float64) string { return strconv.FormatFloat(math.Round(1e4*v)/1e4, 'f', -1, 64) }

// together merges neighbouring columns until there are at most most.
func together(columns []column, most int) (all []column) {
	every := (len(columns) + most - 1) / most
	for i := 0; i < len(columns); i += every {
		sum := column{from: columns[i].from, counts: map[int]int64{}}
		for _, c := range columns[i:min(i+every, len(columns))] {
			for b, n := range c.counts {
				sum.counts[b] += n
			}
			sum.count += c.count
			sum.to = c.to
		}
		all = append(all, sum)
	}
	return all
}

// The shades of heat maps; the style sheet has others for dark mode.
var heatColours = [shades]string{"#e3eef7", "#b7d4ea", "#7fb3d9", "#3d8bc4", "#0f639f", "#0a3f6b"}

// shadeOf returns the shade of a count by its logarithm, counted from 1; 0 for no count.
func shadeOf(v, peak float64) int {
	if v <= 0 {
		return 0
	}
	if peak <= 1 {
		return shades / 2
	}
	return 1 + min(int(float64(shades)*math.Log(v)/math.Log(peak+1)), shades-1)
}

// quantileOf returns a quantile of counts by bin, as the upper edge of its bin in ms.
func quantileOf(counts map[int]int64, q float64) string {
	total, below := int64(0), int64(0)
	var bins []int
	for b, n := range counts {
		bins, total = append(bins, b), total+n
	}
	slices.Sort(bins)
	for _, b := range bins {
		if below += counts[b]; float64(below) >= q*float64(total) {
			return "≤ " + phrase.Number(edge(b+1), 2)
		}
	}
	return "-"
}

// ofRepetitions says which of several repetitions a plot over time shows.
func ofRepetitions(run *results.Run, pooled, cell results.Cell) string {
	if n := len(repetitions(run, pooled)); n > 1 {
		return fmt.Sprintf("; repetition %d of %d, the one of median throughput", cell.Repetition, n)
	}
	return ""
}

// event is something that happened to a cell, in seconds since its start.
type event struct {
	what     string
	from, to float64
}

// slowFsync is the shortest flush of the log that is shown, as the average over an interval.
const slowFsync = 20.0 // ms

// events returns the faults, leader changes, lost sessions and slow syncs of a cell.
func (s Source) events(c results.Cell) (all []event) {
	for _, f := range c.Faults {
		e := event{f.Kind, c.Steady.From + f.AtS, c.Steady.From + f.AtS}
		if f.HealedS != nil {
			e.to = c.Steady.From + *f.HealedS
		}
		all = append(all, e)
	}
	leader := ""
	for _, second := range s.seconds[c.Name] {
		at := second.At.Sub(c.Started).Seconds()
		slow := false
		for _, address := range sortedKeys(second.Servers) {
			f := second.Servers[address]
			if v, known := f.Get("leader"); known && v == 1 {
				if leader != "" && leader != address {
					all = append(all, event{"change of leader", at, at})
				}
				leader = address
			}
			if v, known := f.Get("log_flush_mean_ms"); known && v >= slowFsync {
				slow = true
			}
		}
		if slow {
			all = append(all, event{"slow sync", at, at})
		}
		if v, known := second.Client.Get("errors"); known && v > 0 {
			all = append(all, event{"errors", at, at})
		}
	}
	return all
}

func eventsText(all []event) string {
	counts := map[string]int{}
	for _, e := range all {
		counts[e.what]++
	}
	text := ""
	for _, what := range sortedKeys(counts) {
		if text != "" {
			text += ", "
		}
		text += what
		if counts[what] > 1 {
			text += fmt.Sprintf(" (%d)", counts[what])
		}
	}
	return text
}
