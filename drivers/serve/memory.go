package serve

import (
	"context"
	"slices"
	"sync"

	"github.com/zkbench/zkbench/drivers"
)

// InMemory returns a library whose locks and queues are in the memory of the process. Requests are granted in order of arrival. Taking an item removes it.
func InMemory() Library { return inMemory(false) }

// InMemoryClaims is InMemory with queues whose takes claim: an item that its session has not finished becomes available again when the session is closed.
func InMemoryClaims() Library { return inMemory(true) }

func inMemory(claims bool) Library {
	m := &memory{locks: map[string]*shares{}, queues: map[string]*items{}, claims: claims}
	return Library{
		Hello: drivers.Hello{Name: "null", Version: "1", Store: "memory", Tokens: true, Claims: claims, FIFO: !claims,
			Can: []string{drivers.CanLock, drivers.CanReadWrite, drivers.CanSemaphore, drivers.CanQueue, drivers.CanTry}},
		Open: func(context.Context, Opening) (Client, int64, error) {
			return &memoryClient{m: m, held: map[string]int{}, claimed: map[string]stored{}}, 0, nil
		},
	}
}

type memory struct {
	mu     sync.Mutex
	locks  map[string]*shares
	queues map[string]*items
	claims bool
}

// lock returns the lock at a path, which has all shares: an exclusive lock has one.
func (m *memory) lock(path string, all int) *shares {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.locks[path]
	if l == nil {
		l = &shares{free: all}
		m.locks[path] = l
	}
	return l
}

// everybody is the maximum number of readers: a writer takes the place of all of them.
const everybody = 1 << 30

// modes says how many shares of a read/write lock each mode takes.
var modes = map[string]int{drivers.ModeRead: 1, drivers.ModeWrite: everybody}

// shares is something that can be taken in parts.
type shares struct {
	mu      sync.Mutex
	free    int
	token   int64 // of the latest grant
	waiting []*asker
}

type asker struct {
	n       int
	granted chan int64 // the token; buffered
}

// take waits for n shares.
func (s *shares) take(ctx context.Context, n int) (token int64, err error) {
	a := &asker{n, make(chan int64, 1)}
	s.mu.Lock()
	s.waiting = append(s.waiting, a)
	s.next()
	s.mu.Unlock()
	select {
	case token := <-a.granted:
		return token, nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case token := <-a.granted: // granted before it could leave
		return token, nil
	default:
	}
	s.waiting = slices.DeleteFunc(s.waiting, func(o *asker) bool { return o == a })
	s.next()
	return 0, ctx.Err()
}

// try takes n shares if no wait is needed.
func (s *shares) try(n int) (token int64, taken bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) > 0 || n > s.free {
		return 0, false
	}
	s.free -= n
	s.token++
	return s.token, true
}

func (s *shares) give(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free += n
	s.next()
}

// next grants the first waiters as long as their shares are available. s.mu must be held.
func (s *shares) next() {
	for len(s.waiting) > 0 && s.waiting[0].n <= s.free {
		a := s.waiting[0]
		s.waiting = s.waiting[1:]
		s.free -= a.n
		s.token++
		a.granted <- s.token
	}
}

type memoryClient struct {
	m       *memory
	mu      sync.Mutex
	held    map[string]int    // number of shares by path; nil: closed
	claimed map[string]stored // by path
}

func (c *memoryClient) granted(l *shares, path string, n int, token int64) (Grant, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held == nil { // closed meanwhile
		l.give(n)
		return Grant{}, ErrLost
	}
	c.held[path] = n
	return Grant{Token: token}, nil
}

func (c *memoryClient) acquire(ctx context.Context, path string, n, all int) (Grant, error) {
	l := c.m.lock(path, all)
	token, err := l.take(ctx, n)
	if err != nil {
		return Grant{}, err
	}
	return c.granted(l, path, n, token)
}

func (c *memoryClient) try(path string, n, all int) (Grant, error) {
	l := c.m.lock(path, all)
	token, taken := l.try(n)
	if !taken {
		return Grant{}, ErrHeld
	}
	return c.granted(l, path, n, token)
}

func (c *memoryClient) release(path string, n, all int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held[path] != n {
		return ErrNotHeld
	}
	delete(c.held, path)
	c.m.lock(path, all).give(n)
	return nil
}

func (c *memoryClient) Acquire(ctx context.Context, path string) (Grant, error) {
	return c.acquire(ctx, path, 1, 1)
}

func (c *memoryClient) TryAcquire(_ context.Context, path string) (Grant, error) {
	return c.try(path, 1, 1)
}

func (c *memoryClient) Release(_ context.Context, path string) error { return c.release(path, 1, 1) }

func (c *memoryClient) AcquireMode(ctx context.Context, path, mode string) (Grant, error) {
	return c.acquire(ctx, path, modes[mode], everybody)
}

func (c *memoryClient) TryMode(_ context.Context, path, mode string) (Grant, error) {
	return c.try(path, modes[mode], everybody)
}

func (c *memoryClient) ReleaseMode(_ context.Context, path, mode string) error {
	return c.release(path, modes[mode], everybody)
}

func (c *memoryClient) AcquirePermit(ctx context.Context, path string, permits int) (Grant, error) {
	return c.acquire(ctx, path, 1, permits)
}

func (c *memoryClient) TryPermit(_ context.Context, path string, permits int) (Grant, error) {
	return c.try(path, 1, permits)
}

func (c *memoryClient) ReleasePermit(_ context.Context, path string, permits int) error {
	return c.release(path, 1, permits)
}

func (c *memoryClient) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for path, n := range c.held {
		c.m.lock(path, n).give(n)
	}
	for path, it := range c.claimed {
		c.m.queue(path).add(it)
	}
	c.held, c.claimed = nil, nil
	return nil
}
