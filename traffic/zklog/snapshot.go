package zklog

import (
	"bufio"
	"errors"
	"fmt"
	"hash"
	"hash/adler32"
	"io"
	"math"
	"time"

	"github.com/zkbench/zkbench/internal/jute"
)

// Znode is one znode of a snapshot. It is valid until the next one is read.
type Znode struct {
	Path         []byte // of the root: /
	Data         int    // bytes
	Czxid, Mzxid int64
	Pzxid        int64
	Ctime, Mtime int64 // milliseconds since 1970
	Version      int32
	Cversion     int32
	Aversion     int32
	Owner        int64 // as stored: see Session
}

// Container says whether the servers delete the znode when its last child is gone.
func (z *Znode) Container() bool { return z.Owner == math.MinInt64 }

// Session returns whose ephemeral znode it is; 0: it is not ephemeral. Containers and znodes with a time to live have marks in place of
// an owner (EphemeralType): the lowest number, and a top byte of 255.
func (z *Znode) Session() int64 {
	if z.Container() || ServerOf(z.Owner) == 0xff {
		return 0
	}
	return z.Owner
}

// TTL returns how long the znode may be unused before the servers delete it; 0: as long as it likes. It is in the lowest five bytes of the mark (EphemeralType.TTL).
func (z *Znode) TTL() time.Duration {
	if z.Container() || ServerOf(z.Owner) != 0xff {
		return 0
	}
	return time.Duration(z.Owner&(1<<40-1)) * time.Millisecond
}

// Visitor is told what a snapshot has, in its order. Each function may be nil.
type Visitor struct {
	Session func(id int64, timeout time.Duration)
	Znode   func(*Znode)
}

// maxPath is the longest path, in bytes: a server reads no request that is longer.
const maxPath = window / 2

// ReadSnapshot reads a snapshot from r; the name is that of its problems, and its end says how it is compressed. A snapshot is fuzzy: it may have effects of
// transactions later than the zxid in its name, and the log from there on goes on top of it. The error is a *Problem; what was read until then has been
// visited, and is as good as its bytes were, because checksums are at the end.
func ReadSnapshot(r io.Reader, name string, v Visitor) error {
	content, err := plain(r, name)
	if err != nil {
		return &Problem{name, 0, "", whyShort(err, ErrCut)}
	}
	s := &snapshot{name: name, r: bufio.NewReaderSize(content, window), sum: adler32.New()}
	head := s.take(fileHeader)
	switch {
	case s.err != nil:
		return s.problem()
	case string(head[:4]) != snapshotMagic:
		return &Problem{name, 0, fmt.Sprintf("a snapshot begins with %s, this with %q", snapshotMagic, head[:4]), ErrFormat}
	case jute.Int32(head[4:]) != fileVersion:
		return &Problem{name, 4, fmt.Sprintf("version %d of the snapshot (expected %d)", jute.Int32(head[4:]), fileVersion), ErrFormat}
	}
	s.sessions(v)
	s.acls()
	s.znodes(v)
	s.seals()
	return s.problem()
}

type snapshot struct {
	name string
	r    *bufio.Reader
	at   int64
	sum  hash.Hash32
	err  error
}

func (s *snapshot) problem() error {
	if s.err == nil {
		return nil
	}
	var p *Problem
	if errors.As(s.err, &p) {
		return p
	}
	return &Problem{s.name, s.at, "", whyShort(s.err, ErrCut)}
}

func (s *snapshot) corrupt(format string, args ...any) {
	if s.err == nil {
		s.err = &Problem{s.name, s.at, fmt.Sprintf(format, args...), ErrCorrupt}
	}
}

// take returns the next n bytes, at most a window, which are valid until the next call; nil after an error.
func (s *snapshot) take(n int) []byte {
	if s.err != nil {
		return nil
	}
	b, err := s.r.Peek(n)
	if err != nil {
		s.err = err
		return nil
	}
	s.sum.Write(b)
	s.r.Discard(n) // does not move the bytes
	s.at += int64(n)
	return b
}

func (s *snapshot) int32() int32 {
	if b := s.take(4); b != nil {
		return jute.Int32(b)
	}
	return 0
}

func (s *snapshot) int64() int64 {
	if b := s.take(8); b != nil {
		return jute.Int64(b)
	}
	return 0
}

// skip passes over n bytes, however many.
func (s *snapshot) skip(n int) {
	for n > 0 && s.err == nil {
		n -= len(s.take(min(n, window/2)))
	}
}

// buffer passes over a buffer and returns its length; that of null is 0.
func (s *snapshot) buffer(of string) int {
	n := int(s.int32())
	switch {
	case s.err != nil || n == -1:
		return 0
	case n < 0:
		s.corrupt("%s of %d bytes", of, n)
		return 0
	}
	s.skip(n)
	return n
}

// count reads a number of elements, which nothing is allocated for: each must be there.
func (s *snapshot) count(of string) int {
	n := int(s.int32())
	if s.err == nil && n < 0 {
		s.corrupt("%d %s", n, of)
	}
	return max(n, 0)
}

func (s *snapshot) sessions(v Visitor) {
	for range s.count("sessions") {
		id, timeout := s.int64(), s.int32()
		if s.err != nil {
			return
		}
		if v.Session != nil {
			v.Session(id, time.Duration(timeout)*time.Millisecond)
		}
	}
}

func (s *snapshot) acls() {
	for range s.count("ACLs") {
		s.int64()
		n := int(s.int32())
		if n < -1 {
			s.corrupt("%d entries of an ACL", n)
		}
		for i := 0; i < n && s.err == nil; i++ {
			s.int32()
			s.buffer("a scheme")
			s.buffer("an id")
		}
		if s.err != nil {
			return
		}
	}
}

func (s *snapshot) znodes(v Visitor) {
	path := make([]byte, 0, 1024)
	var z Znode // one for all: the visitor gets its address
	for {
		start := s.at
		n := int(s.int32())
		if s.err != nil {
			return
		}
		if n < 0 || n > maxPath {
			s.corrupt("a path of %d bytes (expected 0 to %d)", n, maxPath)
			return
		}
		path = append(path[:0], s.take(n)...)
		switch {
		case s.err != nil:
			return
		case n == 1 && path[0] == '/':
			return // the end: the root's own path is empty
		case n == 0:
			path = append(path, '/')
		case path[0] != '/':
			s.at = start
			s.corrupt("a path that begins with %q", path[0])
			return
		}
		z = Znode{Path: path, Data: s.buffer("data")}
		s.int64() // number of the ACL
		stat := s.take(8*4 + 4*3 + 8 + 8)
		if s.err != nil {
			return
		}
		if v.Znode == nil {
			continue
		}
		d := jute.Decoder{B: stat}
		z.Czxid, z.Mzxid, z.Ctime, z.Mtime = d.Int64(), d.Int64(), d.Int64(), d.Int64()
		z.Version, z.Cversion, z.Aversion = d.Int32(), d.Int32(), d.Int32()
		z.Owner, z.Pzxid = d.Int64(), d.Int64()
		v.Znode(&z)
	}
}

// seals checks the checksum behind the znodes, and those behind what newer servers append: a digest (from 3.6 on, with its zxid and version) and the last zxid
// (from 3.9 on). The lengths of these tell them apart.
func (s *snapshot) seals() {
	const seal = 8 + 4 + 1 // the checksum and "/"
	s.seal()
	if s.err != nil {
		return
	}
	rest, err := s.r.Peek(window)
	if err == nil || !errors.Is(err, io.EOF) {
		if s.err = err; err == nil {
			s.err = &Problem{s.name, s.at, "more follows than a digest and a zxid", ErrFormat}
		}
		return
	}
	const digest, zxid = 8 + 4 + 8, 8
	switch len(rest) {
	case 0:
	case digest + seal:
		s.skip(digest)
		s.seal()
	case zxid + seal:
		s.skip(zxid)
		s.seal()
	case digest + seal + zxid + seal:
		s.skip(digest)
		s.seal()
		s.skip(zxid)
		s.seal()
	default:
		s.textDigest(rest)
	}
}

// textDigest checks the seal behind a digest of version 1, which is a text (DataTree.deserializeZxidDigest).
func (s *snapshot) textDigest(rest []byte) {
	const seal = 8 + 4 + 1
	d := jute.Decoder{B: rest}
	d.Int64()
	version := d.Int32()
	d.Buffer()
	if version > 1 || d.Bad || len(d.B) != seal {
		s.err = &Problem{s.name, s.at, fmt.Sprintf("%d unknown bytes after the znodes", len(rest)), ErrFormat}
		return
	}
	s.skip(len(rest) - seal)
	s.seal()
}

func (s *snapshot) seal() {
	want, start := int64(s.sum.Sum32()), s.at
	if got := s.int64(); s.err == nil && got != want {
		s.at = start
		s.corrupt("checksum 0x%x (expected 0x%x)", want, got)
	}
	s.skip(4 + 1)
}
