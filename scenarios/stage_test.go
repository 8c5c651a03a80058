package scenarios

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/zk"
)

// The first violation or the first error is the outcome of a trial, and a script that checks ends there.
func TestPlay(t *testing.T) {
	broken := errors.New("no servers")
	for _, c := range []struct {
		what    string
		script  func(*Stage)
		seen    Violation
		witness string
		err     string
	}{
		{"nothing is found", func(s *Stage) {}, None, "", ""},
		{"it passes", func(s *Stage) { s.Found(None, "%d waited", 2) }, None, "2 waited", ""},
		{"a violation", func(s *Stage) { s.Found(Liveness, "nobody holds") }, Liveness, "nobody holds", ""},
		{"a violation after it seemed to pass", func(s *Stage) { s.Found(None, "so far"); s.Found(Liveness, "nobody holds") }, Liveness, "nobody holds", ""},
		{"two violations", func(s *Stage) { s.Found(Liveness, "nobody holds"); s.Found(Exclusion, "two hold") }, Liveness, "nobody holds", ""},
		{"an error after a violation", func(s *Stage) { s.Found(Liveness, "nobody holds"); s.Fail(broken) }, Liveness, "nobody holds", ""},
		{"a violation after an error", func(s *Stage) { s.Fail(broken); s.Found(Liveness, "nobody holds") }, None, "", "no servers"},
		{"no error", func(s *Stage) { s.Check(nil); s.Found(Liveness, "nobody holds") }, Liveness, "nobody holds", ""},
		{"a checked error", func(s *Stage) { s.Check(broken); panic("it goes on") }, None, "", "no servers"},
		{"the end after a violation", func(s *Stage) { s.Found(Liveness, "nobody holds"); s.End(); panic("it goes on") }, Liveness, "nobody holds", ""},
		{"a situation that does not come about", func(s *Stage) { s.Fail(NotStaged("%w: it is gone", broken)) }, None, "",
			"the situation could not be staged: no servers: it is gone"},
		{"a failure ends the context", func(s *Stage) { s.Fail(broken); <-s.Context().Done() }, None, "", "no servers"},
		{"it takes too long", func(s *Stage) { <-s.Context().Done(); s.Found(Liveness, "nobody holds") }, None, "", "it has not come to its end within 1m0s"},
		{"it takes too long, and fails", func(s *Stage) { <-s.Context().Done(); s.Check(broken) }, None, "", "it has not come to its end within 1m0s: no servers"},
	} {
		synctest.Test(t, func(t *testing.T) {
			seen, witness, err := Play(t.Context(), time.Minute, c.script)
			said := ""
			if err != nil {
				said = err.Error()
			}
			if seen != c.seen || witness != c.witness || said != c.err {
				t.Errorf("%s: Play() = %q, %q, %q, want %q, %q, %q", c.what, seen, witness, said, c.seen, c.witness, c.err)
			}
		})
	}
}

// Settle waits for a second of silence, or for the end of the attempt; it reports clients that never rest.
func TestSettle(t *testing.T) {
	for _, c := range []struct {
		what     string
		requests int           // of the client
		every    time.Duration // interval between requests
		lasts    time.Duration // duration of the attempt; 0: until it is abandoned
		want     time.Duration
		over     bool
		rests    bool
		err      string
	}{
		{"a quiet client", 0, 0, 0, time.Second, false, true, ""},
		{"the end of the attempt", 0, 0, 300 * time.Millisecond, 300 * time.Millisecond, true, true, ""},
		{"a client that comes to rest", 5, 400 * time.Millisecond, 0, 3 * time.Second, false, true, ""},
		{"hundreds of requests without an end", 1000, 5 * time.Millisecond, 0, 3 * time.Second, false, false, ""},
		{"a few without an end", 100, 500 * time.Millisecond, 0, 31 * time.Second, false, true, "still moving after 30s"},
	} {
		synctest.Test(t, func(t *testing.T) {
			_, _, err := Play(t.Context(), time.Hour, func(s *Stage) {
				trace := s.Trace(func(*zk.Call) {})
				client := s.Begin(func(ctx context.Context) error {
					for range c.requests {
						select {
						case <-time.After(c.every - time.Millisecond):
							trace.Call(&zk.Call{})
							time.Sleep(time.Millisecond)
						case <-ctx.Done():
						}
					}
					return nil
				})
				attempt := s.Begin(func(ctx context.Context) error {
					var end <-chan time.Time
					if c.lasts > 0 {
						end = time.After(c.lasts)
					}
					select {
					case <-end:
					case <-ctx.Done():
					}
					return nil
				})
				began, rests := time.Now(), true
				over := s.Settle(attempt, func() error { return nil }, func(int64, time.Duration) { rests = false })
				if took := time.Since(began); took != c.want || over != c.over || rests != c.rests {
					t.Errorf("%s: Settle() = %v after %v, rests %v; want %v, %v, %v", c.what, over, took, rests, c.over, c.want, c.rests)
				}
				attempt.Abandon()
				client.Abandon()
			})
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v, want %q", c.what, err, c.err)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	refused := func(why error) error { return &zk.Error{Op: zk.KindCreate, Path: "/a", Err: why} }
	for _, c := range []struct {
		call zk.Call
		want bool
	}{
		{zk.Call{Mode: zk.Container, Err: refused(zk.ErrUnimplemented)}, false}, // a persistent znode follows
		{zk.Call{Mode: zk.Persistent, Err: refused(zk.ErrUnimplemented)}, true},
		{zk.Call{Mode: zk.Container, Err: refused(zk.ErrQuota)}, true},
		{zk.Call{Mode: zk.Container, Err: refused(zk.ErrNodeExists)}, false},
		{zk.Call{}, false},
	} {
		if got := Refused(&c.call); got != c.want {
			t.Errorf("Refused(%v of mode %v) = %v, want %v", c.call.Err, c.call.Mode, got, c.want)
		}
	}
}
