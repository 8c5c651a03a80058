package zk_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/zkbench/zkbench/zk"
)

// answers is a session that answers at no cost.
type answers struct{ zk.Session }

func (answers) Get(context.Context, string) ([]byte, zk.Stat, error) { return nil, zk.Stat{}, nil }

// BenchmarkObserve measures what observing a request costs: with one trace, and with two, as in a run.
func BenchmarkObserve(b *testing.B) {
	for traces := 1; traces <= 2; traces++ {
		b.Run(fmt.Sprintf("%d traces", traces), func(b *testing.B) {
			s, ended := zk.Session(answers{}), make([]time.Time, traces)
			for n := range traces {
				s = zk.Observe(s, &zk.Trace{Call: func(c *zk.Call) { ended[n] = c.End }})
			}
			b.ReportAllocs()
			for b.Loop() {
				s.Get(context.Background(), "/a")
			}
		})
	}
}
