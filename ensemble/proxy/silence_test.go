package proxy

import (
	"testing"
	"time"

	"github.com/zkbench/zkbench/internal/jute"
)

func TestSilence(t *testing.T) {
	for _, test := range []struct {
		what     string
		on       Point
		reaches  bool
		toServer bool
	}{
		{"to the server, it never hears of the request", ToServer, false, true},
		{"to the client, the request is carried out", ToClient, true, false},
	} {
		t.Run(test.what, func(t *testing.T) {
			b := newBench(t)
			silence := b.p.Add(Rule{On: test.on, Session: b.c.Session, Do: Hold})
			xid := b.c.sendCreate(b.path + "/x")
			received := make(chan struct{})
			go func() {
				defer close(received)
				b.c.reply(xid)
			}()
			b.injected(silence, 1)
			if got := b.direct.exists(b.path + "/x"); got != test.reaches {
				t.Errorf("the znode exists: %v, want %v", got, test.reaches)
			}
			select {
			case <-received:
				t.Error("the reply got through")
			default:
			}
			silence.Remove()
			silence.Remove()
			<-received
			if !b.direct.exists(b.path + "/x") {
				t.Error("the create was lost")
			}
		})
	}
}

func TestSilenceForATime(t *testing.T) {
	b := newBench(t)
	const long = 20 * time.Millisecond
	before := time.Now()
	b.p.Add(Rule{On: ToServer, Session: b.c.Session, Do: Hold, For: long})
	b.c.reply(b.c.send(jute.OpExists, b.path, false))
	if took := time.Since(before); took < long {
		t.Errorf("the reply came after %v, want at least %v", took, long)
	}
}

func TestSilenceHidesTheEnd(t *testing.T) {
	b := newBench(t)
	b.c.reply(b.c.send(jute.OpCreate, b.path+"/e", "", 1, 31, "world", "anyone", 1))
	silence := b.p.Add(Rule{On: ToServer, Session: b.c.Session, Do: Hold})
	b.c.send(jute.OpClose)
	b.c.conn.Close()
	b.injected(silence, 1)
	if !b.direct.exists(b.path + "/e") {
		t.Error("the server has heard of the close")
	}
	b.direct.reply(b.direct.send(jute.OpExists, b.path+"/e", true))
	silence.Remove()
	b.direct.notified(b.path + "/e")
}
