package zktest

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/zk"
)

// TestConformanceInBubbles runs every promise in a synctest bubble, with different latencies. A missing reply or event is a deadlock there, which
// fails immediately.
func TestConformanceInBubbles(t *testing.T) {
	for _, c := range []struct {
		name string
		cfg  Config
	}{
		{"at once", Config{}},
		{"slow calls", Config{OpLatency: 10 * time.Millisecond}},
		{"slow events", Config{EventLatency: 10 * time.Millisecond}},
		{"slow", Config{OpLatency: 3 * time.Millisecond, EventLatency: 7 * time.Millisecond}},
		{"servers of 3.4", Config{Version: "3.4.13"}},
		{"a hook that does nothing", Config{Hook: func(Op) Action { return Action{} }}},
		{"slow with a hook", Config{OpLatency: 3 * time.Millisecond, EventLatency: time.Millisecond, Hook: func(Op) Action { return Action{} }}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, p := range promises() {
				if p.needs != nil && !p.needs(New(c.cfg).powers()) {
					continue
				}
				t.Run(p.sentence, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						ens := New(c.cfg)
						p.test(t, func(t *testing.T, cfg DialConfig) zk.Session { return ens.DialTimeout(cfg.Timeout) }, ens.powers())
					})
				})
			}
		})
	}
}

// TestConformanceOnLaggingServers: the promises must hold on servers that lag behind the leader too.
func TestConformanceOnLaggingServers(t *testing.T) {
	for _, p := range promises() {
		if p.needs != nil && !p.needs(New(Config{}).powers()) {
			continue
		}
		t.Run(p.sentence, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ens := New(Config{})
				p.test(t, func(t *testing.T, cfg DialConfig) zk.Session {
					s := ens.DialTimeout(cfg.Timeout)
					ens.Lag(s, 3*time.Millisecond)
					return s
				}, ens.powers())
			})
		})
	}
}

// powers returns what the suite needs to break sessions of e.
func (e *Ensemble) powers() Powers {
	pw := Powers{Expire: e.Expire, Disconnect: e.Disconnect, Reconnect: e.Reconnect, Persistent: e.knows.Has(zk.PowerAddWatch), Create2: true,
		EventZxids: e.knows.Has(zk.PowerEventZxids), Servers: e.knows}
	if e.knows.Has(zk.PowerRemoveWatches) {
		pw.ServerWatches = func(path string) int {
			n := 0
			for _, w := range e.Watches() {
				if strings.HasPrefix(w.Path, path) {
					n++
				}
			}
			return n
		}
	}
	return pw
}
