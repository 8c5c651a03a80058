package command

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/bench"
	"github.com/zkbench/zkbench/bench/load"
	"github.com/zkbench/zkbench/bench/target"
	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/local"
	"github.com/zkbench/zkbench/internal/tier"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/workloads"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// versioned is an ensemble in memory of a version.
type versioned struct {
	memory
	version string
}

func newVersioned(version string, hook zktest.Hook) *versioned {
	return &versioned{memory{zktest.New(zktest.Config{Version: version, OpLatency: 2 * time.Millisecond, EventLatency: time.Millisecond, Hook: hook})}, version}
}

func (v *versioned) Powers(context.Context) zk.Powers { return zk.PowersOf(v.version) }

// runOn carries out a profile on an ensemble in memory.
func runOn(t *testing.T, p profiles.Profile, e *versioned) (*results.Run, error) {
	t.Helper()
	s := setup()
	s.Engines = []target.Engine{{Name: "memory", Persistent: true, Open: func(_ context.Context, d target.Dialing) (zk.Session, error) {
		return e.DialTimeout(d.Timeout), nil
	}}}
	p.Engine = "memory"
	return runWith(t, s, p, e)
}

func runWith(t *testing.T, s bench.Setup, p profiles.Profile, e ensemble.Ensemble) (*results.Run, error) {
	t.Helper()
	dir, err := results.Create(filepath.Join(t.TempDir(), "run"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	return bench.Run(t.Context(), bench.Config{Setup: s, Profile: p, Ensemble: e, Name: "versions" + rand.Text(), Out: dir, Progress: func(load.Update) {}})
}

// On servers of 3.4 each workload runs with the variants that need nothing newer; the others are refused with the version, what is missing and what works
// instead, before any request.
func TestEveryWorkloadOnServersOf34(t *testing.T) {
	refused := 0
	for _, kind := range described() {
		p := set(t, smallest(t, kind.Name, 6), "session_timeout=4s", "repetitions=1")
		if kind.Shape == profiles.Timed {
			p = set(t, p, "warmup=200ms", "duration=1s", "drain=2s")
		}
		p = set(t, p, fewer(p, 5)...).Points()[0]
		for _, v := range kind.Variants {
			if v.Name != p.Variants[0] && len(v.Needs()) == 0 {
				continue
			}
			p.Variants = []string{v.Name}
			t.Run(kind.Name+" "+v.Name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					sent := make(chan struct{}, 1)
					e := newVersioned("3.4.13", func(zktest.Op) zktest.Action {
						select {
						case sent <- struct{}{}:
						default:
						}
						return zktest.Action{}
					})
					doc, err := runOn(t, p, e)
					if len(v.Needs()) > 0 {
						refused++
						want := "variant " + v.Name + " needs persistent watches (addWatch), which ZooKeeper 3.4.13 does not have (use servers of 3.6.0 or newer, or use another variant, such as "
						if !errors.Is(err, bench.ErrProfile) || !strings.Contains(err.Error(), want) || len(sent) > 0 {
							t.Errorf("Run() = %v, want %q and no request (%d)", err, want, len(sent))
						}
						return
					}
					if err != nil {
						t.Fatal(err)
					}
					noneViolated(t, doc)
					for _, s := range e.Sessions() {
						s.Close()
					}
				})
			})
		}
	}
	if refused == 0 {
		t.Error("no variant needs anything newer than 3.4")
	}
}

// On several versions a run leaves out what some of them cannot do, and says so; what none can do is refused.
func TestAListOfVersionsLeavesOut(t *testing.T) {
	for _, c := range []struct {
		versions, variants string
		cells              []string // ZooKeeper's version and the variant
		notes              int
	}{
		{"[3.4.13,3.9.3]", "[predecessor,persistent]", []string{"3.4.13 predecessor", "3.9.3 persistent", "3.9.3 predecessor"}, 1},
		{"[3.9.3,3.4.13]", "[persistent]", []string{"3.9.3 persistent"}, 1},
		{"[3.4.13,3.9.3]", "[persistent]", []string{"3.9.3 persistent"}, 1},
		{"[3.4.13,3.5.10]", "[persistent]", nil, 0},
	} {
		t.Run(c.versions+" "+c.variants, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := set(t, smallest(t, "lock", 6), "session_timeout=4s", "repetitions=1", "warmup=200ms", "duration=1s", "drain=2s", "sessions=[5]", "zookeeper="+c.versions, "variants="+c.variants)
				p.Engine = "memory"
				all := map[string]*versioned{}
				for _, v := range p.ZooKeeper {
					all[v] = newVersioned(v, nil)
				}
				now := all[p.ZooKeeper[0]]
				s := setup()
				s.Engines = []target.Engine{{Name: "memory", Persistent: true, Open: func(_ context.Context, d target.Dialing) (zk.Session, error) {
					return now.DialTimeout(d.Timeout), nil
				}}}
				dir, err := results.Create(filepath.Join(t.TempDir(), "run"), nil)
				if err != nil {
					t.Fatal(err)
				}
				defer dir.Close()
				doc, err := bench.Run(t.Context(), bench.Config{Setup: s, Profile: p, Ensemble: now, Name: "leaves", Out: dir, Progress: func(load.Update) {},
					Next: func(_ context.Context, p profiles.Profile) (ensemble.Ensemble, error) {
						now = all[p.ZooKeeperOf()]
						return now, nil
					}})
				for _, e := range all {
					for _, s := range e.Sessions() {
						s.Close()
					}
				}
				if c.cells == nil {
					if early := s.CheckVersions(p); !errors.Is(err, bench.ErrProfile) || !errors.Is(early, bench.ErrProfile) {
						t.Errorf("Run() = %v, CheckVersions() = %v, want two refusals", err, early)
					}
					return
				}
				if early := s.CheckVersions(p); err != nil || early != nil || doc.Partial || doc.Exit.Code != 0 {
					t.Fatalf("Run() = %v, CheckVersions() = %v, exit %+v, partial %v", err, early, doc.Exit, doc.Partial)
				}
				var cells []string
				for _, cell := range doc.Cells {
					cells = append(cells, p.ZooKeeper[cell.Environment]+" "+cell.Variant)
				}
				slices.Sort(cells)
				notes := 0
				for _, note := range doc.Notes {
					if strings.HasPrefix(note, "left out: variant persistent needs persistent watches (addWatch), which ZooKeeper 3.4.13 does not have (use servers of 3.6.0 or newer") {
						notes++
					}
				}
				if !slices.Equal(cells, c.cells) || notes != c.notes {
					t.Errorf("cells %q, notes %q; want cells %q and %d notes", cells, doc.Notes, c.cells, c.notes)
				}
			})
		})
	}
}

// A driver whose library sends requests that the servers do not know is refused before any load.
func TestADriverOnServersThatAreTooOld(t *testing.T) {
	script := `while read -r line; do
	id=$(echo "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
	echo "{\"id\":$id,\"protocol\":1,\"name\":\"new\",\"store\":\"zookeeper\",\"can\":[\"lock\"],\"needs\":[\"create2\"],\"now\":$(date +%s%N)}"
done`
	file := filepath.Join(t.TempDir(), "driver")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	p := set(t, smallest(t, "lock", 6), "session_timeout=4s", "sessions=[5]", `variants=["driver:`+file+`"]`)
	_, err := runOn(t, p, newVersioned("3.4.13", nil))
	want := "variant driver:" + file + " needs create2, which ZooKeeper 3.4.13 does not have (use servers of 3.5.0 or newer, or use another variant, such as "
	if !errors.Is(err, bench.ErrProfile) || !strings.Contains(err.Error(), want) {
		t.Errorf("Run() = %v, want %q", err, want)
	}
}

// Servers that do not know a kind of request, cannot read it or close the connection on it: a load, a replay and every other command ends with few requests,
// from the first on.
func TestServersThatKnowNothing(t *testing.T) {
	for _, kind := range refusedKinds {
		for _, code := range []int32{-6, -5, closes} {
			if slices.Contains([]zk.Kind{zk.KindSetWatches, zk.KindAuth}, kind) {
				continue
			}
			r := refusal{kind, code, ""}
			t.Run(r.String(), func(t *testing.T) {
				t.Parallel()
				p := set(t, smallest(t, "lock", 6), "session_timeout=4s", "repetitions=1", "warmup=200ms", "duration=1s", "drain=1s").Points()[0]
				traced := replayProfile(t, clientsOfALock(5))
				synctest.Test(t, func(t *testing.T) { runRefused(t, p, r) })
				synctest.Test(t, func(t *testing.T) { runRefused(t, traced, r) })
				for name, command := range commandsRefused {
					if name == "calibrate" || name == "published" && code == closes { // it also measures the machine, in real time; published recipes have loops without a pause
						continue
					}
					t.Run(name, func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) {
							m := newFlooded(r, 20_000)
							a, said := m.app()
							m.refuse()
							began := time.Now()
							if err := command(t.Context(), m, a, m.refuse); err != nil {
								said.WriteString(err.Error())
							}
							if took := time.Since(began); m.sent > m.most || took > 2*time.Minute {
								t.Errorf("%v: %d requests in %v\n%s", r, m.sent, took, said)
							}
							for _, s := range m.Sessions() {
								s.Close()
							}
						})
					})
				}
			})
		}
	}
}

// One run of each workload on the servers of each version, with what a version lacks refused by its message.
func TestEveryWorkloadOnEveryVersion(t *testing.T) {
	tier.Long(t, "runs each workload on servers of three versions; TestEveryWorkloadOnServersOf34")
	t.Parallel()
	for _, version := range ensembletest.Versions() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			e := ensembletest.Start(t, 3, ensembletest.OfVersion(t, version), func(cfg *local.Config) { cfg.Tick = 500 * time.Millisecond })
			on := zk.PowersOf(version)
			for _, kind := range described() {
				p := set(t, smallest(t, kind.Name, 6), "session_timeout=4s", "repetitions=1")
				if kind.Shape == profiles.Timed {
					p = set(t, p, "warmup=200ms", "duration=1s", "drain=5s")
				}
				p = set(t, p, fewer(p, 5)...).Points()[0]
				for _, engine := range []string{"native", "go-zookeeper"} {
					t.Run(kind.Name+" "+engine, func(t *testing.T) {
						p := p
						p.Engine = engine
						runReally(t, p, e, on)
					})
				}
				i := slices.IndexFunc(kind.Variants, func(v workloads.Variant) bool { return len(v.Needs()) > 0 })
				if i < 0 {
					continue
				}
				p.Variants = []string{kind.Variants[i].Name}
				t.Run(kind.Name+" "+p.Variants[0], func(t *testing.T) {
					if on.Has(zk.PowerAddWatch) {
						runReally(t, p, e, on)
					} else if _, err := runWith(t, setup(), p, e); !errors.Is(err, bench.ErrProfile) ||
						!strings.Contains(err.Error(), "needs persistent watches (addWatch), which ZooKeeper "+version+" does not have") {
						t.Errorf("Run() = %v", err)
					}
				})
			}
		})
	}
}

// noneViolated asserts that no check of a run is violated.
func noneViolated(t *testing.T, doc *results.Run) {
	t.Helper()
	for _, c := range doc.Cells {
		for _, k := range c.Checks {
			if k.Verdict == check.Violated.String() {
				t.Errorf("%s is violated: %s", k.Name, k.Detail)
			}
		}
	}
}

// runReally carries out a profile on real servers, and checks its verdicts and that figures that the servers do not report are not 0.
func runReally(t *testing.T, p profiles.Profile, e ensemble.Ensemble, on zk.Powers) {
	t.Helper()
	doc, err := runWith(t, setup(), p, e)
	if err != nil {
		t.Fatal(err)
	}
	noneViolated(t, doc)
	for _, c := range doc.Cells {
		if n := c.Errors["failed"]; n > 0 {
			t.Errorf("%d operations failed", n)
		}
		for _, figure := range []string{"requests", "watch_events", "throttled", "fsyncs", "jvm_pauses", "snapshots"} {
			if _, known := c.Server.Get(figure); known && !on.Has(zk.PowerMetrics) {
				t.Errorf("the figure %s is known on servers that do not report it", figure)
			}
		}
	}
}
