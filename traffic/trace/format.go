package trace

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Version is the version of the format that a Writer writes and a Reader reads.
const Version = 1

// What may be wrong with a trace. Errors of a Reader wrap one of them, or that of the file.
var (
	ErrFormat  = errors.New("not a trace of a known version") // another file, or a newer version
	ErrTorn    = errors.New("the trace is incomplete")        // its maker was killed, or a copy of it was
	ErrCorrupt = errors.New("the bytes are not what was written")
)

// magic is what a trace begins with, followed by its version in one byte and by a zstd stream of all the rest.
const magic = "zktrace"

// The bounds that whoever makes a trace of what others have written or sent must keep: a Writer refuses what is beyond them.
const (
	MaxOps  = 1 << 18                      // operations of a Multi
	MaxTime = maxMicros * time.Microsecond // 142 years
	MaxPath = maxPath / 16                 // bytes of a path whose names may be replaced; servers read no request that is longer, unless told to
)

// The bounds of what a trace may have. A Writer refuses what is beyond them, and a Reader does not believe it.
const (
	maxHeader   = 64 << 10 // bytes
	maxPath     = 16 << 20
	maxSize     = 1<<31 - 1
	maxMicros   = 1 << 52        // 142 years
	maxReads    = 1<<31 - 1      // numbers of requests have 31 bits
	mostPaths   = 1 << 16        // in the table
	longestPath = 1 << 10        // bytes, of those in the table, and of what a path shares with the one before
	zstdWindow  = 1 << 20        // bytes
	endOfTrace  = byte(0xff)     // in place of a kind
	digits      = 10             // of a number that the servers append to the name of a sequential znode
	mostNumbers = int64(1) << 31 // of them
)

// The fields that an event may have, as bits: one that is not there is zero.
const (
	hasPath = 1 << iota
	hasGot
	hasSize
	hasCode
	hasTook
	hasTTL
	hasTimeout
	hasVersion
	hasFlags
	hasReads
	hasOps
	hasZxid
	allFields = 1<<iota - 1
)

// fields says which fields an event has.
func fields(e *Event) (f uint64) {
	for _, c := range [...]struct {
		has bool
		bit uint64
	}{{e.Path != "", hasPath}, {e.Got != "", hasGot}, {e.Size != 0, hasSize}, {e.Code != 0, hasCode}, {e.Took != 0, hasTook}, {e.TTL != 0, hasTTL}, {e.Version != 0, hasVersion},
		{e.Flags != 0, hasFlags}, {e.Timeout != 0, hasTimeout}, {e.Reads != 0, hasReads}, {len(e.Ops) > 0, hasOps}, {e.Zxid != 0, hasZxid}} {
		if c.has {
			f |= c.bit
		}
	}
	return f
}

// order is what events must be like in relation to those before. A Writer and a Reader have one each.
type order struct {
	events   int64 // so far
	sessions int
	started  bool // an event that is no Prefill
	micros   uint64
	zxid     int64 // the last one
}

// check returns what is wrong with an event that follows.
func (o *order) check(e *Event) error {
	switch {
	case e.Kind > Notify:
		return fmt.Errorf("kind %d (expected 0 to %d)", e.Kind, Notify)
	case e.Kind == Prefill && o.started:
		return errors.New("a prefilled znode after other events (expected first)")
	case e.Kind == Prefill && e.At != 0:
		return fmt.Errorf("a prefilled znode at %v (expected 0)", e.At)
	case e.Session < -1 || e.Session > o.sessions:
		return fmt.Errorf("session %d (expected -1 to %d: sessions are numbered in the order of their first events)", e.Session, o.sessions)
	}
	o.started = o.started || e.Kind != Prefill
	if e.Session == o.sessions {
		o.sessions++
	}
	o.events++
	return checkRequest(e, false)
}

// checkRequest returns what is wrong with the fields of an event, or of an operation of a Multi.
func checkRequest(e *Event, within bool) error {
	switch {
	case e.Op > OtherOp:
		return fmt.Errorf("operation %d (expected 0 to %d)", e.Op, OtherOp)
	case within && len(e.Ops) > 0:
		return errors.New("a multi within a multi")
	case within && e.Zxid != 0:
		return errors.New("an operation of a multi with a zxid of its own")
	case e.Path != "" && !valid(e.Path) || e.Got != "" && !valid(e.Got):
		return errors.New("a path that does not begin with / or has a NUL")
	case e.Size < 0 || e.Size > maxSize:
		return fmt.Errorf("%d bytes of data (expected 0 to %d)", e.Size, maxSize)
	case e.Reads < 0 || e.Reads > maxReads:
		return fmt.Errorf("%d reads (expected 0 to %d)", e.Reads, maxReads)
	case len(e.Ops) > MaxOps:
		return fmt.Errorf("a multi of %d operations (expected at most %d)", len(e.Ops), MaxOps)
	}
	return nil
}

// valid says whether a path can be that of a znode; whether it is, servers know.
func valid(path string) bool { return path[0] == '/' && strings.IndexByte(path, 0) < 0 }

// table has the last paths of a trace: the same for its Writer and its Reader. Long paths are not in it.
type table struct {
	paths []string         // a ring
	added int64            // paths so far
	where map[string]int64 // path -> its number, counted from 1; only for a Writer
	last  string           // the one before, as far as the next one may share its start
}

// add adds a path.
func (t *table) add(path string) {
	t.last = path[:min(len(path), longestPath)]
	if len(path) > longestPath {
		return
	}
	i := int(t.added % mostPaths)
	if t.added < mostPaths {
		t.paths = append(t.paths, path)
	} else {
		if t.where != nil && t.where[t.paths[i]] == t.added-mostPaths+1 {
			delete(t.where, t.paths[i])
		}
		t.paths[i] = path
	}
	if t.added++; t.where != nil {
		t.where[path] = t.added
	}
}

// back returns the path that was added n paths ago: 1 is the last one.
func (t *table) back(n uint64) (string, bool) {
	if n == 0 || n > uint64(len(t.paths)) {
		return "", false
	}
	return t.paths[(t.added-int64(n))%mostPaths], true
}

// ago returns how many paths ago a path was added; 0: it is not in the table.
func (t *table) ago(path string) uint64 {
	if n := t.where[path]; n > 0 {
		return uint64(t.added - n + 1)
	}
	return 0
}

// Numbered splits the path of a sequential znode into what its client asked for and the number that the servers appended to it: ten digits.
func Numbered(path string) (asked string, number int64, ok bool) {
	if len(path) < digits {
		return path, 0, false
	}
	end := len(path) - digits
	for _, c := range []byte(path[end:]) {
		if c < '0' || c > '9' {
			return path, 0, false
		}
		number = 10*number + int64(c-'0')
	}
	if number >= mostNumbers {
		return path, 0, false
	}
	return path[:end], number, true
}
