package stores

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/drivers"
	"github.com/zkbench/zkbench/drivers/stores"
	"github.com/zkbench/zkbench/recipes"
)

// key is the lock of a trial, whose servers have no other.
const key = "/lock"

// errNotStaged: the situation did not come about.
var errNotStaged = errors.New("the situation could not be staged")

// trial is one scenario with one lock.
type trial struct {
	variant variant
	command []string // of the driver
	servers *stores.Servers
	links   []*link
	clients []*client
}

// script plays a scenario, and says what it saw.
type script = func(ctx context.Context, t *trial) (seen Violation, witness string, err error)

// start starts servers for the trial, more of them than the lock asks for if extra is not 0.
func (t *trial) start(ctx context.Context, extra int) (err error) {
	t.servers, err = stores.Start(ctx, t.variant.store, t.variant.servers+extra)
	return err
}

func (t *trial) close() {
	for _, c := range t.clients {
		c.process.Kill()
	}
	for _, k := range t.links {
		k.close()
	}
	if t.servers != nil {
		t.servers.Close()
	}
}

// client is a client of the lock: a process of its driver, with a link of its own to each server of Redis.
type client struct {
	process *drivers.Process
	session *drivers.Session
	links   []*link
	lock    recipes.Lock
	grant   recipes.Grant
}

// How long locks last: those that are to be lost, those that a busy machine has to renew in time, and those that do not expire in a trial.
const (
	short = time.Second
	slow  = 3 * time.Second
	long  = time.Hour
)

// client starts a client whose locks last so long.
func (t *trial) client(ctx context.Context, ttl time.Duration, id string) (*client, error) {
	p, err := drivers.Start(ctx, append(append([]string(nil), t.command...), t.variant.command(ttl, id)...))
	if err != nil {
		return nil, err
	}
	c := &client{process: p}
	t.clients = append(t.clients, c)
	addresses, timeout := t.servers.Addresses(), time.Minute
	if t.variant.store == stores.Redis {
		for i, server := range addresses[:t.variant.servers] {
			k, err := newLink(server)
			if err != nil {
				return nil, err
			}
			t.links, c.links = append(t.links, k), append(c.links, k)
			addresses[i] = k.address()
		}
		addresses = addresses[:t.variant.servers]
	} else {
		timeout = min(ttl, timeout)
	}
	if c.session, err = p.Open(ctx, addresses, timeout); err != nil {
		return nil, err
	}
	c.lock = drivers.NewLock(c.session, key, recipes.Options{})
	return c, nil
}

// pair is two clients: one whose locks last so long, and a second whose locks do not expire. The second one has held the lock before, so that the servers know the scripts
// and the first one's token is not the lowest.
func (t *trial) pair(ctx context.Context, ttl time.Duration, id string) (first, second *client, err error) {
	if t.servers == nil {
		if err := t.start(ctx, 0); err != nil {
			return nil, nil, err
		}
	}
	if second, err = t.client(ctx, long, id); err == nil {
		first, err = t.client(ctx, ttl, id)
	}
	if err == nil {
		err = second.acquire(ctx)
	}
	if err == nil {
		err = second.lock.Release(ctx)
	}
	return first, second, err
}

func (c *client) acquire(ctx context.Context) (err error) {
	c.grant, err = c.lock.Acquire(ctx)
	return err
}

// try takes the lock if it is free.
func (c *client) try(ctx context.Context) (granted bool, err error) {
	c.grant, granted, err = drivers.Try(ctx, c.lock)
	return granted, err
}

// later is the outcome of an acquisition or a release that goes on.
func later(f func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	return done
}

// holds tells whether the client has not been told of a loss. After a grant it holds for its application.
func (c *client) holds() bool {
	select {
	case <-c.grant.Lost:
		return false
	case <-c.session.Done():
		return false
	default:
		return true
	}
}

// told waits for a while for the client to be told of a loss.
func (c *client) told(ctx context.Context) bool {
	select {
	case <-c.grant.Lost:
	case <-time.After(10 * time.Second):
	case <-ctx.Done():
	}
	return !c.holds()
}

// ask asks server i of Redis, and returns the first line of its answer and, of a string, the second.
func (t *trial) ask(i int, words string) (string, error) {
	c, err := net.DialTimeout("tcp", t.servers.Addresses()[i], 10*time.Second)
	if err != nil {
		return "", err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := fmt.Fprintf(c, "%s\r\n", words); err != nil {
		return "", err
	}
	lines := bufio.NewReader(c)
	line, err := lines.ReadString('\n')
	if err != nil || line[0] == '-' {
		return "", fmt.Errorf("%s: %q, %v", words, line, err)
	}
	if line[0] == '$' && line[1] != '-' {
		text := make([]byte, 4<<10)
		n, err := lines.Read(text)
		return string(text[:n]), err
	}
	return strings.TrimSpace(line), nil
}

// expires is when the lock's key at server i will be gone: after the time, never (forever), or it is not there.
func (t *trial) expires(i int) (left time.Duration, forever, there bool, err error) {
	answer, err := t.ask(i, "PTTL "+key)
	if err != nil {
		return 0, false, false, err
	}
	n, err := strconv.Atoi(strings.TrimPrefix(answer, ":"))
	return time.Duration(n) * time.Millisecond, n == -1, n != -2, err
}

// until asks again and again until what it asks for has happened.
func until(ctx context.Context, happened func() (bool, error)) error {
	for {
		if done, err := happened(); done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// overlap is what a grant to the second client means while the first one has not been told of a loss.
func overlap(first *client, how string) (Violation, string, error) {
	if !first.holds() {
		return None, "", fmt.Errorf("%w: the holder was told that it may not rely on its lock", errNotStaged)
	}
	return Exclusion, "two hold at once: " + how + ", and the first has not been told", nil
}

const (
	byFirst = "the first client's"
	byNext  = "the next holder's"
)

// lateWrite has the next holder write, then the first client, whose application rests on its grant, and tells its outcome from what is written.
func lateWrite(first, next *client, fenced bool) (Violation, string, error) {
	register := recipes.FencedRegister{Unfenced: !fenced}
	if err := register.Write(next.grant.Token, []byte(byNext)); err != nil {
		return None, "", err
	}
	err := register.Write(first.grant.Token, []byte(byFirst))
	tokens := ""
	if first.grant.Token != 0 {
		tokens = fmt.Sprintf(": token %d after %d", first.grant.Token, next.grant.Token)
	}
	value, _ := register.Read()
	switch {
	case err == nil && string(value) == byFirst:
		return StaleWrite, "the first client's write was accepted after the next holder's" + tokens, nil
	case errors.Is(err, recipes.ErrStale) && string(value) == byNext:
		return None, "the first client's write was rejected after the next holder's" + tokens, nil
	}
	return None, "", fmt.Errorf("the write ends with %v, and what was written is %q", err, value)
}
