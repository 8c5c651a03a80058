package faults

import (
	"slices"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/profiles"
)

// LeaderLost is the kind of a fault that nobody planned: the leader ended, or was no leader any more, as the servers' figures tell.
const LeaderLost = "leader lost"

// Outage is the loss of a leader.
type Outage struct {
	seen       time.Time // the last answers with the leader
	asked      time.Time // when the leader had been asked for them
	Noticed    time.Time // the first ones without it
	leaderless time.Time // the last answers without any leader; noticed where another one led at once
	over       time.Time // the first ones with a leader again; zero while there is none
	from, to   string    // the leaders' addresses; to is "" while there is none, or when it is none of the servers that are asked
	lost       int       // the number of the server that led
	places     []Place   // of the sessions while all was well
}

// Leadership follows who leads, from the answers of all servers.
type Leadership struct {
	leader  string        // the last that was seen; "" before the first
	number  int           // of that server
	uptime  time.Duration // that it told
	seen    time.Time
	asked   time.Time // when it was asked
	places  []Place
	Outages []Outage
}

// Now is the address of the leader; "" while there is none, or before one was seen.
func (l *Leadership) Now() string {
	if n := len(l.Outages); n > 0 && l.Outages[n-1].over.IsZero() {
		return ""
	}
	return l.leader
}

// See takes the answers of all servers. size is how many voting servers the ensemble has, 0 if that is not known: where it has more than are
// asked, a leader may be among the others, and a server that serves has one. places tells where the sessions are.
func (l *Leadership) See(at time.Time, all []ensemble.ServerStats, size int, places func() []Place) {
	if !slices.ContainsFunc(all, func(st ensemble.ServerStats) bool { return st.State != "" }) && l.leader == "" {
		return // nobody has ever told
	}
	var first ensemble.ServerStats // who leads
	serving := false
	for _, st := range all {
		if st.Err != nil {
			continue
		}
		serving = serving || st.State != ""
		if st.Leads() && (first.Address == "" || st.Uptime < first.Uptime) { // of two, the one that has led for less time is the new one
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

// ledOn reports whether a server that leads has led all the while, and had only not answered: its uptime begins with its term, and reaches back
// to before it was asked for the last answer that it gave. A server that does not tell its uptime may have been elected again.
func (o Outage) ledOn(at time.Time, st ensemble.ServerStats) bool {
	if !st.At.IsZero() {
		at = st.At
	}
	return o.to == "" && st.Leads() && st.Address == o.from && !st.Lacks("zk_uptime") && at.Add(-st.Uptime).Before(o.asked)
}

// Unexplained are the losses of a leader from an offset on and before another that no planned fault of a server explains, as faults that
// happened by themselves.
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

// explains reports whether a planned fault is why a leader was lost: it is one of a server, and what it did was not over when that leader had
// answered for the last time. It began before the answers that lacked the leader, though it may have been done after them: a server that is
// stopped leads no more some time before its process has ended. Or it began later, while nobody led, and hit that very leader: what was lacking
// before was an answer, and no leader.
func (s *Schedule) explains(p, lost Fault) bool {
	if p.Server == 0 || !p.Injected || p.Recovered && lost.At >= p.RecoveredAt+s.aftermath() {
		return false
	}
	o := lost.Unplanned
	return p.Begun <= s.target.Origin.At(o.Noticed) || p.Server == o.lost && p.Begun <= lost.RecoveredAt
}

// Lasted says for how many seconds there was no leader: at least, and at most, since servers are asked once a second. end is when the steady
// phase ended.
func (o Outage) Lasted(end time.Time) (least, most float64) {
	if o.over.IsZero() {
		return end.Sub(o.Noticed).Seconds(), end.Sub(o.seen).Seconds()
	}
	return o.leaderless.Sub(o.Noticed).Seconds(), o.over.Sub(o.seen).Seconds()
}
