package main

import (
	"strings"
	"testing"
	"time"
)

const zkbench = "github.com/zkbench/zkbench/"

// timedOut is what a time limit prints.
const timedOut = `panic: test timed out after 3s

goroutine 6 [running]:
testing.(*M).startAlarm.func1()
	/usr/local/go/src/testing/testing.go:2802 +0x354

goroutine 1 [chan receive]:
testing.(*T).Run(0x3d04, {0x70, 0x9}, 0x74)
	/usr/local/go/src/testing/testing.go:2019 +0x4b

goroutine 7 [select, 25 minutes]:
github.com/zkbench/zkbench/zk.(*Session).wait(0x1, {0x2, 0x3})
	/src/zk/session.go:4 +0x27
created by github.com/zkbench/zkbench/bench.TestHangs.func1 in goroutine 1
	/src/bench/hangs_test.go:8 +0x27

goroutine 8 [select]:
github.com/zkbench/zkbench/zk.(*Session).wait(0x5, {0x2, 0x3})
	/src/zk/session.go:4 +0x27
created by github.com/zkbench/zkbench/bench.TestHangs.func1 in goroutine 1
	/src/bench/hangs_test.go:8 +0x27
`

func TestLog(t *testing.T) {
	start := time.Now()
	var out strings.Builder
	l := log{w: &out, start: start}
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	add := func(seconds int, events ...event) {
		for _, e := range events {
			if !strings.HasPrefix(e.Package, zkbench) {
				e.Package = zkbench + e.Package
			}
			l.add(e, at(seconds))
		}
	}
	l.running(at(1))
	add(2, event{Action: "start", Package: "check"}, event{Action: "start", Package: "bench"}, event{Action: "start", Package: "bare"},
		event{Action: "run", Package: "check", Test: "TestA"}, event{Action: "run", Package: "bench", Test: "TestB"},
		event{Action: "run", Package: "bench", Test: "TestB/one"}, event{Action: "run", Package: "bench", Test: "TestWaits"},
		event{Action: "pause", Package: "bench", Test: "TestWaits"})
	l.running(at(22))
	add(23, event{Action: "output", Package: "bench", Test: "TestB/one", Output: "    b_test.go:3: wrong\n"},
		event{Action: "fail", Package: "bench", Test: "TestB/one"}, event{Action: "fail", Package: "bench", Test: "TestB", Elapsed: 21},
		event{Action: "run", Package: "bench", Test: "TestHangs"}, event{Action: "output", Package: "bench", Test: "TestHangs", Output: "waiting\n"},
		event{Action: "output", Package: "bench", Test: "TestHangs/here", Output: timedOut},
		event{Action: "output", Package: "bench", Test: "TestWaits", Output: "waits for its turn\n"},
		event{Action: "output", Package: "bench", Output: "panic: test timed out\n"}, event{Action: "fail", Package: "bench", Elapsed: 21},
		event{Action: "output", Package: "check", Test: "TestA", Output: "    tier.go:12: long, for 'make test-all': sleeps\n"},
		event{Action: "skip", Package: "check", Test: "TestA"}, event{Action: "pass", Package: "check", Elapsed: 21},
		event{Action: "output", Package: "bare", Output: "?   	bare	[no test files]\n"}, event{Action: "skip", Package: "bare"})
	l.add(event{Action: "build-output", ImportPath: zkbench + "zk [x.test]", Output: "zk.go:1: no\n"}, at(24))
	l.add(event{Action: "build-fail", ImportPath: zkbench + "zk [x.test]"}, at(24))
	add(24, event{Action: "start", Package: "zk"}, event{Action: "fail", Package: "zk", FailedBuild: zkbench + "zk [x.test]"})
	if !l.end(at(25)) {
		t.Error("end() = false, want true after a failure")
	}
	want := `     1s: compiling
     22s: check TestA 20s, bench TestB 20s
FAIL bench TestB/one
FAIL bench TestB
FAIL bench TestHangs
FAIL bench
FAIL bench                          21.0 s   0 passed, 3 failed
ok   check                          21.0 s   0 passed, 0 failed, 1 skipped
FAIL zk does not build
FAIL zk                              0.0 s   0 passed, 0 failed

The slowest tests:
    21.0 s  bench TestB
     0.0 s  check TestA

Skipped:
       1  long, for 'make test-all'

FAIL bench TestB/one
    b_test.go:3: wrong

FAIL bench TestB

FAIL bench TestHangs
waiting
panic: test timed out after 3s

goroutine 6 [running]:
testing.(*M).startAlarm.func1()
	/usr/local/go/src/testing/testing.go:2802 +0x354

2 of select:
	zk.(*Session).wait session.go:4
	bench.TestHangs.func1 hangs_test.go:8

FAIL bench
panic: test timed out

waits for its turn

FAIL zk does not build
zk.go:1: no

Tests took 25s.
Tests: 0 passed, 4 failed, 1 skipped
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

// What 'go test' itself prints is read: a run of three groups, one of which fails and one has a variable of its own.
func TestGroups(t *testing.T) {
	got := groups(strings.Fields("-short ./... -- -race ./zk"))
	if len(got) != 2 || strings.Join(got[0], " ") != "-short ./..." || strings.Join(got[1], " ") != "-race ./zk" {
		t.Errorf("groups() = %q", got)
	}
	var out strings.Builder
	l := newLog(&out, time.Now())
	if err := l.test(0, []string{"-C", "../..", "./internal/phrase"}); err != nil {
		t.Error(err)
	}
	once := l.total.passed
	if err := l.test(2, []string{"GOFLAGS=-count=2", "-C", "../..", "./internal/phrase"}); err != nil || l.total.passed != 3*once {
		t.Errorf("with -count=2 as well: %v, %d and then %d passed", err, once, l.total.passed)
	}
	if want := "ok   internal/phrase GOFLAGS=-count=2 "; !strings.Contains(out.String(), want) {
		t.Errorf("the log does not say %q:\n%s", want, out.String())
	}
	if err := l.test(1, []string{"./nowhere"}); err == nil {
		t.Error("a package that does not exist passes")
	}
	if failed := l.end(time.Now()); !failed || l.total.passed == 0 || l.total.failed != 1 {
		t.Errorf("end() = %v, Tests: %v\n%s", failed, l.total, out.String())
	}
}
