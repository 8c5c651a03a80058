package profiles

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// PlannedFault is one fault that is injected into every cell of a run. Which of its fields have a meaning depends on the kind: see FaultKinds.
type PlannedFault struct {
	At      time.Duration // from the start of the cell's steady phase
	Kind    string
	Server  string        // leader, follower, or a number from 1; "": not about one server
	Session int           // from 0 to the number of sessions - 1; AnySession: not about one session
	For     time.Duration // time until it recovers; 0: it recovers at the end of the cell's steady phase
	Every   time.Duration // time from one injection to the next, as long as the steady phase lasts; 0: once

	To        string        // for rolling-upgrade: a version of ZooKeeper, or the path of its directory or jar
	From      string        // for disconnect: everybody, servers or clients
	Delay     time.Duration // for latency and delay-events
	Percent   int           // for loss
	Op        string        // for cut-reply and cut-request: the operation; "": any
	Times     int           // for cut-reply and cut-request: how many times it is injected
	Copies    int           // for repeat-events
	Direction string        // for silence: both, to-server or to-client

	// For storms, which have sessions and znodes in addition to those of the load:
	Sessions   int // sessions that are lost, or that read
	Ephemerals int // of each lost session
	Watchers   int // of these ephemeral znodes
	Znodes     int // znodes that each session reads
	Size       int // bytes of each of them
}

// AnySession as the session of a fault means that the fault is not about one session.
const AnySession = -1

// The kinds of faults.
const (
	Kill           = "kill"
	StopServer     = "stop"
	Pause          = "pause"
	Restart        = "restart"
	RollingRestart = "rolling-restart"
	RollingUpgrade = "rolling-upgrade"
	Disconnect     = "disconnect"
	AddLatency     = "latency"
	AddLoss        = "loss"
	Expire         = "expire"
	Crash          = "crash"
	CutReply       = "cut-reply"
	CutRequest     = "cut-request"
	Silence        = "silence"
	DelayEvents    = "delay-events"
	HoldEvents     = "hold-events"
	RepeatEvents   = "repeat-events"
	DropEvents     = "drop-events"
	Reset          = "reset"
	MassExpiry     = "mass-expiry"
	ReadStorm      = "read-storm"
	KillDriver     = "kill-driver"
	KillHolder     = "kill-holder"
	PauseHolder    = "pause-holder"
)

// The servers that a fault may name by their role.
const (
	Leader   = "leader"
	Follower = "follower"
)

// What a server may be cut off from.
const (
	FromEverybody = "everybody"
	FromServers   = "servers"
	FromClients   = "clients"
)

// FaultKind says what a kind of fault does, and which keys it accepts in addition to at and kind.
type FaultKind struct {
	Name, Doc string
	Needs     []string // required keys
	May       []string // optional keys
}

// takes reports whether a fault of this kind may have the key.
func (k FaultKind) takes(key string) bool {
	return key == "at" || key == "kind" || key == "every" || slices.Contains(k.Needs, key) || slices.Contains(k.May, key)
}

// FaultKinds returns all kinds: first those of servers, then those of clients.
func FaultKinds() []FaultKind {
	server, session := []string{"server"}, []string{"session"}
	return []FaultKind{
		{Kill, "SIGKILL: the server is gone, its connections are reset; recovers by being started again", server, []string{"for"}},
		{StopServer, "SIGTERM: the server shuts down cleanly; recovers by being started again", server, []string{"for"}},
		{Pause, "the server is suspended: its connections stay open and nothing answers; recovers by being resumed", server, []string{"for"}},
		{Restart, "the server is stopped, unless an earlier fault has taken it down, and started again, 'for' later", server, []string{"for"}},
		{RollingRestart, "all servers are restarted one by one, the leader last: each is stopped and started again, 'for' later, and the next one when a write " +
			"has gone through every server", nil, []string{"for"}},
		{RollingUpgrade, "like rolling-restart, but each server is started as the ZooKeeper 'to', with its data: a newer or an older one", []string{"to"}, []string{"for"}},
		{Disconnect, "the server is cut off from the network, 'from' everybody, the other servers, or the clients, without notice", server,
			[]string{"for", "from"}},
		{AddLatency, "every packet that the server sends is delayed by 'delay'", []string{"server", "delay"}, []string{"for"}},
		{AddLoss, "'percent' of the packets that the server sends are lost", []string{"server", "percent"}, []string{"for"}},
		{Expire, "the servers end the session at once, its client hears of it later", session, nil},
		{Crash, "the session's client dies silently: the servers keep its znodes until it expires", session, nil},
		{CutReply, "the next request of 'op' reaches the server, and the connection breaks before its reply", nil,
			[]string{"op", "session", "server", "times", "for"}},
		{CutRequest, "the connection breaks before the next request of 'op' reaches the server", nil,
			[]string{"op", "session", "server", "times", "for"}},
		{Silence, "nothing goes through between clients and servers, in one 'direction' or both; connections stay open. Of one session, of the " +
			"clients of one server (the other servers still reach it), or of all", nil, []string{"session", "server", "direction", "for"}},
		{DelayEvents, "watch events reach the clients 'delay' late, and later replies overtake them", []string{"delay"},
			[]string{"session", "server", "for"}},
		{HoldEvents, "watch events do not reach the clients until it recovers", nil, []string{"session", "server", "for"}},
		{RepeatEvents, "watch events reach the clients more than once, with 'copies' more", nil, []string{"session", "server", "copies", "for"}},
		{DropEvents, "watch events never reach the clients, and nobody learns that they are lost", nil, []string{"session", "server", "for"}},
		{Reset, "the connections of the session, or of all, are reset", nil, session},
		{MassExpiry, "'sessions' clients beside those of the load, with 'ephemerals' znodes each, die silently at once: the servers expire them, and " +
			"notify as many 'watchers' of each znode", []string{"sessions"}, []string{"ephemerals", "watchers"}},
		{ReadStorm, "a znode changes that as many 'sessions' beside those of the load watch: each watches again, and reads 'znodes' of 'size' bytes",
			[]string{"sessions", "znodes"}, []string{"size"}},
		{KillDriver, "SIGKILL: the process of the driver that holds the session is gone, or all of them, and its sessions with it: the servers keep their znodes " +
			"until they expire; other processes and sessions take their places", nil, session},
		{KillHolder, "kill-driver of a process in which somebody holds a lock at that moment; it is suspended first, to make sure", nil, nil},
		{PauseHolder, "SIGSTOP: a process of the driver in which somebody holds a lock at that moment is suspended, and its applications with it; recovers by being resumed", nil, []string{"for"}},
	}
}

// faultKey is a key of a planned fault. It is read, written and described like a field of a profile.
type faultKey struct {
	Field
	set func(*PlannedFault, any)
	get func(PlannedFault) any // nil if it is not given
}

func durationKey(f Field, of func(*PlannedFault) *time.Duration) faultKey {
	return faultKey{f, func(p *PlannedFault, v any) { *of(p) = v.(time.Duration) }, func(p PlannedFault) any {
		if d := *of(&p); d > 0 || f.Key == "at" {
			return d
		}
		return nil
	}}
}

func wordKey(f Field, of func(*PlannedFault) *string) faultKey {
	return faultKey{f, func(p *PlannedFault, v any) { *of(p) = v.(string) }, func(p PlannedFault) any {
		if s := *of(&p); s != "" {
			return s
		}
		return nil
	}}
}

// numberKey returns a key whose value is none if it is not given.
func numberKey(f Field, none int, of func(*PlannedFault) *int) faultKey {
	return faultKey{f, func(p *PlannedFault, v any) { *of(p) = int(v.(uint64)) }, func(p PlannedFault) any {
		if n := *of(&p); n != none {
			return uint64(n)
		}
		return nil
	}}
}

// faultKeys returns all keys, in the order in which a fault is written.
func faultKeys() []faultKey {
	var kinds []string
	for _, k := range FaultKinds() {
		kinds = append(kinds, k.Name)
	}
	return []faultKey{
		durationKey(Field{Key: "at", Type: span{}, Max: float64(7 * day), Doc: "When, from the start of the steady phase of each cell."},
			func(f *PlannedFault) *time.Duration { return &f.At }),
		wordKey(Field{Key: "kind", Type: enum{}, Words: kinds, Doc: "What breaks."}, func(f *PlannedFault) *string { return &f.Kind }),
		wordKey(Field{Key: "server", Type: serverName{}, Doc: "Which server, by its role when the fault is injected."},
			func(f *PlannedFault) *string { return &f.Server }),
		numberKey(Field{Key: "session", Type: whole{}, Max: 1e6 - 1, Doc: "Which session, counted from 0."}, AnySession,
			func(f *PlannedFault) *int { return &f.Session }),
		durationKey(Field{Key: "for", Type: span{}, Min: float64(time.Millisecond), Max: float64(7 * day),
			Doc: "How long until it recovers; by default at the end of the cell's steady phase."},
			func(f *PlannedFault) *time.Duration { return &f.For }),
		durationKey(Field{Key: "every", Type: span{}, Min: float64(time.Second), Max: float64(7 * day),
			Doc: "Repeat after this time, while the steady phase lasts; never if that ends before 'at'."},
			func(f *PlannedFault) *time.Duration { return &f.Every }),
		wordKey(Field{Key: "to", Type: server{}, Doc: "ZooKeeper that the servers run afterwards: a version that is found on this machine, its home directory or its jar."},
			func(f *PlannedFault) *string { return &f.To }),
		wordKey(Field{Key: "from", Type: enum{}, Words: []string{FromEverybody, FromServers, FromClients}, Default: FromEverybody,
			Doc: "Who the server is cut off from."}, func(f *PlannedFault) *string { return &f.From }),
		durationKey(Field{Key: "delay", Type: span{}, Min: float64(time.Millisecond), Max: float64(time.Hour), Doc: "How much delay."},
			func(f *PlannedFault) *time.Duration { return &f.Delay }),
		numberKey(Field{Key: "percent", Type: whole{}, Min: 1, Max: 100, Doc: "Percentage of the packets."}, 0,
			func(f *PlannedFault) *int { return &f.Percent }),
		wordKey(Field{Key: "op", Type: enum{}, Words: []string{"create", "delete", "exists", "get", "set", "list", "sync", "multi"},
			Doc: "Which operation; any by default."}, func(f *PlannedFault) *string { return &f.Op }),
		numberKey(Field{Key: "times", Type: whole{}, Min: 1, Max: 1e6, Default: "1", Doc: "How many times it is injected."}, 0,
			func(f *PlannedFault) *int { return &f.Times }),
		numberKey(Field{Key: "copies", Type: whole{}, Min: 1, Max: 100, Default: "1", Doc: "How many extra copies of each event."}, 0,
			func(f *PlannedFault) *int { return &f.Copies }),
		numberKey(Field{Key: "sessions", Type: whole{}, Min: 1, Max: 1e5, Doc: "In a storm: how many sessions, besides those of the load, are lost, or read."}, 0,
			func(f *PlannedFault) *int { return &f.Sessions }),
		numberKey(Field{Key: "ephemerals", Type: whole{}, Min: 1, Max: 5000, Default: "1", Doc: "Ephemeral znodes of each session that is lost. A session's end is one " +
			"transaction that names all of them, and one larger than jute.maxbuffer would take the servers down for good: the maximum leaves room to spare."}, 0,
			func(f *PlannedFault) *int { return &f.Ephemerals }),
		numberKey(Field{Key: "watchers", Type: whole{}, Min: 1, Max: 1e4, Default: "1", Doc: "Sessions that each watch all ephemeral znodes of the lost sessions."}, 0,
			func(f *PlannedFault) *int { return &f.Watchers }),
		numberKey(Field{Key: "znodes", Type: whole{}, Min: 1, Max: 1e4, Doc: "Znodes that each session reads after the change, one after the other."}, 0,
			func(f *PlannedFault) *int { return &f.Znodes }),
		numberKey(Field{Key: "size", Type: whole{}, Min: 1, Max: 1e6, Default: "100", Doc: "Bytes of data of each of these znodes."}, 0,
			func(f *PlannedFault) *int { return &f.Size }),
		wordKey(Field{Key: "direction", Type: enum{}, Words: []string{"both", "to-server", "to-client"}, Default: "both", Doc: "Which direction is silent."},
			func(f *PlannedFault) *string { return &f.Direction }),
	}
}

// Schedule returns the planned faults of a cell in the order of time. Repeated faults appear once for each injection.
func (p Profile) Schedule() []PlannedFault {
	var all []PlannedFault
	for _, f := range p.Faults {
		if f.Every == 0 {
			all = append(all, f)
			continue
		}
		for ; f.At < p.Duration; f.At += f.Every {
			all = append(all, f)
		}
	}
	slices.SortStableFunc(all, func(a, b PlannedFault) int { return cmp.Compare(a.At, b.At) })
	return all
}

// Target returns the session or the server that the fault names, or what all servers are upgraded to; "" for all of them.
func (f PlannedFault) Target() string {
	if f.To != "" {
		return "to " + f.To
	}
	if f.Session != AnySession {
		return fmt.Sprintf("session %d", f.Session)
	}
	if _, err := strconv.Atoi(f.Server); err == nil {
		return "server " + f.Server
	}
	return f.Server
}

// Rolls reports whether the fault restarts all servers, one by one.
func (f PlannedFault) Rolls() bool { return f.Kind == RollingRestart || f.Kind == RollingUpgrade }

// storms are the kinds of faults that have their own sessions.
var storms = []string{MassExpiry, ReadStorm}

// IsStorm reports whether the fault has sessions in addition to those of the load, which are opened before it.
func (f PlannedFault) IsStorm() bool { return slices.Contains(storms, f.Kind) }

// Beside returns the number of sessions that a cell needs for its storms, in addition to those of its load.
func (p Profile) Beside() int {
	n := 0
	for _, f := range p.Schedule() {
		if f.IsStorm() {
			n += f.Sessions + max(f.Watchers, 1) // or the session that makes the change
		}
	}
	return n
}

// mostWatches is the maximum number of watches that a storm may arm.
const mostWatches = 2_000_000

// storm reports a problem with the numbers of a storm, and the key that it is about.
func (f PlannedFault) storm(p Profile) (key, problem string) {
	if watches := f.Sessions * f.Ephemerals * f.Watchers; f.Kind == MassExpiry && watches > mostWatches {
		return "sessions", fmt.Sprintf("%d watches (sessions x ephemerals x watchers) are more than %d", watches, mostWatches)
	}
	return f.ExpiresTooLate(p, 0)
}

// ExpiresTooLate says why sessions of a mass expiry may not have expired when the steady phase ends, and the key that causes it, if servers round a session
// timeout up to a tick. problem is "" if all sessions will have expired, including those of the last repetition.
func (f PlannedFault) ExpiresTooLate(p Profile, tick time.Duration) (key, problem string) {
	if f.Kind != MassExpiry || p.Duration == 0 {
		return "", ""
	}
	key, last := "at", f.At
	for f.Every > 0 && last+f.Every < p.Duration {
		key, last = "every", last+f.Every
	}
	if last+p.SessionTimeout+tick <= p.Duration {
		return "", ""
	}
	why := "session_timeout"
	if tick > 0 {
		why += fmt.Sprintf(" and a tick of %v", tick)
	}
	return key, fmt.Sprintf("the sessions that are lost at %v expire up to %v later (%s), which is after the steady phase ends (raise duration, or lower at or session_timeout)", last,
		p.SessionTimeout+tick, why)
}
