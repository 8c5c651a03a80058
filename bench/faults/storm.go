package faults

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/zk"
)

// Storm is the effects of many sessions that were lost, or that read, at once.
type Storm struct {
	Watchers int // sessions that watched the lost ones
	Start    time.Duration
	End      time.Duration // when it was over, or the waiting for it ended
	Over     bool          // everything due has come
	Expired  int           // lost sessions of which no znode is left
	// Gone are the ephemeral znodes, each at the latest when the first watcher was notified; Notified are the watchers' events; Read are the sessions that
	// have read everything.
	Gone, Notified, Read Arrivals
	Cost
}

// Cost is what some sessions sent and received in some period.
type Cost struct {
	Requests, Events int64       // excluding pings
	ReadBytes        int64       // of data that was read
	Traffic          *zk.Traffic // including pings; nil if the engine does not report it
}

// Arrivals are the sorted times, from the start, of events of which Due were expected.
type Arrivals struct {
	Due int
	At  []time.Duration
}

// Beside is where a storm's sessions and znodes come from.
type Beside struct {
	Dir  string // znode of the cell, which exists
	Open func(ctx context.Context, n int) ([]zk.Session, error)
}

// Storms are the storms of a cell. Their sessions are open and their znodes exist.
type Storms struct {
	all      map[int]storm // by index in the schedule
	sessions []zk.Session
}

// storm is one storm.
type storm interface {
	// prepare makes znodes and watches with sessions that were opened for the storm.
	prepare(ctx context.Context, dir string, sessions []zk.Session) error
	// inject starts the storm and waits until all its effects are over, or ctx ends.
	inject(ctx context.Context, begun time.Time)
	// result returns its effects.
	result(begun time.Time) Storm
}

// Prepare opens the sessions of the storms among the planned faults, and creates their znodes and watches. The caller closes the result, also after an error.
func Prepare(ctx context.Context, planned []profiles.PlannedFault, b Beside) (*Storms, error) {
	s := &Storms{all: map[int]storm{}}
	for i, f := range planned {
		var one storm
		n := f.Sessions + max(f.Watchers, 1)
		switch f.Kind {
		case profiles.MassExpiry:
			one = &massExpiry{planned: f}
		case profiles.ReadStorm:
			one = &readStorm{planned: f}
		default:
			continue
		}
		sessions, err := b.Open(ctx, n)
		s.sessions = append(s.sessions, sessions...)
		if err == nil {
			err = one.prepare(ctx, fmt.Sprintf("%s/storm-%d", b.Dir, i), sessions)
		}
		if err != nil {
			return s, fmt.Errorf("prepare %s: %w", Fault{PlannedFault: f, Target: f.Target()}, err)
		}
		s.all[i] = one
	}
	return s, nil
}

// Close ends the sessions of all storms. It may be called more than once, and on nil.
func (s *Storms) Close() {
	if s == nil {
		return
	}
	atOnce(s.sessions, func(_ int, one zk.Session) error { return one.Close() })
	s.sessions = nil
}

// parallel is how many sessions have a request in flight at a time.
const parallel = 64

// atOnce calls do for each session, several at a time, and returns the errors.
func atOnce(sessions []zk.Session, do func(i int, s zk.Session) error) error {
	var wait sync.WaitGroup
	problems, room := make([]error, len(sessions)), make(chan struct{}, parallel)
	for i, s := range sessions {
		room <- struct{}{}
		wait.Go(func() {
			problems[i] = do(i, s)
			<-room
		})
	}
	wait.Wait()
	return errors.Join(problems...)
}

// storm injects a storm, and waits until it is over or the steady phase ends.
func (s *Schedule) storm(steady context.Context, i int) error {
	one := s.target.Storms.all[i]
	s.keepPlaces(i)
	begun := time.Now()
	s.injected(i, s.target.Origin.At(begun))
	one.inject(steady, begun)
	r := one.result(begun)
	r.Start, r.End = s.target.Origin.At(begun), s.target.Origin.Now()
	s.mu.Lock()
	s.all[i].Storm = &r
	s.mu.Unlock()
	s.recovered(i, nil)
	return nil
}

// meter counts what the sessions of a storm send and receive after its start.
type meter struct {
	on               atomic.Bool
	requests, events atomic.Int64
	readBytes        atomic.Int64
	sessions         []zk.Session
	before, after    zk.Traffic
	silent           bool // some session does not report its traffic
}

// start and stop delimit the time that counts.
func (m *meter) start() {
	m.before = m.traffic()
	m.on.Store(true)
}

func (m *meter) stop() {
	m.on.Store(false)
	m.after = m.traffic()
}

func (m *meter) traffic() (sum zk.Traffic) {
	for _, s := range m.sessions {
		t, notified := zk.TrafficOf(s)
		m.silent = m.silent || !notified
		sum.Sent, sum.Received = sum.Sent+t.Sent, sum.Received+t.Received
	}
	return sum
}

// of returns a session whose requests and events are counted; notified is called for each event of a watch.
func (m *meter) of(s zk.Session, notified func(zk.Event)) zk.Session {
	return zk.Observe(s, &zk.Trace{Event: notified,
		Call: func(c *zk.Call) {
			if m.on.Load() {
				m.readBytes.Add(int64(c.Bytes))
			}
		},
		Sent: func(k zk.Kind, _ time.Time) {
			if k != zk.KindPing && m.on.Load() {
				m.requests.Add(1)
			}
		},
		Received: func(time.Time) {
			if m.on.Load() {
				m.events.Add(1)
			}
		}})
}

// into stores the counts in r.
func (m *meter) into(r *Storm) {
	r.Cost = Cost{Requests: m.requests.Load(), Events: m.events.Load(), ReadBytes: m.readBytes.Load()}
	if !m.silent {
		r.Traffic = &zk.Traffic{Sent: m.after.Sent - m.before.Sent, Received: m.after.Received - m.before.Received}
	}
}

// since returns the known times as sorted durations since an instant.
func since(begun time.Time, times []time.Time) []time.Duration {
	var all []time.Duration
	for _, t := range times {
		if !t.IsZero() {
			all = append(all, t.Sub(begun))
		}
	}
	slices.Sort(all)
	return all
}
