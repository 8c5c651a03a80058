package zktest

import (
	"fmt"
	"sync"

	"github.com/zkbench/zkbench/zk"
)

func (p *probe) getW(s zk.Session, path string) *zk.Watch {
	p.Helper()
	_, _, w, err := s.GetW(p.ctx, path)
	p.must(err)
	return w
}

func (p *probe) existsW(s zk.Session, path string) *zk.Watch {
	p.Helper()
	_, _, w, err := s.ExistsW(p.ctx, path)
	p.must(err)
	return w
}

func (p *probe) childrenW(s zk.Session, path string) *zk.Watch {
	p.Helper()
	_, _, w, err := s.ChildrenW(p.ctx, path)
	p.must(err)
	return w
}

var watchPromises = []promise{
	{"a data watch yields one event: the change of data or the deletion", nil, func(p *probe) {
		other, path := p.session(), p.root+"/a"
		p.create(p.s, path, "", zk.Persistent)
		w := p.getW(p.s, path)
		p.set(other, path, "1")
		p.fires(w, zk.EventDataChanged, path)
		w2 := p.getW(p.s, path)
		p.delete(other, path)
		p.fires(w2, zk.EventDeleted, path)
		p.create(other, path, "", zk.Persistent)
		p.set(other, path, "2")
		p.flush(p.s)
		p.silent(w)
		p.silent(w2)
	}},
	{"an exists watch on a missing znode tells of its creation", nil, func(p *probe) {
		path := p.root + "/a"
		st, ok, w, err := p.s.ExistsW(p.ctx, path)
		p.must(err)
		equal(p, "exists", ok, false)
		equal(p, "stat", st, zk.Stat{})
		p.create(p.session(), path, "", zk.Persistent)
		p.fires(w, zk.EventCreated, path)
	}},
	{"an exists watch on a znode that is there is a data watch", nil, func(p *probe) {
		path := p.root + "/a"
		p.create(p.s, path, "", zk.Persistent)
		w := p.existsW(p.s, path)
		p.set(p.s, path, "1")
		p.fires(w, zk.EventDataChanged, path)
		w = p.existsW(p.s, path)
		p.delete(p.s, path)
		p.fires(w, zk.EventDeleted, path)
	}},
	{"a child watch tells of arrivals, departures and the end of the parent", nil, func(p *probe) {
		other, path := p.session(), p.root+"/q"
		p.create(p.s, path, "", zk.Persistent)
		w := p.childrenW(p.s, path)
		p.create(other, path+"/a", "", zk.Persistent)
		p.fires(w, zk.EventChildrenChanged, path)
		w = p.childrenW(p.s, path)
		p.delete(other, path+"/a")
		p.fires(w, zk.EventChildrenChanged, path)
		w = p.childrenW(p.s, path)
		p.delete(other, path)
		p.fires(w, zk.EventDeleted, path)
	}},
	{"a child watch ignores data, a data watch ignores children", nil, func(p *probe) {
		path := p.root + "/q"
		p.create(p.s, path, "", zk.Persistent)
		p.create(p.s, path+"/a", "", zk.Persistent)
		child, data := p.childrenW(p.s, path), p.getW(p.s, path)
		p.set(p.s, path+"/a", "1")
		p.flush(p.s)
		p.silent(child)
		p.silent(data)
		p.set(p.s, path, "1")
		p.fires(data, zk.EventDataChanged, path)
		p.flush(p.s)
		p.silent(child)
		p.delete(p.s, path+"/a")
		p.fires(child, zk.EventChildrenChanged, path)
	}},
	{"every watch of a session on the same znode yields its event", nil, func(p *probe) {
		path := p.root + "/a"
		p.create(p.s, path, "", zk.Persistent)
		watches := []*zk.Watch{p.getW(p.s, path), p.getW(p.s, path), p.existsW(p.s, path), p.childrenW(p.s, path), p.childrenW(p.s, path)}
		p.delete(p.session(), path)
		for _, w := range watches {
			p.fires(w, zk.EventDeleted, path)
		}
		p.flush(p.s)
		for _, w := range watches {
			p.silent(w)
		}
	}},
	{"every session that watches is told", nil, func(p *probe) {
		path := p.root + "/a"
		p.create(p.s, path, "", zk.Persistent)
		var watches []*zk.Watch
		for range 5 {
			s := p.session()
			p.catchUp(s)
			watches = append(watches, p.getW(s, path))
		}
		p.set(p.s, path, "1")
		for _, w := range watches {
			p.fires(w, zk.EventDataChanged, path)
		}
	}},
	{"a watch is armed atomically with its read", nil, func(p *probe) {
		const children = 100
		writer, path := p.session(), p.root+"/q"
		p.create(p.s, path, "", zk.Persistent)
		next := make(chan int) // each create races with one read
		var wg sync.WaitGroup
		wg.Go(func() {
			for i := range next {
				if _, err := writer.Create(p.ctx, fmt.Sprintf("%s/%d", path, i), nil, zk.Persistent); err != nil {
					p.Errorf("create: %v", err)
				}
			}
		})
		defer wg.Wait()
		defer close(next)
		for i := range children {
			next <- i
			names, st, w, err := p.s.ChildrenW(p.ctx, path)
			p.must(err)
			equal(p, "numChildren of the same moment", int(st.NumChildren), len(names))
			if len(names) <= i {
				p.fires(w, zk.EventChildrenChanged, path) // silence here is a change lost between read and watch
			} else {
				w.Stop()
			}
		}
	}},
	{"events arrive before the reply of what was asked after the change", nil, func(p *probe) {
		path := p.root + "/a"
		p.create(p.s, path, "", zk.Persistent)
		for i := range 20 {
			w := p.getW(p.s, path)
			p.set(p.s, path, fmt.Sprint(i))
			_, _, err := p.s.Get(p.ctx, path)
			p.must(err)
			select {
			case <-w.C():
			default:
				p.Fatal("the reply overtook the event")
			}
		}
	}},
	{"a stopped watch yields nothing", nil, func(p *probe) {
		path := p.root + "/a"
		p.create(p.s, path, "", zk.Persistent)
		w, kept := p.getW(p.s, path), p.getW(p.s, path)
		w.Stop()
		w.Stop()
		p.set(p.s, path, "1")
		p.fires(kept, zk.EventDataChanged, path)
		p.flush(p.s)
		p.silent(w)
		kept.Stop()
	}},
	{"a znode can be watched again right after Stop", nil, func(p *probe) {
		path := p.root + "/a"
		p.create(p.s, path, "", zk.Persistent)
		for i := range 20 {
			p.getW(p.s, path).Stop()
			w := p.getW(p.s, path)
			p.set(p.s, path, fmt.Sprint(i))
			p.fires(w, zk.EventDataChanged, path)
		}
	}},
	{"a stopped watch leaves the server", func(pw Powers) bool { return pw.ServerWatches != nil }, func(p *probe) {
		path := p.root + "/a"
		p.create(p.s, path, "", zk.Persistent)
		before := p.powers.ServerWatches(p.root)
		data, child, missing := p.getW(p.s, path), p.childrenW(p.s, path), p.existsW(p.s, path+"/no")
		second := p.getW(p.s, path)
		equal(p, "watches", p.powers.ServerWatches(p.root), before+3)
		for _, step := range []struct {
			w    *zk.Watch
			left int
		}{{data, 3}, {second, 2}, {child, 1}, {missing, 0}} {
			step.w.Stop()
			p.must(p.s.Sync(p.ctx, path)) // Stop does not wait for the server; Sync queues behind it
			equal(p, "watches after Stop", p.powers.ServerWatches(p.root), before+step.left)
		}
	}},
}

var multiPromises = []promise{
	{"a Multi applies all of its operations at once", nil, func(p *probe) {
		a, b := p.root+"/a", p.root+"/b"
		p.create(p.s, a, "", zk.Persistent)
		p.create(p.s, b, "", zk.Persistent)
		res, err := p.s.Multi(p.ctx, zk.CheckOp(a, 0), zk.SetOp(a, []byte("new"), 0), zk.DeleteOp(b, zk.AnyVersion),
			zk.CreateOp(a+"/s-", nil, zk.PersistentSequential), zk.CreateOp(a+"/e", []byte("x"), zk.Ephemeral))
		p.must(err)
		equal(p, "results", len(res), 5)
		for i, r := range res {
			equal(p, fmt.Sprintf("error of result %d", i), r.Err, nil)
		}
		equal(p, "version of the set", res[1].Stat.Version, 1)
		equal(p, "path of the create", res[3].Path, a+"/s-0000000000")
		st, ok, err := p.s.Exists(p.ctx, res[4].Path)
		p.must(err)
		equal(p, "exists", ok, true)
		equal(p, "czxid is the mzxid of the set", st.Czxid, res[1].Stat.Mzxid)
		if p.powers.Create2 {
			equal(p, "czxid of the create", res[4].Stat.Czxid, st.Czxid)
		}
		equal(p, "exists after delete", p.exists(p.s, b), false)
	}},
	{"a Multi that fails applies nothing and says which operation failed", nil, func(p *probe) {
		a := p.root + "/a"
		p.create(p.s, a, "old", zk.Persistent)
		_, st0, err := p.s.Children(p.ctx, p.root)
		p.must(err)
		w := p.getW(p.s, a)
		res, err := p.s.Multi(p.ctx, zk.SetOp(a, []byte("new"), 0), zk.CreateOp(p.root+"/b", nil, zk.Persistent),
			zk.CheckOp(a, 7), zk.DeleteOp(a, zk.AnyVersion))
		p.is(err, zk.ErrBadVersion)
		equal(p, "class", zk.Classify(err), zk.ClassDefiniteNo)
		if len(res) != 4 {
			p.Fatalf("%d results, want 4", len(res))
		}
		p.is(res[2].Err, zk.ErrBadVersion)
		for _, i := range []int{0, 1, 3} {
			if res[i].Err != nil {
				p.is(res[i].Err, zk.ErrRolledBack)
			}
		}
		data, st, err := p.s.Get(p.ctx, a)
		p.must(err)
		equal(p, "data", string(data), "old")
		equal(p, "version", st.Version, 0)
		_, st1, err := p.s.Children(p.ctx, p.root)
		p.must(err)
		equal(p, "stat of the parent", st1, st0)
		p.flush(p.s)
		p.silent(w)
		w.Stop()
	}},
	{"later operations of a Multi see the earlier ones", nil, func(p *probe) {
		a := p.root + "/a"
		_, err := p.s.Multi(p.ctx, zk.CreateOp(a, nil, zk.Persistent), zk.CreateOp(a+"/b", nil, zk.Persistent),
			zk.SetOp(a, []byte("1"), 0), zk.CheckOp(a, 1), zk.DeleteOp(a+"/b", zk.AnyVersion))
		p.must(err)
		_, err = p.s.Multi(p.ctx, zk.DeleteOp(a, 1), zk.CheckOp(a, zk.AnyVersion))
		p.is(err, zk.ErrNoNode)
		equal(p, "exists", p.exists(p.s, a), true)
	}},
}
