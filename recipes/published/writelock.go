package published

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/znode"
	"github.com/zkbench/zkbench/zk"
)

// writeLock is the WriteLock of ZooKeeper's own recipes (org.apache.zookeeper.recipes.lock). Its lock() returns whether the lock is held; if not,
// a watch calls lock() again, and a listener reports the grant in the end. Acquire stands for both, and the end of its context for an application
// that calls unlock(). Its defects:
//
//   - a predecessor that is gone when it is looked at is only logged: no watch that could fire is armed, and the lock is never granted;
//   - after a lost reply it finds its znode by the session's number, but keeps the name without the directory: as its own path sorts before that
//     name, it watches itself, and no unlock can delete the znode;
//   - two handles of one session and directory take each other's znode for their own;
//   - it does not notice that its own znode is not listed, and then watches nothing;
//   - unlock deletes once, and forgets the znode whatever the outcome;
//   - unlock leaves the watch of a waiter armed: its event calls lock() again, which queues for an application that has given up;
//   - numbers are compared as if the counter never wrapped.
//
// Not reproduced: the library's watches also call lock() when the connection is lost and when it is back, and each call arms one more of them. Package scenarios/published
// plays most scenarios with the library itself, too (Real).
type writeLock struct {
	s   zk.Session
	dir string
	o   recipes.Options

	mu    sync.Mutex // of a Java object: lock and unlock are synchronized
	id    string     // the own znode: a path after its create, a mere name after its recovery; "" for none
	name  javaName
	czxid int64
	held  bool
}

// writeLockTries and writeLockDelay are ProtocolSupport's RETRY_COUNT and retryDelay.
const (
	writeLockTries = 10
	writeLockDelay = 500 * time.Millisecond
)

// Acquire waits for the lock, with the defects above. On a handle that holds it succeeds again, as lock() does.
func (l *writeLock) Acquire(ctx context.Context) (recipes.Grant, error) {
	g, err := l.acquire(ctx)
	if err != nil {
		if ctx.Err() != nil {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.s.Timeout())
			defer cancel()
			l.unlock(ctx)
		}
		return recipes.Grant{}, fmt.Errorf("acquire %s: %w", l.dir, err)
	}
	l.held = true
	return g, nil
}

func (l *writeLock) acquire(ctx context.Context) (recipes.Grant, error) {
	for {
		lease := l.s.Lease()
		g, w, err := l.lock(ctx)
		if err != nil {
			return recipes.Grant{}, err
		}
		if g != nil {
			l.o.Pause(recipes.PauseGranted)
			g.Lost = lease
			return *g, nil
		}
		if w == nil { // nothing will call lock() again
			select {
			case <-ctx.Done():
				return recipes.Grant{}, ctx.Err()
			case <-l.s.Done():
				return recipes.Grant{}, l.s.Err()
			}
		}
		select {
		case e := <-w.C():
			if e.Err != nil {
				return recipes.Grant{}, e.Err
			}
		case <-ctx.Done():
			l.s.Go(func() { l.watched(w) })
			return recipes.Grant{}, ctx.Err()
		}
		l.o.Pause(recipes.PauseWoken)
	}
}

// watched is LockWatcher after the application has given up: the watch is still armed, and its event calls lock() again.
func (l *writeLock) watched(w *zk.Watch) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for w != nil {
		select {
		case e := <-w.C():
			if e.Err != nil {
				return
			}
		case <-l.s.Done():
			return
		}
		_, next, err := l.lock(ctx)
		if err != nil {
			return
		}
		w = next
	}
}

// ensureDir does what ProtocolSupport does: an error is logged there, and reappears at the next request.
func (l *writeLock) ensureDir(ctx context.Context) error {
	_, there, err := l.s.Exists(ctx, l.dir)
	if err == nil && !there {
		_, err = l.s.Create(ctx, l.dir, nil, zk.Persistent)
	}
	if znode.SessionOver(err) || ctx.Err() != nil {
		return err
	}
	return nil
}

// lock is lock(). It returns a grant or a watch that calls it again; neither: nothing will.
func (l *writeLock) lock(ctx context.Context) (*recipes.Grant, *zk.Watch, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.ensureDir(ctx); err != nil {
		return nil, nil, err
	}
	owner, w, err := l.retry(ctx)
	if err != nil || !owner {
		return nil, w, err
	}
	return &recipes.Grant{Path: l.id, Token: l.czxid}, nil, nil
}

// retry is retryOperation around execute.
func (l *writeLock) retry(ctx context.Context) (owner bool, w *zk.Watch, err error) {
	for try := range writeLockTries {
		owner, w, err = l.execute(ctx)
		if ctx.Err() != nil || zk.Classify(err) != zk.ClassMaybeApplied {
			return owner, w, err
		}
		if err := znode.Sleep(ctx, time.Duration(try)*writeLockDelay); err != nil {
			return false, nil, err
		}
	}
	return owner, w, err
}

// execute checks once whether the lock is ours. If it returns no watch, nothing will make it check again.
func (l *writeLock) execute(ctx context.Context) (owner bool, w *zk.Watch, err error) {
	var passes znode.Passes
	for {
		if l.id == "" {
			if err := l.findOrCreate(ctx); err != nil {
				return false, nil, err
			}
			l.name = parseJavaName(l.id)
			l.o.Pause(recipes.PauseCreated)
		}
		names, _, err := l.s.Children(ctx, l.dir)
		if err != nil {
			return false, nil, err
		}
		if len(names) == 0 {
			l.id = "" // and again with a new one
			if err := passes.Next(ctx, nil); err != nil {
				return false, nil, err
			}
			continue
		}
		first, before := l.place(names)
		if before == "" {
			return first == l.id, nil, nil
		}
		l.o.Pause(recipes.PauseListed)
		_, _, w, err = l.s.ExistsW(ctx, before) // missing or not, this is the only look at it
		return false, w, err
	}
}

// place returns the path of the first child, and that of the nearest before the own one, "" if there is none.
func (l *writeLock) place(names []string) (first, before string) {
	sorted := make([]javaName, len(names))
	for i, n := range names {
		sorted[i] = parseJavaName(l.dir + "/" + n)
	}
	slices.SortFunc(sorted, javaName.compare)
	for _, n := range sorted {
		if n.compare(l.name) < 0 {
			before = n.path
		}
	}
	return sorted[0].path, before
}

// findOrCreate adopts a znode of this session as the own one, or creates one.
func (l *writeLock) findOrCreate(ctx context.Context) error {
	prefix := "x-" + strconv.FormatInt(l.s.ID(), 10) + "-"
	names, _, err := l.s.Children(ctx, l.dir)
	if err != nil {
		return err
	}
	for _, n := range names {
		if strings.HasPrefix(n, prefix) {
			l.id, l.czxid = n, 0 // a name, where a path is meant
			return nil
		}
	}
	c, err := l.s.Create(ctx, l.dir+"/"+prefix, []byte{0x12, 0x34}, zk.EphemeralSequential)
	if err == nil {
		l.id, l.czxid = c.Path, c.Czxid
	}
	return err
}

// Release gives the lock up, with the defects above: one delete, after which the znode is forgotten.
func (l *writeLock) Release(ctx context.Context) error {
	if !l.held {
		return recipes.ErrNotHeld
	}
	l.held = false
	return znode.ReleaseError(l.dir, l.unlock(ctx))
}

func (l *writeLock) unlock(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.id == "" {
		return nil
	}
	err := l.s.Delete(ctx, l.id, zk.AnyVersion)
	l.id = ""
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	return err
}

// javaName is a ZNodeName: what precedes the last '-', and the number after it, if it is one. The second of two '-' is the sign of the number.
type javaName struct {
	path, prefix string
	seq          int32
	numbered     bool
}

func parseJavaName(path string) javaName {
	i := strings.LastIndexByte(path, '-')
	if i < 0 {
		return javaName{path: path, prefix: path}
	}
	if i > 0 && path[i-1] == '-' {
		i--
	}
	n, err := strconv.ParseInt(path[i+1:], 10, 32)
	return javaName{path: path, prefix: path[:i], seq: int32(n), numbered: err == nil}
}

// compare orders by number, names without one last, and then by what precedes it, including the directory.
func (n javaName) compare(m javaName) int {
	switch {
	case n.numbered != m.numbered:
		if n.numbered {
			return -1
		}
		return 1
	case n.numbered && n.seq != m.seq:
		return cmp.Compare(n.seq, m.seq)
	}
	return strings.Compare(n.prefix, m.prefix)
}
