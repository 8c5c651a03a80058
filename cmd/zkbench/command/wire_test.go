package command

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/bench"
	"github.com/zkbench/zkbench/bench/target"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/workloads"
	"github.com/zkbench/zkbench/zk"
)

// wired are cells whose figures are compared with the wire: both engines, closed loops, open ones, and open ones that are far from sustained. A workload
// without a cell here is compared in its smallest built-in profile. done is the number of operations that the wire itself shows, if it does: every figure
// is divided by it.
var wired = []wiredCell{
	{"lock, closed", []string{"workload: lock", "variants: [predecessor]", "sessions: 8", "hold: 1ms"}, "", "release", deletes},
	{"lock, closed, herd", []string{"workload: lock", "variants: [naive]", "sessions: 10", "hold: 2ms"}, "native", "release", deletes},
	{"lock, open", []string{"workload: lock", "variants: [single-node]", "sessions: 12", "locks: 6", "rate: 60/s", "hold: 1ms"}, "native", "release", deletes},
	{"lock, open, saturated", []string{"workload: lock", "variants: [predecessor]", "sessions: 12", "rate: 2000/s", "hold: 5ms"}, "", "release", deletes},
	{"lock, open, saturated, herd", []string{"workload: lock", "variants: [naive]", "sessions: 12", "rate: 1000/s", "hold: 5ms"}, "native", "release", deletes},
	{"lock, a persistent watch", []string{"workload: lock", "variants: [persistent]", "sessions: 8"}, "native", "release", deletes},
	{"read-write, closed", []string{"workload: read-write", "variants: [read-write]", "sessions: 8", "readers: 80", "hold: 1ms"}, "", "", nil},
	{"read-write, open, saturated", []string{"workload: read-write", "variants: [read-write]", "sessions: 8", "readers: 80", "rate: 3000/s", "hold: 2ms"}, "native", "", nil},
	{"queue, open", []string{"workload: queue", "variants: [fifo]", "sessions: 6", "rate: 150/s"}, "native", "put", creates},
	{"queue, open, saturated", []string{"workload: queue", "variants: [fifo]", "sessions: 8", "bound: 50", "rate: 5000/s"}, "native", "put", creates},
	{"queue, claims", []string{"workload: queue", "variants: [claim]", "sessions: 8", "bound: 100", "hold: 1ms"}, "", "", nil},
	{"priority-queue", []string{"workload: priority-queue", "variants: [priority]", "sessions: 6", "bound: 50"}, "native", "put", creates},
	{"delay-queue", []string{"workload: delay-queue", "variants: [delay]", "sessions: 6", "rate: 100/s", "delay: {uniform: [0s, 100ms]}"}, "native", "put", creates},
	{"election", []string{"workload: election", "variants: [predecessor]", "sessions: 8", "elections: 2", "hold: 2ms"}, "native", "campaign", creates},
	{"counter", []string{"workload: counter", "variants: [counter]", "sessions: 4"}, "native", "draw", func(t tally) int { return t.ok[opSetData] }},
	{"membership", []string{"workload: membership", "variants: [shallow]", "sessions: 8", "hold: 5ms"}, "native", "join", creates},
	{"config", []string{"workload: config", "variants: [cache]", "sessions: 8", "rate: 100/s"}, "native", "change", func(t tally) int { return t.ok[opSetData] }},
	{"watch", []string{"workload: watch", "variants: [data]", "sessions: 8"}, "", "change", func(t tally) int { return t.ok[opSetData] }},
	{"watch, open, persistent", []string{"workload: watch", "variants: [recursive-data]", "sessions: 8", "rate: 100/s"}, "native", "change",
		func(t tally) int { return t.ok[opSetData] }},
	{"operations", []string{"workload: operations", "variants: [ephemeral]", "sessions: 8", "fan_out: 20", "mix: {get: 8, children: 1, sync: 1, multi: 1, create: 2, delete: 2}"},
		"native", "create", creates},
	{"sessions", []string{"workload: sessions", "variants: [close]", "sessions: 8"}, "native", "open", creates},
	{"barrier", []string{"workload: barrier", "variants: [barrier]", "sessions: 8", "barriers: 30"}, "native", "pass", func(tally) int { return 7 * 30 }},
	{"double-barrier", []string{"workload: double-barrier", "variants: [double-barrier]", "sessions: 8", "barriers: 30"}, "", "enter", func(tally) int { return 8 * 30 }},
	{"rendezvous", []string{"workload: rendezvous", "variants: [rendezvous]", "sessions: 8", "barriers: 30"}, "native", "meet", func(tally) int { return 8 * 30 }},
	{"two-phase-commit", []string{"workload: two-phase-commit", "variants: [flat]", "sessions: 6", "transactions: 30"}, "native", "propose", func(tally) int { return 2 * 30 }},
}

// wiredCell is a cell that is compared with its wire.
type wiredCell struct {
	name    string
	lines   []string // of its profile
	engines string   // of native and go-zookeeper; "" is both
	op      string
	done    func(tally) int
}

// onlyCell returns the smallest built-in profile of a workload, with one cell of its first safe variant and without its times.
func onlyCell(t *testing.T, k workloads.Kind) []string {
	t.Helper()
	p := smallest(t, k.Name, 8)
	p.Variants = []string{k.Variants[slices.IndexFunc(k.Variants, func(v workloads.Variant) bool { return !v.Unsafe })].Name}
	text, err := profiles.Marshal(p.Points()[0])
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(strings.Split(string(text), "\n"), func(line string) bool {
		key, _, _ := strings.Cut(line, ":")
		return line == "" || slices.Contains([]string{"name", "description", "seed", "session_timeout", "engine", "ensemble", "warmup", "duration", "drain", "repetitions"}, key)
	})
}

func deletes(t tally) int { return t.ok[opDelete] }
func creates(t tally) int { return t.ok[opCreate] + t.ok[opCreate2] }

// Every figure of fan-out and cost is what was on the wire in the steady phase, divided by the operations in it, within 1 %: counted and decoded
// by a capture that knows nothing of zkbench. The test runs alone: other load on the machine delays the counts behind the wire.
func TestFiguresAreThoseOfTheWire(t *testing.T) {
	one, rows := servers.Get(t, 1), wired
	if testing.Short() {
		rows = wired[:3] // closed, with a herd, and open; the others differ in their workload
	}
	for _, k := range described() {
		if !testing.Short() && !slices.ContainsFunc(rows, func(c wiredCell) bool { return slices.Contains(c.lines, "workload: "+k.Name) }) {
			rows = append(rows, wiredCell{name: k.Name, lines: onlyCell(t, k), engines: "native"})
		}
	}
	for _, c := range rows {
		for _, engine := range []string{"native", "go-zookeeper"} {
			if c.engines != "" && !strings.Contains(c.engines, engine) {
				continue
			}
			t.Run(c.name+"/"+engine, func(t *testing.T) {
				problems := []string{"too little was done in a minute to compare"}
				for _, length := range []string{"2s", "10s", "60s"} { // a slow machine needs the longer ones for the effects at the ends not to matter
					cell, seen, per := onTheWire(t, one, engine, length, c.lines)
					done := int64(0)
					for _, op := range cell.Counted {
						done += cell.Done[op]
					}
					if done < 50 {
						continue
					}
					t.Logf("%v done, %v on the wire, %d events, %d names", cell.Done, seen.requests, seen.events, seen.names)
					if problems = compareWithWire(cell, seen, c.op, c.done, per); len(problems) == 0 {
						return
					}
					t.Logf("%s: %s", length, strings.Join(problems, "; "))
				}
				t.Error(strings.Join(problems, "; "))
			})
		}
	}
}

// onTheWire runs a profile of one cell. It returns the cell, what was on its wire in the steady phase, and the operations that its costs are divided by.
func onTheWire(t *testing.T, on ensemble.Ensemble, engine, length string, lines []string) (cell results.Cell, wire tally, per []string) {
	t.Helper()
	tap, addresses := startCapture(t, on.Addresses())
	text := strings.Join(append([]string{"name: wire", "seed: 7", "session_timeout: 6s", "engine: " + engine}, lines...), "\n")
	if !strings.Contains(text, "barriers:") && !strings.Contains(text, "transactions:") {
		text += "\nwarmup: 300ms\nduration: " + length + "\ndrain: 300ms"
	}
	if strings.Contains(text, "rate:") {
		text += "\nsaturation: allowed"
	}
	p, err := setup().Catalogue().Parse("wire.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	dir, err := results.Create(out(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	doc, err := bench.Run(t.Context(), bench.Config{Setup: behind(addresses, p.Seed), Profile: p, Ensemble: on,
		Name: fmt.Sprintf("wire-%d", time.Now().UnixNano()), Version: "test", Out: dir})
	if err != nil || doc.Exit.Code != 0 && doc.Exit.Code != 5 { // too slow to judge is not too slow to count
		t.Fatalf("%v, exit %+v", err, doc.Exit)
	}
	consistent(t, dir.Path())
	cell = doc.Cells[0]
	at := func(seconds float64) time.Time {
		return cell.Started.Add(time.Duration(seconds * float64(time.Second)))
	}
	return cell, tap.between(at(cell.Steady.From), at(cell.Steady.To)), opsPer(cell, p)
}

// behind returns the setup with sessions that connect to other addresses. Sessions with seeds up to that of the profile only observe, and are not load.
func behind(addresses []string, seed uint64) bench.Setup {
	s := setup()
	for i, e := range s.Engines {
		s.Engines[i].Open = func(ctx context.Context, d target.Dialing) (zk.Session, error) {
			if d.Seed > seed {
				d.Servers = addresses
			}
			return e.Open(ctx, d)
		}
	}
	return s
}

// compareWithWire compares a cell with what was on its wire, and returns the differences.
func compareWithWire(cell results.Cell, wire tally, op string, done func(tally) int, ops []string) (problems []string) {
	check := func(what string, got, want float64, edge int) {
		if math.Abs(got-want) > 0.01*want+float64(edge)+1 {
			problems = append(problems, fmt.Sprintf("%s: %.1f, on the wire %.0f (%d at the edges)", what, got, want, edge))
		}
	}
	total := func(op ...string) (n float64) {
		for _, op := range op {
			n += float64(cell.Done[op])
		}
		return n
	}
	if done != nil {
		check(op+" done", total(op), float64(done(wire)), 2)
	}
	check("throughput", cell.Throughput*cell.ElapsedS, total(cell.Counted...), 0)
	cost := map[string]float64{} // totals
	per := total(cell.Measures[0])
	if cell.CostPer != "" {
		per = total(ops...)
	}
	for _, c := range cell.Costs {
		cost[c.Of] = c.Measured * per
	}
	reads := []int32{opExists, opGetData, opSync, opChildren2}
	keeping := []int32{opPing, opHandshake, opAuth, opClose}
	watches := []int32{opRemove, opSetWatch, opSetWatch2, opAddWatch}
	edges := func(ops ...int32) (n int) {
		for _, op := range ops {
			n += wire.edge[op]
		}
		return n
	}
	lists := edges(opChildren2)
	share := 0.0
	if wire.ok[opChildren2] > 0 {
		share = float64(lists) / float64(wire.ok[opChildren2])
	}
	check("writes", cost["writes"], wire.of(writeOps...), edges(writeOps...))
	check("reads", cost["reads"], wire.of(reads...), edges(reads...))
	check("watch requests", cost["watches"], wire.of(watches...), edges(watches...))
	check("requests of the session", cost["session"], wire.of(keeping...), edges(keeping...)+1)
	check("lists", cost["lists"], float64(wire.ok[opChildren2]), lists)
	check("names", cost["names"], float64(wire.names), int(share*float64(wire.names))+1)
	check("bytes", cost["bytes"], float64(wire.namesBytes+wire.data), int(share*float64(wire.namesBytes))+edges(opGetData)*100+100)
	check("events", cost["events"], float64(wire.events), 2)
	if f := cell.Fanout; f != nil {
		released, acquired := total("release", "read-release"), total("acquire", "read-acquire")
		check("events per release", f.EventsPerRelease*released, float64(wire.events), 2)
		check("lists per acquire", f.ListsPerAcquire*acquired, float64(wire.ok[opChildren2]), lists)
		check("names per acquire", f.ChildrenNamesPerAcquire*acquired, float64(wire.names), int(share*float64(wire.names))+1)
		check("bytes per acquire", f.ChildrenBytesPerAcquire*acquired, float64(wire.namesBytes), int(share*float64(wire.namesBytes))+1)
		check("failed writes", cell.Cost["failed_writes"]*acquired, float64(wire.failed), edges(writeOps...))
		for key, ops := range map[string][]int32{"create": {opCreate, opCreate2}, "delete": {opDelete}, "list": {opChildren2}, "exists": {opExists}, "get": {opGetData},
			"remove-watches": {opRemove}, "add-watch": {opAddWatch}, "ping": {opPing}} {
			check(key, cell.Cost[key]*acquired, wire.of(ops...), edges(ops...))
		}
		parts := f.EventsByRelease + f.EventsByArrival + f.EventsByBoth + f.EventsStale
		check("events by cause", parts*released, float64(wire.events), 2)
	}
	// The mean of a service includes operations that were not served, which have no phases.
	total = func(clocks ...string) (ms float64) {
		for _, key := range clocks {
			l, lost := cell.Latency[key+".service"], cell.Latency[key+".service.unserved"]
			ms += l.Mean*float64(l.Count+l.Unserved) - lost.Mean*float64(lost.Count)
		}
		return ms
	}
	phases, service := total("enqueue", "list", "wait", "delivery", "re-check"), total("acquire", "read-acquire", "campaign")
	if phases > 0 {
		check("the sum of the phases, ms", phases, service, 0)
	}
	return problems
}

// opsPer returns the operations that the costs of a cell are divided by, if its workload says that it is not its first operation.
func opsPer(cell results.Cell, p profiles.Profile) (names []string) {
	for _, k := range setup().Workloads {
		if v, has := k.Find(cell.Variant); has && k.Name == cell.Workload {
			w, err := v.New(workloads.Load{Dir: "/cell", Sessions: cell.Sessions, Values: p.Values()}, nil)
			if of, says := w.(workloads.CostedPer); err == nil && says {
				ops, _ := of.Per()
				for _, op := range ops {
					names = append(names, op.String())
				}
			}
		}
	}
	return names
}

// Each engine distinguishes the passwords of sessions.
func TestPasswordsAreToldApart(t *testing.T) {
	t.Parallel()
	one := servers.Get(t, 1)
	for _, engine := range setup().Engines {
		seen := map[uint64]bool{}
		for range 3 {
			s, err := engine.Dial(t.Context(), one.Addresses(), 6*time.Second, 1)
			if err != nil {
				t.Fatal(err)
			}
			print, known := zk.Fingerprint(zk.Within(s, "/a"))
			if err := s.Close(); err != nil || !known || seen[print] {
				t.Errorf("%s: fingerprint %x, known %v, seen before %v, Close = %v", engine.Name, print, known, seen[print], err)
			}
			seen[print] = true
		}
	}
}

// The traffic that a session reports is what was on its wire, over all its connections.
func TestTrafficIsThatOfTheWire(t *testing.T) {
	t.Parallel()
	one := servers.Get(t, 1)
	for _, engine := range setup().Engines {
		tap, addresses := startCapture(t, one.Addresses())
		s, err := engine.Dial(t.Context(), addresses, 6*time.Second, 1)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Create(t.Context(), "/traffic-"+engine.Name, make([]byte, 20_000), zk.Ephemeral); err != nil {
			t.Fatal(err)
		}
		if _, _, _, err := s.GetW(t.Context(), "/traffic-"+engine.Name); err != nil {
			t.Fatal(err)
		}
		if err := s.Delete(t.Context(), "/traffic-"+engine.Name, zk.AnyVersion); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		output, known := zk.TrafficOf(zk.Within(s, "/a"))
		if want := (zk.Traffic{Sent: tap.sent.Load(), Received: tap.received.Load()}); !known || output != want || output.Received < 20_000 {
			t.Errorf("%s: %+v, %v; on the wire %+v", engine.Name, output, known, want)
		}
	}
}
