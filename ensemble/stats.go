package ensemble

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/zkbench/zkbench/ensemble/internal/host"
)

// Stats is what one server reports about itself. A number that this server does not report is listed in Missing; its zero means nothing:
// old servers lack some, and the fsync time came with 3.6.
type Stats struct {
	From    string // mntr or AdminServer
	Version string
	State   string // leader, follower, observer or standalone

	Outstanding                  int64 // requests waiting for their answer
	Watches                      int64
	Znodes                       int64
	Ephemerals                   int64
	Connections                  int64
	PacketsReceived, PacketsSent int64 // since the server started
	DataSize                     int64 // bytes, approximate
	OpenFiles, MaxFiles          int64

	// Uptime in the current role: it restarts with the process, and with each election, which also resets the packet counts.
	Uptime time.Duration
	// QuorumSize is the number of voting servers of the ensemble; 0 if it is not reported: before 3.6, and by a standalone server.
	QuorumSize int

	// Request latency as seen by the server, since its start, in whole milliseconds.
	MinLatency, AvgLatency, MaxLatency time.Duration
	// Requests and their latencies since the start of the process: the mean of an interval is the difference of the totals divided by
	// the difference of the counts. Each latency is the difference of two readings of a clock in whole milliseconds, so means are
	// unbiased.
	Requests     int64
	RequestTotal time.Duration
	// WatchEvents counts the watches that changes have triggered since the start of the process, once per watcher. Servers report it since 3.6.
	WatchEvents int64
	// Throttled counts the requests that waited because the server had more than it accepts (requestThrottleLimit), since the start of the process. Servers
	// report it since 3.6.
	Throttled int64
	// Syncs of the transaction log since the start of the process. The server truncates the time of each to whole milliseconds, so the mean
	// is between FsyncTotal/Fsyncs and that plus 1 ms.
	Fsyncs     int64
	FsyncTotal time.Duration
	// Flushes of the transaction log since the start of the process: a write of the buffer and a sync. Unlike FsyncTotal, their
	// total adds differences of two readings of a clock in whole milliseconds: a mean over n of them is unbiased, with a standard error of
	// at most 0.5 ms/sqrt(n).
	Flushes    int64
	FlushTotal time.Duration

	Values  map[string]float64 // every number, by its mntr name
	Texts   map[string]string  // values that are not numbers
	Missing []string           // mntr names of the fields above that this server does not report, except QuorumSize
	Usage   *Usage             // usage of the server's process; nil if the server does not run here
}

// Usage is the resource usage of a process.
type Usage struct {
	CPU   time.Duration // user and system time since its start, in steps of 10 ms
	RSS   int64         // bytes
	Start uint64        // clock ticks from boot to the start of the process: it differs between successive processes of a server
	Ended time.Duration // user and system time of the server's processes that have ended; only of those that the ensemble has waited for
}

// ServerStats is one server's answer.
type ServerStats struct {
	Server  int // 1 to N
	Address string
	Asked   time.Time
	At      time.Time // when it answered, or was given up
	Stats
	Err error // nil, or why Stats is empty: ErrUnreachable, ErrNoQuorum, ErrWordsOff
}

// Lacks reports whether the server does not report one of these figures, by mntr name: their fields are then 0 without meaning it.
func (s Stats) Lacks(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(s.Missing, name) })
}

// Leads reports whether a server says that it leads, or is standalone.
func (s Stats) Leads() bool { return s.State == "leader" || s.State == "standalone" }

// askWithin bounds a question to one server, so that a paused one costs a known time.
const askWithin = 2 * time.Second

// within returns askWithin, or more if a connection must be encrypted first, because it then waits behind connecting sessions.
func (d Dialer) within() time.Duration {
	if d != nil {
		return 5 * askWithin
	}
	return askWithin
}

// Probe asks servers what they report about themselves. It caches nothing: every answer is current.
type Probe struct {
	Hosts []string           // host:port of the clients' ports
	Admin func(i int) string // host:port of the AdminServer of a server, counted from 0; nil, or "", if there is none
	Dial  Dialer             // opens the connections for questions
	PID   func(i int) int    // pid of a server's process on this machine, by the same index; nil if none runs here
}

func (p Probe) admin(i int) string {
	if p.Admin == nil {
		return ""
	}
	return p.Admin(i)
}

// Addresses returns the clients' addresses of the servers.
func (p Probe) Addresses() []string { return slices.Clone(p.Hosts) }

// Servers returns the number of servers.
func (p Probe) Servers() int { return len(p.Hosts) }

// Stats asks every server concurrently with mntr, or its AdminServer, and adds the usage of its process. That is read when the server
// has answered, because another one may take longer.
func (p Probe) Stats(ctx context.Context) []ServerStats {
	all := make([]ServerStats, len(p.Hosts))
	p.each(func(i int, address string) {
		all[i] = ServerStats{Server: i + 1, Address: address, Asked: time.Now()}
		all[i].Stats, all[i].Err = p.Dial.askStats(ctx, address, p.admin(i))
		all[i].At = time.Now()
		if all[i].Err != nil || p.PID == nil {
			return
		}
		if all[i].Usage = UsageOf(p.PID(i)); all[i].Usage == nil {
			all[i].Missing = append(all[i].Missing, "usage")
		}
	})
	return all
}

// each calls do for all servers concurrently.
func (p Probe) each(do func(i int, address string)) {
	var wait sync.WaitGroup
	for i, address := range p.Hosts {
		wait.Go(func() { do(i, address) })
	}
	wait.Wait()
}

// ReadUsage returns the usage of the servers' processes, read at once; nil for one that does not run here.
func (p Probe) ReadUsage() []*Usage {
	all := make([]*Usage, len(p.Hosts))
	for i := range all {
		all[i] = UsageOf(p.PID(i))
	}
	return all
}

// UsageOf returns the usage of a process on this machine; nil if it does not run here, or the system does not report it.
func UsageOf(pid int) *Usage {
	cpu, rss, start, err := host.ReadUsage(pid)
	if err != nil {
		return nil
	}
	return &Usage{CPU: cpu, RSS: rss, Start: start}
}

// Leader asks the servers which of them leads. A standalone server is its own leader.
func (p Probe) Leader(ctx context.Context) (int, error) { return leaderOf(p.Stats(ctx)) }

func leaderOf(all []ServerStats) (int, error) {
	var causes []error
	for _, s := range all {
		if s.Err == nil && s.Leads() {
			return s.Server, nil
		}
		if s.Err != nil {
			causes = append(causes, s.Err)
		}
	}
	return 0, fmt.Errorf("no leader: %w%s", ErrNoQuorum, listed(causes))
}

// askStats reads mntr or, if that is disabled, the AdminServer.
func (d Dialer) askStats(ctx context.Context, address, admin string) (Stats, error) {
	ctx, cancel := context.WithTimeout(ctx, d.within())
	defer cancel()
	text, err := d.askWord(ctx, address, "mntr")
	if err == nil {
		stats := typed(parseMntr(text))
		stats.From = "mntr"
		return stats, nil
	}
	if !errors.Is(err, ErrWordsOff) || admin == "" {
		return Stats{}, err
	}
	values, texts, adminErr := askAdmin(ctx, admin, "monitor")
	if adminErr != nil {
		return Stats{}, fmt.Errorf("%w; the AdminServer failed too: %w", err, adminErr)
	}
	stats := typed(mntrNames(values, texts))
	stats.From = "AdminServer"
	return stats, nil
}

// parseMntr parses mntr's lines: a name, a tab, a value. Some values of some versions are not numbers.
func parseMntr(text string) (map[string]float64, map[string]string) {
	values, texts := map[string]float64{}, map[string]string{}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), "\t")
		if !ok {
			continue
		}
		if number, err := strconv.ParseFloat(value, 64); err == nil {
			values[name] = number
		} else {
			texts[name] = value
		}
	}
	return values, texts
}

// typed fills the fields from mntr's names.
func typed(values map[string]float64, texts map[string]string) Stats {
	s := Stats{Values: values, Texts: texts, State: texts["zk_server_state"], Version: PlainVersion(texts["zk_version"])}
	number := func(name string) float64 {
		value, ok := values[name]
		if !ok {
			s.Missing = append(s.Missing, name)
		}
		return value
	}
	count := func(name string) int64 { return int64(number(name)) }
	millis := func(name string) time.Duration { return time.Duration(number(name) * float64(time.Millisecond)) }
	s.Outstanding = count("zk_outstanding_requests")
	s.Watches = count("zk_watch_count")
	s.Znodes = count("zk_znode_count")
	s.Ephemerals = count("zk_ephemerals_count")
	s.Connections = count("zk_num_alive_connections")
	s.PacketsReceived = count("zk_packets_received")
	s.PacketsSent = count("zk_packets_sent")
	s.DataSize = count("zk_approximate_data_size")
	s.OpenFiles = count("zk_open_file_descriptor_count")
	s.MaxFiles = count("zk_max_file_descriptor_count")
	s.MinLatency = millis("zk_min_latency")
	s.AvgLatency = millis("zk_avg_latency")
	s.MaxLatency = millis("zk_max_latency")
	s.Uptime = millis("zk_uptime")
	s.QuorumSize = int(values["zk_quorum_size"])
	for _, change := range []string{"node_created", "node_deleted", "node_changed", "node_children"} {
		s.WatchEvents += count("zk_sum_" + change + "_watch_count")
	}
	s.Requests = count("zk_cnt_readlatency") + count("zk_cnt_updatelatency")
	s.RequestTotal = millis("zk_sum_readlatency") + millis("zk_sum_updatelatency")
	s.Throttled = count("zk_request_throttle_wait_count")
	s.Fsyncs = count("zk_cnt_fsynctime")
	s.FsyncTotal = millis("zk_sum_fsynctime")
	s.Flushes = count("zk_cnt_sync_processor_queue_flush_time_ms")
	s.FlushTotal = millis("zk_sum_sync_processor_queue_flush_time_ms")
	return s
}

// listed appends causes to a message.
func listed(causes []error) string {
	if len(causes) == 0 {
		return ""
	}
	return " (" + strings.ReplaceAll(errors.Join(causes...).Error(), "\n", "; ") + ")"
}
