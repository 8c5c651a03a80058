// Command native drives ZooKeeper through package zk, zkbench's own client. In addition to the work of the other
// generators, it times the hand-offs of a predecessor lock, and runs locks, queues or reads in all sessions concurrently.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"runtime/debug"
	"runtime/pprof"
	"sync"
	"time"

	"github.com/zkbench/zkbench/zk/wire"

	"github.com/zkbench/zkbench/tools/yardstick"
	"github.com/zkbench/zkbench/zk"
)

// gcPercent is that of the zkbench command.
const gcPercent = 400

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	var l loops
	flag.StringVar(&l.recipe, "recipe", "", "instead of -ops, have all sessions use a recipe in a loop: predecessor locks (lock), fifo queues that hold 10 items (queue), or none (reads)")
	flag.IntVar(&l.objects, "objects", 1, "locks, queues or znodes of -recipe, over which the sessions are spread evenly")
	flag.DurationVar(&l.warmup, "warmup", 2*time.Second, "how long -recipe runs before it is measured")
	flag.DurationVar(&l.length, "for", 10*time.Second, "how long -recipe is measured")
	own := flag.Bool("own", false, "have every session list a znode of its own, so that no list is like one that came before")
	profile := flag.String("cpuprofile", "", "write a profile of the work to this file")
	w := yardstick.Flags()
	if err := run(context.Background(), w, l, *own, *profile); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, w yardstick.Work, l loops, own bool, profile string) (err error) {
	if w.Handoff > 0 {
		w.Sessions = 2
	}
	if err := l.check(w.Sessions); err != nil {
		return err
	}
	base, start := yardstick.Resident(), time.Now()
	timeout := 30 * time.Second
	if l.recipe != "" {
		timeout = 10 * time.Second // the default of a run
	}
	sessions, err := connect(ctx, w, timeout)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll(sessions)) }()
	out := yardstick.Result{Generator: "native", Sessions: w.Sessions, Children: w.Children,
		Connected: time.Since(start).Seconds(), IdleKiB: float64(yardstick.Resident()-base) / float64(w.Sessions)}
	if err := ensure(ctx, sessions[0], "/yardstick", make([]byte, 100)); err != nil {
		return err
	}
	stop, err := profiled(profile)
	if err != nil {
		return err
	}
	switch {
	case w.Handoff > 0:
		err = handoffs(ctx, sessions, w.Handoff, &out)
	case l.recipe != "":
		err = l.run(ctx, sessions, &out)
	case w.Ops > 0:
		err = load(ctx, sessions, w, own, &out)
	}
	if err = errors.Join(err, stop()); err != nil {
		return err
	}
	out.PeakMiB = yardstick.Peak()
	return out.Print()
}

// profiled writes a CPU profile to path until stop is called; without a path it does nothing.
func profiled(path string) (stop func() error, err error) {
	if path == "" {
		return func() error { return nil }, nil
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		return f.Close()
	}, nil
}

// each runs do for all sessions concurrently, and joins the errors.
func each(sessions []*wire.Client, do func(i int, s *wire.Client) error) error {
	errs := make([]error, len(sessions))
	var wg sync.WaitGroup
	for i, s := range sessions {
		wg.Go(func() { errs[i] = do(i, s) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// connect opens the sessions, 64 at a time, as the other generators do.
func connect(ctx context.Context, w yardstick.Work, timeout time.Duration) ([]*wire.Client, error) {
	sessions := make([]*wire.Client, w.Sessions)
	errs := make([]error, w.Sessions)
	gate := make(chan struct{}, 64)
	var wg sync.WaitGroup
	for i := range sessions {
		gate <- struct{}{}
		wg.Go(func() {
			defer func() { <-gate }()
			sessions[i], errs[i] = wire.Dial(ctx, wire.Config{Servers: w.Servers, Timeout: timeout, Seed: uint64(i)})
		})
	}
	wg.Wait()
	return sessions, errors.Join(errs...)
}

func closeAll(sessions []*wire.Client) error {
	return each(sessions, func(_ int, s *wire.Client) error { return s.Close() })
}

// ensure creates a znode that may be there already.
func ensure(ctx context.Context, s zk.Session, path string, data []byte) error {
	if _, err := s.Create(ctx, path, data, zk.Persistent); err != nil && !errors.Is(err, zk.ErrNodeExists) {
		return err
	}
	return nil
}

// populate creates a znode with the given number of children.
func populate(ctx context.Context, s zk.Session, dir string, children int) error {
	if err := ensure(ctx, s, dir, nil); err != nil {
		return err
	}
	for i := range children {
		if err := ensure(ctx, s, dir+"/"+yardstick.ChildName(i), nil); err != nil {
			return err
		}
	}
	return nil
}

func load(ctx context.Context, sessions []*wire.Client, w yardstick.Work, own bool, out *yardstick.Result) error {
	op := func(_ int, s *wire.Client) error { _, _, err := s.Get(ctx, "/yardstick"); return err }
	if w.Children > 0 {
		dir := func(int) string { return fmt.Sprintf("/yardstick/children-%d", w.Children) }
		listed := sessions[:1]
		if own {
			dir = func(i int) string { return fmt.Sprintf("/yardstick/children-%d-of-%d", w.Children, i) }
			listed = sessions
		}
		if err := each(listed, func(i int, s *wire.Client) error { return populate(ctx, s, dir(i), w.Children) }); err != nil {
			return err
		}
		op = func(i int, s *wire.Client) error { _, _, err := s.Children(ctx, dir(i)); return err }
	}
	m := yardstick.Start()
	err := each(sessions, func(i int, s *wire.Client) error {
		for range w.Ops / w.Sessions {
			if err := op(i, s); err != nil {
				return err
			}
		}
		return nil
	})
	m.Stop(out, w.Ops/w.Sessions*w.Sessions)
	return err
}
