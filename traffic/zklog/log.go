package zklog

import (
	"bufio"
	"errors"
	"fmt"
	"hash/adler32"
	"io"

	"github.com/zkbench/zkbench/internal/jute"
)

const (
	logMagic      = "ZKLG"
	snapshotMagic = "ZKSN"
	fileVersion   = 2
	fileHeader    = 4 + 4 + 8 // magic, version, database
	endOfTxn      = 0x42

	window = 1 << 20  // bytes read at a time: what a request may have by default, and the largest transaction that is not copied
	MaxTxn = 64 << 20 // the longest transaction that a Log reads, in bytes; servers refuse requests above 1 MiB by default
)

// Log reads the transactions of one file, in order. It is not safe for concurrent use.
type Log struct {
	name string
	r    *bufio.Reader
	at   int64 // offset of what is read next
	used int   // bytes of the window that the last transaction had, and that are discarded before the next one is read
	txn  Txn
	own  []byte // the last transaction, if it was longer than the window
	end  error  // what every further call returns
}

// NewLog reads a log from r; the name is that of its problems. The error is a Problem: r has no log of version 2.
func NewLog(r io.Reader, name string) (*Log, error) {
	l := &Log{name: name, r: bufio.NewReaderSize(r, window)}
	head, err := l.r.Peek(fileHeader)
	if err != nil {
		return nil, &Problem{name, 0, fmt.Sprintf("%d bytes are too short for a transaction log", len(head)), whyShort(err, ErrTorn)}
	}
	if string(head[:4]) != logMagic {
		return nil, &Problem{name, 0, fmt.Sprintf("a transaction log begins with %s, this with %q", logMagic, head[:4]), ErrFormat}
	}
	if v := jute.Int32(head[4:]); v != fileVersion {
		return nil, &Problem{name, 4, fmt.Sprintf("version %d of the log (expected %d)", v, fileVersion), ErrFormat}
	}
	l.used = fileHeader
	return l, nil
}

// whyShort returns what is wrong when there were fewer bytes than needed: the end of the file is short, any other error itself.
func whyShort(err, short error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return short
	}
	return err
}

// Next returns the next transaction, which is valid until the next call, or io.EOF at the end: of the file, or where only preallocated zeros follow. Any other
// error is a *Problem. With a transaction, of which only the header is known then, it concerns this one alone; without one the rest of the file cannot
// be read, and further calls return io.EOF.
func (l *Log) Next() (*Txn, error) {
	if l.end != nil {
		return nil, l.end
	}
	l.discard()
	const before = 8 + 4 // checksum, length
	start := l.at
	head, err := l.r.Peek(before)
	if err != nil {
		if l.end = io.EOF; len(head) == 0 && err == io.EOF || len(head) < before && zero(head) && errors.Is(err, io.EOF) {
			return nil, io.EOF
		}
		return nil, &Problem{l.name, start, fmt.Sprintf("%d bytes of a checksum and a length", len(head)), whyShort(err, ErrTorn)}
	}
	sum, n := jute.Int64(head), int(jute.Int32(head[8:]))
	if n == 0 { // preallocated, or a writer that ended before the length was written
		l.end = io.EOF
		if sum != 0 {
			return nil, &Problem{l.name, start, "a checksum without a transaction", ErrTorn}
		}
		return nil, io.EOF
	}
	if n < headerBytes || n > MaxTxn {
		l.end = io.EOF
		return nil, &Problem{l.name, start, fmt.Sprintf("a transaction of %d bytes (expected %d to %d)", n, headerBytes, MaxTxn), ErrCorrupt}
	}
	body, err := l.take(before, n+1)
	if err != nil {
		l.end = io.EOF
		return nil, &Problem{l.name, start, fmt.Sprintf("%d bytes of a transaction of %d", len(body), n), whyShort(err, ErrTorn)}
	}
	body, last := body[:n], body[n]
	if got := int64(adler32.Checksum(body)); got != sum || last != endOfTxn {
		l.end = io.EOF
		return nil, &Problem{l.name, start, fmt.Sprintf("checksum 0x%x of a transaction of %d bytes (expected 0x%x)", got, n, sum), l.broken()}
	}
	l.txn.Bytes, l.txn.Offset = n, start
	if detail, err := l.txn.parse(body); err != nil {
		if len(body) < headerBytes {
			return nil, &Problem{l.name, start, detail, err}
		}
		return &l.txn, &Problem{l.name, start, detail, err}
	}
	return &l.txn, nil
}

// take returns the n bytes behind the first skip ones, without copying them if they fit into the window. Memory grows only with what is there.
func (l *Log) take(skip, n int) ([]byte, error) {
	if skip+n <= l.r.Size() {
		b, err := l.r.Peek(skip + n)
		if l.used = len(b); err != nil {
			return b[min(skip, len(b)):], err
		}
		return b[skip:], nil
	}
	if _, err := l.r.Discard(skip); err != nil {
		return nil, err
	}
	l.at += int64(skip)
	l.own = l.own[:0]
	for len(l.own) < n {
		have := len(l.own)
		next := min(n-have, window)
		l.own = extended(l.own, next)
		got, err := io.ReadFull(l.r, l.own[have:])
		l.at += int64(got)
		if err != nil {
			return l.own[:have+got], err
		}
	}
	return l.own, nil
}

// extended returns b with n more bytes, whatever they are. Unlike slices.Grow, it allocates once with the race detector too.
func extended(b []byte, n int) []byte {
	if len(b)+n > cap(b) {
		b = append(make([]byte, 0, max(len(b)+n, 2*cap(b))), b...)
	}
	return b[:len(b)+n]
}

func (l *Log) discard() {
	n, _ := l.r.Discard(l.used)
	l.at += int64(n)
	l.used = 0
	if cap(l.own) > window {
		l.own = nil
	}
}

// broken says what a wrong checksum means. If nothing but zeros follows, the transaction was the last one, and was being written.
func (l *Log) broken() error {
	l.discard()
	b, _ := l.r.Peek(l.r.Size())
	if zero(b) {
		return ErrTorn
	}
	return ErrCorrupt
}

func zero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
