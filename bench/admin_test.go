package bench

import (
	"context"
	"os"
	"strings"
	"sync/atomic"
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

// slow is the rig's ensemble with answers that cost a server so much.
type slow struct {
	*rig
	asked  *atomic.Int64
	cost   time.Duration
	silent map[int]bool // questions, from 1, that no server answers within five seconds
}

func (s slow) Stats(ctx context.Context) []ensemble.ServerStats {
	at, silent := time.Now(), s.silent[int(s.asked.Add(1))]
	if silent {
		time.Sleep(5 * time.Second)
	}
	time.Sleep(s.cost)
	all := s.rig.Stats(ctx)
	for i := range all {
		all[i].Asked, all[i].At = at, time.Now()
		if silent {
			all[i].Err = os.ErrDeadlineExceeded
		}
	}
	return all
}

// Servers that are asked every ten seconds have not been silent for long when they miss one question: they are asked again at once, and the run goes on. If they
// miss all of them it ends.
func TestServersThatMissAQuestion(t *testing.T) {
	for _, missed := range []int{1, 2, 100} {
		synctest.Test(t, func(t *testing.T) {
			r, silent := newRig(t, latency, "duration: 60s", "session_timeout: 10s"), map[int]bool{}
			for i := range missed {
				silent[8+i] = true
			}
			var n atomic.Int64
			r.config.Ensemble = slow{r, &n, 60 * time.Millisecond, silent}
			_, err := r.run()
			if ends := missed > 2; ends != (err != nil) || ends && !strings.Contains(err.Error(), "no server has answered for ") {
				t.Errorf("%d questions without an answer, %d asked: %v", missed, n.Load(), err)
			}
		})
	}
}

// Under load, servers whose answers cost them much are asked every five seconds; every second where a fault is planned.
func TestCostlyServersAreAskedLessOftenUnderLoad(t *testing.T) {
	asked := map[string]int64{}
	for name, lines := range map[string][]string{"undisturbed": nil, "with a fault": {faultsOf("{at: 55s, kind: expire, session: 1}")}} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, latency, append([]string{"duration: 60s"}, lines...)...)
			var n atomic.Int64
			r.config.Ensemble = slow{r, &n, 14 * time.Millisecond, nil}
			if _, err := r.run(); err != nil {
				t.Fatal(err)
			}
			asked[name] = n.Load()
		})
	}
	if few, many := asked["undisturbed"], asked["with a fault"]; few < 12 || few > 30 || many < 60 {
		t.Errorf("asked %v times in a minute of load; want about a dozen, and at least 60 with a fault planned", asked)
	}
}
