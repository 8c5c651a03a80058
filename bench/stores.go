package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkbench/zkbench/drivers"
	"github.com/zkbench/zkbench/drivers/stores"
	"github.com/zkbench/zkbench/internal/phrase"
)

// store is the servers of another store than ZooKeeper that drivers of the run keep their locks in.
type store struct {
	addresses []string
	started   *stores.Servers // for the run; nil: they were given
}

// needStores finds the servers that the drivers need, or starts them. Those of an earlier ensemble of the run are there already.
func (r *runner) needStores(ctx context.Context) error {
	most := map[string]int{}
	for _, hello := range r.hellos {
		if stores.Known(hello.Store) {
			most[hello.Store] = max(most[hello.Store], hello.Servers, 1)
		}
	}
	for kind, n := range most {
		if r.stores[kind] != nil {
			continue
		}
		if given := r.Stores[kind]; len(given) > 0 {
			if len(given) < n {
				return fmt.Errorf("a driver needs %s of %s, but --%s names %d", phrase.Count(n, "server"), kind, kind, len(given))
			}
			r.stores[kind] = &store{addresses: given}
			continue
		}
		started, err := stores.Start(ctx, kind, n)
		if err != nil {
			return err
		}
		r.stores[kind] = &store{started.Addresses(), started}
		r.tell(fmt.Sprintf("%s of %s %s started for the run", phrase.Count(n, "server"), kind, started.Version))
	}
	return nil
}

// closeStores ends the servers that were started.
func (r *runner) closeStores() (err error) {
	for _, s := range r.stores {
		if s.started != nil {
			err = errors.Join(err, s.started.Close())
		}
	}
	return err
}

// serversOf are the servers that the sessions of a driver are opened to.
func (c *cell) serversOf(hello drivers.Hello) []string {
	if s := c.stores[hello.Store]; s != nil {
		return s.addresses
	}
	return c.addresses()
}

// text says of a driver's note where its locks are.
func (s *store) text(kind string) string {
	if s.started == nil {
		return fmt.Sprintf("its locks are in %s of %s that were given", phrase.Count(len(s.addresses), "server"), kind)
	}
	return fmt.Sprintf("its locks are in %s %s, of which %s started for the run", kind, s.started.Version, phrase.Count(len(s.addresses), "server"))
}

// markStore is what the servers of the store of a cell's driver have used; those that were started for the run.
func (c *cell) markStore() usages {
	s := c.stores[c.hello.Store]
	if s == nil || s.started == nil {
		return nil
	}
	return usagesOf(s.started.PIDs())
}

// perOp is a time by what was done, in microseconds; nil where it is not known.
func perOp(used time.Duration, known bool, done int64) *float64 {
	if !known || done == 0 {
		return nil
	}
	return new(float64(used.Nanoseconds()) / 1e3 / float64(done))
}
