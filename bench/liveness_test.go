package bench

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/bench/outcome"
	"github.com/zkbench/zkbench/recipes"
	defects "github.com/zkbench/zkbench/recipes/broken"
	"github.com/zkbench/zkbench/recipes/lock"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/workloads"
)

// asIn returns the lines of a rig that give a cell the times of a built-in profile.
func asIn(t *testing.T, profile string, lines ...string) []string {
	t.Helper()
	p, err := catalogue.Load(profile)
	if err != nil {
		t.Fatal(err)
	}
	hold := workloads.Load{Values: p.Values()}.Hold()
	return append([]string{"warmup: " + p.Warmup.String(), "duration: " + p.Duration.String(), "drain: " + p.Drain.String(), "hold: " + hold.String(),
		"think: " + p.Think.String(), "session_timeout: " + p.SessionTimeout.String()}, lines...)
}

// wantExit asserts the exit code, and that its reason says so.
func wantExit(t *testing.T, doc *results.Run, code int, reason string) {
	t.Helper()
	if doc.Exit.Code != code || !strings.Contains(doc.Exit.Reason, reason) {
		t.Errorf("exit %d: %s; want %d: %s", doc.Exit.Code, doc.Exit.Reason, code, reason)
		for _, c := range doc.Cells {
			for _, k := range c.Checks {
				t.Logf("%s is %s, %d operations: %s", k.Name, k.Verdict, k.Evidence, k.Detail)
			}
		}
	}
}

func (r *rig) withLocks(all []defects.Defect[recipes.Lock]) {
	r.config.Workloads = []workloads.Kind{workloads.Locks(append(defects.Variants(all), lock.Variants()...))}
}

// A session that still waits when later ones are granted has been overtaken, whether or not it is ever granted.
func TestWaitersThatAreForgottenAreSeen(t *testing.T) {
	for variant, reason := range map[string]string{"broken-forgets-some": "violated: fifo", "broken-starves": "violated: starvation"} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, latency, asIn(t, "quickstart", "variants: ["+variant+"]", "sessions: [10]")...)
			r.withLocks(defects.Locks)
			doc, err := r.run()
			if err != nil {
				t.Fatal(err)
			}
			wantExit(t, doc, 4, reason)
			if n := doc.Cells[0].Errors["unfinished"]; n != 3 {
				t.Errorf("%d unfinished, want the three that wait", n)
			}
		})
	}
}

// A wait that ends with its session counts up to that point, because no session was disconnected before.
func TestAWaitThatHangsUntilItsSessionIsLostCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, latency, asIn(t, "quickstart", "variants: [broken-dead]", "sessions: [10]")...)
		r.withLocks(defects.Locks)
		r.at(outcome.PhaseDrain, 8*time.Second, func() { // when no session acquires again
			for seat := range 10 {
				r.ens.Expire(r.session(seat))
			}
		})
		doc, err := r.run()
		if err != nil {
			t.Fatal(err)
		}
		wantExit(t, doc, 4, "violated: liveness")
	})
}

// Ephemeral znodes that a session leaves behind go with the session, so leaks are checked while the sessions are open.
func TestALeakOfAnOpenSessionIsFound(t *testing.T) {
	for _, c := range []struct {
		lines  []string
		reason []string
	}{
		{[]string{"workload: semaphore", "variants: [broken-loses-permits]", "sessions: [10]", "permits: 3"}, []string{"violated: capacity", "violated: nothing-left"}},
		{[]string{"variants: [broken-leaks]", "sessions: [10]"}, []string{"violated: nothing-left"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, latency, asIn(t, "quickstart", c.lines...)...)
			r.withLocks(defects.Locks)
			r.config.Workloads = append(r.config.Workloads, workloads.Semaphores(defects.Variants(defects.Semaphores)))
			doc, err := r.run()
			if err != nil {
				t.Fatal(err)
			}
			for _, reason := range c.reason {
				wantExit(t, doc, 4, reason)
			}
		})
	}
}

// A lock that dies before the steady phase starts has no operation in it. That is a violation, however short the run is.
func TestADeadLockDoesNotHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, latency, asIn(t, "quickstart", "variants: [broken-dead]", "sessions: [10]")...)
		r.withLocks(defects.Locks)
		doc, err := r.run()
		if err != nil {
			t.Fatal(err)
		}
		wantExit(t, doc, 4, "violated: liveness of broken-dead")
	})
}

// A lock that stops granting after a fault, or that wakes no waiter when waiters give up soon, may have an excuse, but liveness does not hold.
func TestAStallThatIsExcusedIsNotKnownToBeNone(t *testing.T) {
	var expiries []string // of one session, until another one waits behind it; not of another session, because that may be the one that hangs
	for i := range 10 {
		expiries = append(expiries, fmt.Sprintf("{at: %dms, kind: expire, session: 0}", 4000+53*i+7*i*i))
	}
	for _, c := range []struct{ variant, faults, deadline, rate, detail string }{
		{"broken-needs-a-word", "[" + strings.Join(expiries, ", ") + "]", "0s", "", "to the end: for "},
		{"broken-watch-parent", "[]", "20ms", "", "until they gave up: for "},
		{"broken-watch-parent", "[]", "60ms", "", "until they gave up: for "},
		{"broken-watch-parent", "[]", "200ms", "", "until they gave up: for "},
		{"broken-watch-parent", "[]", "400ms", "", "until they gave up: for "},
		{"broken-watch-parent", "[]", "60ms", "5", "left before they were granted"}, // each waits alone
		{"broken-watch-parent", "[]", "120ms", "2", "left before they were granted"},
	} {
		synctest.Test(t, func(t *testing.T) {
			lines := []string{"variants: [" + c.variant + "]", "sessions: [5]", "faults: " + c.faults, "deadline: " + c.deadline}
			if c.rate != "" {
				lines = append(lines, "rate: "+c.rate, "hold: 50ms", "duration: 60s")
			} else {
				lines = asIn(t, "quickstart", lines...)
			}
			r := newRig(t, latency, lines...)
			r.withLocks(defects.Locks)
			doc, err := r.run()
			if err != nil {
				t.Fatal(err)
			}
			wantExit(t, doc, 5, "no evidence: liveness of "+c.variant)
			if k := checkOf(t, doc.Cells[0], "liveness"); !strings.Contains(k.Detail, c.detail) {
				t.Errorf("%s with deadlines of %s: %q lacks %q", c.variant, c.deadline, k.Detail, c.detail)
			}
		})
	}
}

// No session can be granted anything while none has a connection: a session that waits for a free lock until the servers are back does not wait for the recipe.
func TestAnOutageOfAllServersIsNoStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, latency, "sessions: [10]", "session_timeout: 2s", "duration: 20s")
		r.grants = func(seat int) time.Duration { // as restarted servers wait for the clients they knew
			if seat < 0 {
				return 2 * time.Second
			}
			return time.Minute
		}
		r.at(outcome.PhaseSteady, 8*time.Second, func() {
			all := r.ens.Sessions()
			last := r.session(9)
			for _, s := range all {
				if s != last {
					r.ens.Disconnect(s)
				}
			}
			time.AfterFunc(100*time.Millisecond, func() { r.ens.Disconnect(last) }) // it has released, and the sessions cut off before it have not been notified
			time.AfterFunc(6500*time.Millisecond, func() {
				for _, s := range all {
					r.ens.Reconnect(s)
				}
			})
		})
		doc, err := r.run()
		if err != nil {
			t.Fatal(err)
		}
		wantExit(t, doc, 0, "")
	})
}
