package recipes_test

import (
	"context"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/check"
)

// Curator's InterProcessMutex and kazoo's Lock on the same path do not exclude each other. Curator orders names by what follows 'lock-', but
// kazoo's names, with '__lock__', as a whole, so that its own znode always comes first. kazoo sees Curator's znodes only if it is given their
// pattern. One library holds, and the other acquires: it either holds too, or watches the holder's znode.
func TestCuratorAndKazooOnOneLock(t *testing.T) {
	in := newInterop(t)
	for _, tt := range []struct {
		why     string
		holder  string
		kazoo   func(path string, contenders int) party
		getsIn  bool
		verdict check.Answer
	}{
		{"Curator comes while kazoo holds", "kazoo", in.kazoo("-lock-"), true, check.Violated},
		{"kazoo comes while Curator holds", "curator", in.kazoo(), true, check.Violated},
		{"kazoo, given Curator's pattern, comes while Curator holds", "curator", in.kazoo("-lock-"), false, check.Holds},
	} {
		t.Run(tt.why, func(t *testing.T) {
			path := in.path(t)
			held, second := make(chan struct{}), make(chan struct{})
			gotIn := false
			a := &arbiter{
				next: func(ctx context.Context, s seat, round int) string {
					if round > 0 {
						return "end"
					}
					if s.party != tt.holder {
						select {
						case <-held:
						case <-ctx.Done():
						}
					}
					return "acquire"
				},
				hold: func(ctx context.Context, s seat, _ int) {
					if s.party != tt.holder {
						close(second)
						return
					}
					close(held)
					in.until(ctx, t, func() (bool, error) {
						select {
						case <-second:
							gotIn = true
							return true, nil
						default:
						}
						return in.isWatched(ctx, path)
					})
				},
			}
			a.play(t, in.curator(path, 1), tt.kazoo(path, 1))
			if v := check.MutualExclusion().Judge(a.history(), nil); gotIn != tt.getsIn || v.Answer != tt.verdict || v.Evidence != 2 {
				t.Errorf("the second held beside the holder: %v; mutual exclusion is %v on %d grants: %s; want %v, %v", gotIn, v.Answer, v.Evidence, v.Detail,
					tt.getsIn, tt.verdict)
			}
		})
	}
}

// isWatched reports whether any znode of the queue is watched.
func (in interop) isWatched(ctx context.Context, path string) (bool, error) {
	watchers, err := in.watchers(ctx)
	for znode := range watchers {
		if strings.HasPrefix(znode, path+"/") {
			return true, err
		}
	}
	return false, err
}
