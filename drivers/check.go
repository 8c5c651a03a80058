package drivers

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Conformance is what the conformance kit needs.
type Conformance struct {
	Command []string // of the driver, as Find gives it
	Servers []string // that its sessions open; none for a driver whose store is its own memory
	Dir     string   // path that the kit's locks live under; it exists where the store is ZooKeeper
	Timeout time.Duration
	// Patience is how long the driver may take for what it should do at once.
	Patience time.Duration
	// Child makes a lock's directory, where the store needs one.
	Child func(ctx context.Context, path string) error
}

// Finding is the outcome of one step of the kit.
type Finding struct {
	Step    string
	Detail  string // what was seen, of a step that was passed
	Skipped string // why the step does not concern the driver
	Err     error
}

// ErrTwoHolders: a lock was granted while somebody else held it.
var ErrTwoHolders = errors.New("two hold the lock at once")

// OwnMemory is the store of a driver whose locks are known to one process alone.
const OwnMemory = "memory"

// settle is how long the kit waits for what must not happen.
const settle = 300 * time.Millisecond

// kit is one step under way.
type kit struct {
	Conformance
	path  string
	hello Hello
	own   []*Process
}

type step struct {
	name string
	run  func(k *kit, ctx context.Context) (detail string, err error)
}

var steps = []step{
	{"hello", (*kit).hellos}, {"requests", (*kit).requests}, {"exclusion", (*kit).exclusion}, {"turmoil", (*kit).turmoil}, {"try", (*kit).try},
	{"deadline", (*kit).deadline}, {"cancellation", (*kit).cancellation}, {"close", (*kit).closing}, {"death", (*kit).death}, {"end", (*kit).ending},
}

func (f Finding) String() string {
	switch {
	case f.Err != nil:
		return fmt.Sprintf("FAILED  %-13s %v", f.Step, f.Err)
	case f.Skipped != "":
		return fmt.Sprintf("skipped %-13s %s", f.Step, f.Skipped)
	}
	return fmt.Sprintf("ok      %-13s %s", f.Step, f.Detail)
}

// errSkipped: the step does not concern the driver.
type errSkipped string

func (e errSkipped) Error() string { return string(e) }

// Check runs the conformance kit: each step with processes and a lock of its own. told gets each finding when it is there. It ends after the
// first step that fails, if that is the hello.
func Check(ctx context.Context, c Conformance, told func(Finding)) {
	var hello Hello
	for i, s := range steps {
		k := &kit{Conformance: c, path: fmt.Sprintf("%s/lock-%d", c.Dir, i), hello: hello}
		f := Finding{Step: s.name}
		if c.Child != nil {
			f.Err = c.Child(ctx, k.path)
		}
		if f.Err == nil {
			f.Detail, f.Err = s.run(k, ctx)
		}
		if len(k.own) > 0 {
			hello = k.own[0].Hello
		}
		for _, p := range k.own { // a broken protocol explains whatever failed
			if err := p.why(); closed(p.Ended()) && errors.Is(err, ErrProtocol) {
				f.Err = err
			}
			p.end(ErrEnded)
			<-p.Ended()
		}
		var skipped errSkipped
		if errors.As(f.Err, &skipped) {
			f.Err, f.Skipped = nil, string(skipped)
		}
		told(f)
		if f.Err != nil && s.name == "hello" || ctx.Err() != nil {
			return
		}
	}
}

// start starts a process.
func (k *kit) start(ctx context.Context) (*Process, error) {
	p, err := Start(ctx, k.Command)
	if err != nil {
		return nil, err
	}
	k.own = append(k.own, p)
	return p, nil
}

// clients are sessions in two processes by turns, or all in one where others would not know of its locks.
func (k *kit) clients(ctx context.Context, n int) ([]*Session, error) {
	processes := 2
	if k.hello.Store == OwnMemory {
		processes = 1
	}
	var all []*Session
	for i := range n {
		if i < processes {
			if _, err := k.start(ctx); err != nil {
				return nil, err
			}
		}
		s, err := k.open(ctx, k.own[i%processes])
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

func (k *kit) open(ctx context.Context, p *Process) (*Session, error) {
	ctx, cancel := k.within(ctx, 3*k.Patience, "open was not answered")
	defer cancel()
	return p.Open(ctx, k.Servers, k.Timeout)
}

// within bounds a wait, and says what it was for.
func (k *kit) within(ctx context.Context, d time.Duration, what string) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, d, fmt.Errorf("%s within %v", what, d))
}

// ask makes a request and waits for its answer.
func (k *kit) ask(ctx context.Context, s *Session, r Request, d time.Duration) (Reply, error) {
	c, err := k.begin(s, r)
	if err != nil {
		return Reply{}, err
	}
	return k.answer(ctx, s, c, d)
}

// begin makes a request of a session, of the kit's lock.
func (k *kit) begin(s *Session, r Request) (*call, error) {
	r.Session, r.Path = s.number, k.path
	return s.p.send(r)
}

// answer waits for the answer of a request.
func (k *kit) answer(ctx context.Context, s *Session, c *call, d time.Duration) (Reply, error) {
	ctx, cancel := k.within(ctx, d, c.op+" was not answered")
	defer cancel()
	return s.p.await(ctx, c)
}

// granted asks for a lock that is free, or is about to be.
func (k *kit) granted(ctx context.Context, s *Session, d time.Duration) error {
	r, err := k.ask(ctx, s, Request{Op: OpAcquire}, d)
	if err == nil && r.Error != "" {
		err = fmt.Errorf("acquire of a free lock is refused: %s: %s", r.Error, r.Message)
	}
	return err
}

func (k *kit) release(ctx context.Context, s *Session) error {
	r, err := k.ask(ctx, s, Request{Op: OpRelease}, k.Patience)
	if err == nil && r.Error != "" {
		err = fmt.Errorf("release of a lock that is held is refused: %s: %s", r.Error, r.Message)
	}
	return err
}
