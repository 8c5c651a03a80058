package broken

import (
	"context"
	"errors"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/counter"
	"github.com/zkbench/zkbench/zk"
)

// tally contains the parts of the counter that can be replaced.
type tally struct {
	*altered
	recipes.Counter // the real one
	given           func(ctx context.Context, after int64) int64
}

// Add calls the counter's Add, and lets the defect replace the value.
func (c *tally) Add(ctx context.Context, delta int64) (recipes.Count, error) {
	n, err := c.Counter.Add(ctx, delta)
	if err == nil && c.given != nil {
		n.Value, n.Token = c.given(ctx, n.Value), 0
	}
	return n, err
}

func tallying(caught, name, doc string, fault func(*tally)) Defect[recipes.Counter] {
	d := defective[recipes.Counter](caught, name, doc)
	d.Counts = true
	d.New = func(s zk.Session, path string, o recipes.Options) recipes.Counter {
		c := &tally{altered: over(s)}
		fault(c)
		c.Counter = counter.Variants()[0].New(c.altered, path, o)
		return c
	}
	return d
}

// lost replaces what happens after a write whose reply was lost.
func lost(end func(ctx context.Context, c *tally, data []byte) error) func(*tally) {
	return func(c *tally) {
		c.set = func(ctx context.Context, path string, data []byte, version int32) (zk.Stat, error) {
			st, err := c.Session.Set(ctx, path, data, version)
			if errors.Is(err, zk.ErrMaybeApplied) {
				err = end(ctx, c, data)
			}
			return st, err
		}
	}
}

// Counters are the counters with a defect.
var Counters = []Defect[recipes.Counter]{
	tallying(total, "any-version", "writes whatever the version is, over what others have added", func(c *tally) {
		c.set = func(ctx context.Context, path string, data []byte, _ int32) (zk.Stat, error) {
			return c.Session.Set(ctx, path, data, zk.AnyVersion)
		}
	}),
	tallying(total, "adds-again", "adds again when the reply is lost, to what it finds",
		lost(func(context.Context, *tally, []byte) error { return zk.ErrBadVersion })),
	tallying(total, "takes-anothers", "takes another's write for its own whose reply was lost", lost(func(ctx context.Context, c *tally, data []byte) error {
		var want int64
		for _, digit := range data {
			if digit < '0' || digit > '9' {
				break
			}
			want = want*10 + int64(digit-'0')
		}
		if n, err := c.Counter.Value(ctx); err == nil && n < want {
			return zk.ErrBadVersion // it is not there
		}
		return nil
	})),
	tallying(total, "hides-doubt", "says that an addition in doubt was not made",
		lost(func(context.Context, *tally, []byte) error { return zk.ErrRolledBack })),
	tallying(uniqueNumbers, "one-twice", "gives two callers in five hundred the same value", func(c *tally) {
		c.given = func(_ context.Context, after int64) int64 {
			if after%500 == 0 {
				return after - 1
			}
			return after
		}
	}),
	tallying(uniqueNumbers, "stale-value", "reads the value again after the write, when others have written", func(c *tally) {
		c.given = func(ctx context.Context, after int64) int64 {
			if n, err := c.Counter.Value(ctx); err == nil {
				return n
			}
			return after
		}
	}),
}

// ids contains the parts of a generator that can be replaced.
type ids struct {
	*altered
	recipes.IDs // the real one
	next        func(ctx context.Context) (int64, error)
}

// Next calls the generator's Next, or its replacement.
func (g *ids) Next(ctx context.Context) (int64, error) {
	if g.next != nil {
		return g.next(ctx)
	}
	return g.IDs.Next(ctx)
}

func generating(caught, name, doc, of string, fault func(*ids)) Defect[recipes.IDs] {
	d := defective[recipes.IDs](caught, name, doc)
	d.New = func(s zk.Session, path string, o recipes.Options) recipes.IDs {
		g := &ids{altered: over(s)}
		fault(g)
		v, _ := recipes.Find(counter.IDVariants(), of)
		g.IDs = v.New(g.altered, path, o)
		return g
	}
	return d
}

// Generators are the generators of ids with a defect.
var Generators = []Defect[recipes.IDs]{
	generating(uniqueNumbers, "reads-after", "writes, and reads the version afterwards, which may be another's", "id-version", func(g *ids) {
		g.set = func(ctx context.Context, path string, data []byte, version int32) (zk.Stat, error) {
			if st, err := g.Session.Set(ctx, path, data, version); err != nil {
				return st, err
			}
			_, st, err := g.Session.Get(ctx, path)
			return st, err
		}
	}),
	generating(numberOrder, "hoards", "draws blocks of ten and gives them one after the other, so that later ones are not greater", "id-version",
		func(g *ids) {
			var block, used int64
			g.next = func(ctx context.Context) (n int64, err error) {
				if used++; block != 0 && used < 10 {
					err = g.Sync(ctx, "/") // takes as long as a draw
				} else if n, err = g.IDs.Next(ctx); err == nil {
					block, used = n, 0
				}
				return block*10 + used, err
			}
		}),
	generating(nothingLeft, "keeps-znodes", "does not delete the znodes whose numbers it has taken", "id-sequential", func(g *ids) {
		g.outliving()
		g.remove = func(context.Context, string, int32) error { return nil }
	}),
}
