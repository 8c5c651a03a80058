package gozk_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	lib "github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/recipestest"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/gozk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// libraryLock adapts the library's own Lock to recipes.Lock.
type libraryLock struct {
	s    zk.Session
	path string
	held *lib.Lock
}

func (l *libraryLock) Acquire(ctx context.Context) (recipes.Grant, error) {
	if l.held != nil {
		return recipes.Grant{}, recipes.ErrHeld
	}
	conn, err := gozk.Conn(ctx, l.s)
	if err != nil {
		return recipes.Grant{}, err
	}
	lock, lease := lib.NewLock(conn, l.path, lib.WorldACL(lib.PermAll)), l.s.Lease()
	if err := lock.Lock(); err != nil { // ignores ctx: the library cannot interrupt it
		return recipes.Grant{}, err
	}
	l.held = lock
	return recipes.Grant{Lost: lease}, nil
}

func (l *libraryLock) Release(context.Context) error {
	if l.held == nil {
		return recipes.ErrNotHeld
	}
	held := l.held
	l.held = nil
	return held.Unlock()
}

// A lock written for the library's connection passes the conformance suite on a session of zkbench, on real servers.
func TestALockOnTheLibrarysConnection(t *testing.T) {
	dir := root(t, dial(t))
	recipestest.LockOn(t, recipes.Variant[recipes.Lock]{Name: "library", New: func(s zk.Session, path string, _ recipes.Options) recipes.Lock {
		return &libraryLock{s: s, path: path}
	}}, func(t *testing.T) zk.Session { return dial(t) }, dir+"/lock")
}

// docs/your-own-recipe.md shows the lock that is tested here.
func TestTheDocumentedLockIsTheOneThatIsTested(t *testing.T) {
	text, err := os.ReadFile("../../docs/your-own-recipe.md")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.ReadFile("conn_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(self), "// libraryLock adapts")
	code, _, _ = strings.Cut(code, "// A lock written for")
	if !strings.Contains(string(text), strings.TrimSpace("// libraryLock adapts"+code)) {
		t.Error("docs/your-own-recipe.md does not show the libraryLock of this file")
	}
}

// Requests on the library's connection are seen by the session's tap, may be as large as the servers accept, and fail after the session has ended.
func TestConn(t *testing.T) {
	s := dial(t)
	var sent atomic.Int64
	s.Tap(&zk.Trace{Sent: func(kind zk.Kind, _ time.Time) {
		if kind == zk.KindCreate {
			sent.Add(1)
		}
	}})
	dir := root(t, s)
	conn, err := gozk.Conn(t.Context(), zk.Within(s, dir))
	if err != nil {
		t.Fatal(err)
	}
	before, data := sent.Load(), bytes.Repeat([]byte{'x'}, 1000<<10)
	if _, err := conn.Create(dir+"/large", data, 0, lib.WorldACL(lib.PermAll)); err != nil {
		t.Fatal(err)
	}
	if got, _, err := s.Get(t.Context(), dir+"/large"); err != nil || !bytes.Equal(got, data) {
		t.Errorf("Get = %d bytes, %v, want the %d that were written", len(got), err, len(data))
	}
	if n := sent.Load() - before; n != 1 {
		t.Errorf("%d creates were seen on the wire, want 1", n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := conn.Get(dir); !errors.Is(err, lib.ErrClosing) && !errors.Is(err, lib.ErrConnectionClosed) {
		t.Errorf("Get after the session ended = %v, want a closed connection", err)
	}
	if _, err := gozk.Conn(t.Context(), zktest.New(zktest.Config{}).Dial()); !errors.Is(err, zk.ErrUnimplemented) {
		t.Errorf("Conn of another engine's session = %v, want ErrUnimplemented", err)
	}
}
