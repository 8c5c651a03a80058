package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/zkbench/zkbench/drivers"
	"github.com/zkbench/zkbench/drivers/serve"
)

func (o options) open(ctx context.Context, opening serve.Opening) (serve.Client, int64, error) {
	first, _, _ := strings.Cut(opening.Servers, ",")
	r, err := connect(ctx, first)
	if err != nil {
		return nil, 0, err
	}
	c := &client{options: o, stage: stages[o.stage], redis: r, event: opening.Event, held: map[string]*hold{}}
	if c.ttl == 0 {
		c.ttl = opening.Timeout
	}
	if c.id == "" {
		c.id = rand.Text()
	}
	return c, 0, nil
}

// client is one session: a Redis client, because Redis has no sessions. What it holds expires ttl after it was taken or renewed.
type client struct {
	options
	stage stage
	redis *redis.Client
	event func(string)

	mu   sync.Mutex
	held map[string]*hold
}

// hold is a lock that is held, and its renewal.
type hold struct {
	stop context.CancelFunc
	over sync.WaitGroup
	lost bool // the renewal found it gone and reported it; read only after the renewal has ended
}

// Acquire retries until the lock is granted. It does not cancel requests in flight, because it would be unknown whether they were executed.
func (c *client) Acquire(ctx context.Context, key string) (serve.Grant, error) {
	var releases *redis.PubSub
	defer func() {
		if releases != nil {
			releases.Close()
		}
	}()
	for {
		g, err := c.TryAcquire(ctx, key)
		if !errors.Is(err, serve.ErrHeld) {
			return g, err
		}
		if c.wait == byPubSub && releases == nil {
			releases = c.redis.Subscribe(context.WithoutCancel(ctx), key)
			if _, err := releases.Receive(ctx); err != nil {
				return serve.Grant{}, err
			}
			continue // the lock may have been released before the subscription
		}
		if err := c.pause(ctx, key, releases); err != nil {
			return serve.Grant{}, err
		}
	}
}

// unheard is the longest that a client waits for a published release: the message may be lost.
const unheard = time.Second

// pause waits until a retry makes sense.
func (c *client) pause(ctx context.Context, key string, releases *redis.PubSub) error {
	var released <-chan *redis.Message
	d := time.Duration((0.5 + mathrand.Float64()) * float64(c.poll)) // randomized, so that clients do not retry in step
	if releases != nil {
		left, err := c.redis.PTTL(context.WithoutCancel(ctx), key).Result()
		if err != nil {
			return err
		}
		if d, released = min(left+time.Millisecond, unheard), releases.Channel(); left < 0 {
			d = unheard // no expiry
			if left == -2 {
				return nil // the lock is free
			}
		}
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-released:
	case <-ctx.Done():
		return ctx.Err()
	}
	return ctx.Err()
}

func (c *client) TryAcquire(ctx context.Context, key string) (serve.Grant, error) {
	if err := ctx.Err(); err != nil {
		return serve.Grant{}, err
	}
	taken, token, err := c.stage.take(context.WithoutCancel(ctx), c.redis, key, c.id, c.ttl)
	if err != nil {
		return serve.Grant{}, fmt.Errorf("take: %w", err)
	}
	if !taken {
		return serve.Grant{}, serve.ErrHeld
	}
	h := &hold{stop: func() {}}
	if c.stage.renews {
		var renewing context.Context
		renewing, h.stop = context.WithCancel(context.Background())
		h.over.Go(func() { c.renewAll(renewing, key, h) })
	}
	c.mu.Lock()
	c.held[key] = h
	c.mu.Unlock()
	return serve.Grant{Token: token, Node: key}, nil
}

// renewAll renews a lock every third of its time until it is released. If the lock is gone, or was not renewed for its whole time, zkbench is notified.
func (c *client) renewAll(ctx context.Context, key string, h *hold) {
	renewed := time.Now()
	every := time.NewTicker(max(c.ttl/3, time.Millisecond))
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		asked := time.Now()
		there, err := renew(ctx, c.redis, key, c.id, c.ttl)
		switch {
		case ctx.Err() != nil:
			return
		case there && err == nil:
			renewed = asked
		case err == nil, time.Since(renewed) > c.ttl:
			h.lost = true
			c.event(drivers.EventSuspended)
			return
		}
	}
}

// Release releases the lock. If the lock was lost, it also reports that the suspension is over.
func (c *client) Release(ctx context.Context, key string) error {
	c.mu.Lock()
	h := c.held[key]
	delete(c.held, key)
	c.mu.Unlock()
	if h == nil {
		return serve.ErrNotHeld
	}
	h.stop()
	h.over.Wait()
	if h.lost {
		defer c.event(drivers.EventConnected)
	}
	was, err := c.stage.give(context.WithoutCancel(ctx), c.redis, key, c.id)
	if err != nil {
		return fmt.Errorf("give up: %w", err)
	}
	if c.wait == byPubSub {
		if err := c.redis.Publish(context.WithoutCancel(ctx), key, "free").Err(); err != nil {
			return fmt.Errorf("publish the release: %w", err)
		}
	}
	if !was {
		return serve.ErrNotHeld
	}
	return nil
}

// Close releases everything that is held.
func (c *client) Close() error {
	c.mu.Lock()
	var keys []string
	for key := range c.held {
		keys = append(keys, key)
	}
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	for _, key := range keys {
		c.Release(ctx, key) // what cannot be released expires
	}
	return c.redis.Close()
}
