package broken_test

import (
	"fmt"
	"iter"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
)

// across is the suffix of verdicts on the histories of several hosts.
const across = " across hosts"

// split spreads a history over hosts. The clock of each is an hour ahead of the previous one and drifts from it by 200 ppm.
func split(history iter.Seq[metrics.Sample], n int) (hosts []check.Host) {
	for i := range n {
		clock := func(at time.Duration) time.Duration {
			return time.Duration(i)*time.Hour + at + time.Duration(float64(at)*200e-6*float64(i))
		}
		meets := []check.Meet{{Came: clock(-time.Duration(1+i) * 5 * time.Millisecond), Went: clock(0)}} // all start together
		hosts = append(hosts, check.Host{Name: fmt.Sprintf("share %d", i+1), Meets: meets, History: func(yield func(metrics.Sample) bool) {
			for s := range history {
				if int(s.Session)%n != i {
					continue
				}
				s.Due, s.Start, s.End = clock(s.Due), clock(s.Start), clock(s.End)
				if !yield(s) {
					return
				}
			}
		}})
	}
	return hosts
}
