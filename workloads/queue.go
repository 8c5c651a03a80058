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
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/metrics/spill"
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
	bound = profiles.Field{Key: "bound", Zero: "no bound", Type: profiles.WholeNumber, Axis: true, Example: "[10, 1000]", Default: "0", Max: 1e6,
		Doc: "Items that a queue may hold before its producers wait; each producer may exceed it by one. 0: unbounded."}
	preload = profiles.Field{Key: "preload", Type: profiles.WholeNumber, Example: "5000", Default: "0", Max: 1e6,
		Doc: "Items in each queue before the load starts."}
)

// Queues returns the workload 'queue' for a catalogue of queues.
func Queues(all []recipes.Variant[recipes.Queue]) Kind {
	return shareable(queues("queue", "some sessions put items, the others take them and work on them", all, NewQueue))
}

// PriorityQueues returns the workload 'priority-queue' for a catalogue of priority queues.
func PriorityQueues(all []recipes.Variant[recipes.Queue]) Kind {
	return shareable(queues("priority-queue", "some sessions put items of several priorities, the others take them and work on them", all, NewPriorityQueue, priorities))
}

// shareable marks queues whose sessions may run in several processes. Those of delay queues may not: their items are due
// by the clock of the session that puts them.
func shareable(k Kind) Kind {
	k.Shared = anywhere
	return k
}

// DelayQueues returns the workload 'delay-queue' for a catalogue of delay queues.
func DelayQueues(all []recipes.Variant[recipes.Queue]) Kind {
	return queues("delay-queue", "some sessions put items that may be taken later, the others take them then and work on them", all, NewDelayQueue, delay)
}

func queues(name, doc string, all []recipes.Variant[recipes.Queue], build func(recipes.Variant[recipes.Queue], recipes.Options, Load) Workload,
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
			Persistent: []string{`cell-#/OBJECT-producers`, `OBJECT/entries-producers`, // created by exact offers
				`OBJECT/(entries|taken)`, `(OBJECT|entries)/(qn-SEQ|queue-.*SEQ|entry-[0-9]{3}-SEQ)`}, // items last
			Ephemeral: []string{`taken/.*SEQ`, `(OBJECT|entries)-producers/GUID`},
		},
		Variants: variantsOf(all, queueOptions, build),
	}
}

// queueOptions returns the options of a queue: for all, how an item is put; for some, how they obtain the names of the items.
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

// NewQueue returns the workload 'queue': producers put items; consumers take them, work on them and, if the queue has claims, finish them. Items
// left after the run are read, so that every item is accounted for.
func NewQueue(v recipes.Variant[recipes.Queue], o recipes.Options, l Load) Workload {
	return newQueue(v, o, l)
}

// NewPriorityQueue returns the workload 'priority-queue': like NewQueue, with items of several priorities.
func NewPriorityQueue(v recipes.Variant[recipes.Queue], o recipes.Options, l Load) Workload {
	w := newQueue(v, o, l)
	w.priorities = l.Int(priorities)
	return w
}

// NewDelayQueue returns the workload 'delay-queue': like NewQueue, with items that may be taken only later.
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
	// producers is the share of the sessions of each queue that put items; the others take them. Unless it is 0 or 1, each queue with two or
	// more sessions has at least one of each.
	producers  float64
	payload    int                            // bytes of an item, at least 16 for its identity
	preload    int                            // items in each queue before the load starts
	priorities int                            // for a priority queue: number of priorities that items draw from, starting at -n/2; 0: items have none
	delay      func(*rand.Rand) time.Duration // delay from the put of an item until it may be taken; nil: items have no delay
	stamp      uint64                         // prefix of the items of this cell
	items      []int64                        // number of items that each session has made; the last element counts the preloaded ones
	preloaded  []metrics.Sample
	filled     bool // there are sessions that put
	emptied    bool // there are sessions that take
	passed     bool // both, and in this process, so that put-to-take times can be measured
	inQueue    inQueue
	recordOnce sync.Once // records the preloaded items
	// For queues of a driver:
	balance balance
	drained [][]metrics.Sample // items found to be left, by object; nil: not inspected yet
	lost    atomic.Bool        // a session has ended without being closed
}

// stampOf returns the prefix of a cell's items. All processes that share the cell get the same one.
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

// outOp returns the operation that takes an item for good.
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

// Setup creates the queues' directories and preloads items.
func (w *queue) Setup(ctx context.Context, s zk.Session) error {
	var inside []string
	if w.claims() && w.Foreign == nil {
		inside = []string{entriesDir, takenDir}
	}
	if err := w.make(ctx, s, inside...); err != nil {
		return err
	}
	if w.Foreign != nil {
		return w.fillDriver(ctx, func(s zk.Session) error { return w.fill(ctx, s) })
	}
	return w.fill(ctx, s)
}

// fill preloads the queues.
func (w *queue) fill(ctx context.Context, s zk.Session) error {
	r := rand.New(rand.NewPCG(1, uint64(w.preload)))
	o := w.options
	o.MaxItems, o.Exact = 0, false // the bound does not apply to preloaded items, and they must leave no markers
	for object := range uint32(w.n) {
		q := w.variant.New(s, w.path(object), o)
		for range w.preload {
			it, value := w.item(r, w.Sessions, 0)
			it, err := q.Put(ctx, it)
			if err != nil {
				return fmt.Errorf("preload: %w", err)
			}
			at := time.Duration(len(w.preloaded)) // before the load, one after the other
			w.preloaded = append(w.preloaded, metrics.Sample{Op: metrics.Put, Session: metrics.Everybody, Object: object, Value: value, Token: it.Czxid,
				Due: at, Start: at, End: at})
			w.account(w.preloaded[len(w.preloaded)-1])
		}
	}
	return nil
}

// Checks returns the checks of the variant's promises, except those for which a load without takes gives no evidence.
func (w *queue) Checks() []check.Check {
	if w.Foreign != nil {
		return w.driverChecks()
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

// Notes reports what is allowed but costly: items that were delivered again, and better items that arrived too late to be seen.
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

// Measures returns the measures of takes and puts, as far as there are sessions that do them. If a queue has producers, the time that a consumer
// waited for an item is not a time of the queue: the time from put to take is.
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
		all = append(all, Measure{Op: metrics.PutToTake, Role: Part, Unit: "items", Timed: true, Question: "How long does an item take from put to take?", Caption: "Put to take is from when the put of an item " +
			"was due until the item is first taken; a delay of the item is part of it. Items that were there before the " +
			"load are left out; those not taken by the end are lower bounds."})
	}
	if w.has(metrics.Take) && !w.claims() {
		all = append(all, phased(metrics.Choose, metrics.Remove)...)
	}
	return w.seen(all)
}

// has reports whether any session puts, or takes.
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

// produces reports whether a session puts.
func (w *queue) produces(id uint32) bool { return w.first(w.producers, id, w.Sessions) }

// IsPaced reports whether the rate is offered to a session: it is offered to the producers, or to all sessions if all take.
func (w *queue) IsPaced(id uint32) bool { return !w.has(metrics.Put) || w.produces(id) }

// Cost returns the cost of an item that one consumer takes from a queue that holds it, including its put. Consumers that compete for the same
// item or wait for one add to it. The number of names in a list depends on the backlog.
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
		delete(c, Lists) // one list serves as many items as it has names
		return w.bounded(c, puts)
	case w.options.List == recipes.ListSynced:
		c[Writes] += takes
	case w.options.List == recipes.ListWatched: // each removal, one's own too, triggers the watch
		c[Events] = takes
	}
	c[Reads] += c[Lists]
	return w.bounded(c, puts)
}

// bounded adds the check whether there is room.
func (w *queue) bounded(c Cost, puts float64) Cost {
	if w.options.MaxItems > 0 {
		c[Reads] += puts
	}
	return c
}

// Least returns the minimum cost of an item that was taken: a read of the item and a list, unless one list serves many items; with claims, also
// a list of the claims.
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

// InspectOpen records for each queue with claims whether a claim is left. It ignores producers' markers, which live as long as their sessions.
func (w *queue) InspectOpen(ctx context.Context, s zk.Session, r metrics.Recorder) error {
	if !w.claims() || w.Foreign != nil {
		return nil
	}
	return w.look(ctx, s, r, takenDir)
}

// Inspect reads the items that are left.
func (w *queue) Inspect(ctx context.Context, s zk.Session, r metrics.Recorder) error {
	if w.Foreign != nil {
		return w.inspectDriver(ctx, s, r)
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
