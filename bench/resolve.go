package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/workloads"
	"github.com/zkbench/zkbench/zk"
)

// Engine is a client library that sessions are opened with.
type Engine struct {
	Name string
	// Persistent says that its sessions can keep watches armed, which some variants need.
	Persistent bool
	// Dial opens one session. The seed decides the order in which it tries the servers.
	Dial func(ctx context.Context, servers []string, timeout time.Duration, seed uint64) (zk.Session, error)
}

// Setup is the names that a profile may use, and what they stand for.
type Setup struct {
	Engines   []Engine
	Workloads []workloads.Kind
	Acts      []Act
}

// ErrProfile: the profile asks for something that there is not. The error lists all such faults.
var ErrProfile = errors.New("invalid profile")

// Check reports everything in the profile that this zkbench does not know, with the places and the known names.
func (b Setup) Check(p profiles.Profile) error {
	var faults []error
	fault := func(key string, i int, what, name string, known []string) {
		hint := ""
		if n := profiles.Nearest(name, known); n != "" {
			hint = fmt.Sprintf("did you mean %q? ", n)
		}
		faults = append(faults, fmt.Errorf("%s: unknown %s %q; %sknown are %s", p.At(key, i), what, name, hint, strings.Join(known, ", ")))
	}
	engine, ok := b.engine(p.Engine)
	if !ok {
		fault("engine", 0, "engine", p.Engine, names(b.Engines, func(e Engine) string { return e.Name }))
	}
	kind, known := b.workload(p.Workload)
	if act, isAct := b.act(p.Workload); isAct {
		kind = act.kind()
	} else if !known {
		fault("workload", 0, "workload", p.Workload, append(names(b.Workloads, func(k workloads.Kind) string { return k.Name }),
			names(b.Acts, func(a Act) string { return a.Name })...))
		return joined(faults)
	}
	variants := kind.Variants()
	for i, v := range p.Variants {
		if !slices.Contains(variants, v) {
			fault("variants", i, kind.Name+" variant", v, variants)
			continue
		}
		if ok && !engine.Persistent && kind.Persistent(v) {
			faults = append(faults, fmt.Errorf("%s: variant %s needs persistent watches, which the engine %s does not have; choose another engine",
				p.At("variants", i), v, engine.Name))
		}
		for name, value := range p.Options {
			if err := kind.CheckOption(v, name, value); err != nil {
				faults = append(faults, fmt.Errorf("%s: variant %s: %w", p.At("options."+name, 0), v, err))
			}
		}
		for i, fence := range p.Fence {
			if kind.CheckFence == nil {
				continue
			}
			if err := kind.CheckFence(v, fence, p.Permits); err != nil {
				faults = append(faults, fmt.Errorf("%s: fence %s: %w", p.At("fence", i), fence, err))
			}
		}
	}
	return joined(faults)
}

func (b Setup) act(name string) (Act, bool) {
	i := slices.IndexFunc(b.Acts, func(a Act) bool { return a.Name == name })
	if i < 0 {
		return Act{}, false
	}
	return b.Acts[i], true
}

func joined(faults []error) error {
	if len(faults) == 0 {
		return nil
	}
	return fmt.Errorf("%w:\n%w", ErrProfile, errors.Join(faults...))
}

func names[T any](of []T, name func(T) string) []string {
	all := make([]string, len(of))
	for i, v := range of {
		all[i] = name(v)
	}
	return all
}

func (b Setup) engine(name string) (Engine, bool) {
	i := slices.IndexFunc(b.Engines, func(e Engine) bool { return e.Name == name })
	if i < 0 {
		return Engine{}, false
	}
	return b.Engines[i], true
}

func (b Setup) workload(name string) (workloads.Kind, bool) {
	i := slices.IndexFunc(b.Workloads, func(k workloads.Kind) bool { return k.Name == name })
	if i < 0 {
		return workloads.Kind{}, false
	}
	return b.Workloads[i], true
}

// unsafe says whether a variant is kept with faults that are known.
func (b Setup) unsafe(workload, variant string) bool {
	kind, ok := b.workload(workload)
	return ok && kind.Unsafe != nil && kind.Unsafe(variant)
}

// objects is how many locks, queues, ... the sessions are spread over.
func objects(p profiles.Profile, sessions int) int {
	return min(max(p.Locks, p.Queues, p.Elections, p.Counters, p.Groups, p.Settings, 1), sessions)
}

// params is what a workload needs to know of a cell.
func params(c spec, dir string) workloads.Params {
	p := c.point
	only := func(axis []int) int { // a point has one value on each axis that its workload has
		if len(axis) == 0 {
			return 0
		}
		return axis[0]
	}
	fence := workloads.NoFence
	if len(p.Fence) > 0 {
		fence = workloads.Fence(p.Fence[0])
	}
	failover := workloads.ByResign
	if len(p.Failover) > 0 {
		failover = workloads.Failover(p.Failover[0])
	}
	var delay func(*rand.Rand) time.Duration
	if p.Delay.Kind != "" { // a key of this workload
		delay = p.Delay.Sample
	}
	return workloads.Params{
		Failover: failover,
		Dir:      dir, Variant: c.variant, Sessions: c.sessions, Objects: objects(p, c.sessions),
		Active:  float64(only(p.Members)+only(p.Writers)) / 100, // no workload has both
		Crashes: float64(only(p.Crashes)) / 100,
		Readers: float64(only(p.Readers)) / 100, Permits: p.Permits, Together: only(p.Together), Rounds: max(only(p.Barriers), only(p.Transactions)),
		Participants: only(p.Participants), Aborts: float64(only(p.Aborts)) / 100,
		Queue: workloads.QueueParams{Producers: float64(only(p.Producers)) / 100, Payload: p.Payload, Bound: only(p.Bound), Preload: p.Preload,
			Priorities: p.Priorities, Delay: delay},
		Hold: func(r *rand.Rand) time.Duration { return p.Hold.Sample(r) }, Deadline: p.Deadline,
		Stall: 2 * p.SessionTimeout, Fence: fence, Options: p.Options,
	}
}

// Open opens one session with the engine of that name.
func (b Setup) Open(ctx context.Context, engine string, servers []string, timeout time.Duration) (zk.Session, error) {
	e, ok := b.engine(engine)
	if !ok {
		return nil, fmt.Errorf("unknown engine %q; known are %s", engine, strings.Join(names(b.Engines, func(e Engine) string { return e.Name }), ", "))
	}
	return e.Dial(ctx, servers, timeout, 0)
}
