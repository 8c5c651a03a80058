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

// client is one session: a client of Redis, which has no sessions. What it holds expires ttl after it was taken, or renewed.
type client struct {
	options
	stage stage
	redis *redis.Client
	event func(string)

	mu   sync.Mutex
	held map[string]*hold
}

// hold is a lock that was taken, and its renewal.
type hold struct {
	stop context.CancelFunc
	over sync.WaitGroup
	lost bool // the renewal found it gone, and has said so; to be read when it is over
}

// Acquire asks for the lock until it is free. Requests that are under way are not cut: nobody would know whether they were carried out.
func (c *client) Acquire(ctx context.Context, key string) (serve.Grant, error) {
	var told *redis.PubSub
	defer func() {
		if told != nil {
			told.Close()
		}
	}()
	for {
		g, err := c.TryAcquire(ctx, key)
		if !errors.Is(err, serve.ErrHeld) {
			return g, err
		}
		if c.wait == byPubSub && told == nil {
			told = c.redis.Subscribe(context.WithoutCancel(ctx), key)
			if _, err := told.Receive(ctx); err != nil {
				return serve.Grant{}, err
			}
			continue // it may have been released before it was subscribed to
		}
		if err := c.pause(ctx, key, told); err != nil {
			return serve.Grant{}, err
		}
	}
}

// unheard is how long a client waits at most for a release that is published: the publication may be lost.
const unheard = time.Second

// pause waits until it is worth trying again.
func (c *client) pause(ctx context.Context, key string, told *redis.PubSub) error {
	var released <-chan *redis.Message
	d := time.Duration((0.5 + mathrand.Float64()) * float64(c.poll)) // spread, so that clients do not try in step
	if told != nil {
		left, err := c.redis.PTTL(context.WithoutCancel(ctx), key).Result()
		if err != nil {
			return err
		}
		if d, released = min(left+time.Millisecond, unheard), told.Channel(); left < 0 {
			d = unheard // without an end
			if left == -2 {
				return nil // it is free
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

// renewAll renews a lock each third of its time until it is released. When it is gone, or was not renewed for its whole time, zkbench is told.
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

// Release gives the lock up. What was lost is told to be over.
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

// Close gives up what is held.
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
		c.Release(ctx, key) // what cannot be given up expires
	}
	return c.redis.Close()
}
