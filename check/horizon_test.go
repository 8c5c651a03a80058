package check

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/metrics/spill"
)

// Horizons and skews match their definitions, in memory and from many pages on disk.
func TestHorizonsMatchTheirDefinition(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 3))
		room := spill.NewRoom(t.TempDir(), 1)
		if seed%2 == 0 {
			room = nil
		}
		n := 1 + r.IntN(60)
		if seed < 4 {
			n = 5 * pageLength
		}
		writes := func() (h history) {
			for i := range n {
				start := time.Duration(i + r.IntN(20))
				h = append(h, metrics.Sample{Op: metrics.Enqueue, Session: r.Uint32N(4), Zxid: int64(1 + i + r.IntN(9)), Start: start, End: start + time.Duration(r.IntN(9))})
			}
			return h
		}
		a, b := writes(), writes()
		by := func(h history, at time.Duration) (zxid int64) {
			for _, s := range h {
				if s.End <= at {
					zxid = max(zxid, s.Zxid)
				}
			}
			return zxid
		}
		after := func(h history, at time.Duration) int64 {
			zxid := int64(math.MaxInt64)
			for _, s := range h {
				if s.Start >= at {
					zxid = min(zxid, s.Zxid)
				}
			}
			return zxid
		}
		ha, hb := horizonOf(slices.Values(a), room), horizonOf(slices.Values(b), room)
		for range 200 {
			at := time.Duration(r.IntN(n+40) - 5)
			if got, want := ha.by(at), by(a, at); got != want {
				t.Fatalf("seed %d: seen by %d: %d, want %d", seed, at, got, want)
			}
			if got, want := ha.after(at), after(a, at); got != want {
				t.Fatalf("seed %d: sent after %d: %d, want %d", seed, at, got, want)
			}
		}
		least, known := time.Duration(math.MaxInt64), false
		for _, s := range a[:min(len(a), 200)] {
			for _, e := range b {
				if e.Zxid >= s.Zxid {
					least, known = min(least, e.End-s.Start), true
				}
			}
		}
		if got, some := soonest(&ha, &hb); n <= 200 && (some != known || some && got != least) {
			t.Fatalf("seed %d: soonest %d %v, want %d %v", seed, got, some, least, known)
		}
		closeAll([]horizon{ha, hb})
		if err := room.Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// Verdicts on several hosts are the same from memory and from disk.
func TestDiskAndMemoryJudgeHostsAlike(t *testing.T) {
	judged := 0
	for seed := range uint64(15) {
		r := rand.New(rand.NewPCG(seed, 9))
		room := spill.NewRoom(t.TempDir(), 2<<10)
		h := validHistory(r, 2+r.IntN(10), 1+r.IntN(3), 40+r.IntN(200))
		if seed%2 == 0 {
			planted[r.IntN(len(planted))].plant(r, h)
		}
		if seed%5 == 0 {
			h = disorder(r, 40+r.IntN(200))
		}
		var split [2]history
		for _, s := range h {
			split[s.Session%2] = append(split[s.Session%2], s)
		}
		hosts := hostsOf(split[0], split[1])
		if memory, disk := Skews(hosts, nil), Skews(hosts, room); !slices.Equal(memory, disk) {
			t.Fatalf("seed %d: the skews are %v in memory and %v on disk", seed, memory, disk)
		}
		for _, c := range everyCheck() {
			memory, ok := c.JudgeAcross(hosts, nil)
			disk, _ := c.JudgeAcross(hosts, room)
			if !reflect.DeepEqual(memory, disk) {
				t.Fatalf("seed %d: %s in memory\n%+v\non disk\n%+v", seed, c.Name, memory, disk)
			}
			if ok && memory.Answer != Unknown {
				judged++
			}
		}
		if err := room.Err(); err != nil {
			t.Fatal(err)
		}
	}
	if judged < 50 {
		t.Errorf("only %d verdicts: the test proves little", judged)
	}
}
