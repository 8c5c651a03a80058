package outcome

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/workloads"
)

// Merged is what a cell has in addition if it was merged from several shares.
type Merged struct {
	Shares []MergedShare // shares that have the cell
	Gone   []int         // numbers of the shares that do not
	Error  time.Duration // possible error of times on the clock of the first share
	// Unaligned means that for some share the offset of its clock from the first share's is unknown.
	Unaligned bool
	// Passed means that the times of items from their puts to their takes are measured.
	Passed bool
}

// MergedShare is one share of a merged cell.
type MergedShare struct {
	*results.ShareResult
	Cell    results.Cell
	Part    results.Part
	History *metrics.History
	Skew    check.Skew
	Shift   time.Duration // added to its times for the clock of the first share
}

// Partial reports whether a share is missing from the cell, or did not finish it.
func (m *Merged) Partial() bool {
	return len(m.Gone) > 0 || slices.ContainsFunc(m.Shares, func(s MergedShare) bool { return s.Cell.Partial })
}

// Cut names a share whose history is incomplete: figures that need all operations are then not reported.
func (m *Merged) Cut() (share string, some bool) {
	for _, s := range m.Shares {
		if s.Part.CutAt != 0 {
			return fmt.Sprintf("share %d", s.Run.Share.Number), true
		}
	}
	return "", false
}

// Hosts returns the shares of the cell in the form that the checks take.
func (m *Merged) Hosts() (all []check.Host) {
	for _, s := range m.Shares {
		h := check.Host{Name: fmt.Sprintf("share %d", s.Run.Share.Number), History: s.History.All(), Cut: s.Part.CutAt != 0 || s.Cell.Partial}
		for _, at := range s.Part.Meets {
			h.Meets = append(h.Meets, check.Meet{Came: time.Duration(at.Came), Went: time.Duration(at.Went)})
		}
		all = append(all, h)
	}
	for _, n := range m.Gone {
		all = append(all, check.Host{Name: fmt.Sprintf("share %d", n), History: func(func(metrics.Sample) bool) {}, Cut: true})
	}
	return all
}

// judgeAcross returns the verdicts on what all shares did. It compares no two clocks.
func (c *Cell) judgeAcross() (out []results.Check, all []named) {
	hosts := c.Merged.Hosts()
	for _, k := range c.Work.Checks() {
		v, judged := k.JudgeAcross(hosts, c.History.Room())
		if !judged {
			continue
		}
		all = append(all, named{k.Name, v})
		out = append(out, c.stated(k.Name, v))
	}
	if err := c.History.Err(); err != nil {
		for i, k := range out {
			out[i] = results.FromVerdict(k.Name, check.Verdict{Detail: "not judged: " + Incomplete(err).Error()})
		}
	}
	return out, all
}

// spread puts the figures of each share into the result of the cell, and takes those that exist only once from the lowest share.
func (m *Merged) spread(c *Cell, out *results.Cell) {
	first := m.Shares[0].Cell
	out.Shares = nil
	out.Server = first.Server
	g := results.Generator{}
	cpu, known := 0.0, true
	for _, s := range m.Shares {
		own := s.Cell.Generator
		share := results.CellShare{Number: s.Run.Share.Number, Sessions: s.Run.Share.Of(c.Sessions), Operations: s.Cell.Operations, Steady: s.Cell.Steady, Generator: own,
			Machine: s.Cell.Machine, Samples: s.Part.Samples, Cut: s.Part.CutAt != 0, Partial: s.Cell.Partial}
		if skew := s.Skew; skew.Known {
			share.SkewLow, share.SkewHigh = new(inMs(min(skew.Low, skew.High))), new(inMs(max(skew.Low, skew.High)))
		}
		out.Shares = append(out.Shares, share)
		cpu, known = cpu+float64(s.Part.CPU), known && s.Part.CPU >= 0
		g.CPUShare, g.TimerLagP99 = max(g.CPUShare, own.CPUShare), max(g.TimerLagP99, own.TimerLagP99)
		g.TimerLagMax = max(g.TimerLagMax, own.TimerLagMax)
		g.GCPauseTotal, g.GCPauseMax = g.GCPauseTotal+own.GCPauseTotal, max(g.GCPauseMax, own.GCPauseMax)
		g.Sockets += own.Sockets
		if own.Saturated && !g.Saturated {
			g.Saturated, g.SaturatedReason = true, fmt.Sprintf("share %d: %s", share.Number, own.SaturatedReason)
		}
		if own.Late && !g.Late {
			g.Late, g.LateReason = true, fmt.Sprintf("share %d: %s", share.Number, own.LateReason)
		}
	}
	ops := workloads.Ops(c.Work)
	totals := c.Totals
	g.LagP99 = Millis(withUnserved(totals, metrics.Lag, ops...).Quantile(0.99))
	if done := doneOf(totals, ops...); known && done > 0 {
		g.CPUPerOp = cpu / 1e3 / float64(done)
	}
	out.Generator = g
}

// note says which shares a merged cell was merged from, and what cannot be judged.
func (m *Merged) note(c *Cell, f Findings) string {
	note := fmt.Sprintf("merged from %s, each in the steady phase of its own clock", phrase.Count(len(m.Shares), "share"))
	if len(m.Gone) > 0 {
		note += fmt.Sprintf("; nothing from %s", phrase.Count(len(m.Gone), "share"))
	}
	for _, text := range m.between(c, f) {
		note += "; " + text
	}
	var open []string
	for _, k := range c.Work.Checks() {
		if !slices.ContainsFunc(f.verdicts, func(v named) bool { return v.check == k.Name }) {
			open = append(open, k.Name)
		}
	}
	if len(open) > 0 {
		note += "; not judged, because it needs a single clock: " + strings.Join(open, ", ")
	}
	return note
}

// shareOf returns the share that a session belongs to, or an empty one if it is missing.
func (m *Merged) shareOf(session uint32) *MergedShare {
	for i := range m.Shares {
		if s := &m.Shares[i]; s.Run.Share.Has(s.Cell, session) {
			return s
		}
	}
	return &MergedShare{}
}

// steadyOf returns the steady phase of a session's share, on the clock of the first share; empty if the share is missing.
func (m *Merged) steadyOf(session uint32) Span {
	s := m.shareOf(session)
	return Span{time.Duration(s.Part.From) + s.Shift, time.Duration(s.Part.To) + s.Shift}
}

// between says which samples provide the times that start at one session and end at another, and which clock other times use.
func (m *Merged) between(c *Cell, f Findings) (all []string) {
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	if share, some := m.Cut(); some {
		add("figures that need the whole history (hand-offs across sessions, fairness, overtakes, idle while wanted) and plots of it are not reported, because the history of %s is incomplete", share)
		return all
	}
	ops := workloads.Ops(c.Work)
	has := func(some ...metrics.Op) bool {
		return slices.ContainsFunc(some, func(op metrics.Op) bool { return slices.Contains(ops, op) })
	}
	if len(m.Shares) > 1 {
		for _, of := range []struct {
			known bool
			what  string
		}{{workloads.HandsOver(c.Work), "hand-offs"}, {m.Passed, "times of items in the queues"}, {has(metrics.Change, metrics.Join), "times until a change reaches its observers"}} {
			if of.known {
				add("%s are measured where both sessions belong to one share, about 1 in %d, by its clock", of.what, len(m.Shares))
			}
		}
	}
	if has(metrics.Acquire, metrics.ReadAcquire, metrics.Campaign, metrics.Take) && len(m.Shares) > 1 {
		switch {
		case m.Partial():
			add("idle while wanted is not reported, because what the missing share held is unknown")
		case m.Unaligned:
			add("idle while wanted is not reported, because no transactions show how far apart the clocks of the shares are")
		default:
			add("idle while wanted, the order of arrivals and strips use the clock of the first share, to within %s for the others", phrase.Duration(m.Error))
		}
	}
	if slices.Contains(ops, metrics.Acquire) && len(f.deal.Overtaken) == 0 {
		add("overtakes are not reported, because the transactions of places or grants are not all known")
	}
	return all
}

// oneClock reports whether the history is complete and on one clock.
func (m *Merged) oneClock() bool {
	_, cut := m.Cut()
	return !m.Unaligned && !m.Partial() && !cut
}

// atOneClock converts samples of the shares to the clock of the first share.
func (m *Merged) atOneClock(of []metrics.Sample) (all []metrics.Sample) {
	for _, s := range of {
		shift := m.shareOf(s.Session).Shift
		s.Due, s.Start, s.End = s.Due+shift, s.Start+shift, s.End+shift
		all = append(all, s)
	}
	return all
}
