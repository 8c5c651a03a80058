package lease

import "time"

// Span is how long a session can be relied on after a request was sent that its server has answered, for a session timeout.
func Span(timeout time.Duration) time.Duration { return timeout - timeout/10 }

// Lease is the lease of one session. Its times are of one clock of the engine's choice. The zero value is a lease that is over. It is
// not safe for concurrent use.
type Lease struct {
	until time.Duration
	lost  chan struct{} // closed with the lease; nil for the zero value
	open  bool          // lost is
	ended bool
}

// Open reports whether the channel of the lease is open.
func (l *Lease) Open() bool { return l.open }

// Until is the end of the lease as of the last reply.
func (l *Lease) Until() time.Duration { return l.until }

// Extend notes that the server has answered a request that was sent at sent.
//
// A lease that had run out without anybody being told goes on as if it had not: the session lives, so it has lived all the time.
func (l *Lease) Extend(sent, span time.Duration) { l.until = max(l.until, sent+span) }

// Begin is Extend for a connect request: the timeout that the server grants with it replaces the one before, also by a shorter one.
func (l *Lease) Begin(sent, span, now time.Duration) {
	l.until = sent + span
	l.Reopen(now)
}

// Reopen makes a new channel for a lease that was told to be over and is not any more.
func (l *Lease) Reopen(now time.Duration) {
	if !l.open && !l.ended && now < l.until {
		l.lost, l.open = make(chan struct{}), true
	}
}

// Check returns the channel of the lease. It closes it first when the lease is over at the time now.
func (l *Lease) Check(now time.Duration) <-chan struct{} {
	if l.lost == nil {
		l.lost, l.open = make(chan struct{}), true
	}
	if now >= l.until {
		l.close()
	}
	return l.lost
}

// End ends the lease for good: the session is over.
func (l *Lease) End() {
	l.ended, l.until = true, 0
	l.Check(0)
}

func (l *Lease) close() {
	if l.open {
		l.open = false
		close(l.lost)
	}
}
