package broken_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/broken"
	"github.com/zkbench/zkbench/recipes/lock"
	"github.com/zkbench/zkbench/workloads"
	"github.com/zkbench/zkbench/zk"
)

func (l load) runMulti(t *testing.T, v recipes.Variant[recipes.MultiLock], locks, together int) (verdicts map[string]check.Verdict) {
	synctest.Test(t, func(t *testing.T) {
		verdicts = l.drive(t, workloads.NewMulti(v, recipes.Options{}, l.cell("/locks", profiles.Values{"objects": locks, "together": together})))
	})
	return verdicts
}

// several is a load under which sets of locks overlap all the time.
var several = load{sessions: 6, length: 8 * time.Second, hold: 20 * time.Millisecond, request: 2 * time.Millisecond, event: time.Millisecond}

func TestEachDefectOfAMultiLockIsCaughtByItsCheck(t *testing.T) {
	for _, d := range broken.MultiLocks {
		t.Run(d.Name, func(t *testing.T) {
			l := several
			var also []string
			switch d.Name {
			case "broken-keeps-some": // somebody gives up
				l.deadline = 50 * time.Millisecond
			case "broken-stops-releasing": // somebody deletes a znode of a holder, or of a session that has one lock and waits for the next
				also = []string{"token-order", "mutual-exclusion"}
				l.stage = func(ctx context.Context, st *stage) {
					admin := st.Dial()
					defer admin.Close()
					every(ctx, 100*time.Millisecond, func() {
						if queue := st.queue(); len(queue) > 0 {
							admin.Delete(ctx, queue[0], zk.AnyVersion) // it may be gone already
						}
					})
				}
			}
			caught(t, d.Caught, l.runMulti(t, d.Variant, 4, 3), also...)
		})
	}
}

// The checks do not convict the sound recipe, whatever the sets, with lost sessions and with waiters that give up.
func TestTheChecksOfMultiLocksRaiseNoFalseAlarm(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 3))
		l := several
		l.seed, l.sessions, l.cut = seed, 2+r.IntN(10), r.IntN(2) == 0
		l.object = "/locks/lock-1"
		switch r.IntN(3) {
		case 0:
			l.deadline = 200 * time.Millisecond
		case 1:
			place := r.IntN(l.sessions)
			l.stage = func(ctx context.Context, st *stage) { every(ctx, 700*time.Millisecond, func() { st.expire(place) }) }
		}
		locks := 1 + r.IntN(6)
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			for name, v := range l.runMulti(t, lock.MultiVariants()[0], locks, 1+r.IntN(locks)) {
				if v.Answer == check.Violated || v.Answer == check.Unknown && name == "mutual-exclusion" {
					t.Errorf("%s = %v: %s\ncounterexample %+v\nload %+v", name, v.Answer, v.Detail, v.Witness, l)
				}
			}
		})
	}
}
