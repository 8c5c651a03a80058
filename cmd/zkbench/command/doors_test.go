package command

import (
	"time"

	"github.com/zkbench/zkbench/zk"
)

// frontDoor is one cell of a built-in profile, with the profile's own times, and the defects that run in it.
type frontDoor struct {
	workload, profile string
	cell              []string // one value on each axis of the profile
	catalogues        []string // of package broken
	defects           []defective
}

// defective is a defect of one of the catalogues, without the common prefix of the names, and what it needs.
type defective struct {
	name string
	circumstance
}

// patient is a deadline longer than the bound of liveness that always holds, two session timeouts: on a busy machine there may be no other evidence.
const patient = "deadline=25s"

// lowestDies is a double barrier whose first member by name, which is not known beforehand, dies together with most others while some members compute
// and some have left. Once is enough: even if the fault comes too early or spares that member in some cells, it does not in all of them.
var lowestDies = with("clients=30", "barriers=2", "repetitions=6", "hold={exponential: 1s}", patient, dying(27))

// frontDoors lists every deliberately broken recipe. TestEveryDefectGoesThroughTheFrontDoor checks that it is complete.
var frontDoors = []frontDoor{
	{"lock", "quickstart", []string{"sessions=10"}, []string{"Locks"}, []defective{
		{name: "no-wait"},
		{"no-recheck", with("deadline=60ms")},
		{"gone-holds", with().meddling(deletesWaiters("lock-0"))},
		{"lost-watch", with(expiring(0, 9))},
		{"blind-holder", with("session_timeout=4s", "hold=20s", expiring(0, 9))},
		{name: "string-order"},
		{"number-order", with("hold=50ms").wrapping()},
		{"missing-first", with().meddling(deletesWaiters("lock-0"))},
		{name: "two-permits"},
		{"two-permits", with("hold=0s")},
		{name: "early-release"},
		{name: "looks-first"},
		{name: "constant-token"},
		{"sequence-token", with("sessions=1").meddling(replaces("lock-0"))},
		{name: "newest-first"},
		{"persistent", with("deadline=40ms")},
		{name: "forgets-some"},
		{name: "starves"},
		{name: "leaks"},
		{name: "dead"},
		{name: "watch-parent"},
		{"watch-parent", with("deadline=300ms")},
		{"needs-a-word", with(planned(fault(5*time.Second, "kind: expire, session: 3"), fault(5200*time.Millisecond, "kind: expire, session: 6"), fault(5400*time.Millisecond, "kind: expire, session: 9")))},
		{"waits-for-the-gone", with("sessions=2", "hold=3ms")},
		{name: "forgets-delete"},
		{name: "stale-path"},
		{"keeps-place", with("deadline=40ms")},
		{"no-guid", with(cutting(1, "cut-reply", "create"))},
	}},
	{"multi-lock", "multi-locks", []string{"sessions=20", "together=2"}, []string{"MultiLocks"}, []defective{
		{name: "unsorted"},
		{"keeps-some", with("deadline=40ms")},
		{"stops-releasing", with().meddling(deletesFirst("lock-1"))},
		{name: "first-only"},
		{name: "one-token"},
	}},
	{"read-write", "rw-locks", []string{"sessions=10", "readers=50"}, []string{"RWLocks"}, []defective{
		{name: "readers-walk-in"},
		{name: "writers-see-writers"},
		{name: "writer-follows-one-reader"},
		{name: "reader-follows-the-first"},
		{"few-readers-walk-in", with("readers=90")},
		{name: "barging-readers"},
		{name: "readers-wait-for-all-writers"},
		{name: "own-tokens"},
		{"shared-keeps-place", with("deadline=40ms")},
		{"shared-persistent", with("deadline=40ms")},
	}},
	{"semaphore", "semaphores", []string{"sessions=10"}, []string{"Semaphores"}, []defective{
		{"one-too-many", with("hold=2s")}, // longer than four acquisitions take
		{name: "counts-first"},
		{"blind-permit", with("session_timeout=4s", "hold=20s", expiring(0, 9))},
		{"keeps-lease", with("deadline=30ms")},
		{"keeps-lock", with("deadline=30ms")},
		{name: "watches-itself"},
		{name: "loses-permits"},
		{"persistent-lease", with("deadline=30ms")},
	}},
	{"queue", "queues", []string{"sessions=16", "rate=100/s", "duration=8s", "drain=2s", "saturation=allowed"}, []string{"Queues", "ClaimQueues"}, []defective{
		{"drops-doubt", with(cutting(20, "cut-reply", "delete"))},
		{"keeps-doubt", with(cutting(20, "cut-request", "delete"))},
		{name: "ignores-no-node"},
		{name: "delivers-twice"},
		{"deletes-first", with(expiring(8, 15)).slowly(only(100*time.Millisecond, zk.KindSync))},
		{"protected-name", with("rate=20/s", cutting(20, "cut-reply", "create")).slowly(producers(8, 50*time.Millisecond, zk.KindChildren))},
		{"ephemeral-items", with(expiring(0, 7))},
		{name: "newest-first"},
		{name: "shows-late"},
		{"text-order", with().wrapping()},
		{name: "never-lists-again"},
		{"forgets-some", with("rate=20/s")},
		{"watches-blindly", with("queues=8", "rate=16/s", "drain=30s").armingSlowly(only(15*time.Second, zk.KindChildren))}, // when everything has been put
		{"watches-the-directory", with("rate=4/s", "drain=25s")},
		{name: "finishes-in-two"},
		{name: "reads-first"},
		{name: "shares-claims"},
		{"blind-claim", with("rate=1/s", "session_timeout=4s", "hold=20s", expiring(8, 15))},
		{"persistent-claim", with("hold=300ms", expiring(8, 15))},
		{name: "loses-the-lost"},
	}},
	{"priority-queue", "priority-queue", []string{"sessions=4", "producers=50"}, []string{"PriorityQueues"}, []defective{
		{name: "no-width"},
		{name: "no-sign"},
		{"stale-list", with("options.list=synced")},
	}},
	{"delay-queue", "delay-queue", []string{"sessions=16", "saturation=allowed"}, []string{"DelayQueues"}, []defective{
		{name: "ignores-the-time"},
		{name: "fast-clock"},
		{name: "by-arrival"},
		// The first item of one of eight queues is due so late that earlier ones wait for longer than two session timeouts.
		{"sleeps-past", with("queues=8", "rate=8/s", "delay={uniform: [0s, 16s]}", "duration=20s", "session_timeout=4s")},
	}},
	{"election", "elections", []string{"failover=resign"}, []string{"Elections"}, []defective{
		{"missing-leads", with().meddling(deletesWaiters("election-0"))},
		{"blind-leader", with("session_timeout=4s", "hold=40s", "sessions=8", "elections=1", expiring(0, 7))},
		{"adopts-old", with("failover=crash")},
		{"deleted-only", with().meddling(writesFirst("election-0"))},
		{name: "resigns-another"},
		{"resets", with("elections=2")},
		{"stands-on", with("deadline=40ms")},
		{name: "persistent-candidate"},
		{"sequence-term", with("sessions=12").meddling(replaces("election-0"))},
		{name: "lingers"},
	}},
	{"barrier", "barrier-release", []string{"clients=10"}, []string{"Barriers"}, []defective{
		{"deleted-only", with("barriers=3", "hold=300ms", patient).meddling(writes("barrier-0/set"))},
		{"any-event", with("barriers=20", "hold=300ms").meddling(writes("barrier-0/set"))},
		{"misses-one", with("barriers=25", patient)},
	}},
	{"double-barrier", "barriers", []string{"clients=10"}, []string{"DoubleBarriers"}, []defective{
		{"one-short", with("barriers=6").slowly(seat(0, 600*time.Millisecond))},
		{"all-but-one", with("barriers=20", patient)},
		{"no-generations", with("barriers=10", patient).slowly(seat(0, 300*time.Millisecond, zk.KindChildren))},
		{"stale-marker", with("barriers=20")},
		{"counts-marker", with("barriers=5", patient)},
		{"count-only", with("barriers=5", patient).slowly(seat(0, 50*time.Millisecond, zk.KindChildren))},
		{"last-but-one", with("barriers=15", "hold={exponential: 300ms}")},
		{"second-pass", lowestDies},
		{name: "never-clears"},
	}},
	{"rendezvous", "rendezvous", []string{"clients=10"}, []string{"Rendezvouses"}, []defective{
		{"keeps-member", with("hold={exponential: 300ms}", "deadline=60ms")},
	}},
	{"counter", "counters", []string{"sessions=16"}, []string{"Counters", "Generators"}, []defective{
		{name: "any-version"},
		{"adds-again", with(cutting(20, "cut-reply", "set"))},
		{"takes-anothers", with(cutting(20, "cut-request", "set"))},
		{"hides-doubt", with(cutting(20, "cut-reply", "set"))},
		{"one-twice", with("sessions=2")}, // one in 500 numbers: more sessions draw fewer
		{name: "stale-value"},
		{name: "reads-after"},
		{name: "hoards"},
		{name: "keeps-znodes"},
	}},
	{"membership", "membership", []string{"crashes=0"}, []string{"Groups"}, []defective{
		{"already-joined", with("crashes=20")},
		{"leaves-out", with().slowly(only(20*time.Millisecond, zk.KindGet))},
		{name: "goes-back"},
		{name: "one-watch"},
		{"leaves-once", with(cutting(5, "cut-request", "delete"))},
		{name: "never-forgets"},
		{"persistent-member", with("crashes=20")},
	}},
	{"config", "config", []string{"sessions=16", "rate=50/s", "saturation=allowed"}, []string{"Configs"}, []defective{
		{name: "torn"},
		{"writes-again", with(cutting(20, "cut-reply", "set"))},
		{name: "goes-back"},
		{"drops-late", with("sessions=32", "settings=4", "rate=20/s", "session_timeout=10s", "drain=25s")},
		// With this many readers, some read the last version but one, find nothing newer, and arm their watches after the last has been written.
		{"arms-late", with("sessions=64", "writers=1", "rate=2/s", "arrivals=uniform", "session_timeout=10s", "drain=25s").armingSlowly(upTo(500*time.Millisecond, zk.KindExists))},
	}},
	{"two-phase-commit", "two-phase-commit", []string{"participants=10", "transactions=40"}, []string{"Commits"}, []defective{
		{name: "own-way"},
		{name: "overrules"},
		{name: "forgets"},
		{name: "timid"},
		{name: "stays"},
	}},
}
