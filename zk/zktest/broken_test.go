package zktest

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/zkbench/zkbench/zk"
)

// broken is an engine with one defect. Its sound methods are those of Session.
type broken struct {
	*Session
	defect string
	closes *atomic.Int32 // of all sessions
}

func (b broken) Create(ctx context.Context, path string, data []byte, mode zk.Mode) (zk.Created, error) {
	if b.defect == "owns nothing" && mode == zk.Ephemeral {
		mode = zk.Persistent
	}
	c, err := b.Session.Create(ctx, path, data, mode)
	if b.defect == "wrong czxid" {
		c.Czxid++
	}
	return c, err
}

func (b broken) Set(ctx context.Context, path string, data []byte, version int32) (zk.Stat, error) {
	if b.defect == "ignores versions" {
		version = zk.AnyVersion
	}
	if b.defect == "ignores contexts" {
		ctx = context.WithoutCancel(ctx)
	}
	return b.Session.Set(ctx, path, data, version)
}

func (b broken) Get(ctx context.Context, path string) ([]byte, zk.Stat, error) {
	data, st, err := b.Session.Get(ctx, path)
	if b.defect == "bare errors" && err != nil {
		err = zk.ErrNoNode
	}
	return data, st, err
}

func (b broken) ExistsW(ctx context.Context, path string) (zk.Stat, bool, *zk.Watch, error) {
	st, ok, w, err := b.Session.ExistsW(ctx, path)
	if b.defect == "deaf to creation" && !ok && err == nil && !strings.Contains(path, "flush") {
		w.Stop()
		w = zk.NewWatch(nil)
	}
	return st, ok, w, err
}

// ChildrenW with that defect reads first and arms the watch later: a race that loses events.
func (b broken) ChildrenW(ctx context.Context, path string) ([]string, zk.Stat, *zk.Watch, error) {
	if b.defect != "reads, then arms" {
		return b.Session.ChildrenW(ctx, path)
	}
	names, st, err := b.Session.Children(ctx, path)
	if err != nil {
		return nil, zk.Stat{}, nil, err
	}
	synctest.Wait() // lets every other goroutine run first
	_, _, w, err := b.Session.ChildrenW(ctx, path)
	return names, st, w, err
}

func (b broken) Multi(ctx context.Context, ops ...zk.Op) ([]zk.OpResult, error) {
	if b.defect == "half a multi" && len(ops) > 1 {
		b.Session.Multi(ctx, ops[0])
		ops = ops[1:]
	}
	return b.Session.Multi(ctx, ops...)
}

func (b broken) Lease() <-chan struct{} {
	if b.defect == "leases forever" {
		return make(chan struct{})
	}
	return b.Session.Lease()
}

func (b broken) Close() error {
	if b.defect == "never closes" {
		return nil
	}
	if b.defect == "leaks a goroutine" {
		go func() { select {} }()
	}
	over := b.Err() != nil
	err := b.Session.Close()
	switch {
	case b.defect == "fails to close":
		return io.ErrUnexpectedEOF
	case !over && (b.defect == "deaf to the answer to a close" || b.defect == answersLate && b.closes.Add(1)%2 == 1):
		return fmt.Errorf("%w: %w", zk.ErrMaybeApplied, context.DeadlineExceeded)
	}
	return err
}

// answersLate is no defect: every other close, from the first on, is answered later than Close waits.
const answersLate = "answers a close late"

// defects lists each defect with a promise that it breaks.
var defects = []struct{ defect, sentence string }{
	{"owns nothing", "Close takes the ephemeral znodes along and leaves the others"},
	{"wrong czxid", "the czxid of a create is right or left out, and grows"},
	{"ignores versions", "a refusal is the sentinel of its cause and names operation and path"},
	{"bare errors", "a refusal is the sentinel of its cause and names operation and path"},
	{"ignores contexts", "a context ends a call that waits for a connection"},
	{"deaf to creation", "an exists watch on a missing znode tells of its creation"},
	{"reads, then arms", "a watch is armed atomically with its read"},
	{"half a multi", "a Multi that fails applies nothing and says which operation failed"},
	{"leases forever", "the lease ends without a connection, and a new one comes with it"},
	{"never closes", "Close ends the session for good and may be called again"},
	{"leaks a goroutine", "Close ends every watch with an event"},
	{"fails to close", "Close ends every watch with an event"},
	{"deaf to the answer to a close", "Close ends every watch with an event"},
}

// TestTheSuiteFindsDefects runs the suite on broken engines, each in its own process, because the test there must fail.
func TestTheSuiteFindsDefects(t *testing.T) {
	const key = "ZKTEST_DEFECT"
	if defect := os.Getenv(key); defect != "" {
		runBroken(t, defect)
		return
	}
	for _, f := range defects {
		t.Run(f.defect, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestTheSuiteFindsDefects$")
			cmd.Env = append(os.Environ(), key+"="+f.defect)
			out, err := cmd.CombinedOutput()
			if _, failed := err.(*exec.ExitError); !failed {
				t.Errorf("%q was not found: %v\n%s", f.sentence, err, out)
			}
			if !strings.Contains(string(out), "FAIL: TestTheSuiteFindsDefects") {
				t.Errorf("the process ended without a failed test:\n%s", out)
			}
		})
	}
}

// A close that is answered late breaks no promise, if another one is answered.
func TestAServerMayAnswerACloseLate(t *testing.T) {
	for _, p := range slices.Concat(sessionPromises, endingPromises) {
		runPromise(t, answersLate, p.sentence)
	}
}

func runBroken(t *testing.T, defect string) {
	for _, f := range defects {
		if f.defect == defect {
			runPromise(t, defect, f.sentence)
		}
	}
}

// runPromise tests one promise on an engine with a defect.
func runPromise(t *testing.T, defect, sentence string) {
	for _, p := range promises() {
		if p.sentence != sentence {
			continue
		}
		synctest.Test(t, func(t *testing.T) {
			var closes atomic.Int32
			ens := New(Config{})
			pw := ens.powers()
			pw.Expire = func(s zk.Session) { ens.Expire(s.(broken).Session) }
			pw.Disconnect = func(s zk.Session) { ens.Disconnect(s.(broken).Session) }
			pw.Reconnect = func(s zk.Session) { ens.Reconnect(s.(broken).Session) }
			p.test(t, func(t *testing.T, cfg DialConfig) zk.Session {
				return broken{ens.DialTimeout(cfg.Timeout), defect, &closes}
			}, pw)
		})
	}
}
