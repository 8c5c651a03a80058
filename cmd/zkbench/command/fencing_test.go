package command

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/local"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/scenarios/fencing"
)

// The exit code is 0 only if the late writes were accepted without a fence and rejected with one.
func TestFaultOfAFenceFinding(t *testing.T) {
	for _, tt := range []struct {
		why  string
		row  fencing.Row
		code int
	}{
		{"without a fence all were accepted", fencing.Row{Accepted: 3}, 0},
		{"without a fence none was accepted: nothing was shown", fencing.Row{Rejected: 3}, 3},
		{"with a fence all were rejected", fencing.Row{Fenced: true, Rejected: 3}, 0},
		{"with a fence one of them was accepted", fencing.Row{Fenced: true, Accepted: 1, Rejected: 2}, exitViolated},
		{"a round could not be played", fencing.Row{Fenced: true, Rejected: 2, Err: errors.New("no servers")}, exitFailed},
		{"none could", fencing.Row{Err: errors.New("no servers")}, exitFailed},
	} {
		if code, why := fenceFinding(tt.row).Fault(); code != tt.code {
			t.Errorf("%s: Fault() = %d, %q, want %d", tt.why, code, why, tt.code)
		}
	}
}

// quickServers starts servers that tick fast, so that the pauses are short: a session of one second can expire.
func quickServers(t *testing.T) string {
	t.Helper()
	local := ensembletest.Start(t, 1, func(c *local.Config) { c.Tick = 250 * time.Millisecond; c.MaxSessionTimeout = 40 * time.Second })
	return local.Addresses()[0]
}

// From end to end, with this binary as the client that is paused.
func TestRunFencing(t *testing.T) {
	address, dir := quickServers(t), out(t)
	o := zkbench(t, "run", "fencing", "--servers", address, "--out", dir,
		"--set", "variants=[predecessor,single-node]", "--set", "repetitions=2", "--set", "session_timeout=1s")
	o.want(exitOK, "[8/8]", "without a fence 8 were accepted, with one 0 were accepted and 8 rejected")
	r := result(t, dir)
	if len(r.Findings) != 8 || r.Partial {
		t.Fatalf("%d findings, partial %v, want eight", len(r.Findings), r.Partial)
	}
	fences := map[string]int{}
	for _, f := range r.Findings {
		accepted, seen := 2, results.StaleWrite
		if f.Fencing.Fenced {
			accepted, seen = 0, ""
		}
		if f.Seen != seen || f.Fencing.Accepted != accepted || f.Fencing.Rejected != 2-accepted {
			t.Errorf("%s in %s: %+v, seen %q", f.Variant, f.Scenario, *f.Fencing, f.Seen)
		}
		fences[f.Fencing.Fence]++
	}
	if fences["token"] != 3 || fences["transaction"] != 1 || fences[""] != 4 {
		t.Errorf("fences %v, want the transaction for the znode that has a name of its own, the token otherwise", fences)
	}
	wantEmpty(t, address)
	wantNoClients(t)
}

// An interrupt while the clients are paused leaves neither a client nor a znode.
func TestAnInterruptOfFencing(t *testing.T) {
	address, dir := quickServers(t), out(t)
	m := newTerminal(t)
	go func() { // as soon as a client is paused
		for t.Context().Err() == nil {
			if slices.Contains(slices.Collect(maps.Values(children(t, clientVerb))), "T") {
				m.interrupt(1)
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	o := m.run("run", "fencing", "--servers", address, "--out", dir, "--set", "variants=[predecessor]", "--set", "session_timeout=5s")
	o.want(exitInterrupted, "PARTIAL RESULT")
	if r := result(t, dir); !r.Partial || len(r.Findings) != 0 {
		t.Errorf("result %+v, want a partial one without findings", r)
	}
	wantEmpty(t, address)
	wantNoClients(t)
}

func TestFencingTakesNoLoad(t *testing.T) {
	for _, set := range []string{"sessions=10", "hold=5ms", "variants=[go-zookeeper]", "engine=go-zookeeper"} {
		zkbench(t, "validate", "fencing", "--set", set).want(exitUsage)
	}
	zkbench(t, "validate", "fencing", "--set", "engine=go-zookeeper", "--set", "variants=[predecessor]").want(exitOK)
}

func wantNoClients(t *testing.T) {
	t.Helper()
	if left := children(t, clientVerb); len(left) != 0 {
		t.Errorf("clients %v are left", left)
	}
}

// A load in which each grant writes: one run without a fence, with a register, and with the servers as the fence.
func TestRunLocksBehindFences(t *testing.T) {
	t.Parallel()
	address := servers.Get(t, 1).Addresses()[0]
	o, dir := evident(t, "run", small(t, "variants: [predecessor, single-node]", "fence: [none, register, server]"), "--servers", address)
	o.want(exitOK, "fence=server")
	r := result(t, dir)
	if len(r.Cells) != 6 {
		t.Fatalf("%d cells, want six", len(r.Cells))
	}
	for _, c := range r.Cells {
		fence := c.Parameters["fence"]
		accepted, judged := c.Cost["stale_writes_accepted"]
		if fenced := fence != "none"; judged != fenced || accepted != 0 || (c.Latency["write.response"].Count > 0) != fenced {
			t.Errorf("%s behind %v: cost %v, %d writes", c.Variant, fence, c.Cost, c.Latency["write.response"].Count)
		}
		for _, k := range c.Checks {
			if k.Name == "fence" && (k.Verdict != "holds" || int64(k.Evidence) < c.Operations) {
				t.Errorf("%s behind %v: %+v, want a write for each of %d grants at least", c.Variant, fence, k, c.Operations)
			}
		}
		// One more transaction for each grant, or a read and a write if the znode has no separate name.
		wrote := c.Cost["multi"] + c.Cost["set"]
		if want := map[bool]float64{true: 1}[fence == "server"]; wrote < 0.5*want || wrote > 1.5*want {
			t.Errorf("%s behind %v: %v transactions and sets for each grant, want about %v", c.Variant, fence, wrote, want)
		}
	}
	wantEmpty(t, address)
}

func TestFencesThatCannotBe(t *testing.T) {
	for _, tt := range []struct {
		lines []string
		says  []string
	}{
		{[]string{"variants: [predecessor, go-zookeeper]", "fence: [none, server]"}, []string{"small.yaml:", "go-zookeeper carry no token", "or use none"}},
		{[]string{"workload: semaphore", "variants: lease", "permits: 3", "fence: register"}, []string{"small.yaml:", "3 permits", "use server"}},
		{[]string{"fence: moat"}, []string{"small.yaml:", "moat", "one of none, register, server"}},
		{[]string{"workload: queue", "variants: fifo", "fence: server"}, []string{"small.yaml:", "fence: not a field of workload queue"}},
	} {
		zkbench(t, "validate", small(t, tt.lines...)).want(exitUsage, tt.says...)
	}
}
