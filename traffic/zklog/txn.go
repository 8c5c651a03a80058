package zklog

import (
	"bytes"
	"fmt"
	"iter"
	"time"

	"github.com/zkbench/zkbench/internal/jute"
)

// Record is one change: a transaction, or one operation of a multi.
type Record struct {
	Op        Op
	Path      []byte // without the root of any client; nil where there is none. It is valid until the next transaction is read
	Data      int    // bytes of data of a create or setData; 0 also for null
	Ephemeral bool   // of OpCreate and OpCreate2
	// ParentCVersion is the version of the parent's list of children after a create; -1 where the log does not have it (servers before 3.4).
	ParentCVersion int32
	Version        int32         // of setData and setACL: the version after; of a check: one above the version asked for, as the servers log it
	TTL            time.Duration // of a createTTL
	Timeout        time.Duration // of a createSession
	Code           int32         // why it failed, as ZooKeeper's error codes: of OpError, and of a multi that failed as a whole
}

// Sequential returns the number that the server appended to the name of a sequential znode: ten digits, how many children
// the parent had ever got before, as its version of children says (PrepRequestProcessor.pRequest2TxnCreate). Where the log does not have that version, ten digits are enough.
func (r *Record) Sequential() (number int32, ok bool) {
	number, ok = SequentialName(r.Path)
	if ok && r.ParentCVersion != -1 && r.Op.Creates() {
		ok = number == r.ParentCVersion-1
	}
	return number, ok
}

// ClaimOf returns the directory of the items that a path is a claim of: kazoo's LockingQueue, and zkbench's after it, claims entries/NAME with an ephemeral taken/NAME.
func ClaimOf(path []byte) (entries []byte, ok bool) {
	base, ok := bytes.CutSuffix(path[:max(0, bytes.LastIndexByte(path, '/'))], []byte("/taken"))
	if !ok {
		return nil, false
	}
	return append(bytes.Clone(base), "/entries"...), true
}

// SequentialName returns the number at the end of a path that has the form of a sequential znode's: ten digits, as from Java's %010d. A claim has the number of its item,
// which may happen to be that of the claim too.
func SequentialName(path []byte) (number int32, ok bool) {
	const digits = 10
	if _, claim := ClaimOf(path); claim || len(path) < digits {
		return 0, false
	}
	var n int64
	for _, c := range path[len(path)-digits:] {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int64(c-'0')
	}
	if n > 1<<31-1 {
		return 0, false
	}
	return int32(n), true
}

// Txn is one transaction of a log. It is valid until the next one is read.
type Txn struct {
	Record
	Session int64 // whose request it was; 0: the servers' own
	// Cxid is the number of the request among all requests of the client, reads included, if the client counts them so. 0 is the servers' doing:
	// of a closeSession, that the session expired or was ended by an administrator.
	Cxid   int32
	Zxid   int64
	Millis int64 // by the leader's clock, since 1970
	Count  int   // operations of a multi; paths of a closeSession
	Listed bool  // a closeSession names the ephemeral znodes that it deleted, as it does from 3.6 on
	Digest bool  // the servers' digest of all znodes follows, as it does from 3.6 on
	Bytes  int   // of the transaction in the log
	Offset int64 // where its checksum starts in the file

	body []byte // of a multi and a closeSession: what follows the count
}

// Time returns when the leader made the transaction.
func (t *Txn) Time() time.Time { return time.UnixMilli(t.Millis) }

// Failed says whether the transaction changed nothing because the request was refused.
func (t *Txn) Failed() bool { return t.Op == OpError || t.Op == OpMulti && t.Code != 0 }

// Server returns the number of the member that created the session: the top byte of its id (SessionTrackerImpl.initializeNextSessionId).
func (t *Txn) Server() int { return ServerOf(t.Session) }

// ServerOf returns the number of the member that created a session.
func ServerOf(session int64) int { return int(uint64(session) >> 56) }

// Ops yields the operations of a multi, in order. Of one that has failed, no operation was carried out: those before the failure have their own types,
// those from there on are of OpError.
func (t *Txn) Ops() iter.Seq[*Record] {
	return func(yield func(*Record) bool) {
		if t.Op != OpMulti {
			return
		}
		d, r := jute.Decoder{B: t.body}, Record{}
		for range t.Count {
			if readOp(&d, &r); d.Bad || !yield(&r) {
				return
			}
		}
	}
}

// Paths yields the ephemeral znodes that a closeSession has deleted, if it lists them.
func (t *Txn) Paths() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if t.Op != OpCloseSession {
			return
		}
		d := jute.Decoder{B: t.body}
		for range t.Count {
			if p := d.Buffer(); d.Bad || !yield(p) {
				return
			}
		}
	}
}

const (
	headerBytes = 8 + 4 + 8 + 8 + 4
	digestBytes = 4 + 8
	codeRuntime = -2 // RUNTIMEINCONSISTENCY: of an operation of a multi that was not tried, because an earlier one had failed
)

// parse reads a transaction. If only its header could be read, the transaction has no more than that, and the error says why.
func (t *Txn) parse(b []byte) (detail string, err error) {
	d := jute.Decoder{B: b}
	*t = Txn{Session: d.Int64(), Cxid: d.Int32(), Zxid: d.Int64(), Millis: d.Int64(), Record: Record{Op: Op(d.Int32())}, Bytes: t.Bytes, Offset: t.Offset}
	if d.Bad {
		return fmt.Sprintf("%d bytes are too short for a transaction", len(b)), ErrFormat
	}
	rest, header := d.B, t.Record
	switch t.Op {
	case OpCloseSession:
		t.parseClose(rest)
		return "", nil
	case OpMulti:
		t.Count = d.Count(8) // type and length of an operation
		t.body = d.B
		detail = t.parseMulti(&d)
	default:
		if !readRecord(&d, &t.Record) {
			return fmt.Sprintf("transaction 0x%x is of the unknown %v", t.Zxid, t.Op), ErrFormat
		}
		if t.Op == OpCreate && !trailer(&d) { // servers before 3.4 write no version of the parent
			old := jute.Decoder{B: rest}
			r := Record{Op: OpCreate, ParentCVersion: -1}
			readCreate(&old, &r)
			if trailer(&old) {
				t.Record, d = r, old
			}
		}
	}
	if !trailer(&d) {
		t.Record, t.Count, t.body = header, 0, nil
		if detail == "" {
			detail = fmt.Sprintf("transaction 0x%x (%v): its record does not fill its %d bytes", t.Zxid, t.Op, len(b))
		}
		return detail, ErrFormat
	}
	t.Digest = len(d.B) == digestBytes
	return "", nil
}

// trailer says whether the record was complete and is followed by a digest or nothing.
func trailer(d *jute.Decoder) bool { return !d.Bad && (len(d.B) == 0 || len(d.B) == digestBytes) }

// parseClose reads what a closeSession may have: nothing, a list of paths, a digest, or both. A digest alone is as long as the list of one short path, but such
// a list begins with the number 1, and the digest with its version, which is 2 or more.
func (t *Txn) parseClose(rest []byte) {
	d := jute.Decoder{B: rest}
	n := d.Count(4)
	body := d.B
	for range n {
		if p := d.Buffer(); len(p) == 0 || p[0] != '/' {
			d.Bad = true
			break
		}
	}
	if trailer(&d) && len(rest) > 0 {
		t.Listed, t.Count, t.body, t.Digest = true, n, body, len(d.B) == digestBytes
		return
	}
	t.Digest = len(rest) == digestBytes
}

// parseMulti checks all operations of a multi, and finds out whether it failed and why.
func (t *Txn) parseMulti(d *jute.Decoder) (detail string) {
	var r Record
	for i := range t.Count {
		if !readOp(d, &r) || d.Bad {
			d.Bad = true
			return fmt.Sprintf("transaction 0x%x: operation %d of %d of the multi (%v) cannot be read", t.Zxid, i+1, t.Count, r.Op)
		}
		if r.Op == OpError && r.Code != 0 && (t.Code == 0 || t.Code == codeRuntime) {
			t.Code = r.Code
		}
	}
	return ""
}

// readOp reads one operation of a multi, its length included; false: it is of an unknown type, or not what its length says. A multi within a multi is none.
func readOp(d *jute.Decoder, r *Record) bool {
	*r = Record{Op: Op(d.Int32())}
	own := jute.Decoder{B: d.Buffer()}
	return !d.Bad && readRecord(&own, r) && !own.Bad && len(own.B) == 0
}

// readRecord reads the record of r.Op, unless that is unknown.
func readRecord(d *jute.Decoder, r *Record) bool {
	switch r.Op {
	case OpCreateSession:
		r.Timeout = time.Duration(d.Int32()) * time.Millisecond
	case OpError:
		r.Code = d.Int32()
	case OpCreate, OpCreate2:
		readCreate(d, r)
		r.ParentCVersion = d.Int32()
	case OpCreateContainer:
		r.Path, r.Data = path(d), len(d.Buffer())
		skipACL(d)
		r.ParentCVersion = d.Int32()
	case OpCreateTTL:
		r.Path, r.Data = path(d), len(d.Buffer())
		skipACL(d)
		r.ParentCVersion = d.Int32()
		r.TTL = time.Duration(d.Int64()) * time.Millisecond
	case OpDelete, OpDeleteContainer:
		r.Path = path(d)
	case OpSetData, OpReconfig:
		r.Path, r.Data, r.Version = path(d), len(d.Buffer()), d.Int32()
	case OpSetACL:
		r.Path = path(d)
		skipACL(d)
		r.Version = d.Int32()
	case OpCheck:
		r.Path, r.Version = path(d), d.Int32()
	default:
		return false
	}
	return true
}

// readCreate reads what all versions write of a create.
func readCreate(d *jute.Decoder, r *Record) {
	r.Path, r.Data = path(d), len(d.Buffer())
	skipACL(d)
	r.Ephemeral = d.Bool()
}

// path reads the path of a znode: it begins with a slash and has no NUL, as PathUtils.validatePath demands.
func path(d *jute.Decoder) []byte {
	p := d.Buffer()
	if len(p) == 0 || p[0] != '/' || bytes.IndexByte(p, 0) >= 0 {
		d.Bad = true
		return nil
	}
	return p
}

// skipACL skips a list of permissions, schemes and ids.
func skipACL(d *jute.Decoder) {
	for range d.Count(12) {
		if d.Take(4); d.Bad {
			return
		}
		d.Buffer()
		d.Buffer()
	}
}
