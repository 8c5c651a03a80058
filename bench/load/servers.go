package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zkbench/zkbench/bench/faults"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/zk"
)

// serverSeries holds the servers' figures over a cell: the differences between answers, and their totals for the steady phase. Servers are asked
// at both marks of the steady phase, and now and then in between.
type serverSeries struct {
	mu          sync.Mutex
	last        map[string]*ensemble.ServerStats // the last answer of each server
	steady      map[string]*covered
	stage       pollStage
	outstanding *float64 // the highest of any single server in the steady phase
	watches     *float64 // the highest sum over all servers
	silent      map[string]*silence
	size        int  // voting servers of the ensemble; 0: not reported
	alone       bool // the ensemble is one standalone server
	leaders     faults.Leadership
	followed    time.Time // time of the last answers that leaders has seen
}

// pollStage is how far the polls of a cell have got.
type pollStage uint8

const (
	polled       pollStage = iota // now and then
	polledBefore                  // at the start of the steady phase
	polledAfter                   // at its end
)

// covered is what a server counted in the steady phase, from its answer at the start to its answer at the end.
type covered struct {
	counted  results.Figures
	closed   bool
	restarts int // restarts of its counters: counts from just before a restart are lost
	answers  int
	least    time.Duration // what the quickest of its answers took
	led      int           // the answers in which it was the leader
	open     *float64      // its connections in the last answer; nil if it does not report them
}

// see adds an answer of the steady phase.
func (c *covered) see(st ensemble.ServerStats) {
	if took := st.At.Sub(st.Asked); c.answers == 0 || took < c.least {
		c.least = took
	}
	if c.answers++; st.Leads() {
		c.led++
	}
	if c.open = nil; !st.Lacks("zk_num_alive_connections") {
		c.open = new(float64(st.Connections))
	}
}

// silence counts the failed polls of one server.
type silence struct {
	times, asked int
	err          error // the last one
}

// Serve reports whether at least one server serves.
func Serve(all []ensemble.ServerStats) bool { return slices.ContainsFunc(all, Serves) }

// Serves reports whether a server serves. It need not report its figures.
func Serves(st ensemble.ServerStats) bool {
	return st.Err == nil || errors.Is(st.Err, ensemble.ErrWordsOff)
}

// add adds the answers of all servers and returns each server's figures since its previous answer: nil for a server that did not report. from is when the
// earliest of these differences starts, or zero.
func (s *serverSeries) add(all []ensemble.ServerStats, stage pollStage) (figures map[string]results.Figures, from time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil {
		s.last, s.steady, s.silent = map[string]*ensemble.ServerStats{}, map[string]*covered{}, map[string]*silence{}
	}
	s.stage = max(s.stage, stage)
	figures = map[string]results.Figures{}
	watches, reported := 0.0, false
	for _, st := range all {
		if s.silent[st.Address] == nil {
			s.silent[st.Address] = &silence{}
		}
		s.silent[st.Address].asked++
		if st.Err != nil {
			s.silent[st.Address].times++
			s.silent[st.Address].err = st.Err
			figures[st.Address] = nil
			continue
		}
		before := s.last[st.Address]
		if before != nil && stale(*before, st) {
			continue
		}
		s.last[st.Address] = &st
		figures[st.Address] = inInterval(before, st)
		if before != nil && (from.IsZero() || before.At.Before(from)) {
			from = before.At
		}
		if s.stage < polledBefore || s.cover(before, st, stage) {
			continue
		}
		if !st.Lacks("zk_outstanding_requests") {
			s.outstanding = highest(s.outstanding, float64(st.Outstanding))
		}
		if !st.Lacks("zk_watch_count") {
			watches, reported = watches+float64(st.Watches), true
		}
	}
	if reported {
		s.watches = highest(s.watches, watches)
	}
	return figures, from
}

// stale reports whether a server's answer is older than the previous one, judging by its contents: of two polls at the same time, either may be answered
// first, and either answer may be read first.
func stale(before, st ensemble.ServerStats) bool {
	if !st.At.After(before.At) {
		return true
	}
	return !st.Asked.IsZero() && st.Asked.Before(before.At) && (st.Uptime < before.Uptime || slices.ContainsFunc(counters, func(c counter) bool {
		return c.of(st) < c.of(before)
	}))
}

// follow tracks the leader and returns the change if these answers report one. It ignores answers to polls that were sent before the last answers had
// arrived: they may be older.
func (s *serverSeries) follow(at time.Time, all []ensemble.ServerStats, places func() []faults.Place) *results.LeaderEvent {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, st := range all {
		s.size = max(s.size, st.QuorumSize)
		s.alone = s.alone || st.State == "standalone"
	}
	if at.Before(s.followed) || slices.ContainsFunc(all, func(st ensemble.ServerStats) bool { return !st.Asked.IsZero() && st.Asked.Before(s.followed) }) {
		return nil
	}
	s.followed = at
	before, losses := s.leaders.Now(), len(s.leaders.Outages)
	s.leaders.See(at, all, s.size, places)
	now, lost := s.leaders.Now(), len(s.leaders.Outages)
	if lost == losses && (now == before || lost == 0) { // the first leader seen is not a change
		return nil
	}
	return &results.LeaderEvent{Now: now, Before: before, LedOn: lost < losses}
}

// leader returns the address of the leader, or "" if there is none or none has reported it.
func (s *serverSeries) leader() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.leaders.Now()
}

// mayLead reports whether a session may be connected to the leader: its server is not known to be a follower, nor standalone.
func (c *Cell) mayLead(s zk.Session) bool {
	servers := c.target.Ensemble.Addresses()
	if c.target.Proxy != nil {
		servers = c.target.Proxy.Addresses()
	}
	at := slices.Index(servers, zk.ServerOf(s))
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	leader := c.server.leaders.Now()
	return !c.server.alone && (at < 0 || leader == "" || leader == c.target.Ensemble.Addresses()[at])
}

// outages returns the losses of a leader so far.
func (s *serverSeries) outages() []faults.Outage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.leaders.Outages)
}

// cover adds an answer to what the server counted in the steady phase; it returns true if the server has already reported the end of the phase.
func (s *serverSeries) cover(before *ensemble.ServerStats, st ensemble.ServerStats, stage pollStage) (over bool) {
	c := s.steady[st.Address]
	if c == nil {
		if s.stage == polledAfter { // it reported nothing before the end
			return true
		}
		c = &covered{}
		c.see(st)
		s.steady[st.Address] = c
		return false
	}
	if c.closed || s.stage == polledAfter && stage != polledAfter {
		return true
	}
	c.see(st)
	part := between(*before, st)
	if c.counted == nil {
		c.counted = part
	} else {
		c.counted.Add(part)
	}
	if otherProcess(*before, st) || st.Uptime < before.Uptime {
		c.restarts++
	}
	c.closed = stage == polledAfter
	return false
}

func highest(a *float64, b float64) *float64 {
	if a == nil || *a < b {
		return &b
	}
	return a
}

// missing returns a note for each server whose figures are missing from the result or incomplete: a missing source is reported, never shown as zero. length
// is the length of the steady phase.
func (s *serverSeries) missing(length time.Duration) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var notes, silent, restarted []string
	for _, address := range slices.Sorted(maps.Keys(s.silent)) {
		q := s.silent[address]
		if q.times > 0 {
			silent = append(silent, fmt.Sprintf("server %s failed to report its figures %d of %s: %v", address, q.times, phrase.Count(q.asked, "time"), q.err))
		}
		c := s.steady[address]
		switch seconds := 0.0; {
		case c == nil || c.counted == nil:
			if q.times == 0 && length > 0 && s.stage == polledAfter {
				notes = append(notes, fmt.Sprintf("server %s reported no figures for the steady phase", address))
			}
		default:
			if seconds, _ = c.counted.Get("seconds"); seconds < 0.95*length.Seconds() {
				notes = append(notes, fmt.Sprintf("the figures of server %s cover %s of the steady phase's %s", address,
					phrase.Seconds(seconds), phrase.Seconds(length.Seconds())))
			}
			if c.restarts > 0 {
				restarted = append(restarted, fmt.Sprintf("server %s reset its counters %s", address, phrase.Times(c.restarts)))
			}
		}
	}
	if len(silent) > 0 {
		notes = append(notes, strings.Join(silent, "; "))
	}
	if len(restarted) > 0 {
		notes = append(notes, strings.Join(restarted, ", ")+": the figures are lower bounds")
	}
	return notes
}

// summary returns the figures of the steady phase: totals over the servers, of what grew from their answers at its start to those at its end; the means
// computed from them; and the maxima of the gauges. 'seconds' is the shortest time between these two answers of a server. A total is nil if one server does
// not report its part. The result is nil if no server reported.
func (s *serverSeries) summary() results.Figures {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out results.Figures
	servers, shortest := 0, 0.0
	for _, c := range s.steady {
		if c.counted == nil {
			continue
		}
		seconds, _ := c.counted.Get("seconds")
		if servers++; servers == 1 || seconds < shortest {
			shortest = seconds
		}
		if out == nil {
			out = results.Figures{}
		}
		out.Add(c.counted)
	}
	if out == nil {
		return nil
	}
	out.Set("seconds", shortest)
	out.Set("servers", float64(servers))
	means(out)
	out["outstanding_max"], out["watches_max"] = s.outstanding, s.watches
	s.eachServer(out)
	return out
}

// eachServer adds the figures of single servers: the CPUs used by the leader and by the busiest server, and the connections of the server that has the most,
// in addition to those of all. A figure is nil if a server does not report it; the leader's is also nil if the leader changed. Restarts of counters are
// summed over all servers.
func (s *serverSeries) eachServer(out results.Figures) {
	most := func(name string, values []float64, known bool) {
		if out[name] = nil; known && len(values) > 0 {
			out.Set(name, slices.Max(values))
		}
	}
	var cpus, leader, open []float64
	cpusKnown, openKnown, sum := true, true, 0.0
	leaders, steady, restarts := 0, true, 0
	answers, least := math.MaxInt, time.Duration(0)
	for _, c := range s.steady {
		answers, least = min(answers, c.answers), max(least, c.least)
		restarts += c.restarts
		seconds, timed := c.counted.Get("seconds")
		cpu, known := c.counted.Get("cpu_s")
		if known = known && timed && seconds > 0; known {
			cpus = append(cpus, cpu/seconds)
		}
		cpusKnown = cpusKnown && known
		if c.led > 0 {
			leaders, steady = leaders+1, steady && c.led == c.answers && known
			leader = append(leader, cpu/seconds)
		}
		if openKnown = openKnown && c.open != nil; openKnown {
			open, sum = append(open, *c.open), sum+*c.open
		}
	}
	most("leader_cpus", leader, leaders == 1 && steady)
	most("cpus_max", cpus, cpusKnown)
	most("connections_max", open, openKnown)
	most("connections", []float64{sum}, openKnown && len(open) > 0)
	out.Set("restarts", float64(restarts))
	out.Set("answers", float64(answers))
	out.Set("answer_ms", float64(least)/float64(time.Millisecond))
}

// ask polls the servers for their figures and writes them to the timeline: the differences since the previous answers, and the state at their end.
func (c *Cell) ask(ctx context.Context, stage pollStage) {
	all := c.target.Ensemble.Stats(ctx)
	if ctx.Err() == nil {
		c.reported(all, stage)
	}
}

// Answered adds answers of the servers to the cell, from a poll between the marks.
func (c *Cell) Answered(all []ensemble.ServerStats) { c.reported(all, polled) }

// ServersHurt reports whether a fault of the cell may keep the servers from answering.
func (c *Cell) ServersHurt(at time.Time) bool { return c.faults.ServersHurt(c.origin.At(at)) }

// Disturbed reports whether the servers are to be asked as often as possible: faults are planned, or a session has lost its connection.
func (c *Cell) Disturbed() bool {
	lost, reported := c.clients.links.lost()
	return len(c.Profile.Faults) > 0 || lost > 0 || !reported && c.connectedNow() < c.seats()
}

// Elapsed returns the time since the load began.
func (c *Cell) Elapsed() time.Duration { return c.origin.Now() }

// reported adds the servers' answers to the cell.
func (c *Cell) reported(all []ensemble.ServerStats, stage pollStage) {
	now := time.Now()
	for i := range all {
		if all[i].At.IsZero() {
			all[i].At = now
		}
	}
	figures, from := c.server.add(all, stage)
	if c.run.Blocks != nil {
		c.run.Blocks.reported(all, figures, c.origin.At)
	}
	if e := c.server.follow(now, all, c.clients.places); e != nil {
		c.run.Out.Timeline(results.Second{Cell: c.Name(), At: now.UTC(), Phase: c.phase(c.origin.At(now)), Leader: e})
		message := fmt.Sprintf("the leader is %s, it was %s", cmp.Or(e.Now, "nobody"), cmp.Or(e.Before, "nobody"))
		if e.LedOn {
			message = fmt.Sprintf("the leader is still %s, which had not answered", e.Now)
		}
		c.run.TellOf(Event{Kind: EventLeader, Name: e.Now, Ended: e.LedOn}, message)
	}
	phase := c.phase(c.origin.At(now))
	if !from.IsZero() { // a line belongs to the phase in which it starts; the polls at the marks end a line there
		phase = c.phase(c.origin.At(from))
	}
	c.run.Out.Timeline(results.Second{Cell: c.Name(), At: now.UTC(), Phase: phase, Servers: figures})
}

// markServers polls the servers at a mark of the cell, while the load continues.
func (c *Cell) markServers(ctx context.Context, stage pollStage) {
	c.asking.Go(func() { c.ask(ctx, stage) })
}

// atMark ends the intervals of the timeline at a mark of the steady phase, if that phase has begun.
func (c *Cell) atMark(ctx context.Context, begun bool, stage pollStage) {
	if !begun {
		return
	}
	c.markServers(ctx, stage)
	c.cutNow <- struct{}{}
}
