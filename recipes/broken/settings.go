package broken

import (
	"context"
	"errors"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/setting"
	"github.com/zkbench/zkbench/zk"
)

// copied contains the parts of a setting's cache that can be replaced.
type copied struct {
	recipes.Setting // the real one
	s               *altered
	given           func(recipes.SettingValue) recipes.SettingValue
}

// Watch calls the cache's Watch, and lets the defect replace the value.
func (c *copied) Watch(ctx context.Context, last recipes.SettingValue) (recipes.SettingValue, error) {
	is, err := c.Setting.Watch(ctx, last)
	if err == nil && c.given != nil {
		is = c.given(is)
	}
	return is, err
}

func copying(caught, name, doc string, fault func(*copied)) Defect[recipes.Setting] {
	d := defective[recipes.Setting](caught, name, doc)
	d.New = func(s zk.Session, path string, o recipes.Options) recipes.Setting {
		c := &copied{s: over(s)}
		fault(c)
		c.Setting = setting.Variants()[0].New(c.s, path, o)
		return c
	}
	return d
}

// Configs are the caches of a setting with a defect.
var Configs = []Defect[recipes.Setting]{
	copying(writtenValues, "torn", "reads the version and then the data, which may be of another one", func(c *copied) {
		c.s.getW = func(ctx context.Context, path string) ([]byte, zk.Stat, *zk.Watch, error) {
			st, there, w, err := c.s.Session.ExistsW(ctx, path)
			if err != nil || !there {
				return c.s.Session.GetW(ctx, path)
			}
			data, _, err := c.s.Session.Get(ctx, path)
			return data, st, w, err
		}
	}),
	copying(writtenValues, "writes-again", "writes again when the reply is lost, over what others have written since", func(c *copied) {
		c.s.set = func(ctx context.Context, path string, data []byte, version int32) (zk.Stat, error) {
			for {
				st, err := c.s.Session.Set(ctx, path, data, version)
				if !errors.Is(err, zk.ErrMaybeApplied) || ctx.Err() != nil {
					return st, err
				}
			}
		}
	}),
	copying(viewOrder, "goes-back", "gives the last version again after a newer one, as of a server that lags behind", func(c *copied) {
		c.given = goingBack[recipes.SettingValue]()
	}),
	copying(convergence, "arms-late", "arms its watch after it has read, and does not see what is written in between", func(c *copied) {
		c.s.getW = func(ctx context.Context, path string) ([]byte, zk.Stat, *zk.Watch, error) {
			data, st, err := c.s.Session.Get(ctx, path)
			if err != nil {
				return nil, st, nil, err
			}
			_, _, w, err := c.s.Session.ExistsW(ctx, path)
			return data, st, w, err
		}
	}),
	copying(convergence, "drops-late", "looks once in five seconds at most, and forgets the events in between, so that it never sees the last of a burst",
		func(c *copied) {
			var last time.Time
			c.s.getW = func(ctx context.Context, path string) ([]byte, zk.Stat, *zk.Watch, error) {
				for time.Since(last) < 5*time.Second {
					_, st, w, err := c.s.Session.GetW(ctx, path)
					if err == nil {
						err = event(ctx, w)
					}
					if err != nil {
						return nil, st, nil, err
					}
				}
				last = time.Now()
				return c.s.Session.GetW(ctx, path)
			}
		}),
}
