package local

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/zk"
)

// wordless is a connection that carries no four-letter word.
type wordless struct{ net.Conn }

func (w wordless) Write(p []byte) (int, error) {
	if len(p) == 4 {
		return 0, errors.New("no words here")
	}
	return w.Conn.Write(p)
}

// Servers that report no version are asked by requests, which show as much of it.
func TestPowersOfServersThatReportNoVersion(t *testing.T) {
	needServers(t)
	e, err := Start(t.Context(), Config{Servers: 1, Heap: "192m"})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, address)
		return wordless{c}, err
	}
	known := zk.PowersOf(e.Describe().Version)
	got := ensemble.Probe{Hosts: e.Addresses(), Dial: dial}.Powers(t.Context())
	if got.Version != "" {
		t.Errorf("a version, %s, without words", got.Version)
	}
	for _, p := range []zk.Power{zk.PowerCreate2, zk.PowerRemoveWatches, zk.PowerTLS, zk.PowerAddWatch, zk.PowerMultiRead, zk.PowerWhoAmI} {
		if got.Has(p) != known.Has(p) {
			t.Errorf("the probe finds %v: %v, servers of %s have it: %v", p, got.Has(p), known.Version, known.Has(p))
		}
	}
}
