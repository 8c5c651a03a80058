package zk_test

import (
	"errors"
	"testing"

	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

func TestWithinWritesNothingOutside(t *testing.T) {
	e := zktest.New(zktest.Config{})
	free := e.Dial()
	defer free.Close()
	s, ctx := zk.Within(free, "/run"), t.Context()
	seen := func(s zk.Session) zk.Session { return zk.Observe(s, &zk.Trace{}) }
	plant := func(s zk.Session, path string) error {
		_, err := s.Create(ctx, path, nil, zk.Persistent)
		return err
	}
	for how, s := range map[string]zk.Session{"as it is": s, "observed": seen(s), "observed twice": seen(seen(s)), "around an observed one": zk.Within(seen(free), "/run"),
		"between two": seen(zk.Within(seen(free), "/run"))} {
		for path, want := range map[string]error{"/run": zk.ErrOutside, "/runs": zk.ErrOutside, "/runs/x": zk.ErrOutside, "/": zk.ErrOutside, "/run/x": zk.ErrNoNode} {
			set := func() error { _, err := s.Set(ctx, path, nil, -1); return err }
			multi := func(op zk.Op) error { _, err := s.Multi(ctx, zk.CheckOp("/", -1), op); return err }
			for i, err := range []error{plant(s, path), s.Delete(ctx, path, -1), set(), multi(zk.CreateOp(path, nil, zk.Persistent)), multi(zk.SetOp(path, nil, -1)), multi(zk.DeleteOp(path, -1))} {
				if !errors.Is(err, want) || zk.Classify(err) != zk.ClassDefiniteNo {
					t.Errorf("%s: write %d of %s: %v, want %v", how, i, path, err, want)
				}
			}
		}
	}
	if err := errors.Join(plant(free, "/run"), plant(s, "/run/x")); err != nil {
		t.Error(err)
	}
	deep := zk.Within(free, "/run/x")
	for path, want := range map[string]error{"/run": zk.ErrNodeExists, "/run/x": zk.ErrNodeExists, "/run/xs": zk.ErrOutside, "/ru": zk.ErrOutside, "/run/x/y": nil} {
		if err := plant(deep, path); !errors.Is(err, want) || (err == nil) != (want == nil) {
			t.Errorf("create of %s, a parent or child: %v, want %v", path, err, want)
		}
	}
	if c, err := s.Create(ctx, "/run/", nil, zk.PersistentSequential); err != nil || c.Path != "/run/0000000001" {
		t.Errorf("a sequential child without a prefix: %+v, %v", c, err)
	}
	if _, _, err := s.Get(ctx, "/"); err != nil {
		t.Errorf("Get outside = %v, want nil", err)
	}
	if _, ok := zk.AsPersistentWatcher(zk.Observe(s, &zk.Trace{})); !ok {
		t.Error("Within hides the PersistentWatcher of its session")
	}
	if zk.ServerOf(s) != zk.ServerOf(free) {
		t.Error("Within hides the server of its session")
	}
}
