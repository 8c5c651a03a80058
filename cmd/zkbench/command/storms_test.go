package command

import (
	"fmt"
	"testing"
	"time"

	"github.com/zkbench/zkbench/bench"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/local"
	"github.com/zkbench/zkbench/internal/tier"
	"github.com/zkbench/zkbench/results"
)

// On real servers each storm has its planned effect: every reader has read everything, every lost session has expired and every watcher was notified, every
// client was cut off and is back, and every server was restarted, the leader last. Only counts are asserted, because times depend on the machine.
func TestStormsOnRealServers(t *testing.T) {
	tier.Long(t, "waits for storms and restarts; bench has the same in virtual time")
	t.Parallel()
	on := ensembletest.Start(t, 3, func(c *local.Config) { c.Tick, c.NoFsync = 500*time.Millisecond, true })
	cutAll := func(f results.Fault) bool { return f.Error == "" && f.SessionsCut != nil && *f.SessionsCut == 6 }
	var of map[string]results.Fault
	for _, seconds := range []int{14, 40, 40} { // a busy machine needs longer for three restarts, and may lose connections by itself
		var err error
		if of, err = storms(t, on, seconds); err != nil {
			t.Log(err)
			continue
		}
		if cutAll(of["reset"]) && cutAll(of["rolling-restart"]) { // not if the leader is restarted when the load is just over
			break
		}
	}
	all := func(what string, a *results.Arrivals, due int) {
		if a == nil || a.Due != due || a.Came != due || a.All == nil {
			t.Errorf("%s: %+v, want all of %d", what, a, due)
		}
	}
	read := of["read-storm"].Storm
	if read == nil {
		t.Fatalf("%+v", of)
	}
	all("told of the change", read.Notified, 10)
	all("done reading", read.Read, 10)
	if c := read.Cost; c.Requests != 1+10*(1+4) || c.Events != 10 || c.ReadBytes != 10*4*50 || c.SentBytes == nil || c.ReceivedBytes == nil || *c.ReceivedBytes < c.ReadBytes {
		t.Errorf("the read storm cost %+v", c)
	}
	lost := of["mass-expiry"].Storm
	if lost == nil || lost.Expired == nil || *lost.Expired != 8 || lost.Watchers != 2 {
		t.Fatalf("the mass expiry: %+v", lost)
	}
	all("gone", lost.Gone, 8*3)
	all("told that they are gone", lost.Notified, 8*3*2)
	for _, kind := range []string{"reset", "rolling-restart"} {
		f := of[kind]
		if !cutAll(f) || f.BackAll == nil || *f.LinksCut < 6 || *f.Handshakes < 6 {
			t.Fatalf("%s: %+v; want that all of 6 clients were cut off and are back", kind, f)
		}
		if r := f.Reconnecting; r == nil || r.Requests < int64(*f.Handshakes) || r.SentBytes == nil || *r.SentBytes <= 0 || *r.ReceivedBytes <= 0 {
			t.Errorf("%s: it cost %+v with %d handshakes", kind, r, *f.Handshakes)
		}
	}
	restarted := map[int]bool{}
	for i, r := range of["rolling-restart"].Restarts {
		restarted[r.Server] = true
		if r.HealedS == nil || *r.HealedS < r.AtS || r.Leader != (i == 2) {
			t.Errorf("restart %d: %+v; want that it served again, and that the leader was the last", i+1, r)
		}
	}
	if len(restarted) != 3 {
		t.Errorf("servers %v were restarted, want all of 3", restarted)
	}
}

// storms runs a load of locks with one storm of each kind, in a steady phase of the given seconds, and returns the outcome of each by kind. The error is why
// they could not be carried out.
func storms(t *testing.T, on *local.Local, seconds int) (map[string]results.Fault, error) {
	t.Helper()
	p, err := setup().Catalogue().Parse("storms.yaml", fmt.Appendf(nil, `name: storms
workload: lock
variants: predecessor
sessions: 6
locks: 3
hold: 1ms
rate: 40/s
saturation: allowed
warmup: 200ms
duration: %ds
drain: 10s
session_timeout: 3s
seed: 7
faults:
  - {at: 200ms, kind: read-storm, sessions: 10, znodes: 4, size: 50}
  - {at: 800ms, kind: mass-expiry, sessions: 8, ephemerals: 3, watchers: 2}
  - {at: 5s, kind: reset}
  - {at: 5500ms, kind: rolling-restart}
`, seconds))
	if err != nil {
		t.Fatal(err)
	}
	dir, err := results.Create(t.TempDir()+"/run", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	doc, err := bench.Run(t.Context(), bench.Config{Setup: setup(), Profile: p, Ensemble: on, Name: "storms", Out: dir, Stop: make(chan struct{})})
	if err != nil {
		return nil, err
	}
	if len(doc.Cells) != 1 {
		t.Fatalf("%d cells, want 1", len(doc.Cells))
	}
	for _, c := range doc.Cells[0].Checks {
		if c.Verdict == "violated" {
			t.Errorf("%s is violated: %s", c.Name, c.Detail)
		}
	}
	of := map[string]results.Fault{}
	for _, f := range doc.Cells[0].Faults {
		of[f.Kind] = f
	}
	return of, nil
}
