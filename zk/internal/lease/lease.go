package lease

import "time"

// Span returns how long a session with this timeout can be relied on after sending a request that the server has answered.
func Span(timeout time.Duration) time.Duration { return timeout - timeout/10 }

// Lease is the lease of one session. All its times are on one clock that the engine chooses. The zero value is a lease that has ended. It is not safe for concurrent use.
type Lease struct {
	until time.Duration
	lost  chan struct{} // closed with the lease; nil for the zero value
	open  bool          // whether lost is open
	ended bool
}

// Open reports whether the channel of the lease is open.
func (l *Lease) Open() bool { return l.open }

// Until returns the end of the lease as of the last reply.
func (l *Lease) Until() time.Duration { return l.until }

// Extend notes that the server has answered a request that was sent at time sent.
//
// A lease that had ended unnoticed continues as if it had not: the session is alive, so it has been all the time.
func (l *Lease) Extend(sent, span time.Duration) { l.until = max(l.until, sent+span) }

// Begin is like Extend, for a connect request: the timeout that the server grants replaces the previous one, even if it is shorter.
func (l *Lease) Begin(sent, span, now time.Duration) {
	l.until = sent + span
	l.Reopen(now)
}

// Reopen creates a new channel for a lease that was reported to be over and is valid again.
func (l *Lease) Reopen(now time.Duration) {
	if !l.open && !l.ended && now < l.until {
		l.lost, l.open = make(chan struct{}), true
	}
}

// Check returns the channel of the lease, and closes it first if the lease has ended by the time now.
func (l *Lease) Check(now time.Duration) <-chan struct{} {
	if l.lost == nil {
		l.lost, l.open = make(chan struct{}), true
	}
	if now >= l.until {
		l.close()
	}
	return l.lost
}

// End ends the lease permanently, because the session has ended.
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
