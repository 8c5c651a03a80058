package bare

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// Step is one operation of one session. It takes no context of the loop: the end of its session ends it.
type Step func() error

// Figures is what all loops did after their warm-up.
type Figures struct {
	Done int64         // steps that ended
	Took time.Duration // wall-clock time
	CPU  time.Duration // of this process, user and system
}

// PerSecond returns the rate of the steps.
func (f Figures) PerSecond() float64 { return float64(f.Done) / f.Took.Seconds() }

// CPUPerOp returns the CPU time of a step in microseconds, or 0 if none ended.
func (f Figures) CPUPerOp() float64 {
	if f.Done == 0 {
		return 0
	}
	return float64(f.CPU) / 1e3 / float64(f.Done)
}

// counter counts the steps of one session, on a cache line of its own.
type counter struct {
	atomic.Int64
	_ [56]byte
}

// Loop repeats each step in a goroutine of its own, and measures for the time length after the time warmup. The loops begin spread over the first half of the
// warm-up, in a shuffled order that is always the same, as the sessions of a run do: if all queued for a lock at the same moment, each server would put
// its own sessions next to each other, and hand-offs between sessions of one server take less CPU of client and servers. After the time Loop calls end, which must end
// the sessions and with them the steps in flight, and waits for the loops. The error of any step before that ends all of them, as does the end of ctx. So
// that no step returns without having done anything, a step that succeeds must have made a request.
func Loop(ctx context.Context, steps []Step, warmup, length time.Duration, end func() error) (f Figures, err error) {
	counts := make([]counter, len(steps))
	failed := make(chan error, len(steps))
	stop := make(chan struct{})
	var stopped atomic.Bool
	var all sync.WaitGroup
	random := rand.New(rand.NewPCG(1, 0))
	for i, step := range steps {
		begin := time.Duration(random.Float64() * float64(warmup) / 2)
		all.Go(func() {
			select {
			case <-time.After(begin):
			case <-stop:
			}
			for !stopped.Load() {
				if err := step(); err != nil {
					failed <- err
					return
				}
				counts[i].Add(1)
			}
		})
	}
	wait := func(d time.Duration) error {
		select {
		case <-time.After(d):
			return nil
		case err := <-failed:
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	done := func() (n int64) {
		for i := range counts {
			n += counts[i].Load()
		}
		return n
	}
	if err = wait(warmup); err == nil {
		before, cpu, begun := done(), metrics.CPUTime(), time.Now()
		err = wait(length)
		f = Figures{done() - before, time.Since(begun), metrics.CPUTime() - cpu}
	}
	stopped.Store(true)
	close(stop)
	err = errors.Join(err, end())
	all.Wait()
	return f, err
}

// Locks returns, for each session, the step that acquires and releases one of n locks of a variant, over which the sessions are spread evenly. The paths of
// the locks are those of Paths.
func Locks(ctx context.Context, sessions []zk.Session, v recipes.Variant[recipes.Lock], prefix string, n int) ([]Step, error) {
	paths, err := Paths(ctx, sessions[0], prefix, n, nil)
	if err != nil {
		return nil, err
	}
	steps := make([]Step, len(sessions))
	for i, s := range sessions {
		lock := v.New(s, paths[i%n], recipes.Options{})
		steps[i] = func() error {
			if _, err := lock.Acquire(context.Background()); err != nil {
				return err
			}
			return lock.Release(context.Background())
		}
	}
	return steps, nil
}

// dataBytes is the size of the znodes that Reads reads: the default of the workload operations.
const dataBytes = 100

// Reads returns, for each session, the step that reads one of n znodes of 100 bytes after another. Their paths are those of Paths.
func Reads(ctx context.Context, sessions []zk.Session, prefix string, n int) ([]Step, error) {
	paths, err := Paths(ctx, sessions[0], prefix, n, make([]byte, dataBytes))
	if err != nil {
		return nil, err
	}
	steps := make([]Step, len(sessions))
	for i, s := range sessions {
		next := i
		steps[i] = func() error {
			next++
			_, _, err := s.Get(context.Background(), paths[next%n])
			return err
		}
	}
	return steps, nil
}

// Paths creates persistent znodes with data unless they exist, and returns their n paths: the prefix, which ends with a slash or the start of a name, and
// the numbers from 0.
func Paths(ctx context.Context, s zk.Session, prefix string, n int, data []byte) (paths []string, err error) {
	for i := range n {
		paths = append(paths, prefix+strconv.Itoa(i))
		if _, err := s.Create(ctx, paths[i], data, zk.Persistent); err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return nil, err
		}
	}
	return paths, nil
}
