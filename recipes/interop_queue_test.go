package recipes_test

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/recipes"
)

// other is another library's handle on a queue, in a process of its own.
type other struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Scanner
}

func startOther(t *testing.T, command ...string) other {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	in, err := cmd.StdinPipe()
	ok(t, "StdinPipe()", err)
	out, err := cmd.StdoutPipe()
	ok(t, "StdoutPipe()", err)
	var said strings.Builder
	cmd.Stderr = &said
	ok(t, "Start()", cmd.Start())
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil && t.Context().Err() == nil {
			t.Errorf("%v (needs %s)\n%s", err, interopRemedy, &said)
		}
	})
	return other{t, in, bufio.NewScanner(out)}
}

// does has the other library do something and compares its answer.
func (o other) does(what, want string) {
	o.t.Helper()
	fmt.Fprintln(o.in, what)
	if !o.out.Scan() || o.out.Text() != want {
		o.t.Fatalf("%s: %q, want %q", what, o.out.Text(), want)
	}
}

// Our fifo queue and Curator's SimpleDistributedQueue, which has the names of ZooKeeper's own recipe, are one queue: each takes what the
// other put, in order, also what was put exactly once.
func TestAFIFOQueueIsCuratorsToo(t *testing.T) {
	in := newInterop(t)
	for _, exact := range []bool{false, true} {
		path := fmt.Sprintf("%s-%v", in.path(t), exact)
		ours := recipes.Queues[0].New(in.s, path, recipes.Options{Exact: exact})
		theirs := startOther(t, jdk("java"), "-cp", curatorJars+":"+in.classes, "-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-XX:+UseSerialGC",
			"-XX:TieredStopAtLevel=1", "-Xmx128m", "QueueParty", strings.Join(in.addresses, ","), path)
		for i := range 6 {
			if i%2 == 0 {
				ok(t, "Put()", second(ours.Put(t.Context(), number(i))))
			} else {
				theirs.does(fmt.Sprint("put ", i), "put")
			}
		}
		theirs.does("peek", "0")
		for i := range 6 {
			if i%3 == 0 {
				theirs.does("get", fmt.Sprint(i))
			} else {
				it, err := ours.Take(t.Context())
				got(t, "Take()", it, err, fmt.Sprint(i))
			}
		}
	}
}

// Our queue with claims and kazoo's LockingQueue are one queue: an item that one has claimed the other does not get, and one that is
// finished is gone.
func TestAQueueWithClaimsIsKazoosToo(t *testing.T) {
	in := newInterop(t)
	path := in.path(t)
	v, _ := recipes.Find(recipes.Queues, "claim")
	ours := v.New(in.s, path, recipes.Options{}).(recipes.Claimer)
	theirs := startOther(t, "/usr/bin/python3", "-I", "testdata/interop/queue.py", strings.Join(in.addresses, ","), path)
	theirs.does("put 0", "put")
	ok(t, "Put()", second(ours.Put(t.Context(), number(1))))
	theirs.does("put 2", "put")
	theirs.does("get", "0")
	c, err := ours.Claim(t.Context())
	ok(t, "Claim()", err)
	if string(c.Data) != "1" {
		t.Errorf("Claim() gives %s beside kazoo's claim of 0, want 1", c.Data)
	}
	theirs.does("consume", "True")
	theirs.does("get", "2")
	ok(t, "Release()", ours.Release(t.Context(), c))
	theirs.does("consume", "True")
	theirs.does("get", "1")
	theirs.does("consume", "True")
	if n := realItems(t, in.s, path+"/entries") + realItems(t, in.s, path+"/taken"); n != 0 {
		t.Errorf("%d znodes left, want none", n)
	}
}
