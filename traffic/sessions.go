package traffic

import (
	"cmp"
	"slices"

	"github.com/zkbench/zkbench/traffic/zklog"
)

// session is an open session.
type session struct {
	created int64 // -1: before the first transaction
	timeout int64 // milliseconds; 0: unknown
	cxids
	counted  bool  // among those that are open
	writes   int64 // within the time of the report
	own      []uint64
	ownAlive int64
}

// cxids follows the numbers of a session's requests.
type cxids struct {
	last  int32 // number of the last request in the log
	known bool  // last is known, or the session was opened in the logs
	fell  bool  // the numbers have fallen
}

// gap returns how many requests were not logged between the last one and this one.
func (c *cxids) gap(cxid int32) (reads int64) {
	if cxid <= 0 {
		return 0
	}
	reads = int64(cxid) - int64(c.last) - 1
	switch {
	case cxid <= c.last: // counted from 1 again
		c.fell = true
		reads = int64(cxid) - 1
	case !c.known:
		reads = 0
	}
	c.last, c.known = cxid, true
	return reads
}

// session returns the session of a transaction, after the requests between this one and the one before have been counted; nil: it is the servers' own, or not followed.
func (a *analysis) session(t *zklog.Txn) *session {
	if t.Session == 0 {
		return nil
	}
	s := a.sessions[t.Session]
	if s == nil {
		if s = a.newSession(t.Session); s == nil {
			return nil
		}
	}
	if !s.counted {
		s.counted = true
		a.open.set(a.open.now+1, a.now, a.span)
		if t.Op != zklog.OpCreateSession { // opened before the first transaction, or in a gap, or local until it needed an ephemeral znode
			a.before(t.Session, s)
		}
	}
	if t.Op != zklog.OpCreateSession {
		a.gap(t, s)
		return s
	}
	s.created, s.timeout, s.known, s.last = a.now, t.Timeout.Milliseconds(), true, 0
	if a.inside {
		a.out.Opened++
		a.count(t.Session, s.timeout)
	}
	return s
}

// before counts a session that was open when the time of the report began. Those that are known before that are counted by standing.
func (a *analysis) before(id int64, s *session) {
	if !a.any {
		return
	}
	a.out.Before++
	if s.timeout > 0 {
		a.count(id, s.timeout)
	}
}

// older counts the sessions of the snapshot that the logs have not opened up to it: they are older than the logs.
func (a *analysis) older() {
	if a.merged {
		return
	}
	a.merged = true
	n := a.open.now
	for id, s := range a.sessions {
		if !s.counted {
			s.counted = true
			a.before(id, s)
			n++
		}
	}
	a.open.set(n, a.now, a.span)
}

// newSession returns a session, unless there are too many.
func (a *analysis) newSession(id int64) *session {
	if len(a.sessions) >= mostSessions {
		a.leftSessions++
		return nil
	}
	s := &session{created: -1}
	a.sessions[id] = s
	return s
}

// count counts who opened a session, and its timeout.
func (a *analysis) count(id, timeout int64) {
	a.members[zklog.ServerOf(id)]++
	if _, known := a.timeouts[timeout]; known || len(a.timeouts) < 1000 {
		a.timeouts[timeout]++
	}
}

// gap counts the requests that were not logged: those between the numbers of two that were.
func (a *analysis) gap(t *zklog.Txn, s *session) {
	reads := s.gap(t.Cxid)
	if a.inside {
		a.reads.Count += reads
	}
}

// closed ends a session, with all of its ephemeral znodes.
func (a *analysis) closed(t *zklog.Txn, s *session) {
	how := byClient
	if t.Cxid == 0 {
		how = byServers
	}
	alive := int64(0)
	if s != nil {
		alive = s.ownAlive
		for _, id := range s.own {
			if z := a.znodes[id]; z != nil && z.owner == t.Session {
				a.gone(id, t.Session, how)
			}
		}
	}
	for p := range t.Paths() {
		a.gone(a.hash(p), t.Session, how)
	}
	if a.inside {
		if how == byClient {
			a.out.Closed++
		} else {
			a.out.Expired++
		}
		if t.Listed {
			alive = int64(t.Count)
		}
		a.ephemerals.add(alive)
	}
	if s == nil {
		return
	}
	if a.inside && s.created >= 0 {
		a.lifetimes.add(a.now - s.created)
	}
	a.sum(s, how == byClient)
	delete(a.sessions, t.Session)
	a.open.set(a.open.now-1, a.now, a.span)
}

// sum adds a session, when no more comes of it, to what is reported of all.
func (a *analysis) sum(s *session, closed bool) {
	if !a.any || s.created >= a.span.to {
		return
	}
	if s.writes == 0 {
		if !closed {
			a.silent++
		}
		return
	}
	a.out.Writing++
	if s.fell {
		a.reads.Restarted++
	} else {
		a.reads.Growing++
	}
}

func (a *analysis) sessionsReport(seconds float64) Sessions {
	r := a.out
	r.Peak, r.Open = a.open.most, a.open.end
	if a.open.time > 0 {
		r.Mean = float64(a.open.area) / float64(a.open.time)
	}
	if seconds > 0 {
		r.OpenedPerMin = 60 * float64(r.Opened) / seconds
	}
	r.LifetimeMS, r.Ephemerals = a.lifetimes.values(), a.ephemerals.values()
	for ms, n := range a.timeouts {
		r.Timeouts = append(r.Timeouts, Timeout{ms, n})
	}
	slices.SortFunc(r.Timeouts, func(x, y Timeout) int { return cmp.Or(cmp.Compare(y.Count, x.Count), cmp.Compare(x.MS, y.MS)) })
	r.Timeouts = r.Timeouts[:min(len(r.Timeouts), 10)]
	for server, n := range a.members {
		r.Members = append(r.Members, Member{server, n})
	}
	slices.SortFunc(r.Members, func(x, y Member) int { return cmp.Compare(x.Server, y.Server) })
	return r
}

// codeName returns the name of an error code, as KeeperException.Code has it.
func codeName(code int32) string {
	if name := codeNames[code]; name != "" {
		return name
	}
	return "code"
}

var codeNames = map[int32]string{-1: "SystemError", -2: "RuntimeInconsistency", -3: "DataInconsistency", -4: "ConnectionLoss", -5: "MarshallingError", -6: "Unimplemented",
	-7: "OperationTimeout", -8: "BadArguments", -12: "UnknownSession", -13: "NewConfigNoQuorum", -14: "ReconfigInProgress", -100: "APIError", -101: "NoNode", -102: "NoAuth",
	-103: "BadVersion", -108: "NoChildrenForEphemerals", -110: "NodeExists", -111: "NotEmpty", -112: "SessionExpired", -113: "InvalidCallback", -114: "InvalidACL",
	-115: "AuthFailed", -118: "SessionMoved", -119: "NotReadOnly", -120: "EphemeralOnLocalSession", -121: "NoWatcher", -123: "ReconfigDisabled", -124: "SessionClosedRequireSASLAuth",
	-125: "QuotaExceeded", -127: "ThrottledOp"}
