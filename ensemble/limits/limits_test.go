package limits

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

var now = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

// server returns a server that reports everything.
func server(n int, figures map[string]float64) ensemble.Inspection {
	in := ensemble.Inspection{Zxid: 5<<32 + 1000, ZxidAt: now.Add(-10 * time.Second), Untold: map[string]error{},
		Settings: map[string]string{"ticktime": "2000", "initlimit": "10", "maxclientcnxns": "60", "minsessiontimeout": "4000", "maxsessiontimeout": "40000"},
		Java:     map[string]string{"os.memory.free": "100MB", "os.memory.total": "300MB", "os.memory.max": "400MB"},
		Clients:  []ensemble.Connection{{Host: "10.0.0.7", Timeout: 30 * time.Second}, {Host: "10.0.0.7", Timeout: 40 * time.Second}, {Host: "10.0.0.8", Timeout: 30 * time.Second}}}
	in.Server, in.Address, in.Stats.Values = n, fmt.Sprint("zk", n), figures
	return in
}

func find(t *testing.T, doc results.Limits, name string) results.Limit {
	t.Helper()
	for _, l := range doc.Lines {
		if l.Name == name {
			return l
		}
	}
	t.Fatalf("no line %q in %+v", name, doc.Lines)
	return results.Limit{}
}

func TestOf(t *testing.T) {
	tree := &Tree{Whole: true, Znodes: 9, Listed: List{"/many", 10, 140}, Largest: List{Path: "/large", Bytes: 900_000}, Owned: map[int64]ensemble.Owned{}}
	doc := Of(Seen{Servers: []ensemble.Inspection{server(1, map[string]float64{"zk_max_snapshottime": 500, "zk_max_proposal_size": 1 << 19})},
		Later: []int64{5<<32 + 31_001}, LaterAt: []time.Time{now}, Own: 1, Tree: tree,
		Dumped: map[int64]ensemble.Owned{7: {Znodes: 3, Bytes: 90}, 8: {Znodes: 1, Bytes: 10}}}, now)
	for _, want := range []struct {
		name, subject string
		now, limit    float64
	}{
		{"transactions of this epoch", "", 31_001, 1 << 32},
		{"list of one znode's children", "/many", 140 + 72, 0xfffff},
		{"data of one znode", "/large", 900_000, 0xfffff},
		{"ephemeral znodes of one session", "0x7", 90, 0xfffff},
		{"largest transaction", "server 1", 1 << 19, 0xfffff},
		{"time to write a snapshot", "server 1", 500, 20_000},
		{"heap", "server 1", 200 << 20, 400 << 20},
		{"connections of one client", "10.0.0.7 to server 1", 2, 60},
	} {
		if l := find(t, doc, want.name); l.Subject != want.subject || l.Now != want.now || l.Limit == nil || *l.Limit != want.limit || l.AtLeast {
			t.Errorf("%+v, want %+v", l, want)
		}
	}
	// At 3,000 per second, 2^32 last for 16.6 days.
	if l := find(t, doc, "transactions of this epoch"); l.Reached == nil || l.Reached.Sub(now).Round(time.Hour) != 398*time.Hour {
		t.Errorf("transactions: reached %v, want 398 hours after %v", l.Reached, now)
	}
	for _, want := range []string{"data of one znode (/large): 86 % of the limit is used.", "server 1 allows 4 s to 40 s; the connected sessions have 30 s to 40 s, 1 of them one of the bounds"} {
		if !strings.Contains(strings.Join(doc.Notes, "\n"), want) {
			t.Errorf("notes %q, want %q", doc.Notes, want)
		}
	}
}

// What no server reports is unseen, and never a zero; an incompletely walked tree gives lower bounds.
func TestWhatIsNotToldIsSaid(t *testing.T) {
	off := ensemble.Inspection{Untold: map[string]error{}}
	for _, word := range []string{"srvr", "mntr", "conf", "envi", "cons"} {
		off.Untold[word] = ensemble.ErrWordsOff
	}
	off.Err = ensemble.ErrWordsOff
	doc := Of(Seen{Servers: []ensemble.Inspection{off}, DumpErr: errors.New("off")}, now)
	if len(doc.Lines) != 0 {
		t.Errorf("lines %+v of a server that tells nothing", doc.Lines)
	}
	for _, want := range []string{"zxid", "cons", "heap", "snapshot", "children", "ephemeral", "session timeouts"} {
		if !strings.Contains(strings.Join(doc.Unseen, "\n"), want) {
			t.Errorf("unseen %q, want %s", doc.Unseen, want)
		}
	}
	doc = Of(Seen{Servers: []ensemble.Inspection{off}, Tree: &Tree{Listed: List{"/a", 1, 5}, Owned: map[int64]ensemble.Owned{}}}, now)
	for _, l := range doc.Lines {
		if !l.AtLeast {
			t.Errorf("%+v, want a lower bound", l)
		}
	}
}

// A number that is not reported is distinguished from one that sets no limit.
func TestSettingsThatSetNoLimit(t *testing.T) {
	in := server(1, map[string]float64{"zk_max_snapshottime": 500})
	delete(in.Settings, "initlimit")
	in.State = "standalone"
	for name, want := range map[string]string{"connections of one client": "no limit: maxClientCnxns is 0", "time to write a snapshot": "no limit for a standalone server"} {
		in.Settings["maxclientcnxns"] = "0"
		if l := find(t, Of(Seen{Servers: []ensemble.Inspection{in}}, now), name); l.Limit != nil || !strings.Contains(l.Note, want) {
			t.Errorf("%+v, want no limit, and %q", l, want)
		}
		delete(in.Settings, "maxclientcnxns")
	}
	in.State = "follower"
	for name, want := range map[string]string{"connections of one client": "maxClientCnxns, not reported", "time to write a snapshot": "initLimit, not reported"} {
		if l := find(t, Of(Seen{Servers: []ensemble.Inspection{in}}, now), name); l.Limit != nil || !strings.Contains(l.Note, want) {
			t.Errorf("%+v, want no limit, and %q", l, want)
		}
	}
}

func TestGrowthSinceAnEarlierLook(t *testing.T) {
	at := func(znodes int64) []ensemble.Inspection {
		in := server(1, nil)
		in.Znodes, in.DataSize, in.Java = znodes, 10*znodes, map[string]string{"os.memory.free": "100MB", "os.memory.total": fmt.Sprint(100+znodes, "MB"), "os.memory.max": "400MB"}
		return []ensemble.Inspection{in}
	}
	before := Of(Seen{Servers: at(100)}, now.Add(-day))
	doc := Of(Seen{Servers: at(200), Before: &before}, now)
	if l := find(t, doc, "znodes"); l.PerDay == nil || *l.PerDay != 100 || l.Reached != nil {
		t.Errorf("%+v, want 100 a day and never reached", l)
	}
	if l := find(t, doc, "heap"); l.Reached == nil || !l.Reached.Equal(now.Add(2*day)) {
		t.Errorf("%+v, want it reached in 2 days", l)
	}
}

func TestWalk(t *testing.T) {
	for _, test := range []struct {
		reads int
		whole bool
	}{{100, true}, {5, false}, {1, false}} {
		synctest.Test(t, func(t *testing.T) {
			ens := zktest.New(zktest.Config{})
			s := ens.Dial()
			defer s.Close()
			for _, path := range []string{"/many", "/many/a", "/many/bb", "/many/ccc", "/big"} {
				if _, err := s.Create(t.Context(), path, make([]byte, len(path)), zk.Persistent); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := s.Create(t.Context(), "/mine", nil, zk.Ephemeral); err != nil {
				t.Fatal(err)
			}
			tree := Walk(t.Context(), s, test.reads, time.Minute)
			if tree.Err != nil || tree.Reads > test.reads || tree.Whole != test.whole {
				t.Fatalf("Walk() = %+v", tree)
			}
			if !test.whole {
				return
			}
			if want := (List{"/many", 3, 3*4 + 6}); tree.Listed.Bytes < want.Bytes || tree.Largest.Path != "/many/ccc" || tree.Znodes != 10 {
				t.Errorf("%+v", tree)
			}
			if o := tree.Owned[s.ID()]; o != (ensemble.Owned{Znodes: 1, Bytes: 4 + 5}) {
				t.Errorf("ephemerals %+v", tree.Owned)
			}
		})
	}
}

// Since ZooKeeper 3.7.3 exists needs READ too: a znode that may not be read does not end the walk.
func TestWalkPastWhatIsDenied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ens := zktest.New(zktest.Config{})
		s := ens.Dial()
		defer s.Close()
		for _, path := range []string{"/closed", "/unlisted", "/unlisted/a", "/z"} {
			if _, err := s.Create(t.Context(), path, nil, zk.Persistent); err != nil {
				t.Fatal(err)
			}
		}
		ens.Hook(func(op zktest.Op) zktest.Action {
			if op.Path == "/closed" || op.Path == "/unlisted" && op.Kind == zk.KindChildren {
				return zktest.Action{Err: zk.ErrNoAuth}
			}
			return zktest.Action{}
		})
		if tree := Walk(t.Context(), s, 100, time.Minute); tree.Err != nil || tree.Denied != 2 || tree.Whole || tree.Znodes < 3 {
			t.Errorf("Walk() = %+v, want two znodes that are denied", tree)
		}
	})
}
