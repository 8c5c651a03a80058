package broken

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// queue is the predecessor lock in its shortest right form, cut into steps: a defect is one step replaced.
type queue struct {
	s    zk.Session
	dir  string
	held string // the holder's znode; "" while nothing is held
	once string // the first znode that this handle ever had
	side string // what the names of its children begin with: reader or writer, or nothing
	steps
}

type steps struct {
	// create takes a place in the queue.
	create func(ctx context.Context, q *queue) (zk.Created, error)
	// ahead decides who must go first: the name of a child, or "" when self holds.
	ahead func(children []string, self string) (string, error)
	// watch arms the watch that tells when to look again. ErrNoNode means that ahead is gone.
	watch func(ctx context.Context, q *queue, ahead string) (*zk.Watch, error)
	// gone says whether self holds because ahead was gone before the watch could be armed.
	gone bool
	// woken says whether self holds because of the event, without another look.
	woken func(e zk.Event) (holds bool, err error)
	// grant is what the holder is given.
	grant func(q *queue, c zk.Created, token int64, lease <-chan struct{}) recipes.Grant
	// granted is done when the lock is held, before the holder knows.
	granted func(ctx context.Context, q *queue) error
	// leave gives up the place of an acquisition that failed.
	leave func(ctx context.Context, q *queue, path string)
	// release ends the hold.
	release func(ctx context.Context, q *queue) error
}

// right is the steps of a lock that keeps its promises.
func right() steps {
	return steps{
		create: func(ctx context.Context, q *queue) (zk.Created, error) {
			return q.enlist(ctx, zk.EphemeralSequential)
		},
		ahead: func(children []string, self string) (string, error) {
			return nearest(children, self, func(a, b int32) bool { return a-b < 0 })
		},
		watch: func(ctx context.Context, q *queue, ahead string) (*zk.Watch, error) {
			_, _, w, err := q.s.GetW(ctx, q.dir+"/"+ahead)
			return w, err
		},
		woken: func(e zk.Event) (bool, error) { return false, e.Err },
		grant: func(_ *queue, c zk.Created, token int64, lease <-chan struct{}) recipes.Grant {
			return recipes.Grant{Path: c.Path, Token: token, Lost: lease}
		},
		granted: func(context.Context, *queue) error { return nil },
		leave:   func(ctx context.Context, q *queue, path string) { q.remove(ctx, path) },
		release: func(ctx context.Context, q *queue) error { return q.remove(ctx, q.held) },
	}
}

// but is the constructor of the right lock with one fault.
func but(fault func(*steps)) func(zk.Session, string, recipes.Options) recipes.Lock {
	return func(s zk.Session, path string, _ recipes.Options) recipes.Lock {
		q := &queue{s: s, dir: path, steps: right()}
		fault(&q.steps)
		return q
	}
}

// Acquire is described at recipes.Lock, less the defect.
func (q *queue) Acquire(ctx context.Context) (recipes.Grant, error) {
	if q.held != "" {
		return recipes.Grant{}, recipes.ErrHeld
	}
	c, err := q.create(ctx, q)
	if err != nil {
		return recipes.Grant{}, err
	}
	if q.once == "" {
		q.once = c.Path
	}
	lease := q.s.Lease()
	if err := q.wait(ctx, base(c.Path)); err != nil {
		q.leave(ctx, q, c.Path)
		return recipes.Grant{}, err
	}
	token := c.Czxid
	if token == 0 { // the engine's create does not tell it
		if token, err = zk.Token(ctx, q.s, c); err != nil {
			q.leave(ctx, q, c.Path)
			return recipes.Grant{}, err
		}
	}
	q.held = c.Path
	return q.grant(q, c, token, lease), q.granted(ctx, q)
}

func (q *queue) wait(ctx context.Context, self string) error {
	for {
		children, _, err := q.s.Children(ctx, q.dir)
		if err != nil {
			return err
		}
		ahead, err := q.ahead(children, self)
		if err != nil || ahead == "" {
			return err
		}
		w, err := q.watch(ctx, q, ahead)
		if errors.Is(err, zk.ErrNoNode) {
			if q.gone {
				return nil
			}
			continue
		}
		if err != nil {
			return err
		}
		select {
		case e := <-w.C():
			if holds, err := q.woken(e); holds || err != nil {
				return err
			}
		case <-ctx.Done():
			w.Stop()
			return ctx.Err()
		}
	}
}

// Release is described at recipes.Lock, less the defect.
func (q *queue) Release(ctx context.Context) error {
	if q.held == "" {
		return recipes.ErrNotHeld
	}
	err := q.release(ctx, q)
	q.held = ""
	return err
}

// enlist makes a sequential child with a guid, by which it finds the child again when the reply was lost.
func (q *queue) enlist(ctx context.Context, mode zk.Mode) (zk.Created, error) {
	guid := q.side + newGUID()
	for {
		c, err := q.s.Create(ctx, q.dir+"/"+guid+"-"+marker, nil, mode)
		if zk.Classify(err) != zk.ClassMaybeApplied || ctx.Err() != nil {
			return c, err
		}
		if err := q.s.Sync(ctx, q.dir); err != nil {
			return zk.Created{}, err
		}
		children, _, err := q.s.Children(ctx, q.dir)
		if err != nil {
			return zk.Created{}, err
		}
		for _, name := range children {
			if strings.HasPrefix(name, guid) {
				return zk.Created{Path: q.dir + "/" + name}, nil
			}
		}
	}
}

// remove deletes a child until the servers say that it is gone, also when the caller has left, for as long as its session could
// have kept it.
func (q *queue) remove(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), q.s.Timeout())
	defer cancel()
	for doubt := false; ; {
		err := q.s.Delete(ctx, path, zk.AnyVersion)
		if doubt && errors.Is(err, zk.ErrNoNode) {
			return nil
		}
		if zk.Classify(err) != zk.ClassMaybeApplied || ctx.Err() != nil {
			return err
		}
		doubt = true
	}
}

// marker stands before the number in a child's name.
const marker = "lock-"

func newGUID() string {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// number is what the server appended to the name of a child; ok is false for a child of somebody else.
func number(name string) (n int32, ok bool) {
	i := strings.LastIndex(name, marker)
	if i < 0 {
		return 0, false
	}
	wide, err := strconv.ParseInt(name[i+len(marker):], 10, 32)
	return int32(wide), err == nil
}

var errNotListed = errors.New("own znode is not listed")

// nearest is the last child before self in the given order, "" if there is none.
func nearest(children []string, self string, before func(a, b int32) bool) (ahead string, err error) {
	own, ok := number(self)
	if !ok {
		return "", fmt.Errorf("%s has no number", self)
	}
	listed, last := false, int32(0)
	for _, c := range children {
		n, ok := number(c)
		listed = listed || c == self
		if ok && before(n, own) && (ahead == "" || before(last, n)) {
			ahead, last = c, n
		}
	}
	if !listed {
		return "", errNotListed
	}
	return ahead, nil
}
