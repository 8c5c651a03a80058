package zklog

import (
	"hash/adler32"
	"math"
	"slices"

	"github.com/zkbench/zkbench/internal/jute"
)

// logOf is a transaction log with the transactions, which append made.
func logOf(txns ...[]byte) []byte {
	b := jute.AppendInt64(jute.AppendInt32([]byte(logMagic), fileVersion), 0)
	return append(b, slices.Concat(txns...)...)
}

// framed puts the checksum, the length and the end around a transaction.
func framed(body []byte) []byte {
	b := jute.AppendInt64(nil, int64(adler32.Checksum(body)))
	return append(jute.AppendBuffer(b, body), endOfTxn)
}

type header struct {
	session int64
	cxid    int32
	zxid    int64
	millis  int64
	op      Op
}

func txn(h header, parts ...[]byte) []byte { return framed(bare(h, parts...)) }

func bare(h header, parts ...[]byte) []byte {
	b := jute.AppendInt64(nil, h.session)
	b = jute.AppendInt32(b, h.cxid)
	b = jute.AppendInt64(b, h.zxid)
	b = jute.AppendInt64(b, h.millis)
	b = jute.AppendInt32(b, int32(h.op))
	return append(b, slices.Concat(parts...)...)
}

func integer(n int32) []byte { return jute.AppendInt32(nil, n) }
func text(s string) []byte   { return jute.AppendString(nil, s) }
func data(n int) []byte      { return jute.AppendBuffer(nil, make([]byte, n)) }
func flag(b bool) []byte     { return jute.AppendBool(nil, b) }
func digest() []byte         { return jute.AppendInt64(integer(2), 0x123456789a) }
func null() []byte           { return integer(-1) }
func world() []byte          { return []byte(jute.World) }
func op(o Op, parts ...[]byte) []byte {
	return jute.AppendBuffer(integer(int32(o)), slices.Concat(parts...))
}

// snapshotOf is a snapshot with sessions, one ACL, and znodes, which znode made; tail follows the znodes' seal.
func snapshotOf(sessions map[int64]int32, znodes [][]byte, tail ...[]byte) []byte {
	b := jute.AppendInt64(jute.AppendInt32([]byte(snapshotMagic), fileVersion), -1)
	b = jute.AppendInt32(b, int32(len(sessions)))
	for id, timeout := range sessions {
		b = jute.AppendInt32(jute.AppendInt64(b, id), timeout)
	}
	b = append(jute.AppendInt64(jute.AppendInt32(b, 1), 1), jute.World...)
	for _, z := range znodes {
		b = append(b, z...)
	}
	b = sealed(append(b, text("/")...))
	for _, part := range tail {
		b = sealed(append(b, part...))
	}
	return b
}

func sealed(b []byte) []byte {
	return append(jute.AppendInt64(b, int64(adler32.Checksum(b))), text("/")...)
}

func znode(path string, bytes int, czxid, ctime, owner int64) []byte {
	b := append(text(path), data(bytes)...)
	b = jute.AppendInt64(b, -1)
	for _, n := range []int64{czxid, czxid, ctime, ctime} {
		b = jute.AppendInt64(b, n)
	}
	for _, n := range []int32{1, 2, 3} {
		b = jute.AppendInt32(b, n)
	}
	return jute.AppendInt64(jute.AppendInt64(b, owner), czxid)
}

const container = math.MinInt64
