package workloads

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

type electionSeat struct {
	holder
	w      *election
	gone   *atomic.Int64
	handle recipes.Election
	term   recipes.Term
}

// step is one term: campaign, lead, end. A suspension divides it: the leader does not lead until a campaign has said so again.
func (j *electionSeat) step(ctx context.Context, due time.Duration) error {
	last := int64(0)
	for left := j.holdFor(j.Rand); j.campaign(ctx, due, last); due = j.Origin.Now() {
		begun := j.Origin.Now()
		if !j.lead(ctx, left) {
			return j.end(ctx)
		}
		left = max(0, left-(j.Origin.Now()-begun))
		last = j.term.Token
		j.told(metrics.Lost)
	}
	return j.Session.Err()
}

// campaign records a campaign and, unless it goes on with the term of that token, its phases and the fail-over.
func (j *electionSeat) campaign(ctx context.Context, due time.Duration, last int64) bool {
	_, s, p, elected := j.request(ctx, metrics.Campaign, due, func(ctx context.Context) (recipes.Grant, error) {
		var err error
		j.term, err = j.handle.Campaign(ctx)
		return recipes.Grant{Path: j.term.Path, Token: j.term.Token, Lost: j.term.Lost}, err
	})
	parts := p.waiting(s)
	if elected && (s.Token != last || last == 0) {
		parts = p.samples(s)
		if !j.shared {
			parts = append(parts, handedOver(s, time.Duration(j.gone.Load()), p.woken)...)
		}
	}
	j.Recorder.Record(s, parts...)
	return elected
}

// handedOver is the samples of a fail-over: from the end of the leader before, if it ended while we campaigned, to our beginning; and its
// two parts, if it was an event that told us.
func handedOver(elected metrics.Sample, gone, told time.Duration) []metrics.Sample {
	if gone <= elected.Start || gone > elected.End {
		return nil
	}
	part := func(op metrics.Op, from, to time.Duration) metrics.Sample {
		s := elected
		s.Op, s.Due, s.Start, s.End = op, from, from, to
		return s
	}
	all := []metrics.Sample{part(metrics.HandOff, gone, elected.End)}
	if told < gone || told > elected.End {
		return all
	}
	return append(all, part(metrics.Detect, gone, told), part(metrics.Elect, told, elected.End))
}

// lead leads for so long; true when it is suspended before. It ends early when the term is lost or the run is cut.
func (j *electionSeat) lead(ctx context.Context, d time.Duration) (suspended bool) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	case <-j.term.Lost:
	case <-j.term.Suspended:
		select {
		case <-j.term.Lost:
		default:
			return true
		}
	}
	return false
}

// told records that the lead has ended now.
func (j *electionSeat) told(o metrics.Outcome) {
	now := j.Origin.Now()
	j.gone.Store(int64(now))
	j.Recorder.Record(metrics.Sample{Op: metrics.Resign, Outcome: o, Session: j.ID, Object: j.object, Token: j.term.Token,
		Due: now, Start: now, End: now})
}

// quit is told when the leader is about to be ended on purpose. Other processes know by a last write of its session up to when it led; where that fails
// they do not.
func (j *electionSeat) quit(ctx context.Context) {
	if !j.shared {
		j.told(metrics.Lost)
		return
	}
	now := j.Origin.Now()
	s := metrics.Sample{Op: metrics.Resign, Outcome: metrics.Lost, Session: j.ID, Object: j.object, Token: j.term.Token, Due: now, Start: now}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), j.Session.Timeout())
	defer cancel()
	if st, err := j.observed.Set(ctx, j.w.path(j.object), nil, zk.AnyVersion); err == nil {
		s.Zxid = st.Mzxid
	}
	s.End = j.Origin.Now()
	j.Recorder.Record(s)
}

// end ends the term in the way that the load has for it. When the run is cut, and when the term is lost anyway, nothing is broken on
// purpose.
func (j *electionSeat) end(ctx context.Context) error {
	killer, _ := zk.AsKiller(j.Session) // Setup has seen that there is
	switch {
	case ctx.Err() != nil, isClosed(j.term.Lost), j.w.failover == ByResign:
		j.release(ctx, metrics.Resign, recipes.Grant{Path: j.term.Path, Token: j.term.Token, Lost: j.term.Lost},
			func(at time.Duration) { j.gone.Store(int64(at)) }, j.handle.Resign)
		return j.Session.Err()
	case j.w.failover == ByCrash:
		j.quit(ctx)
		killer.Crash()
		return ErrEnded
	}
	j.quit(ctx)
	ctx, cancel := context.WithTimeout(ctx, j.Session.Timeout())
	defer cancel()
	if err := killer.Expire(ctx); err != nil {
		return err // the seat closes the session, and counts it as lost
	}
	return ErrEnded
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
