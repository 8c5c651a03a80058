package workloads

import (
	"context"
	"fmt"
	"hash/fnv"
	"iter"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/internal/spill"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// The fields that only queues have.
var (
	producers = profiles.Field{Key: "producers", Type: profiles.WholeNumber, Axis: true, Example: "[20, 50, 80]", Default: "50", Max: 100,
		Doc: "Percent of the sessions of each queue that put items; the others take them. With two or more, each side gets at least one, unless it is 0 or 100."}
	priorities = profiles.Field{Key: "priorities", Type: profiles.WholeNumber, Example: "100", Default: "10", Min: 1, Max: 1e9,
		Doc: "How many priorities there are; each item draws one."}
	delay = profiles.Field{Key: "delay", Type: profiles.DurationDistribution, Example: "{exponential: 100ms}", Default: "0s", Max: float64(24 * time.Hour),
		Doc: "From the put of an item to when it may be taken; each item draws one."}
	payload = profiles.Field{Key: "payload", Type: profiles.WholeNumber, Axis: true, Aside: true, Example: "1000", Default: "100", Min: identityBytes, Max: 1e6,
		Doc: "Bytes of each item; the first 16 identify it."}
	bound = profiles.Field{Key: "bound", Type: profiles.WholeNumber, Axis: true, Example: "[10, 1000]", Default: "0", Max: 1e6,
		Doc: "Items that a queue may hold before its producers wait; each producer may exceed it by one. 0: unbounded."}
	preload = profiles.Field{Key: "preload", Type: profiles.WholeNumber, Example: "5000", Default: "0", Max: 1e6,
		Doc: "Items in each queue before the load starts."}
)

// Queues is the workload 'queue' over a catalogue of queues.
func Queues(all []recipes.Variant[recipes.Queue]) Kind {
	return shareable(queues("queue", "some sessions put items, the others take them and work on them", all, NewQueue))
}

// PriorityQueues is the workload 'priority-queue' over a catalogue of priority queues.
func PriorityQueues(all []recipes.Variant[recipes.Queue]) Kind {
	return shareable(queues("priority-queue", "some sessions put items of several priorities, the others take them and work on them", all, NewPriorityQueue, priorities))
}

// shareable are queues whose items belong to the queue alone. Those of a delay queue are due by the clock of the session that puts them.
func shareable(k Kind) Kind {
	k.Shared = anywhere
	return k
}

// DelayQueues is the workload 'delay-queue' over a catalogue of delay queues.
func DelayQueues(all []recipes.Variant[recipes.Queue]) Kind {
	return queues("delay-queue", "some sessions put items that may be taken later, the others take them then and work on them", all, NewDelayQueue, delay)
}

func queues(name, doc string, all []recipes.Variant[recipes.Queue], make func(recipes.Variant[recipes.Queue], recipes.Options, Load) Workload,
	own ...profiles.Field) Kind {
	fields := slices.Concat([]profiles.Field{described(objects, "Queues; the sessions are spread over them evenly."), producers}, own,
		[]profiles.Field{payload, bound, preload, described(hold, "How long a consumer works on an item.")})
	return Kind{
		Doc:  doc,
		Busy: &Busy{"consumer", "of work on each", "be taken", "lower the rate or producers, raise sessions, or shorten hold", hold},
		Holders: func(l Load) float64 {
			return float64(l.Sessions - places{n: l.Objects()}.firsts(l.Share(producers), l.Sessions))
		},
		Workload: profiles.Workload{Name: name, Alias: map[string]string{"queues": objects.Key}, Fields: fields,
			Check: func(p profiles.Profile) []profiles.Problem {
				problems := append(crowded(p, 2, "queue"), unbounded(p)...)
				if i := slices.Index(p.Ints(producers), 0); i >= 0 && p.Values().Int(preload) == 0 {
					problems = append(problems, profiles.Problem{Key: producers.Key, Index: i,
						Message: "without a producer there is nothing to take (add preload, or a producer)"})
				}
				return problems
			}},
		Objects: "queue",
		Znodes: recipes.Znodes{
			Persistent: []string{`cell-#/OBJECT-producers`, `OBJECT/entries-producers`, // of exact offers
				`OBJECT/(entries|taken)`, `(OBJECT|entries)/(qn-SEQ|queue-.*SEQ|entry-[0-9]{3}-SEQ)`}, // items last
			Ephemeral: []string{`taken/.*SEQ`, `(OBJECT|entries)-producers/GUID`},
		},
		Variants: variantsOf(all, queueOptions, make),
	}
}

// queueOptions are those of the queues: of all how an item is put, and of some how they come by the names of the items.
func queueOptions(v recipes.Variant[recipes.Queue]) []Option {
	all := slices.Concat(
		word("offer", []string{"at-least-once", "exact"}, func(o *recipes.Options, value string) { o.Exact = value == "exact" }),
		[]Option{boolean("ephemeral-items", func(o *recipes.Options, on bool) { o.EphemeralItems = on })},
		word("list", v.Lists, func(o *recipes.Options, value string) { o.List = value }))
	if v.Window {
		all = append(all, positive("window", "number", func(o *recipes.Options, n int) { o.Window = n }))
	}
	return all
}

// NewQueue returns the workload 'queue': producers put items and consumers take them, work on them and, where the queue has claims,
// finish them. What is left after the run is read, so that every item is accounted for.
func NewQueue(v recipes.Variant[recipes.Queue], o recipes.Options, l Load) Workload {
	return newQueue(v, o, l)
}

// NewPriorityQueue returns the workload 'priority-queue': as NewQueue, with items of several priorities.
func NewPriorityQueue(v recipes.Variant[recipes.Queue], o recipes.Options, l Load) Workload {
	w := newQueue(v, o, l)
	w.priorities = l.Int(priorities)
	return w
}

// NewDelayQueue returns the workload 'delay-queue': as NewQueue, with items that may be taken later.
func NewDelayQueue(v recipes.Variant[recipes.Queue], o recipes.Options, l Load) Workload {
	w := newQueue(v, o, l)
	w.delay = l.Distribution(delay).Sample
	return w
}

func newQueue(v recipes.Variant[recipes.Queue], o recipes.Options, l Load) *queue {
	o.MaxItems = l.Int(bound)
	if l.Foreign != nil {
		v.Claims, v.FIFO = l.Foreign.Claims, l.Foreign.FIFO
	}
	w := &queue{driving: drive(v, o, l), places: places{l.Dir, "queue", l.Objects()}, stamp: stampOf(l), producers: l.Share(producers),
		payload: l.Int(payload), preload: l.Int(preload), items: make([]int64, l.Sessions+1)}
	w.filled = slices.ContainsFunc(w.sessions(), w.produces)
	w.emptied = slices.ContainsFunc(w.sessions(), func(id uint32) bool { return !w.produces(id) })
	w.drained = make([][]metrics.Sample, w.n)
	w.passed = w.filled && w.emptied && (!l.Shared || l.Merged)
	return w
}

type queue struct {
	driving[recipes.Queue]
	places
	// producers is the share of the sessions of each queue that put items; the others take them. Unless it is 0 or 1, each queue with two
	// sessions or more has one of each at least.
	producers  float64
	payload    int                            // bytes of an item, at least 16: its identity
	preload    int                            // items in each queue before the load starts
	priorities int                            // of a priority queue: each item draws one of so many, from -n/2 on; 0: items have none
	delay      func(*rand.Rand) time.Duration // how long after it was put an item may be taken; nil: items have no time
	stamp      uint64                         // the items of this cell begin with it
	items      []int64                        // that each session has made, and in the end those that are there before the load
	preloaded  []metrics.Sample
	filled     bool // there are sessions that put
	emptied    bool // there are sessions that take
	passed     bool // both, so that items pass through this process
	inQueue    inQueue
	told       sync.Once // the history of what is preloaded
	// Of a driver's queues:
	balance balance
	drained [][]metrics.Sample // what was found to be left, by object; nil: nobody has looked
	lost    atomic.Bool        // a session has ended that was not closed
}

// stampOf is what the items of a cell begin with. Processes that share the cell have one.
func stampOf(l Load) uint64 {
	if !l.Shared {
		return rand.Uint64()
	}
	h := fnv.New64a()
	h.Write([]byte(l.Dir))
	return h.Sum64()
}

// claims reports whether items are claimed before they are removed.
func (w *queue) claims() bool { return w.variant.Claims }

// outOp is the operation that takes an item for good.
func (w *queue) outOp() metrics.Op {
	if w.claims() {
		return metrics.Finish
	}
	return metrics.Take
}

// The directories of a queue whose items are claimed.
const (
	entriesDir = "/entries"
	takenDir   = "/taken"
)

func (w *queue) itemsDir(object uint32) string {
	if w.claims() {
		return w.path(object) + entriesDir
	}
	return w.path(object)
}

// Setup makes the queues' directories and what is in them before the load.
func (w *queue) Setup(ctx context.Context, s zk.Session) error {
	var inside []string
	if w.claims() && w.Foreign == nil {
		inside = []string{entriesDir, takenDir}
	}
	if err := w.make(ctx, s, inside...); err != nil {
		return err
	}
	if w.Foreign != nil {
		return w.fillDriven(ctx, func(s zk.Session) error { return w.fill(ctx, s) })
	}
	return w.fill(ctx, s)
}

// fill puts what is in the queues before the load.
func (w *queue) fill(ctx context.Context, s zk.Session) error {
	r := rand.New(rand.NewPCG(1, uint64(w.preload)))
	o := w.options
	o.MaxItems, o.Exact = 0, false // what is there before is no matter of the bound, and no markers are to be left
	for object := range uint32(w.n) {
		q := w.variant.New(s, w.path(object), o)
		for range w.preload {
			it, value := w.item(r, w.Sessions, 0)
			it, err := q.Put(ctx, it)
			if err != nil {
				return fmt.Errorf("preload: %w", err)
			}
			at := time.Duration(len(w.preloaded)) // before the load, and one after the other
			w.preloaded = append(w.preloaded, metrics.Sample{Op: metrics.Put, Session: metrics.Everybody, Object: object, Value: value, Token: it.Czxid,
				Due: at, Start: at, End: at})
			w.account(w.preloaded[len(w.preloaded)-1])
		}
	}
	return nil
}

// Checks are the promises of the variant, without those of which a load that nobody takes from can give no evidence.
func (w *queue) Checks() []check.Check {
	if w.Foreign != nil {
		return w.drivenChecks()
	}
	checks := []check.Check{check.Conservation(w.outOp())}
	if w.claims() || w.options.Exact {
		checks = append(checks, check.NothingLeft())
	}
	if !w.has(metrics.Take) {
		return checks
	}
	switch {
	case w.claims():
		checks = append(checks, check.Claims())
	case w.delay != nil:
		return append(checks, check.NotBefore(dueOf), check.Priority(priorityOf, w.options.List == recipes.ListSynced),
			check.DelayLiveness(w.Stall, dueOf))
	case w.priorities > 0:
		checks = append(checks, check.Priority(priorityOf, w.options.List == recipes.ListSynced))
	case w.variant.FIFO && w.options.Window < 2:
		checks = append(checks, check.DeliveryOrder())
	}
	return append(checks, check.QueueLiveness(w.Stall))
}

// Notes tell of what is allowed and costs all the same: items that a consumer got again, and better ones that came too late to be seen.
func (w *queue) Notes(history iter.Seq[metrics.Sample], room *spill.Room) []string {
	var notes []string
	if w.priorities > 0 && !w.Shared {
		if n, of := check.InversionsOf(history, room, priorityOf); of > 0 {
			notes = append(notes, fmt.Sprintf("%d of %d items were taken while a better one had arrived after the list", n, of))
		}
	}
	if w.delay != nil {
		if late := lateness(history); late != "" {
			notes = append(notes, late)
		}
	}
	delivered, again, left, doubts := map[int64]bool{}, 0, 0, 0
	for s := range history {
		switch {
		case s.Op == metrics.Take && s.Outcome == metrics.InDoubt && s.Value == 0:
			doubts++
		case s.Op == metrics.Take && s.Outcome == metrics.OK:
			if delivered[s.Value] {
				again++
			}
			delivered[s.Value] = true
		case s.Op == metrics.Remain && s.Value != 0:
			left++
		}
	}
	if again > 0 {
		notes = append(notes, fmt.Sprintf("%d deliveries were of an item that had been delivered before", again))
	}
	if doubts > 0 {
		notes = append(notes, fmt.Sprintf("%d takes are in doubt: each may have removed an item that nobody saw", doubts))
	}
	if left > 0 {
		notes = append(notes, fmt.Sprintf("%d items were left at the end", left))
	}
	return notes
}

// Measures are to take and to put, as far as there are sessions that do. How long a consumer waited for something to take is no time of a queue that is
// filled: an item's way through it is.
func (w *queue) Measures() []Measure {
	takes, puts := operation(metrics.Take, "takes"), operation(metrics.Put, "puts")
	takes.Offered = !w.has(metrics.Put)
	var all []Measure
	if w.has(metrics.Take) {
		takes.Idles = w.has(metrics.Put)
		takes.Timed = !takes.Idles
		all = append(all, takes)
	}
	if w.has(metrics.Put) {
		puts.Timed = !w.has(metrics.Take) || w.Shared && !w.Merged
		all = append(all, puts)
	}
	if w.passed {
		all = append(all, Measure{Op: metrics.PutToTake, Role: Part, Unit: "items", Timed: true, Caption: "Put to take is from when the put of an item " +
			"was due until the item is first taken; a delay of the item is part of it. Items that were there before the " +
			"load are left out; those not taken by the end are lower bounds."})
	}
	if w.has(metrics.Take) && !w.claims() {
		all = append(all, phased(metrics.Choose, metrics.Remove)...)
	}
	return w.seen(all)
}

// has tells whether there are sessions that put, or that take.
func (w *queue) has(op metrics.Op) bool {
	return op == metrics.Put && w.filled || op == metrics.Take && w.emptied
}

func (w *queue) sessions() []uint32 {
	all := make([]uint32, w.Sessions)
	for i := range all {
		all[i] = uint32(i)
	}
	return all
}

// produces tells whether a session puts.
func (w *queue) produces(id uint32) bool { return w.first(w.producers, id, w.Sessions) }

// IsDriven tells whether the rate is offered to a session: to the producers, or to all when all take.
func (w *queue) IsDriven(id uint32) bool { return !w.has(metrics.Put) || w.produces(id) }

// Cost is that of an item that one consumer takes from a queue in which it is, and of its put. Consumers that go for the same item, or
// that wait for one, add to it; how many names a list has is a matter of the backlog.
func (w *queue) Cost() Cost {
	puts, takes := 1.0, 1.0
	if !w.has(metrics.Take) {
		takes = 0
	}
	if !w.has(metrics.Put) {
		puts = 0
	}
	c := Cost{Writes: puts + takes, Reads: takes, Lists: takes} // a create, a delete; the data of the item
	switch {
	case w.claims(): // claim, and both deletes in one; two lists
		c[Writes], c[Lists] = puts+2*takes, 2*takes
	case w.options.List == recipes.ListCached:
		delete(c, Lists) // one for as many items as it has
		return w.bounded(c, puts)
	case w.options.List == recipes.ListSynced:
		c[Writes] += takes
	case w.options.List == recipes.ListWatched: // each removal, one's own too, spends the watch
		c[Events] = takes
	}
	c[Reads] += c[Lists]
	return w.bounded(c, puts)
}

// bounded adds the look whether there is room.
func (w *queue) bounded(c Cost, puts float64) Cost {
	if w.options.MaxItems > 0 {
		c[Reads] += puts
	}
	return c
}

// Least of an item that was taken is a read of the item and a list, unless one list serves many items; with claims another list of these.
func (w *queue) Least() Cost {
	if !w.has(metrics.Take) {
		return Cost{}
	}
	lists := 1.0
	switch {
	case w.claims():
		lists = 2
	case w.options.List == recipes.ListCached, w.options.List == recipes.ListWatched:
		lists = 0
	}
	return Cost{Lists: lists, Reads: lists + 1}
}

// Delays reports whether items have a delay.
func (w *queue) Delays() bool { return w.delay != nil }

// InspectOpen records for each queue with claims whether one is left. A producer keeps its marker for as long as its session lives.
func (w *queue) InspectOpen(ctx context.Context, s zk.Session, r metrics.Recorder) error {
	if !w.claims() || w.Foreign != nil {
		return nil
	}
	return w.look(ctx, s, r, takenDir)
}

// Inspect reads the items that are left.
func (w *queue) Inspect(ctx context.Context, s zk.Session, r metrics.Recorder) error {
	if w.Foreign != nil {
		return w.inspectDriven(ctx, s, r)
	}
	var err error
	switch {
	case w.claims():
		err = w.look(ctx, s, r, takenDir)
	case w.options.Exact:
		err = w.lookAtMarkers(ctx, s, r)
	default:
		err = zk.CatchUp(ctx, s, w.dir)
	}
	if err != nil {
		return err
	}
	for object := range uint32(w.n) {
		if err := w.readLeft(ctx, s, r, object); err != nil {
			return err
		}
	}
	return nil
}

// lookAtMarkers records for each queue whether a producer's marker is left.
func (w *queue) lookAtMarkers(ctx context.Context, s zk.Session, r metrics.Recorder) error {
	if err := zk.CatchUp(ctx, s, w.dir); err != nil {
		return err
	}
	for object := range uint32(w.n) {
		st, _, err := s.Exists(ctx, w.path(object)+"-producers")
		if err != nil {
			return err
		}
		left := metrics.Sample{Op: metrics.Left, Object: object, Token: st.Pzxid}
		if st.NumChildren > 0 {
			left.Outcome = metrics.Failed
		}
		r.Record(left)
	}
	return nil
}
