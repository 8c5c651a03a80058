package serve

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"sync"
)

// items is a queue in memory. Takers get items in order of arrival.
type items struct {
	mu      sync.Mutex
	put     int64 // number of puts so far, which identifies each item
	token   int64 // of the latest claim
	there   []stored
	waiting []chan claimed
}

type stored struct {
	number int64
	data   []byte
}

// claimed is an item that is hidden from everybody else.
type claimed struct {
	stored
	token int64
}

// add puts an item, or returns one to its place.
func (q *items) add(it stored) (number int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if it.number == 0 {
		q.put++
		it.number = q.put
	}
	i, _ := slices.BinarySearchFunc(q.there, it, func(a, b stored) int { return cmp.Compare(a.number, b.number) })
	q.there = slices.Insert(q.there, i, it)
	for len(q.waiting) > 0 && len(q.there) > 0 {
		q.waiting[0] <- q.first()
		q.waiting = q.waiting[1:]
	}
	return it.number
}

// first removes and returns the item at the head. q.mu must be held.
func (q *items) first() claimed {
	it := q.there[0]
	q.there = q.there[1:]
	q.token++
	return claimed{it, q.token}
}

// take waits for an item.
func (q *items) take(ctx context.Context) (claimed, error) {
	q.mu.Lock()
	if len(q.there) > 0 {
		defer q.mu.Unlock()
		return q.first(), nil
	}
	mine := make(chan claimed, 1)
	q.waiting = append(q.waiting, mine)
	q.mu.Unlock()
	select {
	case it := <-mine:
		return it, nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	select {
	case it := <-mine: // granted before it could leave
		return it, nil
	default:
	}
	q.waiting = slices.DeleteFunc(q.waiting, func(o chan claimed) bool { return o == mine })
	return claimed{}, ctx.Err()
}

// queue returns the queue at a path.
func (m *memory) queue(path string) *items {
	m.mu.Lock()
	defer m.mu.Unlock()
	q := m.queues[path]
	if q == nil {
		q = &items{}
		m.queues[path] = q
	}
	return q
}

func (c *memoryClient) Put(_ context.Context, path string, item []byte) (node string, err error) {
	return nodeOf(c.m.queue(path).add(stored{data: item})), nil
}

func nodeOf(number int64) string { return strconv.FormatInt(number, 10) }

func (c *memoryClient) Take(ctx context.Context, path string) (Item, error) {
	q := c.m.queue(path)
	it, err := q.take(ctx)
	if err != nil {
		return Item{}, err
	}
	out := Item{it.data, Grant{Node: nodeOf(it.number)}}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held == nil { // closed meanwhile
		q.add(it.stored)
		return Item{}, ErrLost
	}
	if c.m.claims {
		out.Token = it.token
		c.claimed[path] = it.stored
	}
	return out, nil
}

func (c *memoryClient) Finish(_ context.Context, path string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, some := c.claimed[path]; !some {
		return ErrNotHeld
	}
	delete(c.claimed, path)
	return nil
}
