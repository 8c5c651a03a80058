package wire

import "slices"

// reader is what a goroutine that reads sockets owns: the buffer that all of its connections share, memory for frames that arrive in parts, and the most recently read lists.
type reader struct {
	buf   []byte
	now   int64    // when the bytes being handled were read, on the engine's clock
	spare [][]byte // returned frames, for reuse
	lists listed
}

const (
	keepFrame  = 64 << 10 // initial size of a frame's buffer; for longer frames it doubles as bytes come
	leastFrame = 4 << 10
	keepSpare  = 256 << 10
	keepSpares = 16
)

func newReader(size int) *reader { return &reader{buf: make([]byte, size)} }

// take returns an empty buffer for a frame of need bytes, which may grow later: a large announced length alone allocates little.
func (r *reader) take(need int) []byte {
	for i := len(r.spare) - 1; i >= 0; i-- {
		if b := r.spare[i]; cap(b) >= min(need, keepFrame) {
			r.spare = slices.Delete(r.spare, i, i+1)
			return b
		}
	}
	return make([]byte, 0, max(leastFrame, min(need, keepFrame)))
}

// grow moves a full frame to a buffer of twice its size, but no larger than need.
func (r *reader) grow(frame []byte, need int) []byte {
	grown := append(make([]byte, 0, min(need, max(2*cap(frame), keepFrame))), frame...)
	r.giveBack(frame)
	return grown
}

// reusable returns an empty buffer in b's memory, or nil if that is larger than most and not worth keeping.
func reusable(b []byte, most int) []byte {
	if cap(b) > most {
		return nil
	}
	return b[:0]
}

// giveBack takes back a buffer that nobody refers to any more.
func (r *reader) giveBack(b []byte) {
	if cap(b) <= keepSpare && len(r.spare) < keepSpares {
		r.spare = append(r.spare, b[:0])
	}
}
