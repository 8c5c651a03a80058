package bench

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/bench/load"
	"github.com/zkbench/zkbench/bench/outcome"
	"github.com/zkbench/zkbench/bench/root"
	"github.com/zkbench/zkbench/zk/zktest"
)

// The watches on the znodes of a prefill exist in each cell that asks for them, each once, and none is left, also after an interrupt or
// if one of their sessions cannot be opened.
func TestPrefillWatches(t *testing.T) {
	for _, tc := range []struct {
		name, znodes      string
		watches, sessions int
		interrupt         bool
		refuse            error
	}{
		{name: "fewer watches than znodes", znodes: "300", watches: 120, sessions: 10},
		{name: "fewer watches than sessions", znodes: "300", watches: 3, sessions: 3},
		{name: "more than ten sessions can hold", znodes: "20", watches: 301, sessions: 16},
		{name: "an interrupt", znodes: "300", watches: 120, sessions: 10, interrupt: true},
		{name: "a session that is refused", znodes: "300", watches: 120, refuse: errRefused},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { prefillWatches(t, tc.znodes, tc.watches, tc.sessions, tc.interrupt, tc.refuse) })
		})
	}
}

func prefillWatches(t *testing.T, znodes string, watches, sessions int, interrupt bool, refuse error) {
	r := newRig(t, zktest.Config{OpLatency: time.Millisecond}, "prefill: [0, "+znodes+"]", fmt.Sprintf("prefill_watches: %d", watches), "sessions: 2", "duration: 1s")
	there := map[int]map[int64]int{} // watches on znodes of the prefill, by cell and session
	r.on = func(u load.Update) {
		if u.Phase != outcome.PhaseSteady || there[u.Cell] != nil {
			return
		}
		there[u.Cell] = map[int64]int{}
		for _, w := range r.ens.Watches() {
			if strings.Contains(w.Path, "/"+root.PrefillName+"/") {
				there[u.Cell][w.Session]++
			}
		}
		if interrupt && len(there[u.Cell]) > 0 {
			r.interrupt()
		}
	}
	if refuse != nil {
		r.refuse = func(seat int) error {
			if seat == 1 && len(r.ens.Tree()) > 200 { // the prefill exists
				return refuse
			}
			return nil
		}
	}
	doc, err := r.run()
	if doc == nil || (err != nil) != (interrupt || refuse != nil) || refuse != nil && !errors.Is(err, refuse) {
		t.Fatalf("Run = %v", err)
	}
	r.clean()
	for i, c := range doc.Cells {
		want := watches
		if c.Parameters["prefill"] == 0 {
			want = 0
		}
		got := 0
		for _, n := range there[i+1] {
			got += n
		}
		if got != want || want > 0 && (len(there[i+1]) != sessions || c.Parameters["prefill_watches"] != watches || !strings.Contains(strings.Join(c.Notes, ""), "watches of")) {
			t.Errorf("cell %d of prefill %v: %d watches of %d sessions, want %d of %d; %v, notes %q", i+1, c.Parameters["prefill"], got, len(there[i+1]), want, sessions,
				c.Parameters, c.Notes)
		}
	}
}

// Watches that need too many sessions for the znodes are refused before any load.
func TestPrefillWatchesRefused(t *testing.T) {
	c := newRig(t, zktest.Config{}, "prefill: [0, 10]", "prefill_watches: 20000").config
	if doc, err := Run(t.Context(), c); doc != nil || !errors.Is(err, ErrProfile) || !strings.Contains(err.Error(), "test.yaml:5:18: prefill_watches: 20000 watches on 10 znodes need 2000 sessions") {
		t.Errorf("Run = %v, %v", doc, err)
	}
}
