// Command etcd is a driver for concurrency.Mutex of go.etcd.io/etcd/client/v3.
package main

import (
	"context"
	"errors"
	"log"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"

	"github.com/zkbench/zkbench/drivers"
	"github.com/zkbench/zkbench/drivers/serve"
)

const module = "go.etcd.io/etcd/client/v3"

func main() {
	l := serve.Library{Open: open, Hello: drivers.Hello{Name: "etcd", Version: version(), Store: "etcd", Tokens: true, Can: []string{drivers.CanLock, drivers.CanTry}}}
	if err := serve.Run(os.Stdin, os.Stdout, l); err != nil {
		log.Fatal(err)
	}
}

// version returns the version of the library in this binary.
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

// open opens a connection and a session: a lease in whole seconds, which the library keeps alive.
func open(ctx context.Context, o serve.Opening) (serve.Client, int64, error) {
	c, err := clientv3.New(clientv3.Config{Endpoints: strings.Split(o.Servers, ","), DialTimeout: o.Timeout, Logger: zap.NewNop()})
	if err != nil {
		return nil, 0, err
	}
	granting, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	lease, err := c.Grant(granting, max(int64(o.Timeout/time.Second), 1))
	if err != nil {
		c.Close()
		return nil, 0, err
	}
	s, err := concurrency.NewSession(c, concurrency.WithLease(lease.ID))
	if err != nil {
		c.Close()
		return nil, 0, err
	}
	out := &client{client: c, session: s, held: map[string]*concurrency.Mutex{}}
	go func() {
		<-s.Done()
		if !out.isClosed() {
			o.Event(drivers.EventLost)
		}
	}()
	return out, 0, nil
}

type client struct {
	client  *clientv3.Client
	session *concurrency.Session

	mu     sync.Mutex
	held   map[string]*concurrency.Mutex
	closed bool
}

// Acquire returns as token the store revision at which the library saw that it holds: a later grant follows the deletion of this grant's key.
func (c *client) Acquire(ctx context.Context, path string) (serve.Grant, error) {
	return c.lock(ctx, path, (*concurrency.Mutex).Lock)
}

func (c *client) TryAcquire(ctx context.Context, path string) (serve.Grant, error) {
	return c.lock(ctx, path, (*concurrency.Mutex).TryLock)
}

func (c *client) lock(ctx context.Context, path string, take func(*concurrency.Mutex, context.Context) error) (serve.Grant, error) {
	m := concurrency.NewMutex(c.session, path)
	if err := take(m, ctx); err != nil {
		return serve.Grant{}, c.explained(ctx, err)
	}
	c.mu.Lock()
	c.held[path] = m
	c.mu.Unlock()
	return serve.Grant{Token: m.Header().Revision, Node: m.Key()}, nil
}

// explained translates an error into the protocol's errors.
func (c *client) explained(ctx context.Context, err error) error {
	select {
	case <-c.session.Done():
		return serve.ErrLost
	default:
	}
	switch {
	case errors.Is(err, concurrency.ErrLocked):
		return serve.ErrHeld
	case errors.Is(err, concurrency.ErrSessionExpired):
		return serve.ErrLost
	case ctx.Err() != nil: // the library returns it as a gRPC error
		return ctx.Err()
	}
	return err
}

func (c *client) Release(ctx context.Context, path string) error {
	c.mu.Lock()
	m := c.held[path]
	delete(c.held, path)
	c.mu.Unlock()
	if m == nil {
		return serve.ErrNotHeld
	}
	if err := m.Unlock(ctx); err != nil {
		return c.explained(ctx, err)
	}
	return nil
}

func (c *client) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	return errors.Join(c.session.Close(), c.client.Close())
}

func (c *client) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}
