package lock_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	"github.com/zkbench/zkbench/recipes/lock"
	"github.com/zkbench/zkbench/recipes/recipestest"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

func TestReadWriteLocksInMemory(t *testing.T) {
	for _, v := range lock.RWVariants() {
		t.Run(v.Name, func(t *testing.T) { recipestest.RWLock(t, v) })
	}
}

// client is a handle with one attempt to acquire.
type client struct {
	*bubble.Attempt
	lock    recipes.RWLock
	session *zktest.Session
}

func read(ctx context.Context, v recipes.Variant[recipes.RWLock], s *zktest.Session, o recipes.Options) client {
	l := v.New(s, bubble.Dir, o)
	return client{bubble.Begin(func() (recipes.Grant, error) { return l.AcquireRead(ctx) }), l, s}
}

func write(ctx context.Context, v recipes.Variant[recipes.RWLock], s *zktest.Session, o recipes.Options) client {
	l := v.New(s, bubble.Dir, o)
	return client{bubble.Begin(func() (recipes.Grant, error) { return l.AcquireWrite(ctx) }), l, s}
}

// kazoo #649: a reader that waits for a writer behind it waits forever.
func TestAReaderIgnoresTheWritersBehindIt(t *testing.T) {
	bubble.Each(t, lock.RWVariants(), func(t *testing.T, v recipes.Variant[recipes.RWLock], ens *zktest.Ensemble) {
		w1 := write(t.Context(), v, ens.Dial(), recipes.Options{})
		r := read(t.Context(), v, ens.Dial(), recipes.Options{})
		w2 := write(t.Context(), v, ens.Dial(), recipes.Options{})
		bubble.Expect(t, "the reader", r, "waits")
		bubble.OK(t, "Release()", w1.lock.Release(t.Context()))
		bubble.Expect(t, "the reader after the release", r, "holds")
		bubble.Expect(t, "the writer behind it", w2, "waits")
		bubble.OK(t, "Release()", r.lock.Release(t.Context()))
		bubble.Expect(t, "the writer after the reader", w2, "holds")
		if !(w1.Grant.Token < r.Grant.Token && r.Grant.Token < w2.Grant.Token) {
			t.Errorf("tokens %d, %d, %d do not follow the queue", w1.Grant.Token, r.Grant.Token, w2.Grant.Token)
		}
	})
}

func TestAReaderBehindAWaitingWriterWaits(t *testing.T) {
	bubble.Each(t, lock.RWVariants(), func(t *testing.T, v recipes.Variant[recipes.RWLock], ens *zktest.Ensemble) {
		r1 := read(t.Context(), v, ens.Dial(), recipes.Options{})
		r2 := read(t.Context(), v, ens.Dial(), recipes.Options{})
		bubble.Expect(t, "beside a reader", r2, "holds")
		w := write(t.Context(), v, ens.Dial(), recipes.Options{})
		late := read(t.Context(), v, ens.Dial(), recipes.Options{})
		bubble.Expect(t, "behind the waiting writer", late, "waits")
		bubble.OK(t, "Release()", r2.lock.Release(t.Context()))
		bubble.Expect(t, "the writer, while one reads", w, "waits")
		bubble.OK(t, "Release()", r1.lock.Release(t.Context()))
		bubble.Expect(t, "the writer", w, "holds")
		bubble.OK(t, "Release()", w.lock.Release(t.Context()))
		bubble.Expect(t, "the late reader", late, "holds")
	})
}

// CURATOR-621: a downgraded reader must keep its place in the queue. Otherwise a writer that queued in the meantime would hold together with it.
func TestADowngradeKeepsItsPlace(t *testing.T) {
	bubble.Each(t, lock.RWVariants(), func(t *testing.T, v recipes.Variant[recipes.RWLock], ens *zktest.Ensemble) {
		w := write(t.Context(), v, ens.Dial(), recipes.Options{})
		queued := write(t.Context(), v, ens.Dial(), recipes.Options{})
		late := read(t.Context(), v, ens.Dial(), recipes.Options{})
		g, err := w.lock.Downgrade(t.Context())
		bubble.OK(t, "Downgrade()", err)
		bubble.Expect(t, "the queued writer", queued, "waits")
		bubble.Expect(t, "the reader behind it", late, "waits")
		if g.Token != w.Grant.Token {
			t.Errorf("token %d after the downgrade, want the writer's %d", g.Token, w.Grant.Token)
		}
		bubble.OK(t, "Release()", w.lock.Release(t.Context()))
		bubble.Expect(t, "the queued writer after the release", queued, "holds")
	})
}

func TestADowngradeAffectsOneHandle(t *testing.T) {
	bubble.Each(t, lock.RWVariants(), func(t *testing.T, v recipes.Variant[recipes.RWLock], ens *zktest.Ensemble) {
		w := write(t.Context(), v, ens.Dial(), recipes.Options{})
		other := read(t.Context(), v, w.session, recipes.Options{})
		bubble.Expect(t, "another handle of the same session", other, "waits")
		_, err := w.lock.Downgrade(t.Context())
		bubble.OK(t, "Downgrade()", err)
		bubble.Expect(t, "after the downgrade", other, "holds")
	})
}

func TestADowngradeAcrossTheWrapOfTheCounter(t *testing.T) {
	bubble.Each(t, lock.RWVariants(), func(t *testing.T, v recipes.Variant[recipes.RWLock], ens *zktest.Ensemble) {
		admin := ens.Dial()
		for _, path := range []string{"/locks", bubble.Dir} {
			_, err := admin.Create(t.Context(), path, nil, zk.Persistent)
			bubble.OK(t, "Create()", err)
		}
		ens.SetSequence(bubble.Dir, math.MaxInt32)
		for range 2 {
			w := write(t.Context(), v, ens.Dial(), recipes.Options{})
			queued := write(t.Context(), v, ens.Dial(), recipes.Options{})
			_, err := w.lock.Downgrade(t.Context())
			bubble.OK(t, "Downgrade()", err)
			bubble.Expect(t, "the queued writer", queued, "waits")
			bubble.OK(t, "Release()", w.lock.Release(t.Context()))
			bubble.Expect(t, "the queued writer after the release", queued, "holds")
			bubble.OK(t, "Release()", queued.lock.Release(t.Context()))
		}
	})
}

func TestLostRepliesOfADowngrade(t *testing.T) {
	for _, kind := range []zk.Kind{zk.KindCreate, zk.KindDelete} {
		for _, applied := range []bool{true, false} {
			bubble.Each(t, lock.RWVariants(), func(t *testing.T, v recipes.Variant[recipes.RWLock], ens *zktest.Ensemble) {
				w := write(t.Context(), v, ens.Dial(), recipes.Options{})
				queued := write(t.Context(), v, ens.Dial(), recipes.Options{})
				lost := bubble.LoseOnce(ens, kind, applied, func(string) bool { return true })
				_, err := w.lock.Downgrade(t.Context())
				bubble.OK(t, "Downgrade()", err)
				ens.Hook(nil)
				if n := len(ens.Ephemerals()); n != 2 || !*lost {
					t.Errorf("%d znodes after a lost %v, want the reader's and the writer's", n, kind)
				}
				bubble.Expect(t, "the queued writer", queued, "waits")
				bubble.OK(t, "Release()", w.lock.Release(t.Context()))
				bubble.Expect(t, "the queued writer after the release", queued, "holds")
			})
		}
	}
}

func TestTheDeathOfAReaderInTheMiddle(t *testing.T) {
	bubble.Each(t, lock.RWVariants(), func(t *testing.T, v recipes.Variant[recipes.RWLock], ens *zktest.Ensemble) {
		r1 := read(t.Context(), v, ens.Dial(), recipes.Options{})
		r2 := read(t.Context(), v, ens.Dial(), recipes.Options{})
		w := write(t.Context(), v, ens.Dial(), recipes.Options{})
		late := read(t.Context(), v, ens.Dial(), recipes.Options{})
		ens.Expire(r2.session)
		bubble.Expect(t, "the writer, while another reads", w, "waits")
		bubble.Expect(t, "the reader behind it", late, "waits")
		bubble.OK(t, "Release()", r1.lock.Release(t.Context()))
		bubble.Expect(t, "the writer after the last reader", w, "holds")
	})
}

func TestTheDeathOfAWaitingWriterGrantsNothing(t *testing.T) {
	bubble.Each(t, lock.RWVariants(), func(t *testing.T, v recipes.Variant[recipes.RWLock], ens *zktest.Ensemble) {
		w1 := write(t.Context(), v, ens.Dial(), recipes.Options{})
		w2 := write(t.Context(), v, ens.Dial(), recipes.Options{})
		r := read(t.Context(), v, ens.Dial(), recipes.Options{})
		ens.Expire(w2.session)
		bubble.Expect(t, "the reader, while a writer writes", r, "waits")
		ens.Expire(w1.session)
		bubble.Expect(t, "the reader after the writer's session has expired", r, "holds")
		<-w1.Grant.Lost
		if err := w1.lock.Release(t.Context()); !errors.Is(err, recipes.ErrLockLost) {
			t.Errorf("Release() of the lost writer = %v, want ErrLockLost", err)
		}
		if n := len(ens.Ephemerals()); n != 1 {
			t.Errorf("%d znodes, want only the reader's", n)
		}
	})
}

func TestACancelledReaderOrWriterLeavesNothing(t *testing.T) {
	bubble.Each(t, lock.RWVariants(), func(t *testing.T, v recipes.Variant[recipes.RWLock], ens *zktest.Ensemble) {
		holder := write(t.Context(), v, ens.Dial(), recipes.Options{})
		for _, ask := range []func(context.Context, recipes.Variant[recipes.RWLock], *zktest.Session, recipes.Options) client{read, write} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			given := ask(ctx, v, ens.Dial(), recipes.Options{})
			<-given.Done
			cancel()
			synctest.Wait()
			if !errors.Is(given.Err, context.DeadlineExceeded) {
				t.Errorf("past the deadline: %v, want the context's error", given.Err)
			}
			for _, w := range ens.Watches() {
				if w.Session == given.session.ID() {
					t.Errorf("the cancelled client still watches %s", w.Path)
				}
			}
			if n := len(ens.Ephemerals()); n != 1 {
				t.Errorf("%d znodes, want only the holder's", n)
			}
		}
		bubble.OK(t, "Release()", holder.lock.Release(t.Context()))
	})
}

func TestACreateOfAReaderWhoseReplyIsLost(t *testing.T) {
	for _, layout := range recipes.ReadWriteLayouts {
		for _, applied := range []bool{true, false} {
			bubble.Each(t, lock.RWVariants(), func(t *testing.T, v recipes.Variant[recipes.RWLock], ens *zktest.Ensemble) {
				lost := bubble.LoseOnce(ens, zk.KindCreate, applied, func(path string) bool { return len(path) > len(bubble.Dir) })
				r := read(t.Context(), v, ens.Dial(), recipes.Options{Layout: layout})
				bubble.Expect(t, "after the lost reply", r, "holds")
				if n := len(ens.Ephemerals()); n != 1 || !*lost {
					t.Errorf("layout %s: %d znodes for one grant", layout.Name, n)
				}
				ens.Hook(nil)
				w := write(t.Context(), v, ens.Dial(), recipes.Options{Layout: layout})
				bubble.OK(t, "Release()", r.lock.Release(t.Context()))
				bubble.Expect(t, "a writer behind it", w, "holds")
			})
		}
	}
}

func TestTheWriterBeforeVanishesBetweenListAndWatch(t *testing.T) {
	for _, watch := range lock.RWVariants()[0].Watch {
		bubble.Each(t, lock.RWVariants(), func(t *testing.T, v recipes.Variant[recipes.RWLock], ens *zktest.Ensemble) {
			holder := write(t.Context(), v, ens.Dial(), recipes.Options{})
			o := bubble.At(recipes.PauseListed, func() { bubble.OK(t, "Release()", holder.lock.Release(t.Context())) })
			o.Watch = watch
			r := read(t.Context(), v, ens.Dial(), o)
			bubble.Expect(t, "after the writer vanished, watch="+watch, r, "holds")
		})
	}
}

func TestClientsOfDifferentLayoutsExcludeEachOther(t *testing.T) {
	bubble.Each(t, lock.RWVariants(), func(t *testing.T, v recipes.Variant[recipes.RWLock], ens *zktest.Ensemble) {
		var last *client
		for i := range 12 {
			o := recipes.Options{Layout: recipes.ReadWriteLayouts[i%len(recipes.ReadWriteLayouts)]}
			ask := write
			if i%4 == 1 {
				ask = read
			}
			c := ask(t.Context(), v, ens.Dial(), o)
			if last != nil {
				bubble.Expect(t, fmt.Sprintf("number %d, %s", i, o.Layout.Name), c, "waits")
				bubble.OK(t, "Release()", last.lock.Release(t.Context()))
			}
			bubble.Expect(t, fmt.Sprintf("number %d, alone", i), c, "holds")
			last = &c
		}
	})
}

// The znodes are named as in the other libraries.
func TestNamesOfReadersAndWriters(t *testing.T) {
	const uuid = "????????-????-????-????-????????????"
	hex := strings.Repeat("?", 32)
	for i, names := range [][2]string{
		{"_c_" + uuid + "-__READ__0000000000", "_c_" + uuid + "-__WRIT__0000000001"},
		{hex + "__rlock__0000000000", hex + "__lock__0000000001"},
		{hex + "-R-0000000000", hex + "-W-0000000001"},
	} {
		bubble.Run(t, recipes.ReadWriteLayouts[i].Name, func(t *testing.T, ens *zktest.Ensemble) {
			l := lock.RWVariants()[0].New(ens.Dial(), bubble.Dir, recipes.Options{Layout: recipes.ReadWriteLayouts[i]})
			for side, acquire := range []func(context.Context) (recipes.Grant, error){l.AcquireRead, l.AcquireWrite} {
				g, err := acquire(t.Context())
				bubble.OK(t, "acquire", err)
				bubble.OK(t, "Release()", l.Release(t.Context()))
				if got := g.Path[len(bubble.Dir)+1:]; !matches(names[side], got) {
					t.Errorf("the znode is called %s, want %s", got, names[side])
				}
			}
		})
	}
}

// matches reports whether s matches pattern, in which ? stands for any character.
func matches(pattern, s string) bool {
	if len(pattern) != len(s) {
		return false
	}
	for i := range s {
		if pattern[i] != '?' && pattern[i] != s[i] {
			return false
		}
	}
	return true
}
