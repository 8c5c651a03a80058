package bench

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/bench/fleet"
	"github.com/zkbench/zkbench/bench/load"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// stormCfg configures servers whose events come 3 ms after a change, and whose requests take 2 ms.
var stormCfg = zktest.Config{OpLatency: 2 * time.Millisecond, EventLatency: 3 * time.Millisecond}

// storms runs a load of one client, which gets no watch events, together with a storm. It returns the outcome of the storm, and what the servers counted
// with the storm and without it.
func storms(t *testing.T, fault string) (_ results.Fault, with, without zktest.Counts) {
	t.Helper()
	lines := []string{"sessions: 1", "rate: 50/s", "session_timeout: 4s", "duration: 12s"}
	alone := newRig(t, stormCfg, lines...)
	alone.mustRun()
	s := newRig(t, stormCfg, append(lines, "faults: ["+fault+"]")...)
	doc := s.mustRun()
	if n := len(doc.Cells[0].Faults); n != 1 {
		t.Fatalf("%d faults", n)
	}
	f := doc.Cells[0].Faults[0]
	if f.Storm == nil || f.Error != "" {
		t.Fatalf("%+v", f)
	}
	return f, s.ens.Counts(), alone.ens.Counts()
}

func isArrivals(t *testing.T, what string, a *results.Arrivals, due int, first, half, p99, all float64) {
	t.Helper()
	if a == nil || a.Half == nil || a.All == nil || a.P99 == nil {
		t.Fatalf("%s: %+v", what, a)
	}
	if a.Due != due || a.Came != due || *a.First != first || *a.Half != half || *a.P99 != p99 || *a.All != all {
		t.Errorf("%s: %d of %d came, from %v ms, half %v, 99 %% %v, all %v; want all of %d, %v, %v, %v and %v ms", what, a.Came, a.Due, *a.First, *a.Half, *a.P99,
			*a.All, due, first, half, p99, all)
	}
}

// When sessions are lost at once, every znode goes and every watcher is notified: as many events as the servers send.
func TestAStormOfExpiriesIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, counted, _ := storms(t, "{at: 2s, kind: mass-expiry, sessions: 5, ephemerals: 3, watchers: 2}")
		s := f.Storm
		isArrivals(t, "gone", s.Gone, 15, 4003, 4003, 4003, 4003) // a timeout, and the latency of an event
		isArrivals(t, "told", s.Notified, 30, 4003, 4003, 4003, 4003)
		if s.Sessions != 5 || s.Watchers != 2 || s.Expired == nil || *s.Expired != 5 || s.Cost.Requests != 0 || s.Read != nil {
			t.Errorf("%+v", s)
		}
		if sent := counted.Events[zk.EventDeleted]; s.Cost.Events != 30 || sent != 30 {
			t.Errorf("%d events, the servers sent %d; want 30", s.Cost.Events, sent)
		}
		if b := f.Bystanders; b == nil || b.During.Count < 150 || b.During.Count > 250 || b.During.P50 == nil || b.During.P99 != nil || b.Before.Count < 60 {
			t.Errorf("bystanders %+v", b)
		}
		if f.SessionsExpired != 0 {
			t.Errorf("%d sessions of the load expired", f.SessionsExpired)
		}
	})
}

// After one change every reader has read every znode: as many requests as the servers answer.
func TestAStormOfReadsIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, counted, load := storms(t, "{at: 2s, kind: read-storm, sessions: 6, znodes: 4, size: 10}")
		s := f.Storm
		isArrivals(t, "told", s.Notified, 6, 4, 4, 4, 4) // half a write, and the latency of an event
		isArrivals(t, "read", s.Read, 6, 14, 14, 14, 14) // and five reads
		if s.Sessions != 6 || s.Cost.Requests != 1+6*5 || s.Cost.Events != 6 || s.Cost.ReadBytes != 6*4*10 || s.Expired != nil || s.Gone != nil {
			t.Errorf("%+v", s)
		}
		reads, writes := counted.Ops[zk.KindGet]-load.Ops[zk.KindGet], counted.Ops[zk.KindSet]-load.Ops[zk.KindSet]
		if reads != 6+6*5 || writes != 1 { // including the first watches
			t.Errorf("the servers answered %d reads and %d writes of data, want %d and 1", reads, writes, 6+6*5)
		}
	})
}

// A repeated storm has other sessions each time.
func TestAStormThatComesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newRig(t, stormCfg, "sessions: 1", "rate: 50/s", "duration: 10s", "faults: [{at: 1s, kind: read-storm, sessions: 3, znodes: 2, every: 4s}]")
		faults := s.mustRun().Cells[0].Faults
		if len(faults) != 3 || slices.ContainsFunc(faults, func(f results.Fault) bool { return f.Storm == nil || f.Storm.Read.Came != 3 }) {
			t.Errorf("%+v", faults)
		}
	})
}

// ticking is a rig whose servers report their tick.
type ticking struct {
	*rig
	tick time.Duration
}

func (t ticking) Describe() ensemble.Description {
	about := t.rig.Describe()
	about.Tick = t.tick
	return about
}

// A storm whose sessions would expire after the steady phase, by the servers' tick, is refused before any load.
func TestAStormThatCannotBeOver(t *testing.T) {
	for _, c := range []struct {
		tick time.Duration // 0 if the servers do not report it, and it is 2 s
		want string        // "": it can be over
	}{{0, "expire up to 6s later (session_timeout and a tick of 2s)"}, {3 * second, "a tick of 3s"}, {second, ""}} {
		synctest.Test(t, func(t *testing.T) {
			s := newRig(t, stormCfg, "sessions: 1", "rate: 50/s", "session_timeout: 4s", "duration: 12s", "faults: [{at: 7s, kind: mass-expiry, sessions: 2}]")
			s.config.Ensemble = ticking{s, c.tick}
			_, err := s.run()
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("a tick of %v: %v, want %q", c.tick, err, c.want)
			}
			s.clean()
		})
	}
}

// A storm that the end of the steady phase cuts off reports what had arrived by then, and its sessions are closed.
func TestAStormThatIsNotOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newRig(t, zktest.Config{OpLatency: 400 * time.Millisecond}, "sessions: 1", "duration: 4s",
			"faults: [{at: 1s, kind: read-storm, sessions: 3, znodes: 20}]")
		doc, err := s.run()
		if err != nil {
			t.Fatal(err)
		}
		s.clean()
		f := doc.Cells[0].Faults[0]
		if f.Storm.Notified.Came != 3 || f.Storm.Read.Came != 0 || f.Storm.Read.All != nil || f.Bystanders == nil {
			t.Errorf("%+v", f.Storm)
		}
	})
}

// A run whose storm cannot be prepared leaves no session.
func TestAStormThatCannotBePrepared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newRig(t, stormCfg, "sessions: 2", "faults: [{at: 1s, kind: read-storm, sessions: 3, znodes: 2}]")
		s.refuse = func(seat int) error {
			if seat == 4 {
				return errRefused
			}
			return nil
		}
		if _, err := s.run(); err == nil {
			t.Error("there is no error")
		}
		s.clean()
	})
}

// The sessions of a storm are also closed if the cell ends before its load.
func TestStormsOfACellThatDoesNotBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newShips(t, 1, latency, "sessions: 4", "session_timeout: 4s", "duration: 20s", "faults: [{at: 1s, kind: mass-expiry, sessions: 3, watchers: 2}]")
		r := f.all[0]
		r.on = func(u load.Update) {
			if u.Connects != nil {
				f.meets.Partition(f.session(0))
			}
		}
		if docs, errs := f.run(); docs[0] == nil || len(docs[0].Cells) != 0 || !errors.Is(errs[0], fleet.ErrCoordinator) {
			t.Errorf("error %v, document %+v; want that it ended before its cell", errs[0], docs[0])
		}
		r.clean()
	})
}
