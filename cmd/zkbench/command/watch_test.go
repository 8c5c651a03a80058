package command

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/bench"
	"github.com/zkbench/zkbench/bench/target"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/internal/tier"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// forgetful is a session that does not receive one event of all sessions together.
type forgetful struct {
	zk.Session
	events *atomic.Int64
	lost   int64 // the number of the event
}

func (f forgetful) pass(e zk.Event, fire func(zk.Event)) {
	if e.Err != nil || f.events.Add(1) != f.lost {
		fire(e)
	}
}

func (f forgetful) GetW(ctx context.Context, path string) ([]byte, zk.Stat, *zk.Watch, error) {
	data, st, w, err := f.Session.GetW(ctx, path)
	if err != nil {
		return nil, st, nil, err
	}
	out := zk.NewWatch(w.Stop)
	go func() { f.pass(<-w.C(), out.Fire) }()
	return data, st, out, nil
}

func (f forgetful) AddWatch(ctx context.Context, path string, recursive bool) (*zk.Stream, error) {
	p, _ := zk.AsPersistentWatcher(f.Session)
	in, err := p.AddWatch(ctx, path, recursive)
	if err != nil {
		return nil, err
	}
	out := zk.NewStream(in.Stop)
	go func() {
		for over := false; !over; {
			e, _ := in.Next(context.Background())
			over = e.Err != nil
			f.pass(e, out.Fire)
		}
	}()
	return out, nil
}

// The built-in profile holds, with the same load in a closed and in an open loop, and is violated if one event of many is lost.
func TestOneLostEventIsFoundByWatchFanout(t *testing.T) {
	for _, variant := range []string{"data", "persistent-data"} {
		for _, loop := range []string{"closed", "open"} {
			for lost, want := range map[int64]string{0: "holds", 60: "violated"} {
				t.Run(fmt.Sprintf("%s, %s, %d lost", variant, loop, lost), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						sets := []string{"sessions=11", "session_timeout=4s", "engine=memory", "variants=[" + variant + "]"}
						if loop == "open" {
							sets = append(sets, "rate=20/s")
						}
						cell := watchFanout(t, sets, lost)
						if len(cell.Checks) != 1 || cell.Checks[0].Verdict != want || len(cell.Notes) == 0 {
							t.Errorf("%+v, %q, want that it %s", cell.Checks, cell.Notes, want)
						}
					})
				})
			}
		}
	}
}

// watchFanout returns the cell of a run of the built-in profile on servers in memory, with one lost event.
func watchFanout(t *testing.T, sets []string, lost int64) results.Cell {
	t.Helper()
	p, err := setup().Catalogue().Load("watch-fanout")
	if err == nil {
		p, err = profiles.Set(p, sets...)
	}
	if err != nil {
		t.Fatal(err)
	}
	ens, events := zktest.New(zktest.Config{OpLatency: 20 * time.Millisecond, EventLatency: 5 * time.Millisecond, Version: "3.8.0"}), new(atomic.Int64)
	s := setup()
	s.Engines = []target.Engine{{Name: "memory", Persistent: true, Open: func(_ context.Context, d target.Dialing) (zk.Session, error) {
		return forgetful{ens.DialTimeout(d.Timeout), events, lost}, nil
	}}}
	dir, err := results.Create(t.TempDir()+"/run", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	doc, err := bench.Run(t.Context(), bench.Config{Setup: s, Profile: p, Ensemble: memory{ens}, Name: "watch", Out: dir, Stop: make(chan struct{})})
	if err != nil || len(doc.Cells) != 1 {
		t.Fatalf("Run = %d cells, %v", len(doc.Cells), err)
	}
	return doc.Cells[0]
}

// accountOf reads the account of all events from the notes of a cell: the number of each kind, including 'due'.
func accountOf(t *testing.T, notes []string) map[string]int {
	t.Helper()
	account := map[string]int{}
	for _, note := range notes {
		if strings.Contains(note, "due:") {
			for _, found := range regexp.MustCompile(`(\d+) (?:events? )?([a-z]+)`).FindAllStringSubmatch(note, -1) {
				account[found[2]], _ = strconv.Atoi(found[1])
			}
		}
	}
	if account["due"] == 0 {
		t.Errorf("no account of events that were due in %q", notes)
	}
	return account
}

// On three servers connections are cut, a watcher is not heard, replies to changes are lost, events are late, and the leader is killed: every event is
// accounted for, and none is lost or delivered twice.
func TestWatchFanoutThroughFaults(t *testing.T) {
	tier.Long(t, "waits for faults of servers; TestOneLostEventIsFoundByWatchFanout breaks one connection")
	t.Parallel()
	ensembletest.NeedServers(t)
	var dir string
	var o ending
	for _, stretch := range []int{1, 6} { // a busy machine needs longer to have undisturbed times between the faults
		dir = out(t)
		at := func(tenths int) string { return fmt.Sprintf("at: %dms, kind: ", 100*tenths*stretch) }
		o = zkbench(t, "run", file(t, "watch.yaml", fmt.Sprintf(`name: watch
workload: watch
variants: [data, persistent-data]
sessions: 12
session_timeout: 4s
warmup: 500ms
duration: %ds
drain: 5s
ensemble: local:3
faults: [{%sreset}, {%ssilence, session: 1, for: 300ms}, {%scut-reply, op: set, times: 2}, {%sdelay-events, delay: 50ms, for: 300ms}, {%skill, server: leader, for: 1s}]
`, 5*stretch, at(4), at(8), at(12), at(16), at(22))), "--out", dir)
		if o.code == exitViolated || o.code == exitOK && inTime(result(t, dir)) {
			break
		}
	}
	o.want(exitOK)
	r := result(t, dir)
	if len(r.Cells) != 2 {
		t.Fatalf("%d cells, want 2", len(r.Cells))
	}
	for _, cell := range r.Cells {
		for _, f := range cell.Faults {
			if f.Error != "" || f.Kind == "cut-reply" && f.Strikes != 2 {
				t.Errorf("%s: %+v, want that it struck", cell.Variant, f)
			}
		}
		if len(cell.Checks) != 1 || cell.Checks[0].Name != "notifications" || cell.Checks[0].Verdict != "holds" {
			t.Errorf("%s: %+v, want that notifications holds", cell.Variant, cell.Checks)
			continue
		}
		a := accountOf(t, cell.Notes)
		if a["lost"] != 0 || a["duplicated"] != 0 || a["delivered"] == 0 || a["delivered"] != cell.Checks[0].Evidence ||
			a["due"] != a["delivered"]+a["coalesced"]+a["missed"]+a["lost"]+a["undecided"] {
			t.Errorf("%s: %v with evidence %d, %q: want none lost or duplicated, and that they add up", cell.Variant, a, cell.Checks[0].Evidence, cell.Notes)
		}
	}
	seconds, err := results.ReadSeconds(dir)
	leaders := map[string]int{}
	for _, s := range seconds {
		if s.Leader != nil {
			leaders[s.Cell]++
		}
	}
	if err != nil || len(leaders) != 2 {
		t.Errorf("the timeline tells of leaders %v, %v; want a change in each cell", leaders, err)
	}
}

// Each of 10,000 watchers of a znode on a real server is notified of each change, once.
func TestTenThousandWatchersAreEachToldOnce(t *testing.T) {
	if !*long {
		t.Skip("takes minutes, on a quiet machine: -long")
	}
	const watchers = 10_000
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || limit.Max < watchers+500 {
		t.Skipf("a process may have %d open files (%v), and each watcher needs one", limit.Max, err)
	}
	o, dir := evident(t, "run", "watch-fanout", "--servers", strings.Join(servers.Get(t, 1).Addresses(), ","), "--set", fmt.Sprintf("sessions=[%d]", watchers+1),
		"--set", "variants=[data]", "--set", "duration=1s", "--no-html")
	o.want(exitOK)
	cell := result(t, dir).Cells[0]
	a := accountOf(t, cell.Notes)
	if made := a["changes"] + a["change"]; made == 0 || a["due"] != made*watchers || a["delivered"]+a["undecided"] != a["due"] || a["delivered"] < watchers || a["lost"] != 0 || a["duplicated"] != 0 {
		t.Errorf("%v, %q: want each of the changes delivered to each of the watchers", a, cell.Notes)
	}
	if len(cell.Checks) != 1 || cell.Checks[0].Verdict != "holds" || cell.Checks[0].Evidence != a["delivered"] {
		t.Errorf("%+v, want that notifications holds", cell.Checks)
	}
}

// The time in which the watchers arm their watches again is not part of a response, and the result does not miss it.
func TestWatchFanoutHasNoResponsesThatAreTooShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		doc := runInMemory(t, zktest.New(zktest.Config{OpLatency: 300 * time.Millisecond}), "watch-fanout", []string{"sessions=11", "variants=[data]"},
			func(s *zktest.Session) zk.Session { return s })
		if notes := strings.Join(doc.Cells[0].Notes, "; "); strings.Contains(notes, "too short") {
			t.Error(notes)
		}
	})
}
