package zktest

import (
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/zk"
)

// endingPromises test what zk.Killer and zk.Disconnected promise.
var endingPromises = []promise{
	{"a session tells that it has lost its connection, and again the next time", canDisconnect, func(p *probe) {
		for range 2 {
			cut := zk.Disconnected(p.s)
			p.open("Disconnected", cut)
			p.powers.Disconnect(p.s)
			p.closed("Disconnected", cut)
			p.powers.Reconnect(p.s)
			_, _, err := p.s.Get(p.ctx, p.root)
			p.must(err)
			p.closed("the old Disconnected", cut)
		}
		p.open("the new Disconnected", zk.Disconnected(p.s))
	}},
	{"a session tells what happens to its connection, in order", canDisconnect, func(p *probe) {
		links := make(chan zk.Link, 100)
		equal(p, "the engine tells", zk.OnLink(p.s, func(what zk.Link, _ time.Time) { links <- what }), true)
		for range 2 {
			p.powers.Disconnect(p.s)
			p.powers.Reconnect(p.s)
			_, _, err := p.s.Get(p.ctx, p.root)
			p.must(err)
			equal(p, "first", <-links, zk.LinkLost)
			tried := 0
			for what := <-links; what != zk.LinkMade; what = <-links {
				equal(p, "before it is back", what, zk.LinkTried)
				tried++
			}
			equal(p, "a handshake went before", tried > 0, true)
		}
		before := len(links) // a slow server may have lost the connection once more
		p.close(p.s)
		equal(p, "told of its closing", len(links)-before, 0)
	}},
	{"closing waits for what goes on beside the callers, and what begins after it is over at once", nil, func(p *probe) {
		s := p.session()
		var ended atomic.Bool
		s.Go(func() {
			<-s.Done()
			time.Sleep(20 * time.Millisecond)
			ended.Store(true)
		})
		p.close(s)
		equal(p, "what went on has ended", ended.Load(), true)
		ran := false
		s.Go(func() { ran = true })
		equal(p, "what began after Close has ended", ran, true)
	}},
	{"a session that is over is disconnected", nil, func(p *probe) {
		s := p.session()
		cut := zk.Disconnected(s)
		p.close(s)
		p.closed("Disconnected", cut)
		p.closed("Disconnected after Close", zk.Disconnected(s))
	}},
	{"a crash tells the servers nothing: they expire the session in their time", nil, func(p *probe) {
		s := p.dial(p.T, DialConfig{Timeout: 2 * time.Second})
		p.Cleanup(func() { s.Close() })
		e := p.create(s, p.root+"/e", "", zk.Ephemeral)
		w := p.getW(s, e.Path)
		p.catchUp(p.s)
		gone := p.getW(p.s, e.Path)
		m, _ := zk.AsKiller(s)
		p.must(m.Crash())
		p.closed("Done", s.Done())
		p.is(s.Err(), zk.ErrClosed)
		p.loses(w, zk.ErrClosed)
		equal(p, "the ephemeral exists", p.exists(p.s, e.Path), true)
		p.refuses(s, zk.ErrClosed)
		p.fires(gone, zk.EventDeleted, e.Path)
		p.must(m.Crash())
		p.must(s.Close())
	}},
	{"an expiry that is asked for ends the session on the servers, and its client hears of it", nil, func(p *probe) {
		s := p.session()
		e := p.create(s, p.root+"/e", "", zk.Ephemeral)
		m, _ := zk.AsKiller(s)
		p.must(m.Expire(p.ctx))
		equal(p, "the ephemeral exists", p.exists(p.s, e.Path), false)
		p.closed("Done", s.Done())
		p.is(s.Err(), zk.ErrSessionExpired)
	}},
}
