package faults

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/profiles"
)

// If several processes carry out one run, only one injects the faults of servers. The others learn about them when the load is over, in time for their
// verdicts. Offsets are those of the injecting process: all processes start their loads at one signal, and startSkew is how much their clocks may differ.

const (
	// startSkew is how far apart processes that wait for one signal may start. If it is too low, connections that a fault broke do not count as broken by it;
	// if too high, some count that were lost before.
	startSkew = 100 * time.Millisecond
	// lookAhead is how long before a fault of another process a process records where its sessions are, and what they have sent.
	lookAhead = 2 * startSkew
)

// notified is a fault as one process reports it to the others. Times are offsets in nanoseconds.
type notified struct {
	Fault        int             `json:"fault"` // index in the schedule; negative for an unplanned fault
	Target       string          `json:"target,omitempty"`
	Server       int             `json:"server,omitempty"`
	Injected     bool            `json:"injected,omitempty"`
	Begun        time.Duration   `json:"begun_ns,omitempty"`
	At           time.Duration   `json:"at_ns,omitempty"`
	Recovered    bool            `json:"recovered,omitempty"`
	RecoveredAt  time.Duration   `json:"recovered_ns,omitempty"`
	Standing     bool            `json:"standing,omitempty"`
	Err          string          `json:"error,omitempty"`
	NotRecovered string          `json:"not_recovered,omitempty"`
	Unfinished   *[2]int         `json:"unfinished,omitempty"` // for a rolling restart or upgrade: servers done, of how many
	Steps        []Step          `json:"steps,omitempty"`
	Outage       *reportedOutage `json:"outage,omitempty"`
}

type reportedOutage struct {
	Seen       time.Duration  `json:"seen_ns"`
	Noticed    time.Duration  `json:"noticed_ns"`
	Leaderless time.Duration  `json:"leaderless_ns"`
	Over       *time.Duration `json:"over_ns"`
}

// Tell encodes the outcome of the planned faults, and some unplanned ones, for Learn.
func (s *Schedule) Tell(unplanned []Fault) []byte {
	var all []notified
	for i, f := range append(s.All(), unplanned...) {
		t := notified{Fault: i, Target: f.Target, Server: f.Server, Injected: f.Injected, Begun: f.Begun, At: f.At, Recovered: f.Recovered, RecoveredAt: f.RecoveredAt,
			Standing: f.standing, Steps: f.Steps}
		var cut unfinished
		switch {
		case f.Err != nil:
			t.Err = f.Err.Error()
		case errors.As(f.NotRecovered, &cut):
			t.Unfinished = &[2]int{cut.done, cut.of}
		case f.NotRecovered != nil:
			t.NotRecovered = f.NotRecovered.Error()
		}
		if o := f.Unplanned; o != nil {
			at := s.target.Origin.At
			t.Fault, t.Outage = -1, &reportedOutage{Seen: at(o.seen), Noticed: at(o.Noticed), Leaderless: at(o.leaderless)}
			if !o.over.IsZero() {
				t.Outage.Over = new(at(o.over))
			}
		}
		all = append(all, t)
	}
	text, err := json.Marshal(all)
	if err != nil {
		panic(err) // numbers and strings cannot fail
	}
	return text
}

// Learn takes over what another process with the same schedule has reported. It keeps unplanned faults for Learned.
func (s *Schedule) Learn(text []byte) error {
	var all []notified
	if err := json.Unmarshal(text, &all); err != nil {
		return fmt.Errorf("what another share told of its faults: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started, s.learned = true, true
	for _, t := range all {
		var f *Fault
		switch {
		case t.Outage != nil:
			time := s.target.Origin.Time
			o := &Outage{seen: time(t.Outage.Seen), Noticed: time(t.Outage.Noticed), leaderless: time(t.Outage.Leaderless)}
			if t.Outage.Over != nil {
				o.over = time(*t.Outage.Over)
			}
			s.unplanned = append(s.unplanned, Fault{PlannedFault: profiles.PlannedFault{Kind: LeaderLost}, Unplanned: o})
			f = &s.unplanned[len(s.unplanned)-1]
		case t.Fault >= len(s.all) || t.Fault < 0:
			return fmt.Errorf("what another share told of its faults: there is no fault %d among %d", t.Fault+1, len(s.all))
		default:
			f = &s.all[t.Fault]
		}
		f.Target, f.Server, f.Injected, f.Begun, f.At, f.Recovered, f.RecoveredAt = t.Target, t.Server, t.Injected, t.Begun, t.At, t.Recovered, t.RecoveredAt
		f.standing, f.Steps = t.Standing, t.Steps
		if s.target.Elsewhere {
			f.Skew = startSkew
		}
		switch {
		case t.Err != "":
			f.Err = errors.New(t.Err)
		case t.Unfinished != nil:
			f.NotRecovered = unfinished{f.Kind, t.Unfinished[0], t.Unfinished[1]}
		case t.NotRecovered != "":
			f.NotRecovered = errors.New(t.NotRecovered)
		}
	}
	return nil
}

// Learned returns the unplanned faults that another process has reported.
func (s *Schedule) Learned() []Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.unplanned)
}

// unknown reports whether another process injects faults that have not been reported yet, the first of them due by an offset. Whatever happens to the servers
// from then on is attributed to these faults.
func (s *Schedule) unknown(by time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.target.Elsewhere && s.started && !s.learned && slices.ContainsFunc(s.all, func(f Fault) bool { return s.begin+f.PlannedFault.At-startSkew <= by })
}

// assumed returns the time that such unreported faults excuse: from the first of them to the end.
func (s *Schedule) assumed() []metrics.Sample {
	now := s.target.Origin.Now()
	if !s.unknown(now) {
		return nil
	}
	from := s.begin + s.all[0].PlannedFault.At - startSkew // the schedule is sorted by time
	return []metrics.Sample{{Op: metrics.Fault, Due: from, Start: from, End: now}}
}
