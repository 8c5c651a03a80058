package spill

import (
	"slices"
	"unsafe"
)

// merge reads runs together. It opens a run only when its turn comes, so if the runs hardly overlap, only a few are open at a time.
type merge[T any] struct {
	file      *file
	room      *Room
	compare   func(a, b *T) int
	direction int // 1: forward, -1: backward
	heap      []*cursor[T]
	spare     [][]T // buffers of runs that have been read
	block     int   // values read at a time
}

// cursor is the position up to which a run has been read.
type cursor[T any] struct {
	*run[T]
	buffer []T // the buffer to read into, unless the run is in memory
	values []T // read but not yet yielded, in the order of the file
	left   int // values of the run that are still in the file
	head   *T
}

const (
	largestBlock  = 128 << 10 // bytes read at a time from few runs
	smallestBlock = 4 << 10   // from many runs
	blocks        = 16 << 20  // for all runs together
)

func (m *merge[T]) run(runs []run[T], yield func(T) bool) {
	if len(runs) == 0 {
		return
	}
	size := int(unsafe.Sizeof(*new(T)))
	m.block = max(min(max(blocks/len(runs), smallestBlock), largestBlock)/size, 1)
	slices.SortFunc(runs, func(a, b run[T]) int { return m.order(m.begin(&a), a.number, m.begin(&b), b.number) })
	next := 0
	for {
		for next < len(runs) && (len(m.heap) == 0 || m.order(m.begin(&runs[next]), runs[next].number, m.heap[0].head, m.heap[0].number) < 0) {
			c := &cursor[T]{run: &runs[next], values: runs[next].memory, left: runs[next].n - len(runs[next].memory)}
			if next++; m.advance(c) {
				m.heap = append(m.heap, c)
				m.up(len(m.heap) - 1)
			}
		}
		if len(m.heap) == 0 {
			return
		}
		c := m.heap[0]
		other, number := m.other(runs[next:])
		for more := true; more && (other == nil || m.order(c.head, c.number, other, number) < 0); {
			if !yield(*c.head) {
				return
			}
			if more = m.advance(c); !more {
				last := len(m.heap) - 1
				if m.heap[0] = m.heap[last]; c.buffer != nil {
					m.spare = append(m.spare, c.buffer)
				}
				m.heap = m.heap[:last]
			}
		}
		m.down()
	}
}

// other returns the first value, and its run, of the cursors below the top and of the runs that are not open yet; nil if there is none. Up to that value,
// only the cursor at the top is read.
func (m *merge[T]) other(closed []run[T]) (first *T, number int) {
	for _, c := range m.heap[1:min(3, len(m.heap))] {
		if first == nil || m.order(c.head, c.number, first, number) < 0 {
			first, number = c.head, c.number
		}
	}
	if len(closed) > 0 {
		if r := &closed[0]; first == nil || m.order(m.begin(r), r.number, first, number) < 0 {
			first, number = m.begin(r), r.number
		}
	}
	return first, number
}

// begin returns the value of a run that is read first.
func (m *merge[T]) begin(r *run[T]) *T {
	if m.direction > 0 {
		return &r.first
	}
	return &r.last
}

// order compares two values in the order of reading; equal values are ordered by their runs.
func (m *merge[T]) order(a *T, i int, b *T, j int) int {
	if m.compare != nil {
		if c := m.compare(a, b); c != 0 {
			return c * m.direction
		}
	}
	return (i - j) * m.direction
}

// advance moves the next value of a cursor into its head; it returns false if there is none.
func (m *merge[T]) advance(c *cursor[T]) bool {
	if len(c.values) == 0 && !m.read(c) {
		return false
	}
	if m.direction > 0 {
		c.head, c.values = &c.values[0], c.values[1:]
	} else {
		last := len(c.values) - 1
		c.head, c.values = &c.values[last], c.values[:last]
	}
	return true
}

func (m *merge[T]) read(c *cursor[T]) bool {
	n := min(c.left, m.block)
	if n == 0 || m.room.Err() != nil {
		return false
	}
	if last := len(m.spare) - 1; c.buffer == nil && last >= 0 {
		c.buffer, m.spare = m.spare[last], m.spare[:last]
	}
	if c.buffer == nil {
		c.buffer = make([]T, m.block)
	}
	values := c.buffer[:n]
	from := c.n - c.left
	if m.direction < 0 {
		from = c.left - n
	}
	if !c.run.read(m.file, from, values) {
		return false
	}
	c.values, c.left = values, c.left-n
	return true
}

func (m *merge[T]) less(i, j int) bool {
	a, b := m.heap[i], m.heap[j]
	return m.order(a.head, a.number, b.head, b.number) < 0
}

func (m *merge[T]) up(i int) {
	for i > 0 && m.less(i, (i-1)/2) {
		m.heap[i], m.heap[(i-1)/2] = m.heap[(i-1)/2], m.heap[i]
		i = (i - 1) / 2
	}
}

func (m *merge[T]) down() {
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(m.heap); child++ {
			if m.less(child, least) {
				least = child
			}
		}
		if least == i {
			return
		}
		m.heap[i], m.heap[least] = m.heap[least], m.heap[i]
		i = least
	}
}
