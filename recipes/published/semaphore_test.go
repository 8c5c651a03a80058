package published_test

import (
	"testing"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	zkpublished "github.com/zkbench/zkbench/recipes/published"
	"github.com/zkbench/zkbench/recipes/recipestest"
	"github.com/zkbench/zkbench/recipes/semaphore"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// As long as all holders release, the deprecated semaphore keeps its promises.
func TestPublishedSemaphoresInMemory(t *testing.T) {
	for _, v := range zkpublished.Semaphores() {
		t.Run(v.Name, func(t *testing.T) {
			if _, twice := recipes.Find(semaphore.Variants(), v.Name); twice || !v.Unsafe {
				t.Errorf("in both catalogues: %v, unsafe: %v", twice, v.Unsafe)
			}
			ens := zktest.New(zktest.Config{})
			recipestest.SemaphoreOn(t, v, bubble.DialIn(ens), bubble.Dir)
			if left := ens.Ephemerals(); len(left) != 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// Its defect: the release of the second of two permits wakes nobody; only that of the first does.
func TestTheIndexSemaphoreMissesARelease(t *testing.T) {
	v := zkpublished.Semaphores()[0]
	bubble.Run(t, "", func(t *testing.T, ens *zktest.Ensemble) {
		first, last := bubble.Take(t.Context(), v, ens.Dial(), 1, recipes.Options{Permits: 2}), bubble.Take(t.Context(), v, ens.Dial(), 1, recipes.Options{Permits: 2})
		third := bubble.Take(t.Context(), v, ens.Dial(), 1, recipes.Options{Permits: 2})
		bubble.OK(t, "Release()", last.Sem.Release(t.Context()))
		time.Sleep(time.Hour)
		bubble.Expect(t, "after the release of the second", third, "waits")
		bubble.OK(t, "Release()", first.Sem.Release(t.Context()))
		bubble.Expect(t, "after the release of the first", third, "holds")
		bubble.OK(t, "Release()", third.Sem.Release(t.Context()))
	})
}

// A failed acquisition of several permits returns those that it had, and a deleted znode is not a permit.
func TestTheIndexSemaphoreReturnsAllPermits(t *testing.T) {
	v := zkpublished.Semaphores()[0]
	bubble.Run(t, "", func(t *testing.T, ens *zktest.Ensemble) {
		holder := bubble.Take(t.Context(), v, ens.Dial(), 1, recipes.Options{Permits: 2})
		want := len(ens.Ephemerals())
		both := bubble.Take(t.Context(), v, ens.Dial(), 2, recipes.Options{Permits: 2})
		bubble.Expect(t, "the second permit of two", both, "waits")
		bubble.OK(t, "Delete()", ens.Dial().Delete(t.Context(), bubble.Newest(t, ens), zk.AnyVersion))
		bubble.OK(t, "Release()", holder.Sem.Release(t.Context()))
		bubble.Expect(t, "after its znode was deleted", both, "failed")
		if left := ens.Ephemerals(); len(left) != want-1 {
			t.Errorf("left behind: %v", left)
		}
	})
}
