package lock

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/znode"
	"github.com/zkbench/zkbench/zk"
)

// persistent is a queue of sequential ephemeral znodes that each client follows with one persistent recursive watch on the queue's directory
// (addWatch, ZOOKEEPER-1416, servers from 3.6 on) instead of listing it: every arrival and every release reaches every client, as in naive, but as
// one small event instead of a read of the whole queue. It lies between naive and predecessor: as many events as the one, as few lists as the other.
//
// The order makes it safe. The watch is armed before the queue is listed once, so no change is missed between the two; a change that is in both is
// applied twice, which is harmless for sets. Servers send the events of earlier transactions before the reply to a later create, so when our own
// create is answered, the events of all that precede us have arrived. If the connection breaks, the stream says so, and the queue is listed again.
type persistent struct {
	znode.Place
	mu     sync.Mutex
	stream *zk.Stream
	stale  bool           // events are missing: list again
	there  map[int32]bool // the numbers in the queue, as of the last event
	gone   map[int32]bool // while the queue is being listed: the numbers that have left it since
	ended  error          // why the stream has ended
	moved  chan struct{}  // capacity 1: something was applied
}

func newPersistent(s zk.Session, dir string, o recipes.Options) *persistent {
	return &persistent{Place: znode.NewPlace(s, dir, o), there: map[int32]bool{}, moved: make(chan struct{}, 1)}
}

// Acquire waits for the lock. The error is zk.ErrUnimplemented if the session has no persistent watches.
func (l *persistent) Acquire(ctx context.Context) (recipes.Grant, error) {
	if l.stream == nil || l.over() {
		if err := l.follow(ctx); err != nil {
			return recipes.Grant{}, fmt.Errorf("acquire %s: %w", l.Dir, err)
		}
	}
	return l.Contend(ctx, l.wait)
}

// over reports whether the watch is gone though the session is alive: its server did not arm it again after a disconnection.
func (l *persistent) over() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.apply()
	return l.ended != nil && l.Session.Err() == nil
}

// follow arms the handle's watch. Its goroutine keeps the events of an idle handle from piling up, and ends with the session.
func (l *persistent) follow(ctx context.Context) error {
	w, ok := zk.AsPersistentWatcher(l.Session)
	if !ok {
		return fmt.Errorf("this session has no persistent watches: %w", zk.ErrUnimplemented)
	}
	stream, err := w.AddWatch(ctx, l.Dir, true)
	if err != nil {
		return err
	}
	l.mu.Lock()
	l.stream, l.stale, l.ended = stream, true, nil
	l.mu.Unlock()
	l.Session.Go(func() {
		for {
			select {
			case <-stream.Ready():
			case <-l.Session.Done():
				stream.Stop()
			}
			l.mu.Lock()
			if l.stream != stream { // it has ended, and there is another one
				l.mu.Unlock()
				return
			}
			l.apply()
			if l.ended == nil {
				l.ended = l.Session.Err()
			}
			over := l.ended != nil
			l.mu.Unlock()
			select {
			case l.moved <- struct{}{}:
			default:
			}
			if over {
				return
			}
		}
	})
	return nil
}

// apply takes all events that have arrived. Called with mu held.
func (l *persistent) apply() {
	for e, ok := l.stream.Poll(); ok; e, ok = l.stream.Poll() {
		switch {
		case errors.Is(e.Err, zk.ErrWatchLost):
			l.stale = true
			continue
		case e.Err != nil:
			l.ended = e.Err
			continue
		}
		name, child := strings.CutPrefix(e.Path, l.Dir+"/")
		seq, ours := znode.Parse(name, znode.LockMarkers)
		switch {
		case !child || strings.Contains(name, "/"):
		case !ours:
			l.Options.Foreign(name)
		case e.Type == zk.EventCreated:
			l.there[seq] = true
		case e.Type == zk.EventDeleted:
			delete(l.there, seq)
			if l.gone != nil {
				l.gone[seq] = true
			}
		}
	}
}

func (l *persistent) wait(ctx context.Context, self string) error {
	own, ok := znode.Parse(self, znode.LockMarkers)
	if !ok {
		return znode.ErrNotListed
	}
	for {
		first, stale, err := l.look(own)
		if err != nil {
			return err
		}
		if stale {
			if err := l.list(ctx); err != nil {
				return err
			}
			continue
		}
		if first {
			return nil
		}
		select {
		case <-l.moved:
		case <-ctx.Done():
			return ctx.Err()
		}
		l.Options.Pause(recipes.PauseWoken)
	}
}

// look decides whether own is the first, or the queue has to be listed again before that can be decided.
func (l *persistent) look(own int32) (first, stale bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.apply()
	switch {
	case l.ended != nil:
		return false, false, l.ended
	case l.stale:
		return false, true, nil
	case !l.there[own]:
		return false, false, znode.ErrNotListed
	}
	for seq := range l.there {
		if znode.Before(seq, own) {
			return false, false, nil
		}
	}
	return true, false, nil
}

// list reads the queue. Events arrive in the meantime, and it cannot be determined whether one precedes the read: arrivals are added to the list,
// departures removed from it, and since a number is never reused both are right either way.
func (l *persistent) list(ctx context.Context) error {
	l.mu.Lock()
	l.stale = false // a loss during the list makes it stale again
	l.there, l.gone = map[int32]bool{}, map[int32]bool{}
	l.mu.Unlock()
	children, _, err := l.Session.Children(ctx, l.Dir)
	l.mu.Lock()
	defer l.mu.Unlock()
	gone := l.gone
	l.gone = nil
	if err != nil {
		l.stale = true
		return err
	}
	for _, name := range children {
		seq, ours := znode.Parse(name, znode.LockMarkers)
		switch {
		case !ours:
			l.Options.Foreign(name)
		case !gone[seq]:
			l.there[seq] = true
		}
	}
	return nil
}
