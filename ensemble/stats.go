package ensemble

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Stats is what one server said of itself. A number that this server does not report is in Missing and not a zero to trust:
// old servers lack some, and the fsync time came with 3.6.
type Stats struct {
	From    string // mntr or AdminServer
	Version string
	State   string // leader, follower, observer or standalone

	Outstanding                  int64 // requests that wait for their answer
	Watches                      int64
	Znodes                       int64
	Ephemerals                   int64
	Connections                  int64
	PacketsReceived, PacketsSent int64 // since the server's start
	DataSize                     int64 // bytes, approximate
	OpenFiles, MaxFiles          int64

	// Request latency as the server sees it, since its start; it counts in whole milliseconds.
	MinLatency, AvgLatency, MaxLatency time.Duration
	// Syncs of the transaction log since the server's start: the mean of an interval is the difference of the totals over
	// the difference of the counts.
	Fsyncs             int64
	FsyncTotal         time.Duration
	FsyncAvg, FsyncMax time.Duration

	Values  map[string]float64 // every number, by mntr's name
	Texts   map[string]string  // what is no number
	Missing []string           // mntr's names of the fields above that this server does not report
	Usage   *Usage             // of the server's process; nil where the server does not run here
}

// Usage is what a process has used.
type Usage struct {
	CPU time.Duration // user and system, since its start, in steps of 10 ms
	RSS int64         // bytes
}

// ServerStats is one server's answer.
type ServerStats struct {
	Server  int // 1 to N
	Address string
	Stats
	Err error // nil, or why Stats is empty: ErrUnreachable, ErrNoQuorum, ErrWordsOff
}

// askWithin bounds a question to one server, so that a paused one costs a known time.
const askWithin = 2 * time.Second

// statsOf asks all servers at the same time.
func statsOf(ctx context.Context, addresses []string, admin func(i int) string) []ServerStats {
	all := make([]ServerStats, len(addresses))
	var wait sync.WaitGroup
	for i, address := range addresses {
		wait.Go(func() {
			all[i] = ServerStats{Server: i + 1, Address: address}
			all[i].Stats, all[i].Err = askStats(ctx, address, admin(i))
		})
	}
	wait.Wait()
	return all
}

// askStats reads mntr, and where that is off the AdminServer.
func askStats(ctx context.Context, address, admin string) (Stats, error) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	text, err := askWord(ctx, address, "mntr")
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
		return Stats{}, fmt.Errorf("%w; the AdminServer does not help either: %w", err, adminErr)
	}
	stats := typed(mntrNames(values, texts))
	stats.From = "AdminServer"
	return stats, nil
}

// parseMntr reads mntr's lines, a name, a tab, a value. Some values of some versions are no numbers.
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
	s := Stats{Values: values, Texts: texts, State: texts["zk_server_state"], Version: plainVersion(texts["zk_version"])}
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
	s.Fsyncs = count("zk_cnt_fsynctime")
	s.FsyncTotal = millis("zk_sum_fsynctime")
	s.FsyncAvg = millis("zk_avg_fsynctime")
	s.FsyncMax = millis("zk_max_fsynctime")
	return s
}

// Stats asks every server with mntr, or its AdminServer, and adds what its process has used.
func (l *Local) Stats(ctx context.Context) []ServerStats {
	all := statsOf(ctx, l.Addresses(), l.admin)
	for i, s := range l.servers {
		if all[i].Err != nil {
			continue
		}
		if usage, err := readUsage(s.process.Load().pid); err == nil {
			all[i].Usage = &usage
		} else {
			all[i].Missing = append(all[i].Missing, "usage")
		}
	}
	return all
}

// admin is the address of a server's AdminServer, or empty.
func (l *Local) admin(i int) string {
	if !l.cfg.AdminServer {
		return ""
	}
	return loopback(l.ports[i].Admin)
}

// listed puts causes behind a message.
func listed(causes []error) string {
	if len(causes) == 0 {
		return ""
	}
	return " (" + strings.ReplaceAll(errors.Join(causes...).Error(), "\n", "; ") + ")"
}
