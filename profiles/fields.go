package profiles

import (
	"math"
	"slices"
	"time"
)

// field is one row of the table that the parser, --set, the JSON Schema, the reference and Marshal all come from. A new
// field of Profile needs its row here and nothing else.
type field struct {
	key     string
	kind    kind
	axis    bool               // a list, or one value for a list of one
	at      func(*Profile) any // pointer to where the value goes
	doc     string             // one line, with the unit where the kind does not say it
	example string             // a YAML value that is right
	def     string             // YAML of the default; "": the zero value
	must    bool               // has no default: the profile has to give it

	min, max float64  // in items, nanoseconds or per second; of each item and of each duration of a distribution
	words    []string // of an enum

	alias   string   // another name of the key ...
	aliased []string // ... in these workloads

	workloads []string // that the field belongs to; nil: all
	unlike    []string // workloads that it does not belong to
	needs     string   // the field means something only beside this key
	excludes  string   // ... only without this key
}

const day = 24 * time.Hour

// fields is the table, in the order in which a profile is written.
func fields() []field {
	lock := []string{"lock", "read-write", "revocation", "semaphore"}
	multi := []string{"multi-lock"}
	shared := []string{"read-write", "revocation"}
	queue := []string{"queue", "priority-queue", "delay-queue"}
	election := []string{"election"}
	barrier := []string{"barrier", "double-barrier", "rendezvous"} // a number of rounds, however long they take
	commit := []string{"two-phase-commit"}                         // a number of transactions
	finite := slices.Concat(barrier, commit)
	played := []string{"published", "fencing"} // played step by step: there is no load to describe
	return []field{
		{key: "name", kind: name{}, at: func(p *Profile) any { return &p.Name }, example: "quickstart",
			doc: "Name of the profile and of its result directory; without it the name of the file."},
		{key: "description", kind: prose{}, at: func(p *Profile) any { return &p.Description }, example: "Locks, before the rollout.",
			doc: "What the run is for: a paragraph."},
		{key: "workload", kind: name{}, must: true, at: func(p *Profile) any { return &p.Workload }, example: "lock",
			doc: "What each session does: 'zkbench list workloads'."},
		{key: "variants", kind: name{}, axis: true, must: true, at: func(p *Profile) any { return &p.Variants },
			example: "[naive, predecessor]", doc: "Recipes to compare: 'zkbench list recipes'."},
		{key: "sessions", kind: whole{}, axis: true, must: true, unlike: played, at: func(p *Profile) any { return &p.Sessions },
			alias: "clients", aliased: barrier,
			example: "[10, 100]", min: 1, max: 1e6, doc: "Simulated clients, each with a session of its own. In the workloads barrier, " +
				"double-barrier and rendezvous, where all of them are " +
				"members, the key may be written clients."},
		{key: "barriers", kind: whole{}, axis: true, at: func(p *Profile) any { return &p.Barriers }, example: "[200, 400]", def: "100", min: 1,
			max: 1e6, workloads: barrier, doc: "Barriers that each client passes, one after the other; the cell ends when all have."},
		{key: "participants", kind: whole{}, axis: true, at: func(p *Profile) any { return &p.Participants }, example: "[3, 10]", def: "3",
			min: 2, max: 1000, workloads: commit,
			doc: "Sites of each transaction. The sessions form groups of so many; what is left over makes some of them larger by one or more."},
		{key: "transactions", kind: whole{}, axis: true, at: func(p *Profile) any { return &p.Transactions }, example: "200", def: "100", min: 1,
			max: 1e6, workloads: commit, doc: "Transactions that each group carries out, one after the other; the cell ends when all have."},
		{key: "aborts", kind: whole{}, axis: true, at: func(p *Profile) any { return &p.Aborts }, example: "10", def: "0", max: 100,
			workloads: commit, doc: "Percent of the transactions in which one site, drawn by lot, votes to abort."},
		{key: "locks", kind: whole{}, at: func(p *Profile) any { return &p.Locks }, example: "100", def: "1", min: 1, max: 1e6,
			workloads: slices.Concat(lock, multi), doc: "Locks or semaphores; the sessions are spread over them evenly. Contenders = sessions / locks. " +
				"Of a multi-lock: the locks that each session draws from."},
		{key: "together", kind: whole{}, axis: true, at: func(p *Profile) any { return &p.Together }, example: "[2, 5]", def: "2", min: 1,
			max: 100, workloads: multi, needs: "locks", doc: "Locks that each session acquires at once, drawn anew each time."},
		{key: "readers", kind: whole{}, axis: true, at: func(p *Profile) any { return &p.Readers }, example: "[0, 50, 90, 99]", def: "0",
			max: 100, workloads: shared, doc: "Percent of the acquisitions that only read; each session draws for each of its own."},
		{key: "permits", kind: whole{}, at: func(p *Profile) any { return &p.Permits }, example: "10", def: "1", min: 1, max: 1e6,
			workloads: []string{"semaphore"}, doc: "Of each semaphore: how many may hold it at the same time."},
		{key: "queues", kind: whole{}, at: func(p *Profile) any { return &p.Queues }, example: "4", def: "1", min: 1, max: 1e6,
			workloads: queue, doc: "Queues; the sessions are spread over them evenly."},
		{key: "producers", kind: whole{}, axis: true, at: func(p *Profile) any { return &p.Producers }, example: "[20, 50, 80]", def: "50",
			max: 100, workloads: queue, doc: "Percent of the sessions of each queue that put items; the others take them. Of two and more " +
				"each side gets one at least, unless it is 0 or 100."},
		{key: "priorities", kind: whole{}, at: func(p *Profile) any { return &p.Priorities }, example: "100", def: "10", min: 1, max: 1e9,
			workloads: queue[1:2], doc: "How many priorities there are; each item draws one."},
		{key: "delay", kind: distribution{}, at: func(p *Profile) any { return &p.Delay }, example: "{exponential: 100ms}", def: "0s",
			max: float64(day), workloads: queue[2:], doc: "From the put of an item to when it may be taken; each item draws one."},
		{key: "payload", kind: whole{}, at: func(p *Profile) any { return &p.Payload }, example: "1000", def: "100", min: 16, max: 1e6,
			workloads: queue, doc: "Bytes of each item; the first 16 say which it is."},
		{key: "bound", kind: whole{}, axis: true, at: func(p *Profile) any { return &p.Bound }, example: "[10, 1000]", def: "0", max: 1e6,
			workloads: queue, doc: "Items that a queue may hold before its producers wait; each producer may overshoot it by one. 0: no bound."},
		{key: "preload", kind: whole{}, at: func(p *Profile) any { return &p.Preload }, example: "5000", def: "0", max: 1e6,
			workloads: queue, doc: "Items in each queue before the load begins."},
		{key: "elections", kind: whole{}, at: func(p *Profile) any { return &p.Elections }, example: "4", def: "1", min: 1, max: 1e6,
			workloads: election, doc: "Elections; the sessions are spread over them evenly. Candidates = sessions / elections."},
		{key: "failover", kind: enum{}, axis: true, at: func(p *Profile) any { return &p.Failover }, example: "[resign, crash]",
			def: "resign", words: []string{"resign", "crash", "expire"}, workloads: election, doc: "How a leader ends: it resigns; it crashes, " +
				"so that its session has to time out; or the servers are made to expire its session at once."},
		{key: "counters", kind: whole{}, at: func(p *Profile) any { return &p.Counters }, example: "4", def: "1", min: 1, max: 1e6,
			workloads: []string{"counter"}, doc: "Counters or generators of ids; the sessions are spread over them evenly."},
		{key: "groups", kind: whole{}, at: func(p *Profile) any { return &p.Groups }, example: "4", def: "1", min: 1, max: 1e6,
			workloads: []string{"membership"}, doc: "Groups; the sessions are spread over them evenly."},
		{key: "members", kind: whole{}, axis: true, at: func(p *Profile) any { return &p.Members }, example: "[20, 80]", def: "50", max: 100,
			workloads: []string{"membership"}, doc: "Percent of the sessions of each group that join and leave it; the others observe it. Of two " +
				"and more each side gets one at least, unless it is 100."},
		{key: "crashes", kind: whole{}, axis: true, at: func(p *Profile) any { return &p.Crashes }, example: "[0, 20]", def: "0", max: 100,
			workloads: []string{"membership"}, doc: "Percent of the memberships that end with the death of the member, drawn by lot: its " +
				"session has to time out, and it comes back with another one. The other members leave."},
		{key: "settings", kind: whole{}, at: func(p *Profile) any { return &p.Settings }, example: "4", def: "1", min: 1, max: 1e6,
			workloads: []string{"config"}, doc: "Settings; the sessions are spread over them evenly."},
		{key: "writers", kind: whole{}, axis: true, at: func(p *Profile) any { return &p.Writers }, example: "[5, 50]", def: "10", max: 100,
			workloads: []string{"config"}, doc: "Percent of the sessions of each setting that change it; the others keep a copy of it. Of two and " +
				"more each side gets one at least, unless it is 100."},
		{key: "rate", kind: rate{}, axis: true, unlike: slices.Concat(played, finite), at: func(p *Profile) any { return &p.Rate },
			example: "[200/s, 500/s]", min: 1e-3, max: 1e7, doc: "Acquisitions offered over all sessions (open loop); in a queue puts over all producers. Without it " +
				"each session asks again as soon as it may (closed loop)."},
		{key: "arrivals", kind: enum{}, unlike: slices.Concat(played, finite), at: func(p *Profile) any { return &p.Arrivals },
			example: "uniform", def: "poisson",
			words: []string{"poisson", "uniform"}, needs: "rate", doc: "Open loop: how the offered acquisitions are spread over time."},
		{key: "hold", kind: distribution{}, at: func(p *Profile) any { return &p.Hold }, example: "{exponential: 5ms}", def: "0s",
			max: float64(day), workloads: slices.Concat(lock, multi, queue, election, finite, []string{"membership"}),
			doc: "How long a grant is held before it is released; in a revocation at most, " +
				"which should be longer than revoking takes. Of a queue: how long a consumer works on an item; of an election: how long a leader " +
				"leads. Of a barrier: how long it stays set once all wait, or how long each client computes between two barriers. Of a two-phase " +
				"commit: how long each site works before it votes. Of a group: how long a member stays."},
		{key: "fence", kind: enum{}, axis: true, at: func(p *Profile) any { return &p.Fence }, example: "[none, server]",
			words: []string{"none", "register", "server"}, workloads: lock, doc: "What each holder's write at the end of its hold goes through: " +
				"none, which writes nothing; a register in zkbench that compares tokens; a znode, in one transaction with a check of the grant."},
		{key: "think", kind: distribution{}, unlike: played, at: func(p *Profile) any { return &p.Think }, example: "{uniform: [1ms, 10ms]}",
			def: "0s", max: float64(day), excludes: "rate",
			doc: "Closed loop: pause of a session between a release and its next acquire."},
		{key: "deadline", kind: span{}, unlike: played, at: func(p *Profile) any { return &p.Deadline }, example: "30s", def: "0s",
			max: float64(day),
			doc: "Of one acquisition, after which it counts as a timeout; 0s: none. Of a two-phase commit: how long its sites wait for the votes; " +
				"0s: two session timeouts."},
		{key: "warmup", kind: span{}, unlike: slices.Concat(played, finite), at: func(p *Profile) any { return &p.Warmup }, example: "2s",
			def: "2s", max: float64(day),
			doc: "Load before the steady phase of each cell; it is judged but not measured."},
		{key: "duration", kind: span{}, unlike: slices.Concat(played, finite), at: func(p *Profile) any { return &p.Duration }, example: "1m",
			def: "10s",
			min: float64(time.Millisecond), max: float64(7 * day), doc: "Steady phase of each cell: what the numbers are from."},
		{key: "drain", kind: span{}, unlike: slices.Concat(played, finite), at: func(p *Profile) any { return &p.Drain }, example: "10s",
			def: "10s", max: float64(day),
			doc: "How long acquisitions under way at the end of a cell may take to finish; after it they count as timeouts."},
		{key: "repetitions", kind: whole{}, unlike: []string{"published"}, at: func(p *Profile) any { return &p.Repetitions }, example: "5",
			def: "1", min: 1, max: 1000,
			doc: "Times each cell is run, with fresh sessions and a fresh root each time; in the workload fencing, rounds of each row."},
		{key: "seed", kind: whole{}, at: func(p *Profile) any { return &p.Seed }, example: "7", def: "1", max: math.MaxUint64,
			doc: "Fixes the arrivals, the draws and the order of the cells."},
		{key: "engine", kind: name{}, at: func(p *Profile) any { return &p.Engine }, example: "go-zookeeper", def: "native",
			doc: "Client library under the sessions."},
		{key: "ensemble", kind: ensemble{}, at: func(p *Profile) any { return &p.Ensemble }, example: "local:1", def: "local:3",
			doc: "Servers that the run starts and stops, as processes or in containers; --servers replaces it."},
		{key: "fsync", kind: truth{}, at: func(p *Profile) any { return &p.Fsync }, example: "false", def: "true",
			doc: "Of an ensemble that the run starts: whether its servers force their log to the disk before they answer."},
		{key: "session_timeout", kind: span{}, at: func(p *Profile) any { return &p.SessionTimeout }, example: "30s", def: "10s",
			min: float64(100 * time.Millisecond), max: float64(time.Hour),
			doc: "Asked for by each session; the servers allow 2 to 20 of their ticks."},
		{key: "options", kind: mapping{}, unlike: played, at: func(p *Profile) any { return &p.Options }, example: "{watch: exists}",
			doc: "Of the recipe, as text: layout, watch, ..."},
		{key: "faults", kind: faultList{}, unlike: played, at: func(p *Profile) any { return &p.Faults },
			example: "[{at: 2s, kind: kill, server: leader, for: 3s}, {at: 5s, kind: expire, session: 3}]",
			doc: "What is broken on purpose in every cell, and when; 'at' counts from the begin of the steady phase. What 'for' does not heal " +
				"before is healed when the steady phase ends."},
	}
}

// belongs says whether the field is one of this workload's.
func (f field) belongs(workload string) bool {
	return (f.workloads == nil || slices.Contains(f.workloads, workload)) && !slices.Contains(f.unlike, workload)
}

// keys of the fields that belong to workload.
func keys(table []field, workload string) []string {
	var all []string
	for _, f := range table {
		if f.belongs(workload) {
			all = append(all, f.key)
		}
	}
	return all
}

// canonical is the key that a key of a profile stands for.
func canonical(key, workload string) string {
	for _, f := range fields() {
		if f.alias == key && slices.Contains(f.aliased, workload) {
			return f.key
		}
	}
	return key
}
