package command

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/internal/program"
	"github.com/zkbench/zkbench/traffic"
)

func (a *app) trace(ctx context.Context, args []string) error {
	f := a.flags("trace DIR [DIR] --out TRACE", `Writes a trace of what clients wrote to an ensemble, and of the znodes and sessions that were there before, from the transaction logs and snapshots of one
of its servers (dataDir and, if it is another one, dataLogDir, or copies of them). It only reads, needs no server, and keeps no data of znodes, only sizes. Of reads and of
writes that failed the files have no more than how many there were: 'record' records all.`)
	out := f.String("out", "", "write the trace to `FILE`, which must not exist")
	from := f.String("from", "", "only transactions from this `TIME` on, such as 2026-11-24T08:00:00Z; what was there then comes from the snapshot and the logs before")
	to := f.String("to", "", "only transactions before this `TIME`")
	names := f.Bool("names", false, "keep the names of znodes; by default hashes with a salt of this trace stand for them")
	if err := parse(f, args); err != nil {
		return err
	}
	o := traffic.TraceOptions{Names: *names, Salt: rand.Text(), Maker: maker("trace")}
	var err error
	switch {
	case f.NArg() == 0:
		return usagef("trace takes the dataDir of a server, and its dataLogDir")
	case *out == "":
		return usagef("--out: missing (name the file to write the trace to)")
	}
	if o.From, o.To, err = window(*from, *to); err != nil {
		return err
	}
	defer debug.SetGCPercent(debug.SetGCPercent(trafficGC))
	ctx, cancel := a.interruptible(ctx)
	defer cancel()
	file, err := newTrace(*out)
	if err != nil {
		return err
	}
	done, err := traffic.Trace(ctx, f.Args(), o, file)
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(a.interrupted(ctx, err), os.Remove(*out))
	}
	fmt.Fprintf(a.stdout, "wrote %s: %s of %s in %s, %d of which failed, %s between them, and %s from before %s\n", *out, phrase.Count(done.Requests, "write"), phrase.Count(done.Sessions, "session"),
		phrase.Rough(done.Length), done.Failed, phrase.Count(done.Reads, "read"), phrase.Count(done.Prefilled, "znode"), done.Start.Format("2006-01-02T15:04:05.000Z07:00"))
	for _, p := range done.Problems {
		fmt.Fprintln(a.stderr, "problem:", p)
	}
	for _, u := range done.Unknown {
		fmt.Fprintln(a.stderr, "not in the trace:", u)
	}
	return nil
}

// maker is the Maker of the traces that a verb writes.
func maker(verb string) string { return program.Name() + " " + verb + " " + versionText() }

// newTrace creates the file of a trace. It never replaces one: a recording cannot be made again, and the name may be that of a server's file.
func newTrace(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("%s: exists (remove it, or name another file)", path)
	}
	return f, err
}
