package workloads

import (
	"context"
	"fmt"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// The fields of the workload 'sessions'.
var (
	idling = profiles.Field{Key: "idle", Type: profiles.DurationDistribution, Axis: true, Example: "{exponential: 1s}", Default: "0s", Max: float64(24 * time.Hour),
		Doc: "How long a session is idle between opening and close. A client has one session at a time, so a rate needs at least rate x idle clients."}
	ephemerals = profiles.Field{Key: "ephemerals", Type: profiles.WholeNumber, Axis: true, Example: "[1, 10]", Default: "1", Max: 1000,
		Doc: "Ephemeral znodes that each session creates, at the paths of those of the client's session before it; without any, nothing shows whether a close removes them."}
)

// OpenedSessions returns the workload 'sessions'.
func OpenedSessions() Kind {
	return Kind{
		Doc:      "clients that open a session, idle, and close it",
		Holders:  func(l Load) float64 { return float64(l.Sessions) },
		Busy:     &Busy{"client", "between opening and close", "be opened", "lower the rate, raise sessions, or shorten idle", idling},
		Objects:  "sessions",
		Znodes:   recipes.Znodes{Ephemeral: []string{`OBJECT/held-#-#`}},
		Workload: profiles.Workload{Name: "sessions", Fields: []profiles.Field{idling, ephemerals}},
		Variants: []Variant{fixed(Variant{Name: "close", Source: "ZooKeeper Programmer's Guide, ZooKeeper Sessions", Doc: "each session is closed by its client"},
			func(l Load) Workload {
				return &sessions{Load: l, places: places{l.Dir, "sessions", 1}, idle: l.Distribution(idling), before: make([]openerState, l.Sessions)}
			})},
	}
}

// sessions is the workload 'sessions': each client opens a session, creates its ephemeral znodes, idles and closes it.
type sessions struct {
	Load
	places
	idle   profiles.Distribution
	before []openerState
}

// openerState is what a client keeps across its sessions.
type openerState struct {
	closed int64 // the last session, if its close was acknowledged; 0: no znodes have to be gone
}

// opener is the seat of a client.
type opener struct {
	Seat
	w     *sessions
	state *openerState
	s     zk.Session    // with its requests counted; nil before the first measured session
	heard time.Duration // when the last request that was answered was sent
}

// Join returns the client's step.
func (w *sessions) Join(seat Seat) Step {
	j := &opener{Seat: seat, w: w, state: &w.before[seat.ID]}
	return j
}

// held returns the path of one of a client's znodes.
func (j *opener) held(i int) string { return fmt.Sprintf("%s/held-%d-%d", j.w.path(0), j.ID, i) }

// Do is the life of one session. The session that the client starts with is closed first and not measured.
func (j *opener) Do(ctx context.Context, due time.Duration) error {
	if j.s == nil {
		j.Session.Close()
	}
	if !j.open(ctx, due) {
		return nil
	}
	if j.create(ctx) {
		j.keep(ctx)
	}
	return j.finish()
}

// open opens the session and reports whether it succeeded.
func (j *opener) open(ctx context.Context, due time.Duration) bool {
	actx, cancel := within(ctx, j.w.Deadline)
	defer cancel()
	s := metrics.Sample{Op: metrics.Open, Session: j.ID, Due: due, Start: j.Origin.Now()}
	fresh, err := j.Seat.Open(actx)
	s.End, s.Outcome = j.Origin.Now(), outcome(ctx, err)
	if err == nil {
		j.Session, j.heard = fresh, s.Start
		j.s = j.observed()
		s.Token = fresh.ID()
		if print, known := zk.Fingerprint(fresh); known {
			s.Value = int64(print)
		}
	}
	j.Recorder.Record(s)
	return err == nil
}

// create creates the ephemeral znodes and reports whether it succeeded. The paths are those of the previous session's znodes, so it also shows
// whether these are gone.
func (j *opener) create(ctx context.Context) bool {
	for i := range j.w.Int(ephemerals) {
		actx, cancel := within(ctx, j.w.Deadline)
		s := metrics.Sample{Op: metrics.Create, Session: j.ID, Start: j.Origin.Now()}
		s.Due = s.Start
		_, err := j.s.Create(actx, j.held(i), nil, zk.Ephemeral)
		cancel()
		s.End, s.Outcome = j.Origin.Now(), outcome(ctx, err)
		j.Recorder.Record(s)
		answered := err == nil || zk.Classify(err) == zk.ClassDefiniteNo
		if answered {
			j.heard = s.Start
		}
		if answered && j.state.closed != 0 {
			j.Recorder.Record(j.left(ctx, i, err))
		}
		if err != nil {
			return false
		}
	}
	return true
}

// left returns a sample that tells whether a znode of the previous session, whose close was acknowledged, still exists. err is the result of creating
// a znode at its path.
func (j *opener) left(ctx context.Context, i int, err error) metrics.Sample {
	s := metrics.Sample{Op: metrics.Left, Session: j.ID, Token: j.state.closed, Start: j.Origin.Now()}
	if err != nil {
		st, there, found := j.s.Exists(ctx, j.held(i))
		if there && st.EphemeralOwner == j.state.closed {
			s.Outcome = metrics.Failed
		} else if found != nil {
			s.Outcome = outcome(ctx, found)
		}
	}
	s.End = j.Origin.Now()
	s.Due = s.Start
	return s
}

// keep idles.
func (j *opener) keep(ctx context.Context) {
	d := j.w.idle.Sample(j.Rand)
	if d <= 0 {
		return
	}
	s := metrics.Sample{Op: metrics.Keep, Session: j.ID, Token: j.Session.ID(), Value: int64(j.Session.Timeout()), Start: j.heard}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-j.Session.Done():
		s.Outcome = metrics.Lost
	case <-ctx.Done():
	}
	s.Due, s.End = s.Start, j.Origin.Now()
	j.Recorder.Record(s)
}

// finish closes the session. It returns an error if the session has ended already.
func (j *opener) finish() error {
	j.state.closed = 0
	if err := j.Session.Err(); err != nil {
		return err
	}
	s := metrics.Sample{Op: metrics.Close, Session: j.ID, Token: j.Session.ID(), Start: j.Origin.Now()}
	if err := j.Session.Close(); err == nil {
		j.state.closed = s.Token
	} else { // no server has answered: the session may live until it expires
		s.Outcome = metrics.InDoubt
	}
	s.Due, s.End = s.Start, j.Origin.Now()
	j.Recorder.Record(s)
	return nil
}

// Checks returns the checks of what the servers promise about sessions.
func (w *sessions) Checks() []check.Check {
	all := []check.Check{check.SessionsOwn()}
	if w.Int(ephemerals) > 0 {
		all = append(all, check.NothingLeft())
	}
	return all
}

// Measures returns the measures of the sessions opened, of the znodes created, and of the closes.
func (w *sessions) Measures() []Measure {
	all := []Measure{operation(metrics.Open, "sessions"),
		{Op: metrics.Close, Role: Part, Unit: "closes", Caption: "Close is from a session's close to the server's answer, when its ephemeral znodes are gone."}}
	if w.Int(ephemerals) > 0 {
		all = append(all, Measure{Op: metrics.Create, Role: Part, Unit: "creates"})
	}
	return all
}

// Cost returns the cost of one session. Its pings depend on how long it idles; they are left out together with the handshake and the close, which are
// of the same kind.
func (w *sessions) Cost() Cost {
	return Cost{Writes: float64(w.Int(ephemerals)), Reads: 0, Lists: 0, Names: 0, Bytes: 0, Events: 0, Watches: 0}
}
