package recipes_test

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/proxy"
)

// holderVariable makes the test binary a process that holds locks. Its value is the engine, the lock, the servers and the paths.
const holderVariable = "ZKBENCH_LEASE_HOLDER"

// TestHoldLocksToBeStopped is the process that stopped starts. Without the variable it does nothing.
func TestHoldLocksToBeStopped(t *testing.T) {
	args := strings.Fields(os.Getenv(holderVariable))
	if len(args) == 0 {
		return
	}
	var all sync.WaitGroup
	for i, path := range args[3:] {
		all.Go(func() {
			s, err := lossDial(t.Context(), args[0], strings.Split(args[2], ","))
			if err != nil {
				fmt.Printf("failed %d 0 0\n", i)
				return
			}
			g, err := lossLock(s, args[1], path).Acquire(t.Context())
			if err != nil {
				fmt.Printf("failed %d 0 0\n", i)
				return
			}
			fmt.Printf("holds %d 0 0\n", i)
			held, notified := watchHolder(s, g)
			fmt.Printf("lost %d %d %d\n", i, held.UnixNano(), notified.UnixNano())
		})
	}
	all.Wait()
	io.Copy(io.Discard, os.Stdin) // until its parent ends it
	os.Exit(0)
}

// stopped lets a process hold the locks of all rounds, stops it, cuts its network, and continues it when all locks have been granted to others.
func (r *lossRounds) stopped() {
	child := exec.CommandContext(r.Context(), os.Args[0], "-test.run=^TestHoldLocksToBeStopped$")
	spec := []string{r.engine, r.lock, strings.Join(r.p.Addresses(), ",")}
	for i := range r.n {
		spec = append(spec, r.path(i))
	}
	child.Env = append(os.Environ(), holderVariable+"="+strings.Join(spec, " "))
	child.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, err := child.StdinPipe()
	if err != nil {
		r.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		r.Fatal(err)
	}
	if err := child.Start(); err != nil {
		r.Fatal(err)
	}
	defer child.Wait()
	defer child.Process.Kill()
	defer in.Close()
	type line struct {
		word           string
		i              int
		held, notified int64
	}
	lines := bufio.NewScanner(out)
	next := func(awaited string) (l line) {
		out.(*os.File).SetReadDeadline(time.Now().Add(limit))
		for lines.Scan() {
			if n, _ := fmt.Sscan(lines.Text(), &l.word, &l.i, &l.held, &l.notified); n == 4 {
				return l
			}
		}
		r.Fatalf("the holders' process did not report %s within %v: %v", awaited, limit, cmp.Or(lines.Err(), io.ErrUnexpectedEOF))
		return l
	}
	void := map[int]bool{}
	for range r.n {
		if l := next("the outcome of an acquisition"); l.word != "holds" {
			void[l.i] = true
		}
	}
	granted, failed := make([]time.Time, r.n), make([]error, r.n)
	var all sync.WaitGroup
	for i := range r.n {
		all.Go(func() { granted[i], failed[i] = r.contend(i) })
	}
	time.Sleep(2 * time.Second)
	stop(r.T, child.Process)
	at := time.Now()
	r.p.Add(proxy.Rule{On: proxy.ToServer, Do: proxy.Hold})
	r.p.Add(proxy.Rule{On: proxy.ToClient, Do: proxy.Hold})
	all.Wait()
	child.Process.Signal(syscall.SIGCONT)
	for left := r.n - len(void); left > 0; left-- {
		l := next("the loss of a lock")
		held, notified := time.Unix(0, l.held), time.Unix(0, l.notified)
		if failed[l.i] != nil || notified.Before(at) {
			void[l.i] = true
			continue
		}
		r.tally.count(held, notified, granted[l.i])
	}
	for range void {
		r.tally.invalid()
	}
}

// stop stops a process and returns when all its threads have stopped.
func stop(t *testing.T, p *os.Process) {
	t.Helper()
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for {
		var status syscall.WaitStatus
		switch _, err := syscall.Wait4(p.Pid, &status, syscall.WUNTRACED, nil); {
		case err == syscall.EINTR:
		case err != nil || !status.Stopped():
			t.Fatalf("the process has ended instead of being stopped: %v", err)
		default:
			return
		}
	}
}
