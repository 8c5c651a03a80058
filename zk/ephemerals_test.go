package zk_test

import (
	"slices"
	"testing"

	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

func TestEphemerals(t *testing.T) {
	ens := zktest.New(zktest.Config{})
	s, other := ens.Dial(), ens.Dial()
	defer s.Close()
	defer other.Close()
	for _, z := range []struct {
		by   zk.Session
		path string
		mode zk.Mode
	}{{s, "/a", zk.Persistent}, {s, "/a/b", zk.Persistent}, {s, "/a/b/e", zk.Ephemeral}, {other, "/a/e", zk.Ephemeral}, {s, "/a/empty", zk.Persistent}, {s, "/e", zk.Ephemeral}} {
		if _, err := z.by.Create(t.Context(), z.path, nil, z.mode); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string][]int64{"/a": {s.ID(), other.ID()}, "/a/b": {s.ID()}, "/a/empty": nil, "/missing": nil} {
		var got []int64
		listed := 0
		err := zk.Ephemerals(t.Context(), s, path, func(zk.Stat) { listed++ }, func(st zk.Stat) { got = append(got, st.EphemeralOwner) })
		slices.Sort(got)
		slices.Sort(want)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("Ephemerals(%s) found the owners %x, %v; want %x", path, got, err, want)
		}
		if some := map[string]int{"/a": 2, "/a/b": 1, "/a/empty": 1}[path]; listed != some {
			t.Errorf("Ephemerals(%s) listed %d znodes, want %d", path, listed, some)
		}
	}
	other.Close()
	if err := zk.Ephemerals(t.Context(), other, "/a", nil, func(zk.Stat) {}); err == nil {
		t.Error("no error from a session that has ended")
	}
}
