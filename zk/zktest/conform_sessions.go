package zktest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/zkbench/zkbench/zk"
)

var sessionPromises = []promise{
	{"sessions have ids and timeouts of their own", nil, func(p *probe) {
		other := p.session()
		if p.s.ID() == 0 || p.s.ID() == other.ID() {
			p.Errorf("ids are %#x and %#x", p.s.ID(), other.ID())
		}
		if p.s.Timeout() <= 0 {
			p.Errorf("timeout is %v", p.s.Timeout())
		}
		equal(p, "error", p.s.Err(), nil)
		p.open("Done", p.s.Done())
		p.open("Lease", p.s.Lease())
	}},
	{"Close takes the ephemeral znodes along and leaves the others", nil, func(p *probe) {
		s := p.session()
		e, q := p.create(s, p.root+"/e", "", zk.Ephemeral), p.create(s, p.root+"/e-", "", zk.EphemeralSequential)
		keep := p.create(s, p.root+"/p", "", zk.Persistent)
		p.catchUp(p.s)
		w := p.getW(p.s, e.Path)
		p.close(s)
		p.fires(w, zk.EventDeleted, e.Path)
		equal(p, "ephemeral exists", p.exists(p.s, e.Path), false)
		equal(p, "sequential ephemeral exists", p.exists(p.s, q.Path), false)
		equal(p, "persistent exists", p.exists(p.s, keep.Path), true)
	}},
	{"Close ends the session for good and may be called again", nil, func(p *probe) {
		s := p.session()
		lease := s.Lease()
		p.close(s)
		p.close(s)
		p.closed("Done", s.Done())
		p.closed("the old Lease", lease)
		p.closed("Lease", s.Lease())
		p.is(s.Err(), zk.ErrClosed)
		p.refuses(s, zk.ErrClosed)
	}},
	{"Close ends every watch with an event", nil, func(p *probe) {
		s, path := p.session(), p.root+"/a"
		p.create(s, path, "", zk.Persistent)
		watches := []*zk.Watch{p.getW(s, path), p.childrenW(s, path), p.existsW(s, path+"/no")}
		p.close(s)
		for _, w := range watches {
			p.loses(w, zk.ErrClosed)
			w.Stop()
		}
	}},
	{"an event that came before Close is kept", nil, func(p *probe) {
		s, path := p.session(), p.root+"/a"
		p.create(s, path, "", zk.Persistent)
		w := p.getW(s, path)
		p.set(s, path, "1")
		_, _, err := s.Get(p.ctx, path)
		p.must(err)
		p.close(s)
		p.fires(w, zk.EventDataChanged, path)
	}},
	{"Close may come while calls are on their way", nil, func(p *probe) {
		s := p.dial(p.T, DialConfig{Timeout: 6 * time.Second})
		p.Cleanup(func() { s.Close() })
		started := make(chan struct{}, 8)
		var wg sync.WaitGroup
		for range cap(started) {
			wg.Go(func() {
				for i := 0; ; i++ {
					_, err := s.Set(p.ctx, p.root, nil, zk.AnyVersion)
					if i == 0 {
						started <- struct{}{}
					}
					if err != nil {
						if c := zk.Classify(err); c != zk.ClassTerminal && c != zk.ClassMaybeApplied {
							p.Errorf("class of %v is %v", err, c)
						}
						return
					}
				}
			})
		}
		for range cap(started) {
			<-started
		}
		p.close(s)
		wg.Wait()
	}},
	{"expiry ends the session, its watches and its ephemeral znodes", canExpire, func(p *probe) {
		s, path := p.session(), p.root+"/a"
		e := p.create(s, p.root+"/e", "", zk.Ephemeral)
		p.create(s, path, "", zk.Persistent)
		watches := []*zk.Watch{p.getW(s, path), p.childrenW(s, path), p.existsW(s, path+"/no")}
		lease := s.Lease()
		p.powers.Expire(s)
		p.closed("Done", s.Done())
		p.closed("Lease", lease)
		p.is(s.Err(), zk.ErrSessionExpired)
		for _, w := range watches {
			p.loses(w, zk.ErrSessionExpired)
		}
		equal(p, "ephemeral exists", p.exists(p.s, e.Path), false)
		p.refuses(s, zk.ErrSessionExpired)
	}},
	{"Close after expiry is no error and keeps the cause", canExpire, func(p *probe) {
		s := p.session()
		p.powers.Expire(s)
		p.closed("Done", s.Done())
		p.must(s.Close())
		p.must(s.Close())
		p.is(s.Err(), zk.ErrSessionExpired)
	}},
}

func canExpire(pw Powers) bool { return pw.Expire != nil }

// refuses asserts that every call on a session that has ended fails with want.
func (p *probe) refuses(s zk.Session, want error) {
	p.Helper()
	_, err := s.Create(p.ctx, p.root+"/late", nil, zk.Persistent)
	p.is(err, want)
	p.is(s.Delete(p.ctx, p.root+"/late", zk.AnyVersion), want)
	_, err = s.Set(p.ctx, p.root, nil, zk.AnyVersion)
	p.is(err, want)
	_, _, err = s.Get(p.ctx, p.root)
	p.is(err, want)
	_, _, err = s.Exists(p.ctx, p.root)
	p.is(err, want)
	_, _, err = s.Children(p.ctx, p.root)
	p.is(err, want)
	_, _, w, err := s.ExistsW(p.ctx, p.root)
	p.is(err, want)
	equal(p, "watch", w, nil)
	_, err = s.Multi(p.ctx, zk.CheckOp(p.root, zk.AnyVersion))
	p.is(err, want)
	p.is(s.Sync(p.ctx, p.root), want)
}

func canDisconnect(pw Powers) bool { return pw.Disconnect != nil && pw.Reconnect != nil }

var faultPromises = []promise{
	{"a call waits for the connection to come back", canDisconnect, func(p *probe) {
		p.powers.Disconnect(p.s)
		got := make(chan error, 1)
		var wg sync.WaitGroup
		wg.Go(func() {
			_, _, err := p.s.Get(p.ctx, p.root)
			got <- err
		})
		p.powers.Reconnect(p.s)
		wg.Wait()
		p.must(<-got)
	}},
	{"a context ends a call that waits for a connection", canDisconnect, func(p *probe) {
		p.powers.Disconnect(p.s)
		ctx, cancel := context.WithTimeout(p.ctx, p.s.Timeout()/20)
		defer cancel()
		_, _, err := p.s.Get(ctx, p.root)
		p.is(err, context.DeadlineExceeded)
		_, err = p.s.Set(ctx, p.root, nil, zk.AnyVersion)
		p.is(err, context.DeadlineExceeded)
		p.powers.Reconnect(p.s)
		_, _, err = p.s.Get(p.ctx, p.root)
		p.must(err)
	}},
	{"a session that comes back in time keeps its ephemeral znodes", canDisconnect, func(p *probe) {
		e := p.create(p.s, p.root+"/e", "", zk.Ephemeral)
		p.powers.Disconnect(p.s)
		p.powers.Reconnect(p.s)
		st, ok, err := p.s.Exists(p.ctx, e.Path)
		p.must(err)
		equal(p, "exists", ok, true)
		equal(p, "owner", st.EphemeralOwner, p.s.ID())
		equal(p, "error", p.s.Err(), nil)
	}},
	{"watches tell after a reconnect what they have missed, and watch on", canDisconnect, func(p *probe) {
		other, q := p.session(), p.root+"/q"
		for _, name := range []string{"", "/set", "/gone", "/same"} {
			p.create(p.s, q+name, "", zk.Persistent)
		}
		changed, gone := p.getW(p.s, q+"/set"), p.getW(p.s, q+"/gone")
		missing, list, same := p.existsW(p.s, q+"/new"), p.childrenW(p.s, q), p.getW(p.s, q+"/same")
		never := p.existsW(p.s, q+"/never")
		p.powers.Disconnect(p.s)
		p.set(other, q+"/set", "1")
		p.delete(other, q+"/gone")
		p.create(other, q+"/new", "", zk.Persistent)
		p.powers.Reconnect(p.s)
		p.fires(changed, zk.EventDataChanged, q+"/set")
		p.fires(gone, zk.EventDeleted, q+"/gone")
		p.fires(missing, zk.EventCreated, q+"/new")
		p.fires(list, zk.EventChildrenChanged, q)
		p.set(other, q+"/same", "1")
		p.fires(same, zk.EventDataChanged, q+"/same")
		p.create(other, q+"/never", "", zk.Persistent)
		p.fires(never, zk.EventCreated, q+"/never")
	}},
	{"the lease ends without a connection, and a new one comes with it", canDisconnect, func(p *probe) {
		s := p.s
		for try := 1; ; try++ {
			lease := s.Lease()
			p.powers.Disconnect(s)
			p.closed("Lease", lease)
			equal(p, "error", s.Err(), nil)
			p.powers.Reconnect(s)
			_, _, err := s.Get(p.ctx, p.root)
			if errors.Is(err, zk.ErrSessionExpired) && try < 5 { // a busy machine may have taken longer than the tenth of the timeout that was left
				s = p.session()
				continue
			}
			p.must(err)
			p.open("the new Lease", s.Lease())
			p.closed("the old Lease", lease)
			return
		}
	}},
}
