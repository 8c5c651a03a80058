package command

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/zkbench/zkbench/zk/wire"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/zk"
)

// prune removes a znode and everything below it, as a user does with deleteall.
func prune(ctx context.Context, s zk.Session, path string) error {
	for {
		names, _, err := s.Children(ctx, path)
		if errors.Is(err, zk.ErrNoNode) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := prune(ctx, s, path+"/"+name); err != nil {
				return err
			}
		}
		if err := s.Delete(ctx, path, zk.AnyVersion); err == nil || errors.Is(err, zk.ErrNoNode) {
			return nil
		}
	}
}

// If another client removes the root of an active run, the run ends, does not create the root again, and reports no violation of a recipe.
func TestARootThatIsRemovedUnderItsRun(t *testing.T) {
	t.Parallel()
	for _, profile := range [][]string{nil, {"variants: go-zookeeper"}, {"workload: queue", "variants: fifo"}} {
		t.Run(strings.Join(profile, ","), func(t *testing.T) {
			t.Parallel()
			address, dir := servers.Get(t, 1).Addresses()[0], out(t)
			s := session(t, address)
			pruned := make(chan error, 1)
			m := newTerminal(t).when(", steady ", func() { go func() { pruned <- prune(t.Context(), s, "/removed/run") }() })
			o := m.run("run", small(t, append(profile, "duration: 30s", "rate: 100/s")...), "--servers", address, "--root", "/removed/run", "--out", dir)
			o.want(exitFailed, "taken by another client", "/removed/run")
			if err := <-pruned; err != nil {
				t.Error(err)
			}
			s.Delete(t.Context(), "/removed", zk.AnyVersion) // nothing else does if the run ended before its root was gone
			if strings.Contains(o.stdout+o.stderr, "violated") {
				t.Errorf("a removed root is a violation:\n%s%s", o.stdout, o.stderr)
			}
			for _, c := range result(t, dir).Cells {
				for _, k := range c.Checks {
					if k.Verdict != "unknown" {
						t.Errorf("%s is %s", k.Name, k.Verdict)
					}
				}
			}
			wantEmpty(t, address)
		})
	}
}

// Foreign znodes below the root of a run stay, are reported, and lead to exit code 1.
func TestForeignZnodesBelowTheRootOfARun(t *testing.T) {
	t.Parallel()
	address, dir := servers.Get(t, 1).Addresses()[0], out(t)
	s := session(t, address)
	m := newTerminal(t).when(", steady ", func() {
		plant(t, s, "/foreign/run/precious", "x", "/foreign/run/cell-1/lock-0/mine", "x")
	})
	const second = "/foreign/run/cell-1/lock-0/mine"
	m.run("run", small(t), "--servers", address, "--root", "/foreign/run", "--out", dir).want(exitFailed, "/foreign/run/precious", second,
		"zkCli.sh -server "+address+" deleteall "+second, "then: zkbench clean --servers "+address+" --root /foreign/run")
	if r := result(t, dir); !strings.Contains(r.LeftBehind, second) {
		t.Errorf("run.json does not tell what is left: %q", r.LeftBehind)
	}
	for _, path := range []string{"/foreign/run/precious", second} {
		if data, st, err := s.Get(t.Context(), path); string(data) != "x" || st.Version != 0 || err != nil {
			t.Errorf("%s is %q, %+v, %v now", path, data, st, err)
		}
		s.Delete(t.Context(), path, zk.AnyVersion)
	}
	zkbench(t, "clean", "--servers", address, "--root", "/foreign/run", "--yes").want(exitOK, "removing /foreign/run")
	wantEmpty(t, address)
}

func TestRootsWhoseParentsAreUnsuitable(t *testing.T) {
	t.Parallel()
	address := servers.Get(t, 1).Addresses()[0]
	s := session(t, address)
	if _, err := s.Create(t.Context(), "/box", nil, zk.Container); err != nil {
		t.Fatal(err)
	}
	plant(t, s, "/locked", "", "/locked/full", "")
	open := []wire.ACL{{Perms: wire.PermAll, Scheme: "world", ID: "anyone"}}
	defer func() {
		s.(*wire.Client).SetACL(t.Context(), "/locked", open, zk.AnyVersion)
		for _, path := range []string{"/box", "/locked/full", "/locked"} {
			s.Delete(t.Context(), path, zk.AnyVersion)
		}
		wantEmpty(t, address)
	}()
	if _, err := s.(*wire.Client).SetACL(t.Context(), "/locked", []wire.ACL{{Perms: wire.PermRead | wire.PermCreate | wire.PermAdmin, Scheme: "world", ID: "anyone"}}, zk.AnyVersion); err != nil {
		t.Fatal(err)
	}
	_, before, _ := s.Get(t.Context(), "/box")
	for _, test := range []struct {
		root, want string
		code       int
	}{
		{"/box/run", "/box has never had a child. If it is a container znode", exitFailed},
		{"/box/more/run", "--unused-parent", exitFailed},
		{"/locked/run", "/locked: its ACL allows this client to create znodes but not to delete them", exitFailed},
		{"/locked/more/run", "grant DELETE", exitFailed},
		{"/new/\x01/run", "must be the absolute path of a znode to create", exitUsage},
		{"/new/\u0085/run", "must be the absolute path of a znode to create", exitUsage},
	} {
		dir := out(t)
		zkbench(t, "run", small(t), "--servers", address, "--root", test.root, "--out", dir).want(test.code, test.want)
		wantMissing(t, dir)
	}
	_, after, err := s.Get(t.Context(), "/box")
	if err != nil || before != after {
		t.Errorf("the container is %+v now, was %+v (%v)", after, before, err)
	}
}

// Runs that are started at once on one root, on nested roots, and with one directory: one of them runs, or both, and neither breaks the other.
func TestTwoRunsAtOnce(t *testing.T) {
	address := servers.Get(t, 1).Addresses()[0]
	pairs := 2
	if n := killerRounds(); n > 0 {
		pairs = n
	}
	counts := map[string]int{}
	for i := range pairs {
		for kind, roots := range map[string][2]string{"the same root": {"/pair/run", "/pair/run"}, "nested roots": {"/pair", "/pair/run"}, "one --out": {"/pair/a", "/pair/b"}} {
			dirs := [2]string{out(t), out(t)}
			if kind == "one --out" {
				dirs[1] = dirs[0]
			}
			var ends [2]ending
			var both sync.WaitGroup
			for k := range ends {
				both.Go(func() {
					ends[k] = zkbench(t, "run", small(t, "hold: 20ms"), "--servers", address, "--root", roots[k], "--out", dirs[k])
				})
			}
			both.Wait()
			fine := 0
			for k, o := range ends {
				switch said := o.stdout + o.stderr; {
				case o.code == exitOK, o.code == 5:
					fine++
					if r, err := results.Read(dirs[k]); err != nil || len(r.Cells) != 1 {
						t.Errorf("%s, %d: the result of a run that ended well: %v", kind, i, err)
					}
				case o.code != exitFailed, !strings.Contains(said, "the root already exists") && !strings.Contains(said, "below the root of another run") && !strings.Contains(said, "a result exists already"):
					t.Errorf("%s, %d: exit code %d:\n%s", kind, i, o.code, said)
				}
			}
			if fine == 0 {
				t.Errorf("%s, %d: neither ran:\n%s\n%s", kind, i, ends[0].stderr, ends[1].stderr)
			}
			counts[fmt.Sprintf("%s: %d of 2 ran", kind, fine)]++
			wantEmpty(t, address)
		}
	}
	for kind, n := range counts {
		t.Logf("%4d %s", n, kind)
	}
}
