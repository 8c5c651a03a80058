package recipes_test

import (
	"context"
	"errors"
	"math"
	"sync"
	"testing"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	locks "github.com/zkbench/zkbench/recipes/lock"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

func TestFencedRegister(t *testing.T) {
	type write struct {
		token int64
		want  error
	}
	for _, tt := range []struct {
		why      string
		unfenced bool
		writes   []write
		want     recipes.Seen
	}{
		{"tokens that grow, one of them twice", false, []write{{5, nil}, {5, nil}, {9, nil}}, recipes.Seen{Highest: 9, Accepted: 3}},
		{"a stale one is rejected, and the next holder still writes", false, []write{{5, nil}, {9, nil}, {5, recipes.ErrStale}, {9, nil}},
			recipes.Seen{Highest: 9, Accepted: 3, StaleRejected: 1}},
		{"the fence closes with the next holder's write, not with its grant", false, []write{{5, nil}, {5, nil}}, recipes.Seen{Highest: 5, Accepted: 2}},
		{"without a token it cannot tell", false, []write{{0, recipes.ErrNoToken}, {-1, recipes.ErrNoToken}}, recipes.Seen{}},
		{"without a fence it is accepted and counted", true, []write{{5, nil}, {9, nil}, {5, nil}, {9, nil}}, recipes.Seen{Highest: 9, Accepted: 4, StaleAccepted: 1}},
		{"and so is what has no token", true, []write{{9, nil}, {0, nil}}, recipes.Seen{Highest: 9, Accepted: 2, StaleAccepted: 1}},
	} {
		r := recipes.FencedRegister{Unfenced: tt.unfenced}
		for i, w := range tt.writes {
			if err := r.Write(w.token, []byte("v")); !errors.Is(err, w.want) {
				t.Errorf("%s: Write(%d), write %d = %v, want %v", tt.why, w.token, i+1, err, w.want)
			}
		}
		if got := r.Seen(); got != tt.want {
			t.Errorf("%s: Seen() = %+v, want %+v", tt.why, got, tt.want)
		}
	}
}

func TestFencedRegisterKeepsItsValue(t *testing.T) {
	var r recipes.FencedRegister
	if value, token := r.Read(); value != nil || token != 0 {
		t.Errorf("Read() before the first write = %q, %d", value, token)
	}
	data := []byte("first")
	bubble.OK(t, "Write()", r.Write(5, data))
	data[0] = 'x'
	if err := r.Write(4, []byte("stale")); !errors.Is(err, recipes.ErrStale) {
		t.Errorf("Write() of a stale token = %v", err)
	}
	value, token := r.Read()
	if string(value) != "first" || token != 5 {
		t.Errorf("Read() = %q, %d, want the first write untouched", value, token)
	}
	value[0] = 'y'
	if again, _ := r.Read(); string(again) != "first" {
		t.Errorf("Read() = %q after the caller changed what it had read", again)
	}
}

func TestFencedRegisterUnderConcurrentWriters(t *testing.T) {
	const writers = 50
	var r recipes.FencedRegister
	var all sync.WaitGroup
	for token := range int64(writers) {
		all.Go(func() { r.Write(token+1, nil) }) // stale or not, depending on the order
	}
	all.Wait()
	seen := r.Seen()
	if _, token := r.Read(); token != writers || seen.Highest != writers || seen.StaleAccepted != 0 || seen.Accepted+seen.StaleRejected != writers {
		t.Errorf("token %d, %+v; want the highest, and every write counted once", token, seen)
	}
}

const resource = "/resource"

// resourceIn creates the znode that holders write, and returns the session that created it.
func resourceIn(t *testing.T, ens *zktest.Ensemble) *zktest.Session {
	t.Helper()
	s := ens.Dial()
	_, err := s.Create(t.Context(), resource, nil, zk.Persistent)
	bubble.OK(t, "Create()", err)
	return s
}

func guarded(t *testing.T, s zk.Session, g recipes.Grant, value string) error {
	t.Helper()
	_, err := recipes.Guard(t.Context(), s, g, zk.SetOp(resource, []byte(value), zk.AnyVersion))
	return err
}

func wantData(t *testing.T, what string, ens *zktest.Ensemble, value string) {
	t.Helper()
	if got := string(ens.Tree()[resource].Data); got != value {
		t.Errorf("%s: the resource has %q, want %q", what, got, value)
	}
}

// As soon as a grant is lost with its session, its guarded writes are rejected, even if nobody else holds or has written.
func TestGuardEndsWithTheGrant(t *testing.T) {
	bubble.Each(t, bubble.InOrder(locks.Variants()), func(t *testing.T, v recipes.Variant[recipes.Lock], ens *zktest.Ensemble) {
		data := resourceIn(t, ens)
		holder := bubble.Wait(t.Context(), v, ens.Dial(), recipes.Options{})
		bubble.OK(t, "Guard() while it holds", guarded(t, data, holder.Grant, "held"))
		bubble.OK(t, "Guard() over the lock's own session", guarded(t, holder.Session, holder.Grant, "held, again"))
		ens.Expire(holder.Session)
		if err := guarded(t, data, holder.Grant, "late"); !errors.Is(err, recipes.ErrLockLost) {
			t.Errorf("Guard() after the session has expired = %v, want ErrLockLost", err)
		}
		wantData(t, "after the late write", ens, "held, again")
		next := bubble.Wait(t.Context(), v, ens.Dial(), recipes.Options{})
		bubble.OK(t, "Guard() of the next holder", guarded(t, data, next.Grant, "next"))
		if err := guarded(t, data, holder.Grant, "late"); !errors.Is(err, recipes.ErrLockLost) {
			t.Errorf("Guard() while the next one holds = %v, want ErrLockLost", err)
		}
		bubble.Release(t, next)
		if err := guarded(t, data, next.Grant, "late"); !errors.Is(err, recipes.ErrLockLost) {
			t.Errorf("Guard() after the release = %v, want ErrLockLost", err)
		}
		wantData(t, "at the end", ens, "next")
	})
}

// The check and the write are one transaction: a grant lost between the request and its application makes the write fail.
func TestGuardIsAtomicWithTheLossOfTheGrant(t *testing.T) {
	bubble.Each(t, bubble.InOrder(locks.Variants()), func(t *testing.T, v recipes.Variant[recipes.Lock], ens *zktest.Ensemble) {
		data := resourceIn(t, ens)
		holder := bubble.Wait(t.Context(), v, ens.Dial(), recipes.Options{})
		ens.Hook(func(op zktest.Op) zktest.Action {
			if op.Kind == zk.KindMulti && !op.Applied {
				ens.Expire(holder.Session)
			}
			return zktest.Action{}
		})
		if err := guarded(t, data, holder.Grant, "late"); !errors.Is(err, recipes.ErrLockLost) {
			t.Errorf("Guard() = %v, want ErrLockLost", err)
		}
		ens.Hook(nil)
		wantData(t, "after the transaction", ens, "")
	})
}

func TestErrorsOfGuard(t *testing.T) {
	bubble.Run(t, "predecessor", func(t *testing.T, ens *zktest.Ensemble) {
		data := resourceIn(t, ens)
		holder := bubble.Wait(t.Context(), bubble.Find(t, locks.Variants(), "predecessor"), ens.Dial(), recipes.Options{})
		_, err := recipes.Guard(t.Context(), data, holder.Grant, zk.SetOp("/nowhere", nil, zk.AnyVersion))
		if !errors.Is(err, zk.ErrNoNode) || errors.Is(err, recipes.ErrLockLost) {
			t.Errorf("Guard() of a missing resource = %v, want ErrNoNode, and the lock not lost", err)
		}
		_, err = recipes.Guard(t.Context(), data, holder.Grant, zk.SetOp(resource, nil, 7))
		if !errors.Is(err, zk.ErrBadVersion) || errors.Is(err, recipes.ErrLockLost) {
			t.Errorf("Guard() of a version = %v, want ErrBadVersion, and the lock not lost", err)
		}
		lost := bubble.LoseOnce(ens, zk.KindMulti, true, func(string) bool { return true })
		if err := guarded(t, data, holder.Grant, "in doubt"); !errors.Is(err, zk.ErrMaybeApplied) || !*lost {
			t.Errorf("Guard() with its reply lost = %v, want ErrMaybeApplied", err)
		}
		wantData(t, "applied, reply lost", ens, "in doubt")
		results, err := recipes.Guard(t.Context(), data, holder.Grant, zk.SetOp(resource, nil, zk.AnyVersion), zk.CreateOp("/made", nil, zk.Persistent))
		bubble.OK(t, "Guard() of two operations", err)
		if len(results) != 2 || results[1].Path != "/made" {
			t.Errorf("results %+v, want those of the two operations", results)
		}
	})
}

// The next holder's znode has the same name, so it cannot guard the previous holder's writes.
func TestGuardRefusesTheSingleNode(t *testing.T) {
	bubble.Run(t, "single-node", func(t *testing.T, ens *zktest.Ensemble) {
		data := resourceIn(t, ens)
		v := bubble.Find(t, locks.Variants(), "single-node")
		holder := bubble.Wait(t.Context(), v, ens.Dial(), recipes.Options{})
		if err := guarded(t, data, holder.Grant, "x"); !errors.Is(err, recipes.ErrUnguarded) {
			t.Errorf("Guard() = %v, want ErrUnguarded", err)
		}
		set := func(g recipes.Grant, value string) error {
			_, err := recipes.SetFenced(t.Context(), data, resource, g.Token, []byte(value))
			return err
		}
		bubble.OK(t, "SetFenced()", set(holder.Grant, "first"))
		ens.Expire(holder.Session)
		next := bubble.Wait(t.Context(), v, ens.Dial(), recipes.Options{})
		if next.Grant.Path != holder.Grant.Path {
			t.Fatalf("paths %s and %s, want one", holder.Grant.Path, next.Grant.Path)
		}
		bubble.OK(t, "SetFenced() of the next holder", set(next.Grant, "next"))
		if err := set(holder.Grant, "late"); !errors.Is(err, recipes.ErrStale) {
			t.Errorf("SetFenced() with the first token = %v, want ErrStale", err)
		}
	})
}

func TestGuardOverTheWrapOfTheCounter(t *testing.T) {
	bubble.Run(t, "predecessor", func(t *testing.T, ens *zktest.Ensemble) {
		data := resourceIn(t, ens)
		v := bubble.Find(t, locks.Variants(), "predecessor")
		bubble.Release(t, bubble.Wait(t.Context(), v, ens.Dial(), recipes.Options{})) // creates the directory
		ens.SetSequence(bubble.Dir, math.MaxInt32)
		for range 3 {
			w := bubble.Wait(t.Context(), v, ens.Dial(), recipes.Options{})
			bubble.OK(t, "Guard() with "+w.Grant.Path, guarded(t, data, w.Grant, "held"))
			bubble.Release(t, w)
		}
	})
}

// A downgraded grant is guarded by the read znode: the write znode is gone.
func TestGuardOfADowngradedGrant(t *testing.T) {
	bubble.Run(t, "read-write", func(t *testing.T, ens *zktest.Ensemble) {
		data := resourceIn(t, ens)
		v, _ := recipes.Find(locks.RWVariants(), "read-write")
		lock := v.New(ens.Dial(), bubble.Dir, recipes.Options{})
		written, err := lock.AcquireWrite(t.Context())
		bubble.OK(t, "AcquireWrite()", err)
		read, err := lock.Downgrade(t.Context())
		bubble.OK(t, "Downgrade()", err)
		if err := guarded(t, data, written, "late"); !errors.Is(err, recipes.ErrLockLost) {
			t.Errorf("Guard() with the write grant = %v, want ErrLockLost", err)
		}
		bubble.OK(t, "Guard() with the read grant", guarded(t, data, read, "read"))
		bubble.OK(t, "Release()", lock.Release(t.Context()))
	})
}

func TestSetFenced(t *testing.T) {
	bubble.Run(t, "znode", func(t *testing.T, ens *zktest.Ensemble) {
		s := resourceIn(t, ens)
		set := func(token int64, value string) error {
			_, err := recipes.SetFenced(t.Context(), s, resource, token, []byte(value))
			return err
		}
		is := func(what string, err, want error) {
			t.Helper()
			if !errors.Is(err, want) {
				t.Errorf("%s: SetFenced() = %v, want %v", what, err, want)
			}
		}
		is("without a token", set(0, "x"), recipes.ErrNoToken)
		is("the first write of an empty znode", set(5, "a"), nil)
		is("the same token again", set(5, "b"), nil)
		is("a smaller one", set(4, "c"), recipes.ErrStale)
		is("the next holder", set(math.MaxInt64, "d"), nil)
		value, token, err := recipes.ParseFenced(ens.Tree()[resource].Data)
		if string(value) != "d" || token != math.MaxInt64 || err != nil {
			t.Errorf("ParseFenced() = %q, %d, %v", value, token, err)
		}
		_, err = recipes.SetFenced(t.Context(), s, "/nowhere", 9, nil)
		is("a missing znode", err, zk.ErrNoNode)
		_, err = s.Set(t.Context(), resource, []byte("somebody wrote this without a token"), zk.AnyVersion)
		bubble.OK(t, "Set()", err)
		if err := set(math.MaxInt64, "e"); err == nil || errors.Is(err, recipes.ErrStale) {
			t.Errorf("SetFenced() on data without a token = %v, want an error that says so", err)
		}
	})
}

// Another holder writes between SetFenced's read and its write.
func TestSetFencedComparesAndSets(t *testing.T) {
	for _, tt := range []struct {
		why         string
		token, then int64 // of this write, and of the one in between
		want        error
		reads       int
	}{
		{"a newer token came in between", 5, 6, recipes.ErrStale, 2},
		{"an older token came in between", 6, 5, nil, 2},
	} {
		bubble.Run(t, tt.why, func(t *testing.T, ens *zktest.Ensemble) {
			s, other := resourceIn(t, ens), ens.Dial()
			reads := 0
			ens.Hook(func(op zktest.Op) zktest.Action {
				if op.Session != s || op.Kind != zk.KindGet || !op.Applied {
					return zktest.Action{}
				}
				if reads++; reads == 1 {
					_, err := recipes.SetFenced(context.Background(), other, resource, tt.then, nil)
					bubble.OK(t, "SetFenced() in between", err)
				}
				return zktest.Action{}
			})
			_, err := recipes.SetFenced(t.Context(), s, resource, tt.token, nil)
			if !errors.Is(err, tt.want) || reads != tt.reads {
				t.Errorf("SetFenced() = %v after %d reads, want %v after %d", err, reads, tt.want, tt.reads)
			}
			ens.Hook(nil)
			if _, token, err := recipes.ParseFenced(ens.Tree()[resource].Data); token != 6 || err != nil {
				t.Errorf("the znode has the token %d, %v, want the highest", token, err)
			}
		})
	}
}

func TestSetFencedMayBeRepeatedAfterALostReply(t *testing.T) {
	for _, applied := range []bool{true, false} {
		bubble.Run(t, map[bool]string{true: "applied", false: "not applied"}[applied], func(t *testing.T, ens *zktest.Ensemble) {
			s := resourceIn(t, ens)
			lost := bubble.LoseOnce(ens, zk.KindSet, applied, func(string) bool { return true })
			if _, err := recipes.SetFenced(t.Context(), s, resource, 5, []byte("v")); !errors.Is(err, zk.ErrMaybeApplied) || !*lost {
				t.Errorf("SetFenced() with the connection lost = %v, want ErrMaybeApplied", err)
			}
			_, err := recipes.SetFenced(t.Context(), s, resource, 5, []byte("v"))
			bubble.OK(t, "SetFenced() once more", err)
		})
	}
}

func TestParseFenced(t *testing.T) {
	for _, tt := range []struct {
		why, data string
		value     string
		token     int64
		wrong     bool
	}{
		{"nothing written yet", "", "", 0, false},
		{"a token alone", "0000000100000042", "", 0x100000042, false},
		{"a token and a value", "0000000100000042value", "value", 0x100000042, false},
		{"a value that looks like a token", "00000001000000420000000000000001", "0000000000000001", 0x100000042, false},
		{"too short for a token", "00000001", "", 0, true},
		{"sixteen characters", "no token is here", "", 0, true},
		{"a sign is not a digit", "-000000000000001", "", 0, true},
		{"beyond any zxid", "ffffffffffffffff", "", 0, true},
	} {
		value, token, err := recipes.ParseFenced([]byte(tt.data))
		if string(value) != tt.value || token != tt.token || (err != nil) != tt.wrong {
			t.Errorf("%s: ParseFenced(%q) = %q, %d, %v", tt.why, tt.data, value, token, err)
		}
	}
}

// Only a name that ends in at least nine digits after something else is never given again.
func TestProtectGuardsWithNumberedNames(t *testing.T) {
	bubble.Run(t, "names", func(t *testing.T, ens *zktest.Ensemble) {
		s := resourceIn(t, ens)
		for token, c := range []struct {
			name string
			want recipes.Fence
		}{
			{"lock", recipes.FenceToken}, {"lock-12345678", recipes.FenceToken}, {"lock-123456789", recipes.FenceTransaction},
			{"lock-0123456789", recipes.FenceTransaction}, {"123456789", recipes.FenceToken}, {"0123456789", recipes.FenceTransaction}, {"lock-123456789x", recipes.FenceToken},
		} {
			created, err := s.Create(t.Context(), "/"+c.name, nil, zk.Ephemeral)
			bubble.OK(t, "Create()", err)
			fence, st, err := recipes.Protect(t.Context(), s, recipes.Grant{Path: created.Path, Token: int64(token + 1)}, resource, []byte("x"))
			if fence != c.want || st.Version != int32(token+1) || err != nil {
				t.Errorf("Protect() with %s: %q, version %d, %v, want %q and version %d", c.name, fence, st.Version, err, c.want, token+1)
			}
		}
	})
}
