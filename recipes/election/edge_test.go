package election_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/election"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	zkpublished "github.com/zkbench/zkbench/recipes/published"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// A cancelled Resign ends its term in the background, and the next Campaign waits for that.
func TestACampaignAfterACancelledResign(t *testing.T) {
	for _, v := range election.Variants() {
		bubble.Run(t, v.Name, func(t *testing.T, ens *zktest.Ensemble) {
			e := v.New(ens.Dial(), bubble.Dir, recipes.Options{})
			for range 20 {
				_, err := e.Campaign(t.Context())
				bubble.OK(t, "Campaign()", err)
				cut, cancel := context.WithCancel(t.Context())
				cancel()
				e.Resign(cut)
				if err := e.Resign(t.Context()); !errors.Is(err, recipes.ErrNotHeld) {
					t.Errorf("second Resign() = %v, want ErrNotHeld", err)
				}
			}
			_, err := e.Campaign(t.Context())
			bubble.OK(t, "Campaign()", err)
			bubble.OK(t, "Resign()", e.Resign(t.Context()))
		})
	}
}

func TestADeadLeaderIsFollowedByTheNext(t *testing.T) {
	bubble.Each(t, election.Variants(), func(t *testing.T, v recipes.Variant[recipes.Election], ens *zktest.Ensemble) {
		leader := bubble.Stand(t.Context(), v, ens.Dial(), recipes.Options{})
		next := bubble.Stand(t.Context(), v, ens.Dial(), recipes.Options{})
		ens.Expire(leader.Session)
		next.Leads(t, "after the leader's session has expired")
		if !bubble.Closed(leader.Term.Lost) || !bubble.Closed(leader.Term.Suspended) {
			t.Error("Lost or Suspended of the expired leader is open")
		}
		if err := leader.Election.Resign(t.Context()); !errors.Is(err, recipes.ErrTermLost) {
			t.Errorf("Resign() of a lost term = %v, want ErrTermLost", err)
		}
		if _, err := leader.Election.Campaign(t.Context()); !errors.Is(err, zk.ErrSessionExpired) {
			t.Errorf("Campaign() on an expired session = %v, want ErrSessionExpired", err)
		}
	})
}

// After a crash the znode stays for a session timeout, during which nobody leads.
func TestACrashedLeaderIsFollowedWhenItsSessionExpires(t *testing.T) {
	bubble.Each(t, election.Variants(), func(t *testing.T, v recipes.Variant[recipes.Election], ens *zktest.Ensemble) {
		leader := bubble.Stand(t.Context(), v, ens.Dial(), recipes.Options{})
		next := bubble.Stand(t.Context(), v, ens.Dial(), recipes.Options{})
		crash := time.Now()
		bubble.OK(t, "Crash()", leader.Session.Crash())
		next.IsCandidate(t, "right after the crash")
		<-next.Done
		if got := time.Since(crash); got != leader.Session.Timeout() {
			t.Errorf("the next candidate leads %v after the crash, want the session timeout", got)
		}
	})
}

func TestACandidateVanishesBetweenListAndWatch(t *testing.T) {
	bubble.Each(t, election.Variants(), func(t *testing.T, v recipes.Variant[recipes.Election], ens *zktest.Ensemble) {
		for _, watch := range v.Watch {
			leader := bubble.Stand(t.Context(), v, ens.Dial(), recipes.Options{})
			middle := bubble.Stand(t.Context(), v, ens.Dial(), recipes.Options{})
			o := bubble.At(recipes.PauseListed, func() { middle.Session.Close() })
			o.Watch = watch
			last := bubble.Stand(t.Context(), v, ens.Dial(), o)
			last.IsCandidate(t, "behind the leader, watch="+watch)
			leader.Resigns(t)
			last.Leads(t, "after the leader, watch="+watch)
			last.Resigns(t)
		}
		if left := ens.Watches(); len(left) != 0 {
			t.Errorf("watches left on the servers: %v", left)
		}
	})
}

func TestTheDeathOfAMiddleCandidateElectsNobody(t *testing.T) {
	bubble.Each(t, election.Variants(), func(t *testing.T, v recipes.Variant[recipes.Election], ens *zktest.Ensemble) {
		leader := bubble.Stand(t.Context(), v, ens.Dial(), recipes.Options{})
		middle := bubble.Stand(t.Context(), v, ens.Dial(), recipes.Options{})
		last := bubble.Stand(t.Context(), v, ens.Dial(), recipes.Options{})
		ens.Expire(middle.Session)
		last.IsCandidate(t, "while the leader leads")
		leader.Resigns(t)
		last.Leads(t, "after the leader")
	})
}

// In Curator's LeaderLatch any event consumes the watch, but only a deletion makes it check again. Here a change of data must not hide the
// deletion.
func TestADataChangeDoesNotHideTheDeletion(t *testing.T) {
	bubble.Each(t, election.Variants(), func(t *testing.T, v recipes.Variant[recipes.Election], ens *zktest.Ensemble) {
		leader := bubble.Stand(t.Context(), v, ens.Dial(), recipes.Options{})
		next := bubble.Stand(t.Context(), v, ens.Dial(), recipes.Options{})
		for range 3 {
			_, err := ens.Dial().Set(t.Context(), leader.Term.Path, []byte("x"), zk.AnyVersion)
			bubble.OK(t, "Set()", err)
			next.IsCandidate(t, "after a change of the leader's data")
			if bubble.Closed(leader.Term.Lost) {
				t.Fatal("the leader takes a change of its data for the loss of its znode")
			}
		}
		leader.Resigns(t)
		next.Leads(t, "after the leader")
	})
}

func TestALeaderNoticesTheDeletionOfItsZnode(t *testing.T) {
	bubble.Each(t, election.Variants(), func(t *testing.T, v recipes.Variant[recipes.Election], ens *zktest.Ensemble) {
		leader := bubble.Stand(t.Context(), v, ens.Dial(), recipes.Options{})
		next := bubble.Stand(t.Context(), v, ens.Dial(), recipes.Options{})
		bubble.OK(t, "Delete()", ens.Dial().Delete(t.Context(), leader.Term.Path, zk.AnyVersion))
		if !bubble.Closed(leader.Term.Lost) {
			t.Error("Lost of the leader is open")
		}
		next.Leads(t, "after the deletion")
		token := leader.Term.Token
		leader.Again(t.Context())
		leader.IsCandidate(t, "again, behind the next")
		next.Resigns(t)
		leader.Leads(t, "again")
		if leader.Term.Token <= token {
			t.Errorf("term %d after %d", leader.Term.Token, token)
		}
	})
}

// When the directory is deleted with all znodes, as when an ensemble is recreated (CURATOR-724), all candidates stand again and one leads. The
// number of requests is bounded: candidates do not wake each other in turn (CURATOR-644, CURATOR-645).
func TestCandidatesStandAgainWhenTheDirectoryIsWiped(t *testing.T) {
	const n = 6
	bubble.Each(t, election.Variants(), func(t *testing.T, v recipes.Variant[recipes.Election], ens *zktest.Ensemble) {
		var all []*bubble.Standing
		for range n {
			all = append(all, bubble.Stand(t.Context(), v, ens.Dial(), recipes.Options{}))
		}
		all[0].Leads(t, "the first")
		var ops []zk.Op
		for path := range ens.Tree() {
			if strings.HasPrefix(path, bubble.Dir+"/") {
				ops = append(ops, zk.DeleteOp(path, zk.AnyVersion))
			}
		}
		before := bubble.Requests(ens)
		_, err := ens.Dial().Multi(t.Context(), append(ops, zk.DeleteOp(bubble.Dir, zk.AnyVersion))...)
		bubble.OK(t, "Multi()", err)
		synctest.Wait()
		if !bubble.Closed(all[0].Term.Lost) {
			t.Error("Lost of the leader is open")
		}
		all[0].Again(t.Context())
		leaders := 0
		for _, c := range all {
			if c.State() == "holds" {
				leaders++
			}
		}
		if leaders != 1 {
			t.Errorf("%d leaders, want 1", leaders)
		}
		if got, most := bubble.Requests(ens)-before, 2*n*n; got > most {
			t.Errorf("%d requests of %d candidates, want at most %d", got, n, most)
		}
	})
}

func TestASuspendedLeaderContinuesItsTerm(t *testing.T) {
	for _, name := range []string{"predecessor", "naive"} {
		bubble.Run(t, name, func(t *testing.T, ens *zktest.Ensemble) {
			leader := bubble.Stand(t.Context(), bubble.Find(t, slices.Concat(zkpublished.Elections(), election.Variants()), name), ens.Dial(), recipes.Options{})
			next := bubble.Stand(t.Context(), bubble.Find(t, slices.Concat(zkpublished.Elections(), election.Variants()), name), ens.Dial(), recipes.Options{})
			before := leader.Term
			ens.Disconnect(leader.Session)
			if !bubble.Closed(before.Suspended) || bubble.Closed(before.Lost) {
				t.Fatalf("suspended %v, lost %v, want only suspended", bubble.Closed(before.Suspended), bubble.Closed(before.Lost))
			}
			leader.Again(t.Context())
			leader.IsCandidate(t, "without a server")
			ens.Reconnect(leader.Session)
			leader.Leads(t, "connected again")
			if leader.Term.Token != before.Token || bubble.Closed(leader.Term.Suspended) {
				t.Errorf("term %+v after %+v, want the same one", leader.Term, before)
			}
			next.IsCandidate(t, "all the time")
			leader.Resigns(t)
			next.Leads(t, "after the leader")
			if !bubble.Closed(before.Lost) || !bubble.Closed(leader.Term.Lost) {
				t.Error("Lost of an ended term is open")
			}
		})
	}
}

// A leader that was disconnected for nearly the session timeout has lost its term, and does not continue it.
func TestALostTermIsNotContinued(t *testing.T) {
	bubble.Each(t, election.Variants(), func(t *testing.T, v recipes.Variant[recipes.Election], ens *zktest.Ensemble) {
		leader := bubble.Stand(t.Context(), v, ens.Dial(), recipes.Options{})
		next := bubble.Stand(t.Context(), v, ens.Dial(), recipes.Options{})
		cut := time.Now()
		ens.Disconnect(leader.Session)
		<-leader.Term.Lost
		if got, want := time.Since(cut), leader.Session.Timeout()*9/10; got != want {
			t.Errorf("lost after %v, want a tenth of the session timeout before its end, %v", got, want)
		}
		next.IsCandidate(t, "while the servers keep the leader's session")
		ens.Reconnect(leader.Session)
		leader.Again(t.Context())
		next.Leads(t, "when the former leader stands again")
		leader.IsCandidate(t, "behind the next")
	})
}

// A disconnection while a candidate waits does not suspend its later term.
func TestADisconnectionBeforeTheTermDoesNotSuspendIt(t *testing.T) {
	bubble.Each(t, election.Variants(), func(t *testing.T, v recipes.Variant[recipes.Election], ens *zktest.Ensemble) {
		leader := bubble.Stand(t.Context(), v, ens.Dial(), recipes.Options{})
		next := bubble.Stand(t.Context(), v, ens.Dial(), recipes.Options{})
		ens.Disconnect(next.Session)
		leader.Resigns(t)
		next.IsCandidate(t, "without a server")
		ens.Reconnect(next.Session)
		next.Leads(t, "connected again")
		if bubble.Closed(next.Term.Suspended) || bubble.Closed(next.Term.Lost) {
			t.Error("its term starts suspended or lost")
		}
	})
}

func TestACampaignWithoutAServerWaitsForOne(t *testing.T) {
	bubble.Each(t, election.Variants(), func(t *testing.T, v recipes.Variant[recipes.Election], ens *zktest.Ensemble) {
		s := ens.Dial()
		ens.Disconnect(s)
		c := bubble.Stand(t.Context(), v, s, recipes.Options{})
		c.IsCandidate(t, "without a server")
		ens.Reconnect(s)
		c.Leads(t, "with one")
	})
}

func TestACancelledCampaignInDoubtLeavesNothing(t *testing.T) {
	bubble.Each(t, election.Variants(), func(t *testing.T, v recipes.Variant[recipes.Election], ens *zktest.Ensemble) {
		ctx, giveUp := context.WithCancel(t.Context())
		ens.Hook(func(op zktest.Op) zktest.Action { // the reply to the create is lost (CURATOR-297)
			if op.Kind == zk.KindCreate && op.Applied && op.Err == nil && len(op.Path) > len(bubble.Dir) {
				giveUp()
				return zktest.Action{Lose: true}
			}
			return zktest.Action{}
		})
		c := bubble.Stand(ctx, v, ens.Dial(), recipes.Options{})
		bubble.Expect(t, "given up", c, "failed")
		ens.Hook(nil)
		synctest.Wait()
		if left := ens.Ephemerals(); len(left) != 0 {
			t.Errorf("left behind: %v", left)
		}
	})
}

func TestALostReplyMakesNoGhostCandidate(t *testing.T) {
	bubble.Each(t, election.Variants(), func(t *testing.T, v recipes.Variant[recipes.Election], ens *zktest.Ensemble) {
		lost := bubble.LoseOnce(ens, zk.KindCreate, true, func(path string) bool { return len(path) > len(bubble.Dir) })
		c := bubble.Stand(t.Context(), v, ens.Dial(), recipes.Options{})
		c.Leads(t, "after the lost reply")
		if n := len(ens.Ephemerals()); n != 1 || !*lost {
			t.Errorf("lost %v, %d znodes for one candidate", *lost, n)
		}
	})
}

// stranger is a session whose first create returns the path of another session's znode, like one left by an earlier session of the same client
// (CURATOR-696).
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

func TestNobodyLeadsWithTheZnodeOfAnotherSession(t *testing.T) {
	bubble.Each(t, election.Variants(), func(t *testing.T, v recipes.Variant[recipes.Election], ens *zktest.Ensemble) {
		old := bubble.Stand(t.Context(), v, ens.Dial(), recipes.Options{})
		again := bubble.Begin(func() (recipes.Grant, error) {
			term, err := v.New(&stranger{ens.Dial(), old.Term.Path}, bubble.Dir, recipes.Options{}).Campaign(t.Context())
			return recipes.Grant{Path: term.Path}, err
		})
		bubble.Expect(t, "with the znode of the old session at the head", again, "waits")
		if bubble.Closed(old.Term.Lost) {
			t.Error("the old session's znode was deleted by another session")
		}
		old.Session.Close()
		bubble.Expect(t, "after the old session", again, "holds")
		if again.Grant.Path == old.Term.Path {
			t.Errorf("leads with the old session's znode %s", old.Term.Path)
		}
	})
}

func TestElectionsAcrossTheWrapAndWithForeignChildren(t *testing.T) {
	bubble.Each(t, election.Variants(), func(t *testing.T, v recipes.Variant[recipes.Election], ens *zktest.Ensemble) {
		bubble.MakeDir(t, ens.Dial())
		for _, name := range []string{"0", "content", "latch-", "x-lock-0000000000"} {
			_, err := ens.Dial().Create(t.Context(), bubble.Dir+"/"+name, nil, zk.Persistent)
			bubble.OK(t, "Create()", err)
		}
		ens.SetSequence(bubble.Dir, math.MaxInt32)
		var all []*bubble.Standing
		var seen sync.Map
		for range 3 {
			all = append(all, bubble.Stand(t.Context(), v, ens.Dial(), recipes.Options{Trace: &recipes.Trace{Foreign: func(n string) { seen.Store(n, true) }}}))
		}
		for i, c := range all {
			c.Leads(t, "in its turn")
			if i+1 < len(all) {
				all[i+1].IsCandidate(t, "behind it")
			}
			c.Resigns(t)
		}
		foreign := 0
		seen.Range(func(any, any) bool { foreign++; return true })
		if foreign != 4 {
			t.Errorf("%d foreign children seen, want 4", foreign)
		}
	})
}

func TestAResignationWithALostReplyIsRepeated(t *testing.T) {
	bubble.Each(t, election.Variants(), func(t *testing.T, v recipes.Variant[recipes.Election], ens *zktest.Ensemble) {
		for _, applied := range []bool{true, false} {
			leader := bubble.Stand(t.Context(), v, ens.Dial(), recipes.Options{})
			next := bubble.Stand(t.Context(), v, ens.Dial(), recipes.Options{})
			lost := bubble.LoseOnce(ens, zk.KindDelete, applied, func(string) bool { return true })
			if err := leader.Election.Resign(t.Context()); err != nil && !errors.Is(err, recipes.ErrTermLost) || !*lost {
				t.Errorf("applied %v: Resign() = %v, lost %v", applied, err, *lost)
			}
			ens.Hook(nil)
			next.Leads(t, "after the resignation")
			next.Resigns(t)
		}
	})
}
