package recipes_test

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	"github.com/zkbench/zkbench/recipes/queue"
)

// other is a process with another library's handle.
type other struct {
	t    *testing.T
	in   io.Writer
	said <-chan string // its lines, until it ends
}

func startOther(t *testing.T, command ...string) other {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...) // killed when the context ends
	cmd.WaitDelay = 10 * time.Second
	in, err := cmd.StdinPipe()
	bubble.OK(t, "StdinPipe()", err)
	out, err := cmd.StdoutPipe()
	bubble.OK(t, "StdoutPipe()", err)
	var complaints strings.Builder
	cmd.Stderr = &complaints
	bubble.OK(t, "Start()", cmd.Start())
	said, read := make(chan string), make(chan struct{})
	go func() {
		defer close(read)
		defer close(said)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			select {
			case said <- lines.Text():
			case <-t.Context().Done():
				return
			}
		}
	}()
	t.Cleanup(func() {
		in.Close()
		<-read
		if err := cmd.Wait(); err != nil && t.Context().Err() == nil {
			t.Errorf("%v (needs %s)\n%s", err, interopRemedy, &complaints)
		}
	})
	return other{t, in, said}
}

// asked sends a command to the other library and returns its answer.
func (o other) asked(what string) string {
	o.t.Helper()
	fmt.Fprintln(o.in, what)
	select {
	case answer, more := <-o.said:
		if !more {
			o.t.Fatalf("%s: the program has ended", what)
		}
		return answer
	case <-time.After(limit):
		o.t.Fatalf("%s: no answer in %v", what, limit)
	}
	return ""
}

// does sends a command to the other library and checks its answer.
func (o other) does(what, want string) {
	o.t.Helper()
	if answer := o.asked(what); answer != want {
		o.t.Fatalf("%s: %q, want %q", what, answer, want)
	}
}

// Our fifo queue and Curator's SimpleDistributedQueue, which uses the names of ZooKeeper's own recipe, share items: each takes what the other
// put, in order, including exact puts.
func TestFIFOWithCuratorsSimpleDistributedQueue(t *testing.T) {
	in := newInterop(t)
	for _, exact := range []bool{false, true} {
		path := fmt.Sprintf("%s-%v", in.path(t), exact)
		ours := queue.Variants()[0].New(in.s, path, recipes.Options{Exact: exact})
		theirs := startOther(t, jdk("java"), "-cp", curatorJars+":"+in.classes, "-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-XX:+UseSerialGC",
			"-XX:TieredStopAtLevel=1", "-Xmx128m", "QueueParty", strings.Join(in.addresses, ","), path)
		for i := range 6 {
			if i%2 == 0 {
				bubble.OK(t, "Put()", bubble.Second(ours.Put(t.Context(), bubble.Item(i))))
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
				bubble.Got(t, "Take()", it, err, fmt.Sprint(i))
			}
		}
	}
}

// Our queue with claims and kazoo's LockingQueue share items: an item that one has claimed is not given to the other, and a finished one is gone.
func TestClaimsWithKazoosLockingQueue(t *testing.T) {
	in := newInterop(t)
	path := in.path(t)
	v, _ := recipes.Find(queue.Variants(), "claim")
	ours := v.New(in.s, path, recipes.Options{}).(recipes.Claimer)
	theirs := startOther(t, "/usr/bin/python3", "-I", "testdata/interop/queue.py", strings.Join(in.addresses, ","), path)
	theirs.does("put 0", "put")
	bubble.OK(t, "Put()", bubble.Second(ours.Put(t.Context(), bubble.Item(1))))
	theirs.does("put 2", "put")
	theirs.does("get", "0")
	c, err := ours.Claim(t.Context())
	bubble.OK(t, "Claim()", err)
	if string(c.Data) != "1" {
		t.Errorf("Claim() gives %s beside kazoo's claim of 0, want 1", c.Data)
	}
	theirs.does("consume", "True")
	theirs.does("get", "2")
	bubble.OK(t, "Release()", ours.Release(t.Context(), c))
	theirs.does("consume", "True")
	theirs.does("get", "1")
	theirs.does("consume", "True")
	if n := realItems(t, in.s, path+"/entries") + realItems(t, in.s, path+"/taken"); n != 0 {
		t.Errorf("%d znodes left, want none", n)
	}
}
