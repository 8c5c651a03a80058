package command

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/bench"
	"github.com/zkbench/zkbench/bench/target"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// staleServer is a session on a server that lags and answers a sync at once.
type staleServer struct{ zk.Session }

func (staleServer) Sync(context.Context, string) error { return nil }

// forgetsWrite is a session whose servers acknowledge one write, of all sessions together, without making it.
type forgetsWrite struct {
	zk.Session
	writes *atomic.Int64
	lost   int64 // the number of the write
}

func (f forgetsWrite) Set(ctx context.Context, path string, data []byte, version int32) (zk.Stat, error) {
	if f.writes.Add(1) != f.lost {
		return f.Session.Set(ctx, path, data, version)
	}
	st, _, err := f.Session.Exists(ctx, path)
	st.Mzxid, st.Version = st.Mzxid+1, st.Version+1
	return st, err
}

// The built-in profile holds in a closed and in an open loop, with one request in flight and with many, and ends with exit code 4 if one write of many
// is lost, or if one session is on a server that is stale after a sync.
func TestOperationsFindALostWriteAndAStaleServer(t *testing.T) {
	t.Parallel()
	for _, loop := range [][]string{{"outstanding=1"}, {"outstanding=8"}, {"outstanding=8", "rate=200/s"}} {
		for _, tc := range []struct {
			plant string
			wrap  func(ens *zktest.Ensemble, n int64, writes *atomic.Int64, s *zktest.Session) zk.Session
			want  []string // the checks that are violated
		}{
			{"nothing", func(_ *zktest.Ensemble, _ int64, _ *atomic.Int64, s *zktest.Session) zk.Session { return s }, nil},
			{"a lost write", func(_ *zktest.Ensemble, _ int64, writes *atomic.Int64, s *zktest.Session) zk.Session {
				return forgetsWrite{s, writes, 40}
			},
				[]string{"write-order"}},
			{"a stale server", func(ens *zktest.Ensemble, n int64, _ *atomic.Int64, s *zktest.Session) zk.Session {
				if n != 5 {
					return s
				}
				ens.Lag(s, zktest.UntilSync)
				return staleServer{s}
			}, []string{"no-lost-writes"}},
		} {
			t.Run(loop[len(loop)-1]+", "+tc.plant, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					ens, sessions, writes := zktest.New(zktest.Config{OpLatency: 20 * time.Millisecond}), new(atomic.Int64), new(atomic.Int64)
					sets := slices.Concat([]string{"variants=[ephemeral]", "sessions=6", "depth=1", "fan_out=8", "batch=2", "session_timeout=4s",
						"mix={get: 65, set: 6, exists: 5, children: 5, multi: 2, sync: 14, create: 3}", "warmup=1s", "duration=4s"}, loop)
					doc := runInMemory(t, ens, "operations", sets, func(s *zktest.Session) zk.Session { return tc.wrap(ens, sessions.Add(1), writes, s) })
					var violated []string
					for _, k := range doc.Cells[0].Checks {
						if k.Verdict == "violated" {
							violated = append(violated, k.Name)
						} else if k.Verdict != "holds" {
							t.Errorf("%s: %s, %s", k.Name, k.Verdict, k.Detail)
						}
					}
					for _, name := range tc.want {
						if !slices.Contains(violated, name) || doc.Exit.Code != 4 {
							t.Errorf("violated: %v, exit %d: %s; want that %s is", violated, doc.Exit.Code, doc.Exit.Reason, name)
						}
					}
					if tc.want == nil && (len(violated) > 0 || doc.Exit.Code != 0) {
						t.Errorf("violated: %v, exit %d: %s", violated, doc.Exit.Code, doc.Exit.Reason)
					}
					if tree := ens.Tree(); len(tree) > 0 {
						t.Errorf("left: %v", tree)
					}
				})
			})
		}
	}
}

// runInMemory runs a built-in profile on servers in memory.
func runInMemory(t *testing.T, ens *zktest.Ensemble, name string, sets []string, wrap func(*zktest.Session) zk.Session) *results.Run {
	t.Helper()
	p, err := setup().Catalogue().Load(name)
	if err == nil {
		p, err = profiles.Set(p, append(sets, "engine=memory")...)
	}
	if err != nil {
		t.Fatal(err)
	}
	s := setup()
	s.Engines = []target.Engine{{Name: "memory", Persistent: true, Open: func(_ context.Context, d target.Dialing) (zk.Session, error) {
		return wrap(ens.DialTimeout(d.Timeout)), nil
	}}}
	dir, err := results.Create(t.TempDir()+"/run", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	doc, err := bench.Run(t.Context(), bench.Config{Setup: s, Profile: p, Ensemble: memory{ens}, Name: name, Out: dir, Stop: make(chan struct{})})
	if err != nil {
		t.Fatal(err)
	}
	contradictions, err := results.Validate(dir.Path())
	if err != nil || len(contradictions) > 0 {
		t.Errorf("the result contradicts itself: %v, %v", contradictions, err)
	}
	return doc
}
