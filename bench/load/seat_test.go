package load

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/workloads"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// interruptible is a session that notes whether it was interrupted.
type interruptible struct {
	zk.Session
	interrupted bool
}

func (s *interruptible) Interrupt() { s.interrupted = true }

// A session that is opened while the pool is interrupted is interrupted as well: its requests do not look at the context.
func TestSessionsOpenedAtTheCutAreInterrupted(t *testing.T) {
	for _, cut := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		fresh := &interruptible{Session: zktest.New(zktest.Config{}).Dial()}
		c := &Cell{fanout: metrics.NewFanout(1), origin: metrics.NewOrigin(time.Now())}
		c.clients.dial = func(context.Context, int) (zk.Session, error) {
			if cut {
				cancel()
				c.clients.interrupt() // the session is not in the pool yet
			}
			return fresh, nil
		}
		c.clients.sessions = []zk.Session{&interruptible{Session: zktest.New(zktest.Config{}).Dial()}}
		s := &seat{clients: &c.clients, Seat: workloads.Seat{Origin: c.origin, Fanout: c.fanout.Shard(0)}}
		if _, err := s.open(ctx); err != nil || fresh.interrupted != cut {
			t.Errorf("cut %v: %v, interrupted %v", cut, err, fresh.interrupted)
		}
		cancel()
	}
}

// What every step uses of a seat is one cache line, and seats are whole ones, so that each starts with one.
func TestAStepUsesOneCacheLineOfItsSeat(t *testing.T) {
	var s seat
	if unsafe.Sizeof(uintptr(0)) == 8 && (unsafe.Offsetof(s.Seat) != 64 || unsafe.Sizeof(s)%64 != 0) {
		t.Errorf("what steps use takes %d bytes, want 64; a seat %d, want a multiple of that", unsafe.Offsetof(s.Seat), unsafe.Sizeof(s))
	}
}

// A session that cannot be opened in time is reported with a remedy; other errors are reported unchanged.
func TestSessionsThatCannotBeOpenedInTimeAreToldWithARemedy(t *testing.T) {
	refused := fmt.Errorf("%w (%w)", context.DeadlineExceeded, ensemble.ErrNoTLS) // repeatedly, until the time was over
	for err, remedy := range map[error]bool{context.DeadlineExceeded: true, refused: false, errors.New("wrong password"): false} {
		pool := sessionPool{number: func(i int) int { return i }, dial: func(context.Context, int) (zk.Session, error) { return nil, err }}
		got := pool.connect(t.Context(), 3, func(int) {})
		if !errors.Is(got, err) || strings.Contains(got.Error(), "lower sessions") != remedy {
			t.Errorf("%v is told as %v", err, got)
		}
	}
}
