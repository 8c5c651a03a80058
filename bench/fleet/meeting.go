package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/zkbench/zkbench/internal/sleep"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/barrier"
	"github.com/zkbench/zkbench/zk"
)

// Cause is why a run was ended for all its shares.
type Cause string

// The causes.
const (
	Interrupt Cause = "interrupt" // somebody interrupted a share
	Loss      Cause = "loss"      // a share was lost
	Failure   Cause = "failure"   // a share cannot continue
)

// Reasons why a meeting ends before its run. They are distinguished with errors.Is.
var (
	ErrInterrupted = errors.New("interrupted")
	ErrLost        = errors.New("a share was lost")
	ErrFailed      = errors.New("another share failed")
	ErrCoordinator = errors.New("the coordinator was lost")
)

// Config is what a share needs to join the meeting.
type Config struct {
	Path       string // znode of the meeting on the coordinator; created if missing, and used for one run
	Share      Share
	Plan       Plan // of this share; Root and Run are proposals
	RootChosen bool // Plan.Root is a requirement, not a proposal
	// MeetTimeout is how long the shares wait for the last of them. If it is too short, a host that starts slowly ends the run; if too long, a share that
	// never arrives is detected late.
	MeetTimeout time.Duration
	// Finish lets the current cell finish when a share is lost. The run still ends after it.
	Finish bool
	// Dial opens a session with the coordinator.
	Dial func(ctx context.Context) (zk.Session, error)
	Tell func(message string) // may be nil
}

// Meeting is a share's side of a meeting. Its methods may be called from many goroutines.
type Meeting struct {
	cfg    Config
	plan   Plan
	s      zk.Session
	cancel context.CancelFunc
	work   sync.WaitGroup
	ended  chan struct{} // closed when the load must be cut
	broken chan struct{} // closed when the shares can no longer wait for each other
	all    chan struct{} // closed when all shares have joined

	mu   sync.Mutex
	why  error
	here map[int]member // by number, including shares that are lost or done
	gone map[int]bool

	telling *Live         // to be written; nil if there is nothing new
	heard   map[int]heard // by number
}

// Join joins the meeting and waits until all shares are there. The error says which shares are missing, how the plan of this share differs, which process has
// already taken the share, or that the meeting is over. The caller closes the meeting.
func Join(ctx context.Context, cfg Config) (*Meeting, error) {
	s, err := dial(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("meet at %s: %w", cfg.Path, err)
	}
	m := &Meeting{cfg: cfg, s: s, ended: make(chan struct{}), broken: make(chan struct{}), all: make(chan struct{}),
		here: map[int]member{}, gone: map[int]bool{}}
	if err := m.enter(ctx); err != nil {
		s.Close()
		return nil, fmt.Errorf("meet at %s: %w", cfg.Path, err)
	}
	follow, cancel := context.WithCancel(context.WithoutCancel(ctx))
	m.cancel = cancel
	m.work.Go(func() { m.follow(follow) })
	m.work.Go(func() { m.mind(follow) })
	if m.cfg.Share.count() > 1 {
		m.work.Go(func() { m.talk(follow) })
	}
	if err := m.gather(ctx); err != nil {
		m.Stop(context.WithoutCancel(ctx), causeOf(ctx), err.Error())
		m.Close()
		return nil, fmt.Errorf("meet at %s: %w", cfg.Path, err)
	}
	return m, nil
}

// dial opens the session with the coordinator. It retries for as long as the shares wait for each other, because the coordinator may be started together with
// them.
func dial(ctx context.Context, cfg Config) (zk.Session, error) {
	for begun := time.Now(); ; {
		s, err := cfg.Dial(ctx)
		if err == nil || time.Since(begun) >= cfg.MeetTimeout || sleep.For(ctx, time.Second) != nil {
			return s, err
		}
	}
}

// causeOf returns why a share that waited for the others gave up.
func causeOf(ctx context.Context) Cause {
	if ctx.Err() != nil {
		return Interrupt
	}
	return Failure
}

// enter writes the plan or compares its own with it, and takes the share.
func (m *Meeting) enter(ctx context.Context) error {
	for _, path := range append(ancestors(m.cfg.Path), m.cfg.Path) {
		if _, err := m.s.Create(ctx, path, nil, zk.Persistent); err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return err
		}
	}
	if err := m.agree(ctx); err != nil {
		return err
	}
	if err := m.unused(ctx); err != nil {
		return err
	}
	for _, name := range []string{"shares", "cells", "done", "live"} {
		if _, err := m.s.Create(ctx, m.at(name), nil, zk.Persistent); err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return err
		}
	}
	return m.take(ctx)
}

// agree writes the plan if no share has, and compares this share's plan with it.
func (m *Meeting) agree(ctx context.Context) error {
	_, err := m.s.Create(ctx, m.at("plan"), encode(m.cfg.Plan), zk.Persistent)
	if err != nil && !errors.Is(err, zk.ErrNodeExists) && zk.Classify(err) != zk.ClassMaybeApplied {
		return err
	}
	data, _, err := m.s.Get(ctx, m.at("plan"))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, &m.plan); err != nil || m.plan.Nonce == "" {
		return errors.New("the znode plan was not created by zkbench: choose another path")
	}
	if differ := m.cfg.Plan.differences(m.plan, m.cfg.RootChosen); len(differ) > 0 {
		return fmt.Errorf("share %v differs from the plan of the run %s:\n  %s\nstart all shares with the same arguments, or use another path for another run",
			m.cfg.Share, m.plan.Run, strings.Join(differ, "\n  "))
	}
	return nil
}

// unused rejects a meeting that has started or is over.
func (m *Meeting) unused(ctx context.Context) error {
	var stop stopped
	if there, err := m.read(ctx, m.at("stop"), &stop); err != nil || there {
		return errors.Join(err, fmt.Errorf("the run %s was ended by share %d (%s): %s; choose another path", m.plan.Run, stop.Share, stop.Host, stop.Reason))
	}
	names, _, err := m.s.Children(ctx, m.at("cells"))
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return err
	}
	if len(names) > 0 {
		return fmt.Errorf("the run %s has already started, and a share cannot be replaced; choose another path", m.plan.Run)
	}
	return nil
}

// take claims the share with an ephemeral znode.
func (m *Meeting) take(ctx context.Context) error {
	host, _ := os.Hostname()
	self := member{host, os.Getpid(), runtime.NumCPU(), m.cfg.Plan.Version}
	path := m.at("shares", m.cfg.Share.Number())
	_, err := m.s.Create(ctx, path, encode(self), zk.Ephemeral)
	if err == nil {
		return nil
	}
	st, there, e := m.s.Exists(ctx, path)
	if e != nil || !there {
		return errors.Join(err, e)
	}
	if st.EphemeralOwner == m.s.ID() { // the reply was lost
		return nil
	}
	var other member
	if _, err := m.read(ctx, path, &other); err != nil {
		return err
	}
	return fmt.Errorf("share %v is taken by %v: give each process a share of its own", m.cfg.Share, other)
}

// read decodes a znode of the meeting into into.
func (m *Meeting) read(ctx context.Context, path string, into any) (there bool, err error) {
	_, there, err = m.readStat(ctx, path, into)
	return there, err
}

func (m *Meeting) readStat(ctx context.Context, path string, into any) (st zk.Stat, there bool, err error) {
	data, st, err := m.s.Get(ctx, path)
	if errors.Is(err, zk.ErrNoNode) {
		return st, false, nil
	}
	if err != nil {
		return st, false, err
	}
	return st, true, json.Unmarshal(data, into)
}

// gather waits until all shares have joined.
func (m *Meeting) gather(ctx context.Context) error {
	if n := m.cfg.Share.count(); n > 1 && m.cfg.Tell != nil {
		m.cfg.Tell(fmt.Sprintf("share %v: waiting for all shares at %s", m.cfg.Share, m.cfg.Path))
	}
	t := time.NewTimer(m.cfg.MeetTimeout)
	defer t.Stop()
	select {
	case <-m.all:
		return nil
	case <-m.broken:
		return m.Err()
	case <-t.C:
		return fmt.Errorf("%s did not arrive within %v", m.missing(), m.cfg.MeetTimeout)
	case <-ctx.Done():
		return ErrInterrupted
	}
}

// missing names the shares that have not joined: 'shares 2, 5 of 8'.
func (m *Meeting) missing() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var names []string
	for i := range m.cfg.Share.count() {
		if _, here := m.here[i+1]; !here {
			names = append(names, strconv.Itoa(i+1))
		}
	}
	word := "shares"
	if len(names) == 1 {
		word = "share"
	}
	return fmt.Sprintf("%s %s of %d", word, strings.Join(names, ", "), m.cfg.Share.count())
}

// Plan returns the plan that all shares have agreed on.
func (m *Meeting) Plan() Plan { return m.plan }

// Ended returns a channel that is closed when the load must be cut: somebody has stopped the run, or a share was lost and the run does not finish its cell.
func (m *Meeting) Ended() <-chan struct{} { return m.ended }

// Err returns why the shares can no longer wait for each other; nil while they can.
func (m *Meeting) Err() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.why
}

// Await waits until all shares have reached a stage of a cell. The error is ErrInterrupted, ErrLost, ErrFailed or ErrCoordinator, or the context's.
func (m *Meeting) Await(ctx context.Context, cell int, stage string) error {
	if err := m.Err(); err != nil {
		return err
	}
	ctx, end := m.While(ctx)
	defer end()
	variant := barrier.RendezvousVariants()[0]
	return m.failure(variant.New(m.s, m.at("cells", cell, stage), recipes.Options{Members: m.cfg.Share.count()}).Meet(ctx))
}

// Stop ends the run for all shares. It does not change a meeting that is already over.
func (m *Meeting) Stop(ctx context.Context, cause Cause, reason string) {
	ctx, cancel := context.WithTimeout(ctx, farewellTimeout)
	defer cancel()
	host, _ := os.Hostname()
	// If a share cannot write this, the others treat it as lost when its session ends.
	_, _ = m.s.Create(ctx, m.at("stop"), encode(stopped{m.cfg.Share.Number(), host, cause, reason}), zk.Persistent)
}

// farewellTimeout is how long the last requests of a share may take.
const farewellTimeout = 5 * time.Second

// Done records how this share has ended.
func (m *Meeting) Done(ctx context.Context, o Outcome) error {
	ctx, cancel := context.WithTimeout(ctx, farewellTimeout)
	defer cancel()
	o.Host, _ = os.Hostname()
	_, err := m.s.Create(ctx, m.at("done", m.cfg.Share.Number()), encode(o), zk.Persistent)
	if errors.Is(err, zk.ErrNodeExists) { // the reply to an earlier attempt was lost
		return nil
	}
	return err
}

// Outcomes returns how the shares that are done have ended, by number.
func (m *Meeting) Outcomes(ctx context.Context) (map[int]Outcome, error) {
	all := map[int]Outcome{}
	for i := range m.cfg.Share.count() {
		var o Outcome
		there, err := m.read(ctx, m.at("done", i+1), &o)
		if err != nil {
			return nil, err
		}
		if there {
			all[i+1] = o
		}
	}
	return all, nil
}

// AwaitOthers waits until every other share is done or lost; if one is lost, it returns ErrLost.
func (m *Meeting) AwaitOthers(ctx context.Context) error {
	for {
		here, _, err := m.s.Children(ctx, m.at("shares"))
		if err == nil && len(slices.DeleteFunc(here, func(name string) bool { return name == strconv.Itoa(m.cfg.Share.Number()) })) == 0 {
			return m.undone(ctx)
		}
		if isRefusal(err) {
			return m.breakOff(fmt.Errorf("%w: %w", ErrCoordinator, err))
		}
		if sleep.For(ctx, 200*time.Millisecond) != nil {
			return fmt.Errorf("%w: the others have not ended in time", ErrLost)
		}
		if err != nil && m.s.Err() != nil {
			return m.breakOff(ErrCoordinator)
		}
	}
}

// undone returns ErrLost if a share has left without recording its outcome.
func (m *Meeting) undone(ctx context.Context) error {
	done, _, err := m.s.Children(ctx, m.at("done"))
	if err != nil {
		return err
	}
	for i := range m.cfg.Share.count() {
		if n := i + 1; n != m.cfg.Share.Number() && !slices.Contains(done, strconv.Itoa(n)) {
			return fmt.Errorf("%w: share %d", ErrLost, n)
		}
	}
	return nil
}

// MeetsOn reports whether the meeting is on the ensemble of a session, that is, whether its plan is there.
func (m *Meeting) MeetsOn(ctx context.Context, s zk.Session) (bool, error) {
	var p Plan
	data, _, err := s.Get(ctx, m.at("plan"))
	if errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrNoAuth) {
		return false, nil
	}
	return err == nil && json.Unmarshal(data, &p) == nil && p.Nonce == m.plan.Nonce, err
}

// Close leaves the meeting. It may be called more than once.
func (m *Meeting) Close() {
	m.cancel()
	m.work.Wait()
	m.s.Close() // an error means that the coordinator did not answer: the session then expires there
}

// at returns the path of a znode of the meeting.
func (m *Meeting) at(names ...any) string {
	path := m.cfg.Path
	for _, name := range names {
		path += fmt.Sprintf("/%v", name)
	}
	return path
}

// ancestors returns the parents of a path, topmost first, without "/".
func ancestors(path string) (all []string) {
	for i := 1; i < len(path); i++ {
		if path[i] == '/' {
			all = append(all, path[:i])
		}
	}
	return all
}
