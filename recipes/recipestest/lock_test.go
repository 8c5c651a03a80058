package recipestest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/lock"
	"github.com/zkbench/zkbench/recipes/recipestest"
	"github.com/zkbench/zkbench/zk"
)

// altered is a lock with one step replaced.
type altered struct {
	recipes.Lock
	acquire func(context.Context, recipes.Lock) (recipes.Grant, error)
	release func(context.Context, recipes.Lock) error
}

func (l altered) Acquire(ctx context.Context) (recipes.Grant, error) {
	if l.acquire == nil {
		return l.Lock.Acquire(ctx)
	}
	return l.acquire(ctx, l.Lock)
}

func (l altered) Release(ctx context.Context) error {
	if l.release == nil {
		return l.Lock.Release(ctx)
	}
	return l.release(ctx, l.Lock)
}

// careless is the lock that everybody writes first: whoever creates the znode holds.
type careless struct {
	s    zk.Session
	path string
}

func (l careless) Acquire(ctx context.Context) (recipes.Grant, error) {
	for {
		lease := l.s.Lease()
		c, err := l.s.Create(ctx, l.path, nil, zk.Ephemeral)
		if err == nil {
			return recipes.Grant{Path: c.Path, Token: c.Czxid, Lost: lease}, nil
		}
		_, there, w, werr := l.s.ExistsW(ctx, l.path)
		if werr != nil {
			return recipes.Grant{}, werr
		}
		if !there {
			w.Stop()
			if errors.Is(err, zk.ErrNodeExists) {
				continue // released meanwhile
			}
			return recipes.Grant{}, err
		}
		select {
		case <-w.C():
		case <-ctx.Done():
			w.Stop()
			return recipes.Grant{}, ctx.Err()
		}
	}
}

func (l careless) Release(ctx context.Context) error { return l.s.Delete(ctx, l.path, zk.AnyVersion) }

// isDocumented compares the suite's output for the careless lock with docs/your-own-recipe.md.
func isDocumented(t *testing.T, said string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/your-own-recipe.md")
	if err != nil {
		t.Fatal(err)
	}
	passed, failed := strings.Count(said, "        --- PASS"), strings.Count(said, "        --- FAIL")
	if want := fmt.Sprintf("It passes %d of the %d tests", passed, passed+failed); !strings.Contains(string(text), want) {
		t.Errorf("docs/your-own-recipe.md does not say %q", want)
	}
	_, rest, _ := strings.Cut(string(text), "<!-- careless -->\n")
	shown, _, found := strings.Cut(rest, "<!-- /careless -->")
	for line := range strings.Lines(shown) {
		if !strings.Contains(said, strings.TrimSpace(line)) {
			t.Errorf("docs/your-own-recipe.md shows %q, which is not in the output", line)
		}
	}
	if !found || strings.TrimSpace(shown) == "" {
		t.Error("docs/your-own-recipe.md has no place for the output for the careless lock")
	}
}

// Each of these locks breaks a promise, and the suite must name it.
func TestLocksThatBreakAPromise(t *testing.T) {
	sound, _ := recipes.Find(lock.Variants(), "predecessor")
	alter := func(a altered) recipes.Variant[recipes.Lock] {
		v := sound
		v.New = func(s zk.Session, path string, o recipes.Options) recipes.Lock {
			a.Lock = sound.New(s, path, o)
			return a
		}
		return v
	}
	unordered, _ := recipes.Find(lock.Variants(), "single-node")
	unordered.FIFO = true
	for _, tt := range []struct {
		name    string
		v       recipes.Variant[recipes.Lock]
		promise string
	}{
		{"no order", unordered, "grants come in the order of arrival"},
		{"everybody holds", alter(altered{acquire: func(context.Context, recipes.Lock) (recipes.Grant, error) {
			return recipes.Grant{Lost: make(chan struct{})}, nil
		}}), "a dead holder loses the lock"},
		{"Lost never closes", alter(altered{acquire: func(ctx context.Context, l recipes.Lock) (recipes.Grant, error) {
			g, err := l.Acquire(ctx)
			g.Lost = nil
			return g, err
		}}), "a holder whose replies are late is notified in time"},
		{"the context is ignored", alter(altered{acquire: func(ctx context.Context, l recipes.Lock) (recipes.Grant, error) {
			return l.Acquire(context.WithoutCancel(ctx))
		}}), "a cancelled waiter leaves nothing"},
		{"the release does not report the loss", alter(altered{release: func(ctx context.Context, l recipes.Lock) error {
			l.Release(ctx)
			return nil
		}}), "a holder whose znode is deleted is notified at the release"},
		{"the same token twice", alter(altered{acquire: func(ctx context.Context, l recipes.Lock) (recipes.Grant, error) {
			g, err := l.Acquire(ctx)
			g.Token = 1
			return g, err
		}}), "acquire, release, acquire again"},
		{"a lost reply leaves a ghost", recipes.Variant[recipes.Lock]{New: func(s zk.Session, path string, o recipes.Options) recipes.Lock {
			return careless{s, "/" + strings.ReplaceAll(path[1:], "/", "-")}
		}}, "a create whose reply is lost is found again"},
		{"a release that is not repeated", alter(altered{release: func(ctx context.Context, l recipes.Lock) error {
			short, cancel := context.WithCancel(ctx)
			cancel()
			l.Release(short)
			return nil
		}}), "every request of a release goes wrong"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if os.Getenv("RECIPESTEST_BROKEN") != "" {
				recipestest.Lock(t, tt.v)
				return
			}
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.timeout=2m", "-test.run", "^"+t.Name()+"$")
			cmd.Env = append(os.Environ(), "RECIPESTEST_BROKEN=1")
			out, err := cmd.CombinedOutput()
			said := "--- FAIL: " + t.Name() + "/" + strings.ReplaceAll(tt.promise, " ", "_")
			if err == nil || !strings.Contains(string(out), said) || strings.Contains(string(out), "panic:") {
				t.Errorf("the suite prints (%v)\n%s\nwant %s, and no panic", err, out, said)
			}
			if tt.name == "a lost reply leaves a ghost" {
				isDocumented(t, string(out))
			}
		})
	}
}
