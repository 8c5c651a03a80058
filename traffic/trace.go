package traffic

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/traffic/trace"
	"github.com/zkbench/zkbench/traffic/zklog"
)

// TraceOptions choose what of the files goes into a trace.
type TraceOptions struct {
	From, To time.Time // only transactions from From on and before To; zero: all
	Names    bool      // keep the names of znodes instead of hashes
	Salt     string    // of the hashes; should be different for each trace
	Maker    string    // of the header: the program and its version
}

// Traced says what a trace has that was made of a server's files, and what it lacks.
type Traced struct {
	Start     time.Time     // from which times count
	Length    time.Duration // until the last event
	Prefilled int64         // znodes that were there before
	Sessions  int64         // opened, and there before
	Requests  int64         // writes; a multi is one
	Failed    int64         // of them
	Reads     int64         // only their number is known
	Snapshot  string        // "" if there is none
	Coverage  zklog.Coverage
	Unknown   []string // what was not in the files, and what was left out
	Problems  []string // with the files
}

// Trace writes a trace of what the logs and snapshots in the directories of one server have: the znodes and sessions that were there before, and what clients wrote from then on. It
// opens files for reading only. Of a snapshot, however large, only what the logs change is kept in memory. The error is that of the context or of out, or says that there is nothing to trace; what is wrong with
// some files is in the Problems.
func Trace(ctx context.Context, dirs []string, o TraceOptions, out io.Writer) (*Traced, error) {
	files, err := logsIn(dirs)
	if err != nil {
		return nil, err
	}
	m := &tracer{ctx: ctx, options: o, files: files, sessions: map[int64]*traced{}, before: map[string]*past{}, gone: map[int64]bool{}}
	if !o.Names {
		m.names = trace.NewNames(o.Salt)
	}
	if err := m.findStart(); err != nil {
		return nil, err
	}
	if m.w, err = trace.NewWriter(out, trace.Header{Maker: o.Maker, Source: strings.Join(dirs, ", "), Start: m.result.Start, Names: o.Names}); err != nil {
		return nil, err
	}
	if err := m.prefill(); err != nil {
		return nil, err
	}
	c, err := m.each(m.first-1, m.event)
	if err != nil {
		return nil, err
	}
	if err := m.w.Close(); err != nil {
		return nil, err
	}
	m.result.Coverage = c
	m.conclude()
	return &m.result, nil
}

// tracer is the state of Trace.
type tracer struct {
	ctx     context.Context
	options TraceOptions
	files   zklog.Files
	names   *trace.Names // nil: paths stay as they are
	w       *trace.Writer
	result  Traced

	oldest, first int64 // zxids: in the logs, and of the first transaction of the trace
	now           int64 // milliseconds; never goes back
	sessions      map[int64]*traced
	numbered      int // sessions with a number
	left          int64
	restarted     int64

	before map[string]*past // znodes that logs tell of
	gone   map[int64]bool   // sessions that ended between the snapshot and the start
	bare   bool             // there is no whole snapshot
	e      trace.Event      // the current one
}

// traced is a session.
type traced struct {
	cxids
	number  int // in the trace; -1: none yet
	timeout time.Duration
	there   bool // the trace has its Open or Resume
	later   bool // it was opened after the start
}

// past is what logs tell of a znode before the first transaction of the trace.
type past struct {
	state state
	sized bool // data is known
	data  int
	flags trace.Flags
	ttl   time.Duration
	owner int64
	seen  bool // in the snapshot
}

type state uint8

const (
	unknown state = iota // that it was there is up to the snapshot
	there                // it was created before
	absent               // it was deleted before
	proven               // what was done to it afterwards was only possible because it was there
	later                // it was created afterwards, and nothing was done to it before
)

// each calls do with the transactions behind a zxid, until it returns false or an error.
func (m *tracer) each(after int64, do func(*zklog.Txn) (more bool, err error)) (zklog.Coverage, error) {
	files := m.files.Logs
	for len(files) > 1 && files[1].Zxid <= after+1 { // the next one begins early enough
		files = files[1:]
	}
	logs := zklog.ReadLogs(files)
	defer logs.Close()
	for n := 0; ; n++ {
		if n%checkedEvery == 0 && m.ctx.Err() != nil {
			return zklog.Coverage{}, m.ctx.Err()
		}
		t := logs.Next()
		if t == nil {
			return logs.Coverage(), nil
		}
		if t.Zxid <= after {
			continue
		}
		if more, err := do(t); err != nil || !more {
			return logs.Coverage(), err
		}
	}
}

// findStart finds the first transaction of the trace.
func (m *tracer) findStart() error {
	found, now := false, int64(0)
	_, err := m.each(-1<<63, func(t *zklog.Txn) (bool, error) {
		if m.oldest == 0 {
			m.oldest = t.Zxid
		}
		now = max(now, clamped(t.Millis))
		found = m.options.From.IsZero() || now >= m.options.From.UnixMilli()
		m.first = t.Zxid
		return !found, nil
	})
	switch {
	case err != nil:
		return err
	case !found || !m.options.To.IsZero() && now >= m.options.To.UnixMilli():
		return fmt.Errorf("%s: no transactions in this time", m.files.Logs[0].Path)
	}
	m.now, m.result.Start = now, time.UnixMilli(now).UTC()
	if !m.options.From.IsZero() {
		m.result.Start = m.options.From.UTC()
	}
	return nil
}

// prefill writes the znodes and sessions that were there at the start: those of the snapshot that is nearest to it, with what the logs say until the start, and as far as the
// snapshot goes beyond it.
func (m *tracer) prefill() error {
	file, reaches, err := m.snapshot()
	if err != nil {
		return err
	}
	after := m.first - 1
	if file != nil {
		after = min(after, file.Zxid)
	}
	_, err = m.each(after, func(t *zklog.Txn) (bool, error) {
		if t.Zxid >= m.first && t.Zxid > reaches {
			return false, nil
		}
		m.past(t)
		return true, nil
	})
	if err != nil {
		return err
	}
	var failed error
	if file != nil {
		m.result.Snapshot = file.Path
		m.read(*file, zklog.Visitor{Znode: func(z *zklog.Znode) {
			if failed == nil {
				failed = m.visit(z)
			}
		}})
	}
	if failed != nil {
		return failed
	}
	for _, path := range slices.Sorted(maps.Keys(m.before)) { // parents first
		if p := m.before[path]; !p.seen && (p.state == there || p.state == proven) && !m.gone[p.owner] && path != "/" {
			if err := m.prefilled(path, p.data, p.flags, p.ttl, p.owner); err != nil {
				return err
			}
		}
	}
	clear(m.before)
	for _, id := range slices.Sorted(maps.Keys(m.sessions)) {
		if s := m.sessions[id]; !s.later {
			if err := m.resume(s, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// snapshot chooses a snapshot, reads its sessions, and returns it with the last transaction that it has something of: it is fuzzy. nil: there is none. The best one was begun before the
// start, and the logs have all since.
func (m *tracer) snapshot() (_ *zklog.File, reaches int64, err error) {
	rank := func(f zklog.File) int {
		switch {
		case f.Zxid >= m.oldest-1 && f.Zxid < m.first:
			return 0
		case f.Zxid >= m.first:
			return 1
		}
		return 2
	}
	order := slices.Clone(m.files.Snapshots)
	slices.SortStableFunc(order, func(x, y zklog.File) int {
		newer := cmp.Compare(y.Zxid, x.Zxid)
		if rank(x) == 1 {
			newer = -newer
		}
		return cmp.Or(cmp.Compare(rank(x), rank(y)), newer)
	})
	order = order[:min(len(order), snapshotsTried)]
	for i, f := range order {
		clear(m.sessions)
		reaches = f.Zxid
		err := m.read(f, zklog.Visitor{
			Session: func(id int64, timeout time.Duration) {
				if s := m.newSession(id); s != nil {
					s.timeout = timeout
				}
			},
			Znode: func(z *zklog.Znode) { reaches = max(reaches, z.Czxid, z.Mzxid, z.Pzxid) },
		})
		if m.ctx.Err() != nil {
			return nil, 0, m.ctx.Err()
		}
		if m.bare = err != nil; m.bare {
			m.result.Problems = append(m.result.Problems, err.Error())
		}
		if !m.bare || i == len(order)-1 {
			if m.bare {
				reaches = 1<<63 - 1
			}
			return &order[i], reaches, nil
		}
	}
	m.bare = true
	return nil, 1<<63 - 1, nil
}

func (m *tracer) read(f zklog.File, v zklog.Visitor) error {
	r, err := os.Open(f.Path)
	if err != nil {
		return err
	}
	defer r.Close()
	return zklog.ReadSnapshot(r, f.Path, v)
}

func (m *tracer) newSession(id int64) *traced {
	if len(m.sessions) >= mostSessions {
		m.left++
		return nil
	}
	s := &traced{number: -1}
	m.sessions[id] = s
	return s
}

// past notes what a transaction means for the state at the start.
func (m *tracer) past(t *zklog.Txn) {
	afterwards := t.Zxid >= m.first
	s := m.sessions[t.Session]
	switch {
	case t.Op == zklog.OpCreateSession:
		if s == nil {
			s = m.newSession(t.Session)
		}
		if s != nil {
			s.timeout, s.later = t.Timeout, afterwards
			if !afterwards {
				s.last, s.known = 0, true
			}
		}
		return
	case t.Op == zklog.OpCloseSession:
		if !afterwards {
			m.gone[t.Session] = true
			delete(m.sessions, t.Session)
		}
		for path := range t.Paths() {
			m.change(string(path), afterwards, absent, nil, t.Session)
		}
		return
	case s != nil && !afterwards:
		s.gap(t.Cxid)
	}
	switch {
	case t.Failed():
	case t.Op == zklog.OpMulti:
		for r := range t.Ops() {
			m.record(r, afterwards, t.Session)
		}
	default:
		m.record(&t.Record, afterwards, t.Session)
	}
}

func (m *tracer) record(r *zklog.Record, afterwards bool, session int64) {
	switch {
	case r.Path == nil:
	case r.Op.Creates():
		m.change(string(r.Path), afterwards, there, r, session)
	case r.Op.Deletes():
		m.change(string(r.Path), afterwards, absent, nil, 0)
	case r.Op == zklog.OpSetData:
		m.change(string(r.Path), afterwards, unknown, r, 0)
	case r.Op == zklog.OpSetACL || r.Op == zklog.OpCheck:
		m.change(string(r.Path), afterwards, unknown, nil, 0)
	}
}

// change notes that a znode was created (there), deleted (absent) or set (unknown); the session is that of an ephemeral one.
func (m *tracer) change(path string, afterwards bool, to state, r *zklog.Record, session int64) {
	if len(path) > trace.MaxPath {
		return
	}
	p := m.before[path]
	switch {
	case p != nil && afterwards:
		return // only the first change tells of the time before
	case p == nil && len(m.before) >= mostZnodes:
		m.left++
		return
	case p == nil:
		p = &past{}
		m.before[path] = p
	}
	if m.bare && afterwards {
		m.change(string(parent([]byte(path))), true, unknown, nil, 0)
	}
	switch {
	case afterwards && to == there:
		p.state = later
		return
	case afterwards:
		if p.state, p.owner = proven, session; session != 0 {
			p.flags = trace.Ephemeral
		}
		return
	case to == there:
		*p = past{state: there, ttl: r.TTL, flags: kept(r)}
		if r.Ephemeral {
			p.owner = session
		}
	case to == absent:
		*p = past{state: absent}
	case p.state != there:
		p.state = proven
	}
	if r != nil {
		p.sized, p.data = true, r.Data
	}
}

// kept are the flags of a znode that stay with it.
func kept(r *zklog.Record) (f trace.Flags) {
	switch {
	case r.Ephemeral:
		f = trace.Ephemeral
	case r.Op == zklog.OpCreateContainer:
		f = trace.Container
	case r.Op == zklog.OpCreateTTL:
		f = trace.TTL
	}
	return f
}

// visit writes a znode of the snapshot, if it was there at the start.
func (m *tracer) visit(z *zklog.Znode) error {
	p := m.before[string(z.Path)]
	if z.Czxid >= m.first || len(z.Path) == 1 {
		return nil
	}
	data, owner := z.Data, z.Session()
	if p != nil {
		p.seen = true
		if p.state == absent {
			return nil
		}
		if p.sized {
			data = p.data
		}
	}
	if owner != 0 && m.gone[owner] {
		return nil
	}
	flags := trace.Flags(0)
	switch {
	case owner != 0:
		flags = trace.Ephemeral
	case z.Container():
		flags = trace.Container
	case z.TTL() > 0:
		flags = trace.TTL
	}
	return m.prefilled(string(z.Path), data, flags, z.TTL(), owner)
}

// prefilled writes a znode that was there at the start.
func (m *tracer) prefilled(path string, data int, flags trace.Flags, ttl time.Duration, owner int64) error {
	m.result.Prefilled++
	m.e = trace.Event{Kind: trace.Prefill, Session: -1, Path: m.path(path), Size: data, Flags: flags, TTL: max(0, min(ttl, trace.MaxTime))}
	if owner != 0 {
		s := m.sessions[owner]
		if s == nil { // its closing was in a gap of the logs, or the snapshot is damaged
			s = m.newSession(owner)
		}
		if s != nil {
			m.e.Session = m.numberOf(s)
		}
	}
	return m.w.Write(&m.e)
}

func (m *tracer) numberOf(s *traced) int {
	if s.number < 0 {
		s.number = m.numbered
		m.numbered++
	}
	return s.number
}

// resume writes that a session was there before.
func (m *tracer) resume(s *traced, at time.Duration) error {
	s.there = true
	m.result.Sessions++
	return m.w.Write(&trace.Event{Kind: trace.Resume, At: at, Session: m.numberOf(s), Timeout: max(0, s.timeout)})
}

func (m *tracer) path(p string) string {
	if m.names == nil {
		return p
	}
	return m.names.Path(p)
}

// event writes a transaction.
func (m *tracer) event(t *zklog.Txn) (more bool, err error) {
	m.now = max(m.now, clamped(t.Millis))
	if !m.options.To.IsZero() && m.now >= m.options.To.UnixMilli() {
		return false, nil
	}
	at := time.Duration(max(0, min(m.now-m.result.Start.UnixMilli(), trace.MaxTime.Milliseconds()))) * time.Millisecond
	m.result.Length = at
	m.e = trace.Event{Kind: trace.Request, At: at, Session: -1, Ops: m.e.Ops[:0]}
	s, err := m.sessionOf(t, at)
	if err != nil {
		return false, err
	}
	if s != nil {
		m.e.Session = s.number
		if t.Op != zklog.OpCreateSession {
			m.e.Reads = int(s.gap(t.Cxid))
			m.result.Reads += int64(m.e.Reads)
		}
	}
	switch {
	case t.Op == zklog.OpCreateSession:
		if s == nil || s.there { // it was local until it needed an ephemeral znode, or is not followed
			return true, nil
		}
		s.there, s.known = true, true
		m.result.Sessions++
		m.e.Kind, m.e.Timeout = trace.Open, max(0, t.Timeout)
	case t.Op == zklog.OpCloseSession:
		if m.e.Kind = trace.Close; t.Cxid == 0 {
			m.e.Kind = trace.Expire
		}
		if s != nil && s.fell {
			m.restarted++
		}
		if delete(m.sessions, t.Session); s == nil {
			return true, nil
		}
	default:
		if t.Session != 0 {
			m.result.Requests++
		}
		m.request(t)
	}
	return true, m.w.Write(&m.e)
}

// sessionOf returns the session of a transaction, nil for the servers' own or if there are too many. One that nothing was known of was there before.
func (m *tracer) sessionOf(t *zklog.Txn, at time.Duration) (*traced, error) {
	if t.Session == 0 {
		return nil, nil
	}
	s := m.sessions[t.Session]
	if s == nil {
		if s = m.newSession(t.Session); s == nil {
			return nil, nil
		}
	}
	m.numberOf(s)
	if t.Op == zklog.OpCreateSession || s.there {
		return s, nil
	}
	return s, m.resume(s, at)
}

// request fills in a write.
func (m *tracer) request(t *zklog.Txn) {
	if t.Failed() {
		m.result.Failed++
		m.e.Code = t.Code
	}
	switch t.Op {
	case zklog.OpError:
	case zklog.OpMulti:
		m.e.Op = trace.Multi
		if t.Count > trace.MaxOps {
			m.e.Op, m.e.Code = trace.OtherOp, int32(t.Op)
			return
		}
		for r := range t.Ops() {
			m.e.Ops = append(m.e.Ops, trace.Event{})
			m.operation(&m.e.Ops[len(m.e.Ops)-1], r, !t.Failed())
		}
	default:
		m.operation(&m.e, &t.Record, true)
	}
}

// operation fills in one change. Of one that was not carried out, the servers have made a name, but nothing has it.
func (m *tracer) operation(e *trace.Event, r *zklog.Record, done bool) {
	e.Size = r.Data
	if len(r.Path) <= trace.MaxPath { // no server takes a longer one, unless told to
		e.Path = m.path(string(r.Path))
	}
	version := func(now int32) { e.Version, e.Flags = now-1, trace.UnknownVersion }
	switch {
	case r.Op == zklog.OpError:
		e.Code = r.Code
	case e.Path == "" || r.Op == zklog.OpReconfig:
		e.Op, e.Code = trace.OtherOp, int32(r.Op)
	case r.Op.Creates():
		e.Op, e.Flags, e.TTL = trace.Create, kept(r), max(0, min(r.TTL, trace.MaxTime))
		if _, sequential := r.Sequential(); sequential {
			got := e.Path
			e.Path, _, _ = trace.Numbered(got)
			if e.Flags |= trace.Sequential; done {
				e.Got = got
			}
		}
	case r.Op.Deletes():
		e.Op, e.Version, e.Flags = trace.Delete, -1, trace.UnknownVersion
	case r.Op == zklog.OpSetData:
		e.Op = trace.Set
		version(r.Version)
	case r.Op == zklog.OpSetACL:
		e.Op = trace.SetACL
		version(r.Version)
	case r.Op == zklog.OpCheck:
		e.Op = trace.Check
		version(r.Version)
	}
}

// conclude says what is not in the trace.
func (m *tracer) conclude() {
	r := &m.result
	say := func(format string, args ...any) { r.Unknown = append(r.Unknown, fmt.Sprintf(format, args...)) }
	for _, s := range m.sessions {
		if s.fell {
			m.restarted++
		}
	}
	say("the kinds and paths of reads, of which only the number is in the files; watches, pings, and how long requests took")
	if r.Failed > 0 {
		say("the kinds and paths of writes that failed, of which the log has only the error")
	}
	if m.restarted > 0 {
		say("some reads of %s, whose request numbers fell (kazoo counts from 1 again after a reconnection)", phrase.Count(m.restarted, "session"))
	}
	if r.Snapshot == "" {
		say("znodes that were there before and that nobody deleted or set: there is no snapshot")
	}
	if r.Coverage.Missing > 0 {
		say("at least %s in %s of the logs", phrase.Count(r.Coverage.Missing, "transaction"), phrase.Count(int64(r.Coverage.GapCount), "gap"))
	}
	if m.left > 0 {
		say("%s, which were not followed to stay within the memory", phrase.Count(m.left, "change"))
	}
	for _, p := range r.Coverage.Problems {
		r.Problems = append(r.Problems, p.Error())
	}
	for _, g := range r.Coverage.Gaps {
		r.Problems = append(r.Problems, g.String())
	}
}
