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

// unbounded are the problems of a bound for the queues of drivers, which know of none.
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

// drivenChecks are the promises of a driver's queue. Who went for which item before its take had ended, its requests would tell.
func (w *queue) drivenChecks() []check.Check {
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

// balance is what has to be in the queues: what was put, less what came out. An item may come out before its put has ended.
type balance struct {
	mu    sync.Mutex
	items []map[int64]account // by object and item
}

// account is that of an item.
type account struct {
	n     int  // how often it was put more than taken
	maybe bool // a put of it, or what takes it for good, is in doubt
}

// add adds to an item's account, of one of so many objects.
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

// there are the items that have to be in a queue: true, and those that may be: false.
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

// account keeps the balance of a driver's queues.
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

// fillDriven puts what is in a driver's queues before the load.
func (w *queue) fillDriven(ctx context.Context, fill func(zk.Session) error) error {
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
	// lastLook is how long a queue in which nothing has to be any more is asked for an item.
	lastLook = 500 * time.Millisecond
	// drainers is how many queues are emptied at the same time.
	drainers = 8
)

// inspectDriven records what is left in the queues of a driver: as znodes show it if that is all that has to be there, and otherwise by taking it. It may be
// called again: what was taken has been.
func (w *queue) inspectDriven(ctx context.Context, s zk.Session, r metrics.Recorder) error {
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
	if err := w.drainDriven(ctx, toDrain); err != nil {
		return err
	}
	for _, object := range toDrain {
		if last := len(w.drained[object]) - 1; last >= 0 && w.drained[object][last].Value == 0 {
			continue
		}
		rest, err := w.shown(ctx, s, object) // of what was too much to be taken out
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

// shown is what the znodes of a queue show to be in it, and that this is all; nil: that is not what has to be there. A library may keep what it likes in its
// znodes, so only the queue itself can say that something is lost, or there once more.
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

// drainDriven takes what is left in some queues.
func (w *queue) drainDriven(ctx context.Context, objects []uint32) error {
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

// drain takes what is left in a queue. Where that takes too long, as of a large backlog, nothing says that it was all.
func (w *queue) drain(ctx context.Context, s zk.Session, object uint32) error {
	patience := drainPatience
	if w.lost.Load() { // what a dead session has claimed is there again when it expires
		patience += s.Timeout()
	}
	q, until := w.variant.New(s, w.path(object), w.options), time.Now().Add(drainPatience+s.Timeout())
	for time.Now().Before(until) {
		wait := patience
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

// znode is one that was read.
type znode struct {
	zk.Stat
	path string
	data []byte
}

// read reads znodes, many at the same time. Those that are gone have neither data nor children.
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
