package workloads

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// Fence defines the work of a grant. With NoFence it is the hold alone. With the others, each exclusive grant ends with a write to the resource
// of its object, which rejects stale writes. Readers do not write.
type Fence string

// The fences.
const (
	NoFence       Fence = "none"
	RegisterFence Fence = "register" // the resource is a recipes.FencedRegister in this process
	ServerFence   Fence = "server"   // the resource is a znode next to the object, written with recipes.Protect
	// BothFences: each grant writes to two resources in this process: a recipes.FencedRegister, if it has a token, and one that accepts every
	// write.
	BothFences Fence = "both"
)

var fence = profiles.Field{Key: "fence", Role: profiles.Option, Type: profiles.OneOf, Axis: true, Example: "[none, server]",
	Words: []string{string(NoFence), string(RegisterFence), string(ServerFence)}, Doc: "What guards each holder's write at the end of its hold: " +
		"none, which writes nothing; register, in zkbench, which compares tokens; server, a znode written in one transaction with a check of the grant."}

// lockFence is the fence of an exclusive lock. The order of its grants shows which unfenced writes are stale.
var lockFence = profiles.Field{Key: fence.Key, Role: fence.Role, Type: fence.Type, Axis: true, Example: "[none, both]", Words: append(slices.Clone(fence.Words), string(BothFences)),
	Doc: fence.Doc + " With both the write goes to that register, if the grant has a token, and to one that accepts everything and counts the stale writes."}

// notRegister is Kind.Shared of a workload whose fence may be in this process.
func notRegister(p profiles.Profile, _ int) (problems []profiles.Problem) {
	if i := slices.IndexFunc(p.Words(fence), func(f string) bool { return Fence(f) == RegisterFence || Fence(f) == BothFences }); i >= 0 {
		problems = append(problems, profiles.Problem{Key: fence.Key, Index: i, Message: "a register is in one process, and the sessions are in several (use server)"})
	}
	return problems
}

// fenceable adds to variants a check of the profile's fence: only grants with tokens can write through one.
func fenceable[T any](all []recipes.Variant[T], variants []Variant) []Variant {
	for i, v := range all {
		if v.Tokens {
			continue
		}
		variants[i].Check = func(p profiles.Profile) (problems []profiles.Problem) {
			for n, f := range p.Words(fence) {
				if Fence(f) != NoFence && Fence(f) != BothFences {
					problems = append(problems, profiles.Problem{Key: fence.Key, Index: n, Message: fmt.Sprintf(
						"the grants of %s carry no token that a fence could compare (leave the variant out, or use none; a lock may use both)", v.Name)})
				}
			}
			return problems
		}
	}
	return variants
}

// fenceZnodes are the names of the resources' znodes.
var fenceZnodes = recipes.Znodes{Persistent: []string{`cell-#/resource-#`}}

// guarded holds the resources that a fence protects, one per object.
type guarded struct {
	fence     Fence
	tokens    bool // for BothFences: the grants have tokens
	dir       string
	registers []register // in this process
}

func newGuarded(l Load, objects int) *guarded {
	g := &guarded{fence: Fence(l.Word(fence)), dir: l.Dir}
	if g.fence == RegisterFence || g.fence == BothFences {
		g.registers = make([]register, objects)
	}
	return g
}

// on reports whether grants write at all.
func (g *guarded) on() bool { return g.fence != NoFence && g.fence != "" }

// compares reports whether their writes are fenced.
func (g *guarded) compares() bool { return g.on() && (g.fence != BothFences || g.tokens) }

// granted returns the place of a grant in the order of its object's grants, which is the order in which they became known.
func (g *guarded) granted(object uint32) (place int64) {
	if g == nil || g.fence != BothFences {
		return 0
	}
	return g.registers[object].granted.Add(1)
}

// unfenced returns how many stale writes the resources without a fence have accepted; false: there are no such resources.
func (g *guarded) unfenced() (stale int64, some bool) {
	for i := range g.registers {
		stale += g.registers[i].stale.Load()
	}
	return stale, g.fence == BothFences
}

func (g *guarded) path(object uint32) string { return fmt.Sprintf("%s/resource-%d", g.dir, object) }

// setup creates the znodes that are written; their directory exists.
func (g *guarded) setup(ctx context.Context, s zk.Session, objects int) error {
	if g.fence != ServerFence {
		return nil
	}
	for i := range uint32(objects) {
		if _, err := s.Create(ctx, g.path(i), nil, zk.Persistent); err != nil {
			return err
		}
	}
	return nil
}

// register is a resource in this process that records the order of the writes it accepted, together with a resource without a fence.
type register struct {
	recipes.FencedRegister
	mu      sync.Mutex
	order   int64
	latest  int64        // place of the latest grant that has written to the resource without a fence
	granted atomic.Int64 // grants
	stale   atomic.Int64 // writes that the resource without a fence accepted after one of a later grant
}

func (r *register) write(token int64, value []byte) (order int64, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.Write(token, value); err != nil {
		return 0, err
	}
	r.order++
	return r.order, nil
}

// writeUnfenced writes to the resource without a fence.
func (r *register) writeUnfenced(place int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if place < r.latest {
		r.stale.Add(1)
	}
	r.latest = max(r.latest, place)
}

// written is what holders write: the size of a small record. It is never modified.
var written = make([]byte, 64)

// write performs the write of a grant, which has the given place, and returns the write's place in the order of the resource; for a znode, that
// is the zxid.
func (g *guarded) write(ctx context.Context, s zk.Session, object uint32, place int64, grant recipes.Grant) (order int64, err error) {
	switch g.fence {
	case BothFences:
		g.registers[object].writeUnfenced(place)
		if !g.tokens {
			return place, nil
		}
		fallthrough
	case RegisterFence:
		return g.registers[object].write(grant.Token, written)
	}
	_, st, err := recipes.Protect(ctx, s, grant, g.path(object), written)
	return st.Mzxid, err
}

// protect does the work of a grant and records it. It does not check the grant first: a client that is paused after such a check would not
// notice either. Like the release after it, the write happens even when the run is cut.
func (j *holder) protect(ctx context.Context, grant recipes.Grant) {
	if !j.guarded.on() {
		return
	}
	if j.Work != nil {
		end, alive := j.Work(ctx)
		if !alive { // a client that died has written nothing
			return
		}
		defer end()
		defer j.Standing.Ends() // a client whose process is stopped while it holds has not written
	}
	w := metrics.Sample{Op: metrics.Write, Session: j.ID, Object: j.object, Token: grant.Token, Start: j.Origin.Now()}
	w.Due = w.Start
	wctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), j.Session.Timeout())
	defer cancel()
	order, err := j.guarded.write(wctx, j.observed, j.object, j.place, grant)
	w.End, w.Value = j.Origin.Now(), order
	switch {
	case errors.Is(err, recipes.ErrStale):
		w.Outcome = metrics.Lost
	case errors.Is(err, zk.ErrMaybeApplied):
		w.Outcome = metrics.InDoubt
	default:
		w.Outcome = outcome(context.WithoutCancel(ctx), err)
	}
	j.Recorder.Record(w)
}
