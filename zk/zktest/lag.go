package zktest

import (
	"math"
	"time"

	"github.com/zkbench/zkbench/zk"
)

// UntilSync is a lag without a time limit.
const UntilSync time.Duration = math.MaxInt64

// Lag puts the session on a server that lags: from the next change by another session on, its reads, and the watches armed with them, see nothing new
// until the session calls Sync, writes something itself (the reply to a write comes when the session's server has applied it), reconnects, or until
// lag has passed. Then its server has caught up, and falls behind with the next change. Changes that it learns of late fire its watches late, in
// order. 0 puts it on a server that does not lag.
func (e *Ensemble) Lag(session zk.Session, lag time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.session(session)
	if s.lag = lag; lag == 0 {
		s.catchUp()
	}
}

// freezeViews preserves what lagging servers know, before the next change. Servers that stop at the same zxid share the copy.
func (e *Ensemble) freezeViews() {
	var view tree
	for _, s := range e.sessions {
		if s.lag == 0 || s.view != nil {
			continue
		}
		if view == nil {
			view = e.tree.clone()
		}
		s.view, s.viewZxid = view, e.zxid
		if s.lag == UntilSync {
			continue
		}
		frozen := e.zxid
		e.after(s.lag, func() {
			if s.view != nil && s.viewZxid == frozen {
				s.catchUp()
			}
		})
	}
}

// knows returns the last zxid that the session's server has applied.
func (s *Session) knows() int64 {
	if s.view != nil {
		return s.viewZxid
	}
	return s.ens.zxid
}

// catchUp brings the session's server up to date.
func (s *Session) catchUp() {
	if s.view == nil {
		return
	}
	backlog := s.backlog
	s.view, s.backlog = nil, nil
	for _, t := range backlog {
		s.trigger(t)
	}
}
