package recipes_test

import (
	"errors"
	"testing"

	"github.com/zkbench/zkbench/ensemble/proxy"
	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/election"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	"github.com/zkbench/zkbench/recipes/recipestest"
	"github.com/zkbench/zkbench/zk"
)

func TestElectionsOnRealServers(t *testing.T) {
	addresses := servers.Get(t, 3).Addresses()
	for engine, open := range engines {
		for _, v := range election.Variants() {
			t.Run(engine+"/"+v.Name, func(t *testing.T) {
				recipestest.ElectionOn(t, v, dialer(addresses, open), fresh()+"/election-"+engine+"-"+v.Name)
			})
		}
	}
}

// campaigning is a running campaign.
type campaigning struct {
	election recipes.Election
	term     recipes.Term
	done     chan error
}

func campaign(t *testing.T, v recipes.Variant[recipes.Election], s zk.Session, dir string) *campaigning {
	c := &campaigning{election: v.New(s, dir, recipes.Options{}), done: make(chan error, 1)}
	go func() {
		var err error
		c.term, err = c.election.Campaign(t.Context())
		c.done <- err
	}()
	return c
}

// The effects of faults on a leader and the candidate behind it, with a proxy between them and the servers.
func TestFaultsOfAnElectionOnRealServers(t *testing.T) {
	p, err := proxy.Start(t.Context(), proxy.Config{Upstreams: servers.Get(t, 3).Addresses()})
	bubble.OK(t, "Start()", err)
	t.Cleanup(func() { p.Close() })
	for engine, open := range engines {
		dial := dialer(p.Addresses(), open)
		for _, v := range election.Variants() {
			dir := fresh() + "/election-faults-" + engine + "-" + v.Name
			t.Run(engine+"/"+v.Name+"/expiry", func(t *testing.T) {
				s := dial(t)
				leader := campaign(t, v, s, dir+"-expiry")
				bubble.OK(t, "Campaign()", awaited(t, "Campaign()", leader.done))
				next := campaign(t, v, dial(t), dir+"-expiry")
				bubble.OK(t, "Expire()", p.Expire(t.Context(), s.ID()))
				bubble.OK(t, "Campaign() of the next", awaited(t, "Campaign() of the next", next.done))
				awaited(t, "Suspended", leader.term.Suspended)
				awaited(t, "Lost", leader.term.Lost)
				if next.term.Token <= leader.term.Token {
					t.Errorf("term %d after %d", next.term.Token, leader.term.Token)
				}
				if err := leader.election.Resign(t.Context()); !errors.Is(err, recipes.ErrTermLost) {
					t.Errorf("Resign() after the expiry = %v, want ErrTermLost", err)
				}
				if _, err := leader.election.Campaign(t.Context()); !errors.Is(err, zk.ErrSessionExpired) {
					t.Errorf("Campaign() after the expiry = %v, want ErrSessionExpired", err)
				}
				bubble.OK(t, "Resign()", next.election.Resign(t.Context()))
			})
			t.Run(engine+"/"+v.Name+"/lost replies", func(t *testing.T) {
				s, other := dial(t), dial(t)
				cut := p.Add(proxy.Rule{On: proxy.Reply, Session: s.ID(), Ops: []jute.Op{jute.OpCreate, jute.OpCreate2}, Times: 1, Do: proxy.Cut})
				defer cut.Remove()
				leader := campaign(t, v, s, dir+"-lost")
				bubble.OK(t, "Campaign() with a lost reply", awaited(t, "Campaign() with a lost reply", leader.done))
				bubble.OK(t, "CatchUp()", zk.CatchUp(t.Context(), other, dir+"-lost"))
				if names, _, err := other.Children(t.Context(), dir+"-lost"); err != nil || len(names) != 1 || cut.Injected() != 1 {
					t.Errorf("candidates %v, %v after %d lost replies, want one", names, err, cut.Injected())
				}
				next := campaign(t, v, other, dir+"-lost")
				del := p.Add(proxy.Rule{On: proxy.Reply, Session: s.ID(), Ops: []jute.Op{jute.OpDelete}, Times: 1, Do: proxy.Cut})
				defer del.Remove()
				if err := leader.election.Resign(t.Context()); err != nil && !errors.Is(err, recipes.ErrTermLost) {
					t.Errorf("Resign() with a lost reply = %v", err)
				}
				bubble.OK(t, "Campaign() of the next", awaited(t, "Campaign() of the next", next.done))
				bubble.OK(t, "Resign()", next.election.Resign(t.Context()))
			})
			t.Run(engine+"/"+v.Name+"/suspension", func(t *testing.T) {
				s := dial(t)
				leader := campaign(t, v, s, dir+"-suspended")
				bubble.OK(t, "Campaign()", awaited(t, "Campaign()", leader.done))
				before := leader.term
				p.Cut(s.ID())
				awaited(t, "Suspended", before.Suspended)
				after, err := leader.election.Campaign(t.Context())
				bubble.OK(t, "Campaign() after the cut", err)
				if same := after.Token == before.Token; same != (v.Name != "selector") {
					t.Errorf("term %d after %d", after.Token, before.Token)
				}
				bubble.OK(t, "Resign()", leader.election.Resign(t.Context()))
			})
		}
	}
}
