package zktest

import (
	"fmt"
	"maps"
	"slices"

	"github.com/zkbench/zkbench/zk"
)

// Znode is what Tree reports about a znode.
type Znode struct {
	Data      []byte
	Stat      zk.Stat
	Container bool
}

// Tree returns all znodes by path, without the root and those of the system below /zookeeper.
func (e *Ensemble) Tree() map[string]Znode {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := map[string]Znode{}
	for path, n := range e.tree {
		if !special(path) {
			all[path] = Znode{slices.Clone(n.data), n.record(), n.container}
		}
	}
	return all
}

// Ephemerals returns the paths of the ephemeral znodes of all sessions, in order.
func (e *Ensemble) Ephemerals() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var paths []string
	for path, n := range e.tree {
		if n.stat.EphemeralOwner != 0 {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// Armed is a watch as a server holds it.
type Armed struct {
	Session int64
	Path    string
	Type    string // data, child, persistent or recursive
}

// Watches returns the watches that the servers hold, by session, type and path: what zk_watch_count counts. Several callers in one session that wait
// for the same thing are one watch.
func (e *Ensemble) Watches() []Armed {
	e.mu.Lock()
	defer e.mu.Unlock()
	var all []Armed
	for _, s := range e.sessions {
		a := s.armed
		for i, set := range []map[string]struct{}{a.data, a.child, a.persistent, a.recursive} {
			for _, path := range slices.Sorted(maps.Keys(set)) {
				all = append(all, Armed{s.id, path, [...]string{"data", "child", "persistent", "recursive"}[i]})
			}
		}
	}
	return all
}

// Sessions returns the sessions that live on the servers, in the order of Dial.
func (e *Ensemble) Sessions() []*Session {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.sessions)
}

// Zxid returns the zxid of the last transaction.
func (e *Ensemble) Zxid() int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.zxid
}

// Counts are what the servers have done.
type Counts struct {
	Ops    map[zk.Kind]int      // operations applied or refused; addWatch is KindAddWatch
	Events map[zk.EventType]int // events sent: one per session that a change reaches
}

func newCounts() Counts { return Counts{map[zk.Kind]int{}, map[zk.EventType]int{}} }

// Counts returns the counts since New.
func (e *Ensemble) Counts() Counts {
	e.mu.Lock()
	defer e.mu.Unlock()
	return Counts{maps.Clone(e.counts.Ops), maps.Clone(e.counts.Events)}
}

// SetSequence sets the number that the next sequential child of path gets: the server's counter wraps from 2147483647 to
// -2147483648, and no test can wait for that. The znode must exist.
func (e *Ensemble) SetSequence(path string, next int32) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n, ok := e.tree[path]
	if !ok {
		panic(fmt.Sprintf("zktest: SetSequence of %s: %v", path, zk.ErrNoNode))
	}
	n.creates = next
}

// ReapContainers deletes the containers that have had children and have none left, as a server does about every minute, and returns their paths. A
// container that becomes empty in the process is left for the next call.
func (e *Ensemble) ReapContainers() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var paths []string
	for path, n := range e.tree {
		if n.container && n.creates != 0 && len(n.children) == 0 {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	for _, path := range paths {
		_, fires, _, _ := e.tree.change(zk.DeleteOp(path, zk.AnyVersion), e.begin(0))
		e.fire(fires)
	}
	return paths
}
