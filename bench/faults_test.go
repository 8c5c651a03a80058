package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/bench/load"
	"github.com/zkbench/zkbench/bench/outcome"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results"
)

// three is a rig whose ensemble can be broken, as far as a run can see: three servers in memory. The sessions do not notice.
type three struct {
	*rig
	began    time.Time
	leads    int // 0 if none
	down     map[int]bool
	versions map[int]string // what they were upgraded to
	calls    []string       // what was injected and recovered, with the second
	refuse   map[string]error
	stops    time.Duration // how long an orderly end takes after the server has stopped leading

	leaderless int // after so many calls nobody leads; 0: somebody always does
}

func newThree(t *testing.T, lines ...string) *three {
	th := &three{rig: newRig(t, latency, append([]string{"session_timeout: 4s", "sessions: 2", "hold: 250ms"}, lines...)...), leads: 2, down: map[int]bool{}, versions: map[int]string{},
		refuse: map[string]error{}}
	th.config.Ensemble = th
	th.on = func(u load.Update) {
		th.set(func() {
			if th.began.IsZero() && u.Phase == outcome.PhaseSteady {
				th.began = time.Now().Add(time.Second - u.Elapsed) // the warm-up takes a second
			}
		})
	}
	return th
}

func (th *three) Servers() int { return 3 }

func (th *three) Stats(ctx context.Context) []ensemble.ServerStats {
	one := th.rig.Stats(ctx)[0]
	var all []ensemble.ServerStats
	th.mu.Lock()
	defer th.mu.Unlock()
	for i := range 3 {
		s := one
		s.Server, s.Address, s.State = i+1, fmt.Sprintf("memory:%d", i+1), "follower"
		s.Uptime = time.Since(time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC)) // a bubble's time starts in 2000
		if v := th.versions[i+1]; v != "" {
			s.Version = v
		}
		if th.leads == i+1 && (th.leaderless == 0 || len(th.calls) < th.leaderless) {
			s.State = "leader"
		}
		if th.down[i+1] || len(th.down) > 1 {
			s.Err = ensemble.ErrUnreachable
		}
		all = append(all, s)
	}
	return all
}

func (th *three) call(name string, server int, down bool) error {
	th.mu.Lock()
	defer th.mu.Unlock()
	th.calls = append(th.calls, fmt.Sprintf("%s %d at %.0f", name, server, time.Since(th.began).Seconds()))
	if err := th.refuse[name]; err != nil {
		return err
	}
	if name == "restart" && !th.down[server] {
		return ensemble.ErrRunning
	}
	if delete(th.down, server); down {
		th.down[server] = true
	}
	if down && th.leads == server {
		th.leads = server%3 + 1
	}
	return nil
}

func (th *three) Kill(_ context.Context, n int) error { return th.call("kill", n, true) }
func (th *three) Stop(_ context.Context, n int) error {
	err := th.call("stop", n, true)
	time.Sleep(th.stops)
	return err
}
func (th *three) Pause(_ context.Context, n int) error   { return th.call("pause", n, true) }
func (th *three) Restart(_ context.Context, n int) error { return th.call("restart", n, false) }
func (th *three) Resume(_ context.Context, n int) error  { return th.call("resume", n, false) }
func (th *three) Ready(context.Context) error            { return th.call("ready", 0, false) }

func (th *three) Upgrades(_, to string) (string, error) { return to, nil }

func (th *three) Upgrade(_ context.Context, n int, to string) (string, error) {
	th.set(func() { th.versions[n] = to })
	return to, th.call("upgrade to "+to, n, true)
}

func (th *three) Leader(context.Context) (leads int, err error) {
	th.set(func() { leads = th.leads })
	return leads, nil
}

func faultsOf(faults ...string) string { return "faults: [" + strings.Join(faults, ", ") + "]" }

func TestFaultsAreInjectedAndRecoverAtTheirTimes(t *testing.T) {
	for _, c := range []struct {
		sentence string
		faults   []string
		calls    []string
		want     []string // kind, target, injected and recovered
	}{
		{"the leader is killed, and comes back as a follower", []string{"{at: 3s, kind: kill, server: leader, for: 5s}"},
			[]string{"kill 2 at 3", "restart 2 at 8", "ready 0"}, []string{"kill leader (server 2) 3 8"}},
		{"without a time it recovers at the end", []string{"{at: 3s, kind: pause, server: 3}"},
			[]string{"pause 3 at 3", "resume 3 at 20", "ready 0"}, []string{"pause server 3 3 20"}},
		{"the second leader is another server, and so is the follower", []string{"{at: 3s, kind: kill, server: leader, for: 9s}",
			"{at: 5s, kind: stop, server: follower, for: 1s}"},
			[]string{"kill 2 at 3", "stop 1 at 5", "restart 1 at 6", "restart 2 at 12", "ready 0"},
			[]string{"kill leader (server 2) 3 12", "stop follower (server 1) 5 6"}},
		{"a restart ends an earlier kill", []string{"{at: 3s, kind: kill, server: 1}", "{at: 7s, kind: restart, server: 1}"},
			[]string{"kill 1 at 3", "restart 1 at 7", "restart 1 at 20", "ready 0"}, []string{"kill server 1 3 7", "restart server 1 7 7"}},
		{"a restart of a server that runs", []string{"{at: 3s, kind: restart, server: 1, for: 2s}", "{at: 9s, kind: restart, server: 1}"},
			[]string{"stop 1 at 3", "restart 1 at 5", "stop 1 at 9", "restart 1 at 9", "ready 0"}, []string{"restart server 1 3 5", "restart server 1 9 9"}},
		{"all servers one by one, the leader last", []string{"{at: 3s, kind: rolling-restart, for: 2s}"},
			[]string{"stop 1 at 3", "restart 1 at 5", "ready 0", "stop 3 at 5", "restart 3 at 7", "ready 0", "stop 2 at 7", "restart 2 at 9", "ready 0", "ready 0"},
			[]string{"rolling-restart  3 9"}},
		{"one of which a fault has taken down", []string{"{at: 3s, kind: kill, server: 1}", "{at: 5s, kind: rolling-restart}"},
			[]string{"kill 1 at 3", "restart 1 at 5", "ready 0", "stop 3 at 5", "restart 3 at 5", "ready 0", "stop 2 at 5", "restart 2 at 5", "ready 0", "restart 1 at 20", "ready 0"},
			[]string{"kill server 1 3 5", "rolling-restart  5 5"}},
		{"all servers as another ZooKeeper", []string{"{at: 3s, kind: rolling-upgrade, to: 3.9.3, for: 2s}"},
			[]string{"stop 1 at 3", "upgrade to 3.9.3 1 at 3", "restart 1 at 5", "ready 0", "stop 3 at 5", "upgrade to 3.9.3 3 at 5", "restart 3 at 7", "ready 0", "stop 2 at 7",
				"upgrade to 3.9.3 2 at 7", "restart 2 at 9", "ready 0", "ready 0"}, []string{"rolling-upgrade to 3.9.3 3 9"}},
		{"one waits for the other", []string{"{at: 3s, kind: rolling-upgrade, to: 3.9.3, for: 1s}", "{at: 4s, kind: rolling-restart}"},
			[]string{"stop 1 at 3", "upgrade to 3.9.3 1 at 3", "restart 1 at 4", "ready 0", "stop 3 at 4", "upgrade to 3.9.3 3 at 4", "restart 3 at 5", "ready 0", "stop 2 at 5",
				"upgrade to 3.9.3 2 at 5", "restart 2 at 6", "ready 0", "stop 1 at 6", "restart 1 at 6", "ready 0", "stop 2 at 6", "restart 2 at 6", "ready 0", "stop 3 at 6",
				"restart 3 at 6", "ready 0", "ready 0"},
			[]string{"rolling-upgrade to 3.9.3 3 6", "rolling-restart  6 6"}},
		{"one of which a fault has taken down, and which starts as the new one", []string{"{at: 3s, kind: kill, server: 1}", "{at: 5s, kind: rolling-upgrade, to: 3.9.3}"},
			[]string{"kill 1 at 3", "upgrade to 3.9.3 1 at 5", "restart 1 at 5", "ready 0", "stop 3 at 5", "upgrade to 3.9.3 3 at 5", "restart 3 at 5", "ready 0", "stop 2 at 5",
				"upgrade to 3.9.3 2 at 5", "restart 2 at 5", "ready 0", "restart 1 at 20", "ready 0"},
			[]string{"kill server 1 3 5", "rolling-upgrade to 3.9.3 5 5"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			th := newThree(t, "duration: 20s", faultsOf(c.faults...))
			cell := th.mustRun().Cells[0]
			for i, call := range th.calls {
				if i >= len(c.calls) || !strings.HasPrefix(call, c.calls[i]) {
					t.Errorf("%s: calls %q, want %q", c.sentence, th.calls, c.calls)
					break
				}
			}
			var got []string
			for _, f := range cell.Faults {
				got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s %.0f %.0f", f.Kind, f.Target, f.AtS, *f.HealedS)))
			}
			if !slices.Equal(got, c.want) || len(th.calls) != len(c.calls) {
				t.Errorf("%s: %q after calls %q, want %q after %q", c.sentence, got, th.calls, c.want, c.calls)
			}
		})
	}
}

// A rolling restart that the end of the steady phase cuts short has started what it stopped, does not touch the others, and is an error of the run.
func TestARollingRestartThatIsNotThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newThree(t, "duration: 8s", faultsOf("{at: 3s, kind: rolling-restart, for: 4s}"))
		doc, err := th.run()
		if err != nil {
			t.Fatal(err)
		}
		f := doc.Cells[0].Faults[0]
		if doc.Exit.Code != 1 || !strings.Contains(f.Error, "not finished: 2 of 3 servers had been restarted when the steady phase was over") {
			t.Errorf("exit %d, error %q", doc.Exit.Code, f.Error)
		}
		if len(f.Restarts) != 2 || f.Restarts[0].Server != 1 || *f.Restarts[0].HealedS != 7 || f.Restarts[1].Server != 3 || f.Restarts[1].Leader {
			t.Errorf("restarts %+v", f.Restarts)
		}
		if len(th.down) != 0 {
			t.Errorf("left down: %v", th.down)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		th := newThree(t, "duration: 8s", faultsOf("{at: 3s, kind: rolling-upgrade, to: 3.9.3}"))
		th.leaderless = len([]string{"stop 1", "upgrade 1", "restart 1", "ready", "stop 3", "upgrade 3", "restart 3", "ready"})
		doc, err := th.run()
		if err != nil {
			t.Fatal(err)
		}
		want := "not finished: 2 of 3 servers had been upgraded when the steady phase was over (raise duration): no server says that it is the leader"
		if f := doc.Cells[0].Faults[0]; doc.Exit.Code != 1 || f.Error != want || len(f.Restarts) != 2 {
			t.Errorf("without a leader: exit %d, error %q after restarts %+v", doc.Exit.Code, f.Error, f.Restarts)
		}
	})
}

// An upgrade that is cut short is an error of the run, which has no further cell: it would run on other servers. A whole one and its way back are no problem, and
// the document has the versions.
func TestUpgrades(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newThree(t, "duration: 8s", "repetitions: 2", "zookeeper: 3.9.3", faultsOf("{at: 3s, kind: rolling-upgrade, to: 3.9.3, for: 4s}"))
		doc, err := th.run()
		if err == nil || !strings.Contains(err.Error(), "no further cell, because the servers are not those of the first one: rolling-upgrade, to 3.9.3: not finished: 2 of 3 servers had been upgraded") {
			t.Errorf("error %v", err)
		}
		if doc.Exit.Code != 1 || len(doc.Cells) != 1 || len(doc.Cells[0].Faults[0].Restarts) != 2 {
			t.Errorf("exit %+v after %d cells", doc.Exit, len(doc.Cells))
		}
		if got := doc.Environment.ZooKeeperAtEnd; len(got) != 3 || got[0] != "3.9.3" || got[2] != "3.9.3" || got[1] == "3.9.3" {
			t.Errorf("versions at the end %q, want 3.9.3 of servers 1 and 3", got)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		th := newThree(t, "duration: 20s", "repetitions: 2", "zookeeper: 3.8.0", faultsOf("{at: 3s, kind: rolling-upgrade, to: 3.9.3}", "{at: 9s, kind: rolling-upgrade, to: 3.8.0}"))
		doc := th.mustRun()
		for _, cell := range doc.Cells {
			for i, want := range []string{"3.9.3", "3.8.0"} {
				for _, r := range cell.Faults[i].Restarts {
					if r.ZooKeeper != want {
						t.Errorf("restart %+v, want ZooKeeper %s", r, want)
					}
				}
			}
		}
		if got := doc.Environment.ZooKeeperAtEnd; len(doc.Cells) != 2 || !slices.Equal(got, []string{"3.8.0", "3.8.0", "3.8.0"}) {
			t.Errorf("%d cells, versions at the end %q", len(doc.Cells), got)
		}
	})
}

// A server that answers as another ZooKeeper than it was upgraded to ends the upgrade.
func TestAnUpgradeThatChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newThree(t, "duration: 20s", faultsOf("{at: 3s, kind: rolling-upgrade, to: 3.9.3}"))
		th.config.Ensemble = stubborn{th}
		doc, err := th.run()
		if err != nil {
			t.Fatal(err)
		}
		if f := doc.Cells[0].Faults[0]; doc.Exit.Code != 1 || !strings.Contains(f.Error, "server 1 was upgraded to 3.9.4, and says that it is 3.9.3") || len(f.Restarts) != 1 {
			t.Errorf("exit %d, %+v", doc.Exit.Code, f)
		}
	})
}

// stubborn is a three whose servers do not become what Upgrade says.
type stubborn struct{ *three }

func (s stubborn) Upgrade(ctx context.Context, n int, to string) (string, error) {
	_, err := s.three.Upgrade(ctx, n, to)
	return "3.9.4", err
}

// A cell must not start on the servers that another one has upgraded.
func TestUpgradesAreCheckedBeforeTheLoad(t *testing.T) {
	for _, c := range []struct{ lines, want string }{
		{"zookeeper: 3.8.0|repetitions: 1|faults: [{at: 1s, kind: rolling-upgrade, to: 3.9.3}]", ""},
		{"repetitions: 1|faults: [{at: 1s, kind: rolling-upgrade, to: 3.9.3}]", ""},
		{"zookeeper: 3.8.0|repetitions: 2|faults: [{at: 1s, kind: rolling-upgrade, to: 3.9.3}]", "after this rolling-upgrade to 3.9.3 the next of 2 cells would start on other servers"},
		{"repetitions: 2|faults: [{at: 1s, kind: rolling-upgrade, to: 3.9.3}]", "would start on other servers"},
		{"zookeeper: 3.8.0|repetitions: 2|faults: [{at: 2s, kind: rolling-upgrade, to: 3.8.0}, {at: 1s, kind: rolling-upgrade, to: 3.9.3}]", ""},
		{"zookeeper: [3.8.0, 3.9.3]|repetitions: 1|faults: [{at: 1s, kind: rolling-upgrade, to: 3.9.3}]", ""},
		{"zookeeper: 3.8.0|repetitions: 1|faults: [{at: 1s, kind: rolling-upgrade, to: 3.9.3, every: 1s, for: 1ms}]", "every is not for a rolling-upgrade"},
	} {
		p := newRig(t, latency, strings.Split(c.lines, "|")...).config.Profile
		if err := errors.Join(checkUpgrades(p)...); c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.lines, err, c.want)
		}
	}
}

// A rolling restart ends if a server does not come back.
func TestARollingRestartThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newThree(t, "duration: 20s", faultsOf("{at: 3s, kind: rolling-restart}"))
		th.refuse["stop"] = errors.New("no such process")
		doc, err := th.run()
		if err != nil {
			t.Fatal(err)
		}
		if f := doc.Cells[0].Faults[0]; doc.Exit.Code != 1 || f.Error != "not injected: no such process" || len(f.Restarts) != 0 {
			t.Errorf("exit %d, %+v", doc.Exit.Code, f)
		}
	})
}

// All servers may be down for longer than a run would wait for them without a fault.
func TestServersThatAFaultTookDownDoNotEndTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newThree(t, "duration: 30s", faultsOf("{at: 3s, kind: kill, server: 1, for: 25s}", "{at: 3s, kind: kill, server: 2, for: 25s}"))
		th.mustRun()
	})
}

func TestServersRecoverAfterAnInterrupt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newThree(t, "duration: 20s", faultsOf("{at: 3s, kind: kill, server: leader}", "{at: 15s, kind: kill, server: 3}"))
		begin := th.on
		th.on = func(u load.Update) {
			begin(u)
			if u.Phase == outcome.PhaseSteady && u.Elapsed >= 8*time.Second && !load.IsClosed(th.stop) {
				th.interrupt()
			}
		}
		doc, err := th.run()
		if !Interrupted(err) || len(th.calls) != 3 || !strings.HasPrefix(th.calls[1], "restart 2 at 7") {
			t.Errorf("error %v after calls %q; want that the killed server was started again, and the other not touched", err, th.calls)
		}
		if faults := doc.Cells[0].Faults; len(faults) != 1 || faults[0].Error != "" {
			t.Errorf("faults %+v, want the one that was injected", faults)
		}
		th.clean()
	})
}

func TestFaultsThatFail(t *testing.T) {
	for _, c := range []struct {
		name, fault, refuse, want string
	}{
		{"cannot be injected", "{at: 3s, kind: kill, server: 1}", "kill", "not injected: operation not permitted"},
		{"cannot recover", "{at: 3s, kind: pause, server: 1, for: 2s}", "resume", "not recovered: operation not permitted"},
	} {
		synctest.Test(t, func(t *testing.T) {
			th := newThree(t, "duration: 6s", faultsOf(c.fault))
			th.refuse[c.refuse] = errors.New("operation not permitted")
			doc, err := th.run()
			if err != nil || doc.Exit.Code != 1 || !strings.Contains(doc.Exit.Reason, c.want) || doc.Cells[0].Faults[0].Error != c.want {
				t.Errorf("%s: error %v, exit %+v, fault %+v; want exit 1 and %q", c.name, err, doc.Exit, doc.Cells[0].Faults[0], c.want)
			}
		})
	}
}

// Sessions that end while they wait or hold are replaced, and their faults are reported on the timeline. The seed makes session 2 wait when it
// crashes; between two acquisitions it would leave no znode behind.
func TestSessionsEndOnPurpose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, latency, "duration: 30s", "session_timeout: 4s", faultsOf("{at: 3s, kind: expire, session: 1}",
			"{at: 5013ms, kind: crash, session: 2}", "{at: 20s, kind: expire, session: 2}"))
		doc := r.mustRun()
		cell := doc.Cells[0]
		if len(cell.Faults) != 3 || len(r.sessions[1]) != 2 || len(r.sessions[2]) != 3 {
			t.Fatalf("faults %+v; seat 1 had %d sessions, seat 2 %d; want 2 and 3", cell.Faults, len(r.sessions[1]), len(r.sessions[2]))
		}
		for i, f := range cell.Faults {
			if f.SessionsExpired != 1 || f.Orphans != 0 || f.Error != "" {
				t.Errorf("fault %d: %+v, want one session that ended and no orphans", i, f)
			}
		}
		// The servers do not know that a client has crashed: its znode blocks the others until the session timeout is over.
		if pause := *cell.Faults[1].LongestPause; pause < 2000 || pause > 6000 {
			t.Errorf("the longest pause after the crash is %v ms, want about the session timeout of 4 s", pause)
		}
		if pause := *cell.Faults[0].LongestPause; pause > 100 {
			t.Errorf("the longest pause after the expiry is %v ms, want none", pause)
		}
		if events := timelineFaults(t, r); !slices.Equal(events, []string{"expire injected", "expire recovered", "crash injected", "crash recovered",
			"expire injected", "expire recovered"}) {
			t.Errorf("the timeline tells %q", events)
		}
	})
}

func timelineFaults(t *testing.T, r *rig) (events []string) {
	t.Helper()
	f, err := os.Open(filepath.Join(r.config.Out.Path(), results.TimelineFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	seconds, err := results.ReadTimeline(f)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range seconds {
		if s.Fault != nil {
			events = append(events, s.Fault.Kind+" "+s.Fault.Event)
		}
	}
	return events
}

// Faults that the ensemble does not support are reported before anything is created on it.
func TestFaultsAreCheckedBeforeTheLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, latency, faultsOf("{at: 1s, kind: kill, server: leader}"))
		doc, err := r.run()
		if doc != nil || !errors.Is(err, ErrProfile) || len(r.sessions) != 0 {
			t.Errorf("document %v, error %v, %d sessions; want ErrProfile and nothing else", doc, err, len(r.sessions))
		}
	})
}

// cutting is a three whose network can be broken, unless not says why it cannot.
type cutting struct {
	*three
	not error
}

func (c cutting) Partitions(_ context.Context, from ensemble.Side) error { return c.not }
func (c cutting) Degrades(context.Context) error                         { return c.not }

func (c cutting) Disconnect(_ context.Context, n int, from ensemble.Side) error {
	return c.call("disconnect from "+string(from), n, true)
}

func (c cutting) Reconnect(_ context.Context, n int) error { return c.call("reconnect", n, false) }

func (c cutting) SetLatency(_ context.Context, n int, d time.Duration) error {
	return c.call(fmt.Sprintf("latency %v", d), n, false)
}

func (c cutting) SetLoss(_ context.Context, n int, percent float64) error {
	return c.call(fmt.Sprintf("loss %v", percent), n, false)
}

func TestTheNetworkOfServersIsBroken(t *testing.T) {
	faults := faultsOf("{at: 3s, kind: disconnect, server: follower, for: 5s}", "{at: 4s, kind: disconnect, server: 3, from: clients, for: 1s}",
		"{at: 9s, kind: latency, server: 2, delay: 20ms, for: 2s}", "{at: 12s, kind: loss, server: leader, percent: 7}")
	synctest.Test(t, func(t *testing.T) {
		c := cutting{three: newThree(t, "duration: 20s", faults)}
		c.config.Ensemble = c
		c.mustRun()
		want := []string{"disconnect from everybody 1 at 3", "disconnect from clients 3 at 4", "reconnect 3 at 5", "reconnect 1 at 8", "latency 20ms 2 at 9",
			"latency 0s 2 at 11", "loss 7 2 at 12", "loss 0 2 at 20"}
		if len(c.calls) != len(want)+1 || !slices.Equal(c.calls[:len(want)], want) {
			t.Errorf("calls %q, want %q and ready", c.calls, want)
		}
	})
	synctest.Test(t, func(t *testing.T) { // problems that only show when the ensemble runs
		c := cutting{three: newThree(t, "duration: 20s", faults), not: errors.New("tc is missing in the containers; use an image that has it")}
		c.config.Ensemble = c
		doc, err := c.run()
		if doc != nil || !errors.Is(err, ErrProfile) || strings.Count(err.Error(), "cannot be injected here: tc is missing") != 4 || len(c.sessions) > 0 {
			t.Errorf("document %v, %d sessions, error %v; want none, none, and each fault with its reason", doc, len(c.sessions), err)
		}
	})
}

// A stall has to last for two session timeouts, 8 s here, in addition to the times of faults; a killed server excuses 16 s and 10 s.
func TestTooLittleTimeBesideTheFaultsIsTold(t *testing.T) {
	for duration, want := range map[string]bool{"20s": true, "60s": false} {
		synctest.Test(t, func(t *testing.T) {
			th := newThree(t, "duration: "+duration, faultsOf("{at: 1s, kind: kill, server: 1, for: 10s}"))
			notes := strings.Join(th.mustRun().Cells[0].Notes, "\n")
			if got := strings.Contains(notes, "less than the 8s that a stall takes to show"); got != want {
				t.Errorf("steady for %s: the notes tell of it: %v, want %v\n%s", duration, got, want, notes)
			}
		})
	}
}
