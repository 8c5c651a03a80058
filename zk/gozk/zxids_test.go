package gozk

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/zk"
)

// frame encodes a request as the library does.
func frame(xid int32, op jute.Op, path string) []byte {
	b := jute.BeginRequest(nil, op)
	if op == jute.OpMulti {
		b = append(b, make([]byte, 9)...)
	}
	b = jute.AppendString(b, path)
	jute.Seal(b, xid)
	return b
}

// answer encodes a reply as a server does, with a body of that many bytes.
func answer(xid int32, zxid int64, body int) []byte {
	b := jute.AppendInt32(nil, int32(16+body))
	b = jute.AppendInt64(jute.AppendInt32(b, xid), zxid)
	return append(b, make([]byte, 4+body)...)
}

func TestZxidsAreReadOffTheWireInPiecesOfAnySize(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		z := zxids{calls: map[asked]*heard{}}
		w := wire{z: &z, answered: func(time.Duration, bool) {}}
		create := z.expect(asked{zk.KindCreate, "/a"})
		multi := z.expect(asked{zk.KindMulti, "/b"})
		twice := []func() int64{z.expect(asked{zk.KindGet, "/c"}), z.expect(asked{zk.KindGet, "/c"})}
		for _, b := range [][]byte{frame(1, 1, "/a"), frame(-2, 11, ""), frame(2, 14, "/b"), frame(3, 4, "/c"), frame(4, 4, "/c"), frame(5, 8, "/d")} {
			w.wrote(b, 0)
		}
		var stream []byte
		for _, b := range [][]byte{answer(1, 101, 3), answer(-1, 99, r.IntN(60)), answer(-2, 101, 0), answer(2, 102, r.IntN(60)), answer(3, 103, 80),
			answer(4, 103, 0), answer(5, 104, 1)} {
			stream = append(stream, b...)
		}
		for len(stream) > 0 {
			n := 1 + r.IntN(min(len(stream), 30))
			w.read(stream[:n])
			stream = stream[n:]
		}
		if got := create(); got != 101 {
			t.Errorf("seed %d: the create has zxid %d, want 101", seed, got)
		}
		if got := multi(); got != 102 {
			t.Errorf("seed %d: the multi has zxid %d, want 102", seed, got)
		}
		for _, got := range twice {
			if got := got(); got != 0 {
				t.Errorf("seed %d: one of two identical reads has zxid %d, want 0: they cannot be told apart", seed, got)
			}
		}
		if w.events != 99 || len(w.sent) != 0 || len(z.calls) != 0 {
			t.Errorf("seed %d: event %d, want 99; %d requests and %d calls are left", seed, w.events, len(w.sent), len(z.calls))
		}
	}
}

// A lease runs from the time at which an answered request was sent. Most of these are pings, which the library does not report, so requests and
// replies are matched on the wire.
func TestRepliesAreMatchedToTheirRequests(t *testing.T) {
	type answered struct {
		sent  time.Duration
		known bool
	}
	var got []answered
	w := wire{z: &zxids{calls: map[asked]*heard{}}, answered: func(sent time.Duration, known bool) { got = append(got, answered{sent, known}) }}
	for i, b := range [][]byte{frame(-2, 11, ""), frame(1, 4, "/a"), frame(-4, 100, ""), frame(-2, 11, ""), frame(2, 4, "/a"), frame(3, 4, "/a")} {
		w.wrote(b, time.Duration(i+1))
	}
	moved := jute.AppendInt32(answer(2, 0, 0)[:16], jute.CodeMoved)
	for _, b := range [][]byte{answer(-2, 0, 0), answer(-1, 0, 20), answer(1, 0, 80), answer(-4, 0, 0), answer(-2, 0, 0), moved, answer(3, 0, 80),
		answer(-2, 0, 0)} {
		w.read(b)
	}
	want := []answered{{1, true}, {2, true}, {3, false}, {4, true}, {5, false}, {6, true}, {0, false}}
	if !slices.Equal(got, want) {
		t.Errorf("replies to %v, want %v: not those to credentials, nor of a session that has moved, nor those to no request", got, want)
	}
}
