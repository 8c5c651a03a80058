package traffic

import (
	"fmt"
	"hash/adler32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/traffic/zklog"
)

// script writes a log, one transaction after the other.
type script struct {
	b     []byte
	zxid  int64
	at    int64 // milliseconds
	cxids map[int64]int32
	seq   map[string]int32
}

const start = 1_700_000_000_000

func newScript() *script {
	return &script{b: jute.AppendInt64(jute.AppendInt32([]byte("ZKLG"), 2), 0), at: start, cxids: map[int64]int32{}, seq: map[string]int32{}}
}

func (s *script) txn(session int64, cxid int32, op zklog.Op, parts ...[]byte) {
	s.zxid++
	t := jute.AppendInt64(nil, session)
	t = jute.AppendInt64(jute.AppendInt64(jute.AppendInt32(t, cxid), s.zxid), s.at)
	t = append(jute.AppendInt32(t, int32(op)), slices.Concat(parts...)...)
	s.b = append(jute.AppendBuffer(jute.AppendInt64(s.b, int64(adler32.Checksum(t))), t), 0x42)
}

// write is a write of a client that sent some reads before it.
func (s *script) write(session int64, reads int32, op zklog.Op, parts ...[]byte) {
	s.cxids[session] += reads + 1
	s.txn(session, s.cxids[session], op, parts...)
}

func text(p string) []byte        { return jute.AppendString(nil, p) }
func number(n int32) []byte       { return jute.AppendInt32(nil, n) }
func data(n int) []byte           { return jute.AppendBuffer(nil, make([]byte, n)) }
func (s *script) open(id int64)   { s.txn(id, 0, zklog.OpCreateSession, number(4000)) }
func (s *script) expire(id int64) { s.txn(id, 0, zklog.OpCloseSession) }
func (s *script) close(id int64, reads int32) {
	s.write(id, reads, zklog.OpCloseSession)
}

func (s *script) create(session int64, path string, bytes int, ephemeral, sequential bool) string {
	dir := path[:strings.LastIndexByte(path, '/')]
	if sequential {
		path += fmt.Sprintf("%010d", s.seq[dir])
	}
	s.seq[dir]++
	s.write(session, 0, zklog.OpCreate, text(path), data(bytes), []byte(jute.World), jute.AppendBool(nil, ephemeral), number(s.seq[dir]))
	return path
}

func (s *script) delete(session int64, path string) { s.write(session, 0, zklog.OpDelete, text(path)) }

func (s *script) save(t testing.TB, dir string, first int64) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("log.%x", first)), s.b, 0o644); err != nil {
		t.Fatal(err)
	}
}

func analyzed(t testing.TB, s *script, o Options) *Report {
	t.Helper()
	dir := t.TempDir()
	s.save(t, dir, 1)
	r, err := Analyze(t.Context(), []string{dir}, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestSessionsAndReads(t *testing.T) {
	s := newScript()
	const one, two, three, old = 0x01_0000_0000_0001, 0x02_0000_0000_0001, 0x02_0000_0000_0002, 0x03_0000_0000_0009
	one64, two64, three64, old64 := int64(one)<<8, int64(two)<<8, int64(three)<<8, int64(old)<<8
	s.open(one64)
	s.open(two64)
	s.open(three64)
	s.create(one64, "/a", 10, false, false)
	s.at += 500
	s.write(one64, 3, zklog.OpSetData, text("/a"), data(30), number(1)) // after three reads
	s.create(two64, "/e", 0, true, false)
	s.write(old64, 99, zklog.OpSetData, text("/a"), data(20), number(2)) // how many reads it had sent before nobody knows
	s.write(old64, 1, zklog.OpError, number(-101))
	s.at += 500
	s.cxids[two64] = 0 // a reconnection of kazoo
	s.write(two64, 0, zklog.OpSetData, text("/e"), data(7), number(1))
	s.expire(two64)
	s.close(one64, 5)
	r := analyzed(t, s, Options{Names: true})
	v := r.Sessions
	if v.Before != 1 || v.Opened != 3 || v.Closed != 1 || v.Expired != 1 || v.Open != 2 || v.Peak != 4 || v.Writing != 3 {
		t.Errorf("sessions %+v", v)
	}
	if got, want := fmt.Sprint(v.Members, v.Timeouts), "[{1 1} {2 2}] [{4000 3}]"; got != want {
		t.Errorf("members and timeouts %s, want %s", got, want)
	}
	if v.LifetimeMS.Count != 2 || v.LifetimeMS.Max != 1000 || v.Ephemerals.Max != 1 || v.Ephemerals.Count != 2 {
		t.Errorf("lifetimes %+v, ephemerals %+v", v.LifetimeMS, v.Ephemerals)
	}
	if r.Reads.Count != 3+1+5 || r.Reads.Growing != 2 || r.Reads.Restarted != 1 || r.Writes.Count != 6 {
		t.Errorf("reads %+v, %d writes", r.Reads, r.Writes.Count)
	}
	if len(r.Failed) != 1 || r.Failed[0] != (Failure{-101, "NoNode", 1}) {
		t.Errorf("failed %+v", r.Failed)
	}
	if got := r.Mix[0]; got.Kind != "setData" || got.Count != 3 || got.Data.Min != 7 || got.Data.Max != 30 || got.Data.Mean != 19 {
		t.Errorf("the mix begins with %+v", got)
	}
	if r.Seconds != 1 || r.From.UnixMilli() != start {
		t.Errorf("from %v, %v s", r.From, r.Seconds)
	}
}

// The session with the lowest sibling holds the lock: at once if the lock was free, otherwise after the holder has released it.
func TestALock(t *testing.T) {
	s := newScript()
	for id := range int64(3) {
		s.open(id + 1)
	}
	a := s.create(1, "/app/locks/x/_c_0f8fad5b-d9cb-469f-a165-70867728950e-lock-", 5, true, true)
	s.at += 10
	b := s.create(2, "/app/locks/x/_c_7c9e6679-7425-40de-944b-e07fc1f90ae7-lock-", 5, true, true)
	c := s.create(3, "/app/locks/x/lock-", 5, true, true)
	s.at += 20
	s.delete(1, a) // held 30, nobody before
	s.at += 40
	s.create(1, "/app/locks/x/lock-", 5, true, true)
	s.delete(2, b) // held 40, waited 20
	s.at += 5
	s.expire(3) // held 5, waited 60
	s.at += 100
	s.delete(1, "/app/locks/x/lock-0000000003") // held 100, waited 5
	s.at += 1000
	d := s.create(2, "/app/locks/x/lock-", 5, true, true)
	s.at += 7
	s.delete(2, d) // held 7
	_ = c
	r := analyzed(t, s, Options{Names: true})
	if len(r.Recipes) != 1 {
		t.Fatalf("recipes %+v", r.Recipes)
	}
	got := r.Recipes[0]
	if got.Kind != Lock || got.Pattern != "/app/locks/x" || got.Objects != 1 || got.Grants != 5 || got.HandOver != 3 || got.Expired != 1 || got.Sessions != 3 || got.Most != 3 {
		t.Errorf("%+v", got)
	}
	if h := got.HoldMS; h.Min != 5 || h.Max != 100 || h.Mean != (30+40+5+100+7)/5. || h.P50 != 30 {
		t.Errorf("holds %+v", h)
	}
	if w := got.WaitMS; w.Min != 0 || w.Max != 60 || w.Mean != (20+60+5)/5. {
		t.Errorf("waits %+v", w)
	}
	if want := (10*1 + 20*3 + 40*2 + 5*2 + 100 + 7) / 182.; got.Mean != want {
		t.Errorf("%v children in the mean, want %v", got.Mean, want)
	}
}

// Of a part of the time, only what was there then counts, from before too.
func TestAPartOfTheTime(t *testing.T) {
	s := newScript()
	for id := range int64(4) {
		s.open(id + 1)
	}
	var holds []string
	for id := range int64(4) { // a group, four contenders, four items
		s.create(id+1, fmt.Sprintf("/members/host-%d", id), 0, true, false)
		holds = append(holds, s.create(id+1, "/locks/a/lock-", 0, true, true))
		s.create(1, "/queue/item-", 0, false, true)
	}
	for id := range int64(2) {
		s.create(2, fmt.Sprintf("/members/also-%d", id), 0, true, false)
	}
	s.delete(1, holds[0])
	s.close(1, 0)
	s.at += 100
	for i := range 3 { // the time of the report, 60 ms: three contenders, then one at a time
		s.at += 10
		s.delete(int64(i+2), holds[i+1])
		s.delete(2, fmt.Sprintf("/queue/item-%010d", i))
	}
	for range 3 {
		p := s.create(3, "/locks/a/lock-", 0, true, true)
		item := s.create(3, "/queue/item-", 0, false, true)
		s.at += 10
		s.delete(3, p)
		s.delete(4, item)
	}
	s.at += 100
	s.open(5)
	for id := range int64(10) {
		s.create(5, fmt.Sprintf("/members/late-%d", id), 0, true, false)
		s.create(5, "/locks/a/lock-", 0, true, true)
		s.create(5, "/queue/item-", 0, false, true)
	}
	s.expire(5)
	r := analyzed(t, s, Options{Names: true, From: time.UnixMilli(start + 100), To: time.UnixMilli(start + 200)})
	v := r.Sessions
	if v.Before != 3 || v.Opened != 0 || v.Open != 3 || v.Peak != 3 || v.Mean != 3 || v.Writing != 3 || v.Expired != 0 || len(v.Timeouts) != 1 || v.Timeouts[0].Count != 3 {
		t.Errorf("sessions %+v", v)
	}
	var got []string
	for _, c := range r.Recipes {
		got = append(got, fmt.Sprintf("%s: %d sessions, %d most, %.4g mean, %d ended, %d puts, depth %d", c.Kind, c.Sessions, c.Most, c.Mean, c.Grants+c.Takes, c.Puts, c.Depth))
	}
	slices.Sort(got)
	want := []string{"group: 3 sessions, 5 most, 5 mean, 0 ended, 0 puts, depth 0", "lock: 3 sessions, 3 most, 1.5 mean, 6 ended, 0 puts, depth 0", "queue: 4 sessions, 4 most, 1.9 mean, 6 ended, 3 puts, depth 1"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestAQueueAndOtherUses(t *testing.T) {
	s := newScript()
	for id := range int64(8) {
		s.open(id + 1)
	}
	var items []string
	for range 10 {
		items = append(items, s.create(1, "/q/qn-", 100, false, true))
		s.at += 10
	}
	for _, item := range items[:7] {
		s.delete(2, item) // after 100 ms each
		s.at += 10
	}
	for range 6 { // a lock that is one znode
		s.create(3, "/simple/leader", 0, true, false)
		s.at += 50
		s.delete(3, "/simple/leader")
	}
	for id := range int64(6) { // a group
		s.create(id+1, fmt.Sprintf("/members/host-%d.example", id), 20, true, false)
	}
	for i := range 6 { // readers hold together, so who is the lowest says nothing
		p := s.create(4, "/rw/"+[]string{"__READ__", "__WRIT__"}[i%2], 0, true, true)
		s.delete(4, p)
	}
	for range 6 { // persistent and sequential, but taken by nobody: no queue
		p := s.create(5, "/log/entry-", 9, false, true)
		s.delete(5, p)
	}
	r := analyzed(t, s, Options{Salt: "s"})
	var got []string
	for _, c := range r.Recipes {
		got = append(got, fmt.Sprintf("%s %d/%d/%d", c.Kind, c.Grants+c.Takes, c.Most, c.Sessions))
		if strings.Contains(c.Pattern, "simple") || strings.Contains(c.Pattern, "members") {
			t.Errorf("%s shows a name", c.Pattern)
		}
		if c.Kind == Queue && (c.Puts != 10 || c.Depth != 3 || c.AgeMS.Mean != 100 || c.Bytes.Mean != 100) {
			t.Errorf("queue %+v", c)
		}
	}
	slices.Sort(got)
	if want := []string{"group 0/6/6", "queue 7/10/2", "read-write lock 0/1/1", "single-znode lock 6/1/1"}; !slices.Equal(got, want) {
		t.Errorf("recognized %q, want %q", got, want)
	}
}

// kazoo's LockingQueue, with a claim whose name has the number that a sequential znode would get there: it is a claim nevertheless. Where nothing is claimed, "taken" is a name as any other.
func TestAQueueWithClaims(t *testing.T) {
	s := newScript()
	s.open(1)
	s.open(2)
	for range 12 {
		s.create(1, "/work/mail/entries/entry-100-", 50, false, true)
	}
	for i := range 10 {
		name := fmt.Sprintf("entry-100-%010d", i)
		s.create(2, "/work/mail/taken/"+name, 3, true, false)
		s.at += 20 + int64(i)
		s.delete(2, "/work/mail/entries/"+name)
		s.delete(2, "/work/mail/taken/"+name)
	}
	for i := range 6 {
		s.create(1, fmt.Sprintf("/seats/taken/%d", i), 0, true, false)
	}
	for _, names := range []bool{false, true} {
		r := analyzed(t, s, Options{Names: names, Salt: "s"})
		if len(r.Recipes) != 2 {
			t.Fatalf("recipes %+v, want a queue and a group", r.Recipes)
		}
		q, g := r.Recipes[0], r.Recipes[1]
		if q.Kind != Queue || q.Puts != 12 || q.Takes != 10 || q.Depth != 2 || q.HoldMS.Count != 10 || q.HoldMS.Mean != 24.5 || g.Kind != Group || g.Most != 6 {
			t.Errorf("%+v and %+v", q, g)
		}
		for _, m := range r.Mix {
			if m.Kind == "create ephemeral sequential" {
				t.Errorf("%d claims are sequential", m.Count)
			}
		}
		all := r.Profiles(ProfileOptions{Variants: map[string]string{Queue: "claim"}})
		if !strings.Contains(all[len(all)-1].Text, "hold:") {
			t.Errorf("the profile of the queue has no hold:\n%s", all[len(all)-1].Text)
		}
	}
}

func TestRates(t *testing.T) {
	s := newScript()
	s.open(1)
	for second := range 20 {
		for range 1 + second%2*2 { // 1 and 3 in turn
			s.write(1, 0, zklog.OpSetData, text("/a"), data(1), number(1))
		}
		s.at += 1000
	}
	s.at -= 30_000 // another leader's clock
	s.zxid = 1<<32 - 1
	s.zxid++
	s.write(1, 0, zklog.OpSetData, text("/a"), data(1), number(1))
	r := analyzed(t, s, Options{})
	w := r.Writes.Windows[0]
	if w.Intervals != 19 || w.Peak != 3 || w.Dispersion < 0.5 || w.Dispersion > 0.6 { // variance 1.05, mean 1.95
		t.Errorf("windows %+v", r.Writes.Windows)
	}
	if c := r.Coverage; c.ClockBack != 1 || c.ClockBackMS != 29_000 || c.Leaders != 2 || c.Gaps != 0 {
		t.Errorf("coverage %+v", c)
	}
	if w := r.Writes.Windows[1]; w.Intervals != 1 || w.Peak != 20 {
		t.Errorf("ten seconds: %+v", w)
	}
	sum := int64(0)
	for _, n := range r.Writes.Timeline {
		sum += n
	}
	if sum != r.Writes.Count || r.Writes.Count != 41 {
		t.Errorf("%d writes in the timeline of %d", sum, r.Writes.Count)
	}
	r = analyzed(t, s, Options{From: time.UnixMilli(start + 5000), To: time.UnixMilli(start + 7000)})
	if r.Writes.Count != 4 || r.Sessions.Opened != 0 {
		t.Errorf("%d writes in two seconds, %d sessions opened", r.Writes.Count, r.Sessions.Opened)
	}
}

func TestTimelinesFit(t *testing.T) {
	var line timeline
	for i := range int64(5000) {
		line.add(1000 * i)
	}
	sum := int64(0)
	for _, n := range line.counts {
		sum += n
	}
	if len(line.counts) > points || sum != 5000 || line.width != 16_000 || line.counts[0] != 16 {
		t.Errorf("%d intervals of %d ms with %d, %d in the first", len(line.counts), line.width, sum, line.counts[0])
	}
	line.add(latestMillis)
	if len(line.counts) > points {
		t.Errorf("%d intervals", len(line.counts))
	}
}

func TestPatterns(t *testing.T) {
	for _, c := range []struct{ path, shown, hashed string }{
		{"/", "/", "/"}, {"/locks", "/locks", "/locks"}, {"/locks/17", "/locks/*", "/locks/*"}, {"/zookeeper/config", "/zookeeper/config", "/zookeeper/config"},
		{"/lock-12/0x7f", "/lock-*/*", "/lock*/*"}, {"/a/7c9e6679-7425-40de-944b-e07fc1f90ae7/lock-0000000001", "/a/*/lock*", ""},
	} {
		if got := (namer{show: true}).pattern(c.path); got != c.shown && got != strings.ReplaceAll(c.shown, "-*", "*") {
			t.Errorf("pattern of %s is %s, want %s", c.path, got, c.shown)
		}
	}
	one, other := namer{salt: "1"}.pattern("/payroll/x"), namer{salt: "2"}.pattern("/payroll/x")
	if strings.Contains(one, "payroll") || one == other || strings.Count(one, "/") != 2 {
		t.Errorf("hashed: %s and %s", one, other)
	}
}
