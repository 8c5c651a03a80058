package recipes

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/zkbench/zkbench/zk"
)

// RWLock is one client's handle on one read/write lock: many readers, or one writer. A handle is used by one goroutine at a time
// and holds at most one grant.
//
// Tokens follow the queue: a writer's is larger than that of every grant before it. A reader fences by rejecting what carries a
// smaller token than the largest of a writer that it has seen, and is itself rejected by it.
type RWLock interface {
	// AcquireRead waits until no writer is before us. Its errors are those of Lock.Acquire.
	AcquireRead(ctx context.Context) (Grant, error)
	// AcquireWrite waits until nobody is before us. ErrUpgrade means that the handle reads: it would wait for itself.
	AcquireWrite(ctx context.Context) (Grant, error)
	// Downgrade turns the held write grant into a read grant without letting another writer in between. The grant keeps the
	// writer's token. ErrLockLost means that the write grant was lost before, and nothing is held; after any other error the write
	// grant is still held.
	Downgrade(ctx context.Context) (Grant, error)
	// Release is Lock.Release, of either grant.
	Release(ctx context.Context) error
}

// role is what a child of a read/write lock is there for.
type role uint8

const (
	foreigner role = iota
	reader
	writer
)

// The markers of all layouts: clients of different libraries may contend.
var (
	writerMarkers = []string{"__WRIT__", "__lock__", "-W-"}
	readerMarkers = []string{"__READ__", "__rlock__", "-R-"}
)

// parseRole takes role and number off a child's name, from the right: what stands before the marker may be anything.
func parseRole(name string) (role, int32) {
	if seq, ok := parse(name, writerMarkers); ok {
		return writer, seq
	}
	if seq, ok := parse(name, readerMarkers); ok {
		return reader, seq
	}
	return foreigner, 0
}

// sharedPosition decides, apart from all waiting: ahead is the child that self has to wait for, "" if it holds. A writer waits for
// the nearest child before it. A reader waits for writers alone: for the nearest before it, or with first for the one at the head.
// Only lower numbers count: a reader that looked at a writer behind it would wait for one that waits for it (kazoo #649). A child
// of self's own number is its own write grant, being downgraded.
func sharedPosition(children []string, self string, first bool, foreign func(string)) (ahead string, err error) {
	own, at := parseRole(self)
	listed := false
	var seq int32
	for _, c := range children {
		if c == self {
			listed = true
			continue
		}
		r, n := parseRole(c)
		if r == foreigner {
			foreign(c)
			continue
		}
		if !before(n, at) || own == reader && r == reader {
			continue
		}
		if better := before(seq, n) != (first && own == reader); ahead == "" || better {
			ahead, seq = c, n
		}
	}
	if !listed || own == foreigner {
		return "", errNotListed
	}
	return ahead, nil
}

// readWrite is the shared lock of ZooKeeper's recipe page. The queue is fair: a reader that comes after a waiting writer waits for
// it, so neither side starves.
type readWrite struct {
	queue
	reads bool // what is held is a read grant
}

func newReadWrite(s zk.Session, dir string, o Options) *readWrite {
	if o.Layout == (Layout{}) {
		o.Layout = ReadWriteLayouts[0]
	}
	return &readWrite{queue: newQueue(s, dir, o)}
}

// AcquireRead is described at RWLock.
func (l *readWrite) AcquireRead(ctx context.Context) (Grant, error) {
	return l.enter(ctx, true, l.wait)
}

// AcquireWrite is described at RWLock.
func (l *readWrite) AcquireWrite(ctx context.Context) (Grant, error) {
	return l.enter(ctx, false, l.wait)
}

func (l *readWrite) enter(ctx context.Context, reads bool, wait func(context.Context, string) error) (Grant, error) {
	layout := l.o.Layout
	if reads {
		layout = layout.reading()
	}
	switch {
	case l.held.Path != "" && l.reads && !reads:
		return Grant{}, ErrUpgrade
	case l.held.Path != "":
		return Grant{}, ErrHeld
	}
	g, err := l.tryAcquireAs(ctx, layout, wait)
	if err != nil {
		return Grant{}, fmt.Errorf("acquire %s: %w", l.dir, err)
	}
	l.reads = reads
	return g, nil
}

func (l *readWrite) wait(ctx context.Context, self string) error {
	return l.waitFor(ctx, self, nil)
}

// waitFor returns when self holds. It gives up when the given channel yields an error.
func (l *readWrite) waitFor(ctx context.Context, self string, gone <-chan error) error {
	for {
		children, _, err := l.s.Children(ctx, l.dir)
		if err != nil {
			return err
		}
		ahead, err := sharedPosition(children, self, l.o.ReaderWatch == "first", l.o.foreign)
		if err != nil || ahead == "" {
			return err
		}
		l.o.pause(PauseListed)
		w, err := l.watch(ctx, l.dir+"/"+ahead)
		if errors.Is(err, zk.ErrNoNode) {
			continue // it went between the list and the watch: look again
		}
		if err != nil {
			return err
		}
		select {
		case e := <-w.C():
			err = e.Err
		case err = <-gone:
			w.Stop()
		case <-ctx.Done():
			w.Stop()
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		l.o.pause(PauseWoken)
		// Always list again: the znode may have been that of a waiter that died, or only its data have changed.
	}
}

// Downgrade makes a read znode with the number of the write znode, and then deletes that: with a number of its own the reader
// would stand behind the writers that came meanwhile, and one of them would be let in (CURATOR-621).
func (l *readWrite) Downgrade(ctx context.Context) (Grant, error) {
	lease := l.s.Lease()
	written, err := l.share(ctx)
	if err != nil {
		return Grant{}, fmt.Errorf("downgrade %s: %w", l.dir, err)
	}
	if err := l.leave(ctx, written); err != nil {
		return Grant{}, fmt.Errorf("downgrade %s: %w", l.dir, err)
	}
	lost := lease
	if l.o.WatchOwn {
		_, _, w, err := l.s.GetW(ctx, l.held.Path)
		if err != nil {
			path := l.held.Path
			l.held = zk.Created{}
			return Grant{}, fmt.Errorf("downgrade %s: %w: %w", l.dir, ErrLockLost, giveUp(ctx, l.s, path, l.o, err))
		}
		l.own, lost = w, either(lease, w)
	}
	return Grant{Path: l.held.Path, Token: l.held.Czxid, Lost: lost}, nil
}

// share makes the read znode beside the write znode and takes it for what is held; written is the write znode.
func (l *readWrite) share(ctx context.Context) (written string, err error) {
	if l.held.Path == "" || l.reads {
		return "", ErrNotHeld
	}
	_, n := parseRole(base(l.held.Path))
	path, err := l.createShared(ctx, fmt.Sprintf("%0*d", digits, n)) // as a server writes it
	if err != nil {
		return "", err
	}
	written = l.held.Path
	l.held, l.reads = zk.Created{Path: path, Czxid: l.held.Czxid}, true
	l.o.pause(PauseShared)
	return written, nil
}

// createShared makes the znode of a downgraded reader. Its name is ours alone, so after a lost reply the same create tells the
// truth: it succeeds, or says that the znode exists.
func (l *readWrite) createShared(ctx context.Context, number string) (string, error) {
	guid := newGUID()
	path := l.dir + "/" + l.o.Layout.reading().prefix(guid) + number
	for try := 1; ; try++ {
		_, err := l.s.Create(ctx, path, nil, zk.Ephemeral)
		class := zk.Classify(err)
		switch {
		case err == nil, try > 1 && errors.Is(err, zk.ErrNodeExists):
			return path, nil
		case ctx.Err() != nil:
			if class == zk.ClassMaybeApplied {
				l.o.janitor(guid)
				go sweep(context.WithoutCancel(ctx), l.s, l.dir, guid)
			}
			return "", err
		case class != zk.ClassMaybeApplied && class != zk.ClassNotSent && class != zk.ClassThrottled:
			return "", err
		}
		l.o.retry("create", class)
		if err := pause(ctx, backoff(try)); err != nil {
			l.o.janitor(guid)
			go sweep(context.WithoutCancel(ctx), l.s, l.dir, guid)
			return "", err
		}
	}
}

// leave deletes the write znode of a grant that has become a read grant. When the context ends meanwhile the delete goes on in the
// background, and the read grant is held all the same. When the write znode was gone already, the write grant had not been
// exclusive to its end, and the read grant that came of it is worth nothing.
func (l *readWrite) leave(ctx context.Context, written string) error {
	err := remove(ctx, l.s, written, l.o)
	if err == nil || zk.Classify(err) != zk.ClassDefiniteNo && !over(err) {
		return nil
	}
	read := l.held.Path
	l.held = zk.Created{}
	if !over(err) {
		remove(ctx, l.s, read, l.o)
	}
	return fmt.Errorf("%w: %w", ErrLockLost, err)
}

// readWriteWakes is the theory of the events per release, where the requests of n sessions that always contend stand in the queue
// in an order that chance gave them, a share of r of them readers. A writer behind another writer is woken once. A writer behind a
// run of k readers watches the last of them, then the last that is still there: as often as there are right-to-left maxima in a
// random order of their releases, which is the k-th harmonic number. A reader is woken once, unless all before it read too. The
// choice 'first' is not part of it: it wakes a reader once for each writer before it.
func readWriteWakes(l Load) (release, arrival float64) {
	n, r := l.Sessions, l.Readers
	if n < 2 {
		return 0, 0
	}
	perWriter, harmonic := 1-r, 0.0 // behind a writer
	for k := 1; k < n; k++ {
		harmonic += 1 / float64(k)
		run := math.Pow(r, float64(k)) // k readers, and then
		if k < n-1 {
			run *= 1 - r // a writer before them
		}
		perWriter += run * harmonic
	}
	perReader := 1 - math.Pow(r, float64(n-1))
	return (1-r)*perWriter + r*perReader, 0
}
