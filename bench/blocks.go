package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/capacity"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/workloads"
)

// Blocks cuts the steady phase of the only cell of an open loop into blocks, and ends it when they are enough. Each block counts what came
// due in it, however late it ends, from the schedule of the arrivals: work that was never begun counts too. Those of a share count
// its own operations. Its results are read when Run has returned.
type Blocks struct {
	Length time.Duration
	Max    int // blocks at most
	Limits []Limit
	// Enough is asked at the end of each block, when whatever came due in it has had the time of the longest limit.
	Enough func([]capacity.Block) bool
	// Counted are the blocks, counted again when all work had ended.
	Counted []capacity.Block

	from    time.Duration
	longest time.Duration // limit
	offered []metrics.Op
	ops     [][]metrics.Op   // that each limit is of
	due     []int64          // operations that come due in each block
	within  [][]atomic.Int64 // for each block and limit, those of due that met it
	done    []atomic.Int64   // what ended well in each block
	ended   []atomic.Int64   // of due, what ended well
	took    []atomic.Int64   // the sum of its responses in nanoseconds
	early   []int64          // what comes due up to the longest limit before the end of each block, and not before that of an earlier one
	settled []atomic.Int64   // of early, what has ended
	stuck   []int            // at the end of each block that is over
	lost    []int64          // sessions, by the end of each
	expired func() int64     // sessions so far

	mu    sync.Mutex
	marks []string // what else happened in each block; guarded by mu
}

// Limit is what each operation has to meet.
type Limit struct {
	// Op is whose; OpNone: of whatever the rate is of.
	Op metrics.Op
	// Response is the longest that is within the limit, from the due time; failed and unfinished work is not. 0: any that does not fail.
	Response time.Duration
	// Expired: the limit is about sessions and not about operations: none may be lost.
	Expired bool
}

// Steady is how long the steady phase may last: the profile's duration has to be that.
func (b *Blocks) Steady() time.Duration {
	return time.Duration(b.Max)*b.Length + b.grace() + time.Second
}

// grace is how long after the end of a block what came due in it is counted.
func (b *Blocks) grace() time.Duration {
	most := time.Duration(0)
	for _, l := range b.Limits {
		most = max(most, l.Response)
	}
	return most + slack
}

// slack is how long what has ended may take to be recorded.
const slack = 50 * time.Millisecond

// plan counts what will come due, before the load begins: it draws the same streams as the seats.
func (b *Blocks) plan(c *cell) {
	b.from, b.offered, b.expired = c.profile.Warmup, workloads.Offered(c.work), c.clients.lost.Load
	b.longest = min(b.grace()-slack, b.Length)
	b.due, b.early = make([]int64, b.Max), make([]int64, b.Max)
	b.within, b.settled, b.done = make([][]atomic.Int64, b.Max), make([]atomic.Int64, b.Max), make([]atomic.Int64, b.Max)
	b.marks = make([]string, b.Max)
	b.ended, b.took = make([]atomic.Int64, b.Max), make([]atomic.Int64, b.Max)
	for k := range b.within {
		b.within[k] = make([]atomic.Int64, len(b.Limits))
	}
	for _, l := range b.Limits {
		ops := b.offered
		if l.Op != metrics.OpNone {
			ops = []metrics.Op{l.Op}
		}
		b.ops = append(b.ops, ops)
	}
	end := b.from + time.Duration(b.Max)*b.Length
	for i := range c.seats() {
		id := uint32(c.session(i))
		if !c.driven(id) || !c.offers(id) {
			continue
		}
		stream := c.arrivals(random(c.profile.Seed, c.repetition, id, streamArrivals), true)
		for due := stream.next(0); due < end; due = stream.next(0) {
			if k, in := b.at(due); in {
				b.due[k]++
			}
			if k, in := b.at(max(due+b.longest, b.from)); in {
				b.early[k]++
			}
		}
	}
}

// at is the block in which something comes due.
func (b *Blocks) at(due time.Duration) (int, bool) {
	if due < b.from {
		return 0, false
	}
	k := int((due - b.from) / b.Length)
	return k, k < b.Max
}

// Record counts a sample. It may be called from many goroutines.
func (b *Blocks) Record(whole metrics.Sample, parts ...metrics.Sample) {
	b.count(whole)
	for _, s := range parts {
		b.count(s)
	}
}

func (b *Blocks) count(s metrics.Sample) {
	ok := s.Outcome == metrics.OK
	if k, in := b.at(s.Due); in && ok {
		for i, l := range b.Limits {
			if slices.Contains(b.ops[i], s.Op) && (l.Response == 0 || s.Response() < l.Response) {
				b.within[k][i].Add(1)
			}
		}
	}
	if !slices.Contains(b.offered, s.Op) {
		return
	}
	if k, in := b.at(max(s.Due+b.longest, b.from)); in {
		b.settled[k].Add(1)
	}
	if k, in := b.at(s.Due); in && ok {
		b.ended[k].Add(1)
		b.took[k].Add(int64(s.Response()))
	}
	if k, in := b.at(s.End); in && ok {
		b.done[k].Add(1)
	}
}

// block is what is known of a block.
func (b *Blocks) block(k int) capacity.Block {
	out := capacity.Block{Length: b.Length, Due: int(b.due[k]), Done: int(b.done[k].Load()), Stuck: b.stuck[k], Mark: b.markOf(k)}
	if n := b.ended[k].Load(); n > 0 {
		out.Mean, out.Ended = time.Duration(b.took[k].Load()/n), int(n)
	}
	for i, l := range b.Limits {
		over := int(b.due[k] - b.within[k][i].Load())
		if l.Expired {
			over = int(b.lost[k])
			if k > 0 {
				over -= int(b.lost[k-1])
			}
		}
		out.Over = append(out.Over, max(over, 0))
	}
	return out
}

// told marks the blocks in which servers took snapshots, as far as they tell: from 3.6 on, how many they took since their answer before and how long all of them
// took. They count a snapshot when it ends.
func (b *Blocks) told(all []ensemble.ServerStats, figures map[string]results.Figures, at func(time.Time) time.Duration) {
	for _, st := range all {
		f := figures[st.Address]
		if n, known := f.Get("snapshots"); !known || n == 0 {
			continue
		}
		took, _ := f.Get("snapshot_ms")
		since, _ := f.Get("seconds")
		role := ""
		if st.Leads() {
			role = ", the leader"
		}
		lasted := time.Duration(took * float64(time.Millisecond))
		b.mark(at(st.At)-time.Duration(since*float64(time.Second))-lasted, at(st.At), fmt.Sprintf("snapshot of %s%s (%s)", st.Address, role, phrase.Duration(lasted)))
	}
}

// mark notes what happened between two offsets, in each block that it may have been in.
func (b *Blocks) mark(from, to time.Duration, what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for k := range b.marks {
		if begin := b.from + time.Duration(k)*b.Length; from < begin+b.Length && to > begin {
			b.marks[k] = strings.TrimPrefix(b.marks[k]+", "+what, ", ")
		}
	}
}

func (b *Blocks) markOf(k int) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.marks[k]
}

// wait waits for one block after the other, until they are enough; false when the run is interrupted or has failed before.
func (b *Blocks) wait(ctx context.Context, c *cell) bool {
	var known []capacity.Block
	for k := range b.Max {
		end := b.from + time.Duration(k+1)*b.Length
		if !c.until(ctx, end) {
			return false
		}
		waiting := int64(0)
		for i := range k + 1 {
			waiting += b.early[i] - b.settled[i].Load()
		}
		b.stuck, b.lost = append(b.stuck, int(max(waiting, 0))), append(b.lost, b.expired())
		if !c.until(ctx, end+b.grace()) {
			return false
		}
		if known = append(known, b.block(k)); b.Enough(known) {
			break
		}
	}
	return true
}

// settle counts again, when all work has ended.
func (b *Blocks) settle() {
	b.Counted = nil
	for k := range b.stuck {
		b.Counted = append(b.Counted, b.block(k))
	}
}
