package zktest

import (
	"errors"

	"github.com/zkbench/zkbench/zk"
)

func persistent(pw Powers) bool { return pw.Persistent }

func (p *probe) addWatch(s zk.Session, path string, recursive bool) *zk.Stream {
	p.Helper()
	w, ok := zk.AsPersistentWatcher(s)
	if !ok {
		p.Fatalf("%T is no zk.PersistentWatcher", s)
	}
	st, err := w.AddWatch(p.ctx, path, recursive)
	p.must(err)
	return st
}

// reports asserts the next event of a stream.
func (p *probe) reports(st *zk.Stream, typ zk.EventType, path string) {
	p.Helper()
	e, err := st.Next(p.ctx)
	p.must(err)
	if e.Type != typ || e.Path != path || e.Err != nil {
		p.Errorf("event is %v of %s with error %v, want %v of %s", e.Type, e.Path, e.Err, typ, path)
	}
}

// breaks asserts that the next event of a stream is a gap or its end.
func (p *probe) breaks(st *zk.Stream, want error) {
	p.Helper()
	e, err := st.Next(p.ctx)
	p.must(err)
	if e.Type != zk.EventLost || !errors.Is(e.Err, want) {
		p.Errorf("event is %v of %s with error %v, want lost with %v", e.Type, e.Path, e.Err, want)
	}
}

var persistentPromises = []promise{
	{"a persistent watch tells of every change of its znode", persistent, func(p *probe) {
		path := p.root + "/a"
		st := p.addWatch(p.s, path, false)
		p.create(p.s, path, "", zk.Persistent)
		p.set(p.s, path, "1")
		p.create(p.s, path+"/b", "", zk.Persistent)
		p.set(p.s, path+"/b", "1")
		p.delete(p.s, path+"/b")
		p.set(p.s, path, "2")
		p.delete(p.s, path)
		p.reports(st, zk.EventCreated, path)
		p.reports(st, zk.EventDataChanged, path)
		p.reports(st, zk.EventChildrenChanged, path)
		p.reports(st, zk.EventChildrenChanged, path)
		p.reports(st, zk.EventDataChanged, path)
		p.reports(st, zk.EventDeleted, path)
		st.Stop()
		st.Stop()
	}},
	{"a recursive watch tells what changed below and never that children did", persistent, func(p *probe) {
		path := p.root + "/a"
		p.create(p.s, path, "", zk.Persistent)
		st := p.addWatch(p.s, path, true)
		p.create(p.s, path+"/b", "", zk.Persistent)
		p.create(p.s, path+"/b/c", "", zk.Persistent)
		p.set(p.s, path+"/b/c", "1")
		p.create(p.s, path+"b", "", zk.Persistent)
		p.delete(p.s, path+"/b/c")
		p.delete(p.s, path+"/b")
		p.delete(p.s, path)
		p.reports(st, zk.EventCreated, path+"/b")
		p.reports(st, zk.EventCreated, path+"/b/c")
		p.reports(st, zk.EventDataChanged, path+"/b/c")
		p.reports(st, zk.EventDeleted, path+"/b/c")
		p.reports(st, zk.EventDeleted, path+"/b")
		p.reports(st, zk.EventDeleted, path)
		st.Stop()
	}},
	{"a stopped stream yields nothing more, and one-shot watches go on", persistent, func(p *probe) {
		path := p.root + "/a"
		p.create(p.s, path, "", zk.Persistent)
		st := p.addWatch(p.s, path, true)
		w := p.getW(p.s, path)
		p.flush(p.s) // where that watch costs the stream its own, the gap is queued now
		st.Stop()
		p.set(p.s, path, "1")
		p.fires(w, zk.EventDataChanged, path)
		p.flush(p.s)
		if e, ok := st.Poll(); ok {
			p.Errorf("unexpected event: %v of %s", e.Type, e.Path)
		}
	}},
	{"one-shot watches beside a persistent one yield their one event", persistent, func(p *probe) {
		path := p.root + "/a"
		p.create(p.s, path, "", zk.Persistent)
		st := p.addWatch(p.s, p.root, true)
		w := p.getW(p.s, path)
		p.set(p.s, path, "1")
		p.set(p.s, path, "2")
		p.fires(w, zk.EventDataChanged, path)
		p.reports(st, zk.EventDataChanged, path)
		p.reports(st, zk.EventDataChanged, path)
		st.Stop()
	}},
	{"a stream ends with the session", persistent, func(p *probe) {
		s := p.session()
		st := p.addWatch(s, p.root, true)
		p.close(s)
		p.breaks(st, zk.ErrClosed)
	}},
	{"a stream says where the connection broke and goes on", func(pw Powers) bool { return pw.Persistent && canDisconnect(pw) }, func(p *probe) {
		other, path := p.session(), p.root+"/a"
		st := p.addWatch(p.s, p.root, true)
		p.powers.Disconnect(p.s)
		p.create(other, path, "", zk.Persistent)
		p.powers.Reconnect(p.s)
		p.breaks(st, zk.ErrWatchLost)
		p.set(other, path, "1")
		for { // a server that lags may report the creation after the gap
			e, err := st.Next(p.ctx)
			p.must(err)
			if e.Type == zk.EventDataChanged && e.Path == path {
				break
			}
			if e.Type != zk.EventCreated || e.Path != path {
				p.Fatalf("event is %v of %s with error %v", e.Type, e.Path, e.Err)
			}
		}
		st.Stop()
	}},
}
