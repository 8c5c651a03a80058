package command

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/proxy"
	"github.com/zkbench/zkbench/internal/phrase"
	recorder "github.com/zkbench/zkbench/traffic/record"
)

func (a *app) recordTraffic(ctx context.Context, args []string) error {
	f := a.flags("record TRACE --servers HOST:PORT,...", `Listens in front of running servers, forwards what clients send, and writes a trace of it: all requests with sizes, times and the servers' errors, watch
events, and sessions. It ends with Ctrl-C or after --for, when it cuts the connections. It keeps no data of znodes and no credentials. It cannot
look into connections with TLS.`)
	servers := f.String("servers", "", "host:port of the servers, comma separated")
	listen := f.String("listen", "", "host:port to listen at, comma separated: one for each server, in the same order (default: free ports of 127.0.0.1)")
	within := f.Duration("for", 0, "how long to record (default: until Ctrl-C)")
	names := f.Bool("names", false, "keep the names of znodes; by default hashes with a salt of this trace stand for them")
	if err := parse(f, args); err != nil {
		return err
	}
	if f.NArg() != 1 {
		return usagef("record takes the file to write the trace to")
	}
	if *servers == "" {
		return usagef("record needs --servers with the addresses of running servers")
	}
	t, err := ensemble.ParseTarget(*servers)
	if err != nil {
		return usageError{err}
	}
	if len(t.Addresses) == 0 {
		return usagef("record needs --servers with the addresses of running servers, not %s", t)
	}
	config := proxy.Config{Upstreams: t.Addresses}
	if *listen != "" {
		config.Listen = strings.Split(*listen, ",")
		if len(config.Listen) != len(t.Addresses) {
			return usagef("--listen: %s for %s (expected one for each)", phrase.Count(len(config.Listen), "address"), phrase.Count(len(t.Addresses), "server"))
		}
	}
	for _, address := range config.Listen {
		if _, _, err := net.SplitHostPort(address); err != nil {
			return usagef("--listen: %q is not host:port", address)
		}
	}
	if *within < 0 {
		return usagef("--for: must be positive, got %v", *within)
	}
	ctx, cancel := a.interruptible(ctx)
	defer cancel()
	if *within > 0 {
		var end context.CancelFunc
		ctx, end = context.WithTimeout(ctx, *within)
		defer end()
	}
	r, err := startRecording(f.Arg(0), "record", strings.Join(t.Addresses, ","), *names)
	if err != nil {
		return err
	}
	config.Tap = r
	p, err := proxy.Start(ctx, config)
	if err != nil {
		return errors.Join(err, r.discard())
	}
	for i, address := range p.Addresses() {
		fmt.Fprintf(a.stderr, "recording at %s what goes to %s (Ctrl-C to end)\n", address, t.Addresses[i])
	}
	select {
	case <-ctx.Done():
	case <-r.Failed():
	}
	p.Close()
	return r.end(a)
}

// recording is a trace that is being written.
type recording struct {
	*recorder.Recorder
	file  *os.File
	began time.Time
}

// startRecording creates the file of a trace, and begins it.
func startRecording(path, verb, source string, names bool) (*recording, error) {
	file, err := newTrace(path)
	if err != nil {
		return nil, err
	}
	r, err := recorder.New(file, recorder.Config{Maker: maker(verb), Source: source, Names: names, Salt: rand.Text()})
	if err != nil {
		return nil, errors.Join(err, file.Close(), os.Remove(path))
	}
	return &recording{r, file, time.Now()}, nil
}

// discard removes a trace that nothing was recorded for.
func (r *recording) discard() error {
	return errors.Join(r.Close(), r.file.Close(), os.Remove(r.file.Name()))
}

// end completes a trace, and says what it has.
func (r *recording) end(a *app) error {
	lasted := time.Since(r.began)
	if err := errors.Join(r.Close(), r.file.Close()); err != nil {
		return fmt.Errorf("write the trace %s: %w", r.file.Name(), err)
	}
	c := r.Counts()
	fmt.Fprintf(a.stdout, "wrote %s: %s and %s of %s in %s\n", r.file.Name(), phrase.Count(c.Requests, "request"), phrase.Count(c.Events, "watch event"), phrase.Count(c.Sessions, "session"), phrase.Rough(lasted))
	for _, lacks := range []struct {
		n    int64
		what string
	}{{c.Unanswered, "got no reply before their connection ended"}, {c.Late, "were answered so late that they are written as unanswered"}, {c.Unknown, "are of other kinds, of which the trace has only the number"}} {
		if lacks.n > 0 {
			fmt.Fprintf(a.stderr, "%d of the requests %s\n", lacks.n, lacks.what)
		}
	}
	return nil
}
