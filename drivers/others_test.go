package drivers_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/drivers"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/local"
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
	conforms(t, drivers.Conformance{Command: []string{"/usr/bin/env", "TMPDIR=" + t.TempDir(), file}, Dir: "/d", Timeout: time.Second, Patience: time.Minute})
}

// The drivers of libraries on a real server. That of Curator, whose virtual machine takes seconds to start, has to do with one process; 'zkbench
// driver check curator' runs the whole kit.
func TestLibraries(t *testing.T) {
	t.Parallel()
	e := ensembletest.Start(t, 1)
	t.Run("kazoo", func(t *testing.T) { kazoo(t, e) })
	t.Run("curator", func(t *testing.T) { curator(t, e) })
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
	if _, err := waiter.Acquire(t.Context()); err != nil { // nothing of the attempts is in its way
		t.Error(err)
	}
	if known := f.Figures(); known.Name != "curator" || known.Version == "" || known.Ended != 0 {
		t.Errorf("%+v", known)
	}
}

func kazoo(t *testing.T, e *local.Local) {
	ensembletest.Need(t, "python3-kazoo:/usr/lib/python3/dist-packages/kazoo")
	s, err := wire.Dial(t.Context(), wire.Config{Servers: e.Addresses(), Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	child := func(ctx context.Context, path string) error {
		_, err := s.Create(ctx, path, nil, zk.Persistent)
		return err
	}
	if err := child(t.Context(), "/kit"); err != nil {
		t.Fatal(err)
	}
	c := drivers.Conformance{Command: []string{"./kazoo/driver.py"}, Servers: e.Addresses(), Dir: "/kit", Timeout: 4 * time.Second, Patience: time.Minute, Child: child,
		Steps: []string{"requests", "exclusion", "turmoil", "try", "deadline", "cancellation", "close", "death", "end"}}
	conforms(t, c)
	// kazoo's reader waits for the writer behind it, which waits for the reader: https://github.com/python-zk/kazoo/issues/649, in all versions before 2.9.0.
	c.Dir, c.Steps, c.Patience = "/shared", []string{"read-write"}, 10*time.Second
	if err := child(t.Context(), c.Dir); err != nil {
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

// conforms runs the kit on a driver that passes all of it.
func conforms(t *testing.T, c drivers.Conformance) {
	t.Helper()
	n := 0
	drivers.Check(t.Context(), c, func(f drivers.Finding) {
		if n++; f.Err != nil || f.Skipped != "" {
			t.Error(f)
		}
	})
	if n != 10 {
		t.Errorf("%d findings, want 10", n)
	}
}
