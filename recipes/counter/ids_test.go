package counter_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/counter"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// The request that creates the directory of a generator may be lost.
func TestALostCreateOfAGeneratorsDirectoryIsRetried(t *testing.T) {
	for _, v := range counter.IDVariants() {
		bubble.Run(t, v.Name, func(t *testing.T, ens *zktest.Ensemble) {
			lost := bubble.LoseOnce(ens, zk.KindCreate, false, func(path string) bool { return path == bubble.Dir })
			_, err := v.New(ens.Dial(), bubble.Dir, recipes.Options{}).Next(t.Context())
			bubble.OK(t, "Next()", err)
			if !*lost {
				t.Error("no request was lost")
			}
		})
	}
}

// A znode that was created for an id, and whose reply was lost, is removed immediately, not only when the session ends.
func TestALostReplyOfAnIDLeavesNothing(t *testing.T) {
	for _, v := range counter.IDVariants() {
		bubble.Run(t, v.Name, func(t *testing.T, ens *zktest.Ensemble) {
			g := v.New(ens.Dial(), bubble.Dir, recipes.Options{})
			_, err := g.Next(t.Context())
			bubble.OK(t, "Next()", err)
			bubble.LoseOnce(ens, zk.KindCreate, true, func(string) bool { return true })
			_, err = g.Next(t.Context())
			bubble.OK(t, "Next()", err)
			time.Sleep(time.Minute)
			if left := ens.Ephemerals(); len(left) != 0 {
				t.Errorf("left while the session is open: %v", left)
			}
		})
	}
}

func eachGenerator(t *testing.T, test func(*testing.T, recipes.Variant[recipes.IDs], *zktest.Ensemble)) {
	for _, v := range counter.IDVariants() {
		bubble.Run(t, v.Name, func(t *testing.T, ens *zktest.Ensemble) { test(t, v, ens) })
	}
}

func next(t *testing.T, g recipes.IDs) int64 {
	t.Helper()
	id, err := g.Next(t.Context())
	bubble.OK(t, "Next()", err)
	return id
}

// A lost reply costs an id, but no id is returned twice.
func TestALostReplyOfAnID(t *testing.T) {
	eachGenerator(t, func(t *testing.T, v recipes.Variant[recipes.IDs], ens *zktest.Ensemble) {
		g, other := v.New(ens.Dial(), bubble.Dir, recipes.Options{}), v.New(ens.Dial(), bubble.Dir, recipes.Options{})
		last := max(next(t, g), next(t, other))
		for _, kind := range []zk.Kind{zk.KindSet, zk.KindCreate, zk.KindDelete} {
			for _, applied := range []bool{false, true} {
				bubble.LoseOnce(ens, kind, applied, func(string) bool { return true })
				for _, each := range []recipes.IDs{g, other} {
					id := next(t, each)
					if id <= last {
						t.Errorf("%v lost, applied %v: id %d after %d", kind, applied, id, last)
					}
					last = id
				}
			}
		}
		ens.Hook(nil)
	})
}

// When the directory or znode is deleted, generators that count restart, and handles that have returned an id notice it. Czxids continue.
func TestARecreatedGenerator(t *testing.T) {
	eachGenerator(t, func(t *testing.T, v recipes.Variant[recipes.IDs], ens *zktest.Ensemble) {
		admin := ens.Dial()
		g := v.New(ens.Dial(), bubble.Dir, recipes.Options{})
		next(t, g)
		last := next(t, g)
		bubble.OK(t, "Delete()", admin.Delete(t.Context(), bubble.Dir, zk.AnyVersion))
		fresh := next(t, v.New(ens.Dial(), bubble.Dir, recipes.Options{}))
		if v.Name == "id-czxid" {
			if id := next(t, g); fresh <= last || id <= fresh {
				t.Errorf("ids %d and %d after %d", fresh, id, last)
			}
			return
		}
		for range 2 { // the error stays, even when the numbers have passed the last one
			if _, err := g.Next(t.Context()); !errors.Is(err, recipes.ErrIDsRestarted) {
				t.Errorf("Next() = %v, want ErrIDsRestarted", err)
			}
		}
		if v.Name == "id-version" { // deleted and not recreated
			g := v.New(ens.Dial(), bubble.Dir, recipes.Options{})
			next(t, g)
			bubble.OK(t, "Delete()", admin.Delete(t.Context(), bubble.Dir, zk.AnyVersion))
			if _, err := g.Next(t.Context()); !errors.Is(err, recipes.ErrIDsRestarted) {
				t.Errorf("Next() without the znode = %v, want ErrIDsRestarted", err)
			}
		}
	})
}

// numbered is a session whose sequential znodes get greater numbers.
type numbered struct {
	zk.Session
	by int64
}

func (n numbered) Create(ctx context.Context, path string, data []byte, mode zk.Mode) (zk.Created, error) {
	c, err := n.Session.Create(ctx, path, data, mode)
	if err == nil && mode.Sequential() {
		var seq int64
		fmt.Sscanf(c.Path[len(c.Path)-10:], "%d", &seq)
		c.Path = fmt.Sprintf("%s%010d", path, int32(seq+n.by))
	}
	return c, err
}

// The numbers cross the sign without a gap, and end before they would restart.
func TestTheLastIDs(t *testing.T) {
	const last = math.MaxUint32 - 1<<20
	for _, tt := range []struct {
		v     recipes.Variant[recipes.IDs]
		aged  func(zk.Session, int64) zk.Session
		first int64 // id of a new generator, less its age
	}{
		{counter.IDVariants()[0], func(s zk.Session, by int64) zk.Session { return aged{s, int32(by)} }, 1},
		{counter.IDVariants()[1], func(s zk.Session, by int64) zk.Session { return numbered{s, by} }, 1},
	} {
		bubble.Run(t, tt.v.Name+" over the sign", func(t *testing.T, ens *zktest.Ensemble) {
			const age = math.MaxInt32 - 2
			g := tt.v.New(tt.aged(ens.Dial(), age), bubble.Dir, recipes.Options{})
			for i := range int64(5) {
				if id := next(t, g); id != age+tt.first+i {
					t.Errorf("id %d, want %d", id, age+tt.first+i)
				}
			}
		})
		bubble.Run(t, tt.v.Name+" at the end", func(t *testing.T, ens *zktest.Ensemble) {
			g := tt.v.New(tt.aged(ens.Dial(), last-tt.first), bubble.Dir, recipes.Options{})
			if id := next(t, g); id != last {
				t.Errorf("id %d, want %d", id, int64(last))
			}
			before := bubble.Requests(ens)
			for range 3 {
				if _, err := g.Next(t.Context()); !errors.Is(err, recipes.ErrIDsExhausted) {
					t.Errorf("Next() = %v, want ErrIDsExhausted", err)
				}
			}
			if n := bubble.Requests(ens) - before; n > 2 {
				t.Errorf("%d requests after the last id, want at most 2", n)
			}
		})
	}
}

func TestNextAfterTheEndOfItsContextOrSession(t *testing.T) {
	eachGenerator(t, func(t *testing.T, v recipes.Variant[recipes.IDs], ens *zktest.Ensemble) {
		g := v.New(ens.Dial(), bubble.Dir, recipes.Options{})
		last := next(t, g)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := g.Next(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Next() = %v, want the context's error", err)
		}
		if id := next(t, g); id <= last {
			t.Errorf("id %d after %d", id, last)
		}
		s := ens.Dial()
		over := v.New(s, bubble.Dir, recipes.Options{})
		s.Close()
		if _, err := over.Next(t.Context()); !errors.Is(err, zk.ErrClosed) {
			t.Errorf("Next() of a session that is closed = %v, want ErrClosed", err)
		}
	})
}
