package recipes_test

import (
	"context"
	"regexp"
	"sync"
	"testing"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/recipes"
)

// The names of the libraries' znodes.
var (
	curatorMutex  = regexp.MustCompile(`^_c_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-lock-\d{10}$`)
	curatorShared = regexp.MustCompile(`^_c_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-__(READ|WRIT)__\d{10}$`)
	kazooMutex    = regexp.MustCompile(`^[0-9a-f]{32}__lock__\d{10}$`)
	kazooShared   = regexp.MustCompile(`^[0-9a-f]{32}__r?lock__\d{10}$`)
	goOrKazoo     = regexp.MustCompile(`^(_c_[0-9a-f]{32}-lock-|[0-9a-f]{32}__lock__)\d{10}$`)
)

const each = 20 // contenders in a party

// Our locks and those of Curator and kazoo share one queue: one holder at a time, in the queue's order.
func TestLocksContendWithOtherLibraries(t *testing.T) {
	const rounds = 5
	in := newInterop(t)
	for _, tt := range []struct {
		why, variant string
		layout       recipes.Layout
		theirs       func(path string, contenders int) party
		names        *regexp.Regexp
	}{
		{"Curator's InterProcessMutex", "predecessor", recipes.LayoutCurator, in.curator, curatorMutex},
		{"Curator's InterProcessMutex", "naive", recipes.LayoutCurator, in.curator, curatorMutex},
		{"kazoo's Lock", "predecessor", recipes.LayoutKazoo, in.kazoo(), kazooMutex},
		{"kazoo's Lock", "naive", recipes.LayoutKazoo, in.kazoo(), kazooMutex},
		{"kazoo's Lock, given our pattern", "predecessor", recipes.LayoutGoZookeeper, in.kazoo("-lock-"), goOrKazoo},
	} {
		t.Run(tt.variant+" and "+tt.why, func(t *testing.T) {
			path := in.path(t)
			var first sync.Once
			a := &arbiter{
				next: func(_ context.Context, _ seat, round int) string {
					if round == rounds {
						return "end"
					}
					return "acquire"
				},
				hold: func(ctx context.Context, _ seat, _ int) {
					first.Do(func() { in.queued(ctx, t, path, 2*each) }) // until then not all contend
					in.settle(ctx, t, path)
				},
			}
			a.play(t, in.locks(tt.variant, path, tt.layout, each), tt.theirs(path, each))
			a.judge(t, 2*each*rounds, check.MutualExclusion(), check.TokenOrder())
			in.named(t, a, tt.names)
		})
	}
}

// Readers of both libraries hold together, and writers alone. In the first round all read, and hold until all have entered. Then each contender
// writes in one of four rounds. kazoo's contenders write in all four: its ReadLock (2.8.0) waits for writers behind it, which wait for it (kazoo
// #649), so kazoo's readers must not queue with writers.
func TestReadWriteLocksContendWithOtherLibraries(t *testing.T) {
	const rounds = 1 + 4
	in := newInterop(t)
	for _, tt := range []struct {
		why, variant string
		layout       recipes.Layout
		theirs       func(path string, contenders int) party
		reading      bool // their readers may queue with writers
		names        *regexp.Regexp
	}{
		{"Curator's InterProcessReadWriteLock", "read-write", recipes.LayoutReadWriteCurator, in.curator, true, curatorShared},
		{"Curator's InterProcessReadWriteLock", "revocable", recipes.LayoutReadWriteCurator, in.curator, true, curatorShared},
		{"kazoo's ReadLock and WriteLock", "read-write", recipes.LayoutReadWriteKazoo, in.kazoo(), false, kazooShared},
	} {
		t.Run(tt.variant+" and "+tt.why, func(t *testing.T) {
			path := in.path(t)
			reading := newMeeting(2 * each)
			a := &arbiter{
				next: func(_ context.Context, s seat, round int) string {
					switch {
					case round == rounds:
						return "end"
					case round > 0 && ((int(s.number)+round)%4 == 0 || !tt.reading && s.party != "ours"):
						return "write"
					}
					return "read"
				},
				hold: func(ctx context.Context, _ seat, round int) {
					if round == 0 {
						reading.arrive(ctx)
					}
					in.settle(ctx, t, path)
				},
			}
			a.play(t, in.readWriteLocks(tt.variant, path, tt.layout, each), tt.theirs(path, each))
			a.judge(t, 2*each*rounds, check.ReaderWriter(), check.QueueOrder())
			if a.most != 2*each {
				t.Errorf("%d readers at once, want %d", a.most, 2*each)
			}
			in.named(t, a, tt.names)
		})
	}
}

// Some layouts do not exclude each other: a library that does not know the names of another's znodes does not wait for them. The holder holds
// until the other one holds too.
func TestLayoutsThatDoNotContend(t *testing.T) {
	in := newInterop(t)
	one := func(layout recipes.Layout) func(string, int) party {
		return func(path string, n int) party { return in.locks("predecessor", path, layout, n) }
	}
	for _, tt := range []struct {
		why           string
		holder, other func(path string, contenders int) party
	}{
		{"kazoo holds and Curator acquires", in.kazoo(), in.curator},
		{"kazoo holds, given Curator's pattern, and Curator acquires", in.kazoo("-lock-"), in.curator},
		{"Curator holds and kazoo acquires", in.curator, in.kazoo()},
		{"ours holds in kazoo's layout and Curator acquires", one(recipes.LayoutKazoo), in.curator},
		{"ours holds in go-zookeeper's layout and kazoo acquires", one(recipes.LayoutGoZookeeper), in.kazoo()},
	} {
		t.Run(tt.why, func(t *testing.T) {
			path := in.path(t)
			holds, both := newMeeting(1), newMeeting(2)
			holder, other := tt.holder(path, 1), tt.other(path, 1)
			a := &arbiter{
				next: func(ctx context.Context, s seat, round int) string {
					if round == 1 {
						return "end"
					}
					if s.party == other.name {
						holds.wait(ctx)
					}
					return "acquire"
				},
				hold: func(ctx context.Context, s seat, _ int) {
					if s.party == holder.name {
						holds.arrive(ctx)
					}
					both.arrive(ctx)
				},
			}
			a.play(t, holder, other)
			v := check.MutualExclusion().Judge(a.history(), nil)
			if v.Answer != check.Violated || v.Count != 1 || v.Evidence != 2 {
				t.Errorf("mutual exclusion is %v, %d times on %d grants, want violated once on 2", v.Answer, v.Count, v.Evidence)
			}
		})
	}
}
