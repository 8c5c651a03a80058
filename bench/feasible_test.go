package bench

import (
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/zk/zktest"
)

// An impossible load is reported by the check of a profile and before the load of a run; a possible one is not.
func TestImpossibleLoads(t *testing.T) {
	for _, c := range []struct {
		name  string
		lines []string
		want  []string // parts of the warnings
	}{
		{"one lock", []string{"rate: 1000/s", "hold: 200ms"}, []string{"1000/s on 1 object held for 200 ms is impossible: at most 5/s"}},
		{"one of two rates, of two holds and of two numbers of locks", []string{"rate: [4/s, 300/s]", "hold: [1ms, 10ms]", "objects: [1, 4]"},
			[]string{"300/s on 1 object held for 10 ms is impossible: at most 100/s"}},
		{"a rate of each session", []string{"sessions: [2, 4]", "rate_per_session: 30/s", "hold: {uniform: [5ms, 15ms]}"}, []string{"120/s on 1 object"}},
		{"as much as there can be", []string{"rate: 100/s", "hold: 10ms"}, nil},
		{"locks that are only written", []string{"workload: read-write", "variants: [read-write]", "objects: 2", "rate: 100/s", "hold: 50ms"}, []string{"100/s on 2 objects held for 50 ms is impossible: at most 40/s"}},
		{"a fifth of it reads", []string{"workload: read-write", "variants: [read-write]", "readers: 20", "rate: 101/s", "hold: 12500us"}, []string{"101/s on 1 object held for 12.5 ms is impossible: at most 100/s"}},
		{"as much as the writers can", []string{"workload: read-write", "variants: [read-write]", "readers: 20", "rate: 100/s", "hold: 12500us"}, nil},
		{"readers alone", []string{"workload: read-write", "variants: [read-write]", "readers: 100", "rate: 1000/s", "hold: 50ms"}, nil},
		{"three consumers", []string{"workload: queue", "variants: [fifo]", "producers: 25", "rate: 100/s", "hold: 50ms"},
			[]string{"100/s for 3 consumers with 50 ms of work on each is impossible: at most 60/s can be taken"}},
		{"one consumer of each of two queues", []string{"workload: queue", "variants: [fifo]", "objects: 2", "producers: 99", "rate: 100/s", "hold: 50ms"}, []string{"100/s for 2 consumers"}},
		{"as much as they can work on", []string{"workload: queue", "variants: [fifo]", "producers: 25", "rate: 60/s", "hold: 50ms"}, nil},
		{"nobody takes", []string{"workload: queue", "variants: [fifo]", "producers: 100", "rate: 1000/s", "hold: 50ms"}, nil},
		{"leaders", []string{"workload: election", "variants: [predecessor]", "rate: 101/s", "hold: 10ms", "objects: 1"}, []string{"101/s on 1 object held for 10 ms is impossible: at most 100/s"}},
		{"as many leaders as there are elections", []string{"workload: election", "variants: [predecessor]", "rate: 200/s", "hold: 10ms", "objects: 2"}, nil},
		{"members", []string{"workload: membership", "variants: [named]", "sessions: 8", "members: 25", "rate: 41/s", "hold: 50ms"},
			[]string{"41/s for 2 members with 50 ms in the group each time is impossible: at most 40/s can join"}},
		{"as many as the members can", []string{"workload: membership", "variants: [named]", "sessions: 8", "members: 25", "rate: 40/s", "hold: 50ms"}, nil},
		{"clients that idle", []string{"workload: sessions", "variants: [close]", "sessions: 50", "rate: 100/s", "idle: 2s"},
			[]string{"100/s for 50 clients with 2 s between opening and close is impossible: at most 25/s can be opened"}},
		{"clients that do not", []string{"workload: sessions", "variants: [close]", "sessions: 50", "rate: 100/s"}, nil},
		// Of 100/s one in ten revokes: there are 90 writers a second, of which 10 are revoked; the other 80 have the lock for 12.5 ms each.
		{"revoked writers", []string{"workload: revocation", "variants: [revocable]", "sessions: 10", "rate: 101/s", "hold: 12500us"}, []string{"101/s on 1 object held for 12.5 ms is impossible: at most 100/s"}},
		{"as much as they can", []string{"workload: revocation", "variants: [revocable]", "sessions: 10", "rate: 100/s", "hold: 12500us"}, nil},
		{"one who asks for each of them", []string{"workload: revocation", "variants: [revocable]", "sessions: 2", "rate: 1000/s", "hold: 1s"}, nil},
		{"revoked readers", []string{"workload: revocation", "variants: [revocable]", "sessions: 10", "readers: 100", "rate: 1000/s", "hold: 1s"}, nil},
		{"a closed loop", []string{"hold: 200ms"}, nil},
		{"a driver in too short a cell", []string{"variants: ['driver:/bin/true']", "drain: 5s"}, []string{"a stall of a driver cannot violate liveness: that takes more than two session timeouts (20 s), and warm-up, duration and drain are 10 s; it is unknown then"}},
		{"a driver in a longer one", []string{"variants: ['driver:/bin/true']", "drain: 16s"}, nil},
		{"short deadlines", []string{"deadline: 400ms"}, []string{"a stall with deadlines of 400 ms cannot violate liveness"}},
		{"longer deadlines", []string{"deadline: 600ms"}, nil},
		{"a fault near the end", []string{"faults: [{at: 3s, kind: expire, session: 1}]"}, []string{"a stall after a fault cannot violate liveness: that takes more than two session timeouts (20 s), and 11 s are left after the fault expire"}},
		{"a fault that excuses nothing", []string{"faults: [{at: 3s, kind: cut-reply, op: create}]"}, nil},
	} {
		r := newRig(t, zktest.Config{}, c.lines...)
		got := r.config.Warnings(r.config.Profile)
		if !slices.EqualFunc(got, c.want, strings.Contains) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
