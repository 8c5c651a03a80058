package lock

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/znode"
	"github.com/zkbench/zkbench/zk"
)

// role is the purpose of a child of a read/write lock.
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

// reading returns the layout of a reader's znode.
func reading(l recipes.Layout) recipes.Layout { return znode.Marking(l, l.Shared) }

// parseRole extracts role and number from a child's name, from the right: what precedes the marker may be anything.
func parseRole(name string) (role, int32) {
	if seq, ok := znode.Parse(name, writerMarkers); ok {
		return writer, seq
	}
	if seq, ok := znode.Parse(name, readerMarkers); ok {
		return reader, seq
	}
	return foreigner, 0
}

// sharedPosition decides, without any waiting: ahead is the child that self has to wait for, "" if self holds. A writer waits for the nearest child
// before it. A reader waits only for writers: for the nearest before it or, if first is set, for the one at the head. Only lower numbers count: a
// reader that waited for a writer behind it would wait for one that waits for it (kazoo #649). A child with self's own number is its own write grant,
// being downgraded.
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
		if !znode.Before(n, at) || own == reader && r == reader {
			continue
		}
		if better := znode.Before(seq, n) != (first && own == reader); ahead == "" || better {
			ahead, seq = c, n
		}
	}
	if !listed || own == foreigner {
		return "", znode.ErrNotListed
	}
	return ahead, nil
}

// readWrite is the shared lock of ZooKeeper's recipe page. The queue is fair: a reader that comes after a waiting writer waits for it, so neither side starves.
type readWrite struct {
	znode.Place
	turn  znode.Turn
	reads bool // what is held is a read grant
}

func newReadWrite(s zk.Session, dir string, o recipes.Options, turn znode.Turn) *readWrite {
	if o.Layout == (recipes.Layout{}) {
		o.Layout = recipes.ReadWriteLayouts[0]
	}
	return &readWrite{Place: znode.NewPlace(s, dir, o), turn: turn}
}

// sharedTurn returns the turn of a read/write lock.
func sharedTurn(first bool) znode.Turn {
	return znode.InTurn(func(children []string, self string, foreign func(string)) (string, error) {
		return sharedPosition(children, self, first, foreign)
	})
}

// NewReadWriteWith creates the variant read-write with a step replaced, for tests: only package recipes and its subpackages can construct a Turn.
func NewReadWriteWith(s zk.Session, dir string, o recipes.Options, replace func(*znode.Turn)) recipes.RWLock {
	turn := sharedTurn(o.ReaderWatch == "first")
	replace(&turn)
	return newReadWrite(s, dir, o, turn)
}

// AcquireRead waits until no writer is before us.
func (l *readWrite) AcquireRead(ctx context.Context) (recipes.Grant, error) {
	return l.enter(ctx, true, l.wait)
}

// AcquireWrite waits until nobody is before us.
func (l *readWrite) AcquireWrite(ctx context.Context) (recipes.Grant, error) {
	return l.enter(ctx, false, l.wait)
}

func (l *readWrite) enter(ctx context.Context, reads bool, wait func(context.Context, string) error) (recipes.Grant, error) {
	layout := l.Options.Layout
	if reads {
		layout = reading(layout)
	}
	switch {
	case l.Held.Path != "" && l.reads && !reads:
		return recipes.Grant{}, recipes.ErrUpgrade
	case l.Held.Path != "":
		return recipes.Grant{}, recipes.ErrHeld
	}
	g, err := l.ContendAs(ctx, layout, wait)
	if err != nil {
		return recipes.Grant{}, fmt.Errorf("acquire %s: %w", l.Dir, err)
	}
	l.reads = reads
	return g, nil
}

func (l *readWrite) wait(ctx context.Context, self string) error {
	return l.waitFor(ctx, self, nil)
}

// waitFor returns when self holds. It gives up if refused yields an error.
func (l *readWrite) waitFor(ctx context.Context, self string, refused <-chan error) error {
	return l.turn.Wait(ctx, l.Session, l.Dir, self, &l.Options, refused)
}

// Downgrade creates a read znode with the number of the write znode, and then deletes the latter: with a new number the reader would be behind
// the writers that came in the meantime, and one of them would be let in (CURATOR-621).
func (l *readWrite) Downgrade(ctx context.Context) (recipes.Grant, error) {
	lease := l.Session.Lease()
	written, err := l.share(ctx)
	if err != nil {
		return recipes.Grant{}, fmt.Errorf("downgrade %s: %w", l.Dir, err)
	}
	var own *zk.Watch
	if l.Options.WatchOwn { // while it is still possible to return to the write grant
		if _, _, own, err = l.Session.GetW(ctx, l.Held.Path); err != nil {
			l.unshare(ctx, written)
			return recipes.Grant{}, fmt.Errorf("downgrade %s: %w", l.Dir, err)
		}
	}
	if err := l.leave(ctx, written); err != nil {
		return recipes.Grant{}, fmt.Errorf("downgrade %s: %w", l.Dir, err)
	}
	if lease, err = znode.Confirm(ctx, l.Session, lease, l.Held); err != nil { // the lease has ended in the meantime
		path := l.Held.Path
		l.Held = zk.Created{}
		return recipes.Grant{}, fmt.Errorf("downgrade %s: %w: %w", l.Dir, recipes.ErrLockLost, znode.GiveUp(ctx, l.Session, path, err))
	}
	lost := lease
	if own != nil {
		l.Own, lost = own, znode.Either(l.Session, lease, own)
	}
	return recipes.Grant{Path: l.Held.Path, Token: l.Held.Czxid, Lost: lost}, nil
}

// unshare returns to the write grant.
func (l *readWrite) unshare(ctx context.Context, written string) {
	znode.Remove(ctx, l.Session, l.Held.Path)
	l.Held.Path, l.reads = written, false
}

// share creates the read znode next to the write znode and makes it the one that is held; written is the write znode.
func (l *readWrite) share(ctx context.Context) (written string, err error) {
	if l.Held.Path == "" || l.reads {
		return "", recipes.ErrNotHeld
	}
	_, n := parseRole(znode.Base(l.Held.Path))
	path, err := l.createShared(ctx, fmt.Sprintf("%0*d", znode.Digits, n)) // as a server writes it
	if err != nil {
		return "", err
	}
	written = l.Held.Path
	l.Held, l.reads = zk.Created{Path: path, Czxid: l.Held.Czxid}, true
	l.Options.Pause(recipes.PauseShared)
	return written, nil
}

// createShared creates the znode of a downgraded reader. Nobody else uses its name, so after a lost reply the repeated create is conclusive: it
// succeeds, or says that the znode exists.
func (l *readWrite) createShared(ctx context.Context, number string) (string, error) {
	guid := znode.NewGUID()
	path := l.Dir + "/" + znode.Prefix(reading(l.Options.Layout), guid) + number
	doubt := false
	for try := 1; ; try++ {
		_, err := l.Session.Create(ctx, path, nil, zk.Ephemeral)
		class := zk.Classify(err)
		doubt = doubt || znode.Doubtful(err)
		if err == nil || doubt && errors.Is(err, zk.ErrNodeExists) {
			return path, nil
		}
		if ctx.Err() == nil && (class == zk.ClassMaybeApplied || class == zk.ClassNotSent || class == zk.ClassThrottled) {
			if err = znode.Sleep(ctx, znode.Backoff(try)); err == nil {
				continue
			}
		}
		if doubt && !znode.SessionOver(err) {
			znode.Sweep(ctx, l.Session, l.Dir, guid)
		}
		return "", err
	}
}

// leave deletes the write znode of a grant that has become a read grant. If the context ends first the delete continues in the background, and the
// read grant is held nevertheless. If the write znode was already gone, the write grant had not been exclusive to its end, and the resulting read
// grant is worthless.
func (l *readWrite) leave(ctx context.Context, written string) error {
	err := znode.Remove(ctx, l.Session, written)
	if err == nil || zk.Classify(err) != zk.ClassDefiniteNo && !znode.SessionOver(err) {
		return nil
	}
	read := l.Held.Path
	l.Held = zk.Created{}
	if !znode.SessionOver(err) {
		znode.Remove(ctx, l.Session, read)
	}
	return fmt.Errorf("%w: %w", recipes.ErrLockLost, err)
}

// readWriteWakes returns the theoretical events per release, if the requests of n sessions that always contend are in the queue in random order, a share
// of r of them readers. A writer behind another writer is woken once. A writer behind a run of k readers watches the last of them, then the last that
// is still there: as often as there are right-to-left maxima in a random order of their releases, which is the k-th harmonic number. A reader is
// woken once, unless all before it read too. The choice 'first' is not covered: it wakes a reader once for each writer before it.
func readWriteWakes(l recipes.Load) (release, arrival float64) {
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
