package faults

import (
	"slices"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/profiles"
)

// LeaderLost is the kind of an unplanned fault: the leader ended, or was no longer the leader, according to the servers' figures.
const LeaderLost = "leader lost"

// Outage is the loss of a leader.
type Outage struct {
	seen       time.Time // time of the last answers with the leader
	asked      time.Time // when the leader was asked for them
	Noticed    time.Time // time of the first answers without it
	leaderless time.Time // time of the last answers without any leader; equal to Noticed if another one led at once
	over       time.Time // time of the first answers with a leader again; zero if there is none yet
	from, to   string    // addresses of the leaders; to is "" while there is none, or if the new leader is not among the polled servers
	lost       int       // number of the server that was the leader
	places     []Place   // of the sessions before the loss
}

// Leadership tracks the leader, from the answers of all servers.
type Leadership struct {
	leader  string        // the last leader seen; "" before the first
	number  int           // of that server
	uptime  time.Duration // uptime that it reported
	seen    time.Time
	asked   time.Time // when it was asked
	places  []Place
	Outages []Outage
}

// Now returns the address of the leader; "" while there is none, or before one was seen.
func (l *Leadership) Now() string {
	if n := len(l.Outages); n > 0 && l.Outages[n-1].over.IsZero() {
		return ""
	}
	return l.leader
}

// See adds the answers of all servers. size is how many voting servers the ensemble has, 0 if unknown: if it has more than are polled, the leader may be
// among the others, and a server that serves has one. places returns where the sessions are.
func (l *Leadership) See(at time.Time, all []ensemble.ServerStats, size int, places func() []Place) {
	if !slices.ContainsFunc(all, func(st ensemble.ServerStats) bool { return st.State != "" }) && l.leader == "" {
		return // no server has ever reported a state
	}
	var first ensemble.ServerStats // the leader
	serving := false
	for _, st := range all {
		if st.Err != nil {
			continue
		}
		serving = serving || st.State != ""
		if st.Leads() && (first.Address == "" || st.Uptime < first.Uptime) { // of two leaders, the one that has led for less time is the new one
			first = st
		}
	}
	leader, uptime := first.Address, first.Uptime
	if n := len(l.Outages); n > 0 && l.Outages[n-1].ledOn(at, first) {
		l.Outages = l.Outages[:n-1]
		l.leader = leader
	}
	elsewhere := leader == "" && serving && size > len(all)
	open := len(l.Outages) > 0 && l.Outages[len(l.Outages)-1].over.IsZero()
	switch {
	case leader == "" && !elsewhere:
		if !open && l.leader != "" {
			l.Outages = append(l.Outages, Outage{seen: l.seen, asked: l.asked, Noticed: at, leaderless: at, from: l.leader, lost: l.number, places: l.places})
		} else if open {
			l.Outages[len(l.Outages)-1].leaderless = at
		}
		return
	case open:
		last := &l.Outages[len(l.Outages)-1]
		last.over, last.to = at, leader
	case l.leader != "" && (leader != l.leader || uptime < l.uptime):
		l.Outages = append(l.Outages, Outage{seen: l.seen, asked: l.asked, Noticed: at, leaderless: at, over: at, from: l.leader, to: leader, lost: l.number,
			places: l.places})
	}
	if l.leader != "" || leader != "" {
		l.leader, l.number, l.uptime = leader, first.Server, uptime
	}
	l.seen, l.asked, l.places = at, at, places()
	if !first.Asked.IsZero() {
		l.asked = first.Asked
	}
}

// ledOn reports whether the leader has led all the time and only failed to answer: its uptime starts with its term, and reaches back to before it was asked
// for its last answer. A server that does not report its uptime may have been elected again.
func (o Outage) ledOn(at time.Time, st ensemble.ServerStats) bool {
	if !st.At.IsZero() {
		at = st.At
	}
	return o.to == "" && st.Leads() && st.Address == o.from && !st.Lacks("zk_uptime") && at.Add(-st.Uptime).Before(o.asked)
}

// Unexplained returns, as unplanned faults, the losses of a leader in [from, to) that no planned server fault explains.
func (s *Schedule) Unexplained(lost []Outage, from, to time.Duration) []Fault {
	var all []Fault
	for _, o := range lost {
		at := s.target.Origin.At(o.seen)
		f := Fault{PlannedFault: profiles.PlannedFault{Kind: LeaderLost}, Unplanned: &o, Target: o.from, Injected: true, Begun: at, At: at,
			RecoveredAt: to, Places: o.places, standing: true}
		if f.Recovered = !o.over.IsZero(); f.Recovered {
			f.RecoveredAt = s.target.Origin.At(o.over)
		}
		if o.to != "" && o.to != o.from {
			f.Target += ", then " + o.to
		}
		if s.target.Origin.At(o.Noticed) >= from && f.At < to && !s.unknown(s.target.Origin.At(o.Noticed)) && !slices.ContainsFunc(s.All(), func(p Fault) bool { return s.explains(p, f) }) {
			all = append(all, f)
		}
	}
	return all
}

// explains reports whether a planned fault is why a leader was lost: it is a server fault whose effects were not over when that leader answered for the last
// time. It started before the answers that lacked the leader, though it may have finished after them: a server that is being stopped gives up leadership some
// time before its process ends. Or it started later, while there was no leader, and hit that very leader: then only an answer was missing before, not the
// leader.
func (s *Schedule) explains(p, lost Fault) bool {
	if p.Server == 0 || !p.Injected || p.Recovered && lost.At >= p.RecoveredAt+s.aftermath() {
		return false
	}
	o := lost.Unplanned
	return p.Begun <= s.target.Origin.At(o.Noticed) || p.Server == o.lost && p.Begun <= lost.RecoveredAt
}

// Lasted returns for how many seconds there was no leader, at least and at most, since servers are polled once a second. end is when the steady phase ended.
func (o Outage) Lasted(end time.Time) (least, most float64) {
	if o.over.IsZero() {
		return end.Sub(o.Noticed).Seconds(), end.Sub(o.seen).Seconds()
	}
	return o.leaderless.Sub(o.Noticed).Seconds(), o.over.Sub(o.seen).Seconds()
}
