package metrics

import (
	"cmp"
	"iter"
	"runtime"
	"slices"
	"sync"
	"unsafe"

	"github.com/zkbench/zkbench/metrics/spill"
)

// History keeps every sample for the checks. It holds some in memory and writes the others to a temporary file, so that its memory does not grow with the length of a run.
type History struct {
	shards []*log
	room   *spill.Room
	full   chan batch // what is to be written to the file; nil if there is no room
	empty  sync.Pool  // chunks that have been written
	writer sync.WaitGroup

	mu     sync.Mutex
	list   *spill.List[Sample] // samples that are no longer in the shards
	closed bool
}

// batch is what one shard holds, or a request to report when all previous batches have been written.
type batch struct {
	piles   [piles]pile
	written chan<- struct{}
}

// pile is samples in the order of recording.
type pile struct {
	chunks []*[chunk]Sample
	n      int // samples in chunks, of which all but the last are full
}

// piles is how many nearly sorted sequences a shard separates its samples into, which are sorted in less time: samples that ended when they were recorded, and
// parts that ended long before, such as the create of an acquisition that then waited in line.
const piles = 2

// pieces returns the samples.
func (p *pile) pieces() (all [][]Sample) {
	for i, c := range p.chunks {
		all = append(all, c[:min(chunk, p.n-i*chunk)])
	}
	return all
}

const (
	// SampleBytes is how much memory, or disk space, a sample takes.
	SampleBytes = int(unsafe.Sizeof(Sample{}))
	// Kept is how many samples the shards together hold in memory before they are written: 8 MiB. As many may be in transit. The garbage collector
	// lets the heap grow to several times what is in use, so each megabyte here is more than one of the process.
	Kept = 8 << 20 / SampleBytes
	// chunk is how many samples are allocated at a time: 128 KiB, which are never copied while sessions wait.
	chunk = 2048
)

// NewHistory creates a history with this many shards; below 1 means one per CPU. Samples that do not fit into memory go to the room; if it is nil, everything
// stays in memory. The caller closes the history.
func NewHistory(shards int, room *spill.Room) *History {
	if shards < 1 {
		shards = runtime.GOMAXPROCS(0)
	}
	h := &History{shards: make([]*log, shards), room: room, list: spill.New(room, order)}
	h.empty.New = func() any { return new([chunk]Sample) }
	for i := range h.shards {
		h.shards[i] = &log{of: h, limit: max(Kept/shards/chunk, piles)}
	}
	if room != nil {
		h.full = make(chan batch, shards)
		h.writer.Go(h.write)
	}
	return h
}

// write moves full shards to the file.
func (h *History) write() {
	for b := range h.full {
		if b.written != nil {
			b.written <- struct{}{}
			continue
		}
		for _, p := range b.piles {
			h.list.AddRun(p.pieces()...)
			for _, c := range p.chunks {
				h.empty.Put(c)
			}
		}
	}
}

// Shard returns the recorder of session i: shard i modulo the number of shards. It is safe for concurrent use. It blocks only when the disk is so slow that
// twice Kept samples are waiting to be written.
func (h *History) Shard(i int) Recorder { return h.shards[i%len(h.shards)] }

// Len returns the number of samples.
func (h *History) Len() (n int) {
	for _, l := range h.shards {
		l.mu.Lock()
		n += l.all
		l.mu.Unlock()
	}
	return n
}

// Room returns where the history spills, and where data derived from it may go; nil if everything stays in memory.
func (h *History) Room() *spill.Room { return h.room }

// Err returns an error if samples were lost because they could not be written or read: then nothing may be concluded from the others.
func (h *History) Err() error { return h.room.Err() }

// All yields the samples in order of End; those with equal End in order of Start, then of session and operation. Call it after the load: nothing may be
// recorded while a sequence is read; several sequences may be read concurrently.
func (h *History) All() iter.Seq[Sample] {
	return func(yield func(Sample) bool) {
		h.gather()
		for s := range h.list.All() {
			if !yield(s) {
				return
			}
		}
	}
}

// gather moves the samples in the shards to the list.
func (h *History) gather() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.full != nil && !h.closed {
		written := make(chan struct{})
		h.full <- batch{written: written}
		<-written
	}
	for _, l := range h.shards {
		l.mu.Lock()
		for i := range l.piles {
			h.list.Keep(slices.Concat(l.piles[i].pieces()...))
		}
		l.piles, l.held = [piles]pile{}, 0
		l.mu.Unlock()
	}
}

// Close releases the memory and the file. Nothing may be recorded or read afterwards.
func (h *History) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.full != nil && !h.closed {
		close(h.full)
		h.writer.Wait()
	}
	h.closed = true
	h.list.Close()
}

func order(a, b *Sample) int {
	if c := cmp.Compare(a.End, b.End); c != 0 {
		return c
	}
	return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Session, b.Session), cmp.Compare(a.Op, b.Op))
}

// log is one shard of a History.
type log struct {
	mu    sync.Mutex
	of    *History
	piles [piles]pile
	held  int // chunks in them
	limit int // of held
	all   int // samples recorded
	_     [64]byte
}

func (l *log) Record(s Sample, parts ...Sample) {
	l.mu.Lock()
	l.add(0, &s)
	for i := range parts {
		p := &parts[i]
		n := 0
		if p.End-s.Start < s.End-p.End {
			n = 1
		}
		l.add(n, p)
	}
	l.all += 1 + len(parts)
	l.mu.Unlock()
}

func (l *log) add(to int, s *Sample) {
	p := &l.piles[to]
	if p.n == len(p.chunks)*chunk {
		if h := l.of; h.full != nil && l.held >= l.limit {
			h.full <- batch{piles: l.piles}
			l.piles, l.held = [piles]pile{}, 0
		}
		p.chunks = append(p.chunks, l.of.empty.Get().(*[chunk]Sample))
		l.held++
	}
	p.chunks[p.n/chunk][p.n%chunk] = *s
	p.n++
}

// Tee returns a recorder that gives every sample to each of the recorders in turn. It is as safe for concurrent use as they are.
func Tee(to ...Recorder) Recorder { return tee(to) }

type tee []Recorder

func (t tee) Record(s Sample, parts ...Sample) {
	for _, r := range t {
		r.Record(s, parts...)
	}
}
