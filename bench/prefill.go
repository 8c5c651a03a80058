package bench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/zkbench/zkbench/bench/load"
	"github.com/zkbench/zkbench/bench/root"
	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/zk"
)

// prefill describes the znodes that exist in addition to those of the cells, and the watches on them.
type prefill struct {
	watchers
	znodes int
	took   time.Duration
	bytes  int64 // of all data of the servers, as they estimate it; 0 if none reports it
}

// fill creates n znodes, unless they exist, and removes a prefill of another size.
func (r *runner) fill(ctx context.Context, n int) error {
	if n == r.filled.znodes {
		return nil
	}
	ctx, end := r.failure.Bounded(ctx, r.stop)
	defer end()
	r.load.Tell(fmt.Sprintf("prefill: %s", phrase.Count(n, "znode")))
	dir, began := r.Root+"/"+root.PrefillName, time.Now()
	r.filled.close()
	r.filled = prefill{}
	err := r.target.SetUp(ctx, func(s zk.Session) error {
		began = time.Now()
		if err := r.target.Home.RemoveBelow(ctx, s, dir, nil); err != nil || n == 0 {
			return err
		}
		return grow(ctx, s, dir, n, r.target.Profile.PrefillDepth, make([]byte, r.target.Profile.PrefillSize))
	})
	if err != nil {
		return r.cause(fmt.Errorf("prefill: %w", err))
	}
	r.filled = prefill{znodes: n, took: time.Since(began)}
	if err := r.watchPrefill(ctx, n); err != nil {
		return r.cause(fmt.Errorf("prefill: watches: %w", err))
	}
	for _, st := range r.Ensemble.Stats(ctx) {
		r.filled.bytes = max(r.filled.bytes, st.DataSize)
	}
	return nil
}

// grow creates a tree of n znodes below dir, each with as many children as it takes for depth levels. The children of the i-th znode, in the
// order of levels, are i*fan+1 to i*fan+fan, and dir is number 0. Several transactions at a time create the znodes of a level.
func grow(ctx context.Context, s zk.Session, dir string, n, depth int, data []byte) error {
	fan := fanFor(n, depth)
	if _, err := s.Create(ctx, dir, nil, zk.Persistent); err != nil {
		return err
	}
	for first, width := 1, fan; first <= n; first, width = first+width, width*fan {
		last := min(first+width-1, n)
		const chunk = 5000
		errs := make([]error, (last-first)/chunk+1)
		load.InParallel(len(errs), 8, func(c int) {
			errs[c] = zk.InBatches(ctx, s, func(yield func(zk.Op) bool) {
				for i := first + c*chunk; i <= min(first+(c+1)*chunk-1, last); i++ {
					if !yield(zk.CreateOp(dir+grown(i, fan), data, zk.Persistent)) {
						return
					}
				}
			})
		})
		if err := errors.Join(errs...); err != nil {
			return err
		}
	}
	return nil
}

// grown returns the path of the i-th znode, relative to the directory.
func grown(i, fan int) string {
	if i == 0 {
		return ""
	}
	return grown((i-1)/fan, fan) + "/p" + strconv.Itoa(i)
}

// fanFor returns the smallest number of children with which depth levels have n znodes.
func fanFor(n, depth int) int {
	for fan := 1; ; fan++ {
		sum, width := 0, 1
		for range depth {
			width *= fan
			if sum += width; sum >= n {
				return fan
			}
		}
	}
}

// removal returns how long the removal of the largest prefill may take, at 2,000 znodes a second.
func (r *runner) removal() time.Duration {
	most := 0
	for _, n := range r.target.Profile.Prefill {
		most = max(most, n)
	}
	return time.Duration(most) * time.Second / 2000
}

// filledNote describes the znodes that existed in addition to the cell's own.
func (r *runner) filledNote() string {
	f := r.filled
	if f.znodes == 0 {
		return ""
	}
	note := fmt.Sprintf("%s of %s each existed before the load, in %s, created in %s", phrase.Count(f.znodes, "znode"), phrase.Bytes(int64(r.target.Profile.PrefillSize)),
		phrase.Count(r.target.Profile.PrefillDepth, "level"), phrase.Duration(f.took)) + f.note()
	if f.bytes > 0 {
		note += fmt.Sprintf("; the servers then held about %s, which is what a snapshot takes", phrase.Bytes(f.bytes))
	}
	return note
}
