package limits

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/results"
)

// Seen is everything that was observed about an ensemble.
type Seen struct {
	Servers []ensemble.Inspection
	// Later is each server's last transaction some time after Inspection.Zxid, read at LaterAt.
	Later   []int64
	LaterAt []time.Time
	// Own is the number of transactions between the two that zkbench caused itself, by opening its session.
	Own int64
	// Tree is the result of a walk; nil if there was none.
	Tree *Tree
	// Dumped holds the ephemeral znodes that a server lists; nil if it lists none.
	Dumped    map[int64]ensemble.Owned
	DumpErr   error
	MaxBuffer int64 // jute.maxbuffer; 0: unknown, and the servers' default is assumed
	Before    *results.Limits
}

// defaultMaxBuffer is the default of a server's jute.maxbuffer.
const defaultMaxBuffer = 0xfffff

// tooClose is the share of a limit from which on a note warns about it.
const tooClose = 0.8

// Of reports how close the limits are, closest first.
func Of(s Seen, now time.Time) results.Limits {
	j := &judge{Seen: s, now: now, out: results.Limits{Schema: results.LimitsSchema, Made: now, Notes: []string{}, Unseen: []string{}}}
	for _, in := range s.Servers {
		j.out.Servers = append(j.out.Servers, in.Address)
		for _, word := range slices.Sorted(maps.Keys(in.Untold)) {
			j.unseen("server %d does not report %s: %v", in.Server, word, in.Untold[word])
		}
	}
	j.buffer = defaultMaxBuffer
	if s.MaxBuffer > 0 {
		j.buffer = float64(s.MaxBuffer)
	} else {
		j.note("jute.maxbuffer is assumed to be %d bytes, the servers' default: no server reports it; --jute-maxbuffer sets it.", defaultMaxBuffer)
	}
	j.zxid()
	j.tree()
	j.ephemerals()
	j.packets()
	j.snapshots()
	j.heap()
	j.connections()
	j.timeouts()
	j.unseen("the watches of one session, which are sent again in one packet before 3.5: wchc would list them, but is too expensive for the servers")
	j.project()
	for _, l := range j.out.Lines {
		if used, some := l.Used(); some && used >= tooClose {
			j.note("%s: %s %% of the limit is used.", titled(l), phrase.Number(100*used, 2))
		}
	}
	slices.SortStableFunc(j.out.Lines, func(a, b results.Limit) int {
		x, _ := a.Used()
		y, _ := b.Used()
		return cmp.Compare(y, x)
	})
	return j.out
}

func titled(l results.Limit) string {
	if l.Subject == "" {
		return l.Name
	}
	return l.Name + " (" + l.Subject + ")"
}

type judge struct {
	Seen
	now    time.Time
	buffer float64
	out    results.Limits
}

func (j *judge) note(format string, args ...any) {
	j.out.Notes = append(j.out.Notes, fmt.Sprintf(format, args...))
}
func (j *judge) unseen(format string, args ...any) {
	j.out.Unseen = append(j.out.Unseen, fmt.Sprintf(format, args...))
}

// add adds a line; a limit of 0 means none.
func (j *judge) add(l results.Limit, limit float64) *results.Limit {
	if limit > 0 {
		l.Limit = &limit
	}
	j.out.Lines = append(j.out.Lines, l)
	return &j.out.Lines[len(j.out.Lines)-1]
}

const day = 24 * time.Hour

// zxid reports how many transactions are left in the epoch. The lower 32 bits of a zxid count them; when they are used up, the leader steps down and
// the servers elect a new one.
func (j *judge) zxid() {
	at := -1
	for i, in := range j.Servers {
		if in.Zxid > 0 && (at < 0 || in.Zxid > j.Servers[at].Zxid) {
			at = i
		}
	}
	if at < 0 {
		j.unseen("transactions until the zxid rolls over: no server reports its zxid")
		return
	}
	in := j.Servers[at]
	latest := in.Zxid
	if at < len(j.Later) {
		latest = max(latest, j.Later[at])
	}
	l := j.add(results.Limit{Name: "transactions of this epoch", Now: float64(latest & math.MaxUint32), Unit: "transactions",
		Note: fmt.Sprintf("epoch %d; at the end the servers elect a leader again", latest>>32)}, 1<<32)
	if at < len(j.Later) && j.Later[at]>>32 == in.Zxid>>32 && j.Later[at] > 0 {
		if between := j.LaterAt[at].Sub(in.ZxidAt); between > 0 {
			made := max(j.Later[at]-in.Zxid-j.Own, 0)
			perDay := float64(made) / between.Seconds() * day.Seconds()
			l.PerDay = &perDay
			l.Note = fmt.Sprintf("epoch %d; %s in %s, %s/s; at the end the servers elect a leader again", latest>>32, phrase.Count(made, "transaction"),
				phrase.Duration(between), phrase.Number(float64(made)/between.Seconds(), 2))
		}
	}
	for _, in := range j.Servers {
		if in.Err != nil || !in.Leads() || in.Lacks("zk_uptime") || in.Uptime < time.Minute {
			continue
		}
		if rate := float64(latest&math.MaxUint32) / in.Uptime.Seconds(); rate > 0 {
			when := "not within a century"
			if left := (1<<32 - float64(latest&math.MaxUint32)) / rate; left < 100*365*day.Seconds() {
				when = "on " + j.now.Add(time.Duration(left*float64(time.Second))).Format(time.DateOnly)
			}
			j.note("Since this epoch began, %s ago, there were %s transactions/s: at that rate the zxid rolls over %s.", span(in.Uptime), phrase.Number(rate, 2), when)
		}
	}
}

// span formats a long time in the unit that a reader would use.
func span(d time.Duration) string {
	switch {
	case d >= 2*day:
		return phrase.Number(d.Hours()/24, 2) + " days"
	case d >= 2*time.Hour:
		return phrase.Number(d.Hours(), 2) + " hours"
	case d >= 2*time.Minute:
		return phrase.Number(d.Minutes(), 2) + " minutes"
	}
	return phrase.Duration(d)
}

// tree reports the longest list of children and the largest data.
func (j *judge) tree() {
	t := j.Tree
	if t == nil {
		j.unseen("children of one znode and the largest znode: no znode was read (--reads)")
		return
	}
	if t.Err != nil {
		j.unseen("what is below the znodes that were read: %v", t.Err)
	}
	if t.Denied > 0 {
		j.unseen("what is below %s whose children may not be read without a permission", phrase.Count(t.Denied, "znode"))
	}
	if !t.Whole {
		j.note("%s read: what the other znodes have is not known (--reads, --for).", phrase.Count(t.Znodes, "znode"))
	}
	const reply = 4 + 68 // the length of the list, and the Stat
	children := t.Listed
	if children.Path != "" {
		j.add(results.Limit{Name: "list of one znode's children", Subject: children.Path, Now: float64(children.Bytes + reply), AtLeast: !t.Whole, Unit: "bytes",
			Note: fmt.Sprintf("%s; room for %d with names as long as these", phrase.Count(children.Children, "child znode"), room(j.buffer-reply, children.Bytes, children.Children))}, j.buffer)
	}
	if t.Unlisted > 0 {
		j.add(results.Limit{Name: "list of one znode's children", Subject: t.Longest.Path, Now: float64(5*t.Longest.Children + reply), AtLeast: true, Unit: "bytes",
			Note: fmt.Sprintf("%d child znodes, which were not listed", t.Longest.Children)}, j.buffer)
	}
	j.add(results.Limit{Name: "data of one znode", Subject: t.Largest.Path, Now: float64(t.Largest.Bytes), AtLeast: !t.Whole, Unit: "bytes"}, j.buffer)
}

// room returns how many items fit into limit bytes if n of them take the given bytes.
func room(limit float64, bytes int64, n int) int64 {
	if bytes == 0 || n == 0 {
		return 0
	}
	return int64(limit / (float64(bytes) / float64(n)))
}

// ephemerals reports the session with the longest list of ephemeral znodes: the transaction that ends it names them all, and if it is too long to be read
// from the log, servers do not start (ZOOKEEPER-4306).
func (j *judge) ephemerals() {
	owned, whole := j.Dumped, true
	if owned == nil && j.Tree != nil {
		owned, whole = j.Tree.Owned, j.Tree.Whole
	}
	if owned == nil {
		j.unseen("ephemeral znodes of one session: no server answers dump (%v), and no znode was read", j.DumpErr)
		return
	}
	var most ensemble.Owned
	var who int64
	for session, o := range owned {
		if o.Bytes > most.Bytes || o.Bytes == most.Bytes && session < who {
			most, who = o, session
		}
	}
	l := results.Limit{Name: "ephemeral znodes of one session", Now: float64(most.Bytes), AtLeast: !whole, Unit: "bytes", Note: "no session has any"}
	if most.Znodes > 0 {
		l.Subject = fmt.Sprintf("0x%x", uint64(who))
		l.Note = fmt.Sprintf("%s; room for %d with paths as long as these, in the transaction that ends the session", phrase.Count(most.Znodes, "znode"), room(j.buffer, most.Bytes, most.Znodes))
	}
	j.add(l, j.buffer)
}

// packets reports the largest proposal and the largest reply that servers remember.
func (j *judge) packets() {
	if v, in := j.highest("zk_max_proposal_size"); in != nil && v > 0 {
		j.add(results.Limit{Name: "largest transaction", Subject: serverName(in), Now: v, Unit: "bytes", Note: "since its start or the last election"}, j.buffer)
	}
	if v, in := j.highest("zk_max_client_response_size"); in != nil && v > 0 {
		j.add(results.Limit{Name: "largest reply", Subject: serverName(in), Now: v, Unit: "bytes", Note: "since its start; the limit is the clients' own jute.maxbuffer, assumed to equal the servers'"}, j.buffer)
	}
}

func serverName(in *ensemble.Inspection) string { return fmt.Sprintf("server %d", in.Server) }

// highest returns the highest value of a figure, and the server that has it; nil if none reports it.
func (j *judge) highest(names ...string) (value float64, of *ensemble.Inspection) {
	for i := range j.Servers {
		in := &j.Servers[i]
		sum, some := 0.0, false
		for _, name := range names {
			if v, known := in.Values[name]; known {
				sum, some = sum+v, true
			}
		}
		if some && (of == nil || sum > value) {
			value, of = sum, in
		}
	}
	return value, of
}

// setting returns a number from a server's zoo.cfg.
func setting(in *ensemble.Inspection, name string) float64 {
	n, _ := strconv.ParseFloat(in.Settings[name], 64)
	return n
}

// snapshots reports their size, and the time to write and to load one. A follower must load the leader's within initLimit, and a leader that writes one
// during its election makes everybody wait.
func (j *judge) snapshots() {
	const perZnode = 4 + 4 + 8 + 60 // lengths of path and data, ACL, Stat
	var most *ensemble.Inspection
	for i := range j.Servers {
		if in := &j.Servers[i]; in.Err == nil && !in.Lacks("zk_approximate_data_size", "zk_znode_count") && (most == nil || in.DataSize > most.DataSize) {
			most = in
		}
	}
	if most == nil {
		j.unseen("size of a snapshot: no server answers mntr")
		return
	}
	j.add(results.Limit{Name: "znodes", Now: float64(most.Znodes), Unit: "znodes", Note: "no limit but the heap"}, 0)
	j.add(results.Limit{Name: "snapshot", Now: float64(most.DataSize + perZnode*most.Znodes), Unit: "bytes", Note: "estimated: data and paths, and 76 bytes a znode; uncompressed"}, 0)
	limit, source := 0.0, "limit: initLimit, not reported"
	if most.State == "standalone" {
		source = "no limit for a standalone server, which has no followers"
	}
	for i := range j.Servers {
		if in := &j.Servers[i]; setting(in, "initlimit") > 0 && setting(in, "ticktime") > 0 {
			limit, source = setting(in, "initlimit")*setting(in, "ticktime"), "limit: initLimit"
			break
		}
	}
	if limit == 0 && len(j.Servers) > 1 {
		j.unseen("initLimit, which bounds how long a follower may load a snapshot: no server reports it")
	}
	for _, s := range []struct {
		name, note string
		figures    []string
	}{
		{"time to load a snapshot", "and its log, when the server started", []string{"zk_max_startup_snap_load_time", "zk_max_startup_txns_load_time"}},
		{"time to write a snapshot", "the longest since its start", []string{"zk_max_snapshottime"}},
	} {
		v, in := j.highest(s.figures...)
		if in == nil {
			j.unseen("%s: no server reports %s (3.6 and newer)", s.name, strings.Join(s.figures, ", "))
			continue
		}
		j.add(results.Limit{Name: s.name, Subject: serverName(in), Now: v, Unit: "ms", Note: s.note + "; " + source}, limit)
	}
}

// heap reports the server whose heap is fullest, and what occupies it.
func (j *judge) heap() {
	var l results.Limit
	limit := 0.0
	for i := range j.Servers {
		in := &j.Servers[i]
		free, ok1 := megabytes(in.Java["os.memory.free"])
		total, ok2 := megabytes(in.Java["os.memory.total"])
		most, ok3 := megabytes(in.Java["os.memory.max"])
		if !ok1 || !ok2 || !ok3 || most == 0 {
			continue
		}
		if used := total - free; limit == 0 || used/most > l.Now/limit {
			l, limit = results.Limit{Name: "heap", Subject: serverName(in), Now: used, Unit: "bytes", Note: "garbage included, so an upper bound"}, most
		}
	}
	if limit == 0 {
		j.unseen("heap: no server reports os.memory.max in envi (3.5 and newer)")
	} else {
		j.add(l, limit)
	}
	watches, known := 0.0, false
	for _, in := range j.Servers {
		if in.Err == nil && !in.Lacks("zk_watch_count") {
			watches, known = watches+float64(in.Watches), true
		}
	}
	if known {
		j.add(results.Limit{Name: "watches", Now: watches, Unit: "watches", Note: "of all servers; no limit but the heap, of which each takes some 100 bytes"}, 0)
	}
}

func megabytes(text string) (float64, bool) {
	n, err := strconv.ParseFloat(strings.TrimSuffix(text, "MB"), 64)
	return n * (1 << 20), err == nil
}

// project estimates when limits will be reached, from the growth since an earlier inspection.
func (j *judge) project() {
	for i := range j.out.Lines {
		l := &j.out.Lines[i]
		if j.Before != nil && l.PerDay == nil && !l.AtLeast {
			for _, b := range j.Before.Lines {
				if elapsed := j.now.Sub(j.Before.Made); b.Name == l.Name && !b.AtLeast && elapsed > 0 {
					perDay := (l.Now - b.Now) / elapsed.Seconds() * day.Seconds()
					l.PerDay = &perDay
				}
			}
		}
		if l.Limit == nil || l.PerDay == nil || *l.PerDay <= 0 {
			continue
		}
		if days := (*l.Limit - l.Now) / *l.PerDay; days < 100*365 { // a later date means nothing
			at := j.now.Add(time.Duration(max(days, 0) * float64(day)))
			l.Reached = &at
		}
	}
	if j.Before != nil {
		j.out.Since = j.Before.Made.Format(time.RFC3339)
	} else {
		j.note("To see how fast the others grow, give --since FILE, an earlier output of --json.")
	}
}
