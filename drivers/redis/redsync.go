package main

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/go-redsync/redsync/v4"
	rsredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"github.com/zkbench/zkbench/drivers/serve"
)

// redsyncStage is the name of the stage that uses a library: a lock on a majority of independent servers.
const redsyncStage = "redsync"

// openRedsync opens a client of redsync with its defaults except for the expiry: it retries after 50 to 250 ms, and does not renew.
func (o options) openRedsync(ctx context.Context, opening serve.Opening) (serve.Client, int64, error) {
	addresses := strings.Split(opening.Servers, ",")
	if len(addresses) < o.servers {
		return nil, 0, errors.New("fewer servers than -servers asks for")
	}
	c := &redsyncClient{options: o, held: map[string]*redsync.Mutex{}}
	if c.ttl == 0 {
		c.ttl = opening.Timeout
	}
	var pools []rsredis.Pool
	for _, address := range addresses[:o.servers] {
		r, err := connect(ctx, address)
		if err != nil {
			c.Close()
			return nil, 0, err
		}
		c.clients = append(c.clients, r)
		pools = append(pools, goredis.NewPool(r))
	}
	c.sync = redsync.New(pools...)
	return c, 0, nil
}

type redsyncClient struct {
	options
	clients []*redis.Client
	sync    *redsync.Redsync

	mu   sync.Mutex
	held map[string]*redsync.Mutex
}

// Acquire repeats the call until the lock is granted: the library gives up after 32 tries.
func (c *redsyncClient) Acquire(ctx context.Context, key string) (serve.Grant, error) {
	for {
		g, err := c.lock(key, func(m *redsync.Mutex) error { return m.LockContext(ctx) })
		if ctx.Err() != nil && err != nil {
			return g, ctx.Err()
		}
		if !errors.Is(err, serve.ErrHeld) {
			return g, err
		}
	}
}

func (c *redsyncClient) TryAcquire(ctx context.Context, key string) (serve.Grant, error) {
	return c.lock(key, func(m *redsync.Mutex) error { return m.TryLockContext(ctx) })
}

func (c *redsyncClient) lock(key string, take func(*redsync.Mutex) error) (serve.Grant, error) {
	m := c.sync.NewMutex(key, redsync.WithExpiry(c.ttl))
	err := take(m)
	var taken *redsync.ErrTaken
	switch {
	case errors.Is(err, redsync.ErrFailed), errors.As(err, &taken):
		return serve.Grant{}, serve.ErrHeld
	case err != nil:
		return serve.Grant{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held[key] = m
	return serve.Grant{Node: key}, nil
}

func (c *redsyncClient) Release(ctx context.Context, key string) error {
	c.mu.Lock()
	m := c.held[key]
	delete(c.held, key)
	c.mu.Unlock()
	if m == nil {
		return serve.ErrNotHeld
	}
	was, err := m.UnlockContext(ctx)
	var taken *redsync.ErrTaken
	if errors.Is(err, redsync.ErrLockAlreadyExpired) || errors.As(err, &taken) || err == nil && !was {
		return serve.ErrNotHeld
	}
	return err
}

func (c *redsyncClient) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.held {
		m.Unlock() // what cannot be released expires
	}
	var failed error
	for _, r := range c.clients {
		failed = errors.Join(failed, r.Close())
	}
	return failed
}
