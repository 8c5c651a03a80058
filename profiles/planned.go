package profiles

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// PlannedFault is one thing that is broken on purpose in every cell of a run. Which of its fields mean something depends on the kind;
// FaultKinds tells.
type PlannedFault struct {
	At      time.Duration // from the begin of the cell's steady phase
	Kind    string
	Server  string        // leader, follower, or a number from 1; "": not of one server
	Session int           // from 0 to one below the number of sessions; AnySession: not of one session
	For     time.Duration // until it is healed; 0: at the end of the cell's steady phase

	From      string        // of disconnect: everybody, servers or clients
	Delay     time.Duration // of latency and delay-events
	Percent   int           // of loss
	Op        string        // of cut-reply and cut-request: the operation; "": any
	Times     int           // of cut-reply and cut-request: how often it strikes
	Copies    int           // of repeat-events
	Direction string        // of silence: both, to-server or to-client
}

// AnySession as the session of a fault means that it is not about one.
const AnySession = -1

// The kinds of faults.
const (
	Kill         = "kill"
	StopServer   = "stop"
	Pause        = "pause"
	Restart      = "restart"
	Disconnect   = "disconnect"
	AddLatency   = "latency"
	AddLoss      = "loss"
	Expire       = "expire"
	Crash        = "crash"
	CutReply     = "cut-reply"
	CutRequest   = "cut-request"
	Silence      = "silence"
	DelayEvents  = "delay-events"
	HoldEvents   = "hold-events"
	RepeatEvents = "repeat-events"
	Reset        = "reset"
)

// The servers that a fault may name by what they are.
const (
	Leader   = "leader"
	Follower = "follower"
)

// Who a server is cut off from.
const (
	FromEverybody = "everybody"
	FromServers   = "servers"
	FromClients   = "clients"
)

// FaultKind says what a kind of fault does, and which keys it takes beside at and kind.
type FaultKind struct {
	Name, Doc string
	Needs     []string // keys that it must have
	May       []string // keys that it may have
}

// takes says whether a fault of this kind may have the key.
func (k FaultKind) takes(key string) bool {
	return key == "at" || key == "kind" || slices.Contains(k.Needs, key) || slices.Contains(k.May, key)
}

// FaultKinds are all kinds. The servers' come first, the clients' after.
func FaultKinds() []FaultKind {
	one := func(name, doc string, needs, may []string) FaultKind { return FaultKind{name, doc, needs, may} }
	server, session := []string{"server"}, []string{"session"}
	return []FaultKind{
		one(Kill, "SIGKILL: the server is gone, its connections are reset; healed by starting it again", server, []string{"for"}),
		one(StopServer, "SIGTERM: the server ends in good order; healed by starting it again", server, []string{"for"}),
		one(Pause, "the server stands still: its connections stay open and nothing answers; healed by letting it go on", server, []string{"for"}),
		one(Restart, "the server is stopped, unless an earlier fault has taken it down, and started again, 'for' later", server, []string{"for"}),
		one(Disconnect, "the server is cut off the network, 'from' everybody, the other servers, or the clients; nobody is told", server,
			[]string{"for", "from"}),
		one(AddLatency, "every packet that the server sends is late by 'delay'", []string{"server", "delay"}, []string{"for"}),
		one(AddLoss, "'percent' of the packets that the server sends vanish", []string{"server", "percent"}, []string{"for"}),
		one(Expire, "the servers end the session at once, its client hears of it later", session, nil),
		one(Crash, "the session's client dies without a word: the servers keep its znodes until it expires", session, nil),
		one(CutReply, "the next request of 'op' reaches the server, and the connection breaks before its reply", nil,
			[]string{"op", "session", "server", "times", "for"}),
		one(CutRequest, "the connection breaks before the next request of 'op' reaches the server", nil,
			[]string{"op", "session", "server", "times", "for"}),
		one(Silence, "nothing goes through between clients and servers, in one 'direction' or both; connections stay open. Of one session, of the "+
			"clients of one server (the other servers still reach it), or of all", nil, []string{"session", "server", "direction", "for"}),
		one(DelayEvents, "watch events reach the clients late by 'delay', and later replies overtake them", []string{"delay"},
			[]string{"session", "server", "for"}),
		one(HoldEvents, "watch events do not reach the clients until it is healed", nil, []string{"session", "server", "for"}),
		one(RepeatEvents, "watch events reach the clients more than once, with 'copies' more", nil, []string{"session", "server", "copies", "for"}),
		one(Reset, "the connections of the session, or of all, are reset", nil, session),
	}
}

// faultKey is a key of a planned fault: a row that is read, written and described like one of a profile.
type faultKey struct {
	field
	set func(*PlannedFault, any)
	get func(PlannedFault) any // nil when it is not given
}

func durationKey(f field, of func(*PlannedFault) *time.Duration) faultKey {
	return faultKey{f, func(p *PlannedFault, v any) { *of(p) = v.(time.Duration) }, func(p PlannedFault) any {
		if d := *of(&p); d > 0 || f.key == "at" {
			return d
		}
		return nil
	}}
}

func wordKey(f field, of func(*PlannedFault) *string) faultKey {
	return faultKey{f, func(p *PlannedFault, v any) { *of(p) = v.(string) }, func(p PlannedFault) any {
		if s := *of(&p); s != "" {
			return s
		}
		return nil
	}}
}

// numberKey is a key whose value is none where it is not given.
func numberKey(f field, none int, of func(*PlannedFault) *int) faultKey {
	return faultKey{f, func(p *PlannedFault, v any) { *of(p) = int(v.(uint64)) }, func(p PlannedFault) any {
		if n := *of(&p); n != none {
			return uint64(n)
		}
		return nil
	}}
}

// faultKeys is the table, in the order in which a fault is written.
func faultKeys() []faultKey {
	var kinds []string
	for _, k := range FaultKinds() {
		kinds = append(kinds, k.Name)
	}
	return []faultKey{
		durationKey(field{key: "at", kind: span{}, max: float64(7 * day), doc: "When, from the begin of the steady phase of each cell."},
			func(f *PlannedFault) *time.Duration { return &f.At }),
		wordKey(field{key: "kind", kind: enum{}, words: kinds, doc: "What breaks."}, func(f *PlannedFault) *string { return &f.Kind }),
		wordKey(field{key: "server", kind: serverName{}, doc: "Which server, by what it is when the fault strikes."},
			func(f *PlannedFault) *string { return &f.Server }),
		numberKey(field{key: "session", kind: whole{}, max: 1e6 - 1, doc: "Which session, counted from 0."}, AnySession,
			func(f *PlannedFault) *int { return &f.Session }),
		durationKey(field{key: "for", kind: span{}, min: float64(time.Millisecond), max: float64(7 * day),
			doc: "How long until it is healed; without it at the end of the cell's steady phase."},
			func(f *PlannedFault) *time.Duration { return &f.For }),
		wordKey(field{key: "from", kind: enum{}, words: []string{FromEverybody, FromServers, FromClients}, def: FromEverybody,
			doc: "Who the server is cut off from."}, func(f *PlannedFault) *string { return &f.From }),
		durationKey(field{key: "delay", kind: span{}, min: float64(time.Millisecond), max: float64(time.Hour), doc: "How late."},
			func(f *PlannedFault) *time.Duration { return &f.Delay }),
		numberKey(field{key: "percent", kind: whole{}, min: 1, max: 100, doc: "How many of a hundred packets."}, 0,
			func(f *PlannedFault) *int { return &f.Percent }),
		wordKey(field{key: "op", kind: enum{}, words: []string{"create", "delete", "exists", "get", "set", "list", "sync", "multi"},
			doc: "Of which operation; without it of any."}, func(f *PlannedFault) *string { return &f.Op }),
		numberKey(field{key: "times", kind: whole{}, min: 1, max: 1e6, def: "1", doc: "How often it strikes."}, 0,
			func(f *PlannedFault) *int { return &f.Times }),
		numberKey(field{key: "copies", kind: whole{}, min: 1, max: 100, def: "1", doc: "How many more of each event."}, 0,
			func(f *PlannedFault) *int { return &f.Copies }),
		wordKey(field{key: "direction", kind: enum{}, words: []string{"both", "to-server", "to-client"}, def: "both", doc: "Which way is silent."},
			func(f *PlannedFault) *string { return &f.Direction }),
	}
}

// Target is the session or the server that the fault names, "" for all of them.
func (f PlannedFault) Target() string {
	if f.Session != AnySession {
		return fmt.Sprintf("session %d", f.Session)
	}
	if _, err := strconv.Atoi(f.Server); err == nil {
		return "server " + f.Server
	}
	return f.Server
}
