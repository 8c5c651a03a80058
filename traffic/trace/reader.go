package trace

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/klauspost/compress/zstd"
)

// Reader reads a trace. It is not safe for concurrent use.
type Reader struct {
	from   *source
	in     *bufio.Reader // of what is decompressed
	header Header
	event  Event
	ops    []Event
	order  order
	table  table
	path   []byte
	err    error // what every further call returns
}

// NewReader reads the header of a trace. The error wraps ErrFormat, ErrTorn or ErrCorrupt, or is that of r.
func NewReader(r io.Reader) (*Reader, error) {
	t := &Reader{from: &source{r: r}}
	var head [len(magic) + 1]byte
	if n, err := io.ReadFull(t.from, head[:]); string(head[:min(n, len(magic))]) != magic[:min(n, len(magic))] || n == 0 && err == io.EOF {
		return nil, fmt.Errorf("trace: %w: it begins with %q (expected a file that 'zkbench trace' or 'zkbench record' has written)", ErrFormat, head[:n])
	} else if err != nil {
		return nil, fmt.Errorf("trace: %w", t.from.cause(err))
	}
	if v := head[len(magic)]; v != Version {
		return nil, fmt.Errorf("trace: %w: version %d (expected %d: use the zkbench that wrote it, or a newer one)", ErrFormat, v, Version)
	}
	unpack, err := zstd.NewReader(t.from, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(zstdWindow))
	if err != nil {
		return nil, fmt.Errorf("trace: %w", t.from.cause(err))
	}
	t.in = bufio.NewReaderSize(unpack, 64<<10)
	n := t.number(maxHeader, "bytes of a header")
	text := make([]byte, n)
	if t.err == nil {
		_, err := io.ReadFull(t.in, text)
		t.fail(err)
	}
	if t.err == nil && json.Unmarshal(text, &t.header) != nil {
		t.fail(fmt.Errorf("%w: the header is not JSON", ErrCorrupt))
	}
	if t.err == nil && t.header.Version != Version {
		t.fail(fmt.Errorf("%w: version %d in the header (expected %d)", ErrCorrupt, t.header.Version, Version))
	}
	if t.err != nil {
		return nil, t.err
	}
	return t, nil
}

// Header returns the header.
func (r *Reader) Header() Header { return r.header }

// Next returns the next event, which is valid until the next call, or io.EOF at the end of a complete trace. Any other error says what is wrong, and behind which
// event; it wraps ErrTorn, ErrCorrupt or the error of the file. What was read until then is as good as its bytes were, because a checksum is at the end. After an
// error, further calls return it again.
func (r *Reader) Next() (*Event, error) {
	if r.err != nil {
		return nil, r.err
	}
	kind := r.byte()
	if r.err == nil && kind == endOfTrace {
		r.end()
	}
	if r.err != nil {
		return nil, r.err
	}
	r.event, r.ops = Event{Kind: Kind(kind)}, r.ops[:0]
	r.order.micros += r.number(maxMicros-r.order.micros, "microseconds")
	r.event.At = time.Duration(r.order.micros) * time.Microsecond
	r.event.Session = int(r.number(uint64(r.order.sessions)+1, "as the number of a session")) - 1
	r.body(&r.event, false)
	if r.err == nil {
		r.corrupt(r.order.check(&r.event))
	}
	if r.err != nil {
		return nil, r.err
	}
	return &r.event, nil
}

// end checks what is behind the last event.
func (r *Reader) end() {
	n := r.number(math.MaxInt64, "events")
	if r.err == nil && int64(n) != r.order.events {
		r.corrupt(fmt.Errorf("it should have %d events", n))
	}
	if r.err != nil {
		return
	}
	switch _, err := r.in.ReadByte(); {
	case err == nil:
		r.corrupt(errors.New("more follows behind the end"))
	case err == io.EOF: // with the right checksum
		r.err = io.EOF
	default:
		r.fail(err)
	}
}

// body reads what an event and an operation of a Multi have in common.
func (r *Reader) body(e *Event, within bool) {
	e.Op = Op(r.byte())
	f := r.number(allFields, "as the fields of an event")
	if f&hasPath != 0 {
		e.Path = r.name()
	}
	if f&hasGot != 0 {
		if n := r.number(uint64(mostNumbers), "as the number of a sequential znode"); n > 0 {
			e.Got = fmt.Sprintf("%s%0*d", e.Path, digits, n-1)
			r.table.add(e.Got)
		} else {
			e.Got = r.name()
		}
	}
	if f&hasSize != 0 {
		e.Size = int(r.number(maxSize, "bytes of data"))
	}
	if f&hasCode != 0 {
		e.Code = int32(r.signed(32))
	}
	if f&hasTook != 0 {
		e.Took = r.duration()
	}
	if f&hasTTL != 0 {
		e.TTL = r.duration()
	}
	if f&hasTimeout != 0 {
		e.Timeout = r.duration()
	}
	if f&hasVersion != 0 {
		e.Version = int32(r.signed(32))
	}
	if f&hasFlags != 0 {
		e.Flags = Flags(r.byte())
	}
	if f&hasReads != 0 {
		e.Reads = int(r.number(maxReads, "reads"))
	}
	if f&hasOps != 0 {
		r.within(e, within)
	}
	if f&hasZxid != 0 {
		r.order.zxid += r.signed(64)
		e.Zxid = r.order.zxid
	}
}

// within reads the operations of a multi.
func (r *Reader) within(e *Event, another bool) {
	if another {
		r.corrupt(errors.New("a multi within a multi"))
		return
	}
	n := int(r.number(MaxOps, "operations of a multi"))
	for i := 0; i < n && r.err == nil; i++ { // memory grows only with what is there
		r.ops = append(r.ops, Event{})
		op := &r.ops[i]
		r.body(op, true)
		if r.err == nil {
			r.corrupt(checkRequest(op, true))
		}
	}
	e.Ops = r.ops
}

// name reads a path.
func (r *Reader) name() string {
	n := r.number(mostPaths, "as the age of a path")
	if r.err != nil {
		return ""
	}
	if n > 0 {
		path, ok := r.table.back(n)
		if !ok {
			r.corrupt(fmt.Errorf("the path %d before, of %d", n, len(r.table.paths)))
		}
		return path
	}
	shared := int(r.number(uint64(len(r.table.last)), "shared bytes of a path"))
	rest := int(r.number(uint64(maxPath-shared), "bytes of a path"))
	r.path = append(r.path[:0], r.table.last[:shared]...)
	for rest > 0 && r.err == nil {
		have := len(r.path)
		next := min(rest, 64<<10)
		r.path = append(r.path, make([]byte, next)...)
		_, err := io.ReadFull(r.in, r.path[have:])
		r.fail(err)
		rest -= next
	}
	if r.err != nil {
		return ""
	}
	path := string(r.path)
	r.table.add(path)
	if cap(r.path) > 1<<20 {
		r.path = nil
	}
	return path
}

func (r *Reader) byte() byte {
	if r.err != nil {
		return 0
	}
	b, err := r.in.ReadByte()
	r.fail(err)
	return b
}

// number reads a number of at most most; what it is the number of is for errors.
func (r *Reader) number(most uint64, of string) uint64 {
	if r.err != nil {
		return 0
	}
	n, err := binary.ReadUvarint(r.in)
	if r.fail(err); r.err == nil && n > most {
		r.corrupt(fmt.Errorf("%d %s (expected at most %d)", n, of, most))
	}
	if r.err != nil {
		return 0
	}
	return n
}

func (r *Reader) duration() time.Duration {
	return time.Duration(r.number(maxMicros, "microseconds")) * time.Microsecond
}

func (r *Reader) signed(bits int) int64 {
	if r.err != nil {
		return 0
	}
	n, err := binary.ReadVarint(r.in)
	if r.fail(err); r.err == nil && n != n<<(64-bits)>>(64-bits) {
		r.corrupt(fmt.Errorf("%d as a number of %d bits", n, bits))
	}
	if r.err != nil {
		return 0
	}
	return n
}

// corrupt notes that something cannot be.
func (r *Reader) corrupt(err error) {
	if err != nil {
		r.fail(fmt.Errorf("%w: %w", ErrCorrupt, err))
	}
}

// fail notes the first error, and behind which event it is.
func (r *Reader) fail(err error) {
	if r.err == nil && err != nil {
		r.err = fmt.Errorf("trace: after %d events: %w", r.order.events, r.from.cause(err))
	}
}

// source is the file, and remembers its error, to tell it from what is wrong with the bytes.
type source struct {
	r   io.Reader
	err error
}

// Read reads from the file.
func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// cause returns what an error means: that of the file, an end that is too early, or bytes that are not what was written.
func (s *source) cause(err error) error {
	switch {
	case s.err != nil:
		return s.err
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return ErrTorn
	case errors.Is(err, ErrCorrupt):
		return err
	}
	return fmt.Errorf("%w: %w", ErrCorrupt, err)
}
