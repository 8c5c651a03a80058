package replay

import (
	"time"

	"github.com/zkbench/zkbench/traffic/trace"
)

// Plan is a trace that is ready to be replayed. It is never changed once it is made, and may be read from many goroutines.
type Plan struct {
	Header trace.Header
	// Length is how long one replay lasts at speed 1.
	Length time.Duration
	// Clients holds what each client does, in order. A client has one session at a time: sessions that were not open at the same time may share one. If several
	// processes replay the trace, client c is one of process c modulo their number, and no item waits for one of another process; some clients may have nothing to do.
	Clients [][]Item
	// Prefill holds the znodes that exist before, parents first, without the ephemeral ones, which their sessions create.
	Prefill []Znode
	// Births are the znodes that exist at some time, each time that one is created: first those of Prefill, in its order.
	Births []Birth
	// Waited is the number of items that others wait for: Item.Number is below it, or -1.
	Waited int

	Sessions int              // recorded sessions
	Expiries int              // of these, those that expired
	Requests int              // that are sent
	Ops      map[trace.Op]int // of these, by kind
	Drawn    int              // of these, reads whose kinds and paths were not recorded
	Events   int              // watch events that reached clients
	// LeftOut says which recorded requests cannot be sent, by kind.
	LeftOut map[string]int
	// Replaced says which requests are sent as others, by kind.
	Replaced map[string]int
}

// Znode is a znode of the prefill.
type Znode struct {
	Path       Ref
	Size       int
	Sequential bool // the servers have numbered it, and so they do again
}

// Birth is the creation of a znode.
type Birth struct {
	// Named is the path that the znode has unless the servers number it, or if its creation fails in the replay.
	Named Ref
}

// Ref is a path below the root of the replay: that of a znode, and what follows.
type Ref struct {
	Birth int // index in Plan.Births, -1: the root of the replay
	Rest  string
}

// Kind is what an Item does.
type Kind uint8

// The kinds of items.
const (
	Open    Kind = iota // a session is opened
	Resume              // the same, for a session that was there at the start
	Own                 // the session creates an ephemeral znode that was there at the start
	Request             // a request is sent
	Close               // the session is closed
	Vanish              // the client is silent from now on, so that its session expires at At
)

// Item is something that a client does.
type Item struct {
	Kind    Kind
	At      time.Duration // since the start of the trace
	Session int           // recorded
	Timeout time.Duration // of Open, Resume and Vanish
	Number  int           // by which others wait for it, -1 if none do
	// Needs are the Numbers of the items of others that have to be done before. Expired are those of sessions that have to have expired.
	Needs, Expired []int
	Action
	Ops []Action // of a Multi
	// Drawn says that the kind and the path were not recorded: any answer is right.
	Drawn bool
}

// Action is a request, or one of those in a Multi.
type Action struct {
	Op      trace.Op
	Flags   trace.Flags
	Path    Ref
	Shown   string // the recorded path
	Size    int
	Version int32
	Code    int32
	Birth   int // index in Plan.Births of the znode that it creates, -1 for none
}

// Offers reports whether the item is a request, which the rate of a load counts.
func (i *Item) Offers() bool { return i.Kind == Request }

// Due returns when the item is due in a replay that is so many times as fast. The timeouts of sessions stay, so a client whose session expires is
// silent for that time.
func (i *Item) Due(speed float64) time.Duration {
	at := time.Duration(float64(i.At) / speed)
	if i.Kind == Vanish {
		at -= i.Timeout
	}
	return at
}

// Rate returns the requests a second at speed 1.
func (p *Plan) Rate() float64 { return float64(p.Requests) / p.Length.Seconds() }

// Speed returns how many times as fast as recorded a rate is.
func (p *Plan) Speed(rate float64) float64 { return rate / p.Rate() }
