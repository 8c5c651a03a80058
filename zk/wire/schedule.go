package wire

import (
	"container/heap"
	"sync"
	"time"
)

// schedule visits every connection when its next ping, its silence timeout or the end of the session's lease is due, with one goroutine and one timer
// for all. Timers stand still while the machine is suspended, so it checks the clock once a second.
type schedule struct {
	eng  *engine
	mu   sync.Mutex
	due  visits
	wake chan struct{} // capacity 1: the earliest visit has changed
	quit chan struct{}
	done chan struct{}
}

type visit struct {
	at int64 // on the engine's clock
	cn *conn
}

// visits is a heap, the earliest first.
type visits []visit

func (v visits) Len() int           { return len(v) }
func (v visits) Less(i, j int) bool { return v[i].at < v[j].at }
func (v visits) Swap(i, j int)      { v[i], v[j] = v[j], v[i] }
func (v *visits) Push(x any)        { *v = append(*v, x.(visit)) }
func (v *visits) Pop() any {
	last := len(*v) - 1
	x := (*v)[last]
	(*v)[last] = visit{}
	*v = (*v)[:last]
	return x
}

func newSchedule(e *engine) *schedule {
	s := &schedule{eng: e, wake: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{})}
	if e.time.Manual() {
		close(s.done)
	} else {
		go s.run()
	}
	return s
}

// add schedules a visit of cn for the time at, unless an earlier one is already scheduled.
func (s *schedule) add(cn *conn, at int64) {
	s.mu.Lock()
	s.push(cn, at)
	first := s.due[0].cn == cn
	s.mu.Unlock()
	if first {
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
}

// push adds a visit and leaves any later visit of cn in the heap, to be skipped. Called with mu held.
func (s *schedule) push(cn *conn, at int64) {
	if cn.due == 0 || at < cn.due {
		cn.due = at
		heap.Push(&s.due, visit{at, cn})
	}
}

func (s *schedule) stop() {
	close(s.quit)
	<-s.done
}

func (s *schedule) run() {
	defer close(s.done)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		timer.Reset(s.round())
		select {
		case <-timer.C:
		case <-s.wake:
		case <-s.quit:
			return
		}
	}
}

// longestWait is the longest delay until a lease that ended during a suspension is reported to be over.
const longestWait = time.Second

// round visits what is due and returns how long to wait before the next round.
func (s *schedule) round() time.Duration {
	now := s.eng.exact()
	for {
		s.mu.Lock()
		if len(s.due) == 0 || s.due[0].at > now {
			wait := longestWait
			if len(s.due) > 0 {
				wait = min(wait, time.Duration(s.due[0].at-now))
			}
			s.mu.Unlock()
			return wait
		}
		v := heap.Pop(&s.due).(visit)
		stale := v.at != v.cn.due
		if !stale {
			v.cn.due = 0
		}
		s.mu.Unlock()
		if stale {
			continue
		}
		if next := v.cn.visit(now); next > 0 {
			s.mu.Lock()
			s.push(v.cn, next)
			s.mu.Unlock()
		}
	}
}
