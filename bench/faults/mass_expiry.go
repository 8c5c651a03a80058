package faults

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/zk"
)

// massExpiry is a storm in which many sessions with ephemeral znodes die, which others watch.
type massExpiry struct {
	planned profiles.PlannedFault
	meter
	lost  []zk.Session
	paths []string       // of the ephemeral znodes, those of a session beside each other
	place map[string]int // of a path

	mu   sync.Mutex
	told []time.Time // when each watcher was told of each path: a watcher's beside each other
	left int         // that are to come
	over chan struct{}
}

// prepare has the sessions create their znodes, and the others watch all of them.
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
	m.told = make([]time.Time, len(sessions)*len(m.paths))
	m.left = len(m.told)
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

// event notes that a watcher was told. A watch fires once.
func (m *massExpiry) event(watcher int, e zk.Event) {
	i, known := m.place[e.Path]
	if !known || e.Type != zk.EventDeleted {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if at := &m.told[watcher*len(m.paths)+i]; at.IsZero() {
		*at = e.At
		if m.left--; m.left == 0 {
			close(m.over)
		}
	}
}

// strike has the clients die.
func (m *massExpiry) strike(ctx context.Context, _ time.Time) {
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

// result is what the watchers were told.
func (m *massExpiry) result(begun time.Time) Storm {
	m.mu.Lock()
	defer m.mu.Unlock()
	gone := make([]time.Time, len(m.paths))
	for i, at := range m.told {
		if first := &gone[i%len(gone)]; !at.IsZero() && (first.IsZero() || at.Before(*first)) {
			*first = at
		}
	}
	r := Storm{Watchers: len(m.told) / len(m.paths), Over: m.left == 0, Gone: Arrivals{len(m.paths), since(begun, gone)}, Told: Arrivals{len(m.told), since(begun, m.told)}}
	for i := range m.lost {
		if mine := gone[i*m.planned.Ephemerals : (i+1)*m.planned.Ephemerals]; len(since(begun, mine)) == len(mine) {
			r.Expired++
		}
	}
	m.meter.into(&r)
	return r
}
