package bench

import (
	"errors"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/profiles"
)

func TestFaultsThatCannotBeCarriedOut(t *testing.T) {
	local := Ground{Name: "local:3", Servers: 3, Driver: (*ensemble.Local)(nil)}
	alone := Ground{Name: "local:1", Servers: 1, Driver: (*ensemble.Local)(nil)}
	external := Ground{Name: "host:2181", Servers: 1, Driver: (*ensemble.External)(nil)}
	for _, c := range []struct {
		fault string
		on    Ground
		want  string // "": it can be carried out
	}{
		{"{at: 1s, kind: kill, server: leader}", local, ""},
		{"{at: 1s, kind: restart, server: 3}", local, ""},
		{"{at: 1s, kind: cut-reply}", external, ""},
		{"{at: 1s, kind: expire, session: 1}", external, ""},
		{"{at: 1s, kind: kill, server: leader}", alone, ""},
		{"{at: 1s, kind: kill, server: follower}", alone, "p.yaml:6:34: there is no follower on local:1"},
		{"{at: 1s, kind: kill, server: 4}", local, "p.yaml:6:34: there is no server 4 on local:3; allowed is 1 to 3"},
		{"{at: 1s, kind: silence, server: 2}", external, "p.yaml:6:37: there is no server 2 on host:2181"},
		{"{at: 1s, kind: disconnect, server: 1}", local, "p.yaml:6:20: disconnect cannot be carried out on local:3: its servers share the network"},
		{"{at: 1s, kind: loss, server: 1, percent: 5}", local, "p.yaml:6:20: loss cannot be carried out on local:3: its servers share the network of one " +
			"machine (choose --ensemble compose:3); possible there are kill, stop, pause, restart, expire, "},
		{"{at: 1s, kind: pause, server: 1}", external, "zkbench does not break servers that somebody else runs (let the run start its own"},
		{"{at: 1s, kind: latency, server: 1, delay: 5ms}", external, "possible there are expire, crash, cut-reply, "},
	} {
		p, err := profiles.Parse("p.yaml", []byte("workload: lock\nvariants: predecessor\nsessions: 5\nduration: 5s\nfaults:\n  - "+c.fault+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		err = CheckFaults(p, c.on)
		if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, ErrProfile) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s on %s: %v, want %q", c.fault, c.on.Name, err, c.want)
		}
	}
}

func TestServersThatFaultsTakeAwayAtOnce(t *testing.T) {
	for _, c := range []struct {
		faults string
		want   int
	}{
		{"", 0},
		{"{at: 1s, kind: expire, session: 1}, {at: 1s, kind: silence}", 0},
		{"{at: 1s, kind: kill, server: 1, for: 1s}, {at: 2s, kind: pause, server: 2, for: 1s}", 1},
		{"{at: 1s, kind: kill, server: 1, for: 2s}, {at: 2s, kind: disconnect, server: 2, for: 1s}", 2},
		{"{at: 3s, kind: silence, server: 1}, {at: 2s, kind: stop, server: 2}", 2},
	} {
		p, err := profiles.Parse("p.yaml", []byte("workload: lock\nvariants: predecessor\nsessions: 5\nduration: 5s\nfaults: ["+c.faults+"]\n"))
		if err != nil {
			t.Fatal(err)
		}
		if got := mostDown(p); got != c.want {
			t.Errorf("%s: %d servers, want %d", c.faults, got, c.want)
		}
	}
}
