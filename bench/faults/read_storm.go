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
	change  string   // the znode that changes
	paths   []string // of the znodes that are read
	watches []*zk.Watch

	mu         sync.Mutex
	told, read []time.Time // when each reader was told, and had read all
}

// prepare makes the znodes and has the readers watch.
func (h *readStorm) prepare(ctx context.Context, dir string, sessions []zk.Session) error {
	n := h.planned.Sessions
	h.meter.sessions = sessions
	h.readers, h.writer, h.change = make([]zk.Session, n), h.meter.of(sessions[n], nil), dir+"/change"
	h.watches, h.told, h.read = make([]*zk.Watch, n), make([]time.Time, n), make([]time.Time, n)
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
		if err := zk.CatchUp(ctx, s, dir); err != nil { // its server may not know them yet
			return err
		}
		_, _, h.watches[i], err = h.readers[i].GetW(ctx, h.change)
		return err
	})
}

// strike makes the change, and waits until all have read.
func (h *readStorm) strike(ctx context.Context, _ time.Time) {
	h.start()
	var wait sync.WaitGroup
	for i := range h.readers {
		wait.Go(func() { h.follow(ctx, i) })
	}
	_, _ = h.writer.Set(ctx, h.change, nil, zk.AnyVersion) // after an error nobody is told, or later: the result says so
	wait.Wait()
	h.stop()
}

// follow is what a reader does when it is told.
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
	h.told[i] = e.At
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

// result is what the readers were told and have read.
func (h *readStorm) result(begun time.Time) Storm {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := len(h.readers)
	r := Storm{Told: Arrivals{n, since(begun, h.told)}, Read: Arrivals{n, since(begun, h.read)}}
	r.Over = len(r.Read.At) == n
	h.meter.into(&r)
	return r
}
