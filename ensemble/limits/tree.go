package limits

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/zk"
)

// Tree is the result of walking the znodes.
type Tree struct {
	Reads    int
	Znodes   int  // znodes whose Stat was read
	Whole    bool // every znode was seen
	Denied   int  // znodes whose Stat or list the servers refused for lack of a permission
	Unlisted int  // znodes with more children than are listed
	Listed   List // the longest list of children in bytes
	Longest  List // the most children of a znode that was not listed
	Largest  List // the most data
	Owned    map[int64]ensemble.Owned
	Err      error // why the walk ended early, unless it ran out of time or reads
}

// List is a znode with the number of its children and a size in bytes: of their names as in a reply, 4 and its length for each, or of its data.
type List struct {
	Path     string
	Children int
	Bytes    int64
}

const (
	walkers  = 4       // reads in flight
	mostList = 100_000 // a znode with more children is not listed: their names take a few megabytes
)

// Walk reads the znodes level by level, starting at the root, with at most reads reads within a time. The reads are spread evenly over the time, so that
// a server has few of them at once.
func Walk(ctx context.Context, s zk.Session, reads int, within time.Duration) Tree {
	w := &walk{s: s, left: reads, pace: time.NewTicker(max(within/time.Duration(max(reads, 1)), time.Microsecond)), todo: []string{"/"},
		tree: Tree{Owned: map[int64]ensemble.Owned{}}}
	defer w.pace.Stop()
	w.more = sync.NewCond(&w.mu)
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	defer context.AfterFunc(ctx, func() { w.mu.Lock(); defer w.mu.Unlock(); w.over = true; w.more.Broadcast() })()
	var wait sync.WaitGroup
	for range walkers {
		wait.Go(func() { w.run(ctx) })
	}
	wait.Wait()
	w.mu.Lock() // the time may end now
	defer w.mu.Unlock()
	w.tree.Whole = len(w.todo) == 0 && !w.over && w.tree.Denied+w.tree.Unlisted == 0
	return w.tree
}

type walk struct {
	s    zk.Session
	pace *time.Ticker

	mu   sync.Mutex
	more *sync.Cond // todo has grown, or there is nothing to wait for
	todo []string
	busy int
	left int // remaining reads
	over bool
	tree Tree
}

// run visits znodes until none is left, the reads are used up or the time is over.
func (w *walk) run(ctx context.Context) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		for len(w.todo) == 0 && w.busy > 0 && !w.over {
			w.more.Wait()
		}
		if len(w.todo) == 0 || w.over {
			w.more.Broadcast()
			return
		}
		path := w.todo[0]
		w.todo = w.todo[1:]
		w.busy++
		w.mu.Unlock()
		below, err := w.visit(ctx, path)
		w.mu.Lock()
		w.busy--
		if err != nil {
			if w.over = true; ctx.Err() == nil && !errors.Is(err, errEnough) {
				w.tree.Err = err
			}
		}
		w.todo = append(w.todo, below...)
		w.more.Broadcast()
	}
}

var errEnough = errors.New("no reads left")

// read takes one of the reads, and waits until it is due.
func (w *walk) read(ctx context.Context) error {
	select {
	case <-w.pace.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.left == 0 {
		return errEnough
	}
	w.left--
	w.tree.Reads++
	return nil
}

// deny counts a znode that the servers refuse to show.
func (w *walk) deny() {
	w.mu.Lock()
	w.tree.Denied++
	w.mu.Unlock()
}

// visit reads a znode and returns its children.
func (w *walk) visit(ctx context.Context, path string) (below []string, err error) {
	if err := w.read(ctx); err != nil {
		return nil, err
	}
	st, there, err := w.s.Exists(ctx, path)
	if errors.Is(err, zk.ErrNoAuth) { // since ZooKeeper 3.7.3, 3.8.4 and 3.9.2
		w.deny()
		return nil, nil
	}
	if err == nil && !there && path == "/" {
		err = fmt.Errorf("%w: every ensemble has it; is the znode of --chroot missing?", &zk.Error{Op: zk.KindExists, Path: path, Err: zk.ErrNoNode})
	}
	if err != nil || !there {
		return nil, err
	}
	w.mu.Lock()
	w.tree.Znodes++
	if int64(st.DataLength) > w.tree.Largest.Bytes {
		w.tree.Largest = List{Path: path, Bytes: int64(st.DataLength)}
	}
	if st.EphemeralOwner != 0 {
		o := w.tree.Owned[st.EphemeralOwner]
		w.tree.Owned[st.EphemeralOwner] = ensemble.Owned{Znodes: o.Znodes + 1, Bytes: o.Bytes + 4 + int64(len(path))}
	}
	long := st.NumChildren > mostList
	if long {
		if w.tree.Unlisted++; int(st.NumChildren) > w.tree.Longest.Children {
			w.tree.Longest = List{Path: path, Children: int(st.NumChildren)}
		}
	}
	w.mu.Unlock()
	if st.NumChildren == 0 || long {
		return nil, nil
	}
	if err := w.read(ctx); err != nil {
		return nil, err
	}
	names, _, err := w.s.Children(ctx, path)
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	if errors.Is(err, zk.ErrNoAuth) {
		w.deny()
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	list := List{Path: path, Children: len(names)}
	for _, name := range names {
		list.Bytes += 4 + int64(len(name))
		below = append(below, join(path, name))
	}
	if list.Bytes > w.tree.Listed.Bytes {
		w.tree.Listed = list
	}
	return below, nil
}

func join(parent, name string) string {
	if parent == "/" {
		return "/" + name
	}
	return parent + "/" + name
}
