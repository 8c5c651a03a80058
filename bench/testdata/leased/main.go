// Command leased is a driver whose locks are files that all of its processes share, and last for a time after which anybody may have them: -for. With -tokens each grant
// has one. It is for tests of holders that are killed or stopped.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"syscall"
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
		return &client{l: l, id: fmt.Sprintf("%d-%d-%d", os.Getpid(), opened, time.Now().UnixNano())}, 0, nil
	}})
	if err != nil {
		log.Fatal(err)
	}
}

type client struct {
	l  library
	id string
}

// change has f change the state of a lock, which nobody else looks at meanwhile.
func (c *client) change(path string, f func(*state) error) error {
	file, err := os.OpenFile(filepath.Join(c.l.dir, strings.ReplaceAll(path, "/", "_")), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	var now state
	json.NewDecoder(file).Decode(&now) // one that is new has none
	if err := f(&now); err != nil {
		return err
	}
	text, err := json.Marshal(now)
	if err != nil {
		return err
	}
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err = file.WriteAt(text, 0)
	return err
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
