package broken_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/broken"
	"github.com/zkbench/zkbench/recipes/counter"
	"github.com/zkbench/zkbench/workloads"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// runNumbers drives the counter or the generator of that name.
func (l load) runNumbers(t *testing.T, counters []recipes.Variant[recipes.Counter], ids []recipes.Variant[recipes.IDs],
	name string) (verdicts map[string]check.Verdict) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		v, _ := workloads.Counters(counters, ids).Find(name)
		w, err := v.New(l.cell("/counters", nil), nil)
		if err != nil {
			t.Fatal(err)
		}
		verdicts = l.drive(t, w)
	})
	return verdicts
}

// losingRequests is a stage on which some writes are lost before they are applied.
func losingRequests(_ context.Context, st *stage) {
	var seen atomic.Int64
	st.Hook(func(op zktest.Op) zktest.Action {
		return zktest.Action{Lose: op.Kind == zk.KindSet && !op.Applied && seen.Add(1)%7 == 0}
	})
}

func TestEachDefectOfNumbersIsCaughtByItsCheck(t *testing.T) {
	race := load{sessions: 6, length: 2 * time.Second, request: 2 * time.Millisecond, event: time.Millisecond}
	for _, d := range broken.Counters {
		t.Run(d.Name, func(t *testing.T) {
			l := race
			var also []string
			switch d.Name {
			case "broken-any-version", "broken-takes-anothers": // both got the number that one wrote over the other
				also = []string{"unique-numbers", "number-order"}
			}
			switch d.Name {
			case "broken-any-version", "broken-stale-value":
			case "broken-takes-anothers":
				l.stage = losingRequests
			default:
				l.stage = losing(7, zk.KindSet)
			}
			caught(t, d.Caught, l.runNumbers(t, broken.Variants(broken.Counters), nil, d.Name), also...)
		})
	}
	for _, d := range broken.Generators {
		t.Run(d.Name, func(t *testing.T) {
			caught(t, d.Caught, race.runNumbers(t, nil, broken.Variants(broken.Generators), d.Name))
		})
	}
}

// The checks do not convict the sound counters and generators, whatever the latencies, with lost replies and lost sessions, and have evidence.
func TestTheChecksOfNumbersRaiseNoFalseAlarm(t *testing.T) {
	var names []string
	for _, v := range counter.Variants() {
		names = append(names, v.Name)
	}
	for _, v := range counter.IDVariants() {
		names = append(names, v.Name)
	}
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 3))
		l := load{seed: seed, sessions: 2 + r.IntN(6), length: 2 * time.Second,
			request: time.Millisecond + time.Duration(r.Int64N(int64(5*time.Millisecond))), event: time.Millisecond, cut: r.IntN(2) == 0}
		switch seed % 4 {
		case 1:
			l.stage = losing(5, zk.KindSet, zk.KindCreate, zk.KindDelete)
		case 2:
			l.stage = expiring(300 * time.Millisecond)
		case 3:
			l.deadline = 20 * time.Millisecond
		}
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			for name, v := range l.runNumbers(t, counter.Variants(), counter.IDVariants(), names[seed%5]) {
				if v.Answer != check.Holds || v.Evidence == 0 {
					t.Errorf("%s is %v with evidence %d: %s\ncounterexample %+v\nload %+v", name, v.Answer, v.Evidence, v.Detail, v.Witness, l)
				}
			}
		})
	}
}
