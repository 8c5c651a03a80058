package load

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/bench/plan"
	"github.com/zkbench/zkbench/bench/target"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/zk"
)

// stalling is a session whose server answers, writes of others too, except between two offsets.
type stalling struct {
	zk.Session
	origin   metrics.Origin
	every    time.Duration // between two writes; 0: there are none
	from, to time.Duration
	asked    []time.Duration
}

func (s *stalling) Err() error   { return nil }
func (s *stalling) Close() error { return nil }

func (s *stalling) Sync(context.Context, string) error {
	at := s.origin.Now()
	s.asked = append(s.asked, at)
	if s.from <= at && at < s.to {
		time.Sleep(s.to - at)
	}
	return nil
}

func (s *stalling) SinceWrite() (time.Duration, bool) {
	now := s.origin.Now()
	last := now
	if s.from <= now && now < s.to {
		last = s.from
	}
	if s.every > 0 {
		last -= last % s.every
	}
	return now - last, s.every > 0
}

// A server is asked only when no write has just shown that it answers, and no stall of twice the time between two looks is missed.
func TestServersAreAskedWhenTheyAreSilent(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		about           string
		every, from, to time.Duration
		asked           int // in a second; all servers at the same time
		late            []metrics.Trip
	}{
		{about: "no writes", asked: 20},
		{about: "writes all the time", every: 5 * ms},
		{about: "few writes", every: 200 * ms, asked: 15}, // at the looks 50, 100 and 150 ms after each
		{about: "no writes, and a stall", from: 410 * ms, to: 520 * ms, asked: 19,
			late: []metrics.Trip{{Session: metrics.Everybody, Start: 450 * ms, End: 520 * ms}}},
		{about: "a stall right after a look", every: 5 * ms, from: 401 * ms, to: 501 * ms, asked: 1,
			late: []metrics.Trip{{Session: metrics.Everybody, Start: 400 * ms, End: 501 * ms}}},
		{about: "a stall that a look just misses", every: 5 * ms, from: 380 * ms, to: 480 * ms, asked: 1,
			late: []metrics.Trip{{Session: metrics.Everybody, Start: 380 * ms, End: 480 * ms}}},
		{about: "a short stall", every: 5 * ms, from: 380 * ms, to: 460 * ms, asked: 1},
	} {
		t.Run(c.about, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cell := &Cell{origin: metrics.NewOrigin(time.Now()), trips: metrics.NewLongTrips(nil), self: newSelf(), target: &target.Target{Root: "/root"}}
				cell.Cell = plan.Cell{Profile: profiles.Profile{SessionTimeout: time.Minute}}
				l := &lookout{c: cell}
				var sessions []*stalling
				for range 2 {
					s := &stalling{origin: cell.origin, every: c.every, from: c.from, to: c.to}
					sessions = append(sessions, s)
					l.servers = append(l.servers, &probed{session: s})
				}
				l.start(t.Context())
				time.Sleep(time.Second + ms)
				synctest.Wait()
				l.timers.Stop()
				l.end()
				l.work.Wait()
				for _, s := range sessions {
					if len(s.asked) != c.asked || len(s.asked) > 0 && s.asked[0]%probeEvery != 0 {
						t.Errorf("asked at %v, want %d times, at multiples of %v", s.asked, c.asked, probeEvery)
					}
				}
				n := 0
				for trip := range cell.trips.All() {
					if n++; len(c.late) == 0 || trip != c.late[0] {
						t.Errorf("late from %v to %v, want %v", trip.Start, trip.End, c.late)
					}
				}
				if n != len(sessions)*len(c.late) {
					t.Errorf("late %d times, want %d", n, len(sessions)*len(c.late))
				}
			})
		})
	}
}
