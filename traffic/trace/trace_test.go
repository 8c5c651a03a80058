package trace

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/klauspost/compress/zstd"
)

var header = Header{Maker: "zkbench trace test", Source: "somewhere", Start: time.Unix(1_700_000_000, 0).UTC(), Names: true, Reads: true}

// everything has each kind of event and each field.
func everything() []Event {
	long := "/long/" + strings.Repeat("x", 5000)
	return []Event{
		{Kind: Prefill, Path: "/", Session: -1},
		{Kind: Prefill, Path: "/a", Size: 1<<31 - 1, Session: -1, Flags: Container},
		{Kind: Prefill, Path: "/a/e", Size: 3, Session: 0, Flags: Ephemeral},
		{Kind: Resume, Session: 0, Timeout: 4 * time.Second},
		{Kind: Open, Session: 1, At: 5 * time.Microsecond, Timeout: 30 * time.Second},
		{Kind: Request, Session: 1, At: time.Millisecond, Op: Create, Path: "/a/lock-", Got: "/a/lock-0000000007", Flags: Ephemeral | Sequential, Size: 9, Took: 3 * time.Millisecond},
		{Kind: Request, Session: 1, At: time.Millisecond, Op: Create, Path: "/a/lock-", Got: "/a/lock--000000007", Flags: Sequential},
		{Kind: Request, Session: 1, At: time.Millisecond, Op: Create, Path: "/t", Flags: TTL, TTL: time.Hour, Code: -110},
		{Kind: Request, Session: 0, At: time.Second, Op: Delete, Path: "/a/lock-0000000007", Version: -1, Flags: NoVersion, Reads: 1000, Zxid: 1<<63 - 1},
		{Kind: Request, Session: 0, At: time.Second, Op: Set, Path: long, Version: 1<<31 - 1},
		{Kind: Request, Session: 0, At: time.Second, Op: Get, Path: long, Flags: Watch, Code: Pending},
		{Kind: Notify, Session: 0, At: time.Minute, Path: "/a", Code: 4},
		{Kind: Request, Session: -1, At: time.Hour, Op: Multi, Code: -101, Ops: []Event{{Op: Check, Path: "/a", Version: -1 << 31}, {Op: Delete, Path: "/a/b", Code: -101}, {Code: -2}}},
		{Kind: Request, Session: 1, At: time.Hour, Op: Multi, Ops: []Event{{Op: Create, Path: "/a/s", Got: "/a/s0000000001", Size: 1}}, Zxid: -1 << 63},
		{Kind: Close, Session: 1, At: 30 * 24 * time.Hour, Reads: 1<<31 - 1},
		{Kind: Expire, Session: 0, At: 30 * 24 * time.Hour},
	}
}

// written is a trace with the events.
func written(t testing.TB, events []Event) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := NewWriter(&b, header)
	if err != nil {
		t.Fatal(err)
	}
	for i := range events {
		if err := w.Write(&events[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// read returns the events that can be read, and the error that ends them.
func read(r io.Reader) (all []Event, err error) {
	t, err := NewReader(r)
	if err != nil {
		return nil, err
	}
	for {
		e, err := t.Next()
		if err != nil {
			if _, again := t.Next(); again != err {
				err = fmt.Errorf("%w, and then %v", err, again)
			}
			return all, err
		}
		own := *e
		own.Ops = append([]Event(nil), e.Ops...)
		all = append(all, own)
	}
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	t.Parallel()
	want := everything()
	b := written(t, want)
	r, err := NewReader(bytes.NewReader(b))
	wantHeader := header
	wantHeader.Version = Version
	if err != nil || r.Header() != wantHeader {
		t.Fatalf("header %+v, %v, want %+v", r.Header(), err, wantHeader)
	}
	got, err := read(iotest.OneByteReader(bytes.NewReader(b)))
	if err != io.EOF || len(got) != len(want) {
		t.Fatalf("%d events of %d, %v", len(got), len(want), err)
	}
	for i := range want {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Errorf("event %d: %+v, want %+v", i, got[i], want[i])
		}
	}
}

// Paths that come again after others have pushed them out of the table are read as well.
func TestMorePathsThanTheTableHas(t *testing.T) {
	t.Parallel()
	var want []Event
	for round := range 2 {
		for i := range mostPaths + 100 {
			want = append(want, Event{Kind: Request, Session: 0, Op: Create, Path: "/q/", Got: fmt.Sprintf("/q/%010d", i)},
				Event{Kind: Request, Session: 0, Op: Set, Path: fmt.Sprintf("/d/%d", i%(5+round)), Size: i}, Event{Kind: Request, Session: 0, Op: Delete, Path: fmt.Sprintf("/q/%010d", i)})
		}
	}
	b := written(t, want)
	got, err := read(bytes.NewReader(b))
	if err != io.EOF || len(got) != len(want) {
		t.Fatalf("%d events of %d, %v", len(got), len(want), err)
	}
	for i := range want {
		if want[i].Path != got[i].Path || want[i].Got != got[i].Got || want[i].Size != got[i].Size {
			t.Fatalf("event %d: %+v, want %+v", i, got[i], want[i])
		}
	}
	if most := 4 * len(want); len(b) > most {
		t.Errorf("%d bytes for %d events, want at most %d", len(b), len(want), most)
	}
}

// A trace that ends early at any byte is told from a complete one, and what is whole of it is read.
func TestTornTraces(t *testing.T) {
	t.Parallel()
	want := everything()
	var b bytes.Buffer
	w, _ := NewWriter(&b, header)
	for i := range want {
		if err := errors.Join(w.Write(&want[i]), w.Flush()); err != nil {
			t.Fatal(err)
		}
	}
	flushed := b.Len()
	if got, err := read(bytes.NewReader(b.Bytes())); len(got) != len(want) || !errors.Is(err, ErrTorn) {
		t.Errorf("what was flushed: %d events of %d, %v, want all and ErrTorn", len(got), len(want), err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	most := 0
	for n := 1; n < b.Len(); n++ {
		got, err := read(bytes.NewReader(b.Bytes()[:n]))
		if !errors.Is(err, ErrTorn) {
			t.Errorf("%d bytes of %d: %d events, %v, want ErrTorn", n, b.Len(), len(got), err)
		}
		if len(got) < most {
			t.Errorf("%d bytes: %d events, but %d in less", n, len(got), most)
		}
		most = len(got)
	}
	if most != len(want) || flushed >= b.Len() {
		t.Errorf("%d events of %d in what was cut last; %d bytes flushed of %d", most, len(want), flushed, b.Len())
	}
	failing := errors.New("the disk is gone")
	if _, err := read(io.MultiReader(bytes.NewReader(b.Bytes()[:flushed]), iotest.ErrReader(failing))); !errors.Is(err, failing) || errors.Is(err, ErrTorn) {
		t.Errorf("of a file that fails: %v", err)
	}
}

// A byte that has changed is noticed, at the latest by the checksum at the end, unless it means the same as before.
func TestChangedBytes(t *testing.T) {
	t.Parallel()
	b := written(t, everything())
	want, _ := read(bytes.NewReader(b))
	for i := range b {
		changed := bytes.Clone(b)
		changed[i] ^= 0x10
		if got, err := read(bytes.NewReader(changed)); err == nil || err == io.EOF && !reflect.DeepEqual(got, want) {
			t.Errorf("byte %d of %d changed: %d events and no error", i, len(b), len(got))
		}
	}
}

// raw is a trace of the bytes behind its header.
func raw(t testing.TB, parts ...[]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	b.WriteString(magic)
	b.WriteByte(Version)
	w, err := zstd.NewWriter(&b, zstd.WithWindowSize(zstdWindow))
	if err != nil {
		t.Fatal(err)
	}
	w.Write([]byte("\x0d{\"version\":1}"))
	for _, p := range parts {
		w.Write(p)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func u(n uint64) []byte { return binary.AppendUvarint(nil, n) }
func v(n int64) []byte  { return binary.AppendVarint(nil, n) }

func TestHostileTraces(t *testing.T) {
	head := []byte{byte(Request), 0, 1, byte(Set)} // of session 0, at 0
	end := []byte{endOfTrace, 1}
	for _, c := range []struct {
		why   string
		parts [][]byte
		want  string
	}{
		{"a good one", [][]byte{head, u(hasPath | hasSize), u(0), u(0), u(2), []byte("/a"), u(1<<31 - 1), end}, "EOF"},
		{"a wrong count at the end", [][]byte{head, u(0), {endOfTrace, 2}}, "should have 2 events"},
		{"something behind the end", [][]byte{head, u(0), end, {0}}, "more follows"},
		{"an unknown kind", [][]byte{{7, 0, 1, 0, 0}}, "kind 7"},
		{"an unknown operation", [][]byte{{byte(Request), 0, 1, byte(OtherOp) + 1, 0}}, "operation 13"},
		{"unknown fields", [][]byte{head, u(allFields + 1)}, "fields"},
		{"a session from nowhere", [][]byte{{byte(Open), 0}, u(1 << 40)}, "session"},
		{"a later time than there is", [][]byte{{byte(Open)}, u(maxMicros + 1)}, "microseconds"},
		{"times that add up to more", [][]byte{{byte(Request)}, u(maxMicros), {1, 0, 0}, {byte(Request), 1, 1, 0, 0}}, "microseconds"},
		{"a number of 70 bits", [][]byte{{byte(Request)}, bytes.Repeat([]byte{0xff}, 10)}, "overflow"},
		{"a path of 2 GB", [][]byte{head, u(hasPath), u(0), u(0), u(2 << 30), []byte("/a")}, "bytes of a path"},
		{"a path of 2^63", [][]byte{head, u(hasPath), u(0), u(0), u(1 << 63), []byte("/a")}, "bytes of a path"},
		{"a path that ends early", [][]byte{head, u(hasPath), u(0), u(0), u(maxPath), []byte("/a")}, "incomplete"},
		{"a path that shares with nothing", [][]byte{head, u(hasPath), u(0), u(1), u(2), []byte("/a")}, "shared bytes"},
		{"a path of no znode", [][]byte{head, u(hasPath), u(0), u(0), u(2), []byte("ab")}, "begin with /"},
		{"a path with a NUL", [][]byte{head, u(hasPath), u(0), u(0), u(2), []byte("/\x00")}, "NUL"},
		{"a path that was not there", [][]byte{head, u(hasPath), u(1)}, "the path 1 before, of 0"},
		{"2 GB of data", [][]byte{head, u(hasSize), u(2 << 30)}, "bytes of data"},
		{"-1 bytes of data", [][]byte{head, u(hasSize), u(math64(-1))}, "bytes of data"},
		{"-1 reads", [][]byte{head, u(hasReads), u(math64(-1))}, "reads"},
		{"a code of 33 bits", [][]byte{head, u(hasCode), v(1 << 32)}, "32 bits"},
		{"2^31 operations", [][]byte{head, u(hasOps), u(1 << 31)}, "operations of a multi"},
		{"-1 operations", [][]byte{head, u(hasOps), u(math64(-1))}, "operations of a multi"},
		{"operations that are not there", [][]byte{head, u(hasOps), u(MaxOps)}, "incomplete"},
		{"a multi within a multi", [][]byte{head, u(hasOps), u(1), {byte(Multi)}, u(hasOps), u(1)}, "within a multi"},
		{"a zxid within a multi", [][]byte{head, u(hasOps), u(1), {byte(Set)}, u(hasZxid), v(5)}, "a zxid of its own"},
		{"a prefill afterwards", [][]byte{head, u(0), {byte(Prefill), 0, 0, 0, 0}}, "prefilled"},
		{"a number of a sequential znode of 33 bits", [][]byte{head, u(hasGot), u(1 << 32)}, "sequential"},
	} {
		t.Run(c.why, func(t *testing.T) {
			b := raw(t, c.parts...)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := read(bytes.NewReader(b))
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if got := after.TotalAlloc - before.TotalAlloc; got > 16<<20 {
				t.Errorf("%d bytes allocated for a trace of %d", got, len(b))
			}
		})
	}
	for text, want := range map[string]error{"": ErrFormat, "zk": ErrTorn, "ZKLG\x00\x00\x00\x02": ErrFormat, magic + "\x02": ErrFormat, magic: ErrTorn, magic + "\x01": ErrTorn,
		magic + "\x01no stream at all": ErrCorrupt} {
		if _, err := NewReader(strings.NewReader(text)); !errors.Is(err, want) {
			t.Errorf("of %q: %v, want %v", text, err, want)
		}
	}
}

func math64(n int64) uint64 { return uint64(n) }

func TestWriterRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		events []Event
		want   string
	}{
		{[]Event{{Kind: Open, At: 2 * time.Second}, {Kind: Close, At: time.Second}}, "before the previous"},
		{[]Event{{Kind: Open, At: -time.Second}}, "a time of -1s"},
		{[]Event{{Kind: Open}, {Kind: Prefill, Path: "/a"}}, "a prefilled znode after"},
		{[]Event{{Kind: Prefill, Path: "/a", At: time.Second}}, "expected 0"},
		{[]Event{{Kind: Open, Session: 1}}, "session 1 (expected -1 to 0"},
		{[]Event{{Kind: Request, Op: Set, Path: "a"}}, "begin with /"},
		{[]Event{{Kind: Request, Op: Set, Path: "/a", Size: -1}}, "-1 bytes"},
		{[]Event{{Kind: Request, Op: Get, Path: "/a", Reads: -1}}, "-1 reads"},
		{[]Event{{Kind: Request, Op: Get, Path: "/a", Took: -1e6}}, "a time of -1ms"},
		{[]Event{{Kind: Request, Op: Multi, Ops: []Event{{Op: Multi, Ops: []Event{{}}}}}}, "within a multi"},
		{[]Event{{Kind: Request, Op: Multi, Ops: make([]Event, MaxOps+1)}}, "operations"},
		{[]Event{{Kind: Request, Op: Set, Path: "/" + strings.Repeat("a", maxPath)}}, "a path of"},
	} {
		w, err := NewWriter(io.Discard, header)
		for i := range c.events {
			if err == nil {
				err = w.Write(&c.events[i])
			}
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+.60v: %v, want %q", c.events, err, c.want)
		}
		if again := w.Write(&Event{Kind: Notify, Session: -1}); again != err || w.Close() != err {
			t.Errorf("after %v: %v", err, again)
		}
	}
	w, _ := NewWriter(io.Discard, header)
	w.Close()
	if err := w.Write(&Event{Kind: Notify, Session: -1}); err == nil {
		t.Error("Write after Close")
	}
	if _, err := NewWriter(io.Discard, Header{Source: strings.Repeat("x", maxHeader)}); err == nil {
		t.Error("a header of 64 KiB")
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	n, other := NewNames("a"), NewNames("b")
	hash := n.Path("/payroll")
	for _, c := range []struct{ path, want string }{
		{"", ""}, {"/", "/"}, {"/zookeeper", "/zookeeper"}, {"/zookeeper/config", "/zookeeper/config"}, {"/zookeeper/quota/payroll/zookeeper_limits", "/zookeeper/quota" + hash + "/zookeeper_limits"},
		{"/payroll", hash}, {"/payroll/payroll", hash + hash}, {"/payroll0000000012", hash + "0000000012"}, {"/payroll/", hash + "/"}, {"/payroll/0000000012", hash + "/0000000012"},
		{"/payroll00000000120000000013", hash + "00000000120000000013"},
	} {
		if got := n.Path(c.path); got != c.want {
			t.Errorf("Path(%q) = %q, want %q", c.path, got, c.want)
		}
	}
	if got := n.Path("/config"); got == "/config" || len(got) != 17 {
		t.Errorf("a client's own config is %q", got)
	}
	if hash == other.Path("/payroll") || hash != NewNames("a").Path("/payroll") {
		t.Error("the salt does not decide on the hash")
	}
	for i := range mostSeen + 10 {
		n.Path(fmt.Sprintf("/%d", i))
	}
	if len(n.seen) > mostSeen || n.Path("/payroll") != hash {
		t.Errorf("%d names remembered", len(n.seen))
	}
}

func FuzzReader(f *testing.F) {
	f.Add(written(f, everything()))
	f.Add(written(f, nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		// What the bytes say, as a trace and as what is compressed in one: the checksums hide most of it from a fuzzer.
		for _, b := range [][]byte{b, raw(t, b)} {
			events, err := read(bytes.NewReader(b))
			if err == nil {
				t.Fatal("an end without an error")
			}
			if got, err := read(bytes.NewReader(written(t, events))); err != io.EOF || !reflect.DeepEqual(got, events) {
				t.Errorf("%+v, written and read again: %+v, %v", events, got, err)
			}
		}
	})
}
