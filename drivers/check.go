package drivers

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	Steps    []string // to take beside hello; none: all that concern the driver
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

// Errors of drivers that do not keep what they promise.
var (
	// ErrTwoHolders: a lock was granted while somebody else held it.
	ErrTwoHolders = errors.New("two sessions hold the lock at once")
	// ErrTooMany: a permit was granted while all were held.
	ErrTooMany = errors.New("more permits are held than exist")
	// ErrLostItem: nobody is given an item that was put.
	ErrLostItem = errors.New("an item is lost")
	// ErrTakenTwice: an item was given to two, or again.
	ErrTakenTwice = errors.New("an item is taken twice")
	// ErrStranger: a take is answered with what nobody put.
	ErrStranger = errors.New("an item is taken that nobody put")
	// ErrOutOfOrder: an item was taken before an older one, of a queue that promises their order.
	ErrOutOfOrder = errors.New("items are taken in another order")
)

// Unsafe reports whether an error is one of these.
func Unsafe(err error) bool {
	return slices.ContainsFunc([]error{ErrTwoHolders, ErrTooMany, ErrLostItem, ErrTakenTwice, ErrStranger, ErrOutOfOrder}, func(one error) bool { return errors.Is(err, one) })
}

// breach is what it is when a request is granted that excludes somebody who holds.
func (r Request) breach() error {
	if r.Permits > 0 {
		return ErrTooMany
	}
	return ErrTwoHolders
}

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

// step is one of the kit, for drivers that can do one of some things; none: for all.
type step struct {
	name string
	run  func(k *kit, ctx context.Context) (detail string, err error)
	of   []string
	then string // the step without which it makes no sense; "": none
}

// holds is what can be held by one alone.
var holds = []string{CanLock, CanReadWrite, CanSemaphore}

var queues = []string{CanQueue}

var steps = []step{
	{"hello", (*kit).hellos, nil, ""}, {"requests", (*kit).requests, nil, ""}, {"exclusion", (*kit).exclusion, holds, ""}, {"turmoil", (*kit).turmoil, holds, ""},
	{"try", (*kit).try, holds, ""}, {"deadline", (*kit).deadline, holds, ""}, {"cancellation", (*kit).cancellation, holds, ""}, {"close", (*kit).closing, holds, ""},
	{"death", (*kit).death, holds, ""},
	{"read-write", (*kit).readWrite, []string{CanReadWrite}, ""}, {"rw-turmoil", (*kit).rwTurmoil, []string{CanReadWrite}, "read-write"},
	{"semaphore", (*kit).semaphore, []string{CanSemaphore}, ""}, {"sem-turmoil", (*kit).semaphoreTurmoil, []string{CanSemaphore}, "semaphore"},
	{"queue", (*kit).queue, queues, ""}, {"q-turmoil", (*kit).queueTurmoil, queues, "queue"}, {"q-claims", (*kit).claims, queues, "queue"},
	{"q-death", (*kit).queueDeath, queues, "queue"},
	{"end", (*kit).ending, nil, ""},
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
// first step that fails, if that is the hello. What a driver does not say that it can do has no steps.
func Check(ctx context.Context, c Conformance, told func(Finding)) {
	var hello Hello
	failed := map[string]bool{}
	for i, s := range steps {
		if len(s.of) > 0 && !slices.ContainsFunc(s.of, hello.Knows) || len(c.Steps) > 0 && s.name != "hello" && !slices.Contains(c.Steps, s.name) {
			continue
		}
		if failed[s.then] {
			told(Finding{Step: s.name, Skipped: s.then + " failed"})
			continue
		}
		k := &kit{Conformance: c, hello: hello}
		k.path = fmt.Sprintf("%s/%s-%d", c.Dir, k.object(s), i)
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
		failed[s.name] = f.Err != nil
		if f.Err != nil && s.name == "hello" || ctx.Err() != nil {
			return
		}
	}
}

// object is what a step works with, by the name that it has in a load: what libraries make below it is known by that.
func (k *kit) object(s step) string {
	switch {
	case len(s.of) == 1 && s.of[0] == CanQueue:
		return "queue"
	case len(s.of) == 1 && s.of[0] == CanSemaphore || k.alone().Permits > 0:
		return "semaphore"
	}
	return "lock"
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
	ctx, cancel := k.within(ctx, d, c.r.Op+" was not answered")
	defer cancel()
	return s.p.await(ctx, c)
}

// alone is what one alone can hold: the lock, or what comes nearest to it of what the driver can do.
func (k *kit) alone() Request {
	switch {
	case k.hello.Knows(CanLock):
		return Request{}
	case k.hello.Knows(CanReadWrite):
		return writing
	case k.hello.Knows(CanSemaphore):
		return Request{Permits: 1}
	}
	return Request{}
}

// of is a request of that operation, for what another one is for.
func (r Request) of(op string) Request {
	r.Op = op
	return r
}

// granted asks for a lock that is free, or is about to be.
func (k *kit) granted(ctx context.Context, s *Session, d time.Duration) error {
	return k.grantedAs(ctx, s, k.alone(), d)
}

func (k *kit) grantedAs(ctx context.Context, s *Session, what Request, d time.Duration) error {
	r, err := k.ask(ctx, s, what.of(OpAcquire), d)
	if err == nil && r.Error != "" {
		err = fmt.Errorf("acquire of a free lock is refused: %s: %s", r.Error, r.Message)
	}
	return err
}

func (k *kit) release(ctx context.Context, s *Session) error { return k.releaseAs(ctx, s, k.alone()) }

func (k *kit) releaseAs(ctx context.Context, s *Session, what Request) error {
	r, err := k.ask(ctx, s, what.of(OpRelease), k.Patience)
	if err == nil && r.Error != "" {
		err = fmt.Errorf("release of a lock that is held is refused: %s: %s", r.Error, r.Message)
	}
	return err
}

// stillWaits looks that a request that has to wait is not answered for a while. overtakes says what is wrong if it is granted.
func (k *kit) stillWaits(c *call, overtakes string) error {
	time.Sleep(settle)
	if len(c.reply) == 0 {
		return nil
	}
	r := <-c.reply
	if r.Error != "" {
		return fmt.Errorf("an acquire that waits is answered with %s: %s", r.Error, r.Message)
	}
	return fmt.Errorf("%w: %s", c.r.breach(), overtakes)
}

// inVain has a session ask for what is not free, once until it is canceled and once up to a deadline.
func (k *kit) inVain(ctx context.Context, s *Session, what Request, overtakes string) error {
	c, err := k.begin(s, what.of(OpAcquire))
	if err != nil {
		return err
	}
	if err := k.stillWaits(c, overtakes); err != nil {
		return err
	}
	if _, err := s.p.send(Request{Op: OpCancel, Of: c.id}); err != nil {
		return err
	}
	if err := k.endsWith(ctx, s, c, ErrorCanceled); err != nil {
		return err
	}
	short := what.of(OpAcquire)
	short.DeadlineMS = settle.Milliseconds()
	if c, err = k.begin(s, short); err != nil {
		return err
	}
	return k.endsWith(ctx, s, c, ErrorTimeout)
}

// endsWith looks that a request that cannot be granted is given up as it should.
func (k *kit) endsWith(ctx context.Context, s *Session, c *call, want string) error {
	r, err := k.answer(ctx, s, c, settle+k.Patience)
	switch {
	case err != nil:
		return err
	case r.Error == "":
		return fmt.Errorf("%w: an acquire that should have ended ungranted was granted", c.r.breach())
	case r.Error != want:
		return fmt.Errorf("it is answered with %s: %s (expected %s)", r.Error, r.Message, want)
	}
	return nil
}

// mayTry tries to take something, and gives it back; free says whether it has to be granted.
func (k *kit) mayTry(ctx context.Context, s *Session, what Request, free bool, trying string) error {
	if !k.hello.Knows(CanTry) {
		return nil
	}
	r, err := k.ask(ctx, s, what.of(OpTry), k.Patience)
	switch {
	case err != nil:
		return err
	case free && r.Error != "":
		return fmt.Errorf("%s is answered with %s: %s", trying, r.Error, r.Message)
	case free:
		return k.releaseAs(ctx, s, what)
	case r.Error == "":
		return fmt.Errorf("%w: %s was granted", what.breach(), trying)
	case r.Error != ErrorHeld:
		return fmt.Errorf("%s is answered with %s: %s (expected %s)", trying, r.Error, r.Message, ErrorHeld)
	}
	return nil
}
