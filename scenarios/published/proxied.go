package published

import (
	"context"

	"github.com/zkbench/zkbench/ensemble/proxy"
	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/zk"
)

// Proxied implements Servers with servers behind a proxy.
type Proxied struct {
	Proxy *proxy.Proxy
	// Open opens a session at these addresses, which are those of the proxy.
	Open func(ctx context.Context, addresses []string) (zk.Session, error)
}

var _ Servers = Proxied{}

// Dial opens a session through the proxy.
func (p Proxied) Dial(ctx context.Context) (zk.Session, error) {
	return p.Open(ctx, p.Proxy.Addresses())
}

// Expire makes the proxy end the session.
func (p Proxied) Expire(ctx context.Context, s zk.Session) error { return p.Proxy.Expire(ctx, s.ID()) }

// Cut adds a fault to the proxy.
func (p Proxied) Cut(s zk.Session, kind zk.Kind, applied bool) (wasCut func(context.Context) bool) {
	r := proxy.Rule{On: proxy.Request, Session: s.ID(), Ops: []jute.Op{jute.OpCreate, jute.OpCreate2}, Times: 1, Do: proxy.Cut}
	if kind == zk.KindDelete {
		r.Ops = []jute.Op{jute.OpDelete}
	}
	if applied {
		r.On = proxy.Reply
	}
	f := p.Proxy.Add(r)
	return func(ctx context.Context) bool { return f.Wait(ctx, 1) == nil } // the client notices the cut before the fault counts it
}
