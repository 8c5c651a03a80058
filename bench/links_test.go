package bench

import (
	"context"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/zk"
)

// stormy is three whose sessions of seats 0 to 7 lose their connections when a server stops: seat i is connected again i+1 tenths of a
// second later, and where its session has expired meanwhile it is told so.
type stormy struct {
	*three
	expires int // the seat whose session expires; -1: none
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

func TestWhoIsBackForGood(t *testing.T) {
	l := &links{}
	for _, e := range []linkEvent{
		{0, zk.LinkLost, 1 * second}, {0, zk.LinkTried, 2 * second}, {0, zk.LinkMade, 2 * second}, // before the storm
		{0, zk.LinkLost, 10 * second}, {1, zk.LinkLost, 10 * second}, {2, zk.LinkLost, 10 * second},
		{0, zk.LinkTried, 11 * second}, {0, zk.LinkMade, 11 * second}, {0, zk.LinkLost, 12 * second}, {0, zk.LinkTried, 13 * second}, {0, zk.LinkMade, 13 * second},
		{1, zk.LinkTried, 11 * second}, {1, zk.LinkTried, 22 * second}, {1, zk.LinkMade, 22 * second}, // after the next fault
		{2, zk.LinkTried, 14 * second},                               // never
		{0, zk.LinkLost, 21 * second}, {0, zk.LinkMade, 25 * second}, // of the next storm
	} {
		l.add(e)
	}
	var r results.Fault
	l.storm(10*second, 0, 20*second, &r)
	if *r.SessionsCut != 3 || *r.BackHalf != 12000 || r.Back99 != nil || r.BackAll != nil || *r.Handshakes != 5 {
		t.Errorf("%d cut, half back after %v ms, 99 %% %v, all %v, %d handshakes; want 3, 12000, none, none, 5", *r.SessionsCut, *r.BackHalf, r.Back99,
			r.BackAll, *r.Handshakes)
	}
	var quiet, silent results.Fault
	if l.storm(3*second, 0, 9*second, &quiet); *quiet.SessionsCut != 0 || quiet.BackAll != nil || quiet.Handshakes != nil {
		t.Errorf("between the storms: %+v", quiet)
	}
	var early results.Fault // another process tells that it began when the first clients were back
	if back := l.storm(11*second, second, 20*second, &early); *early.SessionsCut != 3 || len(back) != 2 || *early.BackHalf != 11000 {
		t.Errorf("begun a second too late: %+v, back at %v", early, back)
	}
	l.silent = true
	if l.storm(10*second, 0, 20*second, &silent); silent.SessionsCut != nil {
		t.Errorf("an engine that does not tell: %d cut", *silent.SessionsCut)
	}
}

// What a storm cost is what lies between the account before the fault and the one that was taken when all were back.
func TestWhatAStormCost(t *testing.T) {
	at := func(second int, requests, watches, pings int64, traffic *zk.Traffic) account {
		a := account{at: time.Duration(second) * time.Second, traffic: traffic}
		a.counts.Requests[zk.KindCreate], a.counts.Requests[zk.KindSetWatches], a.counts.Requests[zk.KindPing] = requests, watches, pings
		return a
	}
	bytes := func(n int64) *int64 { return &n }
	some := accounts{all: []account{at(3, 10, 0, 5, &zk.Traffic{Sent: 100, Received: 50}), at(9, 70, 8, 50, &zk.Traffic{Sent: 900, Received: 450}),
		at(5, 30, 2, 20, &zk.Traffic{Sent: 300, Received: 150}), at(7, 50, 6, 30, nil)}}
	for _, c := range []struct {
		sentence    string
		from, until time.Duration
		want        *results.Reconnection
	}{
		{"from the account at the fault to the one when all were back", 3 * second, 4 * second,
			&results.Reconnection{Requests: 22, Watches: 2, SentBytes: bytes(200), ReceivedBytes: bytes(100)}},
		{"from the one before the fault, where another fault came between", 4 * second, 8 * second,
			&results.Reconnection{Requests: 68, Watches: 8, SentBytes: bytes(800), ReceivedBytes: bytes(400)}},
		{"until the load was over, where not all were back", 5 * second, never, &results.Reconnection{Requests: 46, Watches: 6, SentBytes: bytes(600), ReceivedBytes: bytes(300)}},
		{"without bytes, where a session does not tell", 5 * second, 6 * second, &results.Reconnection{Requests: 24, Watches: 4}},
		{"not known where no account was taken before", 2 * second, 8 * second, nil},
		{"not known where none was taken after", 9 * second, 10 * second, nil},
	} {
		if got := some.spent(c.from, c.until); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", c.sentence, got, c.want)
		}
	}
	if got := (&accounts{}).spent(0, never); got != nil {
		t.Errorf("without any: %+v", got)
	}
}
