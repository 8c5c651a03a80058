package lock_test

import (
	"testing"
	"testing/synctest"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	"github.com/zkbench/zkbench/recipes/lock"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// A reader behind w writers is woken once if it watches the last of them, and w times if it watches the first.
func TestWakesOfAReaderBehindWriters(t *testing.T) {
	const writers = 5
	for _, choice := range []struct {
		watch  string
		events int
	}{{"last", 1}, {"first", writers}} {
		bubble.Run(t, choice.watch, func(t *testing.T, ens *zktest.Ensemble) {
			v := lock.RWVariants()[0]
			var all []client
			for range writers {
				all = append(all, write(t.Context(), v, ens.Dial(), recipes.Options{}))
			}
			events, lists := 0, 0
			s := ens.Dial()
			l := v.New(zk.Observe(s, &zk.Trace{Event: func(zk.Event) { events++ }, Call: func(c *zk.Call) {
				if c.Kind == zk.KindChildren {
					lists++
				}
			}}), bubble.Dir, recipes.Options{ReaderWatch: choice.watch})
			r := bubble.Begin(func() (recipes.Grant, error) { return l.AcquireRead(t.Context()) })
			for _, w := range all {
				bubble.Expect(t, "while a writer is before it", r, "waits")
				bubble.OK(t, "Release()", w.lock.Release(t.Context()))
				synctest.Wait()
			}
			bubble.Expect(t, "after the last writer", r, "holds")
			if events != choice.events || lists != choice.events+1 {
				t.Errorf("%d events and %d lists behind %d writers, want %d and %d", events, lists, writers, choice.events, choice.events+1)
			}
		})
	}
}

// The release of a writer wakes and admits all readers up to the next writer.
func TestWakesOfTheReadersBehindAWriter(t *testing.T) {
	bubble.Run(t, "ten readers", func(t *testing.T, ens *zktest.Ensemble) {
		v := lock.RWVariants()[0]
		w := write(t.Context(), v, ens.Dial(), recipes.Options{})
		var readers []client
		for range 10 {
			readers = append(readers, read(t.Context(), v, ens.Dial(), recipes.Options{}))
		}
		next := write(t.Context(), v, ens.Dial(), recipes.Options{})
		before := bubble.Events(ens)
		bubble.OK(t, "Release()", w.lock.Release(t.Context()))
		synctest.Wait()
		if n := bubble.Events(ens) - before; n != len(readers) {
			t.Errorf("%d events for %d readers", n, len(readers))
		}
		before = bubble.Events(ens)
		for _, r := range readers { // in order of arrival, so that the writer behind them watches only the last
			bubble.Expect(t, "behind the writer", r, "holds")
			bubble.OK(t, "Release()", r.lock.Release(t.Context()))
		}
		bubble.Expect(t, "the next writer", next, "holds")
		if n := bubble.Events(ens) - before; n != 1 {
			t.Errorf("the writer behind them was woken %d times, want once, in this best case", n)
		}
	})
}
