package recipes_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/zk/wire"

	"github.com/zkbench/zkbench/internal/tier"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/lock"
	"github.com/zkbench/zkbench/zk"
)

// interop is the ensemble on which the parties contend, with a session to inspect it.
type interop struct {
	addresses []string
	s         zk.Session
	classes   string // directory of the compiled Java programs
}

// What the other libraries need on Debian, whose jars name the jars that they depend on.
const (
	curatorJars   = "/usr/share/java/curator-recipes.jar:/usr/share/java/slf4j-simple.jar"
	interopRemedy = "apt-get install default-jdk-headless libcurator-recipes-java python3-kazoo"
)

func newInterop(t *testing.T) interop {
	t.Helper()
	tier.Long(t, "starts Java and Python for each test; the layouts of znodes that others share have tests in memory")
	ensembletest.Need(t, "libcurator-recipes-java:/usr/share/java/curator-recipes.jar", "libslf4j-java:/usr/share/java/slf4j-simple.jar",
		"python3-kazoo:/usr/lib/python3/dist-packages/kazoo", "default-jdk-headless:"+jdk("javac"))
	classes := t.TempDir()
	compile := exec.CommandContext(t.Context(), jdk("javac"), "-J-XX:+UseSerialGC", "-J-XX:TieredStopAtLevel=1", "-proc:none", "-cp", curatorJars,
		"-d", classes, "testdata/interop/Contender.java", "testdata/interop/QueueParty.java", "testdata/interop/DoubleBarrierParty.java")
	if said, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v (needs %s)\n%s", compile, err, interopRemedy, said)
	}
	addresses := servers.Get(t, 3).Addresses()
	return interop{addresses: addresses, s: dialer(addresses, engines["native"])(t), classes: classes}
}

// jdk returns a program in JAVA_HOME, or in the PATH.
func jdk(program string) string {
	if home := os.Getenv("JAVA_HOME"); home != "" {
		return filepath.Join(home, "bin", program)
	}
	return program
}

// path returns the path of a lock for this test alone, another one each time that the test runs: its sessions may end later than it does.
func (in interop) path(t *testing.T) string {
	return fmt.Sprintf("/libraries/%s-%d", strings.ReplaceAll(t.Name(), "/", "-"), paths.Add(1))
}

var paths atomic.Int64

// queued waits until that many contenders are in the queue.
func (in interop) queued(ctx context.Context, t *testing.T, path string, contenders int) {
	for ctx.Err() == nil {
		children, _, w, err := in.s.ChildrenW(ctx, path)
		if err != nil && ctx.Err() == nil {
			t.Errorf("ChildrenW(%s) = %v", path, err)
		}
		if err != nil {
			return
		}
		if len(children) >= contenders {
			w.Stop()
			return
		}
		select {
		case <-w.C():
		case <-ctx.Done():
		}
	}
}

// settle ends a hold when a transaction has been applied, and with it the requests of the acquisition.
func (in interop) settle(ctx context.Context, t *testing.T, path string) {
	if err := zk.CatchUp(ctx, in.s, path); err != nil && ctx.Err() == nil {
		t.Errorf("CatchUp(%s) = %v", path, err)
	}
}

// named checks the names of the znodes of all holds.
func (in interop) named(t *testing.T, a *arbiter, names *regexp.Regexp) {
	t.Helper()
	for _, znode := range a.znodes {
		if !names.MatchString(znode) {
			t.Errorf("held with %s, want %v", znode, names)
		}
	}
}

// How one of our contenders acquires, according to the arbiter's verb, and releases.
type (
	entering func(ctx context.Context, verb string) (recipes.Grant, error)
	leaving  func(ctx context.Context) error
)

// locks returns a party of contenders for one of our exclusive locks.
func (in interop) locks(variant, path string, layout recipes.Layout, contenders int) party {
	v, _ := recipes.Find(lock.Variants(), variant)
	return in.ours(contenders, func(s zk.Session) (entering, leaving) {
		l := v.New(s, path, recipes.Options{Layout: layout})
		return func(ctx context.Context, _ string) (recipes.Grant, error) { return l.Acquire(ctx) }, l.Release
	})
}

// readWriteLocks returns a party of contenders for one of our read/write locks.
func (in interop) readWriteLocks(variant, path string, layout recipes.Layout, contenders int) party {
	v, _ := recipes.Find(lock.RWVariants(), variant)
	return in.ours(contenders, func(s zk.Session) (entering, leaving) {
		l := v.New(s, path, recipes.Options{Layout: layout})
		return func(ctx context.Context, verb string) (recipes.Grant, error) {
			if verb == "write" {
				return l.AcquireWrite(ctx)
			}
			return l.AcquireRead(ctx)
		}, l.Release
	})
}

// ours returns a party in this process. It does the same as the programs in testdata/interop, over connections to the arbiter.
func (in interop) ours(contenders int, handle func(zk.Session) (entering, leaving)) party {
	contend := func(ctx context.Context, arbiter string) error {
		s, err := wire.Dial(ctx, wire.Config{Servers: in.addresses, Timeout: 30 * time.Second})
		if err != nil {
			return err
		}
		defer s.Close()
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", arbiter)
		if err != nil {
			return err
		}
		defer conn.Close()
		lines := bufio.NewReader(conn)
		ask := func(question string) (string, error) {
			fmt.Fprintln(conn, question)
			answer, err := lines.ReadString('\n')
			return strings.TrimSpace(answer), err
		}
		enter, leave := handle(s)
		if _, err := ask("join ours"); err != nil {
			return err
		}
		for {
			verb, err := ask("next")
			if err != nil || verb == "end" {
				return err
			}
			g, err := enter(ctx, verb)
			if err != nil {
				return err
			}
			if _, err := ask("enter " + filepath.Base(g.Path)); err != nil {
				return err
			}
			if _, err := ask("leave"); err != nil {
				return err
			}
			if err := leave(ctx); err != nil {
				return err
			}
		}
	}
	return party{name: "ours", contenders: contenders, run: func(ctx context.Context, arbiter string) error {
		var all sync.WaitGroup
		failures := make([]error, contenders)
		for i := range contenders {
			all.Go(func() { failures[i] = contend(ctx, arbiter) })
		}
		all.Wait()
		return errors.Join(failures...)
	}}
}

// curator returns a party of Curator's InterProcessMutex and InterProcessReadWriteLock.
func (in interop) curator(path string, contenders int) party {
	return in.program("curator", path, contenders, nil, jdk("java"), "-cp", curatorJars+":"+in.classes, "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
		"-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx128m", "Contender")
}

// kazoo returns a party of kazoo's Lock, ReadLock and WriteLock, which look for children of the given patterns too. It uses Debian's Python,
// because kazoo is a package of Debian's.
func (in interop) kazoo(patterns ...string) func(path string, contenders int) party {
	return func(path string, contenders int) party {
		return in.program("kazoo", path, contenders, patterns, "/usr/bin/python3", "-I", "testdata/interop/contender.py")
	}
}

// program returns a party in another process.
func (in interop) program(name, path string, contenders int, patterns []string, command ...string) party {
	return party{name: name, contenders: contenders, run: func(ctx context.Context, arbiter string) error {
		host, port, err := net.SplitHostPort(arbiter)
		if err != nil {
			return err
		}
		args := append(command[1:len(command):len(command)], strings.Join(in.addresses, ","), path, host, port, strconv.Itoa(contenders))
		cmd := exec.CommandContext(ctx, command[0], append(args, patterns...)...)
		var said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &said, &said
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%w (needs %s)\n%s", err, interopRemedy, &said)
		}
		return nil
	}}
}
