// Command compare runs the load generators of tools/yardstick in turn on one ensemble, several times over, and prints how
// zkbench's own client compares with the floor and with go-zookeeper/zk, as ratios of medians with the limits that it must
// keep. With -update it writes the table into a document, between the lines <!-- begin yardstick --> and <!-- end yardstick
// -->.
//
// The exit code is 1 if something could not be measured, and 3 if a limit was missed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/zkbench/zkbench/ensemble/local"
)

func main() {
	servers := flag.String("servers", "", "host:port, comma separated; none starts a local ensemble of three servers")
	runs := flag.Int("runs", 5, "how often each generator does each piece of work")
	length := flag.Duration("for", 6*time.Second, "how long each loop of a recipe, and each 'zkbench run' beside it, is measured; at least 1s")
	only := flag.String("only", "", "only the pieces of work whose title contains this")
	update := flag.String("update", "", "write the table into this document")
	elsewhere := flag.String("yardstick", "../shared/yardstick", "module with the commands floor and gozk, instead of our own; if it is there")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	missed, err := run(ctx, *servers, *runs, *length, *only, *update, *elsewhere)
	cancel()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	case missed > 0:
		fmt.Fprintf(os.Stderr, "compare: %d limits missed\n", missed)
		os.Exit(3)
	}
}

func run(ctx context.Context, servers string, runs int, length time.Duration, only, update, elsewhere string) (missed int, err error) {
	if runs < 1 {
		return 0, errors.New("at least one run")
	}
	if length < time.Second {
		return 0, fmt.Errorf("-for: must be at least 1s, got %v", length)
	}
	if len(choose(only)) == 0 {
		return 0, fmt.Errorf("-only: no piece of work has %q in its title", only)
	}
	if runtime.GOOS != "linux" {
		return 0, errors.New("the floor needs epoll: Linux only")
	}
	dir, err := os.MkdirTemp("", "zkbench-yardstick-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	b, err := build(ctx, dir, elsewhere)
	if err != nil {
		return 0, err
	}
	b.length = length
	about := "given servers"
	if b.servers = servers; servers == "" {
		fmt.Fprintln(os.Stderr, "starting three servers")
		three, err := local.Start(ctx, local.Config{Servers: 3})
		if err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, three.Close()) }()
		b.servers = strings.Join(three.Addresses(), ",")
		about = "three servers, ZooKeeper " + three.Describe().Version + ", on the same machine"
	}
	results, err := b.measure(ctx, choose(only), runs)
	if err != nil {
		return 0, err
	}
	text, missed := table(results, runs)
	text = fmt.Sprintf("%s\n%s; %d CPUs, %s, %s.\n", text, about, runtime.NumCPU(), runtime.Version(), time.Now().UTC().Format(time.DateOnly))
	fmt.Print(text)
	if update != "" {
		err = insert(update, text)
	}
	return missed, err
}

func choose(only string) []work {
	var chosen []work
	for _, w := range works {
		if strings.Contains(w.title, only) {
			chosen = append(chosen, w)
		}
	}
	return chosen
}

const begin, end = "<!-- begin yardstick -->\n", "<!-- end yardstick -->"

// insert replaces the text between the marks of a document.
func insert(path, text string) error {
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	head, rest, ok := strings.Cut(string(old), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return fmt.Errorf("%s has no lines %q and %q", path, strings.TrimSpace(begin), end)
	}
	return os.WriteFile(path, []byte(head+begin+text+end+tail), 0o644)
}
