package workloads

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/metrics/spill"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

var writers = profiles.Field{Key: "writers", Type: profiles.WholeNumber, Axis: true, Example: "[5, 50]", Default: "10", Max: 100,
	Doc: "Percent of the sessions of each setting that change it; the others keep a copy of it. With two or more, each side gets at least one, unless it is 100."}

// Configs returns the workload 'config' for a catalogue of caches of a setting.
func Configs(all []recipes.Variant[recipes.Setting]) Kind {
	return Kind{
		Doc:    "some sessions change a setting, the others keep a copy of it",
		Shared: anywhere,
		Workload: profiles.Workload{Name: "config", Alias: map[string]string{"settings": objects.Key},
			Fields: []profiles.Field{described(objects, "Settings; the sessions are spread over them evenly."), writers},
			Check:  func(p profiles.Profile) []profiles.Problem { return crowded(p, 2, "setting") }},
		Objects:  "setting",
		Variants: variantsOf(all, func(v recipes.Variant[recipes.Setting]) []Option { return watch(v.Watch) }, NewConfig),
	}
}

// NewConfig returns the workload 'config': the writers change a setting, and the readers keep a copy of it. Operation Deliver lasts from the
// issue of a write until a reader has the value. Versions that a reader never saw are counted separately.
func NewConfig(v recipes.Variant[recipes.Setting], o recipes.Options, l Load) Workload {
	return &config{driving: drive(v, o, l), places: places{l.Dir, "setting", l.Objects()}, writers: l.Share(writers), stamp: stampOf(l),
		values: make([]int64, l.Sessions), seen: make([]recipes.SettingValue, l.Sessions), here: make([]atomic.Bool, l.Sessions)}
}

type config struct {
	driving[recipes.Setting]
	places
	writers     float64                // share of the sessions of each setting that write it
	stamp       uint64                 // prefix of all values of this cell
	values      []int64                // number of values that each session has written
	seen        []recipes.SettingValue // last value that each reader saw, kept across its sessions
	here        []atomic.Bool          // whether the session belongs to this process
	got, missed atomic.Int64           // versions, summed over all readers
}

// Setup creates the settings.
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

// data encodes a value and the offset at which its write was issued.
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

// next returns the session's next value. No other session writes the same value, in any process.
func (w *config) next(session uint32) int64 {
	w.values[session]++
	return (w.values[session]-1)*int64(w.Sessions) + int64(session) + 1
}

// Checks returns the checks of a setting's promises.
func (w *config) Checks() []check.Check {
	return []check.Check{check.WrittenValues(), check.ViewOrder(), check.Convergence(w.Stall)}
}

// Inspect does nothing: the znode that a setting leaves behind is the setting itself.
func (w *config) Inspect(context.Context, zk.Session, metrics.Recorder) error { return nil }

// Measures returns the measures of the writes and of their delivery to readers. Deliveries are measured only for values written by this process,
// because clocks of different processes cannot be compared.
func (w *config) Measures() []Measure {
	return []Measure{operation(metrics.Change, "changes"), {Op: metrics.Deliver, Role: Part, Unit: "deliveries", Question: changeArrives, Caption: deliverCaption}}
}

const deliverCaption = "Deliver is from the issue of a change until each observer has it. Changes that an observer sees at " +
	"once cost it one event and one read, so a ratio below 1 means that changes arrived together."

// IsPaced reports whether the rate is offered to a session: it is offered to the writers.
func (w *config) IsPaced(id uint32) bool { return w.first(max(w.writers, tiny), id, w.Sessions) }

// Cost returns the cost of one change that every reader sees: an event and a read per reader, or two reads if the version is read separately.
// Changes that a reader misses cost less.
func (w *config) Cost() Cost {
	readers := 0
	for id := range uint32(w.Sessions) {
		if !w.IsPaced(id) {
			readers++
		}
	}
	each := float64(readers) / float64(w.n)
	c := Cost{Writes: 1, Reads: each, Bytes: each * float64(len(w.data(0, 0))), Events: each}
	if w.options.Watch == "exists" {
		c[Reads] *= 2
	}
	return c
}

// Notes reports how many versions readers missed.
func (w *config) Notes(iter.Seq[metrics.Sample], *spill.Room) []string {
	missed, got := w.missed.Load(), w.got.Load()
	if missed+got == 0 {
		return nil
	}
	return []string{fmt.Sprintf("readers missed %.2f %% of the versions that they waited for: newer ones came before they were read",
		100*float64(missed)/float64(missed+got))}
}

// Join returns the session's step as a writer or a reader.
func (w *config) Join(seat Seat) Step {
	j := &configSeat{Seat: seat, w: w, object: seat.ID % uint32(w.n)}
	j.handle = w.variant.New(seat.observed(), w.path(j.object), w.options)
	w.here[seat.ID].Store(true)
	if w.IsPaced(seat.ID) {
		return StepFunc(j.write)
	}
	return observing(seat, j.read)
}

// configSeat is the seat of a writer or a reader.
type configSeat struct {
	Seat
	w      *config
	object uint32
	handle recipes.Setting
}

func (j *configSeat) write(ctx context.Context, due time.Duration) error {
	s := metrics.Sample{Op: metrics.Change, Session: j.ID, Object: j.object, Value: j.w.next(j.ID), Due: due, Start: j.Origin.Now()}
	actx, cancel := within(ctx, j.w.Deadline)
	defer cancel()
	token, err := j.handle.Set(actx, j.w.data(s.Value, s.Start))
	s.End = j.Origin.Now()
	s.Outcome, s.Token = outcome(ctx, err), token
	j.Recorder.Record(s)
	return j.Session.Err()
}

func (j *configSeat) read(ctx context.Context, due time.Duration) (saw bool) {
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
		if value > 0 && value != stranger && j.w.here[(value-1)%int64(j.w.Sessions)].Load() { // issued was measured by the clock of the writer's process
			s.Op, s.Due, s.Start = metrics.Deliver, issued, issued
			j.Recorder.Record(s)
		}
	}
	if err == nil {
		*last = is
	}
	return err == nil
}
