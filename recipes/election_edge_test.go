package recipes_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

func TestADeadLeaderIsFollowedByTheNext(t *testing.T) {
	eachElection(t, func(t *testing.T, v recipes.Variant[recipes.Election], ens *zktest.Ensemble) {
		leader := stand(t.Context(), v, ens.Dial(), recipes.Options{})
		next := stand(t.Context(), v, ens.Dial(), recipes.Options{})
		ens.Expire(leader.session)
		next.leads(t, "after the leader's session has expired")
		if !isClosed(leader.term.Lost) || !isClosed(leader.term.Suspended) {
			t.Error("the dead leader is not told")
		}
		if err := leader.election.Resign(t.Context()); !errors.Is(err, recipes.ErrTermLost) {
			t.Errorf("Resign() of a lost term = %v, want ErrTermLost", err)
		}
		if _, err := leader.election.Campaign(t.Context()); !errors.Is(err, zk.ErrSessionExpired) {
			t.Errorf("Campaign() on an expired session = %v, want ErrSessionExpired", err)
		}
	})
}

// A crash leaves the znode for a session timeout, and nobody leads meanwhile.
func TestACrashedLeaderIsFollowedWhenItsSessionExpires(t *testing.T) {
	eachElection(t, func(t *testing.T, v recipes.Variant[recipes.Election], ens *zktest.Ensemble) {
		leader := stand(t.Context(), v, ens.Dial(), recipes.Options{})
		next := stand(t.Context(), v, ens.Dial(), recipes.Options{})
		crash := time.Now()
		ok(t, "Crash()", leader.session.Crash())
		next.stands(t, "right after the crash")
		<-next.done
		if got := time.Since(crash); got != leader.session.Timeout() {
			t.Errorf("the next one leads %v after the crash, want the session timeout", got)
		}
	})
}

func TestACandidateVanishesBetweenListAndWatch(t *testing.T) {
	eachElection(t, func(t *testing.T, v recipes.Variant[recipes.Election], ens *zktest.Ensemble) {
		for _, watch := range v.Watch {
			leader := stand(t.Context(), v, ens.Dial(), recipes.Options{})
			middle := stand(t.Context(), v, ens.Dial(), recipes.Options{})
			o := at(recipes.PauseListed, func() { middle.session.Close() })
			o.Watch = watch
			last := stand(t.Context(), v, ens.Dial(), o)
			last.stands(t, "behind the leader, watch="+watch)
			leader.resigns(t)
			last.leads(t, "after the leader, watch="+watch)
			last.resigns(t)
		}
		if left := ens.Watches(); len(left) != 0 {
			t.Errorf("watches left on the servers: %v", left)
		}
	})
}

func TestTheDeathOfAMiddleCandidateElectsNobody(t *testing.T) {
	eachElection(t, func(t *testing.T, v recipes.Variant[recipes.Election], ens *zktest.Ensemble) {
		leader := stand(t.Context(), v, ens.Dial(), recipes.Options{})
		middle := stand(t.Context(), v, ens.Dial(), recipes.Options{})
		last := stand(t.Context(), v, ens.Dial(), recipes.Options{})
		ens.Expire(middle.session)
		last.stands(t, "while the leader leads")
		leader.resigns(t)
		last.leads(t, "after the leader")
	})
}

// The watch of LeaderLatch is consumed by any event, and only a deletion makes it look again.
func TestADataChangeBlindsNobody(t *testing.T) {
	eachElection(t, func(t *testing.T, v recipes.Variant[recipes.Election], ens *zktest.Ensemble) {
		leader := stand(t.Context(), v, ens.Dial(), recipes.Options{})
		next := stand(t.Context(), v, ens.Dial(), recipes.Options{})
		for range 3 {
			_, err := ens.Dial().Set(t.Context(), leader.term.Path, []byte("x"), zk.AnyVersion)
			ok(t, "Set()", err)
			next.stands(t, "after a change of the leader's data")
			if isClosed(leader.term.Lost) {
				t.Fatal("the leader takes a change of its data for the loss of its znode")
			}
		}
		leader.resigns(t)
		next.leads(t, "after the leader")
	})
}

func TestALeaderWhoseZnodeIsDeletedIsTold(t *testing.T) {
	eachElection(t, func(t *testing.T, v recipes.Variant[recipes.Election], ens *zktest.Ensemble) {
		leader := stand(t.Context(), v, ens.Dial(), recipes.Options{})
		next := stand(t.Context(), v, ens.Dial(), recipes.Options{})
		ok(t, "Delete()", ens.Dial().Delete(t.Context(), leader.term.Path, zk.AnyVersion))
		if !isClosed(leader.term.Lost) {
			t.Error("the leader is not told")
		}
		next.leads(t, "after the deletion")
		token := leader.term.Token
		leader.again(t.Context())
		leader.stands(t, "again, behind the next")
		next.resigns(t)
		leader.leads(t, "again")
		if leader.term.Token <= token {
			t.Errorf("term %d after %d", leader.term.Token, token)
		}
	})
}

// The directory goes with all that is in it, as when an ensemble is made anew (CURATOR-724): everybody stands again, and one leads. The
// number of requests is bounded: nobody chases anybody (CURATOR-644, -645).
func TestCandidatesStandAgainWhenTheDirectoryIsWiped(t *testing.T) {
	const n = 6
	eachElection(t, func(t *testing.T, v recipes.Variant[recipes.Election], ens *zktest.Ensemble) {
		var all []*standing
		for range n {
			all = append(all, stand(t.Context(), v, ens.Dial(), recipes.Options{}))
		}
		all[0].leads(t, "the first")
		var ops []zk.Op
		for path := range ens.Tree() {
			if strings.HasPrefix(path, dir+"/") {
				ops = append(ops, zk.DeleteOp(path, zk.AnyVersion))
			}
		}
		before := requestsOf(ens)
		_, err := ens.Dial().Multi(t.Context(), append(ops, zk.DeleteOp(dir, zk.AnyVersion))...)
		ok(t, "Multi()", err)
		synctest.Wait()
		if !isClosed(all[0].term.Lost) {
			t.Error("the leader is not told")
		}
		all[0].again(t.Context())
		leaders := 0
		for _, c := range all {
			if c.state() == "holds" {
				leaders++
			}
		}
		if leaders != 1 {
			t.Errorf("%d leaders", leaders)
		}
		if got, most := requestsOf(ens)-before, 2*n*n; got > most {
			t.Errorf("%d requests of %d candidates, want at most %d", got, n, most)
		}
	})
}

func TestASuspendedLeaderGoesOnWithItsTerm(t *testing.T) {
	for _, name := range []string{"predecessor", "naive"} {
		bubble(t, name, func(t *testing.T, ens *zktest.Ensemble) {
			leader := stand(t.Context(), findElection(t, name), ens.Dial(), recipes.Options{})
			next := stand(t.Context(), findElection(t, name), ens.Dial(), recipes.Options{})
			before := leader.term
			ens.Disconnect(leader.session)
			if !isClosed(before.Suspended) || isClosed(before.Lost) {
				t.Fatalf("suspended %v, lost %v, want it suspended alone", isClosed(before.Suspended), isClosed(before.Lost))
			}
			leader.again(t.Context())
			leader.stands(t, "without a server")
			ens.Reconnect(leader.session)
			leader.leads(t, "connected again")
			if leader.term.Token != before.Token || isClosed(leader.term.Suspended) {
				t.Errorf("term %+v after %+v, want it to go on", leader.term, before)
			}
			next.stands(t, "all the time")
			leader.resigns(t)
			next.leads(t, "after the leader")
			if !isClosed(before.Lost) || !isClosed(leader.term.Lost) {
				t.Error("a term that is over is not lost")
			}
		})
	}
}

// Whoever has been without a server for a third of the session timeout has been told that the term is lost, and does not take it up again.
func TestALostTermIsNotTakenUpAgain(t *testing.T) {
	eachElection(t, func(t *testing.T, v recipes.Variant[recipes.Election], ens *zktest.Ensemble) {
		leader := stand(t.Context(), v, ens.Dial(), recipes.Options{})
		next := stand(t.Context(), v, ens.Dial(), recipes.Options{})
		cut := time.Now()
		ens.Disconnect(leader.session)
		<-leader.term.Lost
		if got, want := time.Since(cut), leader.session.Timeout()/3; got != want {
			t.Errorf("lost after %v, want a third of the session timeout, %v", got, want)
		}
		next.stands(t, "while the leader's session lives on the servers")
		ens.Reconnect(leader.session)
		leader.again(t.Context())
		next.leads(t, "when the former leader stands again")
		leader.stands(t, "behind the next")
	})
}

// A connection that goes and comes while a candidate waits suspends nothing: the term begins with the one it has then.
func TestADisconnectionBeforeTheTermDoesNotSuspendIt(t *testing.T) {
	eachElection(t, func(t *testing.T, v recipes.Variant[recipes.Election], ens *zktest.Ensemble) {
		leader := stand(t.Context(), v, ens.Dial(), recipes.Options{})
		next := stand(t.Context(), v, ens.Dial(), recipes.Options{})
		ens.Disconnect(next.session)
		leader.resigns(t)
		next.stands(t, "without a server")
		ens.Reconnect(next.session)
		next.leads(t, "connected again")
		if isClosed(next.term.Suspended) || isClosed(next.term.Lost) {
			t.Error("its term begins suspended")
		}
	})
}

func TestACampaignThatBeginsWithoutAServerWaitsForOne(t *testing.T) {
	eachElection(t, func(t *testing.T, v recipes.Variant[recipes.Election], ens *zktest.Ensemble) {
		s := ens.Dial()
		ens.Disconnect(s)
		c := stand(t.Context(), v, s, recipes.Options{})
		c.stands(t, "without a server")
		ens.Reconnect(s)
		c.leads(t, "with one")
	})
}

func TestACampaignThatIsGivenUpInDoubtLeavesNothing(t *testing.T) {
	eachElection(t, func(t *testing.T, v recipes.Variant[recipes.Election], ens *zktest.Ensemble) {
		ctx, giveUp := context.WithCancel(t.Context())
		ens.Hook(func(op zktest.Op) zktest.Action { // the reply to the create is still on its way (CURATOR-297)
			if op.Kind == zk.KindCreate && op.Applied && op.Err == nil && len(op.Path) > len(dir) {
				giveUp()
				return zktest.Action{Lose: true}
			}
			return zktest.Action{}
		})
		c := stand(ctx, v, ens.Dial(), recipes.Options{})
		expect(t, "given up", c.attempt, "failed")
		ens.Hook(nil)
		synctest.Wait()
		if left := ens.Ephemerals(); len(left) != 0 {
			t.Errorf("left behind: %v", left)
		}
	})
}

func TestALostReplyMakesNoGhostCandidate(t *testing.T) {
	eachElection(t, func(t *testing.T, v recipes.Variant[recipes.Election], ens *zktest.Ensemble) {
		lost := loseOnce(ens, zk.KindCreate, true, func(path string) bool { return len(path) > len(dir) })
		c := stand(t.Context(), v, ens.Dial(), recipes.Options{})
		c.leads(t, "after the lost reply")
		if n := len(ens.Ephemerals()); n != 1 || !*lost {
			t.Errorf("lost %v, %d znodes for one candidate", *lost, n)
		}
	})
}

// stranger is a session whose first create gives the path of somebody else's znode: what is left of an earlier session of the same
// client (CURATOR-696).
type stranger struct {
	zk.Session
	path string
}

func (s *stranger) Create(ctx context.Context, path string, data []byte, mode zk.Mode) (zk.Created, error) {
	if theirs := s.path; theirs != "" && mode.Sequential() {
		s.path = ""
		return zk.Created{Path: theirs}, nil
	}
	return s.Session.Create(ctx, path, data, mode)
}

func TestTheZnodeOfAnotherSessionIsNeverLedUnder(t *testing.T) {
	eachElection(t, func(t *testing.T, v recipes.Variant[recipes.Election], ens *zktest.Ensemble) {
		old := stand(t.Context(), v, ens.Dial(), recipes.Options{})
		again := begin(func() (recipes.Grant, error) {
			term, err := v.New(&stranger{ens.Dial(), old.term.Path}, dir, recipes.Options{}).Campaign(t.Context())
			return recipes.Grant{Path: term.Path}, err
		})
		expect(t, "with the znode of the old session at the head", again, "waits")
		if isClosed(old.term.Lost) {
			t.Error("the znode of the old session was deleted by somebody who does not own it")
		}
		old.session.Close()
		expect(t, "after the old session", again, "holds")
		if again.grant.Path == old.term.Path {
			t.Errorf("leads under %s again", old.term.Path)
		}
	})
}

func TestElectionsOverTheWrapAndBesideForeignChildren(t *testing.T) {
	eachElection(t, func(t *testing.T, v recipes.Variant[recipes.Election], ens *zktest.Ensemble) {
		makeDir(t, ens.Dial())
		for _, name := range []string{"0", "content", "latch-", "x-lock-0000000000"} {
			_, err := ens.Dial().Create(t.Context(), dir+"/"+name, nil, zk.Persistent)
			ok(t, "Create()", err)
		}
		ens.SetSequence(dir, math.MaxInt32)
		var all []*standing
		var seen sync.Map
		for range 3 {
			all = append(all, stand(t.Context(), v, ens.Dial(), recipes.Options{Trace: &recipes.Trace{Foreign: func(n string) { seen.Store(n, true) }}}))
		}
		for i, c := range all {
			c.leads(t, "in its turn")
			if i+1 < len(all) {
				all[i+1].stands(t, "behind it")
			}
			c.resigns(t)
		}
		foreign := 0
		seen.Range(func(any, any) bool { foreign++; return true })
		if foreign != 4 {
			t.Errorf("%d foreign children seen, want 4", foreign)
		}
	})
}

func TestAResignationWhoseReplyIsLostIsRepeated(t *testing.T) {
	eachElection(t, func(t *testing.T, v recipes.Variant[recipes.Election], ens *zktest.Ensemble) {
		for _, applied := range []bool{true, false} {
			leader := stand(t.Context(), v, ens.Dial(), recipes.Options{})
			next := stand(t.Context(), v, ens.Dial(), recipes.Options{})
			lost := loseOnce(ens, zk.KindDelete, applied, func(string) bool { return true })
			if err := leader.election.Resign(t.Context()); err != nil && !errors.Is(err, recipes.ErrTermLost) || !*lost {
				t.Errorf("applied %v: Resign() = %v, lost %v", applied, err, *lost)
			}
			ens.Hook(nil)
			next.leads(t, "after the resignation")
			next.resigns(t)
		}
	})
}
