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
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/zk/wire"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/lock"
	"github.com/zkbench/zkbench/zk"
)

// interop is the ensemble on which the parties meet, with a session to look at it.
type interop struct {
	addresses []string
	s         zk.Session
	classes   string // where the Java program is compiled to
}

// What the other libraries need, as Debian has it. Debian's jars name the jars that they need themselves.
const (
	curatorJars   = "/usr/share/java/curator-recipes.jar:/usr/share/java/slf4j-simple.jar"
	interopRemedy = "apt-get install default-jdk-headless libcurator-recipes-java python3-kazoo"
)

func newInterop(t *testing.T) interop {
	t.Helper()
	if testing.Short() {
		t.Skip("starts Java and Python")
	}
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

// jdk is a program of JAVA_HOME, or of the path.
func jdk(program string) string {
	if home := os.Getenv("JAVA_HOME"); home != "" {
		return filepath.Join(home, "bin", program)
	}
	return program
}

// path is a lock of the test's own.
func (in interop) path(t *testing.T) string {
	return "/libraries/" + strings.ReplaceAll(t.Name(), "/", "-")
}

// queued returns when so many stand in the queue.
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

// settle is how long a hold is: the leader has answered a sync, so what the holder did to get in is done.
func (in interop) settle(ctx context.Context, t *testing.T, path string) {
	if err := in.s.Sync(ctx, path); err != nil && ctx.Err() == nil {
		t.Errorf("Sync(%s) = %v", path, err)
	}
}

// named fails the test when somebody held with a znode that has another name.
func (in interop) named(t *testing.T, a *arbiter, names *regexp.Regexp) {
	t.Helper()
	for _, znode := range a.znodes {
		if !names.MatchString(znode) {
			t.Errorf("held with %s, want %v", znode, names)
		}
	}
}

// What a contender of ours does with its handle, as the arbiter's verb says.
type (
	entering func(ctx context.Context, verb string) (recipes.Grant, error)
	leaving  func(ctx context.Context) error
)

// locks is contenders of an exclusive lock of ours.
func (in interop) locks(variant, path string, layout recipes.Layout, contenders int) party {
	v, _ := recipes.Find(lock.Variants(), variant)
	return in.ours(contenders, func(s zk.Session) (entering, leaving) {
		l := v.New(s, path, recipes.Options{Layout: layout})
		return func(ctx context.Context, _ string) (recipes.Grant, error) { return l.Acquire(ctx) }, l.Release
	})
}

// readWriteLocks is contenders of a read/write lock of ours.
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

// ours is a party of this process. It does what the programs in testdata/interop do, over connections to the arbiter like theirs.
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
		faults := make([]error, contenders)
		for i := range contenders {
			all.Go(func() { faults[i] = contend(ctx, arbiter) })
		}
		all.Wait()
		return errors.Join(faults...)
	}}
}

// curator is contenders of Curator: of its InterProcessMutex, or of its InterProcessReadWriteLock.
func (in interop) curator(path string, contenders int) party {
	return in.program("curator", path, contenders, nil, jdk("java"), "-cp", curatorJars+":"+in.classes, "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
		"-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx128m", "Contender")
}

// kazoo is contenders of kazoo: of its Lock, or of its ReadLock and WriteLock, told to look for children of these patterns too.
// The Python is Debian's, because its packages are.
func (in interop) kazoo(patterns ...string) func(path string, contenders int) party {
	return func(path string, contenders int) party {
		return in.program("kazoo", path, contenders, patterns, "/usr/bin/python3", "-I", "testdata/interop/contender.py")
	}
}

// program is a party of another process.
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
