package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/zkbench/zkbench/bench"
)

// progress writes a run's state: one line that is written over on a terminal, a plain line a second elsewhere.
type progress struct {
	w        io.Writer
	terminal bool
	dirty    bool   // the terminal's line has something on it
	last     string // what was last said of a phase without points
}

func newProgress(w io.Writer) *progress {
	f, ok := w.(*os.File)
	return &progress{w: w, terminal: ok && term.IsTerminal(int(f.Fd()))}
}

func (p *progress) update(u bench.Update) {
	if u.Message != "" {
		p.clear()
		fmt.Fprintln(p.w, u.Message)
		return
	}
	head := fmt.Sprintf("[%d/%d] %s, %d sessions, %s", u.Cell, u.Cells, u.Variant, u.Sessions, u.Phase)
	switch {
	case u.Point != nil:
		of, share := "", -1.0
		if u.Of > 0 { // otherwise it ends when its work is done
			of, share = fmt.Sprintf("/%.0f", u.Of.Seconds()), float64(u.Elapsed)/float64(u.Of)
		}
		p.line(fmt.Sprintf("%s %2.0f%s s: %.1f grants/s, response p50 %s p99 %s, %d events, %d errors", head, u.Elapsed.Seconds(), of,
			u.Point.PerSecond, short(u.Point.P50), short(u.Point.P99), u.Point.Events, u.Point.Errors), share)
	case u.Connected > 0 && p.terminal:
		p.line(fmt.Sprintf("%s %d", head, u.Connected), float64(u.Connected)/float64(u.Sessions))
	case u.Connected == 0 && head != p.last:
		p.last = head
		p.line(head, -1)
	}
}

// line shows text, on a terminal with a bar for the share that is done.
func (p *progress) line(text string, done float64) {
	if !p.terminal {
		fmt.Fprintln(p.w, text)
		return
	}
	const width = 20
	bar := ""
	if done >= 0 {
		full := int(min(done, 1) * width)
		bar = "[" + strings.Repeat("#", full) + strings.Repeat(".", width-full) + "] "
	}
	fmt.Fprintf(p.w, "\r\x1b[K%s%s", bar, text)
	p.dirty = true
}

func (p *progress) clear() {
	if p.dirty {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.dirty = false
	}
}

func short(d time.Duration) string {
	switch {
	case d >= time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	case d >= time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
	}
	return fmt.Sprintf("%d us", d.Microseconds())
}
