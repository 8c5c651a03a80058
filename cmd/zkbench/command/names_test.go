package command

import (
	"context"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/bench"
	"github.com/zkbench/zkbench/bench/root"
	"github.com/zkbench/zkbench/bench/target"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/workloads"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// Znodes of zkbench are distinguished from foreign ones by their names, so the removal must know the names that every variant of every workload
// uses, with each of its options, including the published and the broken variants. The packages of acts check the names of their trials. The
// same runs check the cost of a success against its minimum. The short tier runs each variant, without options and without the broken ones.
func TestEveryNameBelowARootIsKnown(t *testing.T) {
	t.Parallel()
	for _, kind := range brokenSetup().Workloads {
		for _, v := range kind.Variants {
			broken := strings.HasPrefix(v.Name, "broken-")
			if broken && (kind.Shape == profiles.Finite || testing.Short()) {
				continue // may wait for an hour in the bubble; it uses the names of the correct variant
			}
			var p profiles.Profile
			switch {
			case kind.Name == workloads.ReplayName: // it has no built-in profile
				p = replayProfile(t, clientsOfALock(20))
			default:
				if p = set(t, smallest(t, kind.Name, 6), "variants=["+v.Name+"]", "session_timeout=4s"); kind.Shape == profiles.Timed {
					p = set(t, p, "warmup=200ms", "duration=1s", "drain=3s")
				}
			}
			p = set(t, p, fewer(p, 5)...)
			if broken {
				p = p.Points()[0]
			}
			declared := kind.AllZnodes(v)
			names := root.NewNames(declared.Persistent, declared.Ephemeral)
			t.Run(kind.Name+"/"+v.Name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					doc := inMemory(t, p, names)
					if !broken && !v.Unsafe {
						hasItsLeast(t, v, p, doc.Cells)
					}
				})
			})
			for _, o := range v.Options {
				if testing.Short() {
					break
				}
				for _, value := range o.Values[1:] {
					if !broken {
						t.Run(kind.Name+"/"+v.Name+" with "+o.Name+"="+value, func(t *testing.T) {
							t.Parallel()
							synctest.Test(t, func(t *testing.T) { inMemory(t, set(t, p.Points()[0], "options."+o.Name+"="+value), names) })
						})
					}
				}
			}
		}
	}
}

// hasItsLeast checks the cost of a success against the minimum that the workload claims, which no cost may undercut, and which must say so if each
// success has listed children.
func hasItsLeast(t *testing.T, v workloads.Variant, p profiles.Profile, cells []results.Cell) {
	t.Helper()
	w, err := v.New(workloads.Load{Dir: "/cell", Sessions: p.Sessions[0], Values: p.Points()[0].Values()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, claims := w.(workloads.Frugal); !claims {
		return
	}
	lists := math.Inf(1)
	for _, cell := range cells {
		for _, c := range cell.Costs {
			if c.Measured < 0.9*c.Least { // in-flight work at the marks
				t.Errorf("%s: %.2f %s for each %s, and never fewer than %.2f by Least", v.Name, c.Measured, c.Of, cell.CostPer, c.Least)
			}
			if c.Of == string(workloads.Lists) && c.Least == 0 {
				lists = min(lists, c.Measured)
			}
		}
	}
	if lists >= 1 && !math.IsInf(lists, 1) {
		t.Errorf("%s: %.2f lists for each success at least, and Least knows of none", v.Name, lists)
	}
}

// No workload may declare so many names that a removal takes what others have put next to its znodes.
func TestNamesOfOthersAreForeign(t *testing.T) {
	names := setup().Names()
	parents := []string{"cell-1", "cell-1/semaphore-0/locks", "cell-1/semaphore-0/leases", "cell-1/queue-0/taken", "cell-1/queue-0/entries", "cell-1/counter-0/numbers",
		"cell-1/counter-0/numbers-lock", "cell-1/tree-0/n0", "cell-1/double-barrier-0/0000000007", "cell-1/commit-0/0000000007", "cell-1/resource-0"}
	for _, k := range setup().Workloads {
		parents = append(parents, "cell-1/"+k.Objects+"-0")
	}
	for _, parent := range parents {
		if !names.AllOurs(strings.Split(parent, "/")) {
			t.Errorf("%s is nobody's", parent)
		}
		for _, name := range []string{"config", "data", "orders", "backup-1", "my-lock", "leader", "lock.bak", "z", "-1", "OBJECT", "app-0123456789abcdef"} {
			if names.AllOurs(strings.Split(parent+"/"+name, "/")) {
				t.Errorf("%s/%s is taken for zkbench's", parent, name)
			}
		}
	}
}

// inMemory carries out a profile on an ensemble in memory, and checks the znodes that it creates against the names.
func inMemory(t *testing.T, p profiles.Profile, names root.Names) results.Run {
	return inMemoryWith(t, p, names, func(*zktest.Ensemble) {})
}

// inMemoryWith is inMemory with a function that is called whenever a session is opened.
func inMemoryWith(t *testing.T, p profiles.Profile, names root.Names, opening func(*zktest.Ensemble)) results.Run {
	const at = "/zkbench/names"
	var mu sync.Mutex
	strange := map[string]bool{}
	ens := zktest.New(zktest.Config{OpLatency: 2 * time.Millisecond, EventLatency: time.Millisecond, Created: func(path string) {
		if rest, below := strings.CutPrefix(path, at+"/"); below && !names.AllOurs(strings.Split(rest, "/")) {
			mu.Lock()
			defer mu.Unlock()
			strange[path] = true
		}
	}})
	dir, err := results.Create(t.TempDir()+"/run", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	s := brokenSetup()
	p.Engine = "memory"
	s.Engines = []target.Engine{{Name: "memory", Persistent: true, Open: func(_ context.Context, d target.Dialing) (zk.Session, error) {
		opening(ens)
		return ens.DialTimeout(d.Timeout), nil
	}}}
	doc, err := bench.Run(t.Context(), bench.Config{Setup: s, Profile: p, Ensemble: memory{ens}, Name: "names", Out: dir, Stop: make(chan struct{})})
	if err != nil || doc.LeftBehind != "" {
		t.Errorf("Run = %v, left behind: %s", err, doc.LeftBehind)
	}
	for path := range strange {
		t.Errorf("%s is made, and no Znodes of the workload or the variant declare it: its removal would take it for somebody else's", path)
	}
	if tree := ens.Tree(); len(tree) > 0 {
		t.Errorf("left: %v", tree)
	}
	return *doc
}

// memory provides servers in memory as the ensemble of a run.
type memory struct{ *zktest.Ensemble }

func (memory) Addresses() []string { return []string{"memory:1"} }
func (memory) Servers() int        { return 1 }
func (memory) Close() error        { return nil }
func (memory) Describe() ensemble.Description {
	return ensemble.Description{Kind: "memory", Version: "3.9.0", Servers: 1, Fsync: "off"}
}
func (memory) Preflight(context.Context, ensemble.Need) []ensemble.Problem { return nil }
func (memory) Stats(context.Context) []ensemble.ServerStats {
	return []ensemble.ServerStats{{Server: 1, Address: "memory:1", Stats: ensemble.Stats{State: "standalone"}}}
}
