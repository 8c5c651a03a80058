package workloads

import (
	"time"

	"github.com/zkbench/zkbench/zk"
)

// zxids is what one session has seen of the global order of transactions. The tracker guards it.
type zxids struct {
	seen      int64 // highest zxid of a reply or an event
	blurred   bool  // an event without a zxid has come, and no later request has been answered
	releasing bool
	event     time.Time // when the last event without a zxid came
	removed   []removal // removals by the last release
}

// removal is a znode that the session has deleted.
type removal struct {
	path string
	zxid int64 // 0: unknown
}

// fired handles an event. An event without a zxid may let a session in, at an unknown transaction.
func (z *zxids) fired(e zk.Event) {
	if z.seen = max(z.seen, e.Zxid); e.Zxid == 0 {
		z.blurred, z.event = true, e.At
	}
}

// call handles a finished request. Its reply is newer than an event only if the request was sent after the event: the caller may be scheduled again
// long after its reply was read.
func (z *zxids) call(c *zk.Call) {
	z.seen = max(z.seen, c.Zxid)
	if z.blurred && c.Zxid != 0 && c.Start.After(z.event) {
		z.blurred = false
	}
	if !z.releasing || c.Err != nil {
		return
	}
	if c.Kind == zk.KindDelete {
		z.removed = append(z.removed, removal{c.Path, c.Zxid})
	}
	for _, op := range c.Ops {
		if op.Kind == zk.KindDelete {
			z.removed = append(z.removed, removal{op.Path, c.Zxid})
		}
	}
}

// now returns the last transaction that the session has seen: whatever lets it in was decided by then. A negative value says that it may have seen a
// later one whose number is not known.
func (z *zxids) now() int64 {
	if z.blurred {
		return -z.seen
	}
	return z.seen
}

// releasing starts noting the deletes of the session, until released is called.
func (t *tracker) releasing() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.zxids.releasing, t.zxids.removed = true, t.zxids.removed[:0]
}

// released ends that, and returns the removal of a znode. It may be called again, for another znode.
func (t *tracker) released(path string) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.zxids.releasing = false
	return t.zxids.removal(path)
}

// removal returns the transaction in which the last release removed a znode; 0 if that is not certain: the reply was lost, the znode was already
// gone, or a znode of that name was removed twice.
func (z *zxids) removal(path string) int64 {
	zxid, times := int64(0), 0
	for _, r := range z.removed {
		if r.path == path {
			zxid, times = r.zxid, times+1
		}
	}
	if times > 1 {
		return 0
	}
	return zxid
}
