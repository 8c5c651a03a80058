package recipes_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"iter"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
)

// A party is a number of contenders of one implementation, in this process or another one.
type party struct {
	name       string
	contenders int
	// run returns when the arbiter at that address has ended all contenders.
	run func(ctx context.Context, arbiter string) error
}

// A seat is one contender.
type seat struct {
	party  string
	number uint32 // from 0, in the order in which contenders join
}

// An arbiter tells the contenders of all parties what to do and records the history. Clocks of different processes cannot be compared, so a
// contender asks before each step and waits for the answer, and time is the number of questions, a millisecond each. Each contender has its own
// connection, on which it sends lines and gets one line for each:
//
//	join PARTY   ok, when all have joined
//	next         acquire, read, write or end. Its previous release has returned
//	enter ZNODE  ok. It holds, with that znode, since before the question
//	leave        ok. It releases after the answer
//
// So a hold in the history is part of the real one, and holds that overlap in the history did overlap.
type arbiter struct {
	next func(ctx context.Context, s seat, round int) string // answers next; it may wait
	hold func(ctx context.Context, s seat, round int)        // delays the answer to enter

	joined *meeting
	mu     sync.Mutex
	asked  time.Duration
	seats  []seat
	past   []metrics.Sample
	znodes []string // of all holds
	inside map[string]int
	most   int // the most readers that held at the same time
}

// verbs maps the arbiter's verbs to operations, with those that end them.
var verbs = map[string][2]metrics.Op{
	"acquire": {metrics.Acquire, metrics.Release},
	"write":   {metrics.Acquire, metrics.Release},
	"read":    {metrics.ReadAcquire, metrics.ReadRelease},
}

// play lets the parties contend until the arbiter has ended every contender. Any error ends the test.
func (a *arbiter) play(t *testing.T, parties ...party) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute) // a deadlock fails the test instead of blocking it
	defer cancel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	bubble.OK(t, "Listen()", err)
	defer listener.Close()
	defer context.AfterFunc(ctx, func() { listener.Close() })()

	total := 0
	for _, p := range parties {
		total += p.contenders
	}
	a.joined, a.inside = newMeeting(total), map[string]int{}

	var all sync.WaitGroup
	failures := make(chan error, 1+len(parties)+total)
	try := func(what string, work func() error) {
		all.Go(func() {
			if err := work(); err != nil {
				failures <- fmt.Errorf("%s: %w", what, err)
				cancel()
			}
		})
	}
	for _, p := range parties {
		try(p.name, func() error { return p.run(ctx, listener.Addr().String()) })
	}
	try("arbiter", func() error {
		for range total {
			conn, err := listener.Accept()
			if err != nil {
				return err
			}
			try("arbiter", func() error { return a.serve(ctx, conn) })
		}
		return nil
	})
	all.Wait()
	close(failures)
	for err := range failures {
		t.Error(err) // the first one is the cause
	}
	if t.Failed() {
		t.FailNow()
	}
}

// serve answers the questions of one contender.
func (a *arbiter) serve(ctx context.Context, conn net.Conn) error {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	lines := bufio.NewScanner(conn)
	hear := func(question string) (rest string, err error) {
		if !lines.Scan() {
			return "", errors.Join(fmt.Errorf("a contender hung up instead of asking %s", question), lines.Err(), ctx.Err())
		}
		word, rest, _ := strings.Cut(lines.Text(), " ")
		if word != question {
			return "", fmt.Errorf("a contender asks %q instead of %s", lines.Text(), question)
		}
		return rest, nil
	}
	answer := func(text string) error {
		_, err := fmt.Fprintln(conn, text)
		return err
	}

	party, err := hear("join")
	if err != nil {
		return err
	}
	s := a.join(party)
	a.joined.arrive(ctx)
	if err := answer("ok"); err != nil {
		return err
	}
	var released metrics.Sample
	for round := 0; ; round++ {
		if _, err := hear("next"); err != nil {
			return err
		}
		if round > 0 {
			released.End = a.now()
			a.record(released)
		}
		verb := a.next(ctx, s, round)
		asked := a.now()
		if err := answer(verb); err != nil || verb == "end" {
			return err
		}
		znode, err := hear("enter")
		if err != nil {
			return err
		}
		if err := a.enter(s, verb, asked, znode); err != nil {
			return err
		}
		a.hold(ctx, s, round)
		if err := answer("ok"); err != nil {
			return err
		}
		if _, err := hear("leave"); err != nil {
			return err
		}
		released = a.leave(s, verb)
		if err := answer("ok"); err != nil {
			return err
		}
	}
}

func (a *arbiter) join(party string) seat {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := seat{party: party, number: uint32(len(a.seats))}
	a.seats = append(a.seats, s)
	return s
}

// now counts a question and returns its time.
func (a *arbiter) now() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked += time.Millisecond
	return a.asked
}

func (a *arbiter) record(s metrics.Sample) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.past = append(a.past, s)
}

// enter records a grant. Its token is the number of its znode: no test here recreates the parent.
func (a *arbiter) enter(s seat, verb string, asked time.Duration, znode string) error {
	number, err := strconv.ParseInt(znode[max(0, len(znode)-10):], 10, 64)
	if err != nil {
		return fmt.Errorf("%s holds with znode %q: %w", s.party, znode, err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked += time.Millisecond
	a.past = append(a.past, metrics.Sample{Op: verbs[verb][0], Session: s.number, Token: number + 1, Due: asked, Start: asked, End: a.asked})
	a.znodes = append(a.znodes, znode)
	a.inside[verb]++
	a.most = max(a.most, a.inside["read"])
	return nil
}

// leave returns the sample of the release, which is recorded when the release has returned.
func (a *arbiter) leave(s seat, verb string) metrics.Sample {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked += time.Millisecond
	a.inside[verb]--
	return metrics.Sample{Op: verbs[verb][1], Session: s.number, Due: a.asked, Start: a.asked}
}

// history returns what the contenders did. Call it when they have ended.
func (a *arbiter) history() iter.Seq[metrics.Sample] { return slices.Values(a.past) }

// judge fails the test if a promise was broken, or the verdict rests on another number of grants. The times of a counterexample are questions.
func (a *arbiter) judge(t *testing.T, grants int, promises ...check.Check) {
	t.Helper()
	for _, promise := range promises {
		v := promise.Judge(a.history(), nil)
		if v.Answer != check.Holds || v.Evidence != grants {
			t.Errorf("%s is %v on %d grants, want holds on %d: %s\n%+v\nseats %v", promise.Name, v.Answer, v.Evidence, grants, v.Detail, v.Witness, a.seats)
		}
	}
}

// A meeting is a barrier for a number of goroutines.
type meeting struct {
	mu      sync.Mutex
	missing int
	full    chan struct{}
}

func newMeeting(size int) *meeting { return &meeting{missing: size, full: make(chan struct{})} }

// arrive returns when all have arrived, or when the context ends.
func (m *meeting) arrive(ctx context.Context) {
	m.mu.Lock()
	if m.missing--; m.missing == 0 {
		close(m.full)
	}
	m.mu.Unlock()
	m.wait(ctx)
}

// wait waits like arrive without being counted.
func (m *meeting) wait(ctx context.Context) {
	select {
	case <-m.full:
	case <-ctx.Done():
	}
}
