package zktest_test

import (
	"strings"
	"testing"

	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

func TestConformance(t *testing.T) {
	conform(t, zktest.Config{}, true)
}

func TestConformanceOfServersBefore39(t *testing.T) {
	conform(t, zktest.Config{Before39: true}, false)
}

func conform(t *testing.T, cfg zktest.Config, eventZxids bool) {
	ens := zktest.New(cfg)
	powers := powers(ens)
	powers.EventZxids = eventZxids
	zktest.Conformance(t, func(t *testing.T, cfg zktest.DialConfig) zk.Session { return ens.DialTimeout(cfg.Timeout) }, powers)
	if n := len(ens.Tree()); n != 0 {
		t.Errorf("%d znodes are left", n)
	}
	if n := len(ens.Sessions()); n != 0 {
		t.Errorf("%d sessions are left", n)
	}
}

func powers(ens *zktest.Ensemble) zktest.Powers {
	return zktest.Powers{
		Expire: ens.Expire, Disconnect: ens.Disconnect, Reconnect: ens.Reconnect, Persistent: true, Create2: true,
		ServerWatches: func(path string) int {
			n := 0
			for _, w := range ens.Watches() {
				if strings.HasPrefix(w.Path, path) {
					n++
				}
			}
			return n
		},
	}
}
