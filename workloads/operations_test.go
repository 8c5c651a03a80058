package workloads

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/zk"
)

// operationsStand returns a stand with a mix on a tree of 3 x 3 znodes.
func operationsStand(t *testing.T, sessions int, shares profiles.Shares) *stand {
	t.Helper()
	v, ok := OperationMixes().Find("persistent")
	if !ok {
		t.Fatal("no variant persistent")
	}
	w, err := v.New(cell(sessions, profiles.Values{"mix": shares, "depth": 2, "fan_out": 3, "batch": 2}), nil)
	if err != nil {
		t.Fatal(err)
	}
	return newStand(t, latency, w, sessions)
}

// Each kind of request does what it says, at the theoretical cost, and its promises hold.
func TestOperationsCostWhatTheoryHas(t *testing.T) {
	for _, shares := range []profiles.Shares{"get 1", "set 1", "exists 1", "children 1", "multi 1", "sync 1", "create 1", "get 8, set 1, sync 2", "create 1, delete 1"} {
		t.Run(string(shares), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const times, sessions = 60, 3
				st := operationsStand(t, sessions, shares)
				before := st.fanout.Snapshot()
				st.drive(times, 0, 1, 2)
				spent := CostOf(st.fanout.Snapshot().Sub(before))
				history := st.end()
				n, w := counts(history), st.work.(*operations)
				all := 0
				for _, op := range w.ops {
					all += n[op]
				}
				if all != times*sessions {
					t.Errorf("%v: %d operations, want %d", n, all, times*sessions)
				}
				if len(w.ops) == 1 { // nothing is random
					st.costs(spent, float64(all))
				}
				if shares == "create 1, delete 1" && (n[metrics.Delete] < all/3 || n[metrics.Delete] > all/2) {
					t.Errorf("%v: about half of all have to be deletes", n)
				}
				for _, c := range w.Checks() {
					if v := c.Judge(st.history.All(), nil); v.Answer == check.Violated {
						t.Errorf("%s: %s", c.Name, v.Detail)
					}
				}
			})
		})
	}
}

// A request of a closed loop starts when it is due, however long its znode takes to be chosen; with several in flight, when it may be sent. One of an open loop
// starts late. Each ends when its reply has come.
func TestWhenRequestsStart(t *testing.T) {
	const late = 5 * time.Millisecond
	for _, c := range []struct {
		outstanding int
		open        bool
		due, start  time.Duration
	}{{1, false, 0, 0}, {1, true, 0, late}, {2, false, late, late}, {2, true, 0, late}} {
		synctest.Test(t, func(t *testing.T) {
			v, _ := OperationMixes().Find("persistent")
			load := cell(1, profiles.Values{"mix": profiles.Shares("get 1"), "depth": 1, "fan_out": 3, "outstanding": c.outstanding})
			load.Open = c.open
			w, err := v.New(load, nil)
			if err != nil {
				t.Fatal(err)
			}
			st := newStand(t, latency, w, 1)
			time.Sleep(late)
			due := st.origin.Now() - late
			if err := st.steps[0].Do(t.Context(), due); err != nil {
				t.Fatal(err)
			}
			w.(Pipelined).Await(0)
			for s := range st.history.All() {
				if s.Due-due != c.due || s.Start-due != c.start || s.End-due != late+latency.OpLatency {
					t.Errorf("%+v: due %v, from %v to %v, want to %v", c, s.Due-due, s.Start-due, s.End-due, late+latency.OpLatency)
				}
			}
			if st.history.Len() != 1 {
				t.Errorf("%+v: %d samples, want 1", c, st.history.Len())
			}
			st.seats[0].Session.Close()
		})
	}
}

// A profile that asks for the impossible is rejected, with a remedy.
func TestOperationsThatCannotBe(t *testing.T) {
	kind := OperationMixes()
	catalogue := profiles.Catalogue{&kind.Workload}
	for lines, want := range map[string]string{
		"mix: {get: 1}":                                   "",
		"mix: {gett: 1}":                                  `mix: unknown operation "gett" (did you mean get?`,
		"mix: {get: 0}":                                   "no weight is above 0",
		"mix: {create: 1, delete: 2}":                     "create at least as many",
		"depth: 4\nfan_out: 100":                          "100^4 znodes are too many (at most 1000000)",
		"fan_out: 2\nmix: {multi: 1}\nbatch: 3":           "a multi of 3 znodes needs as many",
		"size: 1000000\nmix: {multi: 1}":                  "larger than a request may be",
		"size: {list: []}":                                "takes a list of at most 16 sizes",
		"size: {uniform: [3, 2]}":                         "the smallest and the largest size",
		"size: {lognormal: {mean: 10, sigma: 4}}":         "sigma must be a number above 0 and at most 3",
		"keys: {zipf: 0}":                                 "zipf must be a number above 0",
		"keys: {hot: {keys: 3}}":                          "hot takes keys",
		"keys: {hot: {keys: 3, share: 90}}\ndepth: [1,2]": "",
	} {
		_, err := catalogue.Parse("t.yaml", []byte("workload: operations\nvariants: [persistent]\nsessions: 1\n"+lines))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", lines, err, want)
		}
	}
}

// A path is the same whether it is kept or made for the request.
func TestPathsOfLeaves(t *testing.T) {
	for _, tree := range []struct {
		depth, fanOut, key int
		want               string
	}{{1, 100, 17, "/n17"}, {2, 64, 64*63 + 5, "/n63/n5"}, {2, 65, 65*64 + 5, "/n64/n5"}} {
		w := newOperations(zk.Persistent, Load{Dir: "/cell", Sessions: 1, Values: profiles.Values{"mix": profiles.Shares("get 100"), "depth": tree.depth, "fan_out": tree.fanOut}})
		if kept := w.leaves != nil; kept != (w.n <= mostLeaves) {
			t.Errorf("%d znodes: kept is %t", w.n, kept)
		}
		if got := w.leaf(tree.key); got != w.tree+tree.want {
			t.Errorf("leaf %d of %d: %s, want %s", tree.key, w.n, got, w.tree+tree.want)
		}
	}
}
