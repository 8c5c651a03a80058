package traffic

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/local"
	"github.com/zkbench/zkbench/internal/tier"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/lock"
	"github.com/zkbench/zkbench/recipes/queue"
	"github.com/zkbench/zkbench/traffic/zklog"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/wire"
)

// sent is what a known load sent, counted where it was sent.
type sent struct {
	cfg                     wire.Config
	opened, closed, expired int64
	creates, sets, deletes  int64
	multis, failed          int64
	reads                   atomic.Int64 // and all else that is not in the files
	grants                  int64
	held, first, last       time.Duration // the sum of what holders held; since the start: the first grant and the last release
	puts, takes             int64
	before, after           time.Time
}

// The report of a server's files is what was sent, for each version, and also from files that are not whole.
func TestTheReportIsWhatWasSent(t *testing.T) {
	tier.Long(t, "half a minute of load on a real server of each version; relatives: zklog's TestARealServersFiles, and the scripts of TestALock and TestSessionsAndReads")
	for _, version := range ensembletest.Versions() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			ensembletest.NeedVersion(t, version)
			reportOf(t, version)
		})
	}
}

func reportOf(t *testing.T, version string) {
	dir := filepath.Join(t.TempDir(), "ensemble")
	e, err := local.Start(t.Context(), local.Config{Servers: 1, Dir: dir, ZooKeeper: version, Heap: "192m", Tick: 500 * time.Millisecond, NoFsync: true, Extra: map[string]string{"snapCount": "80"},
		JavaArgs: []string{"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Dzookeeper.snapshot.compression.method=gz"}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	w := &sent{cfg: wire.Config{Servers: e.Addresses(), Timeout: 3 * time.Second, Before35: !zk.PowersOf(version).Has(zk.PowerCreate2)}, before: time.Now()}
	w.requests(t, ctx)
	w.lock(t, ctx)
	w.queue(t, ctx)
	w.expiry(t, ctx)
	w.after = time.Now()
	if err := e.Stop(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "server-1", "data")
	r, err := Analyze(t.Context(), []string{data}, Options{Names: true, From: w.before.Truncate(time.Millisecond)})
	if err != nil {
		t.Fatal(err)
	}
	w.check(t, r)
	w.damaged(t, data, r)
}

// dial opens a session whose reads are counted.
func (w *sent) dial(t *testing.T, ctx context.Context) zk.Session {
	t.Helper()
	s, err := wire.Dial(ctx, w.cfg)
	if err != nil {
		t.Fatal(err)
	}
	return zk.Observe(s, &zk.Trace{Sent: func(k zk.Kind, _ time.Time) {
		switch k {
		case zk.KindGet, zk.KindExists, zk.KindChildren, zk.KindSync, zk.KindRemoveWatches:
			w.reads.Add(1)
		}
	}})
}

// requests sends known numbers of each kind, in several sessions at once.
func (w *sent) requests(t *testing.T, ctx context.Context) {
	var all sync.WaitGroup
	must := func(err error, may ...error) {
		if err != nil && !slices.ContainsFunc(may, func(e error) bool { return errors.Is(err, e) }) {
			t.Error(err)
		}
	}
	const sessions, rounds = 4, 15
	for n := range sessions {
		s := w.dial(t, ctx)
		all.Go(func() {
			defer s.Close()
			base := fmt.Sprintf("/tenant-%d", n)
			_, err := s.Create(ctx, base, nil, zk.Persistent)
			must(err)
			for i := range rounds {
				p := fmt.Sprintf("%s/x-%d", base, i)
				_, err := s.Create(ctx, p, make([]byte, 100), zk.Persistent)
				must(err)
				for range 3 {
					_, _, err = s.Get(ctx, p)
					must(err)
				}
				_, err = s.Set(ctx, p, make([]byte, 10*i), zk.AnyVersion)
				must(err)
				_, _, err = s.Children(ctx, base)
				must(err)
				_, err = s.Create(ctx, p, nil, zk.Persistent)
				must(err, zk.ErrNodeExists)
				_, err = s.Multi(ctx, zk.SetOp(p, make([]byte, 50), zk.AnyVersion), zk.DeleteOp(p, zk.AnyVersion))
				must(err)
				_, _, err = s.Exists(ctx, p)
				must(err)
			}
			must(s.Delete(ctx, base, zk.AnyVersion))
		})
	}
	all.Wait()
	w.opened, w.closed = w.opened+sessions, w.closed+sessions
	w.creates += sessions * (1 + rounds)
	w.sets += sessions * rounds
	w.failed += sessions * rounds
	w.multis += sessions * rounds
	w.deletes += sessions
}

// lock has four contenders for one lock, with known holds.
func (w *sent) lock(t *testing.T, ctx context.Context) {
	const sessions, rounds, hold = 4, 10, 40 * time.Millisecond
	var mu sync.Mutex
	var all sync.WaitGroup
	began := time.Now()
	for range sessions {
		s := w.dial(t, ctx)
		all.Go(func() {
			defer s.Close()
			l := lock.NewPredecessor(s, "/locks/one", recipes.Options{})
			for range rounds {
				if _, err := l.Acquire(ctx); err != nil {
					t.Error(err)
					return
				}
				got := time.Since(began)
				time.Sleep(hold)
				mu.Lock()
				w.held += time.Since(began) - got
				w.grants++
				if w.first == 0 {
					w.first = got
				}
				mu.Unlock()
				if err := l.Release(ctx); err != nil {
					t.Error(err)
				}
				mu.Lock()
				w.last = time.Since(began)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	w.opened, w.closed = w.opened+sessions, w.closed+sessions
}

// queue puts 30 items and takes 20 of them.
func (w *sent) queue(t *testing.T, ctx context.Context) {
	producer, consumer := w.dial(t, ctx), w.dial(t, ctx)
	defer producer.Close()
	defer consumer.Close()
	p, c := newQueue(producer), newQueue(consumer)
	for range 30 {
		if _, err := p.Put(ctx, recipes.Item{Data: make([]byte, 77)}); err != nil {
			t.Fatal(err)
		}
		w.puts++
	}
	for range 20 {
		if _, err := c.Take(ctx); err != nil {
			t.Fatal(err)
		}
		w.takes++
	}
	w.opened, w.closed = w.opened+2, w.closed+2
}

func newQueue(s zk.Session) recipes.Queue {
	for _, v := range queue.Variants() {
		if v.Name == "fifo" {
			return v.New(s, "/jobs", recipes.Options{})
		}
	}
	panic("no such queue")
}

// expiry leaves sessions to be ended by the servers.
func (w *sent) expiry(t *testing.T, ctx context.Context) {
	for i := range 2 {
		s := w.dial(t, ctx)
		if _, err := s.Create(ctx, fmt.Sprintf("/host-%d", i), nil, zk.Ephemeral); err != nil {
			t.Fatal(err)
		}
		k, ok := zk.AsKiller(s)
		if !ok {
			t.Fatal("the client cannot crash")
		}
		k.Crash()
		defer s.Close()
	}
	watcher := w.dial(t, ctx)
	for i := 0; i < 2; {
		_, there, watch, err := watcher.ExistsW(ctx, fmt.Sprintf("/host-%d", i))
		if err != nil {
			t.Fatal(err)
		}
		if !there {
			watch.Stop()
			i++
			continue
		}
		select {
		case <-watch.C():
		case <-ctx.Done():
			t.Fatal("a session whose client is gone does not expire")
		}
	}
	watcher.Close()
	w.opened, w.closed, w.expired = w.opened+3, w.closed+1, w.expired+2
}

// check compares a report with what was sent.
func (w *sent) check(t *testing.T, r *Report) {
	t.Helper()
	if c := r.Coverage; len(c.Problems) > 0 || c.Missing > 0 || c.Snapshot == "" {
		t.Errorf("coverage %+v", c)
	}
	// A handshake whose answer comes too late leaves a session that the client does not know, and that expires.
	if v, late := r.Sessions, r.Sessions.Opened-w.opened; v.Closed != w.closed || late < 0 || v.Expired != w.expired+late || len(v.Timeouts) == 0 || v.Timeouts[0].MS != 3000 {
		t.Errorf("sessions %+v, want %d opened, %d closed, %d expired", v, w.opened, w.closed, w.expired)
	}
	count := func(kind string) (n, inMulti int64) {
		for _, k := range r.Mix {
			if k.Kind == kind {
				return k.Count, k.InMulti
			}
		}
		return 0, 0
	}
	for kind, want := range map[string]int64{"setData": w.sets, "multi": w.multis, "create ephemeral": 2} {
		if got, _ := count(kind); got != want {
			t.Errorf("%d of %s, want %d", got, kind, want)
		}
	}
	if _, n := count("delete"); n < w.multis {
		t.Errorf("%d deletes in multis, want at least %d", n, w.multis)
	}
	failures := int64(0)
	for _, f := range r.Failed {
		if f.Name == "NodeExists" {
			failures = f.Count
		}
	}
	if failures < w.failed || failures > w.failed+10 { // contenders that create the directories at once
		t.Errorf("%d creates failed, want %d", failures, w.failed)
	}
	if r.From.Before(w.before.Add(-time.Millisecond)) || r.To.After(w.after.Add(time.Millisecond)) {
		t.Errorf("%v to %v, sent %v to %v", r.From, r.To, w.before, w.after)
	}
	var l, q Recipe
	for _, c := range r.Recipes {
		switch {
		case c.Kind == Lock && c.Pattern == "/locks/one":
			l = c
		case c.Kind == Queue:
			q = c
		}
	}
	if l.Grants != w.grants || l.Most != 4 || l.Sessions != 4 {
		t.Errorf("the lock is %+v, want %d grants and 4 contenders: %+v", l, w.grants, r.Recipes)
	}
	// The servers saw a hold start earlier than its holder did, and end later, but never two at a time.
	held, span := l.HoldMS.Mean*float64(l.HoldMS.Count), (w.last-0).Seconds()*1000
	if held < w.held.Seconds()*1000-float64(w.grants) || held > span+float64(w.grants) {
		t.Errorf("held for %v ms, want at least %v and at most %v", held, w.held, w.last)
	}
	if q.Puts != w.puts || q.Takes != w.takes || q.Depth != w.puts-w.takes || q.Bytes.Count != w.puts {
		t.Errorf("the queue is %+v, want %d puts and %d takes", q, w.puts, w.takes)
	}
	if n := w.reads.Load(); r.Reads.Restarted != 0 || r.Reads.Count != n {
		t.Errorf("reads %+v, want %d", r.Reads, n)
	}
}

// damaged copies the files without their ends or middles, and reads what is left.
func (w *sent) damaged(t *testing.T, data string, whole *Report) {
	t.Helper()
	files, err := zklog.Find(data)
	if err != nil || len(files.Logs) < 3 {
		t.Fatalf("%d logs, %v, want at least 3", len(files.Logs), err)
	}
	dir := t.TempDir()
	transactions := whole.Coverage.Transactions
	for i, f := range files.Logs {
		b, err := os.ReadFile(f.Path)
		if err != nil {
			t.Fatal(err)
		}
		if i == len(files.Logs)-1 {
			end := len(b)
			for end > 0 && b[end-1] == 0 { // preallocated
				end--
			}
			b = append(b[:end-5:end-5], make([]byte, 1000)...)
		}
		if i == 1 {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(f.Path)), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r, err := Analyze(t.Context(), []string{dir}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := r.Coverage
	if c.Gaps != 1 || c.Missing == 0 || c.Transactions != transactions-c.Missing-1 || len(c.Problems) != 2 || r.Tree != nil {
		t.Errorf("without a file and the last end: %+v, want a gap, a torn transaction, and %d transactions besides", c, transactions)
	}
}
