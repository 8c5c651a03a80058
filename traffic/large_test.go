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
	"testing"
	"time"

	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/internal/tier"
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
	pack, sum := gzip.NewWriter(f), adler32.New()
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
