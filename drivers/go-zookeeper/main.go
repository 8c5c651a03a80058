// Command go-zookeeper is a driver for the Lock of github.com/go-zookeeper/zk, the client that Go applications use.
package main

import (
	"context"
	"errors"
	"io"
	"log"
	"os"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/drivers"
	"github.com/zkbench/zkbench/drivers/serve"
)

const module = "github.com/go-zookeeper/zk"

func main() {
	l := serve.Library{Open: open, Hello: drivers.Hello{Name: "go-zookeeper", Version: version(), Store: drivers.ZooKeeper, Can: []string{drivers.CanLock}}}
	if err := serve.Run(os.Stdin, os.Stdout, l); err != nil {
		log.Fatal(err)
	}
}

// version is that of the library in this binary.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == module {
				return m.Version
			}
		}
	}
	return "unknown"
}

// events are what the library's users see of a session.
var events = map[zk.State]string{zk.StateDisconnected: drivers.EventSuspended, zk.StateHasSession: drivers.EventConnected, zk.StateExpired: drivers.EventLost}

func open(ctx context.Context, o serve.Opening) (serve.Client, int64, error) {
	conn, states, err := zk.Connect(strings.Split(o.Servers, ","), o.Timeout, zk.WithLogger(log.New(io.Discard, "", 0)))
	if err != nil {
		return nil, 0, err
	}
	for connected := false; !connected; {
		select {
		case e := <-states:
			connected = e.State == zk.StateHasSession
		case <-ctx.Done():
			conn.Close()
			return nil, 0, ctx.Err()
		}
	}
	c := &client{conn: conn, held: map[string]*zk.Lock{}}
	go func() {
		for e := range states {
			if name := events[e.State]; name != "" && e.Type == zk.EventSession && !c.isClosed() {
				o.Event(name)
			}
		}
	}()
	return c, conn.SessionID(), nil
}

// client is a connection. Each acquisition has a Lock of its own, which nothing can interrupt: one that is given up goes on in the background, and
// is unlocked when it is granted.
type client struct {
	conn *zk.Conn

	mu     sync.Mutex
	held   map[string]*zk.Lock
	closed bool
}

func (c *client) Acquire(ctx context.Context, path string) (serve.Grant, error) {
	l := zk.NewLock(c.conn, path, zk.WorldACL(zk.PermAll))
	locked := make(chan error, 1)
	go func() { locked <- l.Lock() }()
	select {
	case err := <-locked:
		if err == nil {
			c.mu.Lock()
			c.held[path] = l
			c.mu.Unlock()
		}
		return serve.Grant{}, explained(err)
	case <-ctx.Done():
		go func() {
			if <-locked == nil {
				l.Unlock()
			}
		}()
		return serve.Grant{}, ctx.Err()
	}
}

// TryAcquire is nothing that the library has.
func (c *client) TryAcquire(context.Context, string) (serve.Grant, error) {
	return serve.Grant{}, errors.ErrUnsupported
}

func (c *client) Release(_ context.Context, path string) error {
	c.mu.Lock()
	l := c.held[path]
	delete(c.held, path)
	c.mu.Unlock()
	if l == nil {
		return serve.ErrNotHeld
	}
	return explained(l.Unlock())
}

func (c *client) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.conn.Close()
	return nil
}

func (c *client) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// explained gives an error the name that the seam has for it.
func explained(err error) error {
	switch {
	case errors.Is(err, zk.ErrNoNode), errors.Is(err, zk.ErrNotLocked):
		return serve.ErrNotHeld
	case errors.Is(err, zk.ErrSessionExpired), errors.Is(err, zk.ErrClosing):
		return serve.ErrLost
	}
	return err
}
