package workloads

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// unbounded reports bounds in a profile with drivers, whose queues are unbounded.
func unbounded(p profiles.Profile) (problems []profiles.Problem) {
	if !hasDriver(p) {
		return nil
	}
	for i, n := range p.Ints(bound) {
		if n > 0 {
			problems = append(problems, profiles.Problem{Key: bound.Key, Index: i, Message: "the queues of a driver are unbounded (remove it, or the driver)"})
		}
	}
	return problems
}

// driverChecks returns the checks for a driver's queue. Only its requests would show who tried to take which item before a take ended.
func (w *queue) driverChecks() []check.Check {
	checks := []check.Check{check.Conservation(w.outOp())}
	if w.has(metrics.Take) {
		switch {
		case w.claims():
			checks = append(checks, check.Claims())
		case w.variant.FIFO:
			checks = append(checks, check.DeliveryOrder())
		}
		checks = append(checks, check.QueueLiveness(w.Stall))
	}
	return w.foreignChecks(nil, checks...)
}

// balance tracks what must be in the queues: the items put minus the items taken. An item may be taken before its put has ended.
type balance struct {
	mu    sync.Mutex
	items []map[int64]account // by object and item
}

// account is the balance of one item.
type account struct {
	n     int  // puts minus takes
	maybe bool // a put of it, or the operation that takes it for good, is in doubt
}

// add adds n to an item's account. objects is the number of objects.
func (b *balance) add(objects int, object uint32, value int64, n int, maybe bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.items == nil {
		b.items = make([]map[int64]account, objects)
		for i := range b.items {
			b.items[i] = map[int64]account{}
		}
	}
	of := b.items[object]
	a := of[value]
	a.n, a.maybe = a.n+n, a.maybe || maybe
	if of[value] = a; a == (account{}) {
		delete(of, value)
	}
}

// there returns the items of a queue: true for those that must be in it, false for those that may be. sure is the number of the former.
func (b *balance) there(object uint32) (all map[int64]bool, sure int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	all = map[int64]bool{}
	if b.items == nil {
		return all, 0
	}
	for value, a := range b.items[object] {
		switch {
		case a.maybe:
			all[value] = false
		case a.n > 0:
			all[value] = true
			sure++
		}
	}
	return all, sure
}

// account updates the balance of a driver's queues.
func (w *queue) account(s metrics.Sample) {
	if w.Foreign == nil || s.Value == 0 || s.Op != metrics.Put && s.Op != w.outOp() {
		return
	}
	n := 1
	if s.Op != metrics.Put {
		n = -1
	}
	switch s.Outcome {
	case metrics.OK:
		w.balance.add(w.n, s.Object, s.Value, n, false)
	case metrics.InDoubt:
		w.balance.add(w.n, s.Object, s.Value, 0, true)
	}
}

// fillDriver preloads a driver's queues.
func (w *queue) fillDriver(ctx context.Context, fill func(zk.Session) error) error {
	if w.preload == 0 {
		return nil
	}
	if w.Foreign.Open == nil {
		return errors.New("preload: the driver cannot be asked")
	}
	all, close, err := w.Foreign.open(ctx, 1)
	defer close()
	if err != nil {
		return fmt.Errorf("preload: %w", err)
	}
	return fill(all[0])
}

const (
	// lastLook is how long a take may wait on a queue that should be empty.
	lastLook = 500 * time.Millisecond
	// drainers is how many queues are emptied concurrently.
	drainers = 8
)

// inspectDriver records what is left in the queues of a driver: as shown by the znodes if these match what must be there, and otherwise by
// taking it. It may be called again: queues already drained are not drained again.
func (w *queue) inspectDriver(ctx context.Context, s zk.Session, r metrics.Recorder) error {
	if w.Foreign.Znodes {
		if err := w.lookBelow(ctx, s, r); err != nil {
			return err
		}
	}
	var toDrain []uint32
	for object := range uint32(w.n) {
		if w.drained[object] != nil {
			continue
		}
		left, err := w.shown(ctx, s, object)
		if err != nil {
			return err
		}
		if left == nil {
			toDrain = append(toDrain, object)
		}
		w.drained[object] = left
	}
	if err := w.drainDriver(ctx, toDrain); err != nil {
		return err
	}
	for _, object := range toDrain {
		if last := len(w.drained[object]) - 1; last >= 0 && w.drained[object][last].Value == 0 {
			continue
		}
		rest, err := w.shown(ctx, s, object) // what is left after an incomplete drain
		if err != nil {
			return err
		}
		w.drained[object] = append(w.drained[object], rest...)
	}
	for _, left := range w.drained {
		for _, remains := range left {
			r.Record(remains)
		}
	}
	return nil
}

func remains(object uint32, value int64) metrics.Sample {
	return metrics.Sample{Op: metrics.Remain, Object: object, Value: value, Due: end, Start: end, End: end}
}

// shown returns samples of the items that a queue's znodes show, and the sample that says that these are all; nil if they do not match what
// must be there. A library may keep anything in its znodes, so only the queue itself can show that an item is lost or duplicated.
func (w *queue) shown(ctx context.Context, s zk.Session, object uint32) ([]metrics.Sample, error) {
	if !w.Foreign.Znodes || w.Shared {
		return nil, nil
	}
	there, sure := w.balance.there(object)
	found := map[int64]bool{}
	stamp := binary.BigEndian.AppendUint64(nil, w.stamp)
	for paths := []string{w.path(object)}; len(paths) > 0; {
		all, err := read(ctx, s, paths)
		if err != nil {
			return nil, err
		}
		paths = nil
		for _, z := range all {
			if i := bytes.Index(z.data, stamp); i >= 0 && len(z.data) >= i+identityBytes {
				found[int64(binary.BigEndian.Uint64(z.data[i+len(stamp):]))] = true
			}
			if z.NumChildren == 0 {
				continue
			}
			names, _, err := s.Children(ctx, z.path)
			if err != nil && !errors.Is(err, zk.ErrNoNode) {
				return nil, err
			}
			for _, name := range names {
				paths = append(paths, z.path+"/"+name)
			}
		}
	}
	left := []metrics.Sample{remains(object, 0)}
	for value := range found {
		has, may := there[value]
		if !may {
			return nil, nil
		}
		if has {
			sure--
		}
		left = append(left, remains(object, value))
	}
	if sure > 0 {
		return nil, nil
	}
	return left, nil
}

// drainDriver takes what is left in some queues.
func (w *queue) drainDriver(ctx context.Context, objects []uint32) error {
	if w.Foreign.Open == nil || len(objects) == 0 {
		return nil
	}
	all, close, err := w.Foreign.open(ctx, min(drainers, len(objects)))
	defer close()
	if err != nil {
		return err
	}
	failed := make([]error, len(all))
	var draining sync.WaitGroup
	for first, s := range all {
		draining.Go(func() {
			for i := first; i < len(objects) && failed[first] == nil; i += len(all) {
				failed[first] = w.drain(ctx, s, objects[i])
			}
		})
	}
	draining.Wait()
	return errors.Join(failed...)
}

// drain takes what is left in a queue. If that takes too long, as with a large backlog, no sample says that it was everything.
func (w *queue) drain(ctx context.Context, s zk.Session, object uint32) error {
	limit := drainTimeout
	if w.lost.Load() { // what a dead session has claimed becomes available again when the session expires
		limit += s.Timeout()
	}
	q, until := w.variant.New(s, w.path(object), w.options), time.Now().Add(drainTimeout+s.Timeout())
	for time.Now().Before(until) {
		wait := limit
		if _, sure := w.balance.there(object); sure == 0 && !w.Shared {
			wait = lastLook
		}
		it, err := w.takeLeft(ctx, q, wait)
		switch {
		case errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, recipes.ErrInDoubt) && ctx.Err() == nil:
			w.drained[object] = append(w.drained[object], remains(object, 0))
			return nil
		case err != nil:
			return fmt.Errorf("take what is left in %s: %w", w.path(object), err)
		}
		value := w.valueOf(it.Data)
		w.balance.add(w.n, object, value, -1, false)
		w.drained[object] = append(w.drained[object], remains(object, value))
	}
	return nil
}

// takeLeft takes an item for good.
func (w *queue) takeLeft(ctx context.Context, q recipes.Queue, wait time.Duration) (recipes.Item, error) {
	limited, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	claimer, can := q.(recipes.Claimer)
	if !w.claims() || !can {
		return q.Take(limited)
	}
	c, err := claimer.Claim(limited)
	if err == nil {
		err = claimer.Finish(ctx, c)
	}
	return c.Item, err
}

// znode is a znode that was read.
type znode struct {
	zk.Stat
	path string
	data []byte
}

// read reads znodes concurrently. Those that no longer exist have neither data nor children.
func read(ctx context.Context, s zk.Session, paths []string) ([]znode, error) {
	all, faults := make([]znode, len(paths)), make([]error, min(leftReaders, len(paths)))
	var reading sync.WaitGroup
	for first := range faults {
		reading.Go(func() {
			for i := first; i < len(paths) && faults[first] == nil; i += len(faults) {
				data, st, err := s.Get(ctx, paths[i])
				if err != nil && !errors.Is(err, zk.ErrNoNode) {
					faults[first] = fmt.Errorf("read %s: %w", paths[i], err)
				}
				all[i] = znode{st, paths[i], data}
			}
		})
	}
	reading.Wait()
	return all, errors.Join(faults...)
}
