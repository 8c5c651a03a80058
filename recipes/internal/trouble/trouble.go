package trouble

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// Start prepares a call, and returns the session whose requests fail, and the call.
type Start func(*testing.T, *zktest.Ensemble) (*zktest.Session, func(context.Context) error)

// Scene is one call of a recipe. It is replayed, and each time another of its requests fails.
type Scene struct {
	Name  string
	Set   Start
	Keeps bool // after an error the session may still have an ephemeral znode
	Twice bool // after a lost reply what it creates may exist twice
	Whole bool // several requests are repeated for one, or others continue in the background
	Armed bool // after an error the handle may still have a watch
	// Bears reports whether this request no longer serves the caller, so that its failure is not reported.
	Bears func(op zktest.Op) bool
}

// trouble is what happens to a number of consecutive requests.
type trouble struct {
	name    string
	times   int
	applied bool // it happens after the request was carried out
	act     func(ens *zktest.Ensemble, op zktest.Op, end func()) zktest.Action
	errs    []error // the call must return one of these
	costs   bool    // a call that succeeds nevertheless has repeated each of the requests once, after the pauses of backoff
	alike   bool    // it happens only to requests of the same kind as the first
}

// played is the outcome of a scene.
type played struct {
	err      error
	hit      zktest.Op // the first request that went wrong
	requests int       // of the call
	flood    int       // requests of the session until a minute after the call
	took     time.Duration
	own      []string // ephemeral znodes of the session at the end
	znodes   int
	watches  int
}

func failing(err error) func(*zktest.Ensemble, zktest.Op, func()) zktest.Action {
	return func(*zktest.Ensemble, zktest.Op, func()) zktest.Action { return zktest.Action{Err: err} }
}

func losing(*zktest.Ensemble, zktest.Op, func()) zktest.Action { return zktest.Action{Lose: true} }

func ending(_ *zktest.Ensemble, _ zktest.Op, end func()) zktest.Action {
	end()
	time.Sleep(time.Millisecond) // the call has given up
	return zktest.Action{}
}

func expiring(ens *zktest.Ensemble, op zktest.Op, _ func()) zktest.Action {
	ens.Expire(op.Session)
	return zktest.Action{}
}

var troubles = []trouble{
	{name: "refused", times: 1, act: failing(zk.ErrNoAuth), errs: []error{zk.ErrNoAuth}},
	{name: "refused for good", times: 1 << 20, act: failing(zk.ErrNoAuth), errs: []error{zk.ErrNoAuth}},
	{name: "throttled", times: 3, act: failing(zk.ErrThrottled), errs: []error{zk.ErrThrottled}, costs: true},
	{name: "not sent", times: 3, act: failing(zk.ErrNotSent), errs: []error{zk.ErrNotSent}, costs: true},
	{name: "lost", times: 3, act: losing, errs: []error{recipes.ErrInDoubt}},
	{name: "reply lost", times: 1, applied: true, act: losing, errs: []error{recipes.ErrInDoubt}},
	{name: "cut off before", times: 1, act: ending, errs: []error{context.Canceled}},
	{name: "cut off after", times: 1, applied: true, act: ending, errs: []error{context.Canceled}},
	{name: "expired before", times: 1, act: expiring, errs: []error{zk.ErrSessionExpired, zk.ErrClosed}},
	{name: "expired after", times: 1, applied: true, act: expiring, errs: []error{zk.ErrSessionExpired, zk.ErrClosed}},
}

// answers are the errors that a server may return permanently, whatever is true: one reply may contradict what the recipe has read in the previous one.
var answers = []error{zk.ErrNoNode, zk.ErrNodeExists, zk.ErrBadVersion, zk.ErrNotEmpty, zk.ErrNoChildrenForEphemerals, zk.ErrRolledBack, zk.ErrReadOnly,
	zk.FromCode(-4), zk.FromCode(-5), zk.ErrUnimplemented, zk.ErrThrottled}

// mostRequests bounds the requests of a call that gets such answers: it has a minute, and a pass of a loop makes up to a dozen requests; passes are
// soon a second apart.
const mostRequests = 2000

// calm plays a scene in which the requests from number n on are permanently answered with an error: those of the same kind, or all. It returns what is
// wrong.
func (sc Scene) calm(t *testing.T, err error, n int, alike bool) string {
	p := sc.play(t, trouble{name: "answered", times: 1 << 30, act: failing(err), alike: alike}, n)
	if p.flood > mostRequests {
		return fmt.Sprintf("%d requests after %v to each %v (alone: %t) from %s on", p.flood, err, p.hit.Kind, alike, p.hit.Path)
	}
	return ""
}

// play plays a scene with a trouble from request n on; n 0 means without trouble.
func (sc Scene) play(t *testing.T, tr trouble, n int) (p played) {
	synctest.Test(t, func(t *testing.T) {
		ens := zktest.New(zktest.Config{})
		s, call := sc.Set(t, ens)
		limit := time.Hour
		if tr.name == "answered" {
			limit = time.Minute
		}
		ctx, end := context.WithTimeout(t.Context(), limit)
		defer end()
		var mu sync.Mutex
		seen, over := 0, false
		struck := func(op zktest.Op) bool {
			mu.Lock()
			defer mu.Unlock()
			if !op.Applied {
				seen++
				if !over {
					p.requests++
				}
				p.flood++
			}
			if n == 0 || op.Applied != tr.applied || seen < n || seen >= n+tr.times || tr.alike && p.hit.Session != nil && op.Kind != p.hit.Kind {
				return false
			}
			if p.hit.Session == nil {
				p.hit = op
			}
			return true
		}
		ens.Hook(func(op zktest.Op) zktest.Action {
			hit := op.Session == s && struck(op)
			mu.Lock()
			flooded := p.flood > mostRequests
			mu.Unlock()
			if flooded { // otherwise time would never pass in a loop that does not wait
				time.Sleep(time.Second)
			}
			if !hit {
				return zktest.Action{}
			}
			return tr.act(ens, op, end)
		})
		begun := time.Now()
		p.err = call(ctx)
		p.took = time.Since(begun)
		mu.Lock()
		over = true
		mu.Unlock()
		time.Sleep(time.Minute)
		synctest.Wait()
		ens.Hook(nil)
		for znode, z := range ens.Tree() {
			p.znodes++
			if z.Stat.EphemeralOwner == s.ID() {
				p.own = append(p.own, znode)
			}
		}
		for _, w := range ens.Watches() {
			if w.Session == s.ID() {
				p.watches++
			}
		}
		for _, s := range ens.Sessions() {
			s.Close()
		}
	})
	return p
}

// Suffer plays the scenes with every trouble at each of their requests.
func Suffer(t *testing.T, scenes ...Scene) {
	for _, sc := range scenes {
		t.Run(sc.Name, func(t *testing.T) {
			clean := sc.play(t, trouble{}, 0)
			if clean.err != nil || clean.requests == 0 {
				t.Fatalf("without trouble: %v after %d requests", clean.err, clean.requests)
			}
			for _, tr := range troubles {
				for n := 1; n <= clean.requests; n++ {
					p := sc.play(t, tr, n)
					if fault := sc.judge(tr, p, clean); fault != "" {
						t.Errorf("%s %v %s: %s", tr.name, p.hit.Kind, p.hit.Path, fault)
					}
				}
			}
		})
	}
}

// Withstand is Suffer, and also tests that a server which always answers a request with the same error gets a bounded number of them. It is for
// recipes that run for long on other people's servers.
func Withstand(t *testing.T, scenes ...Scene) {
	Suffer(t, scenes...)
	for _, sc := range scenes {
		t.Run(sc.Name+", answered", func(t *testing.T) {
			clean := sc.play(t, trouble{}, 0)
			for _, answer := range answers {
				for n := 1; n <= clean.requests; n++ {
					for _, alike := range []bool{true, false} {
						if fault := sc.calm(t, answer, n, alike); fault != "" {
							t.Error(fault)
						}
					}
				}
			}
		})
	}
}

// judge returns what is wrong with the outcome of a trouble, "" if nothing is.
func (sc Scene) judge(tr trouble, p, clean played) string {
	refused, expired := strings.HasPrefix(tr.name, "refused"), strings.HasPrefix(tr.name, "expired")
	stays := tr.times > 3 || refused && p.hit.Kind == zk.KindDelete // what cannot be deleted
	if p.hit.Session == nil || p.err == nil && sc.Bears != nil && sc.Bears(p.hit) {
		return ""
	}
	switch {
	case p.err != nil && !slices.ContainsFunc(tr.errs, func(e error) bool { return errors.Is(p.err, e) }):
		return fmt.Sprintf("the call says %v", p.err)
	case p.err == nil && refused:
		return "the call says nothing of it"
	case p.err == nil && expired && clean.took == 0 && p.requests < clean.requests:
		return "the call says nothing of it"
	case p.err == nil && !expired && len(p.own) != len(clean.own) && !(sc.Twice && strings.Contains(tr.name, "lost")):
		return fmt.Sprintf("it succeeds and leaves %v, without trouble %v", p.own, clean.own)
	case p.err == nil && !expired && p.znodes != clean.znodes && !(sc.Twice && strings.Contains(tr.name, "lost")):
		return fmt.Sprintf("it succeeds and there are %d znodes, without trouble %d", p.znodes, clean.znodes)
	case p.err != nil && !sc.Keeps && len(p.own) != 0 && !stays:
		return fmt.Sprintf("it fails with %v and leaves %v", p.err, p.own)
	case !expired && p.watches > clean.watches && !sc.Armed && !stays:
		return fmt.Sprintf("(%v) %d watches are left, without trouble %d", p.err, p.watches, clean.watches)
	}
	if !tr.costs || sc.Whole || p.err != nil || clean.took > 0 { // a waiter makes as many requests as there are changes to see
		return ""
	}
	pauses := []time.Duration{70 * time.Millisecond, 140 * time.Millisecond, 280 * time.Millisecond} // 10, 20 and 40, and more after other attempts
	if p.hit.Kind == zk.KindDelete {
		pauses = append(pauses, 60*time.Millisecond) // where the second attempt follows immediately
	}
	if p.requests != clean.requests+tr.times {
		return fmt.Sprintf("%d requests, without trouble %d", p.requests, clean.requests)
	}
	if !slices.Contains(pauses, p.took) {
		return fmt.Sprintf("it took %v, want %v", p.took, pauses)
	}
	return ""
}

// Dialled sets up a scene: a session, a handle prepared by prepare, and the call.
func Dialled[T any](new func(zk.Session, string, recipes.Options) T, o recipes.Options, prepare func(ctx context.Context, r T) error,
	call func(ctx context.Context, r T) error) Start {
	return func(t *testing.T, ens *zktest.Ensemble) (*zktest.Session, func(context.Context) error) {
		s := ens.Dial()
		r := new(s, bubble.Dir, o)
		if prepare != nil {
			bubble.OK(t, "what comes before", prepare(t.Context(), r))
			time.Sleep(time.Second) // its background work is done by then
		}
		return s, func(ctx context.Context) error { return call(ctx, r) }
	}
}

// After sets up a scene in which another handle, with its own session, acts before the call; later is what it does a second after the call.
func After[T any](new func(zk.Session, string, recipes.Options) T, o recipes.Options, before, later func(ctx context.Context, r T) error,
	set Start) Start {
	return func(t *testing.T, ens *zktest.Ensemble) (*zktest.Session, func(context.Context) error) {
		other := new(ens.Dial(), bubble.Dir, o)
		bubble.OK(t, "what another has done", before(t.Context(), other))
		s, call := set(t, ens)
		return s, func(ctx context.Context) error {
			if later != nil {
				time.AfterFunc(time.Second, func() { later(context.Background(), other) })
			}
			return call(ctx)
		}
	}
}
