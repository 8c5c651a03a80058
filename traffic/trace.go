package traffic

import (
	"context"
	"fmt"
	"io"
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
