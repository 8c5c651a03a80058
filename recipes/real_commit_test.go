package recipes_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/proxy"
	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/commit"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	"github.com/zkbench/zkbench/recipes/recipestest"
	"github.com/zkbench/zkbench/zk"
)

func TestCommitsOnRealServers(t *testing.T) {
	addresses := servers.Get(t, 3).Addresses()
	for engine, open := range engines {
		for _, v := range commit.Variants() {
			t.Run(engine+"/"+v.Name, func(t *testing.T) {
				recipestest.CommitOn(t, v, dialer(addresses, open), fresh()+"/"+v.Name+"-"+engine, 100)
			})
		}
	}
}

// The proxy cuts a site's connection after its request was applied and before the reply.
func TestLostRepliesOfACommitOnRealServers(t *testing.T) {
	p, err := proxy.Start(t.Context(), proxy.Config{Upstreams: servers.Get(t, 3).Addresses()})
	bubble.OK(t, "Start()", err)
	t.Cleanup(func() { p.Close() })
	for engine, open := range engines {
		for _, v := range commit.Variants() {
			for _, ops := range [][]jute.Op{{jute.OpCreate, jute.OpCreate2}, {jute.OpMulti}, {jute.OpSetData}} {
				t.Run(fmt.Sprintf("%s/%s/%v", engine, v.Name, ops[0]), func(t *testing.T) {
					cut := p.Add(proxy.Rule{On: proxy.Reply, Ops: ops, Times: 1, Do: proxy.Cut})
					defer cut.Remove()
					recipestest.CommitOn(t, v, dialer(p.Addresses(), open), fresh()+fmt.Sprintf("/cut-%s-%s-%v", v.Name, engine, ops[0]), 1)
					if cut.Injected() != 1 {
						t.Errorf("%d replies were lost, want 1", cut.Injected())
					}
				})
			}
		}
	}
}

// Sites die on real servers: the coordinator after each number of votes, another site before or after its vote. The others must all decide the
// same, and so must the dead site when it comes back.
func TestSitesOfACommitDieOnRealServers(t *testing.T) {
	dial := dialer(servers.Get(t, 3).Addresses(), engines["native"])
	const n = 3
	for _, v := range commit.Variants() {
		for _, tt := range []struct {
			dies  int
			votes []int // sites that vote before the death; the others vote later
		}{
			{0, nil}, {0, []int{0}}, {0, []int{0, 1}}, {0, []int{0, 1, 2}}, {1, []int{0, 2}}, {1, []int{0, 1, 2}},
		} {
			t.Run(fmt.Sprintf("%s/site %d after %d votes", v.Name, tt.dies+1, len(tt.votes)), func(t *testing.T) {
				t.Parallel() // most of the time they wait for the deadline
				path := fresh() + fmt.Sprintf("/deaths-%s-%d-%d", v.Name, tt.dies, len(tt.votes))
				want := slices.Contains(tt.votes, tt.dies) && (v.Name == "flat" || tt.dies != 0)
				deadline := 3 * time.Second
				if want { // nobody waits for it
					deadline = time.Minute
				}
				site := func(s zk.Session, i int) recipes.Commit {
					return v.New(s, path, recipes.Options{Members: n, Site: i + 1, Deadline: deadline})
				}
				sessions, sites := make([]zk.Session, n), make([]recipes.Commit, n)
				for i := range n {
					sessions[i] = dial(t)
					sites[i] = site(sessions[i], i)
					if i == 0 {
						bubble.OK(t, "Propose()", sites[i].Propose(t.Context(), nil))
						continue
					}
					_, err := sites[i].Learn(t.Context())
					bubble.OK(t, "Learn()", err)
				}
				for _, i := range tt.votes {
					bubble.OK(t, "Vote()", sites[i].Vote(t.Context(), true))
				}
				bubble.OK(t, "Close()", sessions[tt.dies].Close())
				var all sync.WaitGroup
				for i, c := range sites {
					if i == tt.dies {
						continue
					}
					all.Go(func() {
						if !slices.Contains(tt.votes, i) {
							if err := c.Vote(t.Context(), true); err != nil {
								t.Errorf("Vote() of site %d = %v", i+1, err)
							}
						}
						if got, err := c.Decide(t.Context()); err != nil || got != want {
							t.Errorf("site %d: Decide() = %v, %v, want %v", i+1, got, err, want)
						}
					})
				}
				all.Wait()
				sites[tt.dies] = site(dial(t), tt.dies)
				_, err := sites[tt.dies].Learn(t.Context())
				bubble.OK(t, "Learn() of the returning site", err)
				if got, err := sites[tt.dies].Decide(t.Context()); err != nil || got != want {
					t.Errorf("the returning site: Decide() = %v, %v, want %v", got, err, want)
				}
				for _, c := range sites {
					bubble.OK(t, "Finish()", c.Finish(t.Context()))
				}
				if _, there, err := dial(t).Exists(t.Context(), path); err != nil || there {
					t.Errorf("Exists() = %v, %v, want nothing left", there, err)
				}
			})
		}
	}
}
