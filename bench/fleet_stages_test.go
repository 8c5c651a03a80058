package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/bench/fleet"
	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// steps are the znodes of the meeting that a share creates during a run, in order: those of the run, of its only cell, and of its end.
var steps = []string{"cells/0/" + fleet.RootMade, "cells/1/" + fleet.Made, "cells/1/" + fleet.Ready, "cells/1/" + fleet.Warm, "cells/1/" + fleet.Drained,
	"cells/1/" + fleet.Seen, "cells/1/" + fleet.Closed, "done"}

// begun reports whether the load had started at a step.
func begun(step int) bool { return step > slices.Index(steps, "cells/1/"+fleet.Ready) }

// onceAt calls do when the first session for which among is true reaches a step. do determines what happens to its request.
func (f *ships) onceAt(step int, among func(s *zktest.Session) bool, do func() zktest.Action) {
	var once sync.Once
	f.meets.Hook(func(op zktest.Op) (a zktest.Action) {
		if op.Kind == zk.KindCreate && !op.Applied && strings.HasPrefix(op.Path, "/m/1/"+steps[step]+"/") && among(op.Session) {
			once.Do(func() { a = do() })
		}
		return a
	})
}

// kill simulates that the process of a share is gone: none of its requests reaches a server any more.
func (f *ships) kill(i int) {
	r := f.all[i]
	r.mu.Lock()
	r.silent = true
	var all []*zktest.Session
	for _, some := range r.sessions {
		all = append(all, some...)
	}
	r.mu.Unlock()
	for _, s := range all {
		r.ens.Partition(s)
	}
	f.meets.Partition(f.session(i))
}

// At whatever step a share is killed, the others end, claim nothing that it may have broken, and leave nothing behind.
func TestAShareIsKilledAtEachStep(t *testing.T) {
	for step := range steps {
		t.Run(strings.ReplaceAll(steps[step], "/", "-"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newShips(t, 3, zktest.Config{OpLatency: time.Millisecond}, "sessions: 6", "duration: 4s", "session_timeout: 4s", "hold: 20ms")
				f.onceAt(step, func(s *zktest.Session) bool { return s == f.session(1) }, func() zktest.Action {
					f.kill(1)
					return zktest.Action{Err: zk.ErrMaybeApplied} // it was not applied, so that the others miss it
				})
				docs, errs := f.run()
				var dirs []string
				for _, i := range []int{0, 2} {
					doc := docs[i]
					switch {
					case !begun(step):
						if errs[i] == nil || !strings.Contains(errs[i].Error(), "a share was lost: share 2") || doc != nil && (doc.Exit.Code != 1 || len(doc.Cells) > 0) {
							t.Errorf("share %d: %v, want it to end before its first cell, for the lost share", i+1, errs[i])
						}
						continue
					case steps[step] == "done": // all of its work was done: the others may have ended, or may still learn that it did not report
						if lost := doc.Exit.Code == 5 && doc.Partial; !lost && (doc.Exit.Code != 0 || doc.Partial) {
							t.Errorf("share %d: exit %v, partial %v", i+1, doc.Exit, doc.Partial)
						}
					case doc.Exit.Code != 5 || !doc.Partial || !strings.Contains(doc.Exit.Reason, "share 2"):
						t.Errorf("share %d: exit %v, partial %v", i+1, doc.Exit, doc.Partial)
					}
					f.all[i].config.Out.Close()
					dirs = append(dirs, f.all[i].config.Out.Path())
				}
				if begun(step) {
					f.claimNothing(dirs)
				}
				time.Sleep(time.Minute) // the sessions that were cut off expire
				f.all[0].clean()
			})
		})
	}
}

// claimNothing merges what is left of a run, and asserts that the result is partial and that nothing holds in it.
func (f *ships) claimNothing(dirs []string) {
	f.t.Helper()
	doc, _, err := f.merge(dirs, true)
	if err != nil {
		f.t.Fatal(err)
	}
	if doc.Exit.Code != 5 || !doc.Partial {
		f.t.Errorf("merged: exit %v, partial %v", doc.Exit, doc.Partial)
	}
	for _, c := range doc.Cells {
		for _, k := range c.Checks {
			if k.Verdict != check.Unknown.String() {
				f.t.Errorf("merged: %s %s, though a share is missing", k.Name, k.Verdict)
			}
		}
	}
}

// At whatever step a second process claims a share, it is refused, and the run continues as if it had not come.
func TestAShareIsDoubledAtEachStep(t *testing.T) {
	for step := -1; step < len(steps); step++ {
		name := "before-all-are-there"
		if step >= 0 {
			name = strings.ReplaceAll(steps[step], "/", "-")
		}
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newShips(t, 3, zktest.Config{OpLatency: time.Millisecond}, "sessions: 6", "hold: 20ms")
				var second error
				var wait sync.WaitGroup
				double := func() {
					wait.Go(func() {
						m, err := f.join(f.t.Context(), 1, func(*zktest.Session) {})
						if second = err; err == nil {
							m.Close()
						}
					})
				}
				if step >= 0 {
					f.onceAt(step, func(*zktest.Session) bool { return true }, func() zktest.Action {
						double()
						return zktest.Action{}
					})
				} else {
					wait.Go(func() { time.Sleep(time.Second); double() })
				}
				docs, errs := f.run(3 * time.Second) // the first comes last
				wait.Wait()
				for i, doc := range docs {
					if errs[i] != nil || doc.Exit.Code != 0 || doc.Partial {
						t.Errorf("share %d: %v, exit %v", i+1, errs[i], doc.Exit)
					}
				}
				taken := second != nil && strings.Contains(second.Error(), "share 2/3 is taken by")
				begun := second != nil && strings.Contains(second.Error(), "has already started")
				if !taken && (step < 0 || !begun) { // which of the two it finds first depends on timing
					t.Errorf("the second process for share 2: %v", second)
				}
				f.all[0].clean()
			})
		})
	}
}

// join lets share i meet the others. It calls met with the share's session.
func (f *ships) join(ctx context.Context, i int, met func(*zktest.Session)) (*fleet.Meeting, error) {
	return fleet.Join(ctx, fleet.Config{Path: "/m/1", Share: f.all[i].config.Share, MeetTimeout: time.Minute, Finish: f.finish,
		Plan: fleet.Plan{Shares: len(f.all), Root: "/zkbench/fleet", Run: "fleet", Nonce: fmt.Sprint("nonce", i)},
		Dial: func(context.Context) (zk.Session, error) {
			s := f.meets.Dial()
			met(s)
			return s, nil
		}})
}
