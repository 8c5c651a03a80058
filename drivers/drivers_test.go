package drivers_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zkbench/zkbench/drivers"
	"github.com/zkbench/zkbench/drivers/serve"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// defectVariable makes the test binary a driver: a sound one, or one with a defect.
const defectVariable = "ZKBENCH_TEST_DRIVER"

func TestMain(m *testing.M) {
	if defect := strings.ReplaceAll(os.Getenv(defectVariable), "-", " "); defect != "" {
		if err := beDriver(defect); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// beDriver is the null driver with one defect.
func beDriver(defect string) error {
	l := serve.InMemory()
	if strings.HasPrefix(defect, "claims") {
		l = serve.InMemoryClaims()
	}
	open := l.Open
	l.Open = func(ctx context.Context, o serve.Opening) (serve.Client, int64, error) {
		c, id, err := open(ctx, o)
		return defective{c.(whole), defect}, id, err
	}
	switch defect {
	case "another protocol":
		fmt.Println(`{"id":1,"protocol":2,"name":"x","store":"memory","now":1,"can":["lock"]}`)
	case "not JSON":
		fmt.Println("Driver v1.0 is ready")
	case "no locks":
		l.Hello.Can = []string{"fly", drivers.CanTry}
	case "queues alone":
		l.Hello.Can = []string{drivers.CanQueue}
	case "read write alone":
		l.Hello.Can = []string{drivers.CanReadWrite}
	case "dies at once":
		return errors.New("no license")
	}
	out := &spoiler{defect: defect, out: os.Stdout}
	err := serve.Run(os.Stdin, out, l)
	if defect == "goes on after its input" {
		time.Sleep(time.Hour)
	}
	return err
}

// whole is a client of a library that can do everything.
type whole interface {
	serve.Client
	serve.ReadWriter
	serve.Semaphore
	serve.Finisher
}

// defective breaks the promises of a library.
type defective struct {
	whole
	defect string
}

func (d defective) AcquireMode(ctx context.Context, path, mode string) (serve.Grant, error) {
	switch {
	case d.defect == "lets writers in beside readers" && mode == drivers.ModeWrite:
		mode = drivers.ModeRead
	case d.defect == "lets readers wait for readers":
		mode = drivers.ModeWrite
	}
	return d.whole.AcquireMode(ctx, path, mode)
}

func (d defective) AcquirePermit(ctx context.Context, path string, permits int) (serve.Grant, error) {
	switch d.defect {
	case "gives one permit too many":
		permits++
	case "gives one permit too few":
		permits--
	}
	return d.whole.AcquirePermit(ctx, path, permits)
}

func (d defective) ReleasePermit(ctx context.Context, path string, permits int) error {
	if d.defect == "loses permits" {
		return nil
	}
	return d.whole.ReleasePermit(ctx, path, permits)
}

// taken counts the items that were taken, of all sessions.
var taken atomic.Int64

func (d defective) Put(ctx context.Context, path string, item []byte) (string, error) {
	switch d.defect {
	case "dies with items":
		os.Exit(3)
	case "loses an item":
		if bytes.HasPrefix(item, []byte("item 3 ")) {
			return "3", nil
		}
	case "puts an item twice":
		if bytes.HasPrefix(item, []byte("item 3 ")) {
			defer d.whole.Put(ctx, path, item)
		}
	case "puts text":
		item = []byte(strings.ToValidUTF8(string(item), "?"))
	}
	return d.whole.Put(ctx, path, item)
}

func (d defective) Take(ctx context.Context, path string) (serve.Item, error) {
	switch d.defect {
	case "dies with items":
		os.Exit(3)
	case "answers a take at once":
		return serve.Item{}, nil
	case "ignores deadlines":
		ctx = context.WithoutCancel(ctx)
	case "swaps items":
		return d.swap(ctx, path)
	case "claims for good":
		it, err := d.whole.Take(ctx, path)
		if err == nil {
			err = d.whole.Finish(ctx, path)
		}
		return it, err
	case "claims for nobody":
		it, err := d.whole.Take(ctx, path)
		if err == nil {
			d.whole.Put(ctx, path, it.Data)
		}
		it.Node = ""
		return it, err
	}
	it, err := d.whole.Take(ctx, path)
	if n := taken.Add(1); err == nil && n == 20 && d.defect == "hands an item out twice under load" {
		d.whole.Put(ctx, path, it.Data)
	}
	return it, err
}

// swap takes the second item if there is one.
func (d defective) swap(ctx context.Context, path string) (serve.Item, error) {
	first, err := d.whole.Take(ctx, path)
	if err != nil {
		return first, err
	}
	at, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	second, err := d.whole.Take(at, path)
	if err != nil {
		first.Node = "" // it may have been put again
		return first, nil
	}
	d.whole.Put(ctx, path, first.Data)
	second.Node = ""
	return second, nil
}

func (d defective) Finish(ctx context.Context, path string) error {
	switch d.defect {
	case "dies with items":
		os.Exit(3)
	case "claims and finishes anything":
		d.whole.Finish(ctx, path)
		return nil
	}
	return d.whole.Finish(ctx, path)
}

func (d defective) ReleaseMode(ctx context.Context, path, mode string) error {
	if err := d.whole.ReleaseMode(ctx, path, mode); !errors.Is(err, serve.ErrNotHeld) || d.defect == "none" {
		return err
	}
	return d.whole.ReleaseMode(ctx, path, map[string]string{drivers.ModeRead: drivers.ModeWrite, drivers.ModeWrite: drivers.ModeRead}[mode]) // what it took instead
}

func (d defective) Acquire(ctx context.Context, path string) (serve.Grant, error) {
	switch d.defect {
	case "grants twice":
		return serve.Grant{Token: 1}, nil
	case "ignores deadlines":
		ctx = context.WithoutCancel(ctx)
	case "keeps what was given up":
		g, err := d.whole.Acquire(context.WithoutCancel(ctx), path)
		if ctx.Err() != nil {
			return serve.Grant{}, ctx.Err()
		}
		return g, err
	case "dies":
		os.Exit(3)
	case "tells of a loss":
		defer fmt.Println(`{"event":"suspended","session":9}`)
	}
	return d.whole.Acquire(ctx, path)
}

func (d defective) Release(ctx context.Context, path string) error {
	if d.defect == "releases anything" {
		d.whole.Release(ctx, path)
		return nil
	}
	return d.whole.Release(ctx, path)
}

func (d defective) Close() error {
	if strings.HasSuffix(d.defect, "keeps locks of the closed") {
		return nil
	}
	return d.whole.Close()
}

// spoiler spoils what a driver says of its acquisitions.
type spoiler struct {
	defect string
	out    *os.File
}

func (s *spoiler) Write(line []byte) (int, error) {
	var r drivers.Reply
	if err := json.Unmarshal(line, &r); err != nil || r.Start == 0 {
		return s.out.Write(line)
	}
	switch s.defect {
	case "never answers":
		return len(line), nil
	case "answers another request":
		r.ID += 1000
	case "answers twice":
		s.out.Write(line)
	case "clock ahead":
		r.Start, r.End = r.Start+int64(time.Minute), r.End+int64(time.Minute)
	case "clock behind":
		r.Start -= int64(time.Minute)
	case "clock backwards":
		r.Start, r.End = r.End+1, r.Start
	case "no clock":
		r.Start, r.End = 0, 0
	}
	line, _ = json.Marshal(r)
	s.out.Write(append(line, '\n'))
	return len(line), nil
}

// driver is the command of this test binary as a driver.
func driver(t *testing.T, defect string) []string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return []string{"/usr/bin/env", "GORACE=atexit_sleep_ms=0", defectVariable + "=" + strings.ReplaceAll(defect, " ", "-"), self}
}

// findings runs the kit, up to a step; "": all. It takes some steps, or all.
func findings(t *testing.T, defect, last string, patience time.Duration, steps ...string) map[string]drivers.Finding {
	t.Helper()
	all := map[string]drivers.Finding{}
	ctx, enough := context.WithCancel(t.Context())
	defer enough()
	drivers.Check(ctx, drivers.Conformance{Command: driver(t, defect), Dir: "/d", Timeout: time.Second, Patience: patience, Steps: steps}, func(f drivers.Finding) {
		if all[f.Step] = f; f.Step == last {
			enough()
		}
	})
	return all
}

func TestNullDriverConforms(t *testing.T) {
	t.Parallel()
	all := findings(t, "none", "", time.Minute)
	for step, f := range all {
		if f.Err != nil || f.Skipped != "" && step != "death" && step != "q-death" && step != "q-claims" {
			t.Error(f)
		}
	}
	if len(all) != 18 {
		t.Errorf("%d findings, want 18", len(all))
	}
}

// A driver of queues alone has no steps of locks, and one whose takes claim passes those of claims.
func TestQueuesConform(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		defect  string
		skipped []string
		of      int
		steps   []string
	}{
		{"queues alone", []string{"q-claims", "q-death"}, 7, nil},
		{"claims", []string{"q-death"}, 5, []string{"queue", "q-turmoil", "q-claims", "q-death"}},
	} {
		all := findings(t, c.defect, "", time.Minute, c.steps...)
		for step, f := range all {
			if f.Err != nil || (f.Skipped != "") != slices.Contains(c.skipped, step) {
				t.Errorf("%s: %v", c.defect, f)
			}
		}
		if len(all) != c.of {
			t.Errorf("%s: %d findings, want %d", c.defect, len(all), c.of)
		}
	}
}

// A driver of read/write locks alone passes the steps of locks with its writers.
func TestAPartConforms(t *testing.T) {
	t.Parallel()
	all := findings(t, "read write alone", "", time.Minute)
	for step, f := range all {
		if f.Err != nil || (f.Skipped != "") != (step == "death" || step == "try") {
			t.Error(f)
		}
	}
	if len(all) != 12 {
		t.Errorf("%d findings, want 12", len(all))
	}
}

func TestBrokenDriversAreCaught(t *testing.T) {
	const short = 2 * time.Second
	for _, c := range []struct {
		defect, step string
		kind         error // nil: any
		says         string
	}{
		{"grants twice", "exclusion", drivers.ErrTwoHolders, "granted"},
		{"never answers", "exclusion", nil, "not answered"},
		{"answers another request", "exclusion", drivers.ErrProtocol, "answers request"},
		{"answers twice", "exclusion", drivers.ErrProtocol, "has been answered"},
		{"clock ahead", "exclusion", drivers.ErrProtocol, "after it was received"},
		{"clock behind", "exclusion", drivers.ErrProtocol, "before the request was sent"},
		{"clock backwards", "exclusion", drivers.ErrProtocol, "before it started"},
		{"no clock", "exclusion", drivers.ErrProtocol, "no start"},
		{"ignores deadlines", "deadline", nil, "not answered"},
		{"keeps what was given up", "cancellation", nil, "not answered"},
		{"releases anything", "requests", nil, "without an error"},
		{"keeps locks of the closed", "close", nil, "nobody else gets the lock"},
		{"dies", "exclusion", nil, "ended"},
		{"goes on after its input", "end", nil, "has not ended"},
		{"another protocol", "hello", drivers.ErrProtocol, "version 2"},
		{"not JSON", "hello", drivers.ErrProtocol, "not a reply"},
		{"no locks", "hello", nil, "can do nothing"},
		{"lets writers in beside readers", "read-write", drivers.ErrTwoHolders, "a writer was let in"},
		{"gives one permit too many", "semaphore", drivers.ErrTooMany, "was granted"},
		{"gives one permit too few", "semaphore", nil, "permit 2 of 2"},
		{"loses permits", "semaphore", nil, "given back"},
		{"lets readers wait for readers", "read-write", nil, "beside readers: acquire was not answered"},
		{"loses an item", "queue", drivers.ErrLostItem, "take 6 of 6"},
		{"puts an item twice", "queue", drivers.ErrTakenTwice, "item 3"},
		{"puts text", "queue", drivers.ErrStranger, "item 1"},
		{"answers a take at once", "queue", drivers.ErrStranger, `""`},
		{"ignores deadlines", "queue", nil, "not answered"},
		{"swaps items", "queue", drivers.ErrOutOfOrder, "item 3 is taken before item 2"},
		{"claims for good", "queue", nil, "finish of an item that was taken is refused"},
		{"claims for nobody", "queue", drivers.ErrTakenTwice, "item 1"},
		{"claims and finishes anything", "q-claims", nil, "a finish of nothing"},
		{"claims, keeps locks of the closed", "q-claims", drivers.ErrLostItem, "the item of a session that was closed"},
		{"dies at once", "hello", drivers.ErrEnded, "no license"},
	} {
		t.Run(c.defect, func(t *testing.T) {
			t.Parallel()
			f := findings(t, c.defect, c.step, short)[c.step]
			if f.Err == nil || c.kind != nil && !errors.Is(f.Err, c.kind) || !strings.Contains(f.Err.Error(), c.says) {
				t.Errorf("%s: %v, want an error that says %q", c.step, f.Err, c.says)
			}
		})
	}
}

// What only turmoil may bring out of a driver.
func TestTurmoil(t *testing.T) {
	for _, c := range []struct {
		defect, step string
		kind         error
		says         string
	}{
		{"lets writers in beside readers", "rw-turmoil", drivers.ErrTwoHolders, "wrote and"},
		{"gives one permit too many", "sem-turmoil", drivers.ErrTooMany, "3 of 2"},
		{"hands an item out twice under load", "q-turmoil", drivers.ErrTakenTwice, "item"},
	} {
		t.Run(c.defect, func(t *testing.T) {
			t.Parallel()
			if f := findings(t, c.defect, "", time.Minute, c.step)[c.step]; !errors.Is(f.Err, c.kind) || !strings.Contains(f.Err.Error(), c.says) {
				t.Errorf("%v, want an error that says %q", f, c.says)
			}
		})
	}
}

// fleet is processes of a driver with a defect, and what broke the protocol.
func fleet(t *testing.T, defect string, processes int) (*drivers.Fleet, chan error) {
	t.Helper()
	broken := make(chan error, 1)
	f, err := drivers.NewFleet(drivers.Config{Program: strings.Join(driver(t, defect), " "), Processes: processes, Timeout: 10 * time.Second, Broken: func(err error) { broken <- err }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f, broken
}

func dial(t *testing.T, f *drivers.Fleet, client int) zk.Session {
	t.Helper()
	s, err := f.Dial(t.Context(), client)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func lockOf(s zk.Session) recipes.Lock { return drivers.NewLock(s, "/l", recipes.Options{}) }

func TestLock(t *testing.T) {
	f, _ := fleet(t, "none", 1)
	a, b := lockOf(zk.Within(dial(t, f, 0), "/")), lockOf(dial(t, f, 1))
	if err := a.Release(t.Context()); !errors.Is(err, recipes.ErrNotHeld) {
		t.Errorf("release before any grant: %v", err)
	}
	g, err := a.Acquire(t.Context())
	if err != nil || g.Token != 1 || g.Lost == nil {
		t.Fatalf("acquire: %+v, %v", g, err)
	}
	if _, err := a.Acquire(t.Context()); !errors.Is(err, recipes.ErrHeld) {
		t.Errorf("acquire of a handle that holds: %v", err)
	}
	for range 2 { // the second shows that the first has left nothing
		limited, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		if _, err := b.Acquire(limited); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("acquire up to a deadline: %v", err)
		}
		cancel()
	}
	canceled, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := b.Acquire(canceled); !errors.Is(err, context.Canceled) {
		t.Errorf("acquire that is canceled: %v", err)
	}
	if err := a.Release(t.Context()); err != nil {
		t.Error(err)
	}
	if g, err := b.Acquire(t.Context()); err != nil || g.Token != 2 {
		t.Errorf("acquire after the release: %+v, %v", g, err)
	}
	if n := f.Figures().Seam.Count(); n != 6 {
		t.Errorf("the seam was measured %d times, want 6: of four acquisitions that waited or not, one release and the last acquisition", n)
	}
}

func queueOf(s zk.Session) recipes.Claimer {
	return drivers.NewQueue(s, "/q", recipes.Options{}).(recipes.Claimer)
}

func TestQueue(t *testing.T) {
	f, _ := fleet(t, "none", 1)
	a, b := queueOf(zk.Within(dial(t, f, 0), "/")), queueOf(dial(t, f, 1))
	item := recipes.Item{Data: []byte{0, 0xff, '\n', '"'}}
	put, err := a.Put(t.Context(), item)
	if err != nil || put.Path == "" {
		t.Fatalf("put: %+v, %v", put, err)
	}
	if it, err := b.Take(t.Context()); err != nil || !bytes.Equal(it.Data, item.Data) || it.Path != put.Path {
		t.Errorf("take: %+v, %v, want %+v", it, err, put)
	}
	limited, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := b.Take(limited); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, recipes.ErrInDoubt) {
		t.Errorf("take of nothing: %v, want that the deadline has passed, and no doubt", err)
	}
	if _, err := a.Put(t.Context(), item); err != nil {
		t.Error(err)
	}
	if it, err := b.Take(t.Context()); err != nil || !bytes.Equal(it.Data, item.Data) { // nothing of the attempt is in its way
		t.Errorf("take: %+v, %v", it, err)
	}
	if n := f.Figures().Seam.Count(); n != 5 {
		t.Errorf("the seam was measured %d times, want 5", n)
	}
	waiting := make(chan error, 1)
	go func() {
		_, err := b.Take(t.Context())
		waiting <- err
	}()
	for len(waiting) == 0 { // until it is killed while it waits
		if err := f.Kill(); err != nil {
			break
		}
	}
	var doubt *recipes.InDoubtError
	if err := <-waiting; zk.Classify(err) != zk.ClassSessionGone || errors.As(err, &doubt) && doubt.Item.Data != nil {
		t.Errorf("take with a driver that was killed: %v", err)
	}
	if _, err := a.Put(t.Context(), item); zk.Classify(err) != zk.ClassSessionGone || errors.Is(err, recipes.ErrInDoubt) {
		t.Errorf("put with a session that is over: %v, want no doubt", err)
	}
}

func TestClaims(t *testing.T) {
	f, _ := fleet(t, "claims", 1)
	first, second := dial(t, f, 0), dial(t, f, 1)
	a, b := queueOf(first), queueOf(second)
	if err := a.Finish(t.Context(), recipes.Claim{}); !errors.Is(err, recipes.ErrClaimLost) {
		t.Errorf("finish of nothing: %v", err)
	}
	if _, err := b.Put(t.Context(), recipes.Item{Data: []byte("1")}); err != nil {
		t.Fatal(err)
	}
	c, err := a.Claim(t.Context())
	if err != nil || string(c.Data) != "1" || c.Token == 0 || c.Lost == nil {
		t.Fatalf("claim: %+v, %v", c, err)
	}
	first.Close()
	<-c.Lost
	if err := a.Finish(t.Context(), c); !errors.Is(err, recipes.ErrClaimLost) {
		t.Errorf("finish with a session that is over: %v", err)
	}
	again, err := b.Claim(t.Context())
	if err != nil || string(again.Data) != "1" || again.Token <= c.Token {
		t.Errorf("claim of what somebody did not finish: %+v, %v", again, err)
	}
	if err := b.Finish(t.Context(), again); err != nil {
		t.Error(err)
	}
}

// A take, a put and a finish of a driver that dies while it carries them out are in doubt, and a claim is not: it is over with its session.
func TestDoubt(t *testing.T) {
	for op, ask := range map[string]func(context.Context, recipes.Claimer) error{
		"put": func(ctx context.Context, q recipes.Claimer) error {
			_, err := q.Put(ctx, recipes.Item{Data: []byte("1")})
			return err
		},
		"take":   func(ctx context.Context, q recipes.Claimer) error { _, err := q.Take(ctx); return err },
		"claim":  func(ctx context.Context, q recipes.Claimer) error { _, err := q.Claim(ctx); return err },
		"finish": func(ctx context.Context, q recipes.Claimer) error { return q.Finish(ctx, recipes.Claim{}) },
	} {
		t.Run(op, func(t *testing.T) {
			f, _ := fleet(t, "dies with items", 1)
			err := ask(t.Context(), queueOf(dial(t, f, 0)))
			if zk.Classify(err) != zk.ClassSessionGone || errors.Is(err, recipes.ErrInDoubt) != (op != "claim") {
				t.Error(err)
			}
		})
	}
}

func TestDeathOfADriver(t *testing.T) {
	f, broken := fleet(t, "dies", 2)
	s, other := dial(t, f, 0), dial(t, f, 1)
	if _, err := lockOf(s).Acquire(t.Context()); zk.Classify(err) != zk.ClassSessionGone || !errors.Is(err, drivers.ErrEnded) {
		t.Errorf("acquire with a driver that dies: %v", err)
	}
	<-s.Done()
	<-s.Lease()
	if s.Err() == nil || other.Err() != nil {
		t.Errorf("the session of the process that died: %v, that of the other one: %v", s.Err(), other.Err())
	}
	s.Close()
	if fresh := dial(t, f, 0); fresh.Err() != nil { // in a process of its own
		t.Error(fresh.Err())
	}
	f.Close()
	if n := f.Figures().Ended; n != 1 || len(broken) > 0 {
		t.Errorf("%d processes ended by themselves, want 1; protocol: %d", n, len(broken))
	}
}

// A process that is killed takes its sessions with it, and did not end by itself; another one takes its place. Without a client all are killed.
func TestKill(t *testing.T) {
	f, broken := fleet(t, "none", 2)
	if err := f.Kill(0); err == nil {
		t.Error("a process that was never started was killed")
	}
	s, other := dial(t, f, 0), dial(t, f, 1)
	if err := f.Kill(2); err != nil {
		t.Fatal(err)
	}
	<-s.Done()
	if _, err := lockOf(s).Acquire(t.Context()); zk.Classify(err) != zk.ClassSessionGone || other.Err() != nil {
		t.Errorf("acquire with a driver that was killed: %v; the session of the other one: %v", err, other.Err())
	}
	fresh := dial(t, f, 0)
	if err := f.Kill(); err != nil {
		t.Fatal(err)
	}
	<-fresh.Done()
	<-other.Done()
	f.Close()
	if n := f.Figures(); n.Ended != 0 || n.Killed != 3 || len(broken) > 0 {
		t.Errorf("%d processes ended by themselves, want 0, %d were killed, want 3; protocol: %d", n.Ended, n.Killed, len(broken))
	}
}

func TestBrokenProtocolIsTold(t *testing.T) {
	f, broken := fleet(t, "answers another request", 1)
	if _, err := lockOf(dial(t, f, 0)).Acquire(t.Context()); !errors.Is(err, drivers.ErrProtocol) {
		t.Errorf("acquire: %v", err)
	}
	if err := <-broken; !errors.Is(err, drivers.ErrProtocol) {
		t.Error(err)
	}
}

func TestManySessionsExclude(t *testing.T) {
	f, broken := fleet(t, "none", 1)
	excludes(t, f, 20, 20)
	if len(broken) > 0 {
		t.Error(<-broken)
	}
}

// excludes has some sessions acquire the same lock so many times each, and looks that they exclude each other.
func excludes(t *testing.T, f *drivers.Fleet, sessions, times int) {
	t.Helper()
	var wait sync.WaitGroup
	var mu sync.Mutex
	for i := range sessions {
		s := dial(t, f, i)
		l := lockOf(s)
		wait.Go(func() {
			defer s.Close()
			for range times {
				if _, err := l.Acquire(t.Context()); err != nil {
					t.Error(err)
				}
				if !mu.TryLock() {
					t.Error("two hold the lock")
					return
				}
				mu.Unlock()
				if err := l.Release(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
}

func TestFind(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.MkdirAll("drivers/mine", 0o755); err != nil {
		t.Fatal(err)
	}
	for file, mode := range map[string]os.FileMode{"drivers/mine/driver.py": 0o755, "plain": 0o644} {
		if err := os.WriteFile(file, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ program, want, says string }{
		{"mine", "./drivers/mine/driver.py", ""},
		{"mine --fast 1", "./drivers/mine/driver.py --fast 1", ""},
		{"./drivers/mine/driver.py", "./drivers/mine/driver.py", ""},
		{"./plain", "", "not executable"}, {"./drivers", "", "is a directory"}, {"./gone", "", "does not exist"}, {"other", "", "no driver other"}, {"", "", "no program"},
	} {
		got, err := drivers.Find(c.program)
		if c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) || strings.Join(got, " ") != filepath.FromSlash(c.want) {
			t.Errorf("Find(%q) = %q, %v, want %q, %q", c.program, got, err, c.want, c.says)
		}
	}
}

// The null driver's own command, as its users build it.
func TestNullCommand(t *testing.T) {
	file := filepath.Join(t.TempDir(), "null")
	if out, err := exec.Command("go", "build", "-o", file, "./null").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c := exec.Command(file)
	c.Stdin = strings.NewReader(`{"id":1,"op":"hello"}` + "\n" + `{"id":2,"op":"open","session":1}` + "\n")
	out, err := c.Output()
	lines := bufio.NewScanner(strings.NewReader(string(out)))
	seen := map[int64]drivers.Reply{}
	for lines.Scan() {
		var r drivers.Reply
		if json.Unmarshal(lines.Bytes(), &r) == nil {
			seen[r.ID] = r
		}
	}
	if err != nil || seen[1].Name != "null" || seen[1].Now == 0 || seen[2].Error != "" {
		t.Errorf("%v: %s", err, out)
	}
}

// A try takes a lock that is free; a process that is stopped answers when it goes on, and one that is killed never.
func TestTryPauseAndKill(t *testing.T) {
	p, err := drivers.Start(t.Context(), driver(t, "none"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	var locks []recipes.Lock
	var session zk.Session
	for range 2 {
		s, err := p.Open(t.Context(), nil, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		session, locks = s, append(locks, lockOf(s))
	}
	if g, taken, err := drivers.Try(t.Context(), locks[0]); !taken || err != nil || g.Token != 1 {
		t.Fatalf("a try of a free lock: %+v, %v, %v", g, taken, err)
	}
	if _, taken, err := drivers.Try(t.Context(), locks[1]); taken || err != nil {
		t.Errorf("a try of a lock that is held: %v, %v", taken, err)
	}
	if err := p.Pause(); err != nil {
		t.Fatal(err)
	}
	released := make(chan error)
	go func() { released <- locks[0].Release(t.Context()) }()
	select {
	case err := <-released:
		t.Fatalf("a process that is stopped answers: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	if err := p.Pause(); err == nil {
		t.Error("a process that is stopped is stopped again")
	}
	given, giveUp := context.WithCancel(t.Context())
	giveUp()
	if _, alive := drivers.Work(given, session); alive {
		t.Error("an application of a process that is stopped does something")
	}
	worked := make(chan bool)
	go func() {
		end, alive := drivers.Work(t.Context(), session)
		if worked <- alive; alive {
			end()
		}
	}()
	if err := p.Resume(); err != nil {
		t.Fatal(err)
	}
	if !<-worked {
		t.Error("an application of a process that goes on does nothing")
	}
	if err := <-released; err != nil {
		t.Error(err)
	}
	p.Kill()
	if _, _, err := drivers.Try(t.Context(), locks[1]); zk.Classify(err) != zk.ClassSessionGone {
		t.Errorf("a try with a process that was killed: %v", err)
	}
	if _, alive := drivers.Work(t.Context(), session); alive {
		t.Error("an application of a process that was killed does something")
	}
	if err := p.Pause(); !errors.Is(err, drivers.ErrEnded) {
		t.Errorf("a process that was killed is stopped: %v", err)
	}
}
