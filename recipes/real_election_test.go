package recipes_test

import (
	"errors"
	"testing"

	"github.com/zkbench/zkbench/ensemble/proxy"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

func TestElectionsOnRealServers(t *testing.T) {
	addresses := servers.Get(t, 3).Addresses()
	for engine, open := range engines {
		for _, v := range recipes.Elections {
			t.Run(engine+"/"+v.Name, func(t *testing.T) {
				electionSuite(t, v, dialer(addresses, open), "/real/election-"+engine+"-"+v.Name)
			})
		}
	}
}

// campaigning is a campaign in a goroutine of its own.
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

// What a fault does to a leader and to the candidate behind it, with the proxy between them and the servers.
func TestFaultsOfAnElectionOnRealServers(t *testing.T) {
	p, err := proxy.Start(t.Context(), proxy.Config{Upstreams: servers.Get(t, 3).Addresses()})
	ok(t, "Start()", err)
	t.Cleanup(func() { p.Close() })
	for engine, open := range engines {
		dial := dialer(p.Addresses(), open)
		for _, v := range recipes.Elections {
			dir := "/real/election-faults-" + engine + "-" + v.Name
			t.Run(engine+"/"+v.Name+"/expiry", func(t *testing.T) {
				s := dial(t)
				leader := campaign(t, v, s, dir+"-expiry")
				ok(t, "Campaign()", <-leader.done)
				next := campaign(t, v, dial(t), dir+"-expiry")
				ok(t, "Expire()", p.Expire(t.Context(), s.ID()))
				ok(t, "Campaign() of the next", <-next.done)
				<-leader.term.Suspended
				<-leader.term.Lost
				if next.term.Token <= leader.term.Token {
					t.Errorf("term %d after %d", next.term.Token, leader.term.Token)
				}
				if err := leader.election.Resign(t.Context()); !errors.Is(err, recipes.ErrTermLost) {
					t.Errorf("Resign() of the expired one = %v, want ErrTermLost", err)
				}
				if _, err := leader.election.Campaign(t.Context()); !errors.Is(err, zk.ErrSessionExpired) {
					t.Errorf("Campaign() of the expired one = %v, want ErrSessionExpired", err)
				}
				ok(t, "Resign()", next.election.Resign(t.Context()))
			})
			t.Run(engine+"/"+v.Name+"/lost replies", func(t *testing.T) {
				s, other := dial(t), dial(t)
				cut := p.Add(proxy.Rule{On: proxy.Reply, Session: s.ID(), Ops: []proxy.Op{proxy.Create, proxy.Create2}, Times: 1, Do: proxy.Cut})
				defer cut.Remove()
				leader := campaign(t, v, s, dir+"-lost")
				ok(t, "Campaign() with a lost reply", <-leader.done)
				if names, _, err := other.Children(t.Context(), dir+"-lost"); err != nil || len(names) != 1 || cut.Struck() != 1 {
					t.Errorf("candidates %v, %v after %d lost replies, want one", names, err, cut.Struck())
				}
				next := campaign(t, v, other, dir+"-lost")
				del := p.Add(proxy.Rule{On: proxy.Reply, Session: s.ID(), Ops: []proxy.Op{proxy.Delete}, Times: 1, Do: proxy.Cut})
				defer del.Remove()
				if err := leader.election.Resign(t.Context()); err != nil && !errors.Is(err, recipes.ErrTermLost) {
					t.Errorf("Resign() with a lost reply = %v", err)
				}
				ok(t, "Campaign() of the next", <-next.done)
				ok(t, "Resign()", next.election.Resign(t.Context()))
			})
			t.Run(engine+"/"+v.Name+"/suspension", func(t *testing.T) {
				s := dial(t)
				leader := campaign(t, v, s, dir+"-suspended")
				ok(t, "Campaign()", <-leader.done)
				before := leader.term
				p.Cut(s.ID())
				<-before.Suspended
				after, err := leader.election.Campaign(t.Context())
				ok(t, "Campaign() after the cut", err)
				if same := after.Token == before.Token; same != (v.Name != "selector") {
					t.Errorf("term %d after %d", after.Token, before.Token)
				}
				ok(t, "Resign()", leader.election.Resign(t.Context()))
			})
		}
	}
}
