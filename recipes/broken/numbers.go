package broken

import (
	"context"
	"errors"
	"strconv"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

const uniqueNumbers, numberOrder, total = "unique-numbers", "number-order", "total"

// tally is the counter in its shortest right form, cut into steps: a defect is one step replaced.
type tally struct {
	s    zk.Session
	path string
	tallySteps
}

type tallySteps struct {
	// write replaces the value that was read with its version.
	write func(ctx context.Context, c *tally, value string, read zk.Stat) error
	// doubt says what a write was whose reply was lost.
	doubt func(ctx context.Context, c *tally, value int64, err error) error
	// given is the value that the caller is told.
	given func(ctx context.Context, c *tally, after int64) int64
}

func rightTally() tallySteps {
	return tallySteps{
		write: func(ctx context.Context, c *tally, value string, read zk.Stat) error {
			_, err := c.s.Set(ctx, c.path, []byte(value), read.Version)
			return err
		},
		doubt: func(_ context.Context, _ *tally, _ int64, err error) error {
			return errors.Join(recipes.ErrInDoubt, err)
		},
		given: func(_ context.Context, _ *tally, after int64) int64 { return after },
	}
}

// Value is described at recipes.Counter.
func (c *tally) Value(ctx context.Context) (int64, error) {
	n, _, err := c.read(ctx)
	return n, err
}

func (c *tally) read(ctx context.Context) (int64, zk.Stat, error) {
	data, st, err := c.s.Get(ctx, c.path)
	if err != nil || len(data) == 0 {
		return 0, st, err
	}
	n, err := strconv.ParseInt(string(data), 10, 64)
	return n, st, err
}

// Add is described at recipes.Counter, less the defect.
func (c *tally) Add(ctx context.Context, delta int64) (recipes.Count, error) {
	for attempts := 1; ; attempts++ {
		n, st, err := c.read(ctx)
		if err != nil {
			return recipes.Count{}, err
		}
		err = c.write(ctx, c, strconv.FormatInt(n+delta, 10), st)
		if errors.Is(err, zk.ErrMaybeApplied) {
			err = c.doubt(ctx, c, n+delta, err)
		}
		if errors.Is(err, zk.ErrBadVersion) {
			continue
		}
		return recipes.Count{Value: c.given(ctx, c, n+delta), Attempts: attempts}, err
	}
}

func tallying(caught, name, doc string, fault func(*tallySteps)) Defect[recipes.Counter] {
	return Defect[recipes.Counter]{Caught: caught, Variant: recipes.Variant[recipes.Counter]{
		Name: "broken-" + name, Source: "a test", Doc: doc, Unsafe: true,
		New: func(s zk.Session, path string, _ recipes.Options) recipes.Counter {
			c := &tally{s, path, rightTally()}
			fault(&c.tallySteps)
			return c
		}}}
}

// Counters is the counters with a defect.
var Counters = []Defect[recipes.Counter]{
	tallying(total, "any-version", "writes whatever the version is, over what others have added", func(s *tallySteps) {
		s.write = func(ctx context.Context, c *tally, value string, _ zk.Stat) error {
			_, err := c.s.Set(ctx, c.path, []byte(value), zk.AnyVersion)
			return err
		}
	}),
	tallying(total, "adds-again", "adds again when the reply is lost, to what it finds", func(s *tallySteps) {
		s.doubt = func(context.Context, *tally, int64, error) error { return zk.ErrBadVersion }
	}),
	tallying(total, "takes-another's", "takes another's write for its own whose reply was lost", func(s *tallySteps) {
		s.doubt = func(ctx context.Context, c *tally, value int64, err error) error {
			if n, errRead := c.Value(ctx); errRead == nil && n < value {
				return zk.ErrBadVersion // it is not there
			}
			return nil
		}
	}),
	tallying(total, "hides-doubt", "says that an addition in doubt was not made", func(s *tallySteps) {
		s.doubt = func(context.Context, *tally, int64, error) error { return errors.New("no reply") }
	}),
	tallying(uniqueNumbers, "stale-value", "reads the value again after the write, when others have written", func(s *tallySteps) {
		s.given = func(ctx context.Context, c *tally, after int64) int64 {
			if n, err := c.Value(ctx); err == nil {
				return n
			}
			return after
		}
	}),
}

// ids is a generator in its shortest form.
type ids struct{ next drawing }

type drawing = func(context.Context) (int64, error)

// Next is described at recipes.IDs, less the defect.
func (g ids) Next(ctx context.Context) (int64, error) { return g.next(ctx) }

func generator(caught, name, doc string, next func(s zk.Session, path string) drawing) Defect[recipes.IDs] {
	return Defect[recipes.IDs]{Caught: caught, Variant: recipes.Variant[recipes.IDs]{
		Name: "broken-" + name, Source: "a test", Doc: doc, Unsafe: true,
		New: func(s zk.Session, path string, _ recipes.Options) recipes.IDs { return ids{next(s, path)} }}}
}

// Generators is the generators of ids with a defect.
var Generators = []Defect[recipes.IDs]{
	generator(uniqueNumbers, "reads-after",
		"writes, and reads the version afterwards, which may be another's", func(s zk.Session, path string) drawing {
			return func(ctx context.Context) (int64, error) {
				if _, err := s.Set(ctx, path, nil, zk.AnyVersion); err != nil {
					return 0, err
				}
				_, st, err := s.Get(ctx, path)
				return int64(st.Version), err
			}
		}),
	generator(numberOrder, "hoards",
		"draws blocks of ten and gives them one after the other, so that later ones are not greater", func(s zk.Session, path string) drawing {
			var block, used int64
			return func(ctx context.Context) (int64, error) {
				if used++; block != 0 && used < 10 {
					if err := s.Sync(ctx, path); err != nil { // takes as long as a draw
						return 0, err
					}
				} else {
					st, err := s.Set(ctx, path, nil, zk.AnyVersion)
					if err != nil {
						return 0, err
					}
					block, used = int64(st.Version), 0
				}
				return block*10 + used, nil
			}
		}),
	generator(nothingLeft, "keeps-znodes",
		"does not delete the znodes whose numbers it has taken", func(s zk.Session, path string) drawing {
			return func(ctx context.Context) (int64, error) {
				c, err := s.Create(ctx, path+"/id-", nil, zk.PersistentSequential)
				if err != nil {
					return 0, err
				}
				return strconv.ParseInt(c.Path[len(c.Path)-10:], 10, 64)
			}
		}),
}
