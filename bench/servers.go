package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
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

// serverSeries is the servers' figures over a cell: differences between answers, and what those of the steady phase amount to. Servers are
// asked once a second, and at both marks of the steady phase.
type serverSeries struct {
	mu          sync.Mutex
	last        map[string]*ensemble.ServerStats // the last answer of each server
	steady      map[string]*covered
	stage       pollStage
	outstanding *float64 // the highest of any server in the steady phase
	watches     *float64 // the highest of all servers together
	silent      map[string]*silence
	size        int  // voting servers of the ensemble; 0: not told
	alone       bool // the ensemble is one server that needs no others
	leaders     faults.Leadership
	followed    time.Time // the last answers that leaders knows of
}

// pollStage is how far the polls of a cell have come.
type pollStage uint8

const (
	polled       pollStage = iota // once a second
	polledBefore                  // at the start of the steady phase
	polledAfter                   // at its end
)

// covered is what a server counted in the steady phase, from its answer at the start to its answer at the end.
type covered struct {
	counted  results.Figures
	closed   bool
	restarts int // restarts of its counters: what it counted just before is lost
	answers  int
	led      int      // of its answers, those in which it led
	open     *float64 // its connections in the last answer; nil where it does not tell
}

// see takes an answer of the steady phase.
func (c *covered) see(st ensemble.ServerStats) {
	if c.answers++; st.Leads() {
		c.led++
	}
	if c.open = nil; !st.Lacks("zk_num_alive_connections") {
		c.open = new(float64(st.Connections))
	}
}

// silence is the failed questions to one server.
type silence struct {
	times, asked int
	err          error // the last one
}

// serves reports whether at least one server answers that it serves.
func serves(all []ensemble.ServerStats) bool { return slices.ContainsFunc(all, answers) }

// answers reports whether a server serves, whether or not it tells its figures.
func answers(st ensemble.ServerStats) bool {
	return st.Err == nil || errors.Is(st.Err, ensemble.ErrWordsOff)
}

// add takes the answers of all servers, and gives each one's figures since its answer before: nil for a server that did not tell. from is
// when the first of these differences starts, or zero.
func (s *serverSeries) add(all []ensemble.ServerStats, stage pollStage) (figures map[string]results.Figures, from time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil {
		s.last, s.steady, s.silent = map[string]*ensemble.ServerStats{}, map[string]*covered{}, map[string]*silence{}
	}
	s.stage = max(s.stage, stage)
	figures = map[string]results.Figures{}
	watches, told := 0.0, false
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
			watches, told = watches+float64(st.Watches), true
		}
	}
	if told {
		s.watches = highest(s.watches, watches)
	}
	return figures, from
}

// stale says whether a server's answer is older than the one before, by its contents: of two questions at the same time each may be answered
// first, and either answer may be read first.
func stale(before, st ensemble.ServerStats) bool {
	if !st.At.After(before.At) {
		return true
	}
	return !st.Asked.IsZero() && st.Asked.Before(before.At) && (st.Uptime < before.Uptime || slices.ContainsFunc(counters, func(c counter) bool {
		return c.of(st) < c.of(before)
	}))
}

// follow follows who leads, and returns the change if these answers tell of one. Answers to questions that were asked before the last ones were
// there may be older than these.
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
	if lost == losses && (now == before || lost == 0) { // the first leader that is seen is no change
		return nil
	}
	return &results.LeaderEvent{Now: now, Before: before, LedOn: lost < losses}
}

// leader is the server that leads; "" where none does, or none has said so.
func (s *serverSeries) leader() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.leaders.Now()
}

// mayLead tells whether a session may be connected to the leader: its server is not known to be another one, nor to be alone.
func (c *cell) mayLead(s zk.Session) bool {
	servers := c.Ensemble.Addresses()
	if c.front != nil {
		servers = c.front.Addresses()
	}
	at := slices.Index(servers, zk.ServerOf(s))
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	leader := c.server.leaders.Now()
	return !c.server.alone && (at < 0 || leader == "" || leader == c.Ensemble.Addresses()[at])
}

// outages are the losses of a leader so far.
func (s *serverSeries) outages() []faults.Outage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.leaders.Outages)
}

// cover adds an answer to what the server counted in the steady phase; true when it had told the end of that already.
func (s *serverSeries) cover(before *ensemble.ServerStats, st ensemble.ServerStats, stage pollStage) (over bool) {
	c := s.steady[st.Address]
	if c == nil {
		if s.stage == polledAfter { // it told nothing before the end
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

// missing says which servers' figures are not in the result, or not whole: a missing source is said, never zero. length is that of the
// steady phase.
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

// summary is the figures of the steady phase: totals over the servers that told of what grew from their answers at its start to those at
// its end, the means that follow, and the highest of what goes up and down. 'seconds' is the shortest time between these two answers of a
// server. A total of which one server does not tell its part is nil. The result is nil when no server told.
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

// eachServer adds what is told of single servers: the CPUs that the leader and the busiest one used, and the connections of the one with the most beside those of all. Nil is what
// one of them does not tell; of the leader, where not the same one led all the time. Restarts of counters are those of all.
func (s *serverSeries) eachServer(out results.Figures) {
	most := func(name string, values []float64, known bool) {
		if out[name] = nil; known && len(values) > 0 {
			out.Set(name, slices.Max(values))
		}
	}
	var cpus, leader, open []float64
	cpusKnown, openKnown, sum := true, true, 0.0
	leaders, steady, restarts := 0, true, 0
	for _, c := range s.steady {
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
}

// rollCall is which servers answered at any time of the run, and of how many their ensemble is. Its methods may be called from several
// goroutines.
type rollCall struct {
	mu       sync.Mutex
	answered map[string]bool
	voting   int // 0: no server has told
}

func (r *rollCall) call(all []ensemble.ServerStats) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.answered == nil {
		r.answered = map[string]bool{}
	}
	for _, st := range all {
		if answers(st) {
			r.answered[st.Address] = true
		}
		if r.voting = max(r.voting, st.QuorumSize); r.voting == 0 && st.State == "standalone" && len(all) == 1 {
			r.voting = 1
		}
	}
}

func (r *rollCall) tell(e *results.Environment) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.Answered = new(len(r.answered)); r.voting > 0 {
		e.Voting = new(r.voting)
	}
}

// ask asks the servers for their figures, and writes them onto the timeline: the differences since the answers before, and the state at
// their end.
func (c *cell) ask(ctx context.Context, stage pollStage) {
	all := c.Ensemble.Stats(ctx)
	if ctx.Err() == nil {
		c.told(all, stage)
	}
}

// told takes the servers' answers into the cell.
func (c *cell) told(all []ensemble.ServerStats, stage pollStage) {
	now := time.Now()
	for i := range all {
		if all[i].At.IsZero() {
			all[i].At = now
		}
	}
	figures, from := c.server.add(all, stage)
	if c.Blocks != nil {
		c.Blocks.told(all, figures, c.origin.At)
	}
	if e := c.server.follow(now, all, c.clients.places); e != nil {
		c.Out.Timeline(results.Second{Cell: c.tag(), At: now.UTC(), Phase: c.phase(c.origin.At(now)), Leader: e})
		message := fmt.Sprintf("the leader is %s, it was %s", cmp.Or(e.Now, "nobody"), cmp.Or(e.Before, "nobody"))
		if e.LedOn {
			message = fmt.Sprintf("the leader is still %s, which had not answered", e.Now)
		}
		c.tellOf(Event{Kind: EventLeader, Name: e.Now, Ended: e.LedOn}, message)
	}
	phase := c.phase(c.origin.At(now))
	if !from.IsZero() { // a line is of the phase in which it starts; the polls at the marks end one there
		phase = c.phase(c.origin.At(from))
	}
	c.Out.Timeline(results.Second{Cell: c.tag(), At: now.UTC(), Phase: phase, Servers: figures})
}

// markServers asks the servers at a mark of the cell, while the load goes on.
func (c *cell) markServers(ctx context.Context, stage pollStage) {
	c.asking.Go(func() { c.ask(ctx, stage) })
}

// atMark ends the intervals of the timeline at a mark of the steady phase, if that has begun.
func (c *cell) atMark(ctx context.Context, begun bool, stage pollStage) {
	if !begun {
		return
	}
	c.markServers(ctx, stage)
	c.cutNow <- struct{}{}
}
