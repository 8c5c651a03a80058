package load

import (
	"strings"

	"github.com/zkbench/zkbench/bench/outcome"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results"
)

type counter struct {
	name    string
	needs   []string
	service bool
	of      func(ensemble.ServerStats) float64
}

// counters are the figures that grow in a server, with the figures of mntr that each needs. A process keeps its counters for life; those of a service are
// also reset by each election.
var counters = []counter{
	{"packets_received", []string{"zk_packets_received"}, true, func(s ensemble.ServerStats) float64 { return float64(s.PacketsReceived) }},
	{"packets_sent", []string{"zk_packets_sent"}, true, func(s ensemble.ServerStats) float64 { return float64(s.PacketsSent) }},
	{"requests", requestNames, false, func(s ensemble.ServerStats) float64 { return float64(s.Requests) }},
	{"watch_events", []string{"zk_sum_node_deleted_watch_count"}, false, func(s ensemble.ServerStats) float64 { return float64(s.WatchEvents) }},
	{"request_ms", requestNames, false, func(s ensemble.ServerStats) float64 { return outcome.Millis(s.RequestTotal) }},
	{"throttled", []string{"zk_request_throttle_wait_count"}, false, func(s ensemble.ServerStats) float64 { return float64(s.Throttled) }},
	{"fsyncs", fsyncNames, false, func(s ensemble.ServerStats) float64 { return float64(s.Fsyncs) }},
	{"fsync_ms", fsyncNames, false, func(s ensemble.ServerStats) float64 { return outcome.Millis(s.FsyncTotal) }},
	{"flushes", flushNames, false, func(s ensemble.ServerStats) float64 { return float64(s.Flushes) }},
	{"flush_ms", flushNames, false, func(s ensemble.ServerStats) float64 { return outcome.Millis(s.FlushTotal) }},
}

var (
	requestNames = []string{"zk_cnt_readlatency", "zk_sum_readlatency", "zk_cnt_updatelatency", "zk_sum_updatelatency"}
	fsyncNames   = []string{"zk_cnt_fsynctime", "zk_sum_fsynctime"}
	flushNames   = []string{"zk_cnt_sync_processor_queue_flush_time_ms", "zk_sum_sync_processor_queue_flush_time_ms"}
)

// sampled is a figure that a server of version 3.6 or newer samples internally: the count and the sum of the samples, named as in mntr without zk_cnt_ and
// zk_sum_. A name that begins with '*' is sampled separately for each learner, whose number precedes the name: these are added up, and are 0 for a server
// without learners.
type sampled struct{ of, count, sum, mean string }

// in returns one of its figures in mntr: kind is zk_cnt_ or zk_sum_.
func (s sampled) in(st ensemble.ServerStats, kind string) (sum float64, known bool) {
	name, each := strings.CutPrefix(s.of, "*")
	if !each {
		sum, known = st.Values[kind+name]
		return sum, known
	}
	_, known = st.Values["zk_cnt_quorum_ack_latency"] // reported by the same versions
	for figure, value := range st.Values {
		if strings.HasPrefix(figure, kind) && strings.HasSuffix(figure, name) {
			sum += value
		}
	}
	return sum, known
}

// inner lists the sampled figures. A mean is taken over the samples of the interval; a figure without a mean is reported as a sum.
var inner = []sampled{
	{"prep_processor_queue_size", "prep_samples", "prep_sum", "prep_queue_mean"},
	{"sync_processor_queue_size", "sync_samples", "sync_sum", "sync_queue_mean"},
	{"read_commit_proc_req_queued", "read_commit_samples", "read_commit_sum", "read_commit_queue_mean"},
	{"write_commit_proc_req_queued", "write_commit_samples", "write_commit_sum", "write_commit_queue_mean"},
	{"quorum_ack_latency", "quorum_acks", "quorum_ack_sum", "quorum_ack_mean_ms"},
	{"*_learner_handler_qp_size", "learner_samples", "learner_sum", "learner_queue_mean"},
	{"jvm_pause_time_ms", "jvm_pauses", "jvm_pause_ms", ""},
	{"snapshottime", "snapshots", "snapshot_ms", ""},
}

// fromInner adds the differences of the internally sampled figures; nil for those that a server does not report.
func fromInner(out results.Figures, a, b ensemble.ServerStats) {
	for _, in := range inner {
		for name, kind := range map[string]string{in.count: "zk_cnt_", in.sum: "zk_sum_"} {
			from, before := in.in(a, kind)
			to, after := in.in(b, kind)
			switch {
			case !before || !after:
				out[name] = nil
			case to < from, otherProcess(a, b):
				out.Set(name, to)
			default:
				out.Set(name, to-from)
			}
		}
	}
}

// between returns what a server counted from one of its answers to the next, and the time between them; a counter that it does not report is nil. A counter
// that was reset in between counts from zero: what it had counted after the first answer is lost.
func between(a, b ensemble.ServerStats) results.Figures {
	out := results.Figures{}
	out.Set("seconds", b.At.Sub(a.At).Seconds())
	for _, c := range counters {
		from, to := c.of(a), c.of(b)
		switch {
		case a.Lacks(c.needs...) || b.Lacks(c.needs...):
			out[c.name] = nil
		case to < from, otherProcess(a, b), c.service && b.Uptime < a.Uptime:
			out.Set(c.name, to)
		default:
			out.Set(c.name, to-from)
		}
	}
	fromInner(out, a, b)
	if out["cpu_s"] = nil; a.Usage != nil && b.Usage != nil {
		cpu := b.Usage.CPU
		if !otherProcess(a, b) && cpu >= a.Usage.CPU {
			cpu -= a.Usage.CPU
		}
		out.Set("cpu_s", cpu.Seconds())
	}
	return out
}

// otherProcess reports whether two answers come from different processes.
func otherProcess(a, b ensemble.ServerStats) bool {
	return a.Usage != nil && b.Usage != nil && a.Usage.Start != b.Usage.Start
}

// means adds the figures derived from counts: the mean latency of a request, the mean time of a flush of the transaction log, and bounds on the mean time of
// its sync. The server truncates each sync to whole milliseconds, so its mean is too short by up to one; and a sync is part of its flush.
func means(f results.Figures) {
	ratio := func(name, total, count string) {
		f[name] = nil
		if n, known := f.Get(count); known && n > 0 {
			if sum, known := f.Get(total); known {
				f.Set(name, sum/n)
			}
		}
		delete(f, total)
	}
	ratio("latency_mean_ms", "request_ms", "requests")
	ratio("log_flush_mean_ms", "flush_ms", "flushes")
	ratio("fsync_mean_low_ms", "fsync_ms", "fsyncs")
	delete(f, "flushes")
	for _, in := range inner {
		if in.mean != "" {
			ratio(in.mean, in.sum, in.count)
			delete(f, in.count)
		}
	}
	f["fsync_mean_high_ms"] = nil
	if low, known := f.Get("fsync_mean_low_ms"); known {
		high := low + 1
		if flush, known := f.Get("log_flush_mean_ms"); known {
			high = min(high, max(flush, low))
		}
		f.Set("fsync_mean_high_ms", high)
	}
}

// gauges adds what a server reports for the instant of its answer; a figure that it does not report is nil. So is a negative one: servers count their
// outstanding requests without a lock, and occasionally report -1.
func gauges(f results.Figures, st ensemble.ServerStats) {
	for name, g := range map[string]struct {
		of    string
		value int64
	}{
		"outstanding": {"zk_outstanding_requests", st.Outstanding}, "watches": {"zk_watch_count", st.Watches}, "znodes": {"zk_znode_count", st.Znodes},
		"ephemerals": {"zk_ephemerals_count", st.Ephemerals}, "connections": {"zk_num_alive_connections", st.Connections},
	} {
		if f[name] = nil; !st.Lacks(g.of) && g.value >= 0 {
			f.Set(name, float64(g.value))
		}
	}
	if f["leader"] = nil; st.State != "" {
		f.Set("leader", map[bool]float64{true: 1}[st.Leads()])
	}
	if f["rss_mib"] = nil; st.Usage != nil {
		f.Set("rss_mib", float64(st.Usage.RSS)/(1<<20))
	}
}

// inInterval returns a line of the timeline for one server: what it counted since its previous answer (nil without one), the means of that time, and the
// state at its end.
func inInterval(before *ensemble.ServerStats, st ensemble.ServerStats) results.Figures {
	f := results.Figures{"seconds": nil, "cpu_s": nil, "latency_max_ms": nil}
	for _, c := range counters {
		f[c.name] = nil
	}
	for _, in := range inner {
		f[in.count], f[in.sum] = nil, nil
	}
	if before != nil {
		f = between(*before, st)
		f["latency_max_ms"] = nil
		if !st.Lacks("zk_max_latency") && st.MaxLatency > before.MaxLatency { // the highest since the start: it belongs to this interval if it rose
			f.Set("latency_max_ms", outcome.Millis(st.MaxLatency))
		}
	}
	means(f)
	gauges(f, st)
	return f
}
