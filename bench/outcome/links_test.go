package outcome

import (
	"reflect"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/zk"
)

func TestWhoIsBackForGood(t *testing.T) {
	l := Links{Events: []LinkEvent{
		{0, zk.LinkLost, 1 * time.Second}, {0, zk.LinkTried, 2 * time.Second}, {0, zk.LinkMade, 2 * time.Second}, // before the storm
		{0, zk.LinkLost, 10 * time.Second}, {1, zk.LinkLost, 10 * time.Second}, {2, zk.LinkLost, 10 * time.Second},
		{0, zk.LinkTried, 11 * time.Second}, {0, zk.LinkMade, 11 * time.Second}, {0, zk.LinkLost, 12 * time.Second}, {0, zk.LinkTried, 13 * time.Second}, {0, zk.LinkMade, 13 * time.Second},
		{1, zk.LinkTried, 11 * time.Second}, {1, zk.LinkTried, 22 * time.Second}, {1, zk.LinkMade, 22 * time.Second}, // after the next fault
		{2, zk.LinkTried, 14 * time.Second},                                    // never
		{0, zk.LinkLost, 21 * time.Second}, {0, zk.LinkMade, 25 * time.Second}, // part of the next storm
	}}
	var r results.Fault
	l.storm(10*time.Second, 0, 20*time.Second, &r)
	if *r.SessionsCut != 3 || *r.BackHalf != 12000 || r.Back99 != nil || r.BackAll != nil || *r.Handshakes != 5 {
		t.Errorf("%d cut, half back after %v ms, 99 %% %v, all %v, %d handshakes; want 3, 12000, none, none, 5", *r.SessionsCut, *r.BackHalf, r.Back99,
			r.BackAll, *r.Handshakes)
	}
	var quiet, silent results.Fault
	if l.storm(3*time.Second, 0, 9*time.Second, &quiet); *quiet.SessionsCut != 0 || quiet.BackAll != nil || quiet.Handshakes != nil {
		t.Errorf("between the storms: %+v", quiet)
	}
	var early results.Fault // another process reports that it started when the first clients were back
	if back := l.storm(11*time.Second, time.Second, 20*time.Second, &early); *early.SessionsCut != 3 || len(back) != 2 || *early.BackHalf != 11000 {
		t.Errorf("begun a second too late: %+v, back at %v", early, back)
	}
	l.Silent = true
	if l.storm(10*time.Second, 0, 20*time.Second, &silent); silent.SessionsCut != nil {
		t.Errorf("an engine that does not tell: %d cut", *silent.SessionsCut)
	}
}

// The cost of a storm is the difference between the account before the fault and the one taken when all clients were back.
func TestWhatAStormCost(t *testing.T) {
	at := func(second int, requests, watches, pings int64, traffic *zk.Traffic) Account {
		a := Account{At: time.Duration(second) * time.Second, Traffic: traffic}
		a.Counts.Requests[zk.KindCreate], a.Counts.Requests[zk.KindSetWatches], a.Counts.Requests[zk.KindPing] = requests, watches, pings
		return a
	}
	bytes := func(n int64) *int64 { return &n }
	some := []Account{at(3, 10, 0, 5, &zk.Traffic{Sent: 100, Received: 50}), at(9, 70, 8, 50, &zk.Traffic{Sent: 900, Received: 450}),
		at(5, 30, 2, 20, &zk.Traffic{Sent: 300, Received: 150}), at(7, 50, 6, 30, nil)}
	for _, c := range []struct {
		sentence    string
		from, until time.Duration
		want        *results.Reconnection
	}{
		{"from the account at the fault to the one when all were back", 3 * time.Second, 4 * time.Second,
			&results.Reconnection{Requests: 22, Watches: 2, SentBytes: bytes(200), ReceivedBytes: bytes(100)}},
		{"from the one before the fault, where another fault came between", 4 * time.Second, 8 * time.Second,
			&results.Reconnection{Requests: 68, Watches: 8, SentBytes: bytes(800), ReceivedBytes: bytes(400)}},
		{"until the load was over, where not all were back", 5 * time.Second, Never, &results.Reconnection{Requests: 46, Watches: 6, SentBytes: bytes(600), ReceivedBytes: bytes(300)}},
		{"without bytes, where a session does not tell", 5 * time.Second, 6 * time.Second, &results.Reconnection{Requests: 24, Watches: 4}},
		{"not known where no account was taken before", 2 * time.Second, 8 * time.Second, nil},
		{"not known where none was taken after", 9 * time.Second, 10 * time.Second, nil},
	} {
		if got := spent(some, c.from, c.until); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", c.sentence, got, c.want)
		}
	}
	if got := spent(nil, 0, Never); got != nil {
		t.Errorf("without any: %+v", got)
	}
}
