package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/profiles"
)

// breakServer carries out a fault of a server.
func (b *breaking) breakServer(ctx, steady context.Context, i int, f profiles.PlannedFault) (healer, error) {
	b.servers.Lock()
	defer b.servers.Unlock()
	number, err := b.find(steady, f.Server)
	if err != nil {
		return nil, err
	}
	b.look(i)
	breaker := b.c.Ensemble.(ensemble.Breaker) // checked before any load
	if f.Kind == profiles.Restart {
		return b.restart(ctx, i, breaker, number)
	}
	up := func(ctx context.Context) error { return raised(breaker.Restart(ctx, number)) }
	var heal healer
	switch f.Kind {
	case profiles.Kill:
		heal, err = up, breaker.Kill(ctx, number)
	case profiles.StopServer:
		heal, err = up, breaker.Stop(ctx, number)
	case profiles.Pause:
		heal, err = func(ctx context.Context) error { return breaker.Resume(ctx, number) }, breaker.Pause(ctx, number)
	case profiles.Disconnect:
		network := b.c.Ensemble.(ensemble.Partitioner)
		heal, err = func(ctx context.Context) error { return network.Reconnect(ctx, number) }, network.Disconnect(ctx, number, ensemble.Side(f.From))
	case profiles.AddLatency:
		network := b.c.Ensemble.(ensemble.Degrader)
		heal, err = func(ctx context.Context) error { return network.SetLatency(ctx, number, 0) }, network.SetLatency(ctx, number, f.Delay)
	case profiles.AddLoss:
		network := b.c.Ensemble.(ensemble.Degrader)
		heal, err = func(ctx context.Context) error { return network.SetLoss(ctx, number, 0) }, network.SetLoss(ctx, number, float64(f.Percent))
	default:
		return nil, fmt.Errorf("unknown kind %q", f.Kind)
	}
	if err != nil {
		return nil, err
	}
	b.hitServer(i, number)
	return heal, nil
}

// raised takes a server that runs already for one that has been started: another fault was its restart.
func raised(err error) error {
	if errors.Is(err, ensemble.ErrRunning) {
		return nil
	}
	return err
}

// restart starts a server that a fault has taken down, which heals that fault; another one it stops, and its healing is the start.
func (b *breaking) restart(ctx context.Context, i int, breaker ensemble.Breaker, number int) (healer, error) {
	b.mu.Lock()
	cause := b.hurt[number]
	b.mu.Unlock()
	if cause > 0 {
		if err := breaker.Restart(ctx, number); err != nil {
			return nil, err
		}
		b.hitServer(i, number)
		b.heal(cause-1, nil)
		b.heal(i, nil)
		return nil, nil
	}
	if err := breaker.Stop(ctx, number); err != nil {
		return nil, err
	}
	b.hitServer(i, number)
	return func(ctx context.Context) error { return raised(breaker.Restart(ctx, number)) }, nil
}

// hitServer notes that a fault has struck a server. When fewer than a majority are left, nothing is served for as long as that lasts.
func (b *breaking) hitServer(i, number int) {
	b.mu.Lock()
	f := &b.all[i]
	f.server = number
	if role := f.Server; role == profiles.Leader || role == profiles.Follower {
		f.target = fmt.Sprintf("%s (server %d)", role, number)
	}
	if !slices.Contains(degradingFaults, f.Kind) {
		b.hurt[number] = i + 1
	}
	if len(b.hurt) > (b.c.Ensemble.Servers()-1)/2 {
		for _, cause := range b.hurt {
			b.all[cause-1].standing = true
		}
	}
	b.mu.Unlock()
	b.hit(i, b.c.origin.Now())
}

// find is the number of the server that a fault names. While an election goes on there may be no leader, so it looks again.
func (b *breaking) find(steady context.Context, server string) (int, error) {
	if number, err := strconv.Atoi(server); err == nil {
		return number, nil
	}
	for {
		number, err := b.role(steady, server)
		if err == nil || !tick(steady, 100*time.Millisecond) {
			return number, err
		}
	}
}

// role is the number of the server that has a role. Of the followers it is the first that nothing is wrong with.
func (b *breaking) role(ctx context.Context, role string) (int, error) {
	all := b.c.Ensemble.Stats(ctx)
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range all {
		leads := s.State == "leader" || s.State == "standalone"
		if s.Err == nil && b.hurt[s.Server] == 0 && (leads && role == profiles.Leader || s.State == "follower" && role == profiles.Follower) {
			return s.Server, nil
		}
	}
	return 0, fmt.Errorf("no server says that it is the %s", role)
}
