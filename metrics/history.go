package metrics

import (
	"cmp"
	"iter"
	"runtime"
	"sort"
	"sync"
	"unsafe"
)

// History keeps every sample for the checks, in memory: 56 bytes each, in chunks that are never copied when it grows.
type History struct{ shards []*log }

// chunk is how many samples are allocated at a time: 224 KiB.
const chunk = 4096

// NewHistory makes a history with so many shards; below 1 means one per processor.
func NewHistory(shards int) *History {
	if shards < 1 {
		shards = runtime.GOMAXPROCS(0)
	}
	h := &History{shards: make([]*log, shards)}
	for i := range h.shards {
		h.shards[i] = &log{}
	}
	return h
}

// Shard is the recorder of session i: the shard i modulo their number. It may be called from many goroutines.
func (h *History) Shard(i int) Recorder { return h.shards[i%len(h.shards)] }

// Len is the number of samples.
func (h *History) Len() int {
	n := 0
	for _, l := range h.shards {
		l.mu.Lock()
		n += l.n
		l.mu.Unlock()
	}
	return n
}

// Bytes is the memory that the samples take.
func (h *History) Bytes() int64 {
	n := 0
	for _, l := range h.shards {
		l.mu.Lock()
		n += len(l.chunks)
		l.mu.Unlock()
	}
	return int64(n) * chunk * int64(unsafe.Sizeof(Sample{}))
}

// All yields the samples in the order of End; among equal ones of Start, then of session and operation. It is for the time
// after the run: nothing may be recorded while a sequence is read; several may be read at once. The first one sorts the shards
// where they lie, later ones only merge them.
func (h *History) All() iter.Seq[Sample] {
	return func(yield func(Sample) bool) {
		for _, l := range h.shards {
			l.sort()
		}
		next := make([]int, len(h.shards))
		for {
			first := -1
			for i, l := range h.shards {
				if next[i] < l.n && (first < 0 || order(l.at(next[i]), h.shards[first].at(next[first])) < 0) {
					first = i
				}
			}
			if first < 0 || !yield(*h.shards[first].at(next[first])) {
				return
			}
			next[first]++
		}
	}
}

func order(a, b *Sample) int {
	if c := cmp.Compare(a.End, b.End); c != 0 {
		return c
	}
	return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Session, b.Session), cmp.Compare(a.Op, b.Op))
}

// log is one shard of a History; it is a sort.Interface for itself.
type log struct {
	mu     sync.Mutex
	chunks []*[chunk]Sample
	n      int
	sorted bool
	_      [64]byte
}

func (l *log) Record(s Sample) {
	l.mu.Lock()
	if l.n == len(l.chunks)*chunk {
		l.chunks = append(l.chunks, new([chunk]Sample))
	}
	*l.at(l.n) = s
	l.n++
	l.sorted = false
	l.mu.Unlock()
}

func (l *log) sort() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.sorted {
		sort.Sort(l)
		l.sorted = true
	}
}

func (l *log) at(i int) *Sample { return &l.chunks[i/chunk][i%chunk] }

func (l *log) Len() int           { return l.n }
func (l *log) Less(i, j int) bool { return order(l.at(i), l.at(j)) < 0 }
func (l *log) Swap(i, j int)      { a, b := l.at(i), l.at(j); *a, *b = *b, *a }

// Tee is a recorder that gives every sample to each of the recorders in turn. It may be called from as many goroutines as they.
func Tee(to ...Recorder) Recorder { return tee(to) }

type tee []Recorder

func (t tee) Record(s Sample) {
	for _, r := range t {
		r.Record(s)
	}
}
