package recipes_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// sharedSuite is what every read/write lock of the catalogue must do.
func sharedSuite(t *testing.T, v recipes.Variant[recipes.RWLock], dial func(*testing.T) zk.Session, dir string) {
	ctx := t.Context()
	t.Run("eight clients, nine reads to a write", func(t *testing.T) {
		const clients, rounds = 8, 100
		var readers, writers atomic.Int64
		var all sync.WaitGroup
		for c := range clients {
			l := v.New(dial(t), dir, recipes.Options{})
			r := rand.New(rand.NewPCG(7, uint64(c)))
			all.Go(func() {
				for range rounds {
					var err error
					if reads := r.Float64() < 0.9; reads {
						_, err = l.AcquireRead(ctx)
						readers.Add(1)
						if n := writers.Load(); n != 0 && err == nil {
							t.Errorf("a reader beside %d writers", n)
						}
						readers.Add(-1)
					} else {
						_, err = l.AcquireWrite(ctx)
						if n, m := writers.Add(1), readers.Load(); err == nil && (n != 1 || m != 0) {
							t.Errorf("%d writers beside %d readers", n, m)
						}
						writers.Add(-1)
					}
					if err == nil {
						err = l.Release(ctx)
					}
					if err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		all.Wait()
	})
	t.Run("eight readers at a time", func(t *testing.T) {
		var all []recipes.RWLock
		for range 8 {
			l := v.New(dial(t), dir, recipes.Options{})
			_, err := l.AcquireRead(ctx)
			ok(t, "AcquireRead()", err)
			all = append(all, l)
		}
		for _, l := range all {
			ok(t, "Release()", l.Release(ctx))
		}
	})
	t.Run("a handle holds one grant, and is not upgraded", func(t *testing.T) {
		l := v.New(dial(t), dir, recipes.Options{})
		if err := l.Release(ctx); !errors.Is(err, recipes.ErrNotHeld) {
			t.Errorf("Release() of nothing = %v, want ErrNotHeld", err)
		}
		if _, err := l.Downgrade(ctx); !errors.Is(err, recipes.ErrNotHeld) {
			t.Errorf("Downgrade() of nothing = %v, want ErrNotHeld", err)
		}
		_, err := l.AcquireRead(ctx)
		ok(t, "AcquireRead()", err)
		if _, err := l.AcquireWrite(ctx); !errors.Is(err, recipes.ErrUpgrade) {
			t.Errorf("AcquireWrite() of a reader = %v, want ErrUpgrade", err)
		}
		if _, err := l.Downgrade(ctx); !errors.Is(err, recipes.ErrNotHeld) {
			t.Errorf("Downgrade() of a reader = %v, want ErrNotHeld", err)
		}
		ok(t, "Release()", l.Release(ctx))
		_, err = l.AcquireWrite(ctx)
		ok(t, "AcquireWrite()", err)
		if _, err := l.AcquireRead(ctx); !errors.Is(err, recipes.ErrHeld) {
			t.Errorf("AcquireRead() of a writer = %v, want ErrHeld", err)
		}
		ok(t, "Release()", l.Release(ctx))
	})
	t.Run("a downgrade lets readers in", func(t *testing.T) {
		l, other := v.New(dial(t), dir, recipes.Options{}), v.New(dial(t), dir, recipes.Options{})
		written, err := l.AcquireWrite(ctx)
		ok(t, "AcquireWrite()", err)
		read, err := l.Downgrade(ctx)
		ok(t, "Downgrade()", err)
		if read.Token != written.Token || read.Path == written.Path {
			t.Errorf("the downgrade of %v is %v, want another znode and the same token", written, read)
		}
		_, err = other.AcquireRead(ctx)
		ok(t, "AcquireRead() beside it", err)
		ok(t, "Release()", other.Release(ctx))
		ok(t, "Release()", l.Release(ctx))
	})
}

func TestReadWriteLocksInMemory(t *testing.T) {
	for _, v := range recipes.RWLocks {
		t.Run(v.Name, func(t *testing.T) {
			ens := zktest.New(zktest.Config{})
			sharedSuite(t, v, dialIn(ens), dir)
			if left := ens.Ephemerals(); len(left) != 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func dialIn(ens *zktest.Ensemble) func(*testing.T) zk.Session {
	return func(t *testing.T) zk.Session {
		s := ens.Dial()
		t.Cleanup(func() { s.Close() })
		return s
	}
}

// eachShared runs a test for each read/write lock in a bubble with a fresh ensemble.
func eachShared(t *testing.T, test func(*testing.T, recipes.Variant[recipes.RWLock], *zktest.Ensemble)) {
	for _, v := range recipes.RWLocks {
		bubble(t, v.Name, func(t *testing.T, ens *zktest.Ensemble) { test(t, v, ens) })
	}
}

// client is a handle and its one attempt.
type client struct {
	*attempt
	lock    recipes.RWLock
	session *zktest.Session
}

func read(ctx context.Context, v recipes.Variant[recipes.RWLock], s *zktest.Session, o recipes.Options) client {
	l := v.New(s, dir, o)
	return client{begin(func() (recipes.Grant, error) { return l.AcquireRead(ctx) }), l, s}
}

func write(ctx context.Context, v recipes.Variant[recipes.RWLock], s *zktest.Session, o recipes.Options) client {
	l := v.New(s, dir, o)
	return client{begin(func() (recipes.Grant, error) { return l.AcquireWrite(ctx) }), l, s}
}

// kazoo #649: a reader that took the writer behind it for one before it, and waited for it, would wait for ever.
func TestAReaderIgnoresTheWritersBehindIt(t *testing.T) {
	eachShared(t, func(t *testing.T, v recipes.Variant[recipes.RWLock], ens *zktest.Ensemble) {
		w1 := write(t.Context(), v, ens.Dial(), recipes.Options{})
		r := read(t.Context(), v, ens.Dial(), recipes.Options{})
		w2 := write(t.Context(), v, ens.Dial(), recipes.Options{})
		expect(t, "the reader", r.attempt, "waits")
		ok(t, "Release()", w1.lock.Release(t.Context()))
		expect(t, "the reader after the release", r.attempt, "holds")
		expect(t, "the writer behind it", w2.attempt, "waits")
		ok(t, "Release()", r.lock.Release(t.Context()))
		expect(t, "the writer after the reader", w2.attempt, "holds")
		if !(w1.grant.Token < r.grant.Token && r.grant.Token < w2.grant.Token) {
			t.Errorf("tokens %d, %d, %d do not follow the queue", w1.grant.Token, r.grant.Token, w2.grant.Token)
		}
	})
}

func TestAReaderBehindAWaitingWriterWaits(t *testing.T) {
	eachShared(t, func(t *testing.T, v recipes.Variant[recipes.RWLock], ens *zktest.Ensemble) {
		r1 := read(t.Context(), v, ens.Dial(), recipes.Options{})
		r2 := read(t.Context(), v, ens.Dial(), recipes.Options{})
		expect(t, "beside a reader", r2.attempt, "holds")
		w := write(t.Context(), v, ens.Dial(), recipes.Options{})
		late := read(t.Context(), v, ens.Dial(), recipes.Options{})
		expect(t, "behind the waiting writer", late.attempt, "waits")
		ok(t, "Release()", r2.lock.Release(t.Context()))
		expect(t, "the writer, while one reads", w.attempt, "waits")
		ok(t, "Release()", r1.lock.Release(t.Context()))
		expect(t, "the writer", w.attempt, "holds")
		ok(t, "Release()", w.lock.Release(t.Context()))
		expect(t, "the late reader", late.attempt, "holds")
	})
}

// CURATOR-621: a downgraded reader keeps its place, or a writer that has queued meanwhile is let in beside it.
func TestADowngradeKeepsItsPlace(t *testing.T) {
	eachShared(t, func(t *testing.T, v recipes.Variant[recipes.RWLock], ens *zktest.Ensemble) {
		w := write(t.Context(), v, ens.Dial(), recipes.Options{})
		queued := write(t.Context(), v, ens.Dial(), recipes.Options{})
		late := read(t.Context(), v, ens.Dial(), recipes.Options{})
		g, err := w.lock.Downgrade(t.Context())
		ok(t, "Downgrade()", err)
		expect(t, "the queued writer", queued.attempt, "waits")
		expect(t, "the reader behind it", late.attempt, "waits")
		if g.Token != w.grant.Token {
			t.Errorf("token %d after the downgrade, want the writer's %d", g.Token, w.grant.Token)
		}
		ok(t, "Release()", w.lock.Release(t.Context()))
		expect(t, "the queued writer after the release", queued.attempt, "holds")
	})
}

func TestADowngradeIsOneHandlesAlone(t *testing.T) {
	eachShared(t, func(t *testing.T, v recipes.Variant[recipes.RWLock], ens *zktest.Ensemble) {
		w := write(t.Context(), v, ens.Dial(), recipes.Options{})
		other := read(t.Context(), v, w.session, recipes.Options{})
		expect(t, "another handle of the same session", other.attempt, "waits")
		_, err := w.lock.Downgrade(t.Context())
		ok(t, "Downgrade()", err)
		expect(t, "after the downgrade", other.attempt, "holds")
	})
}

func TestADowngradeAcrossTheWrapOfTheCounter(t *testing.T) {
	eachShared(t, func(t *testing.T, v recipes.Variant[recipes.RWLock], ens *zktest.Ensemble) {
		admin := ens.Dial()
		for _, path := range []string{"/locks", dir} {
			_, err := admin.Create(t.Context(), path, nil, zk.Persistent)
			ok(t, "Create()", err)
		}
		ens.SetSequence(dir, math.MaxInt32)
		for range 2 {
			w := write(t.Context(), v, ens.Dial(), recipes.Options{})
			queued := write(t.Context(), v, ens.Dial(), recipes.Options{})
			_, err := w.lock.Downgrade(t.Context())
			ok(t, "Downgrade()", err)
			expect(t, "the queued writer", queued.attempt, "waits")
			ok(t, "Release()", w.lock.Release(t.Context()))
			expect(t, "the queued writer after the release", queued.attempt, "holds")
			ok(t, "Release()", queued.lock.Release(t.Context()))
		}
	})
}

func TestLostRepliesOfADowngrade(t *testing.T) {
	for _, kind := range []zk.Kind{zk.KindCreate, zk.KindDelete} {
		for _, applied := range []bool{true, false} {
			eachShared(t, func(t *testing.T, v recipes.Variant[recipes.RWLock], ens *zktest.Ensemble) {
				w := write(t.Context(), v, ens.Dial(), recipes.Options{})
				queued := write(t.Context(), v, ens.Dial(), recipes.Options{})
				lost := loseOnce(ens, kind, applied, func(string) bool { return true })
				_, err := w.lock.Downgrade(t.Context())
				ok(t, "Downgrade()", err)
				ens.Hook(nil)
				if n := len(ens.Ephemerals()); n != 2 || !*lost {
					t.Errorf("%d znodes after a lost %v, want the reader's and the writer's", n, kind)
				}
				expect(t, "the queued writer", queued.attempt, "waits")
				ok(t, "Release()", w.lock.Release(t.Context()))
				expect(t, "the queued writer after the release", queued.attempt, "holds")
			})
		}
	}
}

func TestTheDeathOfAReaderInTheMiddle(t *testing.T) {
	eachShared(t, func(t *testing.T, v recipes.Variant[recipes.RWLock], ens *zktest.Ensemble) {
		r1 := read(t.Context(), v, ens.Dial(), recipes.Options{})
		r2 := read(t.Context(), v, ens.Dial(), recipes.Options{})
		w := write(t.Context(), v, ens.Dial(), recipes.Options{})
		late := read(t.Context(), v, ens.Dial(), recipes.Options{})
		ens.Expire(r2.session)
		expect(t, "the writer, while another reads", w.attempt, "waits")
		expect(t, "the reader behind it", late.attempt, "waits")
		ok(t, "Release()", r1.lock.Release(t.Context()))
		expect(t, "the writer after the last reader", w.attempt, "holds")
	})
}

func TestTheDeathOfAWaitingWriterGrantsNothing(t *testing.T) {
	eachShared(t, func(t *testing.T, v recipes.Variant[recipes.RWLock], ens *zktest.Ensemble) {
		w1 := write(t.Context(), v, ens.Dial(), recipes.Options{})
		w2 := write(t.Context(), v, ens.Dial(), recipes.Options{})
		r := read(t.Context(), v, ens.Dial(), recipes.Options{})
		ens.Expire(w2.session)
		expect(t, "the reader, while a writer writes", r.attempt, "waits")
		ens.Expire(w1.session)
		expect(t, "the reader after the writer's session has expired", r.attempt, "holds")
		<-w1.grant.Lost
		if err := w1.lock.Release(t.Context()); !errors.Is(err, recipes.ErrLockLost) {
			t.Errorf("Release() of the lost writer = %v, want ErrLockLost", err)
		}
		if n := len(ens.Ephemerals()); n != 1 {
			t.Errorf("%d znodes, want the reader's alone", n)
		}
	})
}

func TestACancelledReaderOrWriterLeavesNothing(t *testing.T) {
	eachShared(t, func(t *testing.T, v recipes.Variant[recipes.RWLock], ens *zktest.Ensemble) {
		holder := write(t.Context(), v, ens.Dial(), recipes.Options{})
		for _, ask := range []func(context.Context, recipes.Variant[recipes.RWLock], *zktest.Session, recipes.Options) client{read, write} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			given := ask(ctx, v, ens.Dial(), recipes.Options{})
			<-given.done
			cancel()
			synctest.Wait()
			if !errors.Is(given.err, context.DeadlineExceeded) {
				t.Errorf("past the deadline: %v, want the context's error", given.err)
			}
			for _, w := range ens.Watches() {
				if w.Session == given.session.ID() {
					t.Errorf("the one that gave up still watches %s", w.Path)
				}
			}
			if n := len(ens.Ephemerals()); n != 1 {
				t.Errorf("%d znodes, want the holder's alone", n)
			}
		}
		ok(t, "Release()", holder.lock.Release(t.Context()))
	})
}

func TestACreateOfAReaderWhoseReplyIsLost(t *testing.T) {
	for _, layout := range recipes.ReadWriteLayouts {
		for _, applied := range []bool{true, false} {
			eachShared(t, func(t *testing.T, v recipes.Variant[recipes.RWLock], ens *zktest.Ensemble) {
				lost := loseOnce(ens, zk.KindCreate, applied, func(path string) bool { return len(path) > len(dir) })
				r := read(t.Context(), v, ens.Dial(), recipes.Options{Layout: layout})
				expect(t, "after the lost reply", r.attempt, "holds")
				if n := len(ens.Ephemerals()); n != 1 || !*lost {
					t.Errorf("layout %s: %d znodes for one grant", layout.Name(), n)
				}
				ens.Hook(nil)
				w := write(t.Context(), v, ens.Dial(), recipes.Options{Layout: layout})
				ok(t, "Release()", r.lock.Release(t.Context()))
				expect(t, "a writer behind it", w.attempt, "holds")
			})
		}
	}
}

func TestTheWriterBeforeVanishesBetweenListAndWatch(t *testing.T) {
	for _, watch := range recipes.RWLocks[0].Watch {
		eachShared(t, func(t *testing.T, v recipes.Variant[recipes.RWLock], ens *zktest.Ensemble) {
			holder := write(t.Context(), v, ens.Dial(), recipes.Options{})
			o := at(recipes.PauseListed, func() { ok(t, "Release()", holder.lock.Release(t.Context())) })
			o.Watch = watch
			r := read(t.Context(), v, ens.Dial(), o)
			expect(t, "after the writer vanished, watch="+watch, r.attempt, "holds")
		})
	}
}

func TestClientsOfDifferentLayoutsExcludeEachOther(t *testing.T) {
	eachShared(t, func(t *testing.T, v recipes.Variant[recipes.RWLock], ens *zktest.Ensemble) {
		var last *client
		for i := range 12 {
			o := recipes.Options{Layout: recipes.ReadWriteLayouts[i%len(recipes.ReadWriteLayouts)]}
			ask := write
			if i%4 == 1 {
				ask = read
			}
			c := ask(t.Context(), v, ens.Dial(), o)
			if last != nil {
				expect(t, fmt.Sprintf("number %d, %s", i, o.Layout.Name()), c.attempt, "waits")
				ok(t, "Release()", last.lock.Release(t.Context()))
			}
			expect(t, fmt.Sprintf("number %d, alone", i), c.attempt, "holds")
			last = &c
		}
	})
}

// The znodes have the names that the other libraries give theirs.
func TestNamesOfReadersAndWriters(t *testing.T) {
	const uuid = "????????-????-????-????-????????????"
	hex := strings.Repeat("?", 32)
	for i, names := range [][2]string{
		{"_c_" + uuid + "-__READ__0000000000", "_c_" + uuid + "-__WRIT__0000000001"},
		{hex + "__rlock__0000000000", hex + "__lock__0000000001"},
		{hex + "-R-0000000000", hex + "-W-0000000001"},
	} {
		bubble(t, recipes.ReadWriteLayouts[i].Name(), func(t *testing.T, ens *zktest.Ensemble) {
			l := recipes.RWLocks[0].New(ens.Dial(), dir, recipes.Options{Layout: recipes.ReadWriteLayouts[i]})
			for side, acquire := range []func(context.Context) (recipes.Grant, error){l.AcquireRead, l.AcquireWrite} {
				g, err := acquire(t.Context())
				ok(t, "acquire", err)
				ok(t, "Release()", l.Release(t.Context()))
				if got := g.Path[len(dir)+1:]; !matches(names[side], got) {
					t.Errorf("the znode is called %s, want %s", got, names[side])
				}
			}
		})
	}
}

// matches compares with ? for any one letter.
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
