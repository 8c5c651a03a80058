package zklog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// contents returns what a log holds, one line a transaction, and its problems.
func contents(b []byte) (lines []string, problems []error) {
	l, err := NewLog(bytes.NewReader(b), "log.1")
	if err != nil {
		return nil, []error{err}
	}
	for {
		t, err := l.Next()
		if err == io.EOF {
			return lines, problems
		}
		if err != nil {
			problems = append(problems, err)
		}
		if t != nil && err == nil {
			lines = append(lines, line(t))
		}
	}
}

// line is all that is known of a transaction.
func line(t *Txn) string {
	s := fmt.Sprintf("%x %d %x %d %s", t.Session, t.Cxid, t.Zxid, t.Millis, recordLine(&t.Record))
	for r := range t.Ops() {
		s += " [" + recordLine(r) + "]"
	}
	for p := range t.Paths() {
		s += " " + string(p)
	}
	if t.Listed {
		s += " listed"
	}
	if t.Digest {
		s += " digest"
	}
	return s
}

func recordLine(r *Record) string {
	s := r.Op.String()
	if r.Path != nil {
		s += " " + string(r.Path)
	}
	switch {
	case r.Op.Creates():
		s += fmt.Sprintf(" %dB ephemeral=%v parent=%d ttl=%v", r.Data, r.Ephemeral, r.ParentCVersion, r.TTL)
	case r.Op == OpSetData || r.Op == OpReconfig:
		s += fmt.Sprintf(" %dB version=%d", r.Data, r.Version)
	case r.Op == OpSetACL || r.Op == OpCheck:
		s += fmt.Sprintf(" version=%d", r.Version)
	case r.Op == OpCreateSession:
		s += " " + r.Timeout.String()
	case r.Code != 0:
		s += fmt.Sprintf(" code=%d", r.Code)
	}
	return s
}

func TestEveryKindOfTransaction(t *testing.T) {
	for _, c := range []struct {
		why   string
		op    Op
		parts [][]byte
		want  string
	}{
		{"a session", OpCreateSession, [][]byte{integer(4000)}, "createSession 4s"},
		{"the end of a session, before 3.6", OpCloseSession, nil, "closeSession"},
		{"the end of a session, before 3.6 but with a digest, which is as long as a list of /abc", OpCloseSession, [][]byte{digest()}, "closeSession digest"},
		{"the end of a session without ephemerals", OpCloseSession, [][]byte{integer(0)}, "closeSession listed"},
		{"the end of a session with a null list", OpCloseSession, [][]byte{null(), digest()}, "closeSession listed digest"},
		{"the end of a session with a short path", OpCloseSession, [][]byte{integer(1), text("/abc")}, "closeSession /abc listed"},
		{"the end of a session with two", OpCloseSession, [][]byte{integer(2), text("/a"), text("/b/c"), digest()}, "closeSession /a /b/c listed digest"},
		{"a create", OpCreate, [][]byte{text("/a"), data(3), world(), flag(true), integer(7)}, "create /a 3B ephemeral=true parent=7 ttl=0s"},
		{"a create of 3.3", OpCreate, [][]byte{text("/a"), null(), null(), flag(false)}, "create /a 0B ephemeral=false parent=-1 ttl=0s"},
		{"a create with a stat", OpCreate2, [][]byte{text("/a"), data(0), world(), flag(false), integer(1), digest()}, "create /a 0B ephemeral=false parent=1 ttl=0s digest"},
		{"a container", OpCreateContainer, [][]byte{text("/c"), data(1), world(), integer(2)}, "createContainer /c 1B ephemeral=false parent=2 ttl=0s"},
		{"a time to live", OpCreateTTL, [][]byte{text("/t"), data(1), world(), integer(2), integer(0), integer(1500)}, "createTTL /t 1B ephemeral=false parent=2 ttl=1.5s"},
		{"a delete", OpDelete, [][]byte{text("/a")}, "delete /a"},
		{"a delete by the servers", OpDeleteContainer, [][]byte{text("/c"), digest()}, "deleteContainer /c digest"},
		{"a set", OpSetData, [][]byte{text("/a"), data(100), integer(9)}, "setData /a 100B version=9"},
		{"an ACL", OpSetACL, [][]byte{text("/a"), world(), integer(2)}, "setACL /a version=2"},
		{"a new ensemble", OpReconfig, [][]byte{text("/zookeeper/config"), data(10), integer(-1)}, "reconfig /zookeeper/config 10B version=-1"},
		{"a failure", OpError, [][]byte{integer(-110)}, "error code=-110"},
		{"a multi", OpMulti, [][]byte{integer(3), op(OpCheck, text("/a"), integer(4)), op(OpCreate, text("/a/b"), data(2), world(), flag(false), integer(1)),
			op(OpDelete, text("/c")), digest()}, "multi [check /a version=4] [create /a/b 2B ephemeral=false parent=1 ttl=0s] [delete /c] digest"},
		{"a multi of which the second failed", OpMulti, [][]byte{integer(3), op(OpDelete, text("/c")), op(OpError, integer(-101)), op(OpError, integer(-2))},
			"multi code=-101 [delete /c] [error code=-101] [error code=-2]"},
		{"an empty multi", OpMulti, [][]byte{integer(0)}, "multi"},
	} {
		lines, problems := contents(logOf(txn(header{0x100000000000001, 5, 0x200000001, 1700000000123, c.op}, c.parts...)))
		want := "100000000000001 5 200000001 1700000000123 " + c.want
		if len(problems) > 0 || !slices.Equal(lines, []string{want}) {
			t.Errorf("%s: read %q, %v, want %q", c.why, lines, problems, want)
		}
	}
}

func TestSequentialNames(t *testing.T) {
	for _, c := range []struct {
		path   string
		parent int32
		number int32
		ok     bool
	}{
		{"/q/lock-0000000012", 13, 12, true}, {"/q/lock-0000000012", 12, 12, false}, {"/q/0000000000", 1, 0, true}, {"/q/lock-0000000012", -1, 12, true},
		{"/q/lock-000000012", 13, 0, false}, {"/q/2147483647", -1 << 31, 1<<31 - 1, true}, {"/q/2147483648", 0, 0, false}, {"/q/x", 1, 0, false},
		{"/q/taken/entry-100-0000000012", 13, 0, false}, {"/taken/0000000012", 13, 0, false}, {"/taken-0000000012", 13, 12, true},
	} {
		r := Record{Op: OpCreate, Path: []byte(c.path), ParentCVersion: c.parent}
		if n, ok := r.Sequential(); ok != c.ok || ok && n != c.number {
			t.Errorf("Sequential of %s below version %d = %d, %v, want %d, %v", c.path, c.parent, n, ok, c.number, c.ok)
		}
	}
}

// Whatever is wrong with a file is told with its place, and what can be read beside it is read.
func TestWhatIsWrongIsToldAndTheRestIsRead(t *testing.T) {
	one := txn(header{1, 1, 1, 1000, OpDelete}, text("/a"))
	two := txn(header{1, 2, 2, 1000, OpDelete}, text("/b"))
	at := len(logOf(one))
	changed := func(b []byte, i int) []byte {
		b = slices.Clone(b)
		b[i] ^= 0x40
		return b
	}
	unknown := txn(header{1, 2, 2, 1000, 99}, text("/b"))
	for _, c := range []struct {
		why   string
		file  []byte
		lines int
		err   error
		at    int
	}{
		{"nothing is wrong", logOf(one, two), 2, nil, 0},
		{"no transaction", logOf(), 0, nil, 0},
		{"preallocated zeros", logOf(one, make([]byte, 1<<20)), 1, nil, 0},
		{"a few zeros", logOf(one, make([]byte, 7)), 1, nil, 0},
		{"no file header", []byte("ZKLG"), 0, ErrTorn, 0},
		{"another file", []byte("PK\x03\x04 and more than a header"), 0, ErrFormat, 0},
		{"a later version", append([]byte("ZKLG\x00\x00\x00\x03"), make([]byte, 8)...), 0, ErrFormat, 4},
		{"half a checksum", logOf(one, two[:5]), 1, ErrTorn, at},
		{"half a transaction", logOf(one, two[:30]), 1, ErrTorn, at},
		{"all but the last byte", logOf(one, two[:len(two)-1]), 1, ErrTorn, at},
		{"half a transaction in preallocated zeros", logOf(one, two[:30], make([]byte, 4096)), 1, ErrTorn, at},
		{"a checksum in preallocated zeros", logOf(one, two[:8], make([]byte, 4096)), 1, ErrTorn, at},
		{"a changed byte in the middle", logOf(one, changed(two, 20), one), 1, ErrCorrupt, at},
		{"a changed end", logOf(one, changed(two, len(two)-1), one), 1, ErrCorrupt, at},
		{"2 GB", logOf(one, make([]byte, 8), integer(1<<31-1), one), 1, ErrCorrupt, at},
		{"a negative length", logOf(one, make([]byte, 8), integer(-5), one), 1, ErrCorrupt, at},
		{"more than the longest", logOf(one, make([]byte, 8), integer(MaxTxn+1), one), 1, ErrCorrupt, at},
		{"a length without its bytes", logOf(one, make([]byte, 8), integer(MaxTxn), one), 1, ErrTorn, at},
		{"an unknown type", logOf(one, unknown, two), 2, ErrFormat, at},
		{"too many bytes", logOf(one, txn(header{1, 2, 2, 0, OpDelete}, text("/b"), flag(true)), two), 2, ErrFormat, at},
		{"too few bytes", logOf(one, txn(header{1, 2, 2, 0, OpSetData}, text("/b")), two), 2, ErrFormat, at},
		{"a path that is none", logOf(one, txn(header{1, 2, 2, 0, OpDelete}, text("b")), two), 2, ErrFormat, at},
		{"a path of 2 GB", logOf(one, txn(header{1, 2, 2, 0, OpDelete}, integer(1<<31-1)), two), 2, ErrFormat, at},
		{"an ACL of a negative number of entries", logOf(one, txn(header{1, 2, 2, 0, OpSetACL}, text("/b"), integer(-7), integer(1)), two), 2, ErrFormat, at},
		{"an ACL of 2 G entries", logOf(one, txn(header{1, 2, 2, 0, OpSetACL}, text("/b"), integer(1<<31-1), integer(1)), two), 2, ErrFormat, at},
		{"a multi of 2 G operations", logOf(one, txn(header{1, 2, 2, 0, OpMulti}, integer(1<<31-1)), two), 2, ErrFormat, at},
		{"a multi of -2 operations", logOf(one, txn(header{1, 2, 2, 0, OpMulti}, integer(-2)), two), 2, ErrFormat, at},
		{"a multi in a multi", logOf(one, txn(header{1, 2, 2, 0, OpMulti}, integer(1), op(OpMulti, integer(0))), two), 2, ErrFormat, at},
		{"an operation of a negative length", logOf(one, txn(header{1, 2, 2, 0, OpMulti}, integer(1), integer(2), integer(-3), integer(1)), two), 2, ErrFormat, at},
	} {
		lines, problems := contents(c.file)
		if len(lines) != c.lines || len(problems) > 1 || (c.err == nil) != (len(problems) == 0) {
			t.Errorf("%s: %d transactions, problems %v, want %d and %v", c.why, len(lines), problems, c.lines, c.err)
			continue
		}
		var p *Problem
		if c.err != nil && (!errors.As(problems[0], &p) || !errors.Is(p, c.err) || p.Offset != int64(c.at) || p.File != "log.1") {
			t.Errorf("%s: %v, want %v at %d", c.why, problems[0], c.err, c.at)
		}
	}
}

// A transaction that does not fit into the window is read all the same, and the next one too.
func TestALongTransaction(t *testing.T) {
	long := txn(header{1, 1, 1, 0, OpSetData}, text("/a"), data(5*window/2), integer(1))
	short := txn(header{1, 2, 2, 0, OpDelete}, text("/b"))
	edge := txn(header{1, 3, 3, 0, OpSetData}, text("/a"), data(window-12-1-headerBytes-4-2-4-4), integer(1)) // fills it to the last byte
	if len(edge) != window {
		t.Fatalf("the transaction has %d bytes, want %d", len(edge), window)
	}
	lines, problems := contents(logOf(short, long, short, edge, short))
	if len(lines) != 5 || len(problems) > 0 || !strings.HasSuffix(lines[1], fmt.Sprintf("setData /a %dB version=1", 5*window/2)) {
		t.Errorf("%d transactions, problems %v", len(lines), problems)
	}
	if _, problems = contents(logOf(short, long[:len(long)-1])); len(problems) != 1 || !errors.Is(problems[0], ErrTorn) {
		t.Errorf("of a long transaction without its end: %v, want %v", problems, ErrTorn)
	}
}

// A length costs no memory before its bytes are there.
func TestALengthAloneAllocatesNothing(t *testing.T) {
	hostile := logOf(make([]byte, 8), integer(MaxTxn), make([]byte, 100))
	if n := allocated(func() { contents(hostile) }); n > 3*window {
		t.Errorf("%d bytes allocated for a length of %d with 100 bytes", n, MaxTxn)
	}
	many := logOf(txn(header{1, 1, 1, 0, OpMulti}, integer(100_000), bytes.Repeat(op(OpError, integer(0)), 100_000)))
	ops := 0
	if n := allocated(func() {
		l, _ := NewLog(bytes.NewReader(many), "log.1")
		txn, err := l.Next()
		if err != nil {
			t.Fatal(err)
		}
		ops = 0
		for range txn.Ops() {
			ops++
		}
	}); n > 8*window || ops != 100_000 {
		t.Errorf("%d bytes allocated for a multi of %d operations in %d bytes", n, ops, len(many))
	}
}

// allocated returns how many bytes do allocates.
func allocated(do func()) uint64 {
	least := uint64(math.MaxUint64)
	for range 3 { // what the runtime allocates meanwhile counts, too
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		do()
		runtime.ReadMemStats(&after)
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	return least
}

func TestReadingAllocatesNothingPerTransaction(t *testing.T) {
	file := logOf(bytes.Repeat(txn(header{1, 1, 1, 0, OpCreate}, text("/a"), data(30), world(), flag(true), integer(1), digest()), 10_000))
	if n := testing.AllocsPerRun(3, func() {
		l, _ := NewLog(bytes.NewReader(file), "log.1")
		for {
			if _, err := l.Next(); err != nil {
				return
			}
		}
	}); n > 10 {
		t.Errorf("%v allocations for 10,000 transactions", n)
	}
}

func BenchmarkLog(b *testing.B) {
	file := logOf(bytes.Repeat(txn(header{1, 1, 1, 0, OpCreate}, text("/a/directory/lock-0000000001"), data(100), world(), flag(true), integer(2), digest()), 100_000))
	b.SetBytes(int64(len(file)))
	for b.Loop() {
		l, _ := NewLog(bytes.NewReader(file), "log.1")
		for {
			if _, err := l.Next(); err != nil {
				break
			}
		}
	}
}

func TestTimes(t *testing.T) {
	if got := (&Txn{Millis: 1700000000123}).Time(); !got.Equal(time.Date(2023, 11, 14, 22, 13, 20, 123e6, time.UTC)) {
		t.Errorf("Time() = %v", got)
	}
	if got := (&Txn{Session: -0x7eff_0000_0000_0000}).Server(); got != 0x81 {
		t.Errorf("Server() = %d, want 129", got)
	}
}

func FuzzLog(f *testing.F) {
	one := txn(header{1, 1, 1, 1000, OpCreate}, text("/a"), data(3), world(), flag(true), integer(7), digest())
	f.Add(logOf(one, make([]byte, 100)))
	f.Add(logOf(txn(header{1, 1, 1, 1000, OpMulti}, integer(2), op(OpDelete, text("/c")), op(OpError, integer(-101))), one))
	f.Add(logOf(txn(header{1, 0, 1, 1000, OpCloseSession}, integer(2), text("/a"), text("/b/c"), digest())))
	f.Fuzz(func(t *testing.T, b []byte) {
		lines, problems := contents(b)
		if len(lines)+len(problems) > len(b)/(headerBytes+13)+2 {
			t.Errorf("%d transactions and %d problems in %d bytes", len(lines), len(problems), len(b))
		}
		for _, err := range problems {
			if p := (*Problem)(nil); !errors.As(err, &p) || p.Offset < 0 || p.Offset > int64(len(b)) {
				t.Errorf("problem %v of %d bytes", err, len(b))
			}
		}
	})
}

// Records are fuzzed apart, because hardly anything that is drawn has a right checksum.
func FuzzRecord(f *testing.F) {
	f.Add(bare(header{1, 1, 1, 1000, OpCreate}, text("/a"), data(3), world(), flag(true), integer(7), digest()))
	f.Add(bare(header{1, 1, 1, 1000, OpMulti}, integer(2), op(OpDelete, text("/c")), op(OpError, integer(-101))))
	f.Add(bare(header{1, 0, 1, 1000, OpCloseSession}, integer(2), text("/a"), text("/b/c"), digest()))
	f.Add(bare(header{1, 0, 1, 1000, OpSetACL}, text("/a"), world(), integer(1)))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) == 0 || len(b) > MaxTxn {
			return
		}
		var tx Txn
		tx.parse(b)
		n := 0
		for range tx.Ops() {
			n++
		}
		for range tx.Paths() {
			n++
		}
		if n != tx.Count {
			t.Errorf("%v with %d elements says that there are %d", tx.Op, n, tx.Count)
		}
	})
}
