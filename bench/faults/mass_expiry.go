package faults

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/zk"
)

// massExpiry is a storm in which many sessions with ephemeral znodes die while other sessions watch these znodes.
type massExpiry struct {
	planned profiles.PlannedFault
	meter
	lost  []zk.Session
	paths []string       // of the ephemeral znodes, grouped by session
	place map[string]int // index of a path

	mu       sync.Mutex
	notified []time.Time // when each watcher was notified of each path, grouped by watcher
	left     int         // notifications still to come
	over     chan struct{}
}

// prepare lets the sessions create their znodes, and the other sessions watch all of them.
func (m *massExpiry) prepare(ctx context.Context, dir string, sessions []zk.Session) error {
	each := m.planned.Ephemerals
	m.lost, sessions = sessions[:m.planned.Sessions], sessions[m.planned.Sessions:]
	m.meter.sessions = sessions
	if _, can := zk.AsKiller(m.lost[0]); !can {
		return fmt.Errorf("the sessions of this engine cannot be lost without being closed")
	}
	if _, err := sessions[0].Create(ctx, dir, nil, zk.Persistent); err != nil {
		return err
	}
	m.place, m.over = map[string]int{}, make(chan struct{})
	for i := range m.lost {
		for j := range each {
			m.place[m.path(dir, i, j)] = len(m.paths)
			m.paths = append(m.paths, m.path(dir, i, j))
		}
	}
	err := atOnce(m.lost, func(i int, s zk.Session) error {
		if _, err := s.Create(ctx, fmt.Sprintf("%s/m%d", dir, i), nil, zk.Persistent); err != nil {
			return err
		}
		return zk.InBatches(ctx, s, func(yield func(zk.Op) bool) {
			for _, path := range m.paths[i*each : (i+1)*each] {
				if !yield(zk.CreateOp(path, nil, zk.Ephemeral)) {
					return
				}
			}
		})
	})
	if err != nil {
		return err
	}
	m.notified = make([]time.Time, len(sessions)*len(m.paths))
	m.left = len(m.notified)
	return atOnce(sessions, func(w int, s zk.Session) error {
		if err := zk.CatchUp(ctx, s, dir); err != nil { // its server may not know all of them yet
			return err
		}
		watcher := m.meter.of(s, func(e zk.Event) { m.event(w, e) })
		for _, path := range m.paths {
			if _, there, _, err := watcher.ExistsW(ctx, path); err != nil || !there {
				return fmt.Errorf("watch %s, which is there (%v): %w", path, there, err)
			}
		}
		return nil
	})
}

func (m *massExpiry) path(dir string, session, i int) string {
	return fmt.Sprintf("%s/m%d/held-%d", dir, session, i)
}

// event records that a watcher was notified. A watch fires once.
func (m *massExpiry) event(watcher int, e zk.Event) {
	i, known := m.place[e.Path]
	if !known || e.Type != zk.EventDeleted {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if at := &m.notified[watcher*len(m.paths)+i]; at.IsZero() {
		*at = e.At
		if m.left--; m.left == 0 {
			close(m.over)
		}
	}
}

// inject crashes the clients, and waits for all notifications.
func (m *massExpiry) inject(ctx context.Context, _ time.Time) {
	m.start()
	_ = atOnce(m.lost, func(_ int, s zk.Session) error {
		k, _ := zk.AsKiller(s)
		return k.Crash()
	})
	select {
	case <-m.over:
	case <-ctx.Done():
	}
	m.stop()
}

// result returns which notifications the watchers got, and when.
func (m *massExpiry) result(begun time.Time) Storm {
	m.mu.Lock()
	defer m.mu.Unlock()
	gone := make([]time.Time, len(m.paths))
	for i, at := range m.notified {
		if first := &gone[i%len(gone)]; !at.IsZero() && (first.IsZero() || at.Before(*first)) {
			*first = at
		}
	}
	r := Storm{Watchers: len(m.notified) / len(m.paths), Over: m.left == 0, Gone: Arrivals{len(m.paths), since(begun, gone)}, Notified: Arrivals{len(m.notified), since(begun, m.notified)}}
	for i := range m.lost {
		if mine := gone[i*m.planned.Ephemerals : (i+1)*m.planned.Ephemerals]; len(since(begun, mine)) == len(mine) {
			r.Expired++
		}
	}
	m.meter.into(&r)
	return r
}
