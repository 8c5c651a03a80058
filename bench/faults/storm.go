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

// Storm is what came of many sessions that were lost, or that read, at once.
type Storm struct {
	Watchers int // sessions that watched those that were lost
	Start    time.Duration
	End      time.Duration // when all of it was over, or nobody waited any more
	Over     bool          // all that was due has come
	Expired  int           // sessions of which nothing is left
	// Gone are the ephemeral znodes, at the latest when the first watcher was told; Told the watchers' events; Read the sessions that have read all.
	Gone, Told, Read Arrivals
	Cost
}

// Cost is what some sessions sent and received in some time.
type Cost struct {
	Requests, Events int64       // pings are none
	ReadBytes        int64       // of data that was read
	Traffic          *zk.Traffic // pings included; nil where the engine does not tell
}

// Arrivals are the times, from the start and in order, at which something came that was due so many times.
type Arrivals struct {
	Due int
	At  []time.Duration
}

// Beside is where a storm's sessions and znodes come from.
type Beside struct {
	Dir  string // znode of the cell, which is there
	Open func(ctx context.Context, n int) ([]zk.Session, error)
}

// Storms are the storms of a cell, whose sessions are open and whose znodes are there.
type Storms struct {
	all      map[int]storm // by their places in the schedule
	sessions []zk.Session
}

// storm is one of them.
type storm interface {
	// prepare makes znodes and watches with sessions that were opened for the storm.
	prepare(ctx context.Context, dir string, sessions []zk.Session) error
	// strike begins the storm and waits until all is over that follows from it, or ctx ends.
	strike(ctx context.Context, begun time.Time)
	// result is what has come of it.
	result(begun time.Time) Storm
}

// Prepare opens the sessions of the storms among planned faults, and makes their znodes and watches. What it returns has to be closed, also after
// an error.
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

// Close ends the sessions of all storms. It may be called more than once, and of nil.
func (s *Storms) Close() {
	if s == nil {
		return
	}
	atOnce(s.sessions, func(_ int, one zk.Session) error { return one.Close() })
	s.sessions = nil
}

// parallel is how many requests to different sessions are under way at a time.
const parallel = 64

// atOnce does something with each session, some at a time, and returns the errors.
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
	one.strike(steady, begun)
	r := one.result(begun)
	r.Start, r.End = s.target.Origin.At(begun), s.target.Origin.Now()
	s.mu.Lock()
	s.all[i].Storm = &r
	s.mu.Unlock()
	s.recovered(i, nil)
	return nil
}

// meter counts what the sessions of a storm send and receive from its start on.
type meter struct {
	on               atomic.Bool
	requests, events atomic.Int64
	readBytes        atomic.Int64
	sessions         []zk.Session
	before, after    zk.Traffic
	silent           bool // some session does not tell its traffic
}

// start and stop bound the time that counts.
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
		t, told := zk.TrafficOf(s)
		m.silent = m.silent || !told
		sum.Sent, sum.Received = sum.Sent+t.Sent, sum.Received+t.Received
	}
	return sum
}

// of is a session whose requests and events are counted; told has each event of a watch that fires.
func (m *meter) of(s zk.Session, told func(zk.Event)) zk.Session {
	return zk.Observe(s, &zk.Trace{Event: told,
		Call: func(c zk.Call) {
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

// into adds what was counted.
func (m *meter) into(r *Storm) {
	r.Cost = Cost{Requests: m.requests.Load(), Events: m.events.Load(), ReadBytes: m.readBytes.Load()}
	if !m.silent {
		r.Traffic = &zk.Traffic{Sent: m.after.Sent - m.before.Sent, Received: m.after.Received - m.before.Received}
	}
}

// since are the times that are known, from an instant on and in order.
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
