package check

import (
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/metrics/spill"
)

// everyCheck returns all checks, with bounds small enough for histories of some dozen nanoseconds to violate them.
func everyCheck() []Check {
	rank := func(v int64) int32 { return int32(v % 3) }
	all := append(atomicCommit(9, 4), MutualExclusion(), ReaderWriter(), Permits(2), Leadership(), TokenOrder(), Terms(), QueueOrder(), FIFO(), CampaignFIFO(),
		Starvation(3), Alternation(), Fence(0), Fence(2), NothingLeft(), Capacity(), NoLostRevoke(3), Conservation(metrics.Take), Conservation(metrics.Finish),
		Claims(), DeliveryOrder(), Priority(rank, true), Priority(rank, false), NotBefore(func(v int64) time.Duration { return time.Duration(v) * 4 }),
		UniqueNumbers(), NumberOrder(), Total(), Barred(), Views(), ViewOrder(), WrittenValues(), WriteOrder(), SessionOrder(), NoLostWrites(), SessionsOwn())
	for _, bound := range []time.Duration{3, 8} {
		all = append(all, Liveness(bound), LivenessTogether(bound), ReaderWriterLiveness(bound), PermitsLiveness(2, bound), LeaderLiveness(bound), PassLiveness(bound),
			QueueLiveness(bound), DelayLiveness(bound, func(v int64) time.Duration { return time.Duration(v) * 4 }), Convergence(bound), CrashesSeen(bound))
	}
	for _, enter := range []metrics.Op{metrics.Enter, metrics.Meet} {
		all = append(all, EnterSafety(enter, 2), EqualOutcome(enter, 2), RoundLiveness(enter, 2, 6))
	}
	return append(all, LeaveSafety())
}

// everyCheck contains all checks except those that decide linearizability, which may take exponential time, and that of watches, which other histories
// violate.
func TestEveryCheckIsEveryCheck(t *testing.T) {
	made := map[string]bool{"LinearizableQueue": true, "LinearizableRegister": true, "LinearizableZnodes": true, "Notifications": true}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var all []*ast.FuncDecl
	for _, file := range files {
		parsed, err := parser.ParseFile(gotoken.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			f, is := d.(*ast.FuncDecl)
			if is && (f.Name.Name == "everyCheck" || f.Name.Name == "atomicCommit") {
				ast.Inspect(f, func(n ast.Node) bool {
					if call, is := n.(*ast.CallExpr); is {
						if name, is := call.Fun.(*ast.Ident); is {
							made[name.Name] = true
						}
					}
					return true
				})
			}
			if is && f.Recv == nil && f.Name.IsExported() && f.Type.Results.NumFields() == 1 {
				if result, is := f.Type.Results.List[0].Type.(*ast.Ident); is && result.Name == "Check" {
					all = append(all, f)
				}
			}
		}
	}
	for _, f := range all {
		if !made[f.Name.Name] {
			t.Errorf("everyCheck lacks %s", f.Name.Name)
		}
	}
	if len(all) < 40 {
		t.Errorf("only %d checks found", len(all))
	}
}

// disorder returns a random history of the operations of one family and of faults.
func disorder(r *rand.Rand, n int) []metrics.Sample {
	families := [][]metrics.Op{
		{metrics.Acquire, metrics.Acquire, metrics.Release, metrics.Release, metrics.Enqueue, metrics.Wait, metrics.Idle, metrics.TryAcquire, metrics.Write},
		{metrics.Acquire, metrics.Release, metrics.Hold, metrics.Unhold, metrics.Left, metrics.Drain},
		{metrics.Acquire, metrics.Release, metrics.ReadAcquire, metrics.ReadRelease, metrics.Enqueue, metrics.Revoke, metrics.Deliver, metrics.Write},
		{metrics.Campaign, metrics.Resign, metrics.Enqueue, metrics.Wait},
		{metrics.Put, metrics.Put, metrics.Take, metrics.Take, metrics.Remove, metrics.Choose, metrics.Finish, metrics.Release, metrics.Remain, metrics.Idle},
		{metrics.Enter, metrics.Leave, metrics.Meet, metrics.Bar, metrics.Unbar, metrics.Pass},
		{metrics.Propose, metrics.Vote, metrics.Decide, metrics.Recall},
		{metrics.Draw, metrics.Draw, metrics.Tally, metrics.Open, metrics.Keep},
		{metrics.SetData, metrics.SetData, metrics.GetData, metrics.Children, metrics.Create, metrics.Multi, metrics.Apply, metrics.Sync, metrics.Tally},
		{metrics.Join, metrics.Leave, metrics.See, metrics.Members, metrics.Change},
	}
	ops := families[r.IntN(len(families))]
	var h []metrics.Sample
	zxid := func() int64 {
		if r.IntN(3) == 0 {
			return 0
		}
		return r.Int64N(40)
	}
	for range n {
		start := time.Duration(r.IntN(20 + n/8))
		s := metrics.Sample{Op: ops[r.IntN(len(ops))], Session: r.Uint32N(4), Object: r.Uint32N(3), Token: r.Int64N(8), Value: r.Int64N(4), Zxid: zxid(),
			Start: start, End: start + time.Duration(r.IntN(9))}
		switch s.Due = s.Start; {
		case r.IntN(5) == 0:
			s.Outcome = metrics.Outcome(r.IntN(metrics.Outcomes))
		case r.IntN(40) == 0:
			s.Op = []metrics.Op{metrics.Fault, metrics.Expire, metrics.Late, metrics.Down, metrics.Refused}[r.IntN(5)]
			if s.Op == metrics.Late && r.IntN(2) == 0 {
				s.Session = metrics.Everybody
			}
		}
		h = append(h, s)
	}
	if r.IntN(2) == 0 {
		h = append(h, metrics.Sample{Op: metrics.Bound, End: time.Duration(1 + r.IntN(5))})
	}
	return h
}

// Verdicts, evidence and counterexamples are the same from disk and from memory.
func TestDiskAndMemoryJudgeAlike(t *testing.T) {
	violated := map[string]int{}
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 8))
		h := disorder(r, 40+r.IntN(260))
		if seed%4 == 0 {
			h = validHistory(r, 2+r.IntN(10), 1+r.IntN(3), 40+r.IntN(200))
			planted[r.IntN(len(planted))].plant(r, h)
		}
		kept := metrics.NewHistory(2, nil)
		for i, s := range h {
			kept.Shard(i).Record(s)
		}
		room := spill.NewRoom(t.TempDir(), 1)
		for _, c := range everyCheck() {
			memory, disk := c.Judge(kept.All(), nil), c.Judge(kept.All(), room)
			if !reflect.DeepEqual(memory, disk) {
				t.Fatalf("seed %d: %s in memory\n%+v\non disk\n%+v", seed, c.Name, memory, disk)
			}
			if memory.Answer == Violated {
				violated[c.Name]++
			}
		}
		fair, owned := fairness(kept.All(), nil), ownerless(kept.All(), nil, 2, 3, 20)
		if f, o := fairness(kept.All(), room), ownerless(kept.All(), room, 2, 3, 20); f != fair || o != owned {
			t.Fatalf("seed %d: on disk %+v %+v, in memory %+v %+v", seed, f, o, fair, owned)
		}
		if err := room.Err(); err != nil {
			t.Fatal(err)
		}
		kept.Close()
	}
	for _, c := range everyCheck() {
		seldom := slices.Contains([]string{"starvation", "commit-progress", "crashes-seen", "view-order"}, c.Name) // too rare in random histories
		if violated[c.Name] == 0 && !seldom {
			t.Errorf("no history violated %s: the test proves nothing about it", c.Name)
		}
	}
}
