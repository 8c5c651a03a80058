package merge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/bench/faults"
	"github.com/zkbench/zkbench/bench/fleet"
	"github.com/zkbench/zkbench/bench/outcome"
	"github.com/zkbench/zkbench/bench/plan"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/metrics/spill"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/workloads"
)

// Config describes the merge of the results of a run's shares.
type Config struct {
	Kind    workloads.Kind   // the profile's
	Profile profiles.Profile // checked
	Command []string
	Version string // of zkbench
	Out     *results.Dir
	Shares  []*results.ShareResult // of one run, the lowest first: see results.ReadShares
	Missing []int                  // shares that have no result
}

// Merge adds up the results of the shares, judges what they did together, and writes the result of one run into Out. Counts and histograms are sums: those of
// one process with the same seed. The result is partial if a share is missing or did not finish. An error is about files.
func Merge(ctx context.Context, m Config) (*results.Run, error) {
	first := m.Shares[0].Run
	run := *first
	run.Share, run.Cells, run.Pools, run.Connecting, run.Command, run.Environment.Zkbench = nil, []results.Cell{}, nil, nil, m.Command, m.Version
	for n := range first.Share.Shares {
		share := results.RunShare{Number: n + 1, Missing: slices.Contains(m.Missing, n+1)}
		for _, s := range m.Shares {
			if s.Run.Share.Number == n+1 {
				share.Host, share.Exit = s.Run.Share.Host, s.Run.Exit
			}
		}
		run.Shares = append(run.Shares, share)
	}
	planned := plan.Cells(m.Profile)
	doc := &outcome.Document{Run: &run, Out: m.Out, Profile: m.Profile.Environments()[0], Planned: len(planned)}
	for _, p := range planned {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := m.cell(p, doc); err != nil {
			return nil, err
		}
	}
	if err := doc.ConnectedShares(m.Shares); err != nil {
		return nil, err
	}
	var problems []outcome.Problem
	err := m.whyPartial()
	if err != nil {
		problems = append(problems, outcome.Problem{Code: fleet.ExitCode(err, len(run.Cells) > 0), Err: err})
	}
	run.Partial = err != nil || len(run.Cells) < len(planned)
	doc.Conclude(problems, false)
	run.Finished = first.Finished
	return &run, m.Out.Write(&run)
}

// whyPartial returns which shares are missing or did not finish; nil if there are none.
func (m Config) whyPartial() error {
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
	if i := slices.IndexFunc(all, func(err error) bool { return errors.Is(err, fleet.ErrInterrupted) }); i >= 0 {
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

// cell merges a cell and adds it to the document. It skips a cell that no share has.
func (m Config) cell(p plan.Cell, doc *outcome.Document) error {
	c, err := m.collect(p)
	if err != nil || c == nil {
		return err
	}
	defer c.close()
	if err := c.include(); err != nil {
		return err
	}
	if err := c.mergeSeries(m.Out); err != nil {
		return err
	}
	result, findings := c.Result()
	if c.Merged.Partial() {
		outcome.Unaccounted(&result, "a share did not finish the cell")
	}
	return doc.Add(&c.Cell, result, findings)
}

// cell is a cell that is being merged.
type cell struct {
	outcome.Cell
	timed *spill.List[timed]
}

// collect finds the parts of a cell; it returns nil if there are none. The caller closes the result.
func (m Config) collect(p plan.Cell) (*cell, error) {
	variant, known := m.Kind.Find(p.Variant)
	if !known {
		return nil, fmt.Errorf("workload %s has no variant %s", m.Kind.Name, p.Variant)
	}
	load := p.Load("")
	load.Shared, load.Merged = true, true
	work, err := variant.New(load, p.Profile.Options)
	if err != nil {
		return nil, err
	}
	c := &cell{Cell: outcome.Cell{Cell: p, Work: work, Unsafe: variant.Unsafe, Exempt: variant.Own || variant.Unsafe,
		Merged: &outcome.Merged{Gone: slices.Clone(m.Missing), Passed: slices.Contains(workloads.Timed(work), metrics.PutToTake)}}}
	c.History = m.history(0)
	for _, share := range m.Shares {
		of, part, there := share.Part(p.Name())
		if !there {
			c.Merged.Gone = append(c.Merged.Gone, share.Run.Share.Number)
			continue
		}
		c.Merged.Shares = append(c.Merged.Shares, outcome.MergedShare{ShareResult: share, Cell: of, Part: part, History: m.history(1)})
	}
	if len(c.Merged.Shares) == 0 {
		c.close()
		return nil, nil
	}
	return c, nil
}

func (m Config) history(shards int) *metrics.History {
	return metrics.NewHistory(shards, spill.NewRoom(m.Out.Path(), 0))
}

func (c *cell) close() {
	c.History.Close()
	for _, s := range c.Merged.Shares {
		s.History.Close()
	}
	if c.timed != nil {
		c.timed.Close()
	}
}

// include adds up the counts of the shares, and reads their histories.
func (c *cell) include() error {
	first := c.Merged.Shares[0]
	c.Started = first.Cell.Started
	c.Origin = metrics.NewOrigin(c.Started)
	c.Faults = faults.New(c.Profile.Schedule(), faults.Target{Origin: c.Origin, SessionTimeout: c.Profile.SessionTimeout})
	if seen := first.Part.Faults; len(seen) > 0 {
		if err := c.Faults.Learn(seen); err != nil {
			return fmt.Errorf("%s: %w", first.Dir, err)
		}
		c.LostLeaders = c.Faults.Learned()
	}
	c.Steady = outcome.Span{From: time.Duration(first.Part.From), To: time.Duration(first.Part.To)}
	c.Totals, c.Opening = &metrics.Set{}, metrics.NewHistogram()
	for _, s := range c.Merged.Shares {
		c.Steady.To = max(c.Steady.To, c.Steady.From+s.Part.Length())
		c.Interrupted = c.Interrupted || s.Cell.Partial
		set, err := totals(s, c.Name())
		if err != nil {
			return err
		}
		c.Totals.Merge(set)
		c.Fanout = c.Fanout.Add(s.Part.Fanout)
		c.Expired, c.Redials = c.Expired+s.Part.Expired, c.Redials+s.Part.Redials
		if p := s.Cell.Pauses; p != nil {
			c.Pauses, c.Paused = c.Pauses+p.Count, c.Paused+time.Duration(s.Part.Pauses)
		}
		if err := s.ShareResult.History(c.Name(), func(m metrics.Sample) { s.History.Shard(0).Record(m) }); err != nil {
			return err
		}
		if err := s.Part.Opening.AddTo(c.Opening); err != nil {
			return err
		}
	}
	c.align()
	c.timeBetween()
	return nil
}

// totals returns what a share counted in the steady phase of a cell.
func totals(s outcome.MergedShare, tag string) (*metrics.Set, error) {
	set := s.Part.Set()
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
