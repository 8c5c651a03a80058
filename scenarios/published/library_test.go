package published_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	lib "github.com/go-zookeeper/zk"
)

// library is the Go library's own Lock on real servers, without any of our code: what the transcription go-zookeeper shows must
// also be true of it.
type library struct {
	*testing.T
	addresses []string
	dir       string
	admin     *lib.Conn
}

func newLibrary(t *testing.T) library {
	t.Helper()
	l := library{T: t, addresses: servers.Get(t, 3).Addresses()}
	l.admin = l.connect()
	l.dir = fmt.Sprintf("/library-%x", l.admin.SessionID())
	if _, err := l.admin.Create(l.dir, nil, 0, lib.WorldACL(lib.PermAll)); err != nil {
		t.Fatal(err)
	}
	return l
}

func (l library) connect() *lib.Conn {
	l.Helper()
	c, _, err := lib.Connect(l.addresses, 10*time.Second, lib.WithLogInfo(false))
	if err != nil {
		l.Fatal(err)
	}
	l.Cleanup(c.Close)
	if _, _, err := c.Exists("/"); err != nil { // it has a session now
		l.Fatal(err)
	}
	return c
}

func (l library) lock() *lib.Lock { return lib.NewLock(l.connect(), l.dir, lib.WorldACL(lib.PermAll)) }

// queue waits until the queue is n long and returns the latest child, "" for none.
func (l library) queue(n int) (latest string) {
	l.Helper()
	ctx, cancel := context.WithTimeout(l.Context(), 2*time.Minute)
	defer cancel()
	for {
		names, _, changed, err := l.admin.ChildrenW(l.dir)
		if err != nil {
			l.Fatal(err)
		}
		if len(names) == n {
			number := func(name string) string { return name[strings.LastIndexByte(name, '-')+1:] }
			slices.SortFunc(names, func(a, b string) int { return strings.Compare(number(a), number(b)) })
			return append([]string{""}, names...)[n]
		}
		select {
		case <-changed:
		case <-ctx.Done():
			l.Fatalf("%d children, want %d", len(names), n)
		}
	}
}

func TestTheLibrarysOwnLockHeldTwice(t *testing.T) {
	l := newLibrary(t)
	holder := l.lock()
	if err := holder.Lock(); err != nil {
		t.Fatal(err)
	}
	granted := make(chan error)
	begin := func(n int) string {
		k := l.lock()
		go func() { granted <- k.Lock() }()
		return l.queue(n)
	}
	robbed := begin(2)
	begin(3)
	if err := l.admin.Delete(l.dir+"/"+robbed, -1); err != nil {
		t.Fatal(err)
	}
	if err := holder.Unlock(); err != nil {
		t.Fatal(err)
	}
	for n := range 2 { // nobody unlocks: the second grant coexists with the first
		select {
		case err := <-granted:
			if err != nil {
				t.Fatal(err)
			}
		case <-time.After(2 * time.Minute):
			t.Fatalf("%d grants: the library's lock is no longer held twice; go-zookeeper's expectation is out of date", n)
		}
	}
}

func TestTheLibrarysOwnLockAfterItsZnodeWasDeleted(t *testing.T) {
	l := newLibrary(t)
	k := l.lock()
	if err := k.Lock(); err != nil {
		t.Fatal(err)
	}
	if err := l.admin.Delete(l.dir+"/"+l.queue(1), -1); err != nil {
		t.Fatal(err)
	}
	if err := k.Unlock(); !errors.Is(err, lib.ErrNoNode) {
		t.Errorf("Unlock() = %v, want ErrNoNode", err)
	}
	if err := k.Lock(); !errors.Is(err, lib.ErrDeadlock) {
		t.Errorf("Lock() after it = %v, want ErrDeadlock", err)
	}
	l.queue(0)
}

func TestTheLibrarysOwnLockBesideAForeignChild(t *testing.T) {
	l := newLibrary(t)
	if _, err := l.admin.Create(l.dir+"/content", nil, 0, lib.WorldACL(lib.PermAll)); err != nil {
		t.Fatal(err)
	}
	for n := range 2 {
		if err := l.lock().Lock(); err == nil {
			t.Error("Lock() succeeds beside a child that it cannot parse")
		}
		l.queue(n + 2) // it leaves its znode behind
	}
}
