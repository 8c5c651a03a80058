package wire

import "slices"

// reader is what a goroutine that reads sockets owns: the buffer that all of its connections share, memory for frames that
// come in parts, and the lists that were read last.
type reader struct {
	buf   []byte
	now   int64    // when what is being handled was read, on the engine's clock
	spare [][]byte // frames that were given back
	lists listed
}

const (
	keepFrame  = 64 << 10 // a frame gets this much room at once; beyond, room doubles as bytes come
	leastFrame = 4 << 10
	keepSpare  = 256 << 10
	keepSpares = 16
)

func newReader(size int) *reader { return &reader{buf: make([]byte, size)} }

// take returns an empty buffer for a frame of so many bytes, of which not all may have to be there from the start: an
// announcement alone allocates little.
func (r *reader) take(need int) []byte {
	for i := len(r.spare) - 1; i >= 0; i-- {
		if b := r.spare[i]; cap(b) >= min(need, keepFrame) {
			r.spare = slices.Delete(r.spare, i, i+1)
			return b
		}
	}
	return make([]byte, 0, max(leastFrame, min(need, keepFrame)))
}

// grow moves a full frame to a buffer of twice its size, but not more than it needs.
func (r *reader) grow(frame []byte, need int) []byte {
	grown := append(make([]byte, 0, min(need, max(2*cap(frame), keepFrame))), frame...)
	r.giveBack(frame)
	return grown
}

// reusable is an empty buffer in b's memory; nil when that is more than most, and not worth keeping.
func reusable(b []byte, most int) []byte {
	if cap(b) > most {
		return nil
	}
	return b[:0]
}

// giveBack takes a buffer that nobody refers to any more.
func (r *reader) giveBack(b []byte) {
	if cap(b) <= keepSpare && len(r.spare) < keepSpares {
		r.spare = append(r.spare, b[:0])
	}
}
