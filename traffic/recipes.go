package traffic

import (
	"cmp"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/traffic/zklog"
)

// pattern is what is known of all directories with one pattern.
type pattern struct {
	text                   string
	dirs                   int64
	creates, sets, deletes int64
	claimed                string // of the items that its children are claims of, if they are
	use                    *use
}

// use is how recipes used the directories of a pattern.
type use struct {
	sequential, single, queue figures
	read, write, lease, elect int64               // names of children that say so
	names                     map[uint64]struct{} // different single znodes
	sessions                  map[int64]struct{}
	byOthers                  int64 // items that another session deleted than created them
}

// figures are those of one form of children.
type figures struct {
	objects                    int64 // directories
	created, ended, handed     int64
	expired                    int64
	hold, wait, size           values
	area, time, most, atTheEnd int64
}

// dir is a directory with children that are ephemeral or sequential.
type dir struct {
	pattern *pattern
	waiting []*znode // ephemeral sequential children in the order of their creation; the first one that is not gone holds
	holder  *znode
	since   int64 // of the holder
	handed  bool
	lock    overTime // children of each form
	items   overTime
	single  overTime
}

// znode is one that is ephemeral or sequential.
type znode struct {
	dir             *dir
	owner           int64 // the session that created it; 0 for a persistent one of before the first transaction
	zxid            int64
	created         int64
	ephemeral, gone bool
	sequential      bool
}

// How a znode ended.
type ending int

const (
	byClient ending = iota
	byServers
)

// dirOf returns the directory of a path. Those beyond the bound have one in common.
func (a *analysis) dirOf(path []byte) *dir {
	p := parent(path)
	id := a.hash(p)
	if d := a.dirs[id]; d != nil {
		return d
	}
	text := "(others)"
	if len(a.dirs) < mostDirs {
		text = a.namer.pattern(string(p))
	} else {
		a.leftDirs++
	}
	of := a.patterns[text]
	if of == nil {
		if len(a.patterns) >= mostPatterns {
			text = "(others)"
		}
		if of = a.patterns[text]; of == nil {
			of = &pattern{text: text}
			a.patterns[text] = of
			if entries, is := zklog.ClaimOf(path); is && text != "(others)" {
				of.claimed = a.namer.pattern(string(entries))
			}
		}
	}
	if len(a.dirs) >= mostDirs {
		return &dir{pattern: of}
	}
	of.dirs++
	d := &dir{pattern: of}
	a.dirs[id] = d
	return d
}

// useOf returns the figures of the recipes of a pattern; nil beyond the bound.
func (a *analysis) useOf(p *pattern) *use {
	if p.use == nil {
		if a.recipes >= mostRecipes {
			a.leftRecipes++
			return nil
		}
		a.recipes++
		p.use = &use{sessions: map[int64]struct{}{}, names: map[uint64]struct{}{}}
	}
	return p.use
}

// born follows a new ephemeral or sequential znode.
func (a *analysis) born(path []byte, ephemeral, sequential bool, by, zxid, at, bytes int64) {
	id := a.hash(path)
	if z := a.znodes[id]; z != nil { // its removal was in a gap
		a.gone(id, 0, byClient)
	}
	if len(a.znodes) >= mostZnodes {
		a.leftZnodes++
		return
	}
	d := a.dirOf(path)
	u := a.useOf(d.pattern)
	if u == nil {
		return
	}
	z := &znode{dir: d, owner: by, zxid: zxid, created: at, ephemeral: ephemeral, sequential: sequential}
	a.znodes[id] = z
	if a.inside {
		u.saw(id, z)
	}
	if ephemeral {
		a.owns(by, id)
	}
	switch {
	case ephemeral && sequential:
		u.name(path)
		u.sequential.count(a.inside)
		d.waiting = append(d.waiting, z)
		d.lock.set(d.lock.now+1, a.now, a.span)
		if d.holder == nil {
			d.holder, d.since, d.handed = z, at, false
		}
	case sequential:
		u.queue.count(a.inside)
		if a.inside {
			u.queue.size.add(bytes)
		}
		d.items.set(d.items.now+1, a.now, a.span)
	default:
		u.single.count(a.inside)
		d.single.set(d.single.now+1, a.now, a.span)
	}
}

// saw notes a znode that is there in the time of the report.
func (u *use) saw(id uint64, z *znode) {
	u.by(z.owner)
	if z.ephemeral && !z.sequential && len(u.names) < mostDistinct {
		u.names[id] = struct{}{}
	}
}

// by notes a session that used the directories.
func (u *use) by(session int64) {
	if session != 0 && len(u.sessions) < mostDistinct {
		u.sessions[session] = struct{}{}
	}
}

func (f *figures) count(inside bool) {
	if inside {
		f.created++
	}
}

// name counts what the name of a child of a lock says about it: Curator's and kazoo's read-write locks and semaphores, and elections.
func (u *use) name(path []byte) {
	name := strings.ToLower(string(path[len(parent(path)):]))
	switch {
	case strings.Contains(name, "read"), strings.Contains(name, "rlock"):
		u.read++
	case strings.Contains(name, "writ"):
		u.write++
	case strings.Contains(name, "lease"), strings.Contains(name, "permit"):
		u.lease++
	case strings.Contains(name, "latch"), strings.Contains(name, "leader"), strings.Contains(name, "elect"), strings.Contains(name, "candidate"):
		u.elect++
	}
}

// owns notes an ephemeral znode with its session.
func (a *analysis) owns(id int64, z uint64) {
	s := a.sessions[id]
	if s == nil {
		return
	}
	if s.ownAlive++; int64(len(s.own)) > 2*s.ownAlive+16 {
		s.own = slices.DeleteFunc(s.own, func(z uint64) bool { return a.znodes[z] == nil || a.znodes[z].owner != id })
		s.ownAlive = int64(len(s.own)) + 1
	}
	s.own = append(s.own, z)
}

// gone follows the end of a znode, by a session or by its own's end.
func (a *analysis) gone(id uint64, by int64, how ending) {
	z := a.znodes[id]
	if z == nil {
		return
	}
	delete(a.znodes, id)
	z.gone = true
	d := z.dir
	u := d.pattern.use
	if s := a.sessions[z.owner]; s != nil && z.ephemeral {
		s.ownAlive--
	}
	switch {
	case z.ephemeral && z.sequential:
		d.lock.set(d.lock.now-1, a.now, a.span)
		a.released(d, z, u, how)
	case z.sequential:
		d.items.set(d.items.now-1, a.now, a.span)
		if a.inside {
			u.by(by)
			u.queue.ended++
			u.queue.hold.add(a.now - z.created)
			if by != z.owner {
				u.byOthers++
			}
		}
	default:
		d.single.set(d.single.now-1, a.now, a.span)
		if a.inside {
			u.single.ended++
			u.single.hold.add(a.now - z.created)
			if how == byServers {
				u.single.expired++
			}
		}
	}
}

// released follows the end of a child of a lock. Among siblings the lowest holds (ZooKeeper Recipes, Locks): if it was that one, the next one does now.
func (a *analysis) released(d *dir, z *znode, u *use, how ending) {
	if d.holder != z {
		if int64(len(d.waiting)) > 2*d.lock.now+16 {
			d.waiting = slices.DeleteFunc(d.waiting, func(z *znode) bool { return z.gone })
		}
		return
	}
	f := &u.sequential
	if a.inside {
		f.ended++
		f.hold.add(a.now - d.since)
		f.wait.add(d.since - z.created)
		if d.handed {
			f.handed++
		}
		if how == byServers {
			f.expired++
		}
	}
	n := 0
	for n < len(d.waiting) && d.waiting[n].gone {
		n++
	}
	clear(d.waiting[:n])
	d.waiting = d.waiting[n:]
	d.holder = nil
	if len(d.waiting) > 0 {
		d.holder, d.since, d.handed = d.waiting[0], a.now, true
	}
}

// add adds what a directory had to its pattern.
func (p *pattern) add(d *dir) {
	u := p.use
	if u == nil {
		return
	}
	for _, form := range []struct {
		of *overTime
		in *figures
	}{{&d.lock, &u.sequential}, {&d.items, &u.queue}, {&d.single, &u.single}} {
		if form.of.most == 0 {
			continue
		}
		form.in.objects++
		form.in.area += form.of.area
		form.in.time += form.of.time
		form.in.most = max(form.in.most, form.of.most)
		form.in.atTheEnd += form.of.end
	}
}

func (f *figures) mean() float64 {
	if f.time == 0 {
		return 0
	}
	return float64(f.area) / float64(f.time)
}

// enough is how often something must have happened to be called a recipe.
const enough = 5

// isQueue says whether items came that others took.
func (p *pattern) isQueue() bool {
	return p != nil && p.use != nil && p.use.queue.ended >= enough && 2*p.use.byOthers > p.use.queue.ended
}

// recipesReport returns the recognized recipes, the busiest first.
func (a *analysis) recipesReport(seconds float64) (all []Recipe) {
	per := func(n int64) float64 {
		if seconds == 0 {
			return 0
		}
		return float64(n) / seconds
	}
	claims := map[string]Values{} // how long, by the pattern of the items
	for _, p := range a.patterns {
		if p.use != nil && p.claimed != "" {
			claims[p.claimed] = p.use.single.hold.values()
		}
	}
	for _, p := range a.patterns {
		u := p.use
		if u == nil || p.claimed != "" && a.patterns[p.claimed].isQueue() {
			continue
		}
		sessions := int64(len(u.sessions))
		if f := &u.sequential; f.ended >= enough {
			r := Recipe{Kind: u.lockKind(p.text), Pattern: p.text, Objects: f.objects, Sessions: sessions, Most: f.most, Mean: f.mean()}
			if r.Kind == Lock || r.Kind == Election {
				r.Grants, r.HandOver, r.Expired, r.HoldMS, r.WaitMS, r.GrantsPS = f.ended, f.handed, f.expired, f.hold.values(), f.wait.values(), per(f.ended)
			}
			all = append(all, r)
		}
		if f := &u.queue; p.isQueue() {
			all = append(all, Recipe{Kind: Queue, Pattern: p.text, Objects: f.objects, Sessions: sessions, Most: f.most, Mean: f.mean(), Puts: f.created, Takes: f.ended, Depth: f.atTheEnd, HoldMS: claims[p.text],
				AgeMS: f.hold.values(), Bytes: f.size.values(), PutRate: per(f.created)})
		}
		if f := &u.single; max(f.ended+f.created, f.most) >= enough {
			r := Recipe{Kind: Group, Pattern: p.text, Objects: f.objects, Sessions: sessions, Most: f.most, Mean: f.mean(), Expired: f.expired, HoldMS: f.hold.values()}
			if names := int64(len(u.names)); f.created >= 3*names && f.ended >= enough { // the same znodes come and go
				r.Kind, r.Objects, r.Grants, r.GrantsPS = SingleLock, names, f.ended, per(f.ended)
			}
			all = append(all, r)
		}
	}
	busy := func(r Recipe) int64 { return r.Grants + r.Puts + r.Most }
	slices.SortFunc(all, func(x, y Recipe) int {
		return cmp.Or(cmp.Compare(busy(y), busy(x)), cmp.Compare(x.Pattern, y.Pattern), cmp.Compare(x.Kind, y.Kind))
	})
	return all[:min(len(all), 50)]
}

// lockKind tells locks from what else has ephemeral sequential children, by their names. Where several hold at once, the lowest child says nothing.
func (u *use) lockKind(pattern string) string {
	switch {
	case u.read > 0:
		return ReadWrite
	case u.lease > 0:
		return Semaphore
	case u.elect > 0 || strings.HasSuffix(pattern, "/election") || strings.HasSuffix(pattern, "/leader") || strings.HasSuffix(pattern, "/latch"):
		return Election
	}
	return Lock
}

// directories returns the patterns with the most writes.
func (a *analysis) directories() (all []Directory) {
	for _, p := range a.patterns {
		if d := (Directory{p.text, p.dirs, p.creates, p.sets, p.deletes}); d.Writes() > 0 {
			all = append(all, d)
		}
	}
	slices.SortFunc(all, func(x, y Directory) int {
		return cmp.Or(cmp.Compare(y.Writes(), x.Writes()), cmp.Compare(x.Pattern, y.Pattern))
	})
	return all[:min(len(all), 50)]
}
