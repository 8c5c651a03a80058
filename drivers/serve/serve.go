package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/zkbench/zkbench/drivers"
)

// Client is one session of the library being driven. Its methods may be called concurrently for different locks. If the driver's hello does not list locks,
// only Close is called.
type Client interface {
	// Acquire waits for the lock at a path until the context ends.
	Acquire(ctx context.Context, path string) (Grant, error)
	// TryAcquire takes the lock if it is free, and otherwise returns ErrHeld. It is not called if the driver's hello does not list it.
	TryAcquire(ctx context.Context, path string) (Grant, error)
	// Release releases the lock; ErrNotHeld says that the client does not hold it, or no longer does.
	Release(ctx context.Context, path string) error
	// Close ends the session.
	Close() error
}

// ReadWriter is a Client that has read/write locks, for drivers whose hello lists read-write. The mode is drivers.ModeRead or
// drivers.ModeWrite; a release gets the mode that is held.
type ReadWriter interface {
	AcquireMode(ctx context.Context, path, mode string) (Grant, error)
	TryMode(ctx context.Context, path, mode string) (Grant, error)
	ReleaseMode(ctx context.Context, path, mode string) error
}

// Semaphore is a Client that has semaphores, for drivers whose hello lists semaphore. Each call is about one of the semaphore's permits; all
// clients of a semaphore give the same number of permits.
type Semaphore interface {
	AcquirePermit(ctx context.Context, path string, permits int) (Grant, error)
	TryPermit(ctx context.Context, path string, permits int) (Grant, error)
	ReleasePermit(ctx context.Context, path string, permits int) error
}

// Queue is a Client that has queues, for drivers whose hello lists queue. Put and Take return the context's error if it ended before anything
// was put or taken; after any other error the operation may or may not have been executed.
type Queue interface {
	// Put puts an item and returns its znode or key; "" if unknown.
	Put(ctx context.Context, path string, item []byte) (node string, err error)
	// Take waits for an item until the context ends.
	Take(ctx context.Context, path string) (Item, error)
}

// Finisher is a Queue whose takes claim, for drivers whose hello says so.
type Finisher interface {
	Queue
	// Finish permanently removes the item that the client has claimed from a queue; there is at most one. ErrNotHeld says that it has none, or no longer has it.
	Finish(ctx context.Context, path string) error
}

// Item is an item that was taken: its content, its znode or key, and, if it was claimed, the token of the claim if there is one.
type Item struct {
	Data []byte
	Grant
}

// Grant is what is known about a grant: a token that grows with every later grant, and its znode or key; zero if there is none.
type Grant struct {
	Token int64
	Node  string
}

// Errors of clients. An error of a context means a timeout or a cancellation.
var (
	ErrHeld    = errors.New("somebody else holds the lock")
	ErrNotHeld = errors.New("the lock is not held")
	ErrLost    = errors.New("the session is over")
)

// Opening holds the parameters for opening a session.
type Opening struct {
	Servers string // host:port, comma-separated
	Timeout time.Duration
	// Event notifies zkbench about the session: drivers.EventSuspended, EventConnected, EventLost. It may be called from any goroutine.
	Event func(event string)
}

// Library opens sessions of the library being driven.
type Library struct {
	Hello drivers.Hello // Protocol and Now are filled in by Run
	// Open opens a session and returns its ZooKeeper session number; 0 if unknown.
	Open func(ctx context.Context, o Opening) (Client, int64, error)
}

// Run answers requests until the input ends, then closes all sessions.
func Run(in io.Reader, out io.Writer, l Library) error {
	s := &server{library: l, out: out, started: time.Now(), clients: map[int64]Client{}, cancels: map[int64]context.CancelFunc{}}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 2<<20) // room for a put of a million bytes
	var wait sync.WaitGroup
	for lines.Scan() {
		var r drivers.Request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return err
		}
		if r.Op == drivers.OpCancel {
			s.cancel(r.Of)
			continue
		}
		ctx, cancel := context.WithCancel(context.Background())
		s.mu.Lock()
		s.cancels[r.ID] = cancel
		s.mu.Unlock()
		wait.Go(func() {
			s.say(s.answer(ctx, r))
			s.cancel(r.ID)
		})
	}
	s.mu.Lock()
	for _, cancel := range s.cancels {
		cancel()
	}
	s.mu.Unlock()
	wait.Wait()
	for _, c := range s.clients {
		c.Close()
	}
	return lines.Err()
}

type server struct {
	library Library
	started time.Time

	mu      sync.Mutex
	out     io.Writer
	clients map[int64]Client
	cancels map[int64]context.CancelFunc // of the requests in flight
}

// now reads the monotonic clock, in nanoseconds since some instant before the first request.
func (s *server) now() int64 { return int64(time.Since(s.started)) + 1 }

func (s *server) cancel(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cancel := s.cancels[id]; cancel != nil {
		cancel()
		delete(s.cancels, id)
	}
}

func (s *server) say(r drivers.Reply) {
	line, err := json.Marshal(r)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out.Write(append(line, '\n')) // a zkbench that no longer listens has closed the input too
}

// answer executes a request.
func (s *server) answer(ctx context.Context, r drivers.Request) drivers.Reply {
	reply := drivers.Reply{ID: r.ID}
	switch r.Op {
	case drivers.OpHello:
		reply.Hello = s.library.Hello
		reply.Protocol, reply.Now = drivers.Protocol, s.now()
	case drivers.OpOpen:
		o := Opening{Servers: r.Servers, Timeout: time.Duration(r.TimeoutMS) * time.Millisecond,
			Event: func(event string) { s.say(drivers.Reply{Event: event, Session: r.Session}) }}
		c, id, err := s.library.Open(ctx, o)
		if reply.ZK = id; err != nil {
			return failed(ctx, reply, err)
		}
		s.mu.Lock()
		s.clients[r.Session] = c
		s.mu.Unlock()
	default:
		s.mu.Lock()
		c := s.clients[r.Session]
		s.mu.Unlock()
		return s.carryOut(ctx, c, r, reply)
	}
	return reply
}

// carryOut executes a request to a session.
func (s *server) carryOut(ctx context.Context, c Client, r drivers.Request, reply drivers.Reply) drivers.Reply {
	if c == nil {
		reply.Error, reply.Message = drivers.ErrorLost, "no such session"
		reply.Start, reply.End = s.now(), s.now()
		return reply
	}
	if r.DeadlineMS > 0 {
		var end context.CancelFunc
		ctx, end = context.WithTimeout(ctx, time.Duration(r.DeadlineMS)*time.Millisecond)
		defer end()
	}
	var it Item
	var err error
	reply.Start = s.now()
	of, known := acquired(c, r)
	queue, queues := c.(Queue)
	finisher, finishes := c.(Finisher)
	switch {
	case r.Op == drivers.OpClose:
		err = c.Close()
		s.mu.Lock()
		delete(s.clients, r.Session)
		s.mu.Unlock()
	case r.Op == drivers.OpPut && queues:
		it.Node, err = queue.Put(ctx, r.Path, r.Item)
	case r.Op == drivers.OpTake && queues:
		it, err = queue.Take(ctx, r.Path)
	case r.Op == drivers.OpFinish && finishes:
		err = finisher.Finish(ctx, r.Path)
	case !known:
		reply.Error, reply.Message = drivers.ErrorUnsupported, fmt.Sprintf("nothing of mode %q and %d permits", r.Mode, r.Permits)
	case r.Op == drivers.OpAcquire:
		it.Grant, err = of.acquire(ctx, r.Path)
	case r.Op == drivers.OpTry:
		it.Grant, err = of.try(ctx, r.Path)
	case r.Op == drivers.OpRelease:
		err = of.release(ctx, r.Path)
	default:
		reply.Error, reply.Message = drivers.ErrorUnsupported, "unknown operation "+r.Op
	}
	reply.End = s.now()
	if err != nil {
		return failed(ctx, reply, err)
	}
	reply.Token, reply.Node, reply.Item = it.Token, it.Node, it.Data
	return reply
}

// acquirer is the thing that a request acquires or releases.
type acquirer struct {
	acquire, try func(ctx context.Context, path string) (Grant, error)
	release      func(ctx context.Context, path string) error
}

// acquired returns what a request is about; false if the client does not support it.
func acquired(c Client, r drivers.Request) (acquirer, bool) {
	switch {
	case r.Permits > 0:
		if of, can := c.(Semaphore); can {
			return about(r.Permits, of.AcquirePermit, of.TryPermit, of.ReleasePermit), true
		}
		return acquirer{}, false
	case r.Mode == drivers.ModeRead || r.Mode == drivers.ModeWrite:
		if of, can := c.(ReadWriter); can {
			return about(r.Mode, of.AcquireMode, of.TryMode, of.ReleaseMode), true
		}
		return acquirer{}, false
	}
	return acquirer{c.Acquire, c.TryAcquire, c.Release}, r.Permits == 0 && r.Mode == ""
}

// about binds the functions to one mode, or to a number of permits.
func about[T any](what T, acquire, try func(context.Context, string, T) (Grant, error), release func(context.Context, string, T) error) acquirer {
	return acquirer{
		func(ctx context.Context, path string) (Grant, error) { return acquire(ctx, path, what) },
		func(ctx context.Context, path string) (Grant, error) { return try(ctx, path, what) },
		func(ctx context.Context, path string) error { return release(ctx, path, what) },
	}
}

// failed puts an error into a reply.
func failed(ctx context.Context, r drivers.Reply, err error) drivers.Reply {
	r.Message = err.Error()
	switch {
	case errors.Is(err, ErrHeld):
		r.Error = drivers.ErrorHeld
	case errors.Is(err, ErrNotHeld):
		r.Error = drivers.ErrorNotHeld
	case errors.Is(err, ErrLost):
		r.Error = drivers.ErrorLost
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() != nil:
		r.Error = drivers.ErrorTimeout
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		r.Error = drivers.ErrorCanceled
	default:
		r.Error = drivers.ErrorFailed
	}
	return r
}
