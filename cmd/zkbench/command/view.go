package command

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/zkbench/zkbench/bench/load"
	"github.com/zkbench/zkbench/bench/outcome"
	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/metrics"
)

// view is the progress on a terminal: lines that are redrawn in place.
type view struct {
	w      io.Writer
	now    func() time.Time
	size   func() (width, height int)
	colour bool

	drawn  int       // number of lines on the terminal
	last   time.Time // when they were drawn
	cell   int
	times  *metrics.Histogram // of the operations timed, since the start of the cell's load
	errors map[metrics.Outcome]int64
	rates  []float64 // of the last minute
	shown  load.Update
}

// minute is the number of seconds in the sparkline.
const minute = 60

func (v *view) update(u load.Update) {
	if u.Message != "" {
		v.clear()
		text := u.Message
		if u.Event != nil && u.Event.Kind == load.EventViolation {
			text = v.red(text)
		}
		fmt.Fprintln(v.w, text)
		return
	}
	if u.Cell != v.cell {
		v.cell, v.times, v.errors, v.rates = u.Cell, metrics.NewHistogram(), map[metrics.Outcome]int64{}, nil
	}
	if s := u.Second; s != nil {
		v.add(s)
	} else if v.drawn > 0 && v.shown.Phase == u.Phase && v.now().Sub(v.last) < time.Second/10 { // thousands of sessions may connect
		return
	}
	v.shown, v.last = u, v.now()
	v.draw()
}

// add adds a second to the figures of the cell.
func (v *view) add(s *load.Second) {
	for _, op := range s.Timed {
		clock := metrics.Response
		if !op.Has(clock) {
			clock = metrics.Service
		}
		v.times.Merge(s.Interval.Steady.Histogram(op, clock))
		v.times.Merge(s.Interval.Other.Histogram(op, clock))
	}
	for _, op := range s.Counted {
		for _, o := range []metrics.Outcome{metrics.Timeout, metrics.Lost, metrics.Failed} {
			v.errors[o] += s.Interval.Steady.Count(op, o) + s.Interval.Other.Count(op, o)
		}
	}
	if v.rates = append(v.rates, s.PerSecond); len(v.rates) > minute {
		v.rates = v.rates[1:]
	}
}

// clear erases the lines.
func (v *view) clear() {
	if v.drawn > 0 {
		fmt.Fprintf(v.w, "\r\x1b[%dA\x1b[J", v.drawn)
		v.drawn = 0
	}
}

// draw writes the lines over those on the terminal.
func (v *view) draw() {
	width, height := v.size()
	text := v.text()
	if len(text) > height-1 {
		text = text[:max(height-1, 1)]
	}
	var out strings.Builder
	if v.drawn > 0 {
		fmt.Fprintf(&out, "\r\x1b[%dA", v.drawn)
	}
	for _, line := range text {
		out.WriteString("\x1b[2K" + v.fit(line, width) + "\r\n")
	}
	out.WriteString("\x1b[J") // there may have been more lines
	v.drawn = len(text)
	io.WriteString(v.w, out.String())
}

// text returns the lines, not yet cut to the width.
func (v *view) text() []line {
	u := v.shown
	head := fmt.Sprintf("%scell %d of %d, %s", v.bar(), u.Cell, u.Cells, phaseOf(u))
	if left := leftOf(u); left != "" {
		head += ", " + left
	}
	out := []line{{text: head + "; " + loadOf(u)}} // the least important part is last, because it may be cut off
	s := u.Second
	if s == nil {
		return out
	}
	unit := cmp.Or(u.Unit, "operations")
	now, whole := "p50 -  p99 -  max -", "p50 -  p99 -  max -"
	if s.Point.Timed > 0 {
		now = times(s.P50, s.P99, s.Max)
	}
	if v.times.Count() > 0 {
		whole = times(v.times.Quantile(0.5), v.times.Quantile(0.99), v.times.Max())
	}
	rate := fmt.Sprintf("%s %s/s", phrase.Fixed(s.PerSecond, 3), unit)
	if u.Rate > 0 {
		rate += fmt.Sprintf(" of %s/s offered", phrase.Number(u.Rate, 6))
	}
	sessions := s.Sessions()
	standing := fmt.Sprintf("%d waiting, %d holding", sessions.Waiting, sessions.Holding)
	held := ""
	if limit := max(u.Permits, 1); sessions.Holders > limit {
		held = fmt.Sprintf("%d HOLD ONE OBJECT", sessions.Holders)
	} else if sessions.Mixed {
		held = "A WRITER HOLDS BESIDE READERS"
	}
	most := slices.Max(v.rates)
	if f := u.Fleet; f != nil {
		out = append(out, line{text: fmt.Sprintf("%-12s %s", "all shares", fleetText(f, unit))})
	}
	return append(out,
		line{text: fmt.Sprintf("%-12s %s, at most %s/s in the last minute:", "done", rate, phrase.Fixed(most, 3))},
		line{text: fmt.Sprintf("%-12s %s", "", sparkline(v.rates, most))},
		line{text: fmt.Sprintf("%-12s %s   (%s, last second)", u.Timed, now, phrase.Count(s.Point.Timed, "sample"))},
		line{text: fmt.Sprintf("%-12s %s   (%s, this cell)", "", whole, phrase.Count(v.times.Count(), "sample"))},
		line{text: fmt.Sprintf("%-12s %s, %d of %d connected ", "sessions", standing, sessions.Connected, u.Sessions), alarm: held},
		line{text: fmt.Sprintf("%-12s %s; errors: %s", "servers", v.leader(s), v.errorText())},
		line{text: fmt.Sprintf("%-12s %s", "zkbench", ownText(s))})
}

// line is a line of the view. The alarm is shown at its end and must not be overlooked.
type line struct{ text, alarm string }

// fit cuts a line to the terminal's width, so that it never wraps.
func (v *view) fit(l line, width int) string {
	text := []rune(l.text)
	room := max(width-1-utf8.RuneCountInString(l.alarm), 0)
	if len(text) > room {
		text = text[:room]
	}
	if l.alarm == "" {
		return strings.TrimRight(string(text), " ")
	}
	return string(text) + v.red(l.alarm)
}

func (v *view) red(text string) string {
	if !v.colour {
		return text
	}
	return "\x1b[1;31m" + text + "\x1b[0m"
}

// bar shows how much of the phase has passed, if that is known.
func (v *view) bar() string {
	const width = 10
	u := v.shown
	share := -1.0
	switch {
	case u.Phase == outcome.PhaseConnect && u.Connected > 0:
		share = float64(u.Connected) / float64(u.Sessions)
	case u.Of > 0:
		share = float64(u.Passed) / float64(u.Of)
	}
	if share < 0 {
		return ""
	}
	full := int(min(share, 1) * width)
	return "[" + strings.Repeat("#", full) + strings.Repeat(".", width-full) + "] "
}

func (v *view) leader(s *load.Second) string {
	if s.Leader == "" {
		return "no leader known"
	}
	return s.Leader + " leads"
}

func (v *view) errorText() string {
	var words []string
	for _, o := range []metrics.Outcome{metrics.Timeout, metrics.Lost, metrics.Failed} {
		if n := v.errors[o]; n > 0 {
			words = append(words, fmt.Sprintf("%d %s", n, o))
		}
	}
	return cmp.Or(strings.Join(words, ", "), "none")
}

// ownText describes what zkbench itself used.
func ownText(s *load.Second) string {
	cpu := "CPU not known"
	if s.CPU >= 0 {
		cpu = fmt.Sprintf("%.0f %% of the CPUs", 100*s.CPU)
	}
	if s.Lag == nil || s.Lag.Count() == 0 {
		return cpu
	}
	return fmt.Sprintf("%s, timers late by %s (p99)", cpu, phrase.Duration(s.Lag.Quantile(0.99)))
}

func times(p50, p99, longest time.Duration) string {
	return fmt.Sprintf("p50 %s  p99 %s  max %s", phrase.Duration(p50), phrase.Duration(p99), phrase.Duration(longest))
}

// sparkline returns a character for each value, on a scale from 0 to most.
func sparkline(values []float64, most float64) string {
	const levels = "▁▂▃▄▅▆▇█"
	var out strings.Builder
	steps := []rune(levels)
	for _, v := range values {
		i := 0
		if most > 0 {
			i = int(v / most * float64(len(steps)-1))
		}
		out.WriteRune(steps[i])
	}
	return out.String()
}
