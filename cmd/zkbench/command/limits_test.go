package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/zk"
)

// Limits reports what is there and changes nothing: the only transactions are the start and the end of its session, and there are none without
// a session. The test has its own server: on one that other tests have used, their crashed sessions expire in between.
func TestLimitsChangesNoZnode(t *testing.T) {
	t.Parallel()
	e := ensembletest.Start(t, 1)
	address := e.Addresses()[0]
	s := session(t, address)
	const base = "/limits-test"
	for _, path := range []string{base, base + "/a", base + "/bb"} {
		if _, err := s.Create(t.Context(), path, make([]byte, 1000), zk.Persistent); err != nil {
			t.Fatal(err)
		}
	}
	defer func() {
		for _, path := range []string{base + "/e", base + "/a", base + "/bb", base} {
			s.Delete(t.Context(), path, zk.AnyVersion)
		}
	}()
	if _, err := s.Create(t.Context(), base+"/e", nil, zk.Ephemeral); err != nil {
		t.Fatal(err)
	}
	probe, err := ensemble.At(e.Addresses(), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	zxid := func() int64 {
		all, _ := probe.Zxids(t.Context())
		return all[0]
	}
	for _, test := range []struct {
		reads string
		want  int64
	}{{"500", 2}, {"0", 0}} {
		before := zxid()
		o := zkbench(t, "limits", "--servers", address, "--for", "1s", "--reads", test.reads, "--json").want(exitOK)
		if made := zxid() - before; before == 0 || made != test.want {
			t.Errorf("--reads %s: %d transactions from zxid %x on, want %d", test.reads, made, before, test.want)
		}
		var doc results.Limits
		if err := json.Unmarshal([]byte(o.stdout), &doc); err != nil || doc.Schema != results.LimitsSchema || int64(doc.Transactions) != test.want {
			t.Fatalf("%v: %s", err, o.stdout)
		}
		named := map[string]results.Limit{}
		for _, l := range doc.Lines {
			named[l.Name] = l
		}
		for _, name := range []string{"transactions of this epoch", "ephemeral znodes of one session", "snapshot", "znodes", "watches", "open files"} {
			if _, some := named[name]; !some {
				t.Errorf("--reads %s: no line %q", test.reads, name)
			}
		}
		for _, name := range []string{"heap", "time to write a snapshot"} {
			_, some := named[name]
			unseen := slices.ContainsFunc(doc.Unseen, func(why string) bool { return strings.HasPrefix(why, name+": no server reports ") })
			if old := strings.HasPrefix(e.Describe().Version, "3.4."); some == old || unseen != old {
				t.Errorf("--reads %s: on %s a line %q: %v, unseen: %v", test.reads, e.Describe().Version, name, some, unseen)
			}
		}
		if l := named["ephemeral znodes of one session"]; l.Now < float64(4+len(base)+2) {
			t.Errorf("%+v", l)
		}
		if l, some := named["data of one znode"]; some != (test.reads != "0") || some && l.Now < 1000 {
			t.Errorf("--reads %s: %+v", test.reads, l)
		}
		if test.reads != "0" {
			continue
		}
		earlier := filepath.Join(t.TempDir(), "earlier.json")
		if err := os.WriteFile(earlier, []byte(o.stdout), 0o600); err != nil {
			t.Fatal(err)
		}
		zkbench(t, "limits", "--servers", address, "--for", "1s", "--reads", "0", "--since", earlier).want(exitOK, "Limits of 1 server", "0 transactions", "a day", "Not visible from here")
	}
}

func TestLimitsRefuses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ args, says string }{
		{"", "needs --servers"}, {"--servers local:3", "not local:3"}, {"--servers a --reads -1", "--reads"}, {"--servers a --for 1ms", "--for"},
		{"--servers a --since go.mod.none", "--since"}, {"--servers a:b", "port"},
	} {
		zkbench(t, append([]string{"limits"}, strings.Fields(test.args)...)...).want(exitUsage, test.says)
	}
	zkbench(t, "limits", "--servers", "127.0.0.1:1", "--reads", "0").want(exitFailed, "server 1")
}
