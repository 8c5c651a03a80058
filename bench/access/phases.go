package access

import (
	"slices"
	"sync"
	"time"
)

// Took is how long one phase of making connections took.
type Took struct {
	Phase         string // tcp, tls, session (the handshake of ZooKeeper's protocol) or sasl
	Count         int
	P50, P99, Max time.Duration   // nearest ranks
	Each          []time.Duration // sorted, shortest first
}

// Phase is a phase of making a connection.
type Phase int

// The phases, in their order.
const (
	TCP Phase = iota
	TLS
	ZooKeeper // the handshake of its protocol
	SASL
)

var phaseNames = [...]string{"tcp", "tls", "session", "sasl"}

// Made is a phase that has succeeded.
type Made struct {
	Session    int // its number: 0 for the administrative one and for observers
	Phase      Phase
	Resumed    bool // for TLS: an earlier session was resumed
	Start, End time.Time
}

// mostTimed is how many times are kept per phase: they take up to 32 MiB.
const mostTimed = 1 << 20

// phases holds the times of the connections of a run, including reconnections.
type phases struct {
	mu      sync.Mutex
	took    [len(phaseNames)][]time.Duration
	resumed int
	watcher func(Made) // nil if there is none
}

func (p *phases) note(m Made) {
	p.mu.Lock()
	if len(p.took[m.Phase]) < mostTimed {
		p.took[m.Phase] = append(p.took[m.Phase], m.End.Sub(m.Start))
		if m.Resumed {
			p.resumed++
		}
	}
	watcher := p.watcher
	p.mu.Unlock()
	if watcher != nil {
		watcher(m)
	}
}

// Watch sets the function that is called for each phase that ends from now on, from many goroutines at once; nil removes it. It must not block.
func (a *Access) Watch(watcher func(Made)) {
	a.phases.mu.Lock()
	defer a.phases.mu.Unlock()
	a.phases.watcher = watcher
}

// Phases returns the phases of all connections that were made, by the run itself and by the load, and how many TLS sessions were resumed. Only the native
// engine reports the times of the protocol's handshake and of SASL.
func (a *Access) Phases() (all []Took, resumed int) {
	p := &a.phases
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, took := range p.took {
		if n := len(took); n > 0 {
			sorted := slices.Sorted(slices.Values(took))
			rank := func(percent int) time.Duration { return sorted[max((n*percent+99)/100, 1)-1] }
			all = append(all, Took{Phase: phaseNames[i], Count: n, P50: rank(50), P99: rank(99), Max: sorted[n-1], Each: sorted})
		}
	}
	return all, p.resumed
}
