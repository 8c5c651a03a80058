package traffic

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/zkbench/zkbench/traffic/trace"
	"github.com/zkbench/zkbench/traffic/zklog"
)

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
