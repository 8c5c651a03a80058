package drivers_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/drivers"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/local"
	"github.com/zkbench/zkbench/internal/tier"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/wire"
)

// The driver that the documentation prints conforms.
func TestDocumentedDriver(t *testing.T) {
	t.Parallel()
	ensembletest.Need(t, "python3:/usr/bin/python3")
	text, err := os.ReadFile("../docs/drivers.md")
	if err != nil {
		t.Fatal(err)
	}
	code := regexp.MustCompile("(?s)```python\n(.*?)```").FindSubmatch(text)
	file := filepath.Join(t.TempDir(), "driver.py")
	if err := os.WriteFile(file, code[1], 0o755); err != nil {
		t.Fatal(err)
	}
	conforms(t, drivers.Conformance{Command: []string{"/usr/bin/env", "TMPDIR=" + t.TempDir(), file}, Dir: "/d", Timeout: time.Second, AnswerTimeout: time.Minute}, 10)
}

// The drivers of libraries on a real server. Curator's, whose virtual machine takes seconds to start, runs in a single process; 'zkbench
// driver check curator' runs the whole kit.
func TestLibraries(t *testing.T) {
	tier.Long(t, "drivers in four languages and their servers; TestNullDriverConforms holds one to the same kit")
	t.Parallel()
	e := ensembletest.Start(t, 1)
	t.Run("kazoo", func(t *testing.T) { kazoo(t, e) })
	t.Run("curator", func(t *testing.T) { curator(t, e) })
	t.Run("zookeeper-recipes", func(t *testing.T) { zookeeperRecipes(t, e) })
	t.Run("recipes", func(t *testing.T) { ownLocks(t, e) })
}

// onServer returns the kit's view of a driver whose locks are znodes below a directory, which it creates.
func onServer(t *testing.T, e *local.Local, dir string, command ...string) drivers.Conformance {
	t.Helper()
	s, err := wire.Dial(t.Context(), wire.Config{Servers: e.Addresses(), Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	child := func(ctx context.Context, path string) error {
		_, err := s.Create(ctx, path, nil, zk.Persistent)
		return err
	}
	if err := child(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	return drivers.Conformance{Command: command, Servers: e.Addresses(), Dir: dir, Timeout: 4 * time.Second, AnswerTimeout: time.Minute, Child: child}
}

// zkbench's own locks as a driver: the kit on one that queues, and the others by name.
func ownLocks(t *testing.T, e *local.Local) {
	file := filepath.Join(t.TempDir(), "recipes")
	if out, err := exec.Command("go", "build", "-o", file, "./recipes").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c := onServer(t, e, "/own", file, "predecessor")
	var passed, skipped []string
	drivers.Check(t.Context(), c, func(f drivers.Finding) {
		switch {
		case f.Err != nil:
			t.Error(f)
		case f.Skipped != "":
			skipped = append(skipped, f.Step)
		default:
			passed = append(passed, f.Step)
		}
		if f.Step == "hello" && !strings.Contains(f.Detail, "predecessor") {
			t.Errorf("hello: %s", f.Detail)
		}
	})
	if want := []string{"hello", "requests", "exclusion", "turmoil", "deadline", "cancellation", "close", "death", "end"}; !slices.Equal(passed, want) || !slices.Equal(skipped, []string{"try"}) {
		t.Errorf("passed %q, skipped %q", passed, skipped)
	}
	for _, args := range [][]string{nil, {"no-such-lock"}} {
		out, err := exec.Command(file, args...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "expected the name of one lock") || !strings.Contains(string(out), "predecessor") {
			t.Errorf("recipes %q: %v, %s", args, err, out)
		}
	}
}

func curator(t *testing.T, e *local.Local) {
	ensembletest.Need(t, "libcurator-recipes-java:/usr/share/java/curator-recipes.jar", "libjackson2-databind-java:/usr/share/java/jackson-databind.jar", "default-jdk-headless:javac")
	f, err := drivers.NewFleet(drivers.Config{Program: "./curator/driver.sh", Servers: e.Addresses(), Timeout: 10 * time.Second,
		Broken: func(err error) { t.Error(err) }})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	excludes(t, f, 3, 10)
	holder, waiter := lockOf(dial(t, f, 0)), lockOf(dial(t, f, 1))
	if _, err := holder.Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	if _, err := waiter.Acquire(canceled); !errors.Is(err, context.Canceled) {
		t.Errorf("acquire that is canceled: %v", err)
	}
	limited, end := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer end()
	if _, err := waiter.Acquire(limited); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("acquire up to a deadline: %v", err)
	}
	if err := holder.Release(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := waiter.Acquire(t.Context()); err != nil { // nothing remains of the attempts that could block it
		t.Error(err)
	}
	curatorShares(t, f)
	curatorQueue(t, f)
	if known := f.Figures(); known.Name != "curator" || known.Version == "" || known.Ended != 0 {
		t.Errorf("%+v", known)
	}
}

// zookeeperRecipes leaves out turmoil, in which both recipes show their defects now and then. Package scenarios/published stages these.
func zookeeperRecipes(t *testing.T, e *local.Local) {
	ensembletest.Need(t, "libzookeeper-java:/usr/share/java/zookeeper-recipes-lock.jar", "libjackson2-databind-java:/usr/share/java/jackson-databind.jar", "default-jdk-headless:javac")
	c := onServer(t, e, "/writelock", "./zookeeper-recipes/driver.sh", "close")
	c.Steps = []string{"requests", "exclusion", "deadline", "cancellation", "close", "queue", "q-turmoil", "q-death", "end"}
	conforms(t, c, 10)
	c = onServer(t, e, "/election", "./zookeeper-recipes/driver.sh", "election")
	c.Steps = []string{"exclusion", "deadline", "cancellation", "close"}
	conforms(t, c, 5)
	out, err := exec.Command("./zookeeper-recipes/driver.sh", "elections").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "unknown argument in [elections] (expected any of election, close and listener)") {
		t.Errorf("an unknown argument: %v, %s", err, out)
	}
}

// curatorShares tests which sessions may hold Curator's read/write lock and its semaphore at the same time.
func curatorShares(t *testing.T, f *drivers.Fleet) {
	var rw []recipes.RWLock
	var sem []recipes.Semaphore
	for i := range 3 {
		s := dial(t, f, i)
		rw = append(rw, drivers.NewReadWrite(s, "/rw", recipes.Options{}))
		sem = append(sem, drivers.NewSemaphore(s, "/permits", recipes.Options{Permits: 2}))
	}
	granted := func(what string, acquire func(context.Context) (recipes.Grant, error)) {
		t.Helper()
		if g, err := acquire(t.Context()); err != nil {
			t.Fatalf("%s: %+v, %v", what, g, err)
		}
	}
	refused := func(what string, acquire func(context.Context) (recipes.Grant, error)) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if g, err := acquire(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("%s: %+v, %v", what, g, err)
		}
	}
	released := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	granted("the first reader", rw[0].AcquireRead)
	granted("a reader beside a reader", rw[1].AcquireRead)
	refused("a writer beside readers", rw[2].AcquireWrite)
	released(rw[0].Release(t.Context()))
	refused("a writer beside a reader", rw[2].AcquireWrite)
	released(rw[1].Release(t.Context()))
	granted("a writer alone", rw[2].AcquireWrite)
	refused("a reader beside a writer", rw[0].AcquireRead)
	refused("a writer beside a writer", rw[1].AcquireWrite)
	released(rw[2].Release(t.Context()))
	granted("a reader after a writer", rw[0].AcquireRead)
	released(rw[0].Release(t.Context()))

	permit := func(i int) func(context.Context) (recipes.Grant, error) {
		return func(ctx context.Context) (recipes.Grant, error) {
			g, err := sem[i].Acquire(ctx, 1)
			if err != nil {
				return recipes.Grant{}, err
			}
			return g[0], nil
		}
	}
	granted("the first permit", permit(0))
	granted("the second permit", permit(1))
	refused("a third permit of two", permit(2))
	released(sem[0].Release(t.Context()))
	granted("a permit that was given back", permit(2))
	refused("a permit while two are held", permit(0))
	released(sem[1].Release(t.Context()))
	released(sem[2].Release(t.Context()))
}

// curatorQueue tests that a take that was canceled or timed out has taken nothing, then or later.
func curatorQueue(t *testing.T, f *drivers.Fleet) {
	producer, consumer := queueOf(dial(t, f, 0)), queueOf(dial(t, f, 1))
	puts := func(from, to int) {
		t.Helper()
		for i := from; i <= to; i++ {
			if _, err := producer.Put(t.Context(), recipes.Item{Data: []byte{byte(i), 0xff, 0}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	takes := func(q recipes.Queue, from, to int) {
		t.Helper()
		for i := from; i <= to; i++ {
			if it, err := q.Take(t.Context()); err != nil || !slices.Equal(it.Data, []byte{byte(i), 0xff, 0}) {
				t.Fatalf("take %d: %+v, %v", i, it, err)
			}
		}
	}
	puts(1, 3)
	takes(consumer, 1, 3)
	canceled, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	if it, err := consumer.Take(canceled); !errors.Is(err, context.Canceled) || errors.Is(err, recipes.ErrInDoubt) {
		t.Errorf("take of nothing that is canceled: %+v, %v", it, err)
	}
	limited, end := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer end()
	if it, err := consumer.Take(limited); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, recipes.ErrInDoubt) {
		t.Errorf("take of nothing up to a deadline: %+v, %v", it, err)
	}
	puts(4, 4)
	takes(producer, 4, 4)
	time.AfterFunc(100*time.Millisecond, func() { producer.Put(t.Context(), recipes.Item{Data: []byte{5, 0xff, 0}}) })
	takes(consumer, 5, 5) // the consumer is waiting for it
}

func kazoo(t *testing.T, e *local.Local) {
	ensembletest.Need(t, "python3-kazoo:/usr/lib/python3/dist-packages/kazoo")
	c := onServer(t, e, "/kit", "./kazoo/driver.py")
	c.Steps = []string{"requests", "exclusion", "turmoil", "try", "deadline", "cancellation", "close", "death", "semaphore", "sem-turmoil", "queue", "q-turmoil", "q-claims", "q-death", "end"}
	conforms(t, c, 16)
	// kazoo's reader waits for the writer behind it, which waits for the reader: https://github.com/python-zk/kazoo/issues/649, in all versions before 2.9.0.
	c.Dir, c.Steps, c.AnswerTimeout = "/shared", []string{"read-write"}, 10*time.Second
	if err := c.Child(t.Context(), c.Dir); err != nil {
		t.Fatal(err)
	}
	deadlocks := true
	drivers.Check(t.Context(), c, func(f drivers.Finding) {
		switch {
		case f.Step == "hello":
			deadlocks = regexp.MustCompile(`kazoo 2\.[0-8]\.`).MatchString(f.Detail)
		case deadlocks && (f.Err == nil || !strings.Contains(f.Err.Error(), "a reader waits behind a writer, and another writer behind it: nobody was granted")):
			t.Errorf("%v, want that they wait for each other", f)
		case !deadlocks && f.Err != nil:
			t.Error(f)
		}
	})
}

// conforms runs the kit on a driver that must pass all of it, in this number of steps.
func conforms(t *testing.T, c drivers.Conformance, steps int) {
	t.Helper()
	n := 0
	drivers.Check(t.Context(), c, func(f drivers.Finding) {
		if n++; f.Err != nil || f.Skipped != "" {
			t.Error(f)
		}
	})
	if n != steps {
		t.Errorf("%d findings, want %d", n, steps)
	}
}
