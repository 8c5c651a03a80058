package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// every is how often the log prints what is running.
const every = 20 * time.Second

func main() {
	signal.Notify(make(chan os.Signal, 1), os.Interrupt) // 'go test' gets it too, ends, and is reported
	l := newLog(os.Stdout, time.Now())
	done := make(chan struct{})
	go l.clock(done)
	var all sync.WaitGroup
	for i, args := range groups(os.Args[1:]) {
		all.Go(func() {
			if err := l.test(i, args); err != nil {
				l.stopped(args, err)
			}
		})
	}
	all.Wait()
	close(done)
	if l.end(time.Now()) {
		os.Exit(1)
	}
}

// groups splits arguments at "--".
func groups(args []string) (all [][]string) {
	var group []string
	for _, a := range args {
		if a == "--" {
			all, group = append(all, group), nil
		} else {
			group = append(group, a)
		}
	}
	return append(all, group)
}

// safeLog is a log that events and the clock write to concurrently.
type safeLog struct {
	mu sync.Mutex
	log
}

func newLog(w io.Writer, start time.Time) *safeLog { return &safeLog{log: log{w: w, start: start}} }

// clock prints what is running until done is closed.
func (l *safeLog) clock(done <-chan struct{}) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			l.mu.Lock()
			l.running(now)
			l.mu.Unlock()
		case <-done:
			return
		}
	}
}

// stopped records that a 'go test' failed. If none of its tests did, that is a failure by itself.
func (l *safeLog) stopped(args []string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.failures) == 0 {
		l.fail("go test "+strings.Join(args, " "), err.Error())
	}
}

// variable matches the setting of an environment variable.
var variable = regexp.MustCompile(`^[A-Z_]+=`)

// test runs one 'go test' to its end. The error is nil if all tests passed.
func (l *safeLog) test(group int, args []string) error {
	test, vars := []string{"test"}, 0
	for vars < len(args) && variable.MatchString(args[vars]) {
		vars++
	}
	set, args := args[:vars], args[vars:]
	if len(args) > 1 && args[0] == "-C" { // has to be the first flag
		test, args = append(test, args[:2]...), args[2:]
	}
	cmd := exec.Command("go", append(append(test, "-json"), args...)...)
	cmd.Env, cmd.Stderr = append(os.Environ(), set...), os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	l.read(strings.Join(append([]string{strconv.Itoa(group)}, set...), " "), out)
	return cmd.Wait()
}

// read processes the events of one 'go test', which may test packages that another one tests too. A line that is not an event is printed as it is.
func (l *safeLog) read(group string, out io.Reader) {
	lines := bufio.NewReader(out)
	for {
		text, err := lines.ReadBytes('\n')
		if len(text) > 0 {
			var e event
			l.mu.Lock()
			if json.Unmarshal(text, &e) == nil && e.Action != "" {
				e.Package += " " + group
				l.add(e, time.Now())
			} else {
				fmt.Fprintf(l.w, "%s", text)
			}
			l.mu.Unlock()
		}
		if err != nil {
			return
		}
	}
}
