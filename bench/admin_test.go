package bench

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/ensemble"
)

// The more an answer costs a server, the less often it is asked: it spends at most 0.5 % of a CPU on answers, down to one every 10 s.
func TestTheServersAreAskedSeldomIfItCosts(t *testing.T) {
	for cost, want := range map[time.Duration]time.Duration{0: time.Second, 5 * time.Millisecond: time.Second, 6 * time.Millisecond: 2 * time.Second,
		14 * time.Millisecond: 5 * time.Second, 26 * time.Millisecond: 10 * time.Second, time.Hour: 10 * time.Second} {
		if got := askAgain(cost); got != want {
			t.Errorf("askAgain(%v) = %v, want %v", cost, got, want)
		}
	}
	at := time.Now()
	answer := func(took time.Duration, err error) ensemble.ServerStats {
		return ensemble.ServerStats{Asked: at, At: at.Add(took), Err: err}
	}
	if got := longest([]ensemble.ServerStats{answer(2*time.Millisecond, nil), answer(7*time.Millisecond, nil), answer(time.Minute, ensemble.ErrNoQuorum)}); got != 7*time.Millisecond {
		t.Errorf("longest = %v, want that of the slowest server that answered", got)
	}
	if got := longest([]ensemble.ServerStats{answer(time.Minute, ensemble.ErrNoQuorum)}); got != time.Hour {
		t.Errorf("longest without an answer = %v, want an hour", got)
	}
}

// slow is the rig's ensemble with answers that cost a server 14 ms.
type slow struct {
	*rig
	asked *int
}

func (s slow) Stats(ctx context.Context) []ensemble.ServerStats {
	*s.asked++
	at := time.Now()
	time.Sleep(14 * time.Millisecond)
	all := s.rig.Stats(ctx)
	for i := range all {
		all[i].Asked, all[i].At = at, time.Now()
	}
	return all
}

// Under load, servers whose answers cost them much are asked every five seconds; every second where a fault is planned.
func TestCostlyServersAreAskedLessOftenUnderLoad(t *testing.T) {
	asked := map[string]int{}
	for name, lines := range map[string][]string{"undisturbed": nil, "with a fault": {faultsOf("{at: 55s, kind: expire, session: 1}")}} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, latency, append([]string{"duration: 60s"}, lines...)...)
			n := 0
			r.config.Ensemble = slow{r, &n}
			if _, err := r.run(); err != nil {
				t.Fatal(err)
			}
			asked[name] = n
		})
	}
	if few, many := asked["undisturbed"], asked["with a fault"]; few < 12 || few > 30 || many < 60 {
		t.Errorf("asked %v times in a minute of load; want about a dozen, and at least 60 with a fault planned", asked)
	}
}
