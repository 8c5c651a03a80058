package bench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/zkbench/zkbench/bench/root"
	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/zk"
)

// prefill is the znodes that are there beside those of the cells, and the watches on them.
type prefill struct {
	watchers
	znodes int
	took   time.Duration
	bytes  int64 // of all data of the servers, as they estimate it; 0: none tells
}

// fill makes so many znodes, unless they are there, and removes those of another number.
func (r *runner) fill(ctx context.Context, n int) error {
	if n == r.filled.znodes {
		return nil
	}
	ctx, end := r.bounded(ctx, r.stop)
	defer end()
	r.tell(fmt.Sprintf("prefill: %s", phrase.Count(n, "znode")))
	dir, began := r.Root+"/"+root.PrefillName, time.Now()
	r.filled.close()
	r.filled = prefill{}
	err := r.setUp(ctx, func(s zk.Session) error {
		began = time.Now()
		if err := r.home.RemoveBelow(ctx, s, dir, nil); err != nil || n == 0 {
			return err
		}
		return grow(ctx, s, dir, n, r.profile.PrefillDepth, make([]byte, r.profile.PrefillSize))
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

// grow makes a tree of n znodes below dir, each of them with as many children as it takes for so many levels: the children of the i-th, in the
// order of levels, are i*fan+1 to i*fan+fan, and dir is number 0. Those of a level are made by several transactions at a time.
func grow(ctx context.Context, s zk.Session, dir string, n, depth int, data []byte) error {
	fan := fanFor(n, depth)
	if _, err := s.Create(ctx, dir, nil, zk.Persistent); err != nil {
		return err
	}
	for first, width := 1, fan; first <= n; first, width = first+width, width*fan {
		last := min(first+width-1, n)
		const chunk = 5000
		errs := make([]error, (last-first)/chunk+1)
		inParallel(len(errs), 8, func(c int) {
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

// grown is the path of the i-th znode below the directory.
func grown(i, fan int) string {
	if i == 0 {
		return ""
	}
	return grown((i-1)/fan, fan) + "/p" + strconv.Itoa(i)
}

// fanFor is the least number of children with which so many levels have n znodes.
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

// removal is how long the removal of the most znodes of a prefill may take, at 2,000 a second.
func (r *runner) removal() time.Duration {
	most := 0
	for _, n := range r.profile.Prefill {
		most = max(most, n)
	}
	return time.Duration(most) * time.Second / 2000
}

// prefill is how many znodes are there beside those of the cell.
func (s spec) prefill() int {
	if len(s.point.Prefill) == 0 {
		return 0
	}
	return s.point.Prefill[0]
}

// filledNote says what was there beside the cell's own.
func (c *cell) filledNote() []string {
	f := c.filled
	if f.znodes == 0 {
		return nil
	}
	note := fmt.Sprintf("%s of %s each existed before the load, in %s, created in %s", phrase.Count(f.znodes, "znode"), phrase.Bytes(int64(c.profile.PrefillSize)),
		phrase.Count(c.profile.PrefillDepth, "level"), phrase.Duration(f.took)) + f.note()
	if f.bytes > 0 {
		note += fmt.Sprintf("; the servers then held about %s, which is what a snapshot takes", phrase.Bytes(f.bytes))
	}
	return []string{note}
}
