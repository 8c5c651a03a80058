package bench

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// stormy is a three whose sessions of seats 0 to 7 lose their connections when a server stops. Seat i is connected again i+1 tenths of a
// second later, and is told if its session has expired in the meantime.
type stormy struct {
	*three
	expires int // the seat whose session expires; -1 for none
}

func (s stormy) Stop(ctx context.Context, n int) error {
	for seat := range 8 {
		session := s.session(seat)
		s.ens.Disconnect(session)
		if seat == s.expires {
			s.ens.Expire(session)
		}
		time.AfterFunc(time.Duration(seat+1)*second/10, func() { s.ens.Reconnect(session) })
	}
	return s.three.Stop(ctx, n)
}

func TestAStormOfReconnectionsIsCounted(t *testing.T) {
	for _, c := range []struct {
		sentence            string
		expires, handshakes int
	}{
		{"eight of ten lose their connections, and come back one by one", -1, 8},
		{"the one whose session expired is back with a new one, after one more handshake", 7, 9},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := stormy{newThree(t, "duration: 20s", faultsOf("{at: 3s, kind: restart, server: leader, for: 2s}", "{at: 9s, kind: expire, session: 1}")), c.expires}
			s.config.Ensemble, s.config.Profile.Sessions = s, []int{10}
			faults := s.mustRun().Cells[0].Faults
			f := faults[0]
			if f.SessionsCut == nil || f.BackHalf == nil || f.Back99 == nil || f.BackAll == nil || f.Handshakes == nil {
				t.Fatalf("%s: %+v", c.sentence, f)
			}
			if r := f.Reconnecting; r == nil || r.Requests == 0 || r.SentBytes != nil {
				t.Errorf("%s: it cost %+v; sessions in memory tell their requests, and not their bytes", c.sentence, r)
			}
			if *f.SessionsCut != 8 || *f.BackHalf != 400 || *f.Back99 != 800 || *f.BackAll != 800 || *f.Handshakes != c.handshakes {
				t.Errorf("%s: %d cut, back after %v, %v and %v ms, %d handshakes; want 8, 400, 800, 800 and %d", c.sentence, *f.SessionsCut, *f.BackHalf,
					*f.Back99, *f.BackAll, *f.Handshakes, c.handshakes)
			}
		})
	}
}
