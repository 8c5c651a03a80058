package zktest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/zkbench/zkbench/zk"
)

var znodePromises = []promise{
	{"a znode is created, read, changed and deleted", nil, func(p *probe) {
		path := p.root + "/a"
		c := p.create(p.s, path, "one", zk.Persistent)
		equal(p, "created path", c.Path, path)
		data, st, err := p.s.Get(p.ctx, path)
		p.must(err)
		equal(p, "data", string(data), "one")
		equal(p, "version", st.Version, 0)
		equal(p, "data length", st.DataLength, 3)
		st2 := p.set(p.s, path, "three")
		equal(p, "version after set", st2.Version, 1)
		equal(p, "czxid after set", st2.Czxid, st.Czxid)
		if st2.Mzxid <= st.Mzxid {
			p.Errorf("mzxid does not grow: %d then %d", st.Mzxid, st2.Mzxid)
		}
		p.must(p.s.Delete(p.ctx, path, 1))
		_, ok, err := p.s.Exists(p.ctx, path)
		p.must(err)
		equal(p, "exists after delete", ok, false)
	}},
	{"the Stat of a parent counts its children and their changes", nil, func(p *probe) {
		_, ok, err := p.s.Exists(p.ctx, p.root)
		p.must(err)
		equal(p, "exists", ok, true)
		p.create(p.s, p.root+"/a", "", zk.Persistent)
		p.create(p.s, p.root+"/b", "", zk.Persistent)
		p.delete(p.s, p.root+"/a")
		names, st, err := p.s.Children(p.ctx, p.root)
		p.must(err)
		equal(p, "names", strings.Join(names, " "), "b")
		equal(p, "numChildren", st.NumChildren, 1)
		equal(p, "cversion", st.Cversion, 3)
		equal(p, "version", st.Version, 0)
		if st.Pzxid <= st.Czxid {
			p.Errorf("pzxid %d is not behind czxid %d", st.Pzxid, st.Czxid)
		}
	}},
	{"the data that Get returns belong to the caller", nil, func(p *probe) {
		path := p.root + "/a"
		mine := []byte("mine")
		_, err := p.s.Create(p.ctx, path, mine, zk.Persistent)
		p.must(err)
		mine[0] = 'x'
		got, _, err := p.s.Get(p.ctx, path)
		p.must(err)
		equal(p, "data", string(got), "mine")
		copy(got, "your")
		p.s.Get(p.ctx, p.root)
		got2, _, err := p.s.Get(p.ctx, path)
		p.must(err)
		equal(p, "data", string(got2), "mine")
		equal(p, "data of the first read", string(got), "your")
	}},
	{"empty data and nil data are read back as empty", nil, func(p *probe) {
		for i, in := range [][]byte{nil, {}} {
			path := fmt.Sprintf("%s/%d", p.root, i)
			_, err := p.s.Create(p.ctx, path, in, zk.Persistent)
			p.must(err)
			out, st, err := p.s.Get(p.ctx, path)
			p.must(err)
			equal(p, "length", len(out), 0)
			equal(p, "data length", st.DataLength, 0)
		}
	}},
	{"500 KB of data go both ways", nil, func(p *probe) {
		big := bytes.Repeat([]byte("0123456789abcdef"), 500*1000/16)
		_, err := p.s.Create(p.ctx, p.root+"/big", big, zk.Persistent)
		p.must(err)
		got, st, err := p.s.Get(p.ctx, p.root+"/big")
		p.must(err)
		equal(p, "the same data", bytes.Equal(got, big), true)
		equal(p, "data length", int(st.DataLength), len(big))
	}},
	{"a list of 1000 children is complete", nil, func(p *probe) {
		const n, batch = 1000, 100
		var want []string
		for i := 0; i < n; i += batch {
			var ops []zk.Op
			for j := i; j < i+batch; j++ {
				want = append(want, fmt.Sprintf("child-with-a-long-name-%04d", j))
				ops = append(ops, zk.CreateOp(p.root+"/"+want[j], nil, zk.Persistent))
			}
			_, err := p.s.Multi(p.ctx, ops...)
			p.must(err)
		}
		got, st, err := p.s.Children(p.ctx, p.root)
		p.must(err)
		slices.Sort(got)
		equal(p, "the same names", slices.Equal(got, want), true)
		equal(p, "numChildren", st.NumChildren, n)
	}},
	{"paths may hold any script", nil, func(p *probe) {
		for _, name := range []string{"zámek", "замок", "分布式锁", "ロック", "with space", "a=b&c;d'\"", "-", "_c_x-lock-0000000001"} {
			path := p.root + "/" + name
			equal(p, "path", p.create(p.s, path, name, zk.Persistent).Path, path)
			data, _, err := p.s.Get(p.ctx, path)
			p.must(err)
			equal(p, "data", string(data), name)
		}
	}},
	{"sequence numbers count every child that the parent ever had", nil, func(p *probe) {
		parent := p.root + "/q"
		p.create(p.s, parent, "", zk.Persistent)
		for i, step := range []struct {
			name string
			mode zk.Mode
			want string
		}{
			{"a-", zk.PersistentSequential, "a-0000000000"},
			{"b-", zk.EphemeralSequential, "b-0000000001"},
			{"plain", zk.Persistent, "plain"},
			{"a-", zk.PersistentSequential, "a-0000000003"},
			{"", zk.PersistentSequential, "0000000004"},
		} {
			got := p.create(p.s, parent+"/"+step.name, "", step.mode)
			equal(p, fmt.Sprintf("name %d", i), got.Path, parent+"/"+step.want)
			p.delete(p.s, got.Path)
		}
		p.delete(p.s, parent)
		p.create(p.s, parent, "", zk.Persistent)
		equal(p, "name under the parent recreated", p.create(p.s, parent+"/a-", "", zk.PersistentSequential).Path, parent+"/a-0000000000")
	}},
	{"the czxid of a create is right or left out, and grows", nil, func(p *probe) {
		last := int64(0)
		for range 3 {
			c := p.create(p.s, p.root+"/e-", "", zk.EphemeralSequential)
			_, st, err := p.s.Get(p.ctx, c.Path)
			p.must(err)
			if c.Czxid != 0 || p.powers.Create2 {
				equal(p, "czxid", c.Czxid, st.Czxid)
			}
			token, err := zk.Token(p.ctx, p.s, c)
			p.must(err)
			equal(p, "token", token, st.Czxid)
			if token <= last {
				p.Errorf("token %d is not behind %d", token, last)
			}
			last = token
		}
	}},
	{"an ephemeral znode names its owner", nil, func(p *probe) {
		c := p.create(p.s, p.root+"/e", "", zk.Ephemeral)
		st, ok, err := p.session().Exists(p.ctx, c.Path)
		p.must(err)
		equal(p, "exists", ok, true)
		equal(p, "owner", st.EphemeralOwner, p.s.ID())
	}},
	{"a server without containers says so, and the session goes on", func(pw Powers) bool { return !pw.Servers.Has(zk.PowerContainers) }, func(p *probe) {
		path := p.root + "/box"
		for range 2 {
			_, err := p.s.Create(p.ctx, path, nil, zk.Container)
			p.is(err, zk.ErrUnimplemented)
		}
		equal(p, "exists", p.exists(p.s, path), false)
	}},
	{"a container takes children like any znode", func(pw Powers) bool { return pw.Servers.Has(zk.PowerContainers) }, func(p *probe) {
		path := p.root + "/box"
		equal(p, "path", p.create(p.s, path, "", zk.Container).Path, path)
		p.create(p.s, path+"/a-", "", zk.EphemeralSequential)
		names, _, err := p.s.Children(p.ctx, path)
		p.must(err)
		equal(p, "names", strings.Join(names, " "), "a-0000000000")
	}},
	{"a session may be used by many goroutines", nil, func(p *probe) {
		const workers, rounds = 16, 10
		var wg sync.WaitGroup
		var mu sync.Mutex
		seen := map[string]bool{}
		for range workers {
			wg.Go(func() {
				for range rounds {
					c, err := p.s.Create(p.ctx, p.root+"/w-", []byte("x"), zk.EphemeralSequential)
					if err != nil {
						p.Errorf("create: %v", err)
						return
					}
					if data, _, err := p.s.Get(p.ctx, c.Path); err != nil || string(data) != "x" {
						p.Errorf("get %s: %q, %v", c.Path, data, err)
					}
					mu.Lock()
					seen[c.Path] = true
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		equal(p, "distinct names", len(seen), workers*rounds)
	}},
	{"after CatchUp a session sees what another has done", nil, func(p *probe) {
		other := p.session()
		for i := range 10 {
			path := fmt.Sprintf("%s/%d", p.root, i)
			p.create(other, path, "", zk.Persistent)
			equal(p, "exists after CatchUp", p.exists(p.s, path), true)
		}
	}},
}
