package command

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/traffic/trace"
)

// clientsOfLocks is a recording of sessions at locks of their own, in turns, which read znodes that were there before and that the servers had numbered.
func clientsOfLocks(locks, sessions, turns int) *script {
	const step = time.Millisecond
	r := &script{}
	lock := func(session int) string { return fmt.Sprintf("/app/lock-%c", 'a'+session%locks) }
	item := func(dir string, i int) string { return fmt.Sprintf("%s/item-%010d", dir, 7*i) }
	const top = "/top-0000000041"
	r.add(trace.Event{Kind: trace.Prefill, Session: -1, Path: "/app"})
	r.add(trace.Event{Kind: trace.Prefill, Session: -1, Path: top})
	for l := range locks {
		r.add(trace.Event{Kind: trace.Prefill, Session: -1, Path: lock(l)})
		r.add(trace.Event{Kind: trace.Prefill, Session: -1, Path: lock(l) + "/config"})
		for i := range turns {
			r.add(trace.Event{Kind: trace.Prefill, Session: -1, Path: item(lock(l), i), Size: 10})
		}
	}
	for s := range sessions {
		r.add(trace.Event{Kind: trace.Open, Session: s, Timeout: 6 * time.Second})
	}
	at, before := 10*step, map[string]string{}
	for turn := range turns {
		for s := range sessions {
			request := func(e trace.Event) {
				e.Kind, e.Session, e.At = trace.Request, s, at
				r.add(e)
				at += step
			}
			own := fmt.Sprintf("%s/n-%010d", lock(s), 1000+turn*sessions+s)
			request(trace.Event{Op: trace.Create, Flags: trace.Ephemeral | trace.Sequential, Path: lock(s) + "/n-", Got: own})
			if last := before[lock(s)]; last != "" {
				request(trace.Event{Op: trace.Exists, Path: last, Code: -101})
			}
			request(trace.Event{Op: trace.Get, Path: item(lock(s), turn), Size: 10})
			request(trace.Event{Op: trace.Exists, Path: top})
			request(trace.Event{Op: trace.Delete, Flags: trace.NoVersion, Path: own})
			before[lock(s)] = own
		}
	}
	for s := range sessions {
		r.add(trace.Event{Kind: trace.Close, Session: s, At: at})
	}
	return r
}

// Two processes replay a trace together: each the sessions of other locks. What they did is merged, and is the whole trace, however late the machine is.
func TestTwoProcessesReplayATrace(t *testing.T) {
	t.Parallel()
	under, meet, dir := servers.Get(t, 1).Addresses()[0], ensembletest.Start(t, 1).Addresses()[0], t.TempDir()
	const locks, sessions, turns = 3, 8, 40
	recorded := clientsOfLocks(locks, sessions, turns)
	file, requests := recorded.write(t), int64(0)
	for _, e := range recorded.events {
		if e.Kind == trace.Request {
			requests++
		}
	}
	args := func(out, share string, more ...string) []string {
		return append([]string{"replay", file, "--servers", under, "--meet", "zk://" + meet + "/" + out, "--share", share, "--out", filepath.Join(dir, out, share)}, more...)
	}
	for _, speed := range []string{fastest, asRecorded} {
		late := speed != fastest // it may be, and is not faithful then
		ended := func(o ending, words ...string) {
			if !late || o.code != exitUnknown {
				o.want(exitOK, words...)
			}
		}
		var both sync.WaitGroup
		for _, share := range []string{"1/2", "2/2"} {
			both.Go(func() { ended(inChild(t, "plain", "", args(speed, share, "--speed", speed)...)) })
		}
		both.Wait()
		out := filepath.Join(dir, speed)
		ended(zkbench(t, "merge", filepath.Join(out, "1", "2"), filepath.Join(out, "2", "2"), "--out", filepath.Join(out, "merged")), "merged from 2 shares", "was faithful")
		zkbench(t, "validate-result", filepath.Join(out, "merged")).want(exitOK, "consistent")
		sent := int64(0)
		for _, share := range []string{"1/2", "2/2"} {
			_, f := fidelityOf(t, filepath.Join(out, share))
			if f.Requests < requests/locks {
				t.Errorf("at speed %s share %s replayed %d of %d requests", speed, share, f.Requests, requests)
			}
			sent += f.Requests
		}
		_, f := fidelityOf(t, filepath.Join(out, "merged"))
		if sent != requests || f.Requests != requests || f.Unmapped > 0 || len(f.Differ) > 0 || late != (f.LagP99 > 0) {
			t.Errorf("at speed %s: %d requests were recorded, the shares replayed %d, and merged it is %+v", speed, requests, sent, f)
		}
	}
	zkbench(t, args("four", "1/4")...).want(exitUsage, file+": its sessions depend on each other: the largest number of processes for them is 3, not 4")
	zkbench(t, args("one", "1/2", "--set", "shares=1")...).want(exitUsage, "sessions: must be the clients of the trace")
}
