package trace

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/klauspost/compress/zstd"
)

// Writer writes a trace. It is not safe for concurrent use.
type Writer struct {
	pack   *zstd.Encoder
	out    *bufio.Writer // into pack
	b      []byte        // the current event
	order  order
	table  table
	err    error // of the first Write that failed
	closed bool
}

// NewWriter begins a trace in w with its header, whose version is set. The trace is complete after Close, which does not close w.
func NewWriter(w io.Writer, h Header) (*Writer, error) {
	h.Version = Version
	head, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("trace: %w", err)
	}
	if len(head) > maxHeader {
		return nil, fmt.Errorf("trace: a header of %d bytes (expected at most %d)", len(head), maxHeader)
	}
	if _, err := w.Write(append([]byte(magic), Version)); err != nil {
		return nil, err
	}
	pack, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(zstdWindow), zstd.WithEncoderCRC(true))
	if err != nil {
		return nil, fmt.Errorf("trace: %w", err)
	}
	t := &Writer{pack: pack, out: bufio.NewWriterSize(pack, 64<<10), table: table{where: map[string]int64{}}}
	_, t.err = t.out.Write(append(binary.AppendUvarint(nil, uint64(len(head))), head...))
	return t, t.err
}

// Write adds an event, of which it keeps nothing. Times are kept in microseconds. The error is that of the file, or says what about the event cannot be: a time before that of
// the previous event, a Prefill after another event, a session that is not the next one, or a number beyond the bounds of the format. After an error the
// Writer writes nothing more.
func (w *Writer) Write(e *Event) error {
	if w.err != nil {
		return w.err
	}
	if w.closed {
		return errors.New("trace: write after close")
	}
	at, err := micros(e.At)
	if err == nil && at < w.order.micros {
		err = fmt.Errorf("%v after the start, which is before the previous event", e.At)
	}
	if err == nil {
		err = w.order.check(e)
	}
	if err == nil {
		w.b = append(w.b[:0], byte(e.Kind))
		w.b = binary.AppendUvarint(w.b, at-w.order.micros)
		w.b = binary.AppendUvarint(w.b, uint64(e.Session+1))
		w.order.micros = at
		err = w.body(e)
	}
	if err != nil {
		w.err = fmt.Errorf("trace: event %d: %w", w.order.events, err)
		return w.err
	}
	_, w.err = w.out.Write(w.b)
	return w.err
}

func micros(d time.Duration) (uint64, error) {
	if n := d.Microseconds(); d >= 0 && n <= maxMicros {
		return uint64(n), nil
	}
	return 0, fmt.Errorf("a time of %v (expected 0 or more)", d)
}

// body adds what an event and an operation of a Multi have in common.
func (w *Writer) body(e *Event) error {
	f := fields(e)
	w.b = binary.AppendUvarint(append(w.b, byte(e.Op)), f)
	if f&hasPath != 0 {
		if err := w.path(e.Path); err != nil {
			return err
		}
	}
	if f&hasGot != 0 {
		if asked, number, ok := Numbered(e.Got); ok && asked == e.Path {
			w.b = binary.AppendUvarint(w.b, uint64(number)+1)
			w.table.add(e.Got)
		} else {
			w.b = append(w.b, 0)
			if err := w.path(e.Got); err != nil {
				return err
			}
		}
	}
	if f&hasSize != 0 {
		w.b = binary.AppendUvarint(w.b, uint64(e.Size))
	}
	if f&hasCode != 0 {
		w.b = binary.AppendVarint(w.b, int64(e.Code))
	}
	for _, t := range [...]struct {
		bit uint64
		d   time.Duration
	}{{hasTook, e.Took}, {hasTTL, e.TTL}, {hasTimeout, e.Timeout}} {
		if f&t.bit != 0 {
			n, err := micros(t.d)
			if err != nil {
				return err
			}
			w.b = binary.AppendUvarint(w.b, n)
		}
	}
	if f&hasVersion != 0 {
		w.b = binary.AppendVarint(w.b, int64(e.Version))
	}
	if f&hasFlags != 0 {
		w.b = append(w.b, byte(e.Flags))
	}
	if f&hasReads != 0 {
		w.b = binary.AppendUvarint(w.b, uint64(e.Reads))
	}
	if f&hasOps != 0 {
		w.b = binary.AppendUvarint(w.b, uint64(len(e.Ops)))
	}
	for i := range e.Ops {
		op := &e.Ops[i]
		if err := checkRequest(op, true); err != nil {
			return fmt.Errorf("operation %d of a multi: %w", i+1, err)
		}
		if err := w.body(op); err != nil {
			return fmt.Errorf("operation %d of a multi: %w", i+1, err)
		}
	}
	if f&hasZxid != 0 {
		w.b = binary.AppendVarint(w.b, e.Zxid-w.order.zxid)
		w.order.zxid = e.Zxid
	}
	return nil
}

// path adds a path: how long ago it was in the table, or 0, how much of its start it shares with the one before, and the rest.
func (w *Writer) path(path string) error {
	if len(path) > maxPath {
		return fmt.Errorf("a path of %d bytes (expected at most %d)", len(path), maxPath)
	}
	if n := w.table.ago(path); n > 0 {
		w.b = binary.AppendUvarint(w.b, n)
		return nil
	}
	shared := 0
	for shared < min(len(path), len(w.table.last)) && path[shared] == w.table.last[shared] {
		shared++
	}
	w.b = binary.AppendUvarint(append(w.b, 0), uint64(shared))
	w.b = append(binary.AppendUvarint(w.b, uint64(len(path)-shared)), path[shared:]...)
	w.table.add(path)
	return nil
}

// Flush writes what has been added so far, so that it can be read even if the trace is never completed.
func (w *Writer) Flush() error {
	if w.err != nil || w.closed {
		return w.err
	}
	if w.err = w.out.Flush(); w.err == nil {
		w.err = w.pack.Flush()
	}
	return w.err
}

// Close completes the trace: what was not closed is read as incomplete. It may be called more than once. The error is that of the first Write that failed.
func (w *Writer) Close() error {
	if w.closed {
		return w.err
	}
	w.closed = true
	if w.err != nil {
		return w.err
	}
	_, w.err = w.out.Write(binary.AppendUvarint([]byte{endOfTrace}, uint64(w.order.events)))
	if err := w.out.Flush(); w.err == nil {
		w.err = err
	}
	if err := w.pack.Close(); w.err == nil {
		w.err = err
	}
	return w.err
}
