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
	late func(due, woken time.Time)

	mu   sync.Mutex
	lags *Histogram
}

// StartTimerProbe starts the probe; every is the length of a sleep. At 1 ms it costs about a hundredth of a CPU, at 10 ms a thousandth; longer sleeps sample
// fewer moments. late, which may be nil, is called after each sleep, with the times at which it should have ended and at which it did. The caller must call
// Stop.
func StartTimerProbe(every time.Duration, late func(due, woken time.Time)) *TimerProbe {
	p := &TimerProbe{stop: make(chan struct{}), done: make(chan struct{}), lags: NewHistogram(), late: late}
	go p.run(every)
	return p
}

func (p *TimerProbe) run(every time.Duration) {
	defer close(p.done)
	timer := time.NewTimer(every)
	defer timer.Stop()
	for begun := time.Now(); ; begun = time.Now() {
		timer.Reset(every)
		select {
		case <-p.stop:
			return
		case <-timer.C:
		}
		lag := time.Since(begun) - every
		if p.late != nil {
			p.late(begun.Add(every), begun.Add(every+lag))
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
