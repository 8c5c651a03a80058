package zktest

import (
	"fmt"
	"maps"
	"slices"

	"github.com/zkbench/zkbench/zk"
)

// node is one znode. Its data are never changed in place, so copies of the tree share them.
type node struct {
	stat      zk.Stat // Cversion, DataLength and NumChildren are computed in record
	creates   int32   // children ever created: the next sequence number; wraps like the server's
	data      []byte
	children  map[string]struct{}
	container bool
}

// record returns the Stat as the server sends it. Cversion counts creates and deletes of children, and deletes are
// creates - numChildren (DataNode.copyStat).
func (n *node) record() zk.Stat {
	st := n.stat
	st.NumChildren = int32(len(n.children))
	st.DataLength = int32(len(n.data))
	st.Cversion = n.creates*2 - st.NumChildren
	return st
}

// tree maps paths to znodes. Its methods change it or return an error, never both; a change comes with its undo.
type tree map[string]*node

// stamp is what a transaction writes into the znodes that it touches.
type stamp struct {
	zxid    int64
	ms      int64
	session int64
}

func newTree() tree {
	t := tree{"/": {children: map[string]struct{}{}}}
	for _, path := range []string{"/zookeeper", "/zookeeper/config", "/zookeeper/quota"} {
		parent, name := parentOf(path)
		t[parent].children[name] = struct{}{}
		t[path] = &node{children: map[string]struct{}{}}
	}
	return t
}

// special reports whether a znode cannot be deleted.
func special(path string) bool { return path == "/" || below(path, "/zookeeper") }

func (t tree) clone() tree {
	c := make(tree, len(t))
	for path, n := range t {
		twin := *n
		twin.children = maps.Clone(n.children)
		c[path] = &twin
	}
	return c
}

// create checks in the server's order: the parent, the name, the kind of the parent (PrepRequestProcessor.pRequest2TxnCreate).
func (t tree) create(path string, data []byte, mode zk.Mode, st stamp) (made string, undo func(), err error) {
	parentPath, _ := parentOf(path)
	parent, ok := t[parentPath]
	if !ok {
		return "", nil, zk.ErrNoNode
	}
	if mode.Sequential() {
		path += fmt.Sprintf("%010d", parent.creates)
	}
	if t[path] != nil {
		return "", nil, zk.ErrNodeExists
	}
	if parent.stat.EphemeralOwner != 0 {
		return "", nil, zk.ErrNoChildrenForEphemerals
	}
	n := &node{data: slices.Clone(data), children: map[string]struct{}{}, container: mode == zk.Container}
	n.stat = zk.Stat{Czxid: st.zxid, Mzxid: st.zxid, Pzxid: st.zxid, Ctime: st.ms, Mtime: st.ms}
	if mode.Ephemeral() {
		n.stat.EphemeralOwner = st.session
	}
	_, name := parentOf(path)
	before := parent.stat.Pzxid
	t[path] = n
	parent.children[name] = struct{}{}
	parent.creates++
	parent.stat.Pzxid = st.zxid
	return path, func() {
		delete(t, path)
		delete(parent.children, name)
		parent.creates--
		parent.stat.Pzxid = before
	}, nil
}

func (t tree) delete(path string, version int32, st stamp) (undo func(), err error) {
	if special(path) {
		return nil, zk.ErrBadArguments
	}
	n, err := t.at(path, version)
	if err != nil {
		return nil, err
	}
	if len(n.children) > 0 {
		return nil, zk.ErrNotEmpty
	}
	parentPath, name := parentOf(path)
	parent := t[parentPath]
	before := parent.stat.Pzxid
	delete(t, path)
	delete(parent.children, name)
	parent.stat.Pzxid = st.zxid
	return func() {
		t[path] = n
		parent.children[name] = struct{}{}
		parent.stat.Pzxid = before
	}, nil
}

func (t tree) set(path string, data []byte, version int32, st stamp) (undo func(), err error) {
	n, err := t.at(path, version)
	if err != nil {
		return nil, err
	}
	before, old := n.stat, n.data
	n.data = slices.Clone(data)
	n.stat.Version++
	n.stat.Mzxid, n.stat.Mtime = st.zxid, st.ms
	return func() { n.stat, n.data = before, old }, nil
}

// at finds a znode and compares its version.
func (t tree) at(path string, version int32) (*node, error) {
	n, ok := t[path]
	if !ok {
		return nil, zk.ErrNoNode
	}
	if version != zk.AnyVersion && version != n.stat.Version {
		return nil, zk.ErrBadVersion
	}
	return n, nil
}

// names lists the children in order, so that a test sees the same list every time.
func (t tree) names(path string) []string {
	return slices.Sorted(maps.Keys(t[path].children))
}

// owned lists the ephemeral znodes of a session in order.
func (t tree) owned(session int64) []string {
	var paths []string
	for path, n := range t {
		if n.stat.EphemeralOwner == session {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}
