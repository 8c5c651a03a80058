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

// Where several processes carry one run out, one injects the faults of servers. The others learn what came of them when the load is over, in time for
// their verdicts. Offsets are those of the process that injects: all begin their loads at one signal, and what their clocks may differ by is startSkew.

const (
	// startSkew is how far apart processes may begin that wait for one signal. Too low, and connections that a fault broke do not count as broken by it; too
	// high, and some that were lost before do.
	startSkew = 100 * time.Millisecond
	// lookAhead is how long before a fault of another process a process notes where its sessions are, and what they have sent.
	lookAhead = 2 * startSkew
)

// told is a fault as one process tells it to others. Times are offsets in nanoseconds.
type told struct {
	Fault        int           `json:"fault"` // by its place in the schedule; negative: nobody planned it
	Target       string        `json:"target,omitempty"`
	Server       int           `json:"server,omitempty"`
	Injected     bool          `json:"injected,omitempty"`
	Begun        time.Duration `json:"begun_ns,omitempty"`
	At           time.Duration `json:"at_ns,omitempty"`
	Recovered    bool          `json:"recovered,omitempty"`
	RecoveredAt  time.Duration `json:"recovered_ns,omitempty"`
	Standing     bool          `json:"standing,omitempty"`
	Err          string        `json:"error,omitempty"`
	NotRecovered string        `json:"not_recovered,omitempty"`
	Unfinished   *[2]int       `json:"unfinished,omitempty"` // of a rolling restart: so many servers of so many
	Steps        []Step        `json:"steps,omitempty"`
	Outage       *toldOutage   `json:"outage,omitempty"`
}

type toldOutage struct {
	Seen       time.Duration  `json:"seen_ns"`
	Noticed    time.Duration  `json:"noticed_ns"`
	Leaderless time.Duration  `json:"leaderless_ns"`
	Over       *time.Duration `json:"over_ns"`
}

// Tell is what came of the planned faults, and of some that nobody planned, for Learn.
func (s *Schedule) Tell(unplanned []Fault) []byte {
	var all []told
	for i, f := range append(s.All(), unplanned...) {
		t := told{Fault: i, Target: f.Target, Server: f.Server, Injected: f.Injected, Begun: f.Begun, At: f.At, Recovered: f.Recovered, RecoveredAt: f.RecoveredAt,
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
			t.Fault, t.Outage = -1, &toldOutage{Seen: at(o.seen), Noticed: at(o.Noticed), Leaderless: at(o.leaderless)}
			if !o.over.IsZero() {
				t.Outage.Over = new(at(o.over))
			}
		}
		all = append(all, t)
	}
	text, err := json.Marshal(all)
	if err != nil {
		panic(err) // of numbers and texts
	}
	return text
}

// Learn takes what another process that has the same schedule told of it. The faults that nobody planned are kept for Learned.
func (s *Schedule) Learn(text []byte) error {
	var all []told
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
			f.NotRecovered = unfinished{t.Unfinished[0], t.Unfinished[1]}
		case t.NotRecovered != "":
			f.NotRecovered = errors.New(t.NotRecovered)
		}
	}
	return nil
}

// Learned are the faults of which another process told that nobody planned them.
func (s *Schedule) Learned() []Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.unplanned)
}

// unknown reports whether another process injects faults of which nothing is known yet, the first of which is due by an offset. What happens to the
// servers from then on is put down to them.
func (s *Schedule) unknown(by time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.target.Elsewhere && s.started && !s.learned && slices.ContainsFunc(s.all, func(f Fault) bool { return s.begin+f.PlannedFault.At-startSkew <= by })
}

// assumed is the time that faults excuse of which nothing is known: from the first of them to the end.
func (s *Schedule) assumed() []metrics.Sample {
	now := s.target.Origin.Now()
	if !s.unknown(now) {
		return nil
	}
	from := s.begin + s.all[0].PlannedFault.At - startSkew // the schedule is in the order of time
	return []metrics.Sample{{Op: metrics.Fault, Due: from, Start: from, End: now}}
}
