package counter

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// A handle that has only read the counter notices too that it was deleted, or recreated.
func TestACounterDeletedAfterARead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := zktest.New(zktest.Config{}).Dial()
		defer s.Close()
		put := func() {
			if _, err := s.Create(t.Context(), "/counter", []byte("7"), zk.Persistent); err != nil {
				t.Fatal(err)
			}
		}
		put()
		c := newCounter(s, "/counter", recipes.Options{})
		if n, err := c.Value(t.Context()); n != 7 || err != nil {
			t.Errorf("Value() = %d, %v, want 7", n, err)
		}
		if err := s.Delete(t.Context(), "/counter", zk.AnyVersion); err != nil {
			t.Fatal(err)
		}
		for _, state := range []string{"deleted", "recreated"} {
			if _, err := c.Value(t.Context()); !errors.Is(err, recipes.ErrCounterLost) {
				t.Errorf("%s: Value() = %v, want ErrCounterLost", state, err)
			}
			if _, err := c.Add(t.Context(), 1); !errors.Is(err, recipes.ErrCounterLost) {
				t.Errorf("%s: Add() = %v, want ErrCounterLost", state, err)
			}
			if state == "deleted" {
				put()
			}
		}
	})
}

// Of two clients that have read the counter at version -1, which means any version in a write, only one may write.
func TestTwoWritesAtTheVersionThatMeansAny(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ens := zktest.New(zktest.Config{})
		s := ens.Dial()
		defer s.Close()
		first, second := newCounter(s, "/counter", recipes.Options{}), newCounter(s, "/counter", recipes.Options{})
		if _, err := first.Add(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		before, st, err := first.read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		st.Version = zk.AnyVersion // as servers before ZOOKEEPER-4743 number it
		token, err := first.write(t.Context(), st, before.plus(10, "first:1"))
		if z := ens.Tree()["/counter"]; err != nil || token != z.Stat.Mzxid || string(z.Data) != string(before.plus(10, "first:1").bytes()) {
			t.Errorf("the first write: token %d, %v; the counter is %q with mzxid %d", token, err, z.Data, z.Stat.Mzxid)
		}
		if token, err := second.write(t.Context(), st, before.plus(100, "second:1")); !errors.Is(err, zk.ErrNodeExists) || token != 0 {
			t.Errorf("the second write: token %d, %v, want ErrNodeExists", token, err)
		}
		if z := ens.Tree()["/counter"]; string(z.Data) != string(before.plus(10, "first:1").bytes()) {
			t.Errorf("after the second write the counter is %q", z.Data)
		}
	})
}
