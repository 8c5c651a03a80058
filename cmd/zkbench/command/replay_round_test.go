package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/local"
	"github.com/zkbench/zkbench/ensemble/proxy"
	"github.com/zkbench/zkbench/internal/tier"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/lock"
	"github.com/zkbench/zkbench/recipes/queue"
	"github.com/zkbench/zkbench/traffic"
	recorder "github.com/zkbench/zkbench/traffic/record"
	"github.com/zkbench/zkbench/traffic/trace"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/wire"
)

// What the replay of a trace leaves in the files of its servers is what the trace was made of: kinds, sizes, failures, multis, reads, sessions, expiries and recipes.
func TestTheRoundTripOfATrace(t *testing.T) {
	t.Parallel()
	roundTrip(t, ensembletest.Versions()[1], 3, false)
}

func TestRoundTripsOfVersions(t *testing.T) {
	tier.Long(t, "starts two servers of each version, with more load, and a recording besides; relative: TestTheRoundTripOfATrace")
	for _, version := range ensembletest.Versions() {
		for _, recorded := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, recorded: %v", version, recorded), func(t *testing.T) {
				t.Parallel()
				roundTrip(t, version, 10, recorded)
			})
		}
	}
}

// roundTrip puts a load on a server, makes a trace of it, and compares what its replay leaves in the files of another one.
func roundTrip(t *testing.T, version string, rounds int, recorded bool) {
	start := func() (address, data string) {
		dir := filepath.Join(t.TempDir(), "servers")
		e := ensembletest.Start(t, 1, ensembletest.OfVersion(t, version), func(c *local.Config) { c.Dir, c.Tick = dir, 500*time.Millisecond })
		return e.Addresses()[0], filepath.Join(dir, "server-1", "data")
	}
	address, data := start()
	file := filepath.Join(t.TempDir(), "recorded.trace")
	from := time.Now().Truncate(time.Millisecond).Add(2 * time.Millisecond) // the servers' files have milliseconds
	time.Sleep(time.Until(from))
	if recorded {
		recordedLoad(t, address, file, rounds)
	} else {
		someTraffic(t, address, rounds, func() {})
	}
	to := time.Now().Add(time.Millisecond)
	first := analyzed(t, data, from, to)
	if !recorded {
		zkbench(t, "trace", data, "--names", "--from", from.Format(time.RFC3339Nano), "--to", to.Format(time.RFC3339Nano), "--out", file).want(exitOK)
	}

	address, data = start()
	out := filepath.Join(t.TempDir(), "result")
	o := zkbench(t, "replay", file, "--servers", address, "--out", out)
	cell, f := fidelityOf(t, out)
	if !f.Faithful() && !recorded { // recorded reads of other contenders may come before or after their release
		o.want(exitUnknown, "sent more than 1 s late") // the machine was too slow, but nothing else differs
	}
	if f.Unsent+f.Unmapped != 0 || !recorded && len(f.Differ) != 0 || f.Vanished != 1 {
		t.Errorf("fidelity %+v", f)
	}
	b := besideReplay(t, data, cell.Started)
	left := int64(0)
	for _, n := range f.LeftOut { // watches that clients removed: not in the files, as reads are not
		left += int64(n)
	}
	compareTraffic(t, first, analyzed(t, data, cell.Started, b.end), b, int64(cell.Sessions), left)
	wantEmpty(t, address)
}

func analyzed(t *testing.T, data string, from, to time.Time) *traffic.Report {
	t.Helper()
	r, err := traffic.Analyze(t.Context(), []string{data}, traffic.Options{Names: true, From: from, To: to})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Coverage.Problems) > 0 || r.Reads.Restarted > 0 {
		t.Errorf("%+v, %+v", r.Coverage, r.Reads)
	}
	return r
}

// recordedLoad is someTraffic through a proxy that records it.
func recordedLoad(t *testing.T, address, file string, rounds int) {
	t.Helper()
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := recorder.New(f, recorder.Config{Maker: "test", Names: true})
	if err != nil {
		t.Fatal(err)
	}
	p, err := proxy.Start(t.Context(), proxy.Config{Upstreams: []string{address}, Tap: r})
	if err != nil {
		t.Fatal(err)
	}
	someTraffic(t, p.Addresses()[0], rounds, func() { // the recorder may tell an expiry later than the servers
		for r.Counts().Expired == 0 {
			time.Sleep(10 * time.Millisecond)
		}
	})
	if err := errors.Join(p.Close(), r.Close()); err != nil {
		t.Fatal(err)
	}
}

// someTraffic has something of everything that files of servers tell: each kind of write, each failure that they name, multis, a lock, a queue, and a session that expires, which it notices after expired.
func someTraffic(t *testing.T, address string, rounds int, expired func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	dial := func(timeout time.Duration) zk.Session {
		s, err := wire.Dial(ctx, wire.Config{Servers: []string{address}, Timeout: timeout})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	must := func(err error, may ...error) {
		t.Helper()
		if err != nil && !slices.ContainsFunc(may, func(e error) bool { return errors.Is(err, e) }) {
			t.Error(err)
		}
	}
	lost := dial(4 * time.Second)
	defer lost.Close()
	_, err := lost.Create(ctx, "/leader", make([]byte, 11), zk.Ephemeral)
	must(err)
	for _, dir := range []string{"/locks", "/locks/one"} { // not by the contenders: of answers at the same time, a recording may have the wrong order
		_, err := lost.Create(ctx, dir, nil, zk.Persistent)
		must(err)
	}
	k, _ := zk.AsKiller(lost)
	k.Crash()

	var all sync.WaitGroup
	for n := range 3 {
		s := dial(10 * time.Second)
		all.Go(func() {
			defer s.Close()
			base := fmt.Sprintf("/tenant-%d", n)
			_, err := s.Create(ctx, base, nil, zk.Persistent)
			must(err)
			l := lock.NewPredecessor(s, "/locks/one", recipes.Options{})
			for i := range rounds {
				p := fmt.Sprintf("%s/x-%d", base, i)
				_, err := s.Create(ctx, p, make([]byte, 100), zk.Persistent)
				must(err)
				_, err = s.Create(ctx, base+"/mine", make([]byte, 5000+i), zk.Ephemeral)
				must(err)
				_, err = s.Set(ctx, p, make([]byte, 700*i), 0)
				must(err)
				_, err = s.Set(ctx, p, nil, 7)
				must(err, zk.ErrBadVersion)
				_, _, err = s.Get(ctx, p)
				must(err)
				must(s.Sync(ctx, p))
				_, err = s.Create(ctx, p, nil, zk.Persistent)
				must(err, zk.ErrNodeExists)
				must(s.Delete(ctx, base, zk.AnyVersion), zk.ErrNotEmpty)
				must(s.Delete(ctx, base+"/none", zk.AnyVersion), zk.ErrNoNode)
				_, err = s.Multi(ctx, zk.CheckOp(p, 1), zk.SetOp(p, make([]byte, 900), zk.AnyVersion), zk.DeleteOp(base+"/mine", zk.AnyVersion), zk.CreateOp(base+"/seq-", make([]byte, 40), zk.PersistentSequential))
				must(err)
				_, err = s.Multi(ctx, zk.CheckOp(p, zk.AnyVersion), zk.DeleteOp(base+"/none", zk.AnyVersion), zk.DeleteOp(p, zk.AnyVersion))
				must(err, zk.ErrNoNode)
				_, err = l.Acquire(ctx)
				must(err)
				time.Sleep(20 * time.Millisecond)
				must(l.Release(ctx))
			}
		})
	}
	all.Wait()

	producer, consumer := dial(10*time.Second), dial(10*time.Second)
	fifo, _ := recipes.Find(queue.Variants(), "fifo")
	in, out := fifo.New(producer, "/jobs", recipes.Options{}), fifo.New(consumer, "/jobs", recipes.Options{})
	for i := range 3 * rounds {
		_, err := in.Put(ctx, recipes.Item{Data: make([]byte, 60+i)})
		must(err)
	}
	for range 2 * rounds {
		_, err := out.Take(ctx)
		must(err)
	}
	expired()
	for { // until the lost session's znode is gone
		_, there, watch, err := producer.ExistsW(ctx, "/leader")
		if err != nil {
			t.Fatal(err)
		}
		if !there {
			watch.Stop()
			break
		}
		<-watch.C()
	}
	_, err = producer.Create(ctx, "/leader", make([]byte, 12), zk.Ephemeral)
	must(err)
	must(consumer.Close())
	time.Sleep(2 * time.Second) // the servers that see a replay may expire the session a tick later
	must(producer.Close())
}

// beside is what a run does beside its replay.
type beside struct {
	end             time.Time // when it begins to remove its root
	sessions, reads int64     // opened and closed during the load without any write: to look after the servers
}

// besideReplay finds in the files of a server what a run did beside its replay since a time. Each recorded session writes.
func besideReplay(t *testing.T, data string, started time.Time) beside {
	t.Helper()
	file := filepath.Join(t.TempDir(), "left.trace")
	zkbench(t, "trace", data, "--names", "--from", started.Format(time.RFC3339Nano), "--out", file).want(exitOK)
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := trace.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var b beside
	wrote, opened := map[int]time.Duration{}, map[int]bool{}
	removes := func(e trace.Event) bool { return e.Op == trace.Delete && filepath.Base(e.Path) == "round-0" }
	for {
		e, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		first, writes := wrote[e.Session]
		switch {
		case e.Kind == trace.Open:
			opened[e.Session] = true
		case e.Kind == trace.Request && !writes:
			first = e.At
			wrote[e.Session] = first
		case e.Kind == trace.Close && !writes && opened[e.Session]:
			b.sessions, b.reads = b.sessions+1, b.reads+int64(e.Reads)
		}
		if removes(*e) || slices.ContainsFunc(e.Ops, removes) {
			b.end = r.Header().Start.Add(first)
			return b
		}
	}
}

// compareTraffic compares the report of what was recorded with that of its replay by a number of clients, each of which was connected once before the load. Of the requests that are no writes, some were left out.
func compareTraffic(t *testing.T, first, second *traffic.Report, b beside, clients, left int64) {
	t.Helper()
	type kind struct {
		count, inMulti, sizes, bytes, least, most int64
	}
	mix := func(r *traffic.Report) map[string]kind {
		all := map[string]kind{}
		for _, m := range r.Mix {
			name, bytes := m.Kind, int64(m.Data.Mean*float64(m.Data.Count)+0.5)
			if name == "createContainer" { // a replay creates plain ones, with the same data: none
				name = "create"
			}
			k := all[name]
			all[name] = kind{k.count + m.Count, k.inMulti + m.InMulti, k.sizes + m.Data.Count, k.bytes + bytes, min(k.least, m.Data.Min), max(k.most, m.Data.Max)}
		}
		return all
	}
	want, got := mix(first), mix(second)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the mix is %+v, recorded %+v", got, want)
	}
	if !reflect.DeepEqual(first.Failed, second.Failed) || !reflect.DeepEqual(first.Multis, second.Multis) {
		t.Errorf("failures %+v, multis %+v; recorded %+v, %+v", second.Failed, second.Multis, first.Failed, first.Multis)
	}
	x, y := first.Sessions, second.Sessions
	// The two requests that need the expiry, a read and a create, are preceded by reads, and the removal of their watches, which tell of it.
	if got, want := second.Reads.Count-b.reads, first.Reads.Count; got < want-left || got > want+5*x.Expired {
		t.Errorf("%d reads, recorded %d", got, want)
	}
	timeouts := func(r *traffic.Report) (ms []int64) {
		for _, one := range r.Sessions.Timeouts {
			ms = append(ms, one.MS)
		}
		return ms
	}
	if x.Opened != y.Opened-b.sessions || x.Closed+clients != y.Closed-b.sessions || x.Expired != y.Expired || x.Writing != y.Writing || !slices.Equal(timeouts(first), timeouts(second)) {
		t.Errorf("sessions %+v, recorded %+v, by %d clients; beside it %+v", y, x, clients, b)
	}
	type recipe struct {
		kind                                           string
		objects, expired, sessions, puts, takes, depth int64
		bytes                                          float64
	}
	found := func(r *traffic.Report) (all []recipe, grants int64) { // contenders that come within the same time may be granted a lock in another order, or none where they held it
		for _, c := range r.Recipes {
			all = append(all, recipe{c.Kind, c.Objects, c.Expired, c.Sessions, c.Puts, c.Takes, c.Depth, c.Bytes.Mean})
			if c.Kind == traffic.Lock {
				grants += c.Grants
			}
		}
		slices.SortFunc(all, func(a, b recipe) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		return all, grants
	}
	got1, granted1 := found(first)
	got2, granted2 := found(second)
	if !slices.Equal(got1, got2) || granted1 == 0 || granted2 == 0 || granted2 > granted1 {
		t.Errorf("recipes %+v with %d grants, recorded %+v with %d", got2, granted2, got1, granted1)
	}
}
