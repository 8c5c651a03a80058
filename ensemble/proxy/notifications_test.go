package proxy

import (
	"fmt"
	"net"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/internal/jute"
)

func TestNotifications(t *testing.T) {
	t.Run("held, while replies go on", func(t *testing.T) {
		b := newBench(t)
		hold := b.p.Add(Rule{On: Notification, Path: regexp.MustCompile(b.path), Do: Hold})
		b.c.watch(b.path)
		b.direct.set(b.path, "1")
		b.injected(hold, 1)
		b.c.reply(b.c.send(jute.OpExists, b.path, false))
		hold.Remove()
		b.c.notified(b.path)
	})
	t.Run("delayed, while replies go on", func(t *testing.T) {
		b := newBench(t)
		delay := b.p.Add(Rule{On: Notification, Do: Delay, For: 10 * time.Millisecond})
		b.c.watch(b.path)
		before := time.Now()
		b.direct.set(b.path, "1")
		b.c.notified(b.path)
		if took := time.Since(before); took < 10*time.Millisecond {
			t.Errorf("the notification came after %v", took)
		}
		b.injected(delay, 1)
	})
	t.Run("repeated", func(t *testing.T) {
		b := newBench(t)
		repeat := b.p.Add(Rule{On: Notification, Do: Repeat, Copies: 2})
		b.c.watch(b.path)
		b.direct.set(b.path, "1")
		for range 3 {
			b.c.notified(b.path)
		}
		b.injected(repeat, 1)
	})
	t.Run("dropped", func(t *testing.T) {
		b := newBench(t)
		drop := b.p.Add(Rule{On: Notification, Do: Drop})
		b.c.watch(b.path)
		b.c.set(b.path, "1") // its reply comes after the notification
		b.injected(drop, 1)
	})
}

// notifying starts a server for one client, which sends as many notifications as it is asked to, numbered by their paths.
func notifying(t *testing.T, send <-chan int) (address string) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		if _, err := jute.ReadFrame(c, 0, 1<<10); err != nil {
			return
		}
		sized := func(b []byte) []byte { return append(jute.AppendInt32(nil, int32(len(b))), b...) }
		c.Write(sized(jute.AppendBuffer(jute.AppendInt64(jute.AppendInt32(jute.AppendInt32(nil, 0), 10_000), 1), make([]byte, 16))))
		number := 0
		for n := range send {
			for range n {
				b := jute.AppendInt32(jute.AppendInt64(jute.AppendInt32(nil, jute.XidNotification), -1), 0)
				b = jute.AppendString(jute.AppendInt32(jute.AppendInt32(b, 3), 3), fmt.Sprint("/", number))
				if _, err := c.Write(sized(b)); err != nil {
					return
				}
				number++
			}
		}
	}()
	return l.Addr().String()
}

// Notifications that were held or delayed arrive in the server's order, and so do those behind them once nothing holds them up any more. Only those
// held by an active fault are overtaken.
func TestNotificationsKeepTheirOrder(t *testing.T) {
	const many = 200
	for name, c := range map[string]struct {
		rules []Rule
		first []int // those that arrive while the faults are active
	}{
		"held":              {[]Rule{{Do: Hold}}, nil},
		"delayed":           {[]Rule{{Do: Delay, For: 20 * time.Millisecond}}, nil},
		"the third is held": {[]Rule{{Do: Hold, Skip: 2, Times: 1}}, append([]int{0, 1}, numbers(3, many)...)},
		"one delayed, others held": {[]Rule{{Do: Delay, For: 20 * time.Millisecond, Times: 1}, {Do: Hold, Times: 3}},
			append([]int{0}, numbers(4, many)...)},
	} {
		t.Run(name, func(t *testing.T) {
			send := make(chan int)
			defer close(send)
			p, err := Start(t.Context(), Config{Upstreams: []string{notifying(t, send)}})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			client := open(t, p.Addresses()[0], jute.Connect{})
			b := &bench{T: t, p: p}
			var faults []*Fault
			for _, r := range c.rules {
				r.On = Notification
				faults = append(faults, p.Add(r))
			}
			send <- many
			for _, n := range c.first {
				client.notified(fmt.Sprint("/", n))
			}
			for i, r := range c.rules {
				if r.Times == 0 {
					r.Times = many
				}
				b.injected(faults[i], r.Times)
			}
			for _, f := range faults {
				f.Remove()
			}
			send <- many
			for n := range 2 * many {
				if !slices.Contains(c.first, n) {
					client.notified(fmt.Sprint("/", n))
				}
			}
		})
	}
}

// numbers returns the integers from one number up to, but not including, another.
func numbers(from, to int) (all []int) {
	for n := from; n < to; n++ {
		all = append(all, n)
	}
	return all
}

func TestHeldReplyHoldsWhatIsBehind(t *testing.T) {
	b := newBench(t)
	var seen []Frame
	hold := b.p.Add(Rule{On: Reply, Ops: []jute.Op{jute.OpSync}, Do: Hold, Notify: func(f Frame) { seen = append(seen, f) }})
	sync, exists := b.c.send(jute.OpSync, b.path), b.c.send(jute.OpExists, b.path, false)
	b.injected(hold, 1)
	hold.Remove()
	b.c.reply(sync)
	b.c.reply(exists)
	if len(seen) != 1 || seen[0].Op != jute.OpSync || seen[0].Path != b.path || seen[0].Session != b.c.Session || seen[0].Server != 1 {
		t.Errorf("Notify saw %+v, want the sync of %s", seen, b.path)
	}
}

func TestLatencyKeepsTheOrder(t *testing.T) {
	b := newBench(t)
	b.p.SetLatency(Upstream, Latency{Constant: 5 * time.Millisecond, Jitter: 3 * time.Millisecond})
	b.p.SetLatency(Downstream, Latency{Constant: 5 * time.Millisecond, Jitter: 3 * time.Millisecond})
	before := time.Now()
	var sent []int32
	for range 50 {
		sent = append(sent, b.c.send(jute.OpExists, b.path, false))
	}
	for _, xid := range sent {
		b.c.reply(xid)
	}
	if took := time.Since(before); took < 10*time.Millisecond {
		t.Errorf("took %v, want at least 10ms", took)
	}
}
