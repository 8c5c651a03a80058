package workloads

import (
	"testing"
	"time"

	"github.com/zkbench/zkbench/zk"
)

// After an event without a zxid, a session has been notified of a later transaction than that of any reply, until a request sent after the event is
// answered.
func TestAnEventWithoutAZxidIsNotBeforeWhatWasToldAlready(t *testing.T) {
	now := time.Now()
	var z zxids
	z.call(&zk.Call{Kind: zk.KindChildren, Start: now, Zxid: 7})
	for _, step := range []struct {
		what string
		do   func()
		want int64
	}{
		{"a reply", func() {}, 7},
		{"an event without a zxid", func() { z.fired(zk.Event{At: now.Add(2)}) }, -7},
		{"the reply to what was asked before the event", func() { z.call(&zk.Call{Kind: zk.KindChildren, Start: now.Add(1), Zxid: 8}) }, -8},
		{"the reply to what was asked after the event", func() { z.call(&zk.Call{Kind: zk.KindChildren, Start: now.Add(3), Zxid: 9}) }, 9},
		{"an event with a zxid", func() { z.fired(zk.Event{At: now.Add(4), Zxid: 12}) }, 12},
	} {
		if step.do(); z.now() != step.want {
			t.Errorf("after %s: %d, want %d", step.what, z.now(), step.want)
		}
	}
}
