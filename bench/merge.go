package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/fleet"
	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/internal/spill"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/workloads"
)

// Merged is what the results of the shares of a run are to become.
type Merged struct {
	Config                         // Setup, Profile, Out, Command and Version; nothing is connected to
	Shares  []*results.ShareResult // of one run, the lowest first: see results.ReadShares
	Missing []int                  // shares that have no result
}

// mergedCell is what a cell has that was added up from several shares.
type mergedCell struct {
	shares []mergedShare // those that have the cell
	skews  []check.Skew
	off    time.Duration // times on the clock of the first share may be off by so much
	apart  bool          // of some share nobody knows how far its clock is from that
	timed  *spill.List[timed]
	names  []string // of the checks that were judged
	gone   []int    // numbers of the shares that have not
	open   []string // checks that several clocks cannot judge
}

type mergedShare struct {
	*results.ShareResult
	cell    results.Cell
	part    results.Part
	history *metrics.History
	shift   time.Duration // to the clock of the first
}

// Merge adds the results of shares up, judges what they did together, and writes the result of one run into Out. Counts and histograms are sums:
// those of one process with the same seed. Where a share is missing, or did not come to its end, the result is partial. The error is of files.
func Merge(ctx context.Context, m Merged) (*results.Run, error) {
	if err := m.Check(m.Profile); err != nil {
		return nil, err
	}
	first := m.Shares[0].Run
	r := &runner{Config: m.Config, merges: true, planned: plan(m.Profile), failed: make(chan struct{}), idle: map[int]string{}}
	r.Root, r.environment = first.Root, &environment{profile: m.Profile.Environments()[0]}
	r.engine, _ = r.engineOf()
	doc := *first
	doc.Share, doc.Cells, doc.Pools, doc.Connecting, doc.Command, doc.Environment.Zkbench = nil, []results.Cell{}, nil, nil, m.Command, m.Version
	r.doc = &doc
	for n := range first.Share.Shares {
		share := results.RunShare{Number: n + 1, Missing: slices.Contains(m.Missing, n+1)}
		for _, s := range m.Shares {
			if s.Run.Share.Number == n+1 {
				share.Host, share.Exit = s.Run.Share.Host, s.Run.Exit
			}
		}
		doc.Shares = append(doc.Shares, share)
	}
	for i, s := range r.planned {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := r.mergeCell(m, s, i+1); err != nil {
			return nil, err
		}
	}
	if err := r.mergeConnecting(m.Shares); err != nil {
		return nil, err
	}
	r.conclude(m.whyPartial(), nil)
	doc.Finished = first.Finished
	return r.doc, r.Out.Write(r.doc)
}

// whyPartial says which share is missing or did not come to its end; nil: none.
func (m Merged) whyPartial() error {
	var all []error
	for _, n := range m.Missing {
		all = append(all, fmt.Errorf("%w: share %d has no result", fleet.ErrLost, n))
	}
	for _, s := range m.Shares {
		if !s.Run.Partial {
			continue
		}
		kind := fleet.ErrLost
		if s.Run.Exit.Code == 130 {
			kind = fleet.ErrInterrupted
		}
		all = append(all, fmt.Errorf("%w: share %d: %s", kind, s.Run.Share.Number, strings.TrimPrefix(s.Run.Exit.Reason, kind.Error()+": ")))
	}
	if len(all) == 0 {
		return nil
	}
	var text []string
	for _, err := range all {
		text = append(text, err.Error())
	}
	kind := all[0]
	if i := slices.IndexFunc(all, Interrupted); i >= 0 {
		kind = all[i]
	}
	return partialError{strings.Join(text, "; "), kind}
}

// partialError is why a merged run is partial, in one line.
type partialError struct {
	text string
	kind error
}

func (p partialError) Error() string { return p.text }
func (p partialError) Unwrap() error { return p.kind }

// mergeCell adds a cell up and takes it into the document. A cell that no share has is in none.
func (r *runner) mergeCell(m Merged, s spec, number int) error {
	c, err := r.newCell(s, number, len(r.planned))
	if err != nil {
		return err
	}
	defer c.history.Close()
	c.merged = &mergedCell{gone: slices.Clone(m.Missing)}
	for _, share := range m.Shares {
		cell, part, there := share.Part(c.tag())
		if !there {
			c.merged.gone = append(c.merged.gone, share.Run.Share.Number)
			continue
		}
		c.merged.shares = append(c.merged.shares, mergedShare{ShareResult: share, cell: cell, part: part, history: metrics.NewHistory(1, spill.NewRoom(r.Out.Path(), 0))})
	}
	if len(c.merged.shares) == 0 {
		return nil
	}
	defer func() {
		for _, s := range c.merged.shares {
			s.history.Close()
		}
		if c.merged.timed != nil {
			c.merged.timed.Close()
		}
	}()
	if err := c.include(); err != nil {
		return err
	}
	if err := c.mergeSeries(); err != nil {
		return err
	}
	result := c.result()
	c.spread(&result)
	if c.merged.partial() {
		result.Partial = true
		unaccounted(&result, "a share did not finish the cell")
	}
	if result.Operations == 0 {
		r.idle[len(r.doc.Cells)] = c.wouldDo()
	}
	r.doc.Cells = append(r.doc.Cells, result)
	if err := r.keepDetails(c); err != nil {
		return err
	}
	return r.repeated(c)
}

// partial reports whether a share is missing from the cell, or did not come to its end.
func (m *mergedCell) partial() bool {
	return len(m.gone) > 0 || slices.ContainsFunc(m.shares, func(s mergedShare) bool { return s.cell.Partial })
}

// cut says which share's history is incomplete: what it would tell of all operations is not told.
func (m *mergedCell) cut() (share string, some bool) {
	for _, s := range m.shares {
		if s.part.CutAt != 0 {
			return fmt.Sprintf("share %d", s.Run.Share.Number), true
		}
	}
	return "", false
}

// include adds up what the shares counted, and reads their histories.
func (c *cell) include() error {
	first := c.merged.shares[0]
	c.started = first.cell.Started
	c.origin = metrics.NewOrigin(c.started)
	c.planFaults()
	if told := first.part.Faults; len(told) > 0 {
		if err := c.faults.Learn(told); err != nil {
			return fmt.Errorf("%s: %w", first.Dir, err)
		}
	}
	steady := span{time.Duration(first.part.From), time.Duration(first.part.To)}
	for _, s := range c.merged.shares {
		steady.to = max(steady.to, steady.from+s.part.Length())
		c.cut = c.cut || s.cell.Partial
		set, err := s.totals(c.tag())
		if err != nil {
			return err
		}
		c.collector.Include(set)
		c.fanout.Include(metrics.InSteady, s.part.Fanout)
		c.clients.lost.Add(s.part.Expired)
		c.clients.redials.Add(s.part.Redials)
		if p := s.cell.Pauses; p != nil {
			c.pauses.count.Add(p.Count)
			c.pauses.length.Add(s.part.Pauses)
		}
		if err := s.History(c.tag(), func(m metrics.Sample) { s.history.Shard(0).Record(m) }); err != nil {
			return err
		}
		if c.clients.connects == nil {
			c.clients.connects = metrics.NewHistogram()
		}
		if err := s.part.Opening.AddTo(c.clients.connects); err != nil {
			return err
		}
	}
	c.steady.Store(&steady)
	c.setWindow()
	c.warm.Store(true)
	c.align()
	c.timeBetween()
	return nil
}

// totals is what a share counted in the steady phase of a cell.
func (s mergedShare) totals(tag string) (*metrics.Set, error) {
	set := s.part.Set()
	log, err := results.ReadHistograms(s.Dir)
	if err != nil {
		return nil, err
	}
	for name, h := range log {
		key, err := metrics.ParseKey(strings.TrimPrefix(name, tag+"/"))
		if strings.HasPrefix(name, tag+"/") && err == nil {
			set.Fold(key, h)
		}
	}
	return set, nil
}

// hosts are the shares of the cell as the checks take them.
func (m *mergedCell) hosts() (all []check.Host) {
	for _, s := range m.shares {
		h := check.Host{Name: fmt.Sprintf("share %d", s.Run.Share.Number), History: s.history.All(), Cut: s.part.CutAt != 0 || s.cell.Partial}
		for _, at := range s.part.Meets {
			h.Meets = append(h.Meets, check.Meet{Came: time.Duration(at.Came), Went: time.Duration(at.Went)})
		}
		all = append(all, h)
	}
	for _, n := range m.gone {
		all = append(all, check.Host{Name: fmt.Sprintf("share %d", n), History: func(func(metrics.Sample) bool) {}, Cut: true})
	}
	return all
}

// judgeMerged gives the verdicts on what all shares did.
func (c *cell) judgeMerged() []results.Check {
	hosts := c.merged.hosts()
	var out []results.Check
	for _, k := range c.work.Checks() {
		v, judged := k.JudgeAcross(hosts, c.history.Room())
		if !judged {
			c.merged.open = append(c.merged.open, k.Name)
			continue
		}
		c.found.verdicts, c.merged.names = append(c.found.verdicts, v), append(c.merged.names, k.Name)
		out = append(out, c.stated(k.Name, v))
	}
	if err := c.lostHistory(); err != nil {
		for i, k := range out {
			out[i] = results.FromVerdict(k.Name, check.Verdict{Detail: "not judged: " + err.Error()})
		}
	}
	return out
}

// spread puts what each share had into the result of the cell, and takes what there is once from the lowest.
func (c *cell) spread(out *results.Cell) {
	first := c.merged.shares[0].cell
	out.Shares = nil
	out.Server = first.Server
	g := results.Generator{}
	cpu, known := 0.0, true
	for i, s := range c.merged.shares {
		own := s.cell.Generator
		share := results.CellShare{Number: s.Run.Share.Number, Sessions: s.Run.Share.Of(c.sessions), Operations: s.cell.Operations, Steady: s.cell.Steady, Generator: own,
			Machine: s.cell.Machine, Samples: s.part.Samples, Cut: s.part.CutAt != 0, Partial: s.cell.Partial}
		if skew := c.merged.skews[i]; skew.Known {
			share.SkewLow, share.SkewHigh = new(inMs(min(skew.Low, skew.High))), new(inMs(max(skew.Low, skew.High)))
		}
		out.Shares = append(out.Shares, share)
		cpu, known = cpu+float64(s.part.CPU), known && s.part.CPU >= 0
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
	ops := workloads.Ops(c.work)
	totals := c.collector.Totals()
	g.LagP99 = inMillis(withUnserved(totals, metrics.Lag, ops...).Quantile(0.99))
	if done := doneOf(totals, ops...); known && done > 0 {
		g.CPUPerOp = cpu / 1e3 / float64(done)
	}
	out.Generator = g
}

// mergedNote says what a merged cell is of, and what nobody can judge.
func (c *cell) mergedNote() string {
	if c.merged == nil {
		return ""
	}
	note := fmt.Sprintf("merged from %s, each in the steady phase of its own clock", phrase.Count(len(c.merged.shares), "share"))
	if len(c.merged.gone) > 0 {
		note += fmt.Sprintf("; nothing from %s", phrase.Count(len(c.merged.gone), "share"))
	}
	for _, text := range c.between() {
		note += "; " + text
	}
	if len(c.merged.open) > 0 {
		note += "; not judged, because it needs a single clock: " + strings.Join(c.merged.open, ", ")
	}
	return note
}

// shareOf is the share that a session belongs to; an empty one if it is missing.
func (m *mergedCell) shareOf(session uint32) *mergedShare {
	for i := range m.shares {
		if s := &m.shares[i]; s.Run.Share.Has(s.cell, session) {
			return s
		}
	}
	return &mergedShare{}
}

// steadyOf is the steady phase of the share that a session belongs to, on the clock of the first; empty if the share is missing.
func (m *mergedCell) steadyOf(session uint32) span {
	s := m.shareOf(session)
	return span{time.Duration(s.part.From) + s.shift, time.Duration(s.part.To) + s.shift}
}

// between says of which samples the times are that begin at one session and end at another, and on which clock others are.
func (c *cell) between() (all []string) {
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	if share, some := c.merged.cut(); some {
		add("figures that need the whole history (hand-offs across sessions, fairness, overtakes, idle while wanted) and plots of it are not reported, because the history of %s is incomplete", share)
		return all
	}
	ops := workloads.Ops(c.work)
	has := func(some ...metrics.Op) bool {
		return slices.ContainsFunc(some, func(op metrics.Op) bool { return slices.Contains(ops, op) })
	}
	if len(c.merged.shares) > 1 {
		for _, of := range []struct {
			told bool
			what string
		}{{workloads.HandsOver(c.work), "hand-offs"}, {c.passes, "times of items in the queues"}, {has(metrics.Change, metrics.Join), "times until a change reaches its observers"}} {
			if of.told {
				add("%s are measured where both sessions belong to one share, about 1 in %d, by its clock", of.what, len(c.merged.shares))
			}
		}
	}
	if has(metrics.Acquire, metrics.ReadAcquire, metrics.Campaign, metrics.Take) && len(c.merged.shares) > 1 {
		switch {
		case c.merged.partial():
			add("idle while wanted is not reported, because what the missing share held is unknown")
		case c.merged.apart:
			add("idle while wanted is not reported, because no transactions show how far apart the clocks of the shares are")
		default:
			add("idle while wanted, the order of arrivals and strips use the clock of the first share, to within %s for the others", phrase.Duration(c.merged.off))
		}
	}
	if slices.Contains(ops, metrics.Acquire) && len(c.found.deal.Overtaken) == 0 {
		add("overtakes are not reported, because the transactions of places or grants are not all known")
	}
	return all
}
