package drivers

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"
)

// Conformance holds the parameters of the conformance kit.
type Conformance struct {
	Command []string // of the driver, as returned by Find
	Servers []string // for its sessions; none for a driver whose store is its own memory
	Dir     string   // parent path of the kit's locks; it exists if the store is ZooKeeper
	Timeout time.Duration
	// AnswerTimeout is how long the driver may take for what it should do at once.
	AnswerTimeout time.Duration
	Steps         []string // to run in addition to hello; none: all that apply to the driver
	// Child creates a lock's directory, if the store needs one.
	Child func(ctx context.Context, path string) error
}

// Finding is the outcome of one step of the kit.
type Finding struct {
	Step    string
	Detail  string // what was seen, for a step that passed
	Skipped string // why the step does not apply to the driver
	Err     error
}

// Errors of drivers that break their promises.
var (
	// ErrTwoHolders says that a lock was granted while somebody else held it.
	ErrTwoHolders = errors.New("two sessions hold the lock at once")
	// ErrTooMany says that a permit was granted while all were held.
	ErrTooMany = errors.New("more permits are held than exist")
	// ErrLostItem says that an item that was put is never taken.
	ErrLostItem = errors.New("an item is lost")
	// ErrTakenTwice says that an item was given to two sessions, or again to the same one.
	ErrTakenTwice = errors.New("an item is taken twice")
	// ErrStranger says that a take returned something that nobody put.
	ErrStranger = errors.New("an item is taken that nobody put")
	// ErrOutOfOrder says that an item was taken before an older one, from a queue that promises their order.
	ErrOutOfOrder = errors.New("items are taken in another order")
)

// Unsafe reports whether an error is one of these.
func Unsafe(err error) bool {
	return slices.ContainsFunc([]error{ErrTwoHolders, ErrTooMany, ErrLostItem, ErrTakenTwice, ErrStranger, ErrOutOfOrder}, func(one error) bool { return errors.Is(err, one) })
}

// breach returns the error for granting a request that excludes a current holder.
func (r Request) breach() error {
	if r.Permits > 0 {
		return ErrTooMany
	}
	return ErrTwoHolders
}

// OwnMemory is the store of a driver whose locks exist in a single process.
const OwnMemory = "memory"

// settle is how long the kit waits to see that something does not happen.
const settle = 300 * time.Millisecond

// kit is one running step. Its methods end the step when something is wrong.
type kit struct {
	*setting
	err    *error // why it ended
	saying string // prefix of the error
}

// setting is what a step works with.
type setting struct {
	Conformance
	ctx   context.Context
	path  string
	hello Hello
	own   []*Process
}

// attempt executes a step, or a part of one, and returns why it ended early.
func (k *kit) attempt(part func(*kit)) (err error) {
	ended := make(chan struct{})
	go func() { // check may end this goroutine
		defer close(ended)
		part(&kit{setting: k.setting, err: &err})
	}()
	<-ended
	return err
}

// check ends the step with an error, unless that is nil.
func (k *kit) check(err error) {
	if err == nil {
		return
	}
	if k.saying != "" {
		err = fmt.Errorf("%s: %w", k.saying, err)
	}
	*k.err = err
	runtime.Goexit()
}

func (k *kit) failf(format string, args ...any) { k.check(fmt.Errorf(format, args...)) }

// when returns the kit with errors that say when they occurred, or what they concern.
func (k *kit) when(format string, args ...any) *kit {
	return &kit{setting: k.setting, err: k.err, saying: fmt.Sprintf(format, args...)}
}

// step is a step of the kit, for drivers with one of the given abilities; none: for all drivers.
type step struct {
	name string
	run  func(k *kit) (detail string)
	of   []string
	then string // the step that must precede it; "": none
}

// holds lists the abilities with which something can be held exclusively.
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

// errSkipped says why the step does not apply to the driver.
type errSkipped string

func (e errSkipped) Error() string { return string(e) }

// Check runs the conformance kit: each step has its own processes and its own lock. It calls report with each finding as it occurs. If the hello step
// fails, it stops there. Abilities that a driver does not claim are not tested.
func Check(ctx context.Context, c Conformance, report func(Finding)) {
	var hello Hello
	failed := map[string]bool{}
	for i, s := range steps {
		if len(s.of) > 0 && !slices.ContainsFunc(s.of, hello.Knows) || len(c.Steps) > 0 && s.name != "hello" && !slices.Contains(c.Steps, s.name) {
			continue
		}
		if failed[s.then] {
			report(Finding{Step: s.name, Skipped: s.then + " failed"})
			continue
		}
		k := &kit{setting: &setting{Conformance: c, ctx: ctx, hello: hello}}
		k.path = fmt.Sprintf("%s/%s-%d", c.Dir, k.object(s), i)
		f := Finding{Step: s.name}
		if c.Child != nil {
			f.Err = c.Child(ctx, k.path)
		}
		if f.Err == nil {
			f.Err = k.attempt(func(k *kit) { f.Detail = s.run(k) })
		}
		if len(k.own) > 0 {
			hello = k.own[0].Hello
		}
		for _, p := range k.own { // a broken protocol explains any other failure
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
		report(f)
		failed[s.name] = f.Err != nil
		if f.Err != nil && s.name == "hello" || ctx.Err() != nil {
			return
		}
	}
}

// object returns what a step works with, named as in a load, because that name identifies what libraries create below it.
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
func (k *kit) start(ctx context.Context) *Process {
	p, err := Start(ctx, k.Command)
	k.check(err)
	k.own = append(k.own, p)
	return p
}

// clients returns sessions that alternate between two processes, or share one if other processes would not know its locks.
func (k *kit) clients(n int) (all []*Session) {
	processes := 2
	if k.hello.Store == OwnMemory {
		processes = 1
	}
	for i := range n {
		if i < processes {
			k.start(k.ctx)
		}
		all = append(all, k.open(k.own[i%processes]))
	}
	return all
}

func (k *kit) open(p *Process) *Session {
	ctx, cancel := k.within(3*k.AnswerTimeout, "open was not answered")
	defer cancel()
	s, err := p.Open(ctx, k.Servers, k.Timeout)
	k.check(err)
	return s
}

func (k *kit) closes(s *Session) { k.when("close").check(s.Close()) }

// within bounds a wait, and records what it was for.
func (k *kit) within(d time.Duration, what string) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(k.ctx, d, fmt.Errorf("%s within %v", what, d))
}

// ask sends a request and waits for its reply.
func (k *kit) ask(s *Session, r Request, d time.Duration) Reply {
	return k.answer(s, k.begin(s, r), d)
}

// begin sends a session's request about the kit's lock.
func (k *kit) begin(s *Session, r Request) *call {
	r.Session, r.Path = s.number, k.path
	c, err := s.p.send(r)
	k.check(err)
	return c
}

// answer waits for the reply to a request.
func (k *kit) answer(s *Session, c *call, d time.Duration) Reply {
	ctx, cancel := k.within(d, c.r.Op+" was not answered")
	defer cancel()
	r, err := s.p.await(ctx, c)
	k.check(err)
	return r
}

// cancel cancels a request.
func (k *kit) cancel(s *Session, c *call) {
	_, err := s.p.send(Request{Op: OpCancel, Of: c.id})
	k.check(err)
}

// alone returns a request for something exclusive: the lock, or the closest that the driver supports.
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

// of returns a request with that operation for the same thing.
func (r Request) of(op string) Request {
	r.Op = op
	return r
}

// granted acquires a lock that is free, or soon will be.
func (k *kit) granted(s *Session, what Request, d time.Duration) {
	if r := k.ask(s, what.of(OpAcquire), d); r.Error != "" {
		k.failf("acquire of a free lock is refused: %s: %s", r.Error, r.Message)
	}
}

func (k *kit) release(s *Session, what Request) {
	if r := k.ask(s, what.of(OpRelease), k.AnswerTimeout); r.Error != "" {
		k.failf("release of a lock that is held is refused: %s: %s", r.Error, r.Message)
	}
}

// stillWaits checks that a request that must wait gets no reply for a while. overtakes says what is wrong if it is granted.
func (k *kit) stillWaits(c *call, overtakes string) {
	time.Sleep(settle)
	if len(c.reply) == 0 {
		return
	}
	r := <-c.reply
	if r.Error != "" {
		k.failf("an acquire that waits is answered with %s: %s", r.Error, r.Message)
	}
	k.failf("%w: %s", c.r.breach(), overtakes)
}

// inVain lets a session ask for something that is not free, once until it is canceled and once until a deadline.
func (k *kit) inVain(s *Session, what Request, overtakes string) {
	c := k.begin(s, what.of(OpAcquire))
	k.stillWaits(c, overtakes)
	k.cancel(s, c)
	k.endsWith(s, c, ErrorCanceled)
	short := what.of(OpAcquire)
	short.DeadlineMS = settle.Milliseconds()
	k.endsWith(s, k.begin(s, short), ErrorTimeout)
}

// endsWith checks that a request that cannot be granted ends as it should.
func (k *kit) endsWith(s *Session, c *call, want string) {
	switch r := k.answer(s, c, settle+k.AnswerTimeout); {
	case r.Error == "":
		k.failf("%w: an acquire that should have ended ungranted was granted", c.r.breach())
	case r.Error != want:
		k.failf("it is answered with %s: %s (expected %s)", r.Error, r.Message, want)
	}
}

// mayTry tries to take something, and releases it; free says whether it must be granted.
func (k *kit) mayTry(s *Session, what Request, free bool, trying string) {
	if !k.hello.Knows(CanTry) {
		return
	}
	switch r := k.ask(s, what.of(OpTry), k.AnswerTimeout); {
	case free && r.Error != "":
		k.failf("%s is answered with %s: %s", trying, r.Error, r.Message)
	case free:
		k.release(s, what)
	case r.Error == "":
		k.failf("%w: %s was granted", what.breach(), trying)
	case r.Error != ErrorHeld:
		k.failf("%s is answered with %s: %s (expected %s)", trying, r.Error, r.Message, ErrorHeld)
	}
}
