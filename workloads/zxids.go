package workloads

import (
	"time"

	"github.com/zkbench/zkbench/zk"
)

// zxids follows what one session has been told of the order of all transactions. The tracker guards it.
type zxids struct {
	told      int64     // the highest zxid of a reply or an event
	blurred   time.Time // the last event without a zxid, unless a request was made after it and answered
	releasing bool
	removed   []removal // by the last release
}

// removal is a znode that the session has deleted.
type removal struct {
	path string
	zxid int64 // 0: unknown
}

// fired takes an event. One without a zxid may let somebody in, at a transaction that nobody knows.
func (z *zxids) fired(e zk.Event) {
	if z.told = max(z.told, e.Zxid); e.Zxid == 0 {
		z.blurred = e.At
	}
}

// call takes a finished request. Its reply is newer than an event only if it was asked for after the event: the caller may be scheduled
// again long after its reply has been read.
func (z *zxids) call(c *zk.Call) {
	z.told = max(z.told, c.Zxid)
	if c.Zxid != 0 && c.Start.After(z.blurred) {
		z.blurred = time.Time{}
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

// now is the last transaction that the session has been told of: whatever lets it in has been decided by then. Below 0: it may have been told of a
// later one than that, without its number.
func (z *zxids) now() int64 {
	if !z.blurred.IsZero() {
		return -z.told
	}
	return z.told
}

// granted is zxids.now; it is asked before the end of an acquisition is measured, so that nothing of what comes later is in it.
func (t *tracker) granted() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.zxids.now()
}

// releasing has the deletes of the session noted, until released.
func (t *tracker) releasing() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.zxids.releasing, t.zxids.removed = true, t.zxids.removed[:0]
}

func (t *tracker) released() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.zxids.releasing = false
}

// removal is the transaction in which the last release removed a znode; 0 where that is not certain: the reply was lost, the znode was
// gone before, or one of that name was removed twice.
func (t *tracker) removal(path string) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	zxid, times := int64(0), 0
	for _, r := range t.zxids.removed {
		if r.path == path {
			zxid, times = r.zxid, times+1
		}
	}
	if times > 1 {
		return 0
	}
	return zxid
}
