package drivers

import (
	"context"
	"errors"
	"time"

	"github.com/zkbench/zkbench/metrics"
)

// Seam measures the overhead of going through a driver: it times up to n acquisitions and as many releases of an uncontended lock, one after the other, for at
// most atMost. With a driver whose locks cost nothing, this is what a driver adds to every figure on this machine.
func Seam(ctx context.Context, command []string, n int, atMost time.Duration) (took *metrics.Histogram, err error) {
	p, err := Start(ctx, command)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	s, err := p.Open(ctx, nil, atMost)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	l := lock{handle{s: s, path: "/seam"}}
	for end := time.Now().Add(atMost); n > 0 && time.Now().Before(end); n-- {
		if _, err := l.Acquire(ctx); err != nil {
			return nil, err
		}
		if err := l.Release(ctx); err != nil {
			return nil, err
		}
	}
	return p.Seam(), nil
}
