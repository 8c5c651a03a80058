package recipes_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// kazoo's own ReadLock and WriteLock (2.8.0) deadlock: a reader waits for the last writer, even for one behind it, which waits for the reader
// (kazoo #649). A writer holds, a reader and another writer queue behind it, and it releases. The servers show that nobody will ever be granted:
// each of the two watches the other's znode. Our lock with the same layout goes through the same steps.
func TestKazoosReadLockAndWriteLockDeadlock(t *testing.T) {
	in := newInterop(t)
	for _, tt := range []struct {
		why       string
		party     func(path string) party
		deadlocks bool
	}{
		{"kazoo", func(path string) party { return in.kazoo()(path, 3) }, true},
		{"ours", func(path string) party { return in.readWriteLocks("read-write", path, recipes.LayoutReadWriteKazoo, 3) }, false},
	} {
		t.Run(tt.why, func(t *testing.T) {
			path := in.path(t)
			var cycle []string
			a := &arbiter{hold: func(ctx context.Context, s seat, _ int) {
				if s.number == 0 {
					in.queued(ctx, t, path, 3)
					in.settle(ctx, t, path)
				}
			}}
			held := newMeeting(1) // the first writer holds
			a.next = func(ctx context.Context, s seat, round int) string {
				switch {
				case round == 1 && s.number == 0 && tt.deadlocks: // the first writer has released
					cycle = in.untie(ctx, t, path)
					return "end"
				case round == 1:
					return "end"
				case s.number == 0:
					held.arrive(ctx)
					return "write"
				}
				held.wait(ctx)
				in.exists(ctx, t, path)
				in.queued(ctx, t, path, int(s.number))
				return map[uint32]string{1: "read", 2: "write"}[s.number]
			}
			a.play(t, tt.party(path))
			a.judge(t, 3, check.ReaderWriter())
			if tt.deadlocks != (len(cycle) == 2) {
				t.Errorf("znodes %q wait for each other, want two of kazoo's or none of ours", cycle)
			}
			if !tt.deadlocks {
				a.judge(t, 3, check.QueueOrder())
			}
		})
	}
}

// exists waits until the queue exists.
func (in interop) exists(ctx context.Context, t *testing.T, path string) {
	in.until(ctx, t, func() (bool, error) {
		_, found, err := in.s.Exists(ctx, path)
		return found, err
	})
}

// until polls the servers until done, or until ctx ends.
func (in interop) until(ctx context.Context, t *testing.T, done func() (bool, error)) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, err := done()
		if err != nil && ctx.Err() == nil {
			t.Error(err)
		}
		if ok || err != nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// untie waits until two znodes wait for each other and returns them. It deletes the last, which wakes the other one.
func (in interop) untie(ctx context.Context, t *testing.T, path string) (cycle []string) {
	in.until(ctx, t, func() (bool, error) {
		children, _, err := in.s.Children(ctx, path)
		if err != nil || len(children) != 2 {
			return false, err
		}
		slices.SortFunc(children, func(a, b string) int { return strings.Compare(a[len(a)-10:], b[len(b)-10:]) })
		watchers, err := in.watchers(ctx)
		if err != nil {
			return false, err
		}
		for i, child := range children {
			other, found, err := in.s.Exists(ctx, path+"/"+children[1-i])
			if err != nil || !found || !slices.Contains(watchers[path+"/"+child], other.EphemeralOwner) {
				return false, err
			}
		}
		cycle = children
		return true, in.s.Delete(ctx, path+"/"+children[1], zk.AnyVersion)
	})
	return cycle
}

// watchers returns the sessions that watch each znode, according to the servers.
func (in interop) watchers(ctx context.Context) (map[string][]int64, error) {
	all := map[string][]int64{}
	for _, address := range in.addresses {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err != nil {
			return nil, err
		}
		_, err = io.WriteString(conn, "wchp")
		text, err2 := io.ReadAll(conn)
		conn.Close()
		if err := errors.Join(err, err2); err != nil {
			return nil, err
		}
		path := ""
		for line := range strings.Lines(string(text)) {
			line = strings.TrimRight(line, "\n")
			session, indented := strings.CutPrefix(line, "\t")
			if !indented {
				path = line
				continue
			}
			id, err := strconv.ParseUint(session, 0, 64)
			if err != nil {
				return nil, fmt.Errorf("wchp of %s: %w", address, err)
			}
			all[path] = append(all[path], int64(id))
		}
	}
	return all, nil
}
