package zktest

import (
	"context"
	"fmt"
	"sync"

	"github.com/zkbench/zkbench/zk"
)

// seenZxids holds what the calls and events of an observed session have reported.
type seenZxids struct {
	mu     sync.Mutex
	calls  []zk.Call
	events []zk.Event
}

// observe returns s with a trace that records its calls and events.
func (p *probe) observe(s zk.Session) (zk.Session, *seenZxids) {
	var t seenZxids
	return zk.Observe(s, &zk.Trace{
		Call:  func(c *zk.Call) { t.mu.Lock(); defer t.mu.Unlock(); t.calls = append(t.calls, *c) },
		Event: func(e zk.Event) { t.mu.Lock(); defer t.mu.Unlock(); t.events = append(t.events, e) },
	}), &t
}

// last returns the zxid of the last call.
func (t *seenZxids) last() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.calls[len(t.calls)-1].Zxid
}

var zxidPromises = []promise{
	{"the reply to a write tells its transaction", nil, func(p *probe) {
		s, t := p.observe(p.s)
		path := p.root + "/a"
		c := p.create(s, path, "", zk.Persistent)
		created := t.last()
		st, _, err := s.Exists(p.ctx, path)
		p.must(err)
		equal(p, "zxid of the create", created, st.Czxid)
		if c.Czxid != 0 {
			equal(p, "its czxid", c.Czxid, created)
		}
		set := p.set(s, path, "1")
		equal(p, "zxid of the set", t.last(), set.Mzxid)
		_, err = s.Multi(p.ctx, zk.CheckOp(path, 1), zk.SetOp(path, []byte("2"), 1))
		p.must(err)
		multi := t.last()
		_, st, err = s.Get(p.ctx, path)
		p.must(err)
		equal(p, "zxid of the multi", multi, st.Mzxid)
		p.delete(s, path)
		deleted := t.last()
		_, st, err = s.Children(p.ctx, p.root)
		p.must(err)
		equal(p, "zxid of the delete", deleted, st.Pzxid)
	}},
	{"the reply to a refused write tells a transaction too", nil, func(p *probe) {
		s, t := p.observe(p.s)
		path := p.root + "/a"
		before := p.create(s, path, "", zk.Persistent)
		made := t.last()
		_, err := s.Create(p.ctx, before.Path, nil, zk.Persistent)
		p.is(err, zk.ErrNodeExists)
		refused := t.last()
		after := p.set(s, path, "").Mzxid
		if made >= refused || refused >= after {
			p.Errorf("create %#x, refusal %#x, set %#x: want them to grow", made, refused, after)
		}
		_, err = s.Multi(p.ctx, zk.CheckOp(path, 7))
		p.is(err, zk.ErrBadVersion)
		if refused := t.last(); refused <= after {
			p.Errorf("set %#x, refused multi %#x: want them to grow", after, refused)
		}
	}},
	{"the reply to a read tells the state that it saw", nil, func(p *probe) {
		s, t := p.observe(p.s)
		path := p.root + "/a"
		p.create(s, path, "", zk.Persistent)
		low := t.last()
		for name, read := range map[string]func() error{
			"get":             func() error { _, _, err := s.Get(p.ctx, path); return err },
			"exists":          func() error { _, _, err := s.Exists(p.ctx, path); return err },
			"list":            func() error { _, _, err := s.Children(p.ctx, path); return err },
			"exists, missing": func() error { _, _, err := s.Exists(p.ctx, path+"/no"); return err },
			"get, refused": func() error {
				_, _, err := s.Get(p.ctx, path+"/no")
				p.is(err, zk.ErrNoNode)
				return nil
			},
			"get with a watch": func() error { _, _, w, err := s.GetW(p.ctx, path); w.Stop(); return err },
			"sync":             func() error { return s.Sync(p.ctx, path) },
		} {
			p.must(read())
			got := t.last()
			p.set(s, path, "")
			if high := t.last(); got < low || got >= high {
				p.Errorf("%s between the transactions %#x and %#x tells %#x", name, low, high, got)
			}
			low = t.last()
		}
	}},
	{"requests made at once learn each their own zxid", nil, func(p *probe) {
		s, t := p.observe(p.s)
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				path := fmt.Sprintf("%s/%d", p.root, i)
				for range 20 {
					if _, err := s.Create(p.ctx, path, nil, zk.Persistent); err != nil {
						p.Errorf("create: %v", err)
					}
					st, err := s.Set(p.ctx, path, nil, zk.AnyVersion)
					if err != nil {
						p.Errorf("set: %v", err)
					}
					if _, _, err := s.Get(p.ctx, p.root); err != nil { // the same request by all of them
						p.Errorf("get: %v", err)
					}
					if err := s.Delete(p.ctx, path, st.Version); err != nil {
						p.Errorf("delete: %v", err)
					}
				}
			})
		}
		wg.Wait()
		writes := map[int64]bool{}
		for _, c := range t.calls {
			switch {
			case c.Kind == zk.KindGet: // 0 if the engine does not report it
			case c.Zxid == 0 || writes[c.Zxid]:
				p.Errorf("%v %s tells the zxid %#x, which is none or another's", c.Kind, c.Path, c.Zxid)
			case c.Kind == zk.KindSet:
				equal(p, "zxid of "+c.Path, c.Zxid, c.Stat.Mzxid)
			}
			if c.Kind != zk.KindGet {
				writes[c.Zxid] = true
			}
		}
	}},
	{"a request without a reply has no zxid", nil, func(p *probe) {
		s, t := p.observe(p.session())
		ended, cancel := context.WithCancel(p.ctx)
		cancel()
		_, _, err := s.Get(ended, p.root)
		p.is(err, context.Canceled)
		equal(p, "zxid", t.last(), 0)
		s.Close()
		_, _, err = s.Get(p.ctx, p.root)
		p.is(err, zk.ErrClosed)
		equal(p, "zxid", t.last(), 0)
	}},
	{"an event tells the transaction that made the change, or nothing", nil, func(p *probe) {
		s, t := p.observe(p.s)
		writer, path := p.session(), p.root+"/a"
		w := p.existsW(s, path)
		p.create(writer, path, "", zk.Persistent)
		p.fires(w, zk.EventCreated, path)
		w = p.getW(s, path)
		st := p.set(writer, path, "")
		p.fires(w, zk.EventDataChanged, path)
		for i, want := range []int64{st.Czxid, st.Mzxid} {
			if got := t.events[i].Zxid; got != want && (got != 0 || p.powers.EventZxids) {
				p.Errorf("event %d tells the zxid %#x, want %#x", i, got, want)
			}
		}
	}},
	{"an event of a persistent watch tells the transaction, or nothing", persistent, func(p *probe) {
		s, t := p.observe(p.s)
		path := p.root + "/a"
		st := p.addWatch(s, p.root, true)
		p.create(s, path, "", zk.Persistent)
		made := t.last()
		e, err := st.Next(p.ctx)
		p.must(err)
		if e.Zxid != made && (e.Zxid != 0 || p.powers.EventZxids) {
			p.Errorf("the event tells the zxid %#x, want %#x", e.Zxid, made)
		}
		st.Stop()
	}},
}
