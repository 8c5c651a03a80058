package faults

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/zk"
)

// readStorm is a storm in which one change makes many sessions read.
type readStorm struct {
	planned profiles.PlannedFault
	meter
	writer  zk.Session
	readers []zk.Session
	change  string   // the znode that is changed
	paths   []string // of the znodes that are read
	watches []*zk.Watch

	mu             sync.Mutex
	notified, read []time.Time // when each reader was notified, and when it had read everything
}

// prepare creates the znodes, and lets the readers watch the one that is changed.
func (h *readStorm) prepare(ctx context.Context, dir string, sessions []zk.Session) error {
	n := h.planned.Sessions
	h.meter.sessions = sessions
	h.readers, h.writer, h.change = make([]zk.Session, n), h.meter.of(sessions[n], nil), dir+"/change"
	h.watches, h.notified, h.read = make([]*zk.Watch, n), make([]time.Time, n), make([]time.Time, n)
	for i := range h.planned.Znodes {
		h.paths = append(h.paths, fmt.Sprintf("%s/z%d", dir, i))
	}
	err := zk.InBatches(ctx, h.writer, func(yield func(zk.Op) bool) {
		if !yield(zk.CreateOp(dir, nil, zk.Persistent)) || !yield(zk.CreateOp(h.change, nil, zk.Persistent)) {
			return
		}
		for _, path := range h.paths {
			if !yield(zk.CreateOp(path, make([]byte, h.planned.Size), zk.Persistent)) {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	return atOnce(sessions[:n], func(i int, s zk.Session) (err error) {
		h.readers[i] = h.meter.of(s, nil)
		if err := zk.CatchUp(ctx, s, dir); err != nil { // its server may not know the znodes yet
			return err
		}
		_, _, h.watches[i], err = h.readers[i].GetW(ctx, h.change)
		return err
	})
}

// inject makes the change, and waits until all readers have read everything.
func (h *readStorm) inject(ctx context.Context, _ time.Time) {
	h.start()
	var wait sync.WaitGroup
	for i := range h.readers {
		wait.Go(func() { h.follow(ctx, i) })
	}
	_, _ = h.writer.Set(ctx, h.change, nil, zk.AnyVersion) // after an error the readers are notified late or not at all, which the result shows
	wait.Wait()
	h.stop()
}

// follow waits for the notification of a reader, and then reads the znodes.
func (h *readStorm) follow(ctx context.Context, i int) {
	var e zk.Event
	select {
	case e = <-h.watches[i].C():
	case <-ctx.Done():
		return
	}
	if e.Err != nil {
		return
	}
	h.mu.Lock()
	h.notified[i] = e.At
	h.mu.Unlock()
	if _, _, _, err := h.readers[i].GetW(ctx, h.change); err != nil {
		return
	}
	for _, path := range h.paths {
		if _, _, err := h.readers[i].Get(ctx, path); err != nil {
			return
		}
	}
	h.mu.Lock()
	h.read[i] = time.Now()
	h.mu.Unlock()
}

// result returns which readers were notified and which have read everything, and when.
func (h *readStorm) result(begun time.Time) Storm {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := len(h.readers)
	r := Storm{Notified: Arrivals{n, since(begun, h.notified)}, Read: Arrivals{n, since(begun, h.read)}}
	r.Over = len(r.Read.At) == n
	h.meter.into(&r)
	return r
}
