package zktest

import (
	"testing"

	"github.com/zkbench/zkbench/zk"
)

func TestConformance(t *testing.T) {
	conform(t, Config{}, true)
}

func TestConformanceOfServersBefore39(t *testing.T) {
	conform(t, Config{Before39: true}, false)
}

func conform(t *testing.T, cfg Config, eventZxids bool) {
	ens := New(cfg)
	powers := ens.powers()
	powers.EventZxids = eventZxids
	Conformance(t, func(t *testing.T, cfg DialConfig) zk.Session { return ens.DialTimeout(cfg.Timeout) }, powers)
	if n := len(ens.Tree()); n != 0 {
		t.Errorf("%d znodes are left", n)
	}
	if n := len(ens.Sessions()); n != 0 {
		t.Errorf("%d sessions are left", n)
	}
}
