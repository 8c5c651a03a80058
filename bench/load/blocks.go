package load

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/bench/plan"
	"github.com/zkbench/zkbench/capacity"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/workloads"
)

// Blocks cuts the steady phase of the only cell of an open loop into blocks, and ends the phase when there are enough. Each block counts the operations that
// came due in it, however late they end, by the schedule of the arrivals: work that never started counts too. The Blocks of a share count only its own
// operations. Its results may be read after Run has returned.
type Blocks struct {
	Length time.Duration
	Max    int // blocks at most
	Limits []Limit
	// Enough is called after each block, when whatever came due in it has had the time of the longest limit.
	Enough func([]capacity.Block) bool
	// Counted holds the blocks, counted again when all work had ended.
	Counted []capacity.Block

	from    time.Duration
	longest time.Duration // the longest limit
	offered []metrics.Op
	ops     [][]metrics.Op   // the operations that each limit applies to
	due     []int64          // operations that come due in each block
	within  [][]atomic.Int64 // for each block and limit, those of due that met it
	done    []atomic.Int64   // operations that succeeded in each block
	ended   []atomic.Int64   // operations of due that succeeded
	took    []atomic.Int64   // the sum of their responses in nanoseconds
	early   []int64          // operations that come due up to the longest limit before the end of each block, and not before that of an earlier one
	settled []atomic.Int64   // operations of early that have ended
	stuck   []int            // operations stuck at the end of each block that is over
	lost    []int64          // sessions lost by the end of each block
	expired func() int64     // returns the sessions lost so far

	mu    sync.Mutex
	marks []string // what else happened in each block; guarded by mu
}

// Limit is what each operation must meet.
type Limit struct {
	// Op is the operation that the limit applies to; OpNone means whatever the rate offers.
	Op metrics.Op
	// Response is the limit, measured from the due time: an operation meets it if it succeeds in less time; failed and unfinished work does not. 0 accepts
	// any operation that does not fail.
	Response time.Duration
	// Expired makes the limit apply to sessions instead of operations: none may be lost.
	Expired bool
}

// Steady returns how long the steady phase may last: the profile's duration must be this long.
func (b *Blocks) Steady() time.Duration {
	return time.Duration(b.Max)*b.Length + b.tail() + time.Second
}

// tail returns how long after the end of a block to wait before counting what came due in it.
func (b *Blocks) tail() time.Duration {
	most := time.Duration(0)
	for _, l := range b.Limits {
		most = max(most, l.Response)
	}
	return most + slack
}

// slack is how long the recording of an ended operation may take.
const slack = 50 * time.Millisecond

// plan counts what will come due, before the load begins, by drawing the same streams as the seats.
func (b *Blocks) plan(c *Cell) {
	b.from, b.offered, b.expired = c.Profile.Warmup, workloads.Offered(c.work), c.clients.lost.Load
	b.longest = min(b.tail()-slack, b.Length)
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
		if !c.paced(id) || !c.offers(id) {
			continue
		}
		stream := c.arrivals(plan.Random(c.Profile.Seed, c.Repetition, id, plan.ArrivalStream), id, true, true)
		for due := stream.Next(0); due < end; due = stream.Next(0) {
			if k, in := b.at(due); in {
				b.due[k]++
			}
			if k, in := b.at(max(due+b.longest, b.from)); in {
				b.early[k]++
			}
		}
	}
}

// at returns the block in which something comes due.
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

// block returns the counts of a block so far.
func (b *Blocks) block(k int) capacity.Block {
	out := capacity.Block{Seconds: b.Length.Seconds(), Due: int(b.due[k]), Done: int(b.done[k].Load()), Stuck: b.stuck[k], Mark: b.markOf(k)}
	if n := b.ended[k].Load(); n > 0 {
		out.Mean, out.Ended = 1e3*time.Duration(b.took[k].Load()/n).Seconds(), int(n)
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

// reported marks the blocks in which servers took snapshots, as far as known: servers report from 3.6 on how many they have taken since their previous answer
// and how long all of them took. They count a snapshot when it ends.
func (b *Blocks) reported(all []ensemble.ServerStats, figures map[string]results.Figures, at func(time.Time) time.Duration) {
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

// mark adds a note of what happened between two offsets to each block that it may have happened in.
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

// wait waits for block after block until there are enough; it returns false if the run is interrupted or fails first.
func (b *Blocks) wait(ctx context.Context, c *Cell) bool {
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
		if !c.until(ctx, end+b.tail()) {
			return false
		}
		if known = append(known, b.block(k)); b.Enough(known) {
			break
		}
	}
	return true
}

// settle counts the blocks again, when all work has ended.
func (b *Blocks) settle() {
	b.Counted = nil
	for k := range b.stuck {
		b.Counted = append(b.Counted, b.block(k))
	}
}
