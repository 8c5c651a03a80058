package lock_test

import (
	"testing"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	"github.com/zkbench/zkbench/recipes/lock"
	"github.com/zkbench/zkbench/recipes/recipestest"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

func TestLocksInMemory(t *testing.T) {
	for _, v := range lock.Variants() {
		t.Run(v.Name, func(t *testing.T) { recipestest.Lock(t, v) })
	}
}

func TestForeignChildrenAreIgnored(t *testing.T) {
	bubble.Each(t, bubble.InOrder(lock.Variants()), func(t *testing.T, v recipes.Variant[recipes.Lock], ens *zktest.Ensemble) {
		admin := ens.Dial()
		for _, path := range []string{"/locks", bubble.Dir, bubble.Dir + "/0", bubble.Dir + "/content", bubble.Dir + "/_c_x", bubble.Dir + "/nested"} {
			if _, err := admin.Create(t.Context(), path, nil, zk.Persistent); err != nil {
				t.Fatal(err)
			}
		}
		foreign := 0
		w := bubble.Wait(t.Context(), v, ens.Dial(), recipes.Options{Trace: &recipes.Trace{Foreign: func(string) { foreign++ }}})
		bubble.Expect(t, "beside foreign children", w, "holds")
		if foreign != 4 {
			t.Errorf("%d foreign children were counted, want 4", foreign)
		}
	})
}
