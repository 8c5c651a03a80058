package metrics

import "sync/atomic"

// Standings record what the sessions of a cell are currently doing, for progress displays: each session notes its own standing, and any goroutine may read
// them. A note of something new is one atomic store into memory that only that session uses.
type Standings struct{ all []*Standing }

// NewStandings creates the standings of this many sessions, all of them idle.
func NewStandings(sessions int) *Standings { return &Standings{make([]*Standing, sessions)} }

// Join makes a standing that of a session, which must not have begun. Sessions that never join are idle.
func (s *Standings) Join(session uint32, as *Standing) { s.all[session] = as }

// Standing is what one session is doing: the zero value says nothing. Its methods are for that session's goroutine alone, and do nothing on nil.
type Standing struct {
	word atomic.Uint64 // a count of the notes, the object, and what is being done to it
}

// now returns the word, which says idle on nil.
func (s *Standing) now() uint64 {
	if s == nil {
		return standIdle
	}
	return s.word.Load()
}

// What a session may be doing.
const (
	standIdle uint64 = iota
	standWaits
	standHolds
	standShares
)

// Waits notes that an operation is in progress.
func (s *Standing) Waits() { s.turn(standWaits) }

// Holds notes that the session has been granted an object, shared with others if they hold it in the same way.
func (s *Standing) Holds(object uint32, shared bool) {
	if shared {
		s.note(standShares, object)
		return
	}
	s.note(standHolds, object)
}

// Ends notes that nothing is in progress, or that the end of a hold has been issued.
func (s *Standing) Ends() { s.turn(standIdle) }

// turn notes what the session does without an object, unless that is noted already.
func (s *Standing) turn(what uint64) {
	if s.now()&3 != what {
		s.note(what, 0)
	}
}

func (s *Standing) note(what uint64, object uint32) {
	if s == nil {
		return
	}
	s.word.Store((s.word.Load()>>34+1)<<34 | uint64(object)<<2 | what)
}

// Holding is one exclusive hold of an object by a session.
type Holding struct {
	Session, Object uint32
	word            uint64
}

// Holder returns a current exclusive hold; false if there is none.
func (s *Standings) Holder() (Holding, bool) {
	for i := range s.all {
		if w := s.all[i].now(); w&3 == standHolds {
			return Holding{uint32(i), uint32(w >> 2), w}, true
		}
	}
	return Holding{}, false
}

// Still reports whether a hold returned by Holder continues: its end has not been issued.
func (s *Standings) Still(h Holding) bool { return s.all[h.Session].now() == h.word }

// Stand is what all sessions are doing at one instant.
type Stand struct {
	Waiting, Holding int
	Holders          int  // of the object with the most simultaneous exclusive holders
	Mixed            bool // somebody holds exclusively an object that others share
}

// Look returns what all sessions are doing. Holders and Mixed are computed from the sessions that did not change between two passes over all of them: these
// held at the same time, whatever the others did in the meantime.
func (s *Standings) Look() Stand {
	var out Stand
	first := make([]uint64, len(s.all))
	for i := range s.all {
		first[i] = s.all[i].now()
		switch first[i] & 3 {
		case standWaits:
			out.Waiting++
		case standHolds, standShares:
			out.Holding++
		}
	}
	type holders struct{ alone, shared int }
	held := map[uint64]holders{}
	for i := range s.all {
		w := s.all[i].now()
		if w != first[i] {
			continue
		}
		h := held[w>>2&0xffffffff]
		switch w & 3 {
		case standHolds:
			h.alone++
		case standShares:
			h.shared++
		default:
			continue
		}
		held[w>>2&0xffffffff] = h
		out.Holders, out.Mixed = max(out.Holders, h.alone), out.Mixed || h.alone > 0 && h.shared > 0
	}
	return out
}
