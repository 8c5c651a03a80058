package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zkbench/zkbench/internal/bare"
	"github.com/zkbench/zkbench/recipes"
	zkqueue "github.com/zkbench/zkbench/recipes/queue"
	"github.com/zkbench/zkbench/tools/yardstick"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/wire"
)

const (
	bound     = 10 // items that a queue may hold, as in the profile of 'run'
	itemBytes = 100
)

// The znodes of loops have paths as long as those of a run, so that the servers do the same work for both.
const (
	loopsRoot = "/yardstick/loops--20060102T150405.000-000000"
	loopsDir  = loopsRoot + "/cell-1"
)

// loops are what all sessions do in loops until their time is over.
type loops struct {
	recipe         string // lock, queue, or reads; "": none
	objects        int    // locks, queues or znodes, over which the sessions are spread evenly
	warmup, length time.Duration
}

func (l loops) check(sessions int) error {
	switch {
	case l.recipe == "":
		return nil
	case !slices.Contains([]string{"lock", "queue", "reads"}, l.recipe):
		return fmt.Errorf("-recipe: must be lock, queue or reads, got %q", l.recipe)
	case l.objects < 1:
		return fmt.Errorf("-objects: must be at least 1, got %d", l.objects)
	case l.warmup < 0 || l.length <= 0:
		return fmt.Errorf("-warmup and -for: must be positive, got %v and %v", l.warmup, l.length)
	case l.recipe == "queue" && sessions < 2*l.objects:
		return fmt.Errorf("-sessions: %d queues need a producer and a consumer each, got %d", l.objects, sessions)
	}
	return nil
}

// run carries the loops out, and closes the sessions.
func (l loops) run(ctx context.Context, clients []*wire.Client, out *yardstick.Result) error {
	for _, dir := range []string{loopsRoot, loopsDir} {
		if err := ensure(ctx, clients[0], dir, nil); err != nil {
			return err
		}
	}
	sessions := make([]zk.Session, len(clients))
	for i, c := range clients {
		sessions[i] = c
	}
	steps, err := l.steps(ctx, sessions, loopsDir+"/"+l.recipe+"-")
	if err != nil {
		return err
	}
	f, err := bare.Loop(ctx, steps, l.warmup, l.length, func() error { return closeAll(clients) })
	out.Operations, out.PerSecond, out.CPU = int(f.Done), f.PerSecond(), f.CPUPerOp()
	return err
}

func (l loops) steps(ctx context.Context, sessions []zk.Session, prefix string) ([]bare.Step, error) {
	switch l.recipe {
	case "lock":
		v, err := predecessor()
		if err != nil {
			return nil, err
		}
		return bare.Locks(ctx, sessions, v, prefix, l.objects)
	case "queue":
		return l.queues(ctx, sessions, prefix)
	}
	return bare.Reads(ctx, sessions, prefix, l.objects)
}

// queues returns the steps of the producers, which are half of the sessions of each queue, and of its consumers.
func (l loops) queues(ctx context.Context, sessions []zk.Session, prefix string) ([]bare.Step, error) {
	variants := zkqueue.Variants()
	i := slices.IndexFunc(variants, func(v recipes.Variant[recipes.Queue]) bool { return v.FIFO })
	if i < 0 {
		return nil, errors.New("the catalogue has no queue that is first in, first out")
	}
	paths, err := bare.Paths(ctx, sessions[0], prefix, l.objects, nil)
	if err != nil {
		return nil, err
	}
	steps := make([]bare.Step, len(sessions))
	for at, s := range sessions {
		q := variants[i].New(s, paths[at%l.objects], recipes.Options{MaxItems: bound})
		if at/l.objects%2 == 0 {
			steps[at] = func() error {
				_, err := q.Put(context.Background(), recipes.Item{Data: make([]byte, itemBytes)})
				return err
			}
		} else {
			steps[at] = func() error { _, err := q.Take(context.Background()); return err }
		}
	}
	return steps, nil
}
