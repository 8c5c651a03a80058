package ensembletest

import (
	"context"
	"net"
	"sync"
	"testing"
)

// Listen calls talk for every connection to a loopback address, each in its own goroutine, until the end of the test,
// which closes the connections and waits for these goroutines. The connection is closed when talk returns.
func Listen(t testing.TB, talk func(c net.Conn)) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	t.Cleanup(func() {
		l.Close()
		all.Wait()
	})
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			stop := context.AfterFunc(t.Context(), func() { c.Close() }) // earlier than the functions of Cleanup
			all.Go(func() {
				defer stop()
				defer c.Close()
				talk(c)
			})
		}
	})
	return l.Addr().String()
}
