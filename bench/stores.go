package bench

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkbench/zkbench/drivers/stores"
	"github.com/zkbench/zkbench/internal/phrase"
)

// store describes the servers of a store other than ZooKeeper in which drivers of the run keep their locks.
type store struct {
	addresses []string
	started   *stores.Servers // nil if the servers were given
}

// needStores finds the servers that the drivers need, or starts them. Those started for an earlier ensemble of the run are still running.
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
		r.load.Tell(fmt.Sprintf("%s of %s %s started for the run", phrase.Count(n, "server"), kind, started.Version))
	}
	return nil
}

// closeStores stops the servers that were started.
func (r *runner) closeStores() (err error) {
	for _, s := range r.stores {
		if s.started != nil {
			err = errors.Join(err, s.started.Close())
		}
	}
	return err
}

// text returns the part of a driver's note that says where its locks are.
func (s *store) text(kind string) string {
	if s.started == nil {
		return fmt.Sprintf("its locks are in %s of %s that were given", phrase.Count(len(s.addresses), "server"), kind)
	}
	return fmt.Sprintf("its locks are in %s %s, of which %s started for the run", kind, s.started.Version, phrase.Count(len(s.addresses), "server"))
}
