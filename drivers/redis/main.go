// Command redis is a driver for locks on Redis: the stages of a lock, each of which fixes a flaw of the previous one, and redsync.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/zkbench/zkbench/drivers"
	"github.com/zkbench/zkbench/drivers/serve"
)

// options are the flags.
type options struct {
	stage   string
	wait    string
	poll    time.Duration
	ttl     time.Duration // 0: the session timeout
	id      string        // of every client; "": each has its own
	servers int
}

func main() {
	log.SetFlags(0)
	redis.SetLogger(silent{})
	o, err := parse(os.Args[1:], os.Stderr)
	if err != nil {
		os.Exit(2)
	}
	if err := serve.Run(os.Stdin, os.Stdout, o.library()); err != nil {
		log.Fatal(err)
	}
}

// silent keeps the library's log messages about lost connections off standard error, whose end zkbench shows.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// The ways to wait for a lock that is held.
const (
	byPolling = "poll"   // retry after a time
	byPubSub  = "pubsub" // wait for a notification of each release, and retry when the lock expires
)

func parse(args []string, says io.Writer) (o options, err error) {
	f := flag.NewFlagSet("zkbench-driver-redis", flag.ContinueOnError)
	f.SetOutput(says)
	names := append(stageNames(), redsyncStage)
	f.StringVar(&o.stage, "stage", "lua", "which lock: "+strings.Join(names, ", "))
	f.StringVar(&o.wait, "wait", byPolling, "how to wait: "+byPolling+", or "+byPubSub+" where the holder publishes its release")
	f.DurationVar(&o.poll, "poll", 10*time.Millisecond, "mean time from one try to the next")
	f.DurationVar(&o.ttl, "ttl", 0, "time after which a lock expires (default the session timeout)")
	f.StringVar(&o.id, "id", "", "the same id for all clients (default one for each)")
	f.IntVar(&o.servers, "servers", 1, "servers that redsync asks, 1 to 9")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	problem := ""
	switch {
	case f.NArg() > 0:
		problem = fmt.Sprintf("unexpected argument %q", f.Arg(0))
	case !slices.Contains(names, o.stage):
		problem = fmt.Sprintf("unknown stage %q (expected one of %s)", o.stage, strings.Join(names, ", "))
	case o.wait != byPolling && o.wait != byPubSub:
		problem = fmt.Sprintf("-wait: %q is not %s or %s", o.wait, byPolling, byPubSub)
	case o.poll < time.Millisecond || o.ttl < 0 || o.ttl > 0 && o.ttl < 10*time.Millisecond:
		problem = "-poll must be at least 1ms, and -ttl at least 10ms"
	case o.servers < 1 || o.servers > 9 || o.servers > 1 && o.stage != redsyncStage:
		problem = fmt.Sprintf("-servers: expected 1 to 9, and more than 1 for %s alone, got %d", redsyncStage, o.servers)
	case o.stage == redsyncStage && (o.wait != byPolling || o.id != ""):
		problem = redsyncStage + " waits by polling, and has its own ids (remove -wait and -id)"
	}
	if problem != "" {
		fmt.Fprintln(says, "zkbench-driver-redis: "+problem)
		return o, fmt.Errorf("%s", problem)
	}
	return o, nil
}

func (o options) library() serve.Library {
	l := serve.Library{Hello: drivers.Hello{Name: "redis-" + o.stage, Version: "go-redis " + version("github.com/redis/go-redis/v9"), Store: "redis", Servers: o.servers,
		Can: []string{drivers.CanLock, drivers.CanTry}}}
	if o.stage == redsyncStage {
		l.Hello.Version = version("github.com/go-redsync/redsync/v4")
		l.Open = o.openRedsync
		return l
	}
	l.Hello.Tokens = stages[o.stage].tokens
	l.Open = o.open
	return l
}

// version returns the version of a module in this binary.
func version(module string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == module {
				return m.Version
			}
		}
	}
	return "unknown"
}

// connect returns a client with its own connections, after checking that the server answers.
func connect(ctx context.Context, address string) (*redis.Client, error) {
	c := redis.NewClient(&redis.Options{Addr: address, PoolSize: 3})
	if err := c.Ping(ctx).Err(); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}
