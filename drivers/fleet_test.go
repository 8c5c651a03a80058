package drivers_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zkbench/zkbench/drivers"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// fleet returns processes of a driver with a defect, and a channel for protocol violations.
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
	for range 2 { // the second iteration shows that the first has left nothing
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
	if fresh := dial(t, f, 0); fresh.Err() != nil { // in a new process
		t.Error(fresh.Err())
	}
	f.Close()
	if n := f.Figures().Ended; n != 1 || len(broken) > 0 {
		t.Errorf("%d processes ended by themselves, want 1; protocol: %d", n, len(broken))
	}
}

// A driver that says that what a session holds is unreliable, and reliable again, has lost a connection and made one.
func TestLinksOfADriver(t *testing.T) {
	f, _ := fleet(t, "loses its connection for a moment", 1)
	s, links := dial(t, f, 0), make(chan zk.Link, 9)
	if !zk.OnLink(s, func(what zk.Link, _ time.Time) { links <- what }) {
		t.Fatal("it does not report its connection")
	}
	if _, err := lockOf(s).Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	if lost, made := <-links, <-links; lost != zk.LinkLost || made != zk.LinkMade || len(links) > 0 {
		t.Errorf("reported %v, %v and %d more", lost, made, len(links))
	}
	s.Close()
	if len(links) != 1 || <-links != zk.LinkLost {
		t.Error("the end of the session is not reported")
	}
}

// A killed process takes its sessions with it, but does not count as ended by itself; another one takes its place. Without a client all are killed.
func TestKill(t *testing.T) {
	f, broken := fleet(t, "none", 2)
	if err := f.Kill(0); err == nil {
		t.Error("a process that was never started was killed")
	}
	s, other := dial(t, f, 0), dial(t, f, 1)
	before := time.Now()
	if err := f.Kill(2); err != nil {
		t.Fatal(err)
	}
	if at, dead := drivers.Died(s); !dead || at.Before(before) || at.After(time.Now()) {
		t.Errorf("died %v after the kill began: %v", at.Sub(before), dead)
	}
	if _, dead := drivers.Died(other); dead {
		t.Error("the other one died as well")
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

// excludes lets sessions acquire the same lock repeatedly, and checks that they exclude each other.
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

// The null driver's own command, built as its users build it.
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

// A try takes a free lock; a stopped process answers when it resumes, and a killed one never.
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
