package bench

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/zkbench/zkbench/ensemble"
)

// serverSeries is the servers' figures over a cell: the latest, and what the steady phase amounts to.
type serverSeries struct {
	mu          sync.Mutex
	latest      []ensemble.ServerStats
	first, last map[string]told // of the steady phase, by address
	outstanding float64         // the highest of any server
	watches     float64         // the highest of all servers together
	silent      map[string]error
}

// told is what a server said, and when.
type told struct {
	at time.Time
	ensemble.ServerStats
}

// serves reports whether at least one server answers that it serves.
func serves(all []ensemble.ServerStats) bool {
	return slices.ContainsFunc(all, func(st ensemble.ServerStats) bool {
		return st.Err == nil || errors.Is(st.Err, ensemble.ErrWordsOff)
	})
}

func (s *serverSeries) add(at time.Time, all []ensemble.ServerStats, steady bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first == nil {
		s.first, s.last, s.silent = map[string]told{}, map[string]told{}, map[string]error{}
	}
	s.latest = all
	watches := 0.0
	for _, st := range all {
		if st.Err != nil {
			s.silent[st.Address] = st.Err
			continue
		}
		if !steady {
			continue
		}
		first, ok := s.first[st.Address]
		switch last := s.last[st.Address]; {
		case !ok:
			s.first[st.Address] = told{at, st}
		case st.PacketsReceived < last.PacketsReceived: // started anew
			s.first[st.Address] = told{first.at, since(first.ServerStats, last.ServerStats)}
		}
		s.last[st.Address] = told{at, st}
		s.outstanding = max(s.outstanding, float64(st.Outstanding))
		watches += float64(st.Watches)
	}
	s.watches = max(s.watches, watches)
}

// since is what a server that was started anew, and counts from zero, has to be compared with, so that the difference has what it counted
// before its end too: what it had told last is lost since.
func since(first, last ensemble.ServerStats) ensemble.ServerStats {
	first.PacketsReceived -= last.PacketsReceived
	first.PacketsSent -= last.PacketsSent
	first.Fsyncs -= last.Fsyncs
	first.FsyncTotal -= last.FsyncTotal
	if first.Usage != nil && last.Usage != nil {
		usage := *first.Usage
		usage.CPU -= last.Usage.CPU
		first.Usage = &usage
	}
	return first
}

// missing says which servers' figures are not in the result: a missing source is said, never zero.
func (s *serverSeries) missing() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var notes []string
	for address, err := range s.silent {
		notes = append(notes, fmt.Sprintf("server %s did not tell its figures at some time: %v", address, err))
	}
	slices.Sort(notes)
	return notes
}

// now is the latest figures, by address.
func (s *serverSeries) now() map[string]map[string]float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]map[string]float64{}
	for _, st := range s.latest {
		if st.Err == nil {
			out[st.Address] = figures(st)
		}
	}
	return out
}

func figures(st ensemble.ServerStats) map[string]float64 {
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	f := map[string]float64{
		"outstanding": float64(st.Outstanding), "watches": float64(st.Watches), "znodes": float64(st.Znodes),
		"ephemerals": float64(st.Ephemerals), "connections": float64(st.Connections), "leader": 0,
		"packets_received": float64(st.PacketsReceived), "packets_sent": float64(st.PacketsSent),
		"latency_avg_ms": ms(st.AvgLatency), "latency_max_ms": ms(st.MaxLatency), "fsync_avg_ms": ms(st.FsyncAvg), "fsync_max_ms": ms(st.FsyncMax),
	}
	if st.State == "leader" || st.State == "standalone" {
		f["leader"] = 1
	}
	if st.Usage != nil {
		f["cpu_s"], f["rss_mib"] = st.Usage.CPU.Seconds(), float64(st.Usage.RSS)/(1<<20)
	}
	return f
}

// summary is the figures of the steady phase: totals over the servers of what grew in seconds, the time between the first and the
// last answer, and the highest of what goes up and down. It is nil when no server told.
func (s *serverSeries) summary() map[string]float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.last) == 0 {
		return nil
	}
	out := map[string]float64{"outstanding_max": s.outstanding, "watches_max": s.watches}
	var syncs, syncTime, cpu float64
	for address, b := range s.last {
		a := s.first[address]
		out["seconds"] = max(out["seconds"], b.at.Sub(a.at).Seconds())
		out["packets_received"] += float64(b.PacketsReceived - a.PacketsReceived)
		out["packets_sent"] += float64(b.PacketsSent - a.PacketsSent)
		syncs += float64(b.Fsyncs - a.Fsyncs)
		syncTime += float64(b.FsyncTotal-a.FsyncTotal) / float64(time.Millisecond)
		if a.Usage != nil && b.Usage != nil {
			cpu += (b.Usage.CPU - a.Usage.CPU).Seconds()
		}
	}
	if syncs > 0 {
		out["fsync_mean_ms"] = syncTime / syncs
	}
	if cpu > 0 {
		out["cpu_s"] = cpu
	}
	return out
}
