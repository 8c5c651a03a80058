package profiles

import (
	"math"
	"reflect"
	"time"
)

// Field is one key of a profile: the parser, --set, the JSON Schema, the reference and Marshal are all derived from it. The common fields are listed here; a
// workload declares its own (Workload.Fields).
type Field struct {
	Key         string
	Type        Type
	Axis        bool   // a list, or one value for a list of one
	Aside       bool   // an axis that is part of a cell's name only if it has several values
	Environment bool   // an axis whose values are used one after the other, each with a separate ensemble
	Doc         string // one line, with the unit if the type does not say it
	Example     string // a valid YAML value
	Default     string // YAML of the default; "": the zero value
	Required    bool   // has no default: the profile must give it

	Min, Max float64  // in items, nanoseconds or per second; of each item and of each duration of a distribution
	Words    []string // for OneOf

	Role   Role              // role of its values in a result
	Unit   string            // for a Share, an Amount or Contenders: what is counted, in the singular
	Zero   string            // what a report shows instead of the key and 0: "no bound"
	Caveat map[string]string // values whose cells are not compared, and why

	Needs    string // the field is only valid together with this key, or with one of several, separated by '|'
	Excludes string // ... only without this key, or without all of several

	scope scope
	at    func(*Profile) any // pointer to where the value is stored; nil: in the values of the workload's own fields
}

// Role is the role of a field's values in a result.
type Role string

// The roles. Cells that differ in the Option of a variant are compared like cells of different variants; all others only with cells of the same load.
const (
	Load       Role = ""
	Option     Role = "option"     // a property of the variant
	Share      Role = "share"      // a load in percent, which has a separate column
	Contenders Role = "contenders" // how many contend or have to agree; it replaces the sessions per object
	Amount     Role = "amount"     // how much each session does before the cell ends
	Hold       Role = "hold"       // how long a grant is held
)

// scope says which workloads a common field belongs to.
type scope int

const (
	ofAll      scope = iota
	ofLoads          // those with a load
	ofTimed          // loads that end at a time
	ofRepeated       // all except those that run once
)

// has reports whether a workload of this shape has the fields of the scope.
func (s scope) has(w *Workload) bool {
	switch {
	case w == nil:
		return true
	case s == ofLoads:
		return w.Shape != Played
	case s == ofTimed:
		return w.Shape == Timed
	case s == ofRepeated:
		return !w.Once
	}
	return true
}

// openLoop are the keys that make an open loop; one suffices.
const openLoop = "rate|rate_per_session"

const day = 24 * time.Hour

// head returns the common fields at the start of a profile.
func head() []Field {
	return []Field{
		{Key: "name", Type: name{}, at: func(p *Profile) any { return &p.Name }, Example: "quickstart",
			Doc: "Name of the profile and of its result directory; by default the name of the file."},
		{Key: "description", Type: prose{}, at: func(p *Profile) any { return &p.Description }, Example: "Locks, before the rollout.",
			Doc: "What the run is for: a paragraph."},
		{Key: "workload", Type: name{}, Required: true, at: func(p *Profile) any { return &p.Workload }, Example: "lock",
			Doc: "What each session does; the command 'list workloads' shows them."},
		{Key: "variants", Type: recipe{}, Axis: true, Required: true, at: func(p *Profile) any { return &p.Variants },
			Example: "[naive, predecessor]", Doc: "Recipes to compare; the command 'list recipes' shows them. driver:PROGRAM is a lock of another program, see docs/drivers.md."},
		{Key: "sessions", Type: WholeNumber, Axis: true, Required: true, scope: ofLoads, at: func(p *Profile) any { return &p.Sessions },
			Example: "[10, 100]", Min: 1, Max: 1e6, Doc: "Simulated clients, each with its own session."},
	}
}

// tail returns the common fields that come after those of the workload.
func tail() []Field {
	return []Field{
		{Key: "rate", Type: rate{}, Axis: true, scope: ofTimed, at: func(p *Profile) any { return &p.Rate },
			Example: "[200/s, 500/s]", Min: 1e-3, Max: 1e7, Doc: "Operations offered per second over all sessions (open loop); in a queue puts over all " +
				"producers. Without a rate each session starts its next operation when the last one has ended (closed loop)."},
		{Key: "rate_per_session", Type: rate{}, Axis: true, scope: ofTimed, at: func(p *Profile) any { return &p.RatePerSession },
			Example: "0.1/s", Min: 1e-6, Max: 1e6, Excludes: "rate", Doc: "Instead of a rate: operations offered per second for each session (open loop), so that " +
				"the rate grows with the sessions."},
		{Key: "arrivals", Type: OneOf, scope: ofTimed, at: func(p *Profile) any { return &p.Arrivals },
			Example: "uniform", Default: "poisson",
			Words: []string{"poisson", "uniform"}, Needs: openLoop, Doc: "Open loop: how the offered operations are spread over time."},
		{Key: "saturation", Type: OneOf, scope: ofTimed, at: func(p *Profile) any { return &p.Saturation },
			Example: "allowed", Default: "refused", Words: []string{"refused", "allowed"}, Needs: openLoop, Doc: "Open loop: whether a run may succeed " +
				"(exit code 0) although the offered load was not sustained. Refused: a cell that could not keep up is no evidence (exit code 5)."},
		{Key: "think", Type: DurationDistribution, scope: ofLoads, at: func(p *Profile) any { return &p.Think }, Example: "{uniform: [1ms, 10ms]}",
			Default: "0s", Max: float64(day), Excludes: openLoop,
			Doc: "Closed loop: pause of a session between two operations."},
		{Key: "deadline", Type: span{}, scope: ofLoads, at: func(p *Profile) any { return &p.Deadline }, Example: "30s", Default: "0s",
			Max: float64(day),
			Doc: "Time after which an operation counts as a timeout; 0s: none. In a two-phase commit: how long its sites wait for the votes; " +
				"0s: two session timeouts."},
		{Key: "warmup", Type: span{}, scope: ofTimed, at: func(p *Profile) any { return &p.Warmup }, Example: "2s",
			Default: "2s", Max: float64(day),
			Doc: "Load before the steady phase of each cell; it is judged but not measured."},
		{Key: "duration", Type: span{}, scope: ofTimed, at: func(p *Profile) any { return &p.Duration }, Example: "1m",
			Default: "10s",
			Min:     float64(time.Millisecond), Max: float64(7 * day), Doc: "Steady phase of each cell, which the figures cover."},
		{Key: "overtime", Type: span{}, scope: ofTimed, at: func(p *Profile) any { return &p.Overtime }, Example: "20s",
			Default: "0s", Max: float64(7 * day), Excludes: openLoop,
			Doc: "Closed loop: how long the load continues after the steady phase, for faults planned in that time: their effects are judged, but are not in the figures of the steady phase."},
		{Key: "drain", Type: span{}, scope: ofTimed, at: func(p *Profile) any { return &p.Drain }, Example: "10s",
			Default: "10s", Max: float64(day),
			Doc: "How long operations in flight at the end of a cell may take to finish; after it they count as timeouts."},
		{Key: "repetitions", Type: WholeNumber, scope: ofRepeated, at: func(p *Profile) any { return &p.Repetitions }, Example: "5",
			Default: "1", Min: 1, Max: 1000,
			Doc: "How many times each cell is run, with fresh sessions and a fresh root each time; in the workload fencing, the rounds of each row."},
		{Key: "seed", Type: WholeNumber, at: func(p *Profile) any { return &p.Seed }, Example: "7", Default: "1", Max: math.MaxUint64,
			Doc: "Determines the arrivals, the draws and the order of the cells."},
		{Key: "engine", Type: name{}, at: func(p *Profile) any { return &p.Engine }, Example: "go-zookeeper", Default: "native",
			Doc: "Client library under the sessions."},
		{Key: "ensemble", Type: ensemble{}, Axis: true, Environment: true, at: func(p *Profile) any { return &p.Ensemble }, Example: "[local:3, local:5]",
			Default: "local:3", Doc: "Servers that the run starts and stops, as processes (5 is short for local:5) or in containers, or 'given' for running servers that --servers names; " +
				"--servers replaces any value. Several are used one after the other, each for all of its cells."},
		{Key: "zookeeper", Type: server{}, Axis: true, Environment: true, Role: Option, at: func(p *Profile) any { return &p.ZooKeeper }, Example: "[3.8.0, 3.9.3]",
			Doc: "ZooKeeper of the servers that the run starts as processes: a version that is found on this machine (docs/versions.md), its home directory or its jar; by " +
				"default the first that is found. Running servers and containers must answer with this version. Several are used one after the other, each for all of its cells."},
		{Key: "fsync", Type: truth{}, at: func(p *Profile) any { return &p.Fsync }, Example: "false", Default: "true",
			Doc: "For an ensemble that the run starts: whether its servers force their log to disk before they answer."},
		{Key: "session_timeout", Type: span{}, at: func(p *Profile) any { return &p.SessionTimeout }, Example: "30s", Default: "10s",
			Min: float64(100 * time.Millisecond), Max: float64(time.Hour),
			Doc: "Requested by each session; the servers allow 2 to 20 of their ticks."},
		{Key: "secure", Type: OneOf, Axis: true, Environment: true, Role: Option, at: func(p *Profile) any { return &p.Secure }, Example: "[none, tls, tls-resumed]",
			Words: []string{NotSecured, "tls", "tls-resumed", "mtls", "sasl", "digest"},
			Doc: "For an ensemble that the run starts: no security, TLS, TLS whose sessions are resumed, TLS with client certificates, TLS with SASL, TLS with " +
				"digest; the sessions connect accordingly. Several are used one after the other, each for all of its cells."},
		{Key: "tls", Type: transport{}, at: func(p *Profile) any { return &p.TLS }, Example: "{ca: ca.pem, cert: client.pem, key: client.key}",
			Doc: "Encrypts the connections: ca is a file with the servers' certificate authorities ('system': those of this machine), cert and key are those of " +
				"the client, or cert is a directory of both. server_name is the name in the servers' certificates, resume resumes TLS sessions."},
		{Key: "auth", Type: credentials{}, at: func(p *Profile) any { return &p.Auth }, Example: `[{scheme: sasl, user: "bench-{session}", password: {file: secret}}]`,
			Doc: "Credentials of every session: SASL (DIGEST-MD5) or digest. Secrets are named by {file: PATH} or {env: NAME}; {session} in a user name is the " +
				"number of the session; {file: PATH} alone is a file of lines SCHEME USER:PASSWORD."},
		{Key: "acl", Type: OneOf, at: func(p *Profile) any { return &p.ACL }, Example: "creator", Words: []string{ACLCreator, ACLShared, ACLWorld},
			Doc: "Who may use the znodes of the run: their creator alone, all identities of the run, or the world. By default shared where the sessions have an " +
				"identity, else world."},
		{Key: "chroot", Type: znode{}, at: func(p *Profile) any { return &p.Chroot }, Example: "/tenants/bench",
			Doc: "An existing znode below which all paths of the run are, including --root."},
		{Key: "prefill", Type: WholeNumber, Axis: true, scope: ofLoads, at: func(p *Profile) any { return &p.Prefill }, Example: "[0, 100000]", Max: 5e6,
			Doc: "Znodes that exist before the load, besides those of the workload; created once for all cells of the same number, and removed at the end."},
		{Key: "prefill_size", Type: WholeNumber, scope: ofLoads, at: func(p *Profile) any { return &p.PrefillSize }, Example: "1000", Default: "100", Max: 4e5,
			Needs: "prefill", Doc: "Bytes of data of each znode of the prefill."},
		{Key: "prefill_depth", Type: WholeNumber, scope: ofLoads, at: func(p *Profile) any { return &p.PrefillDepth }, Example: "3", Default: "2", Min: 2, Max: 10,
			Needs: "prefill", Doc: "Levels of the tree of prefilled znodes."},
		{Key: "prefill_watches", Type: WholeNumber, scope: ofLoads, at: func(p *Profile) any { return &p.PrefillWatches }, Example: "10000", Default: "0", Max: 5e6,
			Needs: "prefill", Doc: "Watches on the znodes of the prefill, held by ten separate sessions while its cells run, or by more if needed: " +
				"a session has at most one watch on a znode."},
		{Key: "options", Type: mapping{}, Role: Option, scope: ofLoads, at: func(p *Profile) any { return &p.Options }, Example: "{watch: exists}",
			Doc: "Options of the recipe, as text: layout, watch, ..."},
		{Key: "faults", Type: faultList{}, scope: ofLoads, at: func(p *Profile) any { return &p.Faults },
			Example: "[{at: 2s, kind: kill, server: leader, for: 3s}, {at: 5s, kind: expire, session: 3}]",
			Doc: "Faults injected into every cell, and when; 'at' counts from the start of the steady phase. A fault that has not recovered by its " +
				"'for' recovers when the steady phase ends."},
		{Key: "gates", Type: gateList{}, scope: ofLoads, at: func(p *Profile) any { return &p.Gates },
			Example: `["errors < 0.1%", "violations == 0"]`,
			Doc: "Limits that every cell must meet, or the cells of one variant: METRIC(VARIANT), then <, <=, ==, >= or >, and a limit. A missed gate is exit " +
				"code 3, one without enough evidence 5. docs/results.md names the metrics."},
	}
}

// get returns the value of the field in p. The caller must not change it.
func (f Field) get(p Profile) reflect.Value {
	if f.at != nil {
		return reflect.ValueOf(f.at(&p)).Elem()
	}
	if v, given := p.values[f.Key]; given {
		return reflect.ValueOf(v)
	}
	return reflect.Zero(f.goType())
}

// set sets the field in p to v. Copies of p keep their values.
func (f Field) set(p *Profile, v reflect.Value) {
	if f.at != nil {
		reflect.ValueOf(f.at(p)).Elem().Set(v)
		return
	}
	values := make(map[string]any, len(p.values)+1)
	for key, value := range p.values {
		values[key] = value
	}
	values[f.Key] = v.Interface()
	p.values = values
}

// goType returns the Go type of the field: of its value, or of the list of its values.
func (f Field) goType() reflect.Type {
	if f.at != nil {
		return reflect.TypeOf(f.at(&Profile{})).Elem()
	}
	if f.Axis {
		return reflect.SliceOf(goType(f.Type))
	}
	return goType(f.Type)
}
