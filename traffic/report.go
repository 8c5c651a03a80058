package traffic

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/traffic/zklog"
)

// Schema is the version of the document.
const Schema = "zkbench.traffic/1"

// Report is the load of an ensemble. Times are those of the leaders' clocks, in milliseconds or seconds as the names say.
type Report struct {
	Schema      string      `json:"schema"`
	Dirs        []string    `json:"dirs"`
	From        time.Time   `json:"from"` // of the first transaction
	To          time.Time   `json:"to"`   // of the last one
	Seconds     float64     `json:"seconds"`
	Coverage    Coverage    `json:"coverage"`
	Writes      Writes      `json:"writes"`
	Mix         []Share     `json:"mix"`
	Failed      []Failure   `json:"failed,omitempty"`
	Multis      Values      `json:"multi_operations"` // operations of each multi
	Reads       Reads       `json:"reads"`
	Sessions    Sessions    `json:"sessions"`
	Directories []Directory `json:"directories"`
	Recipes     []Recipe    `json:"recipes"`
	Tree        *Tree       `json:"tree,omitempty"` // nil without a snapshot
	Unknown     []string    `json:"unknown"`        // what was not in the files, and what was left out
}

// Coverage says which files the report comes from, and what they lack.
type Coverage struct {
	Logs           int      `json:"logs"`
	Snapshot       string   `json:"snapshot,omitempty"` // from which sessions and znodes from before the first transaction are known
	Bytes          int64    `json:"bytes"`
	Transactions   int64    `json:"transactions"` // in all files, whatever --from and --to say
	First          string   `json:"first"`        // zxids, in hexadecimal
	Last           string   `json:"last"`
	Leaders        int      `json:"leaders"` // epochs: how many leaders made the transactions
	Gaps           int      `json:"gaps"`
	Missing        int64    `json:"missing"` // transactions in the gaps, at least
	Repeated       int64    `json:"repeated"`
	UnknownRecords int64    `json:"unknown_records"`
	ClockBack      int64    `json:"clock_back"`    // times that the clock of the transactions went back
	ClockBackMS    int64    `json:"clock_back_ms"` // the furthest
	Problems       []string `json:"problems,omitempty"`
}

// Writes is how the writes of clients came: whatever changes znodes or failed to, without the opening and closing of sessions. A multi is one write.
type Writes struct {
	Count     int64     `json:"count"`
	PerSecond float64   `json:"per_second"`
	Data      Values    `json:"data"` // bytes of all znodes that were created or set, within multis too
	Windows   []Window  `json:"windows"`
	Timeline  []int64   `json:"timeline"` // writes in consecutive intervals
	IntervalS int64     `json:"interval_s"`
	Started   time.Time `json:"started"` // of the timeline
}

// Window is how writes were spread over intervals of one length.
type Window struct {
	Seconds   int64   `json:"seconds"`
	Intervals int64   `json:"intervals"` // whole ones
	Peak      int64   `json:"peak"`      // most writes in an interval
	PeakRate  float64 `json:"peak_per_second"`
	// Dispersion is the index of dispersion, variance by mean: 1 for Poisson arrivals, more for bursts. 0 with fewer than two intervals.
	Dispersion float64 `json:"dispersion"`
}

// Share is one kind of write.
type Share struct {
	Kind    string `json:"kind"`
	Count   int64  `json:"count"`
	InMulti int64  `json:"in_multis"` // operations of this kind within multis, besides
	Data    Values `json:"data"`      // bytes, of those that have any; within multis too
}

// Values sums up numbers: count, mean, least and largest exactly, the quantiles to 1 %.
type Values struct {
	Count     int64     `json:"count"`
	Mean      float64   `json:"mean"`
	Min       int64     `json:"min"`
	P50       int64     `json:"p50"`
	P90       int64     `json:"p90"`
	P99       int64     `json:"p99"`
	Max       int64     `json:"max"`
	Quantiles [10]int64 `json:"quantiles"` // at 5, 15, ... 95 %
}

// Failure is a reason for which writes failed. The log does not say which kind they were, but for multis.
type Failure struct {
	Code  int32  `json:"code"`
	Name  string `json:"name"`
	Count int64  `json:"count"`
}

// Reads is the number of requests between the writes of sessions, told by gaps in the numbers of the clients' requests.
type Reads struct {
	Count     int64   `json:"count"`
	PerSecond float64 `json:"per_second"`
	PerWrite  float64 `json:"per_write"`
	Growing   int64   `json:"growing_sessions"`   // sessions with a write, whose request numbers only grew
	Restarted int64   `json:"restarted_sessions"` // those whose numbers fell, so that the count is a lower bound
}

// Sessions is what became of the sessions.
type Sessions struct {
	Before       int64     `json:"before"` // opened before the time of the report
	Opened       int64     `json:"opened"`
	Closed       int64     `json:"closed"`  // by their clients
	Expired      int64     `json:"expired"` // ended by the servers: expired, or killed by an administrator
	Open         int64     `json:"open"`    // at the end of the time of the report
	Peak         int64     `json:"peak"`
	Mean         float64   `json:"mean"`              // at a time
	OpenedPerMin float64   `json:"opened_per_minute"` // churn
	Writing      int64     `json:"writing"`           // sessions with at least one write
	LifetimeMS   Values    `json:"lifetime_ms"`       // of those opened and ended in the logs
	Timeouts     []Timeout `json:"timeouts"`          // the most frequent ones
	Members      []Member  `json:"members"`           // who opened them
	Ephemerals   Values    `json:"ephemerals"`        // of each session when it ended
}

// Timeout is a session timeout.
type Timeout struct {
	MS    int64 `json:"ms"`
	Count int64 `json:"count"`
}

// Member is a server that opened sessions: the top byte of their ids.
type Member struct {
	Server   int   `json:"server"`
	Sessions int64 `json:"sessions"`
}

// Directory is a pattern of paths whose children were written.
type Directory struct {
	Pattern string `json:"pattern"`
	Znodes  int64  `json:"znodes"` // directories of this pattern
	Creates int64  `json:"creates"`
	Sets    int64  `json:"sets"`
	Deletes int64  `json:"deletes"`
}

// Writes returns the operations on children of the pattern.
func (d Directory) Writes() int64 { return d.Creates + d.Sets + d.Deletes }

// The kinds of recipes.
const (
	Lock       = "lock"
	Election   = "election"
	ReadWrite  = "read-write lock"
	Semaphore  = "semaphore"
	Queue      = "queue"
	SingleLock = "single-znode lock"
	Group      = "group"
)

// Recipe is a use of znodes that was recognized in the directories of a pattern.
type Recipe struct {
	Kind     string  `json:"kind"`
	Pattern  string  `json:"pattern"`
	Objects  int64   `json:"objects"`            // directories, or of single znodes their paths
	Grants   int64   `json:"grants,omitempty"`   // acquisitions that ended
	HandOver int64   `json:"handed,omitempty"`   // of these, given to one who waited
	Expired  int64   `json:"expired,omitempty"`  // of these, ended because the servers ended the session
	Sessions int64   `json:"sessions"`           // different ones, at most 4096 are counted
	Most     int64   `json:"most"`               // most children of one directory: contenders, permits, items or members
	Mean     float64 `json:"mean"`               // children while there were any, over time
	HoldMS   Values  `json:"hold_ms"`            // from being the lowest child until gone, so the new holder's being notified is within; queue: of claims
	WaitMS   Values  `json:"wait_ms"`            // from the create until being the lowest
	Puts     int64   `json:"puts,omitempty"`     // queue
	Takes    int64   `json:"takes,omitempty"`    // queue
	Depth    int64   `json:"depth,omitempty"`    // queue: items at the end
	AgeMS    Values  `json:"age_ms"`             // queue: from put to take
	Bytes    Values  `json:"bytes"`              // queue: of items
	PutRate  float64 `json:"put_rate,omitempty"` // queue: puts a second
	GrantsPS float64 `json:"grants_per_second,omitempty"`
}

// Tree is the shape of the tree in the snapshot.
type Tree struct {
	Znodes     int64   `json:"znodes"`
	Ephemerals int64   `json:"ephemerals"`
	Containers int64   `json:"containers"`
	TTLs       int64   `json:"ttls"`
	Data       Values  `json:"data"`
	Levels     []int64 `json:"levels"` // znodes of each level, the root's first; the last one has all below
	Sessions   int64   `json:"sessions"`
}

// Check returns an error if there was no transaction in the time of the report.
func (r *Report) Check() error {
	if r.Writes.Count+r.Sessions.Opened+r.Sessions.Closed+r.Sessions.Expired == 0 {
		return errors.New("the logs have no requests of clients in this time")
	}
	return nil
}

// finish closes what is still open at the end.
func (a *analysis) finish() {
	for _, r := range a.rates {
		if r.begun {
			r.until(a.last)
		}
	}
	a.older()
	a.open.set(a.open.now, a.now, a.span)
	for _, s := range a.sessions {
		a.sum(s, false)
	}
	for _, d := range a.dirs {
		for _, n := range []*overTime{&d.lock, &d.items, &d.single} {
			n.set(n.now, a.now, a.span)
		}
		d.pattern.add(d)
	}
}

// report makes the report of all that was counted.
func (a *analysis) report(dirs []string, c zklog.Coverage) *Report {
	r := &Report{Schema: Schema, Dirs: dirs, From: time.UnixMilli(a.first).UTC(), To: time.UnixMilli(a.last).UTC(), Seconds: float64(a.last-a.first) / 1000, Tree: a.tree}
	r.Coverage = Coverage{Logs: c.Logs, Snapshot: a.snapshot, Bytes: c.Bytes, Transactions: c.Transactions, First: fmt.Sprintf("0x%x", c.First), Last: fmt.Sprintf("0x%x", c.Last),
		Leaders: a.epochs, Gaps: c.GapCount, Missing: c.Missing, Repeated: c.Repeated, UnknownRecords: c.UnknownRecords, ClockBack: a.clockBack, ClockBackMS: a.clockBackMost,
		Problems: a.problems}
	for _, p := range c.Problems {
		r.Coverage.Problems = append(r.Coverage.Problems, p.Error())
	}
	for _, g := range c.Gaps {
		r.Coverage.Problems = append(r.Coverage.Problems, g.String())
	}
	if a.tree != nil {
		a.tree.Data = a.treeData.values()
	}
	perSecond := func(n int64) float64 {
		if r.Seconds == 0 {
			return 0
		}
		return float64(n) / r.Seconds
	}
	r.Writes = Writes{Count: a.writes, PerSecond: perSecond(a.writes), Data: a.data.values(), Timeline: a.timeline.counts, IntervalS: a.timeline.width / 1000, Started: time.UnixMilli(a.timeline.start).UTC()}
	for _, w := range a.rates {
		r.Writes.Windows = append(r.Writes.Windows, w.window())
	}
	for name, k := range a.mix {
		r.Mix = append(r.Mix, Share{name, k.count, k.inMulti, k.data.values()})
	}
	slices.SortFunc(r.Mix, func(x, y Share) int {
		return cmp.Or(cmp.Compare(y.Count+y.InMulti, x.Count+x.InMulti), cmp.Compare(x.Kind, y.Kind))
	})
	for code, n := range a.failed {
		r.Failed = append(r.Failed, Failure{code, codeName(code), n})
	}
	slices.SortFunc(r.Failed, func(x, y Failure) int { return cmp.Or(cmp.Compare(y.Count, x.Count), cmp.Compare(x.Code, y.Code)) })
	r.Multis = a.multis.values()
	r.Reads = a.reads
	r.Reads.PerSecond = perSecond(r.Reads.Count)
	if a.writes > 0 {
		r.Reads.PerWrite = float64(r.Reads.Count) / float64(a.writes)
	}
	r.Sessions = a.sessionsReport(r.Seconds)
	r.Directories, r.Recipes = a.directories(), a.recipesReport(r.Seconds)
	r.Unknown = a.unknown(r)
	return r
}

// unknown says what the files do not hold, and what was left out.
func (a *analysis) unknown(r *Report) (all []string) {
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	if r.Reads.Count > 0 {
		say("which kinds of reads there were, and of which znodes: the log has only writes, and the gaps between the numbers of requests that reads left")
	}
	if r.Reads.Restarted > 0 {
		say("some reads of %s, whose request numbers fell (kazoo counts from 1 again after a reconnection)", phrase.Count(r.Reads.Restarted, "session"))
	}
	if a.silent > 0 {
		say("what %s did that wrote nothing and were not closed by their clients", phrase.Count(a.silent, "session"))
	}
	say("reads after the last write of a session that the client did not close; pings, watches, credentials, and how long requests took")
	if len(a.failed) > 0 {
		say("which kinds of writes failed: a failed write is logged without its type and path")
	}
	if a.tree == nil {
		say("the tree before the first transaction: there is no snapshot")
	}
	if r.Coverage.Missing > 0 {
		say("at least %s in %s of the logs", phrase.Count(r.Coverage.Missing, "transaction"), phrase.Count(int64(r.Coverage.Gaps), "gap"))
	}
	for _, left := range []struct {
		n    int64
		what string
	}{{a.leftSessions, "sessions"}, {a.leftZnodes, "ephemeral and sequential znodes"}, {a.leftDirs, "writes in further directories"}, {a.leftRecipes, "directories with further patterns of recipes"}} {
		if left.n > 0 {
			say("%d %s, which were not followed to stay within the memory", left.n, left.what)
		}
	}
	return all
}
