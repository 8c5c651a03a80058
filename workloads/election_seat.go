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

// Do is one term: campaign, lead, end. A suspension interrupts it: the leader does not lead until another campaign confirms it.
func (j *electionSeat) Do(ctx context.Context, due time.Duration) error {
	last := int64(0)
	for left := j.holdFor(j.Rand); j.campaign(ctx, due, last); due = j.Origin.Now() {
		begun := j.Origin.Now()
		if !j.lead(ctx, left) {
			return j.end(ctx)
		}
		left = max(0, left-(j.Origin.Now()-begun))
		last = j.term.Token
		j.recordEnd(metrics.Lost)
	}
	return j.Session.Err()
}

// campaign records a campaign. Unless it continues the term with token last, it also records its phases and the fail-over.
func (j *electionSeat) campaign(ctx context.Context, due time.Duration, last int64) bool {
	_, s, p, elected := j.request(ctx, metrics.Campaign, due, func(ctx context.Context) (recipes.Grant, error) {
		var err error
		j.term, err = j.handle.Campaign(ctx)
		return recipes.Grant{Path: j.term.Path, Token: j.term.Token, Lost: j.term.Lost}, err
	})
	parts := p.waiting(s)
	if elected && (s.Token != last || last == 0) {
		parts = p.samples(s, nil)
		if !j.shared {
			parts = append(parts, handedOver(s, time.Duration(j.gone.Load()), p.woken)...)
		}
	}
	j.Recorder.Record(s, parts...)
	return elected
}

// handedOver returns the samples of a fail-over: from the end of the previous leader, if it ended during the campaign, to the start of the next;
// and its two parts, if an event reported the end.
func handedOver(elected metrics.Sample, gone, detected time.Duration) []metrics.Sample {
	if gone <= elected.Start || gone > elected.End {
		return nil
	}
	part := func(op metrics.Op, from, to time.Duration) metrics.Sample {
		s := elected
		s.Op, s.Due, s.Start, s.End = op, from, from, to
		return s
	}
	all := []metrics.Sample{part(metrics.HandOff, gone, elected.End)}
	if detected < gone || detected > elected.End {
		return all
	}
	return append(all, part(metrics.Detect, gone, detected), part(metrics.Elect, detected, elected.End))
}

// lead leads for the duration d. It returns true if the lead is suspended before that. It ends early when the term is lost or the run is cut.
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

// recordEnd records that the lead ends now.
func (j *electionSeat) recordEnd(o metrics.Outcome) {
	now := j.Origin.Now()
	j.gone.Store(int64(now))
	j.Recorder.Record(metrics.Sample{Op: metrics.Resign, Outcome: o, Session: j.ID, Object: j.object, Token: j.term.Token,
		Due: now, Start: now, End: now})
}

// quit is called before the leader is ended on purpose. A last write of its session shows other processes until when it led, unless the write
// fails.
func (j *electionSeat) quit(ctx context.Context) {
	if !j.shared {
		j.recordEnd(metrics.Lost)
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

// end ends the term as the load demands. When the run is cut, or the term is already lost, it ends no session on purpose.
func (j *electionSeat) end(ctx context.Context) error {
	killer, _ := zk.AsKiller(j.Session) // Setup has checked that it is one
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
		return err // the seat closes the session and counts it as lost
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
