package wire

import (
	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/zk"
)

// maxPassword limits the length of a session's password, in bytes; servers send 16.
const maxPassword = 1 << 8

// putPath writes root+path without concatenating them first. The root of a chroot is the chroot itself.
func putPath(b []byte, root, path string) []byte {
	if root != "" && path == "/" {
		path = ""
	}
	b = jute.AppendInt32(b, int32(len(root)+len(path)))
	return append(append(b, root...), path...)
}

// takeStat reads a Stat.
func takeStat(d *jute.Decoder, st *zk.Stat) {
	p := d.Take(jute.StatLength)
	if p == nil {
		return
	}
	st.Czxid, st.Mzxid = jute.Int64(p), jute.Int64(p[8:])
	st.Ctime, st.Mtime = jute.Int64(p[16:]), jute.Int64(p[24:])
	st.Version, st.Cversion, st.Aversion = jute.Int32(p[32:]), jute.Int32(p[36:]), jute.Int32(p[40:])
	st.EphemeralOwner = jute.Int64(p[44:])
	st.DataLength, st.NumChildren = jute.Int32(p[52:]), jute.Int32(p[56:])
	st.Pzxid = jute.Int64(p[60:])
}
