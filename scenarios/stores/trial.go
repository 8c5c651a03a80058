package stores

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/drivers"
	"github.com/zkbench/zkbench/drivers/stores"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/scenarios"
)

// key is the lock of a trial, the only one on its servers.
const key = "/lock"

// trial is one scenario with one lock. Its methods, except close, end the script when something fails.
type trial struct {
	*scenarios.Stage
	variant variant
	command []string // of the driver
	servers *stores.Servers
	links   []*link
	clients []*client
}

// start starts the servers that the lock needs, and extra more.
func (t *trial) start(extra int) {
	var err error
	t.servers, err = stores.Start(t.Context(), t.variant.store, t.variant.servers+extra)
	t.Check(err)
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

// client is a client of the lock: a process of its driver, with its own link to each Redis server.
type client struct {
	t       *trial
	process *drivers.Process
	session *drivers.Session
	links   []*link
	lock    recipes.Lock
	grant   recipes.Grant
}

// The durations of locks: for those to be lost, for those that a busy machine must renew in time, and for those that never expire in a trial.
const (
	short = time.Second
	slow  = 3 * time.Second
	long  = time.Hour
)

// client starts a client whose locks last for ttl.
func (t *trial) client(ttl time.Duration, id string) *client {
	p, err := drivers.Start(t.Context(), append(slices.Clone(t.command), t.variant.command(ttl, id)...))
	t.Check(err)
	c := &client{t: t, process: p}
	t.clients = append(t.clients, c)
	addresses, timeout := t.servers.Addresses(), min(ttl, time.Minute) // for etcd, the lease
	if t.variant.store == stores.Redis {
		addresses, timeout = addresses[:t.variant.servers], time.Minute
		for i, server := range addresses {
			k := t.link(server)
			c.links, addresses[i] = append(c.links, k), k.address()
		}
	}
	c.session, err = p.Open(t.Context(), addresses, timeout)
	t.Check(err)
	c.lock = drivers.NewLock(c.session, key, recipes.Options{})
	return c
}

// link opens a new link to a server.
func (t *trial) link(server string) *link {
	k, err := newLink(server)
	t.Check(err)
	t.links = append(t.links, k)
	return k
}

// pair starts two clients: one whose locks last for ttl, and a second whose locks do not expire. The second one has held the lock before, so that the
// servers know the scripts and the token of the first one is not the lowest.
func (t *trial) pair(ttl time.Duration, id string) (first, second *client) {
	if t.servers == nil {
		t.start(0)
	}
	second, first = t.client(long, id), t.client(ttl, id)
	second.acquire()
	t.Check(second.lock.Release(t.Context()))
	return first, second
}

func (c *client) acquire() { c.t.Check(c.tryAcquire(c.t.Context())) }

// tryAcquire acquires the lock; it fails if the driver fails.
func (c *client) tryAcquire(ctx context.Context) (err error) {
	c.grant, err = c.lock.Acquire(ctx)
	return err
}

// try takes the lock if it is free.
func (c *client) try() (granted bool) {
	granted, err := c.tryOnce()
	c.t.Check(err)
	return granted
}

func (c *client) tryOnce() (granted bool, err error) {
	c.grant, granted, err = drivers.Try(c.t.Context(), c.lock)
	return granted, err
}

// holds reports whether the client has not been notified of a loss; after a grant, its application then believes that it holds.
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

// losesGrant waits for a while for the client to be notified of a loss.
func (c *client) losesGrant() bool {
	select {
	case <-c.grant.Lost:
	case <-time.After(10 * time.Second):
	case <-c.t.Context().Done():
	}
	return !c.holds()
}

// ask queries Redis server i, and returns the first line of its answer or, for a string, the second.
func (t *trial) ask(i int, words string) string {
	answer, err := t.answer(i, words)
	t.Check(err)
	return answer
}

func (t *trial) answer(i int, words string) (string, error) {
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

// expires returns when the lock's key at server i will be gone: after left, never (forever), or it does not exist.
func (t *trial) expires(i int) (left time.Duration, forever, there bool) {
	n, err := strconv.Atoi(strings.TrimPrefix(t.ask(i, "PTTL "+key), ":"))
	t.Check(err)
	return time.Duration(n) * time.Millisecond, n == -1, n != -2
}

// until polls until something has happened.
func (t *trial) until(happened func() bool) {
	for !happened() {
		select {
		case <-t.Context().Done():
			t.Check(t.Context().Err())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// checkHolds checks that a client has not been notified of a loss.
func (t *trial) checkHolds(c *client) {
	if !c.holds() {
		t.Check(scenarios.NotStaged("the holder was told that it may not rely on its lock"))
	}
}

// overlap judges a grant to the second client while the first one has not been notified of a loss.
func (t *trial) overlap(first *client, how string) {
	t.checkHolds(first)
	t.Found(Exclusion, "two hold at once: %s, and the first has not been told", how)
}

const (
	byFirst = "the first client's"
	byNext  = "the next holder's"
)

// lateWrite lets the next holder write, then the first client, whose application relies on its grant, and judges the outcome from the resource.
func (t *trial) lateWrite(first, next *client, fenced bool) {
	register := recipes.FencedRegister{Unfenced: !fenced}
	t.Check(register.Write(next.grant.Token, []byte(byNext)))
	err := register.Write(first.grant.Token, []byte(byFirst))
	tokens := ""
	if first.grant.Token != 0 {
		tokens = fmt.Sprintf(": token %d after %d", first.grant.Token, next.grant.Token)
	}
	value, _ := register.Read()
	switch {
	case err == nil && string(value) == byFirst:
		t.Found(StaleWrite, "the first client's write was accepted after the next holder's%s", tokens)
	case errors.Is(err, recipes.ErrStale) && string(value) == byNext:
		t.Found(None, "the first client's write was rejected after the next holder's%s", tokens)
	default:
		t.Check(fmt.Errorf("the write ends with %v, and what was written is %q", err, value))
	}
}
