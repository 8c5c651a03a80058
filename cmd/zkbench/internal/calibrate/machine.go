package calibrate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/results"
)

const (
	sleep     = time.Millisecond
	timersFor = time.Second
	// The approximate sizes, in bytes, of a frame of the wire protocol and of a group of entries in a server's transaction log.
	frameSize, entrySize = 64, 4096
	roundTrips, syncs    = 5000, 400
	atMost               = 3 * time.Second // for the round trips, and for the syncs
)

// timers measures how late sleeps of a millisecond end, while this process does nothing else.
func timers(ctx context.Context) (results.Spent, error) {
	p := metrics.StartTimerProbe(sleep, metrics.NewOrigin(time.Now()), nil)
	defer p.Stop()
	select {
	case <-time.After(timersFor):
		return spent(p.Take()), nil
	case <-ctx.Done():
		return results.Spent{}, context.Cause(ctx)
	}
}

// repeat times step up to n times, for at most the time atMost.
func repeat(ctx context.Context, n int, step func() error) (results.Spent, error) {
	h := metrics.NewHistogram()
	for end, begun := time.Now().Add(atMost), time.Now(); n > 0 && begun.Before(end); n-- {
		if ctx.Err() != nil {
			return results.Spent{}, context.Cause(ctx)
		}
		if err := step(); err != nil {
			return results.Spent{}, err
		}
		now := time.Now()
		h.Record(now.Sub(begun))
		begun = now
	}
	return spent(h), nil
}

// sockets measures the round trip of a frame to a goroutine behind a loopback socket.
func sockets(ctx context.Context) (_ results.Spent, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return results.Spent{}, fmt.Errorf("socket round trip: %w", err)
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		io.CopyBuffer(struct{ io.Writer }{c}, struct{ io.Reader }{c}, make([]byte, frameSize)) // until the other end closes
	}()
	defer func() { l.Close(); <-over }()
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", l.Addr().String())
	if err != nil {
		return results.Spent{}, fmt.Errorf("socket round trip: %w", err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(10 * atMost))
	frame := make([]byte, frameSize)
	return repeat(ctx, roundTrips, func() error {
		if _, err := c.Write(frame); err != nil {
			return err
		}
		_, err := io.ReadFull(c, frame)
		return err
	})
}

// disk measures an append and a sync, as a server's transaction log makes them, to a new file in a directory. It removes the file.
func disk(ctx context.Context, dir string) (_ results.Spent, err error) {
	f, err := os.CreateTemp(dir, ".zkbench-fsync-*")
	if err != nil {
		return results.Spent{}, fmt.Errorf("fsync: %w; choose a directory that can be written with --dir", err)
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	entry := make([]byte, entrySize)
	return repeat(ctx, syncs, func() error {
		if _, err := f.Write(entry); err != nil {
			return err
		}
		return f.Sync()
	})
}

// beyond is how many samples must lie above a percentile for it to be reported.
const beyond = 3

// spent returns the figures of a histogram, without the percentiles for which it has too few samples.
func spent(h *metrics.Histogram) results.Spent {
	s := results.Spent{Count: h.Count()}
	at := func(q float64) *float64 {
		if float64(h.Count())*(1-q) < beyond {
			return nil
		}
		us := micros(h.Quantile(q))
		return &us
	}
	s.Median, s.P99 = at(0.5), at(0.99)
	if s.Count > 0 {
		most := micros(h.Max())
		s.Max = &most
	}
	return s
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
