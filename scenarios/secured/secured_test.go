package secured

import (
	"encoding/binary"
	"io"
	"net"
	"slices"
	"testing"

	"github.com/zkbench/zkbench/internal/jute"
)

// The expectations follow from what the servers require.
func TestPlan(t *testing.T) {
	for _, c := range []struct {
		sentence string
		variant  string
		rules    Rules
		want     []Violation
	}{
		{"getData needs READ of every server", "predecessor", Rules{}, []Violation{Liveness}},
		{"exists needs nothing of old servers", "predecessor-exists", Rules{}, []Violation{None}},
		{"exists needs READ", "predecessor-exists", Rules{ReadLook: true}, []Violation{Liveness}},
		{"exists needs nothing, and its events do", "predecessor-exists", Rules{ReadEvents: true}, []Violation{Liveness}},
		{"a persistent watch hears of everything", "persistent", Rules{ReadLook: true}, []Violation{None}},
		{"a persistent watch hears of what may be read", "persistent", Rules{ReadEvents: true}, []Violation{Liveness}},
		{"a directory may be read", "naive", Rules{true, true, true}, []Violation{None}},
		{"where nothing is enforced no ping is early", "early-ping", Rules{}, nil},
		{"where it is", "early-ping", Rules{Enforced: true}, []Violation{Session}},
		{"the engine comes back", "engine", Rules{Enforced: true}, []Violation{None, None}},
		{"and has one scenario less", "engine", Rules{}, []Violation{None}},
		{"credentials shown once do not release", "credentials-once", Rules{}, []Violation{Liveness}},
	} {
		var got []Violation
		for _, trial := range Plan([]string{c.variant}, c.rules) {
			got = append(got, trial.Expect)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %s of %+v expects %q, want %q", c.sentence, c.variant, c.rules, got, c.want)
		}
	}
}

func request(op jute.Op, xid int32, body ...byte) []byte {
	b := append(jute.BeginRequest(nil, op), body...)
	jute.Seal(b, xid)
	return b
}

func auth(credential string) []byte {
	b := jute.AppendInt32(nil, 0)
	return request(jute.OpAuth, jute.XidAuth, jute.AppendBuffer(jute.AppendString(b, "digest"), []byte(credential))...)
}

// A faulty client's requests are altered from the second connection on, however they are split; all others are unchanged.
func TestWhatIsAltered(t *testing.T) {
	hello, own, other, last := jute.Connect{}.Request(), auth("holder:x"), auth("run:y"), request(jute.OpPing, jute.XidPing)
	sync := request(jute.OpSync, jute.XidAuth, jute.AppendString(nil, "/")...)
	sent := slices.Concat(hello, other, own, last)
	for _, c := range []struct {
		fault       Fault
		connections int
		want        []byte
	}{
		{Sound, 2, sent},
		{Forgetful, 1, sent},
		{Forgetful, 2, slices.Concat(hello, other, sync, last)},
		{PingsFirst, 1, sent},
		{PingsFirst, 2, slices.Concat(hello, last, other, own, last)},
	} {
		for _, piece := range []int{1, 7, len(sent)} {
			line := &Line{Fault: c.fault, Credential: []byte("holder:x")}
			var got []byte
			for range c.connections {
				near, far := net.Pipe()
				read := make(chan []byte)
				go func() {
					b, _ := io.ReadAll(far)
					read <- b
				}()
				w := line.Wrap(near)
				for part := range slices.Chunk(sent, piece) {
					if n, err := w.Write(part); n != len(part) || err != nil {
						t.Fatalf("Write() = %d, %v", n, err)
					}
				}
				line.Cut()
				got = <-read
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("fault %d, connection %d, pieces of %d bytes: sent %x, want %x", c.fault, c.connections, piece, got, c.want)
			}
		}
	}
}

// Refusals are counted after the answer to the connect request, whose bytes may look like one.
func TestWhatIsRefused(t *testing.T) {
	answer := func(code int32, body int) []byte {
		b := jute.AppendInt32(nil, int32(jute.ReplyHeader+body))
		b = jute.AppendInt32(jute.AppendInt64(jute.AppendInt32(b, 1), 2), code)
		return append(b, make([]byte, body)...)
	}
	refused := answer(jute.CodeAuthRequired, 0)
	said := slices.Concat(answer(jute.CodeAuthRequired, 21), answer(0, 40), refused, answer(jute.CodeAuthFailed, 0), refused)
	for _, piece := range []int{1, 3, 20, len(said)} {
		count := 0
		a := answers{refusal: func() { count++ }}
		for part := range slices.Chunk(said, piece) {
			a.look(part)
		}
		if count != 2 {
			t.Errorf("in pieces of %d bytes there are %d refusals, want 2", piece, count)
		}
	}
	a := answers{refusal: func() { t.Error("a refusal in what is none") }}
	a.look(binary.BigEndian.AppendUint32(nil, 1<<31)) // a hostile length
	a.look(make([]byte, 100))
}
