//go:build !race

package traffic

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"hash/adler32"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/internal/tier"
	"github.com/zkbench/zkbench/traffic/zklog"
)

// A snapshot of 10 million znodes is read and written in memory that does not depend on it.
func TestTraceOfALargeSnapshot(t *testing.T) {
	tier.Long(t, "10 million znodes; TestTracePrefills")
	const znodes, most = 10_000_000, 256 << 20
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "snapshot.0.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	pack, err := gzip.NewWriterLevel(f, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	sum := adler32.New()
	out := bufio.NewWriterSize(io.MultiWriter(pack, sum), 1<<20)
	b := jute.AppendInt32(jute.AppendInt64(jute.AppendInt32([]byte("ZKSN"), 2), -1), 0) // no sessions
	out.Write(append(jute.AppendInt64(jute.AppendInt32(b, 1), 1), jute.World...))
	for i := range znodes {
		b = append(jute.AppendString(b[:0], fmt.Sprintf("/directory-%d/znode-%d", i/1000, i)), 0, 0, 0, 3, 'x', 'y', 'z')
		out.Write(append(b, make([]byte, 8+4*8+3*4+2*8)...))
	}
	out.Write(text("/"))
	if err := out.Flush(); err != nil {
		t.Fatal(err)
	}
	_, err = pack.Write(append(jute.AppendInt64(nil, int64(sum.Sum32())), text("/")...))
	if err := errors.Join(err, pack.Close()); err != nil {
		t.Fatal(err)
	}
	s := newScript()
	s.open(1)
	s.delete(1, "/directory-0/znode-0")
	s.save(t, dir, 1)
	defer debug.SetGCPercent(debug.SetGCPercent(30))
	peak, stop, watched := uint64(0), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		for tick := time.NewTicker(50 * time.Millisecond); ; {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapAlloc)
			select {
			case <-tick.C:
			case <-stop:
				return
			}
		}
	}()
	result, err := Trace(t.Context(), []string{dir}, TraceOptions{Salt: "salt"}, io.Discard)
	close(stop)
	<-watched
	if err != nil || len(result.Problems) > 0 || result.Prefilled != znodes || result.Requests != 1 {
		t.Errorf("%+v, %v", result, err)
	}
	t.Logf("%d MiB at most", peak>>20)
	if peak > most {
		t.Errorf("%d bytes in use, want at most %d", peak, most)
	}
}

// However much there is, memory has a bound, and what was left out is said.
func TestMemoryHasABound(t *testing.T) {
	tier.Long(t, "reads 1 GB of log; relative: TestALock and zklog's TestALengthAloneAllocatesNothing")
	dir := t.TempDir()
	s, size := newScript(), int64(0)
	s.zxid = 0
	first := s.zxid + 1
	for id := int64(1); size < 1<<30; id++ {
		s.open(id)
		for i := range 40 {
			p := s.create(id, fmt.Sprintf("/app/tenant-%d/locks/lock-", id%5000), 100, true, true)
			s.create(id, fmt.Sprintf("/app/queue-%d/item-", id%100), 300, false, true) // taken by nobody
			s.write(id, 2, zklog.OpSetData, text(fmt.Sprintf("/app/state/%d", i)), data(200), number(1))
			s.delete(id, p)
			s.at++
		}
		if len(s.b) > 32<<20 {
			s.save(t, dir, first)
			size += int64(len(s.b))
			s.b, first = newScript().b, s.zxid+1
		}
	}
	s.b = nil
	runtime.GC()
	most := uint64(0)
	done, sampled := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(sampled)
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapAlloc)
			select {
			case <-done:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	began := time.Now()
	r, err := Analyze(t.Context(), []string{dir}, Options{})
	took := time.Since(began)
	close(done)
	<-sampled
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes, %d transactions in %v, heap at most %d MiB", size, r.Coverage.Transactions, took, most>>20)
	if most > 256<<20 {
		t.Errorf("a heap of %d MiB", most>>20)
	}
	if !slices.ContainsFunc(r.Unknown, func(s string) bool { return strings.Contains(s, "not followed") }) {
		t.Errorf("nothing is said of what was left out: %q", r.Unknown)
	}
}
