package record

import (
	"strings"
	"time"

	"github.com/zkbench/zkbench/ensemble/proxy"
	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/traffic/trace"
)

// ops are the kinds of requests that a trace knows. Others are trace.OtherOp.
var ops = map[jute.Op]trace.Op{jute.OpCreate: trace.Create, jute.OpCreate2: trace.Create, jute.OpCreateContainer: trace.Create, jute.OpCreateTTL: trace.Create,
	jute.OpDelete: trace.Delete, jute.OpSetData: trace.Set, jute.OpSetACL: trace.SetACL, jute.OpCheck: trace.Check, jute.OpMulti: trace.Multi, jute.OpGetData: trace.Get,
	jute.OpExists: trace.Exists, jute.OpGetChildren: trace.Children, jute.OpGetChildren2: trace.Children, jute.OpGetACL: trace.GetACL, jute.OpSync: trace.Sync}

// The modes of a create, as on the wire (CreateMode of Apache ZooKeeper).
var modes = []trace.Flags{0, trace.Ephemeral, trace.Sequential, trace.Ephemeral | trace.Sequential, trace.Container, trace.TTL, trace.TTL | trace.Sequential}

// request reads a request behind its header. What cannot be read is another kind of request, known by its number alone.
func request(e *trace.Event, f proxy.Frame, body []byte) {
	d := jute.Decoder{B: body}
	d.Int32() // xid
	d.Int32() // type
	e.Kind, e.Op = trace.Request, ops[f.Op]
	switch e.Op {
	case trace.NoOp, trace.Check:
		d.Bad = true
	case trace.Multi:
		multi(e, &d)
	default:
		operation(e, f.Op, &d)
	}
	if d.Bad {
		*e = trace.Event{Kind: trace.Request, Op: trace.OtherOp, Code: int32(f.Op)}
	}
}

// multi reads the operations of a multi.
func multi(e *trace.Event, d *jute.Decoder) {
	for {
		op, done := jute.Op(d.Int32()), d.Bool()
		d.Int32()
		if d.Bad = d.Bad || len(e.Ops) > trace.MaxOps; d.Bad || done {
			return
		}
		e.Ops = append(e.Ops, trace.Event{Op: ops[op]})
		switch part := &e.Ops[len(e.Ops)-1]; part.Op {
		case trace.Create, trace.Delete, trace.Set, trace.Check:
			operation(part, op, d)
		default:
			d.Bad = true
		}
	}
}

// operation reads the fields of a request of one of the kinds that a trace knows.
func operation(e *trace.Event, op jute.Op, d *jute.Decoder) {
	e.Path = d.String()
	if path(e.Path) == "" { // servers refuse it
		d.Bad = true
		return
	}
	version := func() {
		if e.Version = d.Int32(); e.Version == -1 {
			e.Flags |= trace.NoVersion
		}
	}
	switch e.Op {
	case trace.Create:
		e.Size = len(d.Buffer())
		acl(d)
		mode := d.Int32()
		if mode < 0 || int(mode) >= len(modes) {
			d.Bad = true
			return
		}
		if e.Flags = modes[mode]; op == jute.OpCreateTTL {
			ms := d.Int64()
			d.Bad = d.Bad || ms < 0 || ms > trace.MaxTime.Milliseconds() // servers refuse it
			e.TTL = time.Duration(ms) * time.Millisecond
		}
	case trace.Set:
		e.Size = len(d.Buffer())
		version()
	case trace.SetACL:
		acl(d)
		version()
	case trace.Delete, trace.Check:
		version()
	case trace.Get, trace.Exists, trace.Children:
		if d.Bool() {
			e.Flags = trace.Watch
		}
	}
}

// acl passes over a list of permissions, schemes and ids.
func acl(d *jute.Decoder) {
	for range d.Count(12) {
		d.Int32()
		d.Buffer()
		d.Buffer()
	}
}

// reply fills in what the servers answered.
func reply(e *trace.Event, f proxy.Frame, body []byte) {
	if e.Op == trace.OtherOp {
		return // its Code is its number
	}
	e.Code, e.Zxid = f.Err, max(0, f.Zxid)
	d := jute.Decoder{B: body}
	d.Reply()
	switch {
	case e.Op == trace.Multi:
		results(e, &d)
	case f.Err != 0:
	case e.Op == trace.Create && e.Flags&trace.Sequential != 0:
		e.Got = path(d.String())
	case e.Op == trace.Get:
		e.Size = max(0, int(d.Int32()))
	}
}

// path returns a path, if it is one.
func path(p string) string {
	if len(p) > trace.MaxPath || !strings.HasPrefix(p, "/") || strings.IndexByte(p, 0) >= 0 {
		return ""
	}
	return p
}

// runtimeInconsistency is the code of operations of a multi that were not tried because an earlier one had failed.
const runtimeInconsistency = -2

// results reads the results of a multi. That it failed is in them, or, as some servers answer, in the header of the reply.
func results(e *trace.Event, d *jute.Decoder) {
	for i := range e.Ops {
		op := jute.Op(d.Int32())
		d.Bool()
		d.Int32()
		part := &e.Ops[i]
		switch op {
		case jute.OpError:
			part.Code = d.Int32()
			if part.Code != 0 && (e.Code == 0 || e.Code == runtimeInconsistency) {
				e.Code = part.Code
			}
		case jute.OpCreate, jute.OpCreate2, jute.OpCreateContainer, jute.OpCreateTTL:
			if got := path(d.String()); part.Flags&trace.Sequential != 0 {
				part.Got = got
			}
			if op != jute.OpCreate { // in a multi, servers answer a create2 like a create
				d.Take(jute.StatLength)
			}
		case jute.OpSetData:
			d.Take(jute.StatLength)
		}
		if d.Bad {
			return
		}
	}
}
