package calibrate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkbench/zkbench/internal/bare"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/stats"
	"github.com/zkbench/zkbench/zk"
)

// Side carries out a load once, for the time length after the time warmup. It returns the operations per second, and the CPU time of each in microseconds.
type Side func(ctx context.Context, warmup, length time.Duration) (perSecond, cpu float64, err error)

// Pair is a load as a run carries it out, and the same load in a loop that nobody observes.
type Pair struct {
	Load      string
	Bare, Run Side
}

const (
	// level is that of the interval of an own share, and MinPairs the least number of pairs that give one.
	level    = 0.95
	MinPairs = 6
	// warmups is how many times longer a side is than its warm-up.
	warmups = 5
)

// Own measures n pairs of each load. The loads take turns, and so does which side of a pair is first, so that changes over time affect both sides alike.
func Own(ctx context.Context, pairs []Pair, n int, length time.Duration, report func(string)) ([]results.Beside, error) {
	all := make([]results.Beside, len(pairs))
	for run := range n {
		for i, p := range pairs {
			b := &all[i]
			b.Load = p.Load
			sides := []struct {
				name       string
				side       Side
				rates, cpu *[]float64
			}{{"a bare loop", p.Bare, &b.Bare, &b.BareCPU}, {"a run", p.Run, &b.Run, &b.RunCPU}}
			for turn := range sides {
				s := sides[(run+turn)%2]
				report(fmt.Sprintf("zkbench's own share, %s, pair %d of %d: %s", p.Load, run+1, n, s.name))
				rate, cpu, err := s.side(ctx, length/warmups, length)
				if err == nil && rate <= 0 {
					err = fmt.Errorf("nothing was done in %v (a longer --for gives it time)", length)
				}
				if err != nil {
					return nil, fmt.Errorf("%s of %s: %w", s.name, p.Load, err)
				}
				*s.rates, *s.cpu = append(*s.rates, rate), append(*s.cpu, cpu)
			}
		}
	}
	for i := range all {
		all[i].OwnShare = shareOf(all[i])
	}
	return all, nil
}

// shareOf returns the median share of the pairs, with its interval.
func shareOf(b results.Beside) results.OwnShare {
	lost := make([]float64, len(b.Bare))
	for i, rate := range b.Bare {
		lost[i] = 1 - b.Run[i]/rate
	}
	in := stats.MedianInterval(lost, level)
	return results.OwnShare{Load: b.Load, Rate: stats.Median(lost), Low: in.Low, High: in.High}
}

// perLock is how many sessions contend for a lock, and znodes how many are read.
const perLock, znodes = 10, 100

// Objects returns how many locks that many sessions contend for, in a bare loop and in a run.
func Objects(sessions int) int { return max(1, sessions/perLock) }

// BareLocks is a load of locks in a loop. Its znodes are below the path of the plan.
func (p Plan) BareLocks(v recipes.Variant[recipes.Lock]) Side {
	return p.bare(func(ctx context.Context, sessions []zk.Session) ([]bare.Step, error) {
		return bare.Locks(ctx, sessions, v, p.Path+"/lock-", Objects(len(sessions)))
	})
}

// BareReads is a load of reads in a loop.
func (p Plan) BareReads() Side {
	return p.bare(func(ctx context.Context, sessions []zk.Session) ([]bare.Step, error) {
		return bare.Reads(ctx, sessions, p.Path+"/tree-", znodes)
	})
}

func (p Plan) bare(steps func(ctx context.Context, sessions []zk.Session) ([]bare.Step, error)) Side {
	return func(ctx context.Context, warmup, length time.Duration) (float64, float64, error) {
		sessions, closeAll, err := p.open(ctx)
		var f bare.Figures
		if err == nil {
			var all []bare.Step
			if all, err = steps(ctx, sessions); err == nil {
				f, err = bare.Loop(ctx, all, warmup, length, closeAll)
			}
		}
		if err != nil {
			return 0, 0, errors.Join(err, closeAll())
		}
		return f.PerSecond(), f.CPUPerOp(), nil
	}
}
