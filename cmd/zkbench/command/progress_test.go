package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/zkbench/zkbench/bench/load"
	"github.com/zkbench/zkbench/bench/outcome"
	"github.com/zkbench/zkbench/internal/golden"
	"github.com/zkbench/zkbench/metrics"
)

// second returns a second of a run with operations.
func second(rate float64, took time.Duration) *load.Second {
	iv := metrics.Interval{From: 0, To: time.Second, Steady: &metrics.Set{}, Other: &metrics.Set{}}
	for range int(rate) {
		iv.Steady.Add(metrics.Sample{Op: metrics.Acquire, End: took})
	}
	lag := metrics.NewHistogram()
	lag.Record(300 * time.Microsecond)
	ops := []metrics.Op{metrics.Acquire}
	return &load.Second{Point: metrics.NewPoint(iv, ops, ops), Interval: iv, Counted: ops, Timed: ops, Leader: "zk2:2181", CPU: 0.42, Lag: lag,
		Sessions: func() load.Sessions {
			return load.Sessions{Stand: metrics.Stand{Waiting: 298, Holding: 1, Holders: 1}, Connected: 300}
		}}
}

func steadyUpdate(at time.Duration) load.Update {
	return load.Update{Cell: 3, Cells: 12, Tag: "predecessor-300-r1", Variant: "predecessor", Sessions: 300, Rate: 200, Load: "rate 200/s", Phase: outcome.PhaseSteady,
		Passed: at, Of: 8 * time.Second, Left: 100 * time.Second, Timed: "response", Unit: "grants", Second: second(90, 12*time.Millisecond)}
}

// A second without operations has no response, and not a response of 0.
func TestLinesOfAnIdleSecond(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out, progressAuto)
	u := load.Update{Cell: 1, Cells: 1, Variant: "naive", Sessions: 1, Phase: outcome.PhaseWarmup, Timed: "response", Unit: "grants", Second: &load.Second{}}
	p.update(u)
	u.Phase, u.Passed, u.Of, u.Left = outcome.PhaseSteady, 3*time.Second, 8*time.Second, 95*time.Second
	u.Second = &load.Second{Point: metrics.Point{Timed: 1, OK: 1, PerSecond: 1, P50: 85 * time.Millisecond, Max: 90 * time.Millisecond, Events: 1}}
	p.update(u)
	want := "cell 1 of 1, naive, 1 session, warm-up 0 s, until all is done: 0.0 grants/s, response p50 - max -, 0 events, 0 errors\n" +
		"cell 1 of 1, naive, 1 session, steady 3 of 8 s, 1 m 35 s left: 1.0 grants/s, response p50 85 ms max 90 ms, 1 event, 0 errors\n"
	if out.String() != want {
		t.Errorf("%q\nwant\n%q", out.String(), want)
	}
}

// A soak of eight hours prints kilobytes, more often at its start, and messages at once.
func TestLinesAreThinned(t *testing.T) {
	var out bytes.Buffer
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	p := &lines{w: &out, now: func() time.Time { return at }}
	const length = 8 * 60 * 60
	early, one := 0, steadyUpdate(0) // a histogram is large
	for s := range length {
		u := one
		u.Cell, u.Cells, u.Passed, u.Of, u.Left = 1, 1, time.Duration(s)*time.Second, length*time.Second, time.Duration(length-s)*time.Second
		p.update(u)
		if s == 100 {
			early = strings.Count(out.String(), "\n")
		}
		if s == 3000 {
			before := out.Len()
			p.update(load.Update{Message: "fault, 3.0 s into the steady phase: kill, leader: injected", Event: &load.Event{Kind: load.EventFault}})
			if out.Len() == before {
				t.Error("a fault is not told at once")
			}
		}
		at = at.Add(time.Second)
	}
	if all := strings.Count(out.String(), "\n"); early != 10 || all < 30 || all > 40 || out.Len() > 8<<10 {
		t.Errorf("%d lines in the first 100 s, %d in all, %d bytes", early, all, out.Len())
	}
}

func TestJSONProgress(t *testing.T) {
	var out bytes.Buffer
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	p := &jsonProgress{w: &out, now: func() time.Time { return at }}
	for n := range 300 { // thousands of sessions connect
		p.update(load.Update{Cell: 1, Cells: 1, Variant: "naive", Sessions: 300, Phase: outcome.PhaseConnect, Connected: n + 1})
	}
	p.update(load.Update{Message: "VIOLATED mutual-exclusion in naive", Event: &load.Event{Kind: load.EventViolation, Name: "mutual-exclusion"}})
	p.update(steadyUpdate(3 * time.Second))
	idle := steadyUpdate(4 * time.Second)
	idle.Second = &load.Second{Point: metrics.Point{PerSecond: 0}, Sessions: func() load.Sessions { return load.Sessions{} }, CPU: -1}
	p.update(idle)
	golden.Compare(t, "progress.json", out.String())
	for line := range strings.Lines(out.String()) {
		if err := json.Unmarshal([]byte(line), &map[string]any{}); err != nil {
			t.Errorf("%v: %s", err, line)
		}
	}
}

// screen returns a view on a terminal, and what is written to the terminal.
func screen(width int, colour bool) (*view, *bytes.Buffer) {
	var out bytes.Buffer
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	return &view{w: &out, colour: colour, size: func() (int, int) { return width, 24 }, now: func() time.Time { at = at.Add(time.Second); return at }}, &out
}

func TestView(t *testing.T) {
	for _, width := range []int{80, 200} {
		v, out := screen(width, false)
		for s := range 70 {
			u := steadyUpdate(time.Duration(s) * time.Second / 10)
			u.Second = second(float64(60+s%7*10), time.Duration(10+s)*time.Millisecond)
			if s == 30 {
				u.Second.Interval.Steady.Add(metrics.Sample{Op: metrics.Acquire, Outcome: metrics.Timeout})
			}
			v.update(u)
		}
		text := out.String()
		last := text[strings.LastIndex(text, "A")+1:] // after the cursor has gone up
		golden.Compare(t, fmt.Sprintf("view-%d.txt", width), strings.NewReplacer("\x1b[2K", "", "\x1b[J", "", "\r", "").Replace(last))
		for line := range strings.Lines(last) {
			if n := utf8.RuneCountInString(strings.TrimPrefix(strings.TrimRight(line, "\r\n"), "\x1b[2K")); n >= width {
				t.Errorf("a line of %d on a terminal of %d: %q", n, width, line)
			}
		}
		if n := strings.Count(last, "\n"); n < 6 || n > 8 {
			t.Errorf("%d lines, want 6 to 8", n)
		}
		v.clear()
		if want := fmt.Sprintf("\r\x1b[%dA\x1b[J", strings.Count(last, "\n")); !strings.HasSuffix(out.String(), want) {
			t.Errorf("clear() ends in %q", out.String()[out.Len()-10:])
		}
	}
}

// Two holders of one object are shown in red, unless colours are unwanted, and never cut off.
func TestViewOfTwoHolders(t *testing.T) {
	for _, c := range []struct {
		permits int
		stand   metrics.Stand
		colour  bool
		want    string
	}{
		{0, metrics.Stand{Holding: 2, Holders: 2}, true, "\x1b[1;31m2 HOLD ONE OBJECT\x1b[0m"},
		{0, metrics.Stand{Holding: 2, Holders: 2}, false, "2 HOLD ONE OBJECT"},
		{2, metrics.Stand{Holding: 2, Holders: 2}, false, ""},
		{0, metrics.Stand{Holding: 2, Holders: 1, Mixed: true}, false, "A WRITER HOLDS BESIDE READERS"},
		{0, metrics.Stand{Holding: 1, Holders: 1}, true, ""},
	} {
		v, out := screen(40, c.colour)
		u := steadyUpdate(time.Second)
		u.Permits, u.Second.Sessions = c.permits, func() load.Sessions { return load.Sessions{Stand: c.stand} }
		v.update(u)
		if got := out.String(); c.want != "" && !strings.Contains(got, c.want) || c.want == "" && (strings.Contains(got, "HOLD") || strings.Contains(got, "\x1b[1;31m")) {
			t.Errorf("%+v, %d permits: %q, want %q", c.stand, c.permits, got, c.want)
		}
	}
}

func TestProgressOfAWarmupThatGoesOn(t *testing.T) {
	u := steadyUpdate(0)
	u.Phase, u.Passed, u.Of, u.FirstTurns = outcome.PhaseWarmup, 5*time.Second, 40*time.Second, 12
	if got, want := phaseOf(u), "warm-up 5 s, until 12 more sessions had a first turn, up to 40 s"; got != want {
		t.Errorf("phaseOf = %q, want %q", got, want)
	}
}
