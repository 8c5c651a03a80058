package serve

import (
	"context"
	"sync"

	"github.com/zkbench/zkbench/drivers"
)

// InMemory is a library whose locks are in the memory of the process.
func InMemory() Library {
	m := &memory{locks: map[string]*memoryLock{}}
	return Library{
		Hello: drivers.Hello{Name: "null", Version: "1", Store: "memory", Tokens: true, Can: []string{drivers.CanLock, drivers.CanTry}},
		Open: func(context.Context, Opening) (Client, int64, error) {
			return &memoryClient{m: m, held: map[string]bool{}}, 0, nil
		},
	}
}

type memory struct {
	mu    sync.Mutex
	locks map[string]*memoryLock
}

// memoryLock is free while free has something in it.
type memoryLock struct {
	free  chan struct{}
	token int64 // of the last grant; whoever holds the lock changes it
}

func (m *memory) lock(path string) *memoryLock {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.locks[path]
	if l == nil {
		l = &memoryLock{free: make(chan struct{}, 1)}
		l.free <- struct{}{}
		m.locks[path] = l
	}
	return l
}

type memoryClient struct {
	m    *memory
	mu   sync.Mutex
	held map[string]bool
}

func (c *memoryClient) granted(l *memoryLock, path string) (Grant, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held == nil { // closed meanwhile
		l.free <- struct{}{}
		return Grant{}, ErrLost
	}
	l.token++
	c.held[path] = true
	return Grant{Token: l.token}, nil
}

func (c *memoryClient) Acquire(ctx context.Context, path string) (Grant, error) {
	l := c.m.lock(path)
	select {
	case <-l.free:
		return c.granted(l, path)
	case <-ctx.Done():
		return Grant{}, ctx.Err()
	}
}

func (c *memoryClient) TryAcquire(_ context.Context, path string) (Grant, error) {
	l := c.m.lock(path)
	select {
	case <-l.free:
		return c.granted(l, path)
	default:
		return Grant{}, ErrHeld
	}
}

func (c *memoryClient) Release(_ context.Context, path string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.held[path] {
		return ErrNotHeld
	}
	delete(c.held, path)
	c.m.lock(path).free <- struct{}{}
	return nil
}

func (c *memoryClient) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for path := range c.held {
		c.m.lock(path).free <- struct{}{}
	}
	c.held = nil
	return nil
}
