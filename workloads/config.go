package workloads

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// SettingsConfig describes the load on settings.
type SettingsConfig struct {
	Variant  recipes.Variant[recipes.Config]
	Options  recipes.Options
	Dir      string // the settings are its children
	Settings int    // the sessions are spread over them evenly
	Sessions int
	Writers  float64 // share of the sessions of each setting that write it; of two or more at least one, and not all unless it is 1

	Deadline time.Duration // of one write; 0: none
	Stall    time.Duration // as in LockConfig
}

// NewConfig returns the workload 'config': the writers change a setting, and the others keep a copy of it. Operation Deliver is from the
// issue of a write to a reader's having it; versions that a reader never saw are counted apart.
func NewConfig(c SettingsConfig) Workload {
	return &config{SettingsConfig: c, places: places{c.Dir, "setting", c.Settings}, stamp: rand.Uint64(),
		seen: make([]recipes.Setting, c.Sessions)}
}

type config struct {
	SettingsConfig
	places
	stamp       uint64            // the values of this cell begin with it
	values      atomic.Int64      // the last that was written
	seen        []recipes.Setting // by each reader, in whichever session
	got, missed atomic.Int64      // versions, by all readers together
}

// Setup makes the settings.
func (w *config) Setup(ctx context.Context, s zk.Session) error {
	if err := w.make(ctx, s); err != nil {
		return err
	}
	for i := range uint32(w.n) {
		if _, err := s.Set(ctx, w.path(i), w.data(0, 0), zk.AnyVersion); err != nil {
			return err
		}
	}
	return nil
}

// data is a value, and when its write was issued.
func (w *config) data(value int64, issued time.Duration) []byte {
	b := binary.BigEndian.AppendUint64(nil, w.stamp)
	b = binary.BigEndian.AppendUint64(b, uint64(value))
	return binary.BigEndian.AppendUint64(b, uint64(issued))
}

func (w *config) read(data []byte) (value int64, issued time.Duration) {
	if len(data) != 24 || binary.BigEndian.Uint64(data) != w.stamp {
		return stranger, 0
	}
	return int64(binary.BigEndian.Uint64(data[8:])), time.Duration(binary.BigEndian.Uint64(data[16:]))
}

// Checks are the promises of a setting.
func (w *config) Checks() []check.Check {
	return []check.Check{check.WrittenValues(), check.ViewOrder(), check.Convergence(w.Stall)}
}

// Inspect has nothing to look for: what a setting leaves is the setting.
func (w *config) Inspect(context.Context, zk.Session, metrics.Recorder) error { return nil }

// Op of the workload is to write.
func (w *config) Op() metrics.Op { return metrics.Change }

// Parts are what readers wait for.
func (w *config) Parts() []metrics.Op { return []metrics.Op{metrics.Deliver} }

// IsDriven tells whether the rate is offered to a session: to the writers.
func (w *config) IsDriven(id uint32) bool { return w.first(max(w.Writers, tiny), id, w.Sessions) }

// Offered is to write.
func (w *config) Offered() metrics.Op { return metrics.Change }

// Theory of events per release is none: there are no releases.
func (w *config) Theory() (release, arrival float64) { return 0, 0 }

// Cost is that of one change which every reader sees: an event, and a read or, where the look at the version is apart, two. Changes that a
// reader misses cost less.
func (w *config) Cost() Cost {
	readers := 0
	for id := range uint32(w.Sessions) {
		if !w.IsDriven(id) {
			readers++
		}
	}
	each := float64(readers) / float64(w.Settings)
	c := Cost{Writes: 1, Reads: each, Bytes: each * float64(len(w.data(0, 0))), Events: each}
	if w.Options.Watch == "exists" {
		c[Reads] *= 2
	}
	return c
}

// Notes tell how many versions went unseen.
func (w *config) Notes(iter.Seq[metrics.Sample]) []string {
	missed, got := w.missed.Load(), w.got.Load()
	if missed+got == 0 {
		return nil
	}
	return []string{fmt.Sprintf("of the versions that readers waited for %.2f %% were missed: others followed before they were read",
		100*float64(missed)/float64(missed+got))}
}

// Join gives the session its part.
func (w *config) Join(seat Seat) Step {
	j := &configSeat{Seat: seat, w: w, object: seat.ID % uint32(w.Settings)}
	j.handle = w.Variant.New(zk.Observe(seat.Session, counted(seat.Fanout)), w.path(j.object), w.Options)
	if w.IsDriven(seat.ID) {
		return j.write
	}
	return observing(seat, j.read)
}

// configSeat is a writer or a reader.
type configSeat struct {
	Seat
	w      *config
	object uint32
	handle recipes.Config
}

func (j *configSeat) write(ctx context.Context, due time.Duration) error {
	s := metrics.Sample{Op: metrics.Change, Session: j.ID, Object: j.object, Value: j.w.values.Add(1), Due: due, Start: j.Origin.Now()}
	actx := ctx
	if j.w.Deadline > 0 {
		var cancel context.CancelFunc
		actx, cancel = context.WithTimeout(ctx, j.w.Deadline)
		defer cancel()
	}
	token, err := j.handle.Set(actx, j.w.data(s.Value, s.Start))
	s.End = j.Origin.Now()
	s.Outcome, s.Token = outcome(ctx, err), token
	j.Recorder.Record(s)
	return j.Session.Err()
}

func (j *configSeat) read(ctx context.Context, due time.Duration) error {
	last := &j.w.seen[j.ID]
	s := metrics.Sample{Op: metrics.See, Session: j.ID, Object: j.object, Due: due, Start: j.Origin.Now()}
	is, err := j.handle.Watch(ctx, *last)
	s.End = j.Origin.Now()
	value, issued := j.w.read(is.Data)
	if s.Outcome = outcome(ctx, err); err == nil {
		s.Value, s.Token = value, is.Token
	}
	j.Recorder.Record(s)
	if err == nil && last.Token != 0 {
		j.w.got.Add(1)
		j.w.missed.Add(is.Missed)
		s.Op, s.Due, s.Start = metrics.Deliver, issued, issued
		j.Recorder.Record(s)
	}
	if err == nil {
		*last = is
	}
	return j.Session.Err()
}
