package faults

import (
	"slices"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/profiles"
)

// brief are the kinds of faults that an affected session gets over while they last: it finds another server, or another session is granted. The
// effects of the other kinds last as long as they do; those of dropped events last for good, so no time is excused for a session that waits for one.
var brief = slices.Concat(ofProcesses, ofSessions, ofDrivers, []string{profiles.Disconnect, profiles.CutReply, profiles.CutRequest, profiles.Reset,
	profiles.MassExpiry, profiles.ReadStorm, profiles.DropEvents})

// lasts reports whether a fault has its effects for as long as it lasts. A session that is silent is ended by the servers, and the clients
// of a silent server find another one: only silence for all lasts.
func lasts(f profiles.PlannedFault) bool {
	if f.Kind == profiles.Silence {
		return f.Session == profiles.AnySession && f.Server == ""
	}
	return !slices.Contains(brief, f.Kind)
}

// electionAllowance is what servers may take to elect a leader, and followers to take over what they have missed.
const electionAllowance = 10 * time.Second

// aftermath is by when what a fault of a server has done is over, after it was injected and after the server has recovered: its sessions have
// moved or expired, and the servers have a leader.
func (s *Schedule) aftermath() time.Duration { return s.expiry() + electionAllowance }

// expiry is by when the servers have ended a session that nobody hears of: they round the session timeout up to a tick.
func (s *Schedule) expiry() time.Duration {
	return s.target.SessionTimeout + tickOf(s.target.Ensemble.Describe())
}

// excused are the times, from one offset to another, in which somebody may have to wait because of a fault.
func (s *Schedule) excused(f Fault) [][2]time.Duration {
	ofServer := f.Server > 0 || f.Kind == profiles.Silence && f.PlannedFault.Server != ""
	switch {
	case f.standing:
		return [][2]time.Duration{{f.Begun, f.RecoveredAt + s.aftermath()}}
	case len(f.Steps) > 0:
		var all [][2]time.Duration
		for _, step := range f.Steps {
			all = append(all, [2]time.Duration{step.Down, step.Down + s.aftermath()})
			if step.Up > 0 {
				all = append(all, [2]time.Duration{step.Up, step.Up + electionAllowance})
			}
		}
		return all
	case ofServer:
		return [][2]time.Duration{{f.Begun, f.At + s.aftermath()}, {f.RecoveredAt, f.RecoveredAt + electionAllowance}}
	case f.Kind == profiles.PauseHolder:
		return [][2]time.Duration{{f.Begun, f.RecoveredAt + s.expiry()}}
	case f.Kind == profiles.Crash, f.Kind == profiles.KillDriver, f.Kind == profiles.KillHolder, f.Kind == profiles.Silence: // its znodes are in the way until it expires
		return [][2]time.Duration{{f.At, f.At + s.expiry()}}
	}
	return nil // the session is connected again at once, or its znodes are gone
}

// learning is how long a client may go on after its session was expired: its lease ends at the latest when nobody has answered it for a
// session timeout, and half of that again is for a machine that has much to do.
func (s *Schedule) learning(seat int) time.Duration {
	timeout := s.target.SessionTimeout
	if session := s.target.Session(seat); session != nil {
		timeout = max(timeout, session.Timeout()) // as the servers granted it
	}
	return timeout * 3 / 2
}

// Samples are the times of the faults that were injected, and of others that nobody planned, for the checks.
func (s *Schedule) Samples(unplanned []Fault) []metrics.Sample {
	all := s.assumed()
	add := func(op metrics.Op, session int, from, to, value time.Duration) {
		all = append(all, metrics.Sample{Op: op, Session: uint32(max(session, 0)), Value: int64(value), Due: from, Start: from, End: to})
	}
	for _, f := range append(s.Injected(), unplanned...) {
		if f.Kind == profiles.Expire {
			add(metrics.Expire, f.Session, f.At, f.RecoveredAt, s.learning(f.Session))
		}
		if f.Kind == profiles.PauseHolder { // who stands still does nothing with what it holds, and knows no better until it is told
			for _, session := range f.Holder.Sessions {
				add(metrics.Expire, session, f.Begun, f.RecoveredAt, s.learning(session))
			}
		}
		for _, time := range s.excused(f) {
			add(metrics.Fault, 0, time[0], time[1], 0)
		}
	}
	return all
}
