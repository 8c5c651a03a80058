// Command leased is a driver whose locks are files that all of its processes share, and last for a time after which anybody may have them: -for. With -tokens each grant
// has one. It is for tests of holders that are killed or stopped.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/zkbench/zkbench/drivers"
	"github.com/zkbench/zkbench/drivers/serve"
)

// state is what the file of a lock says: who has it until when, and the last token.
type state struct {
	Owner string
	Until time.Time
	Token int64
}

type library struct {
	dir    string
	lasts  time.Duration
	tokens bool
}

func main() {
	var l library
	flag.StringVar(&l.dir, "dir", "", "of the files")
	flag.DurationVar(&l.lasts, "for", time.Second, "how long a grant lasts")
	flag.BoolVar(&l.tokens, "tokens", false, "grants have tokens")
	flag.Parse()
	opened := 0
	hello := drivers.Hello{Name: "leased", Version: "1", Store: "files", Tokens: l.tokens, Can: []string{drivers.CanLock}}
	err := serve.Run(os.Stdin, os.Stdout, serve.Library{Hello: hello, Open: func(context.Context, serve.Opening) (serve.Client, int64, error) {
		opened++
		return &client{l: l, id: fmt.Sprintf("%d-%d-%d", os.Getpid(), opened, time.Now().UnixNano()), last: map[string]int{}}, 0, nil
	}})
	if err != nil {
		log.Fatal(err)
	}
}

type client struct {
	l  library
	id string

	mu   sync.Mutex
	last map[string]int // state of each lock that is known
}

// change has f change the latest state of a lock. A state is a file that is there as a whole or not at all, and each has a number that only one client can take: so a
// process that is stopped or killed here is in nobody's way.
func (c *client) change(path string, f func(*state) error) error {
	name := func(n int) string {
		return filepath.Join(c.l.dir, fmt.Sprintf("%s.%d", strings.ReplaceAll(path, "/", "_"), n))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		var now state
		n, text := 0, []byte("{}") // of a lock that is new
		for next := max(c.last[path], 1); ; next++ {
			it, err := os.ReadFile(name(next))
			if errors.Is(err, fs.ErrNotExist) {
				break
			} else if err != nil {
				return err
			}
			n, text = next, it
		}
		c.last[path] = n
		if err := json.Unmarshal(text, &now); err != nil {
			return err
		}
		if err := f(&now); err != nil {
			return err
		}
		text, err := json.Marshal(now)
		if err != nil {
			return err
		}
		whole := filepath.Join(c.l.dir, "of-"+c.id)
		if err := os.WriteFile(whole, text, 0o600); err != nil {
			return err
		}
		if err := os.Link(whole, name(n+1)); !errors.Is(err, fs.ErrExist) {
			return errors.Join(err, os.Remove(whole))
		}
	}
}

func (c *client) Acquire(ctx context.Context, path string) (serve.Grant, error) {
	for {
		g, err := c.TryAcquire(ctx, path)
		if !errors.Is(err, serve.ErrHeld) {
			return g, err
		}
		select {
		case <-time.After(2 * time.Millisecond):
		case <-ctx.Done():
			return serve.Grant{}, ctx.Err()
		}
	}
}

func (c *client) TryAcquire(_ context.Context, path string) (g serve.Grant, err error) {
	err = c.change(path, func(s *state) error {
		if s.Owner != "" && time.Now().Before(s.Until) {
			return serve.ErrHeld
		}
		s.Owner, s.Until, s.Token = c.id, time.Now().Add(c.l.lasts), s.Token+1
		if c.l.tokens {
			g.Token = s.Token
		}
		return nil
	})
	return g, err
}

func (c *client) Release(_ context.Context, path string) error {
	return c.change(path, func(s *state) error {
		if s.Owner != c.id {
			return serve.ErrNotHeld
		}
		s.Owner = ""
		return nil
	})
}

func (c *client) Close() error { return nil }
