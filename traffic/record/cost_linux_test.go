package record

import (
	"io"
	"net"
	"slices"
	"syscall"
	"testing"

	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/proxy"
	"github.com/zkbench/zkbench/internal/jute"
)

// BenchmarkCost is what a request and its reply cost: directly to a server that does nothing, through a proxy, and recorded.
func BenchmarkCost(b *testing.B) {
	b.Run("direct", func(b *testing.B) { b.ReportAllocs(); exchange(b, nothing(b)) })
	for _, recorded := range []bool{false, true} {
		name, config := "proxy", proxy.Config{Upstreams: []string{nothing(b)}}
		if recorded {
			r, err := New(io.Discard, Config{Salt: "salt"})
			if err != nil {
				b.Fatal(err)
			}
			defer r.Close()
			name, config.Tap = "recorded", r
		}
		p, err := proxy.Start(b.Context(), config)
		if err != nil {
			b.Fatal(err)
		}
		defer p.Close()
		b.Run(name, func(b *testing.B) { b.ReportAllocs(); exchange(b, p.Addresses()[0]) })
	}
}

// nothing is a server that answers each frame after the handshake with the same data.
func nothing(b *testing.B) (address string) {
	return ensembletest.Listen(b, func(c net.Conn) {
		defer c.Close()
		if _, err := jute.ReadFrame(c, 0, 1<<20); err != nil {
			return
		}
		hello := jute.AppendInt64(jute.AppendInt32(jute.AppendInt32(nil, 0), 4000), 1)
		c.Write(jute.AppendBuffer(nil, append(jute.AppendBuffer(hello, make([]byte, 16)), 0)))
		reply := jute.AppendBuffer(nil, slices.Concat(number(7), make([]byte, 12), data(100), stat))
		for {
			if _, err := jute.ReadFrame(c, 0, 1<<20); err != nil {
				return
			}
			c.Write(reply)
		}
	})
}

// cpu is the CPU time of this process, in nanoseconds: on a busy machine it says more than the time that passes.
func cpu(b *testing.B) int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

// exchange sends requests in turn, and waits for their replies.
func exchange(b *testing.B, address string) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	get := jute.AppendBuffer(nil, slices.Concat(number(7), number(int32(jute.OpGetData)), text("/app/locks/name"), []byte{1}))
	ask := func(request []byte) {
		if _, err := c.Write(request); err != nil {
			b.Fatal(err)
		}
		if _, err := jute.ReadFrame(c, 0, 1<<20); err != nil {
			b.Fatal(err)
		}
	}
	ask(jute.Connect{}.Request())
	b.ResetTimer()
	before := cpu(b)
	for range b.N {
		ask(get)
	}
	b.ReportMetric(float64(cpu(b)-before)/float64(b.N), "cpu-ns/op")
}
