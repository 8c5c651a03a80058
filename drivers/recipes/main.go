// Command recipes is a driver for zkbench's own locks: in a separate process they can be killed and stopped like those of any library, and take the same way to
// zkbench and back. Its argument is the lock, such as predecessor.
package main

import (
	"context"
	"errors"
	"log"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zkbench/zkbench/drivers"
	"github.com/zkbench/zkbench/drivers/serve"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/lock"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/wire"
)

func main() {
	log.SetFlags(0)
	all := lock.Variants()
	i := slices.IndexFunc(all, func(v recipes.Variant[recipes.Lock]) bool { return len(os.Args) == 2 && v.Name == os.Args[1] })
	if i < 0 {
		var names []string
		for _, v := range all {
			names = append(names, v.Name)
		}
		log.Fatalf("expected the name of one lock: %s", strings.Join(names, ", "))
	}
	if err := serve.Run(os.Stdin, os.Stdout, library(all[i])); err != nil {
		log.Fatal(err)
	}
}

func library(v recipes.Variant[recipes.Lock]) serve.Library {
	var needs []string
	if v.Persistent {
		needs = []string{"addWatch"}
	}
	return serve.Library{
		Hello: drivers.Hello{Name: v.Name, Version: "of zkbench", Store: drivers.ZooKeeper, Tokens: v.Tokens, Can: []string{drivers.CanLock}, Needs: needs},
		Open: func(ctx context.Context, o serve.Opening) (serve.Client, int64, error) {
			s, err := wire.Dial(ctx, wire.Config{Servers: strings.Split(o.Servers, ","), Timeout: o.Timeout, Seed: rand.Uint64()})
			if err != nil {
				return nil, 0, err
			}
			c := &client{s: s, variant: v, locks: map[string]recipes.Lock{}, closed: make(chan struct{})}
			go c.tell(o.Event)
			return c, s.ID(), nil
		},
	}
}

// client is a session, with a handle for each lock that was requested.
type client struct {
	s       zk.Session
	variant recipes.Variant[recipes.Lock]

	mu     sync.Mutex
	locks  map[string]recipes.Lock
	closed chan struct{}
}

// lookAgain is how often a session whose lease is over is polled for a new one.
const lookAgain = 50 * time.Millisecond

// tell forwards the session's notifications to zkbench until the session is over.
func (c *client) tell(event func(string)) {
	for over := false; ; {
		lease, wake := c.s.Lease(), (<-chan time.Time)(nil)
		if ended := isClosed(lease); ended != over {
			over = ended
			event(map[bool]string{true: drivers.EventSuspended, false: drivers.EventConnected}[over])
		}
		if over {
			lease, wake = nil, time.After(lookAgain)
		}
		select {
		case <-c.s.Done():
			if !isClosed(c.closed) {
				event(drivers.EventLost)
			}
			return
		case <-lease:
		case <-wake:
		}
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func (c *client) lock(path string) recipes.Lock {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.locks[path] == nil {
		c.locks[path] = c.variant.New(c.s, path, recipes.Options{})
	}
	return c.locks[path]
}

func (c *client) Acquire(ctx context.Context, path string) (serve.Grant, error) {
	g, err := c.lock(path).Acquire(ctx)
	return serve.Grant{Token: g.Token, Node: g.Path}, explained(err)
}

// TryAcquire always fails: these locks do not support it.
func (c *client) TryAcquire(context.Context, string) (serve.Grant, error) {
	return serve.Grant{}, errors.ErrUnsupported
}

func (c *client) Release(ctx context.Context, path string) error {
	return explained(c.lock(path).Release(ctx))
}

func (c *client) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if isClosed(c.closed) {
		return nil
	}
	close(c.closed)
	return c.s.Close()
}

// explained translates an error into the protocol's errors.
func explained(err error) error {
	switch {
	case zk.Classify(err) == zk.ClassSessionGone:
		return serve.ErrLost
	case errors.Is(err, recipes.ErrNotHeld), errors.Is(err, recipes.ErrLockLost), errors.Is(err, recipes.ErrRevoked):
		return serve.ErrNotHeld
	}
	return err
}
