package faults

import (
	"slices"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/profiles"
)

// brief lists the kinds of faults that an affected session overcomes while they last: it finds another server, or another session is granted. The effects of
// the other kinds last as long as the fault; those of dropped events last forever, so no time is excused for a session that waits for one.
var brief = slices.Concat(ofProcesses, ofSessions, ofDrivers, []string{profiles.Disconnect, profiles.CutReply, profiles.CutRequest, profiles.Reset,
	profiles.MassExpiry, profiles.ReadStorm, profiles.DropEvents})

// lasts reports whether the effects of a fault last as long as the fault. If a single session is silenced, the servers end it, and the clients of a silenced
// server find another one: only silence for all lasts.
func lasts(f profiles.PlannedFault) bool {
	if f.Kind == profiles.Silence {
		return f.Session == profiles.AnySession && f.Server == ""
	}
	return !slices.Contains(brief, f.Kind)
}

// electionAllowance is how long servers may take to elect a leader, and followers to catch up.
const electionAllowance = 10 * time.Second

// aftermath is how long the effects of a server fault may last after its injection and after the recovery of the server: by then its sessions have moved or
// expired, and the servers have a leader.
func (s *Schedule) aftermath() time.Duration { return s.expiry() + electionAllowance }

// expiry is how long the servers may take to end a session that they no longer hear from: they round the session timeout up to a tick.
func (s *Schedule) expiry() time.Duration {
	return s.target.SessionTimeout + tickOf(s.target.Ensemble.Describe())
}

// excused returns the intervals in which a session may have to wait because of a fault.
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
	case f.Kind == profiles.Crash, f.Kind == profiles.KillDriver, f.Kind == profiles.KillHolder, f.Kind == profiles.Silence: // its znodes remain until its session expires
		return [][2]time.Duration{{f.At, f.At + s.expiry()}}
	}
	return nil // the session reconnects at once, or its znodes are gone
}

// learning is how long a client may continue after its session has expired: its lease ends at the latest when no server has answered it for a session
// timeout; half of that again allows for a busy machine.
func (s *Schedule) learning(seat int) time.Duration {
	timeout := s.target.SessionTimeout
	if session := s.target.Session(seat); session != nil {
		timeout = max(timeout, session.Timeout()) // as the servers granted it
	}
	return timeout * 3 / 2
}

// Samples returns the times of the injected faults, and of unplanned ones, for the checks.
func (s *Schedule) Samples(unplanned []Fault) []metrics.Sample {
	all := s.assumed()
	add := func(op metrics.Op, session int, from, to, value time.Duration) {
		all = append(all, metrics.Sample{Op: op, Session: uint32(max(session, 0)), Value: int64(value), Due: from, Start: from, End: to})
	}
	for _, f := range append(s.Injected(), unplanned...) {
		if f.Kind == profiles.Expire {
			add(metrics.Expire, f.Session, f.At, f.RecoveredAt, s.learning(f.Session))
		}
		if f.Kind == profiles.PauseHolder { // a stopped session does nothing with what it holds, and cannot know of its expiry until it is told
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
