package drivers

import (
	"context"
	"errors"
	"time"

	"github.com/zkbench/zkbench/metrics"
)

// Seam is what the way to a driver and back takes: of up to n acquisitions and as many releases of a lock that nobody else wants, one after the other, for so
// long at most. With a driver whose locks cost nothing it is what a driver adds to every figure on this machine.
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
