package metrics

import (
	"sync"
	"time"
)

// TimerProbe measures how late this machine and its Go runtime run a goroutine whose timer has fired: it sleeps repeatedly and records by how much each sleep
// was too long. If the probe is late, so is the load generator.
type TimerProbe struct {
	stop chan struct{}
	done chan struct{}
	once sync.Once
	late func(due, woken time.Duration)

	mu   sync.Mutex
	lags *Histogram
}

// StartTimerProbe starts the probe, which wakes up at the multiples of every after an origin: together with whatever else does, which saves wake-ups. At 1 ms
// it costs about a hundredth of a CPU, at 10 ms a thousandth; longer sleeps sample fewer moments. late, which may be nil, is called after each sleep, with the
// offsets at which it should have ended and at which it did. The caller must call Stop.
func StartTimerProbe(every time.Duration, o Origin, late func(due, woken time.Duration)) *TimerProbe {
	p := &TimerProbe{stop: make(chan struct{}), done: make(chan struct{}), lags: NewHistogram(), late: late}
	go p.run(every, o)
	return p
}

func (p *TimerProbe) run(every time.Duration, o Origin) {
	defer close(p.done)
	timer := time.NewTimer(every)
	defer timer.Stop()
	for {
		now := o.Now()
		due := now + every - now%every
		timer.Reset(due - now)
		select {
		case <-p.stop:
			return
		case <-timer.C:
		}
		woken := o.Now()
		lag := woken - due
		if p.late != nil {
			p.late(due, woken)
		}
		p.mu.Lock()
		p.lags.Record(lag)
		p.mu.Unlock()
	}
}

// Take returns what was recorded since the last Take, and starts a new histogram.
func (p *TimerProbe) Take() *Histogram {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.lags
	p.lags = NewHistogram()
	return h
}

// Stop ends the probe and waits for it. It may be called more than once; Take works after it.
func (p *TimerProbe) Stop() {
	p.once.Do(func() { close(p.stop) })
	<-p.done
}
