package faults

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/internal/sleep"
	"github.com/zkbench/zkbench/profiles"
)

// impair injects a fault of a server, and returns its recovery.
func (s *Schedule) impair(ctx, steady context.Context, i int, f profiles.PlannedFault) (recovery, error) {
	s.servers.Lock()
	defer s.servers.Unlock()
	number, err := s.find(steady, f.Server)
	if err != nil {
		return nil, err
	}
	s.keepPlaces(i)
	injector := s.target.Ensemble.(ensemble.FaultInjector) // checked before any load
	if f.Kind == profiles.Restart {
		return s.takeDown(ctx, i, injector, number, func() error { return nil })
	}
	up := func(ctx context.Context) error { return raised(injector.Restart(ctx, number)) }
	var undo recovery
	switch f.Kind {
	case profiles.Kill:
		undo, err = up, injector.Kill(ctx, number)
	case profiles.StopServer:
		undo, err = up, injector.Stop(ctx, number)
	case profiles.Pause:
		undo, err = func(ctx context.Context) error { return injector.Resume(ctx, number) }, injector.Pause(ctx, number)
	case profiles.Disconnect:
		network := s.target.Ensemble.(ensemble.Partitioner)
		undo, err = func(ctx context.Context) error { return network.Reconnect(ctx, number) }, network.Disconnect(ctx, number, ensemble.Side(f.From))
	case profiles.AddLatency:
		network := s.target.Ensemble.(ensemble.Degrader)
		undo, err = func(ctx context.Context) error { return network.SetLatency(ctx, number, 0) }, network.SetLatency(ctx, number, f.Delay)
	case profiles.AddLoss:
		network := s.target.Ensemble.(ensemble.Degrader)
		undo, err = func(ctx context.Context) error { return network.SetLoss(ctx, number, 0) }, network.SetLoss(ctx, number, float64(f.Percent))
	default:
		return nil, fmt.Errorf("unknown kind %q", f.Kind)
	}
	if err != nil {
		return nil, err
	}
	s.hitServer(i, number)
	return undo, nil
}

// raised accepts that a server to be started is already running: another fault was its restart.
func raised(err error) error {
	if errors.Is(err, ensemble.ErrRunning) {
		return nil
	}
	return err
}

// takeDown stops a server, calls down, and returns the recovery that starts it again. If a fault has taken the server down already, takeDown starts it at once,
// which is the recovery from that fault.
func (s *Schedule) takeDown(ctx context.Context, i int, injector ensemble.FaultInjector, number int, down func() error) (recovery, error) {
	s.mu.Lock()
	cause := s.impaired[number]
	s.mu.Unlock()
	if cause > 0 {
		if err := errors.Join(down(), injector.Restart(ctx, number)); err != nil {
			return nil, err
		}
		s.hitServer(i, number)
		s.recovered(cause-1, nil)
		if s.all[i].Kind == profiles.Restart {
			s.recovered(i, nil)
		}
		return nil, nil
	}
	if err := injector.Stop(ctx, number); err != nil {
		return nil, err
	}
	if err := down(); err != nil {
		return nil, errors.Join(err, raised(injector.Restart(ctx, number)))
	}
	s.hitServer(i, number)
	return func(ctx context.Context) error { return raised(injector.Restart(ctx, number)) }, nil
}

// hitServer records that a fault was injected into a server. While fewer than a majority of servers are left, nothing is served.
func (s *Schedule) hitServer(i, number int) {
	s.mu.Lock()
	f := &s.all[i]
	f.Server = number
	if role := f.PlannedFault.Server; role == profiles.Leader || role == profiles.Follower {
		f.Target = fmt.Sprintf("%s (server %d)", role, number)
	}
	if !slices.Contains(ofNetwork, f.Kind) {
		s.impaired[number] = i + 1
	}
	if len(s.impaired) > (s.target.Ensemble.Servers()-1)/2 {
		for _, cause := range s.impaired {
			s.all[cause-1].standing = true
		}
	}
	again := f.Injected // the next server of a rolling restart or upgrade
	s.mu.Unlock()
	if !again {
		s.injected(i, s.target.Origin.Now())
	}
}

// find returns the number of the server that a fault names. During an election there may be no leader, so it retries.
func (s *Schedule) find(steady context.Context, server string) (int, error) {
	if number, err := strconv.Atoi(server); err == nil {
		return number, nil
	}
	for {
		number, err := s.role(steady, server)
		if err == nil || sleep.For(steady, 100*time.Millisecond) != nil {
			return number, err
		}
	}
}

// role returns the number of the server that has a role: for followers, the first one without a fault.
func (s *Schedule) role(ctx context.Context, role string) (int, error) {
	all := s.target.Ensemble.Stats(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, st := range all {
		if st.Err == nil && s.impaired[st.Server] == 0 && (st.Leads() && role == profiles.Leader || st.State == "follower" && role == profiles.Follower) {
			return st.Server, nil
		}
	}
	return 0, fmt.Errorf("no server says that it is the %s", role)
}
