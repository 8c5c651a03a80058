package jute

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestStrings(t *testing.T) {
	vector := func(names ...string) string {
		b := AppendInt32(nil, int32(len(names)))
		for _, n := range names {
			b = AppendString(b, n)
		}
		return string(b)
	}
	for _, c := range []struct {
		why  string
		body string
		want []string
		ok   bool
	}{
		{"three names", vector("a", "", "ccc"), []string{"a", "", "ccc"}, true},
		{"no names", vector(), nil, true},
		{"a null vector", "\xff\xff\xff\xff", nil, true},
		{"more than the vector", vector("a") + "rest", nil, false},
		{"a count that the body cannot hold", "\x7f\xff\xff\xff", nil, false},
		{"a negative count", "\xff\xff\xff\xfe", nil, false},
		{"a name longer than the body", "\x00\x00\x00\x01\x00\x00\x00\x09abc", nil, false},
		{"a name of negative length", "\x00\x00\x00\x01\xff\xff\xff\xff", nil, false},
		{"half a count", "\x00\x00", nil, false},
	} {
		got, err := Strings(c.body)
		if !slices.Equal(got, c.want) || (err == nil) != c.ok {
			t.Errorf("%s: Strings(%q) = %q, %v, want %q, ok %v", c.why, c.body, got, err, c.want, c.ok)
		}
	}
}

func TestSealWritesLengthAndXid(t *testing.T) {
	req := AppendInt32(BeginRequest([]byte("old"), OpGetData), 42)
	Seal(req, 7)
	if want := []byte{0, 0, 0, 12, 0, 0, 0, 7, 0, 0, 0, 4, 0, 0, 0, 42}; !bytes.Equal(req, want) {
		t.Errorf("request is %v, want %v", req, want)
	}
}

func TestADecoderTakesNoMoreThanThereIs(t *testing.T) {
	for _, c := range []struct {
		n, left int
		fine    bool
	}{{0, 3, true}, {3, 3, true}, {4, 3, false}, {-1, 3, false}} {
		d := Decoder{B: make([]byte, c.left)}
		if p := d.Take(c.n); d.Bad == c.fine || c.fine && (len(p) != c.n || len(d.B) != c.left-c.n) {
			t.Errorf("Take(%d) of %d bytes: %v, Bad: %v, %d left", c.n, c.left, p, d.Bad, len(d.B))
		}
	}
	d := Decoder{B: []byte{1}, Bad: true}
	if p := d.Take(1); p != nil || !d.Bad {
		t.Error("a bad decoder goes on")
	}
}

func TestStringsAtTheBoundaries(t *testing.T) {
	vector := func(n int32, names ...string) string {
		b := AppendInt32(nil, n)
		for _, name := range names {
			b = append(AppendInt32(b, int32(len(name))), name...)
		}
		return string(b)
	}
	for _, c := range []struct {
		body string
		want string
		bad  bool
	}{
		{vector(-1), "", false}, {vector(0), "", false}, {vector(1, "a"), "a", false}, {vector(2, "", ""), ",", false}, {vector(2, "a", "bc"), "a,bc", false},
		{vector(-2), "", true}, {vector(1), "", true}, {vector(1, "a") + "x", "", true}, {vector(2, "a"), "", true}, {vector(2, "abcde"), "", true}, {vector(1, "abc")[:6], "", true}, {"", "", true},
		{string(AppendInt32(AppendInt32(nil, 1), -1)), "", true}, {vector(0) + "x", "", true}, {vector(-1) + "x", "", true},
	} {
		got, err := Strings(c.body)
		if (err != nil) != c.bad || strings.Join(got, ",") != c.want || (got == nil) != (c.want == "") {
			t.Errorf("Strings(%q) = %q, %v; want %q, an error: %v", c.body, got, err, c.want, c.bad)
		}
	}
	hostile := string(append(AppendInt32(nil, 1001), make([]byte, 4*1000)...))
	if n := testing.AllocsPerRun(10, func() { Strings(hostile) }); n != 0 {
		t.Errorf("%v allocations for 1001 strings in 4000 bytes", n)
	}
}

// What one side writes of a handshake the other reads, and nothing in a frame that breaks off is taken for an answer.
func TestConnectReadsWhatItWrites(t *testing.T) {
	for _, c := range []Connect{
		{Timeout: 10 * time.Second},
		{Zxid: 1 << 40, Timeout: 4 * time.Second, Session: -7, Password: []byte("0123456789abcdef"), ReadOnly: true},
	} {
		whole := c.Request()
		frame, err := ReadFrame(bytes.NewReader(whole), 0, len(whole))
		if err != nil || len(frame) != len(whole)-4 {
			t.Fatalf("ReadFrame: %d bytes of %d, %v", len(frame), len(whole), err)
		}
		want := c
		if want.Password == nil {
			want.Password = make([]byte, 16)
		}
		if got, err := ParseConnectRequest(frame); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("ParseConnectRequest = %+v, %v, want %+v", got, err, want)
		}
		for n := range len(frame) - 1 { // the last byte is optional
			if _, err := ParseConnectRequest(frame[:n]); err != ErrProtocol {
				t.Errorf("ParseConnectRequest of %d bytes of %d: %v", n, len(frame), err)
			}
		}
		if got, err := ParseConnectRequest(frame[:len(frame)-1]); err != nil || got.ReadOnly || got.Session != c.Session {
			t.Errorf("ParseConnectRequest without the last byte = %+v, %v", got, err)
		}
		answer := slices.Concat(frame[:4], frame[12:]) // has no zxid
		if got, err := ParseConnectReply(answer[:len(answer)-1]); err != nil || got.ReadOnly || got.Session != c.Session {
			t.Errorf("ParseConnectReply without the last byte = %+v, %v", got, err)
		}
		want.Zxid = 0
		if got, err := ParseConnectReply(answer); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("ParseConnectReply = %+v, %v, want %+v", got, err, want)
		}
	}
}

func TestReadFrame(t *testing.T) {
	for _, c := range []struct {
		why  string
		wire string
		err  error
	}{
		{"a frame", "\x00\x00\x00\x02ab", nil},
		{"a frame and what follows it", "\x00\x00\x00\x02abcd", nil},
		{"the longest", "\x00\x00\x00\x08abababab", nil},
		{"too short", "\x00\x00\x00\x01a", ErrProtocol},
		{"too long", "\x00\x00\x00\x09123456789", ErrProtocol},
		{"a negative length", "\xff\xff\xff\xff", ErrProtocol},
		{"text", "HTTP/1.1", ErrProtocol},
		{"nothing", "", io.EOF},
		{"half a length", "\x00\x00", io.ErrUnexpectedEOF},
		{"half a frame", "\x00\x00\x00\x02a", io.ErrUnexpectedEOF},
	} {
		r := strings.NewReader(c.wire)
		got, err := ReadFrame(r, 2, 8)
		if !errors.Is(err, c.err) || err == nil && !strings.HasPrefix(string(got), "ab") {
			t.Errorf("%s: ReadFrame = %q, %v, want the error %v", c.why, got, err, c.err)
		}
		if want := len(c.wire) - 4 - len(got); err == nil && (r.Len() != want || want != strings.Count(c.wire, "cd")*2) {
			t.Errorf("%s: %d bytes are left, want %d", c.why, r.Len(), want)
		}
	}
}

// World is written as a constant, and is what its fields say.
func TestWorld(t *testing.T) {
	b := AppendInt32(AppendInt32(nil, 1), 31)
	if got := string(AppendString(AppendString(b, "world"), "anyone")); got != World {
		t.Errorf("World is %q, want %q", World, got)
	}
}

// A vector has no more elements than the bytes behind its length can hold.
func TestCount(t *testing.T) {
	for _, c := range []struct {
		n    int32
		size int
		want int
		fine bool
	}{{-1, 4, 0, true}, {0, 4, 0, true}, {2, 4, 2, true}, {3, 4, 0, false}, {2, 5, 0, false}, {-2, 4, 0, false}} {
		d := Decoder{B: append(AppendInt32(nil, c.n), make([]byte, 8)...)}
		if got := d.Count(c.size); got != c.want || d.Bad == c.fine {
			t.Errorf("Count(%d) of %d in 8 bytes = %d, Bad: %v; want %d, %v", c.size, c.n, got, d.Bad, c.want, !c.fine)
		}
	}
}

func TestReplyReadsTheHeader(t *testing.T) {
	d := Decoder{B: AppendInt32(AppendInt64(AppendInt32(nil, 7), 1<<40), -101)}
	if got, want := d.Reply(), (Reply{Xid: 7, Zxid: 1 << 40, Code: -101}); got != want || d.Bad || len(d.B) > 0 {
		t.Errorf("Reply() = %+v, want %+v", got, want)
	}
}
