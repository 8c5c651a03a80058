package broken

import (
	"context"
	"errors"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// copied is the cache of a setting in its shortest right form, cut into steps: a defect is one step replaced.
type copied struct {
	s    zk.Session
	path string
	copiedSteps
}

type copiedSteps struct {
	// doubt says what a write was whose reply was lost; nil: try again.
	doubt func(err error) error
	// read is the setting, with a watch.
	read func(ctx context.Context, c *copied) (recipes.Setting, *zk.Watch, error)
	// given is the setting that the caller is given.
	given func(s recipes.Setting) recipes.Setting
	// woken is called after an event.
	woken func(ctx context.Context, c *copied) error
}

func rightCopied() copiedSteps {
	return copiedSteps{
		doubt: func(err error) error { return errors.Join(recipes.ErrInDoubt, err) },
		read: func(ctx context.Context, c *copied) (recipes.Setting, *zk.Watch, error) {
			data, st, w, err := c.s.GetW(ctx, c.path)
			return recipes.Setting{Data: data, Exists: true, Token: st.Mzxid, Version: st.Version, Czxid: st.Czxid}, w, err
		},
		given: func(s recipes.Setting) recipes.Setting { return s },
		woken: func(context.Context, *copied) error { return nil },
	}
}

// Set is described at recipes.Config, less the defect.
func (c *copied) Set(ctx context.Context, data []byte) (int64, error) {
	for {
		st, err := c.s.Set(ctx, c.path, data, zk.AnyVersion)
		if !errors.Is(err, zk.ErrMaybeApplied) {
			return st.Mzxid, err
		}
		if err = c.doubt(err); err != nil {
			return 0, err
		}
	}
}

// Watch is described at recipes.Config, less the defect.
func (c *copied) Watch(ctx context.Context, last recipes.Setting) (recipes.Setting, error) {
	for {
		is, w, err := c.read(ctx, c)
		if err != nil {
			return recipes.Setting{}, err
		}
		if is.Token > last.Token {
			w.Stop()
			return c.given(is), nil
		}
		if err := event(ctx, w); err != nil {
			return recipes.Setting{}, err
		}
		if err := c.woken(ctx, c); err != nil {
			return recipes.Setting{}, err
		}
	}
}

// Stop is described at recipes.Config; nothing stays armed.
func (c *copied) Stop() {}

func copying(caught, name, doc string, fault func(*copiedSteps)) Defect[recipes.Config] {
	return Defect[recipes.Config]{Caught: caught, Variant: recipes.Variant[recipes.Config]{
		Name: "broken-" + name, Source: "a test", Doc: doc, Unsafe: true,
		New: func(s zk.Session, path string, _ recipes.Options) recipes.Config {
			c := &copied{s, path, rightCopied()}
			fault(&c.copiedSteps)
			return c
		}}}
}

// Configs is the caches of a setting with a defect.
var Configs = []Defect[recipes.Config]{
	copying(writtenValues, "torn", "reads the version and then the data, which may be of another one", func(s *copiedSteps) {
		s.read = func(ctx context.Context, c *copied) (recipes.Setting, *zk.Watch, error) {
			st, _, w, err := c.s.ExistsW(ctx, c.path)
			if err != nil {
				return recipes.Setting{}, nil, err
			}
			data, _, err := c.s.Get(ctx, c.path)
			return recipes.Setting{Data: data, Exists: true, Token: st.Mzxid, Version: st.Version, Czxid: st.Czxid}, w, err
		}
	}),
	copying(writtenValues, "writes-again", "writes again when the reply is lost, over what others have written since", func(s *copiedSteps) {
		s.doubt = func(error) error { return nil }
	}),
	copying(viewOrder, "goes-back", "gives the last version again after a newer one, as of a server that lags behind", func(s *copiedSteps) {
		var last recipes.Setting
		n := 0
		s.given = func(is recipes.Setting) recipes.Setting {
			if n++; n%5 == 0 {
				return last
			}
			last = is
			return is
		}
	}),
	copying(convergence, "arms-late", "arms its watch after it has read, and does not see what is written in between", func(s *copiedSteps) {
		read := s.read
		s.read = func(ctx context.Context, c *copied) (recipes.Setting, *zk.Watch, error) {
			is, w, err := read(ctx, c)
			if err != nil {
				return is, nil, err
			}
			w.Stop()
			_, _, w, err = c.s.ExistsW(ctx, c.path)
			return is, w, err
		}
	}),
	copying(convergence, "drops-late",
		"waits for the next event where one follows another too soon, so that it never sees the last of a burst", func(s *copiedSteps) {
			var last time.Time
			s.woken = func(ctx context.Context, c *copied) error {
				if time.Since(last) > 20*time.Millisecond {
					last = time.Now()
					return nil
				}
				_, _, w, err := c.s.GetW(ctx, c.path)
				if err != nil {
					return err
				}
				return event(ctx, w)
			}
		}),
}
