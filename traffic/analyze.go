package traffic

import (
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/traffic/zklog"
)

// Options choose what of the files is reported.
type Options struct {
	From, To time.Time // only transactions from From on and before To; zero: all. Earlier ones are read too, for what they leave
	Names    bool      // show names in patterns of paths instead of hashes
	Salt     string    // of the hashes; should be different in each run
}

// The bounds of what is followed at a time. Beyond them things are counted as left out.
const (
	mostSessions   = 200_000
	mostZnodes     = 400_000
	mostDirs       = 200_000
	mostPatterns   = 2_000
	mostRecipes    = 200     // patterns
	mostDistinct   = 4_096   // sessions, or names, of a pattern
	latestMillis   = 1 << 46 // the year 4199
	snapshotsTried = 3
	checkedEvery   = 4096 // transactions, for the context
)

// Analyze reads the logs and one snapshot in the directories of one server: dataDir and, if it is another one, dataLogDir. It opens files for reading only. The
// error is the context's, that of the options, or says that there are no logs; what is wrong with some files is in the Coverage.
func Analyze(ctx context.Context, dirs []string, o Options) (*Report, error) {
	files, err := logsIn(dirs)
	if err != nil {
		return nil, err
	}
	a := &analysis{span: spanOf(o), namer: namer{o.Salt, o.Names}, seed: maphash.MakeSeed(), sessions: map[int64]*session{}, dirs: map[uint64]*dir{}, znodes: map[uint64]*znode{},
		patterns: map[string]*pattern{}, mix: map[string]*share{}, failed: map[int32]int64{}, timeouts: map[int64]int64{}, members: map[int]int64{}}
	for _, s := range []int64{1, 10, 60} {
		a.rates = append(a.rates, &rates{width: 1000 * s})
	}
	logs := zklog.ReadLogs(files.Logs)
	defer logs.Close()
	for n := 0; ; n++ {
		t := logs.Next()
		if t == nil {
			break
		}
		if n == 0 {
			a.base(files.Snapshots, t)
		}
		if n%checkedEvery == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		a.apply(t)
	}
	a.finish()
	return a.report(dirs, logs.Coverage()), nil
}

// logsIn lists the files of a server that has logs.
func logsIn(dirs []string) (zklog.Files, error) {
	files, err := zklog.Find(dirs...)
	if err == nil && len(files.Logs) == 0 {
		err = fmt.Errorf("%s: snapshots, but no transaction logs log.ZXID (give dataLogDir too, if the server has one)", strings.Join(dirs, ", "))
	}
	return files, err
}

// analysis is the state of Analyze.
type analysis struct {
	span  span
	namer namer
	seed  maphash.Seed

	now, first, last int64 // milliseconds: of the current transaction, and of the first and last ones in the window
	begun, inside    bool  // any transaction so far; the current one is in the window
	any              bool  // transaction in the window
	clockBack        int64
	clockBackMost    int64
	epochs           int
	epoch            int64

	sessions   map[int64]*session
	open       overTime
	out        Sessions // what is counted
	lifetimes  values
	ephemerals values
	timeouts   map[int64]int64
	members    map[int]int64
	reads      Reads
	silent     int64 // sessions of which nothing but their existence is known

	rates    []*rates
	timeline timeline
	writes   int64
	data     values
	mix      map[string]*share
	failed   map[int32]int64
	multis   values

	dirs     map[uint64]*dir
	patterns map[string]*pattern
	recipes  int // patterns with figures of recipes
	znodes   map[uint64]*znode

	tree     *Tree
	treeData values
	snapshot string
	baseZxid int64 // of the snapshot
	merged   bool  // its sessions are counted
	problems []string

	leftSessions, leftZnodes, leftDirs, leftRecipes int64 // beyond the bounds
}

// share counts one kind of write.
type share struct {
	count, inMulti int64
	data           values
}

// base reads the state before the first transaction from the snapshot that is nearest to it: the oldest one that is not older, otherwise the newest one. Of what such
// a snapshot has, only what was there before the first transaction counts: the logs have the rest, and what is fuzzy about it.
func (a *analysis) base(all []zklog.File, first *zklog.Txn) {
	a.now = clamped(first.Millis)
	order := slices.Clone(all)
	slices.SortStableFunc(order, func(x, y zklog.File) int {
		xOld, yOld := x.Zxid < first.Zxid-1, y.Zxid < first.Zxid-1
		switch {
		case xOld != yOld:
			return cmp.Compare(b2i(xOld), b2i(yOld))
		case xOld:
			return cmp.Compare(y.Zxid, x.Zxid)
		}
		return cmp.Compare(x.Zxid, y.Zxid)
	})
	for i, f := range order[:min(len(order), snapshotsTried)] {
		err := a.readBase(f, first.Zxid)
		if err != nil {
			a.problems = append(a.problems, err.Error())
		}
		if err == nil || i == min(len(order), snapshotsTried)-1 {
			a.snapshot, a.baseZxid = f.Path, f.Zxid
			break
		}
	}
	for _, d := range a.dirs {
		if d.waiting != nil {
			slices.SortFunc(d.waiting, func(x, y *znode) int { return cmp.Compare(x.zxid, y.zxid) })
			d.holder, d.since = d.waiting[0], d.waiting[0].created
		}
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (a *analysis) readBase(f zklog.File, first int64) error {
	r, err := os.Open(f.Path)
	if err != nil {
		return err
	}
	defer r.Close()
	clear(a.sessions)
	clear(a.znodes)
	clear(a.dirs)
	clear(a.patterns)
	a.recipes = 0
	a.tree, a.treeData = &Tree{}, values{}
	return zklog.ReadSnapshot(r, f.Path, zklog.Visitor{
		Session: func(id int64, timeout time.Duration) {
			a.tree.Sessions++
			if len(a.sessions) < mostSessions {
				a.sessions[id] = &session{created: -1, timeout: timeout.Milliseconds()}
			}
		},
		Znode: func(z *zklog.Znode) {
			a.shape(z)
			_, sequential := zklog.SequentialName(z.Path)
			if owner := z.Session(); z.Czxid < first && (owner != 0 || sequential) {
				a.born(z.Path, owner != 0, sequential, owner, z.Czxid, z.Ctime, int64(z.Data))
			}
		},
	})
}

const levels = 32

// shape counts a znode of the snapshot.
func (a *analysis) shape(z *zklog.Znode) {
	t := a.tree
	t.Znodes++
	a.treeData.add(int64(z.Data))
	level := 0
	if len(z.Path) > 1 {
		for _, c := range z.Path {
			if c == '/' {
				level++
			}
		}
	}
	for level = min(level, levels-1); len(t.Levels) <= level; {
		t.Levels = append(t.Levels, 0)
	}
	t.Levels[level]++
	switch {
	case z.Session() != 0:
		t.Ephemerals++
	case z.Container():
		t.Containers++
	case z.Owner != 0:
		t.TTLs++
	}
}

func clamped(millis int64) int64 { return max(0, min(millis, latestMillis)) }

// tick sets the time of a transaction. It never goes back: a leader's clock may be behind that of the one before.
func (a *analysis) tick(t *zklog.Txn) {
	at := clamped(t.Millis)
	if a.begun && at < a.now {
		a.clockBack++
		a.clockBackMost = max(a.clockBackMost, a.now-at)
		at = a.now
	}
	if epoch := t.Zxid >> 32; !a.begun || epoch != a.epoch {
		a.epoch = epoch
		a.epochs++
	}
	a.now = at
	a.inside = a.span.has(at)
	if a.inside {
		if !a.any {
			a.any, a.first = true, at
			a.standing()
		}
		a.last = at
	}
	a.begun = true
	if t.Zxid > a.baseZxid {
		a.older()
	}
}

// standing notes what is there when the time of the report begins.
func (a *analysis) standing() {
	for id, s := range a.sessions {
		if s.counted {
			a.before(id, s)
		}
	}
	for id, z := range a.znodes {
		z.dir.pattern.use.saw(id, z)
	}
}

// apply follows one transaction.
func (a *analysis) apply(t *zklog.Txn) {
	a.tick(t)
	s := a.session(t)
	switch t.Op {
	case zklog.OpCreateSession:
		return
	case zklog.OpCloseSession:
		a.closed(t, s)
		return
	}
	if t.Session != 0 {
		a.written(t, s)
	}
	if t.Failed() {
		if a.inside {
			a.failed[t.Code]++
		}
		return
	}
	if t.Op != zklog.OpMulti {
		a.change(t, &t.Record, false)
		return
	}
	for r := range t.Ops() {
		a.change(t, r, true)
	}
}

// written counts a write of a client, whether or not it failed.
func (a *analysis) written(t *zklog.Txn, s *session) {
	if !a.inside {
		return
	}
	a.writes++
	for _, r := range a.rates {
		r.add(a.now)
	}
	a.timeline.add(a.now)
	if s != nil {
		s.writes++
	}
	switch {
	case t.Op == zklog.OpMulti:
		a.kind("multi").count++
		a.multis.add(int64(t.Count))
	case t.Op == zklog.OpError:
		a.kind("failed").count++
	}
}

func (a *analysis) kind(name string) *share {
	k := a.mix[name]
	if k == nil {
		k = &share{}
		a.mix[name] = k
	}
	return k
}

// kindOf names the kind of an operation in the mix.
func kindOf(r *zklog.Record, sequential bool) string {
	switch {
	case (r.Op == zklog.OpCreate || r.Op == zklog.OpCreate2) && r.Ephemeral && sequential:
		return "create ephemeral sequential"
	case (r.Op == zklog.OpCreate || r.Op == zklog.OpCreate2) && r.Ephemeral:
		return "create ephemeral"
	case r.Op.Creates() && sequential:
		return r.Op.String() + " sequential"
	}
	return r.Op.String()
}

// change follows one operation that was carried out.
func (a *analysis) change(t *zklog.Txn, r *zklog.Record, within bool) {
	if r.Path == nil { // only the header could be read
		return
	}
	sequential := false
	if r.Op.Creates() {
		_, sequential = r.Sequential()
	}
	d := a.dirOf(r.Path)
	if a.inside {
		k := a.kind(kindOf(r, sequential))
		if within {
			k.inMulti++
		} else {
			k.count++
		}
		if r.Op.Creates() || r.Op == zklog.OpSetData {
			k.data.add(int64(r.Data))
			a.data.add(int64(r.Data))
		}
		switch {
		case r.Op.Creates():
			d.pattern.creates++
		case r.Op.Deletes():
			d.pattern.deletes++
		case r.Op == zklog.OpSetData || r.Op == zklog.OpSetACL:
			d.pattern.sets++
		}
	}
	switch {
	case r.Op.Creates() && (r.Ephemeral || sequential):
		a.born(r.Path, r.Ephemeral, sequential, t.Session, t.Zxid, a.now, int64(r.Data))
	case r.Op.Deletes():
		a.gone(a.hash(r.Path), t.Session, byClient)
	}
}

func (a *analysis) hash(path []byte) uint64 { return maphash.Bytes(a.seed, path) }

// parent returns the path of the directory of a znode.
func parent(path []byte) []byte {
	for i := len(path) - 1; i > 0; i-- {
		if path[i] == '/' {
			return path[:i]
		}
	}
	return path[:1]
}
