package spill

import (
	"fmt"
	"os"
	"sync"
)

// Room is where lists spill to: a directory, and how much each list keeps in memory. If the system allows it, the files lose their names as soon as they are
// created, so none of them remains, however the process ends. A Room may be used from many goroutines. The nil Room has no directory: its lists keep
// everything in memory.
type Room struct {
	dir    string
	memory int // bytes that a list keeps

	mu      sync.Mutex
	err     error
	written int64 // bytes in open files
	most    int64
}

// Memory is how many bytes a list keeps in memory before it spills.
const Memory = 8 << 20

// NewRoom creates a room in an existing directory. memory is how many bytes each list keeps in memory; 0 means Memory.
func NewRoom(dir string, memory int) *Room {
	if memory <= 0 {
		memory = Memory
	}
	return &Room{dir: dir, memory: memory}
}

// Err returns the first error of writing or reading a file: after it, the lists no longer hold everything that was added.
func (r *Room) Err() error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Most returns the maximum number of bytes that were in files at any time.
func (r *Room) Most() int64 {
	if r == nil {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.most
}

func (r *Room) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = fmt.Errorf("temporary file in %s: %w", r.dir, err)
	}
}

func (r *Room) grow(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.written += n
	r.most = max(r.most, r.written)
}

// file is a temporary file that only grows. It accepts nothing more after an error.
type file struct {
	room  *Room
	f     *os.File
	named bool // the system does not allow removing the name of an open file
	size  int64
}

func (r *Room) create() (*file, error) {
	f, err := os.CreateTemp(r.dir, "zkbench-*.tmp")
	if err != nil {
		return nil, err
	}
	return &file{room: r, f: f, named: os.Remove(f.Name()) != nil}, nil
}

// write writes b at an offset. At the end of the file it may not be called concurrently.
func (f *file) write(b []byte, at int64) error {
	n, err := f.f.WriteAt(b, at)
	if end := at + int64(n); end > f.size {
		f.room.grow(end - f.size)
		f.size = end
	}
	return err
}

func (f *file) close() {
	f.f.Close()
	if f.named {
		os.Remove(f.f.Name())
	}
	f.room.grow(-f.size)
}
