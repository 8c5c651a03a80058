package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/zkbench/zkbench/bench/access"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/limits"
	"github.com/zkbench/zkbench/internal/program"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/zk"
)

func (a *app) limits(ctx context.Context, args []string) error {
	f := a.flags("limits --servers HOST:PORT,...", `Shows how close an ensemble is to ZooKeeper's hard limits: the current value, the limit, and when it will be reached. It asks each server with
four-letter words (srvr, mntr, conf, envi, cons; one of them dump) or its AdminServer, and reads znodes. It creates and changes no znode; the reads
need a session, whose start and end are two transactions (none with --reads 0). It lists what it could not see.`)
	servers := f.String("servers", "", "host:port of the servers, comma separated; no other server is asked")
	reads := f.Int("reads", 10_000, "read the znodes with at most this many requests, spread over --for; 0: open no session")
	within := f.Duration("for", 10*time.Second, "how long to measure the rate of transactions, and the time limit of the reads")
	buffer := f.Int64("jute-maxbuffer", 0, "the servers' jute.maxbuffer in bytes, which servers do not report (default: theirs, 1048575)")
	since := f.String("since", "", "earlier output of --json from which to measure growth")
	adminPort := f.Int("admin-port", 8080, "port of the AdminServers, which are asked if four-letter words are off")
	asJSON := f.Bool("json", false, "write the document, of schema "+results.LimitsSchema)
	var who accessFlags
	who.addConnecting(f)
	if err := alone(f, args); err != nil {
		return err
	}
	if *servers == "" {
		return usagef("limits needs --servers with the addresses of running servers")
	}
	t, err := ensemble.ParseTarget(*servers)
	if err != nil {
		return usageError{err}
	}
	switch {
	case len(t.Addresses) == 0:
		return usagef("limits needs --servers with the addresses of running servers, not %s", t)
	case *reads < 0 || *reads > 1_000_000:
		return usagef("--reads: must be 0 to 1000000, got %d", *reads)
	case *within < time.Second || *within > time.Hour:
		return usagef("--for: must be 1s to 1h, got %v", *within)
	case *buffer < 0:
		return usagef("--jute-maxbuffer: must be a number of bytes, got %d", *buffer)
	case *adminPort < 1 || *adminPort > 65535:
		return usagef("--admin-port: must be 1 to 65535, got %d", *adminPort)
	}
	seen := limits.Seen{MaxBuffer: *buffer}
	if *since != "" {
		if seen.Before, err = readLimits(*since); err != nil {
			return err
		}
	}
	as, err := who.load()
	if err != nil {
		return err
	}
	t.Dial = ensemble.Dialer(as.Dialer())
	probe, err := ensemble.At(t.Addresses, *adminPort, t.Dial)
	if err != nil {
		return usageError{err}
	}
	ctx, cancel := a.interruptible(ctx)
	defer cancel()
	began := time.Now()
	if err := a.seeLimits(ctx, probe, as, &seen, *reads, *within); err != nil {
		return a.interrupted(ctx, unseen(ctx, t, err))
	}
	doc := limits.Of(seen, time.Now().UTC())
	doc.Seconds, doc.Transactions = time.Since(began).Seconds(), 0
	if seen.Tree != nil {
		doc.Reads, doc.Transactions = seen.Tree.Reads, 2
	}
	shown := report.Text(report.Limits(doc), a.look())
	if *asJSON {
		shown = report.JSON(doc)
	}
	return shown(a.stdout)
}

// seeLimits inspects the servers, walks the znodes, and then asks again for the last transaction.
func (a *app) seeLimits(ctx context.Context, probe ensemble.Probe, as *access.Access, seen *limits.Seen, reads int, within time.Duration) error {
	seen.Servers = probe.Inspect(ctx)
	var down []error
	for _, in := range seen.Servers {
		if len(in.Untold) == 5 {
			down = append(down, fmt.Errorf("server %d: %w", in.Server, in.Untold["srvr"]))
		}
	}
	if len(down) == len(seen.Servers) {
		return errors.Join(down...)
	}
	a.dump(ctx, probe, seen)
	var s zk.Session
	if reads > 0 {
		opening, cancel := context.WithTimeout(ctx, cleanTimeout)
		defer cancel()
		var err error
		if s, err = a.setup.OpenAs(opening, a.setup.Engines[0].Name, probe.Addresses(), cleanTimeout, as); err != nil {
			return err
		}
		defer s.Close()
		seen.Own = 1
	}
	end := time.After(within)
	if s != nil {
		tree := limits.Walk(ctx, zk.Prompt(s, cleanTimeout), reads, within)
		tree.Err = access.Explain(tree.Err)
		seen.Tree = &tree
	}
	select {
	case <-end:
	case <-ctx.Done():
		return ctx.Err()
	}
	seen.Later, seen.LaterAt = probe.Zxids(ctx)
	return ctx.Err()
}

// mostDumped is the largest number of ephemeral znodes that a server is asked to list.
const mostDumped = 100_000

// dump asks one server for the sessions' ephemeral znodes. It asks a follower if there is one, because the leader has more to do.
func (a *app) dump(ctx context.Context, probe ensemble.Probe, seen *limits.Seen) {
	at := -1
	for i, in := range seen.Servers {
		if in.Err == nil && (at < 0 || !in.Leads()) {
			at = i
		}
	}
	switch {
	case at < 0:
		seen.DumpErr = errors.New("no server answers mntr")
	case seen.Servers[at].Ephemerals > mostDumped:
		seen.DumpErr = fmt.Errorf("it has %d ephemeral znodes, too many to ask a server to list", seen.Servers[at].Ephemerals)
	default:
		seen.Dumped, seen.DumpErr = probe.Ephemerals(ctx, at)
	}
}

// readLimits reads an earlier output of --json.
func readLimits(path string) (*results.Limits, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, usagef("--since: %w", err)
	}
	var doc results.Limits
	if err := json.Unmarshal(text, &doc); err != nil || doc.Schema != results.LimitsSchema {
		return nil, usagef("--since: %s: not an output of '%s limits --json' (%s)", path, program.Name(), results.LimitsSchema)
	}
	return &doc, nil
}
