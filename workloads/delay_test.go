package workloads

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/zk/zktest"
)

// Items wait for their time and are then taken: the history contains each item's, all checks hold, and a note says how late they were taken.
func TestItemsOfADelayQueueComeWhenTheyAreDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ens, history := zktest.New(latency), metrics.NewHistory(1, nil)
		c := queueVariants()["delay"]
		c.Values["delay"] = profiles.Distribution{Kind: profiles.Uniform, Min: time.Second, Max: 61 * time.Second}
		w, put, take := join(t, ens, c, history.Shard(0), metrics.NewFanout(1))
		const items, preloaded = 20, 5
		for range items {
			if err := put.Do(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
		}
		for range items + preloaded {
			if err := take.Do(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
		}
		admin := ens.Dial()
		if err := w.Inspect(t.Context(), admin, history.Shard(0)); err != nil {
			t.Fatal(err)
		}
		last, waited := time.Duration(0), 0
		for s := range history.All() {
			switch due := dueOf(s.Value); {
			case s.Op == metrics.Take && due > 0: // a request on its way to the server, the list, the item, its removal
				if late := s.End - due; due < last || late < 0 || late > 20*time.Millisecond {
					t.Errorf("an item that is due at %v, after one of %v, comes at %v", due, last, s.End)
				}
				last, waited = due, waited+1
			case s.Op == metrics.Take && s.End > time.Second:
				t.Errorf("what was there before, and has no time, comes at %v", s.End)
			}
		}
		if waited != items {
			t.Errorf("%d items waited for their time, want %d", waited, items)
		}
		for _, c := range w.Checks() {
			if v := c.Judge(history.All(), nil); v.Answer.String() != "holds" {
				t.Errorf("%s is %v: %s", c.Name, v.Answer, v.Detail)
			}
		}
		late := func(note string) bool {
			return strings.HasPrefix(note, "20 items waited for their time; lateness median ")
		}
		if notes := w.(Noting).Notes(history.All(), nil); !slices.ContainsFunc(notes, late) {
			t.Errorf("no note of how late the items came: %v", notes)
		}
		closeAll(ens)
	})
}
