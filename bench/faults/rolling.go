package faults

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/internal/sleep"
	"github.com/zkbench/zkbench/profiles"
)

// Step is one server of a rolling restart or upgrade. Times are offsets from the origin.
type Step struct {
	Server int
	Leader bool // it was the leader when its turn came
	Down   time.Duration
	Up     time.Duration // when a write had gone through every server again; 0 if that did not happen
	// ZooKeeper is the version that the server answered with afterwards; "" if it has not been asked, or does not report it.
	ZooKeeper string
}

// roll restarts, or upgrades, all servers one by one, as operators do: the leader last, so that there is only one election, and each next server after a write has gone
// through every server again. It waits until another such fault is over. When the steady phase ends, it starts the server that is down and leaves the others alone.
func (s *Schedule) roll(ctx, steady context.Context, i int, f profiles.PlannedFault) error {
	for !s.rolling.TryLock() {
		if sleep.For(steady, 100*time.Millisecond) != nil {
			return errors.New("the previous rolling restart or upgrade was not over when the steady phase was (raise duration)")
		}
	}
	defer s.rolling.Unlock()
	s.keepPlaces(i)
	left := make([]int, s.target.Ensemble.Servers())
	for n := range left {
		left[n] = n + 1
	}
	for of := len(left); len(left) > 0; {
		if steady.Err() != nil {
			s.recovered(i, unfinished{f.Kind, of - len(left), of})
			return nil
		}
		number, err := s.restartOne(ctx, steady, i, f, left)
		switch {
		case err != nil && number == 0 && len(left) == of:
			return err // no server was stopped
		case err != nil:
			s.recovered(i, err)
			return nil
		}
		left = slices.DeleteFunc(left, func(n int) bool { return n == number })
	}
	s.recovered(i, nil)
	return nil
}

// restartOne restarts one of the servers left and waits until it serves; it returns 0 if it stopped none.
func (s *Schedule) restartOne(ctx, steady context.Context, i int, f profiles.PlannedFault, left []int) (number int, err error) {
	leader, err := s.find(steady, profiles.Leader)
	if err != nil { // it has looked for the leader until the steady phase was over
		of := s.target.Ensemble.Servers()
		return 0, fmt.Errorf("%w: %w", unfinished{f.Kind, of - len(left), of}, err)
	}
	number = nextToRestart(left, leader)
	injector := s.target.Ensemble.(ensemble.FaultInjector) // checked before any load
	want, up, err := s.stopForRestart(ctx, i, injector, number, number == leader)
	if err != nil {
		return 0, err
	}
	if up != nil {
		_ = sleep.For(steady, f.For)
	}
	over := ctx.Err()
	ctx, cancel, goes := s.mending(ctx)
	defer cancel()
	if goes {
		return number, over
	}
	if up != nil {
		err = up(ctx)
	}
	if err == nil {
		err = injector.Ready(ctx)
	}
	version := ""
	if err == nil && f.Kind == profiles.RollingUpgrade {
		version, err = s.answers(ctx, number, want)
	}
	s.stepped(i, number, version, err == nil)
	return number, err
}

// answers returns the version that a server reports; the error wraps ensemble.ErrVersion if another one was wanted.
func (s *Schedule) answers(ctx context.Context, number int, want string) (string, error) {
	all := s.target.Ensemble.Stats(ctx)
	at := slices.IndexFunc(all, func(st ensemble.ServerStats) bool { return st.Server == number && st.Err == nil })
	if at < 0 {
		return "", nil
	}
	version := all[at].Version
	if version != "" && want != "" && version != want {
		return version, fmt.Errorf("%w: server %d was upgraded to %s, and says that it is %s", ensemble.ErrVersion, number, want, version)
	}
	return version, nil
}

// stopForRestart stops a server and returns the recovery that starts it again, and the version that it will have after an upgrade. The recovery is nil if a fault
// had taken the server down already; then it has been started.
func (s *Schedule) stopForRestart(ctx context.Context, i int, injector ensemble.FaultInjector, number int, leads bool) (version string, _ recovery, err error) {
	ctx, cancel := context.WithTimeout(ctx, actWithin)
	defer cancel()
	s.servers.Lock()
	defer s.servers.Unlock()
	down := s.target.Origin.Now()
	undo, err := s.takeDown(ctx, i, injector, number, func() (err error) {
		if to := s.all[i].To; to != "" {
			version, err = s.target.Ensemble.(ensemble.Upgrader).Upgrade(ctx, number, to) // checked before any load
		}
		return err
	})
	if err != nil {
		return "", nil, err
	}
	s.mu.Lock()
	f := &s.all[i]
	f.Steps = append(f.Steps, Step{Server: number, Leader: leads, Down: down})
	n := len(f.Steps)
	s.mu.Unlock()
	s.tell(i, fmt.Sprintf("server %d stopped, %d of %d", number, n, s.target.Ensemble.Servers()), s.target.Origin.Now())
	return version, undo, nil
}

// stepped records that a server of a rolling restart serves again, or failed to.
func (s *Schedule) stepped(i, number int, version string, up bool) {
	now := s.target.Origin.Now()
	s.mu.Lock()
	if last := &s.all[i].Steps[len(s.all[i].Steps)-1]; up {
		last.Up, last.ZooKeeper = now, version
	}
	if s.impaired[number] == i+1 {
		delete(s.impaired, number)
	}
	s.mu.Unlock()
	if up {
		if version != "" {
			version = " with ZooKeeper " + version
		}
		s.tell(i, fmt.Sprintf("server %d serves again%s", number, version), now)
	}
}

// nextToRestart returns the first of the servers that is not the leader, and the leader if no other is left.
func nextToRestart(left []int, leader int) int {
	for _, n := range left {
		if n != leader {
			return n
		}
	}
	return left[0]
}

// unfinished is a rolling restart or upgrade that the end of the steady phase cut short.
type unfinished struct {
	kind     string
	done, of int
}

func (u unfinished) Error() string {
	did := "restarted"
	if u.kind == profiles.RollingUpgrade {
		did = "upgraded"
	}
	return fmt.Sprintf("%d of %d servers had been %s when the steady phase was over (raise duration)", u.done, u.of, did)
}
