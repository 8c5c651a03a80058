package zktest

import (
	"context"
	"errors"
	"sync"

	"github.com/zkbench/zkbench/zk"
)

var failurePromises = []promise{
	{"a refusal is the sentinel of its cause and names operation and path", nil, func(p *probe) {
		p.create(p.s, p.root+"/a", "", zk.Persistent)
		p.create(p.s, p.root+"/a/b", "", zk.Ephemeral)
		create := func(path string) error {
			_, err := p.s.Create(p.ctx, path, nil, zk.Persistent)
			return err
		}
		set := func(path string, version int32) error {
			_, err := p.s.Set(p.ctx, path, nil, version)
			return err
		}
		_, _, get := p.s.Get(p.ctx, p.root+"/no")
		_, _, list := p.s.Children(p.ctx, p.root+"/no")
		for _, c := range []struct {
			what      string
			kind      zk.Kind
			path      string
			err, want error
		}{
			{"create again", zk.KindCreate, "/a", create(p.root + "/a"), zk.ErrNodeExists},
			{"create without parent", zk.KindCreate, "/no/b", create(p.root + "/no/b"), zk.ErrNoNode},
			{"create below an ephemeral", zk.KindCreate, "/a/b/c", create(p.root + "/a/b/c"), zk.ErrNoChildrenForEphemerals},
			{"delete with children", zk.KindDelete, "/a", p.s.Delete(p.ctx, p.root+"/a", zk.AnyVersion), zk.ErrNotEmpty},
			{"delete of another version", zk.KindDelete, "/a/b", p.s.Delete(p.ctx, p.root+"/a/b", 7), zk.ErrBadVersion},
			{"delete of nothing", zk.KindDelete, "/no", p.s.Delete(p.ctx, p.root+"/no", zk.AnyVersion), zk.ErrNoNode},
			{"set of another version", zk.KindSet, "/a", set(p.root+"/a", 7), zk.ErrBadVersion},
			{"set of nothing", zk.KindSet, "/no", set(p.root+"/no", zk.AnyVersion), zk.ErrNoNode},
			{"get of nothing", zk.KindGet, "/no", get, zk.ErrNoNode},
			{"list of nothing", zk.KindChildren, "/no", list, zk.ErrNoNode},
		} {
			if !errors.Is(c.err, c.want) || zk.Classify(c.err) != zk.ClassDefiniteNo {
				p.Errorf("%s: error is %v (%v), want %v", c.what, c.err, zk.Classify(c.err), c.want)
			}
			if e, ok := errors.AsType[*zk.Error](c.err); !ok || e.Op != c.kind || e.Path != p.root+c.path {
				p.Errorf("%s: %v does not name operation and path", c.what, c.err)
			}
		}
	}},
	{"no watch is armed by a read that fails", nil, func(p *probe) {
		_, _, w, err := p.s.GetW(p.ctx, p.root+"/no")
		p.is(err, zk.ErrNoNode)
		equal(p, "watch", w, nil)
		_, _, w, err = p.s.ChildrenW(p.ctx, p.root+"/no")
		p.is(err, zk.ErrNoNode)
		equal(p, "watch", w, nil)
	}},
	{"a malformed path is refused without harm to the session", nil, func(p *probe) {
		for _, path := range []string{"", "a", "//", "/a/", p.root + "//a", p.root + "/./a", p.root + "/../a", p.root + "/a\x00b", p.root + "/\x1f"} {
			_, err := p.s.Create(p.ctx, path, nil, zk.Persistent)
			p.is(err, zk.ErrBadArguments)
			_, err = p.s.Set(p.ctx, path, nil, zk.AnyVersion)
			p.is(err, zk.ErrBadArguments)
			p.is(p.s.Delete(p.ctx, path, zk.AnyVersion), zk.ErrBadArguments)
			_, _, err = p.s.Get(p.ctx, path)
			p.is(err, zk.ErrBadArguments)
			_, _, err = p.s.Exists(p.ctx, path)
			p.is(err, zk.ErrBadArguments)
			_, _, _, err = p.s.ChildrenW(p.ctx, path)
			p.is(err, zk.ErrBadArguments)
			_, err = p.s.Multi(p.ctx, zk.CheckOp(path, zk.AnyVersion))
			p.is(err, zk.ErrBadArguments)
		}
		p.create(p.s, p.root+"/a", "", zk.Persistent)
	}},
	{"a call whose context has ended sends nothing", nil, func(p *probe) {
		ctx, cancel := context.WithCancel(p.ctx)
		cancel()
		_, err := p.s.Create(ctx, p.root+"/a", nil, zk.Persistent)
		p.is(err, context.Canceled)
		_, _, err = p.s.Get(ctx, p.root)
		p.is(err, context.Canceled)
		equal(p, "class", zk.Classify(err), zk.ClassCanceled)
		equal(p, "exists", p.exists(p.s, p.root+"/a"), false)
	}},
	{"a write that its context ends under tells the truth", nil, func(p *probe) {
		for range 30 {
			ctx, cancel := context.WithCancel(p.ctx)
			var wg sync.WaitGroup
			wg.Go(cancel)
			path := p.root + "/race"
			_, err := p.s.Create(ctx, path, nil, zk.Persistent)
			wg.Wait()
			there := p.exists(p.s, path)
			switch class := zk.Classify(err); {
			case err != nil && !errors.Is(err, context.Canceled):
				p.Errorf("error is %v, want the context's", err)
			case class == zk.ClassOK && !there:
				p.Error("the create succeeded and the znode is not there")
			case class == zk.ClassCanceled && there:
				p.Error("the create was not sent and the znode is there")
			}
			if there {
				p.delete(p.s, path)
			}
		}
	}},
}
