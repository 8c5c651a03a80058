package workloads

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// plain are the operations of a mix, named as in the mix.
var plain = []metrics.Op{metrics.GetData, metrics.SetData, metrics.Create, metrics.Delete, metrics.Exists, metrics.Children, metrics.Multi, metrics.Sync}

// Fields of the workload 'operations'.
var (
	mix = profiles.Field{Key: "mix", Type: profiles.WordShares, Axis: true, Words: opNames(plain), Example: "[{get: 100}, {get: 80, set: 20}]",
		Default: "{get: 80, set: 20}", Doc: "Weights of the operations: get, set, exists and sync are of a znode at the bottom of the tree; children lists, create adds to, " +
			"and delete removes from, a znode above these; multi sets several (batch)."}
	dataBytes = profiles.Field{Key: "size", Type: profiles.SizeDistribution, Axis: true, Example: "{uniform: [10, 1000]}", Default: "100", Max: 1e6,
		Doc: "Bytes of data of a znode that is set or created; all znodes start with some."}
	keys = profiles.Field{Key: "keys", Type: profiles.KeyPopularity, Axis: true, Example: "{zipf: 0.99}", Default: "uniform",
		Doc: "Which znodes the operations choose: all equally often, some far more often (the k-th in proportion to 1/k^zipf), or a hot set."}
	depth = profiles.Field{Key: "depth", Type: profiles.WholeNumber, Axis: true, Example: "3", Default: "1", Min: 1, Max: 10,
		Doc: "Levels of the tree of znodes."}
	fanOutOf = profiles.Field{Key: "fan_out", Type: profiles.WholeNumber, Axis: true, Example: "10", Default: "100", Min: 1, Max: 1e5,
		Doc: "Children of each znode of the tree, except on the lowest level, which has fan_out^depth znodes."}
	outstanding = profiles.Field{Key: "outstanding", Type: profiles.WholeNumber, Axis: true, Example: "[1, 100]", Default: "1", Min: 1, Max: 1e4,
		Doc: "Operations that a session may have in flight at a time."}
	batch = profiles.Field{Key: "batch", Type: profiles.WholeNumber, Example: "10", Default: "2", Min: 1, Max: 1000,
		Doc: "Znodes that a multi sets."}
)

func opNames(ops []metrics.Op) (names []string) {
	for _, op := range ops {
		names = append(names, op.String())
	}
	return names
}

// maxKeys bounds the tree: larger trees are what a prefill is for.
const maxKeys = 1e6

// OperationMixes returns the workload 'operations'.
func OperationMixes() Kind {
	k := Kind{
		Doc:     "requests of all kinds in shares, on a tree of znodes",
		Objects: "tree",
		Znodes: recipes.Znodes{
			Persistent: []string{`(OBJECT|n#)/(n#|new-#-#)`}, // the tree, and what a load adds to it
			Ephemeral:  []string{`(OBJECT|n#)/own-#-#`},
		},
		Workload: profiles.Workload{Name: "operations", Fields: []profiles.Field{mix, dataBytes, keys, depth, fanOutOf, outstanding, batch},
			Check: checkOperations},
	}
	for _, v := range []struct {
		mode zk.Mode
		name string
	}{{zk.Persistent, "persistent"}, {zk.Ephemeral, "ephemeral"}} {
		k.Variants = append(k.Variants, fixed(Variant{Name: v.name, Source: "ZooKeeper Programmer's Guide, The ZooKeeper Data Model", Doc: "what is created is " + v.name},
			func(l Load) Workload { return newOperations(v.mode, l) }))
	}
	return k
}

// checkOperations reports trees that are too large and requests that no server accepts.
func checkOperations(p profiles.Profile) (problems []profiles.Problem) {
	for _, point := range p.Points() {
		v := point.Values()
		if n := leaves(v.Int(depth), v.Int(fanOutOf)); n > maxKeys {
			problems = append(problems, profiles.Problem{Key: fanOutOf.Key, Message: fmt.Sprintf("%d^%d znodes are too many (at most %d)", v.Int(fanOutOf), v.Int(depth), int(maxKeys))})
		} else if v.Int(batch) > n && v.Shares(mix).Of(metrics.Multi.String()) > 0 {
			problems = append(problems, profiles.Problem{Key: batch.Key, Message: fmt.Sprintf("a multi of %s needs as many (fan_out^depth), got %d", phrase.Count(v.Int(batch), "znode"), n)})
		}
		if bytes := v.Int(batch) * v.Sizes(dataBytes).Largest(); bytes > 1e6 && v.Shares(mix).Of(metrics.Multi.String()) > 0 {
			problems = append(problems, profiles.Problem{Key: batch.Key, Message: fmt.Sprintf("a multi of %s with up to %s of data each is larger than a request may be (1 MB)",
				phrase.Count(v.Int(batch), "znode"), phrase.Bytes(int64(v.Sizes(dataBytes).Largest())))})
		}
		if creates, deletes := v.Shares(mix).Of(metrics.Create.String()), v.Shares(mix).Of(metrics.Delete.String()); deletes > creates {
			problems = append(problems, profiles.Problem{Key: mix.Key, Message: "more deletes than creates: a session deletes only what it has created (create at least as many)"})
		}
		if len(problems) > 0 {
			return problems
		}
	}
	return nil
}

// leaves returns fanOut^depth, or some number above maxKeys if it is larger than that.
func leaves(depth, fanOut int) int {
	n := 1
	for range depth {
		if n *= fanOut; n > maxKeys {
			return n
		}
	}
	return n
}

// newOperations returns the workload 'operations': each session has up to outstanding requests in flight, of kinds drawn from the mix.
func newOperations(mode zk.Mode, l Load) *operations {
	w := &operations{Load: l, mode: mode, places: places{l.Dir, "tree", 1}, depth: l.Int(depth), fanOut: l.Int(fanOutOf), n: leaves(l.Int(depth), l.Int(fanOutOf)),
		sizes: l.Sizes(dataBytes), state: make([]requesterState, l.Sessions)}
	w.tree = w.path(0)
	w.draw = l.Popularity(keys).Of(w.n)
	if w.n <= mostLeaves {
		for i := range w.n {
			w.leaves = append(w.leaves, w.at(i, w.depth))
		}
	}
	shares := l.Shares(mix)
	for _, op := range plain {
		if share := shares.Of(op.String()); share > 0 {
			w.ops, w.share = append(w.ops, op), append(w.share, share)
		}
	}
	return w
}

type operations struct {
	Load
	places
	mode      zk.Mode
	tree      string   // its root
	depth     int      // levels of the tree
	fanOut, n int      // children of each znode above the lowest level; znodes of the lowest level
	leaves    []string // paths of the lowest level; nil if there are more than mostLeaves
	draw      func(*rand.Rand) int
	sizes     profiles.Sizes
	ops       []metrics.Op // of the mix
	share     []float64    // of each
	state     []requesterState
}

// requesterState is what a seat keeps across its sessions.
type requesterState struct {
	sessions int            // number of sessions so far
	created  int            // znodes that it has tried to create
	pending  sync.WaitGroup // requests in flight
}

// shareOf returns the share of an operation in the mix.
func (w *operations) shareOf(op metrics.Op) float64 {
	if i := slices.Index(w.ops, op); i >= 0 {
		return w.share[i]
	}
	return 0
}

// mostLeaves is how many paths are kept instead of being made for each request: as many as are likely to stay in a cache.
const mostLeaves = 4096

// leaf returns the path of a znode of the lowest level, dir that of its parent. Objects are numbered: first the leaves, then the dirs.
func (w *operations) leaf(key int) string {
	if w.leaves != nil {
		return w.leaves[key]
	}
	return w.at(key, w.depth)
}
func (w *operations) dir(key int) string { return w.at(key/w.fanOut, w.depth-1) }
func (w *operations) dirObject(key int) uint32 {
	return uint32(w.n + key/w.fanOut)
}

// at returns the path of a znode by its number within a level.
func (w *operations) at(number, level int) string {
	var room [128]byte
	return string(w.appendPath(room[:0], number, level))
}

func (w *operations) appendPath(b []byte, number, level int) []byte {
	if level == 0 {
		return append(b, w.tree...)
	}
	b = append(w.appendPath(b, number/w.fanOut, level-1), "/n"...)
	return strconv.AppendInt(b, int64(number%w.fanOut), 10)
}

// Setup creates the tree, one level after the other.
func (w *operations) Setup(ctx context.Context, s zk.Session) error {
	if err := w.make(ctx, s); err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(uint64(w.n), 0))
	return zk.InBatches(ctx, s, func(yield func(zk.Op) bool) {
		number := 1
		for level := 1; level <= w.depth; level++ {
			number *= w.fanOut
			for i := range number {
				var data []byte
				if level == w.depth {
					data = make([]byte, w.sizes.Sample(r))
				}
				if !yield(zk.CreateOp(w.at(i, level), data, zk.Persistent)) {
					return
				}
			}
		}
	})
}

// Checks returns the checks of what ZooKeeper promises about requests.
func (w *operations) Checks() []check.Check {
	var all []check.Check
	if w.writes() > 0 {
		all = append(all, check.WriteOrder(), check.NoLostWrites())
	}
	all = append(all, check.SessionOrder())
	if w.shareOf(metrics.SetData)+w.shareOf(metrics.Multi) > 0 {
		all = append(all, check.LinearizableZnodes(opinion))
	}
	if w.mode == zk.Ephemeral && w.shareOf(metrics.Create) > 0 {
		all = append(all, check.NothingLeft())
	}
	return all
}

// opinion is how long Porcupine may search for each znode.
const opinion = 500 * time.Millisecond

// writes returns the share of the operations that write.
func (w *operations) writes() float64 {
	return w.shareOf(metrics.SetData) + w.shareOf(metrics.Create) + w.shareOf(metrics.Delete) + w.shareOf(metrics.Multi)
}

// audited is the number of znodes that are read after the run.
const audited = 5000

// Inspect reads znodes to find lost writes, and looks for ephemeral znodes of sessions that have closed.
func (w *operations) Inspect(ctx context.Context, s zk.Session, r metrics.Recorder) error {
	if err := zk.CatchUp(ctx, s, w.tree); err != nil {
		return err
	}
	audit := func(object int, path string, token func(zk.Stat) int64) error {
		reply := &zk.Reply{Context: ctx}
		st, there, err := s.Exists(reply, path)
		if err == nil && there {
			r.Record(metrics.Sample{Op: metrics.Tally, Object: uint32(object), Token: token(st), Zxid: reply.Zxid, Value: check.Seen(0, st.Version)})
		}
		return err
	}
	if w.shareOf(metrics.SetData)+w.shareOf(metrics.Multi) > 0 {
		for key := 0; key < w.n; key += 1 + w.n/audited {
			if err := audit(key, w.leaf(key), func(st zk.Stat) int64 { return st.Mzxid }); err != nil {
				return err
			}
		}
	}
	if w.shareOf(metrics.Create) > 0 {
		for dir := 0; dir < w.n/w.fanOut; dir += 1 + w.n/w.fanOut/audited {
			if err := audit(w.n+dir, w.dir(dir*w.fanOut), func(st zk.Stat) int64 { return st.Pzxid }); err != nil {
				return err
			}
		}
	}
	if w.mode != zk.Ephemeral || w.shareOf(metrics.Create) == 0 {
		return nil
	}
	for dir := range w.n / w.fanOut {
		names, st, err := s.Children(ctx, w.dir(dir*w.fanOut))
		if err != nil {
			return err
		}
		left := metrics.Sample{Op: metrics.Left, Object: uint32(w.n + dir), Token: st.Pzxid}
		if slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, created[zk.Ephemeral]) }) {
			left.Outcome = metrics.Failed
		}
		r.Record(left)
	}
	return nil
}

// InspectOpen does nothing: there is nothing to inspect while the sessions are open.
func (w *operations) InspectOpen(context.Context, zk.Session, metrics.Recorder) error { return nil }

// Await waits for the in-flight requests of a session.
func (w *operations) Await(session uint32) { w.state[session].pending.Wait() }

// Measures returns a measure for each operation of the mix.
func (w *operations) Measures() []Measure {
	var all []Measure
	for _, op := range w.ops {
		all = append(all, operation(op, "requests"))
	}
	return all
}

// Per returns a request as the unit of cost: one operation of any kind.
func (w *operations) Per() (ops []metrics.Op, name string) { return w.ops, "request" }

// Cost returns the cost of one operation of the mix. The names and bytes listed are known only if nothing is created, the bytes read only if the
// mean size is.
func (w *operations) Cost() Cost {
	c := Cost{Writes: w.writes(), Reads: 1 - w.writes(), Lists: w.shareOf(metrics.Children), Events: 0}
	if w.shareOf(metrics.Create) > 0 && c[Lists] > 0 {
		return c
	}
	bytes := 0.0
	for i := range min(w.fanOut, w.n) {
		bytes += 4 + float64(len("n")+len(strconv.Itoa(i)))
	}
	c[Names] = c[Lists] * float64(w.fanOut)
	if mean, exact := w.sizes.Expected(); exact {
		c[Bytes] = c[Lists]*bytes + w.shareOf(metrics.GetData)*mean
	}
	return c
}

// Draw draws the kind of the next operation.
func (w *operations) Draw(_ uint32, r *rand.Rand) metrics.Op {
	at := r.Float64()
	for i, share := range w.share {
		if at -= share; at < 0 {
			return w.ops[i]
		}
	}
	return w.ops[len(w.ops)-1]
}
