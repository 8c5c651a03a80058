package ensembletest

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/zk/wire"

	"github.com/zkbench/zkbench/zk"
)

// Garden is the znode below which the onlooker keeps znodes that no test may touch.
const Garden = "/onlooker"

// garden holds znodes such as a user may have, some of them similar to zkbench's own.
var garden = []struct{ path, data string }{
	{Garden, "precious"},
	{Garden + "/config", `{"precious": true}`},
	{Garden + "/empty", ""},
	{Garden + "/zkbench", "made by zkbench"},
	{Garden + "/parent", "made by zkbench at /elsewhere"},
	{Garden + "/run", ""},
	{Garden + "/run/zkbench-root", `{"id": "copied", "path": "/zkbench/run", "run": "run-1", "profile": "locks"}`},
	{Garden + "/run/cell-1", ""},
	{Garden + "/run/cell-1/lock-0", ""},
	{Garden + "/run/cell-1/lock-0/_c_0123456789abcdef0123456789abcdef-lock-0000000007", "mine"},
	{Garden + "/run/cell-1/queue-0", ""},
	{Garden + "/run/cell-1/queue-0/qn-0000000003", "an item"},
	{Garden + "/old", ""},
	{Garden + "/old/zkbench-root", `{"run": "run-0", "profile": "locks"}`},
}

// seen is a znode as the onlooker found it.
type seen struct {
	data []byte
	stat zk.Stat
}

// Onlooker reads the whole tree of an ensemble before and after a test, over its own session, and fails the test if a znode that
// is not the test's has changed: in czxid, mzxid, version or data. Start and Shared.Get use one for every test.
type Onlooker struct {
	addresses []string
	strict    bool
	before    map[string]seen
}

// Look starts an onlooker that watches until the end of the test. It creates the garden if needed. With strict, every znode must
// be unchanged at the end, and there must be no new ones; otherwise only the garden must, and tests may use what others have left.
// Servers that the test has ended are not checked.
func Look(t testing.TB, addresses []string, strict bool) *Onlooker {
	t.Helper()
	o := &Onlooker{addresses: addresses, strict: strict}
	if err := o.plant(); err != nil {
		t.Fatalf("the onlooker cannot plant its garden: %v", err)
	}
	t.Cleanup(func() {
		if err := o.Compare(t); err != nil {
			t.Logf("the onlooker does not see the servers any more: %v", err)
		}
	})
	return o
}

// dial opens a session for reading the tree.
func (o *Onlooker) dial() (zk.Session, context.Context, context.CancelFunc, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute) // the test's own context is already canceled during clean-up
	s, err := wire.Dial(ctx, wire.Config{Servers: o.addresses, Timeout: 10 * time.Second})
	if err != nil {
		cancel()
	}
	return s, ctx, cancel, err
}

func (o *Onlooker) plant() error {
	s, ctx, cancel, err := o.dial()
	if err != nil {
		return err
	}
	defer cancel()
	defer s.Close()
	if _, there, err := s.Exists(ctx, Garden); err != nil || !there {
		_, err := s.Multi(ctx, planting(zk.Container)...)
		if errors.Is(err, zk.ErrFailed) || errors.Is(err, zk.ErrUnimplemented) { // before ZooKeeper 3.5.1
			_, err = s.Multi(ctx, planting(zk.Persistent)...)
		}
		if err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return err
		}
	}
	o.before, err = tree(ctx, s)
	return err
}

// planting creates the garden, with a box of a mode.
func planting(box zk.Mode) (ops []zk.Op) {
	for _, z := range garden {
		ops = append(ops, zk.CreateOp(z.path, []byte(z.data), zk.Persistent))
	}
	return append(ops, zk.CreateOp(Garden+"/box", nil, box), zk.CreateOp(Garden+"/box/full", nil, zk.Persistent))
}

// Compare reads the tree again. It returns an error if the servers do not answer.
func (o *Onlooker) Compare(t testing.TB) error {
	t.Helper()
	s, ctx, cancel, err := o.dial()
	if err != nil {
		return err
	}
	defer cancel()
	defer s.Close()
	after, err := tree(ctx, s)
	if err != nil {
		return err
	}
	for path, was := range o.before {
		planted := path == Garden || strings.HasPrefix(path, Garden+"/")
		if !planted && !o.strict || was.stat.EphemeralOwner != 0 { // an ephemeral znode goes with an earlier session
			continue
		}
		is, there := after[path]
		switch {
		case !there:
			t.Errorf("%s, which is nobody's business, is gone", path)
		case !bytes.Equal(is.data, was.data), is.stat.Czxid != was.stat.Czxid, is.stat.Mzxid != was.stat.Mzxid, is.stat.Version != was.stat.Version,
			planted && (is.stat.Cversion != was.stat.Cversion || is.stat.Pzxid != was.stat.Pzxid):
			t.Errorf("%s, which is nobody's business, was changed: %+v, before %+v", path, is.stat, was.stat)
		}
	}
	for path := range after {
		if _, there := o.before[path]; !there && o.strict {
			t.Errorf("%s is left behind", path)
		}
	}
	return nil
}

// tree reads all znodes except "/" and ZooKeeper's own.
func tree(ctx context.Context, s zk.Session) (map[string]seen, error) {
	if err := zk.CatchUp(ctx, s, "/"); err != nil {
		return nil, err
	}
	all := map[string]seen{}
	for level := []string{"/"}; len(level) > 0; {
		var next []string
		for _, path := range level {
			names, _, err := s.Children(ctx, path)
			if errors.Is(err, zk.ErrNoNode) || path == "/zookeeper" {
				continue
			}
			if err != nil {
				return nil, err
			}
			if path != "/" {
				data, st, err := s.Get(ctx, path)
				if err != nil && !errors.Is(err, zk.ErrNoNode) && !errors.Is(err, zk.ErrNoAuth) {
					return nil, err
				}
				all[path] = seen{data, st}
			}
			for _, name := range names {
				next = append(next, strings.TrimSuffix(path, "/")+"/"+name)
			}
		}
		level = next
	}
	return all, nil
}
