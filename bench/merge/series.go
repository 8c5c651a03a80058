package merge

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/bench/outcome"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/workloads"
)

// mergeSeries writes intervals.hlog and timeline.jsonl of a cell. It uses the intervals of the lowest share; what another share counted at the same time
// after its own start is added to them. The servers' figures are those that the lowest share recorded.
func (c *cell) mergeSeries(out *results.Dir) error {
	first := c.Merged.Shares[0]
	lines, err := results.ReadSeconds(first.Dir)
	if err != nil {
		return err
	}
	lines = slices.DeleteFunc(lines, func(s results.Second) bool { return s.Cell != c.Name() })
	buckets := bucketsOf(lines, first.Cell.Started)
	if len(buckets) == 0 {
		return fmt.Errorf("%s has no interval of %s (copy the whole directory of the share)", first.Dir, c.Name())
	}
	var logs []*logReader
	defer func() {
		for _, l := range logs {
			l.stop()
		}
	}()
	for _, s := range c.Merged.Shares {
		seconds, err := results.ReadSeconds(s.Dir)
		if err != nil {
			return err
		}
		for _, line := range seconds {
			if line.Cell == c.Name() && line.Client != nil {
				bucketAt(buckets, middle(line, s.Cell.Started)).count(line.Client)
			}
		}
		logs = append(logs, readLog(s.ShareResult, c.Name(), s.Cell.Started))
	}
	pull, stop := iter.Pull(c.timed.All())
	defer stop()
	t, more := pull()
	next := 0
	for _, line := range lines {
		if line.Client != nil {
			b := &buckets[next]
			set := &metrics.Set{}
			for ; more && (t.End <= b.to || next == len(buckets)-1); t, more = pull() {
				t.into(set)
			}
			for _, l := range logs {
				if err := l.until(b.to, next == len(buckets)-1, set); err != nil {
					return err
				}
			}
			next++
			from, to := c.Origin.Time(b.from), c.Origin.Time(b.to)
			if err := out.Interval(c.Name(), from, to, set); err != nil {
				return err
			}
			line.Client = b.figures(line, set, workloads.Ops(c.Work), workloads.Timed(c.Work))
		}
		if err := out.Timeline(line); err != nil {
			return err
		}
	}
	return nil
}

// bucket is an interval of the merged run, as offsets from the start of the cell.
type bucket struct {
	from, to             time.Duration
	done, errors, events float64
}

func bucketsOf(lines []results.Second, started time.Time) (all []bucket) {
	for _, line := range lines {
		if line.Client != nil {
			length, _ := line.Client.Get("seconds")
			to := line.At.Sub(started)
			all = append(all, bucket{from: to - time.Duration(length*float64(time.Second)), to: to})
		}
	}
	return all
}

// bucketAt returns the bucket that contains an offset, or the nearest one.
func bucketAt(all []bucket, offset time.Duration) *bucket {
	i, _ := slices.BinarySearchFunc(all, offset, func(b bucket, at time.Duration) int { return cmp.Compare(b.to, at) })
	return &all[min(i, len(all)-1)]
}

// middle returns the middle of a line's interval, from the start of the cell by the clock of the share.
func middle(line results.Second, started time.Time) time.Duration {
	length, _ := line.Client.Get("seconds")
	return line.At.Sub(started) - time.Duration(length/2*float64(time.Second))
}

// count adds what a share counted.
func (b *bucket) count(f results.Figures) {
	length, _ := f.Get("seconds")
	perS, _ := f.Get("per_s")
	failed, _ := f.Get("errors")
	events, _ := f.Get("events")
	b.done, b.errors, b.events = b.done+perS*length, b.errors+failed, b.events+events
}

// figures returns a line of the timeline. Times are known only in the steady phase.
func (b *bucket) figures(line results.Second, steady *metrics.Set, ops, timed []metrics.Op) results.Figures {
	p := metrics.NewPoint(metrics.Interval{From: b.from, To: b.to, Steady: steady, Other: &metrics.Set{}}, ops, timed)
	p.PerSecond, p.Events, p.Errors = b.done/max((b.to-b.from).Seconds(), 1e-9), int64(b.events), int64(b.errors)
	if line.Phase != outcome.PhaseSteady || b.done < 0.5 {
		p.Timed = 0
	}
	f := outcome.ClientFigures(p)
	f["seconds"] = line.Client["seconds"]
	return f
}

// logReader reads intervals.hlog of a share, interval by interval alongside others.
type logReader struct {
	next    func() (logLine, error, bool)
	stop    func()
	pending *logLine
	started time.Time
}

type logLine struct {
	key    metrics.Key
	middle time.Duration
	of     *metrics.Histogram
}

func readLog(s *results.ShareResult, tag string, started time.Time) *logReader {
	l := &logReader{started: started}
	l.next, l.stop = iter.Pull2(func(yield func(logLine, error) bool) {
		over := errors.New("over")
		err := results.EachInterval(s.Dir, func(name string) bool { return strings.HasPrefix(name, tag+"/") }, func(name string, i results.Interval) error {
			key, err := metrics.ParseKey(strings.TrimPrefix(name, tag+"/"))
			if err != nil {
				return err
			}
			h, err := i.Histogram()
			if err == nil && !yield(logLine{key, i.From.Sub(started) + time.Duration(i.Seconds/2*float64(time.Second)), h}, nil) {
				err = over
			}
			return err
		})
		if err != nil && !errors.Is(err, over) {
			yield(logLine{}, err)
		}
	})
	return l
}

// until adds the intervals whose middle is before an offset, or all the rest.
func (l *logReader) until(to time.Duration, rest bool, into *metrics.Set) error {
	for {
		if l.pending == nil {
			line, err, more := l.next()
			if err != nil || !more {
				return err
			}
			l.pending = &line
		}
		if !rest && l.pending.middle >= to {
			return nil
		}
		into.Fold(l.pending.key, l.pending.of)
		l.pending = nil
	}
}
