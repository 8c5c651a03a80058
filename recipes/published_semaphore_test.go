package recipes_test

import (
	"testing"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// While every holder releases in the end, the deprecated semaphore keeps its promises.
func TestPublishedSemaphoresInMemory(t *testing.T) {
	for _, v := range recipes.PublishedSemaphores {
		t.Run(v.Name, func(t *testing.T) {
			if _, twice := recipes.Find(recipes.Semaphores, v.Name); twice || !v.Unsafe {
				t.Errorf("in both catalogues: %v, unsafe: %v", twice, v.Unsafe)
			}
			ens := zktest.New(zktest.Config{})
			semaphoreSuite(t, v, dialIn(ens), dir)
			if left := ens.Ephemerals(); len(left) != 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// The fault that it is there for: the release of the second of two permits wakes nobody, that of the first, much later, does.
func TestTheIndexSemaphoreSleepsThroughARelease(t *testing.T) {
	v := recipes.PublishedSemaphores[0]
	bubble(t, "", func(t *testing.T, ens *zktest.Ensemble) {
		first, last := take(t.Context(), v, ens.Dial(), 1, two), take(t.Context(), v, ens.Dial(), 1, two)
		third := take(t.Context(), v, ens.Dial(), 1, two)
		ok(t, "Release()", last.sem.Release(t.Context()))
		time.Sleep(time.Hour)
		expect(t, "after the release of the second", third.attempt, "waits")
		ok(t, "Release()", first.sem.Release(t.Context()))
		expect(t, "after the release of the first", third.attempt, "holds")
		ok(t, "Release()", third.sem.Release(t.Context()))
	})
}

// An acquisition of several permits that fails gives those back that it had, and a znode that was deleted is never a permit.
func TestTheIndexSemaphoreGivesAllBack(t *testing.T) {
	v := recipes.PublishedSemaphores[0]
	bubble(t, "", func(t *testing.T, ens *zktest.Ensemble) {
		holder := take(t.Context(), v, ens.Dial(), 1, two)
		want := len(ens.Ephemerals())
		both := take(t.Context(), v, ens.Dial(), 2, two)
		expect(t, "the second permit of two", both.attempt, "waits")
		ok(t, "Delete()", ens.Dial().Delete(t.Context(), newest(t, ens), zk.AnyVersion))
		ok(t, "Release()", holder.sem.Release(t.Context()))
		expect(t, "after its znode was deleted", both.attempt, "failed")
		if left := ens.Ephemerals(); len(left) != want-1 {
			t.Errorf("left behind: %v", left)
		}
	})
}
