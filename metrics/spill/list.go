package spill

import (
	"fmt"
	"io"
	"iter"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"
)

// List is a sorted list of values without pointers. Only one goroutine may add values; once all have been added, several may read the list at the same time.
// Equal values keep the order in which they were added.
type List[T any] struct {
	room    *Room
	compare func(a, b *T) int // nil for the order of adding
	limit   int               // values that are kept in memory
	tail    []T               // values that are not spilled
	runs    []run[T]          // spilled values, in the order of adding
	file    *file
	n       int
	closed  bool

	reading sync.Mutex
	settled bool // tail is sorted
}

// run is sorted values, in memory or in the file.
type run[T any] struct {
	first, last T
	memory      []T
	at          int64
	n, number   int
	raw         bool // not sorted yet: first and last are unknown
}

// read reads values from the file, starting with the i-th; it returns false if they cannot be read.
func (r *run[T]) read(f *file, i int, into []T) bool {
	_, err := f.f.ReadAt(bytesOf(into), r.at+int64(i)*int64(unsafe.Sizeof(*new(T))))
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		f.room.fail(err)
	}
	return err == nil
}

// New creates an empty list that spills into a room. compare defines the order; nil keeps the order of adding.
func New[T any](room *Room, compare func(a, b *T) int) *List[T] {
	if t := reflect.TypeFor[T](); hasPointers(t) {
		panic(fmt.Sprintf("spill.New of %v, which has pointers", t))
	}
	l := &List[T]{room: room, compare: compare}
	if room != nil {
		l.limit = max(room.memory/int(unsafe.Sizeof(*new(T))), 16)
	}
	return l
}

func hasPointers(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Array:
		return hasPointers(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if hasPointers(t.Field(i).Type) {
				return true
			}
		}
		return false
	}
	return t.Kind() > reflect.Complex128 || t.Kind() == reflect.Uintptr
}

// Add appends a value.
func (l *List[T]) Add(v T) {
	if l.limit > 0 && len(l.tail) >= l.limit {
		l.spill(l.tail)
		l.tail = l.tail[:0]
	}
	if l.limit > 0 && cap(l.tail) == len(l.tail) && 2*len(l.tail) >= l.limit {
		l.tail = slices.Grow(l.tail, l.limit-len(l.tail))
	}
	l.tail, l.settled = append(l.tail, v), false
	l.n++
}

// AddRun spills values, which may be in several pieces, at once. They are sorted only when the list is first read: whoever adds entire runs has no time for
// that. The list neither moves nor keeps them: the caller may reuse the slices.
func (l *List[T]) AddRun(pieces ...[]T) {
	r := run[T]{number: len(l.runs), raw: l.compare != nil}
	for _, values := range pieces {
		r.n += len(values)
	}
	l.n += r.n
	if r.n == 0 || !l.open() {
		return
	}
	r.at = l.file.size
	for _, values := range pieces {
		if err := l.file.write(bytesOf(values), l.file.size); err != nil {
			l.room.fail(err)
			return
		}
	}
	l.runs = append(l.runs, r)
}

// spill writes values, sorted, to the file.
func (l *List[T]) spill(values []T) {
	if !l.open() {
		return
	}
	r := run[T]{at: l.file.size, n: len(values), number: len(l.runs)}
	if r.store(l.file, values, l.compare) {
		l.runs = append(l.runs, r)
	}
}

// open creates the file if there is none; it returns false after an error.
func (l *List[T]) open() bool {
	if l.room.Err() != nil {
		return false
	}
	if l.file == nil {
		var err error
		if l.file, err = l.room.create(); err != nil {
			l.room.fail(err)
			return false
		}
	}
	return true
}

// store writes the values of a run, sorted, to its place in the file, without moving them in memory; it returns false if they cannot be written.
func (r *run[T]) store(f *file, values []T, compare func(a, b *T) int) bool {
	const block = 4096
	buffer, at := make([]T, 0, min(block, len(values))), r.at
	flush := func() bool {
		b := bytesOf(buffer)
		err := f.write(b, at)
		if err != nil {
			f.room.fail(err)
		}
		at, buffer = at+int64(len(b)), buffer[:0]
		return err == nil
	}
	var last *T
	for v := range sorted(values, compare) {
		if last == nil {
			r.first = *v
		}
		last = v
		if buffer = append(buffer, *v); len(buffer) == cap(buffer) && !flush() {
			return false
		}
	}
	r.last = *last
	return flush()
}

// sort sorts a raw run, in memory that is large enough.
func (r *run[T]) sort(f *file, compare func(a, b *T) int, memory []T) {
	values := memory[:r.n]
	if !r.read(f, 0, values) {
		return
	}
	r.first, r.last = values[0], values[r.n-1]
	r.raw = !inOrder(values, compare) && !r.store(f, values, compare)
}

// Keep adds values that stay in memory. The list owns them.
func (l *List[T]) Keep(values []T) {
	if len(values) == 0 {
		return
	}
	values = arranged(values, l.compare)
	n := len(values)
	l.runs = append(l.runs, run[T]{first: values[0], last: values[n-1], memory: values, n: n, number: len(l.runs)})
	l.n += n
}

// Len returns how many values were added.
func (l *List[T]) Len() int { return l.n }

// Close releases the memory and the file. It may be called twice; nobody may be reading.
func (l *List[T]) Close() {
	if l.file != nil && !l.closed {
		l.file.close()
	}
	l.closed, l.tail, l.runs, l.n = true, nil, nil, 0
}

// Read copies values of a list in the order of adding, starting with the i-th, and returns how many there were.
func (l *List[T]) Read(i int, into []T) (n int) {
	for _, r := range l.settle() {
		if i < r.n && n < len(into) {
			part := into[n:min(n+r.n-i, len(into))]
			if r.memory != nil {
				copy(part, r.memory[i:])
			} else if !r.read(l.file, i, part) {
				return n
			}
			n += len(part)
		}
		i = max(i-r.n, 0)
	}
	return n
}

// All yields the values in order.
func (l *List[T]) All() iter.Seq[T] { return l.merged(1) }

// Backward yields the values in reverse order.
func (l *List[T]) Backward() iter.Seq[T] { return l.merged(-1) }

func (l *List[T]) merged(direction int) iter.Seq[T] {
	return func(yield func(T) bool) {
		runs := l.settle()
		if len(runs) == 1 && runs[0].memory != nil {
			plain(runs[0].memory, direction, yield)
			return
		}
		m := merge[T]{file: l.file, compare: l.compare, direction: direction, room: l.room}
		m.run(runs, yield)
	}
}

func plain[T any](values []T, direction int, yield func(T) bool) {
	if direction > 0 {
		for i := range values {
			if !yield(values[i]) {
				return
			}
		}
		return
	}
	for i := len(values) - 1; i >= 0; i-- {
		if !yield(values[i]) {
			return
		}
	}
}

// settle returns all runs, the one in memory last.
func (l *List[T]) settle() []run[T] {
	l.reading.Lock()
	defer l.reading.Unlock()
	if !l.settled {
		l.tail, l.settled = arranged(l.tail, l.compare), true
	}
	l.sortRaw()
	runs := slices.Clone(l.runs)
	if n := len(l.tail); n > 0 {
		runs = append(runs, run[T]{first: l.tail[0], last: l.tail[n-1], memory: l.tail, n: n, number: len(runs)})
	}
	return runs
}

// sortRaw sorts the raw runs, as many at a time as there are CPUs.
func (l *List[T]) sortRaw() {
	var raw []*run[T]
	largest := 0
	for i := range l.runs {
		if r := &l.runs[i]; r.raw {
			raw = append(raw, r)
			largest = max(largest, r.n)
		}
	}
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(raw)) {
		all.Go(func() {
			memory := make([]T, largest)
			for i := next.Add(1) - 1; i < int64(len(raw)) && l.room.Err() == nil; i = next.Add(1) - 1 {
				raw[i].sort(l.file, l.compare, memory)
			}
		})
	}
	all.Wait()
}

// bytesOf returns the memory of values.
func bytesOf[T any](values []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), len(values)*int(unsafe.Sizeof(*new(T))))
}
