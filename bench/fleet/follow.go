package fleet

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/zkbench/zkbench/internal/sleep"
	"github.com/zkbench/zkbench/zk"
)

// follow tracks which shares are present or lost, and whether somebody has stopped the run, until the meeting is over.
func (m *Meeting) follow(ctx context.Context) {
	for ctx.Err() == nil {
		over, err := m.look(ctx)
		if isRefusal(err) {
			m.breakOff(fmt.Errorf("%w: %w", ErrCoordinator, err))
			return
		}
		if over || err != nil && !pause(ctx, m.s) {
			return
		}
	}
}

// isRefusal reports whether retrying is useless. A missing znode is no refusal: it may belong to a meeting that is over.
func isRefusal(err error) bool {
	return zk.Classify(err) == zk.ClassDefiniteNo && !errors.Is(err, zk.ErrNoNode)
}

// look looks once, then waits for a change. Once the run has been stopped there is nothing more to learn.
func (m *Meeting) look(ctx context.Context) (over bool, err error) {
	_, there, stop, err := m.s.ExistsW(ctx, m.at("stop"))
	if err != nil {
		return false, err
	}
	defer stop.Stop()
	if there {
		return true, m.stopped(ctx)
	}
	names, _, shares, err := m.s.ChildrenW(ctx, m.at("shares"))
	if err != nil {
		return false, err
	}
	defer shares.Stop()
	if err := m.count(ctx, names); err != nil {
		return false, err
	}
	select {
	case <-stop.C():
	case <-shares.C():
	case <-m.s.Done():
	case <-ctx.Done():
	}
	return false, nil
}

// stopped ends the meeting for the reason recorded on the coordinator.
func (m *Meeting) stopped(ctx context.Context) error {
	defer m.end()
	var stop stopped
	if _, err := m.read(ctx, m.at("stop"), &stop); err != nil {
		m.breakOff(ErrFailed)
		return err
	}
	switch stop.Cause {
	case Interrupt:
		m.breakOff(fmt.Errorf("%w at share %d (%s)", ErrInterrupted, stop.Share, stop.Host))
	case Loss:
		m.breakOff(fmt.Errorf("%w: %s", ErrLost, stop.Reason))
	default:
		m.breakOff(fmt.Errorf("%w: share %d (%s): %s", ErrFailed, stop.Share, stop.Host, stop.Reason))
	}
	return nil
}

// count updates the shares that are present. A share that was present and no longer is has finished or is lost.
func (m *Meeting) count(ctx context.Context, names []string) error {
	present := map[int]bool{}
	for _, name := range names {
		n, err := strconv.Atoi(name)
		if err != nil {
			continue // somebody else's znode
		}
		present[n] = true
		if _, known := m.member(n); known {
			continue
		}
		var who member
		if there, err := m.read(ctx, m.at("shares", n), &who); err != nil {
			return err
		} else if there {
			m.met(n, who)
		}
	}
	for _, n := range m.absent(present) {
		_, done, err := m.s.Exists(ctx, m.at("done", n))
		if err != nil {
			return err
		}
		m.left(n)
		if who, _ := m.member(n); !done {
			m.lose(ctx, fmt.Sprintf("share %d (%v)", n, who))
		}
	}
	return nil
}

func (m *Meeting) member(n int) (who member, known bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	who, known = m.here[n]
	return who, known
}

// met records that a share has joined.
func (m *Meeting) met(n int, who member) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.here[n] = who; len(m.here) == m.cfg.Share.count() {
		close(m.all)
	}
}

// absent returns the shares that had joined and are not among those present.
func (m *Meeting) absent(present map[int]bool) (all []int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for n := range m.here {
		if !present[n] && !m.gone[n] {
			all = append(all, n)
		}
	}
	return all
}

func (m *Meeting) left(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gone[n] = true
}

// lose ends the meeting because a share was lost, and cuts the load unless the cell is to finish.
func (m *Meeting) lose(ctx context.Context, who string) {
	m.breakOff(fmt.Errorf("%w: %s", ErrLost, who))
	if !m.cfg.Finish {
		m.end()
		m.Stop(ctx, Loss, who)
	}
}

// breakOff ends the waiting for each other. It keeps and returns the first reason.
func (m *Meeting) breakOff(why error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.why == nil {
		m.why = why
		close(m.broken)
	}
	return m.why
}

// end tells the run to cut the load.
func (m *Meeting) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case <-m.ended:
	default:
		close(m.ended)
	}
}

// mind detects the loss of the coordinator: the session has ended, or has had no connection for its timeout. The load continues to the end of its cell.
func (m *Meeting) mind(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.s.Done():
		case <-zk.Disconnected(m.s):
		}
		for since := time.Now(); m.s.Err() == nil && disconnected(m.s); {
			if time.Since(since) > m.s.Timeout() {
				m.breakOff(fmt.Errorf("%w: no answer for %v", ErrCoordinator, m.s.Timeout()))
				return
			}
			if sleep.For(ctx, 100*time.Millisecond) != nil {
				return
			}
		}
		if err := m.s.Err(); err != nil {
			m.breakOff(fmt.Errorf("%w: %w", ErrCoordinator, err))
			return
		}
	}
}

func disconnected(s zk.Session) bool {
	select {
	case <-zk.Disconnected(s):
		return true
	default:
		return false
	}
}

// CutOff reports whether this share has no connection to the coordinator.
func (m *Meeting) CutOff() bool { return m.s.Err() != nil || disconnected(m.s) }

// pause gives a coordinator that is busy or shutting down some time; it returns false if the session or the context has ended.
func pause(ctx context.Context, s zk.Session) bool {
	return s.Err() == nil && sleep.For(ctx, time.Second) == nil
}
